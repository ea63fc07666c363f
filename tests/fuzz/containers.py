"""The same cells in every container that pgmx takes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.data import encode, write_table
from tests.fuzz.cases import chance, pick

try:
    import polars as pl
except ImportError:
    pl = None

CONTAINERS = ("pandas", "polars", "arrow", "coded", "plane file", "csv", "parquet", "folder", "pieces")


def draw_container(rng: np.random.Generator, frame: pd.DataFrame, share: float = 0.4) -> str:
    """Return the name of a container that can hold a frame; most often pandas itself."""
    names = list(frame.columns)
    if not chance(rng, share):
        return "pandas"
    kinds = list(CONTAINERS)
    if not all(isinstance(name, str) for name in names) or frame.isna().to_numpy().any():
        kinds = ["pandas", "coded", "pieces"]
    elif any(dtype.name in ("object", "category", "string", "str") for dtype in frame.dtypes) or not all(
        name.strip() for name in names
    ):
        kinds.remove(
            "csv"
        )  # words that pandas reads as missing values, and categories, are not those of the frame, and blank names
    if frame.isna().to_numpy().any():
        kinds = ["pandas", "pieces"]
    if any(isinstance(name, bytes) for name in names):
        kinds = ["pandas"]  # chunks are coded to a plane file, which holds no such names
    if pl is None and "polars" in kinds:
        kinds.remove("polars")
    return pick(rng, kinds)


def put_into(kind: str, frame: pd.DataFrame, folder: Path) -> Any:
    """Return the cells of a frame in a container; files are written into a folder."""
    if kind == "polars":
        return pl.DataFrame({name: _to_polars(frame[name]) for name in frame})
    if kind == "arrow":
        return pa.Table.from_pandas(frame, preserve_index=False)
    if kind == "coded":
        return encode(frame)
    if kind == "plane file":
        write_table(frame, folder / "table.pgmx")
        return folder / "table.pgmx"
    if kind == "csv":
        frame.to_csv(folder / "table.csv", index=False)
        return folder / "table.csv"
    if kind == "parquet":
        frame.to_parquet(folder / "table.parquet", index=False)
        return str(folder / "table.parquet")
    middle = max(1, len(frame) // 2)
    pieces = [frame[:middle], frame[middle:]]
    if kind == "folder":
        (folder / "tables").mkdir()
        for number, piece in enumerate(pieces):
            piece.to_parquet(folder / "tables" / f"{number}.parquet", index=False)
        return folder / "tables"
    return iter(pieces) if kind == "pieces" else frame


def _to_polars(column: pd.Series) -> Any:
    if column.dtype.name == "category":
        return pl.Series(column.tolist(), dtype=pl.Enum([str(state) for state in column.cat.categories]))
    return pl.Series(column.tolist(), dtype=pl.Boolean if column.dtype == bool else None)

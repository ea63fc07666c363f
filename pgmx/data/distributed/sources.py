"""The partitions of a table: paths, frames, slices of a table in memory, partitions of a dask.dataframe."""

import os
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import check_natural
from pgmx.data.columns import check_discrete_columns
from pgmx.data.plane_file import PLANE_SUFFIX
from pgmx.data.readers import explain_unreadable, is_path, list_table_files, open_chunk, read_csv_chunks
from pgmx.data.table import DiscreteTable

ACCEPTED = (
    "a dask.dataframe, a folder of Parquet files, a list of paths (Parquet, CSV or plane files) or of frames, or a "
    "table in memory (a pandas frame, an Arrow table, a 2-D numpy array, a DiscreteTable)"
)


#: First rows that are read to see whether a partition has floating-point columns.
_FIRST_ROWS = 4096


class PartSource(NamedTuple):
    """Source of the rows of a partition: a path, rows in memory, or a delayed object; and its name in messages."""

    rows: Any
    name: str


def list_part_sources(source: Any, n_parts: int | None, usual: int) -> list[PartSource]:
    """Return the partitions of a source, in row order; a table in memory is split into `n_parts`, else `usual`."""
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):
        _refuse_number(n_parts, "a dask.dataframe has the partitions that repartition() gives it")
        return [PartSource(rows, f"partition {k}") for k, rows in enumerate(source.to_delayed())]
    if is_path(source):
        source = [source] if Path(source).suffix.lower() == PLANE_SUFFIX else list_table_files(Path(source))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        _refuse_number(n_parts, "a list has its own partitions")
        if not source:
            raise ValueError(f"the list of partitions is empty: give {ACCEPTED}")
        return [_open_part(part, k) for k, part in enumerate(source)]
    if not isinstance(source, pd.DataFrame | np.ndarray | pa.Table | DiscreteTable):
        raise TypeError(f"expected {ACCEPTED}, got {type(source).__name__}")
    n_rows = source.n_rows if isinstance(source, DiscreteTable) else len(source)
    n_parts = usual if n_parts is None else check_natural(n_parts, "n_parts", 1)
    bounds = [n_rows * part // n_parts for part in range(n_parts + 1)]
    return [PartSource(slice_rows(source, a, b), f"rows {a} to {b}") for a, b in pairwise(bounds)]


def find_floats(rows: Any, na_values: Any = None, discrete_columns: Any = None) -> list:
    """Return the names of floating-point columns in the first rows of a table in memory, or of a CSV file.

    Columns declared discrete are left out. A CSV column of whole numbers does not count: with missing values it may be
    discrete.
    """
    if isinstance(rows, DiscreteTable):
        return []
    if not isinstance(rows, Path):
        first = open_chunk(slice_rows(rows, 0, _FIRST_ROWS))
        return list(first.declare_discrete(discrete_columns).list_known_floats())
    pieces = read_csv_chunks(rows, _FIRST_ROWS, na_values=na_values)
    with explain_unreadable(rows), closing(pieces), np.errstate(invalid="ignore"):
        first = next(pieces)
        discrete = check_discrete_columns(discrete_columns, first.columns)
        floats = [name for name, cells in first.items() if cells.dtype.kind == "f" and (cells % 1 > 0).any()]
        return [name for name in floats if name not in discrete]


def _refuse_number(n_parts: int | None, reason: str) -> None:
    if n_parts is not None:
        raise ValueError(f"n_parts={n_parts!r} is for a table in memory; {reason}: leave it out")


def _open_part(part: Any, number: int) -> PartSource:
    if is_path(part):
        path = Path(os.path.abspath(part))  # workers have working directories of their own
        if not path.exists():
            raise FileNotFoundError(f"no such file or folder: {path}, partition {number} of the table")
        return PartSource(path, str(path))
    if not isinstance(part, pd.DataFrame | np.ndarray | pa.Table | DiscreteTable):
        raise TypeError(f"partition {number} is a {type(part).__name__}, expected paths or frames")
    return PartSource(part, f"partition {number}")


def slice_rows(table: Any, first: int, stop: int) -> Any:
    """Return consecutive rows of a table in memory."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[first:stop]
    if isinstance(table, pa.Table):
        return table.slice(first, stop - first)
    if isinstance(table, DiscreteTable):
        codes = np.ascontiguousarray(table.codes[:, first:stop])
        return DiscreteTable._from_parts(table.columns, table.states, codes, table.missing_codes)
    return table[first:stop]

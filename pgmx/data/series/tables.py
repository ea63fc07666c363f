"""Tables as the rows of one or more series: values, exogenous values and labels."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data.errors import MissingCellsError
from pgmx.data.frame import Frame
from pgmx.data.numbers.cells import (
    float_rows,
    infinite_columns,
    kinds_of_states,
    missing_columns,
    raise_of_cells,
    raise_of_states,
    select_names,
)
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.time_index import make_labels
from pgmx.data.sources import open_piece, open_source


@dataclass
class SeriesRows:
    """Rows of one series of a panel; `labels` is None if rows are equidistant by default."""

    key: Hashable | None
    values: np.ndarray
    exogenous: np.ndarray
    labels: pd.Index | None

    @property
    def where(self) -> str:
        """The series, for messages."""
        return "" if self.key is None else f" of the series {self.key!r}"

    def number(self, n_before: int) -> pd.Index:
        """Return the labels; rows without labels are labelled by their position, after `n_before` earlier rows."""
        return pd.RangeIndex(n_before, n_before + len(self.values)) if self.labels is None else self.labels


def read_rows(
    X: Any, options: SeriesOptions, key: Hashable | None = None, *, is_piece: bool = False
) -> tuple[tuple, list[SeriesRows]]:
    """Return the names of the series of a table and its rows, separately per group; values are checked."""
    frame = open_piece(X) if is_piece else open_source(X)
    index = X.index if isinstance(X, pd.DataFrame) else None
    special = options.check_columns(frame.names, None if index is None else index.name)
    columns = dict(zip(frame.names, frame.columns, strict=True))
    names = tuple(name for name in frame.names if name not in special)
    values, exogenous = _read_numbers(frame, names, options), _read_numbers(frame, options.exogenous_columns, options)
    if options.time_column in columns and options.time_column is not None:
        labels: pd.Index | None = make_labels(columns[options.time_column])
    else:
        labels = None if index is None or _counts_rows(index, options) else index
    if options.groups is None:
        return names, [SeriesRows(key, values, exogenous, labels)]
    parts = []
    for group, rows in _list_groups(columns[options.groups], options.groups):
        part_key = group if key is None else (key, group)
        part_labels = None if labels is None else labels[rows]
        parts.append(SeriesRows(part_key, values[rows], exogenous[rows], part_labels))
    return names, parts


def _counts_rows(index: pd.Index, options: SeriesOptions) -> bool:
    """Return whether an index numbers the rows of a table; with groups such numbers belong to no single series."""
    return isinstance(index, pd.RangeIndex) and index.step == 1 and (index.start == 0 or options.groups is not None)


def _list_groups(cells: Any, name: Hashable) -> list[tuple[Hashable, np.ndarray]]:
    """Return the values of a column of groups, in the order in which they occur, with their rows."""
    cells = cells.to_pandas() if hasattr(cells, "to_pandas") else cells
    codes, groups = pd.factorize(pd.Series(cells))
    if (codes < 0).any():
        raise ValueError(f"the group of row {int(np.argmin(codes))} is missing (column {name!r}): fill it")
    order = np.argsort(codes, kind="stable")
    bounds = np.cumsum(np.bincount(codes, minlength=len(groups)))[:-1]
    return list(zip(groups.tolist(), np.split(order, bounds), strict=True))


def _read_numbers(frame: Frame, names: tuple, options: SeriesOptions) -> np.ndarray:
    """Return columns as float64 rows, C-contiguous, or raise about values; a float64 array is not copied."""
    part = frame
    if names != frame.names:
        places = {name: v for v, name in enumerate(frame.names)}
        part = Frame(names, [frame.columns[places[name]] for name in names], frame.n_rows)
    kinds = kinds_of_states(part)
    times = [name for name, kind in kinds.items() if "date" in str(kind) or "period" in str(kind).lower()]
    if times and options.time_column is None:
        raise ValueError(f"column(s) {join_names(times)} hold times: give time_column={times[0]!r}, or leave them out")
    raise_of_states(part.names, kinds)
    rows = _find_block(part)
    raise_of_cells(part.names, None, infinite_columns(rows))
    if options.missing == "error" and (incomplete := missing_columns(rows)).any():
        raise MissingCellsError(select_names(part.names, incomplete), choices=("drop",))
    return rows


def _find_block(frame: Frame) -> np.ndarray:
    """Return the values as one block: the array that they are columns of, if it is float64 in rows, else a copy."""
    base = getattr(frame.columns[0], "base", None) if frame.columns else None
    if (
        isinstance(base, np.ndarray)
        and base.shape == (frame.n_rows, frame.n_columns)
        and base.dtype == np.float64
        and base.flags.c_contiguous
        and all(
            isinstance(column, np.ndarray)
            and column.base is base
            and column.ctypes.data == base.ctypes.data + 8 * v
            and column.strides == (base.strides[0],)
            for v, column in enumerate(frame.columns)
        )
    ):
        return base
    return float_rows(frame)

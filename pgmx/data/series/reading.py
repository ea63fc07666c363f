"""The one entry for series: frames, arrays, files and panels of them as complete segments."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import check_natural, check_same_names, join_names, read_only
from pgmx.data.errors import MissingCellsError
from pgmx.data.frame import Frame, check_missing_option
from pgmx.data.numbers.cells import (
    float_rows,
    infinite_columns,
    kinds_of_states,
    missing_columns,
    raise_of_cells,
    raise_of_states,
    select_names,
)
from pgmx.data.series.panel import Panel
from pgmx.data.series.time_index import RowTimes, TimeIndex, make_labels, read_times
from pgmx.data.sources import open_piece, open_source

SERIES_MISSING = ("error", "drop")
IRREGULAR = ("error", "ignore")


@dataclass(frozen=True)
class SeriesOptions:
    """How series are read; the names and values are those of the learners' options."""

    lags: int
    time_column: Hashable | None = None
    groups: Hashable | None = None
    missing: str = "error"
    irregular: str = "error"
    exogenous_columns: tuple = ()
    seasonal_period: int | None = None

    def __post_init__(self) -> None:
        check_missing_option(self.missing, SERIES_MISSING, " for series")
        if self.irregular not in IRREGULAR:
            raise ValueError(f"irregular must be one of {join_names(IRREGULAR)}, got {self.irregular!r}")
        columns = self.exogenous_columns
        if columns is None:
            object.__setattr__(self, "exogenous_columns", ())
        elif isinstance(columns, str) or not isinstance(columns, Iterable):
            raise TypeError(f"exogenous_columns must be a list of columns, as [{columns!r}]; got {columns!r}")
        else:
            object.__setattr__(self, "exogenous_columns", tuple(columns))
        if self.seasonal_period is not None:
            check_natural(self.seasonal_period, "seasonal_period", 2)

    @property
    def seasonal_names(self) -> tuple[str, ...]:
        """Names of the seasonal columns."""
        return () if self.seasonal_period is None else tuple(f"season {k}" for k in range(1, self.seasonal_period))


@dataclass
class _Part:
    """Rows of one series of a panel before it is split: values, exogenous values and times."""

    names: tuple
    values: np.ndarray
    exogenous: np.ndarray
    times: RowTimes
    where: str


def open_series(X: Any, *, lags: int, **options: Any) -> Panel:
    """Read series into memory, raising ValueError or TypeError about the culprit; `options` as in `SeriesOptions`."""
    settings = SeriesOptions(lags, **options)
    parts = [_read_part(part, label, settings) for label, part in _split_input(X, settings)]
    return join_parts(parts, settings)


def _split_input(X: Any, options: SeriesOptions) -> list[tuple[Any, Any]]:
    """Return the series of a panel with their labels, None for a single one."""
    if isinstance(X, Mapping):
        parts = list(X.items())
    elif isinstance(X, list | tuple) and len(X) and _is_table(X[0]):
        parts = list(enumerate(X))
    else:
        parts = [(None, X)]
    if not parts:
        raise ValueError("the panel holds no series: give at least one frame")
    return parts


def _is_table(X: Any) -> bool:
    """Tell a member of a panel from a row."""
    return len(getattr(X, "shape", ())) == 2 or isinstance(X, str)


def _read_part(X: Any, label: Any, options: SeriesOptions) -> _Part:
    where = "" if label is None else f" of the series {label!r}"
    frame = open_source(X) if label is None else open_piece(X)
    special = _check_columns(frame.names, options)
    columns = dict(zip(frame.names, frame.columns, strict=True))
    labels = _find_labels(X, columns, frame.n_rows, options, where)
    series = tuple(name for name in frame.names if name not in special)
    times = read_times(labels, irregular=options.irregular, missing=options.missing, where=where)
    values = _read_numbers(frame, series)
    exogenous = _read_numbers(frame, options.exogenous_columns)
    return _Part(series, values, exogenous, times, where)


def _check_columns(names: Sequence, options: SeriesOptions) -> set:
    """Return the columns that are no series, or raise where an option names an unknown one or two the same."""
    columns = [
        *(("time_column", name) for name in [options.time_column] if name is not None),
        *(("groups", name) for name in [options.groups] if name is not None),
        *(("exogenous_columns", name) for name in options.exogenous_columns),
    ]
    special: dict[Hashable, str] = {}
    for option, name in columns:
        if name not in names:
            raise ValueError(f"{option} names {name!r}, which is no column: the columns are {join_names(names)}")
        if name in special:
            raise ValueError(f"{option} names {name!r}, which {special[name]} names too: give it in one of them")
        special[name] = option
    if len(special) == len(names):
        raise ValueError(f"all columns are named by options ({join_names(names)}), and no series is left to learn from")
    return set(special)


def _find_labels(X: Any, columns: dict, n_rows: int, options: SeriesOptions, where: str) -> pd.Index:
    if options.time_column is not None:
        return make_labels(columns[options.time_column], where)
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n_rows)


def _read_numbers(frame: Frame, names: tuple) -> np.ndarray:
    """Return columns as float64 rows, C-contiguous; those of a float64 array are not copied."""
    places = {name: v for v, name in enumerate(frame.names)}
    part = frame
    if names != frame.names:
        part = Frame(names, [frame.columns[places[name]] for name in names], frame.n_rows)
    raise_of_states(part.names, kinds_of_states(part))
    return _find_block(part) if names == frame.names else float_rows(part)


def _find_block(frame: Frame) -> np.ndarray:
    """Return the cells as one block: the array that they are columns of, if it is float64 in rows, else a copy."""
    base = getattr(frame.columns[0], "base", None)
    if (
        isinstance(base, np.ndarray)
        and base.shape == (frame.n_rows, frame.n_columns)
        and base.dtype == np.float64
        and base.flags.c_contiguous
        and all(getattr(column, "base", None) is base for column in frame.columns)
        and all(
            column.ctypes.data == base.ctypes.data + 8 * v and column.strides == (base.strides[0],)
            for v, column in enumerate(frame.columns)
        )
    ):
        return base
    return float_rows(frame)


def join_parts(parts: list[_Part], options: SeriesOptions) -> Panel:
    """Check the cells of all parts, split them into complete segments, and join them."""
    names = parts[0].names
    for part in parts[1:]:
        if part.names != names:
            check_same_names(names, part.names, f"the series {parts[0].where[15:]}", part.where[4:], "columns")
            order = [part.names.index(name) for name in names]
            part.values = np.ascontiguousarray(part.values[:, order])
    exogenous_names = (*options.exogenous_columns, *options.seasonal_names)
    _check_cells(names, options.exogenous_columns, parts, options)
    _check_lengths(parts, options.lags)
    segments: list[np.ndarray] = []
    exogenous: list[np.ndarray] = []
    for part in parts:
        columns = np.hstack([part.exogenous, *_make_seasons(part, parts[0], options)])
        for rows in _split_rows(part):
            segments.append(_freeze(part.values[rows]))
            exogenous.append(_freeze(columns[rows]))
    index = parts[0].times.index if len(parts) == 1 else None
    n_rows = sum(len(part.values) for part in parts)
    panel = Panel(names, tuple(segments), tuple(exogenous), exogenous_names, n_rows, 0, index)
    wanted = sum(int(part.times.positions[-1]) + 1 - options.lags for part in parts)
    object.__setattr__(panel, "n_left_out", wanted - panel.count_targets(options.lags))
    _check_panel(panel, options.lags)
    return panel


def _freeze(rows: np.ndarray) -> np.ndarray:
    """Return a read-only view, C-contiguous."""
    return read_only(np.ascontiguousarray(rows)[:])


def _check_cells(names: tuple, exogenous_names: tuple, parts: list[_Part], options: SeriesOptions) -> None:
    for columns, blocks in ((names, [p.values for p in parts]), (exogenous_names, [p.exogenous for p in parts])):
        infinite = np.any([infinite_columns(block) for block in blocks], axis=0)
        incomplete = np.any([missing_columns(block) for block in blocks], axis=0)
        raise_of_cells(columns, None, infinite)
        if options.missing == "error" and incomplete.any():
            raise MissingCellsError(select_names(columns, incomplete), choices=("drop",))


def _check_lengths(parts: list[_Part], lags: int) -> None:
    for part in parts:
        if len(part.values) < lags + 2:
            whose = f"the series{part.where[14:]}" if part.where else "the series"
            raise ValueError(
                f"{whose} has {len(part.values)} rows, and lags={lags} needs at least {lags + 2}: give more rows or "
                "fewer lags"
            )


def _make_seasons(part: _Part, first: _Part, options: SeriesOptions) -> list[np.ndarray]:
    """Return the seasonal columns: 1 in their season, less the mean 1 / period; season 0 is that of the first row."""
    if options.seasonal_period is None:
        return []
    shift = _shift_season(part.times.index, first.times.index)
    return [make_seasons((part.times.positions + shift), options.seasonal_period)]


def _shift_season(index: TimeIndex | None, first: TimeIndex | None) -> int:
    if index is None or first is None or type(index.first) is not type(first.first):
        return 0
    return first.count_steps(index.first) or 0


def make_seasons(positions: np.ndarray, period: int) -> np.ndarray:
    """Return the columns (T, period - 1) of the seasons 1 to period - 1: 1 where it is that season, less 1 / period."""
    return (positions[:, None] % period == np.arange(1, period)) - 1.0 / period


def _split_rows(part: _Part) -> list[slice]:
    """Return the runs of rows that are observed and follow each other."""
    positions = part.times.positions
    observed = ~np.isnan(part.values).any(axis=1)
    if part.exogenous.shape[1]:
        observed &= ~np.isnan(part.exogenous).any(axis=1)
    rows = np.flatnonzero(observed)
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(positions[rows]) != 1)) + 1
    bounds = np.concatenate([[0], breaks, [len(rows)]])
    return [slice(rows[a], rows[b - 1] + 1) for a, b in pairwise(bounds) if b > a]


def _check_panel(panel: Panel, lags: int) -> None:
    n_targets = panel.count_targets(lags)
    if n_targets < 2:
        raise ValueError(
            f"only {n_targets} of {panel.n_rows} rows end {lags + 1} observed rows in sequence, at least 2 are needed: "
            "fill missing cells, or give fewer lags"
        )
    low = np.min([segment.min(axis=0) for segment in panel.segments], axis=0)
    high = np.max([segment.max(axis=0) for segment in panel.segments], axis=0)
    constant = [panel.names[v] for v in np.flatnonzero(~(high > low))]
    if constant:
        raise ValueError(f"constant series {join_names(constant)}: leave out series that do not vary")

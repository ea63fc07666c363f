"""Series of a table in the codes of a dynamic network: rows per series, their places in time, missing values."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data.files.readers import is_path, read_whole
from pgmx.data.series.reading import list_groups, list_tables
from pgmx.data.series.time_index import make_labels, read_times
from pgmx.inference.mixed.families import MixedRows
from pgmx.models.rows import read_mixed_rows
from pgmx.models.time_series.dynamic.columns import Columns, Slices

#: Values of lagged rows that are in memory at a time.
CHUNK_VALUES = 1 << 21


class Series(NamedTuple):
    """One series: its key, None for a single table, and for each time from the first row on the row of the table.

    `rows` is int64 (T,), -1 for a time without a row; `labels` are the labels of the rows, None without times.
    """

    key: Hashable
    rows: np.ndarray
    labels: pd.Index | None

    @property
    def where(self) -> str:
        """The series, for messages."""
        return "" if self.key is None else f" of the series {self.key!r}"


@dataclass(frozen=True, eq=False)
class Panel:
    """The rows of all series: the three arrays are (variables and then static columns, n_rows)."""

    columns: Columns
    series: tuple[Series, ...]
    codes: np.ndarray
    numbers: np.ndarray
    missing: np.ndarray
    #: Labels of the rows of the table.
    index: pd.Index
    #: Names of the levels of the index of results: of the key of the series, if there are several, and of the time.
    levels: tuple[Hashable | None, ...]
    #: States of the variables, None for continuous ones.
    variable_states: tuple[tuple | None, ...]

    def refuse_missing(self, rows: np.ndarray, what: str, remedy: str) -> None:
        """Raise ValueError if a value in these rows of the table, or a static value, is missing."""
        if not len(rows) or not self.missing[:, rows].any():
            return
        v, at = (int(places[0]) for places in np.nonzero(self.missing[:, rows]))
        name = (*self.columns.names, *self.columns.static)[v]
        raise ValueError(
            f"{what} has a missing value in column {name!r}, row {int(rows[at])} (index {self.index[rows[at]]!r}): "
            f"{remedy}"
        )

    def find_static(self, series: Series) -> np.ndarray:
        """Return for each static column a row of the table with its value, -1 if it is missing in all rows."""
        n, rows = len(self.columns.names), series.rows[series.rows >= 0]
        known = ~self.missing[n:, rows]
        return np.where(known.any(axis=1), rows[np.argmax(known, axis=1)] if len(rows) else -1, -1)

    def lag_rows(self, targets: np.ndarray, sources: np.ndarray) -> MixedRows:
        """Return lagged rows, (columns, m): `sources` are rows of the table, (m, L), oldest first."""
        n, n_static = len(self.columns.names), len(self.columns.static)
        shape = (len(self.columns.labels), len(targets))
        lagged = MixedRows(np.zeros(shape, dtype=np.intp), np.zeros(shape))
        for to, values in ((lagged.codes, self.codes), (lagged.numbers, self.numbers)):
            to[:n_static] = values[n:, targets]
            for number in range(self.columns.lags):
                start = n_static + number * n
                to[start : start + n] = values[:n, sources[:, number]]
            to[shape[0] - n :] = values[:n, targets]
        return lagged

    def find_windows(self, series: Sequence[Series]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of some series that have L rows directly before them, (m,), and these rows, (m, L)."""
        targets, sources = [np.empty(0, dtype=np.int64)], [np.empty((0, self.columns.lags), dtype=np.int64)]
        for _, rows, _ in series:
            if len(rows) <= self.columns.lags:
                continue
            windows = np.lib.stride_tricks.sliding_window_view(rows, self.columns.lags + 1)
            windows = windows[(windows >= 0).all(axis=1)]
            targets.append(windows[:, -1])
            sources.append(windows[:, :-1])
        return np.concatenate(targets), np.concatenate(sources)

    def chunks(self, n_rows: int) -> Iterator[slice]:
        """Yield chunks of lagged rows that need little memory."""
        step = max(1, CHUNK_VALUES // len(self.columns.labels))
        return (slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step))


def read_panel(X: Any, slices: Slices, groups: Hashable | None, time_column: Hashable | None, what: str) -> Panel:
    """Read the series of a table, or of a sequence or mapping of tables; values and static columns may be missing.

    Raises for unknown columns and states, times that do not increase, and static columns that are not constant.
    """
    columns = slices.columns
    names = (*columns.names, *columns.static)
    states = tuple(slices.states[p] for p in (*columns.present, *range(len(columns.static))))
    if X is None or isinstance(X, int | float):
        raise TypeError(f"{what} must be rows: a frame, an array, a file, or several of them; got {X!r}")
    tables = list_tables(X)
    codes, numbers, missing, index = [], [], [], []
    pieces: list[tuple[Hashable, np.ndarray, pd.Index | None]] = []
    n_before = 0
    for key, table in tables:
        frame = _make_frame(table, names, groups, time_column)
        special = [name for name in (groups, time_column) if name is not None and name in frame.columns]
        read = read_mixed_rows(frame.drop(columns=special), names, states, allow_missing=True)
        absent = [name for name in columns.names if name not in frame.columns]
        if absent:
            raise ValueError(f"{what} lacks the column(s) {join_names(absent)}: give a column for each variable")
        chunk = read.take(slice(0, read.n_rows))
        codes.append(chunk.rows.codes)
        numbers.append(chunk.rows.numbers)
        missing.append(chunk.missing)
        index.append(frame.index)
        times = _find_labels(frame, groups, time_column)
        for group, rows in _find_series(frame, groups):
            own = group if key is None else key if group is None else (key, group)
            pieces.append((own, rows + n_before, None if times is None else times[rows]))
        n_before += len(frame)
    several = groups is not None or tables[0][0] is not None
    panel = Panel(
        columns,
        tuple(_place_series(pieces)),
        np.concatenate(codes, axis=1),
        np.concatenate(numbers, axis=1),
        np.concatenate(missing, axis=1),
        index[0] if len(index) == 1 else pd.RangeIndex(n_before),
        (("series" if groups is None else groups), time_column) if several else (time_column,),
        states[: len(columns.names)],
    )
    _check_static(panel, what)
    return panel


def _make_frame(X: Any, names: tuple, groups: Hashable | None, time_column: Hashable | None) -> pd.DataFrame:
    """Return a table as a pandas frame; the columns of an array are the variables, then the static columns."""
    if is_path(X):
        X = read_whole(X)
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        return X
    if len(getattr(X, "shape", ())) != 2 and not isinstance(X, list | tuple):
        raise TypeError(f"expected rows: a frame, an array or a file; got {type(X).__name__}")
    cells = np.asarray(X) if hasattr(X, "shape") else np.array(X, dtype=object)
    if cells.ndim != 2 or cells.shape[1] != len(names):
        raise ValueError(
            f"an array must have one column for each of {join_names(names)}, in this order, got the shape "
            f"{cells.shape}: use a frame with named columns"
        )
    return pd.DataFrame(cells).set_axis(pd.Index(list(names), tupleize_cols=False), axis=1)


def _find_series(frame: pd.DataFrame, groups: Hashable | None) -> list[tuple[Hashable, np.ndarray]]:
    """Return the keys of the series with their rows, in the order in which they occur."""
    if groups is None:
        return [(None, np.arange(len(frame)))]
    if groups not in frame.columns:
        raise ValueError(f"groups names {groups!r}, which is not a column: the columns are {join_names(frame.columns)}")
    return list_groups(frame[groups], groups) if len(frame) else []


def _find_labels(frame: pd.DataFrame, groups: Hashable | None, time_column: Hashable | None) -> pd.Index | None:
    """Return the times of the rows: of the time column, or of an index of dates."""
    if time_column is not None and time_column in frame.columns:
        return make_labels(frame[time_column].array)
    if time_column is not None and time_column != frame.index.name:
        raise ValueError(
            f"time_column names {time_column!r}, which is not a column: the columns are {join_names(frame.columns)}"
        )
    is_date = isinstance(frame.index, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex)
    # an integer index often counts the rows of a larger table
    return frame.index if time_column is not None or (is_date and groups is None) else None


def _place_series(pieces: list[tuple[Hashable, np.ndarray, pd.Index | None]]) -> Iterator[Series]:
    """Yield the series with their rows at the times of a grid; the longest series shows the step of the others."""
    step = None
    longest = max(pieces, key=lambda piece: len(piece[1]), default=None)
    if longest is not None and longest[2] is not None:
        times = _read_times(Series(*longest), None)
        step = None if times.index is None else times.index.step
    for series in map(Series._make, pieces):
        rows, labels = series.rows, series.labels
        if labels is not None and len(rows) and not _follows(labels, step):
            positions = _read_times(series, step).positions
            placed = np.full(int(positions[-1]) + 1, -1, dtype=np.int64)
            placed[positions] = rows
            series = series._replace(rows=placed)
        yield series


def _follows(labels: pd.Index, step: Any) -> bool:
    """Return whether integers follow each other by the step, which is tested faster than other times are placed."""
    return step is not None and labels.dtype.kind in "iu" and bool((np.diff(labels.to_numpy()) == step).all())


def _read_times(series: Series, step: Any) -> Any:
    """Return positions on the grid of the times, consecutive ones if there is no grid; raise for unordered times."""
    assert series.labels is not None
    try:
        return read_times(series.labels, irregular="error", missing="drop", where=series.where, step=step)
    except ValueError:
        return read_times(series.labels, irregular="ignore", missing="drop", where=series.where)


def _check_static(panel: Panel, what: str) -> None:
    """Raise if a static column has two values in a series."""
    n = len(panel.columns.names)
    if not panel.columns.static or not panel.series:
        return
    order = np.concatenate([series.rows[series.rows >= 0] for series in panel.series])
    number = np.repeat(np.arange(len(panel.series)), [(series.rows >= 0).sum() for series in panel.series])
    for v, name in enumerate(panel.columns.static, start=n):
        known = ~panel.missing[v, order]
        rows, own = order[known], number[known]
        same = own[1:] == own[:-1]
        for values in (panel.codes[v, rows], panel.numbers[v, rows]):
            wrong = np.flatnonzero(same & (values[1:] != values[:-1]))
            if len(wrong):
                key = panel.series[own[wrong[0]]].key
                where = "" if key is None else f" in the series {key!r}"
                raise ValueError(
                    f"the static column {name!r} of {what} changes{where} (row {int(rows[wrong[0] + 1])}): give it the "
                    "same value in all rows of a series"
                )

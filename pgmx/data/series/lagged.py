"""Series of discrete, continuous or mixed variables, and their rows with the rows before them."""

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import caller_level, check_same_names, join_names
from pgmx.data.columns import find_missing
from pgmx.data.errors import MissingValuesError, refuse_infinite
from pgmx.data.files.readers import is_path, join_frames, read_whole
from pgmx.data.frame import Frame, open_chunk, open_columns
from pgmx.data.inputs import open_frame
from pgmx.data.numeric import list_nonnumeric_kinds, read_column, refuse_nonnumeric
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.reading import counts_rows, list_groups, list_tables
from pgmx.data.series.time_index import RowTimes, make_labels, read_times
from pgmx.data.table import DiscreteTable

#: A variable and its lag.
Node = tuple[Hashable, int]


@dataclass(frozen=True, eq=False)
class LaggedSeries:
    """Rows of series, group after group in the order of time, and the number of observed rows before each.

    No lag crosses the border of two groups or a gap. Columns that are constant in each group have no lags.
    """

    #: Columns without times and groups, in the order of the input.
    frame: Frame
    lags: int
    #: Names of the columns that are constant in each group.
    static: tuple[Hashable, ...]
    #: Keys of the groups in the order of their first rows, None for a single series.
    keys: tuple
    #: Number of the group of each row, int64 (n_rows,), ascending.
    group_of: np.ndarray
    #: Number of rows that precede each row without a gap, int64 (n_rows,); -1 for a row that is left out.
    n_before: np.ndarray
    #: Position of each row in the input, int64 (n_rows,).
    order: np.ndarray

    @property
    def names(self) -> tuple:
        """Names of all columns."""
        return self.frame.names

    @property
    def series(self) -> tuple:
        """Names of the columns that have lags."""
        return tuple(name for name in self.frame.names if name not in self.static)

    @property
    def n_rows(self) -> int:
        """Number of rows of the input."""
        return self.frame.n_rows

    @cached_property
    def nodes(self) -> list[Node]:
        """The columns at all lags: all series at lag 0, at lag 1 and so on, then the static columns at lag 0."""
        lagged = [(name, lag) for lag in range(self.lags + 1) for name in self.series]
        return [*lagged, *((name, 0) for name in self.static)]

    @cached_property
    def targets(self) -> np.ndarray:
        """Rows that `lags` observed rows precede, ascending int64."""
        return np.flatnonzero(self.n_before >= self.lags)

    @cached_property
    def beginnings(self) -> np.ndarray:
        """The row after the first `lags` rows of each group in which these are observed, ascending int64."""
        first = np.searchsorted(self.group_of, np.arange(len(self.keys)))
        last = first + self.lags - 1
        last, first = last[last < self.n_rows], first[last < self.n_rows]
        is_whole = (self.n_before[last] == self.lags - 1) & (self.group_of[last] == self.group_of[first])
        return last[is_whole] + 1

    def code(self, names: Sequence[Hashable], state_names: Any, missing: str, n_jobs: int | None) -> DiscreteTable:
        """Return discrete columns as a coded table; "drop" keeps rows with missing values, which are no targets."""
        marking = "pairwise" if missing == "drop" else missing
        chosen = self.frame if tuple(names) == self.names else self.frame.take_columns(names)
        table = chosen.encode(state_names=state_names, missing=marking, n_jobs=n_jobs)
        return strip_markers(table) if missing == "drop" else table

    def take_codes(
        self, table: DiscreteTable, nodes: Sequence[Node], labels: Sequence[Hashable], rows: np.ndarray
    ) -> DiscreteTable:
        """Return the coded columns at their lags before `rows`, named by `labels`."""
        ids = [table.index(name) for name, _ in nodes]
        codes = np.empty((len(nodes), len(rows)), dtype=table.codes.dtype)
        for column, v, (_, lag) in zip(codes, ids, nodes, strict=True):
            np.take(table.codes[v], rows - lag, out=column)
        states = tuple(table.states[v] for v in ids)
        return DiscreteTable._from_parts(tuple(labels), states, codes, table.missing_codes[ids])

    def take_columns(
        self,
        coded: DiscreteTable | None,
        numbers: dict[Hashable, np.ndarray],
        nodes: Sequence[Node],
        labels: Sequence[Hashable],
        rows: np.ndarray,
    ) -> Frame:
        """Return coded and numeric columns at their lags before `rows`, named by `labels`, with all their states."""
        columns: list[Any] = []
        for name, lag in nodes:
            if name in numbers:
                columns.append(numbers[name][rows - lag])
                continue
            assert coded is not None
            v = coded.index(name)
            states = pd.Index(list(coded.states[v]), tupleize_cols=False)
            columns.append(pd.Categorical.from_codes(coded.codes[v][rows - lag], states))
        return Frame(tuple(labels), columns, len(rows))

    def read_numbers(self, names: Sequence[Hashable]) -> dict[Hashable, np.ndarray]:
        """Return numeric columns as float64, or raise naming those with other or infinite values."""
        part = self.frame.take_columns(names)
        refuse_nonnumeric(part.names, list_nonnumeric_kinds(part))
        columns = zip(part.names, part.columns, strict=True)
        numbers = {name: np.asarray(read_column(values), dtype=np.float64) for name, values in columns}
        refuse_infinite([name for name, values in numbers.items() if np.isinf(values).any()])
        return numbers


def strip_markers(table: DiscreteTable) -> DiscreteTable:
    """Return a table without the states that mark missing values; the codes of missing values are 0."""
    marked = table.missing_codes >= 0
    if not marked.any():
        return table
    codes = table.codes.copy()
    for v in np.flatnonzero(marked):
        codes[v][codes[v] == table.missing_codes[v]] = 0
    states = tuple(names[:-1] if is_marked else names for names, is_marked in zip(table.states, marked, strict=True))
    return DiscreteTable._from_parts(table.columns, states, codes)


# ---- reading ----


def open_lagged(
    X: Any,
    *,
    lags: int,
    static_columns: Iterable[Hashable] | None = None,
    discrete_columns: Iterable[Hashable] | None = None,
    missing: str = "error",
    na_values: Any = None,
    **options: Any,
) -> LaggedSeries:
    """Read one or more series of any kind of variables; ValueError or TypeError names the faulty input.

    `options` are `time_column`, `groups` and `irregular` of `SeriesOptions`. With ``missing="drop"`` a row with a
    missing value is a gap. Gaps in the times are an error with ``missing="error"``.
    """
    settings = SeriesOptions(lags, missing="error" if missing == "error" else "drop", na_values=na_values, **options)
    whole, labels, tables = _join_tables(X, settings)
    special = settings.check_columns(whole.names, None if labels is None else labels.name)
    columns = dict(zip(whole.names, whole.columns, strict=True))
    if settings.time_column is not None and settings.time_column in columns:
        labels = make_labels(columns[settings.time_column])
    keys, order, sizes = _group_rows(columns, tables, settings)
    _check_sizes(keys, sizes, lags)
    names = [name for name in whole.names if name not in special]
    frame = whole.take_columns(names).declare_discrete(discrete_columns)
    if (np.diff(order) != 1).any():
        frame = Frame(frame.names, [_take(c, order) for c in frame.columns], frame.n_rows, discrete=frame.discrete)
        labels = None if labels is None else labels[order]
    static = _check_static(static_columns, frame, keys, sizes, settings)
    breaks = _find_breaks(labels, keys, sizes, settings)
    incomplete = _mark_incomplete(frame, missing)
    breaks |= incomplete
    breaks[1:] |= incomplete[:-1]
    rows = np.arange(frame.n_rows)
    n_before = rows - np.maximum.accumulate(np.where(breaks, rows, 0))
    n_before[incomplete] = -1
    group_of = np.repeat(np.arange(len(keys)), sizes)
    series = LaggedSeries(frame, lags, static, keys, group_of, n_before, order)
    if not len(series.targets):
        raise ValueError(f"no row follows {lags} observed rows of its series: fill missing values, or give fewer lags")
    return series


def _join_tables(X: Any, options: SeriesOptions) -> tuple[Frame, pd.Index | None, list[tuple[Any, int]]]:
    """Return the rows of all tables of a panel, their labels, and the key and the number of rows of each table."""
    tables = list_tables(X)
    opened = [_open_table(table, options, is_chunk=len(tables) > 1) for _, table in tables]
    frames = [frame for frame, _ in opened]
    for key, frame in zip([key for key, _ in tables][1:], frames[1:], strict=True):
        check_same_names(frames[0].names, frame.names, "the first table", f"the series {key!r}", "columns")
    sizes = [(key, frame.n_rows) for (key, _), frame in zip(tables, frames, strict=True)]
    if len(frames) == 1:
        return *opened[0], sizes
    parts = [labels for _, labels in opened]
    labels: pd.Index | None = None
    if any(part is not None for part in parts):
        counted = zip(frames, parts, strict=True)
        indices = [pd.RangeIndex(frame.n_rows) if part is None else part for frame, part in counted]
        labels = indices[0].append(indices[1:])
    names = frames[0].names
    pandas = [_to_pandas(frame.take_columns(names)) for frame in frames]
    joined = join_frames(pandas[0], iter(pandas[1:]))
    return Frame(names, joined.columns, joined.n_rows), labels, sizes


def _to_pandas(frame: Frame) -> pd.DataFrame:
    cells = {v: c.to_pandas() if isinstance(c, pa.ChunkedArray) else c for v, c in enumerate(frame.columns)}
    return pd.DataFrame(cells)


def _open_table(X: Any, options: SeriesOptions, *, is_chunk: bool) -> tuple[Frame, pd.Index | None]:
    """Return the columns of a table and the labels of its rows, None if they only count."""
    if isinstance(X, DiscreteTable):
        X = X.to_pandas()
    if is_path(X):
        X = read_whole(X, na_values=options.na_values)
    if not isinstance(X, pd.DataFrame):
        return open_chunk(X) if is_chunk else open_frame(X), None
    frame = open_chunk(X) if is_chunk else open_columns(X)
    return frame, None if counts_rows(X.index, options) else X.index


def _group_rows(
    columns: dict, tables: list[tuple[Any, int]], options: SeriesOptions
) -> tuple[tuple, np.ndarray, np.ndarray]:
    """Return the keys of the groups, the rows group after group, and the number of rows of each group."""
    sizes = np.array([size for _, size in tables])
    number = np.repeat(np.arange(len(sizes)), sizes)
    if options.groups is not None:
        parts = list_groups(columns[options.groups], options.groups)
        crossing = [key for key, rows in parts if number[rows[0]] != number[rows[-1]]]
        if crossing:
            raise ValueError(
                f"groups {join_names(crossing)} (column {options.groups!r}) occur in several tables: join the tables, "
                "or give each series in one table"
            )
        keys = tuple(key for key, _ in parts)
        return keys, np.concatenate([rows for _, rows in parts]), np.array([len(rows) for _, rows in parts])
    return tuple(key for key, _ in tables), np.arange(len(number)), sizes


def _check_sizes(keys: tuple, sizes: np.ndarray, lags: int) -> None:
    """Raise for groups of one row and for lags beyond the longest group; warn of groups without a target."""
    if sizes.max(initial=0) <= lags:
        rows, what = sizes.max(initial=0), "the series has" if keys == (None,) else "the longest group has"
        raise ValueError(
            f"{what} {rows} row{'' if rows == 1 else 's'}, and lags={lags} needs at least {lags + 1}: give more rows "
            "or fewer lags"
        )
    alone = [key for key, size in zip(keys, sizes, strict=True) if size == 1]
    if alone:
        raise ValueError(
            f"{len(alone)} group(s) have one row ({join_names(alone)}): a transition needs at least two rows of a "
            "group, so drop them"
        )
    short = [key for key, size in zip(keys, sizes, strict=True) if size <= lags]
    if short:
        warnings.warn(
            f"{len(short)} of {len(keys)} groups have at most {lags} rows and do not count, since lags={lags} needs "
            f"{lags + 1}: {join_names(short)}",
            UserWarning,
            stacklevel=caller_level(),
        )


def _check_static(
    static_columns: Iterable[Hashable] | None, frame: Frame, keys: tuple, sizes: np.ndarray, options: SeriesOptions
) -> tuple:
    """Return the names of the static columns in the order of the table, or raise unless they are constant by group."""
    if static_columns is None:
        return ()
    if isinstance(static_columns, str | bytes) or not isinstance(static_columns, Iterable):
        raise TypeError(f"static_columns must be a list of columns, as [{static_columns!r}]; got {static_columns!r}")
    given = list(static_columns)
    for name in given:
        if name in (options.time_column, options.groups) and name is not None:
            raise ValueError(f"static_columns names {name!r}, which is the column of times or groups: leave it out")
        if name not in frame.names:
            raise ValueError(
                f"static_columns names {name!r}, which is not a column: the columns are {join_names(frame.names)}"
            )
    names = tuple(name for name in frame.names if name in given)
    if len(names) == frame.n_columns:
        raise ValueError(f"static_columns names all columns ({join_names(names)}), and no series is left to learn from")
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    for name in names:
        values = frame.columns[frame.names.index(name)]
        codes = pd.factorize(values.to_pandas() if isinstance(values, pa.ChunkedArray) else values)[0]
        wrong = np.flatnonzero(codes != codes[first])
        if len(wrong):
            key = keys[int(np.searchsorted(np.cumsum(sizes), wrong[0], side="right"))]
            where = "in the series" if key is None else f"in the group {key!r}"
            raise ValueError(f"the static column {name!r} changes {where}: leave it out of static_columns")
    return names


def _find_breaks(labels: pd.Index | None, keys: tuple, sizes: np.ndarray, options: SeriesOptions) -> np.ndarray:
    """Return which rows do not follow the row before, bool (n_rows,)."""
    starts = np.cumsum(sizes) - sizes
    breaks = np.zeros(int(sizes.sum()), dtype=bool)
    breaks[starts] = True
    if labels is None or _is_regular(labels, breaks):
        return breaks
    slices = [slice(start, start + size) for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]

    def read(g: int, step: Any) -> RowTimes:
        where = "" if keys[g] is None else f" of the series {keys[g]!r}"
        return read_times(
            labels[slices[g]], irregular=options.irregular, missing=options.missing, where=where, step=step
        )

    index = read(int(np.argmax(sizes)), None).index  # the step of the longest series is the step of all
    for g, rows in enumerate(slices):
        positions = read(g, None if index is None else index.step).positions
        breaks[rows.start + 1 : rows.stop] |= np.diff(positions) != 1
    return breaks


def _is_regular(labels: pd.Index, breaks: np.ndarray) -> bool:
    """Return whether integers or dates have one step in all series, which is tested without a loop over them."""
    is_time = isinstance(labels, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex)
    if not is_time and labels.dtype.kind not in "iu":
        return False
    if labels.hasnans:
        return False
    numbers = labels.asi8 if is_time else labels.to_numpy()
    steps = np.diff(numbers)[~breaks[1:]]
    return bool(len(steps) and steps[0] > 0 and (steps == steps[0]).all())


def _mark_incomplete(frame: Frame, missing: str) -> np.ndarray:
    """Return the rows that are left out because of missing values, bool (n_rows,)."""
    if missing == "error":
        incomplete = frame.missing_columns()
        if incomplete:
            raise MissingValuesError(incomplete, empty=frame.empty_columns())
    masks = [find_missing(values) for values in frame.columns] if missing == "drop" else []
    found = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(found) if found else np.zeros(frame.n_rows, dtype=bool)


def _take(values: Any, rows: np.ndarray) -> Any:
    return values.take(pa.array(rows)) if isinstance(values, pa.ChunkedArray) else values[rows]

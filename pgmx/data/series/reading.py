"""From any accepted input to the complete segments of one or more series, whole or in chunks."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgmx.checks import check_same_names, explain_unreadable, join_names, read_only
from pgmx.data.errors import MissingValuesError
from pgmx.data.files.readers import (
    CHUNK_ROWS,
    is_csv,
    is_iterator,
    is_path,
    limit_chunk_rows,
    list_table_files,
    read_csv_chunks,
    read_csv_header,
    refuse_na_values,
)
from pgmx.data.frame import Frame, open_chunk, open_columns
from pgmx.data.numeric import (
    list_nonnumeric_kinds,
    make_rows,
    mark_infinite_columns,
    mark_missing_columns,
    refuse_nonnumeric,
    refuse_values,
    select_names,
)
from pgmx.data.series.options import SeriesOptions, make_seasons
from pgmx.data.series.panel import ColumnMoments, Panel, check_variation
from pgmx.data.series.time_index import TimeIndex, is_same_kind, make_labels, read_times

#: Rows of a series that are read together first: fewer may not show its step (five business days, two rows at a gap).
_FIRST_ROWS = 64

#: Labels of the rows before a chunk that are read again with it, so that its step can be found.
_LABELS_BEFORE = 3

Segment = tuple[np.ndarray, np.ndarray]


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


# ---- series in memory ----


def open_series(X: Any, *, lags: int, origin: TimeIndex | None = None, **options: Any) -> Panel:
    """Read series into memory; ValueError or TypeError names the faulty input; `options` as in `SeriesOptions`."""
    settings = SeriesOptions(lags, **options)
    names: tuple | None = None
    parts: list[SeriesRows] = []
    for key, table in list_tables(X):
        in_chunks = is_path(table) or is_iterator(table)
        part_names, rows = (_read_all if in_chunks else read_rows)(table, settings, key)
        if names is None:
            names = part_names
        parts += [_align_names(part, part_names, names) for part in rows]
    assert names is not None
    readers = [SegmentReader(settings, part.where) for part in parts]
    segments = []
    for reader, part in zip(readers, parts, strict=True):
        # seasons of all series are counted by the index of the first one
        first = readers[0].find_index() if readers[0].n_rows else None
        segments += reader.read(part, first if origin is None else origin)
        reader.check_length()
    panel = Panel(
        names,
        tuple(rows for rows, _ in segments),
        tuple(rows for _, rows in segments),
        settings.exogenous_names,
        n_rows=sum(reader.n_rows for reader in readers),
        n_left_out=sum(reader.count_left_out() for reader in readers),
        index=readers[0].find_index(),
    )
    check_variation(names, panel.columns, panel.count_targets(lags), panel.n_rows, lags)
    return panel


def list_tables(X: Any) -> list[tuple[Any, Any]]:
    """Return the tables of a panel with their keys, None for a single one."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
        tables = list(X.items())
    elif isinstance(X, list | tuple) and (not len(X) or _is_table(X[0])):
        tables = list(enumerate(X))
    else:
        tables = [(None, X)]
    if not tables:
        raise ValueError("the panel holds no series: give at least one table")
    return tables


def _is_table(X: Any) -> bool:
    """Return whether a member of a sequence is a table; if not, the sequence is a list of rows."""
    return is_path(X) or len(getattr(X, "shape", ())) == 2


def _read_all(X: Any, options: SeriesOptions, key: Any) -> tuple[tuple, list[SeriesRows]]:
    """Return all rows of a file or an iterator of tables, joined per group."""
    groups: dict[Any, list[SeriesRows]] = {}
    names: tuple = ()
    for names, rows in read_chunks(X, options, key):  # noqa: B007 (the names of the last chunk are the names of all)
        for part in rows:
            groups.setdefault(part.key, []).append(part)
    return names, [_join_rows(parts) for parts in groups.values()]


def _join_rows(parts: list[SeriesRows]) -> SeriesRows:
    """Return the rows of one series in chunks as one."""
    labels: list[pd.Index] = []
    if any(part.labels is not None for part in parts):
        starts = np.cumsum([0, *(len(part.values) for part in parts[:-1])]).tolist()
        labels = [part.number(start) for start, part in zip(starts, parts, strict=True)]
    return SeriesRows(
        parts[0].key,
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.exogenous for part in parts]),
        labels[0].append(labels[1:]) if labels else None,
    )


# ---- series in chunks ----


class SeriesChunks:
    """One pass over series that need not fit into memory, for learners that use cross-products.

    A pass yields complete segments with the last L rows before them. Afterwards `columns` has the moments of all rows;
    `n_rows`, `n_targets` and `n_left_out` count. With `groups` the last rows of every group are carried over.
    """

    def __init__(self, X: Any, *, lags: int, **options: Any):
        self._options = SeriesOptions(lags, **options)
        chunks = read_chunks(X, self._options)
        self.names, rows = next(chunks)
        self._unread = [chain([(self.names, rows)], chunks)]
        self._readers: dict[Any, SegmentReader] = {}
        self._held: dict[Any, SeriesRows] = {}
        self.exogenous_names = self._options.exogenous_names
        self.columns = ColumnMoments(len(self.names))
        self.n_left_out = 0
        #: Means of the first chunk: close enough to the means of all rows to be subtracted before products.
        self.shifts = ColumnMoments(len(self.names))
        for part in rows:
            self.shifts.update(part.values[_mark_observed(part.values)])

    @property
    def n_rows(self) -> int:
        """Rows read so far."""
        return sum(reader.n_rows for reader in self._readers.values())

    @property
    def index(self) -> TimeIndex | None:
        """The regular index of the first series, by which seasons are counted; None if it is irregular."""
        readers = list(self._readers.values())
        return readers[0].find_index() if readers else None

    @property
    def n_targets(self) -> int:
        """Rows read so far whose whole lag window is observed."""
        return sum(reader.n_targets for reader in self._readers.values())

    def read(self) -> Iterator[Segment]:
        """Yield rows (T_s, N) and exogenous rows (T_s, K) of the segments, once."""
        if not self._unread:
            raise ValueError("the chunks of these series were already read: give them again")
        for _, rows in self._unread.pop():
            yield from self._read(rows)
        for key in list(self._held):
            yield from self._place(key)
        readers = self._readers.values()
        for reader in readers:
            reader.check_length()
        self.n_left_out = sum(reader.count_left_out() for reader in readers)
        check_variation(self.names, self.columns, self.n_targets, self.n_rows, self._options.lags)

    def _read(self, parts: list) -> Iterator[Segment]:
        for part in parts:
            reader = self._readers.setdefault(part.key, SegmentReader(self._options, part.where))
            held = self._held.get(part.key)
            self._held[part.key] = part if held is None else _join_rows([held, part])
            if reader.n_rows or len(self._held[part.key].values) >= _FIRST_ROWS:
                first = next(iter(self._readers))
                if first in self._held and first != part.key:  # its index defines the seasons
                    yield from self._place(first)
                yield from self._place(part.key)

    def _place(self, key: Any) -> Iterator[Segment]:
        part, leader = self._held.pop(key), next(iter(self._readers.values()))
        observed = _mark_observed(part.values) & _mark_observed(part.exogenous)
        self.columns.update(part.values if observed.all() else part.values[observed])
        yield from self._readers[key].read(part, leader.find_index() if leader.n_rows else None)


def _mark_observed(rows: np.ndarray) -> np.ndarray:
    return np.asarray(~np.isnan(rows).any(axis=1))


# ---- rows of tables and chunks ----


def read_rows(
    X: Any, options: SeriesOptions, key: Hashable | None = None, *, is_chunk: bool = False
) -> tuple[tuple, list[SeriesRows]]:
    """Return the names of the series of a table and its rows, separately per group; values are checked."""
    frame = open_chunk(X) if is_chunk else open_columns(X)
    index = X.index if isinstance(X, pd.DataFrame) else None
    special = options.check_columns(frame.names, None if index is None else index.name)
    columns = dict(zip(frame.names, frame.columns, strict=True))
    names = tuple(name for name in frame.names if name not in special)
    values, exogenous = _read_numbers(frame, names, options), _read_numbers(frame, options.exogenous_columns, options)
    if options.time_column in columns and options.time_column is not None:
        labels: pd.Index | None = make_labels(columns[options.time_column])
    else:
        labels = None if index is None or counts_rows(index, options) else index
    if options.groups is None:
        return names, [SeriesRows(key, values, exogenous, labels)]
    parts = []
    for group, rows in list_groups(columns[options.groups], options.groups):
        part_key = group if key is None else (key, group)
        part_labels = None if labels is None else labels[rows]
        parts.append(SeriesRows(part_key, values[rows], exogenous[rows], part_labels))
    return names, parts


def _align_names(part: SeriesRows, names: tuple, wanted: tuple) -> SeriesRows:
    """Return rows with their columns in another order, or raise if the names differ."""
    if names == wanted:
        return part
    check_same_names(wanted, names, "the first table", f"the next{part.where}", "series")
    order = [names.index(name) for name in wanted]
    return SeriesRows(part.key, np.ascontiguousarray(part.values[:, order]), part.exogenous, part.labels)


def read_chunks(X: Any, options: SeriesOptions, key: Any = None) -> Iterator[tuple[tuple, list[SeriesRows]]]:
    """Yield the names and rows of the chunks of a file, a folder of Parquet files or an iterator of tables."""
    names = None
    for chunk in _read_file_chunks(X, options.na_values) if is_path(X) else X:
        part_names, rows = read_rows(chunk, options, key, is_chunk=True)
        names = part_names if names is None else names
        yield names, [_align_names(part, part_names, names) for part in rows]
    if names is None:
        raise ValueError("the iterator gave no table: it is empty, or it was used up before")


def _read_file_chunks(path: Any, na_values: Any) -> Iterator[pd.DataFrame]:
    """Yield the frames of files, at most 65,536 rows each, with the index that pandas stored in a Parquet file."""
    for file in list_table_files(path):
        with explain_unreadable(file, "cannot be read", "mend the file, or write it again"):
            if is_csv(file):
                rows = limit_chunk_rows(CHUNK_ROWS, len(read_csv_header(file)))
                yield from read_csv_chunks(file, rows, na_values=na_values)
                continue
            refuse_na_values(file, na_values)
            with pq.ParquetFile(file, memory_map=True, pre_buffer=False) as reader:
                for batch in reader.iter_batches(batch_size=limit_chunk_rows(CHUNK_ROWS, len(reader.schema_arrow))):
                    yield pa.Table.from_batches([batch]).to_pandas()


def counts_rows(index: pd.Index, options: SeriesOptions) -> bool:
    """Return whether an index numbers the rows of a table; with groups such numbers belong to no single series."""
    return isinstance(index, pd.RangeIndex) and index.step == 1 and (index.start == 0 or options.groups is not None)


def list_groups(cells: Any, name: Hashable) -> list[tuple[Hashable, np.ndarray]]:
    """Return the values of a column of groups, in the order in which they occur, with their rows."""
    cells = cells.to_pandas() if hasattr(cells, "to_pandas") else cells
    codes, groups = pd.factorize(pd.Series(cells))
    if (codes < 0).any():
        raise ValueError(f"the group of row {int(np.argmin(codes))} is missing (column {name!r}): fill it")
    # stable: the rows of a group stay in the order of time
    order = np.argsort(codes, kind="stable")
    bounds = np.cumsum(np.bincount(codes, minlength=len(groups)))[:-1]
    return list(zip(groups.tolist(), np.split(order, bounds), strict=True))


def _read_numbers(frame: Frame, names: tuple, options: SeriesOptions) -> np.ndarray:
    """Return columns as float64 rows, C-contiguous, or raise about values; a float64 array is not copied."""
    part = frame
    if names != frame.names:
        places = {name: v for v, name in enumerate(frame.names)}
        part = Frame(names, [frame.columns[places[name]] for name in names], frame.n_rows)
    kinds = list_nonnumeric_kinds(part)
    times = [name for name, kind in kinds.items() if "date" in str(kind) or "period" in str(kind).lower()]
    if times and options.time_column is None:
        raise ValueError(f"column(s) {join_names(times)} hold times: give time_column={times[0]!r}, or leave them out")
    refuse_nonnumeric(part.names, kinds)
    rows = _find_block(part)
    refuse_values(part.names, None, mark_infinite_columns(rows))
    if options.missing == "error" and (incomplete := mark_missing_columns(rows)).any():
        raise MissingValuesError(select_names(part.names, incomplete), choices=("drop",))
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
    return make_rows(frame)


# ---- complete segments ----


class SegmentReader:
    """Splits the rows of one series at unobserved rows and at gaps of the times.

    The rows may come in chunks: the last L rows of one are carried over to the next, so that every row is predicted
    once and from its whole lag window.
    """

    def __init__(self, options: SeriesOptions, where: str):
        self.n_rows = 0
        self.n_targets = 0
        self.index: TimeIndex | None = None
        self._options, self._where = options, where
        self._labels: pd.Index | None = None  # of the last rows
        self._last = -1  # position of the last row on the grid
        self._tail: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # values, exogenous, positions

    def read(self, rows: SeriesRows, first: TimeIndex | None = None) -> list[Segment]:
        """Return the complete segments of the next rows, each with the rows carried over to it.

        `first` is the index of the panel's first series, by which its seasons are counted.
        """
        positions = self._place(rows)
        values, exogenous = rows.values, self._add_seasons(rows.exogenous, positions, first)
        self.n_rows += len(values)
        self._last = int(positions[-1]) if len(positions) else self._last
        if self._tail is not None:
            values, exogenous, positions = (
                np.concatenate([tail, new])
                for tail, new in zip(self._tail, (values, exogenous, positions), strict=True)
            )
        n, lags = len(values), self._options.lags
        # copies: views would keep the whole chunk in memory
        self._tail = tuple(part[max(n - lags, 0) :].copy() for part in (values, exogenous, positions))  # type: ignore[assignment]
        segments = [(_freeze(values[run]), _freeze(exogenous[run])) for run in split_rows(values, exogenous, positions)]
        self.n_targets += sum(max(len(segment) - lags, 0) for segment, _ in segments)
        return segments

    def count_left_out(self) -> int:
        """Return how many rows would have been predicted if all had been observed, and are not."""
        return self._last + 1 - self._options.lags - self.n_targets

    def find_index(self) -> TimeIndex | None:
        """Return the index if it is regular; the index of rows without labels counts them."""
        if self._labels is None:
            return TimeIndex(0, self._last, 1)
        return self.index

    def check_length(self) -> None:
        """Raise ValueError if there is no row to predict; a series of a panel may have a single one."""
        least = self._options.lags + 1
        if self.n_rows < least:
            rows = "row" if self.n_rows == 1 else "rows"
            raise ValueError(
                f"{self._where[4:] or 'the series'} has {self.n_rows} {rows}, and lags={self._options.lags} needs at "
                f"least {least}: give more rows or fewer lags"
            )

    def _place(self, rows: SeriesRows) -> np.ndarray:
        """Return the positions of the next rows on the grid of the series."""
        if (rows.labels is None and self._labels is None) or not len(rows.values):
            return self._last + 1 + np.arange(len(rows.values))
        labels, n_before = rows.number(self.n_rows), 0
        if self._labels is None and self.n_rows:  # rows without labels are labelled by their position
            self._labels = pd.RangeIndex(max(self.n_rows - _LABELS_BEFORE, 0), self.n_rows)
            self.index = self.find_index()
        if self._labels is not None:
            labels, n_before = self._labels.append(labels), len(self._labels)
        options = self._options
        step = None if self.index is None else self.index.step
        times = read_times(
            labels, irregular=options.irregular, missing=options.missing, where=self._where, step=step, row=self.n_rows
        )
        if times.index is not None:
            first = times.index.first if self.index is None else self.index.first
            self.index = TimeIndex(first, times.index.last, times.index.step)
        self._labels = labels[-_LABELS_BEFORE:]
        if not n_before:
            return times.positions
        return times.positions[n_before:] - times.positions[n_before - 1] + self._last

    def _add_seasons(self, exogenous: np.ndarray, positions: np.ndarray, first: TimeIndex | None) -> np.ndarray:
        """Append the seasonal columns; season 0 is the season of the first row of the panel's first series."""
        period = self._options.seasonal_period
        if period is None:
            return exogenous
        n_rows = self.n_rows + len(positions)
        if n_rows == 2 and self._labels is not None and self.index is None:
            raise ValueError(
                f"the seasons of 2 rows{self._where} are unknown, since two times do not show the step of a series: "
                "give at least 3 rows of each series, or no seasonal_period"
            )
        shift = 0
        if first is not None and self.index is not None and is_same_kind(first.first, self.index.first):
            place = first.count_steps(self.index.first)
            if place is None:
                raise ValueError(
                    f"the season of {self.index.first}{self._where} is unknown: it is not a whole number of steps "
                    f"({first.step}) away from {first.first}, the first time of all"
                )
            shift = place
        return np.hstack([exogenous, make_seasons(positions + shift, period)])


def split_rows(values: np.ndarray, exogenous: np.ndarray, positions: np.ndarray) -> list[slice]:
    """Return the runs of rows that are observed and follow each other."""
    observed = ~np.isnan(values).any(axis=1)
    if exogenous.shape[1]:
        observed &= ~np.isnan(exogenous).any(axis=1)
    rows = np.flatnonzero(observed)
    if not len(rows):
        return []
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(positions[rows]) != 1)) + 1
    return [slice(run[0], run[-1] + 1) for run in np.split(rows, breaks)]


def _freeze(rows: np.ndarray) -> np.ndarray:
    """Return a read-only view, C-contiguous."""
    return read_only(np.ascontiguousarray(rows)[:])

"""Series in chunks: one pass over a file, a folder of Parquet files or an iterator of tables."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from pgmx.data.series.column_moments import ColumnMoments
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.panel import check_variation
from pgmx.data.series.reading import join_rows, read_pieces
from pgmx.data.series.segments import Segment, SegmentReader
from pgmx.data.series.tables import SeriesRows
from pgmx.data.series.time_index import TimeIndex

#: Rows of a series that are read together first: fewer may not show its step (five business days, two rows at a gap).
FIRST_ROWS = 64


class SeriesChunks:
    """One pass over series that need not fit into memory, for learners that use cross-products.

    A pass yields complete segments with the last L rows before them. Afterwards `columns` has the moments of all rows;
    `n_rows`, `n_targets` and `n_left_out` count. With `groups` the last rows of every group are carried over.
    """

    def __init__(self, X: Any, *, lags: int, **options: Any):
        self._options = SeriesOptions(lags, **options)
        pieces = read_pieces(X, self._options)
        self.names, rows = next(pieces)
        self._unread = [chain([(self.names, rows)], pieces)]
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
            self._held[part.key] = part if held is None else join_rows([held, part])
            if reader.n_rows or len(self._held[part.key].values) >= FIRST_ROWS:
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

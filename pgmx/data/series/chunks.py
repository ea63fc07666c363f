"""Series that come in pieces: one pass over a file, a folder of Parquet files or an iterator of tables."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from pgmx.data.series.column_moments import ColumnMoments
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.panel import check_variation
from pgmx.data.series.reading import read_pieces
from pgmx.data.series.segments import Segment, SegmentReader
from pgmx.data.series.time_index import TimeIndex


class SeriesChunks:
    """One pass over series that need not fit into memory, for what is learned from cross-products.

    A pass yields complete segments with the last L rows before them. After it `columns` has the moments of all rows;
    `n_rows`, `n_targets` and `n_left_out` count. With `groups` the last rows of every group are carried over.
    """

    def __init__(self, X: Any, *, lags: int, **options: Any):
        self._options = SeriesOptions(lags, **options)
        pieces = read_pieces(X, self._options)
        self.names, rows = next(pieces)
        self._unread = [chain([(self.names, rows)], pieces)]
        self._readers: dict[Any, SegmentReader] = {}
        self.exogenous_names = self._options.exogenous_names
        self.columns = ColumnMoments(len(self.names))
        self.n_left_out = 0
        #: Means of the first piece: near enough to those of all rows to be taken off before products.
        self.shifts = ColumnMoments(len(self.names))
        for part in rows:
            self.shifts.update(part.values[_mark_observed(part.values)])

    @property
    def n_rows(self) -> int:
        """Rows read so far."""
        return sum(reader.n_rows for reader in self._readers.values())

    @property
    def index(self) -> TimeIndex | None:
        """The regular index of a single series, None for others."""
        readers = list(self._readers.values())
        return readers[0].find_index() if len(readers) == 1 else None

    @property
    def n_targets(self) -> int:
        """Rows read so far whose whole lag window is observed."""
        return sum(reader.n_targets for reader in self._readers.values())

    def read(self) -> Iterator[Segment]:
        """Yield rows (T_s, N) and exogenous rows (T_s, K) of the segments, once."""
        if not self._unread:
            raise ValueError("the pieces of these series were read before: give them anew")
        for _, rows in self._unread.pop():
            yield from self._read(rows)
        readers = self._readers.values()
        for reader in readers:
            reader.check_length()
        self.n_left_out = sum(reader.count_left_out() for reader in readers)
        check_variation(self.names, self.columns, self.n_targets, self.n_rows, self._options.lags)

    def _read(self, parts: list) -> Iterator[Segment]:
        for part in parts:
            reader = self._readers.setdefault(part.key, SegmentReader(self._options, part.where))
            first = next(iter(self._readers.values())).index
            observed = _mark_observed(part.values) & _mark_observed(part.exogenous)
            self.columns.update(part.values if observed.all() else part.values[observed])
            yield from reader.read(part, first)


def _mark_observed(rows: np.ndarray) -> np.ndarray:
    return ~np.isnan(rows).any(axis=1)

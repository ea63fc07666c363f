"""Rows of one series as complete segments, from all its rows or from chunks."""

import numpy as np
import pandas as pd

from pgmx.checks import read_only
from pgmx.data.series.options import SeriesOptions, make_seasons
from pgmx.data.series.tables import SeriesRows
from pgmx.data.series.time_index import TimeIndex, is_same_kind, read_times

#: Labels of the rows before a chunk that are read again with it, so that its step can be found.
_LABELS_BEFORE = 3

Segment = tuple[np.ndarray, np.ndarray]


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

"""Series in memory as complete segments, and the moments of their columns."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pgmx.checks import join_names, read_only
from pgmx.data.series.time_index import TimeIndex


class ColumnMoments:
    """Number of rows, and mean, sum of squared deviations, smallest and largest value of each column.

    Subsets are merged as in `pgmx.statistics.Moments`, without products of two columns.
    """

    def __init__(self, n_columns: int):
        self.n = 0
        self.mean = np.zeros(n_columns)
        self.squares = np.zeros(n_columns)
        self.low = np.full(n_columns, np.inf)
        self.high = np.full(n_columns, -np.inf)

    def update(self, rows: np.ndarray) -> None:
        """Add rows (m, n_columns)."""
        if not len(rows):
            return
        mean = rows.mean(axis=0)
        deviations = rows - mean
        total = self.n + len(rows)
        shift = mean - self.mean
        self.squares += np.einsum("ij,ij->j", deviations, deviations) + shift**2 * (self.n * len(rows) / total)
        self.mean = self.mean + shift * (len(rows) / total)
        self.low = np.minimum(self.low, rows.min(axis=0))
        self.high = np.maximum(self.high, rows.max(axis=0))
        self.n = total

    def scales(self) -> np.ndarray:
        """Return the population standard deviations."""
        return np.sqrt(self.squares / self.n)

    def find_constants(self) -> np.ndarray:
        """Return the positions of the columns that hold one value, or vary by less than their rounding."""
        rounding = np.maximum(np.abs(self.low), np.abs(self.high)) * 1e-15
        return np.flatnonzero(~(self.high > self.low) | (self.squares <= self.n * rounding**2))


@dataclass(frozen=True, eq=False)
class Panel:
    """Series as complete segments: no lag crosses the border of two.

    Rows are time, oldest first. An unobserved row, a gap of the index and the end of a table end a segment.
    """

    #: Names of the N series.
    names: tuple[Hashable, ...]
    #: Rows (T_s, N) of each segment, float64, C-contiguous, read-only.
    segments: tuple[np.ndarray, ...]
    #: Exogenous columns (T_s, K) of each segment, seasonal ones last; K may be 0.
    exogenous: tuple[np.ndarray, ...]
    #: Names of the K exogenous columns.
    exogenous_names: tuple[Hashable, ...]
    #: Rows of the input.
    n_rows: int
    #: Rows that would have been predicted if all rows had been observed, and are not.
    n_left_out: int
    #: The regular index of the first series, by which seasons are counted; None if it is irregular.
    index: TimeIndex | None

    @property
    def n_series(self) -> int:
        """N."""
        return len(self.names)

    def count_targets(self, lags: int) -> int:
        """Return the number of rows whose whole lag window is observed."""
        return sum(max(len(segment) - lags, 0) for segment in self.segments)

    @cached_property
    def columns(self) -> ColumnMoments:
        """Means, standard deviations and ranges of the series over all rows."""
        moments = ColumnMoments(self.n_series)
        for segment in self.segments:
            moments.update(segment)
        return moments

    def means(self) -> np.ndarray:
        """Return the means of all rows, (N,)."""
        return self.columns.mean

    def scales(self) -> np.ndarray:
        """Return the population standard deviations of all rows, (N,)."""
        return self.columns.scales()

    def select(self, names: tuple) -> "Panel":
        """Return the series of these names, in their order."""
        if names == self.names:
            return self
        order = [self.names.index(name) for name in names]
        segments = tuple(read_only(np.ascontiguousarray(segment[:, order])) for segment in self.segments)
        return replace(self, names=names, segments=segments)

    def crop(self, n_rows: int) -> "Panel":
        """Return the panel without the first rows of each segment; segments that end before are left out."""
        pairs = [
            (segment[n_rows:], exogenous[n_rows:])
            for segment, exogenous in zip(self.segments, self.exogenous, strict=True)
            if len(segment) > n_rows
        ]
        segments, exogenous = zip(*pairs, strict=True)
        return replace(self, segments=segments, exogenous=exogenous)

    def rescale(self, scales: np.ndarray | None, means: np.ndarray | None = None) -> "Panel":
        """Return the series minus their means, if given, divided by the scales; exogenous columns stay."""
        segments = []
        for segment in self.segments:
            rows = segment if means is None else segment - means
            rows = rows if scales is None else rows / scales
            segments.append(read_only(np.ascontiguousarray(rows)) if rows is not segment else rows)
        return replace(self, segments=tuple(segments))


def check_variation(names: tuple, columns: ColumnMoments, n_targets: int, n_rows: int, lags: int) -> None:
    """Raise ValueError if there are fewer than two rows to predict, or a series is constant."""
    if n_targets < 2:
        raise ValueError(
            f"only {n_targets} of {n_rows} rows end {lags + 1} observed rows in sequence, at least 2 are needed: fill "
            "missing values, or give fewer lags"
        )
    constant = [names[v] for v in columns.find_constants()]
    if constant:
        raise ValueError(f"constant series {join_names(constant)}: leave out series that do not vary")

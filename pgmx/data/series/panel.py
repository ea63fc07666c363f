"""Series in memory as complete segments."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from pgmx.checks import read_only
from pgmx.data.series.time_index import TimeIndex


@dataclass(frozen=True, eq=False)
class Panel:
    """Series as complete segments: no lag crosses the border of two.

    Rows are time, oldest first. An unobserved row, a gap of the index and the end of a part end a segment.
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
    #: Rows that would have been predicted, had all rows been observed, and are not.
    n_left_out: int
    #: The regular index of a single series, None for others.
    index: TimeIndex | None

    @property
    def n_series(self) -> int:
        """N."""
        return len(self.names)

    def count_targets(self, lags: int) -> int:
        """Return the number of rows whose whole lag window is observed."""
        return sum(max(len(segment) - lags, 0) for segment in self.segments)

    def means(self) -> np.ndarray:
        """Return the means of all rows, (N,)."""
        return sum(segment.sum(axis=0) for segment in self.segments) / self._count_rows()

    def scales(self) -> np.ndarray:
        """Return the population standard deviations of all rows, (N,)."""
        means = self.means()
        squares = np.zeros(self.n_series)
        for segment in self.segments:
            deviations = segment - means
            squares += np.einsum("ij,ij->j", deviations, deviations)
        return np.sqrt(squares / self._count_rows())

    def rescale(self, scales: np.ndarray | None, means: np.ndarray | None = None) -> "Panel":
        """Return the series less their means, if given, divided by the scales; exogenous columns stay."""
        segments = []
        for segment in self.segments:
            rows = segment if means is None else segment - means
            rows = rows if scales is None else rows / scales
            segments.append(read_only(np.ascontiguousarray(rows)) if rows is not segment else rows)
        return replace(self, segments=tuple(segments))

    def _count_rows(self) -> int:
        return sum(map(len, self.segments))

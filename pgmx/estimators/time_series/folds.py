"""Successive folds of the rows of time series, for forecast errors after a rolling origin."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from pgmx.data.series import Panel


@dataclass(frozen=True, eq=False)
class PanelParts:
    """A panel whose targets are divided: fold p holds the targets `cuts` [s, p] to `cuts` [s, p + 1] of segment s."""

    panel: Panel
    lags: int
    cuts: np.ndarray

    @classmethod
    def divide(cls, panel: Panel, lags: int, n_parts: int) -> Self:
        """Cut each segment into `n_parts` folds; segments with fewer targets (such as pairs) stay whole, in order.

        ValueError if a fold would have no target.
        """
        sizes = np.array([max(len(segment) - lags, 0) for segment in panel.segments])
        lengths = -(-sizes // n_parts)
        cuts = np.minimum(np.arange(n_parts + 1) * lengths[:, None], sizes[:, None])
        short = np.flatnonzero((sizes > 0) & (sizes < n_parts))
        parts = np.arange(len(short)) * n_parts // max(len(short), 1)
        cuts[short] = np.where(np.arange(n_parts + 1) > parts[:, None], sizes[short, None], 0)
        if (np.diff(cuts, axis=1).sum(axis=0) == 0).any():
            raise ValueError(
                f"n_folds={n_parts - 1} needs a series with at least {n_parts} predicted rows, or {n_parts} series: "
                "give fewer folds"
            )
        return cls(panel, lags, cuts)

    def take(self, first: int, stop: int) -> Panel:
        """Return the targets of the folds `first` to `stop` - 1, each with the rows of its lags."""
        pairs = [
            (rows[cuts[first] : cuts[stop] + self.lags], exogenous[cuts[first] : cuts[stop] + self.lags])
            for rows, exogenous, cuts in zip(self.panel.segments, self.panel.exogenous, self.cuts, strict=True)
            if cuts[stop] > cuts[first]
        ]
        segments, exogenous = zip(*pairs, strict=True)
        return replace(self.panel, segments=segments, exogenous=exogenous)

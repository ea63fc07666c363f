"""Second moments of windows of series, sufficient statistics for piecewise stationary inputs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class SecondMoments(NamedTuple):
    """Second moments of the windows, and known powers of the inputs."""

    moments: np.ndarray  # (M, N, N): mean of y y' in each window
    n_rows: np.ndarray  # (M,): rows of each window, or their weights
    powers: np.ndarray  # (M, N): mean squares of the inputs, NaN if unknown

    @property
    def shares(self) -> np.ndarray:
        """Weights of the windows, which sum to 1, shape (M,)."""
        return self.n_rows / self.n_rows.sum()

    @property
    def scales(self) -> np.ndarray:
        """Root mean squares of the series over all windows, shape (N,)."""
        return np.sqrt(self.shares @ np.einsum("mii->mi", self.moments))

    def rescale(self, scales: np.ndarray) -> "SecondMoments":
        """Return the moments of the series divided by `scales`, shape (N,)."""
        return self._replace(moments=self.moments / scales[:, None] / scales)


def gather_moments(windows: Sequence[np.ndarray], powers: np.ndarray) -> SecondMoments:
    """Return the second moments of windows of rows (L_m, N), as in eq. 4.8."""
    moments = np.stack([window.T @ window / len(window) for window in windows])
    return SecondMoments(moments, np.array([len(window) for window in windows], dtype=float), powers)


def cut_windows(lengths: Sequence[int], window: int) -> list[np.ndarray]:
    """Return the ends of the windows of each segment; rows after the last complete window belong to that window."""
    return [np.append(np.arange(1, max(1, length // window)) * window, length) for length in lengths]

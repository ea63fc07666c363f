"""The tracker of the thesis: recursive least squares for the tensor of second moments, with known powers."""

from functools import partial

import numpy as np
from scipy.linalg import eigh

from pgmx.parallel.threads import call_on_threads
from pgmx.solvers.time_series.sem.accuracy import Coefficients

#: The inverse of Σ β^(m−l) p_l p_l' starts as this value times the identity (remark 4).
FIRST_INVERSE = 10.0


class RecursiveTracker:
    """Algorithm 5b: H_m by recursive least squares, leading eigenvectors of its slices, then A by proposition 3.

    H ← H + (vec R − H p) k' with k = W p / (β + p'W p) costs O(N³), and the eigenvectors O(N⁴). State: N³ values.
    """

    def __init__(self, n_series: int, forgetting: float):
        self.forgetting = forgetting
        self.slices = np.zeros((n_series, n_series, n_series))  # [i]: H_i, close to a_i a_i'
        self.inverse = np.eye(n_series) * FIRST_INVERSE
        self.reported: Coefficients | None = None
        self.restarts: list[int] = []
        self.settled = True
        self.n_windows = 0

    def add(self, moment: np.ndarray, n_rows: int, powers: np.ndarray) -> None:
        """Add a window: its second moments (N, N) and the powers of its inputs (N,)."""
        self.n_windows += 1
        n = len(moment)
        direction = self.inverse @ powers
        step = direction / (self.forgetting + powers @ direction)
        error = moment - (powers @ self.slices.reshape(n, n * n)).reshape(n, n)
        self.slices += step[:, None, None] * error
        self.inverse = (self.inverse - np.outer(step, direction)) / self.forgetting
        self.reported = self._read(powers)

    def find_proportional(self) -> np.ndarray:
        """Return no pair: recursive least squares do not use this test."""
        return np.zeros(self.inverse.shape, dtype=bool)

    def _read(self, powers: np.ndarray) -> Coefficients:
        """Return A and B: column i of (I − A)⁻¹ B is the leading eigenvector of H_i times the root of its eigenvalue.

        H_i may have negative eigenvalues until there are many windows. The leading eigenvalue is the largest with its
        sign, which gives the best positive semidefinite matrix of rank one. The lengths of the columns have no effect
        on A.
        """
        last = len(powers) - 1
        calls = [partial(eigh, one, subset_by_index=[last, last], check_finite=False) for one in self.slices]
        values, columns = (np.hstack(part) for part in zip(*call_on_threads(calls, None), strict=True))
        rows = np.linalg.pinv(columns)
        own = np.diag(rows)
        own = np.where(own == 0.0, np.inf, own)  # no equation for this series yet: zeros
        matrix = -rows / own[:, None]
        np.fill_diagonal(matrix, 0.0)
        gains = np.sqrt(np.maximum(values, 0.0)) / np.abs(own)
        return Coefficients(matrix, gains, powers[None])

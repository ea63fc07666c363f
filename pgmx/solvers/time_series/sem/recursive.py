"""The source's tracker: recursive least squares for the tensor of second moments, all powers known."""

import numpy as np

from pgmx.solvers.time_series.sem.accuracy import Coefficients

#: The inverse of Σ β^(m−l) p_l p_l' begins at this times the identity (remark 4).
FIRST_INVERSE = 10.0
#: Power iterations per series and window, which begin at the vector of the window before.
POWER_ITERATIONS = 10


class RecursiveTracker:
    """Algorithm 5b: H_m by recursive least squares, its slices' leading eigenvectors, then A by proposition 3.

    H ← H + (vec R − H p) k' with k = W p / (β + p'W p) costs O(N³), where Q_m W_m would cost O(N⁴). State: N³ numbers.
    """

    def __init__(self, n_series: int, forgetting: float):
        self.forgetting = forgetting
        self.slices = np.zeros((n_series, n_series, n_series))  # [i]: H_i, close to a_i a_i'
        self.inverse = np.eye(n_series) * FIRST_INVERSE
        self.columns: np.ndarray | None = None
        self.reported: Coefficients | None = None
        self.restarts: list[int] = []
        self.settled = True
        self.n_windows = 0

    def add(self, moment: np.ndarray, n_rows: int, powers: np.ndarray) -> None:
        """Take one more window: its second moments (N, N) and the powers of its inputs (N,)."""
        self.n_windows += 1
        n = len(moment)
        direction = self.inverse @ powers
        step = direction / (self.forgetting + powers @ direction)
        error = moment - (powers @ self.slices.reshape(n, n * n)).reshape(n, n)
        self.slices += step[:, None, None] * error
        self.inverse = (self.inverse - np.outer(step, direction)) / self.forgetting
        vectors = np.diag(np.ones(n)) if self.columns is None else self.columns
        for _ in range(POWER_ITERATIONS):
            vectors = np.einsum("ijk,ik->ij", self.slices, vectors, optimize=True)
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(float).tiny)[:, None]
        self.columns = np.ascontiguousarray(vectors)
        self.reported = self._read(powers)

    def find_proportional(self) -> np.ndarray:
        """Return no pair: recursive least squares do not ask."""
        return np.zeros(self.inverse.shape, dtype=bool)

    def _read(self, powers: np.ndarray) -> Coefficients:
        assert self.columns is not None
        values = np.einsum("ij,ijk,ik->i", self.columns, self.slices, self.columns, optimize=True)
        sizes = np.sqrt(np.maximum(np.abs(values), np.finfo(float).tiny))
        rows = np.linalg.pinv((self.columns * sizes[:, None]).T)
        own = np.diag(rows)
        own = np.where(own == 0.0, np.finfo(float).tiny, own)
        matrix = -rows / own[:, None]
        np.fill_diagonal(matrix, 0.0)
        return Coefficients(matrix, 1.0 / np.abs(own), powers[None])

"""Products with R + ridge I, from the matrix or from a thin factor of it, in single or double precision."""

import numpy as np

__all__ = ["ShiftedProduct"]

#: Rounds of power iteration, and by how much its result is raised: it approaches the norm from below.
POWER_ROUNDS, RAISED = 60, 1.02


class ShiftedProduct:
    """rows @ S for S = R + ridge I, S symmetric.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p), optional
        Correlation matrix; only read.
    factor : ndarray of float64, shape (n, p), optional
        R = factor.T @ factor, used where R is not given: products cost 4 n p instead of 2 p² a row, and R is never
        formed. May be mapped from a file.
    ridge : float, default=0.0
        What is added to the diagonal.

    Raises
    ------
    ValueError
        If neither R nor a factor is given.

    Notes
    -----
    A copy in single precision is made when one is first asked for.

    Examples
    --------
    >>> product = ShiftedProduct(factor=np.array([[0.6, 0.8]]), ridge=1.0)
    >>> product(np.array([[1.0, 0.0]])).round(12).tolist()
    [[1.36, 0.48]]
    """

    def __init__(self, R: np.ndarray | None = None, *, factor: np.ndarray | None = None, ridge: float = 0.0):
        matrix = factor if R is None else R
        if matrix is None:
            raise ValueError("a product takes R or a factor of it, and got neither: pass one")
        self._thin = R is None
        self._matrices = {np.dtype(np.float64): matrix}
        self.ridge = ridge
        self.n_variables = matrix.shape[1]
        self._norm: float | None = None

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return rows @ S, in the precision of the rows."""
        if rows.dtype not in self._matrices:
            self._matrices[rows.dtype] = self._matrices[np.dtype(np.float64)].astype(rows.dtype)
        matrix = self._matrices[rows.dtype]
        found = (rows @ matrix.T) @ matrix if self._thin else rows @ matrix
        if self.ridge:
            found += rows.dtype.type(self.ridge) * rows
        return found

    def part(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return S[rows, columns]."""
        matrix = self._matrices[np.dtype(np.float64)]
        found = matrix[:, rows].T @ matrix[:, columns] if self._thin else matrix[np.ix_(rows, columns)]
        return found + self.ridge * (rows[:, None] == columns)

    def norm(self) -> float:
        """Return an estimate of the largest eigenvalue of S, from above but for rare misfortune."""
        if self._norm is None:
            x = np.cos(np.arange(1.0, self.n_variables + 1.0))[None]
            for _ in range(POWER_ROUNDS):
                x = self(x / np.linalg.norm(x))
            self._norm = RAISED * float(np.linalg.norm(x))
        return self._norm

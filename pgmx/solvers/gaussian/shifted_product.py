"""Products with R + ridge I, from the matrix or a thin factor of it, in single or double precision."""

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

#: Number of products for the norm, and the factor by which the result is raised, since it is approached from below.
#: (The same number of power iterations gives a value 3 % too small if R has fewer rows than columns.)
LANCZOS_STEPS, MARGIN = 40, 1.02


class ShiftedProduct:
    """rows @ S for S = R + ridge I, S symmetric.

    With a thin factor, R = factor.T @ factor, products cost 4 n p instead of 2 p² per row, and R is never formed.
    """

    def __init__(self, R: np.ndarray | None = None, *, factor: np.ndarray | None = None, ridge: float = 0.0):
        matrix = factor if R is None else R
        if matrix is None:
            raise ValueError("neither R nor a factor of it was given: give one of them")
        self._thin = R is None
        self._matrices = {np.dtype(np.float64): matrix}
        self.ridge = ridge
        self.n_variables = matrix.shape[1]
        self._norm: float | None = None
        self._eigen: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return rows @ S, in the precision of the rows."""
        if rows.dtype not in self._matrices:
            self._matrices[rows.dtype] = self._matrices[np.dtype(np.float64)].astype(rows.dtype)
        matrix = self._matrices[rows.dtype]
        products = (rows @ matrix.T) @ matrix if self._thin else rows @ matrix
        if self.ridge:
            products += rows.dtype.type(self.ridge) * rows
        return products

    def part(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return S[rows, columns]."""
        matrix = self._matrices[np.dtype(np.float64)]
        part = matrix[:, rows].T @ matrix[:, columns] if self._thin else matrix[np.ix_(rows, columns)]
        return part + self.ridge * (rows[:, None] == columns)

    @property
    def has_matrix(self) -> bool:
        """Whether R itself was given."""
        return not self._thin

    def eigenvalues(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of S, ascending, and its eigenvectors as columns; computed once in about 10 p³."""
        if self._eigen is None:
            matrix = self._matrices[np.dtype(np.float64)]
            values, vectors = np.linalg.eigh(matrix.T @ matrix if self._thin else matrix)
            self._eigen = values + self.ridge, vectors
        return self._eigen

    def norm(self) -> float:
        """Return an estimate of the largest eigenvalue of S by Lanczos' method, almost always an upper bound."""
        if self._norm is None:
            x = np.cos(np.arange(1.0, self.n_variables + 1.0))
            basis = (x / np.linalg.norm(x))[None]
            diagonal: list[float] = []
            beside: list[float] = []
            for _ in range(min(LANCZOS_STEPS, self.n_variables)):
                image = self(basis[-1:])[0]
                diagonal.append(float(image @ basis[-1]))
                for _ in range(2):  # one pass leaves rounding errors, which grow
                    image -= basis.T @ (basis @ image)
                beside.append(float(np.linalg.norm(image)))
                if beside[-1] <= 1e-12 * max(diagonal):
                    break
                basis = np.concatenate([basis, image[None] / beside[-1]])
            self._norm = MARGIN * float(eigvalsh_tridiagonal(diagonal, beside[:-1])[-1])
        return self._norm

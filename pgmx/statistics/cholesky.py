"""The Cholesky factor of a connected component of a matrix with unit diagonal: dense, or sparse if that is faster.

Sparse factors are computed by CHOLMOD if scikit-sparse is installed, and by SuperLU otherwise.
"""

from importlib import import_module
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, get_lapack_funcs, solve_triangular
from scipy.sparse import csc_array, csc_matrix, csr_array
from scipy.sparse.linalg import splu, spsolve_triangular

try:  # scikit-sparse, the extra ``sparse``
    cholmod: Any = import_module("sksparse.cholmod")
except ImportError:
    cholmod = None

#: Smallest square of a pivot of a matrix with unit diagonal. Below it the matrix is singular to working precision.
LEAST_PIVOT = 8 * np.finfo(np.float64).eps

#: Minimum number of variables and maximum number of non-zeros per row of a component with a sparse factor. On random
#: graphs of 1,000, 3,000 and 5,000 variables with 3, 6 and 5.7 neighbours, SuperLU needs 1/14, 1/3 and 1/4 of the time
#: of a dense factor; with 10 neighbours it is not faster. With OpenBLAS, CHOLMOD needs 1/4 to 1/6 of the time of
#: SuperLU, and half the time of a dense factor with 20 neighbours. With the reference BLAS it is as slow as SuperLU, so
#: the bounds are the same.
SPARSE_FROM, SPARSE_ROW = 1000, 9


class Factor(Protocol):
    """A factorisation of a symmetric positive definite matrix K of c variables."""

    pivots: np.ndarray  # of shape (c,); the determinant is their product

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return K^-1 B for B of shape (c, m)."""
        ...

    def invert(self) -> np.ndarray:
        """Return K^-1, dense and exactly symmetric."""
        ...

    def correlate(self, normals: np.ndarray) -> np.ndarray:
        """Return columns of covariance K^-1 made of independent standard normal columns, shape (c, m)."""
        ...

    def reduce(self, right: np.ndarray) -> np.ndarray:
        """Return B' K^-1 B."""
        ...


def is_sparse(n_rows: int, n_entries: int) -> bool:
    """Return whether a sparse factor is faster for a matrix with the given number of rows and non-zeros."""
    return n_rows >= SPARSE_FROM and n_entries <= SPARSE_ROW * n_rows


def factorise(matrix: csr_array) -> Factor:
    """Return the factorisation of a matrix with unit diagonal; LinAlgError if it is not positive definite."""
    factor: Factor | None = None
    if is_sparse(len(matrix.indptr) - 1, matrix.nnz):
        factor = factorise_sparsely(matrix)
    if factor is None:
        factor = DenseFactor(matrix.toarray())
    if factor.pivots.min() < LEAST_PIVOT:
        raise LinAlgError("a pivot is zero")
    return factor


class DenseFactor:
    """K = L L', dense; the array of the matrix is overwritten."""

    def __init__(self, matrix: np.ndarray):
        self._lower = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        self.pivots = np.square(self._lower.diagonal())

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return K^-1 B for B of shape (c, m)."""
        return cho_solve((self._lower, True), right, check_finite=False)

    def invert(self) -> np.ndarray:
        """Return K^-1, dense and exactly symmetric."""
        return invert_lower(self._lower)

    def correlate(self, normals: np.ndarray) -> np.ndarray:
        """Return columns of covariance K^-1 made of independent standard normal columns, shape (c, m)."""
        return solve_triangular(self._lower, normals, trans=1, lower=True, check_finite=False)

    def reduce(self, right: np.ndarray) -> np.ndarray:
        """Return B' K^-1 B."""
        half = solve_triangular(self._lower, right, lower=True, check_finite=False)
        return half.T @ half


def factorise_sparsely(matrix: csr_array) -> Factor | None:
    """Return a sparse factorisation, by CHOLMOD if it is installed; None if there is none."""
    return factorise_by_cholmod(matrix) if has_cholmod() else _factorise_by_superlu(matrix)


def _factorise_by_superlu(matrix: csr_array) -> "SparseFactor | None":
    """Factorise with a minimum degree ordering; None if rounding made SuperLU exchange rows."""
    options = {"SymmetricMode": True}
    try:
        lu = splu(csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:  # a pivot is exactly zero
        return None
    return SparseFactor(lu) if np.array_equal(lu.perm_r, lu.perm_c) else None


class SparseFactor:
    """P K P' = L D L' with unit lower triangular L, from SuperLU, whose U is D L'."""

    def __init__(self, lu):
        self._lu = lu
        self.pivots = lu.U.diagonal()[lu.perm_c]  # of each variable
        self._in_order = lu.U.diagonal()

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return K^-1 B for B of shape (c, m)."""
        return self._lu.solve(np.ascontiguousarray(right))

    def invert(self) -> np.ndarray:
        """Return K^-1, dense and exactly symmetric."""
        inverse = self.solve(np.eye(len(self.pivots)))
        return np.tril(inverse) + np.tril(inverse, -1).T

    def correlate(self, normals: np.ndarray) -> np.ndarray:
        """Return columns of covariance K^-1 made of independent standard normal columns, shape (c, m)."""
        # (D L')^-1 D^(1/2) = L'^-1 D^(-1/2)
        scores = spsolve_triangular(csr_array(self._lu.U), np.sqrt(self._in_order)[:, None] * normals, lower=False)
        return scores[self._lu.perm_c]

    def reduce(self, right: np.ndarray) -> np.ndarray:
        """Return B' K^-1 B."""
        return right.T @ self.solve(right)


def invert_lower(lower: np.ndarray) -> np.ndarray:
    """Return the inverse of the matrix whose lower Cholesky factor is given, exactly symmetric."""
    (potri,) = get_lapack_funcs(("potri",), (lower,))
    inverse = np.tril(potri(lower, lower=1)[0])
    return inverse + np.tril(inverse, -1).T


# ---- CHOLMOD ----


def has_cholmod() -> bool:
    """Return whether scikit-sparse is installed."""
    return cholmod is not None


def factorise_by_cholmod(matrix: csr_array) -> "CholmodFactor | None":
    """Return the supernodal factorisation; None if the matrix is not positive definite."""
    columns = csc_matrix(matrix)  # symmetric; releases before 0.5 do not accept sparse arrays
    try:
        if hasattr(cholmod, "cho_factor"):
            return CholmodFactor(cholmod.cho_factor(columns, supernodal_mode="supernodal"))
        return FormerCholmodFactor(cholmod.cholesky(columns, mode="supernodal"))
    except cholmod.CholmodNotPositiveDefiniteError:
        return None


class CholmodFactor:
    """P K P' = L L', from scikit-sparse 0.5 or newer."""

    def __init__(self, factor: Any):
        self._factor = factor
        self._order = self._read_order()
        self.pivots = np.empty(len(self._order))
        self.pivots[self._order] = self._read_pivots()  # of each variable

    def _read_order(self) -> np.ndarray:
        return self._factor.get_perm()

    def _read_pivots(self) -> np.ndarray:
        return self._factor.copy().factor.diagonal() ** 2

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return K^-1 B for B of shape (c, m)."""
        return self._factor.solve(np.asfortranarray(right))

    def invert(self) -> np.ndarray:
        """Return K^-1, dense and exactly symmetric."""
        inverse = self.solve(np.eye(len(self.pivots)))
        return np.tril(inverse) + np.tril(inverse, -1).T

    def correlate(self, normals: np.ndarray) -> np.ndarray:
        """Return columns of covariance K^-1 made of independent standard normal columns, shape (c, m)."""
        rows = np.empty(normals.shape)
        rows[self._order] = self._solve_transposed(np.asfortranarray(normals))
        return rows

    def _solve_transposed(self, right: np.ndarray) -> np.ndarray:
        return self._factor.solve(right, system="Lt")

    def reduce(self, right: np.ndarray) -> np.ndarray:
        """Return B' K^-1 B."""
        return right.T @ self.solve(right)


class FormerCholmodFactor(CholmodFactor):
    """P K P' = L L', from scikit-sparse 0.4, whose methods have different names."""

    def _read_order(self) -> np.ndarray:
        return self._factor.P().copy()

    def _read_pivots(self) -> np.ndarray:
        return self._factor.D()

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return K^-1 B for B of shape (c, m)."""
        return self._factor.solve_A(np.asfortranarray(right))

    def _solve_transposed(self, right: np.ndarray) -> np.ndarray:
        return self._factor.solve_Lt(right, use_LDLt_decomposition=False)

"""Sparse Cholesky factors by CHOLMOD, if scikit-sparse is installed (the extra ``sparse``)."""

from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_array

try:
    cholmod: Any = import_module("sksparse.cholmod")
except ImportError:
    cholmod = None


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

"""Precision matrices by connected components, and rows with missing values."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse import csr_array

from pgmx._ext._precision_rows import RowSolver
from pgmx.statistics.cholesky import Factor, factorise
from pgmx.statistics.components import find_components


class Blocks:
    r"""Cholesky factors of the connected components of a symmetric matrix with unit diagonal.

    `factors` has the positions and the factor of each component with at least two variables. Raises LinAlgError if the
    matrix is not positive definite to working precision.
    """

    def __init__(self, matrix: csr_array) -> None:
        self.matrix = matrix
        self.factors: list[tuple[np.ndarray, Factor]] = [(ids, factorise(block)) for ids, block in _split(matrix)]

    @property
    def least_pivot(self) -> float:
        """The smallest pivot; 1 if there are no edges."""
        return min((float(factor.pivots.min()) for _, factor in self.factors), default=1.0)

    @cached_property
    def log_det(self) -> float:
        """Logarithm of the determinant."""
        return float(sum(np.log(factor.pivots).sum() for _, factor in self.factors))

    def invert(self) -> np.ndarray:
        """Return the inverse, dense; exactly symmetric, with exact zeros between components."""
        whole = np.eye(_count_rows(self.matrix))
        for ids, factor in self.factors:
            whole[np.ix_(ids, ids)] = factor.invert()
        return whole

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solutions x of K x = b for the columns b of an array of shape (p, m)."""
        solutions = np.array(right, dtype=np.float64)
        for ids, factor in self.factors:
            solutions[ids] = factor.solve(right[ids])
        return solutions

    def correlate(self, normals: np.ndarray) -> np.ndarray:
        """Return rows of covariance K^-1 made of independent standard normal rows, shape (n, p)."""
        rows = normals.copy()
        for ids, factor in self.factors:
            rows[:, ids] = factor.correlate(normals[:, ids].T).T
        return rows


def _count_rows(matrix: csr_array) -> int:
    return len(matrix.indptr) - 1


def _split(matrix: csr_array) -> Iterator[tuple[np.ndarray, csr_array]]:
    """Yield (positions, block) of each connected component with at least two variables."""
    members, alone = find_components(matrix)
    # the whole matrix is one component: no copy
    if len(members) == 1 and not len(alone):
        yield members[0], matrix
        return
    order = np.concatenate([alone[:0], *members])
    bounds = np.cumsum([0, *map(len, members)]).tolist()
    sorted_matrix = matrix[order][:, order]
    for nodes, (start, stop) in zip(members, pairwise(bounds), strict=True):
        yield nodes, sorted_matrix[start:stop, start:stop]


def scale_to_unit_diagonal(matrix: csr_array) -> tuple[csr_array, np.ndarray]:
    """Return a matrix scaled to unit diagonal, and the roots of its diagonal."""
    roots = np.sqrt(matrix.diagonal())
    rows = np.repeat(np.arange(len(roots)), np.diff(matrix.indptr))
    scaled = matrix.data / (roots[rows] * roots[matrix.indices])
    scaled[rows == matrix.indices] = 1.0
    return csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape), roots


def compute_smallest_eigenvalue(matrix: csr_array) -> float:
    """Return the smallest eigenvalue of a symmetric matrix; dense, only for messages."""
    from scipy.linalg import eigh

    return float(eigh(matrix.toarray(), eigvals_only=True, subset_by_index=[0, 0])[0])


class RowPrecision:
    """A precision K with unit diagonal that fills missing values of rows of deviations from the mean, shape (n, p).

    With a `root` A, A'A = K, results keep their digits if K is nearly singular; otherwise `fill` raises LinAlgError if
    K_mm is singular to working precision. The result of a row does not depend on other rows.
    """

    def __init__(self, matrix: csr_array, root: csr_array | None = None) -> None:
        self._arrays = _list_arrays(matrix)
        self._root = None
        if root is not None:
            self._root = (*_list_arrays(root), *_list_arrays(csr_array(root.T))[:2])

    def fill(
        self, scores: np.ndarray, missing: np.ndarray, variances: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Return filled rows, :math:`\ln |K_{mm}|` of each row, and, if wanted, variances of missing values (or 0)."""
        whole, log_dets = np.array(scores, dtype=np.float64, order="C"), np.zeros(len(scores))
        spread = np.zeros(whole.shape if variances else (0, 0))
        if missing.any():
            mask, order, begins = _group_rows(missing)
            solver = RowSolver(*self._arrays, self._root)
            if not solver.fill(whole, mask, order, begins, log_dets, spread if variances else None):
                raise LinAlgError("the precision of the missing values is not positive definite to working precision")
        return whole, log_dets, spread


def _list_arrays(matrix: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.asarray(matrix.indptr, dtype=np.int64),
        np.asarray(matrix.indices, dtype=np.int64),
        np.asarray(matrix.data, dtype=np.float64),
    )


def _group_rows(missing: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mask of missing values as bytes, rows sorted by their missing values, and where groups begin."""
    mask = np.ascontiguousarray(missing).view(np.uint8)
    packed = np.packbits(mask, axis=1)
    words = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    keys = words.view(np.uint64)
    order = np.lexsort(keys.T)
    differs = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    begins = np.concatenate([[0], 1 + np.flatnonzero(differs), [len(keys)]])
    return mask, order.astype(np.int64), begins.astype(np.int64)


def marginalize_precision(matrix: csr_array, positions: np.ndarray) -> csr_array:
    r"""Return the precision of the variables at `positions`, marginalised over the others; zero if no path joins two.

    .. math:: K_{kk} - K_{km} K_{mm}^{-1} K_{mk}
    """
    p = _count_rows(matrix)
    others = np.setdiff1d(np.arange(p), positions)
    marginal = matrix[positions][:, positions].toarray()
    inner, across = matrix[others][:, others], matrix[others][:, positions]
    alone = np.ones(len(others), dtype=bool)
    for ids, factor in Blocks(inner).factors:
        alone[ids] = False
        part = across[ids]
        near = np.unique(part.indices)
        marginal[np.ix_(near, near)] -= factor.reduce(part[:, near].toarray())
    part = across[alone]  # whose precision is 1
    marginal -= (part.T @ part).toarray()
    return csr_array((marginal + marginal.T) / 2.0)

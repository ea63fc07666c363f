"""Sparse estimates of columns along a path of penalties, with their certificates."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class ColumnEstimates:
    """Solutions of one problem per column, for every penalty of a path.

    Parameters
    ----------
    lams : ndarray of float64, shape (k,)
        The penalties, descending, on the correlation scale.
    columns : ndarray of int64, shape (m,)
        Columns of the correlation matrix to which the problems belong.
    coefficients : list of scipy.sparse.csc_array, each of shape (p, m)
        Solutions at each penalty: column c of entry k solves the problem of variable ``columns[c]`` at ``lams[k]``.
    gaps : ndarray of float64, shape (k, m)
        Absolute duality gaps from feasible dual points, at least 0 up to rounding; NaN if not computed.
    violations : ndarray of float64, shape (k, m)
        Largest excess over a constraint, at most 0 if the solution is feasible; 0 without constraints.
    converged : ndarray of bool, shape (k, m)
        Whether the solution reached the tolerance.
    n_iter : ndarray of int64, shape (m,)
        Number of steps for each column, over all penalties.
    """

    lams: np.ndarray
    columns: np.ndarray
    coefficients: list[sparse.csc_array]
    gaps: np.ndarray
    violations: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray


def assemble_columns(
    places: np.ndarray, values: np.ndarray, counts: np.ndarray, n_variables: int
) -> list[sparse.csc_array]:
    """Return one matrix (n_variables, m) per penalty from non-zeros by column and penalty; `counts` is (m, k)."""
    m, k = counts.shape
    penalties = np.repeat(np.tile(np.arange(k), m), counts.ravel())
    matrices = []
    for t in range(k):
        mine = penalties == t if k > 1 else slice(None)
        indptr = np.concatenate(([0], np.cumsum(counts[:, t]))).astype(np.int32)
        matrices.append(sparse.csc_array((values[mine], places[mine], indptr), shape=(n_variables, m)))
        matrices[-1].sort_indices()
    return matrices

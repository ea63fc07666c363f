"""Sparse estimates of columns along a path of penalties, with their certificates."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

__all__ = ["ColumnEstimates"]


@dataclass(frozen=True, eq=False)
class ColumnEstimates:
    """Solutions of one problem a column, for every penalty of a path.

    Parameters
    ----------
    lams : ndarray of float64, shape (k,)
        The penalties, descending, on the correlation scale.
    columns : ndarray of int64, shape (m,)
        Which columns of the correlation matrix the problems belong to.
    coefficients : list of scipy.sparse.csc_array, each of shape (p, m)
        Solutions at each penalty: column c of entry k solves the problem of variable ``columns[c]`` at ``lams[k]``.
    gaps : ndarray of float64, shape (k, m)
        Absolute duality gaps from feasible dual points, at least 0 up to rounding; NaN where none was computed.
    violations : ndarray of float64, shape (k, m)
        By how much the largest constraint is exceeded, at most 0 where the solution is feasible; 0 for problems without
        constraints.
    converged : ndarray of bool, shape (k, m)
        Whether the solution is as good as the tolerance asked for.
    n_iter : ndarray of int64, shape (m,)
        Steps taken for each column, over all penalties.

    Examples
    --------
    >>> estimates = ColumnEstimates(
    ...     lams=np.array([0.5]),
    ...     columns=np.array([1]),
    ...     coefficients=[sparse.csc_array(([0.2], ([0], [0])), shape=(3, 1))],
    ...     gaps=np.zeros((1, 1)),
    ...     violations=np.zeros((1, 1)),
    ...     converged=np.ones((1, 1), dtype=bool),
    ...     n_iter=np.array([4]),
    ... )
    >>> estimates.coefficients[0].toarray().ravel().tolist()
    [0.2, 0.0, 0.0]
    """

    lams: np.ndarray
    columns: np.ndarray
    coefficients: list[sparse.csc_array]
    gaps: np.ndarray
    violations: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray

"""Neighbourhoods of variables: one lasso a column, along a path of penalties."""

from math import inf
from time import perf_counter

import numpy as np
from scipy import sparse

from pgmx._ext import _gram_lasso
from pgmx.solvers.column_estimates import ColumnEstimates

__all__ = ["neighborhood_columns"]

#: Columns between two looks at the clock.
BLOCK = 64


def neighborhood_columns(
    R: np.ndarray,
    columns,
    lams,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    deadline: float = inf,
) -> ColumnEstimates:
    r"""Regress variables on all others with the lasso, for every penalty of a path.

    .. math:: \min_b \; \tfrac{1}{2} b' R b - R_j' b + \lambda \|b\|_1 \quad \text{with } b_j = 0

    which is :math:`\|x_j - X b\|^2 / 2n + \lambda \|b\|_1` for standardised columns, less the constant 1/2.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix: symmetric, positive semidefinite.
    columns : array_like of int64, shape (m,)
        The variables j to regress.
    lams : array_like of float64, shape (k,)
        Penalties λ >= 0, best in descending order: each solution begins at the one before.
    tol : float, default=1e-8
        Duality gap to reach; the variance of the variable is 1.
    max_iter : int, default=100
        Most passes over the rows of R, for a column and a penalty.
    deadline : float, default=inf
        Reading of ``time.perf_counter`` after which no further columns are begun; those are zero, with gap NaN.

    Returns
    -------
    ColumnEstimates
        Coefficients with their duality gaps; `violations` is 0. The dual point is the residual, scaled into the box.

    Raises
    ------
    ValueError
        If R is not square, a column does not exist, or a penalty is negative.

    Notes
    -----
    Coordinate descent on the active set, with the equations of its signs solved directly where that is slow; one pass
    over k rows of R, O(k p), finds what violates optimality. Memory: that of the solutions. The compiled part runs
    without the interpreter's lock, so that blocks of columns may run in threads; results do not depend on the blocks.

    References
    ----------
    .. [1] Meinshausen, N. and Bühlmann, P. (2006). High-dimensional graphs and variable selection with the lasso.
       Annals of Statistics 34, 1436-1462, eq. 3.
    .. [2] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33(1), sections 2.2 and 2.6.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> found = neighborhood_columns(R, [0, 1], [0.3, 0.1])
    >>> found.coefficients[1].toarray().round(4).tolist()
    [[0.0, 0.32], [0.4, 0.0], [0.0, 0.32]]
    >>> bool(found.converged.all())
    True
    """
    R = np.ascontiguousarray(R, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise ValueError(f"R must be a square matrix, its shape is {R.shape}")
    p = len(R)
    columns = np.ascontiguousarray(np.atleast_1d(columns), dtype=np.int64)
    lams = np.ascontiguousarray(np.atleast_1d(lams), dtype=np.float64)
    outside = columns[(columns < 0) | (columns >= p)]
    if len(outside):
        raise ValueError(f"columns must be from 0 to {p - 1}, got {outside[0]}")
    if not (lams >= 0).all():
        raise ValueError(f"lams must be at least 0, got {lams[~(lams >= 0)][0]}")
    m, k = len(columns), len(lams)
    counts = np.zeros((m, k), dtype=np.int64)
    gaps = np.full((m, k), 0.5)  # of b = 0 against the dual point 0, where a column is not begun
    steps = np.zeros(m, dtype=np.int64)
    places, values = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    for begin in range(0, m if k else 0, BLOCK):
        if begin and perf_counter() >= deadline:
            break
        part = slice(begin, begin + BLOCK)
        found = _gram_lasso.neighborhoods(R, columns[part], lams, tol, max_iter, counts[part], gaps[part], steps[part])
        places.append(found[0])
        values.append(found[1])
    return ColumnEstimates(
        lams=lams,
        columns=columns,
        coefficients=_by_penalty(counts, np.concatenate(places), np.concatenate(values), p),
        gaps=np.ascontiguousarray(gaps.T),
        violations=np.zeros((k, m)),
        converged=np.less_equal(gaps.T, tol, order="C"),
        n_iter=steps,
    )


def _by_penalty(counts: np.ndarray, places: np.ndarray, values: np.ndarray, p: int) -> list[sparse.csc_array]:
    """Return one (p, m) array a penalty from non-zeros that are listed by column and then by penalty."""
    m, k = counts.shape
    penalty = np.repeat(np.tile(np.arange(k), m), counts.ravel())
    found = []
    for step in range(k):
        own = penalty == step
        indptr = np.concatenate(([0], np.cumsum(counts[:, step]))).astype(np.int32)
        found.append(sparse.csc_array((values[own], places[own], indptr), shape=(p, m)))
        found[-1].sort_indices()
    return found

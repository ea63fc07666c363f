"""Neighbourhoods of variables: one lasso per column, along a path of penalties."""

from math import inf

import numpy as np
from scipy import sparse

from pgmx._ext import _gram_lasso
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates, assemble_columns
from pgmx.solvers.gaussian.graphical_lasso_certificate import NEAR, invert

#: Number of columns between two checks of the clock.
BLOCK = 1
#: Ridge for a singular R, as a share of its largest entry, in the steps of least squares for λ = 0; and maximum number
#: of these steps.
RIDGE, STEPS = 1e-11, 50


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

    which is :math:`\|x_j - X b\|^2 / 2n + \lambda \|b\|_1` for standardised columns, minus the constant 1/2.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix: symmetric, positive semidefinite.
    columns : array_like of int64, shape (m,)
        The variables j to regress.
    lams : array_like of float64, shape (k,)
        Penalties λ >= 0, preferably in descending order: each solution starts from the previous one.
    tol : float, default=1e-8
        Largest duality gap. All variables have variance 1.
    max_iter : int, default=100
        Maximum number of passes over the rows of R per column and penalty.
    deadline : float, default=inf
        Value of ``time.perf_counter`` after which no further columns are started. These columns are zero, with gap 1/2.

    Returns
    -------
    ColumnEstimates
        Coefficients with their duality gaps; `violations` is 0. The dual point is the residual, scaled into the box.
        For λ = 0 the gap is half the squared gradient in the metric of the inverse, or half the residual variance.

    Raises
    ------
    ValueError
        If R is not square, a column does not exist, or a penalty is negative.

    Notes
    -----
    Coordinate descent on the active set. If it is slow, the linear equations for the signs are solved directly. One
    pass over k rows of R, O(k p), finds the violators of optimality. For λ = 0 all columns are computed from the
    inverse of R (with a ridge if R is singular to working precision) and refined: O(p³ + m p²) time. The compiled code
    releases the GIL. Results do not depend on the blocks of columns.

    References
    ----------
    .. [1] Meinshausen, N. and Bühlmann, P. (2006). High-dimensional graphs and variable selection with the lasso.
       Annals of Statistics 34, 1436-1462, eq. 3.
    .. [2] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33(1), sections 2.2 and 2.6.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> estimates = neighborhood_columns(R, [0, 1], [0.3, 0.1])
    >>> estimates.coefficients[1].toarray().round(4).tolist()
    [[0.0, 0.32], [0.4, 0.0], [0.0, 0.32]]
    >>> bool(estimates.converged.all())
    True
    """
    R = np.ascontiguousarray(R, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise ValueError(f"R must be a square matrix, got the shape {R.shape}")
    p = len(R)
    columns = np.ascontiguousarray(np.atleast_1d(columns), dtype=np.int64)
    lams = np.ascontiguousarray(np.atleast_1d(lams), dtype=np.float64)
    outside = columns[(columns < 0) | (columns >= p)]
    if len(outside):
        raise ValueError(f"columns must be from 0 to {p - 1}, got {outside[0]}")
    if not (lams >= 0).all():
        raise ValueError(f"lams must be at least 0, got {lams[~(lams >= 0)][0]}")
    m = len(columns)
    penalties, is_free = lams, lams == 0
    if is_free.any():
        solution = _solve_least_squares(R, columns, tol)
        lams = lams[~is_free]
    k = len(lams)
    counts = np.zeros((m, k), dtype=np.int64)
    gaps = np.full((m, k), 0.5)  # of b = 0 against the dual point 0, if a column is not started
    steps = np.zeros(m, dtype=np.int64)
    places, values = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    for begin in range(0, m if k else 0, BLOCK):
        if begin and is_past(deadline):
            break
        part = slice(begin, begin + BLOCK)
        places_of_part, values_of_part = _gram_lasso.neighborhoods(
            R, columns[part], lams, tol, max_iter, counts[part], gaps[part], steps[part]
        )
        places.append(places_of_part)
        values.append(values_of_part)
    coefficients = assemble_columns(np.concatenate(places), np.concatenate(values), counts, p)
    gaps = np.ascontiguousarray(gaps.T)
    for place in np.flatnonzero(is_free).tolist():
        coefficients.insert(place, sparse.csc_array(solution[0]))
        gaps = np.insert(gaps, place, solution[1], axis=0)
    return ColumnEstimates(
        lams=penalties,
        columns=columns,
        coefficients=coefficients,
        gaps=gaps,
        violations=np.zeros(gaps.shape),
        converged=gaps <= tol,
        n_iter=steps,
    )


def _solve_least_squares(R: np.ndarray, columns: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the coefficients for λ = 0, as columns of shape (p, m), and their gaps.

    With a positive definite M, R or R with a ridge, and its inverse Θ, :math:`M_{AA}^{-1} = \Theta_{AA} - \Theta_{Aj}
    \Theta_{jA} / \Theta_{jj}` for the set A of all variables but j.
    """
    p, m = len(R), len(columns)
    places = np.arange(m)
    ridge, theta = 0.0, _invert_unless_singular(R)
    largest = float(R.diagonal().max(initial=0.0))
    while theta is None:
        ridge = 10.0 * ridge if ridge else RIDGE * largest
        theta = _invert_unless_singular(R + ridge * np.eye(p)) if ridge < largest else np.diag(1.0 / R.diagonal())
    # eigenvalues below the rounding error of R count as this error: a step shows at least 1 / hidden of the possible
    # gain
    hidden = 1.0 + ridge / (p * float(np.finfo(np.float64).eps) * largest)
    directions = theta[:, columns] / theta[columns, columns]
    b, best = np.zeros((p, m)), np.full(m, inf)
    solution = b
    for _ in range(STEPS):
        fitted = R @ b
        gradient = R[:, columns] - fitted
        gradient[columns, places] = 0.0
        step = theta @ gradient
        step -= directions * step[columns, places]
        step[columns, places] = 0.0
        residual = R[columns, columns] - ((R[:, columns] + gradient) * b).sum(axis=0)
        to_gain = 0.5 * np.minimum(hidden * np.abs((gradient * step).sum(axis=0)), np.maximum(residual, 0.0))
        better = to_gain < best
        solution = np.where(better, b, solution)
        halved = to_gain < 0.5 * best
        best = np.where(better, to_gain, best)
        if not halved.any() or (best <= 1e-4 * tol).all():
            break
        b = b + step
    return solution, best


def _invert_unless_singular(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a matrix; None if it has none, or only one of rounding errors."""
    inverted = invert(matrix)
    if inverted is None or not np.linalg.norm(np.eye(len(matrix)) - matrix @ inverted[0]) < NEAR:
        return None
    return inverted[0]

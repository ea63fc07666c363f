"""The duality gap of a precision matrix for the graphical lasso."""

from math import inf

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from pgmx.statistics.symmetric import find_largest_off_diagonal

(dtrmm,) = get_blas_funcs(("trmm",), dtype=np.float64)
dpotrf, dpotri = get_lapack_funcs(("potrf", "potri"), dtype=np.float64)

#: Maximum number of halvings of the distance to a point that is known to be positive definite.
HALVINGS = 60
#: Above this Frobenius norm of I − WΘ the gap is computed from both determinants.
NEAR = 0.5


def compute_log_determinant(matrix: np.ndarray, *, overwrite: bool = False) -> float | None:
    """Return the log determinant, None if not positive definite; `overwrite` destroys the upper triangle."""
    roots = compute_root_pivots(matrix, overwrite=overwrite)
    return None if roots is None else 2.0 * float(np.log(roots).sum())


def compute_root_pivots(matrix: np.ndarray, *, overwrite: bool = False) -> np.ndarray | None:
    """Return the diagonal of the Cholesky factor; arguments as for `compute_log_determinant`."""
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=int(overwrite))
    return None if failed else factor.diagonal().copy()


def invert(matrix: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the inverse, exactly symmetric, and the log determinant of a positive definite matrix; otherwise None."""
    factor, failed = dpotrf(matrix.T, lower=1, clean=1)
    if failed:
        return None
    log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
    lower, _ = dpotri(factor, lower=1)
    return np.tril(lower) + np.tril(lower, -1).T, log_determinant


def compute_gap(R: np.ndarray, lam: float, theta: np.ndarray, W: np.ndarray) -> float | None:
    r"""Return the gap between the objectives of Θ and a dual point W, None if one is not positive definite.

    .. math:: \sum_{i \ne j} \left(\lambda |\Theta_{ij}| - (W - R)_{ij} \Theta_{ij}\right)
        + \sum_i \left(C_{ii}^2 - 1 - \log C_{ii}^2\right) + \sum_{i > j} C_{ij}^2, \; L' W L = C C', \Theta = L L'
    """
    # The error of both determinants is the condition number of Θ times the machine precision, for small λ more than the
    # gap. A sum of nonnegative terms does not have this error. A term is negative only if W was rounded out of the box.
    terms = lam * np.abs(theta) - (W - R) * theta
    np.fill_diagonal(terms, 0.0)
    slack = float(np.maximum(terms, 0.0, out=terms).sum())
    factor, failed = dpotrf(theta.T, lower=1, clean=1)
    if failed:
        return None
    product = dtrmm(1.0, factor, np.array(W, order="F"), side=1, lower=1, overwrite_b=1)
    product = dtrmm(1.0, factor, product, lower=1, trans_a=1, overwrite_b=1)
    root, failed = dpotrf(product, lower=1, clean=1, overwrite_a=1)
    if failed:
        return None
    pivots = np.square(root.diagonal())
    np.fill_diagonal(root, 0.0)
    excess = pivots - 1.0
    return slack + float(np.maximum(excess - np.log1p(excess), 0.0).sum()) + float(np.square(root).sum())


def compute_gap_bound(distance: float) -> float:
    r"""Bound −log det(WΘ) + tr(WΘ) − p from above, given the Frobenius norm t < 1 of E = I − WΘ.

    .. math:: -\log\det(I - E) - \operatorname{tr} E = \sum_{k \ge 2} \frac{\operatorname{tr} E^k}{k}
        \le \frac{t^2}{2} \left(1 + \frac{2}{3} \frac{t}{1 - t}\right)
    """
    return 0.5 * distance * distance * (1.0 + 2.0 / 3.0 * distance / (1.0 - distance))


def find_box_shrinkage(R: np.ndarray, lam: float) -> float:
    """Return the largest share t <= 1 by which the correlations of R can be shrunk within a change of at most `lam`."""
    largest = find_largest_off_diagonal(R)
    return 1.0 if largest <= lam else lam / largest


def graphical_lasso_certificate(
    R: np.ndarray, precision, lam: float, *, penalize_diagonal: bool = False
) -> tuple[float, float]:
    r"""Return the objective of the graphical lasso at a precision matrix, and its duality gap.

    .. math::

        F(\Theta) = -\log\det\Theta + \operatorname{tr}(R\Theta) + \lambda \sum_{i \ne j} |\Theta_{ij}|, \qquad
        F(\Theta) - F^* \le F(\Theta) - \log\det W - p \quad \text{for every } |W - R| \le \lambda

    with the diagonal of W equal to the diagonal of R (of R + λI if the diagonal is penalised).

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix.
    precision : ndarray or sparse array of float64, shape (p, p)
        Symmetric.
    lam : float
        λ, at least 0.
    penalize_diagonal : bool, default=False
        Whether λ times the diagonal of the precision is added to the objective.

    Returns
    -------
    objective : float
        F, infinite if the precision is not positive definite.
    gap : float
        At least 0 up to rounding. The dual point is the inverse of the precision, clipped to the box. If this is not
        positive definite, it is a point between it and R with shrunk correlations. Infinite if no dual point is found.

    References
    ----------
    .. [1] Banerjee, O., El Ghaoui, L. and d'Aspremont, A. (2008). Model selection through sparse maximum likelihood
       estimation for multivariate Gaussian or binary data. Journal of Machine Learning Research 9, 485-516, eq. 5.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> objective, gap = graphical_lasso_certificate(R, np.linalg.inv([[1.0, 0.4], [0.4, 1.0]]), 0.1)
    >>> round(objective, 6), abs(gap) < 1e-12
    (1.825647, True)
    """
    theta = precision.toarray() if sparse.issparse(precision) else np.array(precision, dtype=np.float64)
    R = np.ascontiguousarray(R, dtype=np.float64)
    if penalize_diagonal:
        R = R + lam * np.eye(len(R))
    inverted = invert(theta)
    if inverted is None:
        return inf, inf
    inverse, logdet = inverted
    off = float(np.abs(theta).sum() - np.abs(theta.diagonal()).sum())
    objective = -logdet + float(np.vdot(R, theta)) + lam * off
    dual = np.clip(inverse, R - lam, R + lam)
    np.fill_diagonal(dual, R.diagonal())
    return objective, compute_clipped_gap(R, lam, theta, dual)


def compute_clipped_gap(R: np.ndarray, lam: float, theta: np.ndarray, dual: np.ndarray) -> float:
    """Return the gap at a point of the box, or at the first positive definite point towards R; ∞ if there is none."""
    gap = compute_gap(R, lam, theta, dual)
    if gap is None:
        share = find_box_shrinkage(R, lam)
        safe = (1.0 - share) * R
        np.fill_diagonal(safe, R.diagonal())
        for _ in range(HALVINGS):
            dual = 0.5 * (dual + safe)
            gap = compute_gap(R, lam, theta, dual)
            if gap is not None:
                break
    return inf if gap is None else gap

"""How far a precision matrix is from the optimum of the graphical lasso."""

from math import inf

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotri

__all__ = [
    "duality_gap",
    "gap_of_clipped",
    "gap_of_near_inverses",
    "graphical_lasso_certificate",
    "inverse_and_determinant",
    "log_determinant",
    "shrinkage_into_box",
]

#: How often a point is halved towards one that is known to be positive definite.
HALVINGS = 60
#: Above this Frobenius norm of I − WΘ the gap is taken from both determinants.
NEAR = 0.5


def log_determinant(matrix: np.ndarray, *, overwrite: bool = False) -> float | None:
    """Return the log determinant of a symmetric matrix, None where Cholesky says that it is not positive definite.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, p)
        C-contiguous, symmetric.
    overwrite : bool, default=False
        Whether the diagonal and what is above it may be destroyed.

    Returns
    -------
    float or None
        The log determinant.

    Examples
    --------
    >>> log_determinant(np.eye(2)), log_determinant(np.ones((2, 2)))
    (0.0, None)
    """
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=int(overwrite))
    return None if failed else 2.0 * float(np.log(factor.diagonal()).sum())


def inverse_and_determinant(matrix: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the inverse, symmetric to the last bit, and the log determinant of a positive definite matrix, else None.

    Parameters
    ----------
    matrix : ndarray of float64, shape (p, p)
        Symmetric.

    Returns
    -------
    tuple of ndarray of float64, shape (p, p), and float, or None
        Inverse and log determinant; None where Cholesky says that the matrix is not positive definite.

    Examples
    --------
    >>> inverse_and_determinant(np.diag([4.0, 0.25]))[0].tolist()
    [[0.25, 0.0], [0.0, 4.0]]
    """
    factor, failed = dpotrf(matrix.T, lower=1, clean=1)
    if failed:
        return None
    found = 2.0 * float(np.log(factor.diagonal()).sum())
    lower, _ = dpotri(factor, lower=1)
    return np.tril(lower) + np.tril(lower, -1).T, found


def duality_gap(R: np.ndarray, lam: float, theta: np.ndarray, W: np.ndarray) -> float | None:
    r"""Return the gap between the objectives of a precision matrix and of a dual point, a sum without cancellation.

    .. math::

        \sum_{i \ne j} \left(\lambda |\Theta_{ij}| - (W - R)_{ij} \Theta_{ij}\right)
            + \sum_i \left(C_{ii}^2 - 1 - \log C_{ii}^2\right) + \sum_{i > j} C_{ij}^2, \qquad
        \Theta = L L', \quad L' W L = C C'

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlations, with what the diagonal is penalised by on the diagonal.
    lam : float
        λ.
    theta : ndarray of float64, shape (p, p)
        Θ, symmetric.
    W : ndarray of float64, shape (p, p)
        Within λ of R, equal to it on the diagonal.

    Returns
    -------
    float or None
        At least 0: no term is negative. None where Θ or W is not positive definite to working precision.

    Notes
    -----
    Both determinants alone err by the condition of Θ times the unit of rounding, which for small λ is more than the
    gap. Terms of the first sum are negative only where W was rounded out of the box, and count 0. O(p³) time.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> duality_gap(R, 0.5, np.eye(2), np.eye(2))
    0.0
    """
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


def gap_of_near_inverses(distance: float) -> float:
    r"""Bound how far −log det(WΘ) + tr(WΘ) − p is above 0, for W and Θ that are nearly inverse to each other.

    .. math:: -\log\det(I - E) - \operatorname{tr} E = \sum_{k \ge 2} \frac{\operatorname{tr} E^k}{k}
        \le \frac{t^2}{2} \left(1 + \frac{2}{3} \frac{t}{1 - t}\right), \qquad t = \|E\|_F

    Parameters
    ----------
    distance : float
        t, the Frobenius norm of E = I − WΘ, below 1.

    Returns
    -------
    float
        The bound, free of the cancellation that the two determinants suffer.

    Examples
    --------
    >>> round(gap_of_near_inverses(0.25), 6), gap_of_near_inverses(0.0)
    (0.038194, 0.0)
    """
    return 0.5 * distance * distance * (1.0 + 2.0 / 3.0 * distance / (1.0 - distance))


def shrinkage_into_box(R: np.ndarray, lam: float) -> float:
    """Return the largest share t <= 1 at which R with its correlations times 1 - t differs from R by at most `lam`.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Symmetric.
    lam : float
        Half the width of the box.

    Returns
    -------
    float
        t, 1 where the largest correlation is at most `lam`.

    Examples
    --------
    >>> shrinkage_into_box(np.array([[1.0, -0.8], [-0.8, 1.0]]), 0.2)
    0.25
    """
    off = np.abs(R)
    np.fill_diagonal(off, 0.0)
    largest = float(off.max(initial=0.0))
    return 1.0 if largest <= lam else lam / largest


def graphical_lasso_certificate(
    R: np.ndarray, precision, lam: float, *, penalize_diagonal: bool = False
) -> tuple[float, float]:
    r"""Return the objective of the graphical lasso at a precision matrix, and a duality gap there.

    .. math::

        F(\Theta) = -\log\det\Theta + \operatorname{tr}(R\Theta) + \lambda \sum_{i \ne j} |\Theta_{ij}|, \qquad
        F(\Theta) - F^* \le F(\Theta) - \log\det W - p \quad \text{for every } |W - R| \le \lambda

    with the diagonal of W equal to that of R (to R + λI where the diagonal is penalised).

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
        F, infinite where the precision is not positive definite.
    gap : float
        At least 0 up to rounding; from the inverse of the precision put into the box, and where that is not positive
        definite from a point between it and R with shrunken correlations. Infinite where no dual point is found.

    Notes
    -----
    Three factorisations and two products: O(p³) time, O(p²) memory.

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
    found = inverse_and_determinant(theta)
    if found is None:
        return inf, inf
    inverse, logdet = found
    off = float(np.abs(theta).sum() - np.abs(theta.diagonal()).sum())
    objective = -logdet + float(np.vdot(R, theta)) + lam * off
    dual = np.clip(inverse, R - lam, R + lam)
    np.fill_diagonal(dual, R.diagonal())
    return objective, gap_of_clipped(R, lam, theta, dual)


def gap_of_clipped(R: np.ndarray, lam: float, theta: np.ndarray, dual: np.ndarray) -> float:
    """Return the duality gap at a point of the box, or at the first point from it towards R that is definite.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlations, with what the diagonal is penalised by on the diagonal.
    lam : float
        λ.
    theta : ndarray of float64, shape (p, p)
        Symmetric, positive definite.
    dual : ndarray of float64, shape (p, p)
        Within λ of R, equal to it on the diagonal.

    Returns
    -------
    float
        As `duality_gap`; infinite where no point is definite.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> round(gap_of_clipped(R, 0.5, np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]])), 6)
    0.287682
    """
    gap = duality_gap(R, lam, theta, dual)
    if gap is None:
        share = shrinkage_into_box(R, lam)
        safe = (1.0 - share) * R
        np.fill_diagonal(safe, R.diagonal())
        for _ in range(HALVINGS):
            dual = 0.5 * (dual + safe)
            gap = duality_gap(R, lam, theta, dual)
            if gap is not None:
                break
    return inf if gap is None else gap

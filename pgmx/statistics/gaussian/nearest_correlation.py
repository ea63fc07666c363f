"""The nearest correlation matrix to a symmetric matrix with negative eigenvalues."""

import numpy as np
from scipy.linalg import get_lapack_funcs

#: Maximum number of steps of a line search, and of conjugate gradients for one Newton direction.
_HALVINGS = 20
_MOST_GRADIENTS = 200


def nearest_correlation(R, *, floor: float = 1e-8, tol: float = 1e-8, max_iter: int = 100) -> tuple[np.ndarray, float]:
    r"""Return the nearest correlation matrix in Frobenius norm, its eigenvalues bounded below.

    .. math:: \min_X \tfrac12 \lVert X - R \rVert_F^2 \quad \text{subject to} \quad
              X_{ii} = 1, \; X \succeq \text{floor} \cdot I

    Parameters
    ----------
    R : array_like of float, shape (p, p)
        Finite and symmetric up to rounding, such as rank correlations or correlations of available cases.
    floor : float, default=1e-8
        Smallest eigenvalue of the result, 0 <= floor < 1. With 0 rounding can make it negative.
    tol : float, default=1e-8
        Root mean square difference of the diagonal of the dual matrix from 1 - floor. The rest is removed by scaling.
    max_iter : int, default=100
        Maximum number of Newton steps; usually fewer than ten are needed. If it is reached, the result is a valid
        correlation matrix, but may not be the nearest one.

    Returns
    -------
    matrix : ndarray of shape (p, p), float64
        A new array, exactly symmetric, with unit diagonal.
    change : float
        Largest absolute difference from `R`; 0.0 if `R` needed no repair.

    Raises
    ------
    ValueError
        If `R` is not square, finite and symmetric, or an option is out of range.

    Notes
    -----
    Newton's method on the dual, whose gradient is once differentiable almost everywhere: quadratic convergence. A step
    costs one eigendecomposition (about 10 p³ operations) and some products of p² r operations, where r is the number of
    positive or of negative eigenvalues, whichever is smaller. p = 1000 takes a few seconds. A matrix that needs no
    repair costs one Cholesky factorisation.

    References
    ----------
    .. [1] Qi, H. and Sun, D. (2006). A quadratically convergent Newton method for computing the nearest correlation
       matrix. SIAM Journal on Matrix Analysis and Applications 28, 360-385, algorithm 5.1.
    .. [2] Higham, N. J. (2002). Computing the nearest correlation matrix: a problem from finance. IMA Journal of
       Numerical Analysis 22, 329-343: the problem, and the test matrix of the example.

    Examples
    --------
    >>> import numpy as np
    >>> nearest, change = nearest_correlation(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> nearest.round(4).tolist()
    [[1.0, 0.7607, 0.1573], [0.7607, 1.0, 0.7607], [0.1573, 0.7607, 1.0]]
    >>> round(change, 4)
    0.2393
    """
    if not 0 <= floor < 1:
        raise ValueError(f"floor must be in [0, 1), got {floor}")
    if not tol > 0 or max_iter < 1:
        raise ValueError(f"tol must be positive and max_iter at least 1, got tol={tol}, max_iter={max_iter}")
    original = _symmetrise(R)
    if len(original) == 0 or (bool(np.all(original.diagonal() == 1.0)) and is_definite(original, -floor)):
        return original, 0.0
    dual = _Dual(original, floor)
    point = _minimise(dual, tol * np.sqrt(len(original)), max_iter)
    matrix = _scale_to_unit_diagonal(dual.primal(point), floor)
    return matrix, float(np.abs(matrix - original).max())


def _symmetrise(R) -> np.ndarray:
    """Return a symmetric copy of a matrix that is square, finite and symmetric up to rounding."""
    R = np.asarray(R, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise ValueError(f"a correlation matrix must be square, got the shape {R.shape}")
    if not np.isfinite(R).all():
        i, j = np.argwhere(~np.isfinite(R))[0].tolist()
        raise ValueError(f"correlations must be finite, got {R[i, j]} at ({i}, {j})")
    gap = np.abs(R - R.T)
    if R.size and gap.max() > 1e-6 * max(1.0, float(np.abs(R).max())):
        i, j = np.unravel_index(int(gap.argmax()), R.shape)
        raise ValueError(f"a correlation matrix must be symmetric, got {R[i, j]} at ({i}, {j}) and {R[j, i]} across")
    return 0.5 * (R + R.T)


def is_definite(matrix: np.ndarray, shift: float) -> bool:
    """Return whether matrix + shift I is positive definite."""
    shifted = np.array(matrix.T, order="F")  # symmetric; copied in its memory order
    shifted[np.diag_indices_from(shifted)] += shift
    (factorize,) = get_lapack_funcs(("potrf",), dtype=np.float64)
    _, info = factorize(shifted, lower=True, overwrite_a=True, clean=False)
    return info == 0


class _Point:
    """A dual variable y with the spectrum of G + Diag(y)."""

    def __init__(self, dual: "_Dual", y: np.ndarray):
        shifted = dual.G.copy()
        shifted[np.diag_indices(len(y))] += y
        self.y = y
        self.values, self.vectors = np.linalg.eigh(shifted)
        positive = np.maximum(self.values, 0.0)
        self.objective = 0.5 * float(positive @ positive) - float(dual.target @ y)
        self.gradient = (self.vectors**2) @ positive - dual.target
        self.slope = float(np.linalg.norm(self.gradient))


class _Dual:
    """The dual: min ½ ||(G + Diag(y))_+||² - target'y, with G = R - floor I and the target 1 - floor everywhere."""

    def __init__(self, R: np.ndarray, floor: float):
        self.G = R.copy()
        self.G[np.diag_indices(len(R))] -= floor
        self.target = np.full(len(R), 1.0 - floor)

    def start(self) -> _Point:
        return _Point(self, self.target - self.G.diagonal())

    def primal(self, point: _Point) -> np.ndarray:
        """Return (G + Diag(y))_+ from the smaller side of the spectrum."""
        above = point.values > 0
        if 2 * np.count_nonzero(above) <= len(above):
            half = point.vectors[:, above] * np.sqrt(point.values[above])
            return half @ half.T
        half = point.vectors[:, ~above] * np.sqrt(-point.values[~above])
        matrix = self.G + half @ half.T
        matrix[np.diag_indices(len(matrix))] += point.y
        return matrix


class _Hessian:
    """A generalised Jacobian of the gradient: h -> diag(P (W * (P' Diag(h) P)) P').

    W is 1 between positive eigenvalues, 0 between the others, and a ratio between the two groups. Only the smaller side
    A of the spectrum is multiplied: if the positive side is larger, the Jacobian is the identity minus the Jacobian of
    1 - W.
    """

    def __init__(self, point: _Point):
        above = point.values > 0
        self._complement = bool(2 * np.count_nonzero(above) > len(above))
        inside = ~above if self._complement else above
        self._A, self._B = point.vectors[:, inside], point.vectors[:, ~inside]
        size, other = np.abs(point.values[inside]), np.abs(point.values[~inside])
        self._W = size[:, None] / np.maximum(size[:, None] + other[None, :], np.finfo(float).tiny)
        squares_a, squares_b = self._A**2, self._B**2
        diagonal = squares_a.sum(axis=1) ** 2 + 2 * np.einsum("ia,ia->i", squares_a, squares_b @ self._W.T)
        self.diagonal = 1.0 - diagonal if self._complement else diagonal

    def __call__(self, h: np.ndarray) -> np.ndarray:
        scaled = (self._A * h[:, None]).T
        within = scaled @ self._A
        across = (scaled @ self._B) * self._W
        total = np.einsum("ia,ai->i", self._A, within @ self._A.T + 2.0 * (across @ self._B.T))
        return h - total if self._complement else total


def _minimise(dual: _Dual, tol: float, max_iter: int) -> _Point:
    """Return the best point of Newton's method."""
    point = dual.start()
    for _ in range(max_iter):
        if point.slope <= tol:
            break
        step = _solve_for_step(_Hessian(point), point)
        better = _search_line(dual, point, step)
        if better is None:
            break
        point = better
    return point


def _solve_for_step(hessian: _Hessian, point: _Point) -> np.ndarray:
    """Solve for the Newton step by conjugate gradients, preconditioned with the diagonal."""
    shift = min(1e-3, 0.1 * point.slope)  # the Jacobian may be singular away from the solution
    scale = 1.0 / (np.maximum(hessian.diagonal, 1e-8) + shift)
    step = np.zeros_like(point.gradient)
    residual = -point.gradient
    # a residual of the order of the squared slope keeps the convergence quadratic
    enough = point.slope * min(0.1, point.slope)
    towards = scale * residual
    product = float(residual @ towards)
    for _ in range(_MOST_GRADIENTS):
        image = hessian(towards) + shift * towards
        curvature = float(towards @ image)
        if curvature <= 0:
            break
        length = product / curvature
        step += length * towards
        residual = residual - length * image
        if float(np.linalg.norm(residual)) <= enough:
            break
        fresh = scale * residual
        next_product = float(residual @ fresh)
        towards = fresh + (next_product / product) * towards
        product = next_product
    return step if float(step @ point.gradient) < 0 else -point.gradient


def _search_line(dual: _Dual, point: _Point, step: np.ndarray) -> _Point | None:
    """Halve the step until the objective falls; None if the possible gain is only rounding error."""
    descent = float(step @ point.gradient)
    rounding = 1e-14 * len(step) * max(1.0, abs(point.objective))
    length = 1.0
    for _ in range(_HALVINGS):
        candidate = _Point(dual, point.y + length * step)
        # the sufficient decrease of Armijo
        if candidate.objective <= point.objective + 1e-4 * length * descent:
            return candidate
        if abs(length * descent) <= rounding:
            return candidate if candidate.slope < point.slope else None
        length *= 0.5
    return None


def _scale_to_unit_diagonal(matrix: np.ndarray, floor: float) -> np.ndarray:
    """Scale a positive semidefinite matrix to the diagonal 1 - floor and add the floor: no eigenvalue is below it."""
    diagonal = matrix.diagonal().copy()
    tiny = diagonal <= np.finfo(float).eps
    matrix[tiny] = 0.0
    matrix[:, tiny] = 0.0
    diagonal[tiny] = 1.0
    scale = np.sqrt((1.0 - floor) / diagonal)
    matrix = matrix * scale[:, None] * scale
    matrix = 0.5 * (matrix + matrix.T)
    np.fill_diagonal(matrix, 1.0)
    blend = floor
    while floor > 0 and not is_definite(matrix, 0.0):  # if the floor is below the rounding error of the eigenvalues
        matrix /= 1.0 + blend
        np.fill_diagonal(matrix, 1.0)
        blend *= 10.0
    return matrix

"""Accelerated proximal gradient descent on a smooth function plus a penalty with a known proximal step."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from time import perf_counter

import numpy as np

__all__ = ["ProximalResult", "minimise"]

#: Growth of the reciprocal step where it proved too small, and its decay at each iteration.
GROWTH, DECAY = 2.0, 0.9
#: Largest reciprocal step: beyond it differences of the function are rounding errors.
STEEPEST = 1e12


@dataclass(frozen=True, eq=False)
class ProximalResult:
    """Where a minimisation ended.

    Parameters
    ----------
    point : ndarray of float64, shape (d,)
        The best point.
    objective : float
        Smooth function plus penalty there.
    gradient : ndarray of float64, shape (d,)
        Gradient of the smooth function there.
    residual : float
        Distance from optimal there.
    step : float
        The last step, a start for the next problem of this kind.
    n_iter : int
        Accepted points.
    n_evaluations : int
        Calls of the smooth function.
    converged : bool
        Whether `residual` is at most the tolerance.
    """

    point: np.ndarray
    objective: float
    gradient: np.ndarray
    residual: float
    step: float
    n_iter: int
    n_evaluations: int
    converged: bool


def minimise(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    prox: Callable[[np.ndarray, float], np.ndarray],
    start: np.ndarray,
    *,
    penalty: Callable[[np.ndarray], float],
    residual: Callable[[np.ndarray, np.ndarray], float],
    step: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 10000,
    deadline: float = inf,
    callback: Callable[[int, float, float], bool | None] | None = None,
) -> ProximalResult:
    r"""Minimise f(x) + P(x) for a smooth f and a penalty P.

    .. math:: x_{k+1} = \operatorname{prox}_{t P}(y_k - t \nabla f(y_k)), \quad
        y_{k+1} = x_{k+1} + \beta_k (x_{k+1} - x_k)

    Parameters
    ----------
    value_and_gradient : callable
        From x (d,) to f(x) and its gradient (d,).
    prox : callable
        From a point and a step t to :math:`\arg\min_x P(x) + \|x - point\|^2 / 2t`.
    start : ndarray of float64, shape (d,)
        First point.
    penalty : callable
        From x to P(x).
    residual : callable
        From x and the gradient of f there to the distance from optimal, 0 at a minimum.
    step : float, default=1.0
        First step t; it is shortened and lengthened as needed.
    tol : float, default=1e-6
        Residual at which to stop.
    max_iter : int, default=10000
        Most accepted points.
    deadline : float, default=inf
        Reading of ``time.perf_counter`` at which to stop.
    callback : callable, optional
        Called with the number, the objective and the residual of every accepted point; True stops.

    Returns
    -------
    ProximalResult
        The best point and how good it is.

    Raises
    ------
    ValueError
        If the function is not finite at `start`.

    Notes
    -----
    The objective never rises from one accepted point to the next: a momentum step that raises it is taken back, and the
    momentum starts anew from the last accepted point; so it does when it points uphill (gradient restart). Backtracking
    asks for f(x') <= f(y) + <grad f(y), x' - y> + ||x' - y||^2 / 2t up to rounding errors. f need not be convex; then
    the residual certifies a stationary point only.

    References
    ----------
    .. [1] Beck, A. and Teboulle, M. (2009). A fast iterative shrinkage-thresholding algorithm for linear inverse
       problems. SIAM Journal on Imaging Sciences 2, 183-202 (section 4 and algorithm with backtracking).
    .. [2] O'Donoghue, B. and Candès, E. (2015). Adaptive restart for accelerated gradient schemes. Foundations of
       Computational Mathematics 15, 715-732 (section 3.2).

    Examples
    --------
    >>> target = np.array([3.0, 0.5])
    >>> found = minimise(
    ...     lambda x: (0.5 * float((x - target) @ (x - target)), x - target),
    ...     lambda point, step: np.sign(point) * np.maximum(abs(point) - step, 0.0),
    ...     np.zeros(2),
    ...     penalty=lambda x: float(abs(x).sum()),
    ...     residual=lambda x, g: float(np.where(x != 0, abs(g + np.sign(x)), np.maximum(abs(g) - 1.0, 0.0)).max()),
    ... )
    >>> found.point.round(4).tolist(), found.converged
    ([2.0, 0.0], True)
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = value_and_gradient(x)
    if not np.isfinite(value):
        raise ValueError(f"the function is {value} at the start: begin at a point where it is finite")
    evaluations, iteration, steepness, momentum = 1, 0, 1.0 / step, 1.0
    objective, distance = value + penalty(x), residual(x, gradient)
    y, value_y, gradient_y = x, value, gradient
    while distance > tol and iteration < max_iter and steepness < STEEPEST and perf_counter() < deadline:
        steepness *= DECAY
        new, value_new, gradient_new, steepness, used = _step(
            value_and_gradient, prox, y, value_y, gradient_y, steepness
        )
        evaluations += used
        objective_new = value_new + penalty(new)
        rounding = 1e-14 * (1.0 + abs(objective))
        if objective_new > objective + rounding:
            if y is x:  # a plain step that does not descend: rounding errors are all that is left
                break
            y, value_y, gradient_y, momentum = x, value, gradient, 1.0
            continue
        uphill = float((y - new) @ (new - x)) > 0
        following = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
        share = 0.0 if uphill else (momentum - 1.0) / following
        momentum = 1.0 if uphill else following
        y = new + share * (new - x) if share else new
        x, value, gradient, objective = new, value_new, gradient_new, min(objective, objective_new)
        iteration += 1
        distance = residual(x, gradient)
        if callback is not None and callback(iteration, objective, distance):
            break
        if y is x:
            value_y, gradient_y = value, gradient
        elif distance > tol:
            value_y, gradient_y = value_and_gradient(y)
            evaluations += 1
    return ProximalResult(
        x, objective, gradient, distance, 1.0 / steepness, iteration, evaluations, bool(distance <= tol)
    )


def _step(value_and_gradient, prox, y, value_y, gradient_y, steepness: float):
    """Return the proximal step from y, its value and gradient, the reciprocal step that held, and the calls spent."""
    used = 0
    while True:
        new = prox(y - gradient_y / steepness, 1.0 / steepness)
        value_new, gradient_new = value_and_gradient(new)
        used += 1
        moved = new - y
        bound = value_y + float(gradient_y @ moved) + 0.5 * steepness * float(moved @ moved)
        # Where differences of the function drown in rounding errors, gradients still tell the curvature.
        rounding = 1e-13 * (1.0 + abs(value_y))
        steep = float((gradient_new - gradient_y) @ moved) > steepness * float(moved @ moved)
        if value_new <= bound or (value_new <= bound + rounding and not steep) or steepness >= STEEPEST:
            return new, value_new, gradient_new, steepness, used
        steepness *= GROWTH

"""Accelerated proximal gradient descent on a smooth function plus a penalty with a known proximal step."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from pgmx.runs.run import is_past

#: Growth factor of a reciprocal step that was too small, and its decay per iteration.
GROWTH, DECAY = 2.0, 0.9
#: Largest reciprocal step. Above it, differences of the function are rounding errors.
STEEPEST = 1e12


@dataclass(frozen=True, eq=False)
class ProximalResult:
    """Result of a minimisation: the point, its objective, its distance from optimality, and the effort.

    `step` is the last step, a first step for the next similar problem. `n_iter` is the number of accepted points,
    `n_evaluations` the number of calls of the smooth function.
    """

    point: np.ndarray
    objective: float
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
) -> ProximalResult:
    """Minimise f(x) + P(x) for a smooth f and a penalty P by steps prox_tP(y - t grad f(y)) from extrapolated points y.

    `prox(point, t)` is arg min P(x) + |x - point|² / 2t; `residual(x, gradient)` is the distance from optimality, at
    most `tol` at the end. The objective never increases. References: Beck and Teboulle (2009), a fast iterative
    shrinkage-thresholding algorithm, with backtracking; O'Donoghue and Candès (2015), adaptive restart, section 3.2.
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = value_and_gradient(x)
    if not np.isfinite(value):
        raise ValueError(f"the function is {value} at the start: start at a point with a finite value")
    evaluations, iteration, steepness, momentum = 1, 0, 1.0 / step, 1.0
    objective, distance = value + penalty(x), residual(x, gradient)
    y, value_y, gradient_y = x, value, gradient
    while distance > tol and iteration < max_iter and steepness < STEEPEST and not is_past(deadline):
        steepness *= DECAY
        new, value_new, gradient_new, steepness, used = _step(
            value_and_gradient, prox, y, value_y, gradient_y, steepness
        )
        evaluations += used
        objective_new = value_new + penalty(new)
        rounding = 1e-14 * (1.0 + abs(objective))
        if objective_new > objective + rounding:
            if y is x:  # a plain step that does not decrease: only rounding errors remain
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
        if y is x:
            value_y, gradient_y = value, gradient
        elif distance > tol:
            value_y, gradient_y = value_and_gradient(y)
            evaluations += 1
    return ProximalResult(x, objective, distance, 1.0 / steepness, iteration, evaluations, bool(distance <= tol))


def _step(value_and_gradient, prox, y, value_y, gradient_y, steepness: float):
    """Return the proximal step from y, its value, gradient and reciprocal step, and the number of calls."""
    used = 0
    while True:
        new = prox(y - gradient_y / steepness, 1.0 / steepness)
        value_new, gradient_new = value_and_gradient(new)
        used += 1
        moved = new - y
        bound = value_y + float(gradient_y @ moved) + 0.5 * steepness * float(moved @ moved)
        # If differences of the function are lost in rounding errors, gradients still show the curvature.
        rounding = 1e-13 * (1.0 + abs(value_y))
        steep = float((gradient_new - gradient_y) @ moved) > steepness * float(moved @ moved)
        if value_new <= bound or (value_new <= bound + rounding and not steep) or steepness >= STEEPEST:
            return new, value_new, gradient_new, steepness, used
        steepness *= GROWTH

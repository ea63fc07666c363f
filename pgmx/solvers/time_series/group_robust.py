"""Additive models under the absolute and the ε-insensitive loss, with unpenalised columns, for all targets at once."""

from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from pgmx.runs.run import is_past
from pgmx.solvers.time_series.group_lasso import (
    CHECK_EVERY,
    RELAXATION,
    GroupEstimates,
    GroupLassoProblem,
    Record,
    factor_columns,
)
from pgmx.solvers.time_series.robust_programmes import MOST_PRODUCTS, RobustProgrammes

#: Maximum number of targets whose linear programmes are solved at once.
MOST_TARGETS = 64


class RobustADMM:
    r"""Minimise Σ_t max(|y_t − (Φw + Zu)_t| − ε, 0) + λ Σ Ω(‖w_b‖) by the alternating direction method of multipliers.

    Z (T', q) is orthonormal, and orthogonal to Φ. With copies s of the residuals and z of the coefficients, all targets
    share one factorisation as in `SharedADMM`; `ratio` is the step of the second constraint over that of the first.
    """

    def __init__(self, problem: GroupLassoProblem, lam: float, basis: np.ndarray, *, epsilon: float, is_ridge: bool):
        self.problem, self.lam, self.basis = problem, lam, basis
        self.epsilon, self.is_ridge = epsilon, is_ridge
        self.values, self.rows, mean = factor_columns(problem.columns)
        n = len(problem.targets)
        self.sizes = np.diff(problem.starts)
        self.rho = np.full(n, 2.0)
        self.ratio = np.full(n, max(mean, 1e-300))
        self.z = np.zeros((n, problem.columns.shape[1]))
        self.v = np.zeros_like(self.z)
        self.s = problem.targets.copy()
        self.p = np.zeros_like(self.s)
        self.levels = np.zeros((n, basis.shape[1]))  # u
        self.primal = self.dual = np.zeros(n)

    def iterate(self) -> None:
        """Make one step for all targets."""
        problem, ratio = self.problem, self.ratio[:, None]
        d = problem.targets - self.s + self.p
        b = d @ problem.columns + ratio * (self.z - self.v)
        w = (b - ((b @ self.rows.T) * (self.values / (self.values + ratio))) @ self.rows) / ratio
        self.levels = d @ self.basis
        fit = problem.targets - w @ problem.columns.T - self.levels @ self.basis.T
        fit = RELAXATION * fit + (1.0 - RELAXATION) * self.s
        w = RELAXATION * w + (1.0 - RELAXATION) * self.z
        rho = self.rho[:, None]
        # the residuals
        c = fit + self.p
        beyond = np.abs(c) - self.epsilon
        s = np.where(beyond <= 0.0, c, np.sign(c) * (self.epsilon + np.maximum(beyond - 1.0 / rho, 0.0)))
        self.p = c - s
        # the coefficients
        x = w + self.v
        z = self._shrink(x, rho * ratio)
        self.v = x - z
        self.primal = np.sqrt(((fit - s) ** 2).sum(axis=1) + self.ratio * ((w - z) ** 2).sum(axis=1))
        self.dual = np.sqrt(((s - self.s) ** 2).sum(axis=1) + self.ratio * ((z - self.z) ** 2).sum(axis=1))
        self.s, self.z = s, z

    def _shrink(self, x: np.ndarray, steps: np.ndarray) -> np.ndarray:
        allowed = self.problem.allowed
        if self.is_ridge:
            return x * np.repeat(allowed, self.sizes, axis=1) * (steps / (steps + 2.0 * self.lam))
        norms = self.problem.measure_blocks(x)
        keep = np.maximum(norms - self.lam / steps, 0.0) * allowed
        np.divide(keep, norms, out=keep, where=norms > 0)
        return x * np.repeat(keep, self.sizes, axis=1)

    def balance(self) -> None:
        """Double or halve the steps of the targets whose residuals differ more than threefold."""
        factor = np.where(self.primal > 3.0 * self.dual, 2.0, np.where(self.dual > 3.0 * self.primal, 0.5, 1.0))
        self.rho = self.rho * factor
        self.p /= factor[:, None]
        self.v /= factor[:, None]

    def certify(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return objectives, duality gaps and residuals."""
        options: dict[str, Any] = {"epsilon": self.epsilon, "is_ridge": self.is_ridge}
        theta = self.rho[:, None] * self.p
        return certify(self.problem, self.lam, self.basis, self.z, self.levels, theta, **options)


def solve_robust(
    problem: GroupLassoProblem,
    lam: float,
    basis: np.ndarray,
    *,
    epsilon: float,
    is_ridge: bool,
    tol: float,
    max_iter: int,
    deadline: float = inf,
    record: Record | None = None,
) -> GroupEstimates:
    """Return the solution at one penalty with gaps of at most `tol` times the objectives, and its residuals.

    The lasso on single columns is a linear programme; ADMM would need many steps.
    """
    if not is_ridge and (np.diff(problem.starts) == 1).all():
        return _solve_programmes(problem, lam, basis, epsilon, deadline, record)
    solver = RobustADMM(problem, lam, basis, epsilon=epsilon, is_ridge=is_ridge)
    for step in range(1, max_iter + 1):
        solver.iterate()
        if step % CHECK_EVERY and step < max_iter:
            continue
        objectives, gaps, residuals = solver.certify()
        is_over = record is not None and record(float(objectives.sum()), problem.count_blocks(solver.z))
        if (gaps <= tol * objectives).all() or is_over or is_past(deadline):
            break
        if step <= 40 * CHECK_EVERY:
            solver.balance()
    return GroupEstimates(solver.z, objectives, gaps, np.full(len(gaps), step), residuals)


def find_lam_max(problem: GroupLassoProblem, basis: np.ndarray, epsilon: float) -> float:
    """Return the largest ‖Φ_b'θ‖ at the dual solution θ without columns: there is no edge at larger penalties."""
    duals = np.array([_solve_null(row, basis, epsilon) for row in problem.targets])
    norms = problem.measure_blocks(duals @ problem.columns)
    return float(norms[problem.allowed].max(initial=0.0))


def _solve_null(target: np.ndarray, basis: np.ndarray, epsilon: float) -> np.ndarray:
    """Return θ of a target without columns; with the constant alone it is the sign of the distance from a median."""
    if basis.shape[1] == 1:
        # the slope of the loss rises by 1 at each of these points, and is 0 in their middle
        ends = np.sort(np.concatenate([target - epsilon, target + epsilon]))
        residuals = target - 0.5 * (ends[len(target) - 1] + ends[len(target)])
        theta = np.where(np.abs(residuals) > epsilon + 1e-12, np.sign(residuals), 0.0)
        if not theta.sum():
            return theta
    return solve_programme(target, basis[:, :0], basis, 1.0, epsilon).theta


class Programme(NamedTuple):
    """Dual solution θ (T',), coefficients (F,) and unpenalised ones (q,) of one target."""

    theta: np.ndarray
    coefficients: np.ndarray
    levels: np.ndarray


def solve_programme(
    target: np.ndarray, columns: np.ndarray, basis: np.ndarray, lam: float, epsilon: float
) -> Programme:
    """Maximise θ'y − ε‖θ‖₁ subject to |θ| ≤ 1, |Φ'θ| ≤ λ and Z'θ = 0; the primal solution are its multipliers."""
    signs = (1.0, -1.0) if epsilon else (1.0,)
    width = columns.shape[1]
    result = linprog(
        np.concatenate([epsilon - sign * target for sign in signs]),
        A_ub=np.hstack([sign * np.vstack([columns.T, -columns.T]) for sign in signs]) if width else None,
        b_ub=np.full(2 * width, lam) if width else None,
        A_eq=np.hstack([sign * basis.T for sign in signs]),
        b_eq=np.zeros(basis.shape[1]),
        bounds=(0.0 if epsilon else -1.0, 1.0),
        method="highs",
    )
    if result.x is None:
        raise RuntimeError(f"the linear programme of a target was not solved: {result.message}")
    theta = np.array(signs) @ result.x.reshape(len(signs), -1)
    multipliers = -result.ineqlin.marginals if width else np.zeros(0)
    return Programme(theta, multipliers[:width] - multipliers[width:], -result.eqlin.marginals)


def _solve_programmes(
    problem: GroupLassoProblem, lam: float, basis: np.ndarray, epsilon: float, deadline: float, record: Record | None
) -> GroupEstimates:
    """Return the solutions of all targets; after the deadline they are incomplete, or zero."""
    n, width = len(problem.targets), problem.columns.shape[1]
    columns = np.ascontiguousarray(np.hstack([problem.columns, basis]))
    free = np.hstack([problem.allowed, np.ones((n, basis.shape[1]), dtype=bool)])
    beta, thetas = np.zeros(free.shape), np.zeros_like(problem.targets)
    size = min(max(MOST_PRODUCTS // free.shape[1] ** 2, 1), MOST_TARGETS)
    for begin in range(0, n, size):
        part = np.arange(begin, min(begin + size, n))
        programmes = RobustProgrammes(columns, width, problem.targets[part], free[part], lam, epsilon)
        beta[part], thetas[part], exact = programmes.solve(lambda: is_past(deadline))
        for target in part[~exact].tolist():
            if is_past(deadline):
                break
            used = np.flatnonzero(free[target, :width])
            solved = solve_programme(problem.targets[target], problem.columns[:, used], basis, lam, epsilon)
            beta[target], thetas[target] = 0.0, solved.theta
            beta[target, used], beta[target, width:] = solved.coefficients, solved.levels
        is_over = record is not None and record(np.nan, problem.count_blocks(beta[:, :width]))
        if is_over or is_past(deadline):
            break
    w, levels = np.ascontiguousarray(beta[:, :width]), beta[:, width:]
    objectives, gaps, residuals = certify(problem, lam, basis, w, levels, thetas, epsilon=epsilon, is_ridge=False)
    return GroupEstimates(w, objectives, gaps, np.ones(n, dtype=np.int64), residuals)


def certify(
    problem: GroupLassoProblem,
    lam: float,
    basis: np.ndarray,
    w: np.ndarray,
    levels: np.ndarray,
    theta: np.ndarray,
    *,
    epsilon: float,
    is_ridge: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return objectives (N,), duality gaps (N,) at θ moved into its constraints, and residuals (N, T')."""
    residuals = problem.targets - w @ problem.columns.T - levels @ basis.T
    loss = np.maximum(np.abs(residuals) - epsilon, 0.0).sum(axis=1)
    norms = problem.measure_blocks(w)
    objectives = loss + lam * (norms**2 if is_ridge else norms).sum(axis=1)
    theta = theta - (theta @ basis) @ basis.T
    bound = np.maximum(np.abs(theta).max(axis=1), 1.0)
    worst = problem.measure_blocks(theta @ problem.columns) * problem.allowed
    if not is_ridge:
        bound = np.maximum(bound, worst.max(axis=1, initial=0.0) / lam)
    theta = theta / bound[:, None]
    values = (theta * problem.targets).sum(axis=1) - epsilon * np.abs(theta).sum(axis=1)
    if is_ridge:
        values -= ((worst / bound[:, None]) ** 2).sum(axis=1) / (4.0 * lam)
    return objectives, objectives - values, residuals

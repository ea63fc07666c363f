"""The alternating direction method of multipliers for all targets, with one factorisation."""

from math import inf

import numpy as np

from pgmx.runs.run import is_past
from pgmx.solvers.time_series.svarm.problem import GroupEstimates, GroupLassoProblem, Record

#: Iterations between two checks of the gaps, and between two balances of the residuals.
LOOK = 20
#: Share of the new point in each step: over-relaxation.
RELAXATION = 1.6


class SharedADMM:
    r"""Iterations of ADMM: w by least squares with ridge ρ, its copy z by the proximal step, u the scaled multipliers.

    The proximal step excludes a target's own present, so that all targets share one factorisation: with Φ = Q S V',
    (Φ'Φ + ρI)⁻¹ = (I − V diag(s² / (s² + ρ)) V') / ρ for any ρ, which may differ between targets. Shen (thesis, chapter
    5), algorithm 6b; Boyd et al. (2011), sections 3.4 and 4.2.
    """

    def __init__(self, problem: GroupLassoProblem, lam: float):
        self.problem, self.lam = problem, lam
        t, width = problem.columns.shape
        if t < width:
            values, vectors = np.linalg.eigh(problem.columns @ problem.columns.T)
            is_used = values > 1e-14 * values.max(initial=0.0)
            self.values = values[is_used]
            self.rows = (vectors[:, is_used].T @ problem.columns) / np.sqrt(self.values)[:, None]
        else:
            values, vectors = np.linalg.eigh(problem.columns.T @ problem.columns)
            is_used = values > 1e-14 * values.max(initial=0.0)
            self.values, self.rows = values[is_used], vectors[:, is_used].T
        n = len(problem.targets)
        self.rho = np.full(n, max(float(np.mean(values)), 1e-3 * lam))
        self.sizes = np.diff(problem.starts)
        self.z = np.zeros((n, width))
        self.u = np.zeros((n, width))
        self.primal = self.dual = np.zeros(n)

    def iterate(self) -> None:
        """Make one step for all targets: two products of (N, F) with the factor (R, F)."""
        rho = self.rho[:, None]
        v = self.problem.products + rho * (self.z - self.u)
        w = (v - ((v @ self.rows.T) * (self.values / (self.values + rho))) @ self.rows) / rho
        w *= RELAXATION
        w += (1.0 - RELAXATION) * self.z
        self.u += w
        norms = self.problem.measure_blocks(self.u)
        keep = np.maximum(norms - self.lam / rho, 0.0) * self.problem.allowed
        np.divide(keep, norms, out=keep, where=norms > 0)
        z = self.u * np.repeat(keep, self.sizes, axis=1)
        self.u -= z
        self.primal = np.linalg.norm(w - z, axis=1)
        self.dual = self.rho * np.linalg.norm(z - self.z, axis=1)
        self.z = z

    def balance(self) -> None:
        """Double or halve the ρ of the targets whose residuals ‖w − z‖ and ρ‖z − z_before‖ differ fivefold."""
        factor = np.where(self.primal > 5.0 * self.dual, 2.0, np.where(self.dual > 5.0 * self.primal, 0.5, 1.0))
        self.rho = self.rho * factor
        self.u /= factor[:, None]


def solve_by_admm(
    problem: GroupLassoProblem,
    lam: float,
    *,
    tol: float,
    max_iter: int,
    deadline: float = inf,
    record: Record | None = None,
) -> GroupEstimates:
    """Return the solution at one penalty by `SharedADMM`, with gaps of at most `tol` times the objectives."""
    solver = SharedADMM(problem, lam)
    everyone = np.arange(len(problem.targets))
    for step in range(1, max_iter + 1):
        solver.iterate()
        if step % LOOK and step < max_iter:
            continue
        objectives, gaps, _ = problem.certify(solver.z, lam, everyone)
        is_over = record is not None and record(float(objectives.sum()), problem.count_blocks(solver.z))
        if (gaps <= tol * objectives).all() or is_over or is_past(deadline):
            break
        if step <= 40 * LOOK:
            solver.balance()
    return GroupEstimates(solver.z, objectives, gaps, np.full(len(everyone), step))

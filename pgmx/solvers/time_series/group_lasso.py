"""The group lasso of all targets at once: objectives, dual points and gaps, and two solvers.

`solve_path` is block coordinate descent with working sets along a path of penalties. `solve_by_admm` is the alternating
direction method of multipliers with one factorisation for all targets.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from typing import NamedTuple

import numpy as np

from pgmx._ext import _group_lasso
from pgmx.parallel.threads import call_on_threads
from pgmx.runs.run import is_past

#: Called with the objective and the number of blocks in use after each round over the targets; True ends the solver.
Record = Callable[[float, int], bool]

#: Iterations between two checks of the gaps, and between two balances of the residuals.
CHECK_EVERY = 20

#: Share of the new point in each step: over-relaxation.
RELAXATION = 1.6

#: Maximum number of columns whose Gram matrix is stored (1.2 GB); otherwise the Gram matrix of each working set is
#: computed when needed.
MOST_COLUMNS = 12_500

#: Maximum growth of a working set per round: this number of blocks, or as many as it has.
FEWEST_BLOCKS = 10


class GroupEstimates(NamedTuple):
    """Solutions for one penalty: coefficients (N, F), and objectives, duality gaps and steps per target, (N,).

    `residuals` (N, T') are given if unpenalised columns are not fitted by least squares.
    """

    coefficients: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray
    n_iter: np.ndarray
    residuals: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class GroupLassoProblem:
    r"""Minimise, for each row y of the targets, ½‖y − Φw‖² + λ Σ ‖w_b‖ over the blocks that the target may use.

    `columns` Φ (T', F), orthogonal within blocks; `starts` (B + 1,); `targets` (N, T'); `allowed` (N, B), Booleans.
    """

    columns: np.ndarray
    starts: np.ndarray
    targets: np.ndarray
    allowed: np.ndarray

    @cached_property
    def squares(self) -> np.ndarray:
        """‖y‖² of each target, (N,)."""
        return np.einsum("nt,nt->n", self.targets, self.targets)

    @cached_property
    def products(self) -> np.ndarray:
        """Φ'y of each target, (N, F)."""
        return self.targets @ self.columns

    @cached_property
    def lam_max(self) -> float:
        """The smallest penalty at which all coefficients are zero: the largest allowed ‖Φ_b'y‖."""
        return float(self.measure_blocks(self.products)[self.allowed].max(initial=0.0))

    def measure_blocks(self, rows: np.ndarray) -> np.ndarray:
        """Return the norms of the blocks of vectors (m, F), as (m, B)."""
        if self.starts[-1] == 0:
            return np.zeros((len(rows), 0))
        return np.sqrt(np.add.reduceat(rows * rows, self.starts[:-1], axis=1))

    def count_blocks(self, coefficients: np.ndarray) -> int:
        """Return how many blocks of all targets have a coefficient."""
        return int((self.measure_blocks(coefficients) > 0).sum())

    def compute_residuals(self, coefficients: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return y − Φw of the targets `rows`, (m, T'), by one product with the columns in use."""
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * len(used) > coefficients.shape[1]:
            return self.targets[rows] - coefficients @ self.columns.T
        return self.targets[rows] - coefficients[:, used] @ self.columns[:, used].T

    def certify(
        self, coefficients: np.ndarray, lam: float, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return objectives (m,), duality gaps (m,) and norms ‖Φ_b'r‖ (m, B) of targets `rows`, 0 if not allowed."""
        residuals = self.compute_residuals(coefficients, rows)
        norms = self.measure_blocks(residuals @ self.columns) * self.allowed[rows]
        squares = np.einsum("nt,nt->n", residuals, residuals)
        products = np.einsum("nt,nt->n", residuals, self.targets[rows])
        objectives = 0.5 * squares + lam * self.measure_blocks(coefficients).sum(axis=1)
        worst = norms.max(axis=1, initial=0.0)
        bound = np.divide(lam, worst, out=np.full_like(worst, np.inf), where=worst > 0)
        scale = np.divide(products, squares, out=np.ones_like(worst), where=squares > 0)
        scale = np.clip(scale, -bound, bound)
        return objectives, objectives - scale * products + 0.5 * scale**2 * squares, norms

    def expand_blocks(self, blocks: np.ndarray) -> np.ndarray:
        """Return the columns of some blocks, in their order, int64."""
        sizes = self.starts[blocks + 1] - self.starts[blocks]
        ends = np.cumsum(sizes)
        return np.repeat(self.starts[blocks] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)


class ColumnFactor(NamedTuple):
    """Squared singular values (R,) of columns (T', F) above rounding error, their vectors (R, F), the mean of all."""

    values: np.ndarray
    rows: np.ndarray
    mean: float


def factor_columns(columns: np.ndarray) -> ColumnFactor:
    """Return the factor of columns, from the smaller one of their two Gram matrices."""
    is_wide = columns.shape[0] < columns.shape[1]
    values, vectors = np.linalg.eigh(columns @ columns.T if is_wide else columns.T @ columns)
    is_used = values > 1e-14 * values.max(initial=0.0)
    kept, rows = values[is_used], vectors[:, is_used].T
    if is_wide:
        rows = (rows @ columns) / np.sqrt(kept)[:, None]
    return ColumnFactor(kept, rows, float(np.mean(values)) if len(values) else 0.0)


class SharedADMM:
    r"""Iterations of ADMM: w by least squares with ridge ρ, its copy z by the proximal step, u the scaled multipliers.

    The proximal step excludes a target's own present, so that all targets share one factorisation: with Φ = Q S V',
    (Φ'Φ + ρI)⁻¹ = (I − V diag(s² / (s² + ρ)) V') / ρ for any ρ, which may differ between targets. Shen (thesis, chapter
    5), algorithm 6b; Boyd et al. (2011), sections 3.4 and 4.2.
    """

    def __init__(self, problem: GroupLassoProblem, lam: float):
        self.problem, self.lam = problem, lam
        width = problem.columns.shape[1]
        self.values, self.rows, mean = factor_columns(problem.columns)
        n = len(problem.targets)
        self.rho = np.full(n, max(mean, 1e-3 * lam))
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
    all_targets = np.arange(len(problem.targets))
    for step in range(1, max_iter + 1):
        solver.iterate()
        if step % CHECK_EVERY and step < max_iter:
            continue
        objectives, gaps, _ = problem.certify(solver.z, lam, all_targets)
        is_over = record is not None and record(float(objectives.sum()), problem.count_blocks(solver.z))
        if (gaps <= tol * objectives).all() or is_over or is_past(deadline):
            break
        if step <= 40 * CHECK_EVERY:
            solver.balance()
    return GroupEstimates(solver.z, objectives, gaps, np.full(len(all_targets), step))


def solve_path(
    problem: GroupLassoProblem,
    lams: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    deadline: float = inf,
    record: Record | None = None,
) -> Iterator[GroupEstimates]:
    """Yield solutions at descending penalties, each started from the previous one; gaps are `tol` times the objective.

    One round computes one product of all columns with the residuals of the unfinished targets, O(T F N), and adds
    violators of optimality to their working sets. The passes over these are compiled, at most `max_iter` per penalty.
    """
    n, width = len(problem.targets), problem.columns.shape[1]
    gram = problem.columns.T @ problem.columns if width <= MOST_COLUMNS else None
    w = np.zeros((n, width))
    norms = problem.measure_blocks(problem.products) * problem.allowed
    before = problem.lam_max
    for lam in lams:
        # the strong rule: a block within this margin may become active
        working = (problem.measure_blocks(w) > 0) | (norms >= max(2.0 * lam - before, 0.5 * lam))
        working &= problem.allowed
        objectives, gaps, steps = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
        rows = np.arange(n)
        is_first = True
        while len(rows):
            objectives[rows], gaps[rows], norms[rows] = problem.certify(w[rows], lam, rows)
            if record is not None and record(float(objectives.sum()), problem.count_blocks(w)):
                deadline = -inf
            is_open = (gaps[rows] > tol * objectives[rows]) & (steps[rows] < max_iter)
            rows = rows[is_open]
            if not is_first:
                for target in rows.tolist():
                    _extend_working_set(working[target], norms[target], lam)
            goals = np.maximum(0.3 * tol * objectives[rows], 0.03 * gaps[rows])
            solve = partial(_solve_target, problem, gram, w, lam=float(lam), deadline=deadline)
            calls = [
                partial(solve, target, working[target], tol=goal, max_passes=int(max_iter - steps[target]))
                for target, goal in zip(rows.tolist(), goals.tolist(), strict=True)
            ]
            steps[rows] += np.array(call_on_threads(calls, None), dtype=np.int64)
            if is_past(deadline):
                objectives, gaps, _ = problem.certify(w, lam, np.arange(n))
                break
            is_first = False
        yield GroupEstimates(w.copy(), objectives, gaps, steps)
        before = lam


def _extend_working_set(working: np.ndarray, norms: np.ndarray, lam: float) -> None:
    """Add the blocks with the largest violations, at most as many as the working set has."""
    excess = np.where(working, -inf, norms - lam)
    most = max(FEWEST_BLOCKS, int(working.sum()))
    places = np.argsort(-excess, kind="stable")[:most]
    working[places[excess[places] > 0]] = True


def _solve_target(
    problem: GroupLassoProblem,
    gram: np.ndarray | None,
    w: np.ndarray,
    target: int,
    working: np.ndarray,
    *,
    lam: float,
    tol: float,
    max_passes: int,
    deadline: float,
) -> int:
    """Minimise over the working set of one target, into its row of w; return the passes, 0 after the deadline.

    Other targets may be on other threads.
    """
    if is_past(deadline):
        return 0
    blocks = np.flatnonzero(working)
    columns = problem.expand_blocks(blocks)
    if gram is None:
        part = problem.columns[:, columns]
        small = part.T @ part
    else:
        small = _group_lasso.gather(gram, columns)
    starts = np.concatenate(([0], np.cumsum(problem.starts[blocks + 1] - problem.starts[blocks])))
    solution = w[target, columns]
    c = problem.products[target, columns]
    passes, _ = _group_lasso.descend(small, c, starts, lam, problem.squares[target], solution, tol, max_passes)
    w[target, columns] = solution
    return max(passes, 1)


def count_freedom(problem: GroupLassoProblem, coefficients: np.ndarray, lam: float) -> np.ndarray:
    r"""Return the degrees of freedom of each target, (N,), as the divergence of its fit.

    tr((G + λP)⁻¹ G) over the columns of the blocks in use, with P = (I − ww'/‖w‖²) / ‖w‖ for each block. If all blocks
    are single columns, this is the number of coefficients. Vaiter et al. (2012), "The degrees of freedom of the group
    lasso".
    """
    norms = problem.measure_blocks(coefficients)
    freedom = np.zeros(len(coefficients))
    for target in range(len(coefficients)):
        blocks = np.flatnonzero(norms[target])
        if not len(blocks):
            continue
        places = problem.expand_blocks(blocks)
        columns = problem.columns[:, places]
        gram = columns.T @ columns
        curved = gram.copy()
        begin = 0
        for b in blocks:
            w = coefficients[target, problem.starts[b] : problem.starts[b + 1]]
            end = begin + len(w)
            length = norms[target, b]
            curved[begin:end, begin:end] += (lam / length) * (np.eye(len(w)) - np.outer(w, w) / length**2)
            begin = end
        freedom[target] = np.trace(np.linalg.lstsq(curved, gram, rcond=None)[0])
    return freedom

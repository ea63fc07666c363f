"""Block coordinate descent with working sets, along a path of penalties."""

from collections.abc import Iterator
from functools import partial
from math import inf

import numpy as np

from pgmx._ext import _group_lasso
from pgmx.parallel.threads import call_on_threads
from pgmx.runs.run import is_past
from pgmx.solvers.time_series.svarm.problem import GroupEstimates, GroupLassoProblem, Record

#: Maximum number of columns whose Gram matrix is stored (1.2 GB); otherwise the Gram matrix of each working set is
#: computed when needed.
MOST_COLUMNS = 12_500
#: Maximum growth of a working set per round: this number of blocks, or as many as it has.
FEWEST_BLOCKS = 10


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

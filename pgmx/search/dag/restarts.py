"""Random restarts: repeatedly some random legal moves from an optimum, then a climb."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx.checks import count_workers
from pgmx.parallel.tasks import in_order, run_tasks, shares_memory
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.dag.hill_climb import climb_on_trial
from pgmx.search.dag.state import ClimbLimits, DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker, StopSearch


class Restart(NamedTuple):
    """The result of one restart."""

    score: float
    edges: np.ndarray
    n_moves: int
    finished: bool


def restart(
    problem: DagProblem,
    state: DagState,
    tracker: SearchTracker,
    *,
    n_restarts: int,
    n_moves: int,
    seed: int,
    n_jobs: int | None = None,
    is_last: bool = False,
) -> None:
    """Restart `n_restarts` times, each `n_moves` random moves away from the best graph, and keep the best result.

    If the search ends with the restarts (`is_last`), the remaining moves are estimated from the restarts so far.
    Restart i draws from ``default_rng([seed, i])``, so that the result is the same for any `n_jobs`. Restarts of this
    thread use `state`, others have their own state.
    """
    memo, done = tracker.read_memo("optimum", "done"), 0
    optimum = tracker.best_edges(state).copy()
    if memo and tracker.checker is not None:
        optimum, done = tracker.checker.read(memo, "optimum"), memo.integer("done", 0, n_restarts)
    tracker.keep_best(state)
    # each restart gets all remaining moves; results are cut in their order below
    task = _Task(_remaining(tracker), tracker.run.wall_deadline, optimum, n_moves, seed)
    compiled = state.is_compiled and shares_memory("threads")
    local = _OnThreads(task, state.copy_maker(problem.make_source)) if compiled and count_workers(n_jobs) > 1 else task
    options: dict[str, Any] = {"first": done, "local_task": partial(task.restart, state), "compiled": compiled}
    results = run_tasks(local, problem, n_restarts, n_jobs=n_jobs, **options)
    n_left, n_tried, n_made = n_restarts - done, 0, 0
    if is_last:
        tracker.run.estimate_left = lambda: (n_left - n_tried) * n_made / n_tried if n_tried else None
    with closing(in_order(results, done)) as ordered:
        while done < n_restarts:
            tracker.mark_safe_point(state, optimum=optimum, done=done)
            tracker.check()
            one = next(ordered, None)
            if one is None:  # the run that this task belongs to has ended
                tracker.check()
                raise StopSearch
            limits = _remaining(tracker)
            if one.n_moves > limits.max_iter:  # a sequential run would have stopped there
                one = replace(task, limits=limits).restart(state, done)
            n_tried, n_made = n_tried + 1, n_made + one.n_moves
            tracker.offer(one.edges, one.score, one.n_moves)
            if not one.finished:
                tracker.check()
                tracker.run.end("max_time")  # a worker noticed the time limit first
                raise StopSearch
            done += 1


def _remaining(tracker: SearchTracker) -> ClimbLimits:
    """Return the limits of a restart: the remaining moves, and no patience."""
    return replace(tracker.remaining_limits(), patience=0)


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class _Task:
    """Restarts on their own state, as a task that can be pickled."""

    limits: ClimbLimits
    wall_deadline: float
    optimum: np.ndarray
    n_moves: int
    seed: int

    def prepare(self, problem: DagProblem) -> Callable[[int], Restart]:
        """Return the function that runs restart i on a new state."""
        return partial(self.restart, problem.make_state())

    def restart(self, state: DagState, number: int) -> Restart:
        """Make random moves from the optimum and climb."""
        state.reset(self.optimum)
        state.moves.clear_tabu()
        tracker = SearchTracker(self.limits, Run.from_wall_deadline(SearchProgress, self.wall_deadline))
        tracker.set_best(state)
        try:
            perturb(state, tracker, self.n_moves, np.random.default_rng([self.seed, number]))
            # the climb may undo the random moves
            state.moves.clear_tabu()
            climb_on_trial(state, tracker)
        except StopSearch:
            return Restart(state.score, state.edges(), tracker.n_iter, False)
        return Restart(state.score, state.edges(), tracker.n_iter, True)


class _OnThreads:
    """Restarts on threads of this process, with copies of a state."""

    def __init__(self, task: _Task, make_state: Callable[[], DagState]):
        self.task, self.make_state = task, make_state

    def prepare(self, problem: DagProblem) -> Callable[[int], Restart]:
        """Return the function that runs restart i on a copy of the state."""
        return partial(self.task.restart, self.make_state())


def perturb(state: DagState, tracker: SearchTracker, n_moves: int, rng: np.random.Generator) -> None:
    """Make random legal moves: draw a possible kind of move, then pairs of variables until the move is legal."""
    for _ in range(n_moves if state.n > 1 else 0):
        # the limit ends the draw if no move is legal
        for _ in range(20 * state.n):
            edges = state.moves.n_edges
            op = int(rng.choice((ADD, DELETE, REVERSE))) if edges else ADD
            if op == ADD:
                tail, head = (int(v) for v in rng.choice(state.n, size=2, replace=False))
            else:
                tail, head = (int(v) for v in state.edges()[rng.integers(edges)])
            # a gain of -inf: the arc is forbidden, or the score refuses the family
            if state.moves.is_legal(op, tail, head) and state.gains[head, tail] > -np.inf:
                tracker.count_trial_move()
                state.make(op, tail, head)
                break

"""Random restarts: some random legal moves from an optimum, then a climb, many times over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx.checks import count_workers
from pgmx.parallel.spread import call_together
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.hill_climb import climb_on_trial
from pgmx.search.dag.state import ClimbLimits, DagProblem, DagState


class Restart(NamedTuple):
    """What one restart found."""

    score: float
    edges: np.ndarray
    n_moves: int
    finished: bool


def restart(
    problem: DagProblem,
    state: DagState,
    course: Course,
    *,
    n_restarts: int,
    n_moves: int,
    seed: int,
    n_jobs: int | None = None,
) -> None:
    """Start again `n_restarts` times, each `n_moves` random moves away from the best graph, and take the best result.

    Restart i draws from ``default_rng([seed, i])``, so that the result is the same for any `n_jobs`. Restarts that run
    one after the other use `state`, others a state of their own.
    """
    memo, done = course.read_memo("optimum", "done"), 0
    optimum = course.best_edges(state).copy()
    if memo and course.legal is not None:
        optimum, done = course.legal.read(memo, "optimum"), memo.integer("done", 0, n_restarts)
    course.keep_best(state)
    workers = min(count_workers(n_jobs), n_restarts)
    while done < n_restarts:
        course.mark_safe(state, optimum=optimum, done=done)
        course.check()
        task = _Task(_remaining(course), course.run.wall_deadline, optimum, n_moves, seed)
        if workers == 1:
            batch = [task.restart(state, done)]
        else:
            blocks = np.array_split(np.arange(done, min(done + 4 * workers, n_restarts)), workers)
            calls = (partial(task, problem, block.tolist()) for block in blocks)
            batch = [one for block in call_together(calls, n_jobs) for one in block]
        for one in batch:
            limits = _remaining(course)
            if one.n_moves > limits.max_iter:  # one after the other, it would have been cut there
                one = replace(task, limits=limits).restart(state, done)
            course.offer(one.edges, one.score, one.n_moves)
            if not one.finished:
                course.check()
                course.run.end("max_time")  # by a worker's clock, which is ahead
                raise Stopped
            done += 1


def _remaining(course: Course) -> ClimbLimits:
    """Return the limits of a restart: the moves that remain, and no patience."""
    return replace(course.limits, max_iter=course.limits.max_iter - course.n_iter, patience=0)


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class _Task:
    """Some restarts on a state of their own, as a task that can be sent."""

    limits: ClimbLimits
    wall_deadline: float
    optimum: np.ndarray
    n_moves: int
    seed: int

    def __call__(self, problem: DagProblem, numbers: Sequence[int]) -> list[Restart]:
        state = problem.make_state()
        return [self.restart(state, number) for number in numbers]

    def restart(self, state: DagState, number: int) -> Restart:
        """Move away from the optimum at random and climb."""
        state.reset(self.optimum)
        state.moves.clear_tabu()
        course = Course(self.limits, Run.from_wall_deadline(SearchProgress, self.wall_deadline))
        course.set_best(state)
        try:
            perturb(state, course, self.n_moves, np.random.default_rng([self.seed, number]))
            state.moves.clear_tabu()
            climb_on_trial(state, course)
        except Stopped:
            return Restart(state.score, state.edges(), course.n_iter, False)
        return Restart(state.score, state.edges(), course.n_iter, True)


def perturb(state: DagState, course: Course, n_moves: int, rng: np.random.Generator) -> None:
    """Make random legal moves: a kind that is possible is drawn, then a pair of variables until it is legal."""
    for _ in range(n_moves if state.n > 1 else 0):
        for _ in range(20 * state.n):
            edges = state.moves.n_edges
            op = int(rng.choice((ADD, DELETE, REVERSE))) if edges else ADD
            if op == ADD:
                tail, head = (int(v) for v in rng.choice(state.n, size=2, replace=False))
            else:
                tail, head = (int(v) for v in state.edges()[rng.integers(edges)])
            if state.moves.is_legal(op, tail, head) and state.gains[head, tail] > -np.inf:
                course.count_trial_move()
                state.make(op, tail, head)
                break

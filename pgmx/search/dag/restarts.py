"""Random restarts: some random legal moves from an optimum, then a climb, many times over."""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx.search.dag.course import ClimbLimits, Run, Stopped
from pgmx.search.dag.hill_climb import climb_quietly
from pgmx.search.dag.problem import DagProblem
from pgmx.search.dag.state import DagState


class Restart(NamedTuple):
    """What one restart found."""

    score: float
    edges: np.ndarray
    n_moves: int
    finished: bool


def restart(
    problem: DagProblem,
    state: DagState,
    run: Run,
    *,
    n_restarts: int,
    n_moves: int,
    seed: int,
    n_jobs: int | None = None,
) -> None:
    """Start again `n_restarts` times from the best graph and keep the best one found.

    Parameters
    ----------
    problem : DagProblem
        What is searched.
    state : DagState
        Serves the restarts when they run one after the other.
    run : Run
        Holds the optimum, and the best graph afterwards.
    n_restarts : int
        How many times.
    n_moves : int
        Random moves before each climb.
    seed : int
        Restart i draws from ``default_rng([seed, i])``, so that the result is the same for any `n_jobs`.
    n_jobs : int, optional
        Restarts that run at the same time, through joblib.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.2 (random restarts).
    """
    optimum = np.array(run.memo["optimum"]) if "optimum" in run.memo else run.best_edges(state).copy()
    done = int(run.memo.get("done", 0))
    run.leave(state)
    workers = min(effective_n_jobs(n_jobs), n_restarts)
    while done < n_restarts:
        run.safe(state, optimum=optimum, done=done)
        run.check()
        if workers == 1:
            batch = [_from(state, _limits_left(run), optimum, n_moves, seed, done)]
        else:
            last = min(done + 4 * workers, n_restarts)
            blocks = np.array_split(np.arange(done, last), workers)
            tasks = (
                delayed(_restarts)(problem, _limits_left(run), optimum, n_moves, seed, block.tolist())
                for block in blocks
            )
            batch = [found for block in Parallel(n_jobs=n_jobs, prefer="threads")(tasks) for found in block]
        for found in batch:
            if found.n_moves > run.limits.max_iter - run.n_iter:  # one after the other, it would have been cut there
                found = _from(state, _limits_left(run), optimum, n_moves, seed, done)
            run.offer(found.edges, found.score, found.n_moves)
            if not found.finished:
                raise Stopped
            done += 1


def _limits_left(run: Run) -> ClimbLimits:
    limits = run.limits
    return ClimbLimits(
        epsilon=limits.epsilon,
        max_iter=limits.max_iter - run.n_iter,
        max_time=run.seconds_left,
        max_indegree=limits.max_indegree,
        tabu_length=limits.tabu_length,
        patience=0,
    )


def _restarts(problem, limits, optimum, n_moves, seed, numbers) -> list[Restart]:
    """Run some restarts on a state of their own: the work of one task."""
    state = problem.state()
    return [_from(state, limits, optimum, n_moves, seed, number) for number in numbers]


def _from(state: DagState, limits: ClimbLimits, optimum, n_moves: int, seed: int, number: int) -> Restart:
    state.reset(optimum)
    state.moves.clear_tabu()
    run = Run(limits)
    run.present(state)
    try:
        shake(state, run, n_moves, np.random.default_rng([seed, number]))
        state.moves.clear_tabu()
        climb_quietly(state, run)
    except Stopped:
        return Restart(state.score, state.edges(), run.n_iter, False)
    return Restart(state.score, state.edges(), run.n_iter, True)


def shake(state: DagState, run: Run, n_moves: int, rng: np.random.Generator) -> None:
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
                run.tried()
                state.make(op, tail, head)
                break

"""Greedy hill climbing over directed acyclic graphs, and the walk through moves that do not improve."""

import numpy as np

from pgmx.search.dag.course import Course
from pgmx.search.dag.state import DagState


def partners_first(gains: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    """Return the order of ties: variables with more partners first, `permutation` among equals.

    A partner of x is a variable that gains as its only parent. Under a score-equivalent score the two directions of the
    first arc between two variables tie, and which wins decides between local optima that lie far apart. Arcs into the
    variable with more partners lead, on the networks of the benchmark, to better scores and fewer arcs than a random
    direction does.

    Parameters
    ----------
    gains : ndarray of shape (n, n)
        ``gains[child, u]`` in the graph without arcs.
    permutation : ndarray of shape (n,)
        Decides among variables with equally many partners.

    Returns
    -------
    ndarray of shape (n,), int64
        A permutation; smaller goes first.
    """
    n_partners = np.count_nonzero(gains > 0, axis=1)
    priority = np.empty(len(permutation), dtype=np.int64)
    priority[np.lexsort((permutation, -n_partners))] = np.arange(len(permutation))
    return priority


def climb(state: DagState, course: Course, *, patience: int = 0) -> None:
    """Make the best move again and again until none improves the best graph for `patience` moves.

    Parameters
    ----------
    state : DagState
        The graph; a local optimum when `patience` is 0, else wherever the walk ended.
    course : Course
        Keeps the best graph; its limits may end the climb by `Stopped`.
    patience : int, default=0
        Moves without a new best score that are walked through.

    Notes
    -----
    Cost: one row of gains for each move (two for a reversal) and O(n + arcs) to choose it.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3 and algorithm 18.2.
    """
    idle = int(course.memo.get("idle", 0))
    while True:
        course.check()
        move = state.moves.best()
        if move is None or move[3] < course.least_gain():
            if idle == 0 and state.moves.clear_tabu():
                continue  # what only the tabu list bars may still improve
            if move is None or idle >= patience:
                return
            course.keep_best(state)
        state.make(*move[:3])
        idle = 0 if course.record_move(state) else idle + 1
        course.mark_safe(state, idle=idle)


def climb_quietly(state: DagState, course: Course) -> None:
    """Climb to a local optimum on trial: the moves count, but are neither told nor compared with the best graph."""
    least = course.least_gain()
    while True:
        move = state.moves.best()
        if move is None or move[3] < least:
            if not state.moves.clear_tabu():
                return
            continue
        course.count_trial_move()
        state.make(*move[:3])

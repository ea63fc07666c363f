"""Greedy hill climbing over directed acyclic graphs, also past local optima."""

import numpy as np

from pgmx.search.dag.course import Course
from pgmx.search.dag.state import DagState


def rank_by_partners(gains: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    """Return the rank of each variable among ties: more partners first, then by `permutation`; the smaller rank wins.

    `gains` is that of the graph without arcs; a partner of x is a variable that gains as its only parent. Under a
    score-equivalent score the two directions of the first arc between two variables tie, and which one wins decides
    between distant local optima: arcs into the variable of more partners lead to better scores and fewer arcs.
    """
    n_partners = np.count_nonzero(gains > 0, axis=1)
    priority = np.empty(len(permutation), dtype=np.int64)
    priority[np.lexsort((permutation, -n_partners))] = np.arange(len(permutation))
    return priority


def climb(state: DagState, course: Course, *, patience: int = 0) -> None:
    """Make the best move again and again until none improves the best graph for `patience` moves.

    `course` has the best graph in the end, and `state` too where `patience` is 0. A move costs one row of gains (two
    for a reversal) and O(n + arcs) to choose it (Koller and Friedman, 2009, algorithm 18.2).
    """
    idle = int(course.memo.get("idle", 0))
    while True:
        course.check()
        move = state.moves.best()
        if move is None or move[3] < course.least_gain():
            if idle == 0 and state.moves.clear_tabu():
                continue  # a move that only the tabu list forbids may still improve
            if move is None or idle >= patience:
                return
            course.keep_best(state)
        state.make(*move[:3])
        idle = 0 if course.record_move(state) else idle + 1
        course.mark_safe(state, idle=idle)


def climb_on_trial(state: DagState, course: Course) -> None:
    """Climb to a local optimum on trial: the moves count, but are not recorded or compared with the best graph."""
    least = course.least_gain()
    while True:
        move = state.moves.best()
        if move is None or move[3] < least:
            if not state.moves.clear_tabu():
                return
            continue
        course.count_trial_move()
        state.make(*move[:3])

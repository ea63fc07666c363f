"""A climb over a bare source of gains: the shortest way from numbers to a graph."""

from typing import NamedTuple

import numpy as np

from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker, StopSearch


class Result(NamedTuple):
    """The best graph that a search has seen, and why it ended."""

    edges: np.ndarray
    score: float
    n_iter: int
    converged: bool
    history: dict
    stopped_by: str


def run_search(search, state, tracker):
    """Run a search until it converges or a limit ends it; return the result."""
    try:
        search()
    except StopSearch:
        tracker.save(state)
        assert tracker.run.stopped_by
    else:
        tracker.run.end("converged")
    tracker.recall()
    reason = tracker.run.stopped_by
    edges = tracker.best_edges(state)
    return Result(edges, tracker.best_score, tracker.n_iter, reason == "converged", tracker.run.history, reason)


def hill_climb(
    source,
    n,
    limits,
    *,
    priority,
    start=None,
    required=None,
    bonus=(0.0, 0.0, 0.0),
    offset=0.0,
    callback=None,
    max_time=None,
):
    """Climb from a graph under `limits`; `offset` is the structure prior of that graph."""
    tracker = SearchTracker(limits, Run(SearchProgress, max_time=max_time, callback=callback))
    state = DagState(
        source,
        n,
        priority=priority,
        max_indegree=limits.max_indegree,
        least_gain=limits.epsilon if limits.patience == 0 else -np.inf,
        tabu_length=limits.tabu_length,
        required=required,
        bonus=bonus,
    )
    if start is not None:
        state.reset(start)
    state.prior = offset
    tracker.set_best(state)
    return run_search(lambda: climb(state, tracker, patience=limits.patience), state, tracker)

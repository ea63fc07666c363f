"""A climb over a bare source of gains: the shortest way from numbers to a graph."""

import numpy as np

from pgmx.search.dag.course import Run, Stopped
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.state import DagState


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
    began=None,
):
    """Climb from a graph under `limits`; `offset` is the structure prior of that graph."""
    run = Run(limits, callback=callback, began=began)
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
    run.present(state)
    try:
        climb(state, run, patience=limits.patience)
    except Stopped:
        return run.result(state, converged=False)
    return run.result(state, converged=True)

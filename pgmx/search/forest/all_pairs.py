"""The maximum-weight forest from all pairs at once: threads count blocks of pairs, each with its own filter."""

import numpy as np

from pgmx._ext._edge_filter import EdgeFilter
from pgmx.runs.run import Run
from pgmx.search.forest.pair_weights import CountedWeights


def grow_from_all_pairs(
    source: CountedWeights,
    priority: np.ndarray,
    resolution: float,
    allowed: np.ndarray | None,
    run: Run,
    score: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges, in the order in which Prim's algorithm adds them, and weights of the best undirected forest.

    The history is also that of Prim's algorithm, but all rows have the time of the end. Cost: n² / 2 weights, each
    counted once; 320 n bytes and a block of weights per thread. After an interrupt the result is the forest of the
    pairs counted so far.
    """
    filters: list[EdgeFilter] = []

    def make_filter():
        filters.append(EdgeFilter(priority, resolution, allowed))
        return filters[-1].take

    with run.catch_interrupt():
        source.visit_pairs(make_filter)
    whole = EdgeFilter(priority, resolution, allowed)
    for part in filters:
        whole.merge(part)
    nearest, members, gained = whole.grow()
    scores, counts = np.cumsum(np.append(score, gained))[1:].tolist(), np.cumsum(nearest >= 0).tolist()
    n_recorded = len(members)
    if run.has_callback:
        for k in range(n_recorded):
            if run.record(score=scores[k], n_edges=counts[k]):
                n_recorded = k + 1
                break
    else:
        run.add_rows(score=scores, n_edges=counts)
    joined = np.flatnonzero(nearest[:n_recorded] >= 0)
    return np.column_stack([nearest[joined], members[joined]]), gained[joined]

"""Initial graphs of a search: a maximum-weight forest, and a random graph."""

from collections.abc import Iterable

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx.search.dag.state import DagState
from pgmx.search.forest_weights import StoredWeights
from pgmx.search.knowledge import EdgeConstraints
from pgmx.search.spanning_forest import Forest, find_spanning_forest


def find_forest(state: DagState) -> Forest:
    """Return the rooted forest of largest gain; for a graph without arcs, this is the Chow-Liu forest of the score.

    The weights of a variable with required parents are conditional on them.
    """
    present = state.edges()
    # negative weights are never used: arcs that are forbidden, refused by the score, or present already
    weights = np.where(np.isfinite(state.gains), state.gains + state.bonus[ADD], -1.0)
    weights[present[:, 1], present[:, 0]] = -1.0
    allowed = (state.gains > -np.inf).astype(np.uint8)
    np.fill_diagonal(allowed, 0)
    return find_spanning_forest(
        StoredWeights(weights, max(float(np.abs(state.scores).max()), 1.0)),
        priority=state.priority,
        constraints=EdgeConstraints(state.n, allowed=allowed),
        symmetric=np.array_equal(weights, weights.T),
    )


def grow_tree(state: DagState) -> None:
    """Add the arcs of `find_forest`."""
    _add_arcs(state, find_forest(state).edges.tolist())


def grow_at_random(state: DagState, seed: int) -> None:
    """Add random arcs: in a random order, each variable gets one random predecessor as parent, if legal."""
    # the second word separates these random numbers from those of other parts of a search
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(state.n).tolist()
    _add_arcs(state, [(order[int(rng.integers(i))], order[i]) for i in range(1, state.n)])


def _add_arcs(state: DagState, arcs: Iterable) -> None:
    for tail, head in arcs:
        if state.moves.is_legal(ADD, tail, head):
            state.make(ADD, tail, head)
    state.moves.clear_tabu()

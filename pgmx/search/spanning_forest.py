"""Maximum-weight forests: undirected forests by Prim's algorithm, and the choice between them and branchings.

Weights are compared as integer multiples of a small unit, so that rounding errors neither create nor break ties. A pair
whose weight rounds to zero has no edge. Ties are broken by an order of the variables from the caller: by the smaller
first end, then by the smaller second end. With this rule the best forest is unique and does not depend on the order in
which an algorithm visits the edges.
"""

from math import frexp, nan
from typing import NamedTuple

import numpy as np

from pgmx._ext import _branching, _spanning
from pgmx._ext._edge_filter import EdgeFilter
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.forest_weights import CountedWeights, PairWeights
from pgmx.search.knowledge import EdgeConstraints

_ROOT = 0  # column of a virtual root with an arc of weight 0 to every variable

#: Bits between the scale of the weights and the smallest weight that counts: about a hundred rounding errors.
RESOLUTION_BITS = 46


class Forest(NamedTuple):
    """Rooted trees: arcs (tail, head), int64 (m, 2), by head, with distinct heads; and their weights, float64 (m,)."""

    edges: np.ndarray
    weights: np.ndarray


def find_spanning_forest(
    pair_weights: PairWeights,
    *,
    priority: np.ndarray,
    constraints: EdgeConstraints | None = None,
    root: int | None = None,
    symmetric: bool = True,
    run: Run | None = None,
    score: float = nan,
    at_once: bool = False,
) -> Forest:
    """Find the rooted forest of largest weight; arcs without positive weight are left out unless they are required.

    `priority` (int64, a permutation) breaks ties. Trees are rooted at `root`, else at variables of most neighbours. If
    not `symmetric`, or if directions are constrained, the result is a maximum branching, from n² weights. `score` is
    the score without edges. The search stops when `run` is over. `at_once` counts all pairs first.
    """
    n = pair_weights.n
    constraints = EdgeConstraints(n) if constraints is None else constraints
    run = Run(SearchProgress) if run is None else run
    check_forest_constraints(constraints, range(n), root=root)
    # a power of two, so that the division of the weights by it is exact
    resolution = 2.0 ** (frexp(pair_weights.scale)[1] - RESOLUTION_BITS)
    priority = np.ascontiguousarray(priority, dtype=np.int64)
    allowed = constraints.allowed
    if symmetric and not len(constraints.required) and (allowed is None or np.array_equal(allowed, allowed.T)):
        if at_once and isinstance(pair_weights, CountedWeights):
            pairs, weights = grow_from_all_pairs(pair_weights, priority, resolution, allowed, run, score)
        else:
            pairs, weights = _grow_by_prim(pair_weights, priority, resolution, allowed, run, score)
        return _root_trees(n, pairs, weights, priority, root)
    return _find_best_branching(pair_weights, priority, resolution, constraints, root, symmetric, run)


def check_forest_constraints(constraints: EdgeConstraints, names, *, root: int | None = None) -> None:
    """Raise a ValueError if a variable has two required parents, or `root` has one."""
    parent_of: dict[int, int] = {}
    for tail, head in constraints.required.tolist():
        if head in parent_of:
            raise ValueError(
                f"{names[head]!r} has the required parents {names[parent_of[head]]!r} and {names[tail]!r}, but in a "
                "forest a variable has at most one parent: drop one of the required edges"
            )
        if head == root:
            raise ValueError(
                f"root={names[head]!r} has the required parent {names[tail]!r}: drop that edge or choose another root"
            )
        parent_of[head] = tail


def grow_from_all_pairs(
    pair_weights: CountedWeights,
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
        pair_weights.visit_pairs(make_filter)
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


def _grow_by_prim(
    pair_weights: PairWeights,
    priority: np.ndarray,
    resolution: float,
    allowed: np.ndarray | None,
    run: Run,
    score: float,
):
    """Return the edges, in the order in which they joined, and weights of the best undirected forest."""
    growth = _spanning.ForestGrowth(priority, resolution, allowed)
    rows = _PendingRows(pair_weights, growth, allowed)
    most = 1 if run.has_callback else pair_weights.n
    n_recorded = n_edges = 0
    with run.catch_interrupt():
        while True:  # the variables that joined since the last record, and the next one
            variables = growth.order[n_recorded : growth.n_joined + (growth.next >= 0)]
            if not len(variables):
                break
            has_edge = growth.nearest[variables] >= 0
            sums = np.cumsum(np.append(score, np.where(has_edge, growth.best[variables], 0.0)))[1:].tolist()
            counts = (n_edges + np.cumsum(has_edge)).tolist()
            run.add_rows(score=sums[:-1], n_edges=counts[:-1])
            score, n_edges, n_recorded = sums[-1], counts[-1], n_recorded + len(variables)
            if run.record(score=score, n_edges=n_edges) or growth.next < 0:
                break
            rows.provide_next()
            rows.release(growth.grow(rows.weights, rows.places, most))
    members = growth.order[:n_recorded]
    members = members[growth.nearest[members] >= 0]
    return np.column_stack([growth.nearest[members], members]), growth.best[members]


class _PendingRows:
    """Rows of weights of variables that have not joined the forest yet, in an array that grows when it is full."""

    def __init__(self, pair_weights: PairWeights, growth: _spanning.ForestGrowth, allowed: np.ndarray | None):
        self._pair_weights, self._growth, self._allowed = pair_weights, growth, allowed
        self.weights = np.empty((0, pair_weights.n))
        #: Index of each variable's row, -1 without a row.
        self.places = np.full(pair_weights.n, -1, dtype=np.int64)
        self._free: list[int] = []
        self._lacks_row = np.ones(pair_weights.n, dtype=bool)

    def provide_next(self) -> None:
        """Fetch the row of the next variable and rows of likely successors: a block costs little more than a row."""
        node, keys = self._growth.next, self._growth.keys
        if self.places[node] >= 0:
            return
        self._lacks_row[node] = False
        outside = np.flatnonzero(keys > -np.inf)
        outside = outside[outside != node]
        block = np.array([node])
        if self._pair_weights.block > 1:
            following = outside[self._lacks_row[outside]]
            extra = min(self._pair_weights.block - 1, len(following))
            if extra < len(following):
                following = following[np.argpartition(-keys[following], extra)[:extra]]
            block = np.concatenate((block, following))
        self._lacks_row[block] = False
        if self._allowed is not None:
            outside = outside[self._allowed[np.ix_(block, outside)].any(axis=0)]
        places = self._place(block)  # may replace the array of rows
        self._pair_weights.write(block, outside, self.weights, places, outside)

    def release(self, n_joined: int) -> None:
        """Reuse the rows of the variables that joined last."""
        order = self._growth.order[self._growth.n_joined - n_joined : self._growth.n_joined]
        self._free += self.places[order].tolist()

    def _place(self, block: np.ndarray) -> np.ndarray:
        """Return free rows for a block."""
        lacking = len(block) - len(self._free)
        if lacking > 0:
            n = len(self.weights)
            # grown by a quarter at least, so that copying the array costs little in total
            more = min(max(lacking, n // 4), self._pair_weights.n - n)
            self.weights = np.concatenate((self.weights, np.empty((more, self._pair_weights.n))))
            self._free += range(n, n + more)
        self.places[block] = [self._free.pop() for _ in range(len(block))]
        return self.places[block]


def _root_trees(n: int, pairs: np.ndarray, weights: np.ndarray, priority: np.ndarray, root: int | None) -> Forest:
    """Direct the edges of a forest away from the roots of its trees."""
    degree = np.bincount(pairs.ravel(), minlength=n)
    order = np.lexsort((priority, -degree))
    tail_of, edge_of = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    starts = order if root is None else np.append(root, order)
    _spanning.root_trees(np.ascontiguousarray(pairs), starts, tail_of, edge_of)
    heads = np.flatnonzero(tail_of >= 0)
    return Forest(np.column_stack([tail_of[heads], heads]), weights[edge_of[heads]])


def _find_best_branching(
    pair_weights: PairWeights,
    priority: np.ndarray,
    resolution: float,
    constraints: EdgeConstraints,
    root: int | None,
    symmetric: bool,
    run: Run,
) -> Forest:
    """Fill the matrix of weights in the order of `priority`, which breaks ties, and find the best branching."""
    n = pair_weights.n
    order = np.argsort(priority)  # position -> id
    keys = np.full((n, n), -np.inf)
    with run.catch_interrupt():
        for first in range(0, n, pair_weights.block):
            if run.record(score=nan, n_edges=0):
                break
            last = min(first + pair_weights.block, n)
            columns = np.arange(first if symmetric else 0, n)
            rows = np.rint(pair_weights.rows(order[first:last], order[columns]) / resolution)
            keys[first:last, columns] = rows
            if symmetric:
                keys[columns, first:last] = rows.T
    if constraints.allowed is not None:
        keys[constraints.allowed[np.ix_(order, order)] == 0] = -np.inf
    if root is not None:
        keys[priority[root]] = -np.inf
    required = np.full(n, -1, dtype=np.int64)
    for tail, head in constraints.required.tolist():
        required[priority[head]] = priority[tail]
    parents = find_maximum_branching(keys, required)
    tail_of = np.full(n, -1, dtype=np.int64)
    tail_of[order[parents >= 0]] = order[parents[parents >= 0]]
    heads = np.flatnonzero(tail_of >= 0)
    weights = np.array(
        [pair_weights.rows(heads[i : i + 1], tail_of[heads[i : i + 1]])[0, 0] for i in range(len(heads))]
    )
    weights[weights == -np.inf] = 0.0  # a required arc at a variable of one state changes no score
    return Forest(np.column_stack([tail_of[heads], heads]), weights)


def find_maximum_branching(weights: np.ndarray, required: np.ndarray | None = None) -> np.ndarray:
    """Return the parent of each variable, int64 (n,), -1 for a root, in the rooted forest of largest weight.

    ``weights[head, tail]`` is float64; -inf forbids an arc. An arc without positive weight is used only if it is
    ``required[head]`` (int64, -1 for none). Ties are broken in favour of no arc, then of the smaller tail. O(n²) time
    (Edmonds' algorithm in Tarjan's dense form, see the kernel), 12 n² bytes in addition to the weights.
    """
    n = len(weights)
    entering = np.full((n + 1, n + 1), -np.inf)
    entering[1:, 1:] = weights
    np.fill_diagonal(entering, -np.inf)
    entering[1:, _ROOT] = 0.0
    for head, tail in enumerate([] if required is None else required.tolist()):
        if tail >= 0:
            # a required arc is the only one that may enter its head
            entering[head + 1] = -np.inf
            weight = weights[head, tail]
            entering[head + 1, tail + 1] = weight if np.isfinite(weight) else 0.0
    return _branching.maximum_branching(entering)[1:] - 1

"""Maximum-weight forests: undirected ones by Prim's algorithm, and the choice between them and branchings.

Weights are compared as whole multiples of one small number, so that rounding errors neither make nor break ties, and
a pair whose weight rounds to nothing has no edge. Equal weights are decided by an order of the variables that the
caller gives: the edge with the smaller first, then the smaller second end goes first. Under it the best forest is
unique, whatever the order in which an algorithm looks at the edges.
"""

from math import frexp, nan
from typing import NamedTuple

import numpy as np

from pgmx._ext import _branching, _spanning
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.forest.pair_weights import PairWeightSource
from pgmx.search.knowledge.constraints import EdgeConstraints

_ROOT = 0  # column of a virtual root, from which an arc of weight 0 leads to every variable

#: Bits between the scale of a source and the smallest weight that counts: some hundred rounding errors.
RESOLUTION_BITS = 46


class Forest(NamedTuple):
    """Rooted trees: arcs (tail, head), int64 (m, 2), by head, no head twice; and their weights, float64 (m,)."""

    edges: np.ndarray
    weights: np.ndarray


def find_spanning_forest(
    source: PairWeightSource,
    *,
    priority: np.ndarray,
    constraints: EdgeConstraints | None = None,
    root: int | None = None,
    symmetric: bool = True,
    run: Run | None = None,
    score: float = nan,
) -> Forest:
    """Find the rooted forest of largest weight; arcs of no positive weight are left out unless they are required.

    `priority` (int64, a permutation) decides between equal weights, smaller first. Trees are rooted at `root`, else at
    their variables of most neighbours: Prim's algorithm, n² / 2 weights. Where not `symmetric`, or directions are
    constrained, it is a maximum branching: n² weights. `score` is that without edges; a `run` that is over stops it.
    """
    n = source.n
    constraints = EdgeConstraints(n) if constraints is None else constraints
    run = Run(SearchProgress) if run is None else run
    check_forest_constraints(constraints, range(n), root=root)
    resolution = 2.0 ** (frexp(source.scale)[1] - RESOLUTION_BITS)
    priority = np.ascontiguousarray(priority, dtype=np.int64)
    allowed = constraints.allowed
    if symmetric and not len(constraints.required) and (allowed is None or np.array_equal(allowed, allowed.T)):
        pairs, weights = _grow_by_prim(source, priority, resolution, allowed, run, score)
        return _root_trees(n, pairs, weights, priority, root)
    return _find_best_branching(source, priority, resolution, constraints, root, symmetric, run)


def check_forest_constraints(constraints: EdgeConstraints, names, *, root: int | None = None) -> None:
    """Raise ValueError where a variable has two required parents, or `root` has one."""
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


def _grow_by_prim(
    source: PairWeightSource,
    priority: np.ndarray,
    resolution: float,
    allowed: np.ndarray | None,
    run: Run,
    score: float,
):
    """Return the edges, in the order in which they joined, and weights of the best undirected forest."""
    n = source.n
    in_forest = np.zeros(n, dtype=np.uint8)
    keys, best = np.zeros(n), np.zeros(n)
    nearest = np.full(n, -1, dtype=np.int64)
    pending: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    waiting = np.ones(n, dtype=bool)  # for their rows
    edges: list[tuple[int, int, float]] = []
    node = -1
    with run.catch_interrupt():
        for _ in range(n):
            if node < 0 or allowed is not None:
                node = _spanning.next_to_join(in_forest, priority, keys, nearest)
            if nearest[node] >= 0:
                edges.append((int(nearest[node]), node, best[node]))
                score += best[node]
            if run.record(score=score, n_edges=len(edges)):
                break
            in_forest[node] = 1
            if node not in pending:
                _fetch_rows(source, node, in_forest, keys, allowed, pending, waiting)
            others, row = pending.pop(node)
            mask = None if allowed is None else allowed[node]
            node = _spanning.relax(node, others, row, mask, in_forest, priority, resolution, keys, nearest, best)
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    return pairs, np.array([weight for *_, weight in edges])


def _fetch_rows(source: PairWeightSource, node: int, in_forest, keys, allowed, pending, waiting) -> None:
    """Fetch the row of `node` and those of the variables likely to join next: a block costs little more than a row."""
    outside = np.flatnonzero(in_forest == 0)
    block = np.array([node])
    if source.block > 1:
        following = outside[waiting[outside]]
        extra = min(source.block - 1, len(following))
        if extra < len(following):
            following = following[np.argpartition(-keys[following], extra)[:extra]]
        block = np.concatenate((block, following))
    waiting[block] = False
    if allowed is not None:
        outside = outside[allowed[np.ix_(block, outside)].any(axis=0)]
    rows = source.rows(block, outside)
    for v, row in zip(block.tolist(), rows, strict=True):
        pending[v] = outside, row


def _root_trees(n: int, pairs: np.ndarray, weights: np.ndarray, priority: np.ndarray, root: int | None) -> Forest:
    """Direct the edges of a forest away from the roots of its trees."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for number, (a, b) in enumerate(pairs.tolist()):
        neighbours[a].append((b, number))
        neighbours[b].append((a, number))
    degree = np.array([len(of_v) for of_v in neighbours])
    order = np.lexsort((priority, -degree)).tolist()
    tail_of = np.full(n, -1, dtype=np.int64)
    edge_of = np.full(n, -1, dtype=np.int64)
    visited = np.zeros(n, dtype=bool)
    for start in order if root is None else [root, *order]:
        if visited[start]:
            continue
        visited[start], stack = True, [start]
        while stack:
            tail = stack.pop()
            for head, number in neighbours[tail]:
                if not visited[head]:
                    visited[head], tail_of[head], edge_of[head] = True, tail, number
                    stack.append(head)
    heads = np.flatnonzero(tail_of >= 0)
    return Forest(np.column_stack([tail_of[heads], heads]), weights[edge_of[heads]])


def _find_best_branching(
    source: PairWeightSource,
    priority: np.ndarray,
    resolution: float,
    constraints: EdgeConstraints,
    root: int | None,
    symmetric: bool,
    run: Run,
) -> Forest:
    """Fill the matrix of weights in the order of `priority`, so that the first of equals goes first, and branch."""
    n = source.n
    order = np.argsort(priority)  # position -> id
    keys = np.full((n, n), -np.inf)
    with run.catch_interrupt():
        for first in range(0, n, source.block):
            if run.record(score=nan, n_edges=0):
                break
            last = min(first + source.block, n)
            columns = np.arange(first if symmetric else 0, n)
            rows = np.rint(source.rows(order[first:last], order[columns]) / resolution)
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
    weights = np.array([source.rows(heads[i : i + 1], tail_of[heads[i : i + 1]])[0, 0] for i in range(len(heads))])
    weights[weights == -np.inf] = 0.0  # a required arc at a variable of one state changes no score
    return Forest(np.column_stack([tail_of[heads], heads]), weights)


def find_maximum_branching(weights: np.ndarray, required: np.ndarray | None = None) -> np.ndarray:
    """Return the parent of each variable, int64 (n,), -1 for a root, in the rooted forest of largest weight.

    ``weights[head, tail]`` is float64; -inf bars an arc. An arc that has no positive weight is used only where
    ``required[head]`` (int64, -1 for none) names it. Among equal arcs the smaller tail wins, and no arc over any arc.
    O(n²) time (Edmonds' algorithm in Tarjan's dense form, see the kernel), 12 n² bytes beside the weights.
    """
    n = len(weights)
    entering = np.full((n + 1, n + 1), -np.inf)
    entering[1:, 1:] = weights
    np.fill_diagonal(entering, -np.inf)
    entering[1:, _ROOT] = 0.0
    for head, tail in enumerate([] if required is None else required.tolist()):
        if tail >= 0:
            entering[head + 1] = -np.inf
            weight = weights[head, tail]
            entering[head + 1, tail + 1] = weight if np.isfinite(weight) else 0.0
    return _branching.maximum_branching(entering)[1:] - 1

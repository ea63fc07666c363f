"""Maximum-weight forests: undirected ones by Prim's algorithm, and the choice between them and branchings.

Weights are compared as whole multiples of one small number, so that rounding errors neither make nor break ties, and
a pair whose weight rounds to nothing has no edge. Equal weights are decided by an order of the variables that the
caller gives: the edge with the smaller first, then the smaller second end goes first. Under it the best forest is
unique, whatever the order in which an algorithm looks at the edges.
"""

from math import frexp
from typing import NamedTuple

import numpy as np

from pgmx._ext import _spanning
from pgmx.search.forest.branching import maximum_branching
from pgmx.search.knowledge.constraints import EdgeConstraints

__all__ = ["Forest", "check_forest_constraints", "spanning_forest"]

#: Bits between the scale of a source and the smallest weight that counts: some hundred rounding errors.
RESOLUTION_BITS = 46


class Forest(NamedTuple):
    """Rooted trees.

    Attributes
    ----------
    edges : ndarray of shape (m, 2), int64
        Arcs (tail, head), by head; no head occurs twice.
    weights : ndarray of shape (m,), float64
        Weights of the arcs.
    """

    edges: np.ndarray
    weights: np.ndarray


def spanning_forest(
    source,
    *,
    priority: np.ndarray,
    constraints: EdgeConstraints | None = None,
    root: int | None = None,
    symmetric: bool = True,
) -> Forest:
    r"""Find the rooted forest of largest weight.

    .. math:: \max_F \sum_{(i \to j) \in F} w(i, j)

    over the forests in which every variable has at most one parent. Arcs of no positive weight are left out unless they
    are required.

    Parameters
    ----------
    source : source of pair weights
        See :mod:`pgmx.search.forest.pair_weights`.
    priority : ndarray of shape (n,), int64
        A permutation that decides between equal weights; smaller goes first.
    constraints : EdgeConstraints, optional
        Required and allowed arcs.
    root : int, optional
        A variable without a parent.
    symmetric : bool, default=True
        Whether both directions of an arc weigh the same.

    Returns
    -------
    Forest
        The best forest. Where the constraints leave the directions open, each tree is rooted at `root`, or else at its
        variable of most neighbours (the first of these by `priority`).

    Raises
    ------
    ValueError
        If the required arcs are no rooted forest, or lead to `root`.

    Notes
    -----
    Where both directions of every arc are allowed and none is required this is Prim's algorithm with rows of weights on
    demand: n² / 2 weights, memory for a block of rows. Otherwise directions matter, and the best rooted forest is a
    maximum branching: n² weights (20 n² bytes with what the branching takes), O(n²) time after them.

    References
    ----------
    .. [1] Prim, R. C. (1957). Shortest connection networks and some generalizations. Bell System Technical Journal
       36, 1389-1401.
    .. [2] Edmonds, J. (1967). Optimum branchings. Journal of Research of the National Bureau of Standards 71B, 233-240.

    Examples
    --------
    >>> from pgmx.search.forest.pair_weights import StoredWeights
    >>> weights = np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    >>> spanning_forest(StoredWeights(weights, 1.0), priority=np.arange(3)).edges.tolist()
    [[0, 1], [0, 2]]
    """
    n = source.n
    constraints = EdgeConstraints(n) if constraints is None else constraints
    check_forest_constraints(constraints, range(n), root=root)
    resolution = 2.0 ** (frexp(source.scale)[1] - RESOLUTION_BITS)
    priority = np.ascontiguousarray(priority, dtype=np.int64)
    allowed = constraints.allowed
    if symmetric and not len(constraints.required) and (allowed is None or np.array_equal(allowed, allowed.T)):
        pairs, weights = _prim(source, priority, resolution, allowed)
        return _rooted(n, pairs, weights, priority, root)
    return _best_branching(source, priority, resolution, constraints, root, symmetric)


def check_forest_constraints(constraints: EdgeConstraints, names, *, root: int | None = None) -> None:
    """Refuse required arcs that no rooted forest holds.

    Parameters
    ----------
    constraints : EdgeConstraints
        Acyclic required arcs.
    names : sequence
        Names of the variables, for messages.
    root : int, optional
        A variable that is to have no parent.

    Raises
    ------
    ValueError
        If a variable has two required parents, or `root` has one.

    Notes
    -----
    Nothing else can go wrong: a cycle of arcs whose directions do not follow it has a variable with two parents.
    """
    parent_of: dict[int, int] = {}
    for tail, head in constraints.required.tolist():
        if head in parent_of:
            raise ValueError(
                f"{names[head]!r} has the required parents {names[parent_of[head]]!r} and {names[tail]!r}, but in a "
                "forest a variable has one parent at most: drop one of the required edges"
            )
        if head == root:
            raise ValueError(
                f"root={names[head]!r} has the required parent {names[tail]!r}: drop that edge or choose another root"
            )
        parent_of[head] = tail


def _prim(source, priority: np.ndarray, resolution: float, allowed: np.ndarray | None):
    """Return the edges (as they joined) and weights of the best undirected forest."""
    n = source.n
    joined = np.zeros(n, dtype=np.uint8)
    keys, best = np.zeros(n), np.zeros(n)
    nearest = np.full(n, -1, dtype=np.int64)
    pending: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    pairs, weights = [], []
    for _ in range(n):
        node = _spanning.next_to_join(joined, priority, keys, nearest)
        if nearest[node] >= 0:
            pairs.append((int(nearest[node]), node))
            weights.append(best[node])
        joined[node] = 1
        if node not in pending:
            _fetch(source, node, joined, keys, allowed, pending)
        others, row = pending.pop(node)
        mask = None if allowed is None else allowed[node]
        _spanning.relax(node, others, row, mask, joined, priority, resolution, keys, nearest, best)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(weights)


def _fetch(source, node: int, joined, keys, allowed, pending) -> None:
    """Get the row of `node`, and with it those of the variables likely to join next: a block costs little more."""
    outside = np.flatnonzero(joined == 0)
    block = np.array([node])
    if source.block > 1:
        waiting = outside[~np.isin(outside, list(pending))]
        extra = min(source.block - 1, len(waiting))
        if extra < len(waiting):
            waiting = waiting[np.argpartition(-keys[waiting], extra)[:extra]]
        block = np.concatenate((block, waiting))
    if allowed is not None:
        outside = outside[allowed[np.ix_(block, outside)].any(axis=0)]
    rows = source.rows(block, outside)
    for v, row in zip(block.tolist(), rows, strict=True):
        pending[v] = outside, row


def _rooted(n: int, pairs: np.ndarray, weights: np.ndarray, priority: np.ndarray, root: int | None) -> Forest:
    """Direct the edges of a forest away from the roots of its trees."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for number, (a, b) in enumerate(pairs.tolist()):
        neighbours[a].append((b, number))
        neighbours[b].append((a, number))
    degree = np.array([len(of_v) for of_v in neighbours])
    order = np.lexsort((priority, -degree)).tolist()
    tail_of = np.full(n, -1, dtype=np.int64)
    edge_of = np.full(n, -1, dtype=np.int64)
    seen = np.zeros(n, dtype=bool)
    for start in order if root is None else [root, *order]:
        if seen[start]:
            continue
        seen[start], stack = True, [start]
        while stack:
            tail = stack.pop()
            for head, number in neighbours[tail]:
                if not seen[head]:
                    seen[head], tail_of[head], edge_of[head] = True, tail, number
                    stack.append(head)
    heads = np.flatnonzero(tail_of >= 0)
    return Forest(np.column_stack([tail_of[heads], heads]), weights[edge_of[heads]])


def _best_branching(source, priority, resolution, constraints: EdgeConstraints, root, symmetric) -> Forest:
    """Fill the matrix of weights in the order of `priority`, so that the first of equals goes first, and branch."""
    n = source.n
    order = np.argsort(priority)  # position -> id
    keys = np.empty((n, n))
    for first in range(0, n, source.block):
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
    parents = maximum_branching(keys, required)
    tail_of = np.full(n, -1, dtype=np.int64)
    tail_of[order[parents >= 0]] = order[parents[parents >= 0]]
    heads = np.flatnonzero(tail_of >= 0)
    weights = np.array([source.rows(heads[i : i + 1], tail_of[heads[i : i + 1]])[0, 0] for i in range(len(heads))])
    weights[weights == -np.inf] = 0.0  # a required arc at a variable of one state changes no score
    return Forest(np.column_stack([tail_of[heads], heads]), weights)

"""What many graphs over the same variables have in common: how often edges occur, and the graph they agree on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = [
    "Marks",
    "PairCounts",
    "averaged_edges",
    "count_pairs",
    "extended",
    "marks_of",
    "significance_threshold",
]


class Marks(NamedTuple):
    """The edges of one graph, as ids.

    Attributes
    ----------
    directed : ndarray of shape (m, 2), int32
        Arcs (tail, head).
    undirected : ndarray of shape (k, 2), int32
        Edges without a direction, each once.
    """

    directed: np.ndarray
    undirected: np.ndarray


class PairCounts(NamedTuple):
    """How often each pair of variables was joined, and how.

    Attributes
    ----------
    n : int
        Number of variables.
    n_graphs : int
        Number of graphs.
    pairs : ndarray of shape (n_pairs, 2), int64
        The pairs (u, v), u < v, that some graph joins, sorted.
    counts : ndarray of shape (n_pairs, 3), int64
        In how many graphs the edge is u → v, v → u, and undirected.
    """

    n: int
    n_graphs: int
    pairs: np.ndarray
    counts: np.ndarray

    @property
    def joined(self) -> np.ndarray:
        """In how many graphs each pair is joined, shape (n_pairs,)."""
        return self.counts.sum(axis=1)

    @property
    def strength(self) -> np.ndarray:
        """Share of the graphs that join each pair, shape (n_pairs,)."""
        return self.joined / self.n_graphs

    @property
    def direction(self) -> np.ndarray:
        """Of the graphs that join u and v the share with u → v, an undirected edge counting half; (n_pairs,)."""
        return (self.counts[:, 0] + self.counts[:, 2] / 2) / self.joined


def count_pairs(n: int, graphs: Sequence[Marks]) -> PairCounts:
    """Count in how many graphs each pair is joined.

    Parameters
    ----------
    n : int
        Number of variables.
    graphs : sequence of Marks
        The graphs; a pair occurs once in each at most.

    Returns
    -------
    PairCounts
        The counts.

    Examples
    --------
    >>> arcs, none = np.array([[2, 0]]), np.empty((0, 2), dtype=int)
    >>> found = count_pairs(3, [Marks(arcs, none), Marks(none, arcs)])
    >>> found.pairs.tolist(), found.counts.tolist(), found.direction.tolist()
    ([[0, 2]], [[0, 1, 1]], [0.25])
    """
    edges = [part for graph in graphs for part in graph]
    kinds = np.repeat(np.tile([0, 2], len(graphs)), [len(part) for part in edges])
    tails, heads = np.concatenate([np.empty((0, 2), dtype=np.int64), *edges]).astype(np.int64).T
    kinds = kinds + ((kinds == 0) & (tails > heads))
    keys, places = np.unique(np.minimum(tails, heads) * n + np.maximum(tails, heads), return_inverse=True)
    counts = np.bincount(3 * places + kinds, minlength=3 * len(keys)).reshape(-1, 3)
    return PairCounts(n, len(graphs), np.column_stack([keys // n, keys % n]), counts)


def significance_threshold(found: PairCounts) -> float:
    r"""Estimate from which strength on an edge is significant.

    In an ideal sample of graphs each strength is 0 or 1. With F the empirical distribution function of the strengths of
    all n (n - 1) / 2 pairs, the share t of zeros that comes closest in the L1 norm,

    .. math:: \hat t = \arg\min_t \int_0^1 |F(x) - t| \, dx,

    is a median of F, weighted by the lengths of its steps, and the strengths above the quantile
    :math:`F^{-1}(\hat t)` are significant.

    Parameters
    ----------
    found : PairCounts
        The counts.

    Returns
    -------
    float
        The smallest significant strength, so that an edge is significant where its strength is at least that; 1 where
        no pair was ever joined.

    Notes
    -----
    Where several t are equally close, the largest of them is taken, which gives the sparser graph.

    References
    ----------
    .. [1] Scutari, M. and Nagarajan, R. (2013). Identifying significant edges in graphical models of molecular
       networks. Artificial Intelligence in Medicine 57, 207-217, equations 8-11.

    Examples
    --------
    >>> none = np.empty((0, 2), dtype=int)
    >>> graphs = [Marks(np.array(arcs), none) for arcs in ([[0, 1], [1, 2]], [[0, 1]], [[0, 1], [0, 2]], [[0, 1]])]
    >>> significance_threshold(count_pairs(3, graphs))
    1.0
    """
    n_pairs = found.n * (found.n - 1) // 2
    occurring, times = np.unique(found.joined, return_counts=True)
    # F steps where strengths occur, and begins at 0: there it is the share of the pairs that were never joined
    starts = np.concatenate([[0], occurring])
    below = np.cumsum(np.concatenate([[n_pairs - len(found.pairs)], times]))
    lengths = np.diff(np.append(starts, found.n_graphs))
    levels, of_level = np.unique(below, return_inverse=True)
    weights = np.bincount(of_level, weights=lengths, minlength=len(levels))
    median = np.searchsorted(np.cumsum(weights), weights.sum() / 2, side="right")
    level = levels[min(median, len(levels) - 1)]
    quantile = starts[np.argmax(below >= level)] if level > 0 else 0
    significant = occurring[occurring > quantile]
    return float(significant[0] / found.n_graphs) if len(significant) else 1.0


def averaged_edges(found: PairCounts, threshold: float) -> Marks:
    """Return the edges of the averaged graph.

    A pair of at least the strength `threshold` is joined, in the direction of more than half; undirected where neither
    direction has it. Arcs are added in falling order of the number of graphs that hold them, an undirected edge
    counting half (then by position), but for those that would close a cycle.

    Parameters
    ----------
    found : PairCounts
        The counts.
    threshold : float
        Least strength, between 0 and 1.

    Returns
    -------
    Marks
        Sorted edges; the arcs have no cycle.

    Examples
    --------
    >>> none = np.empty((0, 2), dtype=int)
    >>> arcs = [[0, 1], [1, 2]], [[0, 1], [2, 0]], [[1, 2], [2, 0]], [[0, 1]]
    >>> graphs = [Marks(np.array(given), none) for given in arcs]
    >>> averaged_edges(count_pairs(3, graphs), 0.5).directed.tolist()
    [[0, 1], [1, 2]]
    """
    strong = found.joined >= threshold * found.n_graphs * (1 - 1e-12)  # the product may lie a rounding above a count
    pairs, counts = found.pairs[strong], found.counts[strong]
    ahead = counts[:, 0] - counts[:, 1]
    arcs = np.where(ahead[:, None] > 0, pairs, pairs[:, ::-1])[ahead != 0]
    held = (2 * counts[:, :2].max(axis=1) + counts[:, 2])[ahead != 0]
    order = np.lexsort((arcs[:, 1], arcs[:, 0], -held))
    arcs = _without_cycles(found.n, arcs[order])
    return Marks(arcs[np.lexsort(arcs.T[::-1])], pairs[ahead == 0])


def _without_cycles(n: int, arcs: np.ndarray) -> np.ndarray:
    """Take the arcs in their order, but for those that close a cycle."""
    graph = coo_array((np.ones(len(arcs), dtype=np.int8), (arcs[:, 0], arcs[:, 1])), shape=(n, n))
    _, component = connected_components(graph, directed=True, connection="strong")
    inside = component[arcs[:, 0]] == component[arcs[:, 1]]  # all other arcs are on no cycle
    heads: dict[int, list[int]] = {}
    keep = np.ones(len(arcs), dtype=bool)
    for i in np.flatnonzero(inside).tolist():
        tail, head = arcs[i].tolist()
        if _leads(heads, head, tail):
            keep[i] = False
        else:
            heads.setdefault(tail, []).append(head)
    return arcs[keep]


def _leads(heads: dict[int, list[int]], source: int, target: int) -> bool:
    seen, open_ends = {source}, [source]
    while open_ends:
        for head in heads.get(open_ends.pop(), ()):
            if head == target:
                return True
            if head not in seen:
                seen.add(head)
                open_ends.append(head)
    return False


def extended(n: int, marks: Marks) -> np.ndarray:
    """Direct the undirected edges without new v-structures and cycles, as far as that is possible.

    A variable without outgoing arcs whose undirected neighbours are adjacent to all its other neighbours becomes a
    sink: its undirected edges point at it, and it is taken away; then the next. Where there is none, no extension is
    without a new v-structure, and the last variable without outgoing arcs is taken.

    Parameters
    ----------
    n : int
        Number of variables.
    marks : Marks
        Edges whose arcs have no cycle.

    Returns
    -------
    ndarray of shape (n_edges, 2), int64
        The arcs of a DAG, sorted; among possible sinks the last variable comes first.

    References
    ----------
    .. [1] Dor, D. and Tarsi, M. (1992). A simple algorithm to construct a consistent extension of a partially oriented
       graph. Technical report R-185, University of California, Los Angeles.

    Examples
    --------
    >>> none = np.empty((0, 2), dtype=int)
    >>> extended(3, Marks(none, np.array([[0, 2], [1, 2]]))).tolist()
    [[0, 2], [2, 1]]
    """
    heads: list[set[int]] = [set() for _ in range(n)]
    loose: list[set[int]] = [set() for _ in range(n)]
    adjacent: list[set[int]] = [set() for _ in range(n)]
    for neighbours, edges in ((heads, marks.directed), (loose, marks.undirected)):
        for u, v in edges.tolist():
            neighbours[u].add(v)
            adjacent[u].add(v)
            adjacent[v].add(u)
            if neighbours is loose:
                loose[v].add(u)
    arcs = marks.directed.tolist()
    left, to_see = set(range(n)), [-v for v in range(n)]
    heapify(to_see)
    while left:
        if to_see:
            v = -heappop(to_see)
            if v not in left or heads[v] or any(adjacent[v] - adjacent[u] != {u} for u in loose[v]):
                continue
        else:
            v = max(u for u in left if not heads[u])
        left.discard(v)
        arcs += [[u, v] for u in loose[v]]
        for u in adjacent[v]:
            for neighbours in (heads, loose, adjacent):
                neighbours[u].discard(v)
            heappush(to_see, -u)
    found = np.array(arcs, dtype=np.int64).reshape(-1, 2)
    return found[np.lexsort(found.T[::-1])]


def marks_of(edges: Iterable[tuple[int, int]], undirected: Iterable[tuple[int, int]] = ()) -> Marks:
    """Return edges as arrays."""
    arrays = [np.array(sorted(part), dtype=np.int32).reshape(-1, 2) for part in (edges, undirected)]
    return Marks(*arrays)

"""Edge frequencies in many graphs over the same variables, and their averaged graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


class Marks(NamedTuple):
    """The edges of one graph, as ids: arcs (tail, head) and undirected edges, int32 of shapes (m, 2) and (k, 2)."""

    directed: np.ndarray
    undirected: np.ndarray


class PairCounts(NamedTuple):
    """How often each pair of `n` variables was joined in `n_graphs` graphs, and how.

    The pairs (u, v), u < v, that at least one graph joins are sorted, shape (n_pairs, 2). The counts, shape (n_pairs,
    3), are the numbers of graphs with u → v, with v → u, and with an undirected edge.
    """

    n: int
    n_graphs: int
    pairs: np.ndarray
    counts: np.ndarray

    @property
    def n_joining(self) -> np.ndarray:
        """Number of graphs that join each pair, shape (n_pairs,)."""
        return self.counts.sum(axis=1)

    @property
    def strength(self) -> np.ndarray:
        """Share of the graphs that join each pair, shape (n_pairs,)."""
        return self.n_joining / self.n_graphs

    @property
    def direction(self) -> np.ndarray:
        """Share of u → v among the graphs that join u and v, shape (n_pairs,); an undirected edge counts half."""
        return (self.counts[:, 0] + self.counts[:, 2] / 2) / self.n_joining


def count_pairs(n: int, graphs: Sequence[Marks]) -> PairCounts:
    """Count the graphs over `n` variables that join each pair; a graph joins a pair at most once."""
    edges = [part for graph in graphs for part in graph]
    kinds = np.repeat(np.tile([0, 2], len(graphs)), [len(part) for part in edges])
    tails, heads = np.concatenate([np.empty((0, 2), dtype=np.int64), *edges]).astype(np.int64).T
    # 0 and 1: an arc from the smaller or from the larger id; 2: an undirected edge
    kinds = kinds + ((kinds == 0) & (tails > heads))
    keys, places = np.unique(np.minimum(tails, heads) * n + np.maximum(tails, heads), return_inverse=True)
    counts = np.bincount(3 * places + kinds, minlength=3 * len(keys)).reshape(-1, 3)
    return PairCounts(n, len(graphs), np.column_stack([keys // n, keys % n]), counts)


def estimate_threshold(counts: PairCounts) -> float:
    r"""Estimate the strength above which an edge is significant; 1 if no graph joins any pair.

    In an ideal sample each strength is 0 or 1. With F the distribution function of the strengths of all pairs,
    :math:`\hat t = \arg\min_t \int_0^1 |F(x) - t| \, dx` is a median of F weighted by the lengths of its steps (the
    largest of several). Strengths above :math:`F^{-1}(\hat t)` are significant (Scutari and Nagarajan 2013, eq. 8-11).
    """
    n_pairs = counts.n * (counts.n - 1) // 2
    occurring, times = np.unique(counts.n_joining, return_counts=True)
    # F has a step at each observed strength. At 0 it is the share of the pairs that no graph joins.
    starts = np.concatenate([[0], occurring])
    below = np.cumsum(np.concatenate([[n_pairs - len(counts.pairs)], times]))
    lengths = np.diff(np.append(starts, counts.n_graphs))
    levels, of_level = np.unique(below, return_inverse=True)
    weights = np.bincount(of_level, weights=lengths, minlength=len(levels))
    median = np.searchsorted(np.cumsum(weights), weights.sum() / 2, side="right")
    level = levels[min(median, len(levels) - 1)]
    quantile = starts[np.argmax(below >= level)] if level > 0 else 0
    significant = occurring[occurring > quantile]
    return float(significant[0] / counts.n_graphs) if len(significant) else 1.0


def average_edges(counts: PairCounts, threshold: float) -> Marks:
    """Return the sorted edges of the averaged graph, whose arcs form no cycle.

    A pair is joined if its strength is at least `threshold`. The edge has the direction of more than half of the
    graphs, and is undirected if there is no such direction. Arcs are added in descending order of the number of graphs
    with the arc (an undirected edge counts half), then by position. An arc that would close a cycle is skipped.
    """
    # The product may lie a rounding error above a count.
    strong = counts.n_joining >= threshold * counts.n_graphs * (1 - 1e-12)
    pairs, by_kind = counts.pairs[strong], counts.counts[strong]
    excess = by_kind[:, 0] - by_kind[:, 1]
    arcs = np.where(excess[:, None] > 0, pairs, pairs[:, ::-1])[excess != 0]
    # twice the number of graphs, so that the half of an undirected edge is an integer
    frequency = (2 * by_kind[:, :2].max(axis=1) + by_kind[:, 2])[excess != 0]
    order = np.lexsort((arcs[:, 1], arcs[:, 0], -frequency))
    arcs = _skip_cycles(counts.n, arcs[order])
    return Marks(arcs[np.lexsort(arcs.T[::-1])], pairs[excess == 0])


def _skip_cycles(n: int, arcs: np.ndarray) -> np.ndarray:
    """Return the arcs in their order without the arcs that close a cycle."""
    graph = coo_array((np.ones(len(arcs), dtype=np.int8), (arcs[:, 0], arcs[:, 1])), shape=(n, n))
    _, component = connected_components(graph, directed=True, connection="strong")
    inside = component[arcs[:, 0]] == component[arcs[:, 1]]  # all other arcs are on no cycle
    heads: dict[int, list[int]] = {}
    keep = np.ones(len(arcs), dtype=bool)
    for i in np.flatnonzero(inside).tolist():
        tail, head = arcs[i].tolist()
        if _has_path(heads, head, tail):
            keep[i] = False
        else:
            heads.setdefault(tail, []).append(head)
    return arcs[keep]


def _has_path(heads: dict[int, list[int]], source: int, target: int) -> bool:
    seen, open_ends = {source}, [source]
    while open_ends:
        for head in heads.get(open_ends.pop(), ()):
            if head == target:
                return True
            if head not in seen:
                seen.add(head)
                open_ends.append(head)
    return False


def make_marks(edges: Iterable[tuple[int, int]], undirected: Iterable[tuple[int, int]] = ()) -> Marks:
    """Return edges as arrays."""
    arrays = [np.array(sorted(part), dtype=np.int32).reshape(-1, 2) for part in (edges, undirected)]
    return Marks(*arrays)

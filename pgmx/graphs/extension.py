"""Consistent extensions: a DAG with the edges and, if possible, the colliders of a partially directed graph.

Reference: Dor and Tarsi (1992), A simple algorithm to construct a consistent extension of a partially oriented graph,
UCLA technical report R-185.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from pgmx.graphs.consensus import Marks


def extend_to_dag(n: int, marks: Marks) -> np.ndarray:
    """Direct the undirected edges without new colliders and cycles, as far as possible; return the sorted arcs."""
    return find_extension(n, marks)[0]


def find_extension(n: int, marks: Marks) -> tuple[np.ndarray, int]:
    """Return the sorted arcs of a DAG with all directed edges, and the number of colliders that it adds.

    A variable becomes a sink if it has no outgoing arcs and its undirected neighbours are adjacent to all its other
    neighbours. Its undirected edges then point to it, and it is removed. This is repeated, the last variable first. If
    there is no such variable, the one with the fewest new colliders is used.
    """
    heads: list[set[int]] = [set() for _ in range(n)]
    undirected: list[set[int]] = [set() for _ in range(n)]
    adjacent: list[set[int]] = [set() for _ in range(n)]
    for neighbours, edges in ((heads, marks.directed), (undirected, marks.undirected)):
        for u, v in edges.tolist():
            neighbours[u].add(v)
            adjacent[u].add(v)
            adjacent[v].add(u)
            if neighbours is undirected:
                undirected[v].add(u)

    def count_new(v: int) -> int:
        """Return the number of colliders that arise if the undirected edges of v point to it."""
        return len({frozenset((u, w)) for u in undirected[v] for w in adjacent[v] - adjacent[u] - {u}})

    arcs, n_new = marks.directed.tolist(), 0
    # negative ids, since the heap gives the smallest first and the last variable is wanted
    remaining, queue = set(range(n)), [-v for v in range(n)]
    heapify(queue)
    while remaining:
        if queue:
            v = -heappop(queue)
            if v not in remaining or heads[v] or any(adjacent[v] - adjacent[u] != {u} for u in undirected[v]):
                continue
        else:
            v = min((u for u in remaining if not heads[u]), key=lambda u: (count_new(u), -u))
            n_new += count_new(v)
        remaining.discard(v)
        arcs += [[u, v] for u in undirected[v]]
        for u in adjacent[v]:
            for neighbours in (heads, undirected, adjacent):
                neighbours[u].discard(v)
            # a removed neighbour may make it a sink; entries of unsuitable variables are skipped
            heappush(queue, -u)
    ordered = np.array(arcs, dtype=np.int64).reshape(-1, 2)
    return ordered[np.lexsort(ordered.T[::-1])], n_new

"""Initial orders: the order of a graph, and random orders, in which required arcs lead forward."""

from heapq import heapify, heappop, heappush

import numpy as np


def sort_topologically(n: int, edges: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the order of the variables, int64 (n,), in which arcs lead forward and the smallest `rank` is first."""
    n_parents = np.bincount(edges[:, 1], minlength=n).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    for tail, head in edges.tolist():
        children[tail].append(head)
    ready = [(int(rank[v]), v) for v in range(n) if n_parents[v] == 0]
    heapify(ready)
    order = []
    while ready:
        _, v = heappop(ready)
        order.append(v)
        for child in children[v]:
            n_parents[child] -= 1
            if n_parents[child] == 0:
                heappush(ready, (int(rank[child]), child))
    return np.array(order, dtype=np.int64)


def draw_order(n: int, required: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the random order with index `number`, in which the arcs in `required` lead forward."""
    return sort_topologically(n, required, np.random.default_rng([seed, 3, number]).permutation(n))

"""Edges of random graphs on variables 0, 1, ..., and the generator of all draws of data sets."""

import numpy as np

from pgmx.checks import check_seed


def make_generator(random_state: int | None) -> np.random.Generator:
    """Return a generator with a non-negative seed, or with fresh entropy."""
    return np.random.default_rng(check_seed(random_state, "random_state"))


def list_chain_edges(n: int) -> list[tuple[int, int]]:
    """Join each variable to the next."""
    return [(v, v + 1) for v in range(n - 1)]


def draw_attachment_edges(n: int, edges_per_node: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Join each variable to `edges_per_node` previous variables, drawn proportionally to their degrees."""
    edges = [(0, v) for v in range(1, edges_per_node + 1)]
    ends = [v for edge in edges for v in edge]  # each variable appears once per neighbour
    for v in range(edges_per_node + 1, n):
        neighbours: dict[int, None] = {}  # the order of a set would depend on hashes
        while len(neighbours) < edges_per_node:
            neighbours[ends[int(rng.integers(len(ends)))]] = None
        for u in neighbours:
            edges.append((u, v))
            ends += (u, v)
    return edges


def draw_random_edges(n: int, probability: float, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Join each pair with the same probability, in O(n) memory for random values."""
    edges = []
    for v in range(n - 1):
        edges += [(v, v + 1 + u) for u in np.flatnonzero(rng.random(n - 1 - v) < probability).tolist()]
    return edges

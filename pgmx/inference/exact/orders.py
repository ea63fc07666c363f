"""The best of many elimination orders, and a bound on what any order reaches."""

from collections.abc import Iterable, Sequence

import numpy as np

from pgmx._ext import _orders
from pgmx.inference.exact.elimination import EliminationPlan, FillGraph, make_plan

#: Most variables whose orders are compared; those of larger graphs go by min-fill (a row of bits each: 32 MB).
MOST_VARIABLES = 2**14
#: Words that a search reads at most: some 0.2 seconds.
BUDGET = 30_000_000


def search_order(
    cardinalities: Sequence[int] | np.ndarray, scopes: Iterable[Sequence[int]], *, by_largest: bool = False
) -> EliminationPlan:
    """Return the cheapest of many orders: fewest cells of all tables, or `by_largest` the smallest largest table.

    Vertices whose neighbours form a clique go first, which no order improves on. The search reads no more words than
    the tables have cells, so that it never takes longer than what it saves.
    """
    graph = FillGraph([int(size) for size in cardinalities], scopes)
    order, cliques = [], []
    for v, neighbours in graph.eliminate(most=0):
        order.append(v)
        cliques.append(neighbours)
    core = sorted(graph.remaining)
    if len(core) > MOST_VARIABLES:
        for v, neighbours in graph.eliminate():
            order.append(v)
            cliques.append(neighbours)
    elif core:
        best, pointer = np.empty(len(core), dtype=np.int64), np.empty(len(core) + 1, dtype=np.int64)
        logs = np.log([graph.cards[v] for v in core])
        around, _ = _orders.search_orders(_pack(graph.near, core), logs, BUDGET, 0, by_largest, best, pointer)
        names = np.array(core)
        order += names[best].tolist()
        cliques += [names[part].tolist() for part in np.split(around, pointer[1:-1])]
    return make_plan(graph.cards, order, cliques)


def bound_width(cardinalities: Sequence[int] | np.ndarray, scopes: Iterable[Sequence[int]]) -> int:
    """Return a width that every order reaches at least: minor-min-width of what simplicial vertices leave."""
    graph = FillGraph([int(size) for size in cardinalities], scopes)
    bound = max((len(neighbours) for _, neighbours in graph.eliminate(most=0)), default=0)
    core = sorted(graph.remaining)
    if not core or len(core) > MOST_VARIABLES:
        return bound
    return max(bound, _orders.bound_width(_pack(graph.near, core)))


def _pack(near: Sequence[set[int]], core: Sequence[int]) -> np.ndarray:
    """Return the neighbours of some vertices among them as bits: uint64 (n, words)."""
    place = {v: i for i, v in enumerate(core)}
    bits = np.zeros((len(core), -(-len(core) // 64) * 8), dtype=np.uint8)
    for i, v in enumerate(core):
        others = np.array([place[u] for u in near[v]], dtype=np.int64)
        np.bitwise_or.at(bits[i], others >> 3, (1 << (others & 7)).astype(np.uint8))
    return bits.view("<u8").astype(np.uint64, copy=False)

"""Elimination orders: the junction tree's laws, min-fill against a plain implementation, known widths."""

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.inference import TreewidthError, min_fill_order
from pgmx.inference.exact import elimination_order as module


@st.composite
def graphs(draw, largest=9):
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=largest))
    n = len(cards)
    scopes = draw(st.lists(st.sets(st.integers(0, n - 1), min_size=1, max_size=4).map(sorted), max_size=14))
    return cards, scopes


def adjacency(n, scopes):
    near = [set() for _ in range(n)]
    for scope in scopes:
        for u, v in itertools.permutations(scope, 2):
            near[u].add(v)
    return near


def plain_min_fill(cards, scopes):
    """Count everything again at every step."""
    near = adjacency(len(cards), scopes)
    left, order, cliques = set(range(len(cards))), [], []
    while left:

        def cost(v):
            missing = sum(b not in near[a] for a, b in itertools.combinations(near[v], 2))
            return missing, cards[v] * prod(cards[u] for u in near[v]), v

        v = min(left, key=cost)
        order.append(v)
        cliques.append({v, *near[v]})
        for a, b in itertools.permutations(near[v], 2):
            near[a].add(b)
        for u in near[v]:
            near[u].discard(v)
        left.discard(v)
    maximal = [c for c in cliques if not any(c < other for other in cliques)]
    return order, sorted(map(sorted, maximal))


@given(graphs())
def test_order_and_cliques(graph):
    cards, scopes = graph
    plan = min_fill_order(cards, scopes)
    order, cliques = plain_min_fill(cards, scopes)
    assert plan.order.tolist() == order
    assert sorted(map(sorted, plan.cliques)) == cliques
    assert plan.width == max(map(len, cliques)) - 1
    sizes = [prod(cards[v] for v in clique) for clique in cliques]
    assert plan.cells == sum(sizes)
    assert plan.largest == max(sizes)


@given(graphs())
def test_junction_tree(graph):
    cards, scopes = graph
    plan = min_fill_order(cards, scopes)
    rank = {v: place for place, v in enumerate(plan.order.tolist())}
    for clique, (members, parent) in enumerate(zip(plan.cliques, plan.parents.tolist(), strict=True)):
        assert list(members) == sorted(members, key=rank.__getitem__, reverse=True)
        assert parent < clique
        shared = set(members) & set(plan.cliques[parent]) if parent >= 0 else set()
        assert set(plan.sepsets[clique]) == shared
        assert members[: len(shared)] == plan.sepsets[clique]
        assert (parent >= 0) == bool(shared)
    # Running intersection: each variable's cliques hang together, so that all but the topmost share it with the parent.
    for v in range(len(cards)):
        holders = [clique for clique, members in enumerate(plan.cliques) if v in members]
        tops = [clique for clique in holders if v not in plan.sepsets[clique]]
        assert tops == [plan.homes[v]]
    for scope in scopes:
        home = plan.home(scope)
        assert home is not None
        assert set(scope) <= set(plan.cliques[home])
    together = {pair for members in plan.cliques for pair in itertools.permutations(members, 2)}
    for pair in itertools.permutations(range(len(cards)), 2):
        assert (plan.home(pair) is not None) == (pair in together)


def grid(k):
    return [(k * i + j, k * i + j + 1) for i in range(k) for j in range(k - 1)] + [
        (k * i + j, k * i + j + k) for i in range(k - 1) for j in range(k)
    ]


@pytest.mark.parametrize(
    ("n", "scopes", "width"),
    [
        (1, [], 0),
        (4, [], 0),
        (2500, [(i, i + 1) for i in range(2499)], 1),
        (50, [(i, (i + 1) % 50) for i in range(50)], 2),
        (7, list(itertools.combinations(range(7), 2)), 6),
        (7, [tuple(range(7))], 6),
        (4, grid(2), 2),
        (9, grid(3), 3),
    ],
)
def test_known_widths(n, scopes, width):
    assert min_fill_order([2] * n, scopes).width == width


def test_a_wide_grid_is_planned_without_its_tables():
    plan = min_fill_order([5] * 400, grid(20))
    assert 20 <= plan.width <= 32
    assert plan.bytes > 8 * 5**21


def test_limit():
    cards = [2] * 30
    with pytest.raises(TreewidthError, match=r"at least 8\.59 GB \(width at least 29\).*1\.07 GB"):
        min_fill_order(cards, [range(30)], max_bytes=2**30)
    assert min_fill_order(cards, [range(30)], max_bytes=2**33).bytes == 8 * (3 * 2**30 + 1)
    with pytest.raises(TreewidthError, match=r"at least 10\^\d+ bytes"):
        min_fill_order([9] * 500, [range(500)], max_bytes=1000)


def test_dense_graphs_are_counted_alike(rng, monkeypatch):
    scopes = [pair for pair in itertools.combinations(range(40), 2) if rng.random() < 0.4]
    sparse = min_fill_order([2] * 40, scopes)
    monkeypatch.setattr(module, "DENSE", 0)
    assert min_fill_order([2] * 40, scopes).order.tolist() == sparse.order.tolist()


def test_arrays_are_read_only():
    plan = min_fill_order([2, 2], [(0, 1)])
    for array in (plan.order, plan.parents, plan.homes, plan.rank):
        assert array.dtype == np.int64
        assert not array.flags.writeable

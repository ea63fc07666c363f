"""The best of many elimination orders: known widths, valid trees, a bound that holds, and one answer per graph."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx.inference import min_fill_order
from pgmx.inference.exact import elimination_order as module
from pgmx.inference.exact.elimination_order import bound_width, search_order


def list_edges(graph):
    return list(nx.convert_node_labels_to_integers(graph).edges)


@pytest.mark.parametrize("side", [2, 5, 8, 10, 13, 16, 20])
def test_the_width_of_a_grid_is_its_side(side):
    edges = list_edges(nx.grid_2d_graph(side, side))
    assert search_order([2] * side**2, edges, by_largest=True).width <= side


@pytest.mark.parametrize("name", ["grid", "regular", "random"])
def test_trees_are_no_larger_than_those_of_min_fill(name):
    graph = {
        "grid": nx.grid_2d_graph(14, 14),
        "regular": nx.random_regular_graph(3, 80, seed=0),
        "random": nx.gnm_random_graph(60, 130, seed=0),
    }[name]
    n, edges = len(graph), list_edges(graph)
    # orders are compared by all tables on the way, those inside others too
    assert search_order([2] * n, edges).cells <= 1.1 * min_fill_order([2] * n, edges).cells


@st.composite
def graphs(draw):
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=7))
    n = len(cards)
    scopes = draw(st.lists(st.sets(st.integers(0, n - 1), min_size=1, max_size=3).map(sorted), max_size=12))
    return cards, scopes


def width_of(order, n, scopes):
    """Eliminate by sets."""
    near = [set() for _ in range(n)]
    for scope in scopes:
        for a, b in itertools.permutations(scope, 2):
            near[a].add(b)
    width = 0
    for v in order:
        width = max(width, len(near[v]))
        for a, b in itertools.permutations(near[v], 2):
            near[a].add(b)
        for u in near[v]:
            near[u].discard(v)
    return width


@given(graphs(), st.booleans())
@examples(40)
def test_orders_are_valid_and_the_bound_holds(graph, by_largest):
    cards, scopes = graph
    n = len(cards)
    plan = search_order(cards, scopes, by_largest=by_largest)
    assert sorted(plan.order.tolist()) == list(range(n))
    assert plan.width == width_of(plan.order.tolist(), n, scopes)
    treewidth = min(width_of(order, n, scopes) for order in itertools.permutations(range(n)))
    assert bound_width(cards, scopes) <= treewidth <= plan.width
    assert all(any(set(scope) <= set(clique) for clique in plan.cliques) for scope in scopes)


def test_known_bounds():
    complete = list(itertools.combinations(range(9), 2))
    assert bound_width([2] * 9, complete) == search_order([2] * 9, complete).width == 8
    assert bound_width([2] * 70, list_edges(nx.cycle_graph(70))) == 2
    assert bound_width([3] * 3, []) == 0


def test_one_graph_has_one_order():
    edges = list_edges(nx.random_regular_graph(3, 90, seed=1))
    first, second = (search_order([2] * 90, edges).order.tolist() for _ in range(2))
    assert first == second


def test_large_graphs_go_by_min_fill(monkeypatch):
    monkeypatch.setattr(module, "MOST_VARIABLES", 10)
    edges = list_edges(nx.grid_2d_graph(6, 6))
    assert search_order([2] * 36, edges).order.tolist() == min_fill_order([2] * 36, edges).order.tolist()
    assert bound_width([2] * 36, edges) == 0


def test_states_count(rng):
    """A cycle is cut at its variable of fewest states: the tables without it are smaller."""
    cards = [50, 2, 50, 50, 50, 50]
    edges = [(i, (i + 1) % 6) for i in range(6)]
    plan = search_order(cards, edges, by_largest=True)
    assert plan.largest == 50 * 50 * 2
    assert np.all(plan.order >= 0)

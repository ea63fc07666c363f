from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx.datasets import load_network
from pgmx.plotting.graphs.layered_layout import (
    HEIGHT,
    NODE_GAP,
    _place_row,
    assign_layers,
    compute_layout,
    count_crossings,
    find_components,
    order_downwards,
    order_layers,
)


@st.composite
def mixed_graphs(draw):
    """(n, directed, undirected): any pairs of distinct vertices, so cycles are possible."""
    n = draw(st.integers(1, 14))
    pairs = list(combinations(range(n), 2))
    kinds = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=len(pairs), max_size=len(pairs)))
    directed = [(u, v) if k == 1 else (v, u) for (u, v), k in zip(pairs, kinds, strict=True) if k in (1, 2)]
    return n, directed, [pair for pair, k in zip(pairs, kinds, strict=True) if k == 3]


def boxes_apart(centres, widths, gap=0.0):
    for u, v in combinations(range(len(widths)), 2):
        dx, dy = np.abs(centres[u] - centres[v])
        if dy < HEIGHT - 1e-6 and dx < (widths[u] + widths[v]) / 2 + gap - 1e-6:
            return False
    return True


@pytest.mark.slow
@examples(60)
@given(mixed_graphs(), st.data())
def test_boxes_never_overlap_and_routes_lead_from_end_to_end(graph, data):
    n, directed, undirected = graph
    widths = data.draw(st.lists(st.floats(5, 150), min_size=n, max_size=n))
    centres, bends = compute_layout(widths, directed, undirected)
    assert np.isfinite(centres).all()
    assert boxes_apart(centres, widths, gap=NODE_GAP)
    assert (centres[:, 1] >= HEIGHT / 2 - 1e-6).all()
    assert (centres[:, 0] - np.array(widths) / 2 >= -1e-6).all()
    assert set(bends) <= set(directed) | set(undirected)
    for (u, v), route in bends.items():
        y = [centres[u, 1], *route[:, 1], centres[v, 1]]
        assert y in (sorted(y), sorted(y, reverse=True))


@examples(60)
@given(mixed_graphs())
def test_arrows_of_a_dag_point_down_and_isolated_vertices_lie_below(graph):
    n, directed, _ = graph
    dag = [(min(edge), max(edge)) for edge in directed]
    centres, _ = compute_layout([30.0] * n, dag)
    assert all(centres[u, 1] > centres[v, 1] for u, v in dag)
    touched = {v for edge in dag for v in edge}
    alone = [v for v in range(n) if v not in touched]
    if touched and alone:
        assert centres[alone, 1].max() < min(centres[v, 1] for v in touched) - HEIGHT


def test_layers_have_least_total_length():
    # a -> b -> c -> d and e -> d: the source e belongs right above d, not at the top.
    layer = assign_layers([0, 1, 2, 3, 4], [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert layer == {0: 0, 1: 1, 2: 2, 3: 3, 4: 2}


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_total_length_equals_that_of_network_flow_duality(name):
    model = load_network(name)
    edges = list(model.edges())
    layer = assign_layers(list(nx.topological_sort(model)), edges)
    assert all(layer[v] > layer[u] for u, v in edges)
    # The dual of the layering programme: send flow along the edges, each unit along an edge counts one.
    flow = nx.DiGraph()
    for node in model.nodes():
        flow.add_node(node, demand=model.in_degree(node) - model.out_degree(node))
    for u, v in edges:
        flow.add_edge(u, v, weight=-1)
    assert sum(layer[v] - layer[u] for u, v in edges) == -nx.network_simplex(flow)[0]


def test_undirected_trees_grow_from_one_root():
    order = order_downwards([0, 1, 2, 3, 4], [], [(0, 3), (3, 1), (1, 4), (4, 2)])
    assert order == [0, 3, 1, 4, 2]


def test_components_are_ordered_by_their_smallest_vertex():
    assert find_components(6, [(5, 1), (4, 2), (1, 3)]) == [[0], [1, 3, 5], [2, 4]]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25))
def test_crossings_equal_the_count_over_all_pairs(ends):
    links = [(("up", u), ("low", v)) for u, v in ends]
    position = {point: point[1] for link in links for point in link}
    slow = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(ends, 2))
    assert count_crossings(links, position) == slow


def test_crossings_that_can_be_avoided_are_avoided():
    layers = [[0, 1, 2, 3], [4, 5, 6, 7]]
    links = [(0, 7), (1, 6), (2, 5), (3, 4)]
    order_layers(layers, links)
    position = {v: at for row in layers for at, v in enumerate(row)}
    assert count_crossings(links, position) == 0
    assert sorted(layers[0]) == [0, 1, 2, 3]


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 9), st.floats(1, 50)), min_size=1, max_size=8))
def test_places_of_a_layer_meet_the_optimality_conditions(items):
    target, weight, size = (np.array(column) for column in zip(*items, strict=True))
    x = _place_row(target, weight, size)
    gaps = np.diff(x) - (size[1:] + size[:-1]) / 2 - NODE_GAP
    assert (gaps >= -1e-9).all()
    # Stationarity: the pull on everything right of a gap vanishes where the gap is open, and pushes left where tight.
    for at, gap in enumerate(gaps, start=1):
        pull = float(np.sum(weight[at:] * (x[at:] - target[at:])))
        assert pull >= -1e-6
        assert gap < 1e-9 or abs(pull) <= 1e-6 * (1 + np.abs(weight * x).sum())


def test_a_large_graph_is_laid_out_without_bends_when_they_would_be_too_many(monkeypatch):
    monkeypatch.setattr("pgmx.plotting.graphs.layered_layout.MAX_BENDS", 3)
    chain = list(pairwise(range(8)))
    _, bends = compute_layout([20.0] * 8, [*chain, (0, 7)])
    assert bends == {}


def test_alarm_has_no_more_crossings_than_graphviz_draws():
    """dot 2.43 draws 7 pairs of edges of alarm that cross."""
    network = load_network("alarm")
    place = {name: v for v, name in enumerate(network.nodes())}
    edges = [(place[u], place[v]) for u, v in network.edges()]
    centres, bends = compute_layout([60.0] * 37, edges)
    routes = [np.vstack([centres[u], *([bends[u, v]] if (u, v) in bends else []), centres[v]]) for u, v in edges]
    steps = {tuple(map(tuple, step)) for route in routes for step in pairwise(route.tolist())}
    n_crossings = sum(
        (a[0] - c[0]) * (b[0] - d[0]) < 0 for (a, b), (c, d) in combinations(steps, 2) if a[1] == c[1] and b[1] == d[1]
    )
    assert n_crossings <= 7

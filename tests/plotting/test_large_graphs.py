"""Pictures of large graphs and of parts of them: communities, neighbourhoods, sizes, targets, columns of lags."""

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.models import DynamicBayesianNetwork

from pgmx.models import PAG, TimeSeriesGraph
from pgmx.plotting import plot_graph, save_picture
from pgmx.plotting.graphs.communities import compute_overview, group_nodes, route_bundles
from pgmx.plotting.graphs.sizes import measure_closeness
from pgmx.plotting.graphs.slices import compute_slices, route_slices

CAVES = nx.convert_node_labels_to_integers(nx.connected_caveman_graph(6, 20))


def caves():
    """Return six communities of 20 nodes, named by letters, with arrows, and three isolated nodes."""
    graph = nx.DiGraph([(f"{'abcdef'[u // 20]}{u}", f"{'abcdef'[v // 20]}{v}") for u, v in CAVES.edges()])
    graph.add_edges_from(("b20", f"b{k}") for k in range(22, 40))
    graph.add_nodes_from("xyz")
    return graph


def captions(ax):
    """Return the lines below each disc."""
    lines = {}
    for text in ax.texts:
        if (text.get_gid() or "").startswith("community-"):
            lines.setdefault(text.get_gid(), []).append(text.get_text())
    return list(lines.values())


# ---- communities ----


def test_more_than_100_nodes_are_drawn_as_named_communities():
    ax = plot_graph(caves())
    found = captions(ax)
    assert [lines[-1] for lines in found] == ["and 17 others"] * 6 + ["3 without edges"]
    assert sorted("".join({name[0] for name in lines[:3]}) for lines in found[:6]) == list("abcdef")
    b = next(lines for lines in found if lines[0][0] == "b")
    degree = dict(nx.Graph(caves()).degree())
    assert degree[b[0]] == max(degree[name] for name in degree if name[0] == "b")
    discs, lines, _ = (collection.get_paths() for collection in ax.collections[:3])
    assert (len(discs), len(lines)) == (7, caves().number_of_edges())
    assert len(ax.collections[3].get_offsets()) == 123
    assert not plot_graph(nx.DiGraph(nx.path_graph(100))).collections[0].get_zorder() < 1  # no discs


def test_names_are_whole_and_apart():
    ax = plot_graph(caves())
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not [1 for a, b in combinations(boxes, 2) if a.shrunk(0.98, 0.7).overlaps(b.shrunk(0.98, 0.7))]
    frame = ax.figure.bbox
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 for box in boxes)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 60), st.floats(0, 0.2), st.integers(0, 99))
def test_discs_hold_their_dots_and_lie_apart(n, share, seed):
    graph = nx.gnp_random_graph(n, share, seed=seed)
    overview = compute_overview([str(v) for v in graph], graph.edges())
    assert np.isfinite(overview.centres).all()
    for k, disc in enumerate(overview.discs):
        members = overview.centres[overview.labels == k]
        assert np.hypot(*(members - disc.centre).T).max() <= disc.radius
        others = [other for other in overview.discs if other is not disc]
        assert all(np.hypot(*(disc.centre - other.centre)) >= disc.radius + other.radius for other in others)
    assert set(overview.labels.tolist()) == set(range(len(overview.discs)))  # no disc is empty, no dot without a disc


def test_edges_of_an_overview_run_through_the_line_of_the_centres():
    graph = nx.connected_caveman_graph(2, 8)
    overview = compute_overview([str(v) for v in graph], graph.edges())
    edges, radii = sorted(graph.edges()), np.linspace(1.0, 2.0, 16)
    labels, centres = overview.labels, overview.centres
    n_between = 0
    for (u, v), curve in zip(edges, route_bundles(edges, overview, radii), strict=True):
        bends = [centres[v], centres[u]]
        if labels[u] != labels[v]:
            n_between += 1
            one, other = overview.discs[labels[u]], overview.discs[labels[v]]
            way = (other.centre - one.centre) / np.hypot(*(other.centre - one.centre))
            assert np.allclose(
                curve[1:3], [one.centre + 0.92 * one.radius * way, other.centre - 0.92 * other.radius * way]
            )
            bends = curve[1:3]
        else:
            assert np.allclose(curve, np.linspace(curve[0], curve[3], 4))
        # an edge leaves the border of its dot in the direction of the bend
        for node, end, bend in ((u, curve[0], bends[0]), (v, curve[3], bends[1])):
            step = (bend - centres[node]) / np.hypot(*(bend - centres[node]))
            assert np.allclose(end, centres[node] + radii[node] * step)
    assert n_between == 2


def test_small_communities_join_the_neighbour_with_the_most_edges():
    cliques = [range(8), range(8, 14), range(14, 17)]
    edges = [pair for clique in cliques for pair in combinations(clique, 2)] + [(0, 8), (14, 8), (15, 9), (14, 1)]
    groups, rest = group_nodes(20, sorted([*edges, (17, 18)]))
    assert groups == [[8, 9, 10, 11, 12, 13, 14, 15, 16], [0, 1, 2, 3, 4, 5, 6, 7]]
    assert rest == [17, 18, 19]
    many = nx.connected_caveman_graph(30, 5)
    groups, rest = group_nodes(150, sorted(many.edges()))
    assert len(groups) <= 12 and not rest and sum(map(len, groups)) == 150


def test_a_graph_without_edges_is_one_disc():
    ax = plot_graph(nx.empty_graph(150))
    assert captions(ax) == [["150 without edges"]]
    assert captions(plot_graph(nx.empty_graph(1), layout="communities")) == [["1 without edges"]]


def test_an_overview_compares_and_shows_strengths_and_kinds():
    graph, other = caves(), caves()
    other.remove_edge(*next(iter(other.edges())))
    ax = plot_graph(
        graph, reference=other, continuous=["x"], strengths=dict.fromkeys(graph.edges(), 0.5), sizes="degree"
    )
    texts = [text.get_text() for legend in (ax.get_legend(), *ax.artists) for text in legend.get_texts()]
    assert "not in the reference: 1" in texts and "strength" in texts and "continuous" in texts
    assert [text.get_text() for text in ax.texts if text.get_gid() == "note"] == ["size: degree, 0 to 20"]


def test_a_picture_has_at_most_4000_pixels(tmp_path):
    path = save_picture(nx.star_graph(150), tmp_path / "star.svg", layout="layered")
    root = ElementTree.parse(path).getroot()
    assert max(float(root.get(side).removesuffix("pt")) for side in ("width", "height")) * 96 / 72 <= 4000.1


# ---- neighbourhoods ----


def shown(ax):
    return {text.get_text(): text for text in ax.texts if (text.get_gid() or "").startswith("label-")}


@pytest.mark.parametrize("radius", [1, 2, 4])
def test_neighbourhoods_are_those_of_networkx(radius):
    graph = nx.gnm_random_graph(60, 70, seed=2, directed=True)
    ax = plot_graph(graph, around=7, radius=radius)
    ball = nx.ego_graph(graph, 7, radius, undirected=True)
    assert set(shown(ax)) == set(map(str, ball)) and len(ball) < 60
    assert len(ax.collections[0].get_paths()) == nx.Graph(ball).number_of_edges()
    assert [name for name, text in shown(ax).items() if text.get_fontweight() == "bold"] == ["7"]
    (note,) = [text.get_text() for text in ax.texts if text.get_gid() == "note"]
    assert note.startswith(f"{len(ball)} of 60 nodes, at most {radius} edge") and note.endswith(" from 7")


def test_neighbourhoods_of_several_nodes_of_pags_and_of_comparisons():
    path = nx.path_graph(10)
    assert set(shown(plot_graph(path, around=[0, 9]))) == set("0189")
    pag = PAG([("a", "b", "o", ">"), ("b", "c", ">", ">"), ("c", "d", "-", ">")])
    ax = plot_graph(pag, around="a", layout="circular")
    assert set(shown(ax)) == {"a", "b"} and len(ax.collections[2].get_paths()) == 1  # its circle
    other = path.copy()
    other.add_edge(0, 5)
    ax = plot_graph(path, reference=other, around=0)
    assert set(shown(ax)) == {"0", "1", "5"}
    assert ax.get_legend().get_texts()[2].get_text() == "only in the reference: 1"


def test_the_neighbourhood_of_a_series_is_that_of_all_lags():
    graph = TimeSeriesGraph.from_coefficients(
        ["a", "b", "c", "d"], [[0.5, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0] * 4]
    )
    assert set(shown(plot_graph(graph, around="a"))) == {"a t-1", "a t", "b t"}
    assert set(shown(plot_graph(graph, around=[("b", 1)]))) == {"b t-1", "c t"}


# ---- sizes and targets ----


def test_closeness_is_that_of_networkx():
    graph = nx.gnm_random_graph(40, 35, seed=1)
    expected = nx.closeness_centrality(graph)
    np.testing.assert_allclose(measure_closeness(40, graph.edges()), [expected[v] for v in range(40)], rtol=1e-12)


@pytest.mark.parametrize("layout", ["layered", "spring", "circular"])
def test_areas_follow_the_sizes(layout):
    values = {"a": 4.0, "b": 1.0, "c": 2.25, "d": 0.0}
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")])
    ax = plot_graph(graph, sizes=values, layout=layout)
    heights = [path.get_extents().height for path in ax.collections[-1].get_paths()]
    assert np.allclose(np.array(heights) / heights[0], [1.0, 0.5, 0.75, 0.45])
    fonts = [text.get_fontsize() for text in shown(ax).values()]
    assert np.allclose(np.array(fonts) / fonts[0], [1.0, 0.5, 0.75, 0.45])
    tip = ax.collections[1].get_paths()[0].vertices[0]
    box = ax.collections[-1].get_paths()[1].get_extents()
    assert box.x0 - 1e-6 <= tip[0] <= box.x1 + 1e-6 and box.y0 - 1e-6 <= tip[1] <= box.y1 + 1e-6  # b


def test_equal_sizes_change_nothing_but_the_note():
    graph = nx.cycle_graph(4)
    plain, sized = plot_graph(graph), plot_graph(graph, sizes="degree")
    one, other = (sorted(text.get_fontsize() for text in shown(ax).values()) for ax in (plain, sized))
    assert one == other
    assert [text.get_text() for text in sized.texts if text.get_gid() == "note"] == ["size: degree, 2 to 2"]


def test_sizes_in_a_neighbourhood_are_those_in_the_whole_graph():
    ax = plot_graph(nx.star_graph(5), around=1, radius=1, sizes="degree")
    assert "size: degree, 1 to 5" in " ".join(text.get_text() for text in ax.texts)


def test_targets_have_a_thick_border_and_a_legend():
    graph = nx.DiGraph([("dose", "level"), ("level", "response")])
    for targets in (["level"], "level", [[], ["level"]]):
        ax = plot_graph(graph, targets=targets)
        widths = ax.collections[-1].get_linewidths()
        assert widths[1] > 2 * widths[0] == 2 * widths[2]
        (legend,) = [artist for artist in ax.artists if artist.get_gid() == "kinds"]
        assert [text.get_text() for text in legend.get_texts()] == ["target of an experiment"]
    assert not plot_graph(graph, targets=[]).artists


# ---- columns of lags ----


def test_slices_are_columns():
    coefs = np.zeros((3, 3, 3))
    coefs[1] = np.diag([0.5, 0.5, 0.0])
    coefs[2, 2, 0], coefs[0, 2, 1] = 1.0, 0.5
    graph = TimeSeriesGraph.from_coefficients(["a", "b", "c"], coefs)
    ax = plot_graph(graph)
    x = {name: text.get_position()[0] for name, text in shown(ax).items()}
    y = {name: text.get_position()[1] for name, text in shown(ax).items()}
    assert x["a t-2"] < x["a t-1"] == x["b t-1"] < x["a t"] == x["b t"] == x["c t"]
    assert y["a t-2"] == y["a t-1"] == y["a t"] > y["b t"] == y["b t-1"] > y["c t"]
    frames, lines, heads, _ = (collection.get_paths() for collection in ax.collections)
    assert (len(frames), len(lines), len(heads)) == (3, 4, 4)
    long = next(line.vertices for line in lines if len(line.vertices) == 7)
    assert not any(abs(long[3, 1] - y[name]) < 9 for name in ("a t-1", "b t-1"))  # between the rows
    left, right = ax.get_xlim()
    assert all(left < line.vertices[:, 0].min() and line.vertices[:, 0].max() < right for line in lines)


def test_edges_between_columns_meet_the_borders_of_their_boxes():
    names = [("a", 2), ("b", 1), ("a", 0), ("b", 0), ("c", 0)]
    edges, widths = [(0, 2), (0, 3), (0, 4), (1, 3), (2, 3)], [30.0, 20.0, 40.0, 10.0, 20.0]
    centres = compute_slices(names, widths)
    columns = sorted(set(centres[:, 0].tolist()))
    assert columns == [15.0, 104.0, 198.0]  # 64 between the widest boxes of two columns
    curves = dict(zip(edges, route_slices(edges, names, centres, widths), strict=True))
    for (u, v), curve in curves.items():
        side = 1 if (u, v) == (2, 3) else -1  # within a column edges bulge to the right
        assert curve[0, 0] == centres[u, 0] + widths[u] / 2
        assert curve[-1, 0] == centres[v, 0] + side * widths[v] / 2
        assert len(curve) == (7 if names[u][1] - names[v][1] == 2 else 4)
    heights = [curves[0, v][0, 1] - centres[0, 1] for v in (4, 3, 2)]
    assert np.allclose(heights, np.diff(heights)[0] * np.array([-1, 0, 1]))
    assert heights[0] < 0  # the edge to the lowest node is the lowest
    passed = curves[0, 4][3]
    assert passed[0] == 104.0 and np.allclose(np.abs(passed[1] - centres[:, 1]).min(), 19.8)  # between two rows
    straight = curves[1, 3]
    assert np.allclose(straight[1:3, 0], (straight[0, 0] + straight[3, 0]) / 2)
    assert curves[2, 3][1:3, 0].min() > centres[2, 0] + 20.0


def test_two_slice_networks_of_pgmpy_are_columns():
    network = DynamicBayesianNetwork([(("a", 0), ("a", 1)), (("b", 0), ("a", 1)), (("a", 0), ("c", 0))])
    ax = plot_graph(network)
    x = {name: text.get_position()[0] for name, text in shown(ax).items()}
    assert x["a t-1"] == x["b t-1"] < x["a t"] == x["c t"] and len(x) == 4
    same = plot_graph(TimeSeriesGraph([(("a", 1), ("a", 0)), (("b", 1), ("a", 0)), (("a", 0), ("c", 0))]))
    assert {name: text.get_position() for name, text in shown(same).items()} == {
        name: text.get_position() for name, text in shown(ax).items()
    }


def test_many_variables_or_lags_are_not_drawn_in_columns_by_default():
    wide = TimeSeriesGraph.from_coefficients(range(25), np.eye(25))
    assert len(plot_graph(wide).collections) == 3
    assert len(plot_graph(wide, layout="slices").collections) == 4
    names = [("a", lag) for lag in (2, 1, 0)]
    assert compute_slices(names, [10.0, 20.0, 10.0])[:, 1].tolist() == [9.0] * 3


# ---- bad input ----


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"around": "rian"}, ValueError, "around has 'rian', not a node of the graph, did you mean 'rain'?"),
        ({"around": ["rain", "x", 3]}, ValueError, "around has 'x', 3, not nodes of the graph"),
        ({"around": "rain", "radius": 0}, ValueError, "radius must be at least 1"),
        ({"around": "rain", "radius": 1.5}, TypeError, "radius"),
        ({"targets": ["rain", "z"]}, ValueError, "targets has 'z', not a node of the graph"),
        ({"sizes": "betweenness"}, ValueError, "sizes must be 'degree' or 'closeness', or a mapping"),
        ({"sizes": {"rain": 1}}, ValueError, "sizes has no number for 'wet'"),
        ({"sizes": {"rain": 1, "wet": -1}}, ValueError, "not negative, got -1 for 'wet'"),
        ({"sizes": {"rain": 1, "wet": "x"}}, ValueError, "sizes must be finite"),
        ({"sizes": 3}, ValueError, "sizes must be"),
        ({"layout": "slices"}, ValueError, "is for graphs over lags"),
    ],
)
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words.replace("?", r"\?")):
        plot_graph(nx.DiGraph([("rain", "wet")]), **options)

"""One call shows a picture: in a notebook, in a script, as a file; layouts of undirected graphs, and thin ones."""

import pickle
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from pgmx.datasets import load_network
from pgmx.models import TimeSeriesGraph
from pgmx.plotting import plot_adjacency, plot_graph, plot_strengths, save_picture
from pgmx.plotting.graphs.packing import HEIGHT
from pgmx.plotting.graphs.spring_layout import compute_circular_layout, compute_spring_layout, find_communities
from pgmx.plotting.pictures import PictureAxes, PictureFigure, open_in_browser, render_svg


def read_notes(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() == "note"]


def count_lines(ax):
    return len(ax.collections[0].get_paths())


def weighted(n=12, seed=0):
    """Return the complete graph with weights, of which the pairs (i, i + 1) are the strongest."""
    rng = np.random.default_rng(seed)
    graph = nx.complete_graph(n)
    for u, v in graph.edges():
        graph.edges[u, v]["weight"] = float(rng.uniform(-0.1, 0.1)) if v != u + 1 else -0.9
    return graph


# ---- where it is shown ----


def test_a_notebook_shows_an_svg():
    ax = plot_graph(nx.path_graph(3))
    bundle = ax._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "text/plain"}
    root = ElementTree.fromstring(bundle["image/svg+xml"])
    assert root.tag.endswith("svg")
    assert sum(element.get("id", "").startswith("label-") for element in root.iter()) == 3
    table = pd.DataFrame([("a", "b", 0.5)], columns=["from", "to", "strength"])
    assert "image/svg+xml" in plot_strengths(table)._repr_mimebundle_()
    lagged = plot_adjacency(TimeSeriesGraph.from_coefficients(["rain", "river"], [[0.0, 0.0], [0.25, 0.0]]))
    assert "image/svg+xml" in lagged._repr_mimebundle_()


def test_a_notebook_shows_a_png_of_what_is_too_large(monkeypatch):
    monkeypatch.setattr("pgmx.plotting.pictures._LARGEST_SVG", 10)
    bundle = plot_graph(nx.path_graph(3))._repr_mimebundle_()
    assert set(bundle) == {"image/png", "text/plain"}
    assert bundle["image/png"].startswith("iVBOR")


def test_in_ipython():
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(plot_graph(nx.path_graph(3)))
    assert "image/svg+xml" in data


def test_show_in_a_script_opens_the_browser(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    plot_graph(nx.path_graph(["</svg><script>", "b"])).show()
    assert len(opened) == 1
    assert opened[0].startswith("file:")
    path = open_in_browser(render_svg(plot_graph(nx.path_graph(3)).figure))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<script" not in text


def test_as_a_file(tmp_path):
    ax = plot_graph(nx.path_graph(3))
    assert ax.save(tmp_path / "a.svg").read_bytes() == save_picture(nx.path_graph(3), tmp_path / "b.svg").read_bytes()
    assert ax.save(tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match=r"ending in .svg or .png, got 'a.pdf'"):
        ax.save(tmp_path / "a.pdf")


def test_axes_of_the_caller_stay_what_they_are():
    ax = Figure().add_subplot()
    assert plot_graph(nx.path_graph(3), ax) is ax
    assert not isinstance(ax, PictureAxes)
    copy = pickle.loads(pickle.dumps(plot_graph(nx.path_graph(3))))
    assert isinstance(copy, PictureAxes)
    assert isinstance(copy.figure, PictureFigure)


# ---- layouts ----


def boxes_apart(centres, widths):
    for u, v in combinations(range(len(widths)), 2):
        dx, dy = np.abs(centres[u] - centres[v])
        assert dx >= (widths[u] + widths[v]) / 2 or dy >= HEIGHT


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 18), st.integers(0, 60), st.integers(0, 99))
def test_springs_keep_boxes_apart(n, m, seed):
    graph = nx.gnm_random_graph(n, m, seed=seed)
    widths = np.random.default_rng(seed).uniform(10, 140, n).tolist()
    for centres in (compute_spring_layout(widths, graph.edges()), compute_circular_layout(widths)):
        assert centres.shape == (n, 2)
        assert np.isfinite(centres).all()
        boxes_apart(centres, widths)
        assert (centres - np.column_stack([np.array(widths) / 2, np.full(n, HEIGHT / 2)])).min() > -1e-6


def test_springs_place_a_path_in_its_order():
    """Stress majorization reaches the optimum that a path has: a straight line, steps of one length."""
    centres = compute_spring_layout([30.0] * 6, [(k, k + 1) for k in range(5)])
    steps = np.hypot(*np.diff(centres, axis=0).T)
    assert np.allclose(steps, steps[0], rtol=0.02)
    assert np.hypot(*(centres[-1] - centres[0])) == pytest.approx(steps.sum(), rel=1e-2)


def test_springs_part_two_communities():
    graph = nx.connected_caveman_graph(2, 8)
    centres = compute_spring_layout([30.0] * 16, graph.edges())
    middles = [centres[:8].mean(axis=0), centres[8:].mean(axis=0)]
    own = [np.hypot(*(centres[v] - middles[v // 8])) for v in range(16)]
    other = [np.hypot(*(centres[v] - middles[1 - v // 8])) for v in range(16)]
    assert all(near < far for near, far in zip(own, other, strict=True))


@pytest.mark.parametrize("layout", ["layered", "spring", "circular"])
def test_labels_are_whole_and_apart_in_each_layout(layout):
    ax = plot_graph(load_network("alarm"), layout=layout)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 37
    assert not [1 for a, b in combinations(boxes, 2) if a.overlaps(b)]
    frame = ax.figure.bbox
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 for box in boxes)


def test_default_layouts():
    path = nx.path_graph(5)
    places = {kind: centres_of(plot_graph(path, layout=kind)) for kind in (None, "layered", "spring")}
    assert np.array_equal(places[None], places["spring"])
    assert not np.array_equal(places[None], places["layered"])
    arrows = nx.DiGraph(path.edges())
    assert np.array_equal(centres_of(plot_graph(arrows)), centres_of(plot_graph(arrows, layout="layered")))


def centres_of(ax):
    return np.array([text.get_position() for text in ax.texts if (text.get_gid() or "").startswith("label-")])


def test_places_of_the_caller():
    pos = {"a": (0, 0), "b": (1, 0), "c": (0, 2)}
    graph = nx.Graph([("a", "b"), ("b", "c")])
    a, b, c = centres_of(plot_graph(graph, pos=pos))
    assert b[1] == pytest.approx(a[1])
    assert c[0] == pytest.approx(a[0])
    assert c[1] - a[1] == pytest.approx(2 * (b[0] - a[0]))
    with pytest.raises(ValueError, match="pos has no place for 'c'"):
        plot_graph(graph, pos={"a": (0, 0), "b": (1, 0)})
    with pytest.raises(ValueError, match="two finite numbers"):
        plot_graph(graph, pos=dict.fromkeys("abc", (0, np.nan)))
    assert len(centres_of(plot_graph(graph, pos=dict.fromkeys("abc", (0, 0))))) == 3
    with pytest.raises(ValueError, match="layout must be one of 'layered', 'spring', .* got 'round'"):
        plot_graph(graph, layout="round")


@pytest.mark.parametrize(("n_groups", "size", "n_colours"), [(16, 20, 9), (17, 19, 1)])
def test_a_large_graph_is_drawn_as_communities(n_groups, size, n_colours):
    """The eight largest have colours if they hold half of the nodes, as 8 of 16 do and 8 of 17 do not."""
    graph = nx.DiGraph([(str(u), str(v)) for u, v in nx.connected_caveman_graph(n_groups, size).edges()])
    ax = plot_graph(graph, layout="spring")
    faces = [tuple(face) for face in ax.collections[-1].get_facecolors()]
    assert len(faces) == n_groups * size
    assert len(set(faces)) == n_colours
    if n_colours == 9:
        assert not np.array_equal(centres_of(ax), centres_of(plot_graph(graph, layout="layered")))
    small = plot_graph(nx.DiGraph(nx.connected_caveman_graph(3, 5).edges()))
    assert len({tuple(face) for face in small.collections[-1].get_facecolors()}) == 1


def test_communities():
    edges = [*combinations(range(6), 2), *combinations(range(6, 11), 2), (0, 6), (11, 12)]
    assert find_communities(14, edges).tolist() == [0] * 6 + [1] * 5 + [-1] * 3


# ---- weak edges ----


def test_weak_edges_are_left_out_with_a_line_that_says_so():
    ax = plot_graph(weighted())
    assert count_lines(ax) == 44  # 2 n + 20
    assert read_notes(ax) == ["the 44 strongest of 66 edges (max_edges=None: all)"]
    assert count_lines(plot_graph(weighted(), strengths="weight", max_edges=11)) == 11
    every = plot_graph(weighted(), max_edges=None)
    assert count_lines(every) == 66
    assert read_notes(every) == []


def test_the_strongest_are_kept_whatever_their_sign():
    ax = plot_graph(weighted(), strengths="weight", max_edges=11, layout="circular")
    path = plot_graph(nx.path_graph(12), layout="circular")
    lengths = [
        sorted(np.hypot(*(line.vertices[-1] - line.vertices[0])) for line in picture.collections[0].get_paths())
        for picture in (ax, path)
    ]
    assert np.allclose(*lengths, rtol=0.02)


@pytest.mark.slow
def test_nothing_is_left_out_where_nothing_tells_what_is_weak():
    assert count_lines(plot_graph(nx.complete_graph(12))) == 66
    arrows = nx.DiGraph(nx.complete_graph(12).edges())
    nx.set_edge_attributes(arrows, 0.5, "weight")
    assert count_lines(plot_graph(arrows)) == 66
    assert count_lines(plot_graph(weighted(), reference=weighted())) == 66
    with pytest.raises(ValueError, match="max_edges"):
        plot_graph(weighted(), max_edges=-1)

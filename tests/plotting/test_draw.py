import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pgmpy.base import DAG, PDAG
from pgmpy.factors.discrete import TabularCPD

from helpers.interpreter import run_python
from pgmx.datasets import load_network
from pgmx.models import PAG, ConditionalGaussianCPD, ConditionalGaussianNetwork
from pgmx.plotting import plot_graph, save_picture

SVG = "{http://www.w3.org/2000/svg}"


def labels_of(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg"
    return [group for group in root.iter(SVG + "g") if group.get("id", "").startswith("label-")]


def curves_and_heads(ax):
    """Numbers of edge curves and of arrow heads on the axes."""
    counts = [len(collection.get_paths()) for collection in ax.collections[:-1]]
    return sum(counts[0::2]), sum(counts[1::2])


@pytest.fixture(scope="module")
def alarm():
    return load_network("alarm")


def test_alarm_as_svg_has_a_label_for_every_node(alarm, tmp_path):
    path = save_picture(alarm, tmp_path / "alarm.svg")
    assert len(labels_of(path)) == 37
    assert "<!-- LVFAILURE -->" in path.read_text(encoding="utf-8")


def test_alarm_labels_fit_their_boxes_and_do_not_overlap(alarm):
    ax = plot_graph(alarm)
    boxes = [path.get_extents() for path in ax.collections[-1].get_paths()]
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    to_data = ax.transData.inverted()
    for text, box in zip(ax.texts, boxes, strict=True):
        drawn = text.get_window_extent(renderer).transformed(to_data)
        assert box.x0 < drawn.x0 < drawn.x1 < box.x1
        assert box.y0 < drawn.y0 < drawn.y1 < box.y1
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_every_edge_is_drawn_and_only_arrows_have_heads(alarm):
    assert curves_and_heads(plot_graph(alarm)) == (46, 46)
    pdag = PDAG(directed_ebunch=[("a", "c"), ("b", "c")], undirected_ebunch=[("c", "d")])
    assert curves_and_heads(plot_graph(pdag)) == (3, 2)
    assert curves_and_heads(plot_graph(nx.path_graph(4))) == (3, 0)
    assert curves_and_heads(plot_graph(nx.DiGraph([(0, 1), (1, 0), (1, 1), (2, 1)]))) == (2, 1)


def test_pictures_are_the_same_bytes_each_time_and_png_is_readable(alarm, tmp_path):
    first, second = (save_picture(alarm, tmp_path / name) for name in ("a.svg", "b.svg"))
    assert first.read_bytes() == second.read_bytes()
    png = save_picture(alarm, str(tmp_path / "alarm.PNG"), dpi=50)
    image = mpl.image.imread(png)
    assert image.shape[0] > 200
    assert image[..., :3].min() < 0.5 < image[..., :3].max()


def test_a_png_is_kept_below_4000_pixels(tmp_path):
    path = save_picture(nx.star_graph(120), tmp_path / "star.png", dpi=600, layout="layered")
    assert max(mpl.image.imread(path).shape) <= 4000


@pytest.mark.parametrize("name", ["graph.pdf", "graph", "graph.svg.gz"])
def test_other_suffixes_are_refused_with_the_allowed_ones(name, tmp_path):
    with pytest.raises(ValueError, match=rf"ending in \.svg or \.png, got '{name}'"):
        save_picture(nx.path_graph(2), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_drawing_on_a_given_axes_shrinks_labels_and_leaves_out_unreadable_ones(alarm):
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    assert plot_graph(alarm, ax=left) is left
    assert 1.5 < left.texts[0].get_fontsize() < 9
    assert not right.texts
    tiny = Figure(figsize=(0.8, 0.8)).subplots()
    assert not list(plot_graph(alarm, ax=tiny).texts)


def test_a_reference_colours_edges_and_counts_them():
    graph = PDAG(directed_ebunch=[("a", "b"), ("c", "b"), ("b", "d")], undirected_ebunch=[("d", "e")])
    reference = DAG([("a", "b"), ("b", "c"), ("d", "e"), ("a", "e")])
    ax = plot_graph(graph, reference=reference)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "in both: 1",
        "other or no direction: 2",
        "not in the reference: 1",
        "only in the reference: 1",
    ]
    assert curves_and_heads(ax) == (5, 4)
    with pytest.raises(ValueError, match="the graph and its reference have different nodes; only in .*'z'"):
        plot_graph(nx.DiGraph([("a", "b"), ("a", "z")]), reference=reference)


def test_odd_names_are_drawn_as_they_are(tmp_path):
    graph = nx.DiGraph([("$x_1", "a & b <c>"), (("t", 1), 7), ("a & b <c>", "x" * 60), ("--", "line\nbreak")])
    ax = plot_graph(graph)
    assert [text.get_text() for text in ax.texts][:3] == ["$x_1", "a & b <c>", "('t', 1)"]
    assert "x" * 27 + "…" in [text.get_text() for text in ax.texts]
    assert len(labels_of(save_picture(graph, tmp_path / "odd.svg"))) == len(graph)


def test_graphs_without_edges_or_nodes(tmp_path):
    lonely = DAG()
    lonely.add_nodes_from(["a", "b", "c"])
    assert len(labels_of(save_picture(lonely, tmp_path / "lonely.svg"))) == 3
    heights = {text.get_position()[1] for text in plot_graph(lonely).texts}
    assert len(heights) == 1
    with pytest.raises(ValueError, match="the graph has no nodes"):
        plot_graph(nx.DiGraph())
    with pytest.raises(TypeError, match="expected a pgmpy or networkx graph or a fitted learner, got list"):
        plot_graph([("a", "b")])


def test_a_large_graph_has_small_labels():
    tree = nx.random_labeled_tree(200, seed=1)
    ax = plot_graph(tree, layout="spring")
    assert len(ax.texts) == 200
    # 4.5 points, reduced by as much as the figure, whose longer side is the limit
    assert max(ax.figure.get_size_inches()) * 96 == pytest.approx(4000)
    assert 3 < ax.texts[0].get_fontsize() < 4.5


def test_nothing_global_is_touched(tmp_path):
    script = """
import sys, matplotlib as mpl, networkx as nx
before = mpl.rcParams.copy()
from pgmx.plotting import plot_graph, save_picture
assert "matplotlib.figure" not in sys.modules
save_picture(nx.path_graph(3), sys.argv[1])
assert mpl.rcParams.copy() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    done = run_python("-c", script, tmp_path / "p.svg")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_picture_does_not_depend_on_the_hash_seed(hash_seed_digests):
    one, other = hash_seed_digests
    assert one["picture"] == other["picture"]


def test_heads_touch_the_box_of_the_child():
    ax = plot_graph(nx.DiGraph([("a", "b")]))
    tip = ax.collections[1].get_paths()[0].vertices[0]
    box = ax.collections[-1].get_paths()[1].get_extents()
    assert box.x0 <= tip[0] <= box.x1
    assert np.isclose(tip[1], box.y1)


def mixed_network():
    cpds = [
        ConditionalGaussianCPD("x", [0.0], 1.0),
        TabularCPD("d", 2, [[0.5], [0.5]]),
        ConditionalGaussianCPD("y", [[0.0, 1.0], [1.0, 1.0]], [1.0, 1.0], ["d"], ["x"]),
    ]
    return ConditionalGaussianNetwork.from_cpds(cpds)


def test_the_two_kinds_of_nodes_are_told_apart():
    ax = plot_graph(mixed_network())
    boxes = ax.collections[-1]
    faces = [tuple(face) for face in boxes.get_facecolor()]
    assert faces[0] == faces[2] != faces[1]
    radii = [np.sort(np.unique(path.vertices[:, 1]))[1] - path.vertices[:, 1].min() for path in boxes.get_paths()]
    assert radii[0] == pytest.approx(radii[2]) and radii[0] > 2.0 * radii[1]
    legend = next(artist for artist in ax.artists if artist.get_gid() == "kinds")
    assert [text.get_text() for text in legend.get_texts()] == ["discrete", "continuous"]
    named = plot_graph(nx.DiGraph(mixed_network()), continuous=["x", "y"]).collections[-1]
    assert [tuple(face) for face in named.get_facecolor()] == faces
    alike = plot_graph(nx.DiGraph(mixed_network()))
    assert len({tuple(face) for face in alike.collections[-1].get_facecolor()}) == 1 and not alike.artists
    with pytest.raises(ValueError, match="continuous has 'z'"):
        plot_graph(mixed_network(), continuous=["z"])


def test_legends_stand_above_each_other():
    network = mixed_network()
    ax = plot_graph(network, reference=nx.DiGraph(network), strengths={("x", "y"): 1.0, ("d", "y"): 2.0})
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    legends = [*(artist for artist in ax.artists if hasattr(artist, "get_texts")), ax.get_legend()]
    boxes = [legend.get_window_extent(renderer) for legend in dict.fromkeys(legends)]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


# ---- marks of partial ancestral graphs ----


def pag():
    return PAG([("a", "b", "o", ">"), ("c", "b", ">", ">"), ("c", "d", "-", ">"), ("d", "e"), ("e", "f", "-", "-")])


def test_marks_of_pags():
    ax = plot_graph(pag(), layout="circular")
    lines, heads, circles, boxes = (collection.get_paths() for collection in ax.collections)
    assert (len(lines), len(heads), len(circles), len(boxes)) == (5, 4, 3, 6)
    assert [len(head.vertices) for head in heads] == [4] * 4
    # each circle touches the box of its end, and lies between the line and the box
    sides = {}
    for circle in circles:
        middle = circle.get_extents().get_points().mean(axis=0)
        radius = circle.get_extents().width / 2
        near = [np.abs(np.clip(middle, *box.get_extents().get_points()) - middle).max() for box in boxes]
        sides[int(np.argmin(near))] = min(near)
        assert min(near) == pytest.approx(radius, rel=0.35)
        gaps = [np.hypot(*(line.vertices[end] - middle)) for line in lines for end in (0, -1)]
        assert min(gaps) == pytest.approx(radius, rel=0.05)
    names = list(pag())
    assert {names[v] for v in sides} == {"a", "d", "e"}


def test_pags_are_layered_by_their_arrows():
    ax = plot_graph(pag())
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["a"] > heights["b"]
    assert heights["c"] > heights["d"]


def test_pags_are_compared_by_their_marks():
    other = pag()
    other.add_edge("a", "b", ">", ">")
    other.remove_edge("c", "d")
    ax = plot_graph(pag(), reference=other)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["in both: 3", "other marks: 1", "not in the reference: 1", "only in the reference: 0"]
    with pytest.raises(TypeError, match="with a PAG only"):
        plot_graph(pag(), reference=nx.DiGraph([("a", "b")]))

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG

from pgmx.plotting import plot_graph, plot_strengths, save_picture
from pgmx.plotting.strengths import read_strengths

ROWS = [("a", "b", 0.9, 0.75), ("b", "a", 0.9, 0.25), ("b", "c", 0.4, 0.5), ("c", "b", 0.4, 0.5)]


@pytest.fixture
def table():
    return pd.DataFrame(ROWS, columns=["from", "to", "strength", "direction"])


def line_widths(ax):
    return [float(width) for width in ax.collections[0].get_linewidths()]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_stronger_edges_are_wider_and_darker(table):
    ax = plot_graph(DAG([("a", "b"), ("b", "c")]), strengths=table)
    thin, wide = line_widths(ax)
    assert 0.6 < thin < wide < 3.4
    pale, dark = (colour[:3].sum() for colour in ax.collections[0].get_edgecolors())
    assert pale > dark
    assert legend_texts(ax) == ["strength", "0.25", "0.5", "0.75", "1"]


def test_a_mapping_is_looked_up_in_both_directions_and_scaled_to_its_greatest():
    graph = PDAG([("a", "b")], [("b", "c"), ("c", "d")])
    ax = plot_graph(graph, strengths={("b", "a"): 4, ("c", "b"): 2.0, ("c", "d"): np.float64(0)})
    assert line_widths(ax) == pytest.approx([0.6, 0.6 + 2.8 * 0.5**1.5, 3.4])
    assert legend_texts(ax) == ["strength", "1", "2", "3", "4"]


def test_edges_without_a_strength_are_dotted_and_counted():
    ax = plot_graph(nx.path_graph(4), strengths={(0, 1): 0.5})
    assert legend_texts(ax)[-1] == "not given: 2"
    assert line_widths(ax) == pytest.approx([1.0, 1.0, 3.4])


def test_with_a_reference_colours_compare_and_widths_tell_the_strength(table):
    ax = plot_graph(DAG([("a", "b"), ("b", "c")]), reference=DAG([("a", "b"), ("c", "b")]), strengths=table)
    texts = [text.get_text() for legend in (ax.get_legend(), *ax.artists) for text in legend.get_texts()]
    assert texts[:5] == ["strength", "0.25", "0.5", "0.75", "1"]
    assert texts[5:7] == ["in both: 1", "other or no direction: 1"]
    assert len(set(line_widths(ax))) == 2


def test_a_picture_with_strengths_is_written(table, tmp_path):
    path = save_picture(DAG([("a", "b"), ("b", "c")]), tmp_path / "s.svg", strengths=table)
    assert 'id="strengths"' in path.read_text(encoding="utf-8")


def test_ranges():
    table = pd.DataFrame([("a", "b", 0.2)], columns=["from", "to", "strength"])
    assert read_strengths(table)[1:] == (0, 1)
    assert read_strengths({("a", "b"): 0.2})[1:] == (0, 0.2)
    assert read_strengths({("a", "b"): -3.0, ("a", "c"): 5})[1:] == (-5, 5)
    assert read_strengths({("a", "b"): -3.0})[1:] == (-3, 3)
    assert read_strengths({("a", "b"): 0.0})[1:] == (0, 1)
    assert np.isnan(read_strengths({("a", "b"): 0.2}).find("a", "c"))


@pytest.mark.parametrize(
    ("strengths", "error", "message"),
    [
        ([0.1], TypeError, "strengths must be a mapping .* got list"),
        ({}, ValueError, "strengths is empty"),
        ({"ab": 1.0}, TypeError, r"strengths must have pairs \(u, v\) for keys, got 'ab'"),
        ({("a", "b"): "1"}, TypeError, "the strength of 'a' - 'b' must be a number, got '1'"),
        ({("a", "b"): float("nan")}, ValueError, "the strength of 'a' - 'b' must be finite, got nan"),
        (pd.DataFrame({"from": ["a"], "to": ["b"]}), ValueError, "the table has no column 'strength'"),
    ],
)
def test_bad_strengths_are_refused(strengths, error, message):
    with pytest.raises(error, match=message):
        plot_graph(DAG([("a", "b")]), strengths=strengths)


def bars(ax):
    return [[round(patch.get_width(), 6) for patch in container] for container in ax.containers]


def test_bars_are_ranked_and_split_by_direction(table):
    ax = plot_strengths(table.iloc[::-1], threshold=0.5)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a → b", "b — c"]
    assert bars(ax) == [[0.675, 0.2], [0.225, 0.2]]
    assert [line.get_label() for line in ax.get_lines()] == ["threshold 0.5"]
    strong, weak = (patch.get_facecolor() for patch in ax.containers[0])
    assert strong != weak
    assert legend_texts(ax) == ["threshold 0.5", "direction of the label", "other direction"]


def test_a_pair_that_stands_once_is_turned_to_its_more_frequent_direction(table):
    ax = plot_strengths(table.iloc[1:3])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a → b", "b — c"]


def test_without_directions_labels_have_no_arrow(table):
    ax = plot_strengths(table[["from", "to", "strength"]].iloc[[0, 2]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a — b", "b — c"]


def test_many_pairs_are_ranks_or_the_first_forty_bars():
    rows = [(f"v{k}", f"w{k}", 1 - k / 60) for k in range(60)]
    many = pd.DataFrame(rows, columns=["from", "to", "strength"])
    ax = plot_strengths(many, 0.5)
    assert legend_texts(ax) == ["threshold 0.5: 31 of 60 pairs reach it"]
    assert ax.get_xlabel() == "pairs, strongest first"
    ax = plot_strengths(many, kind="bars")
    assert len(ax.get_yticklabels()) == 40
    assert ax.get_xlabel() == "share of resamples (the 40 strongest of 60 pairs)"
    assert plot_strengths(many.head(3), kind="ranks", ax=ax) is ax


def test_bad_rankings_are_refused(table):
    with pytest.raises(TypeError, match="a table with columns from, to and strength, or a fitted bootstrap, got dict"):
        plot_strengths({("a", "b"): 0.5})
    with pytest.raises(ValueError, match="kind must be 'bars', 'ranks' or None, got 'pie'"):
        plot_strengths(table, kind="pie")
    with pytest.raises(ValueError, match="holds a pair .* twice"):
        plot_strengths(pd.concat([table, table]))
    with pytest.raises(ValueError, match="strengths is empty"):
        plot_strengths(table.head(0))


def test_strengths_may_be_an_attribute_of_the_edges():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=0.5)
    graph.add_edge("c", "d")
    named = plot_graph(graph, strengths="weight")
    given = plot_graph(graph, strengths={("a", "b"): 2.0, ("c", "b"): 0.5})
    assert line_widths(named) == line_widths(given)
    with pytest.raises(ValueError, match="no edge of the graph has the attribute 'size'"):
        plot_graph(graph, strengths="size")
    assert plot_graph(nx.empty_graph(3), strengths="weight").get_legend() is None


def test_undirected_graphs_are_compared_without_a_word_of_directions():
    graph, reference = nx.Graph([("a", "b"), ("b", "c")]), nx.Graph([("b", "a"), ("a", "c")])
    ax = plot_graph(graph, reference=reference)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["in both: 1", "not in the reference: 1", "only in the reference: 1"]


def partial_correlations():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=0.8)
    graph.add_edge("b", "c", weight=-0.8)
    graph.add_edge("c", "d", weight=-0.2)
    return graph


def dash_patterns(ax):
    return [dashes is not None for _, dashes in ax.collections[0].get_linestyles()]


def test_the_size_of_signed_strengths_is_the_width_and_negative_ones_are_red_and_dashed():
    ax = plot_graph(partial_correlations(), strengths="weight")
    weak, *strong = line_widths(ax)
    assert strong == pytest.approx([3.4, 3.4])
    assert weak == pytest.approx(0.6 + 2.8 * 0.25**1.5)
    colours = ax.collections[0].get_edgecolors()
    assert [colour[0] > colour[2] for colour in colours] == dash_patterns(ax) == [True, False, True]
    assert legend_texts(ax) == ["strength", "\N{MINUS SIGN}0.8", "\N{MINUS SIGN}0.4", "0.4", "0.8"]


def test_with_a_reference_dashes_tell_the_sign():
    reference = nx.Graph([("a", "b"), ("b", "c"), ("c", "d")])
    ax = plot_graph(partial_correlations(), reference=reference, strengths="weight")
    assert len({tuple(colour) for colour in ax.collections[0].get_edgecolors()}) == 1
    assert dash_patterns(ax) == [True, False, True]


def test_strengths_without_a_negative_one_are_drawn_as_ever():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=0.8)
    ax = plot_graph(graph, strengths="weight")
    assert dash_patterns(ax) == [False]
    assert legend_texts(ax) == ["strength", "0.2", "0.4", "0.6", "0.8"]

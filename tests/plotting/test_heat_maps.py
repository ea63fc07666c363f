"""Heat maps of graphs without lags: adjacency, partial correlations, probabilities; a reference; a clustered order."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG

from pgmx.estimators import BootstrapStructure, GraphicalLasso, HillClimbSearch, StructurePosterior
from pgmx.models import GaussianMarkovNetwork, TimeSeriesGraph
from pgmx.plotting import plot_adjacency


def read_maps(figure):
    """Return the values of the maps, NaN without an edge, and the labels of the rows."""
    figure.canvas.draw()
    maps = [ax for ax in figure.axes if ax.images]
    labels = [label.get_text() for label in maps[0].get_yticklabels()]
    return [np.ma.filled(ax.images[0].get_array(), np.nan) for ax in maps], labels


def test_rows_are_targets():
    graph = PDAG(directed_ebunch=[("a", "b")], undirected_ebunch=[("b", "c")])
    figure = plot_adjacency(graph)
    (values,), names = read_maps(figure)
    assert sorted(names) == ["a", "b", "c"]
    edges = [(names[u], names[v]) for v, u in np.argwhere(values == 1.0)]
    assert sorted(edges) == [("a", "b"), ("b", "c"), ("c", "b")]
    assert len(figure.axes) == 1  # edges have no values, so there are no colours to explain


def test_partial_correlations():
    precision = np.array([[1.0, -0.4, 0.0], [-0.4, 1.0, 0.3], [0.0, 0.3, 1.0]])
    network = GaussianMarkovNetwork.from_precision(["a", "b", "c"], precision)
    figure = plot_adjacency(network)
    (values,), _ = read_maps(figure)
    assert np.allclose(np.nan_to_num(values), [[0, 0.4, 0], [0.4, 0, -0.3], [0, -0.3, 0]])
    assert figure.axes[-1].get_ylabel() == "partial correlation" and not figure.axes[0].get_xlabel()
    (table,), _ = read_maps(plot_adjacency(network.partial_correlations))
    assert np.array_equal(np.nan_to_num(values), np.nan_to_num(table))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 300))
    return pd.DataFrame({"a": a, "b": b, "c": np.where(rng.random(300) < 0.8, a & b, a)}).astype(str)


def test_probabilities_of_a_posterior_and_shares_of_a_bootstrap(rows):
    posterior = StructurePosterior(method="exact", show_progress=False).fit(rows)
    figure = plot_adjacency(posterior)
    (values,), names = read_maps(figure)
    expected = posterior.arc_probability_.loc[names, names].to_numpy().T
    assert np.allclose(np.nan_to_num(values), expected, atol=1e-9) and expected.max() > 0.4
    assert figure.axes[-1].get_ylabel() == "probability"
    assert figure.axes[0].images[0].get_clim() == (0.0, pytest.approx(expected.max()))
    (table,), _ = read_maps(plot_adjacency(posterior.arc_probability_))
    assert np.allclose(np.nan_to_num(table), expected)
    bootstrap = BootstrapStructure(HillClimbSearch(show_progress=False), n_resamples=4, show_progress=False).fit(rows)
    (values,), names = read_maps(plot_adjacency(bootstrap))
    strengths = bootstrap.strengths_.set_index(["from", "to"])["strength"]
    total = np.nan_to_num(values) + np.nan_to_num(values).T
    assert all(np.isclose(total[names.index(u), names.index(v)], share) for (u, v), share in strengths.items())


def test_a_minus_sign_marks_each_negative_cell():
    precision = np.eye(4)
    precision[[0, 1, 1, 2], [1, 0, 2, 1]] = [-0.4, -0.4, 0.3, 0.3]
    network = GaussianMarkovNetwork.from_precision(list("abcd"), precision)
    figure = plot_adjacency(network, reference=network.partial_correlations.abs())
    marks = [[lines for lines in ax.collections if lines.get_label() == "negative"] for ax in figure.axes[:2]]
    ((signs,), nothing) = marks
    assert {tuple(line.mean(axis=0)) for line in signs.get_segments()} == {(1.0, 2.0), (2.0, 1.0)}
    assert not nothing  # the reference has no negative value


def test_colours_of_a_gaussian_learner_are_partial_correlations():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc")).cumsum(axis=1)
    learner = GraphicalLasso(lam_ratio=0.1).fit(X)
    for source in (learner, learner.graph_):
        assert plot_adjacency(source).axes[-1].get_ylabel() == "partial correlation"
    assert plot_adjacency(nx.Graph([("a", "b", {"strength": 0.5})])).axes[-1].get_ylabel() == "strength"


def test_a_reference_is_next_to_it_in_the_same_order():
    weighted = nx.DiGraph()
    weighted.add_nodes_from("abc")
    weighted.add_weighted_edges_from([("a", "b", -2.0), ("c", "b", 1.0)])
    truth = DAG([("c", "b"), ("b", "a")])
    figure = plot_adjacency(weighted, reference=truth)
    (ours, theirs), _ = read_maps(figure)
    assert [ax.get_title() for ax in figure.axes] == ["graph", "reference", ""]
    assert np.array_equal(np.nan_to_num(ours), [[0, 0, 0], [-2, 0, 1], [0, 0, 0]])
    assert np.array_equal(np.nan_to_num(theirs), [[0, 2, 0], [0, 0, 2], [0, 0, 0]])  # edges of the darkest colour
    assert {image.get_clim() for ax in figure.axes for image in ax.images} == {(-2.0, 2.0)}


def test_lags_of_a_graph_and_its_reference():
    coefs = np.zeros((3, 2, 2))
    coefs[1, 0, 0], coefs[2, 1, 0] = 0.5, -0.25
    graph = TimeSeriesGraph.from_coefficients(["a", "b"], coefs)
    other = TimeSeriesGraph.from_coefficients(["b", "a"], [[1.0, 0.0], [0.0, 0.0]])
    figure = plot_adjacency(graph, reference=other)
    assert [ax.get_title() for ax in figure.axes[:4]] == ["lag 1", "lag 1, reference", "lag 2", "lag 2, reference"]
    maps, _ = read_maps(figure)
    assert maps[0][0, 0] == 0.5 and maps[1][1, 1] == 1.0 and maps[2][1, 0] == -0.25 and np.isnan(maps[3]).all()


def test_the_clustered_order_puts_blocks_together():
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(12)
    graph = nx.Graph()
    graph.add_nodes_from(shuffled.tolist())
    graph.add_weighted_edges_from((u, v, 0.9 - 0.01 * (u + v)) for u in range(12) for v in range(u) if u // 4 == v // 4)
    (values,), names = read_maps(plot_adjacency(graph, order="clustered"))
    blocks = [int(name) // 4 for name in names]
    assert sum(one != other for one, other in pairwise(blocks)) == 2
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            expected = graph.get_edge_data(int(one), int(other), {"weight": 0.0})["weight"]
            assert np.nan_to_num(values)[i, j] == pytest.approx(expected)
    for small in (nx.path_graph(1), nx.path_graph(2), nx.empty_graph(4)):
        assert plot_adjacency(small, order="clustered").axes


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plot_adjacency(nx.Graph()), ValueError, "has no nodes"),
        (lambda: plot_adjacency(3), TypeError, "expected a pgmpy or networkx graph or a fitted learner, got int"),
        (lambda: plot_adjacency(nx.path_graph(2), order="hclust"), ValueError, "order must be one of 'given'"),
        (lambda: plot_adjacency(nx.path_graph(2), reference=nx.path_graph(3)), ValueError, "have different variables"),
        (
            lambda: plot_adjacency(nx.path_graph(2), reference=TimeSeriesGraph([(("a", 1), ("b", 0))])),
            ValueError,
            "no edge of the graph has the attribute|only the reference has lags",
        ),
        (lambda: plot_adjacency(pd.DataFrame({"a": [1.0]})), ValueError, "must be square with the same names"),
        (lambda: plot_adjacency(pd.DataFrame([["x"]], ["a"], ["a"])), TypeError, "not numeric"),
        (lambda: plot_adjacency(pd.DataFrame([[np.inf]], ["a"], ["a"])), ValueError, "infinite"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()

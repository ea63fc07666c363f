"""Measures of graphs, and of graphs learned from windows."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from pgmx.models import TimeSeriesGraph, graphs_by_window, measures_by_window


class LargeMeans(BaseEstimator):
    """A learner whose graph joins the series to those with a larger mean."""

    def fit(self, X):
        rows = np.asarray(X)
        means = rows.mean(axis=0)
        coefs = (means[:, None] > means).astype(float)
        self.graph_ = TimeSeriesGraph.from_coefficients(list("abcd")[: rows.shape[1]], coefs)
        self.n_rows_ = len(rows)
        return self


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(2, 9), st.floats(0.05, 0.9))
def test_measures_are_those_of_networkx(seed, n, density):
    coefs = (np.random.default_rng(seed).random((2, n, n)) < density).astype(float)
    coefs[0] = 0.0
    graph = TimeSeriesGraph.from_coefficients(range(n), coefs)
    plain = nx.DiGraph()
    plain.add_nodes_from(range(n))
    plain.add_edges_from((s, t) for t in range(n) for s in range(n) if s != t and coefs[1, t, s])
    measures = graph.measures()
    assert measures.density == pytest.approx(nx.density(plain))
    assert measures.clustering == pytest.approx(nx.transitivity(plain.to_undirected()))
    assert measures.n_components == nx.number_weakly_connected_components(plain)
    assert measures.n_edges == plain.number_of_edges()
    assert measures.average_neighbors == pytest.approx(measures.density * (n - 1))
    lengths = {u: [d for v, d in found.items() if v != u] for u, found in nx.shortest_path_length(plain)}
    every = [d for parts in lengths.values() for d in parts]
    assert measures.diameter == max(every, default=0)
    if every:
        assert measures.average_shortest_path == pytest.approx(np.mean(every))
    else:
        assert np.isnan(measures.average_shortest_path)
    table = measures.by_node
    assert table["in_degree"].to_dict() == dict(plain.in_degree())
    assert table["out_degree"].to_dict() == dict(plain.out_degree())
    assert table["degree"].to_dict() == dict(plain.degree())
    for node, parts in lengths.items():
        expected = np.mean(parts) if parts else np.nan
        assert table["average_shortest_path"][node] == pytest.approx(expected, nan_ok=True)


def test_an_empty_graph_has_measures():
    measures = TimeSeriesGraph().measures()
    assert (measures.density, measures.n_components, measures.diameter, len(measures.by_node)) == (0.0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_windows(kind):
    rows = np.zeros((30, 3))
    rows[:10], rows[10:20] = [1.0, 2.0, 3.0], [1.0, 1.0, 2.0]
    series = {"array": rows, "pandas": pd.DataFrame(rows, index=range(5, 35)), "polars": pl.DataFrame(rows)}[kind]
    learner = LargeMeans()
    table = measures_by_window(series, learner, [0, 10, 20, 30])
    assert table.index.tolist() == [(0, 10), (10, 20), (20, 30)] and table.index.names == ["start", "stop"]
    assert table["n_edges"].tolist() == [3, 2, 0] and table["n_components"].tolist() == [1, 1, 3]
    assert table["clustering"].tolist() == [1.0, 0.0, 0.0] and table["diameter"].tolist() == [1, 1, 0]
    assert not hasattr(learner, "graph_")
    assert measures_by_window(series, learner, 10).equals(table)
    assert measures_by_window(series, learner, [10, 20]).equals(table)
    assert measures_by_window(series, learner, 12).index.tolist() == [(0, 12), (12, 30)]
    graphs = graphs_by_window(series, learner, 10)
    assert [graph.number_of_edges() for graph in graphs] == [3, 2, 0]


@pytest.mark.parametrize("boundaries", [[0, 0], [10, 5], [0, 31], [31], 40])
def test_boundaries_that_are_refused(boundaries):
    with pytest.raises(ValueError, match="boundaries must be increasing positions between 0 and 30"):
        measures_by_window(np.zeros((30, 2)), LargeMeans(), boundaries)


@pytest.mark.parametrize(
    ("series", "boundaries", "words"),
    [
        ([[1.0]], 1, "series must be one frame"),
        (np.zeros((9, 2)), [0, 1.5], "each of boundaries must be an integer"),
        (np.zeros((9, 2)), 3.0, "boundaries must be an integer, the length of windows, or a sequence of rows, got 3.0"),
        (np.zeros((9, 2)), None, "got None"),
    ],
)
def test_arguments_of_other_types(series, boundaries, words):
    with pytest.raises(TypeError, match=words):
        graphs_by_window(series, LargeMeans(), boundaries)

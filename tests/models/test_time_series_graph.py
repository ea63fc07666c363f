"""The graph over (variable, lag)."""

import pickle

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from pgmx.models import TimeSeriesGraph

NAMES = ["a", "b", "c"]


def random_coefficients(lags=2, n=3, seed=0):
    rng = np.random.default_rng(seed)
    coefs = rng.normal(size=(lags + 1, n, n)) * (rng.random((lags + 1, n, n)) < 0.5)
    coefs[0][np.diag_indices(n)] = 0.0
    return coefs


def list_expected(coefs):
    """Return the edges with their weights, read entry by entry."""
    return {
        ((NAMES[s], lag), (NAMES[t], 0)): coefs[lag][t, s]
        for lag in range(len(coefs))
        for t in range(3)
        for s in range(3)
        if coefs[lag][t, s]
    }


@pytest.mark.parametrize("sparse", [False, True])
def test_edges_are_the_coefficients_that_are_not_zero(sparse):
    coefs = random_coefficients()
    graph = TimeSeriesGraph.from_coefficients(NAMES, [csr_array(c) for c in coefs] if sparse else coefs)
    weights = {(u, v): weight for u, v, weight in graph.edges(data="weight")}
    assert weights == list_expected(coefs)
    assert all(edge["strength"] == abs(edge["weight"]) for _, _, edge in graph.edges(data=True))
    assert list(graph.nodes()) == [(name, lag) for lag in range(3) for name in NAMES]
    assert sorted(graph.lagged_edges + graph.instantaneous_edges) == sorted(weights)
    assert {u[1] for u, _ in graph.instantaneous_edges} == {0} and all(u[1] for u, _ in graph.lagged_edges)
    assert (graph.names, graph.lags) == (tuple(NAMES), 2)
    assert np.array_equal(graph.to_arrays(), coefs)


def test_one_matrix_is_of_lag_one():
    coefs = random_coefficients(1)[1]
    dense = TimeSeriesGraph.from_coefficients(NAMES, coefs)
    sparse = TimeSeriesGraph.from_coefficients(NAMES, csr_array(coefs))
    assert dict(dense.edges) == dict(sparse.edges)
    assert dense.instantaneous_edges == [] and dense.lags == 1


def test_strengths_and_confidence_are_attributes():
    coefs = random_coefficients()
    strengths, confidence = np.full(coefs.shape, 2.0), np.arange(27.0).reshape(3, 3, 3)
    graph = TimeSeriesGraph.from_coefficients(NAMES, coefs, strengths=strengths, confidence=confidence)
    for (source, lag), (target, _), edge in graph.edges(data=True):
        assert edge["strength"] == 2.0
        assert edge["confidence"] == confidence[lag, NAMES.index(target), NAMES.index(source)]
    alone = TimeSeriesGraph.from_coefficients(NAMES, None, strengths=np.abs(coefs))
    assert set(alone.edges()) == set(list_expected(coefs))
    assert all("weight" not in edge for _, _, edge in alone.edges(data=True))


def test_an_undirected_relation_is_held_both_ways_and_marked():
    coefs = np.zeros((2, 3, 3))
    coefs[0, 1, 0], coefs[1, 2, 1] = -0.5, 1.0
    graph = TimeSeriesGraph.from_coefficients(NAMES, coefs, undirected_instantaneous=True)
    assert graph.edges[("a", 0), ("b", 0)] == {"weight": -0.5, "strength": 0.5, "undirected": True}
    assert graph.edges[("b", 0), ("a", 0)] == {"weight": 0.0, "strength": 0.5, "undirected": True}
    assert "undirected" not in graph.edges[("b", 1), ("c", 0)]
    assert graph.number_of_edges() == 3


def test_summary_graph():
    coefs = np.zeros((3, 3, 3))
    coefs[1, 1, 0], coefs[2, 1, 0], coefs[1, 2, 2] = 0.5, -0.75, 1.0
    summary = TimeSeriesGraph.from_coefficients(NAMES, coefs).summary_graph()
    assert list(summary.nodes()) == NAMES
    assert dict(summary.edges) == {
        ("a", "b"): {"lags": (1, 2), "strength": 0.75},
        ("c", "c"): {"lags": (1,), "strength": 1.0},
    }


def test_networkx_knows_it():
    graph = TimeSeriesGraph([(("a", 1), ("b", 0)), (("b", 0), ("a", 0), {"weight": 2.0})], name="mine")
    assert (graph.names, graph.lags, graph.name) == (("a", "b"), 1, "mine")
    for same in (graph.copy(), pickle.loads(pickle.dumps(graph)), TimeSeriesGraph(graph)):
        assert type(same) is TimeSeriesGraph and nx.utils.graphs_equal(same, graph)
    assert type(graph.subgraph([("a", 1), ("b", 0)])) is TimeSeriesGraph
    assert nx.is_directed_acyclic_graph(graph)
    assert repr(graph) == str(graph) == "TimeSeriesGraph(2 variables, 1 lag, 2 edges)"
    assert (TimeSeriesGraph().names, TimeSeriesGraph().lags) == ((), 0)


@pytest.mark.parametrize(
    ("edge", "error", "words"),
    [
        ((("a", 1), ("b", 1)), ValueError, "must end at lag 0"),
        ((("a", -1), ("b", 0)), ValueError, "must not be negative"),
        ((("a", 0), ("a", 0)), ValueError, "cannot join"),
        (("a", "b"), TypeError, r"pair \(name, lag\)"),
        ((("a", 1.0), ("b", 0)), TypeError, "integer lag"),
        (((None, 1), ("b", 0)), ValueError, "None cannot be"),
    ],
)
def test_edges_that_are_refused(edge, error, words):
    for add in (TimeSeriesGraph().add_edge, lambda *ends: TimeSeriesGraph([ends])):
        with pytest.raises(error, match=words):
            add(*edge)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"names": ["a", "a"]}, "more than once"),
        ({"coefs": np.zeros((2, 3))}, r"shape \(2, 2\)"),
        ({"coefs": [[1.0, np.nan], [0.0, 0.0]]}, "coefs must be finite"),
        ({"coefs": [csr_array((3, 3))] * 2}, r"coefs\[0\] must have the shape"),
        ({"coefs": None}, "coefs and strengths are both None"),
        ({"coefs": [np.eye(2), np.eye(2)]}, "'a' depends on its own present"),
        ({"strengths": -np.eye(2)}, "strength must not be negative"),
        ({"confidence": np.zeros((3, 2, 2))}, "confidence has matrices of 3 lags"),
    ],
)
def test_coefficients_that_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        TimeSeriesGraph.from_coefficients(**{"names": ["a", "b"], "coefs": np.eye(2), **options})

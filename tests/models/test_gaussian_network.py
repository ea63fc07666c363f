"""The Gaussian Markov network as an object: how it is made, copied, and kept from changing."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import sparse

from helpers.examples import examples
from helpers.gaussian_networks import NAMES, dense_precision, named, networks
from pgmx.models import GaussianMarkovNetwork

make = GaussianMarkovNetwork.from_precision


def test_names_and_matrices_are_the_users():
    matrix = dense_precision(6, 0.4, 1)
    network = make(np.array(["b", "a", "x", "d", "e", "f"]), matrix, mean=range(6))
    assert network.names == tuple(network.nodes()) == ("b", "a", "x", "d", "e", "f")
    assert [type(name) for name in network.names] == [str] * 6
    assert np.array_equal(network.precision.to_numpy(), matrix)
    assert list(network.precision.columns) == list(network.precision.index) == list(network.names)
    np.testing.assert_allclose(network.covariance, np.linalg.inv(matrix), rtol=1e-10, atol=1e-12)
    assert np.array_equal(network.covariance, network.covariance.T)
    assert network.mean.to_dict() == {"b": 0, "a": 1, "x": 2, "d": 3, "e": 4, "f": 5}
    assert network.check_model()
    np.testing.assert_allclose(
        network.correlation,
        network.covariance.to_numpy() / np.outer(*[np.sqrt(np.diag(network.covariance))] * 2),
        rtol=1e-12,
    )


def test_edges_of_a_covariance_are_partial_correlations_above_the_threshold():
    """Of a chain a - b - c - d with partial correlations .9, .05 and .9 the middle one is an edge below .05 alone."""
    partial = np.eye(4)
    for i, value in enumerate([0.9, 0.05, 0.9]):
        partial[i, i + 1] = partial[i + 1, i] = -value
    covariance = np.linalg.inv(partial) * np.outer(*[[1.0, 20.0, 0.3, 4.0]] * 2)  # any units
    for threshold, edges in ((0.04, [("a", "b"), ("b", "c"), ("c", "d")]), (0.06, [("a", "b"), ("c", "d")])):
        network = GaussianMarkovNetwork.from_covariance(list("abcd"), covariance, threshold=threshold)
        assert sorted(map(tuple, map(sorted, network.edges()))) == edges


def test_names_of_all_types_and_one_variable():
    network = named(8, 0.6)
    assert list(network.nodes()) == list(network.covariance.columns) == NAMES
    assert [type(name) for name in network.names] == [type(name) for name in NAMES]
    alone = make([3], [[4.0]])
    assert repr(alone) == "GaussianMarkovNetwork(1 variable, 0 edges)"
    assert alone.covariance.loc[3, 3] == 0.25
    ints = make(range(3), np.eye(3))
    assert [type(name) for name in ints.nodes()] == [int] * 3


@given(networks())
@examples(30)
def test_edges_are_the_entries_of_the_precision(network):
    matrix = network.precision.to_numpy()
    wanted = [(i, j) for i in range(len(matrix)) for j in range(i + 1, len(matrix)) if matrix[i, j]]
    assert [(network.names.index(u), network.names.index(v)) for u, v in network.edges()] == wanted
    partial = network.partial_correlations
    assert np.array_equal(np.diag(partial), np.ones(len(matrix)))
    for (i, j), (*_, own) in zip(wanted, network.edges(data=True), strict=True):
        assert own["weight"] == pytest.approx(-matrix[i, j] / np.sqrt(matrix[i, i] * matrix[j, j]), rel=1e-12)
        assert own["strength"] == abs(own["weight"])
        assert partial.iloc[i, j] == own["weight"]


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame, np.ndarray.tolist]
)
def test_kinds_of_matrices(kind):
    matrix = dense_precision(5, 0.5, 2)
    matrix.setflags(write=False)
    given_matrix = kind(matrix)
    network = make(range(5), given_matrix, mean=np.zeros(5))
    assert np.array_equal(network.precision.to_numpy(), matrix)
    assert sparse.issparse(network.sparse_precision)
    network.standardized_precision.data[:] = 0.0  # a copy
    assert np.array_equal(network.precision.to_numpy(), matrix)


def test_scale_brings_the_precision_to_the_users_units():
    matrix, scale = dense_precision(6, 0.5, 3), 10.0 ** np.array([-12, -6, 0, 3, 9, 12])
    network = make("abcdef", matrix, mean=scale, scale=scale)
    np.testing.assert_allclose(network.precision, matrix / np.outer(scale, scale), rtol=1e-14)
    np.testing.assert_allclose(network.covariance, np.linalg.inv(matrix) * np.outer(scale, scale), rtol=1e-10)
    assert np.array_equal(network.standardized_precision.toarray(), matrix)
    assert network.scale.to_list() == scale.tolist()
    # The same network in any units: of the precision as it is, and of the covariance.
    other = make("abcdef", network.precision, mean=scale)
    third = GaussianMarkovNetwork.from_covariance("abcdef", network.covariance, mean=scale)
    rows = network.simulate(20)
    for one in (other, third):
        assert list(one.edges()) == list(network.edges())
        np.testing.assert_allclose(one.partial_correlations, network.partial_correlations, atol=1e-11)
        np.testing.assert_allclose(one.log_likelihood(rows), network.log_likelihood(rows), rtol=1e-10)
        assert one.entropy() == pytest.approx(network.entropy(), rel=1e-12)


def test_covariance_of_a_sparse_network_has_its_edges():
    network = named(8, 0.3, seed=4)
    back = GaussianMarkovNetwork.from_covariance(network.names, network.covariance, estimated_by="x", n_samples=5)
    assert list(back.edges()) == list(network.edges())
    np.testing.assert_allclose(back.precision, network.precision, rtol=1e-9, atol=1e-12)
    assert (back.estimated_by, back.n_samples) == ("x", 5.0)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"names": ["a"]}, r"one row for each of 1 names, got shape \(2, 2\)"),
        ({"names": ["a", "a"]}, "'a' occur more than once"),
        ({"names": ["a", None]}, "None cannot be the name"),
        ({"names": [], "precision": np.zeros((0, 0))}, "one variable at least"),
        ({"precision": [[1.0, 2.0], [2.0, 1.0]]}, r"smallest eigenvalue is -1, and must be above 0"),
        ({"precision": [[1.0, 1.0], [1.0, 1.0]]}, r"not positive definite"),
        ({"precision": [[1.0, 0.0], [0.0, -1.0]]}, r"its diagonal holds -1\.0 for 'b'"),
        ({"precision": [[1.0, 0.1], [0.0, 1.0]]}, "not symmetric: the entries of 'a' and 'b' differ"),
        ({"precision": [[1.0, np.nan], [0.0, 1.0]]}, "not finite in the row.s. of 'a'"),
        (
            {"precision": pd.DataFrame(np.eye(2), list("ba"), list("ba"))},
            "has labels 'b', 'a', but the names are 'a', 'b'",
        ),
        ({"mean": [1.0]}, r"mean must hold one value for each of 2 variables, got shape \(1,\)"),
        ({"mean": [1.0, np.inf]}, "mean of 'b' must be finite, got inf"),
        ({"scale": [1.0, 0.0]}, "scale of 'b' must be finite and positive, got 0"),
    ],
)
def test_wrong_numbers(options, what):
    options = {"names": ["a", "b"], "precision": np.eye(2), **options}
    with pytest.raises(ValueError, match=what):
        make(options.pop("names"), options.pop("precision"), **options)


@pytest.mark.parametrize(
    ("covariance", "what"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], "covariance is not positive definite: .* smallest eigenvalue is"),
        ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
        ([[1.0, 0.5], [0.2, 1.0]], "covariance is not symmetric"),
        ([[1.0, 0.0], [0.0, 0.0]], r"its diagonal holds 0\.0 for 'b'"),
        ([[1.0, 0.0]], "must be square"),
        ([[1.0, np.inf], [np.inf, 1.0]], "not finite in the row.s. of 'a', 'b'"),
    ],
)
def test_wrong_covariances(covariance, what):
    with pytest.raises(ValueError, match=what):
        GaussianMarkovNetwork.from_covariance(["a", "b"], covariance)


@pytest.mark.parametrize(
    "copied",
    [lambda m: m.copy(), copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
)
def test_copies(copied):
    network = named(6, 0.5, estimated_by="somewhere", n_samples=7, scale=np.arange(1, 7))
    network.graph["name"] = "six"
    network.nodes[0]["group"] = 3
    clone = copied(network)
    assert type(clone) is GaussianMarkovNetwork
    assert clone.names == network.names
    assert list(clone.edges(data=True)) == list(network.edges(data=True))
    for matrix in ("precision", "covariance", "mean", "scale"):
        assert getattr(clone, matrix).equals(getattr(network, matrix))
    assert (clone.estimated_by, clone.n_samples) == ("somewhere", 7.0)
    assert clone.graph == {"name": "six"}
    assert clone.simulate(5).equals(network.simulate(5))
    if copied is not copy.copy:
        clone.nodes[0]["group"] = 4
        assert network.nodes[0]["group"] == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.add_node(9),
        lambda m: m.add_nodes_from([9]),
        lambda m: m.remove_node(0),
        lambda m: m.remove_nodes_from([0]),
        lambda m: m.add_edge(0, "wet"),
        lambda m: m.add_edges_from([(0, "wet")]),
        lambda m: m.remove_edge(*next(iter(m.edges()))),
        lambda m: m.remove_edges_from(list(m.edges())),
        lambda m: m.clear(),
        lambda m: m.clear_edges(),
    ],
)
def test_it_cannot_be_changed(change):
    network = named()
    edges = list(network.edges())
    with pytest.raises(TypeError, match="follow from its precision and cannot be changed.*from_precision"):
        change(network)
    assert list(network.edges()) == edges


def test_networkx_and_pgmpy_work_on_it():
    network = named(6, 1.0)
    part = network.subgraph(["wet", 0])
    assert repr(part) == "GaussianMarkovNetwork(2 nodes, without a precision)"
    assert part.copy().edges["wet", 0] == network.edges["wet", 0]
    assert nx.maximum_spanning_tree(network, weight="strength").number_of_edges() == 5
    assert nx.relabel_nodes(network, {"wet": "z"}).has_edge("z", 0)
    assert network.is_clique(["wet", 0, "b a"])
    assert network.is_triangulated()
    plain = network.to_networkx()
    assert type(plain) is nx.Graph
    assert plain.edges["wet", 0] == network.edges["wet", 0]
    assert plain.nodes["wet"] == {"mean": network.mean["wet"]}
    with_variance = network.to_networkx(variance=True).nodes["wet"]
    assert with_variance["variance"] == pytest.approx(network.covariance.loc["wet", "wet"])
    assert all(type(value) is float for _, _, own in plain.edges(data=True) for value in own.values())


def test_without_a_precision_it_is_pgmpys():
    network = GaussianMarkovNetwork([("a", "b")])
    for ask in (lambda: network.precision, lambda: network.predict({"a": 1.0}), network.entropy, network.check_model):
        with pytest.raises(ValueError, match="has no precision: make it with"):
            ask()
    network.add_edges_from([("b", "c")], weights=[2.0])
    assert network.copy().edges["b", "c"]["weight"] == 2.0
    assert set(network.to_networkx().nodes()) == {"a", "b", "c"}
    with pytest.raises(ValueError, match="cannot join 'a' to itself"):
        network.add_edge("a", "a")

"""Rows of nodes in Gradraker: a dense twin of hops, directions and layers; names, weights and features that are odd."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from oracles.gradraker import compute_features, compute_rows
from pgmx.streaming import GradrakerClassifier, GradrakerRegressor
from pgmx.streaming.node_rows import hash_name, key_matrix


def draw_frequencies(n_nodes, n_components, directed, view):
    """Return the frequencies (columns, D) of the nodes in a view, outgoing edges first, from rows of one neighbour."""
    make = nx.DiGraph if directed else nx.Graph
    frequencies = []
    for direction in range(1 + directed):
        probes = make()
        for node in range(n_nodes):
            probes.add_edge(*[("probe", node), node][:: -1 if direction else 1])
        layers = [nx.Graph()] * (view - 1) + [probes] if view else None
        learner = GradrakerRegressor(
            graph=probes if not view else nx.empty_graph(probes), layers=layers, n_components=n_components, hops=1
        )
        codes = learner.set_params(variances=1e4).encode_row([("probe", node) for node in range(n_nodes)])
        sines, cosines = np.split(np.split(codes, view + 1, axis=1)[view], 2, axis=1)
        frequencies.append(np.arctan2(sines, cosines) * 100.0)
    return np.vstack(frequencies)


@pytest.mark.parametrize("hops", [(1,), (1, 2), (2,), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_codes_are_those_of_dense_matrices(directed, hops):
    rng = np.random.default_rng(0)
    n, variances, width = 14, (0.3, 1.5), 2 * 2 * 5
    graphs = []
    for seed in range(2):
        graph = nx.gnp_random_graph(n, 0.15, seed=seed, directed=directed)
        graph.add_edge(3, 3)
        for _, _, edge in graph.edges(data=True):
            edge["weight"] = float(rng.uniform(0.2, 3.0))
        graphs.append(graph)
    features = rng.normal(size=(n, 3))
    options = {"n_components": 5, "variances": variances, "hops": hops}
    learner = GradrakerRegressor(graph=graphs[0], layers=[graphs[1]], node_features=features, **options)
    codes = learner.encode_row(range(n))
    assert codes.shape == (n, 3 * width)
    for view, graph in enumerate(graphs):
        adjacency = nx.to_numpy_array(graph)
        rows = np.hstack([compute_rows(side, hops) for side in ([adjacency, adjacency.T] if directed else [adjacency])])
        expected = compute_features(rows, draw_frequencies(n, 5, directed, view), variances).reshape(n, -1)
        np.testing.assert_allclose(codes[:, view * width : (view + 1) * width], expected, atol=1e-9)
    lone = GradrakerRegressor(
        n_components=5, variances=1e4, graph=graphs[0], layers=[graphs[1]], node_features=np.eye(3)
    )
    sines, cosines = np.split(lone.encode_row(range(3))[:, -10:], 2, axis=1)
    expected = compute_features(features, np.arctan2(sines, cosines) * 100.0, variances).reshape(n, -1)
    np.testing.assert_allclose(codes[:, 2 * width :], expected, atol=1e-9)


def test_names_that_are_equal_are_one_column():
    for names in [
        (1, 1.0, True, np.int8(1), np.bool_(True)),
        (-1, -1.0, np.int64(-1)),
        (0.5, np.float64(0.5)),
        ((1, "a"), (np.int32(1), "a"), (True, np.str_("a"))),
        (frozenset("abc"), frozenset("cab")),
    ]:
        assert len({hash_name(name) for name in names}) == 1, names
    different = ["1", 1, (1,), ("1",), (1, 2), ((1,), 2), None, -1, 2**62, -(10**400), "n-1", b"a", "a", 0.5, np.inf]
    assert len({hash_name(name) for name in different}) == len(different)
    with pytest.raises(ValueError, match="no unique text"):
        hash_name(object())


@pytest.mark.slow
def test_names_are_the_same_in_another_process():
    code = "from pgmx.streaming.node_rows import hash_name; print(hash_name(('a', frozenset({'b', 'c', 'd'}))))"
    # sets and hashes of texts have another order there
    environment = {"PYTHONHASHSEED": "2", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
    assert done.stdout == f"{hash_name(('a', frozenset('bcd')))}\n"


def test_huge_and_tiny_numbers_have_directions():
    rows = np.random.default_rng(0).normal(size=(3, 5))
    expected = GradrakerRegressor().encode_row(rows)
    for factor in (2.0**600, 2.0**-600):
        np.testing.assert_array_equal(GradrakerRegressor().encode_row(rows * factor), expected)
        np.testing.assert_array_equal(GradrakerRegressor().encode_row(sparse.csr_array(rows * factor)), expected)
    assert key_matrix(rows[:0]).shape == (0,)
    path = nx.path_graph(4)
    expected = GradrakerRegressor(graph=path, hops=(1, 2, 3)).encode_row(range(4))
    nx.set_edge_attributes(path, 1e140, "weight")
    np.testing.assert_allclose(GradrakerRegressor(graph=path, hops=(1, 2, 3)).encode_row(range(4)), expected)


@pytest.mark.parametrize("weight", [np.nan, np.inf, "2", None, 1e151], ids=str)
def test_weights_that_are_no_numbers_are_refused(weight):
    graph = nx.Graph([(0, 1), (1, 2)])
    graph[1][2]["weight"] = weight
    learner = GradrakerRegressor(graph=graph)
    with pytest.raises(ValueError, match="the edge of 1 and 2 has weight="):
        learner.fit([0, 1], [1.0, 2.0])
    assert not hasattr(learner, "n_seen_")


def test_features_of_nodes_may_be_frames_mappings_arrays_or_sparse():
    graph, features = nx.path_graph(4), np.random.default_rng(0).normal(size=(4, 4))
    forms = [
        features,
        sparse.csr_array(features),
        pd.DataFrame(features),
        dict(enumerate(features)),
        features.tolist(),
    ]
    codes = [GradrakerRegressor(graph=graph, node_features=form).encode_row(range(4)) for form in forms]
    for other in codes[1:]:
        np.testing.assert_array_equal(other, codes[0])
    graph.add_edge(-1, 0)
    for form in forms:
        with pytest.raises(ValueError, match="-1, but node_features has no row"):
            GradrakerRegressor(graph=graph, node_features=form).encode_row([-1])
    with pytest.raises(ValueError, match="node_features of 0 must be numeric"):
        GradrakerRegressor(graph=graph, node_features={0: ["red"]}).encode_row([0])


def test_layers_alone_and_names_in_one_column():
    first, second, y = nx.path_graph(5), nx.path_graph(range(4, 9)), np.arange(9.0)
    learner = GradrakerRegressor(layers=[first, second]).fit(range(9), y)
    for form in (
        list(range(9)),
        np.arange(9),
        np.arange(9)[:, None],
        pd.Series(range(9)),
        pd.DataFrame({"n": range(9)}),
    ):
        np.testing.assert_array_equal(learner.predict(form), learner.predict(range(9)))
    with pytest.raises(ValueError, match="9, which is not a node of any layer"):
        learner.predict([9])
    mixed = nx.Graph([("a", (1, 2)), (3, "a")])
    assert GradrakerRegressor(graph=mixed).encode_row(["a", (1, 2), 3]).shape == (3, 200)
    for wrong in (np.zeros((3, 2)), sparse.csr_array(np.eye(3)), {1, 2}, np.array(1), 5):
        with pytest.raises(ValueError, match="names of nodes"):
            learner.predict(wrong)


def test_numbers_that_cannot_be_used_are_named_in_sparse_rows():
    rows = sparse.csr_array(np.eye(6))
    rows.data[4] = np.nan
    learner = GradrakerRegressor().fit(np.eye(6), np.arange(6.0))
    with pytest.raises(ValueError, match=r"NaN in column 4, row 4 of the chunk \(row 10"):
        learner.partial_fit(rows, np.arange(6.0))


@pytest.mark.filterwarnings("error")
def test_many_declared_classes_do_not_warn():
    labels = np.arange(42)
    learner = GradrakerClassifier().partial_fit(np.eye(42), labels, classes=labels)
    learner.partial_fit(np.eye(42)[:30], labels[:30])
    assert learner.score(np.eye(42), labels) > 0.9
    for wrong in (["a"] + [1] * 41, [None] + [1] * 41, [0.5] + [1.0] * 41):
        with pytest.raises(ValueError, match="unknown label|Unknown label|None|NaN"):
            learner.partial_fit(np.eye(42), np.array(wrong, dtype=object if wrong[0] != 0.5 else float))


@pytest.mark.parametrize("state", [None, np.random.RandomState(0)], ids=["None", "RandomState"])
def test_codes_need_a_number_that_nodes_and_server_share(state):
    with pytest.raises(ValueError, match="must be an integer, the same"):
        GradrakerRegressor(random_state=state).encode_row(np.eye(3))

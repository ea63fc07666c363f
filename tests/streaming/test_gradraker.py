"""Gradraker: twins, names and columns, order of naming, codes, layers, graphs that change."""

import pickle

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from oracles.gradraker import compute_features, learn_squares
from pgmx.streaming import GradrakerClassifier, GradrakerRegressor, StreamLearner
from pgmx.streaming.node_rows import key_matrix


def graph_of_groups(seed=0):
    """Return a graph of two dense groups and the group of each node."""
    graph = nx.planted_partition_graph(2, 30, 0.3, 0.03, seed=seed)
    return graph, np.repeat([0.0, 1.0], 30)


def draw_frequencies(learner, n_columns):
    """Return the frequencies of the columns for width 1, from the codes of unit rows with small phases."""
    wide = type(learner)(n_components=learner.n_components, variances=1e4, random_state=learner.random_state)
    sines, cosines = np.split(wide.encode_row(np.eye(n_columns)), 2, axis=1)
    return np.arctan2(sines, cosines) * 100.0


def test_frequencies_are_independent_standard_normals():
    frequencies = draw_frequencies(GradrakerRegressor(n_components=40), 500)
    assert abs(frequencies.mean()) < 0.03
    assert abs(frequencies.var() - 1.0) < 0.05
    assert abs((frequencies**4).mean() - 3.0) < 0.3
    assert np.abs(np.corrcoef(frequencies.T) - np.eye(40)).max() < 0.2
    others = draw_frequencies(GradrakerRegressor(n_components=40, random_state=1), 500)
    assert abs((frequencies * others).mean()) < 0.03


def test_codes_approach_the_kernel():
    rows = np.random.default_rng(0).random((6, 9))
    codes = GradrakerRegressor(n_components=20_000, variances=0.3).encode_row(rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    exact = np.exp(-((unit[:, None] - unit) ** 2).sum(axis=2) / 0.6)
    np.testing.assert_allclose(codes @ codes.T, exact, atol=0.03)


@pytest.mark.parametrize("cls", [GradrakerRegressor, GradrakerClassifier])
def test_learning_is_that_of_the_twin(cls):
    rng = np.random.default_rng(1)
    rows = rng.random((40, 7)) * (rng.random((40, 7)) < 0.5)
    rows[5] = 0.0
    y = rng.integers(0, 3, 40)
    learner = cls(n_components=8, variances=(0.3, 2.0), step=0.2, weight_step=0.5)
    features = compute_features(rows, draw_frequencies(learner, 7), [0.3, 2.0])
    centred = cls is GradrakerRegressor
    targets = y[:, None].astype(float) if centred else np.eye(3)[y]
    expected, weights = learn_squares(features, targets, 0.2, 0.5, centred)
    predictions = learner.predict_partial_fit(rows, y, **({} if centred else {"classes": [0, 1, 2]}))
    if centred:
        np.testing.assert_allclose(predictions, expected[:, 0], rtol=1e-9, atol=1e-11)
    else:
        np.testing.assert_array_equal(predictions[1:], expected[1:].argmax(axis=1))
    np.testing.assert_allclose(learner.kernel_weights_, weights, rtol=1e-9)


KERNELS = {
    "gaussian": lambda dots, far: np.exp(-far / 0.6),
    "laplacian": lambda dots, far: np.exp(-np.sqrt(far / 0.3)),
    "cauchy": lambda dots, far: 1 / (1 + far / 0.3),
    "linear": lambda dots, far: dots,
    "polynomial2": lambda dots, far: dots**2,
    "polynomial3": lambda dots, far: dots**3,
}


@pytest.mark.parametrize("unit_rows", [True, False])
def test_codes_of_all_kernels_approach_them(unit_rows):
    rows = 0.5 * np.random.default_rng(0).random((6, 9))
    learner = GradrakerRegressor(n_components=40_000, variances=0.3, kernels=list(KERNELS), unit_rows=unit_rows)
    codes = learner.encode_row(rows).reshape(6, 6, -1)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit_rows else rows
    dots, far = rows @ rows.T, ((rows[:, None] - rows) ** 2).sum(axis=2)
    for p, kernel in enumerate(KERNELS.values()):
        np.testing.assert_allclose(codes[:, p] @ codes[:, p].T, kernel(dots, far), atol=0.04 if p < 5 else 0.1)


def test_penalties_and_long_features_are_those_of_the_twin():
    rng = np.random.default_rng(1)
    rows, y = rng.random((40, 7)), rng.random(40)
    options = {"kernels": ("cauchy", "polynomial2", "linear"), "unit_rows": False, "step": 0.2, "penalty": 0.3}
    learner = GradrakerRegressor(n_components=8, variances=(0.3, 2.0), **options)
    features = learner.encode_row(rows).reshape(40, 4, -1)
    assert ((features**2).sum(axis=2) > 1).any()
    expected, weights = learn_squares(features, y[:, None], 0.2, 2.0, True, 0.3)
    np.testing.assert_allclose(learner.predict_partial_fit(rows, y), expected[:, 0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(learner.kernel_weights_, weights, rtol=1e-9)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(copy.predict(rows), learner.predict(rows))


def test_hops_apart_have_kernels_of_their_own():
    """Each kernel of a hop is a Gaussian kernel of its unit, or raw, rows A and A D^-1 A."""
    graph, y = graph_of_groups()
    A = nx.to_numpy_array(graph)
    for unit_rows in (True, False):
        variance = 0.5 if unit_rows else 20.0
        learner = GradrakerRegressor(
            graph=graph, separate_hops=True, unit_rows=unit_rows, n_components=20_000, variances=variance
        )
        codes = learner.encode_row(range(5)).reshape(5, 2, -1)
        for view, rows in enumerate((A[:5], (A @ (A / A.sum(axis=1)[:, None]))[:5])):
            if unit_rows:
                rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            far = ((rows[:, None] - rows) ** 2).sum(axis=2)
            np.testing.assert_allclose(codes[:, view] @ codes[:, view].T, np.exp(-far / (2 * variance)), atol=0.04)
    assert GradrakerClassifier(graph=graph, separate_hops=True).fit(range(60), y).kernel_weights_.shape == (4, 1)


def test_rows_of_names_and_matrices_agree_unscaled():
    graph, y = graph_of_groups()
    options = {"unit_rows": False, "hops": 1, "variances": 20.0}
    by_name = GradrakerRegressor(graph=graph, **options).fit(range(60), y)
    dense = GradrakerRegressor(**options).fit(nx.to_numpy_array(graph), y)
    np.testing.assert_allclose(by_name.predict(range(60)), dense.predict(nx.to_numpy_array(graph)), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernels": "rbf"}, "'rbf'"),
        ({"kernels": "laplacian_l1"}, "laplacian_l1 needs a fixed set"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": 3.0, "step": 0.5}, "diverges.*penalty=3.0"),
        ({"unit_rows": "yes"}, "unit_rows"),
        ({"separate_hops": 2}, "separate_hops"),
    ],
)
def test_refused_options(options, words):
    with pytest.raises(ValueError, match=words):
        GradrakerRegressor(**options).fit(np.eye(3), np.arange(3.0))


def test_names_are_columns_and_sparse_rows_may_widen():
    graph, y = graph_of_groups()
    rows = sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
    by_name = GradrakerRegressor(graph=graph, hops=1).fit(range(60), y)
    dense = GradrakerRegressor().fit(rows.toarray(), y)
    wide = GradrakerRegressor().partial_fit(rows[:20], y[:20])
    zeros = sparse.csr_array((40, 1000))
    wide.partial_fit(sparse.hstack([rows[20:], zeros]).tocsr(), y[20:])
    expected = dense.predict(rows)
    np.testing.assert_array_equal(wide.predict(rows), expected)
    np.testing.assert_allclose(by_name.predict(range(60)), expected, rtol=1e-10)
    assert wide.n_features_in_ == 1060
    assert np.isfinite(wide.predict(sparse.csr_array(([1.0], ([0], [10**6])), shape=(1, 10**6 + 1)))).all()


def test_order_of_naming_is_irrelevant_and_text_names_work():
    graph, y = graph_of_groups()
    nodes = [f"node {node}" for node in graph]
    edges = [(nodes[u], nodes[v]) for u, v in graph.edges]
    first, second = nx.Graph(edges), nx.Graph([edge[::-1] for edge in edges[::-1]])
    order = np.random.default_rng(0).permutation(60)
    train, test = order[:40], order[40:]
    names = np.array(nodes)
    learners = [GradrakerClassifier(graph=made).fit(names[train], y[train]) for made in (first, second)]
    learners[1].set_params(graph=first)
    np.testing.assert_array_equal(*(learner.decision_function(nodes) for learner in learners))
    assert learners[0].score(names[test], y[test]) > 0.85


def test_codes_are_as_good_as_rows(tmp_path):
    graph, y = graph_of_groups()
    node = GradrakerClassifier(graph=graph)
    server = GradrakerClassifier()
    codes = node.encode_row(list(graph))
    server.partial_fit_encoded(codes[:40], y[:40], classes=[0, 1])
    server = StreamLearner.load(server.save(tmp_path / "server.npz"))
    server.partial_fit_encoded(codes[40:], y[40:])
    node.fit(list(graph), y)
    np.testing.assert_array_equal(server.predict_encoded(codes), node.predict(list(graph)))
    np.testing.assert_array_equal(server.kernel_weights_, node.kernel_weights_)


def test_layers_features_directions_and_changes_of_the_graph(tmp_path):
    graph, y = graph_of_groups()
    noise = nx.gnp_random_graph(60, 0.2, seed=3)
    features = np.random.default_rng(0).normal(size=(60, 4)) + 2.0 * y[:, None]
    learner = GradrakerClassifier(graph=noise, layers=[graph], node_features=features).fit(range(60), y)
    weights = learner.kernel_weights_[:, 0]
    assert weights.shape == (6,)
    assert weights[:2].sum() < weights[2:].sum()
    restored = StreamLearner.load(learner.save(tmp_path / "learner.npz"))
    restored.set_params(graph=noise, layers=[graph], node_features=features)
    np.testing.assert_array_equal(restored.decision_function(range(60)), learner.decision_function(range(60)))
    with pytest.raises(ValueError, match="views"):
        learner.set_params(layers=None).predict(range(60))
    directed = nx.DiGraph([(0, 1)])
    codes = GradrakerRegressor(graph=directed, hops=1)
    assert not np.allclose(codes.encode_row([0]), codes.set_params(graph=directed.reverse()).encode_row([0]))
    before = codes.set_params(graph=directed).encode_row([1])
    directed.add_edge(1, "new")
    assert not np.allclose(codes.encode_row([1]), before)
    directed.remove_edge(1, "new")
    np.testing.assert_array_equal(codes.encode_row([1]), before)
    with pytest.raises(ValueError, match="'absent'"):
        codes.fit(["absent"], [1.0])


def test_inputs_with_zeros_and_duplicates_are_not_changed():
    rows = sparse.csr_array((np.array([1.0, 0.0, 2.0, 3.0]), np.array([2, 0, 1, 2]), np.array([0, 4])), shape=(1, 3))
    keyed = key_matrix(rows)
    np.testing.assert_array_equal(keyed.values, [2.0, 4.0])
    np.testing.assert_array_equal(rows.data, [1.0, 0.0, 2.0, 3.0])


def test_codes_can_be_inverted():
    graph = nx.random_regular_graph(3, 60, seed=0)
    phases = np.arctan2(*np.split(GradrakerRegressor(graph=graph, hops=1, variances=1.0).encode_row([0]), 2, axis=1))
    row = nnls(draw_frequencies(GradrakerRegressor(), 60).T, phases[0])[0]
    assert set(np.argsort(-row)[:3].tolist()) == set(graph[0])

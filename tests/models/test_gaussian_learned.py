"""Networks that learners hand back: textbook formulas, pgmpy, files."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.gaussian_tables import chain_rows, every_leaf, random_rows
from pgmx.estimators import GraphicalLasso, Nonparanormal, SelectedGraph
from pgmx.models import GaussianMarkovNetwork, read_model, save_model

ROWS = random_rows(7, 150, seed=12, units=True)
KNOWN, ASKED = ["x1", "x4", "x6"], ["x0", "x2", "x3", "x5"]


@every_leaf
def test_predictions_are_conditional_means(make):
    """E(a | k) = mu_a + C_ak C_kk^-1 (x_k - mu_k), by covariances; the network works with precisions."""
    learner = make(lam_ratio=0.2).fit(ROWS)
    mean = pd.Series(learner.location_, index=list(ROWS))
    C = pd.DataFrame(learner.covariance_, index=list(ROWS), columns=list(ROWS))
    gain = C.loc[ASKED, KNOWN].to_numpy() @ np.linalg.inv(C.loc[KNOWN, KNOWN])
    expected = mean[ASKED].to_numpy() + (ROWS[KNOWN] - mean[KNOWN]).to_numpy() @ gain.T
    found, spread = learner.model_.predict(ROWS[KNOWN], return_covariance=True)
    assert list(found) == ASKED
    scale = np.sqrt(np.diag(C.loc[ASKED, ASKED]))
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-8)
    left = C.loc[ASKED, ASKED].to_numpy() - gain @ C.loc[KNOWN, ASKED].to_numpy()
    np.testing.assert_allclose(spread / np.outer(scale, scale), left / np.outer(scale, scale), rtol=0, atol=1e-8)
    cell = ROWS.mask(np.eye(len(ROWS), 7, dtype=bool))  # one cell a row for the first seven
    filled = learner.model_.predict(cell)
    assert np.isfinite(filled.to_numpy()).all()
    np.testing.assert_array_equal(filled.to_numpy()[7:], ROWS.to_numpy()[7:])


def test_prediction_without_a_penalty_is_linear_regression():
    learner = GraphicalLasso(lam=0).fit(ROWS)
    X = np.column_stack([np.ones(len(ROWS)), ROWS[KNOWN]])
    expected = X @ np.linalg.lstsq(X, ROWS[ASKED].to_numpy(), rcond=None)[0]
    scale = ROWS[ASKED].std().to_numpy()
    np.testing.assert_allclose(learner.model_.predict(ROWS[KNOWN]) / scale, expected / scale, rtol=0, atol=1e-6)


@every_leaf
def test_edges_are_partial_correlations(make):
    learner = make(lam_ratio=0.3).fit(ROWS)
    theta = learner.model_.precision
    for i, j, weight in learner.graph_.edges(data="weight"):
        expected = -theta.loc[i, j] / np.sqrt(theta.loc[i, i] * theta.loc[j, j])
        assert weight == pytest.approx(expected, rel=1e-9)
        assert learner.model_.partial_correlations.loc[i, j] == pytest.approx(expected, rel=1e-9)
    assert type(learner.graph_) is nx.Graph
    assert set(map(frozenset, learner.model_.edges())) == set(map(frozenset, learner.graph_.edges()))
    assert learner.model_.check_model()
    assert learner.model_.n_samples == len(ROWS)


@every_leaf
def test_joint_distribution_of_the_bayesian_network(make):
    learner = make(lam_ratio=0.2).fit(ROWS / ROWS.std())
    for order in (None, list(ROWS)[::-1]):
        network = learner.model_.to_linear_gaussian_bn(order)
        assert network.check_model()
        names = list(nx.topological_sort(network))
        mean, covariance = network.to_joint_gaussian()
        # pgmpy rounds to 8 decimals
        np.testing.assert_allclose(mean, learner.model_.mean[names], rtol=0, atol=1e-7)
        np.testing.assert_allclose(covariance, learner.model_.covariance.loc[names, names], rtol=0, atol=1e-7)
        if order is not None:
            assert all(order.index(parent) < order.index(child) for parent, child in network.edges())


@pytest.mark.parametrize("suffix", ["npz", "json", "graphml"])
@every_leaf
def test_files(make, suffix, tmp_path):
    model = make(lam_ratio=0.3, refit=True).fit(ROWS * 1e-9).model_
    path = tmp_path / f"model.{suffix}"
    save_model(model, path)
    loaded = GaussianMarkovNetwork.load(path) if suffix == "graphml" else read_model(path)
    assert isinstance(loaded, GaussianMarkovNetwork)
    assert loaded.names == model.names
    assert set(map(frozenset, loaded.edges())) == set(map(frozenset, model.edges()))
    np.testing.assert_allclose(loaded.precision, model.precision, rtol=1e-15)
    np.testing.assert_array_equal(loaded.mean, model.mean)
    np.testing.assert_allclose(loaded.predict(ROWS[KNOWN] * 1e-9), model.predict(ROWS[KNOWN] * 1e-9), rtol=1e-12)
    if suffix != "graphml":
        assert (loaded.estimated_by, loaded.n_samples) == (model.estimated_by, 150)


def test_estimated_by():
    wide = random_rows(30, 12, seed=1)
    ways = {
        "penalised": GraphicalLasso().fit(wide),
        "maximum likelihood": GraphicalLasso(lam_ratio=0.5, refit=True).fit(ROWS),
        "maximum likelihood of correlations shrunk by": GraphicalLasso(lam=0.01, refit=True).fit(wide),
    }
    for words, learner in ways.items():
        assert learner.model_.estimated_by.startswith(words)
        assert pickle.loads(pickle.dumps(learner.model_)).estimated_by == learner.model_.estimated_by


def test_held_out_rows_are_told_apart():
    """A network learned from a chain predicts the middle better than the mean does, and simulates chains."""
    rows, later = chain_rows(5, 400, seed=1), chain_rows(5, 200, seed=2)
    for learner in (SelectedGraph(GraphicalLasso(refit=True)), Nonparanormal(GraphicalLasso(refit=True))):
        model = learner.fit(rows).model_
        error = (model.predict(later.drop(columns="x2"))["x2"] - later["x2"]).var()
        assert error < 0.62  # 1 - 2 * .36 / 1.36 is .47 of a variance of 1
        drawn = model.simulate(3000, random_state=1)
        np.testing.assert_allclose(drawn.corr(), rows.corr(), rtol=0, atol=0.12)
        conditional = model.conditional({"x2": 1.0})
        assert list(conditional.names) == ["x0", "x1", "x3", "x4"]
        others = ["x0", "x1", "x3", "x4"]
        np.testing.assert_allclose(conditional.precision, model.precision.loc[others, others], rtol=1e-12)

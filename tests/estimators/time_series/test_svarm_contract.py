"""Paths of penalties of structural vector autoregressions."""

import numpy as np
import pytest

from pgmx.estimators import KernelSVARM, LinearSVARM, SelectedGraph
from pgmx.metrics import edge_curve


def simulate(n_rows, n=5, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n))
    for t in range(2, n_rows):
        rows[t] += np.cos(1.5 * np.roll(rows[t - 1], 1)) + np.cos(1.5 * np.roll(rows[t - 2], 2))
    return rows


@pytest.mark.parametrize("cls", [LinearSVARM, KernelSVARM])
def test_each_estimate_of_a_path_is_that_of_its_penalty(cls):
    rows = simulate(80)
    learner = cls(tol=1e-8)
    path = learner.path(rows, n_lams=4, lam_min_ratio=0.2)
    assert not hasattr(learner, "means_")
    assert path.lams[0] == pytest.approx(path.lam_max)
    assert not path.strengths[0].any()
    for k in (1, 3):
        single = cls(lam=path.lams[k], tol=1e-8).fit(rows)
        np.testing.assert_allclose(path.strengths[k], single.strengths_, atol=1e-4)
        assert path.objectives[k] == pytest.approx(single.objective_, rel=1e-7)
        assert set(path.graph(k).edges()) == set(single.graph_.edges())
    assert path.selected == 3
    assert np.isnan(path.bic).all()


def test_ranking_is_the_penalty_at_which_edges_enter():
    path = KernelSVARM().path(simulate(60), n_lams=6)
    ranking = path.ranking
    for k, share in enumerate(path.lams / path.lam_max):
        entered = (path.strengths[k] > 0) & (path.strengths[:k] == 0).all(axis=0)
        np.testing.assert_allclose(ranking[entered], share)
    assert (ranking[~path.strengths.any(axis=0)] == 0).all()


def test_curve_of_a_path():
    truth = np.stack([np.zeros((5, 5)), np.roll(np.eye(5), 1, axis=0), np.roll(np.eye(5), 2, axis=0)])
    path = KernelSVARM(lags=2, instantaneous=False).path(simulate(300), n_lams=15)
    assert edge_curve(path.ranking[1:], truth[1:]).area > 0.98


def test_criteria_select_a_sparse_model():
    rows = simulate(300)
    path = KernelSVARM(lags=2, instantaneous=False).path(rows, n_lams=10, criterion="bic")
    assert path.selected == int(np.argmin(path.bic))
    assert path.selected > 0
    truth = np.stack([np.roll(np.eye(5), 1, axis=0), np.roll(np.eye(5), 2, axis=0)])
    assert ((path.strengths[path.selected][1:] > 0)[truth > 0]).all()
    assert (path.aic <= path.bic).all()
    assert path.aic[0] == pytest.approx(path.bic[0] - 5 * (np.log(298) - 2.0))  # an intercept per series


def test_degrees_of_freedom_of_single_columns_are_their_number():
    rows = simulate(100)
    path = LinearSVARM().path(rows, n_lams=5, criterion="aic")
    freedom = (path.bic - path.aic) / (np.log(99) - 2.0)
    np.testing.assert_allclose(freedom, 5 + np.count_nonzero(path.strengths, axis=(1, 2, 3)), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "ebic"}, "criterion"),
        ({"lams": [0.0]}, "lams"),
        ({"lams": []}, "lams"),
        ({"lam_min_ratio": 1.0}, "lam_min_ratio"),
        ({"n_lams": 0}, "n_lams"),
    ],
)
def test_errors_of_paths(options, message):
    with pytest.raises(ValueError, match=message):
        LinearSVARM().path(simulate(30), **options)


# ---- selection ----


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_selection_finds_the_order(criterion):
    rows = simulate(400)
    learner = KernelSVARM(instantaneous=False)
    chosen = learner.select(rows, criterion=criterion, lags=[1, 2, 3], n_lams=8)
    assert chosen.lags == 2
    assert learner.lags == 1
    assert learner.lam is None
    assert chosen.lam_ == pytest.approx(chosen.path_.lams[chosen.path_.selected])
    truth = np.stack([np.roll(np.eye(5), 1, axis=0), np.roll(np.eye(5), 2, axis=0)])
    assert (chosen.strengths_[1:][truth > 0] > 0).all()
    assert chosen.fitted_values(rows).shape == (398, 5)


def test_orders_are_compared_on_the_same_rows():
    rows = simulate(120)
    chosen = KernelSVARM(instantaneous=False).select(rows, lags=[1, 2], n_lams=4)
    one = KernelSVARM(instantaneous=False).path(rows[1:], n_lams=4, criterion="bic")
    two = KernelSVARM(instantaneous=False, lags=2).path(rows, n_lams=4, criterion="bic")
    assert two.bic.min() < one.bic.min()
    assert chosen.lags == 2
    np.testing.assert_allclose(chosen.path_.bic, two.bic)


@pytest.mark.parametrize("options", [{"criterion": "ebic"}, {"lags": []}, {"lags": [0]}])
def test_errors_of_selections(options):
    with pytest.raises(ValueError, match="criterion|lags"):
        LinearSVARM().select(simulate(30), **options)


def test_selected_graph_is_the_selection_of_the_learner():
    rows = simulate(300)
    learner = KernelSVARM(instantaneous=False)
    selected = SelectedGraph(learner, selection="bic", lags=[1, 2], n_lams=8).fit(rows)
    chosen = learner.select(rows, lags=[1, 2], n_lams=8)
    assert selected.estimator_.lags == chosen.lags == 2
    assert selected.lam_ == chosen.lam_
    assert set(selected.graph_.edges()) == set(chosen.graph_.edges())
    assert selected.score(rows) == pytest.approx(chosen.score(rows))
    np.testing.assert_array_equal(selected.path_.bic, chosen.path_.bic)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (SelectedGraph(KernelSVARM()), "aic, bic, cv"),
        (SelectedGraph(selection="bic"), "ebic"),
        (SelectedGraph(lags=[1]), "lags is only for"),
        (SelectedGraph(LinearSVARM(), selection="aic", lags=[0]), "lags"),
        (SelectedGraph(LinearSVARM(), selection="aic", checkpoint="file"), "checkpoint is not supported"),
    ],
)
def test_errors_of_selected_graph(selection, message):
    with pytest.raises(ValueError, match=message):
        selection.fit(simulate(40))

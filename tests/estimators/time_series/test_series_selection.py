"""SelectedGraph over series: EBIC and errors behind a rolling origin against plain recomputations."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from helpers.series_learners import frame_of_system
from pgmx.datasets import sparse_system
from pgmx.estimators import DenseLDS, KernelSVARM, LinearSVARM, SelectedGraph, SparsityInducingLDS


def sparse_rows(n=12, n_times=400, seed=0):
    """Return rows of a sparse system, and its coefficients."""
    rng, coef = np.random.default_rng(seed), sparse_system(n, degree=2, radius=0.8, random_state=seed).toarray()
    rows = np.zeros((n_times, n))
    for t in range(1, n_times):
        rows[t] = coef @ rows[t - 1] + rng.standard_normal(n)
    return rows, coef


def test_ebic_is_that_of_least_squares_over_the_edges():
    rows, coef = sparse_rows()
    selected = SelectedGraph(SparsityInducingLDS(), gamma=0.5).fit(rows)
    np.testing.assert_array_equal(selected.estimator_.coef_.toarray() != 0, coef != 0)
    path, scaled = selected.path_, rows / rows.std(axis=0)
    for k in (3, path.selected, len(path) - 1):
        value = 0.0
        for target in range(12):
            sources = path.edges[k][path.edges[k][:, 1] == target, 2]
            solution = np.linalg.lstsq(scaled[:-1, sources], scaled[1:, target], rcond=None)[0]
            residuals = scaled[1:, target] - scaled[:-1, sources] @ solution
            value += 399 * np.log(residuals @ residuals / 399)
        value += len(path.edges[k]) * (np.log(399) + 2 * 0.5 * np.log(12))
        assert path.criterion[k] == pytest.approx(value, rel=1e-9)
    assert path.criterion[path.selected] == path.criterion.min()
    assert path.n_edges[path.selected] == selected.graph_.number_of_edges() == 24
    assert path.graph(path.selected).edges == selected.graph_.edges
    assert selected.lam_ == path.lams[path.selected]


def test_errors_are_those_of_the_parts_behind_each_origin():
    rows, coef = sparse_rows(seed=1)
    learner = SparsityInducingLDS(standardize=False, refit=False, fit_intercept=True)
    selected = SelectedGraph(learner, selection="cv", n_folds=3).fit(rows + 2)
    origins, shifted = [100, 200, 300, 399], rows + 2
    for k in (5, selected.path_.selected):
        errors = []
        for before, after in pairwise(origins):
            fitted = clone(learner).set_params(lam=float(selected.path_.lams[k])).fit(shifted[: before + 1])
            means = fitted.intercept_ + shifted[before:after] @ fitted.coef_.toarray().T
            errors.append((shifted[before + 1 : after + 1] - means) ** 2)
        assert selected.path_.criterion[k] == pytest.approx(np.concatenate(errors).mean(), rel=1e-8)
    assert (selected.estimator_.coef_.toarray()[coef != 0] != 0).all()


@pytest.mark.parametrize("selection", ["ebic", "cv"])
def test_orders_are_compared_on_the_same_rows(selection):
    """Series that depend on what was two rows before; the criterion of each order is that of it alone, in one unit."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 3))
    for t in range(2, 300):
        rows[t] += 0.5 * np.roll(rows[t - 2], 1)
    options = {"selection": selection, "n_lams": 6}
    chosen = SelectedGraph(SparsityInducingLDS(standardize=False), lags=[1, 2, 3], **options).fit(rows)
    alone = {}
    for order in (1, 2, 3):
        one = SelectedGraph(SparsityInducingLDS(standardize=False, lags=order), **options).fit(rows[3 - order :])
        alone[order] = one.path_.criterion.min()
    assert min(alone, key=alone.get) == chosen.estimator_.lags == 2
    assert chosen.path_.criterion.min() == alone[2]
    assert chosen.estimator_.n_targets_ == 297
    scaled = SelectedGraph(SparsityInducingLDS(), lags=[1, 2], **options).fit(rows * [1.0, 1e3, 1e-3])
    assert scaled.estimator_.lags == 2


def test_a_list_of_one_order_is_that_order():
    rows, _ = sparse_rows(5, 150)
    one = SelectedGraph(SparsityInducingLDS(), lags=[2]).fit(rows)
    two = SelectedGraph(SparsityInducingLDS(lags=2)).fit(rows)
    np.testing.assert_array_equal(one.path_.criterion, two.path_.criterion)
    assert set(one.graph_.edges) == set(two.graph_.edges)


@pytest.mark.parametrize("make", [LinearSVARM, KernelSVARM])
@pytest.mark.parametrize("instantaneous", [False, True])
def test_errors_of_structural_models_are_those_of_the_parts_behind_each_origin(make, instantaneous):
    rows, _ = sparse_rows(4, 121, seed=1)
    learner = make(instantaneous=instantaneous, tol=1e-9)
    selected = SelectedGraph(learner, selection="cv", n_folds=3, n_lams=6, lam_min_ratio=0.005).fit(rows)
    path, units = selected.path_, rows.var(axis=0)
    for k in (2, path.selected):
        errors = []
        for before, after in pairwise([30, 60, 90, 120]):
            lam = float(path.lams[k]) * before / 120
            fitted = clone(learner).set_params(lam=lam).fit(rows[: before + 1])
            errors.append((rows[before + 1 : after + 1] - fitted.fitted_values(rows[before : after + 1])) ** 2 / units)
        assert path.errors[k] == pytest.approx(np.concatenate(errors).mean(), rel=1e-6)
    assert path.selected == int(np.argmin(path.errors))
    assert np.isnan(path.bic).all()
    assert selected.lam_ == path.lams[path.selected]


def test_series_that_are_constant_before_an_origin_are_named():
    rows, _ = sparse_rows(3, 60)
    rows[:30, 1] = 0.0
    with pytest.raises(ValueError, match="constant series 'x1' before origin 1: give fewer folds"):
        SelectedGraph(LinearSVARM(), selection="cv", n_folds=5).fit(rows)


def test_orders_of_structural_models_by_errors():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 3))
    for t in range(2, 200):
        rows[t] += np.cos(2.0 * np.roll(rows[t - 2], 1))
    options = {"selection": "cv", "lags": [1, 2], "n_lams": 5, "n_folds": 3}
    assert SelectedGraph(KernelSVARM(instantaneous=False), **options).fit(rows).estimator_.lags == 2


@pytest.mark.slow
def test_pairs_are_divided_in_their_order():
    """400 pairs of rows: the errors are those of least squares on the pairs before each origin."""
    rng, coef = np.random.default_rng(0), np.array([[0.6, 0.0], [0.5, 0.3]])
    pairs = []
    for _ in range(400):
        first = rng.standard_normal(2)
        pairs.append(np.stack([first, coef @ first + 0.5 * rng.standard_normal(2)]))
    learner = SparsityInducingLDS(standardize=False, refit=False)
    selected = SelectedGraph(learner, selection="cv", n_folds=3, n_lams=5).fit(pairs)
    errors = []
    for before, after in pairwise([100, 200, 300, 400]):
        fitted = clone(learner).set_params(lam=float(selected.path_.lams[2])).fit(pairs[:before])
        errors += [(second - fitted.coef_ @ first) ** 2 for first, second in pairs[before:after]]
    assert selected.path_.criterion[2] == pytest.approx(np.mean(errors), rel=1e-9)
    structural = SelectedGraph(LinearSVARM(), selection="cv", n_folds=3, n_lams=4, lam_min_ratio=0.001).fit(pairs)
    assert structural.estimator_.n_targets_ == 400


def test_results_are_those_of_the_chosen_learner():
    rows, _ = sparse_rows(6, 200)
    frame = pd.DataFrame(rows, columns=list("abcdef"), index=pd.date_range("2020-01-01", periods=200))
    selected = SelectedGraph(SparsityInducingLDS(frame, lags=2))
    assert selected.estimate() is selected.graph_
    same = SparsityInducingLDS(lags=2, lam=selected.lam_).fit(frame)
    assert same.graph_.edges == selected.graph_.edges
    assert selected.score(frame) == same.score(frame)
    assert selected.model_ is selected.estimator_.model_
    assert selected.variables_ == list("abcdef")
    assert len(selected.history_["objective"]) == len(selected.path_) + 1  # the chosen one is repeated at the end
    pieces = clone(selected).fit(iter([frame[:50], frame[50:]]))
    assert pieces.graph_.edges == selected.graph_.edges


@pytest.mark.parametrize(
    ("selected", "message"),
    [
        (SelectedGraph(DenseLDS()), "DenseLDS has no penalty"),
        (SelectedGraph(SparsityInducingLDS(screen=2)), "screen=None"),
        (SelectedGraph(SparsityInducingLDS(), selection="stars"), "choose one of ebic, cv"),
        (SelectedGraph(SparsityInducingLDS(), selection="cv", n_folds=99), "n_folds=99 needs a series with"),
        (SelectedGraph(SparsityInducingLDS(), checkpoint="x.npz"), "checkpoint is only for Gaussian"),
    ],
)
def test_faults(selected, message):
    with pytest.raises(ValueError, match=message):
        selected.fit(frame_of_system(3, 60))

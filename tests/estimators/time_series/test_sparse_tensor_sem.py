"""Sparse structural equations from windows: results, known edges, the choice of the penalty, and bad input."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmx.datasets import switching_series
from pgmx.estimators import IdentifiabilityWarning, SelectedGraph, SparseTensorSEM, TensorSEM
from pgmx.estimators.time_series.equations import sparse_problem

MODES = ["known", "partial", "blind"]


def make_series(n=6, n_windows=8, window=300, seed=0):
    """Return coefficients of a cycle and drawn series."""
    coef = np.roll(np.diag(np.random.default_rng(seed).uniform(0.3, 0.6, n)), 1, axis=1)
    return coef, switching_series(coef, n_windows, window, noise=0.05, random_state=seed)


def learn(mode, drawn, **options):
    powers = drawn.exogenous_power
    if mode == "partial":
        powers = np.where(np.random.default_rng(0).random(powers.shape) < 0.5, np.nan, powers)
    learner = SparseTensorSEM(exogenous=mode, window=300, **options)
    return learner.fit(drawn.series, exogenous_power=None if mode == "blind" else powers)


@pytest.mark.parametrize("mode", MODES)
def test_results(mode):
    coef, drawn = make_series()
    learner = learn(mode, drawn)
    np.testing.assert_array_equal(learner.coef_ != 0, coef != 0)
    assert np.abs(learner.coef_ - coef).max() < 0.06
    assert learner.converged_
    assert learner.kkt_residual_ <= 1e-6
    assert len(learner.graph_.instantaneous_edges) == 6
    strength = drawn.exogenous_power * drawn.gain**2  # what is identified without the powers
    np.testing.assert_allclose(learner.exogenous_power_ * learner.gain_**2, strength, rtol=0.35)
    penalised = learn(mode, drawn, refit=False, adaptive=False, lam_ratio=0.2)
    assert np.abs(penalised.coef_).sum() < np.abs(learner.coef_).sum()
    assert not learn(mode, drawn, lam_ratio=1.0).coef_.any()
    assert learn(mode, drawn, lam=0.999 * learner.lam_max_, refit=False).coef_.any()


def test_a_refit_is_the_maximum_of_the_likelihood_with_these_edges():
    _, drawn = make_series()
    learner = learn("blind", drawn)
    missing = np.argwhere((learner.coef_ == 0) & ~np.eye(6, dtype=bool))
    forbidden = [((f"x{j}", 0), (f"x{i}", 0)) for i, j in missing]
    dense = TensorSEM(exogenous="blind", window=300, forbidden_edges=forbidden).fit(drawn.series)
    np.testing.assert_allclose(learner.coef_, dense.coef_, atol=1e-5)


def test_an_optimum_starts_at_the_better_of_two_matrices(monkeypatch):
    _, drawn = make_series()
    learner = SparseTensorSEM(exogenous="blind", window=300)
    data, make = learner._prepare(learner._open(drawn.series), None)
    problem = make(data)
    monkeypatch.setattr(sparse_problem, "minimise_sparse", lambda loss, penalties, start, **options: start.matrix)
    # the maximum of the likelihood has the smallest loss, but a large penalty
    assert not problem.solve(problem.lam_max, problem.dense).any()
    np.testing.assert_array_equal(problem.solve(1e-9 * problem.lam_max, problem.dense), problem.dense)


def test_known_edges_and_units():
    _, drawn = make_series()
    edges = {"required_edges": [(("x3", 0), ("x0", 0))], "forbidden_edges": [(("x1", 0), ("x0", 0))]}
    learner = learn("blind", drawn, lam_ratio=1.0, **edges)
    assert [tuple(edge) for edge in np.argwhere(learner.coef_)] == [(0, 3)]
    learner = learn("blind", drawn, **edges)
    assert learner.coef_[0, 3] != 0 == learner.coef_[0, 1]
    scales = np.array([1e-3, 1.0, 50.0, 1e4, 0.2, 3.0])
    other = learn("blind", drawn._replace(series=drawn.series * scales), **edges)
    np.testing.assert_allclose(other.coef_ * scales / scales[:, None], learner.coef_, atol=1e-5)
    assert other.lam_ == pytest.approx(learner.lam_, rel=1e-6)


@pytest.mark.parametrize("selection", ["ebic", pytest.param("cv", marks=pytest.mark.slow)])
def test_the_penalty_is_chosen_from_a_path(selection):
    coef, drawn = make_series()
    sparse = SparseTensorSEM(exogenous="blind", window=300)
    selected = SelectedGraph(sparse, selection=selection, n_lams=7).fit(drawn.series)
    path, learner = selected.path_, selected.estimator_
    assert path.criterion[path.selected] == path.criterion.min()
    assert set(path.graph(path.selected).edges) == set(learner.graph_.edges)
    assert selected.lam_ == learner.lam_ == path.lams[path.selected]
    assert (learner.coef_ != 0)[coef != 0].all()
    if selection == "ebic":
        np.testing.assert_array_equal(learner.coef_ != 0, coef != 0)
        values = [2 * _count_loss(learner, drawn) + len(path.edges[path.selected]) * (np.log(2400) + np.log(5))]
        assert path.criterion[path.selected] == pytest.approx(values[0], rel=1e-6)


def _count_loss(learner, drawn):
    """Return minus the log-likelihood of all rows, without the constants of the loss, for unit series."""
    scales = drawn.series.std(axis=0)
    rows = np.eye(6) - learner.coef_ * scales / scales[:, None]
    inputs = np.split((drawn.series / scales) @ rows.T, 8)
    spread = sum(0.5 * np.log((part**2).mean(axis=0)).sum() / 8 for part in inputs)
    return 2400 * (spread - np.linalg.slogdet(rows)[1])


def test_held_out_windows_are_scored_by_their_likelihood():
    """Two folds of two windows, computed again by hand."""
    _, drawn = make_series(n=3, n_windows=4)
    options = {"exogenous": "blind", "window": 300}
    selected = SelectedGraph(SparseTensorSEM(**options), selection="cv", n_folds=2, n_lams=4, early_stopping=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = selected.fit(drawn.series).path_
        windows = [part / drawn.series.std(axis=0) for part in np.split(drawn.series, 4)]
        total = 0.0
        for fold in (0, 1):
            learner = SparseTensorSEM(exogenous="blind", lam=float(path.lams[-1]))
            # lam does not depend on units, and the scales of the whole series are those of the path
            learner.fit([windows[1 - fold], windows[3 - fold]])
            rows = np.eye(3) - learner.coef_
            for part in (windows[fold], windows[2 + fold]):
                own = ((part @ rows.T) ** 2).mean(axis=0)
                total += (0.5 * np.log(own) + 0.5).sum() / 4 - np.linalg.slogdet(rows)[1] / 4
    assert path.criterion[-1] == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lam": 0.0}, r"'lam' .* in the range \(0\.0, inf\) or None\. Got 0\.0"),
        ({"lam": True}, "lam=True of SparseTensorSEM must be a number, not a boolean"),
        ({"lam_ratio": 1.5}, r"'lam_ratio' .* in the range \(0\.0, 1\.0\]\. Got 1\.5"),
        ({"adaptive": 2}, "'adaptive' .* 'bool' .* Got 2"),
        ({"refit": "yes"}, "'refit' .* 'bool' .* Got 'yes'"),
        ({"tol": 0}, r"'tol' .* in the range \(0\.0, inf\)\. Got 0"),
        ({"exogenous": "known"}, r"exogenous='known' needs exogenous_power, .* shape \(8, 6\): pass it to fit"),
        ({"window": 6}, "window 0 has 6 rows for 6 series, .*: give longer windows"),
    ],
)
def test_bad_input(options, text):
    _, drawn = make_series()
    with pytest.raises(ValueError, match=text):
        SparseTensorSEM(**{"exogenous": "blind", "window": 300, **options}).fit(drawn.series)


@pytest.mark.parametrize(
    ("learner", "options", "text"),
    [
        ({"exogenous": "known"}, {}, "SelectedGraph has no powers .* got exogenous='known': give exogenous='blind'"),
        ({}, {"selection": "stars"}, "selection='stars' is not supported .*: choose one of ebic, cv"),
        ({}, {"selection": "cv", "n_folds": 9}, "n_folds=9 needs 9 windows, got 8: give fewer folds"),
        ({}, {"lags": [1]}, "lags is not for SparseTensorSEM, whose edges are instantaneous: leave it out"),
        ({}, {"checkpoint": "file"}, "checkpoint is only for .*: leave it out"),
    ],
)
def test_bad_choices(learner, options, text):
    _, drawn = make_series()
    with pytest.raises(ValueError, match=text):
        SelectedGraph(SparseTensorSEM(**{"exogenous": "blind", "window": 300, **learner}), **options).fit(drawn.series)


def test_warnings():
    coef, drawn = make_series()
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        assert not learn("blind", drawn, max_iter=1).converged_
    with pytest.warns(IdentifiabilityWarning, match="not identifiable"):
        learn("blind", switching_series(coef, 8, 300, same_power=True))

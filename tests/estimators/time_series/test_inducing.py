"""Sparse linear dynamical systems by the lasso, against scikit-learn's lasso and least squares."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from helpers.linear_series import draw_series, draw_sparse_series
from pgmx.estimators import DenseLDS, SparsityInducingLDS
from pgmx.metrics import coefficient_error, prediction_error, structure_recall


def stack(learner):
    """Return the coefficients as a dense array of shape (n, lags n)."""
    coefs = learner.coef_[1:] if isinstance(learner.coef_, tuple) else [learner.coef_]
    return np.hstack([coef.toarray() for coef in coefs])


def solve_slowly(parts, lam, lags, scales):
    """Return scikit-learn's coefficients in the units of the rows, of shape (n, lags n)."""
    X = np.vstack([np.hstack([part[lags - k : -k] for k in range(1, lags + 1)]) for part in parts]) / np.tile(
        scales, lags
    )
    Y = np.vstack([part[lags:] for part in parts]) / scales
    coef = Lasso(alpha=lam, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(X, Y).coef_
    return coef * scales[:, None] / np.tile(scales, lags)


@pytest.mark.parametrize("screen", [None, 5])
@pytest.mark.parametrize("lags", [1, 2])
@pytest.mark.parametrize("standardize", [True, False])
def test_coefficients_are_scikit_learns(standardize, lags, screen):
    rows = draw_sparse_series()[0] * np.linspace(0.5, 20.0, 30)
    parts = [rows[:150], rows[150:]]
    lam = 0.05 if standardize else 3.0
    learner = SparsityInducingLDS(lags=lags, lam=lam, refit=False, standardize=standardize, screen=screen).fit(parts)
    scales = rows.std(axis=0) if standardize else np.ones(30)
    expected = solve_slowly(parts, lam, lags, scales)
    np.testing.assert_allclose(stack(learner), expected, rtol=1e-8, atol=1e-8)
    assert learner.kkt_residual_ < 1e-8 * lam
    assert learner.lam_ == lam
    assert learner.n_targets_ == 400 - 2 * lags
    if lags == 2:
        assert learner.coef_[0].nnz == 0
        assert len(learner.coef_) == 3


def test_intercept_and_exogenous_columns_are_not_penalised():
    rows, _ = draw_sparse_series(n=10)
    rng = np.random.default_rng(3)
    outside = rng.standard_normal(400)
    frame = pd.DataFrame(rows, columns=[f"s{i}" for i in range(10)]).assign(outside=outside)
    frame["s1"] = rows[:, 1] * 3 + 2 * outside + 5
    for screen in (None, 3):
        learner = SparsityInducingLDS(
            lam=0.1, refit=False, fit_intercept=True, exogenous_columns=["outside"], screen=screen
        ).fit(frame)
        series = frame.drop(columns="outside").to_numpy()
        Z = np.column_stack([outside[1:], np.ones(399)])
        scales = series.std(axis=0)
        project = np.eye(399) - Z @ np.linalg.pinv(Z)
        lasso = Lasso(alpha=0.1, fit_intercept=False, tol=1e-13, max_iter=10**6)
        expected = lasso.fit(project @ (series[:-1] / scales), project @ (series[1:] / scales)).coef_
        expected = expected * scales[:, None] / scales
        np.testing.assert_allclose(learner.coef_.toarray(), expected, atol=1e-7)
        beside = np.linalg.pinv(Z) @ (series[1:] - series[:-1] @ expected.T)
        np.testing.assert_allclose(learner.exogenous_coef_[:, 0], beside[0], atol=1e-7)
        np.testing.assert_allclose(learner.intercept_, beside[1], atol=1e-6)
        residuals = series[1:] - series[:-1] @ expected.T - Z @ beside
        np.testing.assert_allclose(learner.noise_covariance_, residuals.T @ residuals / 399, atol=1e-6)


def test_k_and_refit():
    rows, coef = draw_sparse_series(n_times=2000)
    learner = SparsityInducingLDS(k=3).fit(rows)
    assert (np.diff(learner.coef_.indptr) <= 3).all()
    assert structure_recall(learner, coef) > 0.95
    for target in (0, 7, 29):
        parents = learner.coef_.indices[learner.coef_.indptr[target] : learner.coef_.indptr[target + 1]]
        expected = np.linalg.lstsq(rows[:-1, parents], rows[1:, target], rcond=None)[0]
        np.testing.assert_allclose(learner.coef_[[target]].toarray()[0, parents], expected, atol=1e-9)
    shrunk = SparsityInducingLDS(k=3, refit=False).fit(rows)
    assert (shrunk.coef_ != 0).toarray().tolist() == (learner.coef_ != 0).toarray().tolist()
    assert (np.abs(shrunk.coef_.data) < np.abs(learner.coef_.data)).mean() > 0.9
    screened = SparsityInducingLDS(k=3, screen=5).fit(rows)
    np.testing.assert_allclose(screened.coef_.toarray(), learner.coef_.toarray(), atol=1e-9)


def test_knowledge():
    rows, _ = draw_sparse_series(n=12)
    full = SparsityInducingLDS(lam=0.1, lags=2).fit(rows)
    strongest = int(abs(full.coef_[1].toarray()[0]).argmax())
    weakest = next(v for v in range(12) if not full.coef_[2].toarray()[0, v])
    knowledge = {
        "forbidden_edges": [((f"x{strongest}", 1), ("x0", 0))],
        "required_edges": [((f"x{weakest}", 2), ("x0", 0))],
    }
    for options in ({}, {"screen": 4}, {"k": 1}, {"k": 1, "solver": "sgd"}):
        coef = SparsityInducingLDS(lam=0.1, lags=2, **knowledge, **options).fit(rows).coef_
        assert coef[1].toarray()[0, strongest] == 0
        assert coef[2].toarray()[0, weakest] != 0
        if not options:
            np.testing.assert_allclose(coef[1].toarray()[1:], full.coef_[1].toarray()[1:], atol=1e-12)


def test_penalties():
    rows, _ = draw_sparse_series()
    learner = SparsityInducingLDS(lam_ratio=0.25).fit(rows)
    scaled = rows / rows.std(axis=0)
    assert learner.lam_max_ == pytest.approx(np.abs(scaled[:-1].T @ scaled[1:] / 399).max(), rel=1e-12)
    assert learner.lam_ == 0.25 * learner.lam_max_
    assert SparsityInducingLDS(lam=learner.lam_max_).fit(rows).coef_.nnz == 0
    assert SparsityInducingLDS(lam=0.999 * learner.lam_max_).fit(rows).coef_.nnz == 1


def test_stochastic_gradient_finds_the_parents():
    rows, coef = draw_sparse_series(n_times=3000)
    learner = SparsityInducingLDS(k=3, solver="sgd", lam=1e-3).fit(rows)
    assert structure_recall(learner, coef) > 0.9
    again = SparsityInducingLDS(k=3, solver="sgd", lam=1e-3).fit(rows)
    np.testing.assert_array_equal(learner.coef_.toarray(), again.coef_.toarray())
    assert learner.kkt_residual_ > 1e-6


def test_units_and_order_of_the_series():
    """Scaled series scale the coefficients, and no edge changes; permuted series permute them."""
    rows, _ = draw_sparse_series(n=15)
    scales = np.geomspace(1e-3, 1e4, 15)
    order = np.random.default_rng(0).permutation(15)
    for refit in (True, False):
        plain = SparsityInducingLDS(lam=0.08, refit=refit).fit(rows).coef_.toarray()
        scaled = SparsityInducingLDS(lam=0.08, refit=refit).fit(rows * scales).coef_.toarray()
        np.testing.assert_allclose(scaled / scales[:, None] * scales, plain, atol=1e-9)
        permuted = SparsityInducingLDS(lam=0.08, refit=refit).fit(rows[:, order]).coef_.toarray()
        np.testing.assert_allclose(permuted, plain[np.ix_(order, order)], atol=1e-9)


def test_a_small_penalty_comes_to_least_squares():
    rows, _ = draw_sparse_series(n=8)
    dense = DenseLDS().fit(rows).coef_
    np.testing.assert_allclose(SparsityInducingLDS(lam=1e-9, refit=False).fit(rows).coef_.toarray(), dense, atol=1e-6)
    np.testing.assert_allclose(SparsityInducingLDS(lam=1e-9).fit(rows).coef_.toarray(), dense, atol=1e-9)


def test_more_series_than_rows():
    rows, _ = draw_sparse_series(n=200, n_times=80, degree=1)
    learner = SparsityInducingLDS(lam_ratio=0.02, refit=False).fit(rows)
    assert learner.kkt_residual_ < 1e-8 * learner.lam_
    assert np.isfinite(SparsityInducingLDS(lam_ratio=0.02).fit(rows).coef_.data).all()


def test_errors():
    rows, _ = draw_sparse_series(n=5)
    with pytest.raises(ValueError, match="needs k"):
        SparsityInducingLDS(solver="sgd").fit(rows)
    with pytest.raises(ValueError, match="'lam' parameter"):
        SparsityInducingLDS(lam=0.0).fit(rows)
    with pytest.raises(ValueError, match="does not support sample_weight"):
        SparsityInducingLDS().fit(rows, sample_weight=np.ones(400))


def test_several_lags_are_recovered():
    rng = np.random.default_rng(0)
    coefs = [np.diag(np.full(6, 0.3)), np.diag(rng.uniform(-0.5, 0.5, 5), k=1)]
    learner = SparsityInducingLDS(lags=2, lam=0.08).fit(draw_series(coefs, 3000))
    np.testing.assert_allclose(stack(learner), np.hstack(coefs), atol=0.1)


def test_chunks_give_what_the_whole_gives():
    rows, _ = draw_sparse_series(n=10)
    frame = pd.DataFrame(rows, columns=[f"s{i}" for i in range(10)])
    for options in ({"lags": 2, "lam": 0.1}, {"lam": 0.1, "refit": False, "fit_intercept": True}):
        whole = SparsityInducingLDS(**options).fit(frame)
        parts = (frame.iloc[first : first + 90].reset_index(drop=True) for first in range(0, 400, 90))
        pieces = SparsityInducingLDS(**options).fit(parts)
        np.testing.assert_allclose(stack(pieces), stack(whole), atol=1e-10)
        np.testing.assert_allclose(pieces.noise_covariance_, whole.noise_covariance_, atol=1e-9)
        assert pieces.lam_max_ == pytest.approx(whole.lam_max_, rel=1e-10)


def test_metrics_take_learners_and_their_models():
    rows, coef = draw_sparse_series(n=10)
    learner = SparsityInducingLDS(fit_intercept=True).fit(rows)
    errors = [prediction_error(thing, rows) for thing in (learner, learner.model_)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-12)
    assert errors[0] < 1
    assert coefficient_error(learner, coef) == pytest.approx(coefficient_error(learner.model_, coef), rel=1e-12)

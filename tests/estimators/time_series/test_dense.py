"""Linear dynamical systems by least squares against numpy's least squares."""

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators.time_series.dense import DenseLDS


def simulate(n=4, n_times=200, seed=0, level=0.0):
    """Return rows of a stable system of one lag, and its coefficients."""
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=(n, n))
    coef *= 0.9 / np.abs(np.linalg.eigvals(coef)).max()
    rows = np.zeros((n_times, n))
    for t in range(1, n_times):
        rows[t] = coef @ rows[t - 1] + rng.normal(size=n)
    return rows + level, coef


@pytest.mark.parametrize("solver", ["gram", "svd"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("lags", [1, 3])
def test_coefficients_are_those_of_least_squares(solver, standardize, lags):
    rows, _ = simulate(level=5.0)
    learner = DenseLDS(lags=lags, solver=solver, standardize=standardize, fit_intercept=True).fit(rows)
    predictors = np.hstack([*(rows[lags - k : -k] for k in range(1, lags + 1)), np.ones((len(rows) - lags, 1))])
    expected = np.linalg.lstsq(predictors, rows[lags:], rcond=None)[0]
    coef = learner.coef_[None] if lags == 1 else learner.coef_[1:]
    np.testing.assert_allclose(np.hstack(list(coef)), expected[:-1].T, atol=1e-11)
    np.testing.assert_allclose(learner.intercept_, expected[-1], atol=1e-10)
    residuals = rows[lags:] - predictors @ expected
    np.testing.assert_allclose(learner.noise_covariance_, residuals.T @ residuals / len(residuals), atol=1e-10)
    assert learner.n_targets_ == len(rows) - lags
    assert learner.n_left_out_ == 0


def test_no_lag_crosses_the_border_of_two_series():
    rows, _ = simulate()
    parts = [rows[:80], rows[80:]]
    predictors = np.vstack([part[:-1] for part in parts])
    targets = np.vstack([part[1:] for part in parts])
    expected = np.linalg.lstsq(predictors, targets, rcond=None)[0].T
    for panel in (parts, {"a": parts[0], "b": parts[1]}):
        np.testing.assert_allclose(DenseLDS().fit(panel).coef_, expected, atol=1e-12)


def test_forbidden_edges_have_no_coefficient_and_the_others_are_least_squares():
    rows, _ = simulate()
    forbidden = [(("x1", 1), ("x0", 0)), (("x3", 2), ("x2", 0))]
    coef = DenseLDS(lags=2, forbidden_edges=forbidden).fit(rows).coef_
    predictors = np.hstack([rows[1:-1], rows[:-2]])
    for target in range(4):
        allowed = [p for p in range(8) if (target, p) not in {(0, 1), (2, 7)}]
        expected = np.linalg.lstsq(predictors[:, allowed], rows[2:, target], rcond=None)[0]
        np.testing.assert_allclose(np.hstack([coef[1], coef[2]])[target][allowed], expected, atol=1e-12)
    assert coef[1, 0, 1] == 0 == coef[2, 2, 3]


def test_rows_with_unobserved_windows_are_left_out():
    rows, _ = simulate()
    frame = pd.DataFrame(rows, index=pd.date_range("2020-01-31", periods=len(rows), freq="ME"))
    gaps = frame.drop(frame.index[[10, 50]])
    gaps.iloc[100, 2] = np.nan
    learner = DenseLDS(missing="drop", lags=2).fit(gaps)
    known = np.isin(np.arange(len(rows)), [10, 50, 102], invert=True)
    complete = [t for t in range(2, len(rows)) if known[t - 2 : t + 1].all()]
    expected = np.linalg.lstsq(
        np.hstack([[rows[t - 1] for t in complete], [rows[t - 2] for t in complete]]), rows[complete], rcond=None
    )[0]
    np.testing.assert_allclose(np.hstack(list(learner.coef_[1:])), expected.T, atol=1e-12)
    assert (learner.n_targets_, learner.n_left_out_) == (len(complete), len(rows) - 2 - len(complete))

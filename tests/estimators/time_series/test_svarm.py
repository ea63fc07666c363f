"""Structural vector autoregressions: the objective of the source, knowledge, units, and what the fitted model says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from helpers.series_learners import simulate_system
from oracles import svarm as oracle
from pgmx.datasets import structural_series
from pgmx.estimators import KernelSVARM, LinearSVARM
from pgmx.metrics import edge_curve

N = 4
LEARNERS = pytest.mark.parametrize("cls", [LinearSVARM, KernelSVARM])


def simulate(n_rows, seed=0, even=False):
    """Return series in which each depends on its neighbour's past and the last on the first's present."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n_rows + 20, N))
    g = (lambda y: np.cos(1.5 * y)) if even else (lambda y: 0.6 * y)
    for t in range(1, n_rows + 20):
        rows[t] = g(np.roll(rows[t - 1], 1)) + 0.5 * rng.standard_normal(N)
        rows[t, 3] += g(rows[t, 0])
    return rows[20:] * np.array([1.0, 10.0, 0.1, 3.0]) + np.array([5.0, 0.0, -1.0, 100.0])


def frame(n_rows=90, seed=0, **options):
    index = pd.period_range("2020-01-01", periods=n_rows, freq="D")
    return pd.DataFrame(simulate(n_rows, seed, **options), columns=list("abcd"), index=index)


def standardise(rows):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


# ---- the objective ----


def test_objective_of_the_source():
    series = frame(45)
    learner = KernelSVARM(lags=2, kernels=("gaussian", "linear"), lam_ratio=0.3).fit(series)
    bounds = []
    for target in range(N):
        _, matrices, y = oracle.node_kernels(standardise(series.to_numpy()), target, 2, ("gaussian", "linear"))
        bounds.append(oracle.bracket(matrices, y, learner.lam_, tol=1e-7))
    lower, upper = np.sum(bounds, axis=0)
    assert lower * (1 - 1e-6) <= learner.objective_ <= upper * (1 + 1e-6)
    assert 0 <= learner.dual_gap_ <= 1e-6 * learner.objective_
    assert learner.converged_
    assert learner.stopped_by_ == "converged"


def test_linear_learner_is_a_lasso_per_target():
    rows = simulate(80)
    learner = LinearSVARM(lags=2, lam_ratio=0.2, tol=1e-10).fit(rows)
    z = standardise(rows)
    names = [(lag, source) for lag in range(3) for source in range(N)]
    design = np.column_stack([z[2 - lag : 80 - lag, source] for lag, source in names])
    centred = (design - design.mean(axis=0)) / design.std(axis=0)
    for target in range(N):
        columns = [k for k, name in enumerate(names) if name != (0, target)]
        y = z[2:, target] - z[2:, target].mean()
        lasso = Lasso(alpha=learner.lam_ / 78, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(
            centred[:, columns], y
        )
        weights = np.zeros(len(names))
        weights[columns] = lasso.coef_
        np.testing.assert_allclose(np.abs(weights), learner.strengths_[:, target].ravel(), atol=1e-6)
        coef = weights / design.std(axis=0) * rows.std(axis=0)[target] / np.tile(rows.std(axis=0), 3)
        np.testing.assert_allclose(coef, learner.coef_[:, target].ravel(), atol=1e-5)
    fit = learner.intercept_ + sum(rows[2 - lag : 80 - lag] @ learner.coef_[lag].T for lag in range(3))
    np.testing.assert_allclose(learner.fitted_values(rows), fit, atol=1e-8)


@LEARNERS
def test_fitted_values_give_the_objective(cls):
    series = frame()
    learner = cls(lags=2).fit(series)
    fitted = learner.fitted_values(series)
    assert fitted.index.equals(series.index[2:])
    assert list(fitted.columns) == list("abcd")
    residuals = (series[2:] - fitted).to_numpy() / learner.scales_
    value = 0.5 * (residuals**2).sum() + learner.lam_ * learner.strengths_.sum()
    assert value == pytest.approx(learner.objective_, rel=1e-6)
    np.testing.assert_allclose(residuals.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(learner.noise_variance_, (residuals**2).mean(axis=0) * learner.scales_**2)
    likelihood = -0.5 * (
        np.log(2 * np.pi * learner.noise_variance_) + residuals**2 * learner.scales_**2 / learner.noise_variance_
    )
    assert learner.score(series) == pytest.approx(likelihood.sum(axis=1).mean())


@LEARNERS
def test_admm_and_descent_agree(cls):
    series = frame(60)
    descent, admm = (cls(solver=solver, tol=1e-8, lam_ratio=0.2).fit(series) for solver in ("descent", "admm"))
    np.testing.assert_allclose(admm.strengths_, descent.strengths_, atol=1e-3)
    assert admm.objective_ == pytest.approx(descent.objective_, rel=1e-7)


# ---- knowledge and unpenalised columns ----


@LEARNERS
def test_required_and_forbidden_edges(cls):
    series = frame()
    required, forbidden = (("c", 1), ("b", 0)), (("a", 1), ("b", 0))
    learner = cls(lam_ratio=0.3, required_edges=[required], forbidden_edges=[forbidden], tol=1e-9).fit(series)
    graph = learner.graph_
    assert graph.has_edge(*required)
    assert not graph.has_edge(*forbidden)
    free = cls(lam=learner.lam_, tol=1e-9).fit(series)
    np.testing.assert_allclose(learner.strengths_[:, [0, 2, 3]], free.strengths_[:, [0, 2, 3]], atol=1e-5)
    strong = cls(lam=10 * learner.lam_max_, required_edges=[required]).fit(series)
    assert np.count_nonzero(strong.strengths_) == 1
    z = standardise(series.to_numpy())
    residual = (series[1:] - strong.fitted_values(series)).to_numpy()[:, 1]
    assert abs(residual @ z[:-1, 2]) < 1e-3 * np.linalg.norm(residual)  # least squares, not shrunk
    residual = (series[1:] - learner.fitted_values(series)).to_numpy()[:, 1]
    assert abs(residual @ z[:-1, 2]) < 1e-3 * np.linalg.norm(residual)


@LEARNERS
def test_exogenous_and_seasonal_columns_are_not_penalised(cls):
    series = frame().assign(holiday=np.arange(90) % 13 == 0, bonus=np.cos(np.arange(90.0)))
    series["a"] += 4.0 * series["bonus"]
    learner = cls(exogenous_columns=["bonus"], seasonal_period=7, lam_ratio=0.2)
    learner.fit(series.drop(columns="holiday"))
    assert learner.exogenous_coef_.shape == (4, 7)
    assert abs(learner.exogenous_coef_[0, 0] - 4.0) < 1.0
    residuals = (series[list("abcd")][1:] - learner.fitted_values(series.drop(columns="holiday"))).to_numpy()
    weeks = np.eye(7)[np.arange(90) % 7][1:]
    for column in (series["bonus"].to_numpy()[1:], *weeks.T):
        np.testing.assert_allclose(residuals.T @ column / learner.scales_, 0.0, atol=1e-7)


# ---- laws ----


@LEARNERS
def test_units_and_order_of_the_series(cls):
    series = frame()
    learner = cls().fit(series)
    other = cls().fit(series[list("dbca")] * [1.0, -3.0, 1e6, 1e-6] + 7.0)
    order = [3, 1, 2, 0]
    np.testing.assert_allclose(other.strengths_, learner.strengths_[:, order][:, :, order], atol=1e-4)
    assert set(other.graph_.edges()) == set(learner.graph_.edges())
    np.testing.assert_allclose(learner.fitted_values(series[list("dcba")]), learner.fitted_values(series))


def test_panel_is_the_list_of_its_parts():
    one, other = frame(60, 1), frame(50, 2)
    listed = KernelSVARM(lags=2).fit([one, other])
    named = KernelSVARM(lags=2).fit({"one": one, "other": other})
    np.testing.assert_allclose(named.strengths_, listed.strengths_, atol=1e-12)
    assert listed.n_targets_ == 58 + 48
    assert listed.fitted_values([one, other]).shape == (106, 4)


def test_missing_rows_are_left_out():
    series = frame()
    series.iloc[40, 1] = np.nan
    learner = LinearSVARM(missing="drop").fit(series)
    assert learner.n_left_out_ == 2
    np.testing.assert_allclose(learner.strengths_, LinearSVARM().fit([series[:40], series[41:]]).strengths_, atol=1e-9)


@LEARNERS
def test_learner_is_cloned_and_pickled(cls, tmp_path):
    import pickle

    series = frame(50)
    learner = cls(lags=2, lam_ratio=0.3, orient=None).fit(series)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.fitted_values(series), learner.fitted_values(series))
    assert clone(learner).get_params() == learner.get_params()
    assert set(cls(series, lags=2, lam_ratio=0.3).estimate().edges()) == set(learner.graph_.edges())


# ---- kernels ----


def test_custom_kernel_is_the_named_one():
    def bell(u, v):
        return np.exp(-((u - v) ** 2) / 0.5)

    series = frame()
    custom = KernelSVARM(kernels=bell).fit(series)
    named = KernelSVARM(bandwidth=0.5).fit(series)
    np.testing.assert_allclose(custom.strengths_, named.strengths_, atol=1e-9)
    linear = KernelSVARM(kernels="linear").fit(series)
    np.testing.assert_allclose(linear.strengths_, LinearSVARM().fit(series).strengths_, atol=1e-9)


def test_even_functions_are_found_by_kernels_alone():
    rows = simulate(300, seed=3, even=True)
    truth = np.roll(np.eye(N), 1, axis=0)
    assert edge_curve(KernelSVARM().fit(rows).strengths_[1], truth).area >= 0.95
    assert edge_curve(LinearSVARM().fit(rows).strengths_[1], truth).area <= 0.85
    small = KernelSVARM(max_rank=6).fit(rows)
    assert edge_curve(small.strengths_[1], truth).area >= 0.95


def test_directions_of_instantaneous_edges():
    rows = simulate(800, seed=4, even=True)
    skeleton = KernelSVARM(lam_ratio=0.3).fit(rows).graph_
    assert skeleton.has_edge(("x0", 0), ("x3", 0))
    assert skeleton.has_edge(("x3", 0), ("x0", 0))
    assert skeleton.edges[("x0", 0), ("x3", 0)]["undirected"]
    directed = KernelSVARM(lam_ratio=0.3, orient="nonlinear").fit(rows).graph_
    assert directed.has_edge(("x0", 0), ("x3", 0))
    assert not directed.has_edge(("x3", 0), ("x0", 0))
    assert directed.lagged_edges == skeleton.lagged_edges


@pytest.mark.slow
def test_directions_under_even_functions():
    """Among the true instantaneous edges of acyclic graphs at least .95 have their direction (N = 10, T = 800)."""
    right = edges = 0
    for seed in range(8):
        series, coef = structural_series(10, 800, random_state=seed)
        graph = KernelSVARM(orient="nonlinear", tol=1e-4).fit(series).graph_
        for target, source in np.argwhere(coef[0]).tolist():
            edges += 1
            right += graph.has_edge((f"x{source}", 0), (f"x{target}", 0))
    assert edges > 40
    assert right >= 0.95 * edges


# ---- forecasts ----


@LEARNERS
def test_forecasts_without_instantaneous_edges(cls):
    series = frame()
    learner = cls(lags=2, instantaneous=False, lam_ratio=0.05).fit(series)
    assert not learner.strengths_[0].any()
    assert not learner.graph_.instantaneous_edges
    forecast = learner.predict(series[:-1], steps=3)
    np.testing.assert_allclose(forecast.iloc[0], learner.fitted_values(series).iloc[-1], rtol=1e-9)
    assert forecast.index[0] == series.index[-1]
    second = np.vstack([series[:-1].to_numpy()[-1], forecast.to_numpy()[0]])
    np.testing.assert_allclose(learner.predict(second, steps=1)[0], forecast.iloc[1], rtol=1e-9)


def test_forecast_with_exogenous_rows():
    series = frame().assign(bonus=np.cos(np.arange(90.0)))
    learner = LinearSVARM(instantaneous=False, exogenous_columns=["bonus"]).fit(series)
    forecast = learner.predict(series[list("abcd")][:-1], 1, exogenous=series[["bonus"]][-1:])
    np.testing.assert_allclose(forecast.iloc[0], learner.fitted_values(series).iloc[-1], rtol=1e-9)
    with pytest.raises(ValueError, match="bonus"):
        learner.predict(series[list("abcd")], 1)


# ---- errors ----


@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (LinearSVARM(orient="nonlinear"), ValueError, "both directions"),
        (KernelSVARM(kernels=("linear",), orient="nonlinear"), ValueError, "both directions"),
        (KernelSVARM(instantaneous=False, orient="nonlinear"), ValueError, "instantaneous=True"),
        (KernelSVARM(kernels=()), ValueError, "at least one kernel"),
        (KernelSVARM(kernels=("cubic",)), ValueError, "'cubic'"),
        (KernelSVARM(kernels=("linear", "linear")), ValueError, "duplicate name"),
        (KernelSVARM(lam=0.0), ValueError, "lam"),
        (LinearSVARM(required_edges=[(("a", 0), ("a", 0))]), ValueError, "a"),
        (LinearSVARM(instantaneous=False, required_edges=[(("a", 0), ("b", 0))]), ValueError, "lag"),
    ],
)
def test_errors(learner, error, message):
    with pytest.raises(error, match=message):
        learner.fit(frame(40))


def test_errors_of_fitted_learners():
    series = frame(40)
    learner = KernelSVARM().fit(series)
    with pytest.raises(ValueError, match="fitted_values"):
        learner.predict(series)
    with pytest.raises(ValueError, match="'d'"):
        learner.fitted_values(series[list("abc")])
    with pytest.raises(ValueError, match="sample_weight"):
        KernelSVARM().fit(series, sample_weight=np.ones(40))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = KernelSVARM(max_iter=1, lam_ratio=0.01, solver="admm").fit(series)
    assert short.stopped_by_ == "max_iter"
    assert not short.converged_


def test_the_fit_of_a_selection_is_the_one_that_was_selected():
    rows, _ = simulate_system(4, 100)
    learner = LinearSVARM().select(rows, lags=[1, 20])
    assert np.count_nonzero(learner.strengths_) == learner.path_.n_edges[learner.path_.selected]

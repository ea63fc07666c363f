"""Structural vector autoregressions: losses, the ridge, kernels per series, tests of edges, responses to inputs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVR

from oracles import svarm as oracle
from pgmx.datasets import kernel_responses, structural_series
from pgmx.estimators import BlockBootstrap, KernelSVARM, LinearSVARM
from pgmx.estimators.time_series.svarm.resampler import SVARMResampler
from pgmx.metrics import edge_curve
from pgmx.solvers.time_series.group_lasso import GroupLassoProblem
from pgmx.solvers.time_series.group_ridge import GroupRidge
from pgmx.solvers.time_series.group_robust import RobustADMM, solve_robust

N = 3
LOSSES = pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive"])


def frame(n_rows=60, seed=1):
    rows = structural_series(N, n_rows, random_state=seed).series
    return pd.DataFrame(rows * [1.0, 10.0, 0.1] + [5.0, 0.0, -1.0], columns=list("abc"))


def standardise(rows):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def make_columns(rows, target):
    """Return the scaled columns [present of others, past of all] and the target, in the units of the learner."""
    z = standardise(rows.to_numpy())
    columns = np.hstack([np.delete(z[1:], target, axis=1), z[:-1]])
    return (columns - columns.mean(axis=0)) / columns.std(axis=0), z[1:, target]


def read_strengths(learner, target):
    return np.append(np.delete(learner.strengths_[0, target], target), learner.strengths_[1, target])


# ---- losses and penalties ----


@pytest.mark.parametrize("n_rows", [12, 50])
@pytest.mark.parametrize("kinds", [("linear",), ("gaussian", "poly2")])
def test_ridge_has_the_closed_form(kinds, n_rows):
    series = frame(n_rows)
    learner = KernelSVARM(kernels=kinds, penalty="ridge", lam=2.0).fit(series)
    expected, objective = np.zeros((2, N, N)), 0.0
    for target in range(N):
        blocks, matrices, y = oracle.node_kernels(standardise(series.to_numpy()), target, 1, kinds)
        # 5.13 by the matrix inversion lemma
        a = np.linalg.solve(sum(matrices) + 4.0 * np.eye(len(y)), y)
        objective += 0.5 * ((4.0 * a) ** 2).sum() + 2.0 * sum(a @ matrix @ a for matrix in matrices)
        for (lag, source, _), matrix in zip(blocks, matrices, strict=True):
            expected[lag, target, source] = max(expected[lag, target, source], np.sqrt(a @ matrix @ a))
    np.testing.assert_allclose(learner.strengths_, expected, rtol=1e-6, atol=1e-8)
    assert learner.objective_ == pytest.approx(objective, rel=1e-8)
    assert learner.dual_gap_ <= 1e-12 * objective
    assert learner.converged_


def test_ridge_with_knowledge_and_its_degrees_of_freedom():
    rng = np.random.default_rng(0)
    columns, targets = rng.standard_normal((30, 12)), rng.standard_normal((3, 30))
    columns[:, 11] = columns[:, 0]  # collinear
    allowed = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 0]], dtype=bool)
    problem = GroupLassoProblem(columns, np.arange(0, 13, 2), targets, allowed)
    ridge = GroupRidge(problem, 0.5)
    estimate, freedom = ridge.solve(), ridge.count_freedom()
    for k, mask in enumerate(np.repeat(allowed, 2, axis=1)):
        gram = columns[:, mask].T @ columns[:, mask]
        inverse = np.linalg.inv(gram + np.eye(mask.sum()))
        np.testing.assert_allclose(estimate.coefficients[k, mask], inverse @ columns[:, mask].T @ targets[k], atol=1e-9)
        assert not estimate.coefficients[k, ~mask].any()
        assert freedom[k] == pytest.approx(np.trace(inverse @ gram))


def test_path_of_the_ridge():
    path = LinearSVARM(penalty="ridge").path(frame(), n_lams=4, criterion="bic")
    single = LinearSVARM(penalty="ridge", lam=path.lams[2]).fit(frame())
    np.testing.assert_allclose(path.strengths[2], single.strengths_, atol=1e-9)
    assert np.isfinite(path.bic).all()


def test_absolute_loss_is_a_quantile_regression():
    series = frame()
    learner = LinearSVARM(loss="absolute", lam=4.0).fit(series)
    for target in range(N):
        columns, y = make_columns(series, target)
        peer = QuantileRegressor(alpha=4.0 / (2 * len(y)), solver="highs").fit(columns, y)
        np.testing.assert_allclose(read_strengths(learner, target), np.abs(peer.coef_), atol=1e-7)
    residuals = (series[1:] - learner.fitted_values(series)).to_numpy() / learner.scales_
    assert learner.objective_ == pytest.approx(np.abs(residuals).sum() + 4.0 * learner.strengths_.sum())
    assert learner.dual_gap_ <= 1e-9 * learner.objective_
    assert not LinearSVARM(loss="absolute", lam=1.001 * learner.lam_max_).fit(series).strengths_.any()
    assert LinearSVARM(loss="absolute", lam=0.98 * learner.lam_max_).fit(series).strengths_.any()


def test_insensitive_ridge_is_a_support_vector_regression():
    series = frame()
    learner = LinearSVARM(loss="epsilon_insensitive", epsilon=0.3, penalty="ridge", lam=3.0, tol=1e-7).fit(series)
    for target in range(N):
        columns, y = make_columns(series, target)
        peer = SVR(kernel="linear", C=1.0 / 6.0, epsilon=0.3, tol=1e-8).fit(columns, y)
        np.testing.assert_allclose(read_strengths(learner, target), np.abs(peer.coef_[0]), atol=2e-3)


@LOSSES
def test_programmes_and_iterations_agree(loss):
    rng = np.random.default_rng(2)
    basis = np.full((40, 1), 40**-0.5)
    columns = rng.standard_normal((40, 5))
    columns -= columns.mean(axis=0)
    targets = columns[:, :2].T + rng.standard_t(2, (2, 40))
    problem = GroupLassoProblem(columns, np.arange(6), targets, np.ones((2, 5), dtype=bool))
    epsilon = 0.2 if loss == "epsilon_insensitive" else 0.0
    exact = solve_robust(problem, 3.0, basis, epsilon=epsilon, is_ridge=False, tol=1e-6, max_iter=1)
    iterated = RobustADMM(problem, 3.0, basis, epsilon=epsilon, is_ridge=False)
    for step in range(600):
        iterated.iterate()
        if step % 20 == 0:
            iterated.balance()
    objectives, gaps, _ = iterated.certify()
    np.testing.assert_allclose(objectives, exact.objectives, rtol=5e-3)
    assert (objectives >= exact.objectives - 1e-9).all()
    assert (gaps >= objectives - exact.objectives - 1e-9).all()


@pytest.mark.slow
@LOSSES
@pytest.mark.parametrize("penalty", ["lasso", "ridge"])
@pytest.mark.parametrize("cls", [LinearSVARM, KernelSVARM])
def test_objectives_are_those_of_the_fitted_values(cls, penalty, loss):
    series = frame(40).assign(bonus=np.cos(np.arange(40.0)))
    series["a"] += 3.0 * series["bonus"]
    learner = cls(loss=loss, penalty=penalty, lam_ratio=0.2, tol=1e-3, exogenous_columns=["bonus"])
    learner.set_params(required_edges=[(("c", 1), ("b", 0))]).fit(series)
    residuals = ((series[list("abc")][1:] - learner.fitted_values(series)) / learner.scales_).to_numpy()
    epsilon = 0.1 if loss == "epsilon_insensitive" else 0.0
    strengths = learner.strengths_.copy()
    assert strengths[1, 1, 2]
    strengths[1, 1, 2] = 0.0
    value = np.maximum(np.abs(residuals) - epsilon, 0.0).sum()
    value += learner.lam_ * (strengths if penalty == "lasso" else strengths**2).sum()
    assert learner.objective_ == pytest.approx(value, rel=1e-8)
    assert learner.converged_
    assert abs(learner.exogenous_coef_[0, 0] - 3.0) < 1.0


@pytest.mark.slow
def test_outliers_change_robust_losses_little():
    series, _ = structural_series(5, 100, function="linear", random_state=3)
    rng = np.random.default_rng(0)
    dirty = series.copy()
    dirty[rng.integers(100, size=8), rng.integers(5, size=8)] += 20.0
    shifts = []
    for loss in ("squared", "absolute"):
        clean, spoiled = (LinearSVARM(loss=loss, instantaneous=False).fit(rows).coef_ for rows in (series, dirty))
        shifts.append(np.abs(clean - spoiled).sum())
    assert shifts[1] < 0.7 * shifts[0]


@LOSSES
def test_all_rows_once_are_the_fit_itself(loss):
    series = frame(30)
    learner = LinearSVARM(loss=loss, lam=2.0, required_edges=[(("c", 1), ("b", 0))]).fit(series)
    resampler, rows = SVARMResampler.from_panel(learner, learner._open(series))
    expected = learner.coef_ * learner.scales_ / learner.scales_[:, None]
    np.testing.assert_allclose(resampler.solve(rows, np.ones(29, dtype=np.int64))[1], expected, atol=1e-7)
    # twice all rows: the same solution under twice the penalty
    learner.set_params(lam=4.0)
    np.testing.assert_allclose(resampler.solve(rows, np.full(29, 2))[1], expected, atol=1e-7)


# ---- kernels per series ----


def test_kernels_of_each_series():
    series = frame(40)
    kinds = {"a": ("linear",), "b": ("gaussian", "linear"), "c": ("poly2",)}
    learner = KernelSVARM(kernels={"a": "linear", "b": ["gaussian", "linear"], "c": "poly2"}, lam=4.0).fit(series)
    bounds = []
    for target in range(N):
        blocks, matrices, y = oracle.node_kernels(
            standardise(series.to_numpy()), target, 1, ("linear", "gaussian", "poly2")
        )
        used = [m for (_, v, kind), m in zip(blocks, matrices, strict=True) if kind in kinds["abc"[v]]]
        bounds.append(oracle.bracket(used, y, 4.0, tol=1e-7))
    lower, upper = np.sum(bounds, axis=0)
    assert lower * (1 - 1e-6) <= learner.objective_ <= upper * (1 + 1e-6)
    same = KernelSVARM(kernels=dict.fromkeys("abc", "poly2")).fit(series)
    np.testing.assert_array_equal(same.strengths_, KernelSVARM(kernels="poly2").fit(series).strengths_)


# ---- tests of edges ----


def test_edges_are_t_tests_of_coefficients():
    series = frame(400)
    learner = LinearSVARM(penalty="ridge", forbidden_edges=[(("a", 1), ("b", 0))])
    tests = learner.test_edges(series, n_segments=8)
    coefs = []
    for k in range(8):  # folds of 50 targets, each with the row before
        coefs.append(learner.fit(series[50 * k : min(50 * k + 51, 400)]).coef_)
    p_values = stats.ttest_1samp(np.array(coefs)[:, 1], 0.0).pvalue
    p_values[1, 0] = np.nan
    np.testing.assert_allclose(tests.p_values[1], p_values, rtol=1e-6)
    present = stats.ttest_1samp(np.array(coefs)[:, 0], 0.0).pvalue
    expected = np.minimum(2.0 * np.fmin(present, present.T), 1.0)
    np.testing.assert_allclose(tests.p_values[0], expected, rtol=1e-6)
    flat = np.append(tests.p_values[0][np.triu_indices(N, 1)], tests.p_values[1][~np.isnan(tests.p_values[1])])
    for rate in (0.01, 0.05, 0.2, 0.5, 0.7):
        edges = tests.edges(fdr=rate)
        found = stats.false_discovery_control(flat) <= rate
        assert edges[0][np.triu_indices(N, 1)].sum() + edges[1].sum() == found.sum()
    np.testing.assert_array_equal(edges[0], edges[0].T)
    assert set(tests.graph(level=0.05).lagged_edges) == {
        (("abc"[source], 1), ("abc"[target], 0)) for target, source in np.argwhere(tests.p_values[1] <= 0.05)
    }
    listed = learner.test_edges([series[:100], series[100:200], series[200:300], series[300:]], n_segments=None)
    assert listed.n_segments == 4


@pytest.mark.slow
def test_p_values_of_functions_hold_their_level():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((800, 6))
    rows[1:, 1] += np.cos(2.0 * rows[:-1, 0])
    tests = KernelSVARM(kernels="poly2", penalty="ridge", instantaneous=False).test_edges(rows)
    assert tests.p_values[1, 1, 0] < 0.01
    null = np.delete(tests.p_values[1].ravel(), 6)
    assert (null < 0.1).mean() <= 0.2
    assert tests.edges(fdr=0.2)[1, 1, 0]


# ---- responses to inputs ----


def test_responses_are_learned_as_they_come():
    draw = kernel_responses(6, 80, random_state=1)
    learner = KernelSVARM(kernels="poly2", lags=2).fit(draw)
    assert edge_curve(learner.strengths_[0], draw.truth).area >= 0.95
    assert not learner.strengths_[1:].any()
    graph = learner.graph_
    assert not any(data.get("undirected") for *_, data in graph.edges(data=True))
    residuals = draw.responses - learner.fitted_values(draw)
    np.testing.assert_allclose((residuals**2).mean(axis=0), learner.noise_variance_)
    assert np.isfinite(learner.score(draw))
    bounds = []
    inputs, responses = standardise(draw.inputs), standardise(draw.responses)
    for target in range(6):
        matrices = [oracle.centre(oracle.kernel_matrix(inputs[:, v], "poly2")) for v in range(6) if v != target]
        bounds.append(oracle.bracket(matrices, responses[:, target], learner.lam_, tol=1e-7))
    lower, upper = np.sum(bounds, axis=0)
    assert lower * (1 - 1e-6) <= learner.objective_ <= upper * (1 + 1e-6)
    path = learner.path(draw, n_lams=5, criterion="bic")
    assert path.strengths.shape == (5, 3, 6, 6)
    tests = KernelSVARM(kernels="poly2", penalty="ridge").test_edges(kernel_responses(6, 200), n_segments=4)
    assert np.isnan(tests.p_values[1]).all()


def test_linear_responses_in_the_units_of_inputs_and_responses():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((200, 2)) * [10.0, 0.1] + 5.0
    responses = np.column_stack([30.0 * inputs[:, 1] + 2.0, -0.5 * inputs[:, 0]]) + 0.01 * rng.standard_normal((200, 2))
    learner = LinearSVARM(penalty="ridge", lam=1e-6).fit(SimpleNamespace(inputs=inputs, responses=responses))
    np.testing.assert_allclose(learner.coef_[0], [[0.0, 30.0], [-0.5, 0.0]], atol=0.05)
    assert learner.intercept_[0] == pytest.approx(2.0, abs=0.2)
    assert learner.graph_.has_edge(("x1", 0), ("x0", 0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda d: LinearSVARM().fit(SimpleNamespace(inputs=d.inputs, responses=d.responses[:9])),
            "10 rows of inputs, but 9",
        ),
        (
            lambda d: LinearSVARM().fit(SimpleNamespace(inputs=d.inputs, responses=d.responses[:, :2])),
            "only in the inputs: 'x2'",
        ),
        (lambda d: LinearSVARM().fit(d).fitted_values(d.inputs), "from inputs and responses: give the same kind"),
        (lambda d: LinearSVARM().fit(d.inputs).fitted_values(d), "has learned from series: give the same kind"),
        (
            lambda d: LinearSVARM(instantaneous=False).fit(d).predict(d.inputs),
            "predict is for series: use fitted_values",
        ),
        (lambda d: LinearSVARM().select(d, lags=[1, 2]), "no lags"),
        (lambda d: BlockBootstrap(LinearSVARM(), n_resamples=2).fit(d), "is for series"),
    ],
)
def test_errors_of_responses(call, message):
    with pytest.raises(ValueError, match=message):
        call(kernel_responses(3, 10))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: LinearSVARM(loss="huber").fit(s), "'loss' .* among .*'squared'.* Got 'huber'"),
        (lambda s: LinearSVARM(penalty="l2").fit(s), "'penalty' .* among .*'ridge'.* Got 'l2'"),
        (lambda s: LinearSVARM(epsilon=-0.1).fit(s), r"'epsilon' .* in the range \[0\.0, inf\)\. Got -0\.1"),
        (
            lambda s: LinearSVARM(loss="absolute").path(s, criterion="bic"),
            "criterion='bic' needs loss='squared', got loss='absolute': use selection='cv'",
        ),
        (lambda s: KernelSVARM(kernels={"a": "linear", "b": "linear"}).fit(s), "only in the series: 'c'"),
        (
            lambda s: KernelSVARM(kernels=dict.fromkeys("abc", "cubic")).fit(s),
            "of gaussian, poly2, linear or functions of two arrays, got 'cubic'",
        ),
        (lambda s: KernelSVARM(kernels=dict.fromkeys("abc", ())).fit(s), r"at least one kernel, got \(\)"),
        (lambda s: LinearSVARM().test_edges(s, n_segments=3), "n_segments must be at least 4, got 3"),
        (lambda s: LinearSVARM().test_edges(s), "n_segments=20 needs at least 80 predicted rows: give fewer segments"),
        (lambda s: LinearSVARM().test_edges([s, s], n_segments=None), "at least 4 tables of more than 2 rows, got 2"),
        (
            lambda s: LinearSVARM().test_edges(s, n_segments=4).edges(level=1.5),
            "level must be a number between 0 and 1, got 1.5",
        ),
        (
            lambda s: LinearSVARM().test_edges(s, n_segments=4).graph(fdr=2.0),
            "fdr must be a rate between 0 and 1, .* got 2.0",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(frame())

"""Intervals, likelihoods, responses, scores and other forms of linear dynamical systems."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.linalg import solve_discrete_lyapunov
from scipy.sparse import csr_array

from pgmx.models import LinearDynamicalSystem, TimeSeriesGraph
from tests.models.test_linear_dynamical_system import random_system
from tests.oracles.time_series import companion, forecast


def joint_moments(system, coefs):
    """Return mean and covariance of L + 1 rows, oldest first, from the stationary state and one more row."""
    lags, n = len(coefs) - 1, len(coefs[0])
    matrix, noise = companion(coefs), np.zeros((lags * n, lags * n))
    noise[:n, :n] = system.noise_covariance
    state = solve_discrete_lyapunov(matrix, noise)  # newest slice first
    oldest_first = np.arange(lags * n).reshape(lags, n)[::-1].ravel()
    cross, newest = (matrix @ state)[:n], (matrix @ state @ matrix.T + noise)[:n, :n]
    past = state[np.ix_(oldest_first, oldest_first)]
    mean = np.linalg.solve(np.eye(n) - coefs[1:].sum(axis=0), system.intercept)
    return np.tile(mean, lags + 1), np.block([[past, cross[:, oldest_first].T], [cross[:, oldest_first], newest]])


@pytest.mark.parametrize("lags", [1, 2, 3])
def test_the_unrolled_network_has_the_stationary_joint(lags):
    system, coefs = random_system(lags, lags, 3, sparse=lags == 2)
    network = system.to_linear_gaussian_bn()
    assert network.check_model() and len(network) == 3 * (lags + 1)
    names = [f"x{v}@t-{lag}" for lag in range(lags, -1, -1) for v in range(3)]
    assert list(network.nodes()) == names
    mean, covariance = network.to_joint_gaussian()
    order = list(nx.topological_sort(network))
    place = [order.index(name) for name in names]
    expected_mean, expected = joint_moments(system, coefs)
    assert np.allclose(np.asarray(mean)[place], expected_mean, rtol=1e-8, atol=1e-8)
    assert np.allclose(np.asarray(covariance)[np.ix_(place, place)], expected, rtol=1e-8, atol=1e-8)


def test_edges_of_the_unrolled_network_are_the_coefficients_where_noise_is_uncorrelated():
    system, coefs = random_system(1, 2, 4, noise_covariance=np.arange(1.0, 5.0))
    network = system.to_linear_gaussian_bn()
    for target in range(4):
        cpd = network.get_cpds(f"x{target}@t-0")
        beta = dict(zip(cpd.evidence, np.asarray(cpd.beta)[1:], strict=True))
        lagged = {f"x{s}@t-{lag}": coefs[lag][target, s] for lag in (1, 2) for s in range(4) if coefs[lag][target, s]}
        assert beta == pytest.approx(lagged)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coef": [[1.0, 0.0], [0.0, 0.5]], "noise_covariance": np.eye(2)}, "spectral radius is 1"),
        ({"coef": np.eye(2) / 2}, "noise of the system is unknown"),
        ({"coef": np.eye(2) / 2, "noise_covariance": [1.0, 0.0]}, "is singular"),
        ({"coef": np.eye(2) / 2, "noise_covariance": np.eye(2), "names": [1, "1"]}, "become the same text"),
    ],
)
def test_systems_without_an_unrolled_network(options, words):
    with pytest.raises(ValueError, match=words):
        LinearDynamicalSystem(**{"names": ["a", "b"], **options}).to_linear_gaussian_bn()


@pytest.mark.parametrize("sparse", [False, True])
def test_intervals_are_those_of_the_errors_of_forecasts(sparse):
    system, coefs = random_system(4, 2, 3, sparse=sparse)
    history = pd.DataFrame(np.ones((2, 3)), columns=system.names)
    matrix, noise = companion(coefs), np.zeros((6, 6))
    noise[:3, :3] = system.noise_covariance
    spread = np.zeros((6, 6))
    lower, upper = system.predict_interval(history, 5, 0.8)
    means = system.predict(history, 5)
    for step in range(5):
        spread = matrix @ spread @ matrix.T + noise
        width = stats.norm.ppf(0.9) * np.sqrt(spread.diagonal()[:3])
        assert np.allclose(upper.iloc[step] - means.iloc[step], width) and np.allclose(
            means.iloc[step] - lower.iloc[step], width
        )
    variances, _ = random_system(4, 2, 3, sparse=sparse, noise_covariance=[1.0, 2.0, 3.0])
    matrices, _ = random_system(4, 2, 3, noise_covariance=np.diag([1.0, 2.0, 3.0]))
    assert np.allclose(variances.predict_interval(history, 4)[0], matrices.predict_interval(history, 4)[0])
    for coverage in (0.0, 1.0, "x", np.nan):
        with pytest.raises(ValueError, match="coverage must be"):
            system.predict_interval(history, 5, coverage)


@pytest.mark.slow
def test_coverage_on_simulated_systems():
    hits = np.zeros(12)
    for seed in range(5):
        system, _ = random_system(seed, 2, 5)
        rows = system.simulate(3000, seed).to_numpy()
        origins = range(2, len(rows) - 12, 4)
        for t in origins:
            lower, upper = system.predict_interval(rows[t - 2 : t], 12)
            hits += ((rows[t : t + 12] >= lower) & (rows[t : t + 12] <= upper)).mean(axis=1)
    assert np.abs(hits / (5 * len(origins)) - 0.9).max() < 0.02


@pytest.mark.parametrize("noise", [None, np.array([1.0, 2.0, 3.0, 4.0])])
def test_log_likelihood_is_that_of_the_errors(noise):
    system, coefs = random_system(5, **({} if noise is None else {"noise_covariance": noise}))
    rows = system.simulate(20).to_numpy()
    covariance = system.noise_covariance if noise is None else np.diag(noise)
    expected = [
        stats.multivariate_normal(forecast(coefs, system.intercept, rows[t - 2 : t], 1)[0], covariance).logpdf(rows[t])
        for t in range(2, 20)
    ]
    assert np.allclose(system.log_likelihood(rows), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="at least the last 3 rows"):
        system.log_likelihood(rows[:2])
    with pytest.raises(ValueError, match="noise_covariance is singular"):
        random_system(noise_covariance=np.zeros((4, 4)))[0].log_likelihood(rows)


def test_impulse_responses():
    system, coefs = random_system(6, 3, 3)
    powers = [np.linalg.matrix_power(companion(coefs), step)[:3, :3] for step in range(6)]
    assert np.allclose(system.impulse_response(5), powers)
    factor = np.linalg.cholesky(system.noise_covariance)
    assert np.allclose(system.impulse_response(5, orthogonal=True), np.array(powers) @ factor)


def test_scores_of_forecasts_are_those_of_a_loop():
    system, coefs = random_system(7, 2, 3)
    rows = system.simulate(60, 1).to_numpy()
    errors = system.score_forecasts(rows, start=40, steps=3)
    assert list(errors.index) == ["system", "VAR", "naive"] and list(errors.columns) == [1, 2, 3]
    design = np.column_stack([rows[1:39], rows[:38], np.ones(38)])
    solution = np.linalg.lstsq(design, rows[2:40], rcond=None)[0].T
    var = np.stack([np.zeros((3, 3)), solution[:, :3], solution[:, 3:6]])
    methods = {
        "system": lambda past, step: forecast(coefs, system.intercept, past, step)[-1],
        "VAR": lambda past, step: forecast(var, solution[:, 6], past, step)[-1],
        "naive": lambda past, step: past[-1],
    }
    for name, predict in methods.items():
        for step in (1, 2, 3):
            parts = [rows[t + step - 1] - predict(rows[:t], step) for t in range(40, 61 - step)]
            expected = np.sqrt(np.mean((np.array(parts) / rows[:40].std(axis=0)) ** 2))
            assert errors.loc[name, step] == pytest.approx(expected, rel=1e-9)
    for start in (3, 58):
        with pytest.raises(ValueError, match="start must"):
            system.score_forecasts(rows, start=start, steps=3)


def test_exogenous_columns_enter_scores():
    options = {"exogenous_coef": [[2.0], [0.0]], "exogenous_names": ["heat"], "noise_covariance": [1e-6, 1e-6]}
    system = LinearDynamicalSystem(["a", "b"], csr_array([[0.5, 0.0], [0.5, 0.0]]), **options)
    heat = np.random.default_rng(0).normal(size=(80, 1))
    rows = system.simulate(80, exogenous=heat)
    errors = system.score_forecasts(rows, start=60, steps=2, exogenous=heat)
    assert (errors.loc[["system", "VAR"]] < 0.01).all(axis=None) and (errors.loc["naive"] > 0.5).all()
    assert (system.log_likelihood(rows, exogenous=heat) > 0).all()


def test_dynamic_bayesian_networks_have_lag_one():
    edges = [(("a", 1), ("b", 0)), (("a", 0), ("c", 0))]
    graph = TimeSeriesGraph([*edges, (("d", 1), ("d", 0))])
    network = graph.to_dynamic_bayesian_network()
    assert {(tuple(u), tuple(v)) for u, v in network.edges()} == {
        (("a", 0), ("b", 1)),
        (("a", 0), ("c", 0)),
        (("a", 1), ("c", 1)),
        (("d", 0), ("d", 1)),
    }
    for more, words in (
        ([(("a", 2), ("b", 0))], "lag 1 only"),
        ([(("c", 0), ("a", 0))], "form a cycle"),
        ([(("c", 0), ("d", 0), {"undirected": True})], "has no direction"),
    ):
        with pytest.raises(ValueError, match=words):
            TimeSeriesGraph([*edges, *more]).to_dynamic_bayesian_network()

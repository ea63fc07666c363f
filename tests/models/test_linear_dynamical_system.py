"""The linear dynamical system: numbers, forecasts and simulation."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_lyapunov
from scipy.sparse import csr_array

from pgmx.models import LinearDynamicalSystem
from pgmx.models.time_series.companion import compute_spectral_radius, compute_stationary_covariance
from tests.oracles.time_series import companion, forecast


def random_system(seed=0, lags=2, n=4, *, sparse=False, radius=0.8, **options):
    """Return a stable system and its coefficients (lags + 1, n, n)."""
    rng = np.random.default_rng(seed)
    coefs = rng.normal(size=(lags + 1, n, n)) * (rng.random((lags + 1, n, n)) < 0.6)
    coefs[0] = 0.0
    for _ in range(50):
        largest = np.abs(np.linalg.eigvals(companion(coefs))).max()
        coefs *= min(radius / largest, 1.0) if largest > 0 else 1.0
    root = rng.normal(size=(n, n))
    options = {"intercept": rng.normal(size=n), "noise_covariance": root @ root.T, **options}
    given = tuple(csr_array(matrix) for matrix in coefs) if sparse else coefs
    return LinearDynamicalSystem([f"x{v}" for v in range(n)], given, **options), coefs


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("lags", [1, 3])
def test_predictions_are_the_sums(lags, sparse):
    system, coefs = random_system(1, lags, sparse=sparse)
    history = np.random.default_rng(2).normal(size=(lags + 2, 4))
    expected = forecast(coefs, system.intercept, history, 6)
    assert np.allclose(system.predict(history, 6), expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(system.predict(history[-lags:], 6), expected, rtol=1e-12, atol=1e-12)
    frame = pd.DataFrame(history, columns=system.names)[["x2", "x0", "x3", "x1"]]
    answer = system.predict(frame, 6)
    assert list(answer.columns) == list(system.names) and list(answer.index) == list(range(lags + 2, lags + 8))
    assert np.allclose(answer, expected, rtol=1e-12, atol=1e-12)
    assert system.lags == lags and np.shape(coefs[1:]) == (lags, 4, 4)
    if lags == 1:
        assert np.array_equal(system.predict(history[-1], 6), system.predict(history, 6))
        assert isinstance(system.coef, csr_array if sparse else np.ndarray) and system.coef.shape == (4, 4)
    else:
        assert all(np.array_equal(csr_array(a).toarray(), b) for a, b in zip(system.coef, coefs, strict=True))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (pd.RangeIndex(0, 8, 2), [8, 10]),
        (pd.Index([3, 6, 9, 12]), [15, 18]),
        (pd.Index([3, 6, 9, 11]), [1, 2]),
        (pd.date_range("2020-01-31", periods=4, freq="ME"), pd.to_datetime(["2020-05-31", "2020-06-30"])),
        (
            pd.DatetimeIndex(["2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07"]),
            pd.to_datetime(["2020-01-08", "2020-01-09"]),
        ),
        (pd.period_range("2020Q1", periods=4, freq="Q"), pd.period_range("2021Q1", periods=2, freq="Q")),
        (pd.Index(list("abcd")), [1, 2]),
    ],
)
def test_the_index_goes_on(index, expected):
    system, _ = random_system()
    history = pd.DataFrame(np.eye(4), columns=system.names, index=index)
    assert list(system.predict(history, 2).index) == list(expected)


def test_exogenous_rows_enter_at_their_time():
    effects = np.array([[1.0], [0.0], [0.0], [-2.0]])
    system, coefs = random_system(exogenous_coef=effects, exogenous_names=["heat"])
    plain, _ = random_system()
    history, heat = np.ones((2, 4)), np.array([[1.0], [0.0]])
    first = plain.predict(history, 1)[0] + effects[:, 0]
    assert np.allclose(system.predict(history, 2, exogenous=heat)[0], first)
    assert np.allclose(
        system.predict(history, 2, exogenous=pd.DataFrame(heat, columns=["heat"]))[1],
        forecast(coefs, system.intercept, np.vstack([history, first]), 1)[0],
    )
    with pytest.raises(ValueError, match="exogenous column.* 'heat': give 2 rows"):
        system.predict(history, 2)
    with pytest.raises(ValueError, match="no exogenous columns"):
        plain.predict(history, 2, exogenous=heat)


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 5), st.booleans())
def test_radius_is_that_of_the_companion_matrix(seed, lags, n, sparse):
    system, coefs = random_system(seed, lags, n, sparse=sparse, radius=1.5)
    expected = np.abs(np.linalg.eigvals(companion(coefs))).max()
    assert system.spectral_radius == pytest.approx(expected, rel=1e-6, abs=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 4))
def test_forecasts_of_a_stable_system_approach_its_mean(seed, lags, n):
    system, coefs = random_system(seed, lags, n)
    history = 10 * np.random.default_rng(seed).normal(size=(lags, n))
    mean = np.linalg.solve(np.eye(n) - coefs[1:].sum(axis=0), system.intercept)
    last = system.predict(history, 400)[-1]
    assert np.allclose(last, mean, rtol=1e-6, atol=1e-6 * (1 + np.abs(history).max()))


@pytest.mark.slow
def test_radius_of_large_sparse_systems():
    rng = np.random.default_rng(0)
    order = rng.permutation(2000)
    acyclic = csr_array((np.ones(1999), (order[1:], order[:-1])), shape=(2000, 2000))
    assert compute_spectral_radius((acyclic, acyclic)) == 0.0
    ring = np.arange(700)
    cycle = csr_array((np.full(700, 0.7), (ring, np.roll(ring, 1))), shape=(700, 700))
    assert compute_spectral_radius((cycle,)) == pytest.approx(0.7, rel=1e-6)
    one = csr_array(np.where(rng.random((700, 700)) < 0.01, rng.normal(size=(700, 700)), 0.0))
    expected = np.abs(np.linalg.eigvals(one.toarray())).max()
    assert compute_spectral_radius((one,)) == pytest.approx(expected, rel=1e-7)


def test_simulated_rows_have_the_stationary_moments():
    system, coefs = random_system(3, 2, 3)
    noise = np.zeros((6, 6))
    noise[:3, :3] = system.noise_covariance
    expected = solve_discrete_lyapunov(companion(coefs), noise)
    assert np.allclose(compute_stationary_covariance(companion(coefs), system.noise_covariance), expected, rtol=1e-9)
    rows = system.simulate(20_000)
    assert list(rows.columns) == list(system.names)
    scale = np.sqrt(np.outer(expected.diagonal()[:3], expected.diagonal()[:3]))
    assert np.abs(rows.cov().to_numpy() - expected[:3, :3]).max() < 0.06 * scale.max()
    values = rows.to_numpy()
    means = np.array([forecast(coefs, system.intercept, values[t - 2 : t], 1)[0] for t in range(2, 1002)])
    assert np.abs(np.cov((values[2:1002] - means).T) - system.noise_covariance).max() < 0.5


def test_simulation_repeats_and_takes_a_start():
    system, _ = random_system()
    assert system.simulate(5).equals(system.simulate(5, 0)) and system.simulate(5, 1).equals(system.simulate(5, seed=1))
    assert not system.simulate(5).equals(system.simulate(5, 1)) and system.simulate(0).shape == (0, 4)
    quiet, coefs = random_system(noise_covariance=np.zeros(4))
    start = np.arange(8.0).reshape(2, 4)
    assert np.allclose(quiet.simulate(3, initial=start), forecast(coefs, quiet.intercept, start, 3))
    unstable = LinearDynamicalSystem(["a"], [[1.5]], noise_covariance=[1.0])
    assert not unstable.is_stable() and np.isfinite(unstable.simulate(10)).all(axis=None)


def test_copies_and_forms():
    system, coefs = random_system()
    same = pickle.loads(pickle.dumps(system))
    assert np.array_equal(same.predict(np.ones((2, 4)), 3), system.predict(np.ones((2, 4)), 3))
    assert np.array_equal(system.to_networkx().to_arrays(), coefs)
    assert repr(system) == f"LinearDynamicalSystem(4 series, 2 lags, {np.count_nonzero(coefs)} coefficients)"
    with pytest.raises(ValueError, match="read-only"):
        system.coef[1, 0, 0] = 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coef": np.stack([np.eye(2), np.eye(2)])}, "instantaneous coefficients"),
        ({"coef": [np.zeros((2, 2))]}, "only lag 0"),
        ({"coef": "x"}, "coef"),
        ({"intercept": [1.0]}, r"intercept must have the shape \(2,\)"),
        ({"intercept": [1.0, np.inf]}, "intercept must be finite"),
        ({"noise_covariance": [1.0, -1.0]}, "noise_covariance must not hold negative variances"),
        ({"noise_covariance": [[1.0, 2.0], [2.0, 1.0]]}, "positive semidefinite"),
        ({"noise_covariance": [[1.0, 0.5], [0.0, 1.0]]}, "symmetric"),
        ({"exogenous_coef": [[1.0], [2.0]]}, r"exogenous_coef must have the shape \(2, 0\)"),
        ({"names": ["a", "a"]}, "more than once"),
    ],
)
def test_systems_that_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        LinearDynamicalSystem(**{"names": ["a", "b"], "coef": np.eye(2), **options})


def test_coefficients_in_place_of_names_are_refused():
    with pytest.raises(TypeError, match="must be hashable, got ndarray: give a list of names"):
        LinearDynamicalSystem(np.eye(2), np.eye(2))


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (np.ones((1, 2)), "at least the last 2 rows"),
        (np.ones((2, 3)), "one column for each of 2 series"),
        ([[1.0, np.nan], [0.0, 1.0]], "missing values in 'b'"),
        ([[1.0, np.inf], [0.0, 1.0]], "'b'"),
        ("x.csv", "history must be rows"),
        (pd.DataFrame({"a": [1.0, 2.0]}), "lacks the series 'b'"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]}), "'c'"),
    ],
)
def test_histories_that_are_refused(history, words):
    system = LinearDynamicalSystem(["a", "b"], np.stack([0 * np.eye(2), np.eye(2), np.eye(2)]))
    with pytest.raises((ValueError, TypeError), match=words):
        system.predict(history, 2)
    with pytest.raises(ValueError, match="the noise of the system is unknown"):
        system.simulate(3)

"""The tracker of structural vector autoregressions: weighted least squares, changes, chunks, and bad rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from oracles import svarm as oracle
from pgmx.estimators import KernelSVARM, LinearSVARM, SVARMTracker

N = 4
UNITS, LEVELS = np.array([1.0, 10.0, 0.1, 3.0]), np.array([5.0, 0.0, -1.0, 100.0])


def simulate(n_rows=150, seed=0, coef=None, n=N):
    """Return standardised rows of a stable system."""
    rng = np.random.default_rng(seed)
    coef = 0.6 * np.roll(np.eye(n), 1, axis=0) if coef is None else coef
    rows = rng.standard_normal((n_rows, n))
    for t in range(1, n_rows):
        rows[t] += coef @ rows[t - 1]
    return rows


def standardise(rows):
    """Return the rows in the units of the first 100 predicted ones."""
    return (rows - rows[2:102].mean(axis=0)) / rows[2:102].std(axis=0)


def draw_coefficients(rng, n=10, share=0.2):
    coef = rng.normal(size=(n, n)) * (rng.random((n, n)) < share)
    return coef * 0.8 / np.abs(np.linalg.eigvals(coef)).max()


@pytest.mark.parametrize("instantaneous", [True, False])
@pytest.mark.parametrize("kind", ["linear", "poly2"])
def test_ridge_is_the_weighted_batch_solve(kind, instantaneous):
    rows = standardise(simulate(120))
    options = {"lags": 2, "instantaneous": instantaneous, "forgetting": 0.97, "detect": False}
    tracker = SVARMTracker(kernels=kind, penalty="ridge", lam=3.0, **options).fit(rows)
    expected = oracle.weighted_ridge(rows, 2, 3.0, 0.97, kind=kind, instantaneous=instantaneous)
    np.testing.assert_allclose(tracker.strengths_, expected, rtol=1e-7, atol=1e-10)
    assert tracker.lam_ == 3.0
    if kind == "poly2":
        with pytest.raises(AttributeError, match="kernels='linear' alone"):
            _ = tracker.coef_


def test_lasso_is_that_of_the_weighted_rows():
    rows = simulate() * UNITS + LEVELS
    tracker = SVARMTracker(forgetting=0.98, detect=False, lam_ratio=0.05).fit(rows)
    weights = 0.98 ** np.arange(148, -1, -1.0)

    def scale(values):
        return np.sqrt(weights @ (values - weights @ values / weights.sum()) ** 2 / weights.sum())

    for target in range(N):
        others = [v for v in range(N) if v != target]
        design = np.hstack([rows[1:, others], rows[:-1]])
        scales = np.array([scale(column) for column in design.T])
        lasso = Lasso(alpha=tracker.lam_ / weights.sum(), tol=1e-10)
        lasso.fit(design / scales, rows[1:, target] / scale(rows[1:, target]), sample_weight=weights)
        coef = lasso.coef_ * scale(rows[1:, target])
        found = np.append(tracker.coef_[0, target, others], tracker.coef_[1, target])
        np.testing.assert_allclose(found * scales, coef, atol=1e-4 * scale(rows[1:, target]))
        level = lasso.intercept_ * scale(rows[1:, target])
        assert tracker.intercept_[target] == pytest.approx(level, abs=1e-2 * scale(rows[1:, target]))


@pytest.mark.parametrize("instantaneous", [True, False])
def test_without_forgetting_it_is_the_batch_learner(instantaneous):
    rows = simulate(300) * UNITS + LEVELS
    options = {"lags": 2, "instantaneous": instantaneous}
    tracker = SVARMTracker(**options, forgetting=1.0).fit(rows)
    batch = LinearSVARM(**options).fit(rows)
    np.testing.assert_allclose(tracker.strengths_, batch.strengths_, atol=0.01)
    np.testing.assert_allclose(tracker.intercept_, batch.intercept_, rtol=0.02, atol=0.3)
    assert tracker.restarts_ == []
    assert set(tracker.graph_.edges()) == set(batch.graph_.edges())
    kernel = SVARMTracker(**options, kernels=("gaussian", "linear"), max_rank=12, forgetting=1.0).fit(rows)
    batch = KernelSVARM(**options, kernels=("gaussian", "linear")).fit(rows)
    np.testing.assert_allclose(kernel.strengths_, batch.strengths_, atol=0.1)


@pytest.mark.parametrize("kernels", ["linear", ("gaussian", "linear")])
def test_any_chunks_and_copies_give_the_same_bits(kernels):
    rng = np.random.default_rng(1)
    rows = np.vstack([simulate(230, 1), simulate(130, 2, draw_coefficients(rng, N, 0.6))])
    whole = SVARMTracker(kernels=kernels, max_rank=3).fit(rows)
    assert len(whole.restarts_) == 1
    parts = SVARMTracker(kernels=kernels, max_rank=3)
    for chunk in np.split(rows, [1, 2, 5, 60, 99, 101, 102, 131, 250, 300]):
        parts.partial_fit(chunk)
        _ = parts.strengths_, parts.restarts_  # results change nothing
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(parts.strengths_, whole.strengths_)
    assert parts.restarts_ == whole.restarts_
    assert parts.n_seen_ == 360


def test_forecast_errors_are_weighted_as_their_rows():
    tracker = SVARMTracker(forgetting=0.98).partial_fit(simulate(257))
    weights = 0.98 ** np.arange(224)  # of 8 blocks of 32 predicted rows the first gives no forecasts
    state = tracker._tracker
    assert (state.error_weight, state.error_squares) == pytest.approx((weights.sum(), (weights**2).sum()))


def test_a_change_is_found_and_forgotten():
    rng = np.random.default_rng(0)
    coefs = [draw_coefficients(rng) for _ in range(2)]
    rows = np.vstack([simulate(600, k, coef, 10) for k, coef in enumerate(coefs)])
    tracker, slow = SVARMTracker(instantaneous=False), SVARMTracker(instantaneous=False, detect=False)
    errors = []
    for learner in (tracker, slow):
        learner.partial_fit(rows[:800])
        errors.append(np.linalg.norm(learner.coef_[1] - coefs[1]))
    assert len(tracker.restarts_) == 1
    assert abs(tracker.restarts_[0] - 600) <= 10
    batch = LinearSVARM(instantaneous=False).fit(rows[600:800])
    assert errors[0] <= 1.1 * np.linalg.norm(batch.coef_[1] - coefs[1]) < 0.8 * errors[1]


@pytest.mark.slow
def test_errors_after_changes():
    """N = 10, redrawn every 1,000 rows: 1.1 times the error of the last 200 rows at most, median of 20 seeds."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        coefs = [draw_coefficients(rng) for _ in range(2)]
        rows = np.vstack([simulate(1000 - 800 * k, 100 * seed + k, coef, 10) for k, coef in enumerate(coefs)])
        tracker = SVARMTracker(instantaneous=False).partial_fit(rows[:1200])
        batch = LinearSVARM(instantaneous=False).fit(rows[1000:1200])
        errors = [np.linalg.norm(learner.coef_[1] - coefs[1]) for learner in (tracker, batch)]
        ratios.append(errors[0] / errors[1])
    assert np.median(ratios) <= 1.1


def test_memory_does_not_grow():
    rows = simulate(1500)
    tracker = SVARMTracker().partial_fit(rows[:300])
    before = len(pickle.dumps(tracker))
    tracker.partial_fit(rows[300:1452])  # whole blocks
    assert len(pickle.dumps(tracker)) <= before + 200


def test_missing_rows_and_several_tables():
    frame = pd.DataFrame(simulate(260), columns=list("abcd"), index=pd.date_range("2024-01-01", periods=260, freq="D"))
    holed = frame.copy()
    holed.iloc[120, 1] = np.nan
    options = {"lags": 2, "missing": "drop"}
    tracker = SVARMTracker(**options).fit(holed)
    apart = SVARMTracker(**options).fit([frame[:120], frame[121:]])
    np.testing.assert_array_equal(tracker.strengths_, apart.strengths_)
    chunks = SVARMTracker(**options)
    for k in range(0, 260, 65):
        chunks.partial_fit(holed[k : k + 65][list("dbca")] if k else holed[:65])
    np.testing.assert_array_equal(tracker.strengths_, chunks.strengths_)
    assert tracker.variables_ == list("abcd")


def test_first_rows_and_constant_series():
    rows = simulate(40)
    tracker = SVARMTracker()
    for k in range(40):
        tracker.partial_fit(rows[k : k + 1])
        if k < 4:
            assert np.isfinite(tracker.coef_).all()
            assert tracker.graph_.has_edge(("x0", 1), ("x1", 0)) == (tracker.strengths_[1, 1, 0] > 0)
    np.testing.assert_array_equal(tracker.coef_, SVARMTracker().fit(rows).coef_)
    rows[:, 2] = 7.0
    tracker = SVARMTracker().fit(rows)
    assert not tracker.strengths_[:, 2].any()
    assert not tracker.strengths_[:, :, 2].any()
    assert np.isfinite(tracker.intercept_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forgetting": 0.0}, r"'forgetting' .* in the range \(0\.0, 1\.0\]\. Got 0\.0"),
        ({"forgetting": 1.5}, r"'forgetting' .* in the range \(0\.0, 1\.0\]\. Got 1\.5"),
        ({"forgetting": True}, "forgetting=True of SVARMTracker must be a number, not a boolean"),
        ({"lam": True}, "lam=True of SVARMTracker must be a number, not a boolean"),
        ({"kernels": ()}, r"at least one kernel, got \(\)"),
        ({"kernels": "cubic"}, "of gaussian, poly2, linear or functions of two arrays, got 'cubic'"),
        ({"kernels": lambda u, v: 1.0 + 0.0 * u * v}, "are constant: give a kernel that varies"),
        ({"kernels": lambda u, v: -u * v}, "not positive semidefinite: give one that is"),
        ({"max_rank": 0}, r"'max_rank' .* in the range \[1, 33\]\. Got 0"),
        ({"penalty": "l1"}, r"'penalty' .* among \{'.*', '.*'\}\. Got 'l1'"),
        ({"detect": None}, "'detect' .* 'bool' .* Got None"),
    ],
)
def test_errors_of_options(options, message):
    with pytest.raises(ValueError, match=message):
        SVARMTracker(**options).partial_fit(simulate(20))


def test_errors_of_rows_change_nothing():
    rows = simulate(140)
    tracker = SVARMTracker().partial_fit(rows[:120])
    before = pickle.dumps(tracker)
    wrongs = [
        (rows[:5, :3], "3 features, .* expecting 4 .*: give the columns"),
        (np.full((2, N), np.nan), "missing values .* 'x0', .*: pass missing='drop'"),
        (rows[0], "Expected 2D array, got 1D"),
    ]
    for wrong, message in wrongs:
        with pytest.raises(ValueError, match=message):
            tracker.partial_fit(wrong)
    with pytest.raises(ValueError, match="only in the rows before: 'x0', .* in these rows: 'a'"):
        tracker.partial_fit(pd.DataFrame(rows[:5], columns=list("abcd")))
    assert pickle.dumps(tracker) == before
    with pytest.raises(ValueError, match="forgetting=0.5, but SVARMTracker has learned 120 rows"):
        tracker.set_params(forgetting=0.5).partial_fit(rows[120:])
    with pytest.raises(ValueError, match="lags=2 needs at least 3"):
        SVARMTracker(lags=2).fit([rows[:2], rows[2:]])
    with pytest.raises(AttributeError, match="not fitted"):
        _ = SVARMTracker().restarts_

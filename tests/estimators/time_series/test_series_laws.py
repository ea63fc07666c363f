"""Laws of learners of series: what permuting, scaling, splitting and cutting into chunks does to their answers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.series_learners import SERIES_LEARNERS, list_coefficients, make_series_learner, simulate_system
from pgmx.estimators import DenseLDS

LINEAR = [cls for cls, entry in SERIES_LEARNERS.items() if entry.is_linear]
seeds = st.integers(0, 1000)
every_linear_learner = pytest.mark.parametrize("cls", LINEAR, ids=lambda cls: cls.__name__)


def relabel(cls, order, **options):
    """Return a learner of series in another order, its structure too."""
    learner = make_series_learner(cls, len(order), **options)
    if hasattr(learner, "structure"):
        learner.set_params(structure=learner.structure[np.ix_(order, order)])
    return learner


@every_linear_learner
@settings(deadline=None, max_examples=10)
@given(seed=seeds, lags=st.integers(1, 2), intercept=st.booleans())
def test_permuted_series_permute_the_answer(cls, seed, lags, intercept):
    rows, _ = simulate_system(4, 120, seed)
    order = np.random.default_rng(seed).permutation(4)
    options = {"lags": lags, "fit_intercept": intercept}
    coef = list_coefficients(make_series_learner(cls, **options).fit(rows))
    permuted = list_coefficients(relabel(cls, order, **options).fit(rows[:, order]))
    np.testing.assert_allclose(permuted, coef[:, order][:, :, order], atol=1e-7)


@every_linear_learner
@settings(deadline=None, max_examples=10)
@given(seed=seeds, exponents=st.lists(st.integers(-6, 6), min_size=4, max_size=4))
def test_a_scaled_series_scales_coefficients_and_changes_no_edge(cls, seed, exponents):
    rows, _ = simulate_system(4, 120, seed)
    scales = 10.0 ** np.array(exponents)
    plain, scaled = (make_series_learner(cls, standardize=True).fit(rows * factor) for factor in (1.0, scales))
    back = list_coefficients(scaled) / np.divide.outer(scales, scales)
    np.testing.assert_allclose(back, list_coefficients(plain), atol=1e-7)
    assert scaled.graph_.edges == plain.graph_.edges


@every_linear_learner
@settings(deadline=None, max_examples=10)
@given(seed=seeds, bounds=st.sets(st.integers(10, 140), min_size=1, max_size=3), lags=st.integers(1, 3))
def test_groups_are_the_list_of_their_parts(cls, seed, bounds, lags):
    rows, _ = simulate_system(3, 150, seed)
    cuts = [b for a, b in zip([0, *sorted(bounds)], sorted(bounds), strict=False) if b - a > lags + 1]
    parts = np.split(rows, cuts)
    frame = pd.DataFrame(rows, columns=list("abc")).assign(part=np.repeat(np.arange(len(parts)), list(map(len, parts))))
    by_list = make_series_learner(cls, 3, lags=lags).fit(parts)
    by_groups = make_series_learner(cls, 3, lags=lags, groups="part").fit(frame)
    np.testing.assert_allclose(list_coefficients(by_groups), list_coefficients(by_list), atol=1e-12)
    assert by_list.n_targets_ == 150 - lags * len(parts) == by_groups.n_targets_


@settings(deadline=None, max_examples=20)
@given(
    seed=seeds,
    bounds=st.sets(st.integers(1, 99), max_size=6),
    lags=st.integers(1, 3),
    intercept=st.booleans(),
    level=st.sampled_from([0.0, 1e4]),
    gaps=st.sets(st.integers(0, 99), max_size=4),
)
def test_chunks_equal_the_whole(seed, bounds, lags, intercept, level, gaps):
    level *= intercept  # without an intercept the level would dominate the products
    rows, _ = simulate_system(3, 100, seed, level)
    rows[list(gaps)] = np.nan
    frame = pd.DataFrame(rows, columns=list("abc"), index=pd.date_range("2020-01-01", periods=100))
    learner = DenseLDS(lags=lags, fit_intercept=intercept, missing="drop", seasonal_period=3)
    whole = learner.fit(frame)
    coef, noise, counts = whole.coef_, whole.noise_covariance_, (whole.n_targets_, whole.n_left_out_)
    constants = np.column_stack([whole.intercept_, whole.exogenous_coef_])
    pieces = learner.fit(iter([frame.iloc[rows] for rows in np.split(np.arange(100), sorted(bounds))]))
    tolerance = 1e-10 if level == 0 or intercept else 1e-6  # without an intercept the level dominates the products
    np.testing.assert_allclose(pieces.coef_, coef, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(pieces.noise_covariance_, noise, rtol=tolerance, atol=max(tolerance, 1e-12 * level**2))
    np.testing.assert_allclose(
        np.column_stack([pieces.intercept_, pieces.exogenous_coef_]),
        constants,
        rtol=tolerance,
        atol=tolerance * (1 + level),
    )
    assert (pieces.n_targets_, pieces.n_left_out_) == counts


def test_forecasts_of_a_stable_system_approach_its_mean():
    rows, _ = simulate_system(4, 500, level=50.0, radius=0.7)
    learner = DenseLDS(fit_intercept=True).fit(rows)
    mean = np.linalg.solve(np.eye(4) - learner.coef_, learner.intercept_)
    np.testing.assert_allclose(learner.predict(rows, steps=200)[-1], mean, rtol=1e-9)
    np.testing.assert_allclose(mean, rows.mean(axis=0), atol=1.0)


def test_what_is_simulated_is_learned_again():
    rows, coef = simulate_system(3, 20_000, seed=4)
    np.testing.assert_allclose(DenseLDS().fit(rows).coef_, coef, atol=0.03)

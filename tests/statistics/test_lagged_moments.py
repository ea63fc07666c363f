"""Cross-products of lagged rows against the products of an explicit design, and sums over segments."""

import numpy as np
import pytest

from pgmx.statistics.lagged_moments import empty_moments, segment_moments


def make_design(segment, exogenous, lags, intercept):
    """Return predictors and targets row by row: lag 1 of all series, lag 2, ..., exogenous columns, and 1."""
    constant = [1.0] if intercept else []
    rows = []
    for t in range(lags, len(segment)):
        past = np.concatenate([segment[t - lag] for lag in range(1, lags + 1)])
        rows.append([*past, *exogenous[t], *constant])
    return np.array(rows), segment[lags:]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("lags", "n_exogenous"), [(1, 0), (1, 2), (3, 0), (2, 1)])
def test_moments_add_up_over_segments(lags, n_exogenous, intercept, rng):
    segments = [(rng.normal(size=(n, 3)), rng.normal(size=(n, n_exogenous))) for n in (9, 5, 30)]
    parts = [segment_moments(*segment, lags, intercept) for segment in segments]
    total = sum(parts[1:], start=parts[0])
    designs, targets = zip(*(make_design(*segment, lags, intercept) for segment in segments), strict=True)
    design, target = np.concatenate(designs), np.concatenate(targets)
    np.testing.assert_allclose(total.gram, design.T @ design, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total.cross, design.T @ target, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total.target_gram, target.T @ target, rtol=1e-12, atol=1e-12)
    assert total.n_targets == len(target)
    nothing = empty_moments(3, n_exogenous, lags, intercept)
    np.testing.assert_array_equal((nothing + parts[0]).gram, parts[0].gram)


def test_rescaled_moments_are_those_of_rescaled_series(rng):
    segment, exogenous, scales = rng.normal(size=(20, 3)), rng.normal(size=(20, 1)), np.array([0.5, 2.0, 10.0])
    found = segment_moments(segment, exogenous, 2, True).rescale(scales)
    expected = segment_moments(segment / scales, exogenous, 2, True)
    for name in ("gram", "cross", "target_gram"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)

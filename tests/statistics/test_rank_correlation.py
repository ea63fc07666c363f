"""Rank correlations against SciPy and pandas, their laws, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.examples import examples
from pgmx._ext import _ranks
from pgmx.statistics import kendall_tau_matrix, latent_correlation, nearest_correlation, spearman
from pgmx.statistics import rank_correlation as rank_correlation
from pgmx.statistics.rank_correlation import rank_columns

METHODS = ("kendall", "spearman", "shrinkage", "truncation")
FUNCTIONS = {
    "tau": kendall_tau_matrix,
    "rho": spearman,
    **{name: lambda X, name=name, **options: latent_correlation(X, name, **options) for name in METHODS},
}


@st.composite
def rows(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n, p = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    if draw(st.booleans()):
        X = np.round(X)
    if draw(st.booleans()):
        X[rng.random((n, p)) < 0.3] = np.nan
    return X


def test_scipy_and_pandas_agree(rng):
    X = rng.normal(size=(300, 5)) + rng.normal(size=(300, 1))
    X[:, 1], X[:, 2] = np.round(X[:, 1]), np.round(X[:, 2] * 4)
    X[rng.random(300) < 0.2, 4] = np.nan
    frame = pd.DataFrame(X)
    found = kendall_tau_matrix(X, missing="pairwise")
    np.testing.assert_allclose(found, frame.corr("kendall"), rtol=0, atol=1e-14)
    np.testing.assert_allclose(spearman(X, missing="pairwise"), frame.corr("spearman"), rtol=0, atol=1e-14)
    assert found[0, 1] == pytest.approx(stats.kendalltau(X[:, 0], X[:, 1]).statistic, abs=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
@examples(40)
@given(X=rows())
def test_matrices_are_symmetric_with_ones(name, X):
    found = FUNCTIONS[name](X, missing="pairwise")
    assert found.shape == (X.shape[1],) * 2 and found.dtype == np.float64
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), np.ones(X.shape[1]))
    assert np.abs(found).max() <= 1.0


@pytest.mark.parametrize("name", FUNCTIONS)
@examples(40)
@given(X=rows())
def test_rising_maps_do_not_matter_and_falling_ones_turn_the_sign(name, X):
    found = FUNCTIONS[name](X, missing="pairwise")
    np.testing.assert_array_equal(FUNCTIONS[name](np.exp(X / 4) * 7 - 1, missing="pairwise"), found)
    if name == "truncation":
        return  # r / n of reversed ranks is not 1 - r / n
    turned = X.copy()
    turned[:, 0] *= -1
    sign = np.ones(len(found))
    sign[0] = -1
    # Scores are quantiles of a probability p on one side and of 1 - p, rounded, on the other.
    np.testing.assert_allclose(FUNCTIONS[name](turned, missing="pairwise"), found * np.outer(sign, sign), atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
@examples(40)
@given(X=rows(), seed=st.integers(0, 100))
def test_order_of_rows_and_columns_does_not_matter(name, X, seed):
    rng = np.random.default_rng(seed)
    r, c = rng.permutation(len(X)), rng.permutation(X.shape[1])
    found, other = (FUNCTIONS[name](table, missing="pairwise") for table in (X, X[r][:, c]))
    # Counts and sums of ranks are whole numbers, sums of scores are rounded.
    tolerance = 0 if name in ("tau", "rho", "kendall", "spearman") else 1e-13
    np.testing.assert_allclose(other, found[np.ix_(c, c)], rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_that_tell_nothing_have_no_correlation(name, rng):
    X = rng.normal(size=(30, 4))
    X[:, 1] = 0.1
    X[1:, 2] = np.nan
    X[:, 3] = np.where(np.isnan(X[:, 2]), X[:, 3], 5.0)
    found = FUNCTIONS[name](X, missing="pairwise")
    np.testing.assert_array_equal(found[1:3], np.eye(4)[1:3])
    X[:, 2] = np.nan
    np.testing.assert_array_equal(FUNCTIONS[name](X, missing="pairwise")[2], np.eye(4)[2])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pairs_with_gaps_are_those_of_their_complete_rows(name, rng):
    X = rng.normal(size=(200, 3)) + rng.normal(size=(200, 1))
    X[rng.random(200) < 0.3, 0] = np.nan
    found = FUNCTIONS[name](X, missing="pairwise")
    complete = X[~np.isnan(X[:, 0])]
    if name in ("shrinkage", "truncation"):  # columns are scored over all their own rows
        np.testing.assert_allclose(found[0], FUNCTIONS[name](complete)[0], atol=0.02)
    else:
        np.testing.assert_array_equal(found[0], FUNCTIONS[name](complete)[0])
    np.testing.assert_allclose(found[1:, 1:], FUNCTIONS[name](X[:, 1:]), rtol=0, atol=1e-13)


def test_latent_formulas(rng):
    X = rng.normal(size=(101, 4)) + rng.normal(size=(101, 1))
    np.testing.assert_array_equal(latent_correlation(X, "kendall"), np.sin(np.pi / 2 * kendall_tau_matrix(X)))
    found, rho = latent_correlation(X, "spearman"), spearman(X)
    np.testing.assert_allclose(found, 2 * np.sin(np.pi / 6 * rho), rtol=1e-15)
    n, ranks = len(X), stats.rankdata(X, axis=0)
    shrunken = stats.norm.ppf(ranks / (n + 1))
    np.testing.assert_allclose(latent_correlation(X, "shrinkage"), np.corrcoef(shrunken.T), atol=1e-13)
    delta = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    truncated = stats.norm.ppf(np.clip(ranks / n, delta, 1 - delta))
    np.testing.assert_allclose(latent_correlation(X, "truncation"), np.corrcoef(truncated.T), atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bent", [np.exp, lambda x: x**3, stats.norm.cdf])
def test_latent_correlations_are_found_behind_any_margins(method, bent, rng):
    """Twenty thousand rows: three standard errors are 0.02."""
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    X = rng.multivariate_normal(np.zeros(4), covariance, 20_000)
    np.testing.assert_allclose(latent_correlation(bent(X), method), covariance, atol=0.02)


def test_more_columns_than_rows_need_a_repair(rng):
    found = latent_correlation(rng.normal(size=(20, 60)), "kendall")
    assert np.linalg.eigvalsh(found).min() < -0.1
    repaired, change = nearest_correlation(found)
    assert np.linalg.eigvalsh(repaired).min() > 0 and change < 0.5


def test_the_way_is_chosen_by_rows_and_kinds(rng, monkeypatch):
    monkeypatch.setattr(_ranks, "MANY_ROWS", (100, 50, 25))
    clean = rng.normal(size=(90, 4))
    assert not rank_correlation._has_many_rows(rank_columns(clean))
    assert rank_correlation._has_many_rows(rank_columns(np.vstack((clean, clean + 0.5))))
    assert rank_correlation._has_many_rows(rank_columns(np.round(clean)))
    clean[0, :] = np.nan
    assert rank_correlation._has_many_rows(rank_columns(clean[:30]))
    assert not rank_correlation._has_many_rows(rank_columns(clean[:20]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_callers_table_is_left_alone(name, rng):
    X = rng.normal(size=(30, 3))
    X[4, 1] = np.nan
    before = X.copy()
    X.setflags(write=False)
    FUNCTIONS[name](X, missing="pairwise")
    np.testing.assert_array_equal(X, before)


def test_any_layout_and_type(rng):
    X = rng.integers(0, 9, (50, 6))
    expected = kendall_tau_matrix(X)
    for table in (X.tolist(), X.astype(np.int8), np.asfortranarray(X, dtype=float), pd.DataFrame(X)):
        np.testing.assert_array_equal(kendall_tau_matrix(table), expected)
    np.testing.assert_array_equal(kendall_tau_matrix(X[::2, ::3]), kendall_tau_matrix(X[::2, ::3].copy()))


def test_infinities_have_a_rank():
    X = np.array([[-np.inf, 1.0], [0.0, 2.0], [np.inf, 3.0]])
    assert kendall_tau_matrix(X)[0, 1] == 1.0


def test_no_columns():
    for function in FUNCTIONS.values():
        assert function(np.empty((5, 0))).shape == (0, 0)


@pytest.mark.slow
def test_millions_of_rows_with_a_gap():
    """Sums of squared ranks leave 64 bits at three million rows."""
    n = 3_100_000
    X = np.empty((n, 2))
    X[:, 0], X[:, 1] = np.arange(n), (np.arange(n) + n // 2) % n
    X[0, 0] = np.nan
    assert spearman(X, missing="pairwise")[0, 1] == pytest.approx(-0.5, abs=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_is_refused(function, rng):
    X = rng.normal(size=(10, 3))
    for bad in (X[:1], X[0], X[:, :, None]):
        with pytest.raises(ValueError, match="a table of at least 2 rows, got the shape"):
            function(bad)
    with pytest.raises(ValueError, match="missing must be 'error' or 'pairwise', got 'drop'"):
        function(X, missing="drop")
    X[3, [0, 2]] = np.nan
    with pytest.raises(ValueError, match=r"positions \[0, 2\] have missing values: drop these rows, or pass missing="):
        function(X)


def test_unknown_methods():
    with pytest.raises(ValueError, match="method must be one of 'kendall', .* got 'pearson'"):
        latent_correlation(np.eye(3), "pearson")

"""Samples of Gaussian learners by rank methods: the matrices, the maps, missing values, and parts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.data import open_numeric
from pgmx.statistics import MarginalTransforms, gaussian_sample, latent_correlation

METHODS = ("kendall", "spearman", "shrinkage", "truncation")


def correlated(rng, n_rows, p):
    return rng.normal(size=(n_rows, p)) @ (np.eye(p) + 0.15 * rng.normal(size=(p, p)))


@pytest.mark.parametrize("method", METHODS)
def test_matrix_and_maps(rng, method):
    rows = np.exp(correlated(rng, 200, 5))
    rows.flags.writeable = False
    sample = gaussian_sample(rows, correlation=method)
    np.testing.assert_array_equal(sample.correlation, latent_correlation(rows, method))
    assert sample.transforms == MarginalTransforms.from_rows(rows, method)
    assert (sample.method, sample.n_rows, sample.n_table_rows, sample.repaired) == (method, 200.0, 200, 0.0)
    np.testing.assert_allclose(sample.mean, rows.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(sample.scale, rows.std(axis=0), rtol=1e-12)
    assert sample.factor is None
    assert not sample.singular
    assert not sample.correlation.flags.writeable


@pytest.mark.parametrize("method", METHODS)
def test_rising_maps_and_chunks_change_nothing(rng, method, tmp_path):
    rows = correlated(rng, 40, 4)
    expected = gaussian_sample(rows, correlation=method).correlation
    cubed = gaussian_sample(iter(np.split(rows**3, [7, 30])), correlation=method)
    np.testing.assert_allclose(cubed.correlation, expected, rtol=0, atol=1e-12)
    pd.DataFrame(rows).rename(columns=str).to_parquet(tmp_path / "t.parquet")
    file = gaussian_sample(str(tmp_path / "t.parquet"), correlation=method, n_jobs=2)
    np.testing.assert_allclose(file.correlation, expected, rtol=0, atol=1e-12)


@given(st.sampled_from(METHODS), st.integers(4, 20), st.integers(2, 12), st.integers(0, 2**20))
def test_always_a_correlation_matrix(method, n_rows, p, number):
    rng = np.random.default_rng(number)
    rows = np.round(rng.normal(size=(n_rows, p)), 1)  # with ties
    rows[:2] = [[0.5], [1.5]]
    rows[2:][rng.random((n_rows - 2, p)) < 0.2] = np.nan
    sample = gaussian_sample(open_numeric(rows, missing="pairwise"), correlation=method)
    correlation = sample.correlation
    np.testing.assert_array_equal(correlation, correlation.T)
    np.testing.assert_array_equal(correlation.diagonal(), np.ones(p))
    assert np.linalg.eigvalsh(correlation)[0] > -1e-9 * p
    raw = latent_correlation(rows, method, missing="pairwise")
    assert sample.repaired == pytest.approx(np.abs(raw - correlation).max(), abs=1e-12)
    known = (~np.isnan(rows)).astype(float)
    assert sample.n_rows == (known.T @ known).min()


def test_sines_beyond_a_correlation_matrix_are_repaired(rng):
    rows = rng.normal(size=(5, 12))
    sample = gaussian_sample(rows, correlation="kendall")
    assert np.linalg.eigvalsh(latent_correlation(rows, "kendall"))[0] < -0.01
    assert sample.repaired > 0.001
    assert sample.singular


@pytest.mark.parametrize("method", METHODS)
def test_constant_columns(rng, method):
    rows = rng.normal(size=(20, 4))
    rows[:, 2] = 3.0
    with pytest.raises(ValueError, match=r"column\(s\) 'x2' are constant"):
        gaussian_sample(rows, correlation=method)
    sample = gaussian_sample(rows, correlation=method, constant="isolate")
    assert sample.correlation[2].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert (sample.constant.tolist(), sample.scale[2]) == ([2], 1.0)


@pytest.mark.parametrize("method", ["pearson", *METHODS])
def test_parts(rng, method):
    rows = np.exp(correlated(rng, 30, 4))
    rows[:10, 3] = 2.0
    sample = gaussian_sample(rows, correlation=method)
    drawn = rng.integers(8, 30, 25)
    first, second = sample.parts([np.arange(10), drawn], n_jobs=2)
    assert (first.constant.tolist(), first.scale[3]) == ([3], sample.scale[3])
    assert first.method == second.method == method
    again = gaussian_sample(rows[drawn], correlation=method)
    np.testing.assert_allclose(second.correlation, again.correlation, rtol=0, atol=1e-12)
    np.testing.assert_allclose(second.mean, again.mean, rtol=1e-13)
    assert (second.n_rows, second.transforms) == (25.0, None)


@pytest.mark.parametrize("method", ["pearson", *METHODS])
def test_parts_in_which_columns_are_never_known_together(rng, method):
    rows = correlated(rng, 24, 4)
    rows[:6, 0] = np.nan
    rows[6:9, 1] = np.nan
    rows[9:12, 2] = np.nan
    sample = gaussian_sample(open_numeric(rows, missing="pairwise"), correlation=method)
    assert sample.n_rows == 15.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unknown, apart = sample.parts([np.arange(6), np.arange(6, 12)])
    assert unknown.constant.tolist() == [0]
    assert (unknown.mean[0], unknown.scale[0]) == (sample.mean[0], sample.scale[0])
    assert unknown.correlation[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert apart.correlation[1, 2] == pytest.approx(0.0, abs=1e-12) or apart.repaired > 0
    assert apart.n_rows == 3.0
    for part in (unknown, apart):
        assert np.isfinite(part.correlation).all()
        assert np.linalg.eigvalsh(part.correlation)[0] > -1e-9

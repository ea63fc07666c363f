"""Samples of Gaussian learners by Pearson correlations: from memory and chunks, complete and incomplete."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.data import numeric, open_numeric
from pgmx.statistics import GaussianSample, gaussian_sample


def correlated(rng, n_rows, p):
    return rng.normal(size=(n_rows, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p))) + rng.normal(size=p)


def check(sample, rows, weights=None):
    """Compare with the formulas in long doubles."""
    rows = np.asarray(rows, dtype=np.longdouble)
    weights = np.ones(len(rows), dtype=np.longdouble) if weights is None else np.asarray(weights, dtype=np.longdouble)
    n = weights.sum()
    mean = weights @ rows / n
    centred = (rows - mean) * np.sqrt(weights / n)[:, None]
    scale = np.sqrt((centred**2).sum(axis=0))
    correlation = (centred / scale).T @ (centred / scale)
    assert sample.n_rows == pytest.approx(float(n), rel=1e-14)
    size = float(np.abs(rows).max())
    np.testing.assert_allclose(sample.mean, mean.astype(float), rtol=1e-13, atol=1e-15 * size)
    np.testing.assert_allclose(sample.scale, scale.astype(float), rtol=1e-10)
    np.testing.assert_allclose(sample.correlation, correlation.astype(float), rtol=0, atol=1e-10)
    check_shape(sample)


def check_shape(sample):
    p = sample.n_columns
    correlation = sample.correlation
    assert correlation.shape == (p, p)
    assert correlation.flags.c_contiguous
    np.testing.assert_array_equal(correlation, correlation.T)
    np.testing.assert_array_equal(correlation.diagonal(), np.ones(p))
    assert np.abs(correlation).max() <= 1.0
    assert np.linalg.eigvalsh(correlation)[0] > -1e-9 * p
    for array in (correlation, sample.mean, sample.scale):
        assert not array.flags.writeable
    if sample.factor is not None:
        assert not sample.factor.flags.writeable
        np.testing.assert_allclose(sample.factor.T @ sample.factor, correlation, rtol=0, atol=1e-13)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 2**20))
def test_formulas(n_rows, p, number):
    rng = np.random.default_rng(number)
    rows = correlated(rng, n_rows, p)
    rows.flags.writeable = False
    sample = gaussian_sample(rows)
    check(sample, rows)
    assert (sample.factor is not None) == (n_rows < p)
    assert sample.singular or n_rows > p
    assert (sample.n_table_rows, sample.repaired, sample.method) == (n_rows, 0.0, "pearson")
    assert sample.names == tuple(f"x{j}" for j in range(p))


@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 50), st.integers(0, 2**20))
def test_chunks_rows_and_weights_in_any_order(n_rows, p, size, number):
    rng = np.random.default_rng(number)
    rows, weights = correlated(rng, n_rows, p), rng.exponential(size=n_rows) + 0.01
    weights[rng.random(n_rows) < 0.2] = 0.0
    weights[:2] = 1.0
    whole = gaussian_sample(rows, weights=weights)
    check(whole, rows, weights)
    order = rng.permutation(n_rows)
    rows, weights = rows[order], weights[order]
    pieces = gaussian_sample(iter([rows[k : k + size] for k in range(0, n_rows, size)]), weights=weights)
    check(pieces, rows, weights)
    assert (pieces.factor is None) == (whole.factor is None)


@pytest.mark.parametrize("shape", [(60, 7), (7, 60)])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files(rng, shape, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(numeric, "CHUNK_ROWS", 5)
    frame = pd.DataFrame(correlated(rng, *shape)).rename(columns=str)
    path = tmp_path / f"t.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    sample = gaussian_sample(open_numeric(path))
    check(sample, frame.to_numpy())
    assert sample.names == tuple(frame.columns)
    assert isinstance(sample.factor, np.memmap) == (shape[0] < shape[1])
    for part, rows in zip(sample.parts([np.arange(4), np.arange(3, 7)]), (slice(0, 4), slice(3, 7)), strict=True):
        check(part, frame.to_numpy()[rows])


@pytest.mark.parametrize("n_rows", [200, 9])
def test_scales_and_offsets(rng, n_rows):
    """A column of each size, far from zero as far as its digits allow."""
    p = 13
    scales = 10.0 ** np.arange(-12, 13, 2)
    rows = correlated(rng, n_rows, p)
    expected = gaussian_sample(rows)
    sample = gaussian_sample((rows + 1e3) * scales)
    np.testing.assert_allclose(sample.correlation, expected.correlation, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sample.scale, expected.scale * scales, rtol=1e-11)
    offset = np.round(rows * 1024) / 1024
    far, near = gaussian_sample(offset + 1e9), gaussian_sample(offset)
    np.testing.assert_allclose(far.correlation, near.correlation, rtol=0, atol=1e-9)
    np.testing.assert_allclose(far.mean, near.mean + 1e9, rtol=1e-15)


@pytest.mark.parametrize("n_rows", [12, 3])
@pytest.mark.parametrize("missing", ["error", "pairwise"])
def test_numbers_without_squares(rng, n_rows, missing):
    rows = rng.normal(size=(n_rows, 4))
    rows[:, 1:3] *= 1e200
    rows[0, 3] = np.nan if missing == "pairwise" else 0.0
    with pytest.raises(ValueError, match=r"column\(s\) 'x1', 'x2' hold numbers whose squares are too large"):
        gaussian_sample(open_numeric(rows, missing=missing))


def test_few_rows_of_many_columns(rng, monkeypatch):
    """The square of the number of columns would be 80 GB."""
    monkeypatch.setattr("pgmx.statistics.gaussian.passes.Moments", None)
    sample = gaussian_sample(rng.normal(size=(3, 100_000)))
    assert sample.factor.shape == (3, 100_000)
    assert sample.singular


@pytest.mark.parametrize("n_rows", [12, 3])
def test_constant_columns(rng, n_rows):
    rows = rng.normal(size=(n_rows, 5))
    rows[:, 1], rows[:, 3] = 0.1, 1e9
    with pytest.raises(ValueError, match=r"column\(s\) 'x1', 'x3' are constant, so they have no correlation"):
        gaussian_sample(rows)
    sample = gaussian_sample(rows, constant="isolate")
    assert sample.constant.tolist() == [1, 3]
    assert sample.scale[[1, 3]].tolist() == [1.0, 1.0]
    assert sample.mean[[1, 3]].tolist() == pytest.approx([0.1, 1e9], rel=1e-15)
    check_shape(sample)
    varying = [0, 2, 4]
    np.testing.assert_allclose(
        sample.correlation[np.ix_(varying, varying)], np.corrcoef(rows[:, varying].T), rtol=0, atol=1e-12
    )
    assert not sample.correlation[[1, 3]][:, varying].any()
    assert sample.correlation[1, 3] == 0.0


def test_collinear_columns_are_singular(rng):
    rows = rng.normal(size=(30, 3))
    sample = gaussian_sample(np.column_stack([rows, rows.sum(axis=1)]))
    assert sample.singular
    assert not gaussian_sample(rows).singular
    assert abs(gaussian_sample(np.column_stack([rows[:, 0], -rows[:, 0]])).correlation[0, 1] + 1.0) < 1e-15


def test_missing_rows_are_left_out_with_their_weights(rng):
    rows, weights = rng.normal(size=(30, 4)), rng.exponential(size=30)
    holed = rows.copy()
    holed[[3, 17], [0, 2]] = np.nan
    kept = np.setdiff1d(np.arange(30), [3, 17])
    for X in (holed, iter([holed[:10], holed[10:]])):
        sample = gaussian_sample(open_numeric(X, missing="drop"), weights=weights)
        check(sample, rows[kept], weights[kept])
        assert sample.n_table_rows == 28
    for part in gaussian_sample(open_numeric(holed, missing="drop"), weights=weights).parts([np.arange(5, 25)]):
        check(part, rows[kept[5:25]], weights[kept[5:25]])


def test_results_can_be_kept_and_sent(rng, tmp_path):
    for n_rows in (20, 4):
        sample = gaussian_sample(rng.normal(size=(n_rows, 6)), weights=np.ones(n_rows))
        bare = sample.without_rows()
        assert bare.table is None
        assert bare.weights is None
        assert sample.table is not None
        assert repr(bare) == f"GaussianSample(6 columns, {n_rows} rows, pearson)"
        twin = pickle.loads(pickle.dumps(sample))
        assert isinstance(twin, GaussianSample)
        np.testing.assert_array_equal(twin.correlation, sample.correlation)
        np.testing.assert_array_equal(bare.correlation, sample.correlation)
        with pytest.raises(ValueError, match="the sample has no rows"):
            bare.parts([np.arange(3)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"correlation": "cosine"}, "correlation must be one of 'pearson', 'kendall', .*, got 'cosine'"),
        ({"constant": "drop"}, "constant must be one of 'error', 'isolate', got 'drop'"),
        ({"correlation": "kendall", "weights": np.ones(5)}, "uses ranks, which do not support weights"),
        ({"weights": np.ones(4)}, r"weights must have the shape \(5,\)"),
    ],
)
def test_options_that_do_not_fit(rng, options, words):
    with pytest.raises(ValueError, match=words):
        gaussian_sample(rng.normal(size=(5, 2)), **options)


@pytest.mark.parametrize("n_weights", [4, 6])
def test_weights_of_an_iterator(rng, n_weights):
    with pytest.raises(ValueError, match=rf"4 weights are|shape \(5,\), one weight per row, got \({n_weights},\)"):
        gaussian_sample(iter(np.split(rng.normal(size=(5, 2)), [2])), weights=np.ones(n_weights))

"""Parts of samples, samples with missing values, samples of covariances, and temporary files."""

import gc
import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.data import open_numeric
from pgmx.statistics import gaussian_sample, sample_of_covariance
from pgmx.statistics.gaussian.thin_factor import RowStore
from pgmx.statistics.moments import PairwiseMoments

pytestmark = pytest.mark.slow


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("JOBLIB_TEMP_FOLDER", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def same(one, other, atol=1e-12):
    for name in ("mean", "scale", "correlation"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=atol)
    assert one.n_rows == pytest.approx(other.n_rows, rel=1e-13)
    assert one.constant.tolist() == other.constant.tolist()


# ---- parts ----


@given(st.integers(4, 30), st.integers(1, 10), st.integers(0, 2**20), st.booleans(), st.booleans())
def test_parts_are_samples_of_their_rows(n_rows, p, number, weighted, holed):
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(n_rows, p))
    if holed:
        rows[rng.random(rows.shape) < 0.1] = np.nan
        rows[:3] = rng.normal(size=(3, p))
    weights = rng.exponential(size=n_rows) + 0.1 if weighted else None
    sample = gaussian_sample(open_numeric(rows, missing="pairwise"), weights=weights)
    halves = [np.append(part, [0, 1, 2]) for part in np.array_split(rng.permutation(n_rows), 2)]
    drawn = np.append(rng.integers(0, n_rows, n_rows), [0, 1, 2])
    for part, numbers in zip(sample.parts([*halves, drawn]), [*halves, drawn], strict=True):
        own = None if weights is None else weights[numbers]
        again = gaussian_sample(open_numeric(rows[numbers], missing="pairwise"), weights=own)
        same(part, again, atol=1e-9)
        assert part.n_table_rows == len(numbers)
        assert part.table is None
        if not holed:
            assert (part.factor is not None) == (len(set(numbers.tolist())) < p)


@pytest.mark.parametrize("p", [3, 30])
def test_constant_in_a_part(rng, p):
    rows = rng.normal(size=(20, p))
    rows[:8, 1] = 5.0
    sample = gaussian_sample(rows)
    part, other = sample.parts([np.arange(8), np.arange(8, 20)])
    assert part.constant.tolist() == [1]
    assert part.scale[1] == sample.scale[1]
    assert part.correlation[1].tolist() == [float(j == 1) for j in range(p)]
    same(other, gaussian_sample(rows[8:]))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([0, 9], r"row numbers must be in 0..4, got 0..9"),
        ([-1, 2], "got -1..2"),
        ([], "a subset must consist of row numbers"),
        ([True, False], "a subset must consist of row numbers"),
    ],
)
def test_rows_that_are_not_there(rng, rows, words):
    with pytest.raises(ValueError, match=words):
        gaussian_sample(rng.normal(size=(5, 2))).parts([rows])


def test_parts_of_what_is_used_up(rng):
    sample = gaussian_sample(iter([rng.normal(size=(9, 2))]))
    with pytest.raises(ValueError, match="can be read once, and it was: give a file"):
        sample.parts([np.arange(4)])


# ---- temporary files ----


def test_the_file_of_a_factor_goes_with_it(rng, temporary_folder):
    sample = gaussian_sample(iter([rng.normal(size=(3, 9))]))
    bare = sample.without_rows()
    assert [path.name for path in temporary_folder.glob("*/*")] == ["factor.npy"]
    del sample
    gc.collect()
    assert np.linalg.matrix_rank(bare.factor) == 2
    del bare
    gc.collect()
    assert not list(temporary_folder.iterdir())


def test_no_file_stays_after_an_error(rng, temporary_folder):
    rows = rng.normal(size=(4, 9))
    broken = rows.copy()
    broken[0, 3] = np.inf
    for X in (iter([rows, broken]), iter([np.ones((3, 9))])):
        with pytest.raises(ValueError, match="infinite|constant"):
            gaussian_sample(X)
    gc.collect()
    assert not list(temporary_folder.iterdir())


def test_rows_on_disk_come_back_in_blocks(rng, monkeypatch):
    monkeypatch.setattr("pgmx.statistics.gaussian.thin_factor._BLOCK_CELLS", 10)
    store, rows = RowStore(3, on_disk=True), rng.normal(size=(11, 3))
    for part in np.split(rows, [1, 1, 8]):
        store.add(part)
    blocks = list(store.blocks())
    assert [len(block) for block in blocks] == [3, 3, 3, 2]
    np.testing.assert_array_equal(np.concatenate(blocks), rows)
    store.close()


# ---- missing values ----


@given(st.integers(6, 40), st.integers(2, 7), st.integers(0, 2**20))
def test_each_pair_over_the_rows_known_in_both(n_rows, p, number):
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(n_rows, p)) * 10.0 ** rng.integers(-6, 7, p) + 10.0 ** rng.integers(-6, 7, p)
    rows[5:][rng.random((n_rows - 5, p)) < 0.4] = np.nan
    found = PairwiseMoments(p)
    for part in np.array_split(rows, 3):
        found.update(part)
    frame = pd.DataFrame(rows)
    # of a column 10^12 times its spread away from zero, 4 digits are left
    np.testing.assert_allclose(found.correlation, frame.corr().to_numpy(), rtol=0, atol=1e-3)
    wide = rows.std(axis=0) > 1e-3 * np.abs(rows).max(axis=0)
    near = np.nanstd(rows, axis=0) > 1e-3 * np.nanmax(np.abs(rows), axis=0)
    assert not (wide & ~near).any()
    expected = frame.corr().to_numpy()[np.ix_(near, near)]
    np.testing.assert_allclose(found.correlation[np.ix_(near, near)], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.mean, np.nanmean(rows, axis=0), rtol=1e-13)
    known = (~np.isnan(rows)).astype(float)
    np.testing.assert_array_equal(found.pairs, known.T @ known)


@pytest.mark.parametrize(("n_columns", "missing"), [(3, "error"), (30, "error"), (3, "pairwise")])
def test_a_part_without_weight(n_columns, missing, rng):
    rows = rng.normal(size=(20, n_columns))
    if missing == "pairwise":
        rows[7, 0] = np.nan
    sample = gaussian_sample(open_numeric(rows, missing=missing), weights=np.arange(20) >= 5)
    with pytest.raises(ValueError, match="all rows of a fold or subsample have weight 0"):
        sample.parts([np.arange(10), np.arange(5)])


def test_whole_weights_are_repeated_rows(rng):
    rows = rng.normal(size=(30, 4)) + 5.0
    rows[rng.random(rows.shape) < 0.3] = np.nan
    weights = rng.integers(0, 4, 30)
    repeated = PairwiseMoments(4).update(np.repeat(rows, weights, axis=0))
    found = PairwiseMoments(4).update(rows, weights.astype(float))
    for name in ("pairs", "mean", "scale", "correlation"):
        np.testing.assert_allclose(getattr(found, name), getattr(repeated, name), rtol=1e-12)


def test_pairwise_samples_are_repaired_and_say_so():
    rng = np.random.default_rng(0)  # a table whose pairs contradict each other
    rows = rng.normal(size=(12, 8))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    given_correlation = pd.DataFrame(rows).corr().to_numpy()
    assert np.linalg.eigvalsh(given_correlation)[0] < -0.01
    sample = gaussian_sample(open_numeric(rows, missing="pairwise"))
    known = (~np.isnan(rows)).astype(float)
    assert sample.n_rows == (known.T @ known).min()
    assert sample.n_table_rows == 12
    assert np.linalg.eigvalsh(sample.correlation)[0] > 0
    np.testing.assert_array_equal(sample.correlation.diagonal(), np.ones(8))
    assert sample.repaired == pytest.approx(np.abs(sample.correlation - given_correlation).max(), rel=1e-6)
    assert sample.singular
    np.testing.assert_allclose(sample.scale, np.nanstd(rows, axis=0), rtol=1e-12)
    parts = gaussian_sample(open_numeric(iter([rows[:5], rows[5:]]), missing="pairwise"))
    same(sample, parts, atol=1e-9)


def test_pairwise_without_missing_values_is_the_whole(rng):
    rows = rng.normal(size=(5, 9))
    sample = gaussian_sample(open_numeric(rows, missing="pairwise"))
    np.testing.assert_array_equal(sample.factor, gaussian_sample(rows).factor)


def test_a_pair_with_one_column_constant(rng):
    rows = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, np.nan], [1.0, 5.0]])
    sample = gaussian_sample(open_numeric(rows, missing="pairwise"))
    assert sample.correlation.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert sample.constant.tolist() == []


def test_columns_without_rows_in_common(rng):
    rows = np.array([[1.0, np.nan, 3.0], [2.0, np.nan, 1.0], [np.nan, 1.0, 2.0], [np.nan, 4.0, 4.0]])
    with pytest.raises(ValueError, match="never observed in the same row: 'x0' and 'x1'"):
        gaussian_sample(open_numeric(rows, missing="pairwise"))
    rows[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"column\(s\) 'x1' have no observed value"):
        gaussian_sample(open_numeric(rows, missing="pairwise"))


# ---- covariances ----


def test_covariance_with_names_and_units(rng):
    rows = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)) * 10.0 ** np.array([-12, 0, 5, 12])
    frame = pd.DataFrame(rows, columns=["a", 2, ("b", 1), "d"])
    covariance = frame.cov(ddof=0)
    before = covariance.copy()
    sample = sample_of_covariance(covariance, 40)
    pd.testing.assert_frame_equal(covariance, before)
    expected = gaussian_sample(frame)
    same(sample, sample_of_covariance(covariance.to_numpy(), 40, names=list(frame)))
    np.testing.assert_allclose(sample.correlation, expected.correlation, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sample.scale, expected.scale, rtol=1e-12)
    assert (sample.names, sample.method, sample.n_rows) == (("a", 2, ("b", 1), "d"), "precomputed", 40.0)
    assert sample_of_covariance(np.eye(2)).n_rows is None
    assert not sample.mean.any()
    assert (sample.repaired, sample.singular) == (0.0, False)


def test_indefinite_covariance_is_repaired():
    matrix = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    sample = sample_of_covariance(4 * matrix)
    assert 0.3 < sample.repaired < 0.5
    assert np.linalg.eigvalsh(sample.correlation)[0] > 0
    assert sample.singular
    assert sample_of_covariance(np.ones((3, 3))).repaired == 0.0


@pytest.mark.parametrize(
    ("covariance", "options", "words"),
    [
        ([[1.0, 2.0]], {}, r"must be a square matrix, got the shape \(1, 2\)"),
        ([["a"]], {}, "must be a matrix of numbers"),
        ([[1.0, np.nan], [np.nan, 1.0]], {}, r"missing or infinite values in column\(s\) 'x0', 'x1'"),
        ([[1.0, 0.5], [0.4, 1.0]], {"names": "ab"}, "not symmetric: its two entries of 'a' and 'b' differ"),
        ([[1.0, 0.0], [0.0, -1.0]], {}, r"variance of column\(s\) 'x1' is not positive"),
        ([[1.0, 1.1], [1.1, 1.0]], {}, "correlation of 'x0' and 'x1' is beyond 1"),
        (np.eye(2), {"names": "a"}, "names must be 2 different names, got 'a'"),
        (np.eye(2), {"names": "aa"}, "names must be 2 different names"),
        (np.eye(2), {"n_samples": 1}, "n_samples must be a number of at least 2"),
        (pd.DataFrame(np.eye(2), index=["a", "b"], columns=["b", "a"]), {}, "different names"),
    ],
)
def test_what_is_no_covariance(covariance, options, words):
    with pytest.raises(ValueError, match=words):
        sample_of_covariance(covariance, **options)

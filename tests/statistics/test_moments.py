"""Moments against numpy in extended precision, and the laws of merging."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.statistics import Moments, moments
from pgmx.statistics.moments import count_block_rows, sum_sets
from pgmx.statistics.symmetric import (
    copy_upper,
    locate_largest_asymmetry,
    locate_largest_off_diagonal,
    scale_to_correlation,
)


def exact(rows, weights=None):
    """Return the sum of weights, means and cross-products in long doubles."""
    rows = np.asarray(rows, dtype=np.longdouble)
    weights = np.ones(len(rows), dtype=np.longdouble) if weights is None else np.asarray(weights, dtype=np.longdouble)
    mean = weights @ rows / weights.sum()
    return float(weights.sum()), mean.astype(float), ((rows - mean).T * weights @ (rows - mean)).astype(float)


def check(found, rows, weights=None):
    n, mean, cross = exact(rows, weights)
    scale = np.sqrt(cross.diagonal()) + 1e-12 * np.abs(mean)
    assert found.n == pytest.approx(n, rel=1e-14)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14, atol=1e-14 * np.abs(rows).max())
    np.testing.assert_allclose(found.cross, cross, rtol=1e-11, atol=1e-12 * np.outer(scale, scale).max())
    np.testing.assert_array_equal(found.cross, found.cross.T)


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n_rows, p = draw(st.integers(1, 80)), draw(st.integers(1, 5))
    return rng, rng.normal(size=(n_rows, p)) * 10.0 ** rng.integers(-2, 3, p) + 10.0 ** rng.integers(0, 5, p)


@given(tables())
def test_moments(table):
    _, rows = table
    found = moments(rows)
    check(found, rows)
    np.testing.assert_array_equal(found.low, rows.min(axis=0))
    np.testing.assert_array_equal(found.high, rows.max(axis=0))


@given(tables(), st.sampled_from("CF"))
def test_sums_over_sets_of_rows(table, order):
    rng, rows = table
    check_sets(np.asarray(rows, order=order), rng.integers(0, 4, len(rows)), 5)


def test_sums_over_sets_of_more_rows_than_a_block():
    rng = np.random.default_rng(0)
    n_rows = 2 * count_block_rows(8) + 7
    rows = rng.normal(size=(n_rows, 8)) + 1e6
    check_sets(rows, np.where(rng.random(n_rows) < 0.9, 0, rng.integers(0, 4, n_rows)), 4)
    check_sets(rng.integers(-9, 9, (50, 3)), rng.integers(0, 4, 50), 4)


def check_sets(rows, set_of_row, n_sets):
    whole, sets = sum_sets(rows, set_of_row, n_sets)
    check(whole, rows)
    np.testing.assert_array_equal(whole.low, rows.min(axis=0))
    np.testing.assert_array_equal(whole.high, rows.max(axis=0))
    centred = np.asarray(rows, dtype=np.longdouble) - exact(rows)[1]
    # the centre is the mean up to rounding errors
    unit = 1e-12 * np.abs(rows).max()
    for k in range(n_sets):
        own = centred[set_of_row == k]
        largest = np.abs(own).max(initial=1.0)
        assert sets.counts[k] == len(own)
        np.testing.assert_allclose(sets.sums[k], own.sum(axis=0).astype(float), atol=len(own) * unit)
        expected = (own.T @ own).astype(float)
        np.testing.assert_allclose(sets.products[k], expected, rtol=1e-10, atol=3 * len(own) * unit * largest)


@given(tables(), st.lists(st.integers(0, 80), max_size=4))
def test_any_parts_in_any_order_make_the_whole(table, cuts):
    rng, rows = table
    parts = np.split(rows, sorted(min(cut, len(rows)) for cut in cuts))
    streamed = Moments(rows.shape[1])
    for part in parts:
        assert streamed.update(part) is streamed
    check(streamed, rows)
    merged = Moments(rows.shape[1])
    for i in rng.permutation(len(parts)):
        merged.merge(moments(parts[i]))
    check(merged, rows)


@given(tables())
def test_whole_weights_are_repeated_rows(table):
    rng, rows = table
    weights = rng.integers(0, 4, len(rows))
    weights[0] += 1
    repeated = np.repeat(rows, weights, axis=0)
    found = moments(rows, weights)
    check(found, repeated)
    np.testing.assert_array_equal(found.low, repeated.min(axis=0))


@given(tables())
def test_weights_of_any_size(table):
    rng, rows = table
    weights = rng.exponential(size=len(rows))
    check(moments(rows, weights), rows, weights)


@pytest.mark.parametrize("offset", [1e6, 1e9, -1e12])
def test_columns_far_from_zero_keep_their_digits(offset, rng):
    """If the numbers can be distinguished at all: the textbook formula would have lost them all."""
    rows = np.round(rng.normal(size=(500, 2)) * 1024) / 1024
    found, expected = moments(rows + offset), moments(rows)
    np.testing.assert_allclose(found.cross, expected.cross, rtol=1e-9 if abs(offset) < 1e10 else 1e-6)


@pytest.mark.slow
def test_more_cells_than_are_centred_at_a_time(rng):
    rows = rng.normal(size=(30_000, 300))
    found = moments(rows)
    np.testing.assert_allclose(found.covariance, np.cov(rows.T, bias=True), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.correlation, np.corrcoef(rows.T), rtol=1e-9, atol=1e-12)


def test_correlations_are_symmetric_with_ones(rng):
    found = moments(rng.normal(size=(50, 8)) * 10.0 ** np.arange(-30, 50, 10)).correlation
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), np.ones(8))
    assert np.abs(found).max() == 1.0


def test_constant_columns():
    rows = np.array([[0.1, 1.0, 7.0, 1e9], [0.1, 2.0, 7.0, 1e9], [0.1, 4.0, 7.0, 1e9 + 1e-7]])
    assert moments(rows).constant_columns.tolist() == [0, 2, 3]
    assert moments(rows, [1, 0, 0]).constant_columns.tolist() == [0, 1, 2, 3]


def test_frames_and_integers_are_data():
    frame = pd.DataFrame({"a": [1, 2, 4], "b": [0.5, 0.5, 2.0]})
    before = frame.copy()
    check(moments(frame), frame.to_numpy())
    check(moments(frame.to_numpy().astype(int)), frame.to_numpy().astype(int))
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("rows", [np.zeros(3), np.zeros((3, 2)), np.zeros((2, 3, 1))])
def test_rows_of_another_width(rows):
    with pytest.raises(ValueError, match=r"rows must have the shape \(m, 3\), got"):
        Moments(3).update(rows)


@pytest.mark.parametrize("p", [1, 127, 128, 129, 300])
def test_upper_triangle_is_copied_across_blocks(p):
    matrix = np.random.default_rng(p).normal(size=(p, p))
    expected = np.triu(matrix) + np.triu(matrix, 1).T
    copy_upper(matrix)
    np.testing.assert_array_equal(matrix, expected)


def test_wide_moments_stay_symmetric_over_updates():
    rows = np.random.default_rng(0).normal(size=(40, 300)) + 100.0
    found = Moments(300)
    for part in np.array_split(rows, 3):
        found.update(part)
    check(found, rows)


def test_correlations_replace_the_matrix_they_are_made_of():
    cross = moments(np.random.default_rng(0).normal(size=(50, 4))).cross
    expected = scale_to_correlation(cross)
    assert scale_to_correlation(cross, out=cross) is cross
    np.testing.assert_array_equal(cross, expected)


@pytest.mark.parametrize(("row", "column"), [(0, 299), (299, 0), (130, 129), (128, 127), (200, 3)])
def test_the_largest_cell_and_the_largest_asymmetry_are_found_across_blocks(row, column):
    matrix = np.diag(np.full(300, 9.0))
    assert locate_largest_off_diagonal(matrix) == locate_largest_asymmetry(matrix) == (0.0, 0, 0)
    matrix[row, column] = -2.0
    assert locate_largest_off_diagonal(matrix) == (2.0, row, column)
    assert locate_largest_asymmetry(matrix) in {(2.0, row, column), (2.0, column, row)}

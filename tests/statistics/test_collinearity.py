"""Columns that determine each other: whether they are found, which of them are named, and what remains."""

import itertools

import numpy as np
import pytest

from pgmx.statistics import Moments, moments
from pgmx.statistics.collinearity import _least_residual, find_collinearity, find_copies, find_small_pivots


def correlate(rows):
    return moments(rows).correlation


def list_sets(rows):
    """Return the columns of each smallest set of at least three that is linearly dependent, by trying all."""
    centred = rows - rows.mean(axis=0)
    p = rows.shape[1]
    for size in range(3, p + 1):
        found = [s for s in itertools.combinations(range(p), size) if np.linalg.matrix_rank(centred[:, s]) < size]
        if found:
            return found
    return []


RNG = np.random.default_rng(4)
A, B, C, D, E = RNG.integers(-50, 50, (5, 200)).astype(float)
SHARES = RNG.dirichlet([1.0, 2.0, 3.0, 4.0], 200)
ONE_HOT = np.eye(4)[RNG.integers(0, 4, 200)]


@pytest.mark.parametrize(
    ("rows", "n_determined"),
    [
        (np.c_[A, B, A + B], 1),
        (np.c_[C, A, D, B, 1e6 * (A - 3 * B) + 7], 1),
        (SHARES, 1),
        (np.c_[A, SHARES], 1),
        (np.c_[ONE_HOT, A], 1),
        (np.c_[A, B, C, A + B, B + C], 2),
        (np.c_[A + B + C + D, A, B, C, D, E, B + C + E], 2),
        (np.c_[A, B, C, D, A + B + C + D, A - D, E], 2),
        (np.c_[RNG.normal(size=(200, 3)) @ RNG.normal(size=(3, 8))], 5),
    ],
)
def test_a_smallest_set_is_found(rows, n_determined):
    found = find_collinearity(correlate(rows), len(rows))
    assert found.n_determined == n_determined
    assert found.smallest in list_sets(rows)
    values = np.linalg.eigvalsh(found.correlation)
    assert np.abs(values[:n_determined]).max() < 1e-14
    assert values[n_determined] > 1e-4
    np.testing.assert_allclose(found.correlation, correlate(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "smallest"), [(np.c_[C, SHARES.round(6)], (1, 2, 3, 4)), (np.c_[A, B, A + B + 1e-7 * C], (0, 1, 2))]
)
def test_what_is_left_by_rounding_or_little_noise_is_removed(rows, smallest):
    correlation = correlate(rows)
    found = find_collinearity(correlation, 200)
    assert found.smallest == smallest
    assert np.linalg.eigvalsh(correlation)[0] > 1e-15
    assert abs(np.linalg.eigvalsh(found.correlation)[0]) < 1e-15
    np.testing.assert_allclose(found.correlation, correlation, atol=1e-10)


def test_a_common_factor_leaves_no_more_than_rounding():
    """The largest eigenvalue is 270: a decomposition leaves 2e-14, a sixtieth of the noise."""
    rows = RNG.normal(size=(800, 300)) + 3 * RNG.normal(size=(800, 1))
    rows[:, 299] = rows[:, 0] + rows[:, 1] - rows[:, 2]
    found = find_collinearity(correlate(rows), 800)
    assert found.smallest == (0, 1, 2, 299)
    members = np.array(found.smallest)
    null = rows[:, members].std(axis=0) * [1, 1, -1, -1]
    matrix = found.correlation[np.ix_(members, members)].astype(np.longdouble)
    assert abs(null @ matrix @ null) < 1e-15 * (null @ null)


@pytest.mark.parametrize(
    "rows",
    [
        np.c_[A, B, C],
        np.c_[A, B],
        np.c_[A, 2 * A + 1],
        np.c_[A, 2 * A + 1, -A, B],  # copies alone
        np.c_[A, B, A + B + 1e-3 * C],
        np.c_[A, B, C, D, E, A + B][:6],  # no more rows than columns
        np.repeat(RNG.normal(size=(20, 25)), 2, axis=0),  # 20 different rows
    ],
)
def test_columns_that_are_none(rows):
    assert find_collinearity(correlate(rows), len(rows)) is None


def test_copies_count_as_one_column():
    rows = np.c_[A, 5 - A, B, A + B, 2 * A + 1, C]
    found = find_collinearity(correlate(rows), len(rows))
    assert (found.smallest, found.n_determined) == ((0, 2, 3), 1)
    expected = np.zeros((6, 6), dtype=bool)
    for i, j in itertools.permutations((0, 1, 4), 2):
        expected[i, j] = True
    np.testing.assert_array_equal(found.copies, expected)
    np.testing.assert_array_equal(find_copies(correlate(rows)), expected)
    np.testing.assert_allclose(found.correlation, correlate(rows), atol=1e-9)


@pytest.mark.parametrize("noise", [1.0, 1e-2, 3e-4, 1e-4, 3e-5])
def test_the_least_residual_variance(noise):
    rows = np.c_[A, B, C, A + B + noise * D, E]
    correlation = correlate(rows)
    exact = float(1 / np.linalg.inv(correlation).diagonal().max())
    found = _least_residual(correlation)
    if exact < 1e-7:
        assert found == pytest.approx(exact, rel=1e-6)
    else:
        assert found > 1e-8
    assert (find_collinearity(correlation, 200) is None) == (exact >= 1e-10)


def test_which_columns_are_determined_by_those_before_them():
    rows = np.c_[A, B, A + B, C, 2 * A]
    found = find_collinearity(correlate(rows), len(rows))
    lists = np.array([[0, 1, 2], [2, 3, 0], [2, 1, 0], [0, 4, 1], [3, 0, 1]])
    expected = [[0, 0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(found.find_determined(lists), expected)
    expected[3][1] = 1  # a copy
    np.testing.assert_array_equal(find_small_pivots(found.correlation, lists), expected)
    with_copy = np.array([[4, 0, 1, 2]])  # as for two columns, no family holds both
    np.testing.assert_array_equal(found.find_determined(with_copy), [[0, 0, 0, 1]])


def test_moments_count_the_rows_of_positive_weight():
    rows = RNG.normal(size=(7, 2))
    assert moments(rows).n_rows == 7
    weighted = moments(rows, [0, 1, 2, 0, 5, 1, 1])
    assert (weighted.n_rows, weighted.n) == (5, 10.0)
    assert Moments(2).update(rows[:3]).merge(weighted).n_rows == 8

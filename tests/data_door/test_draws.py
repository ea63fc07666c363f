"""Draws of rows: the law that their docstring states, for any chunks and partitions."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from oracles.bootstrap import draw_rows
from pgmx.data import draws
from pgmx.data.distributed import remote_table
from pgmx.data.draws import count_draws, count_many_draws, count_weighted_draws, make_fractions

WORD = 2**64


def philox(key, count):
    """Return the four numbers of Philox 4x64-10 for a value of its counter, by the constants of the paper."""
    x, k = [count, 0, 0, 0], list(key)
    for _ in range(10):
        a, b = x[0] * 0xD2E7470EE14C6C93, x[2] * 0xCA5A826395121157
        x = [(b >> 64) ^ x[1] ^ k[0], b % WORD, (a >> 64) ^ x[3] ^ k[1], a % WORD]
        k = [(k[0] + 0x9E3779B97F4A7C15) % WORD, (k[1] + 0xBB67AE8584CAA73B) % WORD]
    return x


@pytest.mark.parametrize("key", [(0, 0), (7, 3), (2**31, 10**6)])
def test_fractions_are_numbers_of_philox(key):
    numbers = [number for count in range(1, 6) for number in philox(key, count)]  # numpy counts from 1
    expected = [(number >> 11) / 2**53 for number in numbers]
    for first in range(20):
        assert make_fractions(*key, first, 20).tolist() == expected[first:]


@examples(30)
@given(st.integers(0, 2**32 - 1), st.integers(0, 10**6), st.integers(1, 300), st.lists(st.integers(0, 300), max_size=6))
def test_parts_hold_their_rows_of_the_same_draws(seed, resample, n_rows, cuts):
    whole = count_draws(seed, resample, n_rows)
    assert np.array_equal(whole, np.bincount(draw_rows(n_rows, seed, resample), minlength=n_rows))
    bounds = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    parts = [count_draws(seed, resample, n_rows, first, stop) for first, stop in pairwise(bounds)]
    assert np.array_equal(np.concatenate(parts), whole)


@examples(30)
@given(st.integers(0, 1000), st.integers(1, 200), st.booleans(), st.lists(st.integers(0, 200), max_size=6))
def test_parts_hold_their_rows_of_the_same_weighted_draws(seed, n_rows, are_whole, cuts):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n_rows) if are_whole else rng.exponential(size=n_rows) * (rng.random(n_rows) < 0.8)
    weights[0] = 1
    ends = np.cumsum(weights, dtype=np.float64)
    whole = count_weighted_draws(seed, 5, ends)
    assert whole.sum() == round(ends[-1]) and not whole[weights == 0].any()
    if are_whole:  # what repeated rows give
        repeated = count_draws(seed, 5, int(ends[-1]))
        assert np.array_equal(whole, np.bincount(np.repeat(np.arange(n_rows), weights), repeated, n_rows))
    before = np.concatenate(([0.0], ends))
    bounds = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    parts = [
        count_weighted_draws(seed, 5, ends[first:stop], before[first], ends[-1]) for first, stop in pairwise(bounds)
    ]
    assert np.array_equal(np.concatenate(parts), whole)


def test_chunks_do_not_show(monkeypatch):
    ends = np.arange(1.0, 5001.0)
    rows, weighted = count_draws(3, 4, 5000, 1000, 1100), count_weighted_draws(3, 4, ends)
    monkeypatch.setattr(draws, "_DRAWS_AT_ONCE", 7)
    assert np.array_equal(count_draws(3, 4, 5000, 1000, 1100), rows)
    assert np.array_equal(count_draws(3, 4, 5000), weighted)
    assert np.array_equal(count_weighted_draws(3, 4, ends[:90], 0.0, 5000.0), weighted[:90])


def chi_square(counts, expected):
    return float(np.sum((counts - expected) ** 2 / expected))


def test_draws_are_uniform_and_independent(seed):
    """A statistic of m degrees of freedom has the mean m and the variance 2 m: five deviations are allowed."""
    n_rows, n_resamples = 64, 400
    counts = np.array([count_draws(seed, b, n_rows) for b in range(n_resamples)])
    assert (counts.sum(axis=1) == n_rows).all()
    assert abs(chi_square(counts.sum(axis=0), n_resamples) - 63) < 5 * np.sqrt(2 * 63)
    assert counts.var() == pytest.approx(1 - 1 / n_rows, rel=0.03)  # of a multinomial count
    fractions = np.array([make_fractions(seed, b, 0, 50) for b in range(n_resamples + 1)])
    # the same draw of two resamples, and two draws of one
    for left, right in ((fractions[:-1], fractions[1:]), (fractions[:, :-1], fractions[:, 1:])):
        cells = np.floor(left * 8) * 8 + np.floor(right * 8)
        of_pairs = np.bincount(cells.astype(int).ravel(), minlength=64)
        assert abs(chi_square(of_pairs, cells.size / 64) - 63) < 5 * np.sqrt(2 * 63)


def test_weighted_draws_are_in_proportion():
    weights = np.array([0.5, 0.0, 3.25, 1.25, 2.0])
    counts = np.array([count_weighted_draws(2, b, np.cumsum(np.tile(weights, 20))) for b in range(100)])
    of_rows = counts.reshape(100, 20, 5).sum(axis=(0, 1))
    assert of_rows[1] == 0
    seen = weights > 0
    assert chi_square(of_rows[seen], 2000 * weights[seen]) < 3 + 5 * np.sqrt(6)


def test_many_draws():
    weights = np.array([10**7, 0, 3 * 10**7])
    counts = count_many_draws(0, 1, weights)
    assert counts.sum() == 4 * 10**7 and counts[1] == 0
    assert abs(counts[0] - 10**7) < 5 * np.sqrt(4e7 * 0.25 * 0.75)
    assert np.array_equal(counts, count_many_draws(0, 1, weights))
    assert not np.array_equal(counts, count_many_draws(0, 2, weights))


@examples(25)
@given(st.integers(0, 1000), st.integers(1, 60), st.lists(st.integers(0, 60), max_size=6))
def test_parts_hold_their_rows_of_the_same_many_draws(seed, n_rows, cuts):
    """Blocks of eight rows, which partitions cut."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(50, n_rows) * (rng.random(n_rows) < 0.8)
    weights[0] = 300.0
    bounds = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    with pytest.MonkeyPatch.context() as patch:
        for module in (draws, remote_table):
            patch.setattr(module, "BLOCK_ROWS", 8)
        whole = count_many_draws(seed, 2, weights)
        slices = remote_table.split_block_draws(seed, 2, weights, np.diff(bounds).tolist())
        kept = [
            SimpleNamespace(weights=weights[first:stop], with_weights=lambda counts: counts)
            for first, stop in pairwise(bounds)
        ]
        parts = [remote_table.draw_weights(part, of_part, seed, 2) for part, of_part in zip(kept, slices, strict=True)]
        assert max(len(of_part.head) + len(of_part.tail) for of_part in slices) <= 14
    assert np.array_equal(np.concatenate(parts), whole)
    assert whole.sum() == round(weights.sum()) and not whole[weights == 0].any()


def test_many_draws_are_multinomial(seed):
    """Within blocks and between them: means, variances and covariances of 3,000 resamples within five deviations."""
    weights = np.array([40.0, 10.0, 0.0, 30.0, 20.0, 100.0])
    shares, n_resamples = weights / 200, 3000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "BLOCK_ROWS", 2)
        counts = np.array([count_many_draws(seed, b, weights) for b in range(n_resamples)])
    covariance = 200 * (np.diag(shares) - np.outer(shares, shares))
    deviation = np.sqrt(covariance.diagonal() / n_resamples)
    assert (np.abs(counts.mean(axis=0) - weights) <= 5 * deviation).all()
    spread = np.sqrt((np.outer(covariance.diagonal(), covariance.diagonal()) + covariance**2) / n_resamples)
    assert (np.abs(np.cov(counts.T) - covariance) <= 5 * spread).all()

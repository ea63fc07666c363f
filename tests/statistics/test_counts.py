"""Marginal and pairwise counts of coded tables against numpy, and their laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.data import DiscreteTable
from pgmx.statistics import marginal_counts, pair_counts
from pgmx.statistics.counts import pair_planes


def coded(codes, cards):
    return DiscreteTable(range(len(cards)), [range(r) for r in cards], codes)


@st.composite
def tables(draw, max_variables=7, max_rows=700):
    """Return codes and cardinalities; some states never occur, some variables have too many for planes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    observed = draw(st.lists(st.integers(1, 5) | st.just(270), min_size=1, max_size=max_variables))
    cards = [r + int(rng.integers(0, 3)) for r in observed]
    n_rows = draw(st.integers(1, max_rows))
    return np.stack([rng.integers(0, r, n_rows) for r in observed]), cards


def chosen_states(cards):
    """Return (variable, state) of each plane that pairs are counted over."""
    return [(v, s) for v, r in enumerate(cards) if r <= 255 for s in range(r - 1)]


def expected_pairs(codes, cards):
    bits = np.array([codes[v] == s for v, s in chosen_states(cards)], dtype=np.int64).reshape(-1, codes.shape[1])
    return np.triu(bits @ bits.T)


@given(tables())
def test_marginal_counts(table):
    codes, cards = table
    counts = marginal_counts(coded(codes, cards))
    expected = np.concatenate([np.bincount(column, minlength=r) for column, r in zip(codes, cards, strict=True)])
    assert counts.dtype == np.uint32
    np.testing.assert_array_equal(counts, expected)


@given(tables())
def test_the_states_of_a_variable_share_the_rows(table):
    codes, cards = table
    counts = marginal_counts(coded(codes, cards))
    for of_one in np.split(counts, np.cumsum(cards)[:-1]):
        assert of_one.sum() == codes.shape[1]


@given(tables())
def test_pair_planes_are_all_states_but_the_last(table):
    codes, cards = table
    coded_table = coded(codes, cards)
    offsets = coded_table.plane_offsets
    chosen = pair_planes(coded_table)
    assert chosen.dtype == np.int64
    assert chosen.tolist() == [offsets[v] + s for v, s in chosen_states(cards)]


@given(tables())
def test_pair_counts(table):
    codes, cards = table
    counts = pair_counts(coded(codes, cards))
    assert counts.dtype == np.uint32
    assert counts.flags.c_contiguous
    np.testing.assert_array_equal(np.triu(counts), expected_pairs(codes, cards))


@given(tables(), st.floats(0, 1))
def test_two_parts_of_the_rows_add_up_to_the_whole(table, share):
    codes, cards = table
    cut = 1 + int(share * (codes.shape[1] - 2)) if codes.shape[1] > 1 else 0
    if not cut:
        return
    parts = [coded(codes[:, :cut], cards), coded(codes[:, cut:], cards)]
    whole = coded(codes, cards)
    np.testing.assert_array_equal(sum(marginal_counts(part) for part in parts), marginal_counts(whole))
    np.testing.assert_array_equal(np.triu(sum(pair_counts(part) for part in parts)), np.triu(pair_counts(whole)))


@given(tables())
def test_row_order_does_not_matter(table):
    codes, cards = table
    backwards = coded(codes[:, ::-1], cards)
    np.testing.assert_array_equal(marginal_counts(coded(codes, cards)), marginal_counts(backwards))
    np.testing.assert_array_equal(np.triu(pair_counts(coded(codes, cards))), np.triu(pair_counts(backwards)))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_any_number_of_threads_gives_the_same_counts(n_jobs, rng):
    cards = rng.integers(2, 6, 120)  # 300 planes: several tasks, the last one short
    codes = np.stack([rng.integers(0, r, 400) for r in cards])
    counts = pair_counts(coded(codes, cards), n_jobs=n_jobs)
    np.testing.assert_array_equal(np.triu(counts), expected_pairs(codes, cards))


def test_no_counts_beyond_the_memory(rng):
    codes = rng.integers(0, 3, (10, 50))
    table = coded(codes, [3] * 10)
    assert pair_counts(table, memory=4 * 20 * 20 - 1) is None
    assert pair_counts(table, memory=4 * 20 * 20).shape == (20, 20)


@pytest.mark.parametrize("cards", [[1], [1, 1, 1], [300], [300, 256]])
def test_tables_without_pairs_of_planes(cards):
    table = coded(np.zeros((len(cards), 5), dtype=int), cards)
    assert pair_planes(table).shape == (0,)
    assert pair_counts(table).shape == (0, 0)
    assert marginal_counts(table)[0] == 5
    assert marginal_counts(table).sum() == 5 * len(cards)

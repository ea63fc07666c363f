"""Bit planes and counts of pairs of planes against numpy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.coded_tables import random_codes
from pgmx._ext._counts import MAX_PLANE_STATES, aligned_words, count_pairs, count_planes, pack_planes

# around the words of 64 rows, the vectors of 512 and the tiles of 512 words of the pair count
ROWS = [1, 2, 63, 64, 65, 127, 511, 512, 513, 1000, 32767, 32768, 32769, 40000]


def bits_of(planes, n_rows):
    """Return the planes as booleans (n_planes, n_rows), after checking that the padding is zero."""
    bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little").astype(bool)
    assert not bits[:, n_rows:].any()
    return bits[:, :n_rows]


def indicators(codes, cards):
    """Return the rows of each state of each variable that has planes."""
    return np.concatenate(
        [column == np.arange(r)[:, None] for column, r in zip(codes, cards, strict=True) if r <= MAX_PLANE_STATES]
    )


@pytest.mark.parametrize("n_rows", ROWS)
def test_a_plane_holds_the_rows_of_a_state(n_rows, rng):
    cards = [2, 1, 5, 3]
    codes = random_codes(rng, cards, n_rows, observed=[2, 1, 3, 3])
    planes, offsets = pack_planes(codes, np.array(cards))
    assert planes.dtype == np.uint64
    assert planes.shape == (11, -(-n_rows // 512) * 8)
    assert planes.ctypes.data % 64 == 0
    assert offsets.tolist() == [0, 2, 3, 8, 11]
    np.testing.assert_array_equal(bits_of(planes, n_rows), indicators(codes, cards))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_rows", [1, 64, 700])
def test_both_widths_of_codes_give_the_same_planes(dtype, n_rows, rng):
    cards = np.array([255, 4])
    codes = random_codes(rng, cards, n_rows)
    planes, _ = pack_planes(codes.astype(dtype), cards)
    np.testing.assert_array_equal(bits_of(planes, n_rows), indicators(codes, cards))


def test_variables_of_many_states_have_no_planes(rng):
    cards = np.array([256, 3, 65535, 255])
    codes = random_codes(rng, cards, 300)
    planes, offsets = pack_planes(codes, cards)
    assert offsets.tolist() == [0, 0, 3, 3, 258]
    np.testing.assert_array_equal(bits_of(planes, 300), indicators(codes, cards))


def test_no_planes_at_all(rng):
    cards = np.array([256, 300])
    planes, offsets = pack_planes(random_codes(rng, cards, 10), cards)
    assert planes.shape == (0, 8)
    assert offsets.tolist() == [0, 0, 0]
    assert count_planes(planes).shape == (0,)


def test_read_only_codes_are_packed(rng):
    codes = random_codes(rng, [2, 2], 100)
    codes.setflags(write=False)
    assert pack_planes(codes, np.array([2, 2]))[0].shape == (4, 8)


@given(st.integers(0, 40), st.integers(0, 5))
def test_aligned_words_are_zero_and_aligned(n_rows, n_columns):
    words = aligned_words(n_rows, 8 * n_columns)
    assert words.shape == (n_rows, 8 * n_columns)
    assert words.ctypes.data % 64 == 0 or words.size == 0
    assert words.flags.c_contiguous
    assert not words.any()


@pytest.mark.parametrize("n_rows", ROWS)
def test_count_planes(n_rows, rng):
    cards = [3, 2, 7]
    codes = random_codes(rng, cards, n_rows)
    counts = count_planes(pack_planes(codes, np.array(cards))[0])
    assert counts.dtype == np.uint32
    np.testing.assert_array_equal(counts, indicators(codes, cards).sum(axis=1))


def test_full_planes_do_not_overflow_the_byte_sums():
    # the AVX2 level adds bits in bytes: planes of ones are where they would overflow first
    planes, _ = pack_planes(np.zeros((2, 300_000), dtype=np.uint8), np.array([1, 1]))
    counts = np.zeros((2, 2), dtype=np.uint32)
    count_pairs(planes, np.arange(2), 0, 2, counts)
    assert count_planes(planes).tolist() == [300_000, 300_000]
    assert np.triu(counts).tolist() == [[300_000, 300_000], [0, 300_000]]


def expected_pairs(codes, cards, chosen):
    bits = indicators(codes, cards)[chosen].astype(np.int64)
    return np.triu(bits @ bits.T)


@pytest.mark.parametrize("n_rows", [1, 65, 513, 33000])
def test_count_pairs(n_rows, rng):
    cards = [2] * 20 + [3] * 15 + [6]
    codes = random_codes(rng, cards, n_rows)
    planes, _ = pack_planes(codes, np.array(cards))
    counts = np.zeros((len(planes), len(planes)), dtype=np.uint32)
    count_pairs(planes, np.arange(len(planes)), 0, len(planes), counts)
    np.testing.assert_array_equal(np.triu(counts), expected_pairs(codes, cards, np.arange(len(planes))))


@given(st.data())
def test_blocks_of_any_chosen_planes_make_up_the_whole(data):
    n = data.draw(st.integers(1, 60), label="variables")
    n_rows = data.draw(st.integers(1, 600), label="rows")
    rng = np.random.default_rng(data.draw(st.integers(0, 99), label="seed"))
    cards = rng.integers(1, 4, n)
    codes = random_codes(rng, cards, n_rows)
    planes, _ = pack_planes(codes, cards)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(planes) - 1), max_size=80), label="chosen"), dtype=np.int64)
    m = len(chosen)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, m), max_size=4), label="cuts")), m]
    counts = np.zeros((m, m), dtype=np.uint32)
    for first, last in itertools.pairwise(cuts):
        count_pairs(planes, chosen, first, last, counts)
    np.testing.assert_array_equal(np.triu(counts), expected_pairs(codes, cards, chosen))


def test_counts_are_added_to_what_is_there(rng):
    codes = random_codes(rng, [2, 2], 100)
    planes, _ = pack_planes(codes, np.array([2, 2]))
    counts = np.zeros((4, 4), dtype=np.uint32)
    for _ in range(2):
        count_pairs(planes, np.arange(4), 0, 4, counts)
    np.testing.assert_array_equal(np.triu(counts), 2 * expected_pairs(codes, [2, 2], np.arange(4)))

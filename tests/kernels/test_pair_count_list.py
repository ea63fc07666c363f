"""Counts of lists of pairs, of the triangle of all pairs, whole tables made of them, and the index of pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.coded_tables import random_codes
from oracles.pair_tables import pair_counts, pair_table
from pgmx._ext import _counts, _pair_tables

# around words, vectors and the 512 words that are read together; few states, many cells, and too many for planes
ROWS = [1, 3, 64, 65, 511, 513, 32769]
CARDS = [2, 5, 1, 40, 33, 3, 300]


def packed(codes, cards):
    cards = np.asarray(cards, dtype=np.int64)
    return codes, *_counts.pack_planes(codes, cards), cards


def scratch(cards, dtype):
    largest = int(np.prod(np.sort(cards)[-2:])) if len(cards) > 1 else 1
    return np.zeros(_pair_tables.scratch_cells(largest), dtype=dtype)


def counted_lists(codes, cards, pairs, weights=None):
    """Return the kept part of each table, counted into one store with gaps between the tables and their rows."""
    codes, planes, offsets, cards = packed(codes, cards)
    pairs = np.array(pairs, dtype=np.int64)
    dtype = np.uint32 if weights is None else np.float64
    kept = cards - 1 if weights is None else cards
    stride = kept[pairs[:, 1]] + 2
    ends = np.cumsum(kept[pairs[:, 0]] * stride + 3)
    where = np.concatenate(([0], ends[:-1])).astype(np.int64)
    store, free = np.zeros(ends[-1] + 1, dtype=dtype), scratch(cards, dtype)
    if weights is None:
        _pair_tables.count_list(codes, planes, offsets, cards, kept, pairs, where, stride, store, free)
    else:
        _pair_tables.sum_list(codes, weights, cards, kept, pairs, where, stride, store, free)
    assert not free.any(), "the scratch must be left clean"
    tables = []
    for e, (i, j) in enumerate(pairs):
        block = store[where[e] : where[e] + kept[i] * stride[e]].reshape(kept[i], stride[e])
        tables.append(block[:, : kept[j]].copy())
        block[:, : kept[j]] = 0
    assert not store.any(), "only the cells of the pairs may be written"
    return tables


@pytest.mark.parametrize("n_rows", ROWS)
def test_list_of_counts(n_rows, rng):
    codes = random_codes(rng, CARDS, n_rows)
    pairs = list(itertools.combinations(range(len(CARDS)), 2))
    for (i, j), found in zip(pairs, counted_lists(codes, CARDS, pairs), strict=True):
        expected = np.array(pair_counts(codes[i], codes[j], CARDS[i], CARDS[j]))
        np.testing.assert_array_equal(found, expected[: CARDS[i] - 1, : CARDS[j] - 1])


@pytest.mark.parametrize("n_rows", ROWS[:-1])
def test_list_of_sums(n_rows, rng):
    codes, weights = random_codes(rng, CARDS, n_rows), rng.exponential(size=n_rows)
    pairs = list(itertools.permutations(range(len(CARDS)), 2))
    for (i, j), found in zip(pairs, counted_lists(codes, CARDS, pairs, weights), strict=True):
        expected = np.array(pair_table(codes[i], codes[j], CARDS[i], CARDS[j], weights)) * weights.sum()
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(st.lists(st.integers(1, 7), min_size=2, max_size=9), st.integers(1, 600), st.integers(0, 99))
def test_bytes_and_wide_codes_give_the_same(cards, n_rows, seed):
    codes = random_codes(np.random.default_rng(seed), cards, n_rows)
    pairs = list(itertools.combinations(range(len(cards)), 2))
    for a, b in zip(
        counted_lists(codes, cards, pairs), counted_lists(codes.astype(np.uint16), cards, pairs), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def triangle(codes, cards, cuts=(), words=()):
    """Return all counts of kept states as a matrix, made of blocks of rows and of ranges of words."""
    codes, planes, offsets, cards = packed(codes, cards)
    kept = cards - 1
    owner = np.repeat(np.arange(len(cards)), kept)
    ends = np.cumsum(kept)
    m = len(owner)
    chosen = offsets[owner] + np.arange(m) - (ends - kept)[owner]
    store = np.zeros((m, m), dtype=np.uint32)
    arrays = planes, chosen, ends[owner], np.arange(m) * m, np.arange(m)
    for first, last in itertools.pairwise([0, *cuts, m]):
        for begin, end in itertools.pairwise([0, *words, planes.shape[1]]):
            _pair_tables.count_triangle(*arrays, first, last, begin, end, store.reshape(-1))
    return store, owner, chosen - offsets[owner]


@given(st.lists(st.integers(1, 12), min_size=1, max_size=30), st.integers(1, 1500), st.data())
def test_triangle(cards, n_rows, data):
    codes = random_codes(np.random.default_rng(data.draw(st.integers(0, 99), label="seed")), cards, n_rows)
    m, n_words = sum(cards) - len(cards), -(-n_rows // 512) * 8
    cuts = sorted(data.draw(st.lists(st.integers(0, m), max_size=3), label="cuts"))
    words = [8 * w for w in sorted(data.draw(st.lists(st.integers(0, n_words // 8), max_size=2), label="words"))]
    found, owner, state = triangle(codes, cards, cuts, words)
    bits = codes[owner] == state[:, None]
    expected = bits.astype(np.int64) @ bits.T.astype(np.int64)
    np.testing.assert_array_equal(found, np.where(owner[:, None] < owner, expected, 0))


@pytest.mark.parametrize("weighted", [False, True])
def test_whole_tables(weighted, rng):
    """Tables are completed from the marginals, transposed on request, and divided by the total."""
    codes, weights = random_codes(rng, CARDS, 700), rng.exponential(size=700) if weighted else None
    pairs = np.array(list(itertools.combinations(range(len(CARDS)), 2)))
    cards = np.array(CARDS)
    blocks = counted_lists(codes, CARDS, pairs, weights)
    store = np.concatenate([np.ravel(block) for block in blocks])
    where = np.cumsum([0, *(block.size for block in blocks[:-1])])
    kept = cards if weighted else cards - 1
    begins = np.cumsum([0, *cards[pairs].prod(axis=1)])
    marginals = np.concatenate([np.bincount(c, weights, r) for c, r in zip(codes, cards, strict=True)]).astype(float)
    first = np.cumsum([0, *cards])
    total = 700.0 if weights is None else weights.sum()
    for turned in (False, True):
        tables, flags = np.full(begins[-1], np.nan), np.full(len(pairs), turned, dtype=np.uint8)
        arrays = store, pairs, flags, where, kept[pairs[:, 1]], cards, kept, marginals, first
        _pair_tables.fill_tables(*arrays, total, begins, tables)
        for e, (i, j) in enumerate(pairs):
            u, v = (j, i) if turned else (i, j)
            found = tables[begins[e] : begins[e + 1]].reshape(cards[u], cards[v])
            expected = pair_table(codes[u], codes[v], cards[u], cards[v], weights)
            np.testing.assert_allclose(found, expected, rtol=1e-12 if weighted else 0)


def test_flags_are_claimed_once():
    known, missing = np.zeros(5, dtype=np.uint8), np.empty(4, dtype=np.uint8)
    _pair_tables.claim_flags(known, np.array([3, 1, 3, 1]), missing)
    assert missing.tolist() == [1, 1, 0, 0]
    _pair_tables.claim_flags(known, np.array([1, 0, 4, 0]), missing)
    assert missing.tolist() == [0, 1, 1, 0]
    assert known.tolist() == [1, 1, 0, 1, 1]


@given(st.lists(st.lists(st.integers(0, 60), max_size=30), max_size=6), st.integers(1, 12), st.integers(6, 60))
def test_cells_are_claimed_in_order_until_space_runs_out(requests, most, n_cells):
    """Against a dictionary; key k takes k % 5 + 1 cells, key 0 is a key as any other."""
    keys, places, used = np.zeros(16, dtype=np.int64), np.zeros(16, dtype=np.int64), np.zeros(2, dtype=np.int64)
    held, end = {}, 0
    for request in requests:
        wanted = np.array(request, dtype=np.int64)
        where, missing = np.full(len(wanted), -1), np.zeros(len(wanted), dtype=np.uint8)
        served = _pair_tables.claim_cells(keys, places, wanted, wanted % 5 + 1, n_cells, most, used, where, missing)
        for e, key in enumerate(request):
            if key not in held and (len(held) == most or end + key % 5 + 1 > n_cells):
                assert served == e
                break
            assert missing[e] == (key not in held)
            if key not in held:
                held[key], end = end, end + key % 5 + 1
            assert where[e] == held[key]
        else:
            assert served == len(request)
        assert used.tolist() == [len(held), end]
        assert sorted(keys[keys > 0] - 1) == sorted(held)

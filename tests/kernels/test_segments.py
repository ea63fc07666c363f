"""Counting by segments of the rows: the same numbers as over all rows together, and scratch that has a bound."""

import numpy as np
import pytest

from helpers.coded_tables import SCORES, make_scorer, random_codes, random_moves, rescore
from oracles.family_scores import family_score
from pgmx._ext import _counts
from pgmx._ext._family_counts import FamilyCounter
from pgmx.data import DiscreteTable, estimate_memory
from pgmx.data.memory import SEGMENT_ROWS
from pgmx.statistics import marginal_counts

CARDS = [3, 2, 4, 300, 2, 5, 1, 17]


def make_counter(codes, **options):
    cards = np.array(CARDS)
    table = DiscreteTable(range(len(cards)), [range(card) for card in cards], codes)
    return FamilyCounter(
        table.codes, table.cardinalities, *_counts.pack_planes(table.codes, cards), marginal_counts(table), **options
    )


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("n_rows", [511, 513, 3001])
def test_gains_are_those_of_all_rows_to_the_bit(rng, score, n_rows):
    codes = random_codes(rng, CARDS, n_rows)
    whole = make_scorer(codes, CARDS, score, max_indegree=3)
    cut = [make_scorer(codes, CARDS, score, max_indegree=3, segment_rows=most) for most in (512, 1024)]
    for moves, _, changed in random_moves(rng, len(CARDS), 12):
        for child in changed:
            parents = moves.parents_of(child)
            expected = rescore(whole, child, parents)
            for scorer in cut:
                found = rescore(scorer, child, parents)
                assert found[0] == expected[0] and np.array_equal(found[1], expected[1]), (child, parents)


def test_states_that_occur_in_one_segment_only(rng):
    # cells come in segments before, between and behind those of others; a parent with 300 states has no planes
    codes = random_codes(rng, CARDS, 2600)
    for v, state in ((0, 0), (2, 3), (5, 2), (3, 150)):
        codes[v, codes[v] == state] = (state + 1) % CARDS[v]
        codes[v, 1100:1400] = state
    codes[:, 512:1024] = codes[:, 512:513]  # a segment with a single cell
    counter, whole = make_counter(codes, segment_rows=512), make_counter(codes)
    for child, parents in ((0, [2]), (0, [2, 5]), (0, [1, 2, 5]), (3, [0, 2]), (5, [3, 7]), (7, [0, 2, 3])):
        wanted = np.array([u for u in (0, 1, 2, 4, 5, 7) if u not in (child, *parents)], dtype=np.int32)
        request = child, np.array(parents, dtype=np.int32), wanted
        for found, expected in zip(counter.count(*request), whole.count(*request), strict=True):
            assert np.array_equal(found, expected), (child, parents)
        keys, counts = counter.count(*request)[:2]
        number = np.ravel_multi_index(codes[[*parents, child]].astype(int), [CARDS[v] for v in (*parents, child)])
        for found, expected in zip((keys, counts), np.unique(number, return_counts=True), strict=True):
            assert np.array_equal(found, expected)


def test_a_score_by_segments_is_the_formula(rng):
    codes = random_codes(rng, CARDS, 2000)
    scorer = make_scorer(codes, CARDS, "bic", segment_rows=512)
    for child, parents in ((0, (1, 2)), (3, (0,)), (5, (0, 2, 7))):
        expected = family_score(codes, CARDS, child, parents, "bic")
        assert rescore(scorer, child, parents)[0] == pytest.approx(expected, rel=1e-12)


def test_scratch_does_not_grow_with_the_rows(rng):
    sizes = {}
    for n_rows in (2 * SEGMENT_ROWS, 6 * SEGMENT_ROWS):  # a single segment has nothing to merge
        codes = np.tile(random_codes(rng, CARDS, SEGMENT_ROWS), n_rows // SEGMENT_ROWS)
        counter = make_counter(codes)
        for child, parents in ((0, [1, 2, 5]), (3, [0, 7]), (5, [3, 2])):  # planes, lists, and no planes of the first
            counter.count(child, np.array(parents, dtype=np.int32), np.array([4], dtype=np.int32))
        sizes[n_rows] = counter.scratch_bytes
        assert counter.scratch_bytes > 20 * SEGMENT_ROWS
    assert sizes[6 * SEGMENT_ROWS] < 1.05 * sizes[2 * SEGMENT_ROWS]
    scratch = [estimate_memory(n_rows, CARDS).scratch for n_rows in (SEGMENT_ROWS, 100 * SEGMENT_ROWS)]
    assert scratch[0] == scratch[1]

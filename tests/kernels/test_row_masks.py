"""Families that count some rows only: the scorer of a table with masks against the scorer of each set of rows."""

import numpy as np
import pytest

from helpers.coded_tables import SCORES, make_scorer, random_codes, rescore, start, terms
from pgmx._ext import _counts, _families


def pack_masks(kept):
    """Return rows that count, (m, N) bool, as planes."""
    kept = np.atleast_2d(np.asarray(kept, dtype=np.uint8))
    planes, offsets = _counts.pack_planes(kept, np.full(len(kept), 2, dtype=np.int64))
    return np.ascontiguousarray(planes[offsets[:-1] + 1])


def make_masked(codes, cards, score, kept, mask_of, **options):
    return make_scorer(codes, cards, score, masks=pack_masks(kept), mask_of=np.array(mask_of), **options)


def make_twin(codes, cards, score, rows):
    """Return the scorer of some rows, in which a parameter costs as much as in all rows."""
    price = terms(score, codes.shape[1])
    codes = np.ascontiguousarray(codes[:, rows])
    planes, offsets = _counts.pack_planes(codes, cards)
    counts = [np.bincount(column, minlength=r) for column, r in zip(codes, cards, strict=True)]
    return _families.FamilyScorer(codes, cards, planes, offsets, np.concatenate(counts).astype(np.uint32), **price)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_families_count_their_rows(score, pairs):
    rng = np.random.default_rng(3)
    for cards, n_rows, segment in (([2, 3, 2, 4, 3], 700, 1 << 17), ([300, 2, 3, 2], 1300, 512)):
        cards = np.array(cards)
        n = len(cards)
        codes = random_codes(rng, cards, n_rows)
        kept = rng.random((3, n_rows)) < np.array([[0.9], [0.5], [0.02]])
        mask_of = np.array([-1, 0, 0, 2, 1])[:n]
        scorer = make_masked(codes, cards, score, kept, mask_of, pairs=pairs, segment_rows=segment)
        twins = [make_twin(codes, cards, score, np.ones(n_rows, bool) if m < 0 else kept[m]) for m in mask_of]
        gains, scores = start(scorer)
        for child, twin in enumerate(twins):
            expected, expected_scores = start(twin)
            np.testing.assert_allclose(gains[child], expected[child], atol=1e-7)  # gains are rounded
            assert scores[child] == pytest.approx(expected_scores[child], rel=1e-12)
            others = np.delete(np.arange(n), child)
            for parents in ([], others[:1], others[:2], others[1:2], [], others[-2:], others[:3]):
                value, row = rescore(scorer, child, parents)
                expected_value, expected_row = rescore(twin, child, parents)
                assert value == pytest.approx(expected_value, rel=1e-12)
                np.testing.assert_allclose(row, expected_row, atol=1e-7)
                family = np.array(parents, dtype=np.int32)
                for own, other in zip(
                    scorer.family_counts(child, family), twin.family_counts(child, family), strict=True
                ):
                    assert np.array_equal(own, other)
                _check_additions(scorer, twin, child, family, n)


def _check_additions(scorer, twin, child, parents, n):
    wanted = np.setdiff1d(np.arange(n), [child, *parents]).astype(np.int32)
    answers = []
    for source in (scorer, twin):
        scores, cells = np.zeros(n), np.zeros(n)
        source.score_additions(child, parents, wanted, scores, cells)
        answers.append((scores, cells))
    np.testing.assert_allclose(answers[0][0], answers[1][0], rtol=1e-11)
    if len(parents):
        assert np.array_equal(answers[0][1], answers[1][1])


def test_threads_count_the_same_rows():
    from pgmx.parallel.threads import help_on_threads

    rng = np.random.default_rng(0)
    cards = np.array([2, 3, 2, 2])
    codes, kept = random_codes(rng, cards, 3000), rng.random(3000) < 0.8
    make = lambda: make_masked(codes, cards, "bic", kept, [0, -1, 0, 0], segment_rows=512)  # noqa: E731
    alone, shared = make(), make()
    assert shared.share_rows(2)
    with help_on_threads(shared.serve, shared.close, 1):
        for child, parents in ((0, []), (0, [1]), (2, [0, 1]), (3, [1, 2])):
            assert rescore(shared, child, parents)[0] == rescore(alone, child, parents)[0]
            assert np.array_equal(rescore(shared, child, parents)[1], rescore(alone, child, parents)[1])


def test_opposite_edges_of_variables_with_the_same_rows_tie():
    rng = np.random.default_rng(1)
    cards = np.array([3, 4, 2, 3])
    codes = random_codes(rng, cards, 999)
    gains, _ = start(make_masked(codes, cards, "bdeu", rng.random(999) < 0.7, [0, 0, 0, 0]))
    assert np.array_equal(gains, gains.T)


def test_no_row_is_left():
    codes = np.zeros((2, 100), dtype=np.uint8)
    scorer = make_masked(codes, np.array([2, 2]), "bds", np.zeros(100), [0, -1])
    assert scorer.family_score(0, np.array([1], dtype=np.int32)) == 0


def test_a_mask_needs_a_bit_per_row():
    codes = np.zeros((2, 1000), dtype=np.uint8)
    with pytest.raises(ValueError, match="bit per row"):
        make_masked(codes, np.array([2, 2]), "ll", np.zeros(100), [0, -1])

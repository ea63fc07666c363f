"""Input and output of a family scorer between calls: mask of arcs, largest indegree, cells of a family."""

import numpy as np
import pytest

from helpers.coded_tables import make_scorer, random_codes, rescore, start
from oracles.family_scores import family_counts


def random_mask(rng, n):
    mask = (rng.random((n, n)) < 0.5).astype(np.uint8)
    np.fill_diagonal(mask, 0)
    return mask


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu", "bds"])
def test_a_new_mask_leaves_no_trace_of_the_old(score, rng):
    """Rows kept under one mask serve under the next, with the bits of a scorer that never had another."""
    cards = [2, 3, 2, 300, 3, 2, 4]
    codes = random_codes(rng, cards, 300)
    changing = make_scorer(codes, cards, score, allowed=random_mask(rng, 7))
    start(changing)
    parents = [set() for _ in cards]
    for step in range(40):
        mask = None if step % 5 == 4 else random_mask(rng, 7)
        changing.restrict(mask)
        child, u = rng.choice(7, size=2, replace=False).tolist()
        parents[child] ^= {u}
        fresh = make_scorer(codes, cards, score, allowed=mask, memory=0)
        found, row = rescore(changing, child, parents[child])
        expected, other = rescore(fresh, child, parents[child])
        assert found == expected
        np.testing.assert_array_equal(row, other)


def test_the_mask_may_be_dropped_by_the_caller(rng):
    codes = random_codes(rng, [2, 3, 2], 50)
    scorer = make_scorer(codes, [2, 3, 2], "bic")
    scorer.restrict(np.zeros((3, 3), dtype=np.uint8))
    assert (start(scorer)[0] == -np.inf).all()
    read_only = np.ones((3, 3), dtype=np.uint8)
    read_only.setflags(write=False)
    scorer.restrict(read_only)
    assert np.isfinite(start(scorer)[0]).sum() == 6


@pytest.mark.parametrize("shape", [(3, 2), (4, 3), (0, 0)])
def test_masks_of_another_shape(shape, rng):
    scorer = make_scorer(random_codes(rng, [2, 3, 2], 50), [2, 3, 2], "bic")
    with pytest.raises(ValueError, match=r"shape \(3, 3\), got"):
        scorer.restrict(np.ones(shape, dtype=np.uint8))


def test_the_largest_indegree_may_change(rng):
    cards = [2, 3, 2, 2]
    scorer = make_scorer(random_codes(rng, cards, 80), cards, "bic", max_indegree=1)
    assert np.isfinite(rescore(scorer, 0, [1])[1]).tolist() == [False, True, False, False]
    scorer.max_indegree = 2
    assert np.isfinite(rescore(scorer, 0, [1])[1]).tolist() == [False, True, True, True]
    assert scorer.max_indegree == 2


@pytest.mark.parametrize("cards", [[2, 3, 2, 4], [2, 300, 3, 4], [40, 30, 1, 25]])
def test_family_counts(cards, rng):
    codes = random_codes(rng, cards, 150)
    scorer = make_scorer(codes, cards, "bic")
    for child, parents in [(0, []), (1, []), (0, [1]), (3, [0, 1]), (1, [0, 2, 3])]:
        keys, counts = scorer.family_counts(child, np.array(parents, dtype=np.int32))
        assert (keys.dtype, counts.dtype) == (np.uint64, np.uint32)
        assert (np.diff(keys.astype(np.int64)) > 0).all()
        found = {}
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            digits = np.unravel_index(key, [cards[v] for v in (*parents, child)])
            found[tuple(map(int, digits))] = count
        expected = {
            (*configuration, state): int(n_rows)
            for configuration, table in family_counts(codes, cards, child, parents).items()
            for state, n_rows in enumerate(table)
            if n_rows
        }
        assert found == expected
        scorer.family_score(2, np.array([0, 1], dtype=np.int32))
        assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == dict(  # copies, not the scorer's memory
            zip(
                *(part.tolist() for part in scorer.family_counts(child, np.array(parents, dtype=np.int32))), strict=True
            )
        )


@pytest.mark.parametrize("score", ["bic", "bdeu", "bds"])
def test_added_parents_score_as_families_of_their_own(score, rng):
    cards = [2, 3, 2, 300, 3, 2, 4]
    scorer = make_scorer(random_codes(rng, cards, 300), cards, score, max_indegree=1)
    for child, parents in [(0, []), (0, [1, 5]), (3, [0]), (6, [0, 3, 4])]:
        wanted = [u for u in range(7) if u != child and u not in parents][::2]
        scores, n_cells = np.full(7, np.nan), np.full(7, np.nan)
        scorer.score_additions(child, np.array(parents, np.int32), np.array(wanted, np.int32), scores, n_cells)
        assert np.flatnonzero(np.isfinite(scores)).tolist() == wanted
        for u in wanted:
            family = np.array(sorted([*parents, u]), dtype=np.int32)
            assert scores[u] == pytest.approx(scorer.family_score(child, family), rel=1e-12)
            assert n_cells[u] == len(scorer.family_counts(child, family)[0])


@pytest.mark.parametrize("score", ["bic", "bdeu", "k2", "ll"])
def test_added_parents_of_many_configurations_score_as_families_of_their_own(score, rng):
    """Configurations of few rows, equal rows, rows alone, and paths of parents that follow and leave each other."""
    cards = [2, 3, 2, 4, 3, 2, 4, 2]
    codes = random_codes(rng, cards, 250)
    codes[:, 200:] = codes[:, :50]
    codes[:, 240:] = codes[:, :1]
    scorer = make_scorer(np.ascontiguousarray(codes), cards, score)
    for _ in range(60):
        child = int(rng.integers(8))
        others = [u for u in range(8) if u != child]
        parents = sorted(rng.choice(others, size=int(rng.integers(2, 7)), replace=False).tolist())
        wanted = [u for u in others if u not in parents]
        scores, n_cells = np.full(8, np.nan), np.full(8, np.nan)
        scorer.score_additions(child, np.array(parents, np.int32), np.array(wanted, np.int32), scores, n_cells)
        assert np.flatnonzero(np.isfinite(scores)).tolist() == wanted
        for u in wanted:
            family = np.array(sorted([*parents, u]), dtype=np.int32)
            assert scores[u] == pytest.approx(scorer.family_score(child, family), rel=1e-12)
            assert n_cells[u] == len(scorer.family_counts(child, family)[0])

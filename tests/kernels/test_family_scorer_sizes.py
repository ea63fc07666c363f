"""Family scores on tables that are large in one way each, so that every limit of the kernels is crossed."""

import numpy as np
import pytest

from helpers.coded_tables import make_scorer, random_codes, rescore, rounding, start
from oracles import family_scores as oracle


def check_row(codes, cards, child, parents, found, score, *, candidates):
    """Compare the family score, all deletions, and the additions of `candidates`."""
    total, row = found
    close = {"rtol": 1e-10, "atol": rounding(codes.shape[1])}
    now = oracle.family_score(codes, cards, child, parents, score)
    np.testing.assert_allclose(total, now, **close)
    for u in {*parents, *candidates}:
        toggled = oracle.family_score(codes, cards, child, sorted({u} ^ set(parents)), score)
        np.testing.assert_allclose(row[u], toggled - now, **close)


def test_planes_read_in_blocks(rng):
    # 400 cells of 110 rows and 700 words a plane: more words than are read at once for this number of cells
    cards = [20, 20, 3, 2]
    codes = np.stack([rng.integers(0, r, 45_000) for r in cards]).astype(np.uint8)
    for pairs in (True, False):
        scorer = make_scorer(codes, cards, "bic", pairs=pairs)
        check_row(codes, cards, 0, [1], rescore(scorer, 0, [1]), "bic", candidates=[2, 3])
        check_row(codes, cards, 0, [1, 2], rescore(scorer, 0, [1, 2]), "bic", candidates=[3])


@pytest.mark.slow
def test_tables_counted_in_groups(rng):
    # 4,900 cells and candidates of 250 states: the tables of all candidates together would take 40 MB
    cards = [250] * 10
    codes = np.stack([rng.integers(0, 250, 5000) for _ in cards]).astype(np.uint8)
    scorer = make_scorer(codes, cards, "aic")
    check_row(codes, cards, 3, [7], rescore(scorer, 3, [7]), "aic", candidates=[0, 4, 9])
    total, row = rescore(scorer, 3, [5, 7])
    again, counted = rescore(make_scorer(codes, cards, "aic", memory=0), 3, [5, 7])
    assert total == again
    np.testing.assert_array_equal(row, counted)


@pytest.mark.slow
def test_more_large_cells_than_planes_are_held(rng):
    # 1,296 cells of 460 rows; at this many rows about 900 planes fill the memory that a level may take
    cards = [36, 36, 2]
    codes = np.stack([rng.integers(0, r, 600_000) for r in cards]).astype(np.uint8)
    scorer = make_scorer(codes, cards, "bic", pairs=False)
    check_row(codes, cards, 0, [1], rescore(scorer, 0, [1]), "bic", candidates=[2])


def test_more_priors_than_are_memoised(rng):
    # BDeu has one table of terms for each product q r: here more than the memory for them holds
    cards = list(range(2, 42))
    codes = random_codes(rng, cards, 33_000)
    scorer = make_scorer(codes, cards, "bdeu", pairs=False)
    gains, scores = start(scorer)
    check_row(codes, cards, 39, [], (scores[39], gains[39]), "bdeu", candidates=[0, 17, 38])
    check_row(codes, cards, 5, [11], rescore(scorer, 5, [11]), "bdeu", candidates=[0, 39])
    fresh = make_scorer(codes, cards, "bdeu", pairs=False)
    for child, parents in [(5, [11]), (30, []), (39, [0, 1])]:
        # a term has the same bits whether it was memoised or not
        assert rescore(scorer, child, parents)[0] == rescore(fresh, child, parents)[0]


@pytest.mark.slow
@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_more_rows_than_terms_are_memoised(score, rng):
    cards = [2, 3]
    codes = np.zeros((2, (1 << 20) + 30_000), dtype=np.uint8)
    codes[0, :400_000] = 1  # all rows are more than are memoised, those of a state of the first variable are not
    codes[1, rng.integers(0, codes.shape[1], 20_000)] = 2
    gains, scores = start(make_scorer(codes, cards, score))
    for child in (0, 1):
        check_row(codes, cards, child, [], (scores[child], gains[child]), score, candidates=[1 - child])


@pytest.mark.slow
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_many_variables_without_planes(score, rng):
    cards = [300, 400, 2, 1000, 256]
    codes = random_codes(rng, cards, 3000)
    scorer = make_scorer(codes, cards, score)
    for parents in ([1], [1, 3], [0], [0, 2], [2]):
        found = rescore(scorer, 4, parents)
        check_row(codes, cards, 4, parents, found, score, candidates=set(range(4)) - set(parents))


@pytest.mark.slow
def test_tables_too_large_to_make(rng):
    """Cells times states beyond the memory of a group: the candidate gets a cell tree, with the same numbers."""
    cards = [255, 255, 255, 2]
    codes = np.stack([rng.integers(0, r, 90_000) for r in cards]).astype(np.uint8)
    n_cells = len(np.unique(codes[0].astype(int) * 255 + codes[1]))
    assert 4 * 255 * n_cells > 1 << 25  # the kernel's GROUP_MEMORY
    scorer = make_scorer(codes, cards, "bdeu")
    score, row = rescore(scorer, 0, [1])
    np.testing.assert_allclose(score, oracle.family_score(codes, cards, 0, [1], "bdeu"), rtol=1e-10)
    for u in (2, 3):
        added = oracle.family_score(codes, cards, 0, [1, u], "bdeu") - score
        np.testing.assert_allclose(row[u], added, rtol=1e-9)

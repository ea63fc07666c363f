"""Family scores and gains against the slow scorer, along walks of parent sets."""

import numpy as np
import pytest

from helpers.coded_tables import SCORES, make_scorer, random_codes, rescore, rounding, start
from oracles import family_scores as oracle

# (declared states, states that occur, rows): variables of one state, declared states that never occur, variables with
# more than 255 states (no planes), more states than rows, rows that fill no word, a word, a vector
TABLES = [
    ([2, 3, 2, 4], None, 2),
    ([2, 3, 1, 4, 2], None, 20),
    ([3, 3, 5, 2, 4], [2, 1, 3, 2, 4], 63),
    ([2, 2, 2, 2, 2, 2], None, 512),
    ([2, 300, 3, 4], None, 150),
    ([260, 3, 2, 300, 1], [40, 3, 1, 100, 1], 400),
    ([40, 30, 2, 25], None, 90),
    ([2, 3, 4, 3, 2], None, 1000),
    ([3, 2, 5, 2, 3, 4, 2], None, 5000),
]
NAMES = ["x".join(map(str, cards)) + f"-{n_rows}" for cards, _, n_rows in TABLES]


class Expected:
    """The slow scorer on one table; every family is scored once."""

    def __init__(self, codes, cards, score, **options):
        self.codes, self.cards, self.score, self.options = codes, cards, score, options
        self.known = {}

    def family(self, child, parents):
        family = child, tuple(sorted(parents))
        if family not in self.known:
            self.known[family] = oracle.family_score(self.codes, self.cards, *family, self.score)
        return self.known[family]

    def check_row(self, child, parents, score, row):
        """Compare the gains of every toggle; an addition that is barred must be -inf."""
        allowed, most = self.options.get("allowed"), self.options.get("max_indegree", len(self.cards))
        parents = set(parents)
        close = {"rtol": 1e-10, "atol": rounding(self.codes.shape[1])}
        np.testing.assert_allclose(score, self.family(child, parents), **close)
        for u, gain in enumerate(row):
            possible = u != child and self.cards[u] > 1 and self.cards[child] > 1 and len(parents) < most
            if u in parents or (possible and (allowed is None or allowed[child, u])):
                expected = self.family(child, parents ^ {u}) - self.family(child, parents)
                np.testing.assert_allclose(gain, expected, **close, err_msg=f"{child} | {parents}, toggle {u}")
            else:
                assert gain == -np.inf, f"{child} | {parents}, toggle {u}"


def random_walk(rng, n, child, n_steps):
    """Return parent sets that differ by one variable each, growing at first."""
    parents, others, steps = set(), [u for u in range(n) if u != child], []
    for step in range(n_steps):
        outside = [u for u in others if u not in parents]
        grow = outside and (step < 2 or not parents or rng.random() < 0.55)
        parents = parents ^ {int(rng.choice(outside if grow else sorted(parents)))}
        steps.append(sorted(parents))
    return steps


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("cards", "observed", "n_rows"), TABLES, ids=NAMES)
def test_scores_and_gains_without_parents(score, cards, observed, n_rows, rng):
    codes = random_codes(rng, cards, n_rows, observed=observed)
    expected = Expected(codes, cards, score)
    for pairs in (True, False):
        scorer = make_scorer(codes, cards, score, pairs=pairs)
        gains, scores = start(scorer)
        for child in range(len(cards)):
            expected.check_row(child, (), scores[child], gains[child])
            again, row = rescore(scorer, child, [])
            assert again == scores[child]
            np.testing.assert_array_equal(row, gains[child])


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("cards", "observed", "n_rows"),
    [*TABLES[:-2], *(pytest.param(*table, marks=pytest.mark.slow) for table in TABLES[-2:])],
    ids=NAMES,
)
def test_walks_of_additions_and_deletions(score, cards, observed, n_rows, rng):
    """What is inherited from the row before must equal what is counted: memory 0 inherits nothing."""
    codes = random_codes(rng, cards, n_rows, observed=observed)
    expected = Expected(codes, cards, score)
    walks = {child: random_walk(rng, len(cards), child, 10) for child in range(len(cards))}
    rows = {}
    for pairs, memory in [(True, 1 << 26), (False, 1 << 26), (True, 0), (False, 0)]:
        scorer = make_scorer(codes, cards, score, pairs=pairs, memory=memory)
        for child, walk in walks.items():
            for step, parents in enumerate(walk):
                found, row = rescore(scorer, child, parents)
                assert found == scorer.family_score(child, np.array(parents, dtype=np.int32))
                if (child, step) not in rows:
                    expected.check_row(child, parents, found, row)
                    rows[child, step] = found, row
                assert found == rows[child, step][0]
                np.testing.assert_array_equal(row, rows[child, step][1])


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("score", ["bic", "k2"])
def test_children_take_turns(score, pairs, rng):
    """A search jumps between children; a little memory is then too small for all that could be kept."""
    cards = [2, 3, 2, 4, 3, 2]
    codes = random_codes(rng, cards, 300)
    expected = Expected(codes, cards, score)
    for memory in (1 << 26, 3000, 1000):
        scorer = make_scorer(codes, cards, score, pairs=pairs, memory=memory)
        parents = [set() for _ in cards]
        for _ in range(60):
            child, u = rng.choice(len(cards), size=2, replace=False).tolist()
            parents[child] ^= {u}
            expected.check_row(child, parents[child], *rescore(scorer, child, parents[child]))


@pytest.mark.parametrize("score", ["bic", "k2"])
def test_rows_of_several_sets_are_kept(score, rng):
    """A search over orders goes to and fro; where additions that gain nothing are left out, some tables are missing."""
    cards = [2, 3, 2, 5, 3, 2, 9]
    codes = random_codes(rng, cards, 400)
    fresh = make_scorer(codes, cards, score, memory=0)
    for memory in (1 << 26, 20_000):
        scorer = make_scorer(codes, cards, score, memory=memory)
        scorer.keep_rows(8)
        fresh.least_gain = scorer.least_gain = 1.0
        for _ in range(80):
            child = int(rng.integers(2))
            others = [v for v in range(len(cards)) if v != child]
            parents = sorted(rng.choice(others, size=rng.integers(4), replace=False).tolist())
            for keeps_tables, family in [(False, parents), *((True, [p for p in parents if p != q]) for q in parents)]:
                scorer.keeps_tables = keeps_tables
                (one, row), (other, expected) = rescore(scorer, child, family), rescore(fresh, child, family)
                assert one == other
                np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("jump", [[[0], [1, 2, 3]], [[0, 1, 2], [3]], [[0, 1], [2, 3]], [[0, 1], [0, 1]], [[1, 2], []]])
def test_parent_sets_that_are_no_single_move_apart(jump, rng):
    cards = [2, 3, 2, 4, 3]
    codes = random_codes(rng, cards, 200)
    expected = Expected(codes, cards, "bdeu")
    scorer = make_scorer(codes, cards, "bdeu")
    for parents in [*jump, *jump]:
        expected.check_row(4, parents, *rescore(scorer, 4, parents))


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_arcs_that_are_not_allowed(score, rng):
    cards = [2, 3, 2, 300, 3, 2]
    codes = random_codes(rng, cards, 250)
    allowed = (rng.random((6, 6)) < 0.5).astype(np.uint8)
    np.fill_diagonal(allowed, 0)
    expected = Expected(codes, cards, score, allowed=allowed)
    scorer = make_scorer(codes, cards, score, allowed=allowed)
    gains, scores = start(scorer)
    for child in range(6):
        expected.check_row(child, (), scores[child], gains[child])
        for parents in random_walk(rng, 6, child, 5):  # a start graph may hold arcs that are not allowed
            expected.check_row(child, parents, *rescore(scorer, child, parents))


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_no_additions_beyond_the_largest_indegree(most, rng):
    cards = [2, 3, 2, 4, 3]
    codes = random_codes(rng, cards, 200)
    expected = Expected(codes, cards, "bic", max_indegree=most)
    scorer = make_scorer(codes, cards, "bic", max_indegree=most)
    gains, scores = start(scorer)
    for child in range(5):
        expected.check_row(child, (), scores[child], gains[child])
    for parents in [[], *random_walk(rng, 5, 0, 12)]:
        expected.check_row(0, parents, *rescore(scorer, 0, parents))


def test_families_too_large_to_number(rng):
    """Beyond 2^62 cells a family has no score, and additions that would lead there are not offered."""
    cards = [255] * 9 + [2, 2]
    codes = random_codes(rng, cards, 50)
    scorer = make_scorer(codes, cards, "k2", pairs=False)
    score, row = rescore(scorer, 8, range(6))
    expected = oracle.family_score(codes, cards, 8, range(6), "k2")
    np.testing.assert_allclose(score, expected, rtol=1e-10)
    assert np.isfinite(row).tolist() == [True] * 6 + [False] * 3 + [True] * 2
    with pytest.raises(ValueError, match=r"variable 8 has 7 parents .* set max_indegree"):
        rescore(scorer, 8, range(7))
    np.testing.assert_allclose(rescore(scorer, 8, range(6))[0], expected, rtol=1e-10)  # it still works


def test_candidates_that_come_back_within_the_limit_have_nothing_to_inherit(rng):
    cards = [255] * 9 + [2, 2]
    codes = random_codes(rng, cards, 50)
    scorer, fresh = (make_scorer(codes, cards, "k2", pairs=False, memory=memory) for memory in (1 << 26, 0))
    assert rescore(scorer, 8, range(6))[1][6] == -np.inf
    score, row = rescore(scorer, 8, range(5))
    again, counted = rescore(fresh, 8, range(5))
    assert score == again
    np.testing.assert_array_equal(row, counted)
    assert np.isfinite(row[6])


def test_one_variable(rng):
    codes = random_codes(rng, [3], 40)
    for score in SCORES:
        gains, scores = start(make_scorer(codes, [3], score))
        np.testing.assert_allclose(scores[0], oracle.family_score(codes, [3], 0, (), score), rtol=1e-10)
        assert gains[0, 0] == -np.inf

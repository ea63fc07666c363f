"""Gains from a function against their definition, and against the compiled scorer."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.climb_problems import integer_score
from helpers.coded_tables import SCORES, make_scorer, random_codes
from oracles import family_scores as oracle
from pgmx.scores.gains import FunctionGains


@given(st.data())
def test_gains_are_differences_of_family_scores(data):
    seed = data.draw(st.integers(0, 999), label="seed")
    n = data.draw(st.integers(1, 6), label="n")
    rng = np.random.default_rng(seed)
    local_score = integer_score(seed)
    allowed = (rng.random((n, n)) < 0.7).astype(np.uint8) if data.draw(st.booleans(), label="allowed") else None
    most = data.draw(st.none() | st.integers(0, n), label="max_indegree")
    source = FunctionGains(n, local_score, allowed=allowed, max_indegree=most)
    gains = np.full((n, n), np.nan)
    for child in [*range(n), *rng.integers(0, n, 6).tolist()]:
        parents = np.flatnonzero((rng.random(n) < 0.4) & (np.arange(n) != child)).astype(np.int32)
        score = source.rescore(child, parents, gains)
        family = set(parents.tolist())
        assert score == local_score(child, family)
        for u in range(n):
            if u in family:
                expected = local_score(child, family - {u}) - score
            elif (
                u == child
                or (allowed is not None and not allowed[child, u])
                or len(family) >= (n if most is None else most)
            ):
                expected = -np.inf
            else:
                expected = local_score(child, family | {u}) - score
            assert gains[child, u] == expected


def test_start_is_the_graph_without_arcs():
    source = FunctionGains(4, integer_score(1))
    gains, scores, rows = np.full((4, 4), np.nan), np.full(4, np.nan), np.full((4, 4), np.nan)
    source.start(gains, scores)
    for child in range(4):
        assert scores[child] == source.rescore(child, np.empty(0, dtype=np.int32), rows)
    np.testing.assert_array_equal(gains, rows)


def test_each_family_is_scored_once_and_by_sorted_ids():
    calls = Counter()

    def local_score(child, parents):
        assert isinstance(parents, tuple)
        assert all(type(p) is int for p in parents)
        assert list(parents) == sorted(parents)
        calls[child, parents] += 1
        return 0.0

    source = FunctionGains(5, local_score)
    gains, scores = np.empty((5, 5)), np.empty(5)
    for _ in range(2):
        source.start(gains, scores)
        for parents in ([3], [1, 3], [1], [1, 3]):
            source.rescore(2, np.array(parents, dtype=np.int32), gains)
    assert set(calls.values()) == {1}
    assert len(calls) == 5 * 5 + 3 + 2 + 2  # at most one parent; then what is next to 2 | 3, 2 | 1, 3 and 2 | 1


def test_families_that_may_not_be_are_never_scored():
    allowed = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=np.uint8)

    def local_score(child, parents):
        assert all(allowed[child, p] for p in parents)
        assert len(parents) <= 1
        return 1.0

    source = FunctionGains(3, local_score, allowed=allowed, max_indegree=1)
    gains, scores = np.empty((3, 3)), np.empty(3)
    source.start(gains, scores)
    source.rescore(2, np.array([0], dtype=np.int32), gains)
    assert gains[2].tolist() == [0.0, -np.inf, -np.inf]


@pytest.mark.parametrize("size", [1e-3, 1.0, 9.9, 1e4, 1e9])
def test_ties_that_rounding_breaks_stay_ties(size):
    """Scores of `size` with errors in the last digits, as sums in another order have."""

    def local_score(child, parents):
        error = 1e-15 * ((7 * child + sum(parents)) % 5 - 2)
        return size * (1 - 0.125 * len(parents)) * (1 + error)

    source = FunctionGains(5, local_score)
    gains, scores = np.empty((5, 5)), np.empty(5)
    source.start(gains, scores)
    off_diagonal = ~np.eye(5, dtype=bool)
    assert len(set(gains[off_diagonal].tolist())) == 1
    np.testing.assert_allclose(gains[off_diagonal], -0.125 * size, rtol=1e-6 if size < 1 else 1e-8)
    assert (gains[~off_diagonal] == -np.inf).all()


@pytest.mark.parametrize("score", SCORES)
def test_equals_the_compiled_scorer(score, rng):
    cards, n = [2, 3, 4, 2, 3], 5
    codes = random_codes(rng, cards, 300)
    compiled = make_scorer(codes, cards, score)
    source = FunctionGains(n, lambda child, parents: oracle.family_score(codes, cards, child, parents, score))
    close = {"rtol": 1e-10, "atol": 1e-7}  # a function's gains are rounded to ten digits of the largest score
    mine, theirs = (np.full((n, n), np.nan), np.full(n, np.nan)), (np.full((n, n), np.nan), np.full(n, np.nan))
    source.start(*mine)
    compiled.start(*theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, **close)
    for child, parents in [(0, [1]), (0, [1, 3]), (4, [0, 1, 2]), (0, [3])]:
        ids = np.array(parents, dtype=np.int32)
        expected = compiled.rescore(child, ids, theirs[0])
        np.testing.assert_allclose(source.rescore(child, ids, mine[0]), expected, **close)
        np.testing.assert_allclose(mine[0], theirs[0], **close)

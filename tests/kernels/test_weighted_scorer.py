"""Family scores of weighted rows: against the slow scorer, against repeated rows, and against themselves."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from helpers.coded_tables import (
    EQUIVALENT_SCORES,
    SCORES,
    make_scorer,
    make_weighted,
    random_codes,
    random_moves,
    rescore,
    start,
    total,
)
from helpers.examples import examples
from oracles.other_scores import weighted_score
from pgmx._ext._weighted import dirichlet_terms


@st.composite
def tables(draw, weights=None):
    """Return ``(rng, codes, cards, weights)``; declared states may be missing, some variables have many states."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    observed = draw(st.lists(st.integers(1, 5), min_size=2, max_size=6))
    if draw(st.booleans()) and draw(st.booleans()):
        observed[rng.integers(len(observed))] = int(rng.choice([270, 20_000]))
    cards = [r + int(rng.integers(0, 2)) for r in observed]
    n_rows = draw(st.integers(2, 300))
    codes = random_codes(rng, cards, n_rows, observed=observed)
    whole = draw(st.booleans()) if weights is None else weights == "whole"
    drawn = rng.integers(0, 4, n_rows) if whole else rng.exponential(size=n_rows) * (rng.random(n_rows) < 0.9)
    drawn[rng.integers(n_rows)] += 1
    return rng, codes, cards, drawn.astype(float)


def unit(scorer):
    """Return the number that gains are multiples of: twelve digits of the largest score, at least 1e-5."""
    _, scores = start(scorer)
    largest, unit = max(1.0, np.abs(scores).max()), 1e-12
    while unit < 1e-5 and largest > 1:
        unit, largest = unit * 10, largest / 10
    return unit


@pytest.mark.parametrize("score", SCORES)
@given(table=tables())
@examples(25)
def test_against_the_slow_scorer(score, table):
    rng, codes, cards, weights = table
    scorer = make_weighted(codes, cards, weights, score)
    gains, scores = start(scorer)
    step = unit(scorer)
    size = 1 + weights.sum() * math.log(weights.sum() + 1)

    def expected(child, family):
        return weighted_score(codes, cards, child, sorted(family), weights, score)

    child = int(rng.integers(len(cards)))
    for k in range(4):
        parents = {int(p) for p in rng.permutation(len(cards))[:k] if p != child}
        found, row = (scores[child], gains[child]) if not parents else rescore(scorer, child, parents)
        now = expected(child, parents)
        assert found == pytest.approx(now, rel=1e-10, abs=1e-12 * size)
        for u in range(len(cards)):
            if u in parents or (u != child and cards[u] > 1 and cards[child] > 1):
                assert row[u] == pytest.approx(expected(child, parents ^ {u}) - now, rel=1e-9, abs=step + 1e-11 * size)
            else:
                assert row[u] == -np.inf


@pytest.mark.parametrize("score", SCORES)
@given(table=tables("whole"))
@examples(25)
def test_whole_weights_are_repeated_rows(score, table):
    rng, codes, cards, weights = table
    repeated = np.ascontiguousarray(np.repeat(codes, weights.astype(int), axis=1))
    weighted, plain = make_weighted(codes, cards, weights, score), make_scorer(repeated, cards, score)
    step = unit(weighted)
    for mine, theirs in zip(start(weighted), start(plain), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=step + 1e-9)
    for moves, _, changed in random_moves(rng, len(cards), 6):
        for child in changed:
            parents = moves.parents_of(child)
            mine, row = rescore(weighted, child, parents)
            theirs, other = rescore(plain, child, parents)
            assert mine == pytest.approx(theirs, rel=1e-10, abs=1e-10)
            np.testing.assert_allclose(row, other, rtol=1e-10, atol=step + 1e-9)
            for a, b in zip(weighted.family_counts(child, parents), plain.family_counts(child, parents), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("score", SCORES)
@given(table=tables())
@examples(20)
def test_gains_add_up_to_the_difference_of_full_scores(score, table):
    rng, codes, cards, weights = table
    scorer = make_weighted(codes, cards, weights, score)
    gains, scores = start(scorer)
    gained, first = [], math.fsum(scores)
    for moves, (op, tail, head), changed in random_moves(rng, len(cards), 10):
        if cards[tail] > 1 and cards[head] > 1:
            gained.append(gains[head, tail] + (gains[tail, head] if op == 2 else 0.0))
        for child in changed:
            scores[child] = scorer.rescore(child, moves.parents_of(child), gains)
        now = total(scorer, moves)
        assert math.fsum(scores) == pytest.approx(now, rel=1e-12)
        assert first + math.fsum(gained) == pytest.approx(now, rel=1e-9, abs=20 * unit(scorer))


@pytest.mark.parametrize("score", EQUIVALENT_SCORES)
@given(table=tables())
@examples(20)
def test_opposite_arcs_between_parentless_variables_tie_exactly(score, table):
    _, codes, cards, weights = table
    scorer = make_weighted(codes, cards, weights, score)
    gains, _ = start(scorer)
    np.testing.assert_array_equal(gains, gains.T)
    for child in range(len(cards)):
        np.testing.assert_array_equal(rescore(scorer, child, [])[1], gains[child])


def test_tables_too_large_to_make(rng):
    """Cells times states beyond the memory of a table: the candidate gets cells of its own, with the same numbers."""
    cards = [300, 300, 1000, 2]
    codes = np.stack([rng.integers(0, r, 60_000) for r in cards]).astype(np.uint16)
    weights = rng.integers(1, 3, 60_000)
    assert 8 * 1000 * len(np.unique(codes[0].astype(int) * 300 + codes[1])) > 1 << 25  # the kernel's TABLE_MEMORY
    plain = make_scorer(np.ascontiguousarray(np.repeat(codes, weights, axis=1)), cards, "bdeu", pairs=False)
    found, row = rescore(make_weighted(codes, cards, weights, "bdeu"), 0, [1])
    expected, other = rescore(plain, 0, [1])
    assert found == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(row, other, rtol=1e-10, atol=1e-5)


@pytest.mark.parametrize("score", ["bic", "bdeu", "k2"])
def test_pairs_whose_table_is_too_large_to_make(score, rng):
    """The same for two variables without parents; the queue of the first is as before."""
    cards = [3000, 3, 3000, 2]
    codes = np.stack([rng.integers(0, r, 20_000) for r in cards]).astype(np.uint16)
    weights = rng.integers(1, 3, 20_000)
    plain = make_scorer(np.ascontiguousarray(np.repeat(codes, weights, axis=1)), cards, score, pairs=False)
    weighted = make_weighted(codes, cards, weights, score)
    expected, _ = start(plain)
    found, _ = start(weighted)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-5)
    for child in range(4):
        np.testing.assert_array_equal(rescore(weighted, child, [])[1], found[child])
    one_way = np.ones((4, 4), dtype=np.uint8)
    one_way[0, 2] = 0
    weighted.restrict(one_way)
    gains, _ = start(weighted)
    assert gains[0, 2] == -np.inf
    assert gains[2, 0] == found[2, 0]


def test_memory_of_pairs_of_many_states(rng):
    resource = pytest.importorskip("resource")
    cards = [9000, 9000]
    codes = np.stack([rng.permutation(20_000) % 9000 for _ in cards]).astype(np.uint16)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start(make_weighted(codes, cards, rng.random(20_000), "bic"))
    # a table of both would take 648 MB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_arcs_and_parents_that_are_not_allowed(rng):
    cards = [2, 3, 2, 3]
    codes = random_codes(rng, cards, 100)
    allowed = np.ones((4, 4), dtype=np.uint8)
    allowed[0, 1] = allowed[2, 3] = 0
    scorer = make_weighted(codes, cards, rng.random(100), "k2", allowed=allowed, max_indegree=1)
    gains, _ = start(scorer)
    assert [tuple(pair) for pair in np.argwhere(gains == -np.inf) if pair[0] != pair[1]] == [(0, 1), (2, 3)]
    assert (rescore(scorer, 0, [2])[1][[0, 1, 3]] == -np.inf).all()
    scorer.max_indegree = 2
    assert np.isfinite(rescore(scorer, 0, [2])[1]).tolist() == [False, False, True, True]
    scorer.restrict(None)
    assert np.isfinite(rescore(scorer, 0, [2])[1]).tolist() == [False, True, True, True]
    with pytest.raises(ValueError, match=r"shape \(4, 4\), got \(3, 4\)"):
        scorer.restrict(allowed[:3])


def test_families_too_large_to_number(rng):
    cards = [255] * 9 + [2]
    scorer = make_weighted(random_codes(rng, cards, 50), cards, np.ones(50), "k2")
    assert np.isfinite(rescore(scorer, 8, range(6))[1]).tolist() == [True] * 6 + [False] * 3 + [True]
    with pytest.raises(ValueError, match=r"variable 8 has 7 parents .* set max_indegree"):
        rescore(scorer, 8, range(7))


@given(
    st.lists(st.tuples(st.floats(1e-3, 1e5), st.floats(0, 30) | st.floats(0, 1e6)), min_size=1, max_size=5),
)
def test_rising_factorials_of_real_numbers(pairs):
    a, n = np.array(pairs).T.copy()
    expected = math.fsum((gammaln(a + n) - gammaln(a)).tolist())
    # scipy's difference loses what the two terms have in common
    lost = 1e-14 * (1 + np.abs(gammaln(a)).max() + np.abs(gammaln(a + n)).max())
    assert dirichlet_terms(a, n) == pytest.approx(expected, rel=1e-10, abs=len(a) * lost)


@pytest.mark.parametrize("a", [1e-100, 1e-3, 0.7, 9.99, 10.0, 123.4])
def test_rising_factorials_of_whole_numbers(a):
    for n in [0, 1, 2, 9, 10, 11, 50]:
        expected = math.fsum(np.log(a + np.arange(n)).tolist())
        assert dirichlet_terms(np.array([a]), np.array([float(n)])) == pytest.approx(expected, rel=1e-12, abs=1e-13)

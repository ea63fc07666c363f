"""Laws of family scores: row order, ties of opposite arcs, additivity of gains, score equivalence."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.coded_tables import (
    EQUIVALENT_SCORES,
    SCORES,
    make_scorer,
    random_codes,
    random_moves,
    rescore,
    rounding,
    start,
    total,
)
from helpers.examples import examples


@st.composite
def tables(draw, max_variables=6, max_rows=700):
    """Return ``(rng, codes, cards)``: few rows and many alike; declared states may be missing from the rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    observed = draw(st.lists(st.integers(1, 5), min_size=2, max_size=max_variables))
    wide = draw(st.booleans()) and draw(st.booleans())
    if wide:
        observed[rng.integers(len(observed))] = 270
    cards = [r + int(rng.integers(0, 2)) for r in observed]
    return rng, random_codes(rng, cards, draw(st.integers(2, max_rows)), observed=observed), cards


@pytest.mark.parametrize("score", SCORES)
@given(table=tables())
@examples(40)
def test_row_order_does_not_change_a_bit(score, table):
    rng, codes, cards = table
    shuffled = np.ascontiguousarray(codes[:, rng.permutation(codes.shape[1])])
    here, there = make_scorer(codes, cards, score), make_scorer(shuffled, cards, score)
    for a, b in zip(start(here), start(there), strict=True):
        np.testing.assert_array_equal(a, b)
    for moves, _, changed in random_moves(rng, len(cards), 8):
        for child in changed:
            mine, row = rescore(here, child, moves.parents_of(child))
            theirs, other = rescore(there, child, moves.parents_of(child))
            assert mine == theirs
            np.testing.assert_array_equal(row, other)


@pytest.mark.parametrize("score", EQUIVALENT_SCORES)
@given(table=tables())
@examples(40)
def test_opposite_arcs_between_parentless_variables_tie_exactly(score, table):
    _, codes, cards = table
    for pairs in (True, False):
        scorer = make_scorer(codes, cards, score, pairs=pairs)
        gains, _ = start(scorer)
        np.testing.assert_array_equal(gains, gains.T)
        for child in range(len(cards)):
            np.testing.assert_array_equal(rescore(scorer, child, [])[1], gains[child])


@pytest.mark.parametrize("score", SCORES)
@given(table=tables())
@examples(40)
def test_gains_add_up_to_the_difference_of_full_scores(score, table):
    rng, codes, cards = table
    scorer, fresh = make_scorer(codes, cards, score), make_scorer(codes, cards, score, pairs=False, memory=0)
    gains, scores = start(scorer)
    gained, first = [], math.fsum(scores)
    for moves, (op, tail, head), changed in random_moves(rng, len(cards), 12):
        if cards[tail] > 1 and cards[head] > 1:
            gained.append(gains[head, tail] + (gains[tail, head] if op == 2 else 0.0))
        for child in changed:
            scores[child] = scorer.rescore(child, moves.parents_of(child), gains)
        now = total(fresh, moves)
        np.testing.assert_allclose(math.fsum(scores), now, rtol=1e-12)
        np.testing.assert_allclose(first + math.fsum(gained), now, rtol=1e-10, atol=20 * rounding(codes.shape[1]))


@pytest.mark.parametrize("score", EQUIVALENT_SCORES)
@given(table=tables())
@examples(40)
def test_equivalent_graphs_have_equal_scores(score, table):
    """Reversing a covered edge leads to an equivalent DAG (Chickering 1995)."""
    rng, codes, cards = table
    n = len(cards)
    scorer = make_scorer(codes, cards, score)
    *_, (moves, _, _) = random_moves(rng, n, 10)
    parents = [set(moves.parents_of(v).tolist()) for v in range(n)]
    first = total(scorer, moves)
    for _ in range(6):
        covered = [(u, v) for v in range(n) for u in sorted(parents[v]) if parents[u] == parents[v] - {u}]
        if not covered:
            break
        u, v = covered[rng.integers(len(covered))]
        parents[v].remove(u)
        parents[u].add(v)
        turned = math.fsum(scorer.family_score(w, np.array(sorted(parents[w]), dtype=np.int32)) for w in range(n))
        np.testing.assert_allclose(turned, first, rtol=1e-9, atol=1e-9)


def test_k2_tells_equivalent_graphs_apart(rng):
    codes = random_codes(rng, [2, 4], 100)
    scorer = make_scorer(codes, [2, 4], "k2")
    gains, _ = start(scorer)
    assert abs(gains[0, 1] - gains[1, 0]) > 0.1


@pytest.mark.parametrize("score", SCORES)
@given(table=tables())
@examples(30)
def test_order_of_columns_and_of_states_does_not_matter(score, table):
    rng, codes, cards = table
    n = len(cards)
    order = rng.permutation(n)
    names = [rng.permutation(r) for r in cards]
    moved = np.stack([names[v][codes[v]] for v in order]).astype(codes.dtype)
    gains, scores = start(make_scorer(codes, cards, score))
    other, alone = start(make_scorer(moved, [cards[v] for v in order], score))
    close = {"rtol": 1e-10, "atol": rounding(codes.shape[1])}
    np.testing.assert_allclose(alone, scores[order], **close)
    np.testing.assert_allclose(other, gains[np.ix_(order, order)], **close)


@given(table=tables())
@examples(40)
def test_likelihood_never_falls_with_a_parent_and_doubles_with_the_rows(table):
    rng, codes, cards = table
    scorer = make_scorer(codes, cards, "ll")
    doubled = make_scorer(np.ascontiguousarray(np.tile(codes, 2)), cards, "ll")
    slack = rounding(2 * codes.shape[1])
    for moves, _, changed in random_moves(rng, len(cards), 8):
        for child in changed:
            score, row = rescore(scorer, child, moves.parents_of(child))
            parents = moves.parents_of(child)
            assert score <= slack
            assert (row[parents] <= slack).all()
            others = [u for u in range(len(cards)) if u not in (child, *parents) and min(cards[u], cards[child]) > 1]
            assert (row[others] >= -slack).all()
            twice = doubled.family_score(child, parents)
            np.testing.assert_allclose(twice, 2 * score, rtol=1e-10, atol=slack)

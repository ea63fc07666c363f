"""The kernel of the score of `missing="pairwise"` where its sums are sorted: more joint states than cells."""

import numpy as np
import pytest

from oracles.other_scores import node_average
from pgmx._ext._node_average import score_family
from pgmx.scores.discrete.formulas import NodeAverage

BIC = (0.0, 0.5)


def score(codes, cards, missing, cost, weights=None):
    """Return the score of column 0 with all others as parents."""
    states, places = np.unique(codes.T, axis=0, return_inverse=True)
    counts = np.bincount(places.ravel(), weights, len(states)).astype(float)
    known = np.array(cards) - (np.array(missing) >= 0)
    return score_family(states.astype(np.int64), counts, known, np.array(missing), float(counts.sum()), *cost)


@pytest.mark.parametrize("most", [3, 40])
def test_families_equal_the_formula(most, rng):
    for cost in [(0.0, 0.0), (1.0, 0.0), (0.0, 0.5), (0.3, 2.0)]:
        for n_parents in range(5):
            cards = rng.integers(2, most + 1, n_parents + 1).tolist()
            missing = [card - 1 if rng.random() < 0.7 and card > 2 else -1 for card in cards]
            codes = np.array([rng.integers(0, card, 60) for card in cards])
            expected = node_average(
                codes, cards, 0, list(range(1, n_parents + 1)), missing, lambda n, c=cost: c[0] + c[1] * np.log(n)
            )
            assert score(codes, cards, missing, cost) == pytest.approx(expected, rel=1e-12)


def test_no_complete_row_has_no_score():
    codes = np.array([[0, 1, 2, 2], [2, 2, 0, 1]])
    assert score(codes, [3, 3], [2, 2], BIC) == -np.inf
    assert score(codes, [3, 3], [2, 2], BIC, np.zeros(4)) == -np.inf
    assert score(codes[:, :0], [3, 3], [2, 2], BIC) == -np.inf


def test_weights_are_repeated_rows(rng):
    codes, weights = rng.integers(0, 3, (3, 30)), rng.integers(1, 4, 30)
    found = score(codes, [3, 3, 3], [2, -1, 2], BIC, weights)
    assert found == pytest.approx(score(np.repeat(codes, weights, axis=1), [3, 3, 3], [2, -1, 2], BIC), rel=1e-13)


def test_parents_of_one_state_change_nothing(rng):
    formula = NodeAverage(np.array([3, 2, 3]), np.array([2, 1, 2]), 30.0, "bic")
    codes = rng.integers(0, 3, (30, 2))
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    with_constant = np.column_stack([np.zeros(len(cells), dtype=np.int64), cells])
    parents = np.array([2], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    alone = formula.score(0, parents[0], cells, counts.astype(float))
    assert formula.score(0, parents[1], with_constant, counts.astype(float)) == alone

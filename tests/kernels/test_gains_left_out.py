"""Gains that a scorer may leave out: only of additions that gain less, whatever rows came before."""

import numpy as np
import pytest

from pgmx.data import DiscreteTable
from pgmx.scores.discrete.base import ScoreTerms, family_scorer


def make_table(seed):
    rng = np.random.default_rng([seed, 41])
    n, n_rows = 7, 400
    cards = rng.integers(1, 9, n)
    codes = np.stack([rng.integers(0, card, n_rows) for card in cards])
    codes[-1] = (codes[0] + codes[1] * (rng.random(n_rows) < 0.7)) % cards[-1]
    return DiscreteTable([*"abcdefg"], [tuple(range(card)) for card in cards], codes)


@pytest.mark.parametrize("terms", [ScoreTerms(penalty=3.0), ScoreTerms(penalty=1.0), ScoreTerms()])
@pytest.mark.parametrize("least_gain", [1e-4, 5.0, -4.0])
def test_only_additions_that_gain_less_are_left_out(terms, least_gain):
    left_out = 0
    for seed in range(4):
        table = make_table(seed)
        plain, bounded = family_scorer(table, terms), family_scorer(table, terms)
        bounded.least_gain = least_gain
        rng = np.random.default_rng(seed)
        expected, gains = np.empty((7, 7)), np.empty((7, 7))
        parents = np.empty(0, dtype=np.int32)
        for _ in range(60):  # parents come and go, so that tables are inherited
            others = [v for v in range(6) if v not in parents]
            grow = len(parents) == 0 or (len(others) > 0 and rng.random() < 0.55)
            wider = [*parents, rng.choice(others)] if grow else np.delete(parents, rng.integers(len(parents)))
            parents = np.sort(wider).astype(np.int32)
            assert bounded.rescore(6, parents, gains) == plain.rescore(6, parents, expected)
            away = (gains[6] == -np.inf) & (expected[6] > -np.inf)
            assert (expected[6, away] < least_gain).all()
            assert gains[6, ~away].tolist() == expected[6, ~away].tolist()
            left_out += away.sum()
    assert left_out > 0 or terms.penalty == 0

"""Sums over the rows of conditionals do not depend on the partitions of rows or their order, to the bit."""

import numpy as np
import pytest

from pgmx._ext._pseudolikelihood import Conditionals

#: Numbers of states of two variables: all bodies of vectors, more states than these serve, and codes of two bytes.
CARDS = [(2, 3), (4, 5), (5, 2), (9, 16), (3, 20), (300, 3), (4, 300)]
SIDES = np.array([(0, 1), (1, 0)])


def run_steps(columns, weights, heaviest, cards, steps):
    """Return sums over the rows after some moves: means, what was moved, logarithms; and the conditionals."""
    kinds = [np.uint8 if s <= 256 else np.uint16 for s in cards]
    codes = [np.ascontiguousarray(x, dtype=kind) for x, kind in zip(columns, kinds, strict=True)]
    shares = [np.bincount(x, minlength=s) / len(x) for x, s in zip(codes, cards, strict=True)]
    rows = Conditionals(codes, np.array(cards), np.concatenate(shares), weights, 0.0, np.zeros(2), False, heaviest)
    for i, s in enumerate(cards):
        rows.open_at(i, np.arange(1, s + 1) / (s * (s + 1) / 2))
    moved = [rows.move(i, 1 - i, step) for i, step in steps]
    logs = np.array([rows.sum_logs(0), rows.sum_logs(1)])
    return rows.sum_sides(SIDES), np.array(moved), logs, [rows.conditionals(0), rows.conditionals(1)]


@pytest.mark.parametrize("heavy", [None, 0.7, 6.0])
@pytest.mark.parametrize("cards", CARDS, ids=str)
def test_sums_of_parts_are_those_of_the_whole(cards, heavy, rng):
    n = 2500
    codes = [rng.integers(0, s, n) for s in cards]
    weights = None if heavy is None else rng.uniform(1e-4, heavy, n).astype(np.float32)
    heaviest = None if heavy is None else 2.0 ** np.ceil(np.log2(heavy))
    steps = [(i, rng.normal(size=(cards[i], cards[1 - i]))) for i in (0, 1, 0, 1)]
    whole = run_steps(codes, weights, heaviest, cards, steps)
    shuffled = rng.permutation(n)
    for order, n_parts in ((np.arange(n), 2), (np.arange(n), 32), (shuffled, 1), (shuffled, 7)):
        borders = np.sort(rng.choice(np.arange(1, n), n_parts - 1, replace=False))
        parts = [
            run_steps([x[at] for x in codes], None if weights is None else weights[at], heaviest, cards, steps)
            for at in np.split(order, borders)
        ]
        sums, moved, logs = (np.sum([part[k] for part in parts], axis=0) for k in range(3))
        np.testing.assert_array_equal(sums, whole[0])
        np.testing.assert_array_equal(moved, whole[1])
        np.testing.assert_allclose(logs, whole[2], rtol=1e-13)
        for i in (0, 1):
            np.testing.assert_array_equal(np.hstack([part[3][i] for part in parts]), whole[3][i][:, order])


def test_sums_are_near_those_of_doubles(rng):
    cards, n = (4, 3), 3000
    codes = [rng.integers(0, s, n) for s in cards]
    steps = [(i, rng.normal(size=(cards[i], cards[1 - i]))) for i in (0, 1)]
    for weights, heaviest in ((None, 1.0), (rng.exponential(size=n).clip(0, 8).astype(np.float32), 8.0)):
        sums, moved, logs, states = run_steps(codes, weights, heaviest, cards, steps)
        error = n * max(cards) * heaviest * 2.0**-25  # the last state is what the others leave
        at = 0
        for i, j in SIDES:
            for a in range(cards[i]):
                for b in range(cards[j]):
                    assert sums[at] == pytest.approx(states[i][a, codes[j] == b].sum(dtype=float), abs=error)
                    at += 1
        share = np.ones(n) if weights is None else weights.astype(float)
        for i in (0, 1):
            drawn = states[i][codes[i], np.arange(n)]
            assert logs[i] == pytest.approx((share * np.log(drawn / share)).sum(), rel=1e-12)
        assert (moved > 0).all()

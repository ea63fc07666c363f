"""The best of all pairs, found with few scores, against scoring all pairs each time."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx.search.edges.exhaustive import ExhaustiveEdges


class DriftingLoss:
    """Scores of all pairs that move no further than the drift of their ends allows; counts what is asked for."""

    def __init__(self, rng, cards, *, coarse=False):
        self.rng, self.cards = rng, np.asarray(cards, dtype=np.int64)
        n = len(cards)
        self.pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
        self.sizes = np.sqrt(self.cards[self.pairs[:, 0]] * self.cards[self.pairs[:, 1]])
        drawn = rng.integers(0, 4, len(self.pairs)) / 4 if coarse else rng.exponential(size=len(self.pairs))
        self.table = {tuple(pair): score for pair, score in zip(self.pairs.tolist(), drawn.tolist(), strict=True)}
        self.drift = np.zeros(n)
        self.asked = []

    def scores(self, pairs):
        assert pairs.dtype == np.int64
        self.asked += map(tuple, pairs.tolist())
        return self.all_scores(pairs)

    def all_scores(self, pairs):
        return np.array([self.table[tuple(pair)] for pair in pairs.tolist()])

    def move(self, variables, size):
        grown = np.zeros(len(self.drift))
        grown[variables] = self.rng.exponential(size, len(variables))
        self.drift = self.drift + grown
        for (i, j), d in zip(self.pairs.tolist(), self.sizes, strict=True):
            reach = 0.499 * (grown[i] + grown[j]) / d
            self.table[i, j] = max(0.0, self.table[i, j] + self.rng.uniform(-reach, reach))


class Twin:
    """All pairs scored each time."""

    def __init__(self, loss, weight=None, allowed=None):
        self.loss = loss
        self.alive = loss.pairs if allowed is None else loss.pairs[allowed(loss.pairs)]
        self.weight = weight or (lambda pairs: np.ones(len(pairs)))

    def remove(self, pairs):
        gone = set(map(tuple, pairs.tolist()))
        keep = [tuple(pair) not in gone for pair in self.alive.tolist()]
        self.alive = self.alive[np.array(keep, dtype=bool)]

    def violators(self, lam):
        ratios = self.loss.all_scores(self.alive) / self.weight(self.alive)
        order = [k for k in sorted(range(len(ratios)), key=lambda k: (-ratios[k], k)) if ratios[k] > lam]
        return self.alive[order].reshape(-1, 2), ratios[order]


steps = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.01, 0.3, 2.0])), min_size=1, max_size=8)


def weights_of(kind):
    if kind == "none":
        return None
    return lambda pairs: np.where((pairs[:, 0] + pairs[:, 1]) % 3 == 0, 2.5, 0.5)


@examples(80)
@given(
    cards=st.lists(st.integers(1, 6), min_size=1, max_size=9),
    seed=st.integers(0, 2**32),
    steps=steps,
    lam=st.sampled_from([0.0, 0.2, 1.0]),
    weights=st.sampled_from(["none", "some"]),
    coarse=st.booleans(),
)
def test_what_is_found_is_what_scoring_all_pairs_finds(cards, seed, steps, lam, weights, coarse):
    rng = np.random.default_rng(seed)
    loss = DriftingLoss(rng, cards, coarse=coarse)

    def allowed(pairs):
        return pairs.sum(axis=1) % 5 != 4

    weight = weights_of(weights)
    edges = ExhaustiveEdges(loss.cards, weight=weight, allowed=allowed)
    twin = Twin(loss, weight, allowed)
    for n_moved, size in steps:
        pairs, ratios = edges.find_best(loss, lam)
        wanted, their_ratios = twin.violators(lam)
        assert ratios.tolist() == their_ratios[:1].tolist()
        assert set(map(tuple, pairs.tolist())) <= set(map(tuple, wanted[their_ratios == their_ratios[:1]].tolist()))
        pairs, ratios = edges.find_violators(loss, lam)
        assert np.array_equal(pairs, wanted)
        assert np.array_equal(ratios, their_ratios)
        edges.remove(pairs[:1])
        twin.remove(pairs[:1])
        loss.move(rng.permutation(len(cards))[:n_moved], size)
    assert edges.n_tests == len(loss.asked)


@examples(60)
@given(
    n=st.integers(2, 10),
    seed=st.integers(0, 2**32),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
    limit=st.integers(1, 4),
    coarse=st.booleans(),
)
def test_a_batch_is_chosen_greedily_above_the_threshold(n, seed, alpha, limit, coarse):
    loss = DriftingLoss(np.random.default_rng(seed), [2] * n, coarse=coarse)
    pairs, ratios = ExhaustiveEdges(loss.cards).find_batch(loss, 0.1, alpha, limit)
    wanted, scores = Twin(loss).violators(0.1)
    expected, used = [], set()
    if len(scores):
        threshold = (1 - alpha) * np.mean(scores) + alpha * np.max(scores)
        for pair, score in zip(wanted.tolist(), scores, strict=True):
            if (score >= threshold or score == scores[0]) and len(expected) < limit and not used & set(pair):
                expected.append(pair)
                used |= set(pair)
    assert pairs.tolist() == expected
    assert ratios.tolist() == loss.all_scores(pairs).tolist()
    assert len(expected) >= min(1, len(scores))


def test_few_pairs_are_scored_again(rng):
    n = 60
    loss = DriftingLoss(rng, [3] * n)
    edges = ExhaustiveEdges(loss.cards)
    edges.find_best(loss, 0.0)
    assert edges.n_tests == n * (n - 1) // 2
    edges.find_best(loss, 0.0)
    assert edges.n_tests == n * (n - 1) // 2
    loss.asked.clear()
    loss.move([3, 7], 1.0)
    edges.find_violators(loss, 0.0)
    assert sorted(loss.asked) == sorted(pair for pair in loss.table if {3, 7} & set(pair))
    # a small drift of all can lift few pairs to the top: the first batch of scores settles it
    loss.asked.clear()
    loss.move(np.arange(n), 1e-4)
    edges.find_best(loss, 0.0)
    assert len(loss.asked) < 300


def test_many_stale_pairs_are_scored_best_bound_first(rng):
    n = 60
    loss = DriftingLoss(rng, [2] * n)
    edges = ExhaustiveEdges(loss.cards)
    edges.find_best(loss, 0.0)
    before = edges.n_tests
    loss.move(np.arange(n), 3.0)  # all bounds exceed the best score
    pairs, ratios = edges.find_best(loss, 0.0)
    assert ratios[0] == max(loss.table.values())
    assert loss.table[tuple(pairs[0].tolist())] == ratios[0]
    assert edges.n_tests - before < len(loss.pairs)


def test_forgotten_pairs_are_scored_whatever_the_drift_says(rng):
    loss = DriftingLoss(rng, [2] * 6)
    edges = ExhaustiveEdges(loss.cards)
    first, _ = edges.find_best(loss, 0.0)
    loss.table[tuple(first[0].tolist())] = 0.0
    assert np.array_equal(edges.find_best(loss, 0.0)[0], first)
    edges.forget(first)
    second, ratio = edges.find_best(loss, 0.0)
    assert not np.array_equal(second, first)
    assert ratio[0] == max(loss.table.values())


def test_pairs_that_were_never_there_may_be_removed(rng):
    loss = DriftingLoss(rng, [2] * 4)
    edges = ExhaustiveEdges(loss.cards, allowed=lambda pairs: pairs[:, 0] > 0)
    edges.remove(np.array([[0, 3], [2, 3]]))
    assert sorted(map(tuple, edges.find_violators(loss, 0.0)[0].tolist())) == [(1, 2), (1, 3)]


@pytest.mark.parametrize("n", [1, 2])
def test_nothing_left(n, rng):
    loss = DriftingLoss(rng, [2] * n)
    edges = ExhaustiveEdges(loss.cards)
    edges.remove(loss.pairs)
    for pairs, ratios in (
        edges.find_best(loss, 0.0),
        edges.find_violators(loss, 0.0),
        edges.find_batch(loss, 0.0, 0.5, 3),
    ):
        assert pairs.shape == (0, 2)
        assert ratios.shape == (0,)
    assert edges.n_tests == 0

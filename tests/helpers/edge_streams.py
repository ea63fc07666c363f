"""A loss whose scores change as edges are activated, and runs of a stream and of its slow twin on it."""

from itertools import combinations

import numpy as np

from oracles.grafting import Grafting
from pgmx.search.edges.pair_queue import HubPartners
from pgmx.search.edges.random_pairs import RandomPairs, ends_of
from pgmx.search.edges.stream import EdgeStream


class ChangingLoss:
    """Scores that fall, or for some pairs rise, with the number of active edges at their ends; many are equal."""

    def __init__(self, n, seed, digits=2, lam=0.1):
        self.lam = lam
        rng = np.random.default_rng(seed)
        self.base = np.round(rng.gamma(0.5, 1.0, (n, n)), digits)
        self.degrees = np.zeros(n, dtype=np.int64)
        self.batches = []

    def of_pair(self, pair):
        i, j = pair
        rising = (i + j) % 5 == 0
        factor = 1.2 ** min(self.degrees[i], 4) if rising else 0.8 ** (self.degrees[i] + self.degrees[j])
        return float(self.base[i, j] * factor)

    def scores(self, pairs):
        self.batches.append(len(pairs))
        return np.array([self.of_pair(pair) for pair in pairs.tolist()])

    def activate(self, pairs):
        """Count the edges, and return the nodes whose scores have changed."""
        np.add.at(self.degrees, np.asarray(pairs, dtype=np.int64).ravel(), 1)
        return np.unique(np.asarray(pairs, dtype=np.int64))


def run(stream, loss, rounds=10_000, limit=None):
    """Continue to the first empty round; return the edges of each round."""
    activated = []
    for _ in range(rounds):
        pairs = stream.choose_edges(loss, limit=limit)
        if not len(pairs):
            break
        activated.append([tuple(pair) for pair in pairs.tolist()])
        stream.mark_changed(loss.activate(pairs))
    return activated


def twin_of(n, *, seed, skip=(), weights=None, reservoir_size, max_tests, alpha, lam, hubs=True, hub_threshold=None):
    """Return the slow twin of a stream, with the same random order."""
    order, partners = RandomPairs(n, seed), HubPartners(n, seed)
    pairs = list(combinations(range(n), 2))
    places = order.position(np.array(pairs)).tolist()
    return Grafting(
        n,
        [pair for pair in pairs if pair not in skip],
        size=reservoir_size,
        max_tests=max_tests,
        alpha=alpha,
        lam=lam,
        place=dict(zip(pairs, places, strict=True)),
        turn=lambda hub, other: int(partners.positions_of(np.array([hub]), np.array([other]))[0]),
        weight=(lambda pair: 1.0) if weights is None else (lambda pair: float(weights[pair])),
        hubs=hubs,
        threshold=hub_threshold,
    )


def run_with_twin(stream, twin, loss, slow_loss, limit=None):
    """Continue to the first empty round, and compare the edges and all that is stored after each."""
    pairs = None
    while pairs != []:
        pairs = [tuple(pair) for pair in stream.choose_edges(loss, limit=limit).tolist()]
        assert pairs == twin.round(slow_loss.of_pair, limit)
        n_tests = sum(name == "test" for name, _, _ in twin.log)
        assert content_of(stream) == (twin.reservoir, twin.frozen, twin.hubs, n_tests)
        stream.mark_changed(loss.activate(pairs))
        twin.rescore(set(slow_loss.activate(pairs).tolist()), slow_loss.of_pair)


def content_of(stream):
    """Return the reservoir, the frozen edges, the hubs and the number of tests of a stream, as its twin has them."""
    (edges, scores), (frozen, offsets) = stream.reservoir.content(), stream.queue.tested.frozen.content()
    pairs, frozen = (list(map(tuple, ends_of(ids, stream.n_variables).tolist())) for ids in (edges, frozen))
    return (
        dict(zip(pairs, scores.tolist(), strict=True)),
        list(zip(frozen, offsets.tolist(), strict=True)),
        stream.queue.partners.hubs.tolist(),
        stream.n_tests,
    )


def rule_without(pairs, n):
    """Return the rule that allows all pairs but the given ones."""
    excluded = {min(pair) * n + max(pair) for pair in pairs}
    return lambda pairs: ~np.isin(pairs[:, 0] * n + pairs[:, 1], list(excluded))


def stream_of(n, **options):
    """Return a stream with small defaults."""
    return EdgeStream(n, **{"reservoir_size": n, "max_tests": 5, "alpha": 0.0, "tol": 1e-3, **options})

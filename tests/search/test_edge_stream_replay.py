"""Round by round, a stream does what the pseudocode does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.edge_streams import ChangingLoss, rule_without, run_with_twin, stream_of, twin_of
from helpers.examples import examples

OPTIONS = {
    "plain": {},
    "half": {"alpha": 0.5},
    "one at a time": {"alpha": 1.0},
    "first hit": {"reservoir_size": 1, "max_tests": 1},
    "small reservoir": {"reservoir_size": 4, "max_tests": 9},
    "large reservoir": {"reservoir_size": 500},
    "low threshold for hubs": {"hub_threshold": 0.06},
    "no penalty": {"lam": 0.0},
}


def replay(
    n, seed, mode="sampled", lookahead=1, *, hubs=True, skip=(), weights=None, limit=None, digits=2, lam=0.1, **options
):
    """Run both side by side, and return the stream and its twin."""
    options = {"reservoir_size": n, "max_tests": 5, "alpha": 0.0, **options}
    stream = stream_of(
        n,
        seed=seed,
        mode=mode,
        lookahead=lookahead,
        allowed=rule_without(skip, n) if skip else None,
        structure_heuristics=hubs,
        penalty_weight=None if weights is None else lambda pairs: weights[pairs[:, 0], pairs[:, 1]],
        **options,
    )
    twin = twin_of(n, seed=seed, skip=skip, weights=weights, hubs=hubs, lam=lam, **options)
    run_with_twin(stream, twin, ChangingLoss(n, seed, digits, lam), ChangingLoss(n, seed, digits, lam), limit)
    return stream, twin


@pytest.mark.parametrize("mode", ["sampled", "all"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_replay(options, mode, seed):
    stream, twin = replay(24, seed, mode, **options)
    assert len(stream.queue.partners.hubs)
    assert any(name == "refill" for name, _, _ in twin.log)


@pytest.mark.parametrize("mode", ["sampled", "all"])
def test_replay_with_weights_and_skipped_pairs(mode, seed):
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0, np.inf], (20, 20))
    skip = {(0, 1), (3, 7), (2, 19)}
    _, twin = replay(20, seed, mode, skip=skip, weights=weights, alpha=0.25, lam=0.2)
    assert len({pair for name, pair, _ in twin.log if name == "test"}) == 190 - len(skip)


@pytest.mark.parametrize("mode", ["sampled", "all"])
def test_replay_without_heuristics_and_with_a_limit(mode, seed):
    replay(20, seed, mode, hubs=False, limit=2)


@pytest.mark.slow
@examples(60)
@given(
    n=st.integers(2, 26),
    seed=st.integers(0, 10**6),
    mode=st.sampled_from(["sampled", "all"]),
    lookahead=st.sampled_from([1, 3, 100]),
    reservoir_size=st.integers(1, 30),
    max_tests=st.integers(1, 40),
    alpha=st.sampled_from([0.0, 0.3, 1.0]),
    lam=st.sampled_from([0.05, 0.2, 0.5]),
    hub_threshold=st.none() | st.sampled_from([0.0, 0.1]),
    digits=st.integers(0, 4),
    skip=st.sets(st.tuples(st.integers(0, 8), st.integers(9, 12)), max_size=5),
)
def test_replay_with_any_options(n, skip, **options):
    replay(n, skip={pair for pair in skip if max(pair) < n}, **options)


def test_the_twin_sees_everything(seed):
    """The comparison above is worth something only if every kind of event occurs in it."""
    _, twin = replay(30, seed, reservoir_size=8, max_tests=20)
    kinds = {event for event, _, _ in twin.log}
    assert kinds == {"test", "reserve", "evict", "freeze", "refill", "hub", "drop", "activate"}

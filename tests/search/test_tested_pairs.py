"""Pairs that were tested, with priorities and with levels of these."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.edge_streams import ChangingLoss, run, stream_of, twin_of
from helpers.examples import examples
from pgmx.runs.checkpoint import Snapshot
from pgmx.search.edges import pair_queue
from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of
from pgmx.search.edges.tested_pairs import PRIORITIES, ExactPairs, LevelledPairs, level_of

pytestmark = pytest.mark.slow


def round_down(priority):
    """Return the priority of the level, in a slow way."""
    return max(float(p) for p in PRIORITIES if p <= priority or p == PRIORITIES[1])


@given(st.floats(-1e9, 1))
def test_no_priority_is_taken_for_a_later_one(priority):
    (level,) = level_of(np.array([priority]))
    assert 1 <= level <= 127
    assert PRIORITIES[level] == round_down(priority)
    if priority >= PRIORITIES[1]:
        assert PRIORITIES[level] <= priority
    if priority >= -2:
        assert priority < PRIORITIES[level] + 1 / 32
    elif priority >= PRIORITIES[1]:
        assert -1 - priority < (-1 - PRIORITIES[level]) * 1.0001 <= 1.4144 * (-1 - priority)


@given(st.lists(st.floats(-1e5, 1), min_size=2, max_size=2))
def test_levels_keep_the_order_and_stay_in_it_when_they_are_lowered(priorities):
    order = RandomPairs(20, 0)
    pairs, ids = LevelledPairs(order), id_of(order.pair(np.arange(2)), 20)
    pairs.freeze(ids, np.array(priorities))
    pairs.begin_pass()
    first, second = pairs.levels.content()[:2].tolist()
    assert (first <= second) == (PRIORITIES[first] <= PRIORITIES[second])
    assert first <= second or priorities[0] > priorities[1]
    pairs.lower(ids, ids)
    lowered = PRIORITIES[pairs.levels.content()[:2]]
    expected = [round_down(PRIORITIES[level] - 1) for level in (first, second)]
    assert lowered.tolist() == expected


def test_both_stores_hold_the_same(rng):
    n = 60
    order = RandomPairs(n, 1)
    ids = id_of(order.pair(np.arange(800)), n)
    priorities = np.round((1 - rng.random(800) * 4) * 32) / 32  # those of levels, but for the smallest
    exact = ExactPairs(order)
    exact.freeze(ids[:500], priorities[:500])
    exact.begin_pass()
    exact.freeze(ids[500:], priorities[500:])
    exact.discard(ids[490:510])
    there = np.concatenate([ids[:490], ids[510:]])
    levelled = LevelledPairs.from_exact(exact)
    assert (exact.n_waiting, exact.n_frozen) == (0, 0)
    assert (levelled.n_waiting, levelled.n_frozen) == (490, 290)
    assert sorted(np.concatenate(list(levelled.parts()))) == sorted(there)
    assert levelled.contains(ids).sum() == 780
    expected = np.lexsort((np.arange(490), level_of(priorities[:490])))
    assert levelled.take(100).tolist() == ids[expected[:100]].tolist()
    levelled.put_back(30)
    assert levelled.take(1000).tolist() == ids[expected[70:]].tolist()
    levelled.begin_pass()
    assert sorted(levelled.take(1000)) == sorted(ids[510:])


# ---- streams ----


@pytest.fixture
def few_exact(monkeypatch):
    """Let every pair that is tested have a level."""
    monkeypatch.setattr(pair_queue, "MOST_EXACT", 0)
    monkeypatch.setattr(pair_queue, "MOST_FROZEN_SHARE", 0.0)


def levels_by_pair(stream):
    """Return the frozen pairs and the priorities of their levels."""
    content = stream.queue.tested.levels.content()
    places = np.flatnonzero(content > 128)
    pairs = stream.queue.order.pair(places)
    return dict(zip(map(tuple, pairs.tolist()), PRIORITIES[content[places] - 128].tolist(), strict=True))


def replay(n, seed, mode, lookahead=1, limit=None, digits=2, lam=0.1, **options):
    """Run a stream and its slow twin with rounded priorities, and compare all that is stored after each round."""
    options = {"reservoir_size": n, "max_tests": 5, "alpha": 0.0, **options}
    stream = stream_of(n, seed=seed, mode=mode, lookahead=lookahead, **options)
    twin = twin_of(n, seed=seed, lam=lam, **options)
    twin.round_down = round_down
    twin.n_refills = int(mode == "all")
    loss, slow_loss = ChangingLoss(n, seed, digits, lam), ChangingLoss(n, seed, digits, lam)
    pairs = None
    while pairs != []:
        pairs = [tuple(pair) for pair in stream.choose_edges(loss, limit=limit).tolist()]
        assert pairs == twin.round(slow_loss.of_pair, limit)
        edges, scores = stream.reservoir.content()
        found = map(tuple, ends_of(edges, n).tolist())
        assert dict(zip(found, scores.tolist(), strict=True)) == twin.reservoir
        assert stream.n_tests == sum(name == "test" for name, _, _ in twin.log)
        assert isinstance(stream.queue.tested, LevelledPairs) or not twin.frozen
        if twin.frozen:
            assert levels_by_pair(stream) == {pair: round_down(offset) for pair, offset in twin.frozen}
        stream.mark_changed(loss.activate(pairs))
        twin.rescore(set(slow_loss.activate(pairs).tolist()), slow_loss.of_pair)
    return twin


@pytest.mark.parametrize("mode", ["sampled", "all"])
@pytest.mark.parametrize(
    "options", [{}, {"alpha": 1.0}, {"hub_threshold": 0.06}, {"max_tests": 1, "reservoir_size": 1}]
)
def test_a_stream_of_levels_is_that_of_rounded_priorities(options, mode, seed, few_exact):
    twin = replay(24, seed, mode, **options)
    assert any(name == "refill" for name, _, _ in twin.log) and twin.hubs


@pytest.mark.slow
@examples(40)
@given(
    n=st.integers(2, 26),
    seed=st.integers(0, 10**6),
    mode=st.sampled_from(["sampled", "all"]),
    lookahead=st.sampled_from([1, 100]),
    reservoir_size=st.integers(1, 30),
    max_tests=st.integers(1, 40),
    alpha=st.sampled_from([0.0, 0.3, 1.0]),
    lam=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    hub_threshold=st.none() | st.sampled_from([0.0, 0.1]),
    digits=st.integers(0, 4),
)
def test_a_stream_of_levels_with_any_options(few_exact_once, n, **options):
    replay(n, **options)


@pytest.fixture(scope="module")
def few_exact_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_queue, "MOST_EXACT", 0)
        patch.setattr(pair_queue, "MOST_FROZEN_SHARE", 0.0)
        yield


@pytest.mark.parametrize("most", [0, 5, 50])
def test_no_pair_that_passes_is_left_out_wherever_levels_begin(most, seed, monkeypatch):
    """Every pair is tested again after the last change, so that an empty round is a certificate."""
    monkeypatch.setattr(pair_queue, "MOST_EXACT", most)
    n, loss = 24, ChangingLoss(24, seed, lam=0.2)
    stream = stream_of(n, seed=seed)
    edges = [edge for batch in run(stream, loss) for edge in batch]
    assert isinstance(stream.queue.tested, LevelledPairs) and stream.n_tests > n * (n - 1) // 2
    pairs = np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1)).tolist()
    assert all(loss.of_pair(pair) <= loss.lam for pair in pairs if tuple(pair) not in edges)
    tested = stream.queue.tested
    assert tested.n_frozen + len(edges) == len(pairs) and tested.n_waiting == 0


def restored(stream, edges, **options):
    file = io.BytesIO()
    np.savez(file, **stream.state())
    file.seek(0)
    other = stream_of(stream.n_variables, **options)
    with np.load(file) as state:
        other.restore(Snapshot(state), SimpleNamespace(edges=np.array(edges, dtype=np.int64).reshape(-1, 2)))
    return other


@pytest.mark.parametrize("mode", ["sampled", "all"])
@pytest.mark.parametrize("rounds", [1, 9, 30])
def test_a_stream_of_levels_goes_on_from_its_state(mode, rounds, seed, few_exact):
    options = {"seed": seed, "mode": mode, "alpha": 0.5, "hub_threshold": 0.05}
    loss = ChangingLoss(24, seed, lam=0.2)
    stream = stream_of(24, **options)
    edges = [edge for batch in run(stream, loss, rounds=rounds) for edge in batch]
    other, other_loss = restored(stream, edges, **options), ChangingLoss(24, seed, lam=0.2)
    other_loss.degrees = loss.degrees.copy()
    loss.batches.clear()
    assert run(stream, loss) == run(other, other_loss)
    assert loss.batches == other_loss.batches
    assert np.array_equal(stream.queue.tested.levels.content(), other.queue.tested.levels.content())


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("waits", 0, "fewer pairs than were tested"),
        ("waits", 128, "a pair without a level"),
        ("active", 7, "an edge in two places"),
        ("unseen", 7, "pairs that were not tested yet"),
    ],
)
def test_a_changed_state_is_refused(place, value, message, few_exact):
    loss = ChangingLoss(24, 3, lam=0.2)
    stream = stream_of(24, seed=3)
    edges = [edge for batch in run(stream, loss, rounds=1) for edge in batch]
    state = stream.state()
    levels = state["queue_tested_levels"]
    ids = np.array([i * 24 + j for i, j in edges])
    at = {
        "waits": np.flatnonzero(levels)[0],
        "active": stream.queue.order.position(ends_of(ids, 24))[0],
        "unseen": len(levels) - 1,
    }
    assert levels[-1] == 0
    levels[at[place]] = value
    with pytest.raises(ValueError, match=message):
        stream_of(24, seed=3).restore(Snapshot(state), SimpleNamespace(edges=np.array(edges)))

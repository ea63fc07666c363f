"""The queue of a byte per pair against a dictionary."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pgmx._ext._pair_levels import PairLevels

SIZE = 3 * (1 << 14) + 5
PAIRS = st.sampled_from([0, 1, 2, 16383, 16384, 16385, 40_000, SIZE - 2, SIZE - 1])  # at the borders of blocks
LEVELS = st.sampled_from([1, 2, 3, 64, 126, 127])
LOWER = np.maximum(np.arange(128) // 2, 1).astype(np.uint8)


def as_pairs(pairs):
    return np.array(list(pairs), dtype=np.int64)


class LevelsAgainstDictionaries(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.queue, self.now, self.later, self.taken = PairLevels(SIZE), {}, {}, []

    @rule(entries=st.dictionaries(PAIRS, LEVELS), later=st.booleans())
    def add(self, entries, later):
        new = {pair: level for pair, level in entries.items() if pair not in self.now | self.later}
        self.queue.add(as_pairs(new), np.array(list(new.values()), dtype=np.uint8), later)
        (self.later if later else self.now).update(new)

    @rule(pair=PAIRS)
    def add_what_waits(self, pair):
        if pair in self.now | self.later:
            with pytest.raises(ValueError, match=f"pair {pair} cannot be queued at level 5"):
                self.queue.add(as_pairs([pair]), np.array([5], dtype=np.uint8))

    @rule(count=st.integers(-1, 6))
    def take(self, count):
        expected = sorted(self.now, key=lambda pair: (self.now[pair], pair))[: max(count, 0)]
        pairs, levels = self.queue.take(count)
        assert pairs.tolist() == expected
        assert levels.tolist() == [self.now.pop(pair) for pair in expected]

    @rule(pairs=st.sets(PAIRS))
    def lower(self, pairs):
        self.queue.lower(as_pairs(pairs), LOWER)
        self.now |= {pair: int(LOWER[self.now[pair]]) for pair in pairs & self.now.keys()}

    @rule(pairs=st.sets(PAIRS))
    def discard(self, pairs):
        self.queue.discard(as_pairs(pairs))
        for pair in pairs:
            self.now.pop(pair, None)
            self.later.pop(pair, None)

    @rule()
    def begin_pass(self):
        self.queue.begin_pass()
        self.now, self.later = self.now | self.later, {}

    @rule()
    def go_on_from_the_content(self):
        other = PairLevels(SIZE)
        other.restore(self.queue.content())
        self.queue = other

    @invariant()
    def holds_the_same(self):
        assert (self.queue.n_waiting, self.queue.n_later) == (len(self.now), len(self.later))
        content = self.queue.content()
        there = np.flatnonzero(content)
        assert there.tolist() == sorted(self.now | self.later)
        assert {pair: int(content[pair]) for pair in there.tolist()} == {
            **self.now,
            **{pair: level + 128 for pair, level in self.later.items()},
        }


TestLevels = LevelsAgainstDictionaries.TestCase


def test_equal_levels_leave_by_pair_and_contents_are_found(rng):
    queue, places = PairLevels(200_000), rng.permutation(200_000)[:50_000]
    levels = rng.integers(1, 128, len(places)).astype(np.uint8)
    queue.add(places[:30_000], levels[:30_000])
    queue.add(places[30_000:], levels[30_000:], later=True)
    queue.begin_pass()
    order = np.lexsort((places, levels))
    taken = [queue.take(count) for count in (1, 7, 20_000, 50_000)]
    assert np.array_equal(np.concatenate([pairs for pairs, _ in taken]), places[order])
    assert np.array_equal(np.concatenate([found for _, found in taken]), levels[order])
    assert queue.n_waiting == 0 and not queue.content().any()
    queue.add(places[:10], levels[:10])
    assert np.array_equal(queue.contains(places[:20]), np.arange(20) < 10)


@pytest.mark.parametrize("pair", [-1, 10])
def test_unknown_pairs_are_refused(pair):
    queue, level = PairLevels(10), np.ones(1, dtype=np.uint8)
    for call in (
        lambda: queue.add(as_pairs([pair]), level),
        lambda: queue.lower(as_pairs([pair]), LOWER),
        lambda: queue.discard(as_pairs([pair])),
        lambda: queue.contains(as_pairs([pair])),
    ):
        with pytest.raises(ValueError, match=f"pair {pair} is not from 0 to 9"):
            call()


def test_wrong_sizes_are_refused():
    queue = PairLevels(10)
    with pytest.raises(ValueError, match="2 pairs need as many levels, got 1"):
        queue.add(as_pairs([1, 2]), np.ones(1, dtype=np.uint8))
    for level in (0, 128):
        with pytest.raises(ValueError, match=f"pair 1 cannot be queued at level {level}"):
            queue.add(as_pairs([1]), np.array([level], dtype=np.uint8))
    with pytest.raises(ValueError, match="from 0 to 127, got 3"):
        queue.lower(as_pairs([1]), LOWER[:3])
    with pytest.raises(ValueError, match="each of 10 pairs, got 9"):
        queue.restore(np.zeros(9, dtype=np.uint8))


def test_no_pairs_at_all():
    queue = PairLevels(0)
    queue.begin_pass()
    assert queue.take(5)[0].tolist() == [] and queue.content().tolist() == []

"""The indexed heap against a dictionary, and the greedy choice of edges without common nodes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pgmx._ext._edge_heap import EdgeHeap, non_adjacent

EDGES = st.integers(0, 40).map(lambda k: k * 7919)  # few, so that operations meet
PRIORITIES = st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, math.inf])
TIES = st.integers(-2, 2)


def arrays(edges, priorities, ties):
    return np.array(edges, dtype=np.int64), np.array(priorities, dtype=np.float64), np.array(ties, dtype=np.int64)


class HeapAgainstDictionary(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.heap, self.model = EdgeHeap(), {}

    def smallest(self, count):
        return sorted(self.model, key=lambda edge: (*self.model[edge], edge))[:count]

    @rule(edge=EDGES, priority=PRIORITIES, tie=TIES)
    def push(self, edge, priority, tie):
        if edge in self.model:
            with pytest.raises(ValueError, match=f"edge {edge} is in the heap already"):
                self.heap.push(edge, priority, tie)
        else:
            self.heap.push(edge, priority, tie)
            self.model[edge] = (priority, tie)

    @rule(entries=st.lists(st.tuples(EDGES, PRIORITIES, TIES), max_size=30))
    def push_many(self, entries):
        edges = [entry[0] for entry in entries]
        if len(set(edges)) < len(edges) or set(edges) & set(self.model):
            with pytest.raises(ValueError, match="no edge was added"):
                self.heap.push_many(*arrays(*zip(*entries, strict=True)))
        else:
            self.heap.push_many(
                *arrays(*(list(column) for column in zip(*entries, strict=True)) if entries else ([],) * 3)
            )
            self.model.update({edge: (priority, tie) for edge, priority, tie in entries})

    @rule()
    def pop(self):
        if not self.model:
            with pytest.raises(IndexError, match="empty"):
                self.heap.pop()
        else:
            (edge,) = self.smallest(1)
            assert self.heap.peek() == (edge, self.model[edge][0])
            assert self.heap.pop() == (edge, self.model.pop(edge)[0])

    @rule(count=st.integers(0, 9))
    def pop_many(self, count):
        expected = self.smallest(count)
        edges, priorities, ties = self.heap.pop_many(count)
        assert edges.tolist() == expected
        assert list(zip(priorities.tolist(), ties.tolist(), strict=True)) == [self.model.pop(edge) for edge in expected]

    @rule(edge=EDGES, by=st.sampled_from([-0.5, 0.25, 1.0]), tie=st.none() | TIES)
    def lower(self, edge, by, tie):
        if edge not in self.model:
            with pytest.raises(KeyError):
                self.heap.lower(edge, by, tie)
        else:
            self.heap.lower(edge, by, tie)
            priority, old = self.model[edge]
            self.model[edge] = (priority - by, old if tie is None else tie)

    @rule(edges=st.lists(EDGES, unique=True, max_size=10), data=st.data())
    def lower_many(self, edges, data):
        ties = data.draw(st.lists(TIES, min_size=len(edges), max_size=len(edges)))
        there = [edge in self.model for edge in edges]
        assert self.heap.lower_many(np.array(edges, dtype=np.int64), 1.0, np.array(ties, dtype=np.int64)) == sum(there)
        for edge, tie, found in zip(edges, ties, there, strict=True):
            if found:
                self.model[edge] = (self.model[edge][0] - 1.0, tie)

    @rule(edge=EDGES, priority=PRIORITIES)
    def change(self, edge, priority):
        if edge in self.model:
            self.heap.change(edge, priority)
            self.model[edge] = (priority, self.model[edge][1])

    @rule(edge=EDGES)
    def discard(self, edge):
        assert self.heap.discard(edge) == (self.model.pop(edge, None) is not None)

    @invariant()
    def holds_the_same(self):
        edges, priorities, ties = (part.tolist() for part in self.heap.items())
        assert dict(zip(edges, zip(priorities, ties, strict=True), strict=True)) == self.model
        assert len(self.heap) == len(self.model)
        assert all(edge in self.heap and self.heap.priority(edge) == self.model[edge][0] for edge in edges)


TestHeapAgainstDictionary = HeapAgainstDictionary.TestCase
TestHeapAgainstDictionary.settings = settings(max_examples=30)


def test_many_edges_leave_in_order(rng):
    edges = rng.permutation(50_000)[:20_000] * 1_000_003
    priorities, ties = rng.integers(0, 50, 20_000) / 8, rng.integers(0, 50, 20_000)
    heap = EdgeHeap()
    for part in (slice(0, 15_000), slice(15_000, 20_000)):
        heap.push_many(edges[part], priorities[part], ties[part])
    order = np.lexsort((edges, ties, priorities))
    assert np.array_equal(heap.pop_many(10**6)[0], edges[order])
    assert len(heap) == 0


def test_a_million_edges_take_less_than_60_megabytes():
    heap, count = EdgeHeap(), 10**6
    heap.push_many(np.arange(count) * 3, np.zeros(count), np.arange(count))
    assert heap.nbytes < 60e6


@pytest.mark.parametrize("entries", [([1, 2], [0.0, math.nan], [0, 0]), ([1, 1], [0.0, 1.0], [0, 0])])
def test_nothing_is_added_when_one_edge_cannot_be(entries):
    heap = EdgeHeap()
    heap.push(9, 0.5)
    with pytest.raises(ValueError, match="no edge was added"):
        heap.push_many(*arrays(*entries))
    assert len(heap) == 1 and 1 not in heap and heap.pop() == (9, 0.5)


def test_nan_and_unequal_lengths_are_refused():
    heap = EdgeHeap()
    with pytest.raises(ValueError, match="edge 4 has the priority NaN"):
        heap.push(4, math.nan)
    with pytest.raises(ValueError, match="1 edges, 2 priorities, 1 ties"):
        heap.push_many(*arrays([1], [0.0, 1.0], [0]))


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda p: p[0] != p[1]), max_size=15),
    st.integers(0, 4),
)
def test_non_adjacent_is_the_greedy_choice(pairs, limit):
    used, expected = set(), []
    for k, pair in enumerate(pairs):
        if len(expected) < limit and not used & set(pair):
            expected.append(k)
            used |= set(pair)
    taken = non_adjacent(np.array(pairs, dtype=np.int64).reshape(-1, 2), 7, limit)
    assert taken.tolist() == expected

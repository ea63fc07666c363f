"""Tested pairs to be tested again: queued in the present pass, or frozen until the next pass.

Queued pairs have exact priorities in a heap, or one byte per pair if there are many. Frozen pairs, up to hundreds of
millions, are stored compactly.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from pgmx._ext._edge_heap import EdgeHeap
from pgmx._ext._pair_levels import PairLevels
from pgmx.runs.checkpoint import Snapshot
from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of

#: Largest number of queued pairs with exact priorities; they take 60 bytes each.
MOST_EXACT = 1 << 22

#: Largest number (or share, if that is more) of frozen pairs with exact priorities; they take 8 to 12 bytes each.
MOST_FROZEN_SHARE = 1 / 16

#: Number of positions per block when all pairs are listed.
_BLOCK = 1 << 18

#: From priority -2 to 1 levels are steps of 1 / 32; below -2 the distance to -1 grows by a factor of √2 per level.
_STEPS, _LAST, _STRAIGHT = 32, 127, 31
_LEVEL_NUMBERS = np.arange(_LAST + 1)

#: The smallest priority of each level; there is no level 0.
PRIORITIES = np.where(
    _LEVEL_NUMBERS >= _STRAIGHT,
    1.0 - (_LAST - _LEVEL_NUMBERS) / _STEPS,
    -1.0 - 2.0 ** ((_STRAIGHT - _LEVEL_NUMBERS) / 2),
)
PRIORITIES[0] = -np.inf

#: Number of edges in a block, and of edges checked for whether a block follows the random order of all pairs.
_FROZEN_BLOCK = 1 << 16
_FROZEN_SAMPLE = 64


def level_of(priorities: np.ndarray) -> np.ndarray:
    """Return the levels of priorities up to 1, uint8 from 1 to 127: the last level whose start is not larger."""
    return np.maximum(np.searchsorted(PRIORITIES, priorities, side="right") - 1, 1).astype(np.uint8)


#: The new level of each level after the priority is lowered by 1.
_LOWER = level_of(PRIORITIES - 1.0)


class FrozenEdges:
    """Edges with their offsets in the order of insertion (the container L of the papers).

    Blocks of edges that follow `order`, except for gaps, are stored as runs of positions, so that an edge needs only 8
    bytes for its offset. Other edges need 4 more bytes for their ids, or 8 if an id is 2**32 or more. The container
    grows without copying.
    """

    def __init__(self, order: RandomPairs | None = None) -> None:
        self._order = order
        self._clear()

    def _clear(self) -> None:
        self._blocks: list[tuple[np.ndarray, np.ndarray]] = []
        self._edges, self._offsets = np.empty(0, dtype=np.int64), np.empty(0)
        self._size = 0  # size of the last block, which is not packed yet
        self._n_packed = 0

    def __len__(self) -> int:
        return self._n_packed + self._size

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        last = self._edges.nbytes + self._offsets.nbytes
        return last + sum(edges.nbytes + offsets.nbytes for edges, offsets in self._blocks)

    def add(self, edges: np.ndarray, offsets: np.ndarray) -> None:
        """Add edges, int64 (k,), with their offsets, float64 (k,)."""
        done = 0
        while done < len(edges):
            if self._size == len(self._edges):
                self._make_room(len(edges) - done)
            count = min(len(edges) - done, len(self._edges) - self._size)
            self._edges[self._size : self._size + count] = edges[done : done + count]
            self._offsets[self._size : self._size + count] = offsets[done : done + count]
            self._size += count
            done += count

    def _make_room(self, count: int) -> None:
        """Enlarge the last block, or pack it and begin another."""
        if self._size == _FROZEN_BLOCK:
            self._blocks.append((self._pack(self._edges), self._offsets))
            self._n_packed += _FROZEN_BLOCK
            self._edges, self._offsets, self._size = np.empty(0, dtype=np.int64), np.empty(0), 0
        size = min(_FROZEN_BLOCK, max(2 * self._size, self._size + count, _FROZEN_SAMPLE))
        self._edges, self._offsets = np.resize(self._edges, size), np.resize(self._offsets, size)

    def _pack(self, edges: np.ndarray) -> np.ndarray:
        """Return edges as runs of positions, int64 (2, runs) of begins and lengths, or else as ids."""
        # a sample decides first, since the positions of a whole block cost time
        if self._order is not None and self._follows_order(edges[:_FROZEN_SAMPLE]):
            places = self._order.position(ends_of(edges, self._order.n_variables))
            begins = np.concatenate(([0], np.flatnonzero(np.diff(places) != 1) + 1))
            # a run has 16 bytes: at most half a byte per edge, where an id has 4 or 8
            if 32 * len(begins) <= len(edges):
                return np.stack((places[begins], np.diff(begins, append=len(edges))))
        return edges.astype(np.uint32) if edges.max() < 1 << 32 else edges

    def _follows_order(self, edges: np.ndarray) -> bool:
        assert self._order is not None
        places = self._order.position(ends_of(edges, self._order.n_variables))
        return int(np.count_nonzero(np.diff(places) != 1)) < len(edges) // 8

    def _unpack(self, packed: np.ndarray) -> np.ndarray:
        if packed.ndim == 1:
            return packed.astype(np.int64)
        assert self._order is not None
        begins, lengths = packed
        ends = np.cumsum(lengths)
        places = np.repeat(begins - (ends - lengths), lengths) + np.arange(ends[-1])
        return id_of(self._order.pair(places), self._order.n_variables)

    def _parts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for packed, offsets in self._blocks:
            yield self._unpack(packed), offsets
        yield self._edges[: self._size], self._offsets[: self._size]

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """Return copies of the edges and offsets."""
        edges, offsets = zip(*self._parts(), strict=True)
        return np.concatenate(edges), np.concatenate(offsets)

    def drain(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Remove all edges, and yield them and their offsets in blocks, whose memory is freed one by one."""
        blocks, last = self._blocks[::-1], (self._edges[: self._size], self._offsets[: self._size])
        self._clear()
        while blocks:
            packed, offsets = blocks.pop()
            yield self._unpack(packed), offsets
        yield last

    def discard(self, edges: np.ndarray) -> None:
        """Remove edges; missing edges are ignored."""
        blocks = []
        for packed, offsets in self._blocks:
            numbers = self._unpack(packed)
            others = ~np.isin(numbers, edges)
            if others.any():
                blocks.append((packed, offsets) if others.all() else (numbers[others], offsets[others]))
        self._blocks = blocks
        self._n_packed = sum(len(offsets) for _, offsets in blocks)
        others = ~np.isin(self._edges[: self._size], edges)
        self._edges, self._offsets = self._edges[: self._size][others], self._offsets[: self._size][others]
        self._size = len(self._edges)


class TestedPairs(Protocol):
    """The store of tested pairs of a queue; ids are i n + j for i < j."""

    @property
    def n_waiting(self) -> int:
        """Number of pairs queued in this pass."""
        ...

    @property
    def n_frozen(self) -> int:
        """Number of pairs frozen until the next pass."""
        ...

    def add_untested(self, places: np.ndarray, ids: np.ndarray) -> None:
        """Add untested pairs to this pass, with the priority 0, in the order of their places."""
        ...

    def freeze(self, ids: np.ndarray, priorities: np.ndarray) -> None:
        """Freeze pairs, int64 (k,), until the next pass, with priorities, float64 (k,)."""
        ...

    def begin_pass(self) -> None:
        """Move the frozen pairs to this pass."""
        ...

    def take(self, count: int) -> np.ndarray:
        """Remove and return the next pairs of this pass, at most `count`."""
        ...

    def put_back(self, count: int) -> None:
        """Return the last `count` pairs of the latest `take` to their positions."""
        ...

    def lower(self, ids: np.ndarray, ties: np.ndarray) -> None:
        """Lower the priorities of the pairs that are queued in this pass by 1; `ties` order equal priorities."""
        ...

    def discard(self, ids: np.ndarray) -> None:
        """Remove pairs; missing pairs are ignored."""
        ...

    def contains(self, ids: np.ndarray) -> np.ndarray:
        """Return which of the pairs are in the store, bool (k,)."""
        ...

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the ids of all stored pairs, in blocks."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the arrays for `restore`."""
        ...

    def restore(self, state: Snapshot) -> None:
        """Continue from the state of a store for the same pairs."""
        ...


class ExactPairs:
    """Tested pairs with exact priorities: queued in a heap, frozen in the order of insertion, which breaks ties."""

    def __init__(self, order: RandomPairs):
        self._order = order
        self.heap = EdgeHeap()
        self.frozen = FrozenEdges(order)
        self._taken: tuple[np.ndarray, ...] = ()

    @property
    def n_waiting(self) -> int:
        """Number of pairs queued in this pass."""
        return len(self.heap)

    @property
    def n_frozen(self) -> int:
        """Number of pairs frozen until the next pass."""
        return len(self.frozen)

    def add_untested(self, places, ids) -> None:
        """Add untested pairs to this pass, with the priority 0, in the order of their places."""
        self.heap.push_many(ids, np.zeros(len(ids)), places)

    def freeze(self, ids, priorities) -> None:
        """Freeze pairs until the next pass, with priorities."""
        self.frozen.add(ids, priorities)

    def begin_pass(self) -> None:
        """Move the frozen pairs to this pass."""
        done = 0
        for ids, priorities in self.frozen.drain():
            self.heap.push_many(ids, priorities, np.arange(done, done + len(ids)))
            done += len(ids)

    def take(self, count: int) -> np.ndarray:
        """Remove and return the next pairs of this pass, at most `count`."""
        self._taken = self.heap.pop_many(count)
        return self._taken[0]

    def put_back(self, count: int) -> None:
        """Return the last `count` pairs of the latest `take` to their positions."""
        self.heap.push_many(*(part[len(part) - count :] for part in self._taken))

    def lower(self, ids, ties) -> None:
        """Lower the priorities of the pairs that are queued in this pass by 1."""
        self.heap.lower_many(ids, 1.0, ties)

    def discard(self, ids) -> None:
        """Remove pairs; missing pairs are ignored."""
        for edge in ids.tolist():
            self.heap.discard(edge)
        self.frozen.discard(ids)

    def contains(self, ids) -> np.ndarray:
        """Return which of the pairs are in the store, bool (k,)."""
        return np.isin(ids, np.concatenate(list(self.parts())))

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the ids of all stored pairs, in blocks."""
        yield self.heap.items()[0]
        yield self.frozen.content()[0]

    def state(self) -> dict[str, Any]:
        """Return the arrays for `restore`."""
        ids, priorities, ties = self.heap.items()
        frozen, offsets = self.frozen.content()
        return {
            "edges": ids,
            "priorities": priorities,
            "ties": ties,
            "frozen_edges": frozen,
            "frozen_offsets": offsets,
        }

    def restore(self, state: Snapshot) -> None:
        """Continue from the state of a store for the same pairs."""
        state.check_names(("edges", "priorities", "ties", "frozen_edges", "frozen_offsets"))
        n = self._order.n_variables
        ids, frozen = (
            state.array(name, np.int64, (None,), least=0, most=n * n - 1, distinct=True)
            for name in ("edges", "frozen_edges")
        )
        first, second = np.divmod(np.concatenate([ids, frozen]), n)
        state.check((first < second).all(), "edges between unknown variables")
        state.check(len(np.intersect1d(ids, frozen)) == 0, "an edge in two places")
        priorities = state.array("priorities", float, ids.shape, most=1.0)
        ties = state.array("ties", np.int64, ids.shape)
        offsets = state.array("frozen_offsets", float, frozen.shape, most=1.0)
        self.heap, self.frozen = EdgeHeap(), FrozenEdges(self._order)
        self.heap.push_many(ids, priorities, ties)
        self.frozen.add(frozen, offsets)


class LevelledPairs:
    """Tested pairs with one byte each for the level of the priority; ties are broken by the position in `order`.

    Priorities are rounded down, so that a pair may be tested too soon by up to 1/32 of its penalty, or by a factor of
    √2 if its score exceeds three times the penalty.
    """

    def __init__(self, order: RandomPairs):
        self._order = order
        self.levels = PairLevels(len(order))
        self._taken: tuple[np.ndarray, ...] = ()

    @property
    def n_waiting(self) -> int:
        """Number of pairs queued in this pass."""
        return self.levels.n_waiting

    @property
    def n_frozen(self) -> int:
        """Number of pairs frozen until the next pass."""
        return self.levels.n_later

    @classmethod
    def from_exact(cls, exact: ExactPairs) -> "LevelledPairs":
        """Return the same pairs with levels; the exact store is emptied."""
        pairs = cls(exact._order)
        # in blocks, so that both stores together need little more memory than the exact one
        while exact.n_waiting:
            ids, priorities, _ = exact.heap.pop_many(_BLOCK)
            pairs.levels.add(pairs._places(ids), level_of(priorities))
        for ids, priorities in exact.frozen.drain():
            pairs.freeze(ids, priorities)
        return pairs

    def _places(self, ids: np.ndarray) -> np.ndarray:
        return self._order.position(ends_of(ids, self._order.n_variables))

    def add_untested(self, places, ids) -> None:
        """Add untested pairs to this pass, with the priority 0, in the order of their places."""
        self.levels.add(places, level_of(np.zeros(len(places))))

    def freeze(self, ids, priorities) -> None:
        """Freeze pairs until the next pass, with priorities."""
        self.levels.add(self._places(ids), level_of(priorities), later=True)

    def begin_pass(self) -> None:
        """Move the frozen pairs to this pass."""
        self.levels.begin_pass()

    def take(self, count: int) -> np.ndarray:
        """Remove and return the next pairs of this pass, at most `count`."""
        self._taken = places, _ = self.levels.take(count)
        return id_of(self._order.pair(places), self._order.n_variables)

    def put_back(self, count: int) -> None:
        """Return the last `count` pairs of the latest `take` to their positions."""
        self.levels.add(*(part[len(part) - count :] for part in self._taken))

    def lower(self, ids, ties) -> None:
        """Lower the priorities of the pairs that are queued in this pass by 1."""
        self.levels.lower(self._places(ids), _LOWER)

    def discard(self, ids) -> None:
        """Remove pairs; missing pairs are ignored."""
        self.levels.discard(self._places(ids))

    def contains(self, ids) -> np.ndarray:
        """Return which of the pairs are in the store, bool (k,)."""
        return self.levels.contains(self._places(ids))

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the ids of all stored pairs, in blocks."""
        for first in range(0, len(self._order), _BLOCK):
            places = np.arange(first, min(first + _BLOCK, len(self._order)))
            places = places[self.levels.contains(places)]
            yield id_of(self._order.pair(places), self._order.n_variables)

    def state(self) -> dict[str, Any]:
        """Return the arrays for `restore`."""
        return {"levels": self.levels.content()}

    def restore(self, state: Snapshot) -> None:
        """Continue from the state of a store for the same pairs."""
        state.check_names(("levels",))
        levels = state.array("levels", np.uint8, (len(self._order),))
        state.check((levels != _LAST + 1).all(), "a pair without a level")
        self.levels.restore(levels)


def restore_tested(order: RandomPairs, state: Snapshot) -> TestedPairs:
    """Return the store of pairs of `order` with this state."""
    pairs: TestedPairs = LevelledPairs(order) if "levels" in state else ExactPairs(order)
    pairs.restore(state)
    return pairs

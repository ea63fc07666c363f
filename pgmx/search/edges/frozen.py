"""Compact storage of the edges that failed their test, up to hundreds of millions, until the queue is empty."""

from collections.abc import Iterator

import numpy as np

from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of

#: Number of edges in a block, and of edges checked for whether a block follows the random order of all pairs.
_BLOCK = 1 << 16
_SAMPLE = 64


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
        if self._size == _BLOCK:
            self._blocks.append((self._pack(self._edges), self._offsets))
            self._n_packed += _BLOCK
            self._edges, self._offsets, self._size = np.empty(0, dtype=np.int64), np.empty(0), 0
        size = min(_BLOCK, max(2 * self._size, self._size + count, _SAMPLE))
        self._edges, self._offsets = np.resize(self._edges, size), np.resize(self._offsets, size)

    def _pack(self, edges: np.ndarray) -> np.ndarray:
        """Return edges as runs of positions, int64 (2, runs) of begins and lengths, or else as ids."""
        if self._order is not None and self._follows_order(edges[:_SAMPLE]):
            places = self._order.position(ends_of(edges, self._order.n_variables))
            begins = np.concatenate(([0], np.flatnonzero(np.diff(places) != 1) + 1))
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

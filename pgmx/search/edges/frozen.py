"""Where edges wait that failed a test or lost their place, until the queue is filled again."""

import numpy as np

#: Stands for a penalty of zero where one divides by the penalty: so small that any violation exceeds all others.
SMALLEST_PENALTY = 2.0**-512


def violation_offsets(scores: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the priorities v_e = 1 - s_e / (λ c_e) at which edges, of some scores and penalties, return to the queue.

    They are in [0, 1] for an edge that fails its test, below 0 for one that passes: the smaller, the sooner. A penalty
    of 0 is taken as 2**-512: such edges come by falling scores, before all that have a penalty, and the steps of 1 by
    which priorities are lowered have no effect.
    """
    return 1.0 - scores / np.maximum(penalties, SMALLEST_PENALTY)


class FrozenEdges:
    """Edges with their offsets in the order in which they came (the container L of the papers); 16 bytes per edge."""

    def __init__(self) -> None:
        self._edges = np.empty(0, dtype=np.int64)
        self._offsets = np.empty(0)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, edges: np.ndarray, offsets: np.ndarray) -> None:
        """Add edges, int64 (k,), with their offsets, float64 (k,)."""
        size = self._size + len(edges)
        if size > len(self._edges):
            spare = max(size, len(self._edges) * 3 // 2, 64) - self._size
            self._edges = np.concatenate((self._edges[: self._size], np.empty(spare, dtype=np.int64)))
            self._offsets = np.concatenate((self._offsets[: self._size], np.empty(spare)))
        self._edges[self._size : size] = edges
        self._offsets[self._size : size] = offsets
        self._size = size

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """Return copies of the edges and offsets."""
        return self._edges[: self._size].copy(), self._offsets[: self._size].copy()

    def drain(self) -> tuple[np.ndarray, np.ndarray]:
        """Take all edges out and return them and their offsets."""
        edges, offsets, size = self._edges, self._offsets, self._size
        self._edges, self._offsets, self._size = np.empty(0, dtype=np.int64), np.empty(0), 0
        return edges[:size], offsets[:size]

    def discard(self, edges: np.ndarray) -> None:
        """Take edges out; those that are not there are ignored."""
        others = ~np.isin(self._edges[: self._size], edges)
        self._edges, self._offsets = self._edges[: self._size][others], self._offsets[: self._size][others]
        self._size = len(self._edges)

"""The best edges that a stream tested, and the priorities of the others."""

from math import fsum

import numpy as np

from pgmx._ext._edge_heap import EdgeHeap, non_adjacent
from pgmx.search.edges.random_pairs import ends_of

#: Replaces a penalty of zero in divisions: so small that its violations exceed all others.
SMALLEST_PENALTY = 2.0**-512


class Reservoir:
    """The best-scored edges of a stream, at most `capacity`; an edge {i, j}, i < j, has the id i n + j.

    A full reservoir replaces its edge of smallest score by an offered edge of larger score. Ties are broken by the id:
    smaller ids are kept longer and chosen sooner. Finding the smallest score costs O(1), a change O(log capacity), a
    choice O(capacity log capacity). See Chaabene and Huang, section 3.1.1 and algorithm 3.
    """

    def __init__(self, capacity: int, n_variables: int):
        self.capacity = capacity
        self.n_variables = n_variables
        self._heap = EdgeHeap()  # by score; ties by the largest id

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def room(self) -> int:
        """Number of edges that can still be added."""
        return self.capacity - len(self._heap)

    def offer(self, edge: int, score: float) -> tuple[int, float] | None:
        """Add a new edge if its score is large enough.

        Returns the rejected edge and its score: the former minimum or the offered edge; None if there was room.
        """
        heap = self._heap
        if len(heap) < self.capacity:
            heap.push(edge, score, -edge)
            return None
        if not heap.peek()[1] < score:
            return edge, score
        evicted = heap.pop()
        heap.push(edge, score, -edge)
        return evicted

    def update(self, edges: np.ndarray, scores: np.ndarray) -> None:
        """Set new scores of edges in the reservoir."""
        for edge, score in zip(edges.tolist(), scores.tolist(), strict=True):
            self._heap.change(edge, score)

    def discard(self, edges: np.ndarray) -> None:
        """Remove edges; missing edges are ignored."""
        for edge in edges.tolist():
            self._heap.discard(edge)

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64, and their scores, largest score first, ties by id."""
        return _rank(*self.items(), slice(None))

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64, and their scores, in no particular order."""
        return self._heap.items()[:2]

    def select(self, alpha: float, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return edges to activate, at most `limit`, and their scores; they stay in the reservoir.

        They are chosen from the largest score down to `activation_threshold`, ties by id, such that no two share a
        variable.
        """
        edges, scores = self.items()
        if not len(edges):
            return edges, scores
        edges, scores = _rank(edges, scores, scores >= activation_threshold(scores, alpha))
        limit = len(edges) if limit is None else limit
        chosen = non_adjacent(ends_of(edges, self.n_variables), self.n_variables, limit)
        return edges[chosen], scores[chosen]


def _rank(edges: np.ndarray, scores: np.ndarray, which) -> tuple[np.ndarray, np.ndarray]:
    """Return some of the edges and their scores, largest score first, ties by id."""
    edges, scores = edges[which], scores[which]
    order = np.lexsort((edges, -scores))
    return edges[order], scores[order]


def activation_threshold(scores: np.ndarray, alpha: float) -> float:
    """Return (1 - alpha) mean + alpha max of the scores in a reservoir."""
    largest = float(scores.max())
    if alpha == 1.0:
        return largest
    mean = fsum(scores.tolist()) / len(scores)  # exact, so that it does not depend on the order of the heap
    # Rounding must not raise the threshold above the maximum: at least one edge is always chosen.
    return min((1.0 - alpha) * mean + alpha * largest, largest)


def violation_offsets(scores: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the priorities v_e = 1 - s_e / (λ c_e) of edges with given scores and penalties for the next pass.

    They are in [0, 1] for an edge that fails its test, below 0 for an edge that passes; smaller values are tested
    sooner. A penalty of 0 is replaced by 2**-512: such edges come before all others, by decreasing scores, and steps of
    1 in the priorities have no effect on them.
    """
    return 1.0 - scores / np.maximum(penalties, SMALLEST_PENALTY)

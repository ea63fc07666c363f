"""The control sample of candidate edges from which edges are activated."""

from math import fsum

import numpy as np

from pgmx.search.edges.heap import EdgeHeap, non_adjacent
from pgmx.search.edges.random_pairs import ends_of

__all__ = ["Reservoir"]


class Reservoir:
    r"""The best-scored edges of a stream, in bounded memory.

    Parameters
    ----------
    capacity : int
        Most edges to keep, at least 1.
    n_variables : int
        Number of variables n; an edge {i, j}, i < j, goes by the number i n + j.

    Notes
    -----
    A full reservoir replaces its edge of smallest score by an offered one whose score is larger. Edges with

    .. math:: s_e \ge \tau_\alpha = (1 - \alpha) \operatorname{mean}_{e \in R} s_e + \alpha \max_{e \in R} s_e

    may be activated. Of edges with equal scores the one with the smaller number is kept longer and chosen sooner.
    Finding the smallest score costs O(1), a change O(log capacity), a choice O(capacity log capacity).

    References
    ----------
    .. [1] Chaabene, W. & Huang, B. Best-choice edge grafting for efficient structure learning of Markov random fields,
       section 3.1.1 and algorithm 3.

    Examples
    --------
    >>> reservoir = Reservoir(2, n_variables=4)
    >>> reservoir.offer(1, 0.2), reservoir.offer(2, 0.4), reservoir.offer(11, 0.3)
    (None, None, (1, 0.2))
    >>> reservoir.threshold(alpha=0.0)
    0.35
    >>> reservoir.select(alpha=0.0)
    (array([2]), array([0.4]))
    """

    def __init__(self, capacity: int, n_variables: int):
        if capacity < 1:
            raise ValueError(f"a reservoir of capacity {capacity} can hold no edge: 1 is the least")
        self.capacity = capacity
        self.n_variables = n_variables
        self._heap = EdgeHeap()  # by score, and the largest number first among equals

    def __len__(self) -> int:
        return len(self._heap)

    def __contains__(self, edge: int) -> bool:
        return edge in self._heap

    @property
    def room(self) -> int:
        """How many more edges fit in."""
        return self.capacity - len(self._heap)

    def offer(self, edge: int, score: float) -> tuple[int, float] | None:
        """Take an edge in if it deserves it.

        Parameters
        ----------
        edge : int
            Its number; it must not be in the reservoir.
        score : float
            Its score.

        Returns
        -------
        (edge, score) or None
            What has no place now: None while there was room, the former minimum, or what was offered.
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

    def minimum(self) -> tuple[int, float]:
        """Return the (edge, score) that would be replaced next; IndexError on an empty reservoir."""
        return self._heap.peek()

    def score(self, edge: int) -> float:
        """Return the score of an edge; KeyError where it is not there."""
        return self._heap.priority(edge)

    def update(self, edges: np.ndarray, scores: np.ndarray) -> None:
        """Give edges that are there new scores."""
        for edge, score in zip(edges.tolist(), scores.tolist(), strict=True):
            self._heap.change(edge, score)

    def discard(self, edges: np.ndarray) -> None:
        """Take edges out; those that are not there are passed over."""
        for edge in edges.tolist():
            self._heap.discard(edge)

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64, and their scores, largest score first, equal ones by number."""
        return _ranked(*self.items(), slice(None))

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64, and their scores, in no particular order."""
        return self._heap.items()[:2]

    def threshold(self, alpha: float) -> float:
        """Return the smallest score for an activation; ValueError on an empty reservoir."""
        return _threshold(self.items()[1], alpha)

    def select(self, alpha: float, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Choose the edges to activate; they stay in the reservoir.

        Parameters
        ----------
        alpha : float
            From 0, which admits scores from the mean on, to 1, which admits the maximum alone.
        limit : int, optional
            Most edges to choose.

        Returns
        -------
        edges : ndarray of shape (m,), int64
            No two share a variable; largest score first, equal ones by number. The edge of largest score is the first.
        scores : ndarray of shape (m,), float64
            Their scores.
        """
        edges, scores = self.items()
        if not len(edges):
            return edges, scores
        edges, scores = _ranked(edges, scores, scores >= _threshold(scores, alpha))
        limit = len(edges) if limit is None else limit
        chosen = non_adjacent(ends_of(edges, self.n_variables), self.n_variables, limit)
        return edges[chosen], scores[chosen]


def _ranked(edges: np.ndarray, scores: np.ndarray, which) -> tuple[np.ndarray, np.ndarray]:
    """Return some of the edges and their scores, largest score first, equal ones by number."""
    edges, scores = edges[which], scores[which]
    order = np.lexsort((edges, -scores))
    return edges[order], scores[order]


def _threshold(scores: np.ndarray, alpha: float) -> float:
    if not len(scores):
        raise ValueError("an empty reservoir has no threshold: offer it edges first")
    largest = float(scores.max())
    if alpha == 1.0:
        return largest
    mean = fsum(scores.tolist()) / len(scores)  # exact, so that it does not depend on where the heap has the edges
    # Rounding must not lift the threshold above the maximum: one edge at least is always admitted.
    return min((1.0 - alpha) * mean + alpha * largest, largest)

"""Where edges wait that failed a test or lost their place, until the queue is filled again."""

import numpy as np

__all__ = ["FrozenEdges", "violation_offsets"]

#: Stands for a penalty of zero where one divides by the penalty: small enough that any violation is beyond comparison.
SMALLEST_PENALTY = 2.0**-512


def violation_offsets(scores: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    r"""Return the priorities at which edges come back into the queue.

    .. math:: v_e = 1 - \frac{s_e}{\lambda c_e}

    Parameters
    ----------
    scores : ndarray of shape (k,), float64
        Scores s_e >= 0.
    penalties : ndarray of shape (k,), float64
        Penalties λ c_e >= 0.

    Returns
    -------
    ndarray of shape (k,), float64
        In [0, 1] for an edge that fails its test s_e > λ c_e, below 0 for one that passes: the smaller, the sooner.
        Where the penalty is 0 it is taken as 2**-512: such edges come by falling scores, before all that have a
        penalty, and the steps of size 1 by which priorities are lowered have no effect.

    References
    ----------
    .. [1] Chaabene, W. & Huang, B. Best-choice edge grafting for efficient structure learning of Markov random fields,
       section 3.1.2.

    Examples
    --------
    >>> violation_offsets(np.array([0.0, 0.1, 0.3]), np.array([0.2, 0.2, 0.2])).tolist()
    [1.0, 0.5, -0.4999999999999998]
    """
    return 1.0 - scores / np.maximum(penalties, SMALLEST_PENALTY)


class FrozenEdges:
    """Edges with their offsets in the order in which they came (the container L of the papers).

    Notes
    -----
    16 bytes an edge, and up to half as much in reserve; adding one costs O(1) on average.

    References
    ----------
    .. [1] Chaabene, W. & Huang, B. Best-choice edge grafting for efficient structure learning of Markov random fields,
       section 3.1.2 and algorithm 3.

    Examples
    --------
    >>> frozen = FrozenEdges()
    >>> frozen.add(np.array([4, 2]), np.array([0.5, 0.25]))
    >>> len(frozen), frozen.drain()
    (2, (array([4, 2]), array([0.5 , 0.25])))
    >>> len(frozen)
    0
    """

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
        """Return the edges and offsets, and keep none."""
        edges, offsets, size = self._edges, self._offsets, self._size
        self._edges, self._offsets, self._size = np.empty(0, dtype=np.int64), np.empty(0), 0
        return edges[:size], offsets[:size]

    def discard(self, edges: np.ndarray) -> None:
        """Take edges out; those that are not there are passed over."""
        kept = ~np.isin(self._edges[: self._size], edges)
        self._edges, self._offsets = self._edges[: self._size][kept], self._offsets[: self._size][kept]
        self._size = len(self._edges)

    def rescale(self, factor: float) -> None:
        """Make the offsets those of penalties divided by `factor`: 1 - v is multiplied by it."""
        offsets = self._offsets[: self._size]
        offsets[:] = 1.0 - (1.0 - offsets) * factor

"""Everything that waits to be tested: edges in a heap, and untested ones that are stored nowhere."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from pgmx.search.edges.heap import EdgeHeap
from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of
from pgmx.search.edges.unseen_pairs import HubPartners, PassedOver, UnseenPairs

__all__ = ["EdgeQueue"]

_BLOCK = 1 << 18  # pairs pushed at once into the queue of all pairs


class EdgeQueue:
    """Edges by priority, the smallest first.

    Untested edges have the priority 0, less 1 for each end that is a hub; refilled ones have the one they are given,
    less 1 when an end becomes a hub while they wait. Equal priorities of untested edges go by a seeded random order,
    those of hubs as told at :class:`.unseen_pairs.HubPartners`, those of refilled edges in the order given.

    Parameters
    ----------
    n_variables : int
        Number of variables n; an edge {i, j}, i < j, goes by the number i n + j.
    mode : {"sampled", "all"}, default="sampled"
        Whether untested edges are worked out when they are wanted or wait in the heap; the order is the same.
    seed : int, default=0
        Chooses the random order.
    skip : callable or collection of (i, j), optional
        Pairs that never come: a collection, or ``skip(pairs)`` -> bool (k,).
    candidates : collection of (i, j), optional
        The only pairs that come; all wait in the heap then.

    Attributes
    ----------
    heap : EdgeHeap
        The stored edges.

    Notes
    -----
    About 50 bytes an edge stored. With the mode "sampled" a queue may be refilled only when it is empty: stored edges
    come after untested ones.

    Examples
    --------
    >>> queue = EdgeQueue(5, skip=[(0, 1)], seed=0)
    >>> queue.prefer(np.array([3]))
    array([0])
    >>> [3 in pair for pair in ends_of(queue.take(4), 5).tolist()]
    [True, True, True, True]
    >>> len(queue.take(9)), len(queue.take(9))
    (5, 0)
    """

    def __init__(
        self,
        n_variables: int,
        *,
        mode: str = "sampled",
        seed: int = 0,
        skip: Callable[[np.ndarray], np.ndarray] | Collection | None = None,
        candidates: Collection | None = None,
    ):
        if mode not in ("sampled", "all"):
            raise ValueError(f"mode={mode!r} is unknown: choose 'sampled' or 'all'")
        self.n_variables, self.mode, self.seed = n_variables, mode, seed
        self.heap = EdgeHeap()
        self.partners = HubPartners(n_variables, seed)
        self.passed_over = PassedOver(skip, n_variables)
        self._unseen: UnseenPairs | None = None
        self._from_heap: tuple[np.ndarray, ...] | None = None  # the latest edges taken, if they came from there
        order = RandomPairs(n_variables, seed)
        if candidates is not None:
            listed = candidates if isinstance(candidates, np.ndarray) else list(candidates)
            ids = np.unique(id_of(np.asarray(listed, dtype=np.int64), n_variables))
            self._push_untested(ids, order.position(ends_of(ids, n_variables)))
        elif mode == "all":
            for first in range(0, len(order), _BLOCK):
                places = np.arange(first, min(first + _BLOCK, len(order)))
                self._push_untested(id_of(order.pair(places), n_variables), places)
        else:
            self._unseen = UnseenPairs(order, self.partners, self.passed_over)

    def _push_untested(self, ids: np.ndarray, places: np.ndarray) -> None:
        if self.passed_over:
            kept = ~self.passed_over(ids)
            ids, places = ids[kept], places[kept]
        self.heap.push_many(ids, np.zeros(len(ids)), places)

    def take(self, count: int) -> np.ndarray:
        """Return the numbers of at least one of the next `count` edges; none when the queue is empty."""
        self._from_heap = None
        if self._unseen is not None:
            ids = self._unseen.take(count)
            if len(ids):
                return ids
        self._from_heap = self.heap.pop_many(count)
        return self._from_heap[0]

    def give_back(self, count: int) -> None:
        """Put the last `count` edges of the latest :meth:`take` back to where they were."""
        if self._from_heap is not None:
            self.heap.push_many(*(part[len(part) - count :] for part in self._from_heap))
        elif self._unseen is not None:
            self._unseen.give_back(count)

    def refill(self, ids: np.ndarray, priorities: np.ndarray) -> None:
        """Add edges that were taken out before."""
        self.heap.push_many(ids, priorities, np.arange(len(ids)))

    def prefer(self, hubs: np.ndarray) -> np.ndarray:
        """Lower the priorities of all waiting edges of nodes that become hubs; return the numbers of these hubs."""
        self.partners.add(hubs)
        if self._unseen is not None:
            self._unseen.add_hubs(hubs)
        if len(self.heap):
            for hub in hubs.tolist():
                ids, ties = self.partners.edges(hub)
                self.heap.lower_many(ids, 1.0, ties)
        return self.partners.number[hubs]

    def pass_over(self, ids: np.ndarray) -> None:
        """Let these edges never come."""
        if self._unseen is not None:
            self._unseen.pass_over(ids)
        else:
            self.passed_over.add(ids)
        for edge in ids.tolist():
            self.heap.discard(edge)

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs beside the constructor's arguments, as arrays."""
        ids, priorities, ties = self.heap.items()
        return {
            "hubs": self.partners.hubs.copy(),
            "passed_over": self.passed_over.ids.copy(),
            "queue_edges": ids,
            "queue_priorities": priorities,
            "queue_ties": ties,
            **({} if self._unseen is None else self._unseen.state()),
        }

    def restore(self, state: Any) -> None:
        """Go on from a state of a queue that was made with the same arguments."""
        self.partners = HubPartners(self.n_variables, self.seed)
        self.partners.add(np.asarray(state["hubs"], dtype=np.int64))
        self.passed_over.ids = np.asarray(state["passed_over"], dtype=np.int64)
        self.heap = EdgeHeap()
        parts = (np.ascontiguousarray(state[f"queue_{name}"]) for name in ("edges", "priorities", "ties"))
        self.heap.push_many(*parts)
        self._from_heap = None
        if self._unseen is not None:
            self._unseen = UnseenPairs(self._unseen.order, self.partners, self.passed_over)
            self._unseen.restore(state)

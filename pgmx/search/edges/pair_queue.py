"""Everything that waits to be tested: edges in a heap, and untested ones that are stored nowhere."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pgmx.search.edges.heap import EdgeHeap
from pgmx.search.edges.random_pairs import RandomPairs, id_of
from pgmx.search.edges.unseen_pairs import ExcludedPairs, HubPartners, UnseenPairs

_BLOCK = 1 << 18  # pairs pushed at once into the queue of all pairs


class EdgeQueue:
    """Edges by priority, the smallest first; an edge {i, j}, i < j, goes by the number i n + j.

    Untested edges have the priority 0, less 1 per end that is a hub; refilled ones their own, less 1 when an end
    becomes a hub. Ties: untested edges in a random order, those of hubs as in `HubPartners`, refilled ones as they
    came. With the mode "sampled" untested edges are computed when needed; with "all" they wait in the heap.
    """

    def __init__(
        self,
        n_variables: int,
        *,
        mode: str = "sampled",
        seed: int = 0,
        allowed: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.n_variables, self.mode, self.seed = n_variables, mode, seed
        self.heap = EdgeHeap()
        self.partners = HubPartners(n_variables, seed)
        self.excluded = ExcludedPairs(allowed, n_variables)
        self._unseen: UnseenPairs | None = None
        self._from_heap: tuple[np.ndarray, ...] | None = None  # the latest edges taken, if they came from there
        order = RandomPairs(n_variables, seed)
        if mode == "all":
            for first in range(0, len(order), _BLOCK):
                places = np.arange(first, min(first + _BLOCK, len(order)))
                self._push_untested(id_of(order.pair(places), n_variables), places)
        else:
            self._unseen = UnseenPairs(order, self.partners, self.excluded)

    def _push_untested(self, ids: np.ndarray, places: np.ndarray) -> None:
        if self.excluded:
            allowed = ~self.excluded.contains(ids)
            ids, places = ids[allowed], places[allowed]
        self.heap.push_many(ids, np.zeros(len(ids)), places)

    def take(self, count: int) -> np.ndarray:
        """Return the numbers of at least one of the next `count` edges; none when the queue is empty."""
        self._from_heap = None
        if self._unseen is not None:
            ids = self._unseen.take(count)
            if len(ids):
                return ids
        parts = self._from_heap = self.heap.pop_many(count)
        return parts[0]

    def put_back(self, count: int) -> None:
        """Put the last `count` edges of the latest `take` back in their places."""
        if self._from_heap is not None:
            self.heap.push_many(*(part[len(part) - count :] for part in self._from_heap))
        elif self._unseen is not None:
            self._unseen.put_back(count)

    def refill(self, ids: np.ndarray, priorities: np.ndarray) -> None:
        """Add edges that were taken out before."""
        self.heap.push_many(ids, priorities, np.arange(len(ids)))

    def prefer(self, hubs: np.ndarray) -> None:
        """Lower the priorities of all waiting edges of nodes that become hubs."""
        self.partners.add(hubs)
        if self._unseen is not None:
            self._unseen.add_hubs(hubs)
        if len(self.heap):
            for hub in hubs.tolist():
                ids, ties = self.partners.edges(hub)
                self.heap.lower_many(ids, 1.0, ties)

    def exclude(self, ids: np.ndarray) -> None:
        """Take edges out for good."""
        if self._unseen is not None:
            self._unseen.exclude(ids)
        else:
            self.excluded.add(ids)
        for edge in ids.tolist():
            self.heap.discard(edge)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs beside the constructor's arguments, as arrays."""
        ids, priorities, ties = self.heap.items()
        return {
            "hubs": self.partners.hubs.copy(),
            "excluded": self.excluded.ids.copy(),
            "queue_edges": ids,
            "queue_priorities": priorities,
            "queue_ties": ties,
            **({} if self._unseen is None else self._unseen.state()),
        }

    def restore(self, state: Any) -> None:
        """Go on from a state of a queue that was made with the same arguments."""
        self.partners = HubPartners(self.n_variables, self.seed)
        self.partners.add(np.asarray(state["hubs"], dtype=np.int64))
        self.excluded.ids = np.asarray(state["excluded"], dtype=np.int64)
        self.heap = EdgeHeap()
        parts = (np.ascontiguousarray(state[f"queue_{name}"]) for name in ("edges", "priorities", "ties"))
        self.heap.push_many(*parts)
        self._from_heap = None
        if self._unseen is not None:
            self._unseen = UnseenPairs(self._unseen.order, self.partners, self.excluded)
            self._unseen.restore(state)

"""What happens in a stream of edges, written down as it happens."""

import numpy as np

from pgmx.search.edges.random_pairs import ends_of

__all__ = ["EdgeEvents"]


class EdgeEvents:
    """Writes events (name, edge or node, value) into a list.

    ``("test", (i, j), score)``, then what became of it: ``("reserve", (i, j), score)`` for an edge that the reservoir
    took, after ``("evict", (i, j), score)`` where another one had to go, and ``("freeze", (i, j), offset)`` for the
    edge that is out. ``("drop", (i, j), score)`` for edges of the reservoir that no longer pass, which freeze after
    all are dropped; ``("activate", (i, j), score)``; ``("refill", None, number of edges)``; ``("hub", node, number)``.

    Parameters
    ----------
    n_variables : int
        Number of variables n; an edge goes by the number i n + j.
    events : list
        Where the events are added.

    Examples
    --------
    >>> events = []
    >>> EdgeEvents(4, events).edges("activate", np.array([7]), np.array([0.5]))
    >>> events
    [('activate', (1, 3), 0.5)]
    """

    def __init__(self, n_variables: int, events: list):
        self.n_variables = n_variables
        self.events = events

    def edges(self, name: str, ids: np.ndarray, values: np.ndarray) -> None:
        """Write one event for each edge."""
        pairs = map(tuple, ends_of(ids, self.n_variables).tolist())
        self.events.extend((name, pair, value) for pair, value in zip(pairs, values.tolist(), strict=True))

    def hubs(self, hubs: np.ndarray, numbers: np.ndarray) -> None:
        """Write one event for each new hub."""
        self.events.extend(("hub", hub, number) for hub, number in zip(hubs.tolist(), numbers.tolist(), strict=True))

    def refill(self, n_edges: int) -> None:
        """Write that frozen edges went back into the queue."""
        self.events.append(("refill", None, n_edges))

    def tests(self, tested: tuple[np.ndarray, np.ndarray], out: np.ndarray, frozen: tuple[np.ndarray, ...]) -> None:
        """Write what became of each tested edge.

        Parameters
        ----------
        tested : (ids, scores)
            In the order of the tests.
        out : ndarray of bool
            Whether the test froze an edge.
        frozen : (ids, scores, offsets)
            The edges frozen, in the same order.
        """
        losers = zip(*(part.tolist() for part in frozen), strict=True)
        for edge, score, is_out in zip(*(part.tolist() for part in (*tested, out)), strict=True):
            events: list[tuple[str, int, float]] = [("test", edge, score)]
            loser, its_score, offset = next(losers) if is_out else (None, 0.0, 0.0)
            if loser is not None and loser != edge:
                events.append(("evict", loser, its_score))
            if loser != edge:
                events.append(("reserve", edge, score))
            if loser is not None:
                events.append(("freeze", loser, offset))
            self.events.extend((name, divmod(e, self.n_variables), value) for name, e, value in events)

"""Which nodes of a growing graph have become hubs."""

import numpy as np


class HubRule:
    """Finds each node once whose degree centrality |N_i| / (n - 1) has passed the threshold; a hub remains one.

    The threshold is a number from 0 to 1, or None for the mean centrality of all nodes of the present graph (the papers
    leave it open); no node is a hub before the graph has `least_edges` edges.
    """

    def __init__(self, n_variables: int, threshold: float | None = None, least_edges: int = 16):
        self.n_variables = n_variables
        self.threshold = threshold
        self.least_edges = least_edges
        self.is_hub = np.zeros(n_variables, dtype=bool)

    def new_hubs(self, degrees: np.ndarray) -> np.ndarray:
        """Return the nodes that are hubs for the first time, ascending, given the number of neighbours of each."""
        total = int(degrees.sum())
        if total < 2 * self.least_edges:
            return np.empty(0, dtype=np.int64)
        if self.threshold is None:
            above = degrees * self.n_variables > total  # in whole numbers: a graph of equal degrees has no hub
        else:
            above = degrees > self.threshold * (self.n_variables - 1)
        new = np.flatnonzero(above & ~self.is_hub)
        self.is_hub[new] = True
        return new

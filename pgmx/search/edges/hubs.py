"""Which nodes of a growing graph have become hubs."""

import numpy as np

__all__ = ["HubRule"]


class HubRule:
    r"""Tells each node once that its degree centrality has passed the threshold.

    .. math:: c_i = \frac{|N_i|}{n - 1} > \hat c

    Parameters
    ----------
    n_variables : int
        Number of nodes n.
    threshold : float, optional
        The threshold ĉ, from 0 to 1; None (default) takes the mean centrality of all nodes of the present graph.
    least_edges : int, default=16
        No node is a hub before the graph has so many edges.

    Attributes
    ----------
    is_hub : ndarray of shape (n,), bool
        The nodes that were told. A hub remains one, also when the mean passes it later.

    References
    ----------
    .. [1] Chaabene, W. & Huang, B. Best-choice edge grafting for efficient structure learning of Markov random fields,
       section 3.1.2 and algorithm 2, which leave the threshold open.

    Examples
    --------
    >>> rule = HubRule(4, least_edges=3)
    >>> rule.new_hubs(np.array([3, 1, 1, 1])).tolist()
    [0]
    >>> rule.new_hubs(np.array([3, 2, 2, 1])).tolist()
    []
    """

    def __init__(self, n_variables: int, threshold: float | None = None, least_edges: int = 16):
        if threshold is not None and not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold={threshold} is no degree centrality: give a number from 0 to 1, or None")
        self.n_variables = n_variables
        self.threshold = threshold
        self.least_edges = least_edges
        self.is_hub = np.zeros(n_variables, dtype=bool)

    def new_hubs(self, degrees: np.ndarray) -> np.ndarray:
        """Return the nodes that are hubs for the first time.

        Parameters
        ----------
        degrees : ndarray of shape (n,), int64
            Number of neighbours of each node.

        Returns
        -------
        ndarray of shape (k,), int64
            The new hubs, ascending.
        """
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

"""A path of penalties, and the choice of one of them."""

from dataclasses import dataclass, field
from math import inf, sqrt

import networkx as nx
import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork


@dataclass(repr=False)
class RegularizationPath:
    """Networks for a decreasing sequence of penalties, and why one of them was chosen.

    Attributes
    ----------
    lams : ndarray of shape (k,)
        Penalties, the largest first.
    potentials : list of PairwisePotentials
        Parameters under each.
    objective, loss, kkt_residual : list of float
        Of each; `n_edges` counts the edges.
    criterion : ndarray of shape (k,) or None
        What the selection compares: held-out negative log pseudolikelihood a row, EBIC, or the instability of StARS.
    selected : int
        Position of the chosen penalty.
    names, states : list
        Of the variables.
    """

    names: list
    states: list
    lams: np.ndarray
    potentials: list[PairwisePotentials] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    kkt_residual: list[float] = field(default_factory=list)
    criterion: np.ndarray | None = None
    selected: int = -1

    def __len__(self) -> int:
        return len(self.potentials)

    def __repr__(self) -> str:
        sizes = f", {self.n_edges.min()} to {self.n_edges.max()} edges" if len(self) else ""
        return f"RegularizationPath({len(self)} penalties{sizes}, selected {self.selected})"

    @property
    def at_end(self) -> bool:
        """Whether the smallest penalty was chosen, so that a longer path might hold a better one."""
        return len(self) > 1 and self.selected == len(self) - 1

    @property
    def n_edges(self) -> np.ndarray:
        """Edges under each penalty."""
        return np.array([found.n_edges for found in self.potentials])

    def graph(self, k: int) -> nx.Graph:
        """Return the graph under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        networkx.Graph
            All variables, and the edges whose tables are not zero.
        """
        graph = nx.Graph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from((self.names[i], self.names[j]) for i, j in self.potentials[k].edges.tolist())
        return graph

    def model(self, k: int) -> PairwiseMarkovNetwork:
        """Return the network under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        PairwiseMarkovNetwork
            Ready for queries.
        """
        return PairwiseMarkovNetwork.from_potentials(self.names, self.states, self.potentials[k])


def path_of_penalties(largest: float, smallest: float, n: int) -> np.ndarray:
    """Return n penalties in equal ratios from the largest to the smallest; that alone where it is not smaller."""
    if n == 1 or smallest >= largest:
        return np.array([smallest])
    if smallest <= 0:
        raise ValueError("a path needs a smallest penalty above 0: give lam or lam_ratio above 0")
    return np.geomspace(largest, smallest, n)


def extended_bic(networks: list[PairwisePotentials], losses: list[float], n_rows: float, gamma: float) -> np.ndarray:
    """Return 2 N L + df ln N + 4 γ |E| ln n of each network, df counting (s_i - 1)(s_j - 1) for an edge."""
    found = []
    for potentials, loss in zip(networks, losses, strict=True):
        free = potentials.cardinalities - 1
        df = float((free[potentials.edges[:, 0]] * free[potentials.edges[:, 1]]).sum())
        wide = 4 * gamma * potentials.n_edges * np.log(potentials.n_variables)
        found.append(2 * n_rows * loss + df * np.log(n_rows) + wide)
    return np.array(found)


def instability(edge_sets: list[list[np.ndarray]], n: int) -> np.ndarray:
    r"""Return the StARS instability at each penalty, made monotone from the sparse end.

    :math:`D(\lambda) = \max_{\lambda' \ge \lambda} \sum_{i<j} 2 \hat\theta_{ij} (1 - \hat\theta_{ij}) / \binom{n}{2}`,
    the shares :math:`\hat\theta` taken over subsamples.
    """
    found = []
    for subsets in zip(*edge_sets, strict=True):
        numbers = np.concatenate([edges[:, 0] * n + edges[:, 1] for edges in subsets])
        shares = np.unique(numbers, return_counts=True)[1] / len(subsets)
        found.append(float((2 * shares * (1 - shares)).sum()) / max(1.0, n * (n - 1) / 2))
    return np.maximum.accumulate(found)


def choose_stable(instabilities: np.ndarray, threshold: float) -> int:
    """Return the position of the smallest penalty whose instability is within the threshold."""
    within = np.flatnonzero(instabilities <= threshold)
    return int(within[-1]) if len(within) else 0


def subsample_size(n_rows: int) -> int:
    """Return the rows of a StARS subsample, 10 √N, or 4/5 of them where that is not fewer."""
    return max(1, min(int(10 * sqrt(n_rows)), int(0.8 * n_rows)))


def best_position(criterion: np.ndarray) -> int:
    """Return the position of the smallest value, the largest penalty among equals."""
    return int(np.argmin(np.where(np.isnan(criterion), inf, criterion)))

"""A path of penalties, and the choice of one of them."""

from dataclasses import dataclass, field

import numpy as np

from pgmx.estimators.paths import PenaltyPath
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork


@dataclass(repr=False)
class RegularizationPath(PenaltyPath):
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
        What the selection compares: held-out negative log pseudolikelihood per row (with ``refit``, of the best
        relaxation), EBIC, or the instability of StARS.
    relaxation : ndarray of shape (k,) or None
        Share of the parameters fitted without λ in the best blend on the held-out rows, for each penalty; None where
        these were not compared.
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
    relaxation: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.potentials)

    def _names(self) -> list:
        return self.names

    def _edges(self, k: int) -> np.ndarray:
        return self.potentials[k].edges

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


def compute_ebic(networks: list[PairwisePotentials], losses: list[float], n_rows: float, gamma: float) -> np.ndarray:
    """Return 2 N L + df ln N + 4 γ |E| ln n of each network, df counting (s_i - 1)(s_j - 1) per edge."""
    criteria = []
    for potentials, loss in zip(networks, losses, strict=True):
        free = potentials.cardinalities - 1
        df = float((free[potentials.edges[:, 0]] * free[potentials.edges[:, 1]]).sum())
        prior = 4 * gamma * potentials.n_edges * np.log(potentials.n_variables)
        criteria.append(2 * n_rows * loss + df * np.log(n_rows) + prior)
    return np.array(criteria)

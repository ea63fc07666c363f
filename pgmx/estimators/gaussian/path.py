"""A path of penalties of a Gaussian learner, stored sparsely."""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from pgmx.estimators.gaussian.estimate import GaussianEstimate, network_of
from pgmx.estimators.paths import PenaltyPath
from pgmx.models import GaussianMarkovNetwork
from pgmx.statistics import GaussianSample


@dataclass(repr=False)
class GaussianPath(PenaltyPath):
    """Estimates for a decreasing sequence of penalties, and which of them was chosen and why.

    Attributes
    ----------
    sample : GaussianSample
        Correlations, means and standard deviations that were learned from.
    estimates : list of GaussianEstimate
        One a penalty, the largest first, with sparse matrices on the correlation scale.
    lam_max : float
        The smallest penalty without edges.
    refit : bool
        Whether `model` estimates the parameters of a graph anew.
    criterion : ndarray of shape (k,) or None
        What the selection compares: EBIC, held-out negative log-likelihood a row, or the instability of StARS; NaN
        beyond the last penalty that was compared.
    selected : int
        Position of the chosen penalty, -1 where none was.
    """

    sample: GaussianSample
    lam_max: float
    refit: bool = False
    estimates: list[GaussianEstimate] = field(default_factory=list)
    criterion: np.ndarray | None = None
    selected: int = -1

    def __len__(self) -> int:
        return len(self.estimates)

    def _names(self) -> tuple:
        return self.sample.names

    def _edges(self, k: int) -> np.ndarray:
        return self.estimates[k].edges

    @property
    def lams(self) -> np.ndarray:
        """Penalties, the largest first."""
        return np.array([found.lam for found in self.estimates])

    @property
    def ends_in_chosen_graph(self) -> bool:
        """Whether the smallest penalty has the graph of the chosen one, so that nobody knows what comes next."""
        if self.selected < 0:
            return False
        return np.array_equal(self.estimates[self.selected].edges, self.estimates[-1].edges)

    def precision(self, k: int) -> csr_array | None:
        """Return the method's own precision under the k-th penalty, on the correlation scale.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        scipy.sparse.csr_array of shape (p, p) or None
            Symmetric; None for a method that has none.
        """
        return self.estimates[k].precision

    def model(self, k: int) -> GaussianMarkovNetwork:
        """Return the network under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        GaussianMarkovNetwork
            In the units of the data.
        """
        return network_of(self.sample, self.estimates[k], self.refit)

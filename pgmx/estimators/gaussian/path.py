"""A path of penalties of a Gaussian learner, stored sparsely."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from pgmx.estimators.gaussian.estimate import GaussianEstimate, make_network
from pgmx.estimators.paths import PenaltyPath
from pgmx.statistics import GaussianSample

if TYPE_CHECKING:
    from pgmx.models import GaussianMarkovNetwork


@dataclass(repr=False)
class GaussianPath(PenaltyPath):
    """Estimates for a decreasing sequence of penalties, the chosen one, and the criterion of the choice."""

    sample: GaussianSample
    lam_max: float  # the smallest penalty without edges
    refit: bool = False  # whether `model` estimates the parameters of a graph by maximum likelihood
    estimates: list[GaussianEstimate] = field(default_factory=list)  # the largest penalty first
    #: EBIC, held-out loss or instability of each penalty, NaN after the last compared penalty
    criterion: np.ndarray | None = None
    selected: int = -1  # position of the chosen penalty, -1 if none
    stopped_early: bool = False  # whether smaller penalties were left out because they could no longer be chosen

    def __len__(self) -> int:
        return len(self.estimates)

    def _names(self) -> tuple:
        return self.sample.names

    def _edges(self, k: int) -> np.ndarray:
        return self.estimates[k].edges

    @property
    def lams(self) -> np.ndarray:
        """Penalties, the largest first."""
        return np.array([estimate.lam for estimate in self.estimates])

    def precision(self, k: int) -> csr_array | None:
        """Return the method's own precision under the k-th penalty, on the correlation scale; None if it has none."""
        return self.estimates[k].precision

    def model(self, k: int) -> "GaussianMarkovNetwork":
        """Return the network under the k-th penalty, in the units of the data."""
        return make_network(self.sample, self.estimates[k], self.refit)

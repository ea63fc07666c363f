"""The results for a decreasing sequence of penalties."""

from dataclasses import dataclass

import networkx as nx
import numpy as np

from pgmx.estimators.paths import PenaltyPath
from pgmx.models import TimeSeriesGraph


@dataclass(frozen=True, eq=False)
class SVARMPath(PenaltyPath):
    r"""Structural vector autoregressions along a path of penalties.

    Parameters
    ----------
    names : tuple
        Names of the N series.
    lams : ndarray of float64, shape (k,)
        Penalties, descending.
    lam_max : float
        Smallest penalty without edges.
    strengths : ndarray of float64, shape (k, L + 1, N, N)
        Strengths [lag, target, source] under each penalty.
    objectives, dual_gaps : ndarray of float64, shape (k,)
        Objectives, summed over the targets, and upper bounds on their distance from the optimum.
    aic, bic : ndarray of float64, shape (k,)
        :math:`T' \sum_j \ln(\|r_j\|^2 / T')` plus 2 or :math:`\ln T'` times the degrees of freedom; NaN unless a
        criterion was given.
    errors : ndarray of float64, shape (k,)
        Mean squared forecast errors after a rolling origin, of series of variance 1; NaN if not computed.
    selected : int
        Position of the penalty with the smallest criterion; the last penalty if no criterion was given.
    """

    names: tuple
    lams: np.ndarray
    lam_max: float
    strengths: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    aic: np.ndarray
    bic: np.ndarray
    errors: np.ndarray
    selected: int

    def __len__(self) -> int:
        return len(self.lams)

    def __repr__(self) -> str:
        sizes = f", {self.n_edges.min()} to {self.n_edges.max()} edges" if len(self) else ""
        return f"{type(self).__name__}({len(self)} penalties{sizes}, selected {self.selected})"

    def _names(self) -> tuple:
        return self.names

    def _edges(self, k: int) -> np.ndarray:
        return np.argwhere(self.strengths[k])

    @property
    def ranking(self) -> np.ndarray:
        """Share of `lam_max` at which each edge [lag, target, source] enters, float64 (L + 1, N, N); 0 if never.

        ``pgmx.metrics.edge_curve(path.ranking, truth)`` is the receiver operating characteristic along the path.
        """
        shares = (self.lams / self.lam_max if self.lam_max else self.lams)[:, None, None, None]
        return np.max(np.where(self.strengths > 0, shares, 0.0), axis=0)

    def graph(self, k: int) -> nx.Graph:
        """Return the graph under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        TimeSeriesGraph
            Edges with their strengths; instantaneous relations have no direction.
        """
        return TimeSeriesGraph.from_coefficients(
            self.names, None, strengths=self.strengths[k], undirected_instantaneous=True
        )

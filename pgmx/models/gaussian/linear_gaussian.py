"""A normal distribution as a linear Gaussian Bayesian network: the Cholesky factor of its precision as arcs."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.models import LinearGaussianBayesianNetwork
from scipy.sparse import csr_array

__all__ = ["linear_gaussian_network"]

#: Partial correlations not above this are rounding errors of zero, and no arcs.
ROUNDING = 1e-12


def linear_gaussian_network(
    names: tuple, scaled: csr_array, mean: np.ndarray, units: np.ndarray, order: Sequence[int] | None
) -> LinearGaussianBayesianNetwork:
    """Make a Bayesian network of a precision matrix.

    Parameters
    ----------
    names : tuple
        Names of the variables.
    scaled : scipy.sparse.csr_array of float64, shape (p, p)
        Precision with unit diagonal, of the deviations from the mean divided by `units`.
    mean, units : ndarray of float64, shape (p,)
        Means and units.
    order : sequence of int, optional
        All positions, parents first; None for the reverse of a minimum-degree elimination.

    Returns
    -------
    pgmpy.models.LinearGaussianBayesianNetwork
        Fitted; parents stand in the order of `names`.
    """
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(names)
    cpds: list = [None] * len(names)
    for v, parents, slopes, deviation in _regressions(scaled, order):
        slopes = slopes / units[parents] * units[v]
        intercept = mean[v] - slopes @ mean[parents]
        evidence = [names[u] for u in parents.tolist()]
        cpds[v] = LinearGaussianCPD(names[v], [intercept, *slopes.tolist()], float(deviation * units[v]), evidence)
    # networkx's own method: pgmpy's adds edges one by one.
    nx.DiGraph.add_edges_from(model, ((u, cpd.variable, {"weight": None}) for cpd in cpds for u in cpd.evidence))
    model.add_cpds(*cpds)
    return model


def _regressions(scaled: csr_array, order: Sequence[int] | None):
    """Eliminate variables one by one, yielding (variable, parents, slopes, standard deviation) of each."""
    left = scaled.toarray()
    joined = left != 0.0
    np.fill_diagonal(joined, False)
    degrees = joined.sum(axis=1)
    eliminated = np.zeros(len(left), dtype=bool)
    for step in range(len(left)):
        if order is not None:
            v = int(order[len(left) - 1 - step])
        else:  # of equal degrees the last, so that a chain keeps its direction
            v = len(left) - 1 - int(np.where(eliminated, len(left), degrees)[::-1].argmin())
        eliminated[v] = True
        near = np.flatnonzero(joined[v])
        joined[near, v] = False
        partial = left[v, near] / np.sqrt(left[v, v] * left[near, near])
        parents = near[np.abs(partial) > ROUNDING]
        row = left[v, parents]
        yield v, parents, -row / left[v, v], 1.0 / np.sqrt(left[v, v])
        left[np.ix_(parents, parents)] -= np.outer(row, row) / left[v, v]
        joined[np.ix_(parents, parents)] = True
        joined[parents, parents] = False
        degrees[near] = joined[near].sum(axis=1)

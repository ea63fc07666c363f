"""Conversion of a normal distribution into a linear Gaussian Bayesian network, by a Cholesky factor."""

from collections.abc import Iterator, Sequence

import networkx as nx
import numpy as np
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.models import LinearGaussianBayesianNetwork
from scipy.sparse import csr_array

#: Partial correlations up to this size are rounding errors of zero and give no edges.
ROUNDING = 1e-12


def make_linear_gaussian_network(
    names: tuple, scaled: csr_array, mean: np.ndarray, units: np.ndarray, order: Sequence[int] | None
) -> LinearGaussianBayesianNetwork:
    """Make a fitted Bayesian network from the precision, with unit diagonal, of deviations divided by `units`.

    `order` holds all positions, parents first. None means the reverse of a minimum-degree elimination order.
    """
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(names)
    cpds: list = [None] * len(names)
    for v, parents, slopes, deviation in _regress(scaled, order):
        slopes = slopes / units[parents] * units[v]
        intercept = mean[v] - slopes @ mean[parents]
        evidence = [names[u] for u in parents.tolist()]
        cpds[v] = LinearGaussianCPD(names[v], [intercept, *slopes.tolist()], float(deviation * units[v]), evidence)
    # The method of networkx: pgmpy's method adds edges one by one.
    nx.DiGraph.add_edges_from(model, ((u, cpd.variable, {"weight": None}) for cpd in cpds for u in cpd.evidence))
    model.add_cpds(*cpds)
    return model


def _regress(scaled: csr_array, order: Sequence[int] | None) -> Iterator[tuple[int, np.ndarray, np.ndarray, float]]:
    """Eliminate variables one by one; yield (variable, parents, slopes, standard deviation) for each."""
    precision = scaled.toarray()
    joined = precision != 0.0
    np.fill_diagonal(joined, False)
    degrees = joined.sum(axis=1)
    eliminated = np.zeros(len(precision), dtype=bool)
    for step in range(len(precision)):
        if order is not None:
            v = int(order[len(precision) - 1 - step])
        else:  # the last of equal degrees, so that a chain keeps its direction
            v = len(precision) - 1 - int(np.where(eliminated, len(precision), degrees)[::-1].argmin())
        eliminated[v] = True
        near = np.flatnonzero(joined[v])
        joined[near, v] = False
        partial = precision[v, near] / np.sqrt(precision[v, v] * precision[near, near])
        parents = near[np.abs(partial) > ROUNDING]
        row = precision[v, parents]
        yield v, parents, -row / precision[v, v], 1.0 / np.sqrt(precision[v, v])
        precision[np.ix_(parents, parents)] -= np.outer(row, row) / precision[v, v]
        joined[np.ix_(parents, parents)] = True
        joined[parents, parents] = False
        degrees[near] = joined[near].sum(axis=1)

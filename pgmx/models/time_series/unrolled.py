"""A linear dynamical system as a linear Gaussian Bayesian network over the slices of L + 1 rows."""

import networkx as nx
import numpy as np
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.models import LinearGaussianBayesianNetwork
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from pgmx.checks import join_names
from pgmx.models.gaussian.linear_gaussian import ROUNDING
from pgmx.models.time_series.companion import compute_stationary_covariance


def make_unrolled_network(
    names: tuple, companion: np.ndarray, intercept: np.ndarray, noise: np.ndarray
) -> LinearGaussianBayesianNetwork:
    """Make the network of a stable system; its oldest slices form a complete graph.

    The order is from the oldest slice to the newest, then by position. The noise is a covariance (n, n).
    """
    n, width = len(names), len(companion)
    lags = width // n
    mean = np.linalg.solve(np.eye(n) - companion[:n].reshape(n, lags, n).sum(axis=1), intercept)
    stationary = compute_stationary_covariance(companion, noise)
    # Nodes by age: slices L, ..., 1 of the past, then the present. In the companion state the newest slice is first.
    order = np.arange(width).reshape(lags, n)[::-1].ravel()
    labels = [f"{name}@t-{lag}" for lag in range(lags, -1, -1) for name in names]
    if len(set(labels)) < len(labels):
        raise ValueError(f"names of the series become the same text, among {join_names(names)}: rename one")
    slopes = np.zeros((width + n, width + n))
    deviations = np.empty(width + n)
    slopes[:width, :width], deviations[:width] = _regress(stationary[np.ix_(order, order)], "stationary covariance")
    within, deviations[width:] = _regress(noise, "covariance of the noise")
    lagged = companion[:n][:, order]
    slopes[width:, :width] = lagged - within @ lagged
    slopes[width:, width:] = within
    means = np.tile(mean, lags + 1)
    return _make_network(labels, slopes, means - slopes @ means, deviations)


def _regress(covariance: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the regression of each variable on its predecessors: slopes (strictly lower), residual deviations."""
    units = np.sqrt(covariance.diagonal())
    try:
        if not (units > 0.0).all():
            raise LinAlgError
        factor = cholesky(covariance / np.outer(units, units), lower=True)
    except LinAlgError:
        raise ValueError(f"the {what} is singular: the network needs a positive definite covariance") from None
    deviations = factor.diagonal()
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    slopes = -np.tril(deviations[:, None] * inverse, -1)
    slopes[np.abs(slopes) <= ROUNDING] = 0.0
    return slopes * units[:, None] / units, deviations * units


def _make_network(labels, slopes, intercepts, deviations) -> LinearGaussianBayesianNetwork:
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(labels)
    cpds = []
    for v, label in enumerate(labels):
        parents = np.flatnonzero(slopes[v])
        beta = [float(intercepts[v]), *slopes[v, parents].tolist()]
        cpds.append(LinearGaussianCPD(label, beta, float(deviations[v]), [labels[u] for u in parents.tolist()]))
    # The method of networkx: pgmpy's method adds edges one by one.
    nx.DiGraph.add_edges_from(model, ((u, cpd.variable, {"weight": None}) for cpd in cpds for u in cpd.evidence))
    model.add_cpds(*cpds)
    return model

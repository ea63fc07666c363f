"""Tables of numbers, the learners of Gaussian graphical models, and what tests say of every result."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmx.data import FewValuesWarning
from pgmx.datasets import gaussian_chain_network, gaussian_random_network
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso

LEAVES = {"glasso": GraphicalLasso, "clime": CLIME, "neighborhood": NeighborhoodLasso}
every_leaf = pytest.mark.parametrize("make", LEAVES.values(), ids=LEAVES)


def chain_rows(p=6, n=300, seed=0, correlation=0.6):
    """Return a frame of rows x0 - x1 - ... - x{p-1}."""
    return gaussian_chain_network(p, correlation).simulate(n, random_state=seed)


def random_rows(p=10, n=200, seed=0, units=False):
    """Return a frame of rows from a random sparse network; with `units`, of other means and standard deviations."""
    rows = gaussian_random_network(p, random_state=seed).simulate(n, random_state=seed)
    if not units:
        return rows
    rng = np.random.default_rng(seed)
    return rows * np.exp(rng.uniform(-3, 3, p)) + rng.normal(0, 10, p)


def correlation_of(rows):
    """Return the correlation matrix by numpy, exactly symmetric with ones on its diagonal."""
    correlation = np.atleast_2d(np.corrcoef(np.asarray(rows, dtype=float), rowvar=False))
    correlation = 0.5 * (correlation + correlation.T)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def deviations(rows):
    """Return the standard deviations by maximum likelihood."""
    return np.asarray(rows, dtype=float).std(axis=0)


def standardised(matrix, scale):
    """Return a precision in the units of the data as that of variables divided by their scales."""
    return matrix * np.outer(scale, scale)


def edge_set(learner):
    return {frozenset(edge) for edge in learner.graph_.edges()}


def edges_of_entries(matrix):
    """Return the positions i < j of the entries that are not zero."""
    return np.argwhere(np.triu(matrix != 0, 1))


def check_positive_definite(model):
    """Assert that a network is positive definite, and its covariance the inverse of its precision."""
    scale = np.sqrt(np.diag(model.covariance.to_numpy()))
    precision = standardised(model.precision.to_numpy(), scale)
    correlation = model.covariance.to_numpy() / np.outer(scale, scale)
    assert np.isfinite(precision).all()
    np.testing.assert_allclose(precision, precision.T, rtol=1e-9)  # a product of two scales may be rounded either way
    np.linalg.cholesky(precision)
    eigenvalues = np.linalg.eigvalsh(correlation)
    assert eigenvalues[0] > 0
    # errors of an inverse grow with the ratio of the largest eigenvalue to the smallest
    tolerance = 1e-12 * len(scale) * eigenvalues[-1] / eigenvalues[0]
    np.testing.assert_allclose(correlation @ precision, np.eye(len(scale)), rtol=0, atol=max(1e-10, tolerance))


def check_result(learner, warned=False):
    """Assert what holds of every fitted learner, whatever its data were."""
    assert learner.converged_ or warned
    for name in ("objective_", "dual_gap_", "lam_", "lam_max_", "repaired_"):
        assert np.isfinite(getattr(learner, name)), name
    assert learner.dual_gap_ >= -1e-12 * max(1.0, abs(learner.objective_))
    assert learner.repaired_ >= 0
    for matrix in (learner.precision_, learner.covariance_, learner.correlation_):
        assert matrix.shape == (learner.n_features_in_,) * 2
        assert np.isfinite(matrix).all()
    assert np.isfinite(learner.location_).all()
    assert list(learner.graph_.nodes()) == learner.variables_
    assert learner.graph_.number_of_edges() == len(learner.edges_)
    check_positive_definite(learner.model_)


def fit_hard(learner, X, **options):
    """Fit to data on which a learner may end early, which it then says; nothing else may happen."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, **options)
        caught = [warning for warning in caught if warning.category is not FewValuesWarning]  # ties are the point
        check_result(learner, warned=bool(caught))
    assert {warning.category for warning in caught} <= {ConvergenceWarning}, [str(one.message) for one in caught]
    assert bool(caught) == (not learner.converged_)
    return learner

"""A Gaussian network as pgmpy's linear Gaussian Bayesian network."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.gaussian_networks import named, networks
from pgmx.datasets import gaussian_chain_network, gaussian_random_network
from pgmx.models import GaussianMarkovNetwork, LinearGaussianBayesianNetwork


def joint(model, names):
    """Mean and covariance of the CPDs in the order of names; pgmpy's own way rounds to 8 decimals."""
    place = {name: v for v, name in enumerate(names)}
    slopes, own, intercepts = np.zeros((len(names),) * 2), np.zeros(len(names)), np.zeros(len(names))
    for cpd in model.get_cpds():
        v = place[cpd.variable]
        intercepts[v], own[v] = cpd.beta[0], cpd.std**2
        slopes[v, [place[name] for name in cpd.evidence]] = cpd.beta[1:]
    spread = np.linalg.inv(np.eye(len(names)) - slopes)
    return spread @ intercepts, spread @ np.diag(own) @ spread.T


@given(networks(), st.booleans(), st.randoms(use_true_random=False))
@examples(40)
def test_same_distribution(network, ordered, random):
    order = random.sample(network.names, len(network.names)) if ordered else None
    model = network.to_linear_gaussian_bn(order)
    assert type(model) is LinearGaussianBayesianNetwork
    assert model.check_model()
    assert list(model.nodes()) == list(network.names)
    assert nx.is_directed_acyclic_graph(model)
    mean, covariance = network.to_joint_gaussian()
    found = joint(model, network.names)
    roots = np.sqrt(np.diag(covariance))
    # Relative to the standard deviations; the networks have condition numbers up to some hundreds.
    np.testing.assert_allclose(found[0] / roots, mean / roots, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found[1] / np.outer(roots, roots), covariance / np.outer(roots, roots), atol=1e-10)
    if ordered:
        place = {name: v for v, name in enumerate(order)}
        assert all(place[u] < place[v] for u, v in model.edges())


def test_units_do_not_matter():
    network = named(6, 0.7, spread=6.0)
    mean, covariance = joint(network.to_linear_gaussian_bn(), network.names)
    roots = np.sqrt(np.diag(network.covariance))
    np.testing.assert_allclose(mean / roots, network.mean / roots, atol=1e-10)
    np.testing.assert_allclose(covariance / np.outer(roots, roots), network.correlation, atol=1e-10)


def test_a_tree_needs_no_more_arcs():
    chain = gaussian_chain_network(30)
    model = chain.to_linear_gaussian_bn()
    assert model.number_of_edges() == 29
    assert max(dict(model.in_degree()).values()) == 1
    assert chain.to_linear_gaussian_bn(list(chain.names)[::-1]).number_of_edges() == 29


def test_arcs_that_cancel_are_none():
    """The parents of a common child are married in the Markov network, and divorced again in the right order."""
    slopes = np.zeros((3, 3))
    slopes[2, :2] = 0.7, -1.3
    spread = np.linalg.inv(np.eye(3) - slopes)
    network = GaussianMarkovNetwork.from_covariance("abc", spread @ spread.T)
    assert network.number_of_edges() == 3
    assert set(network.to_linear_gaussian_bn("abc").edges()) == {("a", "c"), ("b", "c")}


def test_few_parents_by_default():
    network = gaussian_random_network(60, 2.0)
    forward = network.to_linear_gaussian_bn(network.names)
    assert network.to_linear_gaussian_bn().number_of_edges() < forward.number_of_edges()


def test_pgmpy_works_with_it():
    network = gaussian_chain_network(4)
    model = network.to_linear_gaussian_bn()
    order = list(nx.topological_sort(model))
    mean, covariance = model.to_joint_gaussian()
    np.testing.assert_allclose(mean, network.mean[order], atol=1e-8)  # pgmpy rounds
    np.testing.assert_allclose(covariance, network.covariance.loc[order, order], atol=1e-8)
    rows = network.simulate(50)
    assert model.log_likelihood(rows) == pytest.approx(network.log_likelihood(rows).sum(), rel=1e-6)
    known = rows[["x0", "x3"]]
    found = model.predict(known)
    np.testing.assert_allclose(found[["x1", "x2"]], network.predict(known), atol=1e-6)
    drawn = model.simulate(n_samples=20_000, seed=0)
    np.testing.assert_allclose(drawn[list(network.names)].cov(), network.covariance, atol=0.05)
    assert model.copy().to_joint_gaussian()[1].tolist() == covariance.tolist()


@pytest.mark.parametrize("order", [["x0", "x1"], ["x0", "x1", "x1"], ["x0", "x1", "y"]])
def test_wrong_orders(order):
    with pytest.raises(ValueError, match="order must hold each of the 3 names once"):
        gaussian_chain_network(3).to_linear_gaussian_bn(order)

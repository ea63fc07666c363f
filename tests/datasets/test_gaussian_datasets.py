"""Gaussian networks to learn from."""

import networkx as nx
import numpy as np
import pytest

from pgmx.datasets import (
    gaussian_chain_network,
    gaussian_hub_network,
    gaussian_preferential_attachment_network,
    gaussian_random_network,
)

RANDOM = [gaussian_random_network, gaussian_preferential_attachment_network, gaussian_hub_network]


@pytest.mark.parametrize("correlation", [0.5, -0.9, 0.0, 0.999])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_chain(n, correlation):
    network = gaussian_chain_network(n, correlation)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    np.testing.assert_allclose(network.covariance, float(correlation) ** distance, atol=1e-12)
    assert network.number_of_edges() == (n - 1 if correlation else 0)


@pytest.mark.parametrize("make", RANDOM)
def test_variances_are_one(make):
    network = make(120)
    np.testing.assert_allclose(np.diag(network.covariance), 1.0, rtol=1e-12)
    assert network.names == tuple(f"x{v}" for v in range(120))
    assert (network.mean == 0.0).all()
    assert network.estimated_by == "given"
    signs = {np.sign(own["weight"]) for _, _, own in network.edges(data=True)}
    assert signs == {-1.0, 1.0}


@pytest.mark.parametrize("make", RANDOM)
def test_same_seed_same_network(make):
    one, other = make(40, random_state=4), make(40, random_state=4)
    assert list(one.edges(data=True)) == list(other.edges(data=True))
    assert one.precision.equals(other.precision)
    assert not one.precision.equals(make(40, random_state=5).precision)
    assert make(40, random_state=None).names == one.names


def test_entries_before_scaling():
    """With the diagonal brought back to one number, the entries lie in the range that was asked for."""
    network = gaussian_random_network(80, 3.0, weights=(0.3, 0.6))
    matrix = network.precision.to_numpy()
    partial = np.abs(network.partial_correlations.to_numpy()[np.triu(matrix != 0, 1)])
    assert partial.max() / partial.min() <= 2.0 + 1e-12
    # 0.1 above singular: the smallest eigenvalue of the matrix with unit diagonal times that diagonal.
    equal = matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    diagonal = 0.1 / np.linalg.eigvalsh(equal)[0]
    assert 0.3 <= partial.min() * diagonal <= partial.max() * diagonal <= 0.6


@pytest.mark.slow
def test_shapes():
    degrees = [2 * gaussian_random_network(100, 3.0, random_state=seed).number_of_edges() / 100 for seed in range(20)]
    assert np.mean(degrees) == pytest.approx(3.0, abs=4 * np.sqrt(2 * 3.0 / 100 / 20))
    assert gaussian_random_network(5, 100.0).number_of_edges() == 10
    assert gaussian_random_network(5, 0).number_of_edges() == 0
    assert gaussian_random_network(1).number_of_edges() == 0
    assert nx.is_tree(gaussian_preferential_attachment_network(50))
    assert gaussian_preferential_attachment_network(30, edges_per_node=3).number_of_edges() == 3 + 3 * 26
    hubs = gaussian_hub_network(50, 20)
    assert {name: degree for name, degree in hubs.degree() if degree > 1} == {"x0": 19, "x20": 19, "x40": 9}
    assert nx.number_connected_components(hubs) == 3
    assert gaussian_hub_network(4, 1).number_of_edges() == 0


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: gaussian_chain_network(0), ValueError, "n_variables must be at least 1"),
        (lambda: gaussian_chain_network(3, 1.0), ValueError, r"correlation must be between -1 and 1, got 1\.0"),
        (lambda: gaussian_chain_network(2.0), TypeError, "n_variables must be an integer"),
        (lambda: gaussian_random_network(5, -1.0), ValueError, "mean_degree must be a number of at least 0, got -1"),
        (lambda: gaussian_random_network(5, weights=(0.6, 0.3)), ValueError, "0 < smallest <= largest"),
        (lambda: gaussian_random_network(5, weights=(0.0, 0.3)), ValueError, "0 < smallest <= largest"),
        (lambda: gaussian_random_network(5, random_state=-1), ValueError, "random_state must not be negative"),
        (lambda: gaussian_preferential_attachment_network(1), ValueError, "n_variables must be at least 2"),
        (lambda: gaussian_hub_network(5, 0), ValueError, "hub_size must be at least 1"),
    ],
)
def test_wrong_numbers(make, error, what):
    with pytest.raises(error, match=what):
        make()

"""Random Markov networks, and rows sampled from them."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from pgmx.datasets import (
    chain_network,
    grid_network,
    preferential_attachment_network,
    sample_markov_network,
    tree_network,
)


@pytest.mark.parametrize("n", [200, 400, 600])
def test_preferential_attachment_is_that_of_the_paper(n):
    network = preferential_attachment_network(n)
    assert network.number_of_edges() == 2 * n - 4
    assert nx.is_connected(network)
    assert set(network.potentials.cardinalities) == {5}
    assert network.potentials.node_values.std() == pytest.approx(0.5, rel=0.1)
    assert network.potentials.edge_values.std() == pytest.approx(1.0, rel=0.05)
    degrees = sorted(dict(network.degree()).values())
    # Scale-free: the largest hub has a multiple of what a random graph of this density has at most (about 13).
    assert degrees[-1] > 20
    assert Counter(degrees)[2] > n / 3


def test_preferential_attachment_prefers_hubs():
    """The first variables, which had most time to gather neighbours, have most."""
    early, late = [], []
    for seed in range(20):
        degree = dict(preferential_attachment_network(100, 2, random_state=seed).degree())
        early.append(np.mean([degree[f"x{v}"] for v in range(10)]))
        late.append(np.mean([degree[f"x{v}"] for v in range(50, 100)]))
    assert np.mean(early) > 3 * np.mean(late)


def test_more_edges_a_node():
    network = preferential_attachment_network(30, 2, edges_per_node=3)
    assert network.number_of_edges() == 3 + 3 * 26
    assert preferential_attachment_network(2, edges_per_node=1).number_of_edges() == 1


def test_shapes_of_the_others():
    assert nx.is_tree(chain_network(50, 3))
    assert max(dict(chain_network(50).degree()).values()) == 2
    assert nx.is_tree(tree_network(50))
    assert nx.is_isomorphic(grid_network(4, 6), nx.grid_2d_graph(4, 6))
    assert [make(1).number_of_edges() for make in (chain_network, tree_network)] == [0, 0]
    assert grid_network(1, 1).names == ("x0",)


@pytest.mark.parametrize("make", [chain_network, tree_network, preferential_attachment_network])
def test_same_seed_same_network(make):
    one, other = make(20, random_state=4), make(20, random_state=4)
    assert list(one.edges()) == list(other.edges())
    assert np.array_equal(one.potentials.edge_values, other.potentials.edge_values)
    assert not np.array_equal(one.potentials.node_values, make(20, random_state=5).potentials.node_values)
    assert make(20, random_state=None).names == one.names


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: chain_network(0), ValueError, "n_variables must be at least 1"),
        (lambda: chain_network(2.0), TypeError, r"n_variables must be an integer, got 2\.0"),
        (lambda: tree_network(3, 0), ValueError, "n_states must be at least 1"),
        (lambda: grid_network(2, 0), ValueError, "n_columns must be at least 1"),
        (lambda: preferential_attachment_network(2), ValueError, "n_variables must be at least 3"),
        (lambda: preferential_attachment_network(9, edges_per_node=0), ValueError, "edges_per_node must be at least 1"),
        (lambda: chain_network(3, node_scale=-1.0), ValueError, "node_scale must be a number of at least 0"),
        (lambda: chain_network(3, edge_scale=np.nan), ValueError, "edge_scale must be a number of at least 0"),
        (lambda: chain_network(3, random_state=-1), ValueError, "random_state must not be negative"),
        (lambda: sample_markov_network(chain_network(3), 0), ValueError, "n_rows must be at least 1, got 0"),
        (lambda: sample_markov_network(chain_network(3), -2), ValueError, "n_rows must be at least 1, got -2"),
        (lambda: sample_markov_network(chain_network(3), 2.5), TypeError, "n_rows must be an integer, got 2.5"),
        (lambda: sample_markov_network(chain_network(3), 5, thinning=0), ValueError, "thinning must be at least 1"),
    ],
)
def test_wrong_numbers(make, error, what):
    with pytest.raises(error, match=what):
        make()


def test_sampled_rows_follow_the_network():
    network = grid_network(3, 3, 3)
    table = sample_markov_network(network, 20_000, thinning=3, n_chains=4, n_jobs=2)
    assert table.columns == network.names
    assert table.states == ((0, 1, 2),) * 9
    marginals = network.marginals()
    for v, name in enumerate(network.names):
        found = np.bincount(table.codes[v], minlength=3) / table.n_rows
        np.testing.assert_allclose(found, marginals.array(name), atol=0.02)
    pair = np.bincount(3 * table.codes[0] + table.codes[1], minlength=9).reshape(3, 3) / table.n_rows
    np.testing.assert_allclose(pair, network.query(["x0", "x1"]).values, atol=0.02)


def test_sampled_rows_repeat():
    network = chain_network(5, 3)
    options = {"burn_in": 20, "thinning": 1, "n_chains": 3}
    one = sample_markov_network(network, 100, **options)
    assert one == sample_markov_network(network, 100, n_jobs=2, **options)
    assert one != sample_markov_network(network, 100, random_state=1, **options)

"""Bounds on the log-partition hold at any messages, and are no looser than uniform trees and naive mean field."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.random_networks import as_list, factor_networks, pairwise_networks
from oracles import bounds, enumeration
from pgmx.datasets import grid_network
from pgmx.inference import LogFactors, PairwisePotentials, log_partition
from pgmx.inference.approximate import bounds as module
from pgmx.inference.approximate.bounds import fit_mean_field, fit_naive_field, reweight_trees


@st.composite
def connected(draw, largest=5):
    cards = draw(st.lists(st.integers(2, 3), min_size=3, max_size=largest))
    n = len(cards)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    chosen = {pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())}
    chosen |= {(int(rng.integers(v)), v) for v in range(1, n)}
    scale = draw(st.sampled_from([0.3, 1.0, 3.0]))
    tables = {(i, j): rng.normal(scale=scale, size=(cards[i], cards[j])) for i, j in sorted(chosen)}
    return PairwisePotentials.build(cards, [rng.normal(size=size) for size in cards], tables)


@given(connected())
@examples(15)
def test_no_looser_than_uniform_trees_and_naive_mean_field(network):
    cards, factors = as_list(network)
    truth = enumeration.log_partition(cards, factors)
    edges = [tuple(edge) for edge in network.edges.tolist()]
    uniform = bounds.uniform_edge_probabilities(len(cards), edges)
    lower, upper = fit_mean_field(LogFactors.from_potentials(network)), reweight_trees(network).upper
    assert lower - 1e-9 <= truth <= upper + 1e-9
    assert upper <= bounds.reweighted_bound(cards, factors, uniform, rounds=300) + 1e-4
    assert lower >= bounds.naive_mean_field(cards, factors, rounds=30) - 1e-4


@given(connected(largest=6), st.sampled_from([0, 1, 3]))
@examples(60)
def test_a_bound_before_messages_converge(network, sweeps):
    cards, factors = as_list(network)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FIRST_SWEEPS", sweeps)
        patch.setattr(module, "SWEEPS", sweeps)
        assert reweight_trees(network).upper >= enumeration.log_partition(cards, factors) - 1e-9


@pytest.mark.filterwarnings("ignore:loopy belief propagation did not converge")
@given(pairwise_networks() | factor_networks())
@examples(80)
def test_bounds_bracket_the_truth_of_any_network(network):
    truth = enumeration.log_partition(*as_list(network))
    if truth > -np.inf:
        answer = log_partition(network, method="loopy")
        assert answer.lower - 1e-9 <= truth <= answer.upper + 1e-9


def test_first_probabilities_are_those_of_a_uniform_spanning_tree():
    pairs = [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 3), (3, 4)]
    network = PairwisePotentials.build([2] * 5, None, {pair: np.eye(2) for pair in pairs})
    directed = module._DirectedEdges(network)
    parents = directed.weigh_uniformly()
    expected = bounds.uniform_edge_probabilities(5, pairs)
    np.testing.assert_allclose(directed.sum_directions(parents), [expected[pair] for pair in pairs], atol=1e-12)
    trees = list(bounds.spanning_trees(5, pairs))
    numbers = [np.array([pairs.index(edge) for edge in tree]) for tree in trees]
    np.testing.assert_allclose(np.mean([directed.orient_tree(tree) for tree in numbers], axis=0), parents, atol=1e-12)
    # from a uniform root a variable has a parent but where it is the root
    np.testing.assert_allclose(np.bincount(directed.owner, parents), 0.8, atol=1e-12)


def test_trees_that_cover_all_edges(monkeypatch):
    monkeypatch.setattr(module, "MOST_UNIFORM", 2)
    pairs = list(itertools.combinations(range(6), 2))
    rng = np.random.default_rng(0)
    network = PairwisePotentials.build([2] * 6, None, {pair: rng.normal(size=(2, 2)) for pair in pairs})
    answer, truth = reweight_trees(network), enumeration.log_partition(*as_list(network))
    assert truth <= answer.upper < truth + 1.0


def test_exact_on_a_tree():
    rng = np.random.default_rng(1)
    tables = {(i, j): rng.normal(size=(3, 3)) for i, j in [(0, 1), (1, 2), (1, 3), (3, 4)]}
    network = PairwisePotentials.build([3] * 5, [rng.normal(size=3) for _ in range(5)], tables)
    truth = enumeration.log_partition(*as_list(network))
    assert reweight_trees(network).upper == pytest.approx(truth, abs=1e-7)
    assert fit_mean_field(LogFactors.from_potentials(network)) == pytest.approx(truth, abs=1e-5)


def test_mean_field_of_a_tree_closes_most_of_the_gap_on_a_grid():
    network = grid_network(6, 6, 2, edge_scale=0.5, random_state=1).potentials
    truth = log_partition(network)
    factors = LogFactors.from_potentials(network)
    lower, naive = fit_mean_field(factors), fit_naive_field(factors)
    assert naive < lower < truth < reweight_trees(network).upper
    assert truth - lower < 0.5 * (truth - naive)

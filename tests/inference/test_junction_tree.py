"""The passes over a junction tree: what its tables hold, and drawing from them."""

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.random_networks import as_list, pairwise_networks
from oracles import enumeration
from pgmx.inference import PairwisePotentials, min_fill_order
from pgmx.inference.exact.junction_tree import JunctionTree, draw_cells, log_partition_and_conditionals, most_probable


def tree_of(network):
    cards, factors = as_list(network)
    return JunctionTree(min_fill_order(cards, [scope for scope, _ in factors]), cards, factors)


@given(pairwise_networks())
def test_cliques_hold_their_joint_distributions(network):
    cards, factors = as_list(network)
    assume(enumeration.log_partition(cards, factors) > -math.inf)
    tree = tree_of(network)
    _, conditionals = log_partition_and_conditionals(tree)
    for clique, shared, belief in tree.beliefs(conditionals):
        for states, probability in enumeration.joint(cards, factors, tree.plan.cliques[clique]).items():
            np.testing.assert_allclose(belief[states], probability, rtol=1e-10, atol=1e-13)
        wanted = enumeration.joint(cards, factors, tree.plan.sepsets[clique])
        np.testing.assert_allclose(shared, list(wanted.values()), rtol=1e-10, atol=1e-13)
        sums = conditionals[clique].sum(axis=1)
        np.testing.assert_allclose(sums[shared > 0], 1.0)
        assert set(sums[sums < 0.5].tolist()) <= {0.0}


@given(pairwise_networks())
def test_neighbouring_cliques_agree(network):
    tree = tree_of(network)
    total, conditionals = log_partition_and_conditionals(tree)
    assume(total > -math.inf)
    beliefs = {clique: belief for clique, _, belief in tree.beliefs(conditionals)}
    for clique, parent in enumerate(tree.parents):
        if parent >= 0:
            shared = tree.plan.sepsets[clique]
            np.testing.assert_allclose(
                tree.marginal(clique, beliefs[clique], shared),
                tree.marginal(parent, beliefs[parent], shared),
                rtol=1e-10,
                atol=1e-13,
            )


def test_equally_good_configurations_are_chosen_between_the_same_way():
    ties = PairwisePotentials.build([3] * 5, None, {(i, i + 1): np.zeros((3, 3)) for i in range(4)})
    assert most_probable(tree_of(ties)) == (0.0, [0] * 5)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9).filter(any), st.floats(0, 1, exclude_max=True))
def test_a_draw_is_the_inverse_of_the_running_sum(weights, uniform):
    cumulative = np.cumsum([[7] * len(weights), weights], axis=1).astype(float)
    chosen = int(draw_cells(cumulative, np.array([1]), np.array([uniform]))[0])
    assert weights[chosen] > 0
    assert cumulative[1, chosen] > uniform * sum(weights)
    assert chosen == 0 or cumulative[1, chosen - 1] <= uniform * sum(weights)

"""Factors of any arity: scores, the pairwise form, and networks read from pgmpy."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.random_networks import as_list, factor_networks
from oracles import enumeration
from pgmx.inference import ExactInference, LogFactors, PairwisePotentials, read_network


@given(factor_networks(largest=4))
def test_log_scores(network):
    cards, factors = as_list(network)
    codes = np.array(list(enumeration.configurations(cards))).T
    wanted = [enumeration.log_score(factors, states) for states in codes.T.tolist()]
    np.testing.assert_allclose(network.log_score(codes), wanted, rtol=1e-12, atol=1e-12)


@given(factor_networks(largest=4))
def test_pairwise_form_has_the_same_distribution(network):
    cards, factors = as_list(network)
    assume(enumeration.log_partition(cards, factors) > -math.inf)
    pairwise = ExactInference(network.pairwise())
    added = sum(table.item() for scope, table in factors if not scope)
    assert pairwise.log_partition + added == pytest.approx(enumeration.log_partition(cards, factors), abs=1e-9)
    for found, wanted in zip(pairwise.marginals(), enumeration.marginals(cards, factors), strict=False):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)


def test_from_potentials():
    network = PairwisePotentials.build([2, 3], [[1.0, 0.0], None], {(0, 1): np.arange(6.0).reshape(2, 3)})
    factors = LogFactors.from_potentials(network)
    codes = np.array([[0, 1, 1], [2, 0, 1]])
    np.testing.assert_array_equal(factors.log_score(codes), network.log_score(codes))
    again = factors.pairwise()
    np.testing.assert_array_equal(again.edge_values, network.edge_values)
    assert again.n_variables == 2


def test_pickle_and_ownership():
    table = np.zeros((2, 2))
    factors = pickle.loads(pickle.dumps(LogFactors([2, 2], [(1, 0)], [table])))
    assert factors.scopes == ((1, 0),)
    assert not factors.tables[0].flags.writeable
    assert table.flags.writeable


@pytest.mark.parametrize(
    ("cards", "scopes", "tables", "words"),
    [
        ([], [], [], "cardinalities"),
        ([2], [(0,)], [], "1 scopes and 0 tables"),
        ([2], [(1,)], [np.zeros(2)], r"scope 0, \(1,\), must consist of distinct variables in 0\.\.0"),
        ([2], [(0, 0)], [np.zeros((2, 2))], "distinct variables"),
        ([2, 3], [(1, 0)], [np.zeros((2, 3))], r"has shape \(2, 3\), it must have \(3, 2\)"),
        ([2], [(0,)], [[0.0, np.nan]], "NaN or plus infinity"),
        ([2], [(0,)], [[0.0, np.inf]], "NaN or plus infinity"),
    ],
)
def test_wrong_factors(cards, scopes, tables, words):
    with pytest.raises(ValueError, match=words):
        LogFactors(cards, scopes, tables)


def test_wrong_codes():
    with pytest.raises(ValueError, match="one row for each of 1 variables"):
        LogFactors([2], [], []).log_score([0, 1])


def markov_network(*factors, nodes=()):
    network = DiscreteMarkovNetwork()
    network.add_nodes_from(nodes)
    for factor in factors:
        network.add_nodes_from(factor.variables)
        network.add_edges_from((u, v) for u in factor.variables for v in factor.variables if str(u) < str(v))
    network.add_factors(*factors)
    return network


def test_read_a_pgmpy_network():
    model = markov_network(
        DiscreteFactor(["a", 7, "c"], [2, 3, 2], np.arange(12), {"a": ["x", "y"], 7: [1, 2, 3], "c": [True, False]}),
        DiscreteFactor(["a"], [2], [0.5, 2.0], {"a": ["x", "y"]}),
        nodes=[7, "c", "a"],
    )
    names, states, factors = read_network(model)
    assert names == (7, "c", "a")
    assert states == ((1, 2, 3), (True, False), ("x", "y"))
    assert factors.scopes == ((2, 0, 1), (2,))
    np.testing.assert_array_equal(np.exp(factors.tables[1]), [0.5, 2.0])
    assert factors.tables[0][0, 0, 0] == -np.inf
    np.testing.assert_allclose(np.exp(factors.tables[0]).ravel(), np.arange(12), rtol=1e-14)


def test_states_in_another_order_are_the_same_states():
    model = markov_network(
        DiscreteFactor(["a"], [2], [1, 3], {"a": ["x", "y"]}),
        DiscreteFactor(["b", "a"], [2, 2], [1, 2, 3, 4], {"b": [0, 1], "a": ["y", "x"]}),
    )
    _, states, factors = read_network(model)
    assert states[0] == ("x", "y")
    np.testing.assert_allclose(np.exp(factors.tables[1]), [[2, 1], [4, 3]])


def test_states_that_disagree():
    model = markov_network(
        DiscreteFactor(["a"], [2], [1, 3], {"a": ["x", "y"]}),
        DiscreteFactor(["b", "a"], [2, 2], [1, 2, 3, 4], {"b": [0, 1], "a": ["x", "z"]}),
    )
    with pytest.raises(ValueError, match=r"states of 'a': \['x', 'y'\] and \['x', 'z'\]"):
        read_network(model)


def test_a_node_without_a_factor():
    model = markov_network(DiscreteFactor(["a"], [2], [1, 3]), nodes=["a", "lonely"])
    with pytest.raises(ValueError, match=r"'lonely' is in no factor.*add a factor"):
        read_network(model)
    _, states, factors = read_network(model, states={"lonely": ["u", "v", "w"]})
    assert states == ((0, 1), ("u", "v", "w"))
    np.testing.assert_allclose(ExactInference(factors).marginal(1), [1 / 3] * 3)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_values_that_are_no_factor(wrong):
    with pytest.raises(ValueError, match=r"factor of \['a'\] holds"):
        read_network(markov_network(DiscreteFactor(["a"], [2], [1.0, wrong])))


def test_things_that_are_no_network():
    with pytest.raises(TypeError, match="got dict"):
        read_network({})
    with pytest.raises(ValueError, match="no variables"):
        read_network(DiscreteMarkovNetwork())


def test_a_factor_of_a_stranger():
    class Network:
        def nodes(self):
            return ["a"]

        def get_factors(self):
            return [DiscreteFactor(["z"], [2], [1, 1])]

    with pytest.raises(ValueError, match="'z', which is not a node"):
        read_network(Network())

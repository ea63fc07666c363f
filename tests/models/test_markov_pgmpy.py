"""What pgmpy's own inference makes of the network: each call that fails on pgmpy's class has its answer."""

import numpy as np
import pytest
from hypothesis import given
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.examples import examples
from helpers.markov_networks import enumerable, networks, questions, ring
from oracles import enumeration
from pgmx.datasets import chain_network, grid_network, tree_network
from pgmx.inference import PairwisePotentials, TreewidthError
from pgmx.models import PairwiseMarkovNetwork, junction_tree

pytestmark = pytest.mark.filterwarnings("ignore:`pgmpy.estimators:FutureWarning")  # raised inside pgmpy, at its import


@pytest.fixture
def elimination():
    from pgmpy.inference import VariableElimination

    return VariableElimination


@pytest.fixture
def propagation():
    from pgmpy.inference import BeliefPropagation

    return BeliefPropagation


@pytest.mark.slow
def test_variable_elimination_is_normalised(elimination):
    for network in (chain_network(2500), tree_network(400), grid_network(10, 10), ring()):
        name = network.names[3]
        found = elimination(network).query([name], show_progress=False)
        assert found.values.sum() == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(found.values, network.marginals().array(name), atol=1e-9)


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")  # pgmpy makes zeros of its 0 / 0 afterwards
@given(questions(impossible=(0.0, 0.1)))
@examples(40)
def test_belief_propagation_on_any_graph(question):
    from pgmpy.inference import BeliefPropagation

    network, evidence = question
    try:
        wanted = network.marginals(evidence)
    except ValueError:
        return  # evidence of probability zero
    inference = BeliefPropagation(network)
    for name in wanted:
        found = inference.query([name], evidence, show_progress=False)
        np.testing.assert_allclose(found.values, wanted.array(name), atol=1e-9)
        assert found.state_names[name] == network.states[name]


def test_belief_propagation_joins_distant_parts(propagation):
    network = ring(5, isolated=2)
    found = propagation(network).query([0, 6], show_progress=False)
    np.testing.assert_allclose(found.values, np.outer(network.marginals().array(0), network.marginals().array(6)))
    best = propagation(network).map_query(show_progress=False)
    assert best == network.map()


def test_belief_propagation_is_calibrated_in_one_pass(propagation):
    network = tree_network(150)
    inference = propagation(network)
    inference.calibrate()
    for clique, belief in inference.get_clique_beliefs().items():
        for name in clique:
            own = belief.marginalize([other for other in clique if other != name], inplace=False)
            np.testing.assert_allclose(own.values, network.marginals().array(name), atol=1e-12)


@given(networks(impossible=(0.0, 0.2)))
@examples(40)
def test_junction_tree_is_the_distribution(network):
    cards, factors = enumerable(network)
    if enumeration.log_partition(cards, factors) == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            network.to_junction_tree()
        return
    tree = network.to_junction_tree()
    assert tree.check_model()
    assert len(tree.nodes()) == len(tree.factors) == tree.number_of_edges() + 1
    position = {name: v for v, name in enumerate(network.names)}
    with np.errstate(divide="ignore"):
        tables = [([position[name] for name in f.variables], np.log(f.values)) for f in tree.factors]
    wanted = enumeration.joint(cards, factors, range(len(cards)))
    total = enumeration.log_partition(cards, tables)
    assert total == pytest.approx(0.0, abs=1e-9)
    for states, probability in wanted.items():
        assert np.exp(enumeration.log_score(tables, states)) == pytest.approx(probability, abs=1e-9)


def test_junction_tree_of_a_pgmpy_network(propagation):
    rng = np.random.default_rng(0)
    model = DiscreteMarkovNetwork()
    model.add_nodes_from("abcde")
    model.add_edges_from([("a", "b"), ("b", "c"), ("a", "c")])
    model.add_factors(*(DiscreteFactor(list(s), [2] * len(s), rng.random(2 ** len(s))) for s in ("abc", "d", "e")))
    product = model.factors[0].values.sum(axis=(1, 2))
    found = propagation(junction_tree(model)).query(["a"], show_progress=False)
    np.testing.assert_allclose(found.values, product / product.sum())


def test_junction_tree_says_when_it_is_too_wide():
    with pytest.raises(TreewidthError, match="width"):
        grid_network(12, 12).to_junction_tree(memory=10_000)


def test_message_passing_takes_the_factor_graph():
    from pgmpy.inference import BeliefPropagationWithMessagePassing

    potentials = PairwisePotentials.build(
        [2, 2, 3], [[0.5, 0.0], None, None], {(0, 1): np.eye(2), (1, 2): np.eye(2, 3)}
    )
    network = PairwiseMarkovNetwork.from_potentials([0, 1, 2], [["no", "yes"], [1, 2], "abc"], potentials)
    graph = network.to_factor_graph()
    assert graph.check_model()
    found = BeliefPropagationWithMessagePassing(graph).query([1, 2], {0: "yes"})
    for name in (1, 2):
        np.testing.assert_allclose(found[name].values, network.marginals({0: "yes"}).array(name))
    with pytest.raises(ValueError, match="0 has no state 'maybe'"):
        BeliefPropagationWithMessagePassing(graph).query([1], {0: "maybe"})


def test_partition_function_of_many_variables():
    assert chain_network(500).get_partition_function() == 1.0


def test_factors_of_a_node_whose_name_is_zero():
    network = ring(5)
    assert [f.variables for f in network.get_factors(0)] == [[0], [0, 1], [0, 4]]
    assert network.get_cardinality(0) == 2
    with pytest.raises(ValueError, match="no variable 'a'"):
        network.get_factors("a")
    with pytest.raises(ValueError, match="no variable 'a'"):
        network.get_cardinality("a")


@given(networks(impossible=(0.0, 0.2)))
@examples(30)
def test_bayesian_network_is_the_distribution(network):
    cards, factors = enumerable(network)
    if enumeration.log_partition(cards, factors) == -np.inf:
        return
    model = network.to_bayesian_model()
    assert set(model.nodes()) == set(network.names)
    for name in network.names:
        assert model.get_cpds(name).is_valid_cpd()
    wanted = enumeration.joint(cards, factors, range(len(cards)))
    for states, probability in wanted.items():
        product = 1.0
        for name in network.names:
            cpd = model.get_cpds(name)
            product *= cpd.values[tuple(states[network.names.index(other)] for other in cpd.variables)]
        assert product == pytest.approx(probability, abs=1e-9)


def test_chordal_graph_keeps_isolated_nodes():
    network = ring(6, isolated=2)
    chordal = network.triangulate()
    assert chordal.is_triangulated()
    assert set(chordal.nodes()) == set(network.nodes())
    assert chordal.number_of_edges() == 9
    assert set(map(frozenset, network.edges())) <= set(map(frozenset, chordal.edges()))


def test_local_independencies():
    network = ring(4)
    found = network.get_local_independencies().get_assertions()
    assert len(found) == 5
    assert (set(found[0].event1), set(found[0].event2), set(found[0].event3)) == ({0}, {2, 4}, {1, 3})
    assert len(network.get_local_independencies(latex=True)) == 5

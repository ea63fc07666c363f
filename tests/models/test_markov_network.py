"""The pairwise Markov network as an object: how it is made, copied, and kept from changing."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.examples import examples
from helpers.markov_networks import enumerable, networks, ring
from oracles import enumeration
from pgmx.datasets import chain_network, grid_network
from pgmx.inference import ApproximationWarning, PairwisePotentials
from pgmx.inference.partition import MOST_OPERATIONS
from pgmx.models import PairwiseMarkovNetwork

TABLE = [[1.0, 0.0, -1.0], [0.5, 2.0, 0.0]]


STATES = [[np.str_("no"), "yes"], [np.int64(1), 2, 3]]


def small(names=("a", "b"), states=STATES):
    return PairwiseMarkovNetwork.from_potentials(
        names, states, PairwisePotentials.build([2, 3], tables={(0, 1): TABLE})
    )


def test_names_and_states_are_the_users():
    network = small()
    assert network.names == tuple(network.nodes()) == ("a", "b")
    assert network.states == {"a": ["no", "yes"], "b": [1, 2, 3]}
    assert [type(state) for own in network.states.values() for state in own] == [str, str, int, int, int]
    assert network.get_cardinality() == {"a": 2, "b": 3}
    assert network.check_model()


@pytest.mark.parametrize(
    ("names", "states", "what"),
    [
        (["a"], [["no", "yes"]], "one name and one sequence"),
        (["a", "a"], [["no", "yes"], [1, 2, 3]], "'a' occur more than once"),
        (["a", None], [["no", "yes"], [1, 2, 3]], "None cannot be the name"),
        (["a", "b"], [["no", "yes"], [1, 2]], "'b' has 3 states in the potentials, but 2 names"),
        (["a", "b"], [["no", "no"], [1, 2, 3]], "states of variable 'a' are not distinct"),
    ],
)
def test_wrong_names(names, states, what):
    with pytest.raises(ValueError, match=what):
        small(names, states)


def test_potentials_of_another_kind():
    with pytest.raises(TypeError, match=r"got list: PairwisePotentials\.build"):
        PairwiseMarkovNetwork.from_potentials(["a"], [[0, 1]], [[0.0, 1.0]])


def test_strength_is_what_nodes_cannot_take_over():
    additive = np.add.outer([1.0, -2.0], [0.5, 3.0, 1.0])
    potentials = PairwisePotentials.build(
        [2, 3, 2], tables={(0, 1): additive, (1, 2): np.eye(3, 2), (0, 2): [[0, -np.inf]] * 2}
    )
    network = PairwiseMarkovNetwork.from_potentials("abc", [[0, 1], [0, 1, 2], [0, 1]], potentials)
    strengths = nx.get_edge_attributes(network, "strength")
    assert strengths["a", "b"] == pytest.approx(0.0, abs=1e-12)
    centred = np.eye(3, 2) - np.eye(3, 2).mean(axis=0) - np.eye(3, 2).mean(axis=1)[:, None] + 1 / 3
    assert strengths["b", "c"] == pytest.approx(np.linalg.norm(centred))
    assert strengths["a", "c"] == np.inf
    assert nx.get_edge_attributes(network, "weight") == strengths


@given(networks(impossible=(0.0, 0.2)))
@examples(60)
def test_factors_are_scaled_potentials(network):
    cards, factors = enumerable(network)
    total = enumeration.log_partition(cards, factors)
    if total == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            network.log_partition_  # noqa: B018
        return
    assert network.partition_is_exact
    assert network.log_partition_ == pytest.approx(total, abs=1e-9)
    logs = np.concatenate([network.potentials.node_values, network.potentials.edge_values])
    with np.errstate(divide="ignore"):
        scaled = np.concatenate([np.log(factor.values).ravel() for factor in network.factors])
    assert len(network.factors) == network.potentials.n_variables + network.potentials.n_edges
    assert (np.isfinite(logs) == np.isfinite(scaled)).all()
    positions = {name: v for v, name in enumerate(network.names)}
    tables = [
        ([positions[name] for name in f.variables], np.log(np.maximum(f.values, 1e-300))) for f in network.factors
    ]
    assert enumeration.log_partition(cards, tables) == pytest.approx(0.0, abs=1e-9)


def complete(n, isolated):
    rng = np.random.default_rng(1)
    pairs = {(i, j): rng.normal(size=(2, 2)) for j in range(n) for i in range(j)}
    potentials = PairwisePotentials.build([2] * (n + isolated), None, pairs)
    return PairwiseMarkovNetwork.from_potentials(range(n + isolated), [["no", "yes"]] * (n + isolated), potentials)


def test_wide_network_is_scaled_by_an_estimate(monkeypatch):
    exact = complete(5, isolated=2).log_partition_
    monkeypatch.setattr("pgmx.models.markov_queries.check_memory", lambda memory: 16)
    monkeypatch.setitem(MOST_OPERATIONS, "auto", 0)
    network = complete(5, isolated=2)
    with pytest.warns(ApproximationWarning, match="annealed importance sampling"):
        assert not network.partition_is_exact
    total = network.log_partition_
    assert total.lower < exact < total.upper
    assert abs(total - exact) < 4 * total.standard_error < 0.1
    assert total == network.log_partition(method="ais")
    tables = [(f.variables, np.log(f.values)) for f in network.factors]
    assert enumeration.log_partition([2] * 7, tables) == pytest.approx(exact - total, abs=1e-9)


@given(networks())
@examples(20)
def test_from_the_factors_of_pgmpy(network):
    other = DiscreteMarkovNetwork()
    other.add_nodes_from(network.nodes())
    other.add_edges_from(network.edges())
    other.add_factors(*network.factors)
    back = PairwiseMarkovNetwork.from_network(other)
    assert back.names == network.names
    assert back.states == network.states
    assert back.log_partition_ == pytest.approx(0.0, abs=1e-9)
    for name in network.names:
        np.testing.assert_allclose(back.marginals().array(name), network.marginals().array(name), rtol=1e-9)


def test_from_larger_factors():
    model = DiscreteMarkovNetwork([("a", "b"), ("b", "c"), ("a", "c")])
    model.add_factors(DiscreteFactor(list("abc"), [2, 2, 2], np.ones(8)))
    with pytest.raises(ValueError, match=r"more than two variables, \('a', 'b', 'c'\)"):
        PairwiseMarkovNetwork.from_network(model)


@pytest.mark.parametrize(
    "copied",
    [
        lambda m: m.copy(),
        copy.copy,
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        PairwiseMarkovNetwork.from_network,
    ],
)
def test_copies(copied):
    network = ring()
    network.graph["name"] = "ring"
    network.nodes[0]["group"] = 3
    before = network.marginals().array(0).tolist()
    assert network.factors
    clone = copied(network)
    assert type(clone) is PairwiseMarkovNetwork
    assert clone.names == network.names
    assert clone.states == network.states
    assert list(clone.edges(data=True)) == list(network.edges(data=True))
    assert clone.graph == {"name": "ring"}
    assert clone.nodes[0] == {"group": 3}
    assert clone.marginals().array(0).tolist() == before
    assert clone.factors == network.factors
    if copied is not copy.copy:
        clone.nodes[0]["group"] = 4
        assert network.nodes[0]["group"] == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.add_node(9),
        lambda m: m.add_nodes_from([9]),
        lambda m: m.remove_node(0),
        lambda m: m.remove_nodes_from([0]),
        lambda m: m.add_edge(0, 2),
        lambda m: m.add_edges_from([(0, 2)]),
        lambda m: m.remove_edge(0, 1),
        lambda m: m.remove_edges_from([(0, 1)]),
        lambda m: m.clear(),
        lambda m: m.clear_edges(),
        lambda m: m.add_factors(DiscreteFactor([0], [2], [1, 1])),
        lambda m: m.remove_factors(m.factors[0]),
        lambda m: setattr(m, "factors", []),
        lambda m: m.triangulate(inplace=True),
    ],
)
def test_it_cannot_be_changed(change):
    network = ring()
    with pytest.raises(TypeError, match="follow from its potentials and cannot be changed"):
        change(network)
    assert len(network) == 7
    assert network.number_of_edges() == 6


def test_networkx_works_on_it():
    network = grid_network(3, 3)
    part = network.subgraph(["x0", "x1", "x2"])
    assert repr(part) == "PairwiseMarkovNetwork(3 nodes, without potentials)"
    assert part.copy().edges["x0", "x1"] == network.edges["x0", "x1"]
    tree = nx.maximum_spanning_tree(network)
    assert tree.number_of_edges() == 8
    assert all(own["strength"] > 0 for _, _, own in tree.edges(data=True))
    assert nx.relabel_nodes(network, {"x0": "z"}).has_edge("z", "x1")
    plain = network.to_networkx()
    assert type(plain) is nx.Graph
    assert plain.nodes["x0"] == {"states": [0, 1]}
    assert plain.edges["x0", "x1"] == network.edges["x0", "x1"]
    plain.remove_node("x0")
    assert "x0" in network


def test_without_potentials_it_is_pgmpys():
    network = PairwiseMarkovNetwork([("a", "b")])
    with pytest.raises(ValueError, match="has no potentials: make it with"):
        network.potentials  # noqa: B018
    with pytest.raises(ValueError, match="cannot join 'a' to itself"):
        network.add_edge("a", "a")
    network.add_edges_from([("b", "c")], weights=[2.0])
    network.add_factors(
        DiscreteFactor(["a", "b"], [2, 2], [3, 1, 1, 3]), DiscreteFactor(["b", "c"], [2, 2], [1, 1, 1, 1])
    )
    assert network.get_cardinality("a") == 2
    assert network.get_partition_function() == 16
    assert network.states["a"] == [0, 1]
    clone = network.copy()
    assert clone.edges["b", "c"]["weight"] == 2.0
    assert clone.marginals({"a": 1})["b"] == {0: 0.25, 1: 0.75}
    network.remove_factors(network.factors[0])
    assert len(clone.factors) == 2


def test_cost_is_told_before_anything_is_allocated():
    grid = grid_network(40, 40)
    cost = grid.estimate_cost()
    assert grid.width == cost.width >= 40
    assert cost.bytes > 2**40
    with pytest.raises(ValueError, match="width"):
        grid.marginals(method="exact")
    assert chain_network(50).width == 1
    assert chain_network(50).estimate_cost({"x25": 0}).cells < chain_network(50).estimate_cost().cells


def test_large_chain_scales_without_overflow():
    chain = chain_network(2500, 3)
    assert chain.log_partition_ > 2500
    values = np.concatenate([factor.values.ravel() for factor in chain.factors])
    assert np.isfinite(values).all()
    assert values.max() < 100


@pytest.mark.parametrize("size", [1.0, 1e160, 1e300])
def test_strengths_of_large_potentials_do_not_overflow(size):
    """A table of +size and -size, which the means of rows and columns leave as it is, has the norm 2 size."""
    potentials = PairwisePotentials.build([2, 2], None, {(0, 1): size * np.array([[1.0, -1.0], [-1.0, 1.0]])})
    network = PairwiseMarkovNetwork.from_potentials(["a", "b"], [("x", "y")] * 2, potentials)
    assert network.edges["a", "b"]["strength"] == pytest.approx(2 * size, rel=1e-12)

"""BDe with prior networks: against sums over all states, BDeu as a special case, score equivalence, refusals."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from helpers.examples import examples
from oracles.other_scores import bde
from pgmx.data import DiscreteTable
from pgmx.scores import BDeu
from pgmx.scores.discrete.bde import BDe


def random_network(rng, cards, n_edges, *, uniform=False):
    """Return a network over v0, v1, ... and the probability of a full tuple of states."""
    n = len(cards)
    order = rng.permutation(n).tolist()
    pairs = [(order[i], order[j]) for i, j in itertools.combinations(range(n), 2)]
    chosen = sorted(rng.permutation(len(pairs))[:n_edges].tolist())
    edges = [pairs[i] for i in chosen]
    network = DiscreteBayesianNetwork()
    network.add_nodes_from([f"v{v}" for v in rng.permutation(n)])
    network.add_edges_from([(f"v{a}", f"v{b}") for a, b in edges])
    tables = {}
    # the network has the states in an order of its own
    orders = [rng.permutation(r).tolist() for r in cards]
    for v in range(n):
        parents = [a for a, b in edges if b == v]
        values = rng.random((cards[v], math.prod(cards[p] for p in parents))) + 0.1
        values = np.ones_like(values) if uniform else values
        values /= values.sum(axis=0)
        tensor = values.reshape([cards[u] for u in (v, *parents)])
        tables[v] = (v, *parents), tensor
        moved = tensor[np.ix_(*(orders[u] for u in (v, *parents)))].reshape(values.shape)
        named = {f"v{u}": orders[u] for u in (v, *parents)}
        network.add_cpds(
            TabularCPD(f"v{v}", cards[v], moved, [f"v{p}" for p in parents], [cards[p] for p in parents], named)
        )

    def probability(point):
        return math.prod(float(tensor[tuple(point[u] for u in ids)]) for ids, tensor in tables.values())

    return network, probability


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    cards = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    most = len(cards) * (len(cards) - 1) // 2
    codes = np.stack([rng.integers(0, r, 40) for r in cards])
    table = DiscreteTable([f"v{v}" for v in range(len(cards))], [range(r) for r in cards], codes)
    return rng, table, cards, draw(st.integers(0, most))


@given(problems(), st.sampled_from([0.1, 1, 10, 300.0]))
@examples(40)
def test_against_sums_over_all_states(problem, size):
    rng, table, cards, n_edges = problem
    network, probability = random_network(rng, cards, n_edges)
    score = BDe(table, network, size)
    for _ in range(4):
        child, *parents = rng.permutation(len(cards))[: int(rng.integers(1, len(cards) + 1))].tolist()
        found = score.local_score(f"v{child}", [f"v{p}" for p in parents])
        assert found == pytest.approx(bde(table.codes, cards, child, parents, probability, size), rel=1e-9, abs=1e-9)


@given(problems())
@examples(30)
def test_a_uniform_network_gives_bdeu(problem):
    rng, table, cards, n_edges = problem
    mine, plain = BDe(table, random_network(rng, cards, n_edges, uniform=True)[0], 7), BDeu(table, 7)
    for k in range(len(cards)):
        child, *parents = (f"v{v}" for v in rng.permutation(len(cards))[: k + 1])
        assert mine.local_score(child, parents) == pytest.approx(
            plain.local_score(child, parents), rel=1e-10, abs=1e-10
        )


@given(problems())
@examples(30)
def test_equivalent_graphs_have_equal_scores(problem):
    """All orders of a complete graph are one class."""
    rng, table, cards, n_edges = problem
    score = BDe(table, random_network(rng, cards, n_edges)[0])
    totals = []
    for _ in range(3):
        order = [f"v{v}" for v in rng.permutation(len(cards))]
        totals.append(math.fsum(score.local_score(x, order[:i]) for i, x in enumerate(order)))
    np.testing.assert_allclose(totals, totals[0], rtol=1e-9, atol=1e-8)


def test_hidden_ancestors_are_summed_out(rng):
    """A chain of 30 variables: the joint of its ends takes small tables only."""
    n = 30
    network = DiscreteBayesianNetwork([(f"v{i}", f"v{i + 1}") for i in range(n - 1)])
    step = np.array([[0.9, 0.2], [0.1, 0.8]])
    network.add_cpds(TabularCPD("v0", 2, [[0.3], [0.7]]))
    network.add_cpds(*(TabularCPD(f"v{i}", 2, step, [f"v{i - 1}"], [2]) for i in range(1, n)))
    codes = rng.integers(0, 2, (n, 50))
    score = BDe(DiscreteTable([f"v{i}" for i in range(n)], [(0, 1)] * n, codes), network)
    first = np.array([0.3, 0.7])
    joint = np.linalg.matrix_power(step, n - 1) * first  # last given first, times first

    def probability(states):
        return joint[states[1], states[0]]

    expected = bde(codes[[0, n - 1]], [2, 2], 1, [0], probability, 10)
    assert score.local_score(f"v{n - 1}", ["v0"]) == pytest.approx(expected, rel=1e-10)


def rain():
    network = DiscreteBayesianNetwork([("rain", "wet")])
    network.add_cpds(
        TabularCPD("rain", 3, [[0.5], [0.3], [0.2]], state_names={"rain": ["none", "some", "much"]}),
        TabularCPD(
            "wet",
            2,
            [[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]],
            ["rain"],
            [3],
            {"wet": ["no", "yes"], "rain": ["none", "some", "much"]},
        ),
    )
    return network


def wet_frame():
    return pd.DataFrame({"wet": ["yes", "no", "no", "yes"], "rain": ["some", "none", "none", "some"]})


def test_the_network_declares_the_states():
    network = rain()
    score = BDe(wet_frame(), network, equivalent_sample_size=5)
    assert score.state_names == {"wet": ["no", "yes"], "rain": ["none", "some", "much"]}
    given_order = BDe(wet_frame(), network, 5, state_names={"rain": ["much", "none", "some"]})
    assert given_order.state_names["rain"] == ["much", "none", "some"]
    for family in [("wet", ("rain",)), ("rain", ()), ("rain", ("wet",))]:
        assert given_order.local_score(*family) == pytest.approx(score.local_score(*family), rel=1e-12)
        assert pickle.loads(pickle.dumps(score)).local_score(*family) == score.local_score(*family)
    assert score.prior_network is network


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (wet_frame().assign(sun=1), "have different variables; only in the data: 'sun'"),
        (wet_frame()[["wet"]], "have different variables; only in the prior network: 'rain'"),
        (wet_frame().replace("some", "drizzle"), r"'rain' holds the state\(s\) 'drizzle'"),
        (
            DiscreteTable(["wet", "rain"], [("no", "yes"), ("none", "some")], [[0, 1], [0, 1]]),
            "the states 'none', 'some', 'much' for 'rain', the data 'none', 'some'",
        ),
    ],
)
def test_data_of_another_shape(data, message):
    with pytest.raises(ValueError, match=message):
        BDe(data, rain())


def test_networks_that_are_none():
    with pytest.raises(TypeError, match="prior_network must be a fitted pgmpy DiscreteBayesianNetwork, got dict"):
        BDe(wet_frame(), {})
    zero = rain()
    zero.get_cpds("rain").values[0] = 0.0
    zero.get_cpds("rain").values[1] = 0.8
    with pytest.raises(ValueError, match="probability zero to a state of 'rain'"):
        BDe(wet_frame(), zero)
    bare = rain()
    bare.remove_cpds("wet")
    with pytest.raises(ValueError, match="node 'wet' has no conditional probability table"):
        BDe(wet_frame(), bare)
    with pytest.raises(ValueError, match="equivalent_sample_size must be a positive number, got 0"):
        BDe(wet_frame(), rain(), 0)

"""The k most probable configurations against the sorted list of all, and the laws of their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from helpers.examples import examples
from helpers.random_networks import as_list, evidence_for, factor_networks, pairwise_networks
from oracles import enumeration
from pgmx.datasets import load_network
from pgmx.inference import (
    CompiledNetwork,
    LogFactors,
    PairwisePotentials,
    TreewidthError,
    log_partition,
    map_assignment,
    most_probable_assignments,
)
from pgmx.inference.exact.k_best import LossTree
from pgmx.models import save_model


def list_all(cards, factors, evidence=None):
    """Return (log-value, states) of all possible configurations, the best first, equal ones in the order of states."""
    scored = [(enumeration.log_score(factors, x), x) for x in enumeration.configurations(cards, evidence)]
    scored = [(round(value, 9), x) for value, x in scored if value > -np.inf]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


@given(st.one_of(factor_networks(largest=6, arity=4), pairwise_networks()), st.integers(1, 40), st.data())
@examples(80)
def test_all_configurations_in_order(network, k, data):
    evidence = data.draw(evidence_for(network))
    cards, factors = as_list(network)
    expected = list_all(cards, factors, evidence)
    if not expected:
        with pytest.raises(ValueError, match="probability zero"):
            most_probable_assignments(network, k, evidence)
        return
    answers = most_probable_assignments(network, k, evidence)
    assert [tuple({**x, **evidence}[v] for v in range(len(cards))) for x in answers] == [x for _, x in expected[:k]]
    assert [x.log_value for x in answers] == pytest.approx([value for value, _ in expected[:k]], abs=2e-9)
    assert answers[0].log_value == pytest.approx(map_assignment(network, evidence).log_value, abs=1e-9)
    assert all(list(x) == [v for v in range(len(cards)) if v not in evidence] for x in answers)


@pytest.mark.parametrize("case", range(10))
def test_equal_configurations_are_in_the_order_of_states(case):
    rng = np.random.default_rng(case)
    cards = rng.integers(1, 4, 6).tolist()
    # the same few values in all tables: many sums are equal
    scopes = [tuple(rng.permutation(6)[:2].tolist()) for _ in range(5)]
    tables = [rng.choice(np.log([0.1, 0.2, 0.5]), [cards[v] for v in scope]) for scope in scopes]
    expected = list_all(cards, list(zip(scopes, tables, strict=True)))
    for k in (1, 5, 17, 1000):
        answers = most_probable_assignments(LogFactors(cards, scopes, tables), k)
        assert [tuple(x.values()) for x in answers] == [x for _, x in expected[:k]]


def test_more_equal_configurations_than_are_listed():
    # 2^16 equal ones, beyond the first four
    factors = LogFactors([2] * 18, [(0, 1), (17,)], [[[0.0, 1.0], [0.0, 2.0]], [0.0, 0.0]])
    answers = most_probable_assignments(factors, 3)
    assert [tuple(x.values()) for x in answers] == [(1, 1, *map(int, f"{code:016b}")) for code in range(3)]
    uniform = most_probable_assignments(PairwisePotentials.independent([3] * 12), 30)
    assert [tuple(x.values()) for x in uniform] == [
        (0,) * 8 + (a, b, c, d) for a in range(3) for b in range(3) for c in range(3) for d in range(3)
    ][:30]
    best = LogFactors([2] * 16, [(0,), (15,)], [[0.0, 0.5], [0.3, 0.0]])  # 2^14 equal ones, four times
    found = most_probable_assignments(best, 2**14 + 2)
    assert [tuple(x.values())[::15] for x in found[-3:]] == [(1, 0), (1, 1), (1, 1)]
    assert [tuple(x.values()) for x in found[-2:]] == [(1, *[0] * 14, 1), (1, *[0] * 13, 1, 1)]


@pytest.mark.parametrize("case", range(8))
def test_many_maximisers_are_in_the_order_of_states(case):
    rng = np.random.default_rng(case)
    cards = rng.integers(1, 4, 9).tolist()
    scopes = [tuple(rng.permutation(9)[: rng.integers(1, 4)].tolist()) for _ in range(5)]
    tables = [
        rng.choice([0.5, 0.5, 0.5, 0.2, -np.inf], [cards[v] for v in scope])  # most configurations are equal
        for scope in scopes
    ]
    for table in tables:
        table.flat[0] = 0.5  # not all are impossible
    scored = list_all(cards, list(zip(scopes, tables, strict=True)), {4: 0})
    expected = [x for value, x in scored if value == scored[0][0]]
    tree = LossTree(LogFactors(cards, scopes, tables), {4: 0}, 2**31)
    for k in (1, 3, 50, 10**4):
        assert [tuple(x) for x in tree.list_maximisers(k, 1e-9).tolist()] == expected[:k]


def test_impossible_configurations_are_left_out():
    network = LogFactors([2, 2], [(0, 1)], [[[0.0, -np.inf], [-np.inf, 1.0]]])
    assert most_probable_assignments(network, 10) == [{0: 1, 1: 1}, {0: 0, 1: 0}]
    assert most_probable_assignments(network, 10, {0: 0}) == [{1: 0}]
    assert most_probable_assignments(network, 10, {0: 0, 1: 0}) == [{}]
    with pytest.raises(ValueError, match="probability zero"):
        most_probable_assignments(network, 10, {0: 0, 1: 1})


def test_bayesian_networks_and_their_kept_form(tmp_path):
    asia = load_network("asia")
    save_model(asia, tmp_path / "asia.bif")
    answers = most_probable_assignments(asia, 20, {"dysp": "yes"})
    for other in (CompiledNetwork(asia), tmp_path / "asia.bif", asia.to_markov_model()):
        again = most_probable_assignments(other, 20, {"dysp": "yes"})
        assert sorted(again[0]) == sorted(answers[0])
        assert [x.log_value for x in again] == pytest.approx([x.log_value for x in answers], abs=1e-12)
    for answer in answers:
        assert log_partition(asia, {**answer, "dysp": "yes"}) == pytest.approx(answer.log_value, abs=1e-12)
    assert answers[0] == map_assignment(asia, {"dysp": "yes"})
    assert (answers[0].exact, answers[1].exact, answers[1].method) == (True, False, "exact")
    assert answers[1].gap == answers[0].log_value - answers[1].log_value
    values = [x.log_value for x in most_probable_assignments(asia, 10**4)]
    assert values == sorted(values, reverse=True)
    assert np.exp(values).sum() == pytest.approx(1.0, abs=1e-12)
    assert len(values) == 2**7  # `either` is determined by its parents


def test_interventions_cut_edges():
    asia = load_network("asia")
    answers = most_probable_assignments(asia, 5, {"xray": "yes"}, do={"lung": "yes"})
    cut = asia.do(["lung"])
    cut.remove_cpds("lung")
    cut.add_cpds(TabularCPD("lung", 2, [[1.0], [0.0]], state_names={"lung": ["yes", "no"]}))
    expected = most_probable_assignments(cut, 5, {"xray": "yes"})
    assert answers == [{name: x[name] for name in x if name != "lung"} for x in expected]
    with pytest.raises(TypeError, match="do needs a Bayesian network"):
        most_probable_assignments(asia.to_markov_model(), 5, do={"lung": "yes"})


def test_bad_input():
    asia = load_network("asia")
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        most_probable_assignments(asia, 0)
    with pytest.raises(ValueError, match="no variable 'lungs'"):
        most_probable_assignments(asia, 2, {"lungs": "yes"})
    with pytest.raises(ValueError, match="both in do and in evidence"):
        most_probable_assignments(asia, 2, {"lung": "yes"}, do={"lung": "yes"})
    with pytest.raises(TreewidthError, match="use map_assignment for a single configuration"):
        most_probable_assignments(asia, 2, memory=100)
    single = DiscreteBayesianNetwork()
    single.add_node("a")
    single.add_cpds(TabularCPD("a", 3, [[0.2], [0.5], [0.3]]))
    assert [x["a"] for x in most_probable_assignments(single, 9)] == [1, 2, 0]

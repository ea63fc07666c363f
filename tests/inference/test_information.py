"""Mutual information with a target against enumeration, and exact zeros against d-separation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from helpers.examples import examples
from helpers.random_networks import as_list, evidence_for, factor_networks, pairwise_networks
from oracles import enumeration
from pgmx.datasets import load_network
from pgmx.inference import CompiledNetwork, LogFactors, TreewidthError, marginals, mutual_information
from pgmx.models import save_model


def compute_information(table):
    """Return the mutual information of the two variables of a joint distribution."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    return sum(p * np.log(p / q) for p, q in zip(table.ravel(), product.ravel(), strict=True) if p > 0.0)


@given(st.one_of(factor_networks(largest=5, arity=3), pairwise_networks(largest=5)), st.data())
@examples(60)
def test_markov_networks_against_enumeration(network, data):
    evidence = data.draw(evidence_for(network))
    cards, factors = as_list(network)
    hidden = [v for v in range(len(cards)) if v not in evidence]
    if not hidden:
        return
    target = data.draw(st.sampled_from(hidden))
    if enumeration.log_partition(cards, factors, evidence) == -np.inf:
        with pytest.raises(ValueError, match="probability zero"):
            mutual_information(network, target, evidence)
        return
    found = mutual_information(network, target, evidence)
    assert set(found.index) == set(hidden) - {target}
    assert (np.diff(found) <= 0.0).all()
    assert (found >= 0.0).all()
    for v, value in found.items():
        pair = enumeration.joint(cards, factors, (v, target), evidence)
        assert value == pytest.approx(
            compute_information(np.array(list(pair.values())).reshape(cards[v], -1)), abs=1e-12
        )
    links = {v: {u for scope, _ in factors for u in scope if v in scope} for v in range(len(cards))}
    seen, waiting = {target}, [target]
    for v in waiting:
        waiting += [u for u in links[v] if u not in seen | set(evidence)]
        seen.update(waiting)
    assert all(found[v] == 0.0 for v in hidden if v not in seen)


@pytest.mark.parametrize("case", range(12))
def test_zeros_are_those_of_d_separation(case):
    rng = np.random.default_rng(case)
    names = [f"v{k}" for k in range(7)]
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(names)
    for u, v in itertools.combinations(rng.permutation(7).tolist(), 2):
        if rng.random() < 0.3:
            network.add_edge(names[u], names[v])
    for name in names:
        parents = list(network.predecessors(name))
        values = rng.dirichlet([1.0, 1.0], 2 ** len(parents)).T
        network.add_cpds(TabularCPD(name, 2, values, parents, [2] * len(parents)))
    observed = [name for name in names if rng.random() < 0.3]
    evidence = {name: int(rng.integers(2)) for name in observed}
    compiled = CompiledNetwork(network)
    for target in (name for name in names if name not in observed):
        found = mutual_information(compiled, target, evidence)
        for name, value in found.items():
            assert (value == 0.0) == (not network.is_dconnected(target, name, observed=observed))
            given_target = [marginals(network, {**evidence, target: s}).array(name) for s in (0, 1)]
            table = np.array(given_target) * marginals(network, evidence).array(target)[:, None]
            assert value == pytest.approx(compute_information(table), abs=1e-12)
            assert value == pytest.approx(mutual_information(compiled, name, evidence)[target], abs=1e-12)


def test_the_series(tmp_path):
    asia = load_network("asia")
    save_model(asia, tmp_path / "asia.bif")
    found = mutual_information(asia, "lung", {"xray": "yes"})
    assert found.index[0] == "either"
    assert found.name == "mutual_information"
    pd.testing.assert_series_equal(mutual_information(tmp_path / "asia.bif", "lung", {"xray": "yes"}), found)
    some = mutual_information(CompiledNetwork(asia), "lung", {"xray": "yes"}, ["asia", "lung", "smoke"])
    share = marginals(asia, {"xray": "yes"}).array("lung")
    assert list(some.index) == ["lung", "smoke", "asia"]
    assert some["lung"] == pytest.approx(-(share * np.log(share)).sum(), abs=1e-12)
    assert some["smoke"] == pytest.approx(found["smoke"], abs=1e-15)
    assert list(mutual_information(asia, "asia")[["lung", "bronc", "smoke"]]) == [0.0, 0.0, 0.0]
    equal = mutual_information(asia, "smoke", {"lung": "no", "bronc": "yes"})
    assert list(equal.index) == ["asia", "tub", "either", "xray", "dysp"]  # all 0: in the order of the nodes


def test_names_that_are_tuples_and_a_target_that_is_known():
    network = DiscreteBayesianNetwork([(("a", 1), ("b", 2))])
    network.add_cpds(TabularCPD(("a", 1), 2, [[1.0], [0.0]]))
    network.add_cpds(TabularCPD(("b", 2), 2, [[0.3, 0.6], [0.7, 0.4]], [("a", 1)], [2]))
    assert mutual_information(network, ("a", 1)).to_dict() == {("b", 2): 0.0}
    assert mutual_information(network, ("a", 1), variables=[("a", 1)]).to_dict() == {("a", 1): 0.0}
    assert mutual_information(LogFactors([2], [(0,)], [[0.0, 1.0]]), 0).empty


def test_bad_input():
    asia = load_network("asia")
    with pytest.raises(ValueError, match="no variable 'lungs'.*did you mean 'lung'"):
        mutual_information(asia, "lungs")
    with pytest.raises(ValueError, match="'lung' cannot be both in variables and in evidence"):
        mutual_information(asia, "lung", {"lung": "yes"})
    with pytest.raises(TypeError, match="variables must be a list of names"):
        mutual_information(asia, "lung", variables="tub")
    with pytest.raises(ValueError, match="probability zero"):
        mutual_information(asia, "smoke", {"either": "no", "lung": "yes"})
    wide = LogFactors([2] * 60, [(i, j) for i in range(60) for j in range(i)], [np.eye(2)] * 1770)
    with pytest.raises(TreewidthError, match="method='corrected'"):
        mutual_information(wide, 0)

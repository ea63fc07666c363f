"""Questions by name to networks of pgmpy, of arrays and of factors, against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.examples import examples
from helpers.random_networks import as_list, evidence_for, factor_networks
from oracles import enumeration
from pgmx.datasets import grid_network
from pgmx.inference import (
    ApproximationWarning,
    LogFactors,
    Marginals,
    PairwisePotentials,
    TreewidthError,
    estimate_cost,
    joint,
    log_partition,
    map_assignment,
    marginals,
    sample,
)
from pgmx.inference.partition import MOST_OPERATIONS


@pytest.fixture
def model():
    """A pgmpy network with a factor of three variables, a separate component, and states of several types."""
    rng = np.random.default_rng(1)
    network = DiscreteMarkovNetwork()
    network.add_nodes_from([3, "b", "c", "d", "e"])
    states = {3: ["no", "yes"], "b": [0, 1, 2], "c": [True, False], "d": [5, 4], "e": ["x", "y"]}
    for scope in [(3, "b", "c"), ("c", 3), ("d", "e"), ("e",)]:
        network.add_edges_from(itertools.combinations(scope, 2))
        cards = [len(states[name]) for name in scope]
        values = rng.random(int(np.prod(cards))) + 0.1
        network.add_factors(DiscreteFactor(list(scope), cards, values, {name: states[name] for name in scope}))
    return network


@given(factor_networks(largest=5, arity=3), st.data())
@examples(60)
def test_factors_of_any_arity(network, data):
    evidence = data.draw(evidence_for(network))
    cards, factors = as_list(network)
    total = enumeration.log_partition(cards, factors, evidence)
    if total == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            log_partition(network, evidence)
        return
    assert log_partition(network, evidence) == pytest.approx(total, abs=1e-9)
    wanted = enumeration.marginals(cards, factors, evidence)
    found = marginals(network, evidence)
    for v in found:
        np.testing.assert_allclose(found.array(v), wanted[v], atol=1e-9)
    best, _ = enumeration.most_probable(cards, factors, evidence)
    states = {**map_assignment(network, evidence), **evidence}
    assert enumeration.log_score(factors, [states[v] for v in range(len(cards))]) == pytest.approx(best, abs=1e-9)
    rows = sample(network, 20, evidence=evidence).codes
    assert np.isfinite(network.log_score(rows)).all()


def test_a_network_of_pgmpy_in_all_engines(model):
    evidence = {"d": 4}
    exact = marginals(model, evidence)
    assert list(exact) == [3, "b", "c", "e"]
    assert list(exact["c"]) == [True, False]
    loopy = marginals(model, evidence, method="loopy")
    gibbs = marginals(model, evidence, method="gibbs", n_samples=30_000, thinning=2)
    for name in exact:
        np.testing.assert_allclose(gibbs.array(name), exact.array(name), atol=0.015)
        np.testing.assert_allclose(loopy.array(name), exact.array(name), atol=0.05)
    np.testing.assert_allclose(joint(model, ["e"], evidence, method="loopy"), exact.array("e"), atol=1e-9)
    assert joint(model, ["b", 3], evidence).shape == (3, 2)
    assert map_assignment(model, evidence, method="loopy") == map_assignment(model, evidence)
    assert log_partition(model, method="loopy") == pytest.approx(log_partition(model), abs=0.2)
    assert estimate_cost(model).width == 2
    table = sample(model, 50, evidence=evidence)
    assert table.states[table.index("c")] == (True, False)
    assert (table.codes[table.index("d")] == 1).all()
    assert sample(model, 50, method="gibbs", burn_in=10).columns == (3, "b", "c", "d", "e")


def test_memory_decides_the_engine(model):
    with pytest.warns(ApproximationWarning, match=r"belief propagation.*more than the 16 bytes"):
        assert marginals(model, memory=16, n_sweeps=1000).method == "corrected"
    with pytest.warns(ApproximationWarning, match=r"Gibbs sampling.*more than the 16 bytes"):
        assert sample(model, 5, memory=16, burn_in=5).n_rows == 5
    for ask in (marginals, map_assignment):
        with pytest.raises(TreewidthError):
            ask(model, method="exact", memory=8)
    with pytest.raises(TreewidthError):
        sample(model, 5, method="exact", memory=16)


def test_arrays_have_numbers_for_names():
    potentials = PairwisePotentials.build([2, 3], tables={(0, 1): np.zeros((2, 3))})
    assert marginals(potentials, {1: 2}) == {0: {0: 0.5, 1: 0.5}}
    assert marginals(LogFactors.from_potentials(potentials))[1] == pytest.approx(dict.fromkeys(range(3), 1 / 3))


def test_marginals_are_a_mapping():
    found = Marginals(["a", "b"], [("x", "y"), (0,)], [np.array([0.25, 0.75]), np.ones(1)], "loopy", False)
    assert dict(found) == {"a": {"x": 0.25, "y": 0.75}, "b": {0: 1.0}}
    assert len(found) == 2
    assert "a" in found
    with pytest.raises(KeyError):
        found["c"]


def test_models_of_other_kinds():
    with pytest.raises(TypeError, match="model must be a discrete network of pgmpy or pgmx.models, .* got list"):
        marginals([1, 2])


@pytest.mark.parametrize("method", ["auto", "exact", "loopy", "gibbs"])
def test_unknown_options(model, method):
    with pytest.raises(TypeError, match=f"unknown option.* 'max_itr': method='{method}' accepts"):
        marginals(model, method=method, max_itr=3)
    with pytest.raises(TypeError, match="unknown option.* 'tol'"):
        sample(model, 3, method="exact", tol=1e-3)


@pytest.mark.parametrize("question", [marginals, lambda model, **options: joint(model, [0], **options)])
def test_no_samples_are_no_estimate(question):
    with pytest.raises(ValueError, match="n_samples must be at least 1.*got 0"):
        question(PairwisePotentials.independent([2, 3]), method="gibbs", n_samples=0)


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1, got 0"),
        ({"n_samples": 2.5}, TypeError, "n_samples must be an integer, got 2.5"),
        ({"n_samples": True}, TypeError, "n_samples must be an integer, got True"),
        ({"n_samples": 5, "seed": -1}, ValueError, "seed must not be negative, got -1"),
        ({"n_samples": 5, "seed": 1.5}, TypeError, "seed must be an integer, or None for fresh entropy, got 1.5"),
    ],
)
@pytest.mark.parametrize("method", ["exact", "gibbs", "auto"])
def test_wrong_numbers_of_rows_and_seeds(options, error, what, method):
    with pytest.raises(error, match=what):
        sample(PairwisePotentials.independent([2, 3]), method=method, **options)


def test_too_wide_for_exact_inference_names_what_the_caller_may_choose(monkeypatch, model):
    monkeypatch.setitem(MOST_OPERATIONS, "exact", 0)
    with pytest.raises(TreewidthError, match=r"importance sampling \(method='ais'\), a sparser network"):
        log_partition(grid_network(4, 4), method="exact", memory=10)
    with pytest.raises(TreewidthError, match=r"corrected by samples \(method='corrected'\), a sparser network"):
        marginals(model, method="exact", memory=10)
    with pytest.raises(TreewidthError, match=r"use a search \(method='search'\), a sparser network"):
        map_assignment(model, method="exact", memory=10)
    with pytest.raises(TreewidthError, match=r"use Gibbs sampling \(method='gibbs'\), a sparser network"):
        sample(model, 5, method="exact", memory=10)
    with pytest.raises(TreewidthError, match=r"fewer variables.*method='gibbs' of pgmx.inference.joint"):
        joint(PairwisePotentials.independent([2] * 40), list(range(40)), memory=2**20)


def test_the_seed_of_draws_is_named():
    with pytest.raises(TypeError, match=r"unknown option.* 'random_state'.*; the seed of the draws is seed="):
        sample(grid_network(2, 2), 3, method="gibbs", random_state=0)

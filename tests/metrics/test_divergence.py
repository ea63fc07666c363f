"""Kullback-Leibler divergence of two networks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from helpers.bayesian_networks import joint_table, random_network
from pgmx.datasets import load_network
from pgmx.inference.exact.family_marginals import FamilyMarginals
from pgmx.inference.named_networks import BayesianArrays
from pgmx.metrics import kl_divergence


def summed_divergence(p, q):
    """The definition: a sum over all configurations."""
    joint, other = joint_table(p), joint_table(q)
    with np.errstate(divide="ignore"):
        return sum(x * (np.log(x) - np.log(y)) for x, y in zip(joint.ravel(), other.ravel(), strict=True) if x > 0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.0, 0.2]))
def test_exact_divergence_is_the_sum_over_all_configurations(seed, n, zeros):
    rng = np.random.default_rng(seed)
    p = random_network(rng, n, zeros=zeros)
    q = random_network(rng, n, cards=[p.get_cardinality(f"v{v}") for v in range(n)], zeros=zeros / 4)
    expected = summed_divergence(p, q)
    found = kl_divergence(p, q)
    assert found.exact
    assert found.standard_error == 0
    assert found.nats == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert (found.nats == np.inf) == bool(found.impossible)
    assert found.nats >= 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_joint_distributions_of_any_variables(seed, n):
    rng = np.random.default_rng(seed)
    model = random_network(rng, n)
    joint = joint_table(model)
    arrays = BayesianArrays.from_model(model).normalise()
    marginals = FamilyMarginals(arrays, 2**20)
    names = sorted(model.nodes())
    at = [arrays.names.index(name) for name in names]
    for _ in range(4):
        chosen = rng.permutation(n)[: rng.integers(1, n + 1)]
        expected = joint.sum(axis=tuple(v for v in range(n) if v not in chosen)).transpose(
            np.argsort(np.argsort(chosen))
        )
        np.testing.assert_allclose(marginals.joint([at[v] for v in chosen]), expected, rtol=1e-9, atol=1e-15)


def test_answers_do_not_depend_on_what_was_asked_before():
    arrays = BayesianArrays.from_model(load_network("asia")).normalise()
    pairs = [(u, v) for u in range(8) for v in range(u)]
    first, second = FamilyMarginals(arrays, 2**10), FamilyMarginals(arrays, 2**10)
    second.joint(range(8))
    for pair in pairs:
        second.joint(pair[::-1])
    assert all(first.joint(pair).tobytes() == second.joint(pair).tobytes() for pair in pairs)


def test_samples_stand_in_for_large_tables_and_say_so():
    network = load_network("alarm")
    other = network.copy()
    for cpd in other.get_cpds():
        cpd.values = (cpd.values + 0.05) / (cpd.values + 0.05).sum(axis=0)
    exact = kl_divergence(network, other)
    assert exact.exact
    for max_cells in (0, 20):
        estimate = kl_divergence(network, other, max_cells=max_cells, n_samples=20_000)
        assert not estimate.exact
        assert 0 < estimate.standard_error < 0.02
        assert abs(estimate.nats - exact.nats) < 4 * estimate.standard_error
        assert estimate == kl_divergence(network, other, max_cells=max_cells, n_samples=20_000)
    assert estimate != kl_divergence(network, other, max_cells=20, n_samples=20_000, random_state=1)


def test_standard_error_of_a_single_coin():
    """Of n rows k show the first state, whose log-ratio differs from that of the second: a binomial mean."""
    true, other = coin([0.3, 0.7]), coin([0.5, 0.5])
    first, second = np.log(0.3 / 0.5), np.log(0.7 / 0.5)
    n = 20
    estimate = kl_divergence(true, other, max_cells=0, n_samples=n)
    share = (estimate.nats - second) / (first - second)
    assert round(share * n) == pytest.approx(share * n, abs=1e-9)
    variance = n / (n - 1) * share * (1 - share) * (first - second) ** 2
    assert 0 < share < 1
    assert estimate.standard_error == pytest.approx(np.sqrt(variance / n), rel=1e-9)


def test_samples_are_not_the_rows_that_a_network_was_learned_from():
    from pgmx.data import encode
    from pgmx.datasets import sample
    from pgmx.models import fit_discrete

    network = load_network("asia")
    table = encode(sample(network, 300, random_state=0))
    position = {name: v for v, name in enumerate(table.columns)}
    learned = fit_discrete(table, [(position[u], position[v]) for u, v in network.edges()])
    for cpd in learned.get_cpds():
        cpd.values = 0.999 * cpd.values + 0.001 / cpd.values.shape[0]
    exact, sampled = (kl_divergence(network, learned, max_cells=cells) for cells in (2**10, 0))
    assert abs(sampled.nats - exact.nats) < 4 * sampled.standard_error


def coin(p, states=("no", "yes"), name="a"):
    model = DiscreteBayesianNetwork()
    model.add_node(name)
    model.add_cpds(TabularCPD(name, len(p), [[x] for x in p], state_names={name: list(states)}))
    return model


def test_zeros_make_it_infinite_and_are_named():
    assert kl_divergence(coin([0.5, 0.5]), coin([1.0, 0.0])) == (np.inf, 0.0, True, ("a",))
    assert kl_divergence(coin([0.5, 0.5]), coin([1.0, 0.0]), max_cells=0) == (np.inf, 0.0, True, ("a",))
    assert kl_divergence(coin([1.0, 0.0]), coin([0.5, 0.5])).nats == pytest.approx(np.log(2))


def test_states_are_matched_by_name():
    turned = coin([0.25, 0.75], states=("yes", "no"))
    assert kl_divergence(coin([0.75, 0.25]), turned).nats == pytest.approx(0, abs=1e-15)
    more = coin([0.2, 0.3, 0.5], states=("yes", "perhaps", "no"))
    assert kl_divergence(coin([0.75, 0.25]), more).nats == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(1.25))
    fewer = coin([1.0], states=("no",))
    assert kl_divergence(coin([0.75, 0.25]), fewer).impossible == ("a",)
    with pytest.raises(ValueError, match=r"variable 'a' has the states \['no', 'yes'\] .* and \[0, 1\]"):
        kl_divergence(coin([0.5, 0.5]), coin([0.5, 0.5], states=(0, 1)))


def test_rounded_files_are_scaled():
    rounded = coin([0.3333, 0.6666])
    assert kl_divergence(coin([1 / 3, 2 / 3]), rounded).nats < 1e-8


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"q": None}, TypeError, "q must be a fitted pgmpy DiscreteBayesianNetwork, got NoneType"),
        (
            {"q": coin([1.0], ["x"], name="b")},
            ValueError,
            "different variables; only in the first .*'a'; .*'b'",
        ),
        ({"q": DiscreteBayesianNetwork([("a", "b")])}, ValueError, "node 'a' has no conditional probability table"),
        ({"n_samples": 1}, ValueError, "n_samples must be at least 2, got 1"),
        ({"max_cells": 1.5}, TypeError, "max_cells must be an integer, got 1.5"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        kl_divergence(**{"p": coin([0.5, 0.5]), "q": coin([0.5, 0.5]), **arguments})


def test_parents_whose_states_differ_from_their_own_are_refused():
    model = coin([0.5, 0.5])
    model.add_edge("a", "b")
    cpd = TabularCPD("b", 2, [[0.5, 0.5], [0.5, 0.5]], ["a"], [2], state_names={"a": ["no", "maybe"], "b": [0, 1]})
    model.add_cpds(cpd)
    with pytest.raises(ValueError, match=r"node 'b' gives 'a' the states \['no', 'maybe'\]"):
        kl_divergence(model, model)

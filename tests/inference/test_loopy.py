"""Loopy belief propagation: exact on forests, the fixed point of a slow twin elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.random_networks import as_list, table_of
from oracles import belief_propagation, enumeration
from pgmx.inference import PairwisePotentials, loopy_belief_propagation
from pgmx.inference.approximate import loopy


@st.composite
def forests(draw, largest=7):
    """Random forests of variables of 1 to 4 states, some cells impossible."""
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=largest))
    parents = [draw(st.integers(-1, v - 1)) for v in range(1, len(cards))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.2]))
    tables = {(u, v): table_of(rng, (cards[u], cards[v]), share) for v, u in enumerate(parents, 1) if u >= 0}
    return PairwisePotentials.build(cards, [table_of(rng, size, 0.0) for size in cards], tables)


def dense(rng, n=6, states=3, scale=0.4):
    tables = {(i, j): rng.normal(scale=scale, size=(states, states)) for i in range(n) for j in range(i + 1, n)}
    return PairwisePotentials.build([states] * n, list(rng.normal(size=(n, states))), tables)


def vectors(potentials, flat):
    return np.split(flat, potentials.node_offsets[1:-1])


def assert_exact(potentials, evidence, found):
    cards, factors = as_list(potentials)
    wanted = enumeration.log_partition(cards, factors, evidence)
    assert found.converged
    np.testing.assert_allclose(found.log_partition, wanted, rtol=1e-10, atol=1e-10)
    for own, exact in zip(
        vectors(potentials, found.node_beliefs), enumeration.marginals(cards, factors, evidence), strict=True
    ):
        np.testing.assert_allclose(own, exact, atol=1e-10)
    pairs = [enumeration.pair_marginal(cards, factors, i, j, evidence) for i, j in potentials.edges.tolist()]
    flat = np.concatenate([np.zeros(0), *(np.ravel(table) for table in pairs)])
    np.testing.assert_allclose(found.edge_beliefs, flat, atol=1e-10)


@given(data=st.data())
def test_forests_are_exact_after_one_sweep(data):
    potentials = data.draw(forests())
    cards, factors = as_list(potentials)
    evidence = {0: data.draw(st.integers(0, cards[0] - 1))} if data.draw(st.booleans()) else {}
    if enumeration.log_partition(cards, factors, evidence) == -np.inf:
        with pytest.raises(ValueError, match="no configuration has positive probability"):
            loopy_belief_propagation(potentials, evidence=evidence)
        return
    found = loopy_belief_propagation(potentials, evidence=evidence)
    assert found.n_iter <= 2  # the second finds nothing to change
    assert_exact(potentials, evidence, found)


@pytest.mark.slow
@given(potentials=forests())
def test_work_in_logarithms_is_the_same(potentials):
    cards, factors = as_list(potentials)
    if enumeration.log_partition(cards, factors) == -np.inf:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loopy, "LINEAR_RANGE", -1.0)
        assert_exact(potentials, {}, loopy_belief_propagation(potentials))


@given(potentials=forests())
def test_max_product_on_forests(potentials):
    cards, factors = as_list(potentials)
    best, configurations = enumeration.most_probable(cards, factors)
    if best == -np.inf:
        return
    found = loopy_belief_propagation(potentials, maximise=True)
    np.testing.assert_allclose(found.log_partition, best, rtol=1e-10, atol=1e-10)
    for v, own in enumerate(vectors(potentials, found.node_beliefs)):
        assert own.max() == pytest.approx(1.0)
        for a in range(cards[v]):
            score, _ = enumeration.most_probable(cards, factors, {v: a})
            np.testing.assert_allclose(own[a], np.exp(score - best), atol=1e-10)
    assert configurations


@pytest.mark.parametrize("logs", [False, True])
def test_cycles_reach_the_fixed_point_of_flooding(logs, rng, monkeypatch):
    if logs:
        monkeypatch.setattr(loopy, "LINEAR_RANGE", -1.0)
    potentials = dense(rng)
    cards, factors = as_list(potentials)
    alone, joined = belief_propagation.beliefs(cards, factors)
    found = loopy_belief_propagation(potentials, tol=1e-12)
    assert found.converged
    np.testing.assert_allclose(found.node_beliefs, np.concatenate(alone), atol=1e-9)
    flat = np.concatenate([np.ravel(joined[i, j]) for i, j in potentials.edges.tolist()])
    np.testing.assert_allclose(found.edge_beliefs, flat, atol=1e-9)
    wanted = belief_propagation.bethe_log_partition(cards, factors, alone, joined)
    np.testing.assert_allclose(found.log_partition, wanted, rtol=1e-9)


def test_damping_changes_the_way_and_not_the_end(rng):
    potentials = dense(rng)
    plain = loopy_belief_propagation(potentials, tol=1e-11)
    damped = loopy_belief_propagation(potentials, tol=1e-11, damping=0.7)
    assert damped.converged
    assert damped.n_iter > plain.n_iter
    np.testing.assert_allclose(damped.node_beliefs, plain.node_beliefs, atol=1e-9)


def test_messages_that_circle_are_damped():
    # A frustrated triangle with strong couplings: undamped messages change sides for ever.
    apart = np.array([[0.0, 4.0], [4.0, 0.0]])
    fields = [[0.3, 0.0], [0.0, 0.2], [0.1, 0.0], [0.0, 0.4]]
    tables = {(i, j): apart for i in range(4) for j in range(i + 1, 4)}
    found = loopy_belief_propagation(PairwisePotentials.build([2] * 4, fields, tables), max_iter=5000)
    assert found.converged
    assert found.damping > 0


def test_messages_of_a_result_are_a_start(rng):
    potentials = dense(rng)
    first = loopy_belief_propagation(potentials)
    again = loopy_belief_propagation(potentials, messages=first.messages)
    assert again.n_iter == 1 < first.n_iter
    np.testing.assert_allclose(again.node_beliefs, first.node_beliefs, atol=1e-7)


def test_a_run_that_is_cut_says_so(rng):
    found = loopy_belief_propagation(dense(rng), max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert found.residual > 1e-8
    assert np.isfinite(found.log_partition)
    timed = loopy_belief_propagation(dense(rng, scale=1.0), max_iter=10**6, tol=0.0, max_time=0.0)
    assert timed.n_iter <= 10


@pytest.mark.parametrize("scale", [3.0, 50.0, 2000.0])
def test_long_chains_with_strong_tables(scale, rng):
    """Values far beyond the range of exponentials, against forward sums in logarithms."""
    n = 400
    tables = {(i, i + 1): rng.normal(scale=scale, size=(3, 3)) for i in range(n - 1)}
    forward = np.zeros(3)
    for table in tables.values():
        forward = np.logaddexp.reduce(forward[:, None] + table, axis=0)
    found = loopy_belief_propagation(PairwisePotentials.build([3] * n, None, tables))
    np.testing.assert_allclose(found.log_partition, np.logaddexp.reduce(forward), rtol=1e-12)


def test_a_hub_whose_neighbours_disagree_does_not_underflow():
    tables = {(0, v): [[3.0, 0.0], [0.0, 3.0]] for v in range(1, 801)}
    fields = [None, *([[5.0, 0.0]] * 400), *([[0.0, 5.0]] * 400)]
    found = loopy_belief_propagation(PairwisePotentials.build([2] * 801, fields, tables))
    np.testing.assert_allclose(found.node_beliefs[:2], 0.5, atol=1e-9)


def test_a_single_variable():
    found = loopy_belief_propagation(PairwisePotentials.build([3], [[0.0, 1.0, 2.0]]))
    np.testing.assert_allclose(found.log_partition, np.log(np.exp([0.0, 1.0, 2.0]).sum()))
    assert found.edge_beliefs.size == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"tol": -1.0}, "tol must be a non-negative number"),
        ({"damping": 1.0}, r"damping must lie in \[0, 1\), got 1.0"),
        ({"messages": np.ones(3)}, r"messages must have shape \(8,\) for these edges"),
        ({"evidence": {5: 0}}, "evidence names variable 5: variables are numbered 0..2"),
        ({"evidence": {0: 2}}, "evidence gives variable 0 the code 2: it must be in 0..1"),
    ],
)
def test_bad_options(options, words):
    chain = PairwisePotentials.build([2, 2, 2], None, {(0, 1): np.eye(2), (1, 2): np.eye(2)})
    with pytest.raises(ValueError, match=words):
        loopy_belief_propagation(chain, **options)

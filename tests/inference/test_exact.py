"""Exact inference against the enumeration of every configuration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.random_networks import as_list, evidence_for, factor_networks, pairwise_networks
from oracles import enumeration
from pgmx.inference import ExactInference, LogFactors, PairwisePotentials, TreewidthError, elimination_plan

NETWORKS = st.one_of(pairwise_networks(), factor_networks())


@st.composite
def questions(draw):
    """A network and evidence that is possible in it."""
    network = draw(NETWORKS)
    evidence = draw(evidence_for(network))
    assume(enumeration.log_partition(*as_list(network), evidence) > -math.inf)
    return network, evidence


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)


@given(questions())
def test_marginals_and_log_partition(question):
    network, evidence = question
    cards, factors = as_list(network)
    inference = ExactInference(network, evidence)
    assert inference.log_partition == pytest.approx(enumeration.log_partition(cards, factors, evidence), abs=1e-10)
    for found, wanted in zip(inference.marginals(), enumeration.marginals(cards, factors, evidence), strict=True):
        same(found, wanted)


@given(questions())
def test_joints_of_pairs_in_both_orders(question):
    network, evidence = question
    cards, factors = as_list(network)
    inference = ExactInference(network, evidence)
    for i, j in sorted({pair for scope, _ in factors for pair in itertools.combinations(sorted(scope), 2)}):
        wanted = enumeration.pair_marginal(cards, factors, i, j, evidence)
        same(inference.joint((i, j)), wanted)
        same(inference.joint((j, i)), np.transpose(wanted))


@given(questions(), st.data())
def test_joint_of_any_variables(question, data):
    network, evidence = question
    cards, factors = as_list(network)
    some = data.draw(st.permutations(range(len(cards))))[: data.draw(st.integers(1, 4))]
    found = ExactInference(network, evidence).joint(some)
    wanted = enumeration.joint(cards, factors, some, evidence)
    assert found.shape == tuple(cards[v] for v in some)
    for states, probability in wanted.items():
        same(found[states], probability)


@given(questions())
def test_most_probable_configuration(question):
    network, evidence = question
    codes, value = ExactInference(network, evidence).map()
    best, configurations = enumeration.most_probable(*as_list(network), evidence)
    assert value == pytest.approx(best, abs=1e-10)
    assert tuple(codes.tolist()) in configurations


@given(questions())
def test_samples_are_possible_and_agree_with_the_evidence(question):
    network, evidence = question
    cards, factors = as_list(network)
    samples = ExactInference(network, evidence).sample(20, seed=1)
    assert samples.shape == (len(cards), 20)
    for states in samples.T.tolist():
        assert all(states[v] == code for v, code in evidence.items())
        assert enumeration.log_score(factors, states) > -math.inf


def test_samples_follow_the_distribution(rng):
    tables = {(0, 1): rng.normal(size=(2, 3)), (1, 2): rng.normal(size=(3, 2)), (0, 2): rng.normal(size=(2, 2))}
    network = PairwisePotentials.build([2, 3, 2], None, tables)
    samples = ExactInference(network).sample(40_000, seed=5)
    for states, probability in enumeration.joint(*as_list(network), (0, 1, 2)).items():
        share = (samples == np.array(states)[:, None]).all(axis=0).mean()
        # Five standard errors.
        assert abs(share - probability) < 5 * math.sqrt(probability * (1 - probability) / 40_000)


def test_a_seed_repeats_the_samples():
    inference = ExactInference(PairwisePotentials.independent([2, 300]))
    assert inference.sample(5).dtype == np.uint16
    np.testing.assert_array_equal(inference.sample(50, seed=3), inference.sample(50, seed=3))
    assert (inference.sample(50, seed=3) != inference.sample(50, seed=4)).any()
    assert inference.sample(0).shape == (2, 0)


def test_a_long_chain_neither_overflows_nor_drifts():
    """Each table multiplies the sum by e^400 a step; the answer is known in closed form."""
    flip = 0.25
    table = 400.0 + np.log([[1 - flip, flip], [flip, 1 - flip]])
    chain = PairwisePotentials.build([2] * 2500, None, {(i, i + 1): table for i in range(2499)})
    inference = ExactInference(chain, {0: 1})
    assert inference.log_partition == pytest.approx(2499 * 400.0, rel=1e-14)
    for i in (1, 10, 2499):
        assert inference.marginal(i)[1] == pytest.approx((1 + (1 - 2 * flip) ** i) / 2, abs=1e-12)
    far = inference.joint((3, 2499))
    same(far.sum(axis=1), inference.marginal(3))
    same(far, np.outer(inference.marginal(3), [0.5, 0.5]))


def test_extreme_potentials_are_exact():
    """State 1 is e^-2000 less probable a priori, and the only one that the observed neighbour allows."""
    network = PairwisePotentials.build([2, 2], [[0.0, -2000.0], None], {(0, 1): [[-np.inf, 0.0], [0.0, 0.0]]})
    inference = ExactInference(network, {1: 0})
    np.testing.assert_array_equal(inference.marginal(0), [0.0, 1.0])
    assert inference.log_partition == -2000.0


@pytest.mark.slow
def test_grid_of_ten_by_ten(rng):
    """Rows are summed out one after the other by a transfer matrix in the check."""
    nodes = rng.normal(size=(10, 10, 2))
    across, down = rng.normal(size=(10, 9, 2, 2)), rng.normal(size=(9, 10, 2, 2))
    tables = {(10 * i + j, 10 * i + j + 1): across[i, j] for i in range(10) for j in range(9)}
    tables |= {(10 * i + j, 10 * i + j + 10): down[i, j] for i in range(9) for j in range(10)}
    inference = ExactInference(PairwisePotentials.build([2] * 100, list(nodes.reshape(100, 2)), tables))
    states = (np.arange(1024)[:, None] >> np.arange(10)) & 1
    row = [
        sum(nodes[i, j][states[:, j]] for j in range(10))
        + sum(across[i, j][states[:, j], states[:, j + 1]] for j in range(9))
        for i in range(10)
    ]
    logs = row[0]
    for i in range(1, 10):
        step = sum(down[i - 1, j][states[:, None, j], states[None, :, j]] for j in range(10))
        logs = row[i] + np.logaddexp.reduce(logs[:, None] + step, axis=0)
    total = np.logaddexp.reduce(logs)
    assert inference.log_partition == pytest.approx(total, rel=1e-12)
    same(inference.marginal(99)[1], np.exp(np.logaddexp.reduce(logs[states[:, 9] == 1]) - total))


def test_cost_is_told_before_anything_is_allocated():
    k = 60
    tables = {(i, j): np.zeros((2, 2)) for i in range(k) for j in range(i + 1, k)}
    network = PairwisePotentials.build([2] * k, None, tables)
    assert elimination_plan(network).width == k - 1
    assert elimination_plan(network, dict.fromkeys(range(50), 0)).width == 9
    with pytest.raises(TreewidthError, match=r"width 59.*use loopy .* method='loopy' or 'gibbs'\), a"):
        ExactInference(network)
    assert ExactInference(network, dict.fromkeys(range(50), 0)).log_partition == pytest.approx(10 * math.log(2))
    needed = elimination_plan(network, dict.fromkeys(range(50), 0)).bytes
    with pytest.raises(TreewidthError, match="needs"):
        ExactInference(network, dict.fromkeys(range(50), 0), memory=needed - 1)
    ExactInference(network, dict.fromkeys(range(50), 0), memory=needed)


def test_a_joint_that_is_too_large_is_refused():
    inference = ExactInference(PairwisePotentials.independent([2] * 40), memory=2**20)
    with pytest.raises(TreewidthError, match="fewer variables"):
        inference.joint(range(40))


def test_evidence_of_probability_zero_is_named():
    network = PairwisePotentials.build(
        [2, 2, 2], None, {(0, 1): [[0.0, -np.inf], [-np.inf, 0.0]], (1, 2): [[0.0, -np.inf], [-np.inf, 0.0]]}
    )
    with pytest.raises(ValueError, match=r"\{0: 0, 1: 1\} has probability zero by the factor of variables \(0, 1\)"):
        ExactInference(network, {0: 0, 1: 1})
    with pytest.raises(ValueError, match=r"\{0: 0, 2: 1\} has probability zero"):
        ExactInference(network, {0: 0, 2: 1})
    with pytest.raises(ValueError, match="every configuration has probability zero"):
        ExactInference(LogFactors([2], [(0,)], [[-np.inf, -np.inf]]))


@pytest.mark.parametrize(
    ("evidence", "error", "words"),
    [
        ({2: 0}, ValueError, "names variable 2"),
        ({-1: 0}, ValueError, "names variable -1"),
        ({0: 2}, ValueError, r"variable 0 the code 2: it must be in 0\.\.1"),
        ({"a": 0}, TypeError, "'a': 0"),
        ({0: 0.5}, TypeError, "0: 0.5"),
    ],
)
def test_wrong_evidence(evidence, error, words):
    with pytest.raises(error, match=words):
        ExactInference(PairwisePotentials.independent([2, 2]), evidence)


def test_wrong_questions():
    inference = ExactInference(PairwisePotentials.build([2] * 3, None, {(0, 1): np.eye(2), (1, 2): np.eye(2)}))
    with pytest.raises(ValueError, match="no variable 3"):
        inference.marginal(3)
    for wrong in ((), (1, 1)):
        with pytest.raises(ValueError, match="distinct variables"):
            inference.joint(wrong)
    with pytest.raises(ValueError, match="n_samples must be at least 0, got -1"):
        inference.sample(-1)
    with pytest.raises(TypeError, match="read_network"):
        ExactInference([((0,), np.zeros(2))])


def test_everything_observed():
    network = PairwisePotentials.build([2, 2], [[0.5, 0.0], None], {(0, 1): [[1.0, 2.0], [3.0, 4.0]]})
    inference = ExactInference(network, {0: 0, 1: 1})
    assert inference.log_partition == 2.5
    np.testing.assert_array_equal(inference.joint((0, 1)), [[0, 1], [0, 0]])
    assert inference.map().codes.tolist() == [0, 1]
    assert inference.map().log_value == 2.5

"""Beliefs that are corrected by samples, and what they say of their error, against exact marginals."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.random_networks import as_list, evidence_for, factor_networks
from helpers.spin_glasses import grid_arguments, make_spin_glass
from oracles import enumeration
from oracles.transfer_matrix import eliminate_grid
from pgmx.datasets import grid_network
from pgmx.inference import ApproximationWarning, PairwisePotentials, map_assignment, marginals
from pgmx.inference.approximate.tempering import SampleMeans, correct_beliefs
from pgmx.inference.problem import Problem

pytestmark = pytest.mark.slow


@given(factor_networks(largest=5, arity=3, impossible=(0.0,)), st.data())
@examples(40)
def test_few_variables(network, data):
    evidence = data.draw(evidence_for(network))
    cards, factors = as_list(network)
    expected = enumeration.marginals(cards, factors, evidence)
    answer = marginals(network, evidence, method="corrected", n_sweeps=8000)
    for v in answer:
        np.testing.assert_allclose(answer.array(v), expected[v], atol=max(0.02, 3 * answer.error[v]))
        assert answer.array(v).sum() == pytest.approx(1, abs=1e-9)


def find_coverage(potentials, **options):
    """Return the share of variables within the error that is estimated, the mean error, and that of one half."""
    exact = marginals(potentials, method="exact")
    answer = marginals(potentials, method="corrected", **options)
    errors = np.array([np.abs(answer.array(v) - exact.array(v)).max() for v in exact])
    halves = np.array([np.abs(exact.array(v) - 0.5).max() for v in exact])
    return np.mean(errors <= np.array(list(answer.error.values()))), errors.mean(), halves.mean()


@pytest.mark.parametrize("coupling", [0.25, 0.5])
def test_error_estimates_cover_the_errors_on_grids(coupling):
    glasses = [make_spin_glass(10, 10, coupling=coupling, field=0.3, random_state=seed) for seed in range(2)]
    coverage, errors, halves = np.mean([find_coverage(glass, n_sweeps=12_000) for glass in glasses], axis=0)
    assert coverage >= 0.9
    assert errors < halves / 10


@pytest.mark.slow
def test_a_phase_that_beliefs_take_for_the_whole():
    ids = np.arange(144).reshape(12, 12)
    edges = [*zip(ids[:, :-1].flat, ids[:, 1:].flat, strict=True), *zip(ids[:-1].flat, ids[1:].flat, strict=True)]
    table = 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    nodes = [[0.01, 0.0]] * 144  # beliefs take the favoured phase for the only one
    magnet = PairwisePotentials.build([2] * 144, nodes, {(int(i), int(j)): table for i, j in edges})
    exact = marginals(magnet)
    beliefs, answer = (marginals(magnet, method=method) for method in ("loopy", "corrected"))
    assert abs(beliefs[0][0] - exact[0][0]) > 0.1
    assert abs(answer[0][0] - exact[0][0]) < answer.error[0] < 0.1


def test_marginals_against_a_transfer_matrix():
    glass = make_spin_glass(12, 12, coupling=0.5, field=0.3)
    arguments = grid_arguments(glass, 12, 12)
    total = eliminate_grid(*arguments)
    answer = marginals(glass, method="corrected", n_sweeps=16_000)
    for v in (0, 97):
        nodes = list(arguments[2])
        nodes[v] = nodes[v] + np.array([-np.inf, 0.0])
        expected = np.exp(eliminate_grid(12, 12, nodes, arguments[3]) - total)
        assert answer[v][1] == pytest.approx(expected, abs=1.5 * answer.error[v])


def test_order_of_the_questions_is_irrelevant():
    def ask(names):
        problem = Problem.from_model(grid_network(7, 7, random_state=1))
        with pytest.warns(ApproximationWarning):
            answers = {name: questions[name](problem) for name in names}
        return answers

    questions = {
        "corrected": lambda problem: marginals(problem, memory=64, n_sweeps=500).array("x0").tolist(),
        "exact": lambda problem: marginals(problem).array("x0").tolist(),
        "given": lambda problem: marginals(problem, {"x1": 0}, memory=64, n_sweeps=500).array("x0").tolist(),
        "best": lambda problem: map_assignment(problem, memory=64, n_sweeps=100),
    }
    expected = ask(list(questions))
    for names in itertools.permutations(questions, 2):
        if {"exact", "best"} != set(names):
            answers = ask(names)
            assert answers == {name: expected[name] for name in names}


def test_what_marginals_say_of_themselves():
    glass = make_spin_glass(6, 6, coupling=0.5, field=0.3)
    exact = marginals(glass)
    assert (exact.exact, exact.error[0]) == (True, 0.0)
    with pytest.warns(ApproximationWarning, match=r"corrected by Gibbs sampling.*estimated error.* is 0\.\d+"):
        answer = marginals(glass, memory=64)
    assert (answer.exact, answer.method, answer.converged) == (False, "corrected", True)
    assert 0 < max(answer.error.values()) < 0.05
    assert 1 <= answer.r_hat < 1.1
    assert answer.effective_sample_size > 100
    assert np.isnan(marginals(glass, method="loopy").error[0])
    gibbs = marginals(glass, method="gibbs")
    errors = [abs(gibbs[v][0] - exact[v][0]) - gibbs.error[v] for v in exact]
    assert np.mean(np.array(errors) <= 0) >= 0.8
    with pytest.warns(RuntimeWarning, match="R-hat is"):
        cold = make_spin_glass(6, 6, coupling=30.0)
        assert not marginals(cold, method="corrected", n_sweeps=200).converged


def test_beliefs_are_weighed_by_their_distance_from_the_means():
    offsets = np.array([0, 2, 4])
    beliefs = np.array([0.5, 0.5, 0.2, 0.8])
    means = np.array([0.5, 0.5, 0.6, 0.4])
    close, errors = correct_beliefs(beliefs, SampleMeans(means, np.full(4, 1e-3), 1.0, 1e4), offsets)
    np.testing.assert_allclose(close, means, atol=1e-5)
    np.testing.assert_allclose(errors, 2.5e-3, rtol=1e-4)
    far, errors = correct_beliefs(beliefs, SampleMeans(means, np.full(4, 10.0), 1.0, 1.0), offsets)
    np.testing.assert_allclose(far, 0.8 * beliefs + 0.2 * means)

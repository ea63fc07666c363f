"""Inference in conditional linear Gaussian networks against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmx.inference.mixed.families import MixedRows
from pgmx.inference.mixed.posterior import answer_question, plan_question
from pgmx.inference.mixed.weighting import weigh_samples
from tests.helpers.mixed_networks import draw_rows, evidence_of, mixed_networks, to_families
from tests.oracles import mixed_networks as oracle

N_ROWS = 5


def check(network, families, rows, observed, answers, targets):
    for row in range(N_ROWS):
        expected = oracle.answer(families, evidence_of(network, rows, row, observed))
        for v in targets:
            if network.cards[v]:
                np.testing.assert_allclose(answers.probabilities[v][row], expected[v], rtol=1e-7, atol=1e-9)
            else:
                mean, variance = expected[v]
                np.testing.assert_allclose(answers.means[v][row], mean, rtol=1e-6, atol=1e-7)
                np.testing.assert_allclose(answers.variances[v][row], variance, rtol=1e-6)


@settings(max_examples=50, deadline=None)
@given(mixed_networks(), st.data())
def test_answers_are_those_of_enumeration(families, data):
    network = to_families(families)
    n = len(families)
    observed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    observed[data.draw(st.integers(0, n - 1))] = False
    rows = draw_rows(network, N_ROWS, data.draw(st.integers(0, 99)))
    hidden = np.flatnonzero(~observed).tolist()
    answers = answer_question(network, plan_question(network, observed, hidden), rows, observed)
    check(network, families, rows, observed, answers, hidden)
    one = hidden[: data.draw(st.integers(1, len(hidden)))]  # some of them: other families are left out
    answers = answer_question(network, plan_question(network, observed, one), rows, observed)
    check(network, families, rows, observed, answers, one)


@settings(max_examples=40, deadline=None)
@given(mixed_networks(), st.integers(0, 99))
def test_densities_are_those_of_enumeration(families, seed):
    network = to_families(families)
    rows = draw_rows(network, N_ROWS, seed)
    total = sum(network.log_density(v, rows) for v in range(len(families)))
    for row in range(N_ROWS):
        values = evidence_of(network, rows, row, np.ones(len(families), dtype=bool))
        configuration = {v: value for v, value in values.items() if network.cards[v]}
        floats, mean, covariance = oracle.joint_gaussian(families, configuration)
        x = np.array([values[v] for v in floats])
        expected = oracle.log_probability(families, configuration) + oracle.log_normal(x, mean, covariance)
        assert total[row] == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_impossible_rows_have_no_answer():
    families = [("states", [], np.array([1.0, 0.0])), ("states", [0], np.array([[1.0, 0.5], [0.0, 0.5]]))]
    network = to_families(families)
    rows = MixedRows(np.array([[0, 0], [0, 1]]), np.zeros((2, 2)))
    observed = np.array([False, True])
    answers = answer_question(network, plan_question(network, observed, [0]), rows, observed)
    np.testing.assert_array_equal(answers.probabilities[0], [[1.0, 0.0], [np.nan, np.nan]])
    weighted = weigh_samples(network, [0], rows, observed, 100, 0, np.arange(2))
    assert weighted.effective_sizes.tolist() == [pytest.approx(100.0), 0.0]
    np.testing.assert_allclose(weighted.answers.probabilities[0], [[1.0, 0.0], [np.nan, np.nan]], rtol=1e-12)


def test_weighting_comes_near_the_exact_answers():
    table = np.array([[0.3, 0.6], [0.7, 0.4]])
    families = [
        ("states", [], np.array([0.4, 0.6])),
        ("states", [0], table),
        ("floats", [0], [], np.array([[-1.0], [1.0]]), np.array([1.0, 0.5])),
        ("floats", [1], [2], np.array([[0.0, 1.0], [1.0, -0.5]]), np.array([0.7, 1.5])),
    ]
    network = to_families(families)
    rows = draw_rows(network, N_ROWS, 3)
    observed = np.array([False, False, False, True])
    exact = answer_question(network, plan_question(network, observed, [0, 1, 2]), rows, observed)
    near, sizes = weigh_samples(network, [0, 1, 2], rows, observed, 40_000, 1, np.arange(rows.codes.shape[1]))
    errors = 5.0 / np.sqrt(sizes)  # five standard errors of a probability, and more
    assert (sizes > 1000).all()
    for v in (0, 1):
        assert (np.abs(near.probabilities[v] - exact.probabilities[v]) < errors[:, None]).all()
    assert (np.abs(near.means[2] - exact.means[2]) < errors * np.sqrt(exact.variances[2])).all()
    assert (np.abs(near.variances[2] / exact.variances[2] - 1.0) < 3.0 * errors).all()


def test_blocks_of_rows_agree(monkeypatch):
    families = [
        ("states", [], np.array([0.4, 0.6])),
        ("floats", [0], [], np.array([[-1.0], [1.0]]), np.array([1.0, 2])),
    ]
    network = to_families(families)
    rows = draw_rows(network, 50)
    observed = np.array([False, True])
    question = plan_question(network, observed, [0])
    whole = answer_question(network, question, rows, observed)
    monkeypatch.setattr("pgmx.inference.mixed.posterior._BLOCK", 7)
    pieces = answer_question(network, question, rows, observed)
    np.testing.assert_array_equal(pieces.probabilities[0], whole.probabilities[0])

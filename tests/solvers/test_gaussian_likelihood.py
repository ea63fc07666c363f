"""Maximum likelihood on a graph: the likelihood equations, and what happens where there is no maximum."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.correlation_matrices import correlation
from helpers.examples import examples
from oracles import graphical_lasso as oracle
from pgmx.runs.run import OutOfTimeError
from pgmx.solvers.gaussian.likelihood import LEAST_VARIANCE, fit_maximum_likelihood, maximum_likelihood_precision
from pgmx.statistics.gaussian.correlations import DenseCorrelations


def random_edges(p, share, number):
    pairs = np.array(list(itertools.combinations(range(p), 2)), dtype=np.int64).reshape(-1, 2)
    rng = np.random.default_rng(number)
    return rng.permutation(pairs[rng.random(len(pairs)) < share])


@examples(60)
@given(p=st.integers(1, 40), share=st.floats(0.0, 1.0), number=st.integers(0, 99))
def test_likelihood_equations(p, share, number):
    R = correlation(p, 200, number)
    edges = random_edges(p, share, number)
    edges.flags.writeable = False
    found = maximum_likelihood_precision(R, edges)
    theta = found.precision.toarray()
    assert found.converged and found.regularised == 0.0
    np.testing.assert_array_equal(theta, theta.T)
    W = np.linalg.inv(theta)
    joined = np.eye(p, dtype=bool)
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = True
    # the distance of W theta from the identity is below 1e-8
    np.testing.assert_allclose(W[joined], R[joined], atol=1e-7)
    assert (theta[~joined] == 0).all()


@pytest.mark.parametrize("number", range(4))
def test_the_optimum_is_that_of_the_twin(number):
    R, edges = correlation(6, 30, number), random_edges(6, 0.5, number)
    found = maximum_likelihood_precision(R, edges)
    np.testing.assert_allclose(found.precision.toarray(), oracle.maximum_likelihood(R, edges), atol=1e-6)


def test_a_tree_has_a_closed_form():
    R = correlation(30, 10, 5)  # n < p: edges alone need two rows
    edges = np.array(nx.minimum_spanning_tree(nx.from_numpy_array(1.0 - np.abs(R) + 1e-9)).edges)
    found = maximum_likelihood_precision(R, edges, n_rows=10)
    expected = np.eye(30)
    for i, j in edges:
        r = R[i, j]
        expected[i, i] += r * r / (1 - r * r)
        expected[j, j] += r * r / (1 - r * r)
        expected[i, j] = expected[j, i] = -r / (1 - r * r)
    assert found.regularised == 0.0
    np.testing.assert_allclose(found.precision.toarray(), expected, rtol=1e-6)


def test_all_joined():
    R = correlation(40, 100, 1)
    found = maximum_likelihood_precision(R, random_edges(40, 1.1, 0))
    np.testing.assert_allclose(found.precision.toarray(), np.linalg.inv(R), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("n_rows", "share"), [(None, 0.1), (9, 1 / 3)])
@pytest.mark.parametrize("name", ["wide", "duplicates", "two rows"])
def test_where_there_is_no_maximum(name, n_rows, share):
    R = {
        "wide": correlation(20, 9, 1),
        "duplicates": np.kron(correlation(5, 100, 1), np.ones((2, 2))),
        "two rows": correlation(12, 2, 1),
    }[name]
    edges = random_edges(len(R), 1.1, 0)
    found = maximum_likelihood_precision(R, edges, n_rows=n_rows)
    assert found.converged
    assert found.regularised == pytest.approx(share)
    fitted = (1 - share) * R + share * np.eye(len(R))
    np.testing.assert_allclose(np.linalg.inv(found.precision.toarray()), fitted, atol=1e-7)


def test_shrinkage_is_raised_until_there_is_a_maximum():
    """A neighbour that is the same column leaves 1 - (1 - t)^2 of the variance: t = 1e-7 is too little."""
    R = np.ones((2, 2))
    found = maximum_likelihood_precision(R, np.array([[0, 1]]), n_rows=1e14)
    share = 1e-7
    while 1 - (1 - share) ** 2 < LEAST_VARIANCE:  # what the neighbour leaves of the variance
        share += 0.5 * (1 - share)
    assert share == pytest.approx(0.5, abs=1e-6)
    assert found.converged
    assert found.regularised == pytest.approx(share)
    fitted = (1 - share) * R + share * np.eye(2)
    np.testing.assert_allclose(np.linalg.inv(found.precision.toarray()), fitted, atol=1e-7)


def test_no_edges():
    found = maximum_likelihood_precision(np.ones((3, 3)), np.zeros((0, 2), dtype=np.int64))
    np.testing.assert_array_equal(found.precision.toarray(), np.eye(3))
    assert found.converged


@pytest.mark.parametrize(
    ("edges", "words"), [([[0, 3]], r"from 0 to 2, got \(0, 3\)"), ([[1, 1]], "joins variable 1 with itself")]
)
def test_refused(edges, words):
    with pytest.raises(ValueError, match=words):
        maximum_likelihood_precision(np.eye(3), np.array(edges))
    with pytest.raises(ValueError, match="square"):
        maximum_likelihood_precision(np.ones((2, 3)), np.array([[0, 1]]))


def test_a_fit_without_time_says_so():
    R, edges = correlation(60, 200, 2), random_edges(60, 0.3, 2)
    calls = []
    with pytest.raises(OutOfTimeError):
        fit_maximum_likelihood(DenseCorrelations(R), edges, is_over=lambda: calls.append(1) or len(calls) == 2)
    assert len(calls) == 2  # after some columns of the first sweep

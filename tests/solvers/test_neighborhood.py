"""Lasso neighbourhoods against a slow twin and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.correlation_matrices import correlation, of_rows
from helpers.examples import examples
from oracles import graphical_lasso as oracle
from pgmx.solvers.gaussian.neighborhood import neighborhood_columns


@examples(60)
@given(p=st.integers(1, 12), n=st.sampled_from([40, 200]), lam=st.floats(0.01, 1.0), number=st.integers(0, 999))
def test_the_optimum_is_that_of_the_twin(p, n, lam, number):
    R = correlation(p, n, number)
    found = neighborhood_columns(R, np.arange(p), [lam])
    coefficients = found.coefficients[0].toarray()
    assert found.converged.all()
    np.testing.assert_array_equal(coefficients.diagonal(), 0.0)
    for j in range(p):
        # both are within 1e-4 of the one optimum: gap 1e-8, curvature the smallest eigenvalue
        np.testing.assert_allclose(coefficients[:, j], oracle.column_lasso(R, j, lam), atol=1e-4)


@examples(60)
@given(
    p=st.integers(2, 80),
    n=st.sampled_from([3, 10, 100]),
    lams=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=4),
    number=st.integers(0, 99),
)
def test_gaps_are_true_bounds(p, n, lams, number):
    """On singular matrices too, and in any order of penalties."""
    R = correlation(p, n, number)
    columns = np.array([p - 1, 0])
    found = neighborhood_columns(R, columns, lams, tol=1e-7, max_iter=500)
    best = neighborhood_columns(R, columns, lams, tol=1e-12, max_iter=2000)
    assert (found.gaps >= -1e-12).all()
    for step, lam in enumerate(lams):
        for c, j in enumerate(columns):
            value, least = (
                oracle.column_objective(f.coefficients[step].toarray()[:, c], R, j, lam) for f in (found, best)
            )
            assert value - least <= found.gaps[step, c] + 1e-12
    assert found.converged[np.array(lams) > 0.02].all()
    np.testing.assert_array_equal(found.converged, found.gaps <= 1e-7)


def test_shapes_and_order():
    R = correlation(150, 100, 2)
    columns = np.array([149, 3, 77, 3])
    lams = np.array([0.5, 0.2, 0.1])
    found = neighborhood_columns(R, columns, lams)
    assert found.gaps.shape == found.violations.shape == found.converged.shape == (3, 4)
    assert [part.shape for part in found.coefficients] == [(150, 4)] * 3
    assert found.n_iter.shape == (4,)
    for part in found.coefficients:
        assert part.has_sorted_indices
        np.testing.assert_array_equal(part.toarray()[:, 1], part.toarray()[:, 3])
    everything = neighborhood_columns(R, np.arange(150), lams)
    for part, all_of in zip(found.coefficients, everything.coefficients, strict=True):
        np.testing.assert_array_equal(part.toarray(), all_of.toarray()[:, columns])


def test_collinear_columns():
    """Duplicates: a variable is explained by its copy alone."""
    R = of_rows(np.repeat(np.random.default_rng(0).standard_normal((50, 5)), 2, axis=1))
    found = neighborhood_columns(R, np.arange(10), [0.3, 0.1, 1e-3])
    assert found.converged.all()
    for step, lam in enumerate(found.lams):
        coefficients = found.coefficients[step].toarray()
        partner = np.arange(10) ^ 1
        np.testing.assert_allclose(coefficients[partner, np.arange(10)], 1 - lam, atol=2e-3)


def test_above_the_largest_correlation():
    R = correlation(20, 30, 1)
    found = neighborhood_columns(R, np.arange(20), [np.abs(R - np.eye(20)).max()])
    assert found.coefficients[0].nnz == 0
    np.testing.assert_allclose(found.gaps, 0.0, atol=1e-15)


def test_nothing_to_do_and_out_of_time():
    R = correlation(70, 30, 1)
    assert neighborhood_columns(R, [], [0.1]).coefficients[0].shape == (70, 0)
    assert neighborhood_columns(R, [1], []).gaps.shape == (0, 1)
    found = neighborhood_columns(R, np.arange(70), [0.1], deadline=0.0)
    assert found.converged[0, 0]
    assert not found.converged[0, 1:].any() and (found.gaps[0, 1:] == 0.5).all()
    assert found.coefficients[0][:, 1:].nnz == 0


@pytest.mark.parametrize(
    ("R", "columns", "lams", "words"),
    [
        (np.ones((2, 3)), [0], [0.1], r"square matrix, got the shape \(2, 3\)"),
        (np.eye(2), [2], [0.1], "from 0 to 1, got 2"),
        (np.eye(2), [-1], [0.1], "from 0 to 1, got -1"),
        (np.eye(2), [0], [-0.1], "at least 0, got -0.1"),
    ],
)
def test_refused(R, columns, lams, words):
    with pytest.raises(ValueError, match=words):
        neighborhood_columns(R, columns, lams)

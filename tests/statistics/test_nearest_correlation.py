"""Nearest correlation matrices: published answers, optimality, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx.statistics import nearest_correlation

HIGHAM = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])


@st.composite
def indefinite(draw):
    """Symmetric matrices with a unit diagonal and entries in [-1, 1]."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    p = draw(st.integers(2, 25))
    factor = rng.normal(size=(draw(st.integers(2, p + 3)), p))
    R = np.corrcoef(factor.T) + draw(st.floats(0, 1)) * np.triu(rng.normal(size=(p, p)), 1)
    R = np.triu(np.clip(R, -1, 1), 1)
    return R + R.T + np.eye(p)


def by_projections(R, floor):
    """Higham's alternating projections with Dykstra's correction: slow, and another algorithm."""
    X, correction = R.copy(), np.zeros_like(R)
    for _ in range(20_000):
        values, vectors = np.linalg.eigh(X - correction)
        cone = (vectors * np.maximum(values, floor)) @ vectors.T
        correction = cone - (X - correction)
        X = cone.copy()
        np.fill_diagonal(X, 1.0)
        if np.abs(X - cone).max() < 1e-12:
            break
    return X


def is_correlation(matrix, floor):
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(matrix.diagonal(), np.ones(len(matrix)))
    # Eigenvalues are found to some multiples of the rounding of the largest one.
    assert np.linalg.eigvalsh(matrix).min() >= floor - 1e-14 * len(matrix)


def test_highams_example():
    """Higham (2002), section 5: the nearest matrix to four digits."""
    nearest, change = nearest_correlation(HIGHAM, floor=0.0)
    expected = np.array([[1.0, 0.7607, 0.1573], [0.7607, 1.0, 0.7607], [0.1573, 0.7607, 1.0]])
    np.testing.assert_allclose(nearest, expected, atol=5e-5)
    assert change == np.abs(nearest - HIGHAM).max()
    assert np.linalg.norm(nearest - HIGHAM) == pytest.approx(0.5278, abs=5e-5)


@examples(25)
@given(indefinite(), st.sampled_from([0.0, 1e-8, 0.1]))
def test_another_algorithm_agrees(R, floor):
    nearest, _ = nearest_correlation(R, floor=floor)
    is_correlation(nearest, floor)
    other = by_projections(R, floor)
    # The projections converge linearly; the distances of two feasible points agree better than the points.
    assert np.linalg.norm(nearest - R) <= np.linalg.norm(other - R) + 1e-6
    np.testing.assert_allclose(nearest, other, atol=1e-4)


@examples(50)
@given(indefinite())
def test_no_correlation_matrix_is_nearer(R):
    """Obtuse angles: <R - X, Y - X> <= 0 for every correlation matrix Y."""
    nearest, _ = nearest_correlation(R, floor=0.0)
    rng = np.random.default_rng(0)
    for rank in (1, 2, len(R)):
        other = np.corrcoef(rng.normal(size=(len(R), rank + 2)))
        assert np.sum((R - nearest) * (other - nearest)) <= 1e-6 * len(R)
    assert np.sum((R - nearest) * (np.eye(len(R)) - nearest)) <= 1e-6 * len(R)


def test_a_correlation_matrix_is_left_as_it_is(rng):
    R = np.corrcoef(rng.normal(size=(50, 8)).T)
    R = 0.5 * (R + R.T)
    np.fill_diagonal(R, 1.0)
    R.setflags(write=False)
    found, change = nearest_correlation(R)
    np.testing.assert_array_equal(found, R)
    assert change == 0.0 and not np.shares_memory(found, R)


@pytest.mark.parametrize("p", [2, 3, 40])
def test_collinear_columns(p):
    """All ones: singular, repaired by the floor alone."""
    nearest, change = nearest_correlation(np.ones((p, p)))
    is_correlation(nearest, 1e-8)
    assert 0 < change < 1e-7
    np.linalg.cholesky(nearest)


def test_signs_without_a_model():
    """Every pair of three says -1: as far from positive definite as three correlations can be."""
    R = -np.ones((3, 3)) + 2 * np.eye(3)
    nearest, change = nearest_correlation(R, floor=0.0)
    np.testing.assert_allclose(nearest, 1.5 * np.eye(3) - 0.5, atol=1e-7)
    assert change == pytest.approx(0.5, abs=1e-7)


def test_other_diagonals_become_ones():
    nearest, change = nearest_correlation(np.diag([4.0, 1e-3, 0.0, -2.0]))
    np.testing.assert_allclose(nearest, np.eye(4), atol=1e-7)
    assert change == 3.0


@pytest.mark.parametrize("max_iter", [1, 2])
def test_cut_short_it_is_still_a_correlation_matrix(max_iter, rng):
    R = np.triu(np.sign(rng.normal(size=(60, 60))), 1)
    R = R + R.T + np.eye(60)
    nearest, _ = nearest_correlation(R, max_iter=max_iter, floor=1e-6)
    is_correlation(nearest, 1e-6)
    best, _ = nearest_correlation(R, floor=1e-6)
    assert np.linalg.norm(best - R) <= np.linalg.norm(nearest - R)


def test_a_floor_below_rounding_ends_positive_definite():
    nearest, _ = nearest_correlation(np.ones((30, 30)), floor=1e-18)
    np.linalg.cholesky(nearest)


def test_more_columns(rng):
    p = 120
    R = np.triu(np.clip(0.3 * rng.normal(size=(p, p)), -1, 1), 1)
    R = R + R.T + np.eye(p)
    nearest, _ = nearest_correlation(R)
    is_correlation(nearest, 1e-8)


@pytest.mark.parametrize("p", [0, 1])
def test_small_ones(p):
    found, change = nearest_correlation(np.ones((p, p)))
    np.testing.assert_array_equal(found, np.ones((p, p)))
    assert change == 0.0


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"must be square, got the shape \(2, 3\)"):
        nearest_correlation(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"must be symmetric, got 1.0 at \(0, 1\) and 0.0 across"):
        nearest_correlation(np.triu(np.ones((2, 2))))
    with pytest.raises(ValueError, match=r"must be finite, got nan at \(0, 1\)"):
        nearest_correlation([[1.0, np.nan], [np.nan, 1.0]])
    for options in ({"floor": -0.1}, {"floor": 1.0}):
        with pytest.raises(ValueError, match=r"floor must be in \[0, 1\)"):
            nearest_correlation(HIGHAM, **options)
    for options in ({"tol": 0}, {"max_iter": 0}):
        with pytest.raises(ValueError, match="tol must be positive and max_iter at least 1"):
            nearest_correlation(HIGHAM, **options)

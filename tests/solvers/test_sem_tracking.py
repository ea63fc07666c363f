"""Least squares of structural equations, and equations that change from window to window."""

import pickle

import numpy as np
import pytest

from helpers.structural_equations import draw_equations, draw_moments, hide, make_problem, true_moments
from pgmx.solvers.time_series.sem_factors import alternate_least_squares, solve_khatri_rao
from pgmx.solvers.time_series.sem_likelihood import SecondMoments, maximise_likelihood, read_coefficients
from pgmx.solvers.time_series.sem_tracking import FIRST_INVERSE, MOST_WINDOWS, LikelihoodTracker, RecursiveTracker


def equations_of(columns):
    rows = np.linalg.inv(columns)
    return np.eye(len(rows)) - rows / np.diag(rows)[:, None]


def test_closed_form_on_exact_moments():
    rng = np.random.default_rng(0)
    matrix, gains, powers = draw_equations(rng, 5, 8)
    data = SecondMoments(true_moments(matrix, gains, powers), np.full(8, 100.0), powers)
    factors = solve_khatri_rao(data)
    np.testing.assert_allclose(equations_of(factors.columns), matrix, atol=1e-9)
    assert factors.residual < 1e-14


@pytest.mark.parametrize("mode", ["known", "partial", "blind"])
def test_alternating_least_squares_on_exact_moments(mode):
    rng = np.random.default_rng(1)
    matrix, gains, powers = draw_equations(rng, 3, 10)
    data = SecondMoments(true_moments(matrix, gains, powers), np.full(10, 100.0), hide(rng, powers, mode))
    factors = alternate_least_squares(data, tol=1e-7, max_iter=3000)
    np.testing.assert_allclose(equations_of(factors.columns), matrix, atol=0.02)
    assert factors.residual < 1e-5


def test_recursion_is_penalised_weighted_least_squares():
    rng = np.random.default_rng(2)
    matrix, gains, powers = draw_equations(rng, 4, 9)
    moments = true_moments(matrix, gains, powers)
    tracker = RecursiveTracker(4, 0.9)
    for moment, power in zip(moments, powers, strict=True):
        tracker.add(moment, 100, power)
    weights = 0.9 ** np.arange(8, -1, -1)
    gram = (powers * weights[:, None]).T @ powers + 0.9**9 / FIRST_INVERSE * np.eye(4)
    slices = np.linalg.solve(gram, (powers * weights[:, None]).T @ moments.reshape(9, 16)).reshape(4, 4, 4)
    np.testing.assert_allclose(tracker.slices, slices, atol=1e-10)
    np.testing.assert_allclose(tracker.inverse, np.linalg.inv(gram), atol=1e-10)


def test_columns_are_eigenvectors_of_the_largest_eigenvalues():
    """Few windows: slices are indefinite, and eigenvalues below 0 are the largest ones without their signs (4.33)."""
    rng = np.random.default_rng(0)
    matrix, gains, powers = draw_equations(rng, 6, 9)
    tracker = RecursiveTracker(6, 0.9)
    for moment, power in zip(draw_moments(rng, matrix, gains, powers, 10), powers, strict=True):
        tracker.add(moment, 10, power)
    values, vectors = np.linalg.eigh(tracker.slices)
    assert (-values[:, 0] > values[:, -1]).any()
    assert (values[:, -1] > 0).all()
    columns = (np.sqrt(values[:, -1:]) * vectors[:, :, -1]).T
    np.testing.assert_allclose(tracker.reported.matrix, equations_of(columns), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(tracker.reported.gains, 1.0 / np.abs(np.diag(np.linalg.inv(columns))), rtol=1e-8)


def test_series_without_an_equation_yet_have_zeros():
    """One window of uncorrelated series: all slices have the eigenvector of the series of the largest variance."""
    tracker = RecursiveTracker(3, 0.9)
    tracker.add(np.diag([1.0, 3.0, 2.0]), 100, np.ones(3))
    np.testing.assert_array_equal(tracker.reported.matrix, np.zeros((3, 3)))
    np.testing.assert_array_equal(tracker.reported.gains > 0, [False, True, False])


@pytest.mark.parametrize("mode", ["known", "partial", "blind"])
def test_constant_equations_without_forgetting(mode):
    """Nothing is forgotten: the tracker ends where the batch does."""
    data, *_ = make_problem(3, n=5, n_windows=30, mode=mode)
    tracker = LikelihoodTracker(5, 1.0, 5, True)
    for moment, power in zip(data.moments, data.powers, strict=True):
        tracker.add(moment, 400, power)
    assert tracker.restarts == []
    assert tracker.settled
    best = read_coefficients(data, maximise_likelihood(data).separation)
    np.testing.assert_allclose(tracker.reported.matrix, best.matrix, atol=1e-5)


def run(tracker, seed, changes, n_windows=40, mode="known", n_rows=500):
    """Track equations of which one edge changes; return the largest errors, and the coefficients after each window."""
    rng = np.random.default_rng(seed)
    matrix, gains, _ = draw_equations(rng, 8, 1)
    errors, paths = [], []
    for m in range(n_windows):
        if m in changes:
            matrix = matrix.copy()
            matrix[1, 5] = 0.6 - matrix[1, 5]
        powers = rng.uniform(0.3, 2.0, (1, 8)) ** 2
        moment = draw_moments(rng, matrix, gains, powers, n_rows)[0]
        tracker.add(moment, n_rows, hide(rng, powers, mode)[0])
        errors.append(np.abs(tracker.reported.matrix - matrix).max())
        paths.append(tracker.reported.matrix)
    return np.array(errors), paths


@pytest.mark.parametrize("mode", ["known", "partial", "blind"])
def test_a_change_restarts_and_the_old_equations_stay_until_the_new_are_identifiable(mode):
    tracker = LikelihoodTracker(8, 0.8, 2, True)
    errors, paths = run(tracker, 4, {20}, mode=mode)
    assert tracker.restarts == [20]
    np.testing.assert_array_equal(paths[20], paths[19])
    assert errors[18] < 0.15
    assert errors[20] > 0.4
    assert errors[32:].max() < 0.15


def test_without_detection_nothing_restarts():
    tracker = LikelihoodTracker(8, 0.8, 2, False)
    errors, paths = run(tracker, 4, {20})
    assert tracker.restarts == []
    assert (paths[20] != paths[19]).any()
    assert errors[35:].max() < 0.2


@pytest.mark.parametrize("kind", ["likelihood", "recursive"])
def test_a_pickle_goes_on_to_the_bit(kind):
    data, *_ = make_problem(5, n=6, n_windows=14)
    straight = LikelihoodTracker(6, 0.8, 2, True) if kind == "likelihood" else RecursiveTracker(6, 0.9)
    stored = pickle.loads(pickle.dumps(straight))
    for moment, power in zip(data.moments, data.powers, strict=True):
        straight.add(moment, 400, power)
        stored = pickle.loads(pickle.dumps(stored))
        stored.add(moment, 400, power)
        np.testing.assert_array_equal(straight.reported.matrix, stored.reported.matrix)


def test_memory_does_not_grow_with_the_windows():
    rng = np.random.default_rng(6)
    matrix, gains, powers = draw_equations(rng, 3, MOST_WINDOWS + 20)
    tracker = LikelihoodTracker(3, 1.0, 1, False)
    for moment, power in zip(draw_moments(rng, matrix, gains, powers, 50), powers, strict=True):
        tracker.add(moment, 50, power)
    assert len(tracker.history.moments) == MOST_WINDOWS
    assert tracker.history.n_rows.sum() == 50 * (MOST_WINDOWS + 20)
    total = np.tensordot(tracker.history.n_rows, tracker.history.powers, 1)
    np.testing.assert_allclose(total, 50 * powers.sum(axis=0), rtol=1e-12)


def test_no_false_restart():
    for seed in range(3):
        tracker = LikelihoodTracker(8, 0.8, 2, True)
        run(tracker, seed, set(), n_windows=60, mode="blind")
        assert tracker.restarts == []

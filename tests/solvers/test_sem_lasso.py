"""Sparse structural equations: derivatives by differences, optimality by subgradients, a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.structural_equations import make_problem
from oracles.structural_equations import compute_log_likelihood
from pgmx.solvers.time_series.sem_lasso import EquationsLoss, find_subgradient, minimise_sparse, sum_penalties
from pgmx.solvers.time_series.sem_likelihood import evaluate, maximise_likelihood, measure_fit, read_coefficients

MODES = ["known", "partial", "blind"]


def make_loss(mode, seed=0, n=5):
    """Return moments of unit series, their loss, and coefficients near the true ones."""
    data, matrix, *_ = make_problem(seed, n=n, mode=mode)
    scales = data.scales
    data = data.rescale(scales)
    near = matrix * (scales / scales[:, None]) + 0.05 * np.random.default_rng(seed).standard_normal((n, n))
    np.fill_diagonal(near, 0.0)
    return data, EquationsLoss(data), near


@pytest.mark.parametrize("mode", MODES)
def test_loss_and_derivatives(mode):
    data, loss, at = make_loss(mode)
    rng = np.random.default_rng(1)
    others = [at, 0.5 * at, np.zeros_like(at)]
    gaps = [loss.evaluate(one).value + evaluate(data, np.eye(5) - one).log_likelihood for one in others]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-12)  # the loss leaves out constants
    point = loss.evaluate(at)
    slopes = loss.differentiate(point)
    entries = np.nonzero((rng.random((5, 5)) < 0.5) & ~np.eye(5, dtype=bool))
    multiply, _ = loss.make_hessian(point, slopes, entries)
    move, size = np.zeros((5, 5)), 1e-5
    move[entries] = rng.standard_normal(len(entries[0]))
    ahead, behind = (loss.evaluate(at + sign * size * move) for sign in (1, -1))
    assert (slopes.gradient * move).sum() == pytest.approx((ahead.value - behind.value) / (2 * size), abs=1e-8)
    change = (loss.differentiate(ahead).gradient - loss.differentiate(behind).gradient)[entries] / (2 * size)
    np.testing.assert_allclose(multiply(move[entries]), change, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_without_a_penalty_it_is_the_maximum_of_the_likelihood(mode):
    data, loss, _ = make_loss(mode)
    expected = read_coefficients(data, maximise_likelihood(data).separation).matrix
    found = minimise_sparse(loss, np.zeros((5, 5)), 0.8 * expected, tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.matrix, expected, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_the_optimum_is_that_of_a_general_optimiser_and_satisfies_the_subgradient_conditions(mode):
    data, loss, _ = make_loss(mode, seed=3, n=4)
    off = ~np.eye(4, dtype=bool)
    penalties = np.random.default_rng(0).uniform(0.05, 0.2, (4, 4))
    start = read_coefficients(data, maximise_likelihood(data).separation).matrix
    found = minimise_sparse(loss, penalties, start, tol=1e-8)
    gradient = loss.differentiate(loss.evaluate(found.matrix)).gradient[off]
    zero = found.matrix[off] == 0
    assert found.converged
    assert 0 < zero.sum() < 12
    assert (np.abs(gradient[zero]) <= penalties[off][zero] + 1e-8).all()
    signed = -penalties[off][~zero] * np.sign(found.matrix[off][~zero])
    np.testing.assert_allclose(gradient[~zero], signed, atol=1e-8)

    def objective(parts):  # positive and negative parts, which are bounded
        matrix = np.zeros((4, 4))
        matrix[off] = parts[:12] - parts[12:]
        return loss.evaluate(matrix).value + penalties[off] @ (parts[:12] + parts[12:])

    parts = np.concatenate([np.maximum(start[off], 0.0), np.maximum(-start[off], 0.0)])
    other = minimize(objective, parts, bounds=[(0.0, None)] * 24, method="L-BFGS-B", options={"ftol": 1e-15})
    assert found.objective == pytest.approx(other.fun, abs=1e-7)


def test_subgradients():
    matrix = np.array([[0.0, 0.5, 0.0], [-0.2, 0.0, 0.0], [0.0, 0.0, 0.0]])
    gradient = np.array([[0.0, -0.1, 0.4], [0.3, 0.0, -0.05], [-0.7, 0.2, 0.0]])
    penalties = np.full((3, 3), 0.1)
    penalties[2, 0] = np.inf
    expected = np.array([[0.0, 0.0, 0.3], [0.2, 0.0, 0.0], [0.0, 0.1, 0.0]])
    np.testing.assert_allclose(find_subgradient(matrix, gradient, penalties), expected, atol=1e-15)
    assert sum_penalties(matrix, penalties) == pytest.approx(0.07)


@pytest.mark.parametrize("mode", MODES)
def test_fit_of_held_out_windows_is_the_likelihood_written_out(mode):
    data, matrix, gains, _ = make_problem(2, mode=mode)
    rows = (np.eye(4) - matrix) / gains[:, None]
    own = np.einsum("ij,mjk,ik->mi", rows, data.moments, rows)
    filled = np.where(np.isnan(data.powers), own, data.powers)
    expected = compute_log_likelihood(matrix, gains, filled, data.moments, data.shares)
    assert measure_fit(data, rows) == pytest.approx(expected, abs=1e-12)

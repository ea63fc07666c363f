"""Structural equations by maximum likelihood: against a general optimiser, brute force and finite differences."""

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.structural_equations import draw_equations, hide, make_problem, true_moments
from oracles import structural_equations as oracle
from pgmx.solvers.time_series.sem_likelihood import (
    SecondMoments,
    assign_rows,
    compute_identifiability,
    compute_standard_errors,
    cut_windows,
    evaluate,
    find_proportional,
    maximise_likelihood,
    read_coefficients,
    sweep_pairs,
    sweep_rows,
)

pytestmark = pytest.mark.slow

MODES = ["known", "partial", "blind"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_against_general_optimiser(mode, n):
    data, matrix, gains, powers = make_problem(n, n=n, mode=mode)
    optimum = maximise_likelihood(data)
    assert optimum.converged
    shown = read_coefficients(data, optimum.separation)
    filled = np.where(np.isnan(data.powers), shown.powers, data.powers)
    best, at_best = oracle.maximise(
        data.moments, data.shares, data.powers, oracle.pack(matrix, gains, powers, data.powers)
    )
    ours = oracle.compute_log_likelihood(shown.matrix, shown.gains, filled, data.moments, data.shares)
    assert ours == pytest.approx(optimum.separation.log_likelihood, abs=1e-9)
    assert ours >= best - 1e-9
    np.testing.assert_allclose(shown.matrix, at_best, atol=2e-4)


@pytest.mark.parametrize("mode", MODES)
def test_entries_that_are_not_allowed_are_zero_at_the_optimum_of_the_others(mode):
    n = 5
    data, *_ = make_problem(11, n=n, mode=mode)
    allowed = np.random.default_rng(0).random((n, n)) < 0.6
    np.fill_diagonal(allowed, True)
    point, _, converged = maximise_likelihood(data, allowed=allowed)
    assert converged
    assert not point.rows[~allowed].any()

    def loss(free):
        rows = np.zeros((n, n))
        rows[allowed] = free
        return -evaluate(data, rows).log_likelihood

    at = point.rows[allowed]
    moved = minimize(loss, at * np.random.default_rng(1).uniform(0.98, 1.02, len(at)), method="BFGS", tol=1e-8)
    assert -loss(at) == pytest.approx(-moved.fun, abs=1e-9)
    assert maximise_likelihood(data).separation.log_likelihood >= -loss(at)


@pytest.mark.parametrize("mode", MODES)
def test_inputs_are_uncorrelated_at_the_optimum(mode):
    data, *_ = make_problem(7, n=12, n_windows=9, mode=mode)
    point = maximise_likelihood(data).separation
    weights = data.shares[:, None] / point.powers
    np.testing.assert_allclose(np.einsum("mij,mi->ij", point.products, weights), np.eye(12), atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_sweeps_never_lower_the_likelihood(mode):
    data, *_ = make_problem(3, n=8, n_windows=5, mode=mode)
    rows = np.diag(1.0 / data.scales)
    values = [evaluate(data, rows).log_likelihood]
    for _ in range(6):
        rows = sweep_rows(data, rows, 1)
        values.append(evaluate(data, rows).log_likelihood)
    point = evaluate(data, rows)
    for _ in range(6):
        point, _ = sweep_pairs(data, point)
        values.append(point.log_likelihood)
    assert values[6] > values[0]
    assert (np.diff(values) >= -1e-12).all()


def test_row_sweeps_alone_reach_the_same_optimum():
    data, *_ = make_problem(5, n=5, n_windows=10, n_rows=2000)
    rows = sweep_rows(data, np.diag(1.0 / data.scales), 300)
    best = maximise_likelihood(data).separation
    assert evaluate(data, rows).log_likelihood == pytest.approx(best.log_likelihood, abs=1e-10)


@pytest.mark.parametrize("mode", ["known", "partial"])
def test_wrong_order_of_the_start_is_mended(mode):
    data, matrix, *_ = make_problem(11, n=5, n_windows=20, n_rows=5000, mode=mode)
    right = maximise_likelihood(data).separation
    start = right.rows[[1, 0, 3, 4, 2]]
    again = maximise_likelihood(data, start=start).separation
    first, second = (read_coefficients(data, point).matrix for point in (right, again))
    np.testing.assert_allclose(second, first, atol=1e-6)
    assert np.abs(second - matrix).max() < 0.1


@pytest.mark.parametrize("draw", range(5))
def test_assignment_is_the_best_of_all(draw):
    rng = np.random.default_rng(draw)
    data, *_ = make_problem(draw, n=5, mode="partial")
    rows = rng.standard_normal((5, 5))
    own = rng.uniform(0.5, 2.0, data.powers.shape)
    cost = np.empty((5, 5))
    for i in range(5):
        known = ~np.isnan(data.powers[:, i])
        for k in range(5):
            cost[i, k] = -np.log(abs(rows[k, i]))
            if known.sum() > 1:
                power, row = data.powers[known, i], own[known, k]
                scale = (row / power).mean()  # all windows have the same number of rows
                fit = 0.5 * data.n_rows[known] * (np.log(scale * power) - np.log(row))
                cost[i, k] += fit.sum()
    assert tuple(assign_rows(rows, own, data)) == oracle.find_assignment(cost)


@pytest.mark.parametrize("mode", MODES)
def test_standard_errors_are_the_inverse_information(mode):
    rng = np.random.default_rng(2)
    matrix, gains, powers = draw_equations(rng, 3, 5)
    # the moments of the equations themselves: there the observed information is the expected one
    data = SecondMoments(true_moments(matrix, gains, powers), np.full(5, 300.0), hide(rng, powers, mode))
    point = maximise_likelihood(data).separation
    shown = read_coefficients(data, point)
    np.testing.assert_allclose(shown.matrix, matrix, atol=1e-6)
    parameters = oracle.pack(shown.matrix, shown.gains, shown.powers, data.powers)
    variances = oracle.invert_information(parameters, data.moments, data.shares, data.powers, data.n_rows.sum())
    np.testing.assert_allclose(compute_standard_errors(data, point) ** 2, variances, rtol=1e-3, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_standard_errors_are_those_of_repeated_draws(mode):
    ratios = []
    for seed in range(60):
        data, matrix, *_ = make_problem(seed, n=6, n_windows=8, n_rows=500, mode=mode)
        point = maximise_likelihood(data).separation
        errors = compute_standard_errors(data, point)
        off = ~np.eye(6, dtype=bool)
        ratios.append(((read_coefficients(data, point).matrix - matrix) / np.where(off, errors, 1.0))[off])
    assert 0.93 < np.concatenate(ratios).std() < 1.07  # 1,800 values, correlated within a draw


def test_proportional_inputs_are_named():
    for mode in MODES:
        rng = np.random.default_rng(4)
        data, matrix, gains, powers = make_problem(4, n=4, n_windows=8)
        powers = powers.copy()
        powers[:, 2] = 3.0 * powers[:, 0]
        data = SecondMoments(true_moments(matrix, gains, powers), data.n_rows, hide(rng, powers, mode))
        point = maximise_likelihood(data).separation
        pairs = {tuple(pair) for pair in np.argwhere(find_proportional(data, point)).tolist()}
        assert pairs == {(0, 2), (2, 0)}
        identifiability = compute_identifiability(data, point)
        assert identifiability[0, 2] < 1e-6 < 0.01 < identifiability[0, 1] < 1.0
        np.testing.assert_array_equal(identifiability, identifiability.T)


def test_proportional_unknown_inputs_are_named_from_rows():
    """With drawn rows powers are never quite proportional: the test allows for what chance does."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        _, matrix, gains, powers = make_problem(seed, n=6, n_windows=8)
        powers = np.outer(powers[:, 0], rng.uniform(0.5, 2.0, 6))
        mixing = np.linalg.inv(np.eye(6) - matrix) * gains
        windows = [(rng.standard_normal((200, 6)) * np.sqrt(power)) @ mixing.T for power in powers]
        moments = np.stack([window.T @ window / 200 for window in windows])
        data = SecondMoments(moments, np.full(8, 200.0), np.full(powers.shape, np.nan))
        near = find_proportional(data, maximise_likelihood(data).separation)
        assert near.sum() >= 28  # of 30: nothing is identifiable here


@pytest.mark.parametrize("mode", MODES)
def test_units_of_the_series_do_not_matter(mode):
    data, *_ = make_problem(6, n=5, mode=mode)
    scales = np.array([1e-3, 1.0, 50.0, 1e4, 0.2])
    point, other = maximise_likelihood(data), maximise_likelihood(data.rescale(1.0 / scales))
    first, second = (read_coefficients(data, one.separation).matrix for one in (point, other))
    np.testing.assert_allclose(second, first * scales[:, None] / scales, rtol=1e-6, atol=1e-9)


def test_rows_beyond_whole_windows_belong_to_the_last():
    assert [ends.tolist() for ends in cut_windows([10, 3, 4, 11], 4)] == [[4, 10], [3], [4], [4, 11]]

"""Structural equations with piecewise stationary inputs, and second moments of them or of their rows."""

import numpy as np

from pgmx.solvers.time_series.sem_likelihood import SecondMoments


def draw_equations(rng, n, n_windows, density=0.4):
    """Return A (zero diagonal), the diagonal of B, and the powers of the inputs (M, N)."""
    matrix = rng.uniform(0.2, 0.5, (n, n)) * rng.choice([-1.0, 1.0], (n, n)) * (rng.random((n, n)) < density)
    np.fill_diagonal(matrix, 0.0)
    matrix *= min(1.0, 0.8 / max(np.abs(np.linalg.eigvals(matrix)).max(), 1e-9))
    return matrix, rng.uniform(1.0, 2.0, n), rng.uniform(0.3, 2.0, (n_windows, n)) ** 2


def true_moments(matrix, gains, powers):
    """Return the second moments (M, N, N) of y = A y + B x."""
    mixing = np.linalg.inv(np.eye(len(matrix)) - matrix) * gains
    return (mixing * powers[:, None, :]) @ mixing.T


def draw_moments(rng, matrix, gains, powers, n_rows):
    """Return the second moments of `n_rows` rows per window."""
    mixing = np.linalg.inv(np.eye(len(matrix)) - matrix) * gains
    windows = [(rng.standard_normal((n_rows, len(matrix))) * np.sqrt(power)) @ mixing.T for power in powers]
    return np.stack([window.T @ window / n_rows for window in windows])


def hide(rng, powers, mode):
    """Return the powers as the mode knows them: NaN for half of them or for all."""
    hidden = {"known": 0.0, "partial": 0.5, "blind": 1.1}[mode]
    return np.where(rng.random(powers.shape) < hidden, np.nan, powers)


def make_problem(seed, n=4, n_windows=6, n_rows=400, mode="known"):
    """Return the moments of drawn rows with the equations behind them."""
    rng = np.random.default_rng(seed)
    matrix, gains, powers = draw_equations(rng, n, n_windows)
    moments = draw_moments(rng, matrix, gains, powers, n_rows)
    return SecondMoments(moments, np.full(n_windows, float(n_rows)), hide(rng, powers, mode)), matrix, gains, powers

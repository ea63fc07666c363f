"""Correlation matrices for tests of Gaussian solvers."""

import numpy as np
from scipy.special import ndtri


def correlation(p, n, seed, degree=3.0):
    """Return a sample correlation matrix (p, p) of n rows from a sparse random Gaussian network."""
    rng = np.random.default_rng(seed)
    precision = np.triu(rng.random((p, p)) < degree / max(p - 1, 1), 1) * rng.uniform(0.3, 0.6, (p, p))
    precision *= rng.choice([-1.0, 1.0], (p, p))
    precision = precision + precision.T
    precision += (0.2 - min(0.0, np.linalg.eigvalsh(precision)[0])) * np.eye(p)
    rows = rng.standard_normal((n, p)) @ np.linalg.inv(np.linalg.cholesky(precision))
    return of_rows(rows)


def of_rows(rows):
    """Return the correlation matrix of the columns: exactly symmetric, with unit diagonal, read-only."""
    rows = rows - rows.mean(axis=0)
    rows /= np.sqrt((rows**2).sum(axis=0))
    R = rows.T @ rows
    R = np.clip(0.5 * (R + R.T), -1.0, 1.0)
    np.fill_diagonal(R, 1.0)
    R.flags.writeable = False
    return R


def normal_numbers_of_r(seed, size):
    """Return what ``set.seed(seed); rnorm(size)`` gives in R (Mersenne Twister, inversion)."""
    state = seed
    scrambled = []
    for k in range(50 + 625):
        state = (69069 * state + 1) % 2**32
        if k >= 50:
            scrambled.append(state)
    twister = np.random.RandomState()
    twister.set_state(("MT19937", np.array(scrambled[1:], dtype=np.uint32), 624))
    bits = twister.randint(0, 2**32, size=2 * size, dtype=np.uint32)
    uniform = bits * 2.3283064365386963e-10
    fine = 2.0**27
    return ndtri((np.floor(fine * uniform[::2]) + uniform[1::2]) / fine)

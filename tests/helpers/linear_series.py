"""Rows of linear dynamical systems."""

import numpy as np

from pgmx.datasets import sparse_system

BURN_IN = 100


def draw_series(coefs, n_times, seed=0):
    """Return rows (n_times, n) of the system of coefficients of lag 1, or of a list by lag from 1 on, noise N(0, I)."""
    coefs = coefs if isinstance(coefs, list) else [coefs]
    rng = np.random.default_rng(seed)
    rows = np.zeros((n_times + BURN_IN, coefs[0].shape[0]))
    for t in range(len(coefs), len(rows)):
        rows[t] = sum(coef @ rows[t - lag] for lag, coef in enumerate(coefs, 1)) + rng.standard_normal(rows.shape[1])
    return rows[BURN_IN:]


def draw_sparse_series(n=30, n_times=400, degree=3, kind="random", seed=0):
    """Return rows of a sparse system of one lag, and its coefficients."""
    coef = sparse_system(n, degree, 0.9, kind, random_state=seed)
    return draw_series(coef, n_times, seed), coef

"""Least values of penalised smooth functions, by smooth detours and a quasi-Newton method."""

import numpy as np
from scipy.optimize import minimize

OPTIONS = {"maxiter": 5_000, "maxfun": 10**6, "ftol": 1e-12, "gtol": 1e-7, "maxcor": 40}


def with_norms(smooth, size, groups, penalties):
    """Return nearly the point where smooth(w) + sum_g penalties_g ||w_g|| is least; ``smooth(w)`` gives a gradient too.

    ||w|| is the least value of (||w||^2 / eta + eta) / 2 over eta > 0, at eta = ||w||. Over eta >= h it is smooth in w,
    and a series of ever smaller h leads to the point. Groups that are no longer than the last h are set to zero.
    """
    group = np.full(size, -1)
    for g, cells in enumerate(groups):
        group[cells] = g
    inside = group >= 0
    penalties = np.asarray(penalties, dtype=float)

    def lengths(w):
        return np.sqrt(np.bincount(group[inside], w[inside] ** 2, minlength=len(groups)))

    def value_and_gradient(w, least):
        norms = lengths(w)
        eta = np.maximum(norms, least)
        value, gradient = smooth(w)
        gradient = gradient.copy()
        gradient[inside] += (penalties / eta)[group[inside]] * w[inside]
        return value + 0.5 * penalties @ (norms**2 / eta + eta), gradient

    w = np.zeros(size)
    for least in (1e-1, 1e-2, 1e-3):
        w = minimize(value_and_gradient, w, args=(least,), jac=True, method="L-BFGS-B", options=OPTIONS).x
    short = np.append(lengths(w) <= least, False)
    return np.where(short[group], 0.0, w)


def with_absolute_values(smooth, size, penalties):
    """Return min smooth(w) + sum_k penalties_k |w_k|, w as the difference of two non-negative terms."""
    penalties = np.asarray(penalties, dtype=float)

    def value_and_gradient(x):
        value, gradient = smooth(x[:size] - x[size:])
        value += penalties @ (x[:size] + x[size:])
        return value, np.concatenate([gradient + penalties, penalties - gradient])

    bounds = [(0, None)] * (2 * size)
    found = minimize(
        value_and_gradient, np.zeros(2 * size), jac=True, bounds=bounds, method="L-BFGS-B", options=OPTIONS
    )
    return found.fun, found.x[:size] - found.x[size:]

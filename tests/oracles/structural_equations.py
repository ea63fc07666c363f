"""The likelihood of structural equations written out, maximised by a general optimiser; assignments one by one."""

from itertools import permutations

import numpy as np
from scipy.optimize import minimize


def compute_log_likelihood(matrix, gains, powers, moments, shares):
    """Return the mean Gaussian log-likelihood per row without the constant: −½ Σ_m p_m (log|Σ_m| + tr Σ_m⁻¹ R_m)."""
    mixing = np.linalg.inv(np.eye(len(matrix)) - matrix) @ np.diag(gains)
    total = 0.0
    for share, power, moment in zip(shares, powers, moments, strict=True):
        covariance = mixing @ np.diag(power) @ mixing.T
        total -= 0.5 * share * (np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, moment)))
    return total


def unpack(parameters, powers, free_gains):
    """Return A, the gains and the powers; parameters: off-diagonal of A, logs of free gains, logs of unknown powers."""
    n = powers.shape[1]
    off = ~np.eye(n, dtype=bool)
    matrix = np.zeros((n, n))
    matrix[off] = parameters[: n * (n - 1)]
    gains = np.ones(n)
    behind = n * (n - 1) + int(free_gains.sum())
    gains[free_gains] = np.exp(parameters[n * (n - 1) : behind])
    powers = powers.copy()
    powers[np.isnan(powers)] = np.exp(parameters[behind:])
    return matrix, gains, powers


def pack(matrix, gains, powers, known):
    """Return the parameters of `unpack`."""
    off = ~np.eye(len(matrix), dtype=bool)
    free = ~np.isnan(known).all(axis=0)
    return np.concatenate([matrix[off], np.log(gains[free]), np.log(powers[np.isnan(known)])])


def maximise(moments, shares, known, start):
    """Return the largest log-likelihood that BFGS reaches from the parameters `start`, with A there."""
    free = ~np.isnan(known).all(axis=0)

    def negative(parameters):
        return -compute_log_likelihood(*unpack(parameters, known, free), moments, shares)

    best = minimize(negative, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return -best.fun, unpack(best.x, known, free)[0]


def invert_information(parameters, moments, shares, known, n_rows):
    """Return the inverse of the observed information by central differences, as variances of the entries of A."""
    free = ~np.isnan(known).all(axis=0)
    size, step = len(parameters), 1e-4

    def value(x):
        return -n_rows * compute_log_likelihood(*unpack(x, known, free), moments, shares)

    hessian = np.empty((size, size))
    units = step * np.eye(size)
    for i in range(size):
        for j in range(size):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            values = [a * b * value(parameters + a * units[i] + b * units[j]) for a, b in signs]
            hessian[i, j] = sum(values) / (4.0 * step**2)
    n = known.shape[1]
    variances = np.zeros((n, n))
    variances[~np.eye(n, dtype=bool)] = np.diag(np.linalg.inv(hessian))[: n * (n - 1)]
    return variances


def find_assignment(cost):
    """Return the permutation with the least sum of cost[i, permutation[i]], of all of them."""
    rows = range(len(cost))
    return min(permutations(rows), key=lambda order: sum(cost[i][order[i]] for i in rows))

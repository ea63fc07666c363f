"""Continuous rows with missing values (NaN) under a normal distribution, row by row; slow."""

import numpy as np


def regress(mean, covariance, parents):
    """Return mean and covariance of the network in which each column has its regression on its parents."""
    p = len(mean)
    matrix = np.zeros((p, p))
    done = []
    while len(done) < p:
        for v in range(p):
            if v in done or not set(parents[v]) <= set(done):
                continue
            near = list(parents[v])
            slopes = np.linalg.solve(covariance[np.ix_(near, near)], covariance[near, v])
            residual = covariance[v, v] - slopes @ covariance[near, v]
            for u in done:
                matrix[u, v] = matrix[v, u] = matrix[u, near] @ slopes
            matrix[v, v] = residual + slopes @ matrix[np.ix_(near, near)] @ slopes
            done.append(v)
    return np.asarray(mean), matrix


def network_moments(names, cpds):
    """Return mean and covariance of cpds ``{name: (intercept, {parent: slope}, std)}``."""
    place = {name: v for v, name in enumerate(names)}
    p = len(names)
    slopes, intercepts, noise = np.zeros((p, p)), np.zeros(p), np.zeros(p)
    for name, (intercept, near, std) in cpds.items():
        v = place[name]
        intercepts[v], noise[v] = intercept, std**2
        for parent, slope in near.items():
            slopes[v, place[parent]] = slope
    inverse = np.linalg.inv(np.eye(p) - slopes)
    return inverse @ intercepts, inverse @ np.diag(noise) @ inverse.T


def condition(mean, covariance, row):
    """Return the log-density of the known cells, and mean and covariance of the whole row given them."""
    seen = np.flatnonzero(~np.isnan(row))
    inner = covariance[np.ix_(seen, seen)]
    deviation = row[seen] - mean[seen]
    gain = np.linalg.solve(inner, covariance[seen]).T
    whole = mean + gain @ deviation
    whole[seen] = row[seen]
    rest = covariance - gain @ covariance[seen]
    rest[seen] = 0.0
    rest[:, seen] = 0.0
    quadratic = deviation @ np.linalg.solve(inner, deviation) if len(seen) else 0.0
    log_det = np.linalg.slogdet(inner)[1] if len(seen) else 0.0
    return -0.5 * (len(seen) * np.log(2 * np.pi) + log_det + quadratic), whole, rest


def expect(mean, covariance, rows, weights=None):
    """Return the log-likelihood of the known cells, and mean and covariance of the expected moments."""
    weights = np.ones(len(rows)) if weights is None else weights
    total, sums, squares = 0.0, np.zeros(len(mean)), np.zeros((len(mean), len(mean)))
    for row, weight in zip(rows, weights, strict=True):
        log, whole, rest = condition(mean, covariance, row)
        total += weight * log
        sums += weight * whole
        squares += weight * (np.outer(whole, whole) + rest)
    sums, squares = sums / weights.sum(), squares / weights.sum()
    return total, sums, squares - np.outer(sums, sums)


def maximise(rows, n_steps):
    """Return log-likelihood, mean and covariance after steps of EM of one normal distribution."""
    mean, covariance = np.nanmean(rows, axis=0), np.diag(np.nanvar(rows, axis=0))
    for _ in range(n_steps):
        _, mean, covariance = expect(mean, covariance, rows)
    return expect(mean, covariance, rows)[0], mean, covariance

"""Scores of mixed tables by numpy and their formulas, a regression or a determinant per configuration; slow."""

import numpy as np
import pandas as pd

LOG_2_PI = np.log(2 * np.pi)


def is_discrete(frame, name):
    return isinstance(frame[name].dtype, pd.CategoricalDtype)


def split(frame, parents):
    return [p for p in parents if is_discrete(frame, p)], [p for p in parents if not is_discrete(frame, p)]


def list_parts(frame, names, weights):
    """Return the rows and weights of each configuration that occurs."""
    if not names:
        return [(frame, weights)]
    keys = np.zeros(len(frame), dtype=int)
    for name in names:
        keys = keys * len(frame[name].cat.categories) + frame[name].cat.codes.to_numpy()
    return [(frame[keys == key], weights[keys == key]) for key in np.unique(keys[weights > 0])]


def discrete_log_likelihood(frame, child, parents, weights):
    total = 0.0
    for rows, w in list_parts(frame, parents, weights):
        counts = np.bincount(rows[child].cat.codes, weights=w)
        counts = counts[counts > 0]
        total += (counts * np.log(counts / counts.sum())).sum()
    return total


def residuals(rows, w, child, floats):
    """Return the weighted residual sum of squares of a regression with intercept."""
    design = np.column_stack([np.ones(len(rows)), rows[floats].to_numpy(float).reshape(len(rows), -1)])
    y, root = rows[child].to_numpy(float), np.sqrt(w)
    design = np.column_stack([design[:, :1], design[:, 1:] - np.average(design[:, 1:], axis=0, weights=w)])
    slopes = np.linalg.lstsq(design * root[:, None], (y - np.average(y, weights=w)) * root, rcond=None)[0]
    return float((w * (y - np.average(y, weights=w) - design @ slopes) ** 2).sum())


def clg_log_likelihood(frame, child, parents, *, variance="likelihood", weights=None):
    """Return the log-likelihood of a family of a conditional linear Gaussian network."""
    weights = np.ones(len(frame)) if weights is None else np.asarray(weights, dtype=float)
    states, floats = split(frame, parents)
    if is_discrete(frame, child):
        assert not floats
        return discrete_log_likelihood(frame, child, states, weights)
    total = 0.0
    for rows, w in list_parts(frame, states, weights):
        n = w.sum()
        if n <= len(floats) + 1:
            return -np.inf
        m = n - len(floats) - 1 if variance == "unbiased" else n
        total += -n / 2 * (LOG_2_PI + np.log(residuals(rows, w, child, floats) / m)) - m / 2
    return total


def gaussian_log_density(rows, w, floats):
    """Return the log-density of rows under a Gaussian with their mean and their covariance with denominator n - 1."""
    if not floats:
        return 0.0
    n, k = w.sum(), len(floats)
    if n <= k:
        return -np.inf
    covariance = weighted_covariance(rows[floats].to_numpy(float), w)
    return -n / 2 * (k * LOG_2_PI + np.linalg.slogdet(covariance)[1]) - (n - 1) * k / 2


def weighted_covariance(rows, w):
    centred = rows - np.average(rows, axis=0, weights=w)
    return (centred * w[:, None]).T @ centred / (w.sum() - 1)


def cg_log_likelihood(frame, child, parents, *, weights=None):
    """Return the log-likelihood by the formula of pgmpy's conditional Gaussian scores: a ratio of densities."""
    weights = np.ones(len(frame)) if weights is None else np.asarray(weights, dtype=float)
    states, floats = split(frame, parents)
    if not is_discrete(frame, child):
        parts = list_parts(frame, states, weights)
        joint = sum(gaussian_log_density(rows, w, [child, *floats]) for rows, w in parts)
        return joint - sum(gaussian_log_density(rows, w, floats) for rows, w in parts) if joint > -np.inf else joint
    joint = sum(gaussian_log_density(rows, w, floats) for rows, w in list_parts(frame, [*states, child], weights))
    if joint == -np.inf:
        return joint
    given = sum(gaussian_log_density(rows, w, floats) for rows, w in list_parts(frame, states, weights))
    return discrete_log_likelihood(frame, child, states, weights) + joint - given


def n_parameters(frame, child, parents, *, seen=False):
    """Return the free parameters of a family; `seen` counts only states that occur, as pgmpy does."""

    def card(name):
        return frame[name].nunique() if seen else len(frame[name].cat.categories)

    states, floats = split(frame, parents)
    q = int(np.prod([card(name) for name in states])) if states else 1
    if not is_discrete(frame, child):
        return q * (len(floats) + 2)
    return q * (card(child) - 1) * (len(floats) + 2 if floats else 1)


def clg_score(frame, child, parents, *, variance="likelihood", weights=None):
    """Return `bic-clg` of a family."""
    n = len(frame) if weights is None else float(np.sum(weights))
    log_likelihood = clg_log_likelihood(frame, child, parents, variance=variance, weights=weights)
    return log_likelihood - n_parameters(frame, child, parents) * np.log(n) / 2


def dg_score(frame, child, parents, *, weights=None):
    """Return the degenerate Gaussian BIC of a family: a joint Gaussian with indicators of all but the first states."""
    weights = np.ones(len(frame)) if weights is None else np.asarray(weights, dtype=float)

    def embed(names):
        columns = []
        for name in names:
            if not is_discrete(frame, name):
                columns.append(frame[name].to_numpy(float))
                continue
            codes = frame[name].cat.codes.to_numpy()
            columns += [(codes == state).astype(float) for state in np.unique(codes[weights > 0])[1:]]
        rows = np.array(columns).reshape(len(columns), len(frame)).T
        centred = rows - np.average(rows, axis=0, weights=weights)
        return (centred * weights[:, None]).T @ centred / weights.sum()

    n, given, both = weights.sum(), embed(parents), embed([*parents, child])
    k, m = len(given), len(both) - len(given)
    log_determinant = np.linalg.slogdet(both)[1] - np.linalg.slogdet(given)[1]
    log_likelihood = -n / 2 * (log_determinant + m * LOG_2_PI + m)
    return log_likelihood - np.log(n) / 2 * (m * k + m * (m + 1) / 2 + m)


def cg_score(frame, child, parents, name, *, weights=None):
    """Return `ll-cg`, `aic-cg` or `bic-cg` of a family by its formula."""
    n = len(frame) if weights is None else float(np.sum(weights))
    cost = {"ll-cg": 0.0, "aic-cg": 1.0, "bic-cg": np.log(n) / 2}[name]
    return cg_log_likelihood(frame, child, parents, weights=weights) - cost * n_parameters(
        frame, child, parents, seen=True
    )

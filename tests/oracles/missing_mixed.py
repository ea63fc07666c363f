"""Rows of mixed data with missing values, by enumeration of all states and one dense Gaussian for each; slow.

Networks are those of `mixed_networks`; a row is a dictionary of what is known.
"""

import numpy as np

from oracles.mixed_networks import joint_gaussian, list_configurations, log_normal, log_probability


def complete(families, row):
    """Return the log-density of a row, and ``(share, configuration, means, covariance)`` for each configuration."""
    logs, parts = [], []
    for configuration in list_configurations(families):
        if any(configuration[v] != row[v] for v in configuration if v in row):
            continue
        floats, mean, covariance = joint_gaussian(families, configuration)
        seen = [k for k, v in enumerate(floats) if v in row]
        x = np.array([row[floats[k]] for k in seen])
        with np.errstate(divide="ignore"):
            log = log_probability(families, configuration) + log_normal(x, mean[seen], covariance[np.ix_(seen, seen)])
        gain = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[seen]).T
        whole, rest = mean + gain @ (x - mean[seen]), covariance - gain @ covariance[seen]
        whole[seen] = x
        rest[seen] = 0.0
        rest[:, seen] = 0.0
        logs.append(log)
        parts.append((configuration, dict(zip(floats, whole, strict=True)), floats, rest))
    top = max(logs)
    weights = np.exp(np.array(logs) - top)
    shares = weights / weights.sum()
    return top + np.log(weights.sum()), [(share, *part) for share, part in zip(shares, parts, strict=True)]


def expect(families, rows, weights):
    """Return the log-likelihood, and counts or moments of (1, continuous parents, child) of each family."""
    totals = []
    for family in families:
        if family[0] == "states":
            totals.append(np.zeros(np.shape(family[2])))
        else:
            totals.append(np.zeros((*np.shape(family[4]), len(family[2]) + 2, len(family[2]) + 2)))
    likelihood = 0.0
    for row, weight in zip(rows, weights, strict=True):
        if not weight:  # it may be impossible
            continue
        log, parts = complete(families, row)
        likelihood += weight * log
        for share, configuration, means, floats, rest in parts:
            for v, family in enumerate(families):
                at = tuple(configuration[d] for d in family[1])
                if family[0] == "states":
                    totals[v][(configuration[v], *at)] += weight * share
                    continue
                near = [*family[2], v]
                vector = np.array([1.0, *(means[u] for u in near)])
                products = np.outer(vector, vector)
                places = [floats.index(u) for u in near]
                products[1:, 1:] += rest[np.ix_(places, places)]
                totals[v][at] += weight * share * products
    return likelihood, totals


def impute(families, row):
    """Return the most probable state or the mean of each variable given the row."""
    _, parts = complete(families, row)
    filled = {}
    for v, family in enumerate(families):
        if family[0] == "states":
            shares = np.zeros(len(family[2]))
            for share, configuration, *_ in parts:
                shares[configuration[v]] += share
            filled[v] = int(shares.argmax())
        else:
            filled[v] = sum(share * means[v] for share, _, means, *_ in parts)
    return filled

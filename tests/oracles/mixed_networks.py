"""Conditional linear Gaussian networks by enumeration of all configurations and one dense Gaussian for each; slow.

A network is a list of families in any order: ``("states", parents, table)`` with the table (states, *states of the
parents), or ``("floats", discrete parents, continuous parents, coefficients, standard deviations)``.
"""

import itertools

import numpy as np


def order_of(families):
    parents = [set(f[1]) | (set(f[2]) if f[0] == "floats" else set()) for f in families]
    order = []
    while len(order) < len(families):
        order += [v for v in range(len(families)) if v not in order and parents[v] <= set(order)]
    return order


def list_configurations(families):
    """Yield the states of the discrete variables as dictionaries."""
    discrete = [v for v, family in enumerate(families) if family[0] == "states"]
    for states in itertools.product(*(range(len(families[v][2])) for v in discrete)):
        yield dict(zip(discrete, states, strict=True))


def joint_gaussian(families, configuration):
    """Return the continuous variables, their means and their covariance in a configuration."""
    floats = [v for v, family in enumerate(families) if family[0] == "floats"]
    place = {v: k for k, v in enumerate(floats)}
    mean, covariance = np.zeros(len(floats)), np.zeros((len(floats), len(floats)))
    done = []
    for v in order_of(families):
        if families[v][0] == "states":
            continue
        _, states, parents, coefficients, std = families[v]
        at = tuple(configuration[d] for d in states)
        k, near = place[v], [place[p] for p in parents]
        slopes = np.asarray(coefficients[at][1:])
        mean[k] = coefficients[at][0] + slopes @ mean[near]
        for j in done:
            covariance[k, j] = covariance[j, k] = slopes @ covariance[near, j]
        covariance[k, k] = std[at] ** 2 + slopes @ covariance[np.ix_(near, near)] @ slopes
        done.append(k)
    return floats, mean, covariance


def log_probability(families, configuration):
    total = 0.0
    for v, family in enumerate(families):
        if family[0] == "states":
            total += np.log(family[2][(configuration[v], *(configuration[p] for p in family[1]))])
    return total


def log_normal(x, mean, covariance):
    if not len(x):
        return 0.0
    deviation = x - mean
    quadratic = deviation @ np.linalg.solve(covariance, deviation)
    return -0.5 * (len(x) * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + quadratic)


def log_evidence(families, evidence):
    """Return the log-density of the evidence."""
    logs, _ = list_parts(families, evidence)
    return max(logs) + np.log(np.exp(np.array(logs) - max(logs)).sum())


def list_parts(families, evidence):
    """Return for each configuration its log-density with the evidence, and its states and ``{float: (mean, var)}``."""
    logs, parts = [], []
    for configuration in list_configurations(families):
        if any(configuration[v] != evidence[v] for v in configuration if v in evidence):
            continue
        floats, mean, covariance = joint_gaussian(families, configuration)
        seen = [k for k, v in enumerate(floats) if v in evidence]
        rest = [k for k, v in enumerate(floats) if v not in evidence]
        x = np.array([evidence[floats[k]] for k in seen])
        with np.errstate(divide="ignore"):
            logs.append(
                log_probability(families, configuration) + log_normal(x, mean[seen], covariance[np.ix_(seen, seen)])
            )
        gain = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, rest)]).T
        means = mean[rest] + gain @ (x - mean[seen])
        variances = np.diag(covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(seen, rest)])
        parts.append(
            (configuration, dict(zip([floats[k] for k in rest], zip(means, variances, strict=True), strict=True)))
        )
    return logs, parts


def answer(families, evidence):
    """Return ``{variable: probabilities or (mean, variance)}`` of what the evidence ``{variable: value}`` lacks."""
    logs, parts = list_parts(families, evidence)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    answers = {}
    for v, family in enumerate(families):
        if v in evidence:
            continue
        if family[0] == "states":
            shares = np.zeros(len(family[2]))
            for weight, (configuration, _) in zip(weights, parts, strict=True):
                shares[configuration[v]] += weight
            answers[v] = shares
        else:
            means, variances = np.array([normals[v] for _, normals in parts]).T
            mean = weights @ means
            answers[v] = (mean, weights @ (variances + (means - mean) ** 2))
    return answers


def most_probable(families, evidence):
    """Return the largest log-density of a configuration, and ``{configuration as a tuple: (its own, means)}``."""
    logs, parts = list_parts(families, evidence)
    table = {}
    for value, (configuration, normals) in zip(logs, parts, strict=True):
        states = tuple(configuration[v] for v in sorted(configuration))
        table[states] = value, {v: mean for v, (mean, _) in normals.items()}
    return max(logs), table

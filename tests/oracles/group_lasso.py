"""Penalised exact likelihood of small pairwise networks by enumeration, and its optimum by a smooth detour."""

import itertools
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize


def features(cards, edges):
    """Return the 0/1 features of all configurations, (configurations, parameters): nodes first, then edge tables."""
    return _features(tuple(cards), tuple(map(tuple, edges)))


@lru_cache(maxsize=16)
def _features(cards, edges):
    rows = []
    for states in itertools.product(*map(range, cards)):
        row = [float(states[v] == a) for v in range(len(cards)) for a in range(cards[v])]
        for i, j in edges:
            row += [float((states[i], states[j]) == ab) for ab in itertools.product(range(cards[i]), range(cards[j]))]
        rows.append(row)
    return np.array(rows)


def observed(cards, edges, codes):
    """Return the mean features of the columns of `codes`."""
    table = features(cards, edges)
    index = np.ravel_multi_index(tuple(np.asarray(codes, dtype=int)), cards)
    return table[index].mean(axis=0)


def loss(cards, edges, codes, values):
    """Return the mean of -log p and its gradient."""
    return loss_at_moments(features(cards, edges), observed(cards, edges, codes), values)


def loss_at_moments(table, moments, values):
    """Return log Z minus the score of the moments, and its gradient."""
    scores = table @ values
    top = scores.max()
    weights = np.exp(scores - top)
    log_partition = top + np.log(weights.sum())
    return log_partition - moments @ values, (weights / weights.sum()) @ table - moments


def group_optimum(cards, edges, codes, lam, l2):
    """Return the least loss + lam sum_e sqrt(s_i s_j) ||W_e|| + l2/2 ||w||^2, edge tables as groups.

    ||w|| is the minimum over eta > 0 of (||w||^2 / eta + eta) / 2, smooth in both.
    """
    n_nodes = sum(cards)
    sizes = [cards[i] * cards[j] for i, j in edges]
    group = np.repeat(np.arange(len(edges)), sizes)
    scale = lam * np.sqrt(sizes)
    total = n_nodes + sum(sizes)
    table, moments = features(cards, edges), observed(cards, edges, codes)

    def smooth(x):
        w, eta = x[:total], x[total:]
        value, gradient = loss_at_moments(table, moments, w)
        squares = np.bincount(group, w[n_nodes:] ** 2, minlength=len(edges))
        value += 0.5 * l2 * (w @ w) + 0.5 * scale @ (squares / eta + eta)
        gradient = gradient + l2 * w
        gradient[n_nodes:] += (scale / eta)[group] * w[n_nodes:]
        return value, np.concatenate([gradient, 0.5 * scale * (1.0 - squares / eta**2)])

    start = np.concatenate([np.zeros(total), np.ones(len(edges))])
    bounds = [(None, None)] * total + [(1e-7, None)] * len(edges)
    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    return minimize(smooth, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).fun


def cell_optimum(cards, edges, codes, lam, l2):
    """Return the least loss + lam ||W||_1 + l2/2 ||w||^2, as positive minus negative terms."""
    n_nodes = sum(cards)
    table, moments = features(cards, edges), observed(cards, edges, codes)
    total = table.shape[1]
    n_cells = total - n_nodes

    def smooth(x):
        w = np.concatenate([x[:n_nodes], x[n_nodes:total] - x[total:]])
        value, gradient = loss_at_moments(table, moments, w)
        value += 0.5 * l2 * (w @ w) + lam * x[n_nodes:].sum()
        gradient = gradient + l2 * w
        return value, np.concatenate([gradient[:n_nodes], gradient[n_nodes:] + lam, lam - gradient[n_nodes:]])

    bounds = [(None, None)] * n_nodes + [(0, None)] * 2 * n_cells
    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    start = np.zeros(total + n_cells)
    return minimize(smooth, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).fun

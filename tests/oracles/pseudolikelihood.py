"""Penalised pseudolikelihood of pairwise networks, row by row in doubles, from its formula.

Parameters are one vector: the nodes' in order, then the tables of `pairs`, row-major (s_i, s_j).
"""

import numpy as np


def split(cards, pairs, values):
    """Return views of the parameters: a list of vectors, a list of tables."""
    sizes = [*cards, *(cards[i] * cards[j] for i, j in pairs)]
    parts = np.split(np.asarray(values), np.cumsum(sizes)[:-1])
    tables = [part.reshape(cards[i], cards[j]) for part, (i, j) in zip(parts[len(cards) :], pairs, strict=True)]
    return parts[: len(cards)], tables


def log_conditionals(cards, pairs, values, codes):
    """Return for each variable log p(x_i = a | rest of the row), (s_i, rows)."""
    nodes, tables = split(cards, pairs, values)
    fields = [np.repeat(node[:, None], codes.shape[1], axis=1) for node in nodes]
    for (i, j), table in zip(pairs, tables, strict=True):
        fields[i] += table[:, codes[j]]
        fields[j] += table.T[:, codes[i]]
    tops = [field.max(axis=0) for field in fields]
    return [f - top - np.log(np.exp(f - top).sum(axis=0)) for f, top in zip(fields, tops, strict=True)]


def loss(cards, pairs, values, codes, weights=None):
    """Return -(1 / 2W) sum_m w_m sum_i log p(x_i | rest), and its gradient."""
    weights = np.ones(codes.shape[1]) if weights is None else np.asarray(weights, dtype=float)
    weights = weights / weights.sum()
    logs = log_conditionals(cards, pairs, values, codes)
    seen = [(np.arange(r)[:, None] == codes[v]).astype(float) for v, r in enumerate(cards)]
    excess = [np.exp(log) - one for log, one in zip(logs, seen, strict=True)]
    value = -0.5 * sum(float(((log * one).sum(axis=0) * weights).sum()) for log, one in zip(logs, seen, strict=True))
    nodes = [0.5 * (e @ weights) for e in excess]
    tables = [0.5 * ((excess[i] * weights) @ seen[j].T + (seen[i] * weights) @ excess[j].T).ravel() for i, j in pairs]
    return value, np.concatenate([*nodes, *tables])


def groups(cards, pairs):
    """Return the positions of each group of parameters: nodes, then tables."""
    sizes = [*cards, *(cards[i] * cards[j] for i, j in pairs)]
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def objective(cards, pairs, values, codes, penalties, l2, *, weights=None, cells=False):
    """Return loss + sum_g penalties_g ||w_g|| + l2/2 ||w||^2; `cells`: absolute values instead of norms of tables."""
    order = [1 if cells and g >= len(cards) else 2 for g in range(len(penalties))]
    sizes = [np.linalg.norm(values[g], p) for g, p in zip(groups(cards, pairs), order, strict=True)]
    return loss(cards, pairs, values, codes, weights)[0] + np.dot(penalties, sizes) + 0.5 * l2 * (values @ values)


def distances(cards, pairs, values, codes, penalties, l2, *, weights=None):
    """Return the distance of 0 from the subdifferential in each group."""
    gradient = loss(cards, pairs, values, codes, weights)[1] + l2 * values
    found = []
    for p, group in zip(penalties, groups(cards, pairs), strict=True):
        g, w, norm = gradient[group], values[group], np.linalg.norm(values[group])
        found.append(np.linalg.norm(g + p * w / norm) if norm > 0 else max(np.linalg.norm(g) - p, 0.0))
    return np.array(found)

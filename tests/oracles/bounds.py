"""Bounds on the log-partition in the plainest way: all spanning trees, reweighted flooding, naive mean field.

A network is `cards` and `factors` as in `enumeration`: ((i,) or (i, j), table of finite log-values), each scope once.
"""

import itertools
import math

import numpy as np


def spanning_trees(n, edges):
    """Yield every spanning tree of a connected graph as a tuple of edges."""
    for tree in itertools.combinations(edges, n - 1):
        label = list(range(n))
        for i, j in tree:
            label = [label[i] if x == label[j] else x for x in label]
        if len(set(label)) == 1:
            yield tree


def uniform_edge_probabilities(n, edges):
    """Return {edge: share of the spanning trees that hold it}."""
    trees = list(spanning_trees(n, edges))
    return {edge: sum(edge in tree for tree in trees) / len(trees) for edge in edges}


def reweighted_bound(cards, factors, probabilities, rounds=2000):
    """Return Wainwright's bound by damped flooding: expected score and entropies less weighted informations."""
    nodes = [np.zeros(size) for size in cards]
    tables = {}
    for scope, table in factors:
        if len(scope) == 1:
            nodes[scope[0]] = nodes[scope[0]] + np.array(table)
        else:
            tables[scope], tables[scope[::-1]] = np.array(table), np.array(table).T
    weight = {pair: probabilities[min(pair), max(pair)] for pair in tables}
    messages = {(i, j): np.zeros(cards[j]) for i, j in tables}

    def field(i):
        return nodes[i] + sum(weight[k, j] * message for (k, j), message in messages.items() if j == i)

    for _ in range(rounds):
        fresh = {}
        for i, j in tables:
            logs = (field(i) - messages[j, i])[:, None] + tables[i, j] / weight[i, j]
            new = np.logaddexp.reduce(logs, axis=0)
            fresh[i, j] = 0.5 * messages[i, j] + 0.5 * (new - new.max())
        messages = fresh
    total = 0.0
    for i in range(len(cards)):
        logs = field(i)
        p = np.exp(logs - np.logaddexp.reduce(logs))
        total += float(p @ nodes[i]) - float((p * np.log(p)).sum())
    for (i, j), table in tables.items():
        if i < j:
            logs = (field(i) - messages[j, i])[:, None] + table / weight[i, j] + (field(j) - messages[i, j])[None, :]
            p = np.exp(logs - np.logaddexp.reduce(logs, axis=None))
            information = float((p * (np.log(p) - np.log(np.outer(p.sum(axis=1), p.sum(axis=0))))).sum())
            total += float((p * table).sum()) - weight[i, j] * information
    return total


def naive_mean_field(cards, factors, rounds=200):
    """Return expected score and entropy of independent variables after coordinate ascent from uniform ones."""
    beliefs = [[1.0 / size] * size for size in cards]
    for _ in range(rounds):
        for v, size in enumerate(cards):
            logs = [0.0] * size
            for scope, table in factors:
                if v in scope:
                    for states in itertools.product(*(range(cards[u]) for u in scope)):
                        share = math.prod(beliefs[u][a] for u, a in zip(scope, states, strict=True) if u != v)
                        logs[states[scope.index(v)]] += share * float(np.array(table)[states])
            top = max(logs)
            weights = [math.exp(x - top) for x in logs]
            beliefs[v] = [w / sum(weights) for w in weights]
    score = 0.0
    for scope, table in factors:
        for states in itertools.product(*(range(cards[u]) for u in scope)):
            share = math.prod(beliefs[u][a] for u, a in zip(scope, states, strict=True))
            score += share * float(np.array(table)[states])
    return score - sum(p * math.log(p) for belief in beliefs for p in belief if p > 0)

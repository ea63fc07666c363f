"""Sum-product by flooding on plain lists, and Bethe's free energy from beliefs: a few variables, no cleverness.

A network is `cards`, the numbers of states, and `factors`, a list of ((i,) or (i, j), table of finite log-values).
"""

import math


def flood(cards, factors, sweeps):
    """Return messages {(i, j): list over the states of j} after a number of rounds, each from the messages before."""
    nodes = [[1.0] * size for size in cards]
    tables = {}
    for scope, table in factors:
        if len(scope) == 1:
            nodes[scope[0]] = [u * math.exp(x) for u, x in zip(nodes[scope[0]], table, strict=True)]
        else:
            i, j = scope
            tables[i, j] = [[math.exp(table[a][b]) for b in range(cards[j])] for a in range(cards[i])]
            tables[j, i] = [[math.exp(table[a][b]) for a in range(cards[i])] for b in range(cards[j])]
    messages = {(i, j): [1.0 / cards[j]] * cards[j] for i, j in tables}
    for _ in range(sweeps):
        fresh = {}
        for i, j in tables:
            sums = [0.0] * cards[j]
            for a in range(cards[i]):
                weight = nodes[i][a]
                for k, to in tables:
                    if to == i and k != j:
                        weight *= messages[k, i][a]
                for b in range(cards[j]):
                    sums[b] += weight * tables[i, j][a][b]
            fresh[i, j] = [x / sum(sums) for x in sums]
        messages = fresh
    return nodes, tables, messages


def beliefs(cards, factors, sweeps=500):
    """Return (list of node beliefs, {(i, j): table of beliefs, i < j}) after flooding."""
    nodes, tables, messages = flood(cards, factors, sweeps)

    def product(i, a, without=None):
        weight = nodes[i][a]
        for k, to in tables:
            if to == i and k != without:
                weight *= messages[k, i][a]
        return weight

    alone = []
    for i, size in enumerate(cards):
        row = [product(i, a) for a in range(size)]
        alone.append([x / sum(row) for x in row])
    joined = {}
    for i, j in tables:
        if i < j:
            table = [
                [product(i, a, j) * tables[i, j][a][b] * product(j, b, i) for b in range(cards[j])]
                for a in range(cards[i])
            ]
            total = sum(map(sum, table))
            joined[i, j] = [[x / total for x in row] for row in table]
    return alone, joined


def bethe_log_partition(cards, factors, alone, joined):
    """Return the expected score under the beliefs plus Bethe's entropy."""
    total = 0.0
    degrees = [sum(i in pair for pair in joined) for i in range(len(cards))]
    for scope, table in factors:
        if len(scope) == 1:
            total += sum(p * x for p, x in zip(alone[scope[0]], table, strict=True))
        else:
            total += sum(
                p * x for row, xs in zip(joined[scope], table, strict=True) for p, x in zip(row, xs, strict=True)
            )
    for i, row in enumerate(alone):
        total += (degrees[i] - 1) * sum(p * math.log(p) for p in row if p > 0)
    for table in joined.values():
        total -= sum(p * math.log(p) for row in table for p in row if p > 0)
    return total

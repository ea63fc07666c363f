"""Hartemink's discretisation by its definition: whole tables are counted again for each merger that is tried."""

import math


def mutual_information(first, second):
    """Return the mutual information of two lists of states in nats, over the rows in which neither is None."""
    rows = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    n = len(rows)
    if not n:
        return 0.0
    total = 0.0
    for pair in set(rows):
        p = rows.count(pair) / n
        p_a = sum(a == pair[0] for a, _ in rows) / n
        p_b = sum(b == pair[1] for _, b in rows) / n
        total += p * math.log(p / (p_a * p_b))
    return total


def merge_lower(codes, k):
    """Return the codes after bins k and k + 1 became one."""
    return [c if c is None or c <= k else c - 1 for c in codes]


def discretize_by_hartemink(columns, n_states, n_bins):
    """Return for each column of `n_bins` (position: bins to keep) the first initial bin of each bin that is left.

    `columns` are lists of codes, None where missing. In turn each column merges the adjacent bins after whose merger
    the sum of its mutual information with all others is largest, the lowest of those that tie.
    """
    columns = [list(column) for column in columns]
    firsts = {v: list(range(n_states[v])) for v in n_bins}
    while any(len(firsts[v]) > most for v, most in n_bins.items()):
        for v, most in n_bins.items():
            if len(firsts[v]) <= most:
                continue
            sums = []
            for k in range(len(firsts[v]) - 1):
                merged = merge_lower(columns[v], k)
                sums.append(sum(mutual_information(merged, columns[u]) for u in range(len(columns)) if u != v))
            best = next(k for k, value in enumerate(sums) if value > max(sums) - 1e-11)
            columns[v] = merge_lower(columns[v], best)
            del firsts[v][best + 1]
    return firsts

"""The one outside scorer: BIC of a DAG by plain counting, for every solver alike. It imports numpy alone."""

import math

import numpy as np


def bic(codes, cards, edges):
    """Return sum over families of sum_jk N_jk log(N_jk / N_j) - q (r - 1) log(N) / 2, natural logarithm.

    ``codes`` is (n_variables, n_rows), ``cards`` the declared states, ``edges`` (tail, head) ids; q counts all declared
    parent configurations. ``tests/oracles/family_scores.py`` says the same more slowly.
    """
    return math.fsum(
        _family_bic(codes, cards, child, [tail for tail, head in edges if head == child]) for child in range(len(cards))
    )


def _family_bic(codes, cards, child, parents):
    n_rows, r = codes.shape[1], int(cards[child])
    configuration, size = np.zeros(n_rows, dtype=np.int64), 1
    for p in parents:
        configuration = configuration * int(cards[p]) + codes[p]
        size *= int(cards[p])
        if size > 4 * n_rows:  # number the configurations that occur, so that a table stays small
            seen, configuration = np.unique(configuration, return_inverse=True)
            size = len(seen)
    table = np.bincount(configuration * r + codes[child], minlength=size * r).reshape(size, r)
    q = math.prod(int(cards[p]) for p in parents)
    return _n_log_n(table) - _n_log_n(table.sum(axis=1)) - 0.5 * math.log(n_rows) * q * (r - 1)


def _n_log_n(counts):
    seen = counts[counts > 0].astype(float)
    return float(np.sum(seen * np.log(seen)))


def is_dag(n, edges):
    """Return whether the edges have no cycle: every solver's graph is checked before it is scored."""
    left, edges = set(range(n)), list(edges)
    while left:
        roots = left - {head for _, head in edges}
        if not roots:
            return False
        left -= roots
        edges = [(tail, head) for tail, head in edges if tail in left]
    return True

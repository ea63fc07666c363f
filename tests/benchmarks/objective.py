"""The one outside scorer: BIC and BDeu of a DAG by plain counting, for every solver alike. It imports numpy alone."""

import math

import numpy as np


def bic(codes, cards, edges):
    """Return sum over families of sum_jk N_jk log(N_jk / N_j) - q (r - 1) log(N) / 2, natural logarithm.

    ``codes`` is (n_variables, n_rows), ``cards`` the declared states, ``edges`` (tail, head) ids; q counts all declared
    parent configurations. ``tests/oracles/family_scores.py`` says the same more slowly.
    """
    half_log = 0.5 * math.log(codes.shape[1])

    def family(table, q):
        return _n_log_n(table) - _n_log_n(table.sum(axis=1)) - half_log * q * (table.shape[1] - 1)

    return _sum_of_families(family, codes, cards, edges)


def bdeu(codes, cards, edges, equivalent_sample_size=10.0):
    """Return sum over families of log P(counts | graph), priors Dirichlet(ess / (q r)), natural logarithm.

    That is sum_j [lgamma(alpha_j) - lgamma(alpha_j + N_j) + sum_k lgamma(alpha_jk + N_jk) - lgamma(alpha_jk)],
    alpha_jk = ess / (q r), alpha_j = ess / q; empty cells add nothing, q counts all declared parent configurations.
    """

    def family(table, q):
        r = table.shape[1]
        cells = _lgamma_rise(table, equivalent_sample_size / (q * r))
        return cells - _lgamma_rise(table.sum(axis=1), equivalent_sample_size / q)

    return _sum_of_families(family, codes, cards, edges)


SCORES = {"bic": bic, "bdeu": bdeu}


def _sum_of_families(family, codes, cards, edges):
    parents = [[] for _ in cards]
    for tail, head in edges:
        parents[head].append(tail)
    return math.fsum(
        family(_family_table(codes, cards, child, above), math.prod(int(cards[p]) for p in above))
        for child, above in enumerate(parents)
    )


def _family_table(codes, cards, child, parents):
    """Return the counts, one row a parent configuration; some that never occur may be left out."""
    n_rows, r = codes.shape[1], int(cards[child])
    configuration, size = np.zeros(n_rows, dtype=np.int64), 1
    for p in parents:
        configuration = configuration * int(cards[p]) + codes[p]
        size *= int(cards[p])
        if size > 4 * n_rows:  # number the configurations that occur, so that a table stays small
            seen, configuration = np.unique(configuration, return_inverse=True)
            size = len(seen)
    return np.bincount(configuration * r + codes[child], minlength=size * r).reshape(size, r)


def _n_log_n(counts):
    seen = counts[counts > 0].astype(float)
    return float(np.sum(seen * np.log(seen)))


def _lgamma_rise(counts, alpha):
    """Return the sum of lgamma(alpha + N) - lgamma(alpha) over the counts N."""
    values, times = np.unique(counts[counts > 0], return_counts=True)
    base = math.lgamma(alpha)
    pairs = zip(values.tolist(), times.tolist(), strict=True)
    return math.fsum(n * (math.lgamma(alpha + value) - base) for value, n in pairs)


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

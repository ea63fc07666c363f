"""The best network by dynamic programming over subsets, in the plainest form (Silander and Myllymaki, 2006)."""

from functools import cache
from itertools import combinations
from math import inf


def best_network_score(n, local_score, *, allowed=None, required=(), max_indegree=None):
    """Return the largest score of a network of n variables; -inf where none obeys the constraints."""
    most = n if max_indegree is None else max_indegree

    @cache
    def best_parents(v, others):
        must = {tail for tail, head in required if head == v}
        usable = [u for u in others if allowed is None or allowed[v][u]]
        scores = [
            local_score(v, parents)
            for k in range(min(most, len(usable)) + 1)
            for parents in combinations(usable, k)
            if must <= set(parents)
        ]
        return max(scores, default=-inf)

    @cache
    def best_total(subset):
        totals = []
        for v in subset:
            others = tuple(u for u in subset if u != v)
            totals.append(best_total(others) + best_parents(v, others))
        return max(totals, default=0.0)

    return best_total(tuple(range(n)))

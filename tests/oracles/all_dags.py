"""The best graph by trying all of them."""

import itertools

from oracles.graphs import is_acyclic


def all_dags(n):
    """Yield each directed acyclic graph of n variables as a list of (tail, head)."""
    pairs = list(itertools.combinations(range(n), 2))
    for choice in itertools.product((None, False, True), repeat=len(pairs)):
        edges = [
            (b, a) if turned else (a, b) for (a, b), turned in zip(pairs, choice, strict=True) if turned is not None
        ]
        if is_acyclic(edges):
            yield edges


def best_score(n, local_score, *, allowed=None, required=(), max_indegree=None, price=0.0):
    """Return the largest score of the graphs that obey the constraints, less `price` for each arc."""
    most = n if max_indegree is None else max_indegree
    scores = []
    for edges in all_dags(n):
        parents = [sorted(tail for tail, head in edges if head == v) for v in range(n)]
        if max(map(len, parents)) > most or not set(required) <= set(edges):
            continue
        if allowed is not None and not all(allowed[head][tail] for tail, head in edges):
            continue
        scores.append(sum(local_score(v, tuple(parents[v])) for v in range(n)) - price * len(edges))
    return max(scores)

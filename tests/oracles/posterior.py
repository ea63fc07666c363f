"""The posterior over structures by enumeration of all DAGs, and in decimals by inclusion-exclusion over sources."""

from decimal import Decimal, localcontext
from itertools import combinations
from math import log

import numpy as np

from oracles.all_dags import all_dags


def count_orders(n, edges):
    """Return the number of topological orders of a DAG."""
    parents = [{tail for tail, head in edges if head == v} for v in range(n)]
    counts = {frozenset(): 1}
    for size in range(1, n + 1):
        for members in map(frozenset, combinations(range(n), size)):
            counts[members] = sum(counts[members - {v}] for v in members if parents[v] <= members - {v})
    return counts[frozenset(range(n))]


class EnumeratedPosterior:
    """All DAGs whose families have a weight above 0; ``log_weight(v, parents)`` takes a sorted tuple.

    Attributes are the graphs as sorted edges, their probabilities, the log sum of their weights, and the probabilities
    of arcs and of directed paths ``[tail, head]``.
    """

    def __init__(self, n, log_weight, *, over="dags"):
        weights, self.graphs = [], []
        for edges in all_dags(n):
            parents = [tuple(sorted(tail for tail, head in edges if head == v)) for v in range(n)]
            weight = sum(log_weight(v, parents[v]) for v in range(n))
            if weight > -np.inf:
                self.graphs.append(sorted(edges))
                weights.append(weight + (log(count_orders(n, edges)) if over == "orders" else 0.0))
        top = max(weights)
        shares = np.exp(np.array(weights) - top)
        self.log_total = top + log(shares.sum())
        self.probabilities = shares / shares.sum()
        self.best = self.graphs[int(np.argmax(weights))]
        adjacency = np.zeros((len(self.graphs), n, n))
        for number, edges in enumerate(self.graphs):
            for tail, head in edges:
                adjacency[number, tail, head] = 1
        self.arcs = np.einsum("g,guv->uv", self.probabilities, adjacency)
        reach = adjacency.copy()
        for _ in range(n):
            reach = ((reach + reach @ adjacency) > 0).astype(float)
        self.paths = np.einsum("g,guv->uv", self.probabilities, reach)


def decimal_arcs(n, log_weight, digits=60):
    """Return the log sum of the weights of all DAGs, and Z(u -> v) / Z for each arc, in decimals of `digits` digits."""
    with localcontext() as context:
        context.prec = digits
        full = (1 << n) - 1
        weights = []
        for v in range(n):
            others = [u for u in range(n) if u != v]
            weights.append(
                {
                    sum(1 << u for u in chosen): Decimal(log_weight(v, chosen)).exp()
                    for k in range(n)
                    for chosen in combinations(others, k)
                }
            )

        def total(required=None):
            sums = []
            for v in range(n):
                table = [Decimal(0)] * (full + 1)
                for m, weight in weights[v].items():
                    if required is None or required[1] != v or m >> required[0] & 1:
                        table[m] = weight
                for b in range(n):
                    for m in range(full + 1):
                        if m >> b & 1:
                            table[m] += table[m ^ 1 << b]
                sums.append(table)
            completed = [Decimal(0)] * full + [Decimal(1)]
            for placed in range(full - 1, -1, -1):
                outside = full & ~placed
                layer = outside
                while layer:
                    term = completed[placed | layer]
                    for v in range(n):
                        if layer >> v & 1:
                            term *= sums[v][placed]
                    completed[placed] += term if layer.bit_count() % 2 else -term
                    layer = (layer - 1) & outside
            return completed[0]

        whole = total()
        arcs = np.zeros((n, n))
        for u in range(n):
            for v in range(n):
                if u != v:
                    arcs[u, v] = float(total((u, v)) / whole)
        return float(whole.ln()), arcs


def run_metropolis(n, log_weight, *, n_steps, seed):
    """Return shares of arcs ``[tail, head]`` of a Metropolis chain over DAGs that adds or deletes one arc per step."""
    rng = np.random.default_rng(seed)
    adjacency, counts = np.zeros((n, n), dtype=bool), np.zeros((n, n))
    for _ in range(n_steps):
        tail, head = rng.choice(n, 2, replace=False)
        after = adjacency.copy()
        after[tail, head] ^= True
        reach = after.copy()
        for u in range(n):
            reach |= reach[:, [u]] & reach[[u]]
        if not reach.diagonal().any():
            sets = [tuple(np.flatnonzero(graph[:, head]).tolist()) for graph in (adjacency, after)]
            if log(rng.random()) < log_weight(head, sets[1]) - log_weight(head, sets[0]):
                adjacency = after
        counts += adjacency
    return counts / n_steps

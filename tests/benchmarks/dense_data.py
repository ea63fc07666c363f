"""Random linear Gaussian networks, and the score of a graph by an outside program: one linear solve per family.

A network has n variables of an average degree: pairs drawn at random ("er"), or preferential attachment ("sf"). Weights
are +-[.3, 1], deviations of errors [.7, 1.2]; columns are standardised, so that variances tell nothing about the order
of the variables. Only numpy is imported, since the interpreters of the peers use this module too.
"""

from math import lgamma, log
from typing import NamedTuple

import numpy as np


class Cell(NamedTuple):
    """A kind of network and its number of rows."""

    n: int
    degree: int
    kind: str = "er"
    n_rows: int = 1_000
    weights: tuple = (0.3, 1.0)

    @property
    def name(self):
        """Return the name, as the tables have it."""
        kind = {"er": "", "sf": " scale-free"}[self.kind]
        weak = "" if self.weights == (0.3, 1.0) else " weak"
        return f"{self.n}/{self.degree}{kind}{weak}, {self.n_rows:,} rows"


def draw_graph(cell, rng):
    """Return the edges of a DAG as a matrix, ``graph[tail, head]``."""
    n, graph = cell.n, np.zeros((cell.n, cell.n), dtype=bool)
    order = rng.permutation(n)
    if cell.kind == "er":
        chosen = rng.choice(n * (n - 1) // 2, n * cell.degree // 2, replace=False)
        first, second = (side[chosen] for side in np.triu_indices(n, 1))
        graph[order[first], order[second]] = True
        return graph
    each = cell.degree // 2
    ends = list(range(each))
    for v in range(each, n):
        joined = set()
        while len(joined) < each:
            joined.add(ends[rng.integers(len(ends))])
        for u in joined:
            graph[order[u], order[v]] = True
            ends += [u, v]
    return graph


def sort_variables(graph):
    """Return the variables, parents before children."""
    missing = graph.sum(axis=0)
    order = np.flatnonzero(missing == 0).tolist()
    for v in order:
        for child in np.flatnonzero(graph[v]):
            missing[child] -= 1
            if missing[child] == 0:
                order.append(int(child))
    return order


def draw(cell, seed):
    """Return standardised rows and the true graph."""
    rng = np.random.default_rng([seed, cell.n, cell.degree, cell.kind == "er"])
    graph = draw_graph(cell, rng)
    weights = graph * rng.uniform(*cell.weights, graph.shape) * rng.choice([-1, 1], graph.shape)
    deviations = rng.uniform(0.7, 1.2, cell.n)
    rng = np.random.default_rng([seed, cell.n, cell.degree, cell.kind == "er", cell.n_rows])
    rows = np.zeros((cell.n_rows, cell.n))
    for v in sort_variables(graph):
        parents = np.flatnonzero(graph[:, v])
        rows[:, v] = rows[:, parents] @ weights[parents, v] + rng.normal(size=cell.n_rows) * deviations[v]
    return (rows - rows.mean(axis=0)) / rows.std(axis=0), graph


class Judge:
    """Scores of graphs: BIC of linear Gaussian networks, or EBIC, up to a constant of the data."""

    def __init__(self, rows, penalty=1.0, gamma=0.0):
        self.n_rows, self.n = rows.shape
        self.correlation = np.corrcoef(rows.T)
        self.penalty, self.gamma = penalty, gamma

    def score(self, graph):
        """Return the score of a matrix of edges, ``graph[tail, head]``, without a cycle."""
        if len(sort_variables(graph)) < self.n:
            raise ValueError("the graph has a cycle")
        total = 0.0
        for v in range(self.n):
            parents = np.flatnonzero(graph[:, v])
            k = len(parents)
            row = self.correlation[v, parents]
            residual = 1.0 - row @ np.linalg.solve(self.correlation[np.ix_(parents, parents)], row) if k else 1.0
            sets = lgamma(self.n) - lgamma(k + 1) - lgamma(self.n - k)
            total -= self.n_rows / 2 * log(residual) + self.penalty * log(self.n_rows) / 2 * k + self.gamma * sets
        return total

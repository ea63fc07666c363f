"""Distributions with the structure of a spanning tree, fitted to a network: exact sampling and normalisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pgmx.inference.networks import LogFactors, log_sum_exp


@dataclass(frozen=True, eq=False)
class TreeDistribution:
    """Tables of a network's scopes, zero for scopes that are not edges of a forest; `order` starts at the roots.

    ``parents`` and ``conditionals`` (s_parent, s) are in the order of the variables; roots have -1 and one row.
    """

    factors: LogFactors
    order: np.ndarray
    parents: np.ndarray
    conditionals: list[np.ndarray]
    log_partition: float

    def draw_samples(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent configurations, int32 (n, n_samples)."""
        states = np.empty((len(self.order), n_samples), dtype=np.int32)
        for v in self.order.tolist():
            steps = np.cumsum(self.conditionals[v], axis=1)[:, :-1]
            parent = self.parents[v]
            rows = steps[states[parent]] if parent >= 0 else steps
            states[v] = (rng.random(n_samples)[:, None] >= rows).sum(axis=1)
        return states


def fit_tree(factors: LogFactors) -> TreeDistribution:
    """Return the distribution of the strongest pairwise tables that form a forest; the scopes are distinct."""
    pairs = [k for k, scope in enumerate(factors.scopes) if len(scope) == 2]
    edges = np.array([factors.scopes[k] for k in pairs], dtype=np.int64).reshape(-1, 2)
    strengths = np.array([measure_strength(factors.tables[k]) for k in pairs])
    tree = {pairs[e] for e in find_forest(factors.n_variables, edges, strengths).tolist()}
    tables = [
        table if len(scope) == 1 or k in tree else np.zeros(table.shape)
        for k, (scope, table) in enumerate(zip(factors.scopes, factors.tables, strict=True))
    ]
    return solve_forest(LogFactors(factors.cardinalities, factors.scopes, tuple(tables)))


def measure_strength(table: np.ndarray) -> float:
    """Return the norm of a table without its main effects; infinite if it rules out pairs of states."""
    if table.min() == -np.inf:
        return np.inf
    centred = table - table.mean(axis=0)
    return float(np.linalg.norm(centred - centred.mean(axis=1, keepdims=True)))


def find_forest(n: int, edges: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the indices of the edges of a maximum-weight spanning forest; weights are positive."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    if not len(edges):
        return np.empty(0, dtype=np.int64)
    # Ranks from 1 in place of weights: scipy takes 0 for no edge, weights may be infinite, and ties need an order.
    ranks = np.empty(len(edges))
    ranks[np.argsort(-weights, kind="stable")] = np.arange(1, len(edges) + 1)
    forest = minimum_spanning_tree(coo_array((ranks, edges.T), shape=(n, n)).tocsr())
    return np.flatnonzero(np.isin(ranks, forest.data))


def root_forest(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the variables of a forest, roots before their descendants, and the parent of each, -1 for a root."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    roots = np.unique(connected_components(graph, directed=False)[1], return_index=True)[1]
    trees, parents = [], np.full(n, -1, dtype=np.int64)
    for root in roots.tolist():
        reached, above = breadth_first_order(graph, root, directed=False)
        trees.append(reached)
        parents[reached[1:]] = above[reached[1:]]
    return np.concatenate(trees), parents


def solve_forest(factors: LogFactors) -> TreeDistribution:
    """Return the distribution of tables whose non-zero pairs form a forest."""
    nodes, pairs = _split_by_arity(factors)
    edges = [(i, j) for (i, j), table in pairs.items() if table.any()]
    n = factors.n_variables
    order, parents = root_forest(n, np.array(edges, dtype=np.int64).reshape(-1, 2))
    fields = [np.array(field) for field in nodes]
    conditionals: list[np.ndarray] = [np.empty(0)] * n
    total = 0.0
    for v in order[::-1].tolist():
        parent = int(parents[v])
        if parent < 0:
            logs = fields[v][None, :]
        else:
            table = pairs[parent, v] if parent < v else pairs[v, parent].T
            logs = table + fields[v]
        sums = log_sum_exp(logs)
        conditionals[v] = np.exp(logs - np.where(sums > -np.inf, sums, 0.0)[:, None])
        if parent < 0:
            total += float(sums[0])
        else:
            fields[parent] += sums
    return TreeDistribution(factors, order, parents, conditionals, total)


def _split_by_arity(factors: LogFactors) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """Return the vectors of the variables, and the tables of pairs (i, j) with i < j."""
    nodes = [np.zeros(size) for size in factors.cardinalities.tolist()]
    pairs = {}
    for scope, table in zip(factors.scopes, factors.tables, strict=True):
        if len(scope) == 1:
            nodes[scope[0]] = nodes[scope[0]] + table
        elif len(scope) == 2:
            pairs[min(scope), max(scope)] = table if scope[0] < scope[1] else table.T
    return nodes, pairs

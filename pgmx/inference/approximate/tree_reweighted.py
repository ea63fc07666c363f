"""Tree-reweighted belief propagation with optimised edge probabilities: an upper bound on the log-partition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgmx._ext import _reweighted
from pgmx.inference.approximate.spanning_tree import find_forest, root_forest
from pgmx.inference.networks.potentials import PairwisePotentials

#: Updates of the edge probabilities; sweeps before the first, and after each.
MOST_MOVES, FIRST_SWEEPS, SWEEPS = 30, 200, 40
#: Share of a tree in the first update, and the share at which updates end.
FIRST_STEP, LAST_STEP = 0.5, 1e-3
#: Change of a message at which sweeps end; gain relative to the edges' information at which updates end.
MESSAGE_TOLERANCE, BOUND_TOLERANCE = 1e-8, 1e-4
#: Share of the old message in the new one.
DAMPING = 0.2
#: Largest number of variables for which the first probabilities are those of a uniform spanning tree.
MOST_UNIFORM = 3000
#: Smallest number of trees that are averaged for larger networks.
LEAST_TREES = 10


class TreeReweighting(NamedTuple):
    """An upper bound on the log-partition, with the beliefs of the edges and their mutual informations."""

    upper: float
    edge_beliefs: np.ndarray
    informations: np.ndarray


def reweight_trees(potentials: PairwisePotentials, *, most_moves: int = MOST_MOVES) -> TreeReweighting:
    """Minimise the bound over messages and, by conditional gradient, over the probabilities of edges.

    The network is connected. The probabilities start at those of a uniform spanning tree and move towards the tree of
    most mutual information. Each bound holds even if messages have not converged; the smallest is returned.
    """
    places = _Places(potentials)
    passing = _reweighted.ReweightedPassing(
        potentials.node_offsets,
        potentials.node_values,
        potentials.edges,
        potentials.edge_offsets,
        potentials.edge_values,
        *potentials.neighbours(),
        places.twin,
        places.message_at,
    )
    parents = places.spread_uniformly()
    roots = np.full(potentials.n_variables, 1.0 / potentials.n_variables)
    beliefs, informations = np.empty(len(potentials.edge_values)), np.empty(potentials.n_edges)

    def evaluate(parents: np.ndarray, sweeps: int) -> float:
        passing.set_weights(places.sum_directions(parents))
        passing.run(sweeps, MESSAGE_TOLERANCE, DAMPING)
        return passing.bound(parents, roots)

    best = evaluate(parents, FIRST_SWEEPS)
    passing.collect(beliefs, informations)
    answer, step = TreeReweighting(best, beliefs.copy(), informations.copy()), FIRST_STEP
    for _ in range(most_moves):
        tree = places.orient_tree(find_forest(potentials.n_variables, potentials.edges, informations))
        bound = np.inf
        while step > LAST_STEP and bound >= best:
            moved = (1.0 - step) * parents + step * tree
            bound = evaluate(moved, SWEEPS)
            step /= 2
        if bound >= best:
            break
        passing.collect(beliefs, informations)
        gain, best, parents, step = best - bound, bound, moved, min(4 * step, FIRST_STEP)
        answer = TreeReweighting(best, beliefs.copy(), informations.copy())
        if gain <= BOUND_TOLERANCE * informations.sum():
            break
    return answer


class _Places:
    """Probabilities of parents in a random tree from a random root, in the order of the neighbours of all variables."""

    def __init__(self, potentials: PairwisePotentials) -> None:
        pointer, self.neighbour, self.edge = potentials.neighbours()
        self.n, self.edges = potentials.n_variables, potentials.edges
        self.owner = np.repeat(np.arange(self.n), np.diff(pointer))
        by_edge = np.lexsort((self.owner, self.edge)).reshape(-1, 2)
        self.first, self.second = by_edge.T  # the places of an edge's ends
        self.twin = np.empty(len(self.edge), dtype=np.int64)
        self.twin[self.first], self.twin[self.second] = self.second, self.first
        sizes = potentials.cardinalities[self.owner]
        self.message_at = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def sum_directions(self, parents: np.ndarray) -> np.ndarray:
        """Return the probabilities of the edges."""
        return parents[self.first] + parents[self.second]

    def orient_tree(self, edges: np.ndarray) -> np.ndarray:
        """Return the probabilities of one spanning tree, given by indices of edges, from a uniform root.

        The root is on one side of an edge with the share of the variables on that side.
        """
        order, above = root_forest(self.n, self.edges[edges])
        sizes = np.ones(self.n)
        for v in order[:0:-1].tolist():
            sizes[above[v]] += sizes[v]
        parents = np.zeros(len(self.edge))
        for places, others in ((self.first[edges], self.second[edges]), (self.second[edges], self.first[edges])):
            below = above[self.owner[places]] == self.owner[others]
            share = sizes[self.owner[places[below]]] / self.n
            parents[places[below]], parents[others[below]] = 1.0 - share, share
        return parents

    def spread_uniformly(self) -> np.ndarray:
        """Return the probabilities of a uniform spanning tree, or of a few trees that cover all edges.

        With the pseudo-inverse L of the Laplacian, v's parent is u with probability L_vv - L_vu.
        """
        if self.n > MOST_UNIFORM:
            return self._cover_edges()
        laplacian = np.full((self.n, self.n), 1.0 / self.n)
        laplacian[self.owner, self.neighbour] -= 1.0
        laplacian[np.arange(self.n), np.arange(self.n)] += np.bincount(self.owner, minlength=self.n)
        inverse = np.linalg.inv(laplacian)
        return inverse[self.owner, self.owner] - inverse[self.owner, self.neighbour]

    def _cover_edges(self) -> np.ndarray:
        """Return the mean of spanning trees; each tree prefers the edges that occur in the fewest previous trees."""
        uses, total, n_trees = np.zeros(len(self.edges)), np.zeros(len(self.edge)), 0
        while uses.min() == 0 or n_trees < LEAST_TREES:
            tree = find_forest(self.n, self.edges, -uses)
            uses[tree] += 1
            total += self.orient_tree(tree)
            n_trees += 1
        return total / n_trees

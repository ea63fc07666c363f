"""Bounds on the log-partition of connected networks that are too wide for exact inference.

Mean-field approximations with independent variables and with spanning trees give a lower bound. Tree-reweighted belief
propagation with optimised edge probabilities gives an upper bound (of pairwise networks).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgmx._ext import _mean_field, _reweighted
from pgmx.inference.approximate.spanning_tree import find_forest, measure_strength, root_forest
from pgmx.inference.networks import LogFactors, PairwisePotentials, log_sum_exp

#: Mean field: most sweeps over single variables, most steps of a tree, and the gain in nats at which these end.
MOST_SWEEPS, MOST_STEPS, LEAST_GAIN = 500, 100, 1e-6
#: Change of a belief at which the sweeps end, and damping factor at which a tree's steps end.
BELIEF_TOLERANCE, LEAST_SHARE = 1e-8, 1e-3
#: Rounds over single variables of networks of any arity.
ROUNDS = 30
#: Replacement of minus infinity while a mean field is fitted, and the smallest probability that is kept.
PENALTY, LEAST = -1e4, 1e-12
#: Tree reweighting: updates of the edge probabilities; sweeps before the first, and after each.
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


# ---- mean field: lower bounds ----


def fit_mean_field(factors: LogFactors) -> float:
    """Return the mean-field lower bound of a spanning tree on the log-partition of a connected network.

    Independent variables are used instead if a table has more than two variables or cells of minus infinity.
    """
    tables = zip(factors.scopes, factors.tables, strict=True)
    if all(len(scope) <= 2 and np.isfinite(table).all() for scope, table in tables):
        return fit_tree_field(factors.pairwise())
    return fit_naive_field(factors)


def fit_tree_field(potentials: PairwisePotentials) -> float:
    """Return the best lower bound of trees of the strongest tables, for a connected network of finite cells.

    One tree starts at the mean field of independent variables and can only raise its bound; another starts at its own
    tables.
    """
    arrays = (
        potentials.node_offsets,
        potentials.node_values,
        potentials.edges,
        potentials.edge_offsets,
        potentials.edge_values,
    )
    beliefs = np.repeat(1.0 / potentials.cardinalities, potentials.cardinalities)
    _mean_field.ascend(*arrays, *potentials.neighbours(), beliefs, MOST_SWEEPS, BELIEF_TOLERANCE)
    strengths = np.array([measure_strength(table) for table in potentials.tables()])
    tree = potentials.edges[find_forest(potentials.n_variables, potentials.edges, strengths)]
    rooted = _root_tree(potentials, tree)
    starts = (
        # The logarithm of 0 would be infinite.
        (np.log(np.maximum(beliefs, 1e-300)), np.zeros(len(potentials.edge_values))),
        (potentials.node_values, potentials.edge_values),
    )
    return max(_climb_bound(arrays, rooted, *start) for start in starts)


def _root_tree(potentials: PairwisePotentials, tree: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return order, parents, edges to the parents and depths of the variables of a spanning tree."""
    order, parents = root_forest(potentials.n_variables, tree)
    number = {tuple(edge): e for e, edge in enumerate(potentials.edges.tolist())}
    parent_edges, depths = np.full(len(order), -1, dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    for v in order[1:].tolist():
        parent = int(parents[v])
        parent_edges[v] = number[min(v, parent), max(v, parent)]
        depths[v] = depths[parent] + 1
    return order.astype(np.int64), parents, parent_edges, depths


def _climb_bound(
    arrays: tuple[np.ndarray, ...], rooted: tuple[np.ndarray, ...], fields: np.ndarray, tables: np.ndarray
) -> float:
    """Return the bound after damped steps, each of which increases it."""
    new_fields, new_tables = np.empty_like(fields), np.empty_like(tables)
    best = _mean_field.step(*arrays, *rooted, fields, tables, new_fields, new_tables)
    share = 1.0
    for _ in range(MOST_STEPS):
        goal_fields, goal_tables, value = new_fields.copy(), new_tables.copy(), -np.inf
        # A step that had to be short once may be long again.
        share = min(1.0, 4.0 * share)
        while share > LEAST_SHARE:
            trial_fields = fields + share * (goal_fields - fields)
            trial_tables = tables + share * (goal_tables - tables)
            value = _mean_field.step(*arrays, *rooted, trial_fields, trial_tables, new_fields, new_tables)
            if value > best:
                break
            share /= 2.0
        if not value > best:
            break
        gain, best, fields, tables = value - best, value, trial_fields, trial_tables
        if gain <= LEAST_GAIN:
            break
    return best


def fit_naive_field(factors: LogFactors) -> float:
    """Return expected score plus entropy of independent variables: naive mean field."""
    beliefs = [np.full(card, 1.0 / card) for card in factors.cardinalities.tolist()]
    tables = [np.maximum(table, PENALTY) for table in factors.tables]
    incident: list[list[tuple[int, int]]] = [[] for _ in beliefs]
    for k, scope in enumerate(factors.scopes):
        for axis, v in enumerate(scope):
            incident[v].append((k, axis))
    for _ in range(ROUNDS):
        for v, incidences in enumerate(incident):
            field = np.zeros(len(beliefs[v]))
            for k, axis in incidences:
                field += _average_table(tables[k], factors.scopes[k], beliefs, axis)
            # The exact optimum for one variable given the beliefs of all others, so that no sweep lowers the bound.
            beliefs[v] = np.exp(field - log_sum_exp(field))
    for v, belief in enumerate(beliefs):
        belief[belief < LEAST] = 0.0
        beliefs[v] = belief / belief.sum()
    score = 0.0
    for scope, table in zip(factors.scopes, factors.tables, strict=True):
        joint = np.ones(())
        for v in scope:
            joint = joint[..., None] * beliefs[v]
        # The score of a forbidden cell is minus infinity: the bound then says nothing.
        if table[joint > 0].min() == -np.inf:
            return -np.inf
        score += float((joint * np.where(joint > 0, table, 0.0)).sum())
    return score - float(sum((p[p > 0] * np.log(p[p > 0])).sum() for p in beliefs))


def _average_table(table: np.ndarray, scope: tuple[int, ...], beliefs: list[np.ndarray], axis: int) -> np.ndarray:
    """Return the mean of a table over all of its variables except the variable of one axis."""
    table = np.moveaxis(table, axis, 0)
    for v in reversed([v for place, v in enumerate(scope) if place != axis]):
        table = table @ beliefs[v]
    return table


# ---- tree reweighting: upper bounds ----


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
    directed = _DirectedEdges(potentials)
    passing = _reweighted.ReweightedPassing(
        potentials.node_offsets,
        potentials.node_values,
        potentials.edges,
        potentials.edge_offsets,
        potentials.edge_values,
        *potentials.neighbours(),
        directed.twin,
        directed.message_at,
    )
    parents = directed.weigh_uniformly()
    roots = np.full(potentials.n_variables, 1.0 / potentials.n_variables)
    beliefs, informations = np.empty(len(potentials.edge_values)), np.empty(potentials.n_edges)

    def evaluate(parents: np.ndarray, sweeps: int) -> float:
        passing.set_weights(directed.sum_directions(parents))
        passing.run(sweeps, MESSAGE_TOLERANCE, DAMPING)
        return passing.bound(parents, roots)

    best = evaluate(parents, FIRST_SWEEPS)
    passing.collect(beliefs, informations)
    answer, step = TreeReweighting(best, beliefs.copy(), informations.copy()), FIRST_STEP
    for _ in range(most_moves):
        tree = directed.orient_tree(find_forest(potentials.n_variables, potentials.edges, informations))
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


class _DirectedEdges:
    """Probabilities of parents in a random tree from a random root, in the order of the neighbours of all variables."""

    def __init__(self, potentials: PairwisePotentials) -> None:
        pointer, self.neighbour, self.edge = potentials.neighbours()
        self.n, self.edges = potentials.n_variables, potentials.edges
        self.owner = np.repeat(np.arange(self.n), np.diff(pointer))
        by_edge = np.lexsort((self.owner, self.edge)).reshape(-1, 2)
        self.first, self.second = by_edge.T  # the positions of an edge's two directions
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
        for ends, others in ((self.first[edges], self.second[edges]), (self.second[edges], self.first[edges])):
            below = above[self.owner[ends]] == self.owner[others]
            share = sizes[self.owner[ends[below]]] / self.n
            parents[ends[below]], parents[others[below]] = 1.0 - share, share
        return parents

    def weigh_uniformly(self) -> np.ndarray:
        """Return the probabilities of a uniform spanning tree, or of a few trees that cover all edges.

        With the pseudo-inverse L of the Laplacian, v's parent is u with probability L_vv - L_vu.
        """
        if self.n > MOST_UNIFORM:
            return self._cover_edges()
        # The matrix of ones divided by n makes the Laplacian of a connected graph invertible.
        laplacian = np.full((self.n, self.n), 1.0 / self.n)
        laplacian[self.owner, self.neighbour] -= 1.0
        laplacian[np.arange(self.n), np.arange(self.n)] += np.bincount(self.owner, minlength=self.n)
        inverse = np.linalg.inv(laplacian)
        return inverse[self.owner, self.owner] - inverse[self.owner, self.neighbour]

    def _cover_edges(self) -> np.ndarray:
        """Return the mean of spanning trees; each tree prefers the edges that occur in the fewest previous trees."""
        uses, total, n_trees = np.zeros(len(self.edges)), np.zeros(len(self.edge)), 0
        # Every edge needs a positive probability, by which messages are divided.
        while uses.min() == 0 or n_trees < LEAST_TREES:
            tree = find_forest(self.n, self.edges, -uses)
            uses[tree] += 1
            total += self.orient_tree(tree)
            n_trees += 1
        return total / n_trees

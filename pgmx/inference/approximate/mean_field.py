"""Mean-field approximations with independent variables and with spanning trees: a lower bound on the log-partition."""

import numpy as np

from pgmx._ext import _mean_field
from pgmx.inference.approximate.spanning_tree import find_forest, measure_strength, root_forest
from pgmx.inference.networks.factors import LogFactors
from pgmx.inference.networks.log_tables import log_sum_exp
from pgmx.inference.networks.potentials import PairwisePotentials

#: Largest number of sweeps over single variables and of steps of a tree, and the gain in nats at which these end.
MOST_SWEEPS, MOST_STEPS, LEAST_GAIN = 500, 100, 1e-6
#: Change of a belief at which the sweeps end, and damping factor at which a tree's steps end.
BELIEF_TOLERANCE, LEAST_SHARE = 1e-8, 1e-3
#: Rounds over single variables of networks of any arity.
ROUNDS = 30
#: Replacement of minus infinity while a mean field is fitted, and the smallest probability that is kept.
PENALTY, LEAST = -1e4, 1e-12


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
        (np.log(np.maximum(beliefs, 1e-300)), np.zeros(len(potentials.edge_values))),
        (potentials.node_values, potentials.edge_values),
    )
    return max(_raise_bound(arrays, rooted, *start) for start in starts)


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


def _raise_bound(
    arrays: tuple[np.ndarray, ...], rooted: tuple[np.ndarray, ...], fields: np.ndarray, tables: np.ndarray
) -> float:
    """Return the bound after damped steps, each of which increases it."""
    new_fields, new_tables = np.empty_like(fields), np.empty_like(tables)
    best = _mean_field.step(*arrays, *rooted, fields, tables, new_fields, new_tables)
    share = 1.0
    for _ in range(MOST_STEPS):
        goal_fields, goal_tables, value = new_fields.copy(), new_tables.copy(), -np.inf
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
        for v, places in enumerate(incident):
            field = np.zeros(len(beliefs[v]))
            for k, axis in places:
                field += _average(tables[k], factors.scopes[k], beliefs, axis)
            beliefs[v] = np.exp(field - log_sum_exp(field))
    for v, belief in enumerate(beliefs):
        belief[belief < LEAST] = 0.0
        beliefs[v] = belief / belief.sum()
    score = 0.0
    for scope, table in zip(factors.scopes, factors.tables, strict=True):
        joint = np.ones(())
        for v in scope:
            joint = joint[..., None] * beliefs[v]
        if table[joint > 0].min() == -np.inf:
            return -np.inf
        score += float((joint * np.where(joint > 0, table, 0.0)).sum())
    return score - float(sum((p[p > 0] * np.log(p[p > 0])).sum() for p in beliefs))


def _average(table: np.ndarray, scope: tuple[int, ...], beliefs: list[np.ndarray], axis: int) -> np.ndarray:
    """Return the mean of a table over all of its variables except the variable of one axis."""
    table = np.moveaxis(table, axis, 0)
    for v in reversed([v for place, v in enumerate(scope) if place != axis]):
        table = table @ beliefs[v]
    return table

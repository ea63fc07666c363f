"""Exact inference in small: elimination orders, and joint distributions of a few variables of a discrete network."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.networks.bayesian import NetworkArrays

__all__ = ["Marginals", "Plan", "ancestors", "elimination", "plan_elimination"]


class Plan(NamedTuple):
    """How a question is answered: vertices in the order in which they are summed out, and what that costs.

    `cells` is the size of the largest table, `work` that of all tables together.
    """

    order: list[int]
    cells: int
    work: int


def ancestors(edges: Sequence[tuple[int, int]], of: Sequence[int]) -> list[int]:
    """Return `of` and all their ancestors, sorted: all that a query about `of` depends on.

    Parameters
    ----------
    edges : sequence of (int, int)
        Edges (tail, head) of a DAG.
    of : sequence of int
        Vertices.

    Returns
    -------
    list of int
        Sorted vertices.
    """
    parents: dict[int, list[int]] = {}
    for u, v in edges:
        parents.setdefault(v, []).append(u)
    found, waiting = set(of), list(of)
    while waiting:
        fresh = [u for u in parents.get(waiting.pop(), ()) if u not in found]
        found.update(fresh)
        waiting.extend(fresh)
    return sorted(found)


def elimination(
    edges: Sequence[tuple[int, int]], cards: Sequence[int], keep: Sequence[int | None]
) -> tuple[list[int], int]:
    """Return the order and the size of the largest table of `plan_elimination`.

    Parameters
    ----------
    edges, cards, keep : sequences
        As there; None in `keep` is passed over.

    Returns
    -------
    order : list of int
        The vertices in the order of elimination.
    cells : int
        Size of the largest table that this order (or one of the conditional tables) needs.
    """
    return plan_elimination(edges, cards, [v for v in keep if v is not None])[:2]


def plan_elimination(edges: Sequence[tuple[int, int]], cards: Sequence[int], kept: Sequence[int]) -> Plan:
    """Plan the elimination of the ancestors of `kept` from their moral graph, smallest table first.

    Parameters
    ----------
    edges : sequence of (int, int)
        Edges of the DAG.
    cards : sequence of int
        Number of states of each vertex.
    kept : sequence of int
        Vertices of the question, which stay.

    Returns
    -------
    Plan
        The order and its cost.

    References
    ----------
    D. Koller, N. Friedman (2009), Probabilistic Graphical Models, section 9.4.3.2 (the min-weight heuristic).
    """
    vertices = ancestors(edges, kept)
    near: dict[int, set[int]] = {v: set() for v in vertices}
    parents: dict[int, list[int]] = {v: [] for v in vertices}
    for u, v in edges:
        if u in near and v in near:
            parents[v].append(u)
    largest = work = 1
    for v, above in parents.items():
        family = [v, *above]
        largest = max(largest, prod(cards[u] for u in family))
        for u in family:
            near[u].update(w for w in family if w != u)
    weight = {v: cards[v] * prod(cards[u] for u in near[v]) for v in vertices if v not in kept}
    order = []
    while weight:
        v = min(weight, key=lambda v: (weight[v], v))
        cells = weight.pop(v)
        largest = max(largest, cells)
        work += cells
        order.append(v)
        clique = near.pop(v)
        for u in clique:
            near[u] |= clique
            near[u] -= {u, v}
        for u in clique & weight.keys():
            weight[u] = cards[u] * prod(cards[w] for w in near[u])
    answer = prod(cards[v] for v in kept)
    return Plan(order, max(largest, answer), work + answer)


class Marginals:
    """Joint distributions of sets of variables under one discrete network, each computed once and kept.

    Parameters
    ----------
    arrays : NetworkArrays
        The network, its tables normalised.
    max_cells : int
        Most cells of any table that is built.
    """

    def __init__(self, arrays: NetworkArrays, max_cells: int) -> None:
        self.max_cells = max_cells
        self._cards = arrays.cards
        self._edges = arrays.edges
        # Axes in ascending order of the variables, those with one state left out: a product is then a broadcast.
        self._factors = [
            _sorted_factor((v, *parents), table)
            for v, (parents, table) in enumerate(zip(arrays.parents, arrays.tables, strict=True))
        ]
        self._known: dict[tuple[int, ...], np.ndarray | None] = {}
        # The network's own families, large ones first: other sets, and smaller families, are sums over these where they
        # can be. Which ones have been asked for before makes no difference to the last bit of an answer.
        families = {tuple(sorted((v, *parents))) for v, parents in enumerate(arrays.parents)}
        self._own: list[tuple[int, ...]] = []
        for key in sorted(families, key=lambda family: (-len(family), family)):
            self._known[key] = self._computed(key)
            self._own.append(key)

    def of(self, variables: Sequence[int]) -> np.ndarray | None:
        """Return the joint distribution of some variables.

        Parameters
        ----------
        variables : sequence of int
            Distinct positions.

        Returns
        -------
        ndarray or None
            One axis a variable, in the order given; None where a table would have more than `max_cells` cells.
        """
        key = tuple(sorted(variables))
        if key not in self._known:
            self._known[key] = self._computed(key)
        joint = self._known[key]
        if joint is None:
            return None
        return joint.transpose([key.index(v) for v in variables])

    def _computed(self, key: tuple[int, ...]) -> np.ndarray | None:
        wanted = set(key)
        for scope in self._own:
            known = self._known[scope]
            if known is not None and wanted.issubset(scope):
                return known.sum(axis=tuple(at for at, v in enumerate(scope) if v not in wanted))
        plan = plan_elimination(self._edges, self._cards, key)
        if plan.cells > self.max_cells:
            return None
        factors = [self._factors[v] for v in [*plan.order, *key]]
        for v in plan.order:
            joined = [factor for factor in factors if v in factor[0]]
            factors = [factor for factor in factors if v not in factor[0]]
            if joined:  # not where v has one state
                scope, product = _product(joined)
                at = scope.index(v)
                factors.append((scope[:at] + scope[at + 1 :], product.sum(axis=at)))
        return _product(factors)[1].reshape([self._cards[v] for v in key])


Factor = tuple[tuple[int, ...], np.ndarray]


def _sorted_factor(scope: tuple[int, ...], table: np.ndarray) -> Factor:
    axes = sorted((axis for axis, size in enumerate(table.shape) if size > 1), key=scope.__getitem__)
    values = table.reshape([size for size in table.shape if size > 1])
    kept = [axis for axis, size in enumerate(table.shape) if size > 1]
    return tuple(scope[axis] for axis in axes), values.transpose([kept.index(axis) for axis in axes])


def _product(factors: Sequence[Factor]) -> Factor:
    """Multiply factors whose axes are in ascending order."""
    scope = tuple(sorted(set().union(*(factor[0] for factor in factors))))
    product: np.ndarray = np.ones(())
    # The smallest first, so that the full size is reached late.
    for own, values in sorted(factors, key=lambda factor: factor[1].size):
        sizes = dict(zip(own, values.shape, strict=True))
        product = product * values.reshape([sizes.get(v, 1) for v in scope])
    return scope, product

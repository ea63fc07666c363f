"""Joint distributions of a few variables of a discrete Bayesian network, by elimination among their ancestors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.exact.elimination_order import EliminationGraph
from pgmx.inference.named_networks import BayesianArrays

#: Cells of the distributions that are cached for later queries: 32 MiB.
CACHE_CELLS = 2**22

Factor = tuple[tuple[int, ...], np.ndarray]


class QueryPlan(NamedTuple):
    """Variables in the order in which they are summed out, and the cells of the largest intermediate table."""

    order: list[int]
    cells: int


def plan_query(parents: Sequence[Iterable[int]], cards: Sequence[int], variables: Iterable[int]) -> QueryPlan:
    """Plan how the ancestors of `variables` are summed out, smallest table first; nothing is allocated."""
    vertices = _find_ancestors(parents, variables)
    place = {v: k for k, v in enumerate(vertices)}
    families = [[place[u] for u in (v, *parents[v])] for v in vertices]
    targets = [place[v] for v in variables]
    graph = EliminationGraph([cards[v] for v in vertices], families, targets)
    order = [v for v, _ in graph.eliminate()]
    tables = [prod(graph.cards[u] for u in scope) for scope in (*families, targets)]
    return QueryPlan([vertices[v] for v in order], max(1, *tables, *(graph.size[v] for v in order)))


def _find_ancestors(parents: Sequence[Iterable[int]], variables: Iterable[int]) -> list[int]:
    """Return `variables` and all their ancestors, sorted."""
    ancestors: set[int] = set()
    waiting = list(variables)
    while waiting:
        v = waiting.pop()
        if v not in ancestors:
            ancestors.add(v)
            waiting.extend(parents[v])
    return sorted(ancestors)


class FamilyMarginals:
    """Joint distributions of sets of variables under one network, whose tables are normalised.

    No table of more than `max_cells` cells is built. Earlier queries do not change a result, to the last bit.
    """

    def __init__(self, arrays: BayesianArrays, max_cells: int) -> None:
        self.arrays = arrays
        self.max_cells = max_cells
        families = [(v, *parents) for v, parents in enumerate(arrays.parents)]
        self._factors = [_drop_single_states(*factor) for factor in zip(families, arrays.tables, strict=True)]
        # If a family of the network contains the variables, their joint is a sum over the largest such family.
        self._families_of: list[list[tuple[int, ...]]] = [[] for _ in families]
        for family in sorted({tuple(sorted(family)) for family in families}, key=lambda key: (-len(key), key)):
            for v in family:
                self._families_of[v].append(family)
        self._cache: dict[tuple[int, ...], np.ndarray | None] = {}
        self._cache_cells = 0

    def joint(self, variables: Sequence[int]) -> np.ndarray | None:
        """Return the joint distribution of distinct variables, one axis per variable in their order.

        None if a table would have more than `max_cells` cells.
        """
        key = tuple(sorted(variables))
        joint = self._look_up(key)
        return None if joint is None else joint.transpose([key.index(v) for v in variables])

    def _look_up(self, key: tuple[int, ...]) -> np.ndarray | None:
        if key in self._cache:
            return self._cache[key]
        joint = self._compute(key)
        cells = 1 if joint is None else joint.size
        # A full cache keeps what it has: results do not depend on the cache, only the time does.
        if self._cache_cells + cells <= CACHE_CELLS:
            self._cache[key] = joint
            self._cache_cells += cells
        return joint

    def _compute(self, key: tuple[int, ...]) -> np.ndarray | None:
        wanted = set(key)
        for family in self._families_of[key[0]]:
            # The families that follow are not larger, and cannot contain the variables.
            if family == key:
                break
            if wanted.issubset(family):
                joint = self._look_up(family)
                if joint is not None:
                    return joint.sum(axis=tuple(axis for axis, v in enumerate(family) if v not in wanted))
        cards = self.arrays.cards
        plan = plan_query(self.arrays.parents, cards, key)
        if plan.cells > self.max_cells:
            return None
        factors = [self._factors[v] for v in [*plan.order, *key]]
        for v in plan.order:
            touched = [factor for factor in factors if v in factor[0]]
            factors = [factor for factor in factors if v not in factor[0]]
            if touched:  # nothing to do if v has one state
                scope, product = _multiply(touched)
                axis = scope.index(v)
                factors.append((scope[:axis] + scope[axis + 1 :], product.sum(axis=axis)))
        return _multiply(factors)[1].reshape([cards[v] for v in key])


def _drop_single_states(scope: tuple[int, ...], table: np.ndarray) -> Factor:
    """Return a factor of the variables of two states or more, in ascending order, so that products broadcast."""
    wide = [axis for axis, size in enumerate(table.shape) if size > 1]
    order = sorted(range(len(wide)), key=lambda k: scope[wide[k]])
    values = table.reshape([table.shape[axis] for axis in wide]).transpose(order)
    return tuple(scope[wide[k]] for k in order), values


def _multiply(factors: Sequence[Factor]) -> Factor:
    """Multiply factors whose axes are in ascending order, the smallest first, so that large products come last."""
    scope = tuple(sorted(set().union(*(factor[0] for factor in factors))))
    product: np.ndarray = np.ones(())
    for variables, values in sorted(factors, key=lambda factor: factor[1].size):
        sizes = dict(zip(variables, values.shape, strict=True))
        product = product * values.reshape([sizes.get(v, 1) for v in scope])
    return scope, product

"""Exact answers of a discrete network given as arrays, by the components of its hidden variables.

Two kernels share the arrays: ``_components`` follows the components of each question or row, ``_lanes`` sends rows that
observe little through one kept tree. Which one answers a row depends on the network and on the observed variables of this row alone,
so that a row has the same answer, to the last bit, alone and in any table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from threading import Lock

import numpy as np

from pgmx._ext._components import LARGE_PLAN, Components
from pgmx.inference.exact.elimination_order import CELL, EliminationPlan, search_order, too_wide

#: Kinds of answers of a component, as numbered by the kernel.
SUM, MAXIMISE, QUERY, MARGINAL_MAP = range(4)

#: Bytes of plans that are kept, per thread.
PLAN_BYTES = 2**28


class ComponentEngine:
    """A network of variables 0, ..., n - 1 whose plans are kept from question to question.

    `tables` of probabilities or other nonnegative weights, one per scope; `is_directed` if table v is P(v | parents), its
    first axis v. Each variable has a further table over itself, which takes part if a question gives likelihoods.
    """

    def __init__(
        self, cards: Sequence[int], scopes: Sequence[Sequence[int]], tables: Sequence[np.ndarray], is_directed: bool
    ) -> None:
        n = len(cards)
        self.cards = list(cards)
        self.is_directed = is_directed
        self.n_tables = len(scopes)
        scopes = [*map(tuple, scopes), *((v,) for v in range(n))]
        tables = [*(np.ascontiguousarray(table, dtype=np.float64) for table in tables), *map(np.ones, cards)]
        holders: list[list[int]] = [[] for _ in range(n)]
        for f, scope in enumerate(scopes):
            for v in scope:
                holders[v].append(f)
        self.columns = _starts(cards)[:-1]
        self.first = _starts([table.size for table in tables])[:-1]
        self.values = np.concatenate([table.ravel() for table in tables])
        self.active = np.repeat(np.array([1, 0], dtype=np.uint8), [self.n_tables, n])
        self._arrays = (
            np.array(cards, dtype=np.int32),
            _starts([len(scope) for scope in scopes]),
            np.array([v for scope in scopes for v in scope], dtype=np.int32),
            np.array([step // CELL for table in tables for step in table.strides], dtype=np.int64),
            self.first,
            self.values,
            _starts([len(held) for held in holders]),
            np.array([f for held in holders for f in held], dtype=np.int32),
            self.active,
        )
        self._lock = Lock()
        self._kernel = self._make_kernel()

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name not in ("_kernel", "_lock")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.values, self.active = self._arrays[5], self._arrays[8]
        self._lock = Lock()
        self._kernel = self._make_kernel()

    def _make_kernel(self, memory: int = 2**31) -> Components:
        return Components(*self._arrays, memory / CELL, PLAN_BYTES)

    # ---- one question ----

    @contextmanager
    def asking(
        self,
        codes: Mapping[int, int],
        likelihoods: Mapping[int, np.ndarray],
        do: Mapping[int, int],
    ) -> Iterator[np.ndarray]:
        """Set up evidence, likelihoods and interventions of one question; yields its row of codes, hidden ones -1."""
        row = np.full((1, len(self.cards)), -1, dtype=np.int32)
        for v, code in (*codes.items(), *do.items()):
            row[0, v] = code
        with self._lock:
            try:
                for v, likelihood in likelihoods.items():
                    start = self.first[self.n_tables + v]
                    self.values[start : start + self.cards[v]] = likelihood
                    self.active[self.n_tables + v] = 1
                for v in do:
                    self.active[v] = 0
                yield row
            finally:
                self.active[: self.n_tables] = 1
                self.active[self.n_tables :] = 0

    def joint(self, row: np.ndarray, variables: Sequence[int], memory: int) -> np.ndarray:
        """Return P(variables | row), hidden variables in this order, inside of `asking`; all 0 if the row is impossible.

        Only the components of these variables are looked at, and the families without hidden variables.
        """
        kernel = self._kernel
        found, constant = kernel.find_query(row[0], np.array(variables, dtype=np.int32), QUERY, self.is_directed)
        tables, axes = [], []
        for number, inside in found:
            self._plan(kernel, number, memory)
            value, table = kernel.answer_query(row[0], number)
            if value == -np.inf or constant == -np.inf:
                return np.zeros([self.cards[v] for v in variables])
            tables.append((table / table.sum()).reshape([self.cards[variables[k]] for k in inside]))
            axes.append(inside)
        if len(tables) == 1:
            return tables[0]
        operands = [item for pair in zip(tables, axes, strict=True) for item in pair]
        return np.einsum(*operands, list(range(len(variables))))

    def most_probable(self, row: np.ndarray, variables: Sequence[int], memory: int) -> tuple[float, list[int]]:
        """Return log max P(variables, row) up to the components without them, and these states: all others summed out."""
        kernel = self._kernel
        found, total = kernel.find_query(row[0], np.array(variables, dtype=np.int32), MARGINAL_MAP, self.is_directed)
        states = [0] * len(variables)
        for number, inside in found:
            self._plan(kernel, number, memory)
            value, chosen = kernel.answer_query(row[0], number)
            total += value
            if value == -np.inf:
                break
            for k, state in zip(inside, chosen, strict=True):
                states[k] = state
        return total, states

    def _plan(self, kernel: Components, number: int, memory: int) -> None:
        """Make the plan of a component, from the best of many orders where the first one is large."""
        limit = memory / CELL
        cells = kernel.plan(number, limit)
        if cells <= LARGE_PLAN:
            return
        hidden, scopes, query = kernel.describe(number)
        cards = [self.cards[v] for v in hidden]
        search = search_order(cards, [*scopes, query] if query else scopes)
        if search.cells < cells:
            order = order_before(search, query) if query else search.order
            cells = kernel.plan(number, limit, np.ascontiguousarray(order, dtype=np.int32))
        if cells > limit:
            raise too_wide(search.width, CELL * search.cells, memory)


def order_before(plan: EliminationPlan, query: Sequence[int]) -> list[int]:
    """Return an order of all variables but the query, which a clique of the plan contains, without larger cliques."""
    near: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in plan.cliques]
    for clique, (parent, shared) in enumerate(zip(plan.parents.tolist(), plan.sepsets, strict=True)):
        if parent >= 0:
            near[clique].append((parent, shared))
            near[parent].append((clique, shared))
    root = plan.home(query)
    assert root is not None
    waiting, order, seen = [(root, tuple(query))], [], {root}
    for clique, shared in waiting:  # grows meanwhile
        order.append([v for v in plan.cliques[clique] if v not in shared])
        waiting += [(other, common) for other, common in near[clique] if other not in seen]
        seen.update(other for other, _ in near[clique])
    return [v for rest in reversed(order) for v in rest]


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

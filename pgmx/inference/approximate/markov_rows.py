"""Rows of a pairwise Markov network: hidden variables given the observed ones, exactly by components or by loopy BP.

Connected components of hidden variables are independent given the rest of the row. Components whose plan is too large
use belief propagation, once per distinct state of their neighbours; all others are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from math import prod
from typing import Any

import numpy as np

from pgmx._ext._row_columns import RowColumns
from pgmx.inference.approximate.loopy import choose_configuration, loopy_belief_propagation
from pgmx.inference.exact.components import BLOCK, SUM, ComponentEngine
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.exact.junction_tree import ExactInference
from pgmx.inference.networks import PairwisePotentials
from pgmx.inference.problem import check_method
from pgmx.inference.reduced_network import ZeroProbabilityError

#: Most configurations of a component that is exact even with inference="loopy".
MOST_CONFIGURATIONS = 4096
#: Largest plan of a component with "auto", in bytes; beyond that loopy belief propagation replaces it.
AUTO_MEMORY = 2**24
#: Largest range of the log-potentials of one variable in nats: products of their exponentials then are precise doubles.
MOST_RANGE = 300.0


class MarkovRows:
    """Answers of rows with the interface of `ComponentEngine`; logarithms are of unnormalised sums and maxima.

    With `log_partition` log-sums are log-probabilities: those of rows without observed values are 0 and not computed.
    `inference` is "exact", "loopy" (belief propagation for components of more than 4,096 configurations) or "auto"
    (belief propagation for components whose plan is larger than 16 MB).
    """

    def __init__(self, potentials: PairwisePotentials):
        self.potentials, self.inference = potentials, "exact"
        self.log_partition: float | None = None
        self.cards = potentials.cardinalities.tolist()
        tops = [float(table.max()) for _, table in _list_tables(potentials)]
        self._log_scale = sum(top for top in tops if top > -np.inf)
        self._is_extreme = _find_largest_range(potentials) > MOST_RANGE
        self._engine = _make_engine(potentials)

    def choose(self, inference: str, log_partition: float | None = None) -> MarkovRows:
        """Return the same network with another engine for large components; plans are shared."""
        check_method(inference, ("auto", "exact", "loopy"), "inference")
        other = copy(self)
        other.inference, other.log_partition = inference, log_partition
        return other

    def answer_rows(
        self,
        codes: np.ndarray,
        memory: int | None,
        *,
        probabilities: np.ndarray | None = None,
        columns: np.ndarray | None = None,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """Return the log-sums of rows, int32 (N, n) with hidden variables -1, as `ComponentEngine.answer_rows`.

        Components that use belief propagation are left out of the sums.
        """
        is_bare: np.ndarray = np.zeros(len(codes), dtype=bool)
        if self.log_partition is not None:
            is_bare = np.all(codes < 0, axis=1)
            # Any states do: these rows are not asked about.
            codes = np.where(is_bare[:, None], np.int32(0), codes)
        work = codes.copy()

        def ask(engine: ComponentEngine, rows: np.ndarray, limit: int | None) -> np.ndarray:
            out = None if probabilities is None else np.zeros((len(rows), probabilities.shape[1]))
            logs = engine.answer_rows(work[rows], limit, probabilities=out, columns=columns, n_jobs=n_jobs)
            if probabilities is not None:
                probabilities[rows] = out
            return logs

        def ask_tree(tree: ExactInference, row: int) -> float:
            if probabilities is not None and columns is not None:
                for v, shares in enumerate(tree.marginals()):
                    if codes[row, v] < 0 <= columns[v]:
                        probabilities[row, columns[v] : columns[v] + self.cards[v]] = shares
            return tree.log_partition - self._log_scale

        beliefs: list[tuple[np.ndarray, int, np.ndarray]] = []

        def settle(rows: np.ndarray, component: list[int]) -> np.ndarray:
            found, is_possible = self._propagate(codes, rows, component, maximise=False)
            for v, shares in zip(component, found, strict=True):
                work[rows, v] = 0
                beliefs.append((rows, v, shares))
            return is_possible

        logs = self._answer(codes, ask, ask_tree, settle, memory)
        for rows, v, shares in beliefs:
            if probabilities is not None and columns is not None and columns[v] >= 0:
                probabilities[rows, columns[v] : columns[v] + self.cards[v]] = shares
        logs = logs + self._log_scale
        return logs if self.log_partition is None else np.where(is_bare, 0.0, logs - self.log_partition)

    def complete_rows(
        self, codes: np.ndarray, memory: int | None, *, n_jobs: int | None = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows with the most probable states of their hidden variables together, int32 (N, n), and log-scores.

        Components that use belief propagation are left out of the scores.
        """
        states = codes.copy()

        def ask(engine: ComponentEngine, rows: np.ndarray, limit: int | None) -> np.ndarray:
            states[rows], logs = engine.complete_rows(states[rows], limit, n_jobs=n_jobs)
            return logs

        def ask_tree(tree: ExactInference, row: int) -> float:
            best = tree.map()
            states[row] = best.codes
            return best.log_value - self._log_scale

        def settle(rows: np.ndarray, component: list[int]) -> np.ndarray:
            found, is_possible = self._propagate(codes, rows, component, maximise=True)
            states[rows[:, None], np.array(component)] = np.stack(found, axis=1)
            return is_possible

        return states, self._answer(codes, ask, ask_tree, settle, memory) + self._log_scale

    def run_blocks(
        self,
        answer: Callable[[_BlockAnswers, slice], np.ndarray],
        n_rows: int,
        memory: int | None,
        n_jobs: int | None,
        most: int = BLOCK,
    ) -> np.ndarray:
        """Answer blocks of rows one after the other, as `ComponentEngine.run_blocks`."""
        # large blocks: equal components of rows are answered once
        most = max(most, 4 * BLOCK)
        blocks = [slice(start, min(start + most, n_rows)) for start in range(0, n_rows, most)]
        worker = _BlockAnswers(self, memory, n_jobs)
        logs = [np.empty(0), *(answer(worker, block) for block in blocks)]
        return np.concatenate(logs)

    # ---- exactly, where that is not too large ----

    def _answer(
        self,
        codes: np.ndarray,
        ask: Callable[[ComponentEngine, np.ndarray, int | None], np.ndarray],
        ask_tree: Callable[[ExactInference, int], float],
        settle: Callable[[np.ndarray, list[int]], np.ndarray],
        memory: int | None,
    ) -> np.ndarray:
        """Return the logarithms of rows; `settle` fills a component by belief propagation, `ask` all others."""
        rows = np.arange(len(codes))
        if self._is_extreme and self.inference != "loopy":
            return np.array([self._ask_tree(codes[row], int(row), ask_tree) for row in rows])
        if self.inference != "loopy":
            try:
                return ask(self._engine, rows, AUTO_MEMORY if self.inference == "auto" else memory)
            except TreewidthError as error:
                if self.inference == "exact":
                    raise error.with_engines("loopy belief propagation (inference='loopy')") from None
        logs = np.zeros(len(codes))
        plain = []
        engine = _make_engine(self.potentials)  # of which tables are taken out below
        for group in _group_by_mask(codes < 0):
            row = codes[group[0]]
            large = [part for part in self._find_components(row < 0) if self._is_large(engine, row, part)]
            if not large:
                plain.append(group)
                continue
            is_possible = np.ones(len(group), dtype=bool)
            for component in large:
                is_possible &= settle(group, component)
            mentioned = np.isin(np.arange(len(self.cards)), [v for component in large for v in component])
            active = [not mentioned[list(scope)].any() for scope in engine.scopes]
            engine.active[: engine.n_tables] = active
            logs[group] = np.where(is_possible, ask(engine, group, None), -np.inf)
            engine.active[: engine.n_tables] = 1
        if plain:
            joined = np.concatenate(plain)
            logs[joined] = ask(self._engine, joined, None)
        return logs

    def _ask_tree(self, row: np.ndarray, number: int, ask_tree: Callable[[ExactInference, int], float]) -> float:
        """Answer a row in logarithms, for potentials whose exponentials leave the range of doubles."""
        known = {v: int(row[v]) for v in np.flatnonzero(row >= 0).tolist()}
        try:
            return ask_tree(ExactInference(self.potentials, evidence=known), number)
        except ZeroProbabilityError:
            return -np.inf
        except TreewidthError as error:
            raise error.of_row(number).with_engines("loopy belief propagation (inference='loopy')") from None

    # ---- belief propagation ----

    def _find_components(self, hidden: np.ndarray) -> list[list[int]]:
        """Return the connected components of hidden variables, bool (n,)."""
        pointer, neighbour, _ = self.potentials.neighbours()
        unvisited = dict.fromkeys(np.flatnonzero(hidden).tolist())
        components = []
        while unvisited:
            component = [unvisited.popitem()[0]]
            for v in component:  # grows meanwhile
                for u in neighbour[pointer[v] : pointer[v + 1]].tolist():
                    if u in unvisited:
                        del unvisited[u]
                        component.append(u)
            components.append(sorted(component))
        return components

    def _is_large(self, engine: ComponentEngine, row: np.ndarray, component: list[int]) -> bool:
        """Return whether belief propagation answers a component of a row."""
        if len(component) == 1 or prod(self.cards[v] for v in component) <= MOST_CONFIGURATIONS:
            return False
        if self.inference == "loopy":
            return True
        alone = np.where(row < 0, 0, row).astype(np.int32)
        alone[component] = -1
        try:
            engine.worker(AUTO_MEMORY).find(alone[None], SUM)
        except TreewidthError:
            return True
        return False

    def _propagate(
        self, codes: np.ndarray, rows: np.ndarray, component: list[int], *, maximise: bool
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the states (rows,) or beliefs (rows, states) of the variables of a component, and a possible mask."""
        potentials, inside = self.potentials, set(component)
        place = {v: k for k, v in enumerate(component)}
        pointer, neighbour, edge = potentials.neighbours()
        fields, tables = [], {}
        for v in component:
            field = np.repeat(potentials.node(v)[:, None], len(rows), axis=1)
            for at in range(pointer[v], pointer[v + 1]):
                u, table = int(neighbour[at]), potentials.table(int(edge[at]))
                if u not in inside:
                    field += (table if v < u else table.T)[:, codes[rows, u]]
                elif v < u:
                    tables[place[v], place[u]] = table
            fields.append(field)
        # Rows whose observed neighbours act on the component in the same way have the same answer.
        _, first, same = np.unique(np.concatenate(fields), axis=1, return_index=True, return_inverse=True)
        shape = [self.cards[v] for v in component]
        found: list[list] = [[] for _ in component]
        is_possible = np.ones(len(first), dtype=bool)
        for k, column in enumerate(first.tolist()):
            network = PairwisePotentials.build(shape, [field[:, column] for field in fields], tables)
            try:
                beliefs = loopy_belief_propagation(network, maximise=maximise)
            except ZeroProbabilityError:
                is_possible[k] = False
                for own, card in zip(found, shape, strict=True):
                    own.append(0 if maximise else np.full(card, 1.0 / card))
                continue
            answers: Any
            if maximise:
                answers = choose_configuration(network, {}, beliefs.node_beliefs, beliefs.edge_beliefs)
            else:
                answers = np.split(beliefs.node_beliefs, network.node_offsets[1:-1])
            for own, answer in zip(found, answers, strict=True):
                own.append(answer)
        same = same.ravel()
        return [np.array(own)[same] for own in found], is_possible[same]


class _BlockAnswers:
    """Answers of blocks of rows, as of `RowWorker`."""

    def __init__(self, engine: MarkovRows, memory: int | None, n_jobs: int | None):
        self._engine, self._memory, self._n_jobs = engine, memory, n_jobs

    def read(self, columns: RowColumns, block: slice) -> np.ndarray:
        """Return rows of a table, int32 (n_rows, n) with hidden variables -1."""
        codes = np.empty((block.stop - block.start, columns.n_columns), dtype=np.int32)
        columns.read(block.start, codes)
        return codes

    def answer(
        self, codes: np.ndarray, start: int, probabilities: np.ndarray | None = None, columns: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the log-sums of rows, and set the distributions of their hidden variables."""
        try:
            return self._engine.answer_rows(
                codes, self._memory, probabilities=probabilities, columns=columns, n_jobs=self._n_jobs
            )
        except TreewidthError as error:
            raise error.number_from(start) from None

    def complete(self, codes: np.ndarray, start: int) -> np.ndarray:
        """Set the most probable states together, in place; returns their log-scores."""
        try:
            codes[...], logs = self._engine.complete_rows(codes, self._memory, n_jobs=self._n_jobs)
        except TreewidthError as error:
            raise error.number_from(start) from None
        return logs


def _list_tables(potentials: PairwisePotentials) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Yield the scopes and log-potentials of variables and edges."""
    for v in range(potentials.n_variables):
        yield (v,), potentials.node(v)
    for e, (i, j) in enumerate(potentials.edges.tolist()):
        yield (i, j), potentials.table(e)


def _make_engine(potentials: PairwisePotentials) -> ComponentEngine:
    """Return the engine of the exponentials of the potentials, each table scaled to a maximum of 1."""
    scopes, tables = [], []
    for scope, table in _list_tables(potentials):
        top = table.max()
        scopes.append(scope)
        tables.append(np.exp(table - (top if top > -np.inf else 0.0)))
    return ComponentEngine(potentials.cardinalities.tolist(), scopes, tables, is_directed=False)


def _find_largest_range(potentials: PairwisePotentials) -> float:
    """Return the largest sum over a variable's tables of the range of their finite cells, in nats."""
    ranges = np.zeros(potentials.n_variables)
    for scope, table in _list_tables(potentials):
        finite = table[np.isfinite(table)]
        if finite.size:
            ranges[list(scope)] += np.ptp(finite)
    return float(ranges.max(initial=0.0))


def _group_by_mask(hidden: np.ndarray) -> list[np.ndarray]:
    """Return the positions of rows with the same hidden variables, bool (N, n)."""
    _, group = np.unique(np.packbits(hidden, axis=1), axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    return np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]) if len(order) else []

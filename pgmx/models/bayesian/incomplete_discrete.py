"""Rows of discrete variables with missing values: the expected counts of the families of a graph.

A row is answered by the connected components of its missing values (`ComponentEngine`). Their plans depend on the graph
alone, so all steps of EM for one graph share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.inference.exact.components import ComponentEngine, ExpectedCounts
from pgmx.inference.exact.elimination_order import TreewidthError, format_bytes
from pgmx.inference.networks import take_logs
from pgmx.models.bayesian.em import EMFit, IncompleteRows
from pgmx.runs.checkpoint import Snapshot

#: A row with more completions than this is completed by this number of draws, because completions multiply with each
#: missing value. Expected counts are exact all the same.
N_DRAWS = 10
#: Bytes of plans that are kept per graph, and largest size in bytes of the tables of one row.
PLAN_BYTES, ROW_BYTES = 2**24, 2**27
#: Bytes of the rows, and of their random numbers or marginals, that are answered together.
PASS_BYTES = 2**22


class CompletedRows(NamedTuple):
    """Weighted complete rows that represent rows with missing values; several may represent one row."""

    table: DiscreteTable
    weights: np.ndarray


class IncompleteDiscreteRows(IncompleteRows):
    """The distinct rows of a table with missing values, and their weights.

    Statistics are counts, and parameters are conditional probability tables, both ``[v][x, u1, ...]`` with the parents
    in ascending order.
    """

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None = None, n_draws: int = N_DRAWS):
        self.cards = (table.cardinalities - (table.missing_codes >= 0)).tolist()
        self.names = table.columns
        self.states = tuple(names[:card] for names, card in zip(table.states, self.cards, strict=True))
        self.n_draws = n_draws
        all_codes = np.ascontiguousarray(table.codes.T)
        rows = all_codes.view(np.dtype((np.void, all_codes.dtype.itemsize * all_codes.shape[1]))).ravel()
        _, first, self.places = np.unique(rows, return_index=True, return_inverse=True)
        self.codes = np.ascontiguousarray(all_codes[first].T)
        self.weights = np.bincount(self.places, weights, len(first)).astype(np.float64)
        super().__init__(len(self.cards), float(self.weights.sum()))

    # ---- EM ----

    def _start(self, families: list[tuple[int, ...]]) -> list[np.ndarray]:
        """Count the rows that are complete in each family, plus one row that is divided equally among all cells.

        Without this row, a configuration that occurs only in incomplete rows would keep the probability 0.
        """
        counts = []
        for family in families:
            keep = ~self._missing[list(family)].any(axis=0)
            seen = _count(self.cards, family, self.codes[:, keep], self.weights[keep])
            counts.append(seen + 1.0 / seen.size)
        return counts

    @cached_property
    def _missing(self) -> np.ndarray:
        return self.codes == np.array(self.cards)[:, None]

    def _estimate(self, families: list[tuple[int, ...]], statistics: list[np.ndarray]) -> list[np.ndarray]:
        return list(map(normalise, statistics))

    def _expect(
        self, families: list[tuple[int, ...]], parameters: list[np.ndarray], *, may_end: bool
    ) -> tuple[float, list[np.ndarray]]:
        expected = self._plan(families)
        expected.engine.set_tables(parameters)
        try:
            return expected.compute()
        except TreewidthError:
            raise make_width_error() from None

    def _make_plan(self, families: list[tuple[int, ...]]) -> ExpectedCounts:
        tables = [np.ones([self.cards[v] for v in family]) for family in families]
        engine = ComponentEngine(self.cards, families, tables, is_directed=True, plan_bytes=PLAN_BYTES)
        return ExpectedCounts(engine, self._read_weighted, ROW_BYTES)

    def _read_weighted(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        # large blocks, because the questions of a single block are kept, and equal ones of its rows are one
        for rows, codes in self._blocks(np.arange(len(self.weights)), 2 * len(self.cards)):
            yield codes, self.weights[rows]

    def _load(self, families: list[tuple[int, ...]], parameters: list[np.ndarray]) -> ComponentEngine:
        engine = self._plan(families).engine
        engine.set_tables(parameters)
        return engine

    def _blocks(self, rows: np.ndarray, row_bytes: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows in blocks with their codes (rows, n), missing values -1; `row_bytes` is the size of an answer."""
        step = max(1, PASS_BYTES // row_bytes)
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            codes = np.ascontiguousarray(self.codes[:, block].T, dtype=np.int32)
            codes[codes == np.array(self.cards)] = -1
            yield block, codes

    # ---- completed rows ----

    def complete(self, fit: EMFit, seed: int) -> CompletedRows:
        """Return the completions of the rows as a table without missing values, and their weights.

        A row with at most `n_draws` completions becomes all of them, weighted by their probabilities. Any other row
        becomes `n_draws` draws from its distribution.
        """
        return self._complete(fit.families, fit.parameters, self.n_draws, seed)

    def complete_at_random(self, seed: int) -> CompletedRows:
        """Return the rows with missing values drawn from the observed values of their columns, and their weights."""
        alone = self.families(np.empty((0, 2), dtype=np.int64))
        return self._complete(alone, self._estimate(alone, self._start(alone)), 1, seed)

    def _complete(
        self, families: list[tuple[int, ...]], parameters: list[np.ndarray], n_draws: int, seed: int
    ) -> CompletedRows:
        # as floats, since the numbers may exceed 64 bits
        n_completions = np.where(self._missing, np.array(self.cards, dtype=float)[:, None], 1.0).prod(axis=0)
        few, many = np.flatnonzero(n_completions <= n_draws), np.flatnonzero(n_completions > n_draws)
        filled, places = list_completions(self.cards, self.codes[:, few], self._missing[:, few])
        shares = find_shares(families, parameters, filled, places, len(few))
        drawn = self._draw(self._load(families, parameters), many, n_draws, seed)
        table = DiscreteTable._from_parts(self.names, self.states, np.concatenate([filled, drawn], axis=1))
        weights = [shares * self.weights[few][places], np.repeat(self.weights[many] / n_draws, n_draws)]
        return CompletedRows(table, np.concatenate(weights))

    def _draw(self, engine: ComponentEngine, rows: np.ndarray, n_draws: int, seed: int) -> np.ndarray:
        """Return draws of all variables given each row, (n, N n_draws).

        The draws of a missing value are stratified: one for each of `n_draws` equal strata of (0, 1), in random order.
        """
        drawn = np.empty((len(self.cards), len(rows), n_draws), dtype=self.codes.dtype)
        rng = np.random.default_rng(seed)
        done = 0
        for block, codes in self._blocks(rows, 8 * n_draws * len(self.cards)):
            uniforms = np.zeros((len(block), n_draws, len(self.cards)))
            missing = codes < 0
            uniforms.transpose(0, 2, 1)[missing] = draw_strata(rng, int(missing.sum()), n_draws)
            states, _ = engine.complete_rows(codes, ROW_BYTES, uniforms=uniforms.reshape(-1, len(self.cards)))
            # an impossible row has no states, but needs some
            drawn[:, done : done + len(block)] = np.maximum(states, 0).reshape(uniforms.shape).transpose(2, 0, 1)
            done += len(block)
        return drawn.reshape(len(self.cards), -1)

    def count(self, edges: np.ndarray, completed: CompletedRows) -> list[np.ndarray]:
        """Return the counts of the families of a graph in weighted complete rows."""
        table, weights = completed
        return [_count(self.cards, family, table.codes, weights) for family in self.families(edges)]

    def impute(self, fit: EMFit) -> DiscreteTable:
        """Return the rows of the table; a missing value becomes its most probable state given the row."""
        engine = self._load(fit.families, fit.parameters)
        filled = self.codes.copy()
        for rows, codes in self._blocks(np.arange(len(self.weights)), 8 * sum(self.cards)):
            probabilities = np.zeros((len(rows), sum(self.cards)))
            engine.answer_rows(codes, ROW_BYTES, probabilities=probabilities, columns=engine.columns)
            for v, (start, card) in enumerate(zip(engine.columns.tolist(), self.cards, strict=True)):
                unknown = np.flatnonzero(codes[:, v] < 0)
                filled[v, rows[unknown]] = probabilities[unknown, start : start + card].argmax(axis=1)
        return DiscreteTable._from_parts(self.names, self.states, np.ascontiguousarray(filled[:, self.places]))

    # ---- checkpoints ----

    def read_statistics(self, snapshot: Snapshot, edges: np.ndarray) -> list[np.ndarray]:
        """Return the counts of the families of a graph from the arrays of `describe`."""
        families = self.families(edges)
        snapshot.check_names([f"counts_{v}" for v in range(len(families))])
        shapes = [tuple(self.cards[u] for u in family) for family in families]
        return [snapshot.array(f"counts_{v}", float, shape, least=0) for v, shape in enumerate(shapes)]


def normalise(counts: np.ndarray) -> np.ndarray:
    """Return the distributions over the first axis; equal probabilities if all counts are 0."""
    total = counts.sum(axis=0, keepdims=True)
    seen = total > 0
    return np.where(seen, counts / np.where(seen, total, 1.0), 1.0 / len(counts))


def make_width_error() -> TreewidthError:
    """Return the error for missing values of a row whose components are too large."""
    return TreewidthError(
        f"the expected counts of a row with missing values need more than {format_bytes(ROW_BYTES)}",
        "limit the parents with max_indegree, or {}",
        "learn with missing='pairwise' or 'category'",
    )


def draw_strata(rng: np.random.Generator, n_rows: int, n_draws: int) -> np.ndarray:
    """Return per row one uniform number in each of `n_draws` equal strata of [0, 1), shuffled: (n_rows, n_draws)."""
    strata = rng.permuted(np.broadcast_to(np.arange(float(n_draws)), (n_rows, n_draws)), axis=1)
    # (k + u) / n_draws may round up to 1, but a draw needs a number below 1.
    return np.minimum((strata + rng.random(strata.shape)) / n_draws, 1 - 2.0**-53)


def list_completions(cards: Sequence[int], codes: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all completions (n, M) of the rows, and the index (M,) of the incomplete row of each."""
    counts = np.where(missing, np.asarray(cards, dtype=np.int64)[:, None], 1).prod(axis=0)
    rows = np.repeat(np.arange(codes.shape[1]), counts)
    place = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
    filled = codes[:, rows]
    for v, card in enumerate(cards):
        unknown = np.flatnonzero(missing[v, rows])
        place[unknown], filled[v, unknown] = np.divmod(place[unknown], card)
    return filled, rows


def find_shares(
    families: list[tuple[int, ...]], tables: list[np.ndarray], filled: np.ndarray, rows: np.ndarray, n_rows: int
) -> np.ndarray:
    """Return the probability (M,) of each completion of its row; zeros if all completions of a row are impossible."""
    joint = np.zeros(len(rows))
    for table, family in zip(tables, families, strict=True):
        joint += take_logs(table)[tuple(filled[list(family)])]
    top = np.full(n_rows, -np.inf)
    np.maximum.at(top, rows, joint)
    top[top == -np.inf] = 0.0
    shares = np.exp(joint - top[rows])
    sums = np.bincount(rows, shares, n_rows)
    return shares / np.where(sums == 0.0, 1.0, sums)[rows]


def _count(cards: Sequence[int], family: Iterable[int], codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    family = list(family)
    shape = [cards[v] for v in family]
    cell = np.zeros(codes.shape[1], dtype=np.int64)
    for v in family:
        cell = cell * cards[v] + codes[v]
    return np.bincount(cell, weights, int(np.prod(shape))).reshape(shape).astype(float)  # integers if there are no rows

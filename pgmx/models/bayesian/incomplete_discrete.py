"""Rows of discrete variables with missing values: the expected counts of the families of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.inference.exact.row_posteriors import Completions, RowCompleter, RowGroups
from pgmx.models.bayesian.em import EMFit, IncompleteRows
from pgmx.runs.checkpoint import Snapshot

#: A row with more completions than this is completed by this number of draws, because completions multiply with each
#: missing value. Expected counts are exact all the same.
N_DRAWS = 10


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
        return self._plan(families).compute_expected_counts(parameters)

    def _make_plan(self, families: list[tuple[int, ...]]) -> RowCompleter:
        return RowCompleter(self.cards, families, self.codes, self.weights, self.n_draws)

    # ---- completed rows ----

    def complete(self, fit: EMFit, seed: int) -> CompletedRows:
        """Return the completions of the rows as a table without missing values, and their weights."""
        return self._to_rows(self._plan(fit.families).complete(fit.parameters, seed))

    def complete_at_random(self, seed: int) -> CompletedRows:
        """Return the rows with missing values drawn from the observed values of their columns, and their weights."""
        alone = self.families(np.empty((0, 2), dtype=np.int64))
        marginals = self._estimate(alone, self._start(alone))
        return self._to_rows(RowCompleter(self.cards, alone, self.codes, self.weights, 1).complete(marginals, seed))

    def _to_rows(self, completions: Completions) -> CompletedRows:
        table = DiscreteTable._from_parts(self.names, self.states, np.ascontiguousarray(completions.codes))
        return CompletedRows(table, completions.weights)

    def count(self, edges: np.ndarray, completed: CompletedRows) -> list[np.ndarray]:
        """Return the counts of the families of a graph in weighted complete rows."""
        table, weights = completed
        return [_count(self.cards, family, table.codes, weights) for family in self.families(edges)]

    def impute(self, fit: EMFit) -> DiscreteTable:
        """Return the rows of the table; a missing value becomes its most probable state given the row."""
        codes = RowGroups(self.cards, fit.families, self.codes).modes(fit.parameters)[:, self.places]
        return DiscreteTable._from_parts(self.names, self.states, np.ascontiguousarray(codes))

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


def _count(cards: Sequence[int], family: Iterable[int], codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    family = list(family)
    shape = [cards[v] for v in family]
    cell = np.zeros(codes.shape[1], dtype=np.int64)
    for v in family:
        cell = cell * cards[v] + codes[v]
    return np.bincount(cell, weights, int(np.prod(shape))).reshape(shape).astype(float)  # integers if there are no rows

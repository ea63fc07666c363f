"""Parameters of a discrete Bayesian network from rows with missing values, by expectation maximisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.inference.exact.row_posteriors import Completions, RowCompleter, RowGroups
from pgmx.runs.checkpoint import Snapshot

#: The iteration ends after a step that gains less than this share of the log-likelihood. The most steps.
TOLERANCE, MOST_STEPS = 1e-7, 200
#: Number of draws for a row with more completions than this.
N_DRAWS = 10


@dataclass(frozen=True, eq=False)
class ExpectedFit:
    """Maximum likelihood of a graph: tables and expected counts, ``[v][x, u1, ...]``, parents in ascending order.

    `log_likelihood` is the log-likelihood of the observed values under `tables`, in nats. `tables` are computed from
    `counts`.
    """

    edges: np.ndarray
    families: list[tuple[int, ...]]
    tables: list[np.ndarray]
    counts: list[np.ndarray]
    log_likelihood: float
    completer: RowCompleter


class CompletedRows(NamedTuple):
    """Weighted complete rows that represent rows with missing values; several may represent one row."""

    table: DiscreteTable
    weights: np.ndarray


class IncompleteRows:
    """The distinct rows of a table with missing values, and their weights."""

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None = None, n_draws: int = N_DRAWS):
        self.cards = (table.cardinalities - (table.missing_codes >= 0)).tolist()
        self.names, self.states = (
            table.columns,
            tuple(names[:card] for names, card in zip(table.states, self.cards, strict=True)),
        )
        self.n_draws = n_draws
        all_codes = np.ascontiguousarray(table.codes.T)
        rows = all_codes.view(np.dtype((np.void, all_codes.dtype.itemsize * all_codes.shape[1]))).ravel()
        _, first, self.places = np.unique(rows, return_index=True, return_inverse=True)
        self.codes = np.ascontiguousarray(all_codes[first].T)
        self.weights = np.bincount(self.places, weights, len(first)).astype(np.float64)

    def families(self, edges: np.ndarray) -> list[tuple[int, ...]]:
        """Return (v, parents...) for each variable, parents ascending."""
        return list_families(edges, len(self.cards))

    def fit(
        self,
        edges: np.ndarray,
        counts: Sequence[np.ndarray] | None = None,
        *,
        max_steps: int = MOST_STEPS,
        deadline: float = np.inf,
    ) -> ExpectedFit:
        """Return the parameters after at most `max_steps` steps, each of which raises the likelihood.

        The initial tables are computed from `counts`, or by default from the rows that are complete in each family.
        """
        families = self.families(edges)
        completer = RowCompleter(self.cards, families, self.codes, self.weights, self.n_draws)
        first = [self._count_complete(family) for family in families] if counts is None else list(counts)
        fit = ExpectedFit(edges, families, list(map(normalise, first)), first, -np.inf, completer)
        return self.go_on(fit, max_steps=max_steps, deadline=deadline)

    def go_on(self, fit: ExpectedFit, *, max_steps: int = MOST_STEPS, deadline: float = np.inf) -> ExpectedFit:
        """Return the parameters after further steps."""
        tables, counts, before = fit.tables, fit.counts, -np.inf
        for _ in range(max_steps):
            likelihood, expected = fit.completer.compute_expected_counts(tables)
            if likelihood - before <= TOLERANCE * abs(likelihood) or perf_counter() > deadline:
                break
            before, counts, tables = likelihood, expected, list(map(normalise, expected))
        likelihood = fit.completer.log_likelihood(tables)
        return ExpectedFit(fit.edges, fit.families, tables, counts, likelihood, fit.completer)

    def complete(self, fit: ExpectedFit, seed: int) -> CompletedRows:
        """Return the completions of the rows as a table without missing values, and their weights."""
        return self._to_rows(fit.completer.complete(fit.tables, seed))

    def complete_at_random(self, seed: int) -> CompletedRows:
        """Return the rows with missing values drawn from the observed values of their columns, and their weights."""
        fit = self.fit(np.empty((0, 2), dtype=np.int64), max_steps=0)
        return self._to_rows(
            RowCompleter(self.cards, fit.families, self.codes, self.weights, 1).complete(fit.tables, seed)
        )

    def count(self, edges: np.ndarray, completed: CompletedRows) -> list[np.ndarray]:
        """Return the counts of the families of a graph in weighted complete rows."""
        table, weights = completed
        return [_count(self.cards, family, table.codes, weights) for family in self.families(edges)]

    def describe(self, fit: ExpectedFit) -> dict[str, np.ndarray]:
        """Return the arrays from which `fit` restores the parameters."""
        return {f"counts_{v}": counts for v, counts in enumerate(fit.counts)}

    def read_counts(self, snapshot: Snapshot, edges: np.ndarray) -> list[np.ndarray]:
        """Return the counts of the families of a graph from the arrays of `describe`."""
        families = self.families(edges)
        snapshot.check_names([f"counts_{v}" for v in range(len(families))])
        shapes = [tuple(self.cards[u] for u in family) for family in families]
        return [snapshot.array(f"counts_{v}", float, shape, least=0) for v, shape in enumerate(shapes)]

    def impute(self, fit: ExpectedFit) -> DiscreteTable:
        """Return the rows of the table; a missing value becomes its most probable state given the row."""
        codes = RowGroups(self.cards, fit.families, self.codes).modes(fit.tables)[:, self.places]
        return DiscreteTable._from_parts(self.names, self.states, np.ascontiguousarray(codes))

    def _to_rows(self, completions: Completions) -> CompletedRows:
        table = DiscreteTable._from_parts(self.names, self.states, np.ascontiguousarray(completions.codes))
        return CompletedRows(table, completions.weights)

    @cached_property
    def _missing(self) -> np.ndarray:
        return self.codes == np.array(self.cards)[:, None]

    def _count_complete(self, family: tuple[int, ...]) -> np.ndarray:
        """Count the rows that are complete in a family, plus one row that is divided equally among all cells."""
        keep = ~self._missing[list(family)].any(axis=0)
        counts = _count(self.cards, family, self.codes[:, keep], self.weights[keep])
        return counts + 1.0 / counts.size


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


def list_families(edges: np.ndarray, n_variables: int) -> list[tuple[int, ...]]:
    """Return (v, parents...) for each variable, parents ascending."""
    parents: list[list[int]] = [[] for _ in range(n_variables)]
    for tail, head in np.asarray(edges).tolist():
        parents[head].append(tail)
    return [(v, *sorted(family)) for v, family in enumerate(parents)]

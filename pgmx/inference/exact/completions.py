"""Rows with missing values as complete rows weighted by their probability under a discrete Bayesian network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgmx.inference.exact.row_groups import RowGroups
from pgmx.inference.networks.log_tables import take_logs


class Completions(NamedTuple):
    """Complete rows ``codes`` (n, M), their ``weights`` (M,), and the incomplete row ``rows`` (M,) of each."""

    codes: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class RowCompleter:
    """The weighted rows of a table under networks of one graph, with the arguments of `RowGroups`.

    A row with at most `n_draws` completions is replaced by all of them, weighted by their probabilities. Any other row
    is replaced by `n_draws` draws from its distribution.
    """

    def __init__(
        self,
        cards: Sequence[int],
        families: Sequence[Sequence[int]],
        codes: np.ndarray,
        weights: np.ndarray,
        n_draws: int,
    ) -> None:
        self.n_draws = n_draws
        self.weights = weights
        self._families = [tuple(family) for family in families]
        missing = codes == np.asarray(cards)[:, None]
        n_completions = np.where(missing, np.asarray(cards, dtype=float)[:, None], 1.0).prod(axis=0)
        self._few = np.flatnonzero(n_completions <= n_draws)
        self._many = np.flatnonzero(n_completions > n_draws)
        self._posteriors = RowGroups(cards, families, np.ascontiguousarray(codes[:, self._many]))
        self._filled, self._of = list_completions(cards, codes[:, self._few], missing[:, self._few])

    def log_likelihood(self, tables: Sequence[np.ndarray]) -> float:
        """Return the log-likelihood of the observed values."""
        logs, _ = self._weigh(tables)
        return self._sum(logs, self._posteriors.log_likelihoods(tables))

    def compute_expected_counts(self, tables: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """Return the exact log-likelihood of the observed values and the exact expected counts of each family."""
        logs, weights = self._weigh(tables)
        logs_of_many, counts = self._posteriors.compute_expected_counts(tables, self.weights[self._many])
        for table, family in zip(counts, self._families, strict=True):
            at = np.ravel_multi_index(tuple(self._filled[list(family)].astype(np.int64)), table.shape)
            table += np.bincount(at, weights, table.size).reshape(table.shape)
        return self._sum(logs, logs_of_many), counts

    def complete(self, tables: Sequence[np.ndarray], seed: int) -> Completions:
        """Return the weighted complete rows; the same for the same seed and tables."""
        _, weights = self._weigh(tables)
        draws = self._posteriors.draw(tables, self.n_draws, seed)
        n_draws = np.repeat(self.weights[self._many] / self.n_draws, self.n_draws)
        return Completions(
            np.concatenate([self._filled, draws.reshape(len(draws), -1)], axis=1),
            np.concatenate([weights, n_draws]),
            np.concatenate([self._few[self._of], np.repeat(self._many, self.n_draws)]),
        )

    def _sum(self, logs_of_few: np.ndarray, logs_of_many: np.ndarray) -> float:
        return float(self.weights[self._few] @ logs_of_few + self.weights[self._many] @ logs_of_many)

    def _weigh(self, tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-probabilities of the rows with few completions, and the weights of the completions."""
        joint = np.zeros(self._filled.shape[1])
        for table, family in zip(tables, self._families, strict=True):
            joint += take_logs(table)[tuple(self._filled[list(family)])]
        n = len(self._few)
        top = np.full(n, -np.inf)
        np.maximum.at(top, self._of, joint)
        top[top == -np.inf] = 0.0
        weights = np.exp(joint - top[self._of])
        sums = np.bincount(self._of, weights, n)
        weights *= self.weights[self._few][self._of] / np.where(sums == 0.0, 1.0, sums)[self._of]
        return top + take_logs(sums), weights


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

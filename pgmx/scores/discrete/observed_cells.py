"""Families scored by a formula over the cells that occur."""

from threading import Lock
from typing import Protocol

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.scores.discrete.base import ScoreTerms, family_scorer


class Formula(Protocol):
    """A score of one family, computed from its cells."""

    def score(self, child: int, parents: np.ndarray, cells: np.ndarray, counts: np.ndarray) -> float:
        """Return the score.

        ``cells[i]`` holds the states of (parents..., child) in the i-th cell that occurs, in ascending order.
        ``counts[i]`` is the number of rows in the cell, or the sum of their weights.
        """
        ...


class CountedFamilies:
    """Scores of single families of one table by a formula. A lock lets one thread count at a time."""

    def __init__(self, table: DiscreteTable, formula: Formula, weights: np.ndarray | None = None):
        self.formula = formula
        self.cards = table.cardinalities
        self._scorer = family_scorer(table, ScoreTerms(), weights=weights, memory=0)
        self._counting = Lock()  # numpy lets other threads run while it copies out of the scorer's buffers

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of `child` with `parents`, ascending int32 ids."""
        with self._counting:
            keys, counts = self._scorer.family_counts(child, parents)
        cells = unravel_keys(keys, self.cards[[*parents, child]])
        return float(self.formula.score(child, parents, cells, counts.astype(np.float64)))


def unravel_keys(keys: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Return the digits of mixed radix keys, one row per key; the last digit varies fastest."""
    digits = np.empty((len(keys), len(cards)), dtype=np.int64)
    rest = keys.astype(np.int64)
    for level in range(len(cards) - 1, -1, -1):
        rest, digits[:, level] = np.divmod(rest, cards[level])
    return digits


def configuration_starts(cells: np.ndarray) -> np.ndarray:
    """Return the index of the first cell of each parent configuration, for ascending cells with the child last."""
    changes = (cells[1:, :-1] != cells[:-1, :-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(changes) + 1])

"""Families scored by a formula from the cells that occur."""

from threading import Lock
from typing import Protocol

import numpy as np

from pgmx._ext import _families
from pgmx.data import DiscreteTable
from pgmx.scores.discrete.base import ScoreTerms, family_scorer


class Formula(Protocol):
    """A score of one family from its cells."""

    def score(self, child: int, parents: np.ndarray, cells: np.ndarray, counts: np.ndarray) -> float:
        """Return the score.

        ``cells[i]`` holds the states of (parents..., child) in the i-th cell that occurs, in ascending order, and
        ``counts[i]`` the rows in it, or the sum of their weights.
        """
        ...


class CountedFamilies:
    """Scores of single families of one table by a formula; threads that share it count one after the other."""

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
    """Return the digits of mixed radix numbers, one row per number, the last digit fastest."""
    digits = np.empty((len(keys), len(cards)), dtype=np.int64)
    rest = keys.astype(np.int64)
    for level in range(len(cards) - 1, -1, -1):
        rest, digits[:, level] = np.divmod(rest, cards[level])
    return digits


def configuration_starts(cells: np.ndarray) -> np.ndarray:
    """Return where each parent configuration begins in ascending cells, the child last."""
    changes = (cells[1:, :-1] != cells[:-1, :-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


#: Exponent of the node-average penalty, between 0 and 1/2.
NODE_AVERAGE_EXPONENT = 0.25


class NodeAverage:
    r"""The penalised node-average log-likelihood, for tables with missing cells; `penalty` is c, `n_rows` N.

    .. math:: s(x \mid \Pi) = \frac{N}{N_f} \sum_{jk} n_{jk} \ln \frac{n_{jk}}{n_j} - c\, q (r - 1)

    over the :math:`N_f` complete rows of the family, without parents of one state; Bodewes & Scutari (2021), IJAR 138.
    """

    def __init__(self, cards: np.ndarray, missing_codes: np.ndarray, n_rows: float, penalty: float):
        self.cards = cards - (missing_codes >= 0)
        self.missing_codes = missing_codes
        self.n_rows = n_rows
        self.penalty = penalty

    def score(self, child: int, parents: np.ndarray, cells: np.ndarray, counts: np.ndarray) -> float:
        """Return the score of a family; -inf where no row is complete in it."""
        varying = [i for i, p in enumerate(parents) if self.cards[p] > 1]
        family = np.array([*(parents[i] for i in varying), child])
        cells = cells[:, [*varying, -1]]
        complete = (cells != self.missing_codes[family]).all(axis=1)
        cells, counts = cells[complete], counts[complete]
        if not len(counts):
            return -np.inf
        if len(varying) < len(parents):
            cells, place = np.unique(cells, axis=0, return_inverse=True)
            counts = np.bincount(place, weights=counts)
        starts = configuration_starts(cells)
        likelihood = _entropy_terms(counts) - _entropy_terms(np.add.reduceat(counts, starts))
        n_parameters = np.prod(self.cards[family[:-1]], dtype=float) * (self.cards[child] - 1)
        return self.n_rows / counts.sum() * likelihood - self.penalty * n_parameters


def node_average_penalty(name: str, n_rows: float) -> float:
    """Return what a parameter costs under "ll", "aic" or "bic" where cells are missing.

    ln N / 2 is not enough for BIC there: the likelihoods of two families come from different rows, and their difference
    is of the order of the square root of N. Half of N to the power 3/4 is consistent.
    """
    if name == "bic":
        return 0.5 * float(n_rows) ** (1 - NODE_AVERAGE_EXPONENT)
    return {"ll": 0.0, "aic": 1.0}[name]


def _entropy_terms(counts: np.ndarray) -> float:
    return float(sum(n * _families.natural_log(n) for n in counts.tolist() if n > 1e-300))

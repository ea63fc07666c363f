r"""Families scored by a formula over the cells that occur, and the formula for tables with missing values.

The latter is the gain of each parent on the rows that observe it:

.. math:: s(x \mid u_1 \dots u_m) = \frac{N}{N_0} \bigl[ L_0(x) - c_0 d_0 \bigr] + \sum_{k=1}^m \frac{N}{N_k}
          \bigl[ L_k(x \mid u_1 \dots u_k) - L_k(x \mid u_1 \dots u_{k-1}) - c_k d_k \bigr]

L_k is the log-likelihood of the N_k rows (or the sum of their weights) that are complete in x and the first k parents,
d_k the number of free parameters that parent k adds (d_0 for x alone), c_k the cost of a parameter for N_k rows. The
node average of Bodewes and Scutari (2021, IJAR 138) compares families on different rows. Their likelihoods differ by an
amount of order sqrt(N), so its penalty must be much larger than the BIC penalty. Here each parent is judged on rows
that are complete in both families, and the BIC penalty per row suffices. Parents are ordered by their gains as single
parents, so that a parent without a gain comes last.
"""

from threading import Lock
from typing import Protocol

import numpy as np

from pgmx._ext import _families
from pgmx._ext._node_average import score_family
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
        cells = _unravel_keys(keys, self.cards[[*parents, child]])
        return float(self.formula.score(child, parents, cells, counts.astype(np.float64)))


def _unravel_keys(keys: np.ndarray, cards: np.ndarray) -> np.ndarray:
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


# ---- missing values ----

#: Cost of a parameter, and what it costs more per unit of ln N.
COSTS = {"ll": (0.0, 0.0), "aic": (1.0, 0.0), "bic": (0.0, 0.5), "ebic": (0.0, 0.5)}


class NodeAverage:
    """The score of families in a table with missing values; the docstring of the module has the formula.

    `n_rows` is N; `name` (a key of `COSTS`), times `penalty`, gives the cost of a parameter.
    """

    def __init__(self, cards: np.ndarray, missing_codes: np.ndarray, n_rows: float, name: str, penalty: float = 1.0):
        self.cards = cards - (missing_codes >= 0)
        self.missing_codes = missing_codes
        self.n_rows = n_rows
        self.cost, self.log_cost = penalty * COSTS[name][0], penalty * COSTS[name][1]

    def score(self, child: int, parents: np.ndarray, cells: np.ndarray, counts: np.ndarray) -> float:
        """Return the score of a family; -inf if no row is complete in it."""
        columns = [-1, *(i for i, p in enumerate(parents) if self.cards[p] > 1)]
        family = np.append(parents, child)[columns]
        states = np.ascontiguousarray(cells[:, columns])
        cards, missing = self.cards[family], self.missing_codes[family]
        return score_family(states, counts, cards, missing, self.n_rows, self.cost, self.log_cost)

    def parameter_cost(self, n_rows: float) -> float:
        """Return the cost of a parameter, in nats."""
        return self.cost + self.log_cost * _families.natural_log(n_rows)

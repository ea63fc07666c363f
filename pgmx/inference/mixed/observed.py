"""Log-densities of the observed values of rows under a conditional linear Gaussian network.

Missing values are summed or integrated out. The density of a row is the product of its complete families and of its
independent blocks of missing variables (see `pieces`). Missing variables without observed descendants sum to 1 and are
left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmx.checks import join_names
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.mixed.families import MixedFamilies, MixedRows
from pgmx.inference.mixed.pieces import Piece, find_pieces
from pgmx.inference.mixed.posterior import EXACT_CELLS, Question, compute_log_evidence, make_question

#: Largest number of cached plans, one per set of missing variables.
_MOST_PLANS = 4096


class ObservedDensities:
    """Log-densities of the observed values of rows under one network; chunks of rows share their plans.

    `names` are the names of the variables, for messages. Discrete, linear Gaussian and mixed networks are accepted.
    """

    def __init__(self, network: MixedFamilies, names: Sequence[Hashable]):
        self._network, self._names = network, names
        self._families = [(v, *parents) for v, parents in enumerate(network.parents)]
        self._plans: dict[tuple[int, ...], tuple[Question | None, np.ndarray]] = {}

    def compute(self, rows: MixedRows, missing: np.ndarray) -> np.ndarray:
        """Return the log-density of each row's observed values, (n_rows,); `missing` is bool (n, n_rows).

        Minus infinity for impossible rows, 0 for rows without observed values. Raises a TreewidthError if a row would
        need more than `EXACT_CELLS` values.
        """
        total = np.zeros(missing.shape[1])
        for v, family in enumerate(self._families):
            lacking = missing[list(family)].any(axis=0)
            known = np.flatnonzero(~lacking) if lacking.any() else slice(None)
            total[known] += self._network.log_density(v, rows.take(known))
        for piece in find_pieces(self._families, missing):
            question, observed = self._plan(piece)
            if question is not None:
                total[piece.rows] += compute_log_evidence(self._network, question, rows.take(piece.rows), observed)
        return total

    def _plan(self, piece: Piece) -> tuple[Question | None, np.ndarray]:
        """Return the computation of a block, None if it sums to 1, and which variables count as observed in it."""
        key = tuple(piece.hidden)
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._make_plan(piece)
        return self._plans[key]

    def _make_plan(self, piece: Piece) -> tuple[Question | None, np.ndarray]:
        observed = np.ones(len(self._families), dtype=bool)
        observed[piece.hidden] = False
        families, hidden = set(piece.families), set(piece.hidden)
        for v in reversed(self._network.order):
            if v in hidden and not any(v in self._families[child][1:] for child in families):
                hidden.remove(v)
                families.remove(v)
        if not hidden:
            return None, observed
        question = make_question(self._network, observed, families, hidden, None)
        if question.cells > EXACT_CELLS:
            raise TreewidthError(
                f"the density of rows with missing {join_names(self._names[v] for v in sorted(hidden))} would need "
                f"{question.cells:.2g} values per row, more than {EXACT_CELLS:,}",
                remedy="leave out more of the columns, or such rows, or fill the missing values with predict()",
            )
        return question, observed

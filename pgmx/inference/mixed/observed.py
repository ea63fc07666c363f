"""Log-densities of what rows know under a conditional linear Gaussian network, missing cells summed and integrated out.

A row is the product of the families that it knows whole and of its pieces (see `pieces`), which are independent.
Missing variables of which nothing below is known add up to 1, and are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmx.checks import join_names
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.mixed.families import MixedFamilies, MixedRows
from pgmx.inference.mixed.pieces import Piece, find_pieces
from pgmx.inference.mixed.posterior import EXACT_CELLS, Question, compute_log_evidence, make_question

#: Sets of missing variables whose plans are kept.
_MOST_PLANS = 4096


class ObservedDensities:
    """Log-densities of what rows know, under one network; rows may come in pieces, which share their plans.

    `names` are those of the variables, for messages. Takes discrete, linear Gaussian and mixed networks.
    """

    def __init__(self, network: MixedFamilies, names: Sequence[Hashable]):
        self._network, self._names = network, names
        self._families = [(v, *parents) for v, parents in enumerate(network.parents)]
        self._plans: dict[tuple[int, ...], tuple[Question | None, np.ndarray]] = {}

    def compute(self, rows: MixedRows, missing: np.ndarray) -> np.ndarray:
        """Return the log-density of each row's known cells, (n_rows,), where `missing`, bool (n, n_rows), are not.

        Minus infinity for impossible rows, 0 for rows that know nothing. Raises a TreewidthError where the sums of a
        row would take more than `EXACT_CELLS` numbers.
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
        """Return how a piece is computed, None where it adds up to 1, and which variables count as known there."""
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
                f"the density of rows that lack {join_names(self._names[v] for v in sorted(hidden))} would take "
                f"{question.cells:.2g} numbers per row, more than {EXACT_CELLS:,}",
                remedy="leave out more of the columns, or such rows, or fill the cells by predict()",
            )
        return question, observed

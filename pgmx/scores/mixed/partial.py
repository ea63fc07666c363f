"""Gains of families that leave out rows: the sums of a set of rows are those of all rows minus those of the others.

The sums of all rows are shared by all children, and the rows that are left out are mostly few. If few rows of a
configuration remain, the difference would lose digits, and the sums are added again.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pgmx.scores.mixed.source import MixedGains
from pgmx.scores.mixed.sums import GROUP_CELLS, SUM_MEMORY, ConfigurationSums, MixedSums, list_pairs
from pgmx.statistics.collinearity import find_collinearity

#: The least share of the rows of a configuration that may remain, so that at most two digits are lost.
LEAST_SHARE = 1 / 64

#: The least variance that a column may have in the rows of a family, as a share of its variance in all rows.
LEAST_VARIANCE = 1e-2

#: Sums of few rows have matrices of all products if each is of this number of rows on average.
ROWS_PER_CELL = 8

_FIRST, _LAST = (..., 0), (..., -1, -1)  # the place of the counts in packed moments and in matrices


class RowSums(MixedSums):
    """Sums over some rows, in the units and with the numbering of configurations of the sums over all rows."""

    def __init__(self, whole: MixedSums, rows: np.ndarray, memory: int):
        self.whole, self.rows_taken = whole, rows
        self.weights = None if whole.weights is None else whole.weights[rows]
        self.numbers, self.codes = whole.numbers.take(rows, axis=1), whole.codes.take(rows, axis=1)
        self.share_columns(whole, float(len(rows) if self.weights is None else self.weights.sum()), memory)
        self.group_cells = min(GROUP_CELLS, max(1, len(rows) // ROWS_PER_CELL))

    def moments_by_state(self, states: tuple[int, ...], floats: list[int]) -> np.ndarray:
        """Return the packed moments per state of each discrete column in addition, (S, q, M), for S states in total."""
        sums, cards = self.configurations(states), np.array(self.cards, dtype=np.int64)
        totals = self._pass(sums, self.codes, cards, list_pairs(floats))
        starts, widths = (np.repeat(values, cards)[:, None] for values in (self.offsets[:-1], cards))
        states_of_column = np.arange(len(starts))[:, None] - starts
        return totals[starts * sums.n_cells + np.arange(sums.n_cells) * widths + states_of_column]

    def _has_space(self, n_cells: int) -> bool:
        return n_cells <= self.group_cells and super()._has_space(n_cells)

    def _number_cells(self, states: tuple[int, ...]) -> ConfigurationSums:
        sums = self.whole.configurations(states)
        cells = None if sums.cells is None else sums.cells[self.rows_taken]
        return ConfigurationSums(states, sums.n_cells, cells, sums.digits)


class PartialSums(MixedSums):
    """Sums over the rows for which `kept`, bool (N,), is true: the sums over all rows minus those over the others."""

    def __init__(self, whole: MixedSums, kept: np.ndarray, memory: int):
        self.whole, self.rows_kept = whole, kept
        self.left = RowSums(whole, np.flatnonzero(~kept), memory)
        self.share_columns(whole, whole.n - self.left.n, memory)

    @cached_property
    def exact_sums(self) -> MixedSums:
        """The sums over the rows themselves."""
        return RowSums(self.whole, np.flatnonzero(self.rows_kept), self.memory)

    def correlate_rows(self) -> np.ndarray | None:
        """Return the correlations of the columns in these rows; None if a column hardly varies."""
        cross = self.sum_all(())
        if cross is None:
            cross = self._subtract(lambda rows: rows._sum_all_rows()[None], _LAST)
        n, means = cross[0, -1, -1], cross[0, -1, :-1] / cross[0, -1, -1]
        covariances = cross[0, :-1, :-1] / n - means[:, None] * means
        variances = covariances.diagonal()
        if n < 2 or variances.min(initial=1.0) < LEAST_VARIANCE:
            return None
        return covariances / np.sqrt(variances[:, None] * variances)

    def sum_all(self, states: tuple[int, ...]) -> np.ndarray | None:
        """Sum all products of continuous columns per configuration for later calls; None if they are too many."""
        sums = self.configurations(states)
        if sums.gram is None and self._has_space(sums.n_cells) and self.whole.sum_all(states) is not None:
            sums.gram = self._subtract(lambda rows: rows.sum_all(states), _LAST)
        return sums.gram

    def moments_with_floats(
        self, states: tuple[int, ...], floats: list[int], candidates: np.ndarray, last: int | None = None
    ) -> np.ndarray:
        """Return the packed moments of `floats`, one candidate each and the `last` column, (candidates, q, M)."""
        if self.sum_all(states) is not None:
            return super().moments_with_floats(states, floats, candidates, last)
        return self._subtract(lambda rows: rows.moments_with_floats(states, floats, candidates, last), _FIRST)

    def moments_by_state(self, states: tuple[int, ...], floats: list[int]) -> np.ndarray:
        """Return the packed moments per state of each discrete column in addition, (S, q, M), for S states in total."""
        if not states and self._has_space(int(self.offsets[-1])):
            return super().moments_by_state(states, floats)
        return self._subtract(lambda rows: rows.moments_by_state(states, floats), _FIRST)

    def _has_space(self, n_cells: int) -> bool:
        return super()._has_space(n_cells) and self.left._has_space(n_cells)

    def _number_cells(self, states: tuple[int, ...]) -> ConfigurationSums:
        sums = self.whole.configurations(states)
        return ConfigurationSums(states, sums.n_cells, sums.cells, sums.digits)

    def _grams_by_state(self) -> np.ndarray:
        if self._by_state is None:
            self._by_state = self._subtract(lambda rows: rows._grams_by_state(), _LAST)
        return self._by_state

    def _sum_packed(self, sums: ConfigurationSums, floats: list[int]) -> np.ndarray:
        states = tuple(sums.members.tolist())
        return self._subtract(lambda rows: rows.moments(states, floats), _FIRST)

    def _subtract(self, add: Callable[[MixedSums], Any], count: tuple) -> np.ndarray:
        """Return sums over the kept rows from two results of `add`, which have the counts at `count`."""
        whole = np.asarray(add(self.whole))
        rest = np.asarray(whole - add(self.left))
        few = rest[count] < LEAST_SHARE * whole[count]
        if few.any():
            empty = few & (rest[count] <= 1e-12 * whole[count])  # real weights
            if (few & ~empty).any():
                return np.asarray(add(self.exact_sums))
            rest[empty] = 0.0
        return rest


class PartialGains(MixedGains):
    """Gains of families of which those of some children leave out rows.

    ``group_of[child]`` is the number of the set of rows in `row_sets`, each bool (N,), and -1 for all rows. Other
    arguments are those of `MixedGains`.
    """

    def __init__(
        self, sums: MixedSums, *arguments: Any, row_sets: Sequence[np.ndarray], group_of: np.ndarray, **options: Any
    ):
        memory = SUM_MEMORY // max(1, len(row_sets))
        self.partial_sums = [PartialSums(sums, kept, memory) for kept in row_sets]
        self._sums_of = [sums if group < 0 else self.partial_sums[group] for group in group_of.tolist()]
        super().__init__(sums, *arguments, **options)

    def keeps_digits(self) -> bool:
        """Return whether all columns vary in all sets of rows, and no three of them determine each other in one."""
        for sums in self.partial_sums:
            correlation = sums.correlate_rows()
            if correlation is None or find_collinearity(correlation, sums.n) is not None:
                return False
        return True

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill the gains of `child` and return its family score."""
        self.sums = self._sums_of[child]
        return super().rescore(child, parents, gains)

    def _score_family(self, child: int, parents: np.ndarray) -> float:
        self.sums = self._sums_of[child]
        return super()._score_family(child, parents)

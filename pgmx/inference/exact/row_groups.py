"""Rows with missing cells in groups, so that the junction tree of each group is narrow.

What a row knows is evidence, and a column that no row of a group lacks is not in the group's tree. Where the tree of a
group is large, its rows are parted by whether they lack one variable of the largest clique: the tree of those that know
it loses the variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pgmx.inference.exact.elimination import CELL, TreewidthError, format_bytes
from pgmx.inference.exact.row_posteriors import RowPosteriors

#: Cells of the clique tables of all rows of a group beyond which it is parted.
MOST_CELLS = 2**26
#: Bytes that the clique tables of one row may take.
ROW_BYTES = 2**27


class RowGroups:
    """The rows of a table, groups of which share a junction tree; arguments and results as those of `RowPosteriors`.

    Raises a TreewidthError where one row alone would take more than `ROW_BYTES`.
    """

    def __init__(self, cards: Sequence[int], families: Sequence[Sequence[int]], codes: np.ndarray) -> None:
        self._codes = codes
        self._groups: list[tuple[np.ndarray, RowPosteriors]] = []
        waiting = [np.arange(codes.shape[1])]
        while waiting:
            rows = waiting.pop()
            group = RowPosteriors(cards, families, np.ascontiguousarray(codes[:, rows]))
            column = group.find_split() if group.row_cells * len(rows) > MOST_CELLS else None
            if column is not None:
                missing = codes[column, rows] == cards[column]
                waiting += [rows[missing], rows[~missing]]
                continue
            if CELL * group.row_cells > ROW_BYTES:
                raise TreewidthError(
                    f"the expected counts of a row with missing cells need {format_bytes(CELL * group.row_cells)} "
                    f"(width {group.tree.plan.width}), more than {format_bytes(ROW_BYTES)}",
                    "limit the parents with max_indegree, or {}",
                    "learn with missing='pairwise' or 'category'",
                )
            self._groups.append((rows, group))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self._groups)

    def log_likelihoods(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log-probability of what each row observes, (N,)."""
        logs = np.empty(self._codes.shape[1])
        self._fill(logs, lambda group, _: group.log_likelihoods(tables))
        return logs

    def compute_expected_counts(
        self, tables: Sequence[np.ndarray], weights: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the log-probabilities of the rows, and the expected counts of each family."""
        logs, counts = np.empty(self._codes.shape[1]), [np.zeros(table.shape) for table in tables]
        for rows, group in self._groups:
            logs[rows], part = group.compute_expected_counts(tables, weights[rows])
            for total, count in zip(counts, part, strict=True):
                total += count
        return logs, counts

    def draw(self, tables: Sequence[np.ndarray], n_draws: int, seed: int) -> np.ndarray:
        """Return draws of all variables given each row, (n, N, n_draws)."""
        draws = np.empty((*self._codes.shape, n_draws), dtype=self._codes.dtype)
        for number, (rows, group) in enumerate(self._groups):
            draws[:, rows] = group.draw(tables, n_draws, (seed, number))
        return draws

    def modes(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows, (n, N), each missing cell with its most probable state given its row."""
        filled = np.empty_like(self._codes)
        self._fill(filled, lambda group, _: group.modes(tables))
        return filled

    def _fill(self, out: np.ndarray, compute: Callable[[RowPosteriors, np.ndarray], Any]) -> None:
        for rows, group in self._groups:
            out[..., rows] = compute(group, rows)

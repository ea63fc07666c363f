"""Rows with missing values in groups, so that the junction tree of each group is narrow.

The observed values of a row are evidence. A column without missing values in a group is not in the group's tree. If the
tree of a group is large, its rows are split by whether one variable of the largest clique is missing. The tree of the
rows in which the variable is observed does not contain it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pgmx.inference.exact.elimination import CELL, TreewidthError, format_bytes
from pgmx.inference.exact.row_posteriors import RowPosteriors

#: Cells of the clique tables of all rows of a group above which the group is split.
MOST_CELLS = 2**26
#: Largest size in bytes of the clique tables of one row.
ROW_BYTES = 2**27


class RowGroups:
    """The rows of a table in groups that share a junction tree; arguments and results are as in `RowPosteriors`.

    Raises a TreewidthError if a single row would need more than `ROW_BYTES`.
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
                    f"the expected counts of a row with missing values need {format_bytes(CELL * group.row_cells)} "
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
        """Return the log-probability of the observed values of each row, (N,)."""
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
        """Return the rows, (n, N), each missing value replaced by its most probable state given the row."""
        filled = np.empty_like(self._codes)
        self._fill(filled, lambda group, _: group.modes(tables))
        return filled

    def _fill(self, out: np.ndarray, compute: Callable[[RowPosteriors, np.ndarray], Any]) -> None:
        for rows, group in self._groups:
            out[..., rows] = compute(group, rows)

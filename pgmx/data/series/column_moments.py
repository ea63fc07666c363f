"""Means, standard deviations and ranges of single columns, mergeable over subsets of the rows."""

import numpy as np


class ColumnMoments:
    """Number of rows, and mean, sum of squared deviations, smallest and largest value of each column.

    Subsets are merged as in `pgmx.statistics.Moments`, without products of two columns.
    """

    def __init__(self, n_columns: int):
        self.n = 0
        self.mean = np.zeros(n_columns)
        self.squares = np.zeros(n_columns)
        self.low = np.full(n_columns, np.inf)
        self.high = np.full(n_columns, -np.inf)

    def update(self, rows: np.ndarray) -> None:
        """Add rows (m, n_columns)."""
        if not len(rows):
            return
        mean = rows.mean(axis=0)
        deviations = rows - mean
        total = self.n + len(rows)
        shift = mean - self.mean
        self.squares += np.einsum("ij,ij->j", deviations, deviations) + shift**2 * (self.n * len(rows) / total)
        self.mean = self.mean + shift * (len(rows) / total)
        self.low = np.minimum(self.low, rows.min(axis=0))
        self.high = np.maximum(self.high, rows.max(axis=0))
        self.n = total

    def scales(self) -> np.ndarray:
        """Return the population standard deviations."""
        return np.sqrt(self.squares / self.n)

    def find_constants(self) -> np.ndarray:
        """Return the positions of the columns that hold one value, or vary by less than their rounding."""
        rounding = np.maximum(np.abs(self.low), np.abs(self.high)) * 1e-15
        return np.flatnonzero(~(self.high > self.low) | (self.squares <= self.n * rounding**2))

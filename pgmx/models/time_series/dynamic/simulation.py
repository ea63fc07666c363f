"""Draws of series: rows after given rows, or from the first row on by the prior network."""

import numpy as np

from pgmx.inference.mixed.families import MixedRows
from pgmx.models.time_series.dynamic.columns import Slices


class Paths:
    """Series drawn together, row by row. Columns are as in `Columns`: the last L rows, oldest first, and a next row.

    While fewer than L rows are known, they are the oldest of these, as in the prior network.
    """

    def __init__(self, slices: Slices, rows: MixedRows, n_known: int):
        self._slices, self.rows, self.n_known = slices, rows, n_known
        self._observed = np.zeros(len(slices.columns.labels), dtype=bool)

    @classmethod
    def start(cls, slices: Slices, n_series: int, rng: np.random.Generator) -> "Paths":
        """Return series without rows, with static columns drawn from their network."""
        shape = (len(slices.columns.labels), n_series)
        paths = cls(slices, MixedRows(np.zeros(shape, dtype=np.intp), np.zeros(shape)), 0)
        paths._draw(range(len(slices.columns.static)), rng)
        return paths

    def draw_row(self, rng: np.random.Generator) -> MixedRows:
        """Draw the next row given the rows before it, and return it: (variables, n_series), copied."""
        columns = self._slices.columns
        n, lags = len(columns.names), columns.lags
        start = columns.position(0, max(lags - self.n_known, 0))
        self._draw(range(start, start + n), rng)
        drawn = MixedRows(*(values[start : start + n].copy() for values in self.rows))
        if self.n_known >= lags:
            first = len(columns.static)
            for values in self.rows:
                # the oldest row leaves
                values[first : first + lags * n] = values[first + n : first + (lags + 1) * n].copy()
        self.n_known += 1
        return drawn

    def _draw(self, positions: range, rng: np.random.Generator) -> None:
        self._slices.families.draw(self.rows, self._observed, rng, only=set(positions))


def repeat_history(values: MixedRows, n: int) -> MixedRows:
    """Return each series n times, those of one series next to each other."""
    return MixedRows(*(np.repeat(array, n, axis=1) for array in values))

"""Rows of a table for the conditionals of a pseudolikelihood: codes variable by variable, and relative weights."""

from typing import NamedTuple

import numpy as np

from pgmx.data import DiscreteTable

#: A row with more than this multiple of the mean weight becomes several rows. The largest weight is the unit of sums.
_MOST_WEIGHT = 8.0

#: Rows with less than this share of the mean weight have no effect in single and in double precision.
_LEAST_WEIGHT, _LEAST_DOUBLE = 1e-7, 1e-15


class WeightScale(NamedTuple):
    """The largest weight, and the mean weight divided by it. Weights are divided by both, one after the other.

    In single precision a row of large weight becomes several equal rows, at most an eighth of all rows.
    """

    top: float
    mean: float

    @classmethod
    def of(cls, weights: np.ndarray) -> "WeightScale":
        """Return the scale of weights. Dividing by the largest weight first avoids overflow of sums."""
        top = weights.max()
        return cls(float(top), float((weights / top).mean()))

    @property
    def heaviest(self) -> float:
        """A power of two that is at least the largest relative weight in single precision."""
        return min(2.0 ** np.ceil(-np.log2(self.mean)), _MOST_WEIGHT)

    def select(self, weights: np.ndarray, is_double: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with an effect, and their relative weights, with mean 1 over all rows."""
        relative = weights / self.top / self.mean
        rows = np.flatnonzero(relative >= (_LEAST_DOUBLE if is_double else _LEAST_WEIGHT))
        relative = relative[rows]
        if is_double:
            return rows, relative
        if len(relative) and relative.max() > _MOST_WEIGHT:
            times = np.ceil(relative / _MOST_WEIGHT).astype(np.int64)
            rows, relative = np.repeat(rows, times), np.repeat(relative / times, times)
        return rows, relative.astype(np.float32)

    def total(self, weights: np.ndarray, is_double: bool) -> float:
        """Return the sum of the relative weights."""
        return float(self.select(weights, is_double)[1].sum(dtype=np.float64))


def arrange_rows(
    table: DiscreteTable, weights: np.ndarray | None, scale: WeightScale | None, is_double: bool
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return the contiguous codes of each variable, as bytes if they fit, and the relative weights of the rows."""
    rows, relative = None, None
    if weights is not None and scale is not None:
        rows, relative = scale.select(weights, is_double)
        if np.array_equal(rows, np.arange(table.n_rows)):
            rows = None
    codes = []
    for v in range(table.n_variables):
        column = table.codes[v] if rows is None else table.codes[v][rows]
        small = np.uint8 if table.cardinalities[v] <= 256 else np.uint16
        codes.append(np.ascontiguousarray(column, dtype=small))
    return codes, relative

"""Correlation matrices for tests of partial correlations: of rows in memory, in chunks or distributed."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from pgmx.data import NumericTable
from pgmx.data.frame import Frame
from pgmx.data.numeric import make_numeric_table
from pgmx.statistics.moments import Moments, sum_moments
from pgmx.statistics.symmetric import make_correlation


@dataclass(frozen=True, eq=False)
class SampleCorrelations:
    """Correlations of the variables in the order of ids, and the number of rows; constant columns have correlations 0.

    `table` has the rows and `order` the position of each id in it. `constant` lists ids, and `huge` ids of columns
    whose squares overflow.
    """

    correlation: np.ndarray
    n_rows: float
    table: NumericTable
    order: np.ndarray
    constant: np.ndarray
    huge: np.ndarray

    @property
    def names(self) -> list[Hashable]:
        """Names in the order of ids."""
        return [self.table.names[v] for v in self.order.tolist()]


def read_correlations(
    data: Frame | NumericTable, order: np.ndarray, *, missing: str = "error", weights: np.ndarray | None = None
) -> SampleCorrelations:
    """Return the correlations of continuous columns; variable ``order[i]`` of the data has the id i.

    The columns of a frame are brought into this order first, so that the sums do not depend on the order of the data.
    """
    if isinstance(data, NumericTable):
        table = data
    else:
        table = make_numeric_table(data.take_columns([data.names[v] for v in order.tolist()]), missing)
        order = np.arange(table.n_columns)
    moments = sum_moments(table, weights)
    constant, huge = moments.constant_columns, np.flatnonzero(~np.isfinite(moments.cross.diagonal()))
    correlation = _scale(moments, constant)
    if not np.array_equal(order, np.arange(len(order))):
        correlation = correlation[np.ix_(order, order)]
        places = np.argsort(order)
        constant, huge = np.sort(places[constant]), np.sort(places[huge])
    return SampleCorrelations(correlation, moments.n, table, order, constant, huge)


def _scale(moments: Moments, constant: np.ndarray) -> np.ndarray:
    """Return the correlations in the memory of the cross-products."""
    matrix = moments.cross
    deviations = np.sqrt(matrix.diagonal())
    deviations[constant] = np.inf
    with np.errstate(invalid="ignore", over="ignore"):  # the caller reports columns that are too large
        matrix /= deviations
        matrix /= deviations[:, None]
    matrix[constant] = matrix[:, constant] = 0.0
    return make_correlation(matrix)

"""The memory for learning from time series, computed from shapes.

T rows of N series, and P predictors: L N lagged ones, exogenous columns and a constant.
"""

from typing import NamedTuple

#: Copies of the rows: as segments, in the units of the solver, and a temporary one.
ROW_COPIES = 3

#: Bytes of the lagged rows that are formed at a time for cross-products, and of small objects.
BLOCK_BYTES, SMALL_BYTES = 1 << 26, 1 << 21

#: Copies of lagged rows that are solved without cross-products, of the columns of additive models, and of the second
#: moments of windows.
_DESIGN_COPIES, _COLUMN_COPIES, _MOMENT_COPIES = 4, 5, 6


class SeriesSize(NamedTuple):
    """Rows T, series N, and the other predictors: exogenous columns and constants."""

    n_rows: int
    n_series: int
    n_unpenalised: int = 0
    in_chunks: bool = False

    @property
    def row_bytes(self) -> int:
        """Bytes of copies of the rows; series that are read in chunks have none."""
        return 0 if self.in_chunks else 8 * ROW_COPIES * self.n_rows * self.n_series

    def count_predictors(self, lags: int) -> int:
        """Return P."""
        return lags * self.n_series + self.n_unpenalised


def estimate_reading(size: SeriesSize) -> int:
    """Return the bytes for reading, without the copies of the rows."""
    return (BLOCK_BYTES if size.in_chunks else 0) + SMALL_BYTES


def estimate_products(size: SeriesSize, lags: int, *, copies: int = 2) -> int:
    """Return the bytes for the cross-products of predictors and targets, and for a solution that uses them."""
    t, n, p = size.n_rows, size.n_series, size.count_predictors(lags)
    block = 0 if p == n else min(BLOCK_BYTES, 8 * t * p)
    return block + 8 * (copies * p * p + 2 * p * n + 3 * n * n)


def estimate_rows(size: SeriesSize, lags: int, *, has_covariance: bool = True) -> int:
    """Return the bytes of lagged rows, and of the covariance of the residuals."""
    covariance = 24 * size.n_series**2 if has_covariance else 0
    return 8 * _DESIGN_COPIES * size.n_rows * size.count_predictors(lags) + covariance


def estimate_pattern(size: SeriesSize, lags: int) -> int:
    """Return the bytes for regressions on few known predictors, and for their residuals."""
    t, n, p = size.n_rows, size.n_series, size.count_predictors(lags)
    return (0 if p == n else 8 * t * p) + 16 * t * n + 16 * n * n


def estimate_additive(size: SeriesSize, n_columns: int, *, has_gram: bool) -> int:
    """Return the bytes for a group lasso of all series on columns of additive models."""
    gram = 16 * n_columns**2 if has_gram else 0
    return 8 * _COLUMN_COPIES * n_columns * (size.n_rows + size.n_series) + gram


def estimate_equations(size: SeriesSize, n_windows: int) -> int:
    """Return the bytes for structural equations from the second moments of windows."""
    return 8 * _MOMENT_COPIES * max(1, n_windows) * size.n_series**2

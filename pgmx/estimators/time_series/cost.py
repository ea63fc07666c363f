"""What learning from time series will cost: bytes by formula, and seconds from measured constants.

T rows of N series, and P predictors: L N lagged ones, exogenous columns and a constant.
"""

from typing import NamedTuple

from pgmx.estimators.cost import StepCost

#: Seconds per product of two cells, per cell that is read, over P³ and over N³ of one solution, on one core of 2022.
PRODUCT_SECONDS, CELL_SECONDS, CUBE_SECONDS = 4e-11, 2e-8, 1e-10

#: Copies of the rows: as segments, in the units of the solver, and one on the way.
ROW_COPIES = 3

#: Bytes of lagged rows that are made at a time for cross-products, and of small objects.
BLOCK_BYTES, SMALL_BYTES = 1 << 26, 1 << 21

#: Copies of lagged rows where these are solved as they are.
DESIGN_COPIES = 4

#: Seconds per row of a pair of predictor and target that are correlated, and per row, predictor and seed.
SCREEN_SECONDS, SEED_SECONDS = 1e-10, 1.5e-9

#: Copies of the columns of additive models, and seconds per cell of them and of their products, for each target.
COLUMN_COPIES, TARGET_SECONDS, GRAM_SECONDS = 5, 2e-9, 2e-9

#: Copies of second moments of windows, and seconds per N⁴ and M N³ of likelihood, per M N³ of other methods.
MOMENT_COPIES, FOURTH_SECONDS, WINDOW_SECONDS, ROUNDS_SECONDS = 6, 1.5e-10, 1e-9, 2e-7
#: Seconds per N⁴ of a window of recursive least squares.
EIGEN_SECONDS = 5e-10


class SeriesSize(NamedTuple):
    """Rows T, series N, and the columns beside the lagged ones that are no series."""

    n_rows: int
    n_series: int
    n_beside: int = 0
    in_pieces: bool = False

    @property
    def row_bytes(self) -> int:
        """Bytes of copies of the rows; series in pieces have none."""
        return 0 if self.in_pieces else 8 * ROW_COPIES * self.n_rows * self.n_series

    def count_predictors(self, lags: int) -> int:
        """Return P."""
        return lags * self.n_series + self.n_beside


def estimate_reading(size: SeriesSize) -> StepCost:
    """Return what reading takes; the copies of the rows are not among it."""
    block = BLOCK_BYTES if size.in_pieces else 0
    return StepCost(block + SMALL_BYTES, CELL_SECONDS * size.n_rows * size.n_series)


def estimate_products(size: SeriesSize, lags: int, *, copies: int = 2) -> StepCost:
    """Return the cost of cross-products of predictors and targets and of a solution with them."""
    t, n, p = size.n_rows, size.n_series, size.count_predictors(lags)
    block = 0 if p == n else min(BLOCK_BYTES, 8 * t * p)
    scratch = block + 8 * (copies * p * p + 2 * p * n + 3 * n * n)
    return StepCost(scratch, PRODUCT_SECONDS * t * p * (p + n) + CUBE_SECONDS * (p**3 + p * p * n))


def estimate_rows(size: SeriesSize, lags: int, *, has_covariance: bool = True) -> StepCost:
    """Return the bytes of lagged rows themselves, and the covariance of the residuals."""
    t, n, p = size.n_rows, size.n_series, size.count_predictors(lags)
    covariance = 24 * n * n if has_covariance else 0
    return StepCost(8 * DESIGN_COPIES * t * p + covariance, 0.0)


def estimate_pattern(size: SeriesSize, lags: int) -> StepCost:
    """Return the cost of regressions on few known predictors, and of their residuals."""
    t, n, p = size.n_rows, size.n_series, size.count_predictors(lags)
    design = 0 if p == n else 8 * t * p
    return StepCost(design + 16 * t * n + 16 * n * n, PRODUCT_SECONDS * t * n * n + 5 * CELL_SECONDS * t * n)


def estimate_additive(size: SeriesSize, n_columns: int, *, has_gram: bool) -> StepCost:
    """Return the cost of a group lasso of all series on columns of additive models."""
    t, n, f = size.n_rows, size.n_series, n_columns
    gram = 16 * f * f if has_gram else 0
    scratch = 8 * COLUMN_COPIES * f * (t + n) + gram
    return StepCost(scratch, TARGET_SECONDS * t * n * f + GRAM_SECONDS * f * f * n + PRODUCT_SECONDS * t * f * f)


def estimate_equations(size: SeriesSize, n_windows: int, *, by_likelihood: bool) -> StepCost:
    """Return the cost of structural equations from the second moments of windows."""
    n, m = size.n_series, max(1, n_windows)
    moments = 8 * MOMENT_COPIES * m * n * n
    if by_likelihood:
        return StepCost(moments, FOURTH_SECONDS * n**4 + WINDOW_SECONDS * m * n**3)
    return StepCost(moments, ROUNDS_SECONDS * m * n**3)

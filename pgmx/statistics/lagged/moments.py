"""Cross-products of predictors and targets of series with lags, mergeable over subsets of the rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement

import numpy as np

from pgmx.data.series import Panel, SeriesChunks
from pgmx.parallel.threads import call_on_threads
from pgmx.statistics.lagged.design import segment_design

#: Number of values of a design that are computed at a time: 64 MB of float64.
_BLOCK_CELLS = 1 << 23
#: Number of columns per task of a thread, and seconds per product.
_BLOCK_COLUMNS, _PRODUCT_SECONDS = 512, 2e-11
#: Maximum ratio of the square of a single row to the sum of the others if this row is subtracted.
_DOMINANCE = 1e3


@dataclass(frozen=True, eq=False)
class LaggedMoments:
    """Cross-products over the rows whose whole lag window is observed.

    The P predictors are lag 1 of the N series, lag 2, ..., K exogenous columns, and 1 for the intercept.
    """

    #: (P, P) of predictors.
    gram: np.ndarray
    #: (P, N) of predictors and targets.
    cross: np.ndarray
    #: (N, N) of targets.
    target_gram: np.ndarray
    n_targets: int
    lags: int
    n_series: int
    n_exogenous: int
    has_intercept: bool

    def __add__(self, other: "LaggedMoments") -> "LaggedMoments":
        return replace(
            self,
            gram=self.gram + other.gram,
            cross=self.cross + other.cross,
            target_gram=self.target_gram + other.target_gram,
            n_targets=self.n_targets + other.n_targets,
        )

    @property
    def n_predictors(self) -> int:
        """P."""
        return len(self.gram)

    def rescale(self, scales: np.ndarray) -> "LaggedMoments":
        """Return the moments of the series divided by their scales, (N,)."""
        columns = np.ones(self.n_predictors)
        columns[: self.lags * self.n_series] = np.tile(scales, self.lags)
        return replace(
            self,
            gram=self.gram / np.multiply.outer(columns, columns),
            cross=self.cross / np.multiply.outer(columns, scales),
            target_gram=self.target_gram / np.multiply.outer(scales, scales),
        )


def compute_lagged_moments(
    series: Panel | SeriesChunks, lags: int, *, intercept: bool = False, shifts: np.ndarray | None = None
) -> LaggedMoments:
    """Return the cross-products of series minus their `shifts`, (N,); T' (P² + P N) multiplications.

    For one lag and no shifts they are computed from views of the segments; otherwise 64 MB of memory are used.
    """
    if isinstance(series, SeriesChunks):
        segments: Iterable = series.read()
    else:
        segments = zip(series.segments, series.exogenous, strict=True)
    total = empty_moments(len(series.names), len(series.exogenous_names), lags, intercept)
    for rows, exogenous in segments:
        part = segment_moments(rows if shifts is None else rows - shifts, exogenous, lags, intercept)
        total = part if total.n_targets == 0 else total + part
    return total


def empty_moments(n_series: int, n_exogenous: int, lags: int, intercept: bool) -> LaggedMoments:
    """Return the moments of zero rows."""
    n_predictors = lags * n_series + n_exogenous + intercept
    return LaggedMoments(
        np.zeros((n_predictors, n_predictors)),
        np.zeros((n_predictors, n_series)),
        np.zeros((n_series, n_series)),
        n_targets=0,
        lags=lags,
        n_series=n_series,
        n_exogenous=n_exogenous,
        has_intercept=intercept,
    )


def segment_moments(segment: np.ndarray, exogenous: np.ndarray, lags: int, intercept: bool) -> LaggedMoments:
    """Return the cross-products of one segment, in blocks of rows if the design is not a view."""
    n_series, n_exogenous = segment.shape[1], exogenous.shape[1]
    total = empty_moments(n_series, n_exogenous, lags, intercept)
    n_targets = len(segment) - lags
    if n_targets < 1:
        return total
    is_view = total.n_predictors == n_series
    step = n_targets if is_view else max(1, _BLOCK_CELLS // total.n_predictors)
    for first in range(0, n_targets, step):
        stop = min(first + step, n_targets) + lags
        predictors, targets = segment_design(segment[first:stop], exogenous[first:stop], lags, intercept)
        gram = compute_gram(predictors)
        target_gram = _shift_gram(gram, predictors, targets) if is_view else compute_gram(targets)
        cross = compute_products(predictors, targets)
        part = replace(total, gram=gram, cross=cross, target_gram=target_gram, n_targets=len(targets))
        total = part if first == 0 else total + part
    return total


def compute_gram(columns: np.ndarray) -> np.ndarray:
    """Return the cross-products (P, P) of columns (T, P); threads share the pairs of blocks of columns."""
    size = columns.shape[1]
    if size <= _BLOCK_COLUMNS:
        return columns.T @ columns
    gram = np.empty((size, size))

    def fill(first: int, second: int) -> None:
        one, two = slice(first, first + _BLOCK_COLUMNS), slice(second, second + _BLOCK_COLUMNS)
        gram[one, two] = columns[:, one].T @ columns[:, two]
        gram[two, one] = gram[one, two].T

    pairs = combinations_with_replacement(range(0, size, _BLOCK_COLUMNS), 2)
    call_on_threads([partial(fill, *pair) for pair in pairs], None, _PRODUCT_SECONDS * len(columns) * size**2)
    return gram


def compute_products(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the cross-products (P, N) of columns (T, P) and targets (T, N); threads share blocks of targets."""
    size = targets.shape[1]
    if size <= _BLOCK_COLUMNS:
        return columns.T @ targets
    products = np.empty((columns.shape[1], size))

    def fill(first: int) -> None:
        block = slice(first, first + _BLOCK_COLUMNS)
        products[:, block] = columns.T @ targets[:, block]

    seconds = 2 * _PRODUCT_SECONDS * columns.size * size
    call_on_threads([partial(fill, first) for first in range(0, size, _BLOCK_COLUMNS)], None, seconds)
    return products


def _shift_gram(gram: np.ndarray, predictors: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the cross-products for targets that are the predictors one row later."""
    shifted = gram - np.outer(predictors[0], predictors[0]) + np.outer(targets[-1], targets[-1])
    if (predictors[0] ** 2 > _DOMINANCE * shifted.diagonal()).any():  # digits are lost if one row dominates
        return targets.T @ targets
    return shifted

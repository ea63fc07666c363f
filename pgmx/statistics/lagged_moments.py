"""Cross-products of predictors and targets of series with lags, mergeable over subsets of the rows.

A row is a target with its whole lag window. `BlockMoments` has the cross-products of blocks of consecutive rows, whose
sums are the cross-products of resamples of blocks.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement, pairwise

import numpy as np

from pgmx.data.series import Panel, SeriesChunks
from pgmx.parallel.threads import call_on_threads

#: Number of values of a design that are computed at a time: 64 MB of float64.
_BLOCK_CELLS = 1 << 23
#: Number of columns per task of a thread, and seconds per product.
_BLOCK_COLUMNS, _PRODUCT_SECONDS = 512, 2e-11
#: Maximum ratio of the square of a single row to the sum of the others if this row is subtracted.
_DOMINANCE = 1e3
#: Maximum bytes of the cross-products of blocks.
MOST_BYTES = 2**32


# ---- rows of predictors and targets ----


def make_lagged_design(panel: Panel, lags: int, *, intercept: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return predictors (T', lags N + K [+ 1]) and targets (T', N): T' rows whose whole lag window is observed.

    Columns: lag 1 of all series, lag 2, ..., exogenous columns at the time of the target, 1 for the intercept. Views if
    possible.
    """
    blocks = [
        _design_segment(segment, exogenous, lags, intercept)
        for segment, exogenous in zip(panel.segments, panel.exogenous, strict=True)
        if len(segment) > lags
    ]
    if len(blocks) == 1:
        return blocks[0]
    predictors, targets = zip(*blocks, strict=True)
    return np.concatenate(predictors), np.concatenate(targets)


def _design_segment(
    segment: np.ndarray, exogenous: np.ndarray, lags: int, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return predictors and targets of one segment."""
    n_targets = len(segment) - lags
    columns = [segment[lags - lag : lags - lag + n_targets] for lag in range(1, lags + 1)]
    if exogenous.shape[1]:
        columns.append(exogenous[lags:])
    if intercept:
        columns.append(np.ones((n_targets, 1)))
    return columns[0] if len(columns) == 1 else np.hstack(columns), segment[lags:]


# ---- cross-products of all rows ----


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
        predictors, targets = _design_segment(segment[first:stop], exogenous[first:stop], lags, intercept)
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


# ---- blocks of rows ----


@dataclass(frozen=True, eq=False)
class BlockMoments:
    """Cross-products of B blocks of consecutive targets, each with its whole lag window.

    `products` is (B, P, P + N): predictors times predictors and targets; `squares` (B, N, N): targets times targets;
    `sizes` (B,): targets per block.
    """

    products: np.ndarray
    squares: np.ndarray
    sizes: np.ndarray
    lags: int
    n_exogenous: int
    has_intercept: bool

    def sum(self, counts: np.ndarray) -> list[LaggedMoments]:
        """Return the moments of resamples with `counts`, (R, B), copies of each block."""
        n_blocks, n_predictors, width = self.products.shape
        weights = counts.astype(np.float64)
        products = (weights @ self.products.reshape(n_blocks, -1)).reshape(-1, n_predictors, width)
        squares = (weights @ self.squares.reshape(n_blocks, -1)).reshape(-1, *self.squares.shape[1:])
        n_targets = counts @ self.sizes
        return [
            LaggedMoments(
                np.ascontiguousarray(both[:, :n_predictors]),
                np.ascontiguousarray(both[:, n_predictors:]),
                target_gram,
                n_targets=int(size),
                lags=self.lags,
                n_series=width - n_predictors,
                n_exogenous=self.n_exogenous,
                has_intercept=self.has_intercept,
            )
            for both, target_gram, size in zip(products, squares, n_targets, strict=True)
        ]


def compute_block_moments(panel: Panel, lags: int, block_length: int, *, intercept: bool = False) -> BlockMoments:
    """Return the cross-products of blocks of `block_length` targets; the last block of a segment may be shorter.

    The cost is T' P (P + N), as for the cross-products of all rows; ValueError if they need more than 4 GB.
    """
    bounds = np.array(_list_bounds(panel, lags, block_length), dtype=np.int64)
    predictors, targets = make_lagged_design(panel, lags, intercept=intercept)
    n_predictors, n_series = predictors.shape[1], panel.n_series
    n_bytes = 8 * (len(bounds) - 1) * (n_predictors * (n_predictors + n_series) + n_series**2)
    if n_bytes > MOST_BYTES:
        raise ValueError(
            f"block_length={block_length} gives {len(bounds) - 1} blocks with {n_bytes / 2**30:.1f} GB of "
            "cross-products: give longer blocks"
        )
    rows = np.hstack([predictors, targets])
    products = np.empty((len(bounds) - 1, n_predictors, n_predictors + n_series))
    squares = np.empty((len(bounds) - 1, n_series, n_series))
    for block, (first, stop) in enumerate(pairwise(bounds)):
        np.matmul(predictors[first:stop].T, rows[first:stop], out=products[block])
        np.matmul(targets[first:stop].T, targets[first:stop], out=squares[block])
    return BlockMoments(products, squares, np.diff(bounds), lags, len(panel.exogenous_names), intercept)


def _list_bounds(panel: Panel, lags: int, block_length: int) -> list[int]:
    """Return the bounds of blocks of targets among all targets of a panel."""
    bounds, first = [0], 0
    for segment in panel.segments:
        stop = first + max(len(segment) - lags, 0)
        bounds += [*range(first + block_length, stop, block_length), stop] if stop > first else []
        first = stop
    return bounds

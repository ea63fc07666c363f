"""Cross-products of blocks of rows of series with lags, and their sums over resamples of blocks."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pgmx.data.series import Panel
from pgmx.statistics.lagged.design import make_lagged_design
from pgmx.statistics.lagged.moments import LaggedMoments

#: Maximum bytes of the cross-products of blocks.
MOST_BYTES = 2**32


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
    bounds = np.array(list_blocks(panel, lags, block_length), dtype=np.int64)
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


def list_blocks(panel: Panel, lags: int, block_length: int) -> list[int]:
    """Return the bounds of blocks of targets among all targets of a panel."""
    bounds, first = [0], 0
    for segment in panel.segments:
        stop = first + max(len(segment) - lags, 0)
        bounds += [*range(first + block_length, stop, block_length), stop] if stop > first else []
        first = stop
    return bounds

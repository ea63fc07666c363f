"""Statistics of series with lags.

- `design`: rows of predictors and targets
- `moments`: their cross-products, mergeable over subsets of the rows
- `blocks`: cross-products of blocks of rows, and their sums over resamples
"""

from pgmx.statistics.lagged.blocks import BlockMoments, compute_block_moments
from pgmx.statistics.lagged.design import make_lagged_design
from pgmx.statistics.lagged.moments import LaggedMoments, compute_lagged_moments

__all__ = ["BlockMoments", "LaggedMoments", "compute_block_moments", "compute_lagged_moments", "make_lagged_design"]

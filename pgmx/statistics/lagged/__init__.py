"""Statistics of series with lags.

- `design`: rows of predictors and targets
- `moments`: their cross-products, mergeable over parts of the rows
"""

from pgmx.statistics.lagged.design import make_lagged_design
from pgmx.statistics.lagged.moments import LaggedMoments, compute_lagged_moments

__all__ = ["LaggedMoments", "compute_lagged_moments", "make_lagged_design"]

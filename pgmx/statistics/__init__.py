"""Sufficient statistics: counts of coded tables, distributions of pairs, moments and correlations of columns.

- `counts`: marginal and pairwise counts of a coded table
- `families`: counts of families of a distributed table
- `segments`: counts of pairs within segments of the rows
- `weighted_families`: weights of families of a distributed table with row weights
- `wide_families`: counts of families of a distributed table with so many rows that counts need more than 32 bits
- `moments`: means and cross-products of numeric columns, mergeable over partitions of the rows
- `collinearity`: columns that determine each other
- `symmetric`: large symmetric matrices, block by block
- `cholesky`: Cholesky factors, dense or sparse
- `precision`: precision matrices by connected components, and rows with missing values
- `cholmod`: sparse Cholesky factors by CHOLMOD, if scikit-sparse is installed
- `components`: connected components of symmetric matrices
- `lagged`: predictors and targets of series with lags, and their cross-products
- `ranks`: rank correlations and marginal transforms
- `gaussian`: correlation matrices of numeric tables
- `pairs`: joint distributions of pairs of discrete variables
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.statistics.counts import marginal_counts, pair_counts
from pgmx.statistics.moments import Moments, moments

if TYPE_CHECKING:  # workers of a cluster import only the counts
    from pgmx.statistics.gaussian.covariance import sample_of_covariance
    from pgmx.statistics.gaussian.nearest_correlation import nearest_correlation
    from pgmx.statistics.gaussian.sample import GaussianSample, gaussian_sample
    from pgmx.statistics.pairs.tables import PairTables
    from pgmx.statistics.ranks.correlation import kendall_tau_matrix, latent_correlation, spearman
    from pgmx.statistics.ranks.transforms import MarginalTransforms

__all__ = [
    "GaussianSample",
    "MarginalTransforms",
    "Moments",
    "PairTables",
    "gaussian_sample",
    "kendall_tau_matrix",
    "latent_correlation",
    "marginal_counts",
    "moments",
    "nearest_correlation",
    "pair_counts",
    "sample_of_covariance",
    "spearman",
]

_HOMES = {
    "GaussianSample": "gaussian.sample",
    "MarginalTransforms": "ranks.transforms",
    "PairTables": "pairs.tables",
    "gaussian_sample": "gaussian.sample",
    "kendall_tau_matrix": "ranks.correlation",
    "latent_correlation": "ranks.correlation",
    "nearest_correlation": "gaussian.nearest_correlation",
    "sample_of_covariance": "gaussian.covariance",
    "spearman": "ranks.correlation",
}
__getattr__, __dir__ = import_on_demand(__name__, _HOMES)

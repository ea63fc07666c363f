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

if TYPE_CHECKING:  # on demand: workers of a cluster import only the counts
    from pgmx.statistics.gaussian.covariance import sample_of_covariance as sample_of_covariance
    from pgmx.statistics.gaussian.nearest_correlation import nearest_correlation as nearest_correlation
    from pgmx.statistics.gaussian.sample import GaussianSample as GaussianSample
    from pgmx.statistics.gaussian.sample import gaussian_sample as gaussian_sample
    from pgmx.statistics.pairs.tables import PairTables as PairTables
    from pgmx.statistics.ranks.correlation import kendall_tau_matrix as kendall_tau_matrix
    from pgmx.statistics.ranks.correlation import latent_correlation as latent_correlation
    from pgmx.statistics.ranks.correlation import spearman as spearman
    from pgmx.statistics.ranks.transforms import MarginalTransforms as MarginalTransforms

__all__ = ["Moments", "marginal_counts", "moments", "pair_counts"]

_HOMES = {
    "GaussianSample": "pgmx.statistics.gaussian.sample",
    "MarginalTransforms": "pgmx.statistics.ranks.transforms",
    "PairTables": "pgmx.statistics.pairs.tables",
    "gaussian_sample": "pgmx.statistics.gaussian.sample",
    "kendall_tau_matrix": "pgmx.statistics.ranks.correlation",
    "latent_correlation": "pgmx.statistics.ranks.correlation",
    "nearest_correlation": "pgmx.statistics.gaussian.nearest_correlation",
    "sample_of_covariance": "pgmx.statistics.gaussian.covariance",
    "spearman": "pgmx.statistics.ranks.correlation",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ += sorted(_HOMES)

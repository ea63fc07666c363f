"""Sufficient statistics: counts of coded tables, distributions of pairs, moments and correlations of columns.

- `counts`: marginal and pairwise counts of a coded table, and counts of pairs within segments of the rows
- `families`: counts and weights of families of a distributed table
- `pair_cells`, `pair_tables`: joint distributions of pairs of discrete variables: their storage, and all or some pairs
- `moments`: means and cross-products of numeric columns, mergeable over partitions of the rows
- `gaussian`: correlation matrices of numeric tables
- `rank_correlation`: rank correlations of all pairs of columns, and correlations of latent normal variables
- `marginal_transforms`: monotone maps of single columns to normal scores and back
- `lagged_moments`: predictors and targets of series with lags, and their cross-products
- `collinearity`: columns that determine each other
- `symmetric`: large symmetric matrices, block by block
- `components`: connected components of symmetric matrices
- `cholesky`: Cholesky factors, dense or sparse
- `precision`: precision matrices by connected components, and rows with missing values
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.statistics.counts import marginal_counts, pair_counts
from pgmx.statistics.moments import Moments, moments

if TYPE_CHECKING:  # on demand: workers of a cluster import only the counts
    from pgmx.statistics.gaussian.nearest_correlation import nearest_correlation as nearest_correlation
    from pgmx.statistics.gaussian.sample import GaussianSample as GaussianSample
    from pgmx.statistics.gaussian.sample import gaussian_sample as gaussian_sample
    from pgmx.statistics.gaussian.sample import sample_of_covariance as sample_of_covariance
    from pgmx.statistics.marginal_transforms import MarginalTransforms as MarginalTransforms
    from pgmx.statistics.pair_tables import PairTables as PairTables
    from pgmx.statistics.rank_correlation import kendall_tau_matrix as kendall_tau_matrix
    from pgmx.statistics.rank_correlation import latent_correlation as latent_correlation
    from pgmx.statistics.rank_correlation import spearman as spearman

__all__ = ["Moments", "marginal_counts", "moments", "pair_counts"]

_HOMES = {
    "GaussianSample": "pgmx.statistics.gaussian.sample",
    "MarginalTransforms": "pgmx.statistics.marginal_transforms",
    "PairTables": "pgmx.statistics.pair_tables",
    "gaussian_sample": "pgmx.statistics.gaussian.sample",
    "kendall_tau_matrix": "pgmx.statistics.rank_correlation",
    "latent_correlation": "pgmx.statistics.rank_correlation",
    "nearest_correlation": "pgmx.statistics.gaussian.nearest_correlation",
    "sample_of_covariance": "pgmx.statistics.gaussian.sample",
    "spearman": "pgmx.statistics.rank_correlation",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ += sorted(_HOMES)

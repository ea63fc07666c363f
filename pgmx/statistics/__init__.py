"""Sufficient statistics: counts of coded tables, distributions of pairs, moments and correlations of numbers."""

from pgmx.statistics.counts import marginal_counts, pair_counts
from pgmx.statistics.covariance_sample import sample_of_covariance
from pgmx.statistics.gaussian_sample import GaussianSample, gaussian_sample
from pgmx.statistics.marginal_transforms import MarginalTransforms
from pgmx.statistics.moments import Moments, moments
from pgmx.statistics.nearest_correlation import nearest_correlation
from pgmx.statistics.pair_tables import PairTables
from pgmx.statistics.rank_correlation import kendall_tau_matrix, latent_correlation, spearman

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

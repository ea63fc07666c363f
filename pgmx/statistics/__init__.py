"""Sufficient statistics: counts of coded tables, moments of numeric ones."""

from pgmx.statistics.counts import marginal_counts, pair_counts
from pgmx.statistics.moments import Moments, moments

__all__ = ["Moments", "marginal_counts", "moments", "pair_counts"]

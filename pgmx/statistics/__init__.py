"""Sufficient statistics of coded tables."""

from pgmx.statistics.counts import marginal_counts, pair_counts

__all__ = ["marginal_counts", "pair_counts"]

"""Sufficient statistics: counts of coded tables, distributions of pairs of variables, moments of numeric tables."""

from pgmx.statistics.counts import marginal_counts, pair_counts
from pgmx.statistics.moments import Moments, moments
from pgmx.statistics.pair_tables import PairTables

__all__ = ["Moments", "PairTables", "marginal_counts", "moments", "pair_counts"]

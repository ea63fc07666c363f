"""How good a learned network is: against another graph, against rows it has not seen, against the true distribution.

- `arrays`: discrete networks as arrays, which the others read
- `graphs`: distances between graphs, shares of edges found, lists of what differs
- `likelihood`: log-likelihood of rows under a network
- `divergence`: Kullback-Leibler divergence of two networks, by exact inference (`elimination`) or from samples
- `curve`: the divergence of learned networks against the number of rows they were learned from
"""

from pgmx.metrics.curve import learning_curve
from pgmx.metrics.divergence import Divergence, kl_divergence
from pgmx.metrics.graphs import (
    DirectionScores,
    EdgeDifferences,
    SkeletonScores,
    cpdag_shd,
    direction_scores,
    edge_differences,
    shd,
    skeleton_scores,
)
from pgmx.metrics.likelihood import HeldOutLikelihood, held_out_log_likelihood

__all__ = [
    "DirectionScores",
    "Divergence",
    "EdgeDifferences",
    "HeldOutLikelihood",
    "SkeletonScores",
    "cpdag_shd",
    "direction_scores",
    "edge_differences",
    "held_out_log_likelihood",
    "kl_divergence",
    "learning_curve",
    "shd",
    "skeleton_scores",
]

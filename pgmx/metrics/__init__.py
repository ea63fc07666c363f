"""How good a learned network is: against another graph, against rows it has not seen, against the true distribution.

- `graphs`: how far a learned graph is from another one: edges of DAGs, PDAGs and undirected graphs compared
- `divergence`: Kullback-Leibler divergence between two discrete Bayesian networks over the same variables
- `curve`: the learning curve of a known network: divergence from the truth against the number of rows
"""

from pgmx.inference.likelihood import HeldOutLikelihood, held_out_log_likelihood
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

"""Quality of a learned network: compared with another graph, on held-out rows, compared with the true distribution.

- `graphs`: comparison of the edges of two graphs: DAGs, PDAGs, PAGs and undirected graphs
- `divergence`: Kullback-Leibler divergence between two discrete Bayesian networks over the same variables
- `curve`: the learning curve of a known network: divergence from the truth against the number of rows
- `time_series`: coefficients, predictions and edges of a learned linear dynamical system, and curves of edges
- `predictions`: one-step predictions over many rows, with their intervals
- `tracking`: errors of learners that follow a changing graph, window by window
- `prequential`: errors of stream learners, which predict each row before they learn it, compared with baselines
- `regret`: the loss of random-feature learners minus that of the best function in hindsight, with its bound
- `hidden_cells`: the same for subspaces of categories, on values that are hidden from them
"""

from typing import TYPE_CHECKING

from pgmx.inference.likelihood import HeldOutLikelihood, held_out_log_likelihood
from pgmx.lookup import import_on_demand
from pgmx.metrics.curve import learning_curve
from pgmx.metrics.divergence import Divergence, kl_divergence
from pgmx.metrics.graphs import (
    DirectionScores,
    EdgeDifferences,
    MarkScores,
    SkeletonScores,
    arrowhead_scores,
    cpdag_shd,
    direction_scores,
    edge_differences,
    shd,
    skeleton_scores,
    tail_scores,
)
from pgmx.metrics.predictions import OneStepPredictions, one_step_predictions
from pgmx.metrics.prequential import PrequentialCurve, prequential
from pgmx.metrics.regret import RegretCurve, regret
from pgmx.metrics.time_series import (
    EdgeCurve,
    coefficient_error,
    edge_curve,
    edge_error_rate,
    edge_mse,
    prediction_error,
    structure_recall,
    success_rate,
)
from pgmx.metrics.tracking import TrackingCurve, tracking_errors

__all__ = [
    "DirectionScores",
    "Divergence",
    "EdgeCurve",
    "EdgeDifferences",
    "HeldOutLikelihood",
    "MarkScores",
    "OneStepPredictions",
    "PrequentialCurve",
    "RegretCurve",
    "SkeletonScores",
    "TrackingCurve",
    "arrowhead_scores",
    "coefficient_error",
    "cpdag_shd",
    "direction_scores",
    "edge_curve",
    "edge_differences",
    "edge_error_rate",
    "edge_mse",
    "held_out_log_likelihood",
    "kl_divergence",
    "learning_curve",
    "one_step_predictions",
    "prediction_error",
    "prequential",
    "regret",
    "shd",
    "skeleton_scores",
    "structure_recall",
    "success_rate",
    "tail_scores",
    "tracking_errors",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported; this explains unknown names

"""Solvers: losses of pairwise Markov networks, and methods for Gaussian graphical models and time series.

- `gaussian`: solvers of Gaussian graphical models
- `markov`: penalised losses of pairwise Markov networks and their optimisation
- `time_series`: solvers of models of time series
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.solvers.gaussian.clime.columns import clime_columns, clime_lam_max
    from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
    from pgmx.solvers.gaussian.glasso.certificate import graphical_lasso_certificate
    from pgmx.solvers.gaussian.glasso.path import graphical_lasso_path
    from pgmx.solvers.gaussian.likelihood import maximum_likelihood_precision
    from pgmx.solvers.gaussian.neighborhood import neighborhood_columns
    from pgmx.solvers.markov.bethe_loss import BetheLoss
    from pgmx.solvers.markov.exact_loss import ExactLoss
    from pgmx.solvers.markov.pseudolikelihood import PseudolikelihoodLoss

__all__ = [
    "BetheLoss",
    "ColumnEstimates",
    "ExactLoss",
    "PseudolikelihoodLoss",
    "clime_columns",
    "clime_lam_max",
    "graphical_lasso_certificate",
    "graphical_lasso_path",
    "maximum_likelihood_precision",
    "neighborhood_columns",
]

_HOMES = {
    "BetheLoss": "markov.bethe_loss",
    "ColumnEstimates": "gaussian.column_estimates",
    "ExactLoss": "markov.exact_loss",
    "PseudolikelihoodLoss": "markov.pseudolikelihood",
    "clime_columns": "gaussian.clime.columns",
    "clime_lam_max": "gaussian.clime.columns",
    "graphical_lasso_certificate": "gaussian.glasso.certificate",
    "graphical_lasso_path": "gaussian.glasso.path",
    "maximum_likelihood_precision": "gaussian.likelihood",
    "neighborhood_columns": "gaussian.neighborhood",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)

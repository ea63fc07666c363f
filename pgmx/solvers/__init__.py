"""Solvers: losses of pairwise Markov networks, and methods for Gaussian graphical models and time series.

- `gaussian`: solvers of Gaussian graphical models
- `markov`: penalised losses of pairwise Markov networks and their optimisation
- `time_series`: solvers of models of time series
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.solvers.gaussian.clime import clime_columns as clime_columns
    from pgmx.solvers.gaussian.clime import clime_lam_max as clime_lam_max
    from pgmx.solvers.gaussian.column_estimates import ColumnEstimates as ColumnEstimates
    from pgmx.solvers.gaussian.graphical_lasso import graphical_lasso_path as graphical_lasso_path
    from pgmx.solvers.gaussian.graphical_lasso_certificate import (
        graphical_lasso_certificate as graphical_lasso_certificate,
    )
    from pgmx.solvers.gaussian.likelihood import maximum_likelihood_precision as maximum_likelihood_precision
    from pgmx.solvers.gaussian.neighborhood import neighborhood_columns as neighborhood_columns
    from pgmx.solvers.markov.bethe_loss import BetheLoss as BetheLoss
    from pgmx.solvers.markov.exact_loss import ExactLoss as ExactLoss
    from pgmx.solvers.markov.pseudolikelihood import PseudolikelihoodLoss as PseudolikelihoodLoss

_HOMES = {
    "BetheLoss": "pgmx.solvers.markov.bethe_loss",
    "ColumnEstimates": "pgmx.solvers.gaussian.column_estimates",
    "ExactLoss": "pgmx.solvers.markov.exact_loss",
    "PseudolikelihoodLoss": "pgmx.solvers.markov.pseudolikelihood",
    "clime_columns": "pgmx.solvers.gaussian.clime",
    "clime_lam_max": "pgmx.solvers.gaussian.clime",
    "graphical_lasso_certificate": "pgmx.solvers.gaussian.graphical_lasso_certificate",
    "graphical_lasso_path": "pgmx.solvers.gaussian.graphical_lasso",
    "maximum_likelihood_precision": "pgmx.solvers.gaussian.likelihood",
    "neighborhood_columns": "pgmx.solvers.gaussian.neighborhood",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)

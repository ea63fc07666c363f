"""What is minimised, and how: losses of pairwise Markov networks, and the methods of Gaussian graphical models.

- `gaussian`: solvers of Gaussian graphical models
- `markov`: penalised losses of pairwise Markov networks and their optimisation
- `time_series`: solvers of models of time series
"""

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

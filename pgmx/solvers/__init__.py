"""What is minimised, and how: losses of pairwise Markov networks, and the methods of Gaussian graphical models.

- `pseudolikelihood`, `bethe_loss`, `exact_loss`: penalised losses of discrete networks
- `graphical_lasso`: block coordinate ascent on the dual; `glasso_certificate`: objective and duality gap
- `neighborhood`, `clime`: columns along a path of penalties, as `ColumnEstimates`
- `gaussian_likelihood`: maximum likelihood under a graph
"""

from pgmx.solvers.bethe_loss import BetheLoss
from pgmx.solvers.clime import clime_columns, clime_lam_max
from pgmx.solvers.column_estimates import ColumnEstimates
from pgmx.solvers.exact_loss import ExactLoss
from pgmx.solvers.gaussian_likelihood import maximum_likelihood_precision
from pgmx.solvers.glasso_certificate import graphical_lasso_certificate
from pgmx.solvers.graphical_lasso import graphical_lasso_path
from pgmx.solvers.neighborhood import neighborhood_columns
from pgmx.solvers.pseudolikelihood import PseudolikelihoodLoss

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

"""Decomposable scores of Bayesian networks: pgmpy's score classes over compiled counts and moments.

- `compiled`: the pgmpy face of every compiled score
- `gains`: where a search gets its gains from
- `priors`: prior probabilities of graphs, as what a move changes in their logarithm
- `discrete`: scores of discrete Bayesian networks
- `gaussian`: scores of linear Gaussian networks
- `registry`: scores by name
- `binding`: scores bound to a table: what a search asks for gains
"""

from pgmx.scores.discrete.aic import AIC
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.discrete.bde import BDe
from pgmx.scores.discrete.bdeu import BDeu
from pgmx.scores.discrete.bds import BDs
from pgmx.scores.discrete.bic import BIC
from pgmx.scores.discrete.k2 import K2
from pgmx.scores.discrete.log_likelihood import LogLikelihood
from pgmx.scores.discrete.terms import ScoreTerms, family_scorer
from pgmx.scores.gaussian.aic import AICGauss
from pgmx.scores.gaussian.base import GaussianScore, gaussian_scorer
from pgmx.scores.gaussian.bic import BICGauss
from pgmx.scores.gaussian.log_likelihood import LogLikelihoodGauss
from pgmx.scores.priors import EdgePrior, ParameterPrior, StructurePrior, UniformPrior

__all__ = [
    "AIC",
    "BIC",
    "K2",
    "AICGauss",
    "BDe",
    "BDeu",
    "BDs",
    "BICGauss",
    "DiscreteScore",
    "EdgePrior",
    "GaussianScore",
    "LogLikelihood",
    "LogLikelihoodGauss",
    "ParameterPrior",
    "ScoreTerms",
    "StructurePrior",
    "UniformPrior",
    "family_scorer",
    "gaussian_scorer",
]

"""Decomposable scores of Bayesian networks: pgmpy's score classes over compiled counts and moments.

- `compiled`: the interface of pgmpy over every compiled score
- `bounds`: upper bounds of families that are not scored yet
- `gains`: the interface of a source of gains, and the sources that are not compiled
- `collinear`: warnings of columns that determine each other
- `rows_ahead`: rows of gains that other threads compute before a climb asks for them
- `priors`: prior probabilities of graphs
- `discrete`: scores of discrete Bayesian networks
- `gaussian`: scores of linear Gaussian networks
- `mixed`: scores of networks of continuous and discrete variables
- `binding`: scores by name and bound to a table; they give a search its source of gains
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.scores.discrete.aic import AIC
from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms, family_scorer
from pgmx.scores.discrete.bde import BDe
from pgmx.scores.discrete.bdeu import BDeu
from pgmx.scores.discrete.bds import BDs
from pgmx.scores.discrete.bic import BIC
from pgmx.scores.discrete.k2 import K2
from pgmx.scores.discrete.log_likelihood import LogLikelihood
from pgmx.scores.gaussian.aic import AICGauss
from pgmx.scores.gaussian.base import GaussianScore, gaussian_scorer
from pgmx.scores.gaussian.bge import BGe
from pgmx.scores.gaussian.bic import BICGauss
from pgmx.scores.gaussian.log_likelihood import LogLikelihoodGauss
from pgmx.scores.mixed.base import MixedScore
from pgmx.scores.mixed.conditional import AICCondGauss, BICCondGauss, LogLikelihoodCondGauss
from pgmx.scores.mixed.conditional_linear import (
    AICCondLinearGauss,
    BICCondLinearGauss,
    LogLikelihoodCondLinearGauss,
)
from pgmx.scores.mixed.degenerate import BICDegenerateGauss
from pgmx.scores.priors import EdgePrior, ParameterPrior, StructurePrior, UniformPrior

__all__ = [
    "AIC",
    "BIC",
    "K2",
    "AICCondGauss",
    "AICCondLinearGauss",
    "AICGauss",
    "BDe",
    "BDeu",
    "BDs",
    "BGe",
    "BICCondGauss",
    "BICCondLinearGauss",
    "BICDegenerateGauss",
    "BICGauss",
    "DiscreteScore",
    "EdgePrior",
    "GaussianScore",
    "LogLikelihood",
    "LogLikelihoodCondGauss",
    "LogLikelihoodCondLinearGauss",
    "LogLikelihoodGauss",
    "MixedScore",
    "ParameterPrior",
    "ScoreTerms",
    "StructurePrior",
    "UniformPrior",
    "family_scorer",
    "gaussian_scorer",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported: unknown names are explained

"""Decomposable scores of Bayesian networks: pgmpy's score classes over compiled counts and moments.

They stand wherever pgmpy takes a ``BaseStructureScore``, in its own searches as well as in pgmx's.
"""

from pgmx.scores._base import DiscreteScore
from pgmx.scores._gaussian import GaussianScore, gaussian_scorer
from pgmx.scores._terms import ScoreTerms, family_scorer
from pgmx.scores.aic import AIC
from pgmx.scores.aic_gauss import AICGauss
from pgmx.scores.bde import BDe
from pgmx.scores.bdeu import BDeu
from pgmx.scores.bds import BDs
from pgmx.scores.bic import BIC
from pgmx.scores.bic_gauss import BICGauss
from pgmx.scores.k2 import K2
from pgmx.scores.log_likelihood import LogLikelihood
from pgmx.scores.log_likelihood_gauss import LogLikelihoodGauss
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

"""Decomposable scores of Bayesian networks: pgmpy's score classes over compiled counts.

They stand wherever pgmpy takes a ``BaseStructureScore``, in its own searches as well as in pgmx's.
"""

from pgmx.scores._base import DiscreteScore
from pgmx.scores._terms import ScoreTerms, family_scorer
from pgmx.scores.aic import AIC
from pgmx.scores.bdeu import BDeu
from pgmx.scores.bic import BIC
from pgmx.scores.k2 import K2
from pgmx.scores.log_likelihood import LogLikelihood

__all__ = ["AIC", "BIC", "K2", "BDeu", "DiscreteScore", "LogLikelihood", "ScoreTerms", "family_scorer"]

"""Learners: scikit-learn estimators that hand back native pgmpy and networkx objects."""

from pgmx.estimators._base import BaseStructureLearner
from pgmx.estimators.hill_climb import HillClimbSearch

__all__ = ["BaseStructureLearner", "HillClimbSearch"]

"""Learners: scikit-learn estimators that hand back native pgmpy and networkx objects."""

from pgmx.estimators._base import BaseStructureLearner
from pgmx.estimators.annealing import SimulatedAnnealing
from pgmx.estimators.best_first import BestFirstSearch
from pgmx.estimators.bootstrap import BootstrapStructure
from pgmx.estimators.chow_liu import ChowLiuForest
from pgmx.estimators.hill_climb import HillClimbSearch

__all__ = [
    "BaseStructureLearner",
    "BestFirstSearch",
    "BootstrapStructure",
    "ChowLiuForest",
    "HillClimbSearch",
    "SimulatedAnnealing",
]

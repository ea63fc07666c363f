"""Learners: scikit-learn estimators that hand back native pgmpy and networkx objects."""

from pgmx.estimators._base import BaseStructureLearner
from pgmx.estimators.annealing import SimulatedAnnealing
from pgmx.estimators.best_first import BestFirstSearch
from pgmx.estimators.bootstrap import BootstrapStructure
from pgmx.estimators.chow_liu import ChowLiuForest
from pgmx.estimators.clime import CLIME
from pgmx.estimators.edge_grafting import EdgeGrafting, FeatureGrafting, GraftingLight
from pgmx.estimators.graphical_lasso import GraphicalLasso
from pgmx.estimators.group_lasso import GroupLassoMarkovNetwork
from pgmx.estimators.hill_climb import HillClimbSearch
from pgmx.estimators.neighborhood_lasso import NeighborhoodLasso
from pgmx.estimators.nonparanormal import Nonparanormal
from pgmx.estimators.online_grafting import BestChoiceEdgeGrafting, FirstHitEdgeGrafting, OnlineEdgeGrafting
from pgmx.estimators.selected_graph import SelectedGraph

__all__ = [
    "CLIME",
    "BaseStructureLearner",
    "BestChoiceEdgeGrafting",
    "BestFirstSearch",
    "BootstrapStructure",
    "ChowLiuForest",
    "EdgeGrafting",
    "FeatureGrafting",
    "FirstHitEdgeGrafting",
    "GraftingLight",
    "GraphicalLasso",
    "GroupLassoMarkovNetwork",
    "HillClimbSearch",
    "NeighborhoodLasso",
    "Nonparanormal",
    "OnlineEdgeGrafting",
    "SelectedGraph",
    "SimulatedAnnealing",
]

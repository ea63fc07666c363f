"""Learners: scikit-learn estimators that return native pgmpy and networkx objects.

- `base`: the base class of all learners, with scikit-learn's ``fit`` and pgmpy's ``estimate``
- `cost`: memory required for learning
- `paths`: choice of a penalty for any model: penalty path, stability of edges, best value of a criterion
- `bayesian`: learners of Bayesian networks
- `gaussian`: learners of Gaussian graphical models
- `markov`: learners of discrete Markov networks
- `resampling`: one learner on many resamples
- `selection`: choice of a penalty for Gaussian graphical models
- `time_series`: learners of time series
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.estimators.base import BaseStructureLearner
    from pgmx.estimators.bayesian.annealing import SimulatedAnnealing
    from pgmx.estimators.bayesian.best_first import BestFirstSearch
    from pgmx.estimators.bayesian.chow_liu import ChowLiuForest
    from pgmx.estimators.bayesian.equivalence import GreedyEquivalenceSearch
    from pgmx.estimators.bayesian.hill_climb import HillClimbSearch
    from pgmx.estimators.cost import LearningCost
    from pgmx.estimators.gaussian.clime import CLIME
    from pgmx.estimators.gaussian.graphical_lasso import GraphicalLasso
    from pgmx.estimators.gaussian.neighborhood_lasso import NeighborhoodLasso
    from pgmx.estimators.gaussian.nonparanormal import Nonparanormal
    from pgmx.estimators.markov.best_choice_grafting import BestChoiceEdgeGrafting
    from pgmx.estimators.markov.edge_grafting import EdgeGrafting
    from pgmx.estimators.markov.feature_grafting import FeatureGrafting, GraftingLight
    from pgmx.estimators.markov.first_hit_grafting import FirstHitEdgeGrafting
    from pgmx.estimators.markov.group_lasso import GroupLassoMarkovNetwork
    from pgmx.estimators.markov.online_grafting import OnlineEdgeGrafting
    from pgmx.estimators.resampling.block_bootstrap import BlockBootstrap
    from pgmx.estimators.resampling.bootstrap import BootstrapStructure
    from pgmx.estimators.selection.selected_graph import SelectedGraph
    from pgmx.estimators.time_series.dense import DenseLDS
    from pgmx.estimators.time_series.enforcing import SparsityEnforcingLDS
    from pgmx.estimators.time_series.inducing import SparsityInducingLDS
    from pgmx.estimators.time_series.scalable import ScalableLDS
    from pgmx.estimators.time_series.sem.identifiability import IdentifiabilityWarning
    from pgmx.estimators.time_series.sem.tensor_sem import TensorSEM
    from pgmx.estimators.time_series.sem.tensor_sem_tracker import TensorSEMTracker
    from pgmx.estimators.time_series.svarm.kernel_svarm import KernelSVARM
    from pgmx.estimators.time_series.svarm.linear_svarm import LinearSVARM

__all__ = [
    "CLIME",
    "BaseStructureLearner",
    "BestChoiceEdgeGrafting",
    "BestFirstSearch",
    "BlockBootstrap",
    "BootstrapStructure",
    "ChowLiuForest",
    "DenseLDS",
    "EdgeGrafting",
    "FeatureGrafting",
    "FirstHitEdgeGrafting",
    "GraftingLight",
    "GraphicalLasso",
    "GreedyEquivalenceSearch",
    "GroupLassoMarkovNetwork",
    "HillClimbSearch",
    "IdentifiabilityWarning",
    "KernelSVARM",
    "LearningCost",
    "LinearSVARM",
    "NeighborhoodLasso",
    "Nonparanormal",
    "OnlineEdgeGrafting",
    "ScalableLDS",
    "SelectedGraph",
    "SimulatedAnnealing",
    "SparsityEnforcingLDS",
    "SparsityInducingLDS",
    "TensorSEM",
    "TensorSEMTracker",
]

_HOMES = {
    "BaseStructureLearner": "base",
    "BestChoiceEdgeGrafting": "markov.best_choice_grafting",
    "BestFirstSearch": "bayesian.best_first",
    "BlockBootstrap": "resampling.block_bootstrap",
    "BootstrapStructure": "resampling.bootstrap",
    "CLIME": "gaussian.clime",
    "ChowLiuForest": "bayesian.chow_liu",
    "DenseLDS": "time_series.dense",
    "EdgeGrafting": "markov.edge_grafting",
    "FeatureGrafting": "markov.feature_grafting",
    "FirstHitEdgeGrafting": "markov.first_hit_grafting",
    "GraftingLight": "markov.feature_grafting",
    "GraphicalLasso": "gaussian.graphical_lasso",
    "GreedyEquivalenceSearch": "bayesian.equivalence",
    "GroupLassoMarkovNetwork": "markov.group_lasso",
    "HillClimbSearch": "bayesian.hill_climb",
    "IdentifiabilityWarning": "time_series.sem.identifiability",
    "KernelSVARM": "time_series.svarm.kernel_svarm",
    "LearningCost": "cost",
    "LinearSVARM": "time_series.svarm.linear_svarm",
    "NeighborhoodLasso": "gaussian.neighborhood_lasso",
    "Nonparanormal": "gaussian.nonparanormal",
    "OnlineEdgeGrafting": "markov.online_grafting",
    "ScalableLDS": "time_series.scalable",
    "SelectedGraph": "selection.selected_graph",
    "SimulatedAnnealing": "bayesian.annealing",
    "SparsityEnforcingLDS": "time_series.enforcing",
    "SparsityInducingLDS": "time_series.inducing",
    "TensorSEM": "time_series.sem.tensor_sem",
    "TensorSEMTracker": "time_series.sem.tensor_sem_tracker",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)

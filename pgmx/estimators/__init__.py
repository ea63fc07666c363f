"""Learners: scikit-learn estimators that return native pgmpy and networkx objects.

- `base`: the base class of all learners, with scikit-learn's ``fit`` and pgmpy's ``estimate``
- `cost`: memory required for learning
- `paths`: choice of a penalty for any model: penalty path, stability of edges, best value of a criterion
- `bayesian`: learners of Bayesian networks by scores
- `constraint_based`: learners of Bayesian networks by tests of conditional independence
- `gaussian`: learners of Gaussian graphical models
- `markov`: learners of discrete Markov networks
- `time_series`: learners of time series
- `bootstrap`, `block_bootstrap`: one learner on many resamples
- `selected_graph`: choice of a penalty
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.estimators.base import BaseStructureLearner as BaseStructureLearner
    from pgmx.estimators.bayesian.annealing import SimulatedAnnealing as SimulatedAnnealing
    from pgmx.estimators.bayesian.best_first import BestFirstSearch as BestFirstSearch
    from pgmx.estimators.bayesian.chow_liu import ChowLiuForest as ChowLiuForest
    from pgmx.estimators.bayesian.classifier import BayesianNetworkClassifier as BayesianNetworkClassifier
    from pgmx.estimators.bayesian.equivalence import GreedyEquivalenceSearch as GreedyEquivalenceSearch
    from pgmx.estimators.bayesian.hill_climb import HillClimbSearch as HillClimbSearch
    from pgmx.estimators.bayesian.posterior import StructurePosterior as StructurePosterior
    from pgmx.estimators.block_bootstrap import BlockBootstrap as BlockBootstrap
    from pgmx.estimators.bootstrap import BootstrapStructure as BootstrapStructure
    from pgmx.estimators.constraint_based.fci import FCI as FCI
    from pgmx.estimators.constraint_based.fci import RFCI as RFCI
    from pgmx.estimators.constraint_based.hybrid import MMHC as MMHC
    from pgmx.estimators.constraint_based.hybrid import HybridSearch as HybridSearch
    from pgmx.estimators.constraint_based.markov_blanket import MarkovBlanket as MarkovBlanket
    from pgmx.estimators.constraint_based.pc import PC as PC
    from pgmx.estimators.cost import LearningCost as LearningCost
    from pgmx.estimators.gaussian.clime import CLIME as CLIME
    from pgmx.estimators.gaussian.graphical_lasso import GraphicalLasso as GraphicalLasso
    from pgmx.estimators.gaussian.neighborhood_lasso import NeighborhoodLasso as NeighborhoodLasso
    from pgmx.estimators.gaussian.nonparanormal import Nonparanormal as Nonparanormal
    from pgmx.estimators.markov.best_choice_grafting import BestChoiceEdgeGrafting as BestChoiceEdgeGrafting
    from pgmx.estimators.markov.edge_grafting import EdgeGrafting as EdgeGrafting
    from pgmx.estimators.markov.feature_grafting import FeatureGrafting as FeatureGrafting
    from pgmx.estimators.markov.feature_grafting import GraftingLight as GraftingLight
    from pgmx.estimators.markov.first_hit_grafting import FirstHitEdgeGrafting as FirstHitEdgeGrafting
    from pgmx.estimators.markov.group_lasso import GroupLassoMarkovNetwork as GroupLassoMarkovNetwork
    from pgmx.estimators.markov.online_grafting import OnlineEdgeGrafting as OnlineEdgeGrafting
    from pgmx.estimators.selected_graph import SelectedGraph as SelectedGraph
    from pgmx.estimators.time_series.dense import DenseLDS as DenseLDS
    from pgmx.estimators.time_series.dynamic.search import DynamicBayesianNetworkSearch as DynamicBayesianNetworkSearch
    from pgmx.estimators.time_series.enforcing import SparsityEnforcingLDS as SparsityEnforcingLDS
    from pgmx.estimators.time_series.equations.learner import IdentifiabilityWarning as IdentifiabilityWarning
    from pgmx.estimators.time_series.equations.sparse_tensor_sem import SparseTensorSEM as SparseTensorSEM
    from pgmx.estimators.time_series.equations.tensor_sem import TensorSEM as TensorSEM
    from pgmx.estimators.time_series.equations.tensor_sem_tracker import TensorSEMTracker as TensorSEMTracker
    from pgmx.estimators.time_series.inducing import SparsityInducingLDS as SparsityInducingLDS
    from pgmx.estimators.time_series.scalable import ScalableLDS as ScalableLDS
    from pgmx.estimators.time_series.svarm.kernel_svarm import KernelSVARM as KernelSVARM
    from pgmx.estimators.time_series.svarm.linear_svarm import LinearSVARM as LinearSVARM
    from pgmx.estimators.time_series.svarm.tracker import SVARMTracker as SVARMTracker

_HOMES = {
    "BaseStructureLearner": "pgmx.estimators.base",
    "BayesianNetworkClassifier": "pgmx.estimators.bayesian.classifier",
    "BestChoiceEdgeGrafting": "pgmx.estimators.markov.best_choice_grafting",
    "BestFirstSearch": "pgmx.estimators.bayesian.best_first",
    "BlockBootstrap": "pgmx.estimators.block_bootstrap",
    "BootstrapStructure": "pgmx.estimators.bootstrap",
    "CLIME": "pgmx.estimators.gaussian.clime",
    "ChowLiuForest": "pgmx.estimators.bayesian.chow_liu",
    "DenseLDS": "pgmx.estimators.time_series.dense",
    "DynamicBayesianNetworkSearch": "pgmx.estimators.time_series.dynamic.search",
    "EdgeGrafting": "pgmx.estimators.markov.edge_grafting",
    "FeatureGrafting": "pgmx.estimators.markov.feature_grafting",
    "FirstHitEdgeGrafting": "pgmx.estimators.markov.first_hit_grafting",
    "GraftingLight": "pgmx.estimators.markov.feature_grafting",
    "GraphicalLasso": "pgmx.estimators.gaussian.graphical_lasso",
    "GreedyEquivalenceSearch": "pgmx.estimators.bayesian.equivalence",
    "GroupLassoMarkovNetwork": "pgmx.estimators.markov.group_lasso",
    "HillClimbSearch": "pgmx.estimators.bayesian.hill_climb",
    "HybridSearch": "pgmx.estimators.constraint_based.hybrid",
    "IdentifiabilityWarning": "pgmx.estimators.time_series.equations.learner",
    "KernelSVARM": "pgmx.estimators.time_series.svarm.kernel_svarm",
    "LearningCost": "pgmx.estimators.cost",
    "LinearSVARM": "pgmx.estimators.time_series.svarm.linear_svarm",
    "MMHC": "pgmx.estimators.constraint_based.hybrid",
    "MarkovBlanket": "pgmx.estimators.constraint_based.markov_blanket",
    "NeighborhoodLasso": "pgmx.estimators.gaussian.neighborhood_lasso",
    "Nonparanormal": "pgmx.estimators.gaussian.nonparanormal",
    "OnlineEdgeGrafting": "pgmx.estimators.markov.online_grafting",
    "SVARMTracker": "pgmx.estimators.time_series.svarm.tracker",
    "ScalableLDS": "pgmx.estimators.time_series.scalable",
    "FCI": "pgmx.estimators.constraint_based.fci",
    "PC": "pgmx.estimators.constraint_based.pc",
    "RFCI": "pgmx.estimators.constraint_based.fci",
    "SelectedGraph": "pgmx.estimators.selected_graph",
    "SimulatedAnnealing": "pgmx.estimators.bayesian.annealing",
    "SparseTensorSEM": "pgmx.estimators.time_series.equations.sparse_tensor_sem",
    "SparsityEnforcingLDS": "pgmx.estimators.time_series.enforcing",
    "SparsityInducingLDS": "pgmx.estimators.time_series.inducing",
    "StructurePosterior": "pgmx.estimators.bayesian.posterior",
    "TensorSEM": "pgmx.estimators.time_series.equations.tensor_sem",
    "TensorSEMTracker": "pgmx.estimators.time_series.equations.tensor_sem_tracker",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)

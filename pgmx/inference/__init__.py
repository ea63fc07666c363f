"""Inference in networks given as arrays: exact, by belief propagation and by sampling.

Discrete Markov networks:

- `queries`, `partition`, `maximisation`: the public functions by name of variable: cost, marginals, joint distributions
  and samples; the log-partition with its error; most probable states
- `information`: what observations of single variables tell about a target
- `problem`, `answers`: arguments of these functions (a network with its names, evidence), and their results
- `networks`, `reduced_network`: networks as arrays of log-values, and what remains of them given evidence
- `named_networks`: pgmpy's Markov and Bayesian networks read as arrays; forward sampling
- `pgmpy_classes`: pgmpy's VariableElimination and BeliefPropagation, answered by compiled code
- `exact`: elimination orders, variable elimination, junction trees
- `approximate`, `engines`: networks that are too wide for exact answers

Bayesian networks:

- `likelihood`: log-likelihood of rows under a fitted network, discrete, linear Gaussian or mixed
- `linear_gaussian`: linear Gaussian networks as arrays, and inference for rows with missing values
- `effects`: total causal effects in linear Gaussian networks, and possible effects in a class of equivalent graphs
- `mixed`: conditional linear Gaussian networks as arrays, and inference in them
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.inference.answers import InferenceCost as InferenceCost
    from pgmx.inference.answers import MapAssignment as MapAssignment
    from pgmx.inference.answers import Marginals as Marginals
    from pgmx.inference.approximate.gibbs import gibbs_sample as gibbs_sample
    from pgmx.inference.approximate.loopy import BeliefResult as BeliefResult
    from pgmx.inference.approximate.loopy import loopy_belief_propagation as loopy_belief_propagation
    from pgmx.inference.effects import PossibleEffects as PossibleEffects
    from pgmx.inference.effects import possible_effects as possible_effects
    from pgmx.inference.effects import total_effects as total_effects
    from pgmx.inference.exact.elimination_order import EliminationPlan as EliminationPlan
    from pgmx.inference.exact.elimination_order import TreewidthError as TreewidthError
    from pgmx.inference.exact.elimination_order import min_fill_order as min_fill_order
    from pgmx.inference.exact.junction_tree import ExactInference as ExactInference
    from pgmx.inference.exact.junction_tree import MostProbable as MostProbable
    from pgmx.inference.exact.junction_tree import elimination_plan as elimination_plan
    from pgmx.inference.information import mutual_information as mutual_information
    from pgmx.inference.maximisation import map_assignment as map_assignment
    from pgmx.inference.maximisation import most_probable_assignments as most_probable_assignments
    from pgmx.inference.named_networks import NamedFactors as NamedFactors
    from pgmx.inference.named_networks import read_network as read_network
    from pgmx.inference.networks import LogFactors as LogFactors
    from pgmx.inference.networks import PairwisePotentials as PairwisePotentials
    from pgmx.inference.partition import ApproximationWarning as ApproximationWarning
    from pgmx.inference.partition import LogPartition as LogPartition
    from pgmx.inference.partition import log_partition as log_partition
    from pgmx.inference.pgmpy_classes import BeliefPropagation as BeliefPropagation
    from pgmx.inference.pgmpy_classes import VariableElimination as VariableElimination
    from pgmx.inference.problem import CompiledNetwork as CompiledNetwork
    from pgmx.inference.queries import estimate_cost as estimate_cost
    from pgmx.inference.queries import joint as joint
    from pgmx.inference.queries import marginals as marginals
    from pgmx.inference.queries import sample as sample

_HOMES = {
    "ApproximationWarning": "pgmx.inference.partition",
    "BeliefPropagation": "pgmx.inference.pgmpy_classes",
    "BeliefResult": "pgmx.inference.approximate.loopy",
    "CompiledNetwork": "pgmx.inference.problem",
    "EliminationPlan": "pgmx.inference.exact.elimination_order",
    "ExactInference": "pgmx.inference.exact.junction_tree",
    "InferenceCost": "pgmx.inference.answers",
    "LogFactors": "pgmx.inference.networks",
    "LogPartition": "pgmx.inference.partition",
    "MapAssignment": "pgmx.inference.answers",
    "Marginals": "pgmx.inference.answers",
    "MostProbable": "pgmx.inference.exact.junction_tree",
    "NamedFactors": "pgmx.inference.named_networks",
    "PairwisePotentials": "pgmx.inference.networks",
    "PossibleEffects": "pgmx.inference.effects",
    "TreewidthError": "pgmx.inference.exact.elimination_order",
    "VariableElimination": "pgmx.inference.pgmpy_classes",
    "elimination_plan": "pgmx.inference.exact.junction_tree",
    "estimate_cost": "pgmx.inference.queries",
    "gibbs_sample": "pgmx.inference.approximate.gibbs",
    "joint": "pgmx.inference.queries",
    "log_partition": "pgmx.inference.partition",
    "loopy_belief_propagation": "pgmx.inference.approximate.loopy",
    "map_assignment": "pgmx.inference.maximisation",
    "marginals": "pgmx.inference.queries",
    "min_fill_order": "pgmx.inference.exact.elimination_order",
    "most_probable_assignments": "pgmx.inference.maximisation",
    "mutual_information": "pgmx.inference.information",
    "possible_effects": "pgmx.inference.effects",
    "read_network": "pgmx.inference.named_networks",
    "sample": "pgmx.inference.queries",
    "total_effects": "pgmx.inference.effects",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)

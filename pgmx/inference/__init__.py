"""Inference in networks given as arrays: exact, by belief propagation and by sampling.

Discrete Markov networks:

- `queries`, `partition`, `maximisation`: the public functions by name of variable: cost, marginals, joint distributions
  and samples; the log-partition with its error; most probable states
- `problem`: arguments and results of these functions: a named network as arrays, marginals, costs
- `networks`: networks as arrays of log-values, also given evidence
- `named_networks`: pgmpy's Markov and Bayesian networks read as arrays; forward sampling
- `exact`: elimination orders, variable elimination, junction trees
- `approximate`, `engines`: networks that are too wide for exact answers

Bayesian networks:

- `likelihood`: log-likelihood of rows under a fitted network, discrete, linear Gaussian or mixed
- `mixed`: conditional linear Gaussian networks as arrays, and inference in them
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.inference.approximate.gibbs import gibbs_sample
    from pgmx.inference.approximate.loopy import BeliefResult, loopy_belief_propagation
    from pgmx.inference.exact.elimination_order import EliminationPlan, TreewidthError, min_fill_order
    from pgmx.inference.exact.junction_tree import ExactInference, MostProbable, elimination_plan
    from pgmx.inference.maximisation import map_assignment
    from pgmx.inference.named_networks import NamedFactors, read_network
    from pgmx.inference.networks import LogFactors, PairwisePotentials
    from pgmx.inference.partition import ApproximationWarning, LogPartition, log_partition
    from pgmx.inference.problem import InferenceCost, MapAssignment, Marginals
    from pgmx.inference.queries import estimate_cost, joint, marginals, sample

__all__ = [
    "ApproximationWarning",
    "BeliefResult",
    "EliminationPlan",
    "ExactInference",
    "InferenceCost",
    "LogFactors",
    "LogPartition",
    "MapAssignment",
    "Marginals",
    "MostProbable",
    "NamedFactors",
    "PairwisePotentials",
    "TreewidthError",
    "elimination_plan",
    "estimate_cost",
    "gibbs_sample",
    "joint",
    "log_partition",
    "loopy_belief_propagation",
    "map_assignment",
    "marginals",
    "min_fill_order",
    "read_network",
    "sample",
]

_HOMES = {
    "ApproximationWarning": "partition",
    "BeliefResult": "approximate.loopy",
    "EliminationPlan": "exact.elimination_order",
    "ExactInference": "exact.junction_tree",
    "InferenceCost": "problem",
    "LogFactors": "networks",
    "LogPartition": "partition",
    "MapAssignment": "problem",
    "Marginals": "problem",
    "MostProbable": "exact.junction_tree",
    "NamedFactors": "named_networks",
    "PairwisePotentials": "networks",
    "TreewidthError": "exact.elimination_order",
    "elimination_plan": "exact.junction_tree",
    "estimate_cost": "queries",
    "gibbs_sample": "approximate.gibbs",
    "joint": "queries",
    "log_partition": "partition",
    "loopy_belief_propagation": "approximate.loopy",
    "map_assignment": "maximisation",
    "marginals": "queries",
    "min_fill_order": "exact.elimination_order",
    "read_network": "named_networks",
    "sample": "queries",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)

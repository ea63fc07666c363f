"""Inference in discrete Markov networks that are given as arrays: exact, by belief propagation, by sampling.

- `networks`: networks as arrays of log-values
- `exact`: exact inference by elimination and junction trees
- `likelihood`: log-likelihood of rows under a fitted Bayesian network
- `sampling`: forward sampling of discrete Bayesian networks, one vectorised pass per variable
- `mixed`: conditional linear Gaussian networks as arrays, and what is inferred in them
- `problem`: what the functions by name work on and return: a network as arrays with its names, marginals, the cost
- `approximate`: inference in networks too wide for exact answers
- `engines`: engines that answer where a junction tree does not: belief propagation, Gibbs sampling
- `maximisation`: most probable states: exactly where memory allows, else by a search with a bound
- `partition`: the log-partition as a number that says how it was computed and what it can be off by
- `queries`: questions to any discrete Markov network, by name: its cost, marginals, joint distributions, samples
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.inference.approximate.gibbs import gibbs_sample
    from pgmx.inference.approximate.loopy import BeliefResult, loopy_belief_propagation
    from pgmx.inference.exact.elimination import EliminationPlan, TreewidthError, min_fill_order
    from pgmx.inference.exact.exact import ExactInference, MostProbable, elimination_plan
    from pgmx.inference.maximisation import map_assignment
    from pgmx.inference.networks.factors import LogFactors, NamedFactors, read_network
    from pgmx.inference.networks.potentials import PairwisePotentials
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
    "EliminationPlan": "exact.elimination",
    "ExactInference": "exact.exact",
    "InferenceCost": "problem",
    "LogFactors": "networks.factors",
    "LogPartition": "partition",
    "MapAssignment": "problem",
    "Marginals": "problem",
    "MostProbable": "exact.exact",
    "NamedFactors": "networks.factors",
    "PairwisePotentials": "networks.potentials",
    "TreewidthError": "exact.elimination",
    "elimination_plan": "exact.exact",
    "estimate_cost": "queries",
    "gibbs_sample": "approximate.gibbs",
    "joint": "queries",
    "log_partition": "partition",
    "loopy_belief_propagation": "approximate.loopy",
    "map_assignment": "maximisation",
    "marginals": "queries",
    "min_fill_order": "exact.elimination",
    "read_network": "networks.factors",
    "sample": "queries",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)

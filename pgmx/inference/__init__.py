"""Inference in discrete Markov networks given as arrays: exact, by belief propagation and by sampling.

- `networks`: networks as arrays of log-values
- `exact`: exact inference by elimination and junction trees
- `likelihood`: log-likelihood of rows under a fitted Bayesian network
- `sampling`: forward sampling of discrete Bayesian networks, one vectorised pass per variable
- `mixed`: conditional linear Gaussian networks as arrays, and inference in them
- `problem`: arguments and results of the functions that use names: a named network as arrays, marginals, costs
- `approximate`: inference in networks too wide for exact answers
- `engines`: approximate engines for networks that are too wide for a junction tree: belief propagation, Gibbs sampling
- `maximisation`: most probable states: exact if memory allows, otherwise by a search with a bound
- `partition`: the log-partition, with the method that computed it and its error
- `queries`: queries to any discrete Markov network, by name: cost, marginals, joint distributions, samples
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

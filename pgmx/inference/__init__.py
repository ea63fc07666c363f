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
    from pgmx.inference.approximate.gibbs import gibbs_sample as gibbs_sample
    from pgmx.inference.approximate.loopy import BeliefResult as BeliefResult
    from pgmx.inference.approximate.loopy import loopy_belief_propagation as loopy_belief_propagation
    from pgmx.inference.exact.elimination import EliminationPlan as EliminationPlan
    from pgmx.inference.exact.elimination import TreewidthError as TreewidthError
    from pgmx.inference.exact.elimination import min_fill_order as min_fill_order
    from pgmx.inference.exact.exact import ExactInference as ExactInference
    from pgmx.inference.exact.exact import MostProbable as MostProbable
    from pgmx.inference.exact.exact import elimination_plan as elimination_plan
    from pgmx.inference.maximisation import map_assignment as map_assignment
    from pgmx.inference.networks.factors import LogFactors as LogFactors
    from pgmx.inference.networks.factors import NamedFactors as NamedFactors
    from pgmx.inference.networks.factors import read_network as read_network
    from pgmx.inference.networks.potentials import PairwisePotentials as PairwisePotentials
    from pgmx.inference.partition import ApproximationWarning as ApproximationWarning
    from pgmx.inference.partition import LogPartition as LogPartition
    from pgmx.inference.partition import log_partition as log_partition
    from pgmx.inference.problem import InferenceCost as InferenceCost
    from pgmx.inference.problem import MapAssignment as MapAssignment
    from pgmx.inference.problem import Marginals as Marginals
    from pgmx.inference.queries import estimate_cost as estimate_cost
    from pgmx.inference.queries import joint as joint
    from pgmx.inference.queries import marginals as marginals
    from pgmx.inference.queries import sample as sample

_HOMES = {
    "ApproximationWarning": "pgmx.inference.partition",
    "BeliefResult": "pgmx.inference.approximate.loopy",
    "EliminationPlan": "pgmx.inference.exact.elimination",
    "ExactInference": "pgmx.inference.exact.exact",
    "InferenceCost": "pgmx.inference.problem",
    "LogFactors": "pgmx.inference.networks.factors",
    "LogPartition": "pgmx.inference.partition",
    "MapAssignment": "pgmx.inference.problem",
    "Marginals": "pgmx.inference.problem",
    "MostProbable": "pgmx.inference.exact.exact",
    "NamedFactors": "pgmx.inference.networks.factors",
    "PairwisePotentials": "pgmx.inference.networks.potentials",
    "TreewidthError": "pgmx.inference.exact.elimination",
    "elimination_plan": "pgmx.inference.exact.exact",
    "estimate_cost": "pgmx.inference.queries",
    "gibbs_sample": "pgmx.inference.approximate.gibbs",
    "joint": "pgmx.inference.queries",
    "log_partition": "pgmx.inference.partition",
    "loopy_belief_propagation": "pgmx.inference.approximate.loopy",
    "map_assignment": "pgmx.inference.maximisation",
    "marginals": "pgmx.inference.queries",
    "min_fill_order": "pgmx.inference.exact.elimination",
    "read_network": "pgmx.inference.networks.factors",
    "sample": "pgmx.inference.queries",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)

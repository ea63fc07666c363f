"""Inference in discrete Markov networks that are given as arrays: exact, by belief propagation, by sampling.

- `potentials`, `factors`: networks as arrays of log-values, pairwise ones and any others
- `elimination`: what exact inference costs, told before anything is allocated
- `exact`: marginals, most probable states and samples from a calibrated junction tree (`junction_tree`)
- `loopy`, `gibbs`: belief propagation and Gibbs sampling, for networks too wide for that
- `queries`: the same questions by name, to any discrete Markov network (`answers`, `problem`, `decoding`, `imputation`)
"""

from pgmx.inference.answers import InferenceCost, Marginals
from pgmx.inference.elimination import EliminationPlan, TreewidthError, min_fill_order
from pgmx.inference.exact import ExactInference, MostProbable, elimination_plan
from pgmx.inference.factors import LogFactors, NamedFactors, read_network
from pgmx.inference.gibbs import gibbs_sample
from pgmx.inference.loopy import BeliefResult, loopy_belief_propagation
from pgmx.inference.potentials import PairwisePotentials
from pgmx.inference.queries import estimate_cost, joint, log_partition, map_assignment, marginals, sample

__all__ = [
    "BeliefResult",
    "EliminationPlan",
    "ExactInference",
    "InferenceCost",
    "LogFactors",
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

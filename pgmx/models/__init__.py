"""What learners hand back: pgmpy's graphs and networks, built from integer edges, and their way to files.

- `bayesian`: bayesian networks: pgmpy graphs from integer edges, parameters, strengths of edges
- `fixed_graph`: a pgmpy graph that follows from numbers, and therefore does not change
- `files`: networks in files
- `gaussian`: the Gaussian Markov network
- `markov`: the pairwise Markov network
"""

from pgmx.graphs.equivalence import cpdag
from pgmx.models.bayesian.networks import fit_discrete, fit_linear_gaussian, to_dag, to_linear_gaussian, to_pdag
from pgmx.models.files.any_model import read_json, read_model, save_model
from pgmx.models.files.gaussian import load_gaussian_network, save_gaussian_network
from pgmx.models.files.markov import load_markov_network, save_markov_network
from pgmx.models.gaussian.network import GaussianMarkovNetwork
from pgmx.models.markov.factors import junction_tree
from pgmx.models.markov.network import PairwiseMarkovNetwork

__all__ = [
    "GaussianMarkovNetwork",
    "PairwiseMarkovNetwork",
    "cpdag",
    "fit_discrete",
    "fit_linear_gaussian",
    "junction_tree",
    "load_gaussian_network",
    "load_markov_network",
    "read_json",
    "read_model",
    "save_gaussian_network",
    "save_markov_network",
    "save_model",
    "to_dag",
    "to_linear_gaussian",
    "to_pdag",
]

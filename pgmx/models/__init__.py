"""What learners hand back: pgmpy's graphs and networks, built from integer edges, and their way to files.

- `bayesian_network`: edges to ``DAG``, ``PDAG`` and fitted networks
- `equivalence`: the CPDAG of a DAG, with background knowledge
- `markov_network`: the pairwise Markov network; `markov_factors`: its way to pgmpy, junction trees of any network
- `gaussian_network`: the Gaussian Markov network; `gaussian_dag`: its way to pgmpy
- `export`, `markov_files`, `gaussian_files`: bif, xmlbif, graphml, json, npz, uai
"""

from pgmx.models.bayesian_network import fit_discrete, fit_linear_gaussian, to_dag, to_linear_gaussian, to_pdag
from pgmx.models.equivalence import cpdag
from pgmx.models.export import read_json, read_model, save_model
from pgmx.models.gaussian_files import load_gaussian_network, save_gaussian_network
from pgmx.models.gaussian_network import GaussianMarkovNetwork
from pgmx.models.markov_factors import junction_tree
from pgmx.models.markov_files import load_markov_network, save_markov_network
from pgmx.models.markov_network import PairwiseMarkovNetwork

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

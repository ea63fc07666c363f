"""Graphs and networks: pgmpy's, built from integer edges, our own Markov networks, and files of both.

- `names`: checks of names: the variables of a network, and the columns of rows
- `distributed_rows`: row-wise results of networks on distributed tables, computed per partition by the workers
- `bayesian`: Bayesian networks: pgmpy graphs from integer edges, parameters, strengths of edges
- `files`: readers and writers of every format, as bytes; they do not import our network classes
- `pgmpy_estimators`: ``pgmpy.estimators`` without its warning about a move
- `fixed_graph`: a pgmpy graph that is determined by parameters and cannot be changed
- `saving`: models that are saved to files and loaded from them
- `gaussian`: the Gaussian Markov network
- `markov`: the pairwise Markov network
- `mixed`: the conditional linear Gaussian network of discrete and continuous variables
- `time_series`: graphs over (variable, lag), and linear dynamical systems
- `evidence`: observed states of a network's variables, from the files of the UAI competitions
- `any_model`: any graph or network to a file and back; the content of the file determines the class
"""

from typing import TYPE_CHECKING

from pgmx.graphs.equivalence import cpdag
from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.models.any_model import (
        load_gaussian_network,
        load_markov_network,
        read_json,
        read_model,
        save_gaussian_network,
        save_markov_network,
        save_model,
    )
    from pgmx.models.bayesian.networks import fit_discrete, fit_linear_gaussian, to_dag, to_linear_gaussian, to_pdag
    from pgmx.models.evidence import read_evidence
    from pgmx.models.gaussian.network import GaussianMarkovNetwork
    from pgmx.models.markov.factors import junction_tree
    from pgmx.models.markov.network import PairwiseMarkovNetwork
    from pgmx.models.mixed.network import ConditionalGaussianNetwork
    from pgmx.models.mixed.parameters import ConditionalGaussianCPD
    from pgmx.models.time_series.graph import TimeSeriesGraph
    from pgmx.models.time_series.linear_dynamical_system import LinearDynamicalSystem
    from pgmx.models.time_series.measures import graphs_by_window, measures_by_window

__all__ = [
    "ConditionalGaussianCPD",
    "ConditionalGaussianNetwork",
    "GaussianMarkovNetwork",
    "LinearDynamicalSystem",
    "PairwiseMarkovNetwork",
    "TimeSeriesGraph",
    "cpdag",
    "fit_discrete",
    "fit_linear_gaussian",
    "graphs_by_window",
    "junction_tree",
    "load_gaussian_network",
    "load_markov_network",
    "measures_by_window",
    "read_evidence",
    "read_json",
    "read_model",
    "save_gaussian_network",
    "save_markov_network",
    "save_model",
    "to_dag",
    "to_linear_gaussian",
    "to_pdag",
]

_HOMES = {
    "ConditionalGaussianCPD": "mixed.parameters",
    "ConditionalGaussianNetwork": "mixed.network",
    "GaussianMarkovNetwork": "gaussian.network",
    "LinearDynamicalSystem": "time_series.linear_dynamical_system",
    "PairwiseMarkovNetwork": "markov.network",
    "TimeSeriesGraph": "time_series.graph",
    "fit_discrete": "bayesian.networks",
    "fit_linear_gaussian": "bayesian.networks",
    "graphs_by_window": "time_series.measures",
    "junction_tree": "markov.factors",
    "load_gaussian_network": "any_model",
    "load_markov_network": "any_model",
    "measures_by_window": "time_series.measures",
    "read_evidence": "evidence",
    "read_json": "any_model",
    "read_model": "any_model",
    "save_gaussian_network": "any_model",
    "save_markov_network": "any_model",
    "save_model": "any_model",
    "to_dag": "bayesian.networks",
    "to_linear_gaussian": "bayesian.networks",
    "to_pdag": "bayesian.networks",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)

"""Graphs and networks: pgmpy's, built from integer edges, our own networks, and files of both.

- `base`: what the network classes share: checks of names, saving, a graph that parameters determine
- `rows`: rows of data in the form that a network reads
- `distributed_rows`: row-wise results of networks on distributed tables, computed per partition by the workers
- `bayesian`: Bayesian networks: our class of discrete ones, graphs from integer edges, parameters, strengths of edges
- `discrete_rows`: answers of a discrete network per row
- `gaussian_network`, `gaussian_queries`: the Gaussian Markov network
- `markov_network`, `markov_queries`, `markov_conversions`: the pairwise Markov network
- `mixed`: the conditional linear Gaussian network of discrete and continuous variables
- `pag`: partial ancestral graphs
- `time_series`: graphs over (variable, lag), and linear dynamical systems
- `files`: readers and writers of every format, as bytes; our undirected network classes import them
- `any_model`: any graph or network to a file and back; the content of the file determines the class
- `evidence`: observed states of a network's variables, from the files of the UAI competitions
- `pgmpy_estimators`: ``pgmpy.estimators`` without its warning about a move
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.graphs.equivalence import cpdag as cpdag
    from pgmx.models.any_model import load_gaussian_network as load_gaussian_network
    from pgmx.models.any_model import load_markov_network as load_markov_network
    from pgmx.models.any_model import read_json as read_json
    from pgmx.models.any_model import read_model as read_model
    from pgmx.models.any_model import save_gaussian_network as save_gaussian_network
    from pgmx.models.any_model import save_markov_network as save_markov_network
    from pgmx.models.any_model import save_model as save_model
    from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork as DiscreteBayesianNetwork
    from pgmx.models.bayesian.linear_gaussian_network import (
        LinearGaussianBayesianNetwork as LinearGaussianBayesianNetwork,
    )
    from pgmx.models.bayesian.networks import fit_discrete as fit_discrete
    from pgmx.models.bayesian.networks import fit_linear_gaussian as fit_linear_gaussian
    from pgmx.models.bayesian.networks import to_dag as to_dag
    from pgmx.models.bayesian.networks import to_linear_gaussian as to_linear_gaussian
    from pgmx.models.bayesian.networks import to_pdag as to_pdag
    from pgmx.models.evidence import read_evidence as read_evidence
    from pgmx.models.gaussian_network import GaussianMarkovNetwork as GaussianMarkovNetwork
    from pgmx.models.markov_conversions import junction_tree as junction_tree
    from pgmx.models.markov_network import PairwiseMarkovNetwork as PairwiseMarkovNetwork
    from pgmx.models.mixed.cpds import ConditionalGaussianCPD as ConditionalGaussianCPD
    from pgmx.models.mixed.network import ConditionalGaussianNetwork as ConditionalGaussianNetwork
    from pgmx.models.pag import PAG as PAG
    from pgmx.models.time_series.dynamic.network import DynamicBayesianNetwork as DynamicBayesianNetwork
    from pgmx.models.time_series.dynamic.two_slice_network import TwoSliceBayesianNetwork as TwoSliceBayesianNetwork
    from pgmx.models.time_series.graph import TimeSeriesGraph as TimeSeriesGraph
    from pgmx.models.time_series.linear_dynamical_system import LinearDynamicalSystem as LinearDynamicalSystem
    from pgmx.models.time_series.measures import graphs_by_window as graphs_by_window
    from pgmx.models.time_series.measures import measures_by_window as measures_by_window

_HOMES = {
    "ConditionalGaussianCPD": "pgmx.models.mixed.cpds",
    "ConditionalGaussianNetwork": "pgmx.models.mixed.network",
    "DiscreteBayesianNetwork": "pgmx.models.bayesian.discrete_network",
    "DynamicBayesianNetwork": "pgmx.models.time_series.dynamic.network",
    "GaussianMarkovNetwork": "pgmx.models.gaussian_network",
    "LinearGaussianBayesianNetwork": "pgmx.models.bayesian.linear_gaussian_network",
    "LinearDynamicalSystem": "pgmx.models.time_series.linear_dynamical_system",
    "PAG": "pgmx.models.pag",
    "PairwiseMarkovNetwork": "pgmx.models.markov_network",
    "TimeSeriesGraph": "pgmx.models.time_series.graph",
    "TwoSliceBayesianNetwork": "pgmx.models.time_series.dynamic.two_slice_network",
    "cpdag": "pgmx.graphs.equivalence",
    "fit_discrete": "pgmx.models.bayesian.networks",
    "fit_linear_gaussian": "pgmx.models.bayesian.networks",
    "graphs_by_window": "pgmx.models.time_series.measures",
    "junction_tree": "pgmx.models.markov_conversions",
    "load_gaussian_network": "pgmx.models.any_model",
    "load_markov_network": "pgmx.models.any_model",
    "measures_by_window": "pgmx.models.time_series.measures",
    "read_evidence": "pgmx.models.evidence",
    "read_json": "pgmx.models.any_model",
    "read_model": "pgmx.models.any_model",
    "save_gaussian_network": "pgmx.models.any_model",
    "save_markov_network": "pgmx.models.any_model",
    "save_model": "pgmx.models.any_model",
    "to_dag": "pgmx.models.bayesian.networks",
    "to_linear_gaussian": "pgmx.models.bayesian.networks",
    "to_pdag": "pgmx.models.bayesian.networks",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)

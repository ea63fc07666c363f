"""Networks to learn from, random or bundled with pgmpy, and rows sampled from any network.

- `bundled`: discrete networks of the Bayesian network repository, which ship with pgmx or pgmpy, and network files
- `examples`: small real tables that ship with scikit-learn and statsmodels
- `random_graphs`, `reservoirs`: edges of random graphs and the generator of all draws; ranks in random reservoirs
- `markov`: random Markov networks to learn from, and rows sampled from them
- `sampling`: forward sampling of Bayesian networks as frames
- `gaussian`: Gaussian Markov networks to learn from, all with variances 1; ``simulate`` draws rows
- `structural`: series with nonlinear influences, and responses to random inputs
- `changing`: streams with drifting target functions, and series whose input powers switch between windows
- `time_series`: coefficients of sparse linear dynamical systems, their transitions, and hourly counts on a grid
- `events`: events with coordinates and times, counted in the cells of a grid and the steps of time
"""

from typing import TYPE_CHECKING

from pgmx.datasets.bundled import NetworkSize, list_networks, load_network, sample_network
from pgmx.datasets.changing import (
    DriftingStream,
    SwitchingSeries,
    drifting_stream,
    kronecker_coefficients,
    switching_series,
)
from pgmx.datasets.events import GriddedEvents, grid_events
from pgmx.datasets.examples import Example, list_examples, load_example
from pgmx.datasets.gaussian import (
    gaussian_chain_network,
    gaussian_hub_network,
    gaussian_preferential_attachment_network,
    gaussian_random_network,
)
from pgmx.datasets.markov import (
    chain_network,
    grid_network,
    preferential_attachment_network,
    sample_markov_network,
    tree_network,
)
from pgmx.datasets.reservoirs import ReservoirRanks, reservoir_ranks
from pgmx.datasets.sampling import sample
from pgmx.datasets.structural import KernelResponses, StructuralSeries, kernel_responses, structural_series
from pgmx.datasets.time_series import SystemTransitions, gridded_counts, sparse_system, system_transitions
from pgmx.lookup import import_on_demand

__all__ = [
    "DriftingStream",
    "Example",
    "GriddedEvents",
    "KernelResponses",
    "NetworkSize",
    "ReservoirRanks",
    "StructuralSeries",
    "SwitchingSeries",
    "SystemTransitions",
    "chain_network",
    "drifting_stream",
    "gaussian_chain_network",
    "gaussian_hub_network",
    "gaussian_preferential_attachment_network",
    "gaussian_random_network",
    "grid_events",
    "grid_network",
    "gridded_counts",
    "kernel_responses",
    "kronecker_coefficients",
    "list_examples",
    "list_networks",
    "load_example",
    "load_network",
    "preferential_attachment_network",
    "reservoir_ranks",
    "sample",
    "sample_markov_network",
    "sample_network",
    "sparse_system",
    "structural_series",
    "switching_series",
    "system_transitions",
    "tree_network",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported; this explains unknown names

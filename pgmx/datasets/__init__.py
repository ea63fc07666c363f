"""Networks to learn from, random or bundled with pgmpy, and rows sampled from any network.

- `bundled`, `sampling`: Bayesian networks that ship inside pgmpy, and rows by forward sampling
- `markov`: random discrete Markov networks, and rows by Gibbs sampling
- `gaussian`: random Gaussian Markov networks
- `reservoir`: how good the best edge of a reservoir is
"""

from pgmx.datasets.bundled import list_networks, load_network
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
from pgmx.datasets.reservoir import ReservoirRanks, reservoir_ranks
from pgmx.datasets.sampling import sample

__all__ = [
    "ReservoirRanks",
    "chain_network",
    "gaussian_chain_network",
    "gaussian_hub_network",
    "gaussian_preferential_attachment_network",
    "gaussian_random_network",
    "grid_network",
    "list_networks",
    "load_network",
    "preferential_attachment_network",
    "reservoir_ranks",
    "sample",
    "sample_markov_network",
    "tree_network",
]

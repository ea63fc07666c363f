"""Networks to learn from: the discrete Bayesian networks that ship inside pgmpy, and rows sampled from any network."""

from pgmx.datasets.bundled import list_networks, load_network
from pgmx.datasets.sampling import sample

__all__ = ["list_networks", "load_network", "sample"]

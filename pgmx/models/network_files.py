"""Markov networks, discrete and Gaussian, to files and back."""

import os
from pathlib import Path

from pgmx.models.gaussian.network import GaussianMarkovNetwork
from pgmx.models.markov.network import PairwiseMarkovNetwork

__all__ = ["load_gaussian_network", "load_markov_network", "save_gaussian_network", "save_markov_network"]


def save_markov_network(network: PairwiseMarkovNetwork, path: str | os.PathLike, format: str | None = None) -> Path:
    """Write a pairwise Markov network to a file.

    Parameters
    ----------
    network : PairwiseMarkovNetwork
        The network; it is not changed.
    path : str or path
        Where to write; an existing file is replaced.
    format : {"npz", "json", "graphml", "uai"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For an unknown format or suffix, and for names or states that become the same text in graphml.
    TypeError
        For names or states that are neither text, numbers, booleans nor None.
    FileNotFoundError
        When the folder does not exist.

    Notes
    -----
    npz and json keep every bit of the log-potentials, which graphml does too; a cell of probability zero is null in
    the last two. uai holds exponentials in plain decimals, as pgmpy's reader wants them. Attributes of the graph are
    left out but for its name.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.datasets import grid_network
    >>> from pgmx.models import load_markov_network, save_markov_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_markov_network(save_markov_network(grid_network(3, 3), f"{folder}/grid.npz"))
    PairwiseMarkovNetwork(9 variables, 12 edges)
    """
    return network.save(path, format)


def load_markov_network(path: str | os.PathLike, format: str | None = None) -> PairwiseMarkovNetwork:
    """Read a pairwise Markov network from a file.

    Parameters
    ----------
    path : str or path
        A file of `save_markov_network`, or any UAI file of the type MARKOV with factors of one and two variables.
    format : {"npz", "json", "graphml", "uai"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    PairwiseMarkovNetwork
        Names and states as saved; from a UAI file of other programs "var_0", "var_1", ... with the states 0, 1, ...

    Raises
    ------
    ValueError
        When the suffix is unknown, or the file damaged or something else.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pgmx.models import load_markov_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.uai")
    ...     _ = path.write_text("MARKOV 2 2 2 1 2 0 1 4 3 1 1 3")
    ...     load_markov_network(path).marginals({"var_0": 1})["var_1"]
    {0: 0.25, 1: 0.75}
    """
    return PairwiseMarkovNetwork.load(path, format)


def save_gaussian_network(network: GaussianMarkovNetwork, path: str | os.PathLike, format: str | None = None) -> Path:
    """Write a Gaussian Markov network to a file.

    Parameters
    ----------
    network : GaussianMarkovNetwork
        The network; it is not changed.
    path : str or path
        Where to write; an existing file is replaced.
    format : {"npz", "json", "graphml"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For an unknown format or suffix, and for names that become the same text in graphml.
    TypeError
        For names that are neither text, numbers nor booleans.
    FileNotFoundError
        When the folder does not exist.

    Notes
    -----
    All three keep every bit of precision, scale, mean and transforms. Attributes of the graph are left out but for its
    name, those of nodes and edges too.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.datasets import gaussian_chain_network
    >>> from pgmx.models import load_gaussian_network, save_gaussian_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_gaussian_network(save_gaussian_network(gaussian_chain_network(5), f"{folder}/chain.npz"))
    GaussianMarkovNetwork(5 variables, 4 edges)
    """
    return network.save(path, format)


def load_gaussian_network(path: str | os.PathLike, format: str | None = None) -> GaussianMarkovNetwork:
    """Read a Gaussian Markov network from a file.

    Parameters
    ----------
    path : str or path
        A file of `save_gaussian_network`.
    format : {"npz", "json", "graphml"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    GaussianMarkovNetwork
        Names as saved; as text from graphml.

    Raises
    ------
    ValueError
        When the suffix is unknown, or the file damaged or something else.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.models import GaussianMarkovNetwork, load_gaussian_network
    >>> network = GaussianMarkovNetwork.from_covariance(["a", "b"], [[2.0, 1.0], [1.0, 2.0]], mean=[5.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_gaussian_network(network.save(f"{folder}/two.json")).mean.to_dict()
    {'a': 5.0, 'b': 0.0}
    """
    return GaussianMarkovNetwork.load(path, format)

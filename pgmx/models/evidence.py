"""Observed states of a network's variables, from the files of the UAI competitions."""

import os
from collections.abc import Hashable
from typing import Any

import networkx as nx
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.checks import check_path, explain_unreadable
from pgmx.fitted import FittedLearner, get_model
from pgmx.inference.named_networks import BayesianArrays, read_tables
from pgmx.models.files.uai import read_codes


def read_evidence(path: str | os.PathLike, model: nx.Graph | FittedLearner) -> dict[Hashable, Hashable]:
    """Read the observed states of a network's variables from a file in the evidence format of the UAI competitions.

    Parameters
    ----------
    path : str or path
        A text file: the number of observed variables, then the position of each variable and of its state, from 0. A
        leading 1, the number of samples in files until 2010, is skipped.
    model : DiscreteMarkovNetwork, PairwiseMarkovNetwork, DiscreteBayesianNetwork or fitted learner
        The network; its nodes and their states are numbered in their order.

    Returns
    -------
    dict of {name: state}
        The evidence for the functions of :mod:`pgmx.inference`.

    Raises
    ------
    ValueError
        If the file is damaged, names an unknown variable or state, or names a variable twice.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pgmx.datasets import grid_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.evid")
    ...     _ = path.write_text("2 0 1 8 0")
    ...     read_evidence(path, grid_network(3, 3))
    {'x0': 1, 'x8': 0}
    """
    network: Any = get_model(model)
    is_bayesian = isinstance(network, DiscreteBayesianNetwork)
    names, states = BayesianArrays.from_model(network)[:2] if is_bayesian else read_tables(network)[:2]
    codes = read_evidence_codes(path, [len(labels) for labels in states])
    return {names[v]: states[v][code] for v, code in codes.items()}


def read_evidence_codes(path: str | os.PathLike, cardinalities: list[int]) -> dict[int, int]:
    """Read evidence as positions of variables and codes of states."""
    path = check_path(path)
    raw = path.read_bytes()
    with explain_unreadable(path, "is not a file of evidence in uai form", "repair the file"):
        return read_codes(raw, cardinalities)

"""Files: a graph or a fitted network written for other programs, or for reading back.

========  =====================================  ==========================================================
format    holds                                  keeps
========  =====================================  ==========================================================
bif       a fitted discrete network              structure, parameters; names and states as text
xmlbif    a fitted discrete network              the same
graphml   any graph                              structure, weights; names as text, states in an attribute
json      any graph, discrete and Gaussian       all of it, with the types of names and states
          networks, fitted or not
npz, uai  a ``PairwiseMarkovNetwork``            see `markov_files`, which also writes its graphml and json
npz       a ``GaussianMarkovNetwork``            see `gaussian_files`, which also writes its graphml and json
========  =====================================  ==========================================================
"""

import json
import os
import re
from io import BytesIO
from pathlib import Path

import networkx as nx
from pgmpy.base import PDAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import BIFReader, BIFWriter, XMLBIFReader, XMLBIFWriter

from pgmx.checks import join_names
from pgmx.models.files.documents import graph_class, json_text, read_json
from pgmx.models.files.gaussian import (
    GAUSSIAN_FORMATS,
    is_gaussian_npz,
    load_gaussian_network,
    save_gaussian_network,
)
from pgmx.models.files.markov import MARKOV_FORMATS, load_markov_network, save_markov_network
from pgmx.models.files.safe_names import decode, encode_all
from pgmx.models.gaussian.network import GaussianMarkovNetwork
from pgmx.models.markov.network import PairwiseMarkovNetwork

__all__ = ["read_json", "read_model", "save_model"]

#: Formats that `save_model` writes; each is also a file suffix.
FORMATS = ("bif", "xmlbif", "graphml", "json", "npz", "uai")

_NAME_MARKS = frozenset("-.")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def save_model(model: nx.Graph, path: str | os.PathLike, format: str | None = None) -> Path:
    """Write a graph or a fitted network to a file.

    Parameters
    ----------
    model : networkx.Graph
        A fitted ``DiscreteBayesianNetwork`` for bif and xmlbif; for graphml and json also a ``DAG``, ``PDAG``, or a
        networkx graph; for json also a ``LinearGaussianBayesianNetwork`` with its parameters; for graphml, json, npz
        and uai a ``PairwiseMarkovNetwork``, as `save_markov_network` writes it; for graphml, json and npz a
        ``GaussianMarkovNetwork``, as `save_gaussian_network` writes it. It is not changed.
    path : str or path
        Where to write; an existing file is replaced.
    format : {"bif", "xmlbif", "graphml", "json", "npz", "uai"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For an unknown format or suffix, a network without (consistent) parameters, and names or states that become the
        same text, such as 1 and "1". Nothing is written then.
    TypeError
        For an object that the format cannot hold.
    FileNotFoundError
        When the folder does not exist.

    Notes
    -----
    bif and xmlbif: names and states become text, and the nodes come back sorted by name. What pgmpy's readers would not
    return as it was (spaces, commas, empty text, letters beyond ASCII, names that differ by case alone in bif) is
    written with escapes, ``_x0020_`` for a space; `read_model` turns them back. Plain names are untouched. Attributes
    of nodes and edges, roles and latent marks are left out of every format, except weights in graphml and json.

    graphml and the node-link part of json hold an undirected edge of a ``PDAG`` as two opposite ones, marked by
    ``kind="undirected"``.

    Cost: linear in the cells of the tables; 0.8 s for bif, 0.04 s for json with the 724 nodes of LINK.

    Examples
    --------
    >>> import tempfile
    >>> from pgmpy.base import DAG
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(DAG([("rain", "wet")]), f"{folder}/graph.graphml")
    ...     list(nx.read_graphml(path).edges())
    [('rain', 'wet')]
    """
    path, format = _target(path, format)
    graph_class(model)
    if isinstance(model, PairwiseMarkovNetwork) and format in MARKOV_FORMATS:
        return save_markov_network(model, path, format)
    if isinstance(model, GaussianMarkovNetwork) and format in GAUSSIAN_FORMATS:
        return save_gaussian_network(model, path, format)
    if format in ("npz", "uai"):
        held = "PairwiseMarkovNetwork" + (" or a GaussianMarkovNetwork" if format == "npz" else "")
        raise TypeError(f"{format} holds a {held}, not a {type(model).__name__}; use graphml or json")
    if format in ("bif", "xmlbif"):
        text = _network_text(model, format)
    elif format == "graphml":
        text = _graphml_text(model)
    else:
        text = json_text(model)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def read_model(path: str | os.PathLike, format: str | None = None) -> nx.Graph:
    """Read a network from bif or xmlbif, or what `save_model` wrote as json, npz or uai.

    Parameters
    ----------
    path : str or path
        The file.
    format : {"bif", "xmlbif", "json", "npz", "uai"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    networkx.Graph
        A ``DiscreteBayesianNetwork`` from bif and xmlbif, with text for names and states and the escapes of
        `save_model` turned back; from json what `read_json` returns; from npz and uai a ``PairwiseMarkovNetwork``, or
        the ``GaussianMarkovNetwork`` that an npz holds.

    Raises
    ------
    ValueError
        For another format (read graphml with networkx), for a json that is not ours, and for a file that is damaged or
        lacks the probabilities of a node.
    FileNotFoundError
        When there is no such file.

    Notes
    -----
    pgmpy's readers do the parsing of bif and xmlbif.

    Examples
    --------
    >>> import tempfile
    >>> network = DiscreteBayesianNetwork()
    >>> network.add_node("wet?")
    >>> network.add_cpds(TabularCPD("wet?", 2, [[0.25], [0.75]], state_names={"wet?": ["no", "yes, it is"]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(network, f"{folder}/wet.bif")
    ...     read_model(path).get_cpds("wet?").state_names
    {'wet?': ['no', 'yes, it is']}
    """
    path = Path(path)
    format = _format_of(path, format)
    if format == "json":
        return read_json(path)
    if format == "graphml":
        raise ValueError(
            "graphml holds a graph and no parameters; read it with networkx.read_graphml, a PairwiseMarkovNetwork with "
            "load_markov_network, a GaussianMarkovNetwork with load_gaussian_network"
        )
    if format == "npz" and is_gaussian_npz(path):
        return load_gaussian_network(path, format)
    if format in ("npz", "uai"):
        return load_markov_network(path, format)
    text = path.read_text(encoding="utf-8")
    reader = BIFReader if format == "bif" else XMLBIFReader
    try:
        read = reader(string=text or " ").get_model()  # no text at all would mean another argument
    except SyntaxError as error:  # of XML
        raise ValueError(f"{path} cannot be read as {format}: {error}") from error
    if len(read) == 0:
        raise ValueError(f"{path} holds no {format} network")
    bare = [name for name in read.nodes() if read.get_cpds(name) is None]
    if bare:
        raise ValueError(
            f"{path} holds no probabilities of {join_names(map(decode, bare))}: it is cut short or damaged"
        )
    names = {name: decode(name) for name in read.nodes()}
    states = {cpd.variable: [decode(state) for state in cpd.state_names[cpd.variable]] for cpd in read.get_cpds()}
    return _renamed(read, names, states)


def _target(path: str | os.PathLike, format: str | None) -> tuple[Path, str]:
    """Return the path and the format, or raise before anything is computed."""
    path = Path(path)
    format = _format_of(path, format)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path.name}: there is no folder {path.parent}; make it first")
    return path, format


def _format_of(path: Path, format: str | None) -> str:
    name = path.suffix[1:].lower() if format is None else format
    if name not in FORMATS:
        seen = f"suffix {path.suffix!r} of {path.name!r}" if format is None else f"format {format!r}"
        raise ValueError(f"unknown {seen}; expected one of {', '.join(FORMATS)}")
    return name


def _network_text(model: nx.Graph, format: str) -> str:
    """Return a fitted discrete network as bif or xmlbif."""
    if not isinstance(model, DiscreteBayesianNetwork):
        raise TypeError(
            f"{format} holds a fitted DiscreteBayesianNetwork, not a {type(model).__name__}; save the fitted network "
            "(of a learner: model_), or use graphml or json"
        )
    if len(model) == 0:
        raise ValueError(f"the network has no nodes; {format} cannot hold it")
    model.check_model()  # says which node has no parameters, or wrong ones
    # BIF readers ignore the case of names, XMLBIF knows only letters, digits and underscores in states.
    names = encode_all(model.nodes(), "names of variables", _NAME_MARKS, ignore_case=format == "bif")
    marks = _NAME_MARKS if format == "bif" else frozenset()
    states = {}
    for cpd in model.get_cpds():
        own = cpd.state_names[cpd.variable]
        written = encode_all(own, f"states of {cpd.variable!r}", marks)
        states[cpd.variable] = [written[state] for state in own]
    # A copy: the XMLBIF writer sorts the list of CPDs of the network that it is given.
    copy = _renamed(model, names, states)
    if re.fullmatch("[A-Za-z0-9_-]+", model.name) and not re.search("variable|probability", model.name):
        copy.name = model.name
    return str(BIFWriter(copy) if format == "bif" else XMLBIFWriter(copy))


def _renamed(model: DiscreteBayesianNetwork, names: dict, states: dict) -> DiscreteBayesianNetwork:
    """Return a copy with other names of nodes and of states, and without attributes."""
    copy = DiscreteBayesianNetwork()
    copy.add_nodes_from(names[node] for node in model.nodes())
    copy.add_edges_from((names[u], names[v]) for u, v in model.edges())
    for cpd in model.get_cpds():
        copy.add_cpds(
            TabularCPD(
                names[cpd.variable],
                int(cpd.cardinality[0]),
                cpd.get_values(),
                [names[name] for name in cpd.variables[1:]],
                [int(card) for card in cpd.cardinality[1:]],
                state_names={names[name]: states[name] for name in cpd.variables},
            )
        )
    return copy


def _graphml_text(model: nx.Graph) -> str:
    """Return a graph as graphml, with weights where they are numbers: pgmpy's own weight None has no GraphML type."""
    names: dict = {}
    for node in model.nodes():
        text = str(node)
        if _NOT_XML.search(text):
            raise ValueError(f"the name {text!r} holds a character that XML forbids; rename the variable, or use json")
        names[node] = text
    if len(set(names.values())) < len(names):
        encode_all(names, "names of variables")  # finds the two and raises
    copy = nx.DiGraph() if model.is_directed() else nx.Graph()
    tables = [cpd for cpd in getattr(model, "cpds", []) if isinstance(cpd, TabularCPD)]
    states = {cpd.variable: cpd.state_names[cpd.variable] for cpd in tables}
    for node, text in names.items():
        copy.add_node(text, **({"states": json.dumps([str(s) for s in states[node]])} if node in states else {}))
    for u, v, weight in model.edges(data="weight"):
        attributes: dict = {"weight": float(weight)} if weight is not None else {}
        if isinstance(model, PDAG):
            attributes["kind"] = "undirected" if model.has_edge(v, u) else "directed"
        copy.add_edge(names[u], names[v], **attributes)
    buffer = BytesIO()
    nx.write_graphml_xml(copy, buffer)
    return buffer.getvalue().decode("utf-8")

"""Save any graph or fitted network to a file, and read it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import networkx as nx
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

from pgmx.atomic import replace_file
from pgmx.checks import check_path
from pgmx.fitted import FittedLearner, get_graph, get_model
from pgmx.inference.named_networks import read_tables
from pgmx.models.files.discrete import read_bif, read_families, write_bif
from pgmx.models.files.documents import build_graph, describe_graph, read_document, write_document
from pgmx.models.files.dynamic import DYNAMIC_TYPE, parse_dynamic
from pgmx.models.files.formats import (
    check_target,
    explain_unreadable,
    find_format,
    pack_content,
    read_content,
)
from pgmx.models.files.gaussian import GAUSSIAN_WRITERS, is_gaussian_npz, parse_gaussian
from pgmx.models.files.graphml import write_graph
from pgmx.models.files.markov import MARKOV_WRITERS, make_pairwise, parse_markov
from pgmx.models.files.mixed import MIXED_TYPE, MIXED_WRITERS, parse_mixed
from pgmx.models.files.net import read_net, write_net
from pgmx.models.files.time_series import GRAPH_TYPE, is_system_npz, is_time_series_graphml, parse_time_series_graph
from pgmx.models.files.uai import build_network, read_uai, write_uai
from pgmx.models.files.xdsl import read_xdsl, write_xdsl
from pgmx.models.gaussian_network import GaussianMarkovNetwork
from pgmx.models.markov_network import PairwiseMarkovNetwork
from pgmx.models.mixed.network import ConditionalGaussianNetwork
from pgmx.models.time_series.dynamic.network import DynamicBayesianNetwork
from pgmx.models.time_series.dynamic.two_slice_network import choose_class
from pgmx.models.time_series.graph import TimeSeriesGraph
from pgmx.models.time_series.linear_dynamical_system import LinearDynamicalSystem

Network = TypeVar("Network")

#: Formats that `save_model` writes; each is also a file suffix.
FORMATS = ("bif", "xmlbif", "net", "xdsl", "graphml", "json", "npz", "uai")

#: Formats of discrete Bayesian networks: their writers and readers.
_TABLE_WRITERS: dict[str, Callable[[DiscreteBayesianNetwork], bytes]] = {
    "bif": lambda model: write_bif(model, "bif"),
    "xmlbif": lambda model: write_bif(model, "xmlbif"),
    "net": write_net,
    "xdsl": write_xdsl,
}
_TABLE_READERS: dict[str, Callable[[bytes], DiscreteBayesianNetwork]] = {
    "bif": lambda raw: read_bif(raw, "bif"),
    "xmlbif": lambda raw: read_bif(raw, "xmlbif"),
    "net": read_net,
    "xdsl": read_xdsl,
}


def save_model(
    model: nx.Graph | LinearDynamicalSystem | DynamicBayesianNetwork | FittedLearner,
    path: str | os.PathLike,
    format: str | None = None,
) -> Path:
    """Write a graph or a fitted network to a file.

    Parameters
    ----------
    model : networkx.Graph, LinearDynamicalSystem, DynamicBayesianNetwork or fitted learner
        A fitted ``DiscreteBayesianNetwork`` for bif, xmlbif, net (Hugin), xdsl (GeNIe) and uai; for graphml and json
        also a ``DAG``, ``PDAG``, ``PAG`` or a networkx graph; for json also a ``LinearGaussianBayesianNetwork`` or a
        ``ConditionalGaussianNetwork`` with its parameters; for json and uai a ``DiscreteMarkovNetwork`` with factors
        of any order; for graphml, json, npz and uai a ``PairwiseMarkovNetwork``, as `save_markov_network` writes it;
        for graphml, json and npz a ``GaussianMarkovNetwork``, as `save_gaussian_network` writes it; for graphml and
        json a ``TimeSeriesGraph``; for npz a ``LinearDynamicalSystem``; for json a ``DynamicBayesianNetwork``, for
        bif the network of the first rows of a discrete one. For a learner, its `model_` is written, or its `graph_`
        if the format cannot hold the parameters. The object is not changed.
    path : str or path
        The file to write; an existing file is replaced. An additional suffix ``.gz``, as in ``asia.bif.gz``, compresses
        it; npz is always compressed.
    format : {"bif", "xmlbif", "net", "xdsl", "graphml", "json", "npz", "uai"} or None, default=None
        None: the suffix of ``path`` (``.bifxml`` also means xmlbif).

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For an unknown format or suffix, a network without (consistent) parameters, an inconsistent graph (such as a
        PDAG with a directed cycle), names or states that become the same text, such as 1 and "1", and, for graphml,
        names with control characters, which XML forbids. Nothing is written then.
    TypeError
        For an object that the format cannot hold.
    FileNotFoundError
        If the folder does not exist.

    Notes
    -----
    bif and xmlbif: names and states become text, and nodes are read back sorted by name. Characters that pgmpy's
    readers would change (spaces, commas, empty text, letters beyond ASCII, names that differ only by case in bif) are
    written with escapes, such as ``_x0020_`` for a space; `read_model` decodes them. Plain names are unchanged. Roles,
    latent marks, and attributes of nodes and edges are not saved, except weights in graphml and json.

    net and xdsl: names and states become text, and probabilities keep every bit. Names in both, and states in xdsl,
    are written as identifiers (a letter, then letters, digits and underscores) with the same escapes: the state "1" of
    xdsl becomes ``n_xempty_1``. xdsl lists parents before their children, and has the original names as labels.

    graphml holds the node (name, lag) of a ``TimeSeriesGraph`` as the text ``name@t-lag``, with names as text. json
    holds it as the list [name, lag]. Both keep every bit of the edge attributes.

    json holds a ``DynamicBayesianNetwork`` with its transition and prior networks, each as a
    ``ConditionalGaussianNetwork``; one of a single lag and discrete variables is read as ``TwoSliceBayesianNetwork``.
    bif holds the network of its first L + 1 rows, with the variables ``name@t-lag``; ``DynamicBayesianNetwork.load``
    reads it as one with a prior network.

    json holds a ``ConditionalGaussianNetwork`` with the `distributions` that ``custom.fit`` of R's bnlearn accepts. A
    discrete variable has ``levels`` and ``prob``, an array over its levels and the levels of each parent. A continuous
    variable has ``sd`` and ``coef``: a row of intercepts, a row per continuous parent, and a column per configuration
    of the discrete parents, the first parent varying fastest. Every bit of the values is kept.

    graphml and the node-link part of json hold an undirected edge of a ``PDAG`` as two opposite edges, marked by
    ``kind="undirected"``. graphml holds the marks of a ``PAG`` as ``source_mark`` and ``target_mark`` of its edges,
    json as a list of two marks.

    Cost: linear in the number of cells of the tables. LINK (724 nodes) takes 0.8 s as bif and 0.04 s as json.

    Examples
    --------
    >>> import tempfile
    >>> from pgmpy.base import DAG
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(DAG([("rain", "wet")]), f"{folder}/graph.graphml")
    ...     list(nx.read_graphml(path).edges())
    [('rain', 'wet')]
    """
    # Before anything is computed: a wrong path is refused at once.
    path, format = check_target(path, format, FORMATS)
    model = _choose_result(model, format)
    if isinstance(model, TimeSeriesGraph | LinearDynamicalSystem | DynamicBayesianNetwork) and format in model._writers:
        return model.save(path, format)
    if isinstance(model, LinearDynamicalSystem | DynamicBayesianNetwork):
        formats = " or ".join(model._writers)
        raise TypeError(f"{format} holds no {type(model).__name__}; use {formats}, or save the graph of to_networkx()")
    if not isinstance(model, nx.Graph) or model.is_multigraph():
        raise TypeError(
            f"expected a pgmpy network, DAG, PDAG, networkx graph or fitted learner; got {type(model).__name__}"
        )
    if isinstance(model, PairwiseMarkovNetwork) and format in MARKOV_WRITERS:
        return model.save(path, format)
    if isinstance(model, GaussianMarkovNetwork) and format in GAUSSIAN_WRITERS:
        return model.save(path, format)
    if isinstance(model, ConditionalGaussianNetwork) and format in MIXED_WRITERS and model._is_fixed():
        return model.save(path, format)
    if format == "uai" and isinstance(model, DiscreteMarkovNetwork):
        return _write(path, write_uai(read_tables(model), str(model.name or "")))
    if format == "uai" and isinstance(model, DiscreteBayesianNetwork):
        return _write(path, write_uai(read_families(model), str(model.name or ""), "BAYES"))
    if format in ("npz", "uai"):
        held = "DiscreteMarkovNetwork or a DiscreteBayesianNetwork"
        if format == "npz":
            held = "PairwiseMarkovNetwork, a GaussianMarkovNetwork or a LinearDynamicalSystem"
        raise TypeError(f"{format} holds a {held}, not a {type(model).__name__}; use graphml or json")
    if format == "graphml":
        raw = write_graph(model)
    elif format == "json":
        raw = write_document(describe_graph(model))
    elif isinstance(model, DiscreteBayesianNetwork):
        raw = _TABLE_WRITERS[format](model)
    else:
        raise TypeError(
            f"{format} holds a fitted DiscreteBayesianNetwork, not a {type(model).__name__}; save the fitted network "
            "(of a learner: model_), or use graphml or json"
        )
    return _write(path, raw)


def _choose_result(source: Any, format: str) -> Any:
    """Return the model of a fitted learner, or its graph if the format does not hold parameters."""
    if format not in ("graphml", "json"):
        return get_model(source)
    model = getattr(source, "model_", None)  # an AttributeError if the learner has a graph without a network
    if format == "graphml":
        holds = isinstance(model, PairwiseMarkovNetwork | GaussianMarkovNetwork)
    else:
        holds = model is not None and not isinstance(model, LinearDynamicalSystem)
    return model if holds else get_graph(source)


def _write(path: Path, raw: bytes) -> Path:
    content = pack_content(path, raw)
    with replace_file(path) as part:
        part.write_bytes(content)
    return path


def read_model(
    path: str | os.PathLike, format: str | None = None
) -> nx.Graph | LinearDynamicalSystem | DynamicBayesianNetwork:
    """Read a network from bif, xmlbif, net, xdsl or uai, or from json or npz of `save_model`.

    Parameters
    ----------
    path : str or path
        The file; it is decompressed if it has an additional suffix ``.gz``, as in ``asia.bif.gz``.
    format : {"bif", "xmlbif", "net", "xdsl", "graphml", "json", "npz", "uai"} or None, default=None
        None: the suffix of ``path`` (``.bifxml`` also means xmlbif). A file with the suffix ``.xml`` is recognised by
        its content.

    Returns
    -------
    networkx.Graph, LinearDynamicalSystem or DynamicBayesianNetwork
        A ``DiscreteBayesianNetwork`` from bif, xmlbif, net and xdsl, with text for names and states and the escapes of
        `save_model` decoded; from json the result of `read_json`; from npz a ``PairwiseMarkovNetwork``, a
        ``GaussianMarkovNetwork`` or a ``LinearDynamicalSystem``; from graphml a ``TimeSeriesGraph``; from uai a
        ``PairwiseMarkovNetwork``, a ``DiscreteMarkovNetwork`` if a factor has more than two variables, or a
        ``DiscreteBayesianNetwork`` if its type is BAYES.

    Raises
    ------
    ValueError
        For another format (read other graphml with networkx), for json that pgmx did not write, and for a file that is
        damaged or lacks the probabilities of a node.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    Probabilities must not be negative, and the sum of each column must be 1 within 0.01, since programs round them.
    Duplicate rows or tables are refused. Text is in UTF-8 or has a byte-order mark; XML has its declared encoding.

    Only tables are read. Decision and utility nodes (influence diagrams), continuous nodes, noisy-or and noisy-max
    distributions, object-oriented and dynamic networks raise an error that names them. Deterministic nodes of xdsl
    become tables of zeros and ones.

    xdsl is read in the order of GeNIe: the states of the last parent vary faster than the states of the first parent.
    pyAgrum 3.3 writes and reads the opposite order. Its files name the program and are read in that order.

    Compressed files may hold 64 MiB plus 100 bytes per byte of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pgmpy.factors.discrete import TabularCPD
    >>> network = DiscreteBayesianNetwork()
    >>> network.add_node("wet?")
    >>> network.add_cpds(TabularCPD("wet?", 2, [[0.25], [0.75]], state_names={"wet?": ["no", "yes, it is"]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(network, f"{folder}/wet.bif")
    ...     read_model(path).get_cpds("wet?").state_names
    {'wet?': ['no', 'yes, it is']}
    """
    path, format = find_format(path, format, FORMATS)
    if format == "json":
        return read_json(path)
    if format == "graphml" and is_time_series_graphml(read_content(path)):
        return TimeSeriesGraph.load(path, format)
    if format == "graphml":
        raise ValueError(
            "graphml holds a graph and no parameters; read it with networkx.read_graphml, a PairwiseMarkovNetwork with "
            "load_markov_network, a GaussianMarkovNetwork with load_gaussian_network"
        )
    # The type in the document decides; pairwise networks have none.
    if format == "npz" and is_system_npz(path):
        return LinearDynamicalSystem.load(path, format)
    if format == "npz" and is_gaussian_npz(path):
        return GaussianMarkovNetwork.load(path, format)
    if format == "npz":
        return PairwiseMarkovNetwork.load(path, format)
    raw = read_content(path)
    if format == "uai":
        with explain_unreadable(path, "a network in uai form"):
            network = read_uai(raw)
            if network.kind == "MARKOV" and all(len(scope) < 3 for scope in network.tables.scopes):
                return PairwiseMarkovNetwork.from_parts(make_pairwise(network))
            return build_network(network)
    with explain_unreadable(path, f"a Bayesian network in {format} form"):
        return _TABLE_READERS[format](raw)


def read_json(path: str | Path) -> nx.Graph | DynamicBayesianNetwork:
    """Read a graph or network that `save_model` wrote as json.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    networkx.Graph or DynamicBayesianNetwork
        An object of the class that was saved: ``DiscreteBayesianNetwork`` or ``LinearGaussianBayesianNetwork`` with
        their CPDs, ``ConditionalGaussianNetwork``, ``DiscreteMarkovNetwork`` with its factors,
        ``PairwiseMarkovNetwork``, ``GaussianMarkovNetwork``, ``TimeSeriesGraph``, ``DAG``, ``PDAG``, ``PAG``,
        ``DiGraph``, ``Graph``, ``TwoSliceBayesianNetwork`` or ``DynamicBayesianNetwork``; nodes, parents and states
        keep their order.

    Raises
    ------
    ValueError
        If the file is not json of `save_model`, it contradicts itself, or a CPD holds no probabilities.

    Examples
    --------
    >>> import tempfile
    >>> from pgmpy.base import DAG
    >>> from pgmx.models import save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(DAG([("a", "b")]), f"{folder}/dag.json")
    ...     list(read_json(path).edges())
    [('a', 'b')]
    """
    path = check_path(path)
    raw = read_content(path)
    with explain_unreadable(path, "a model that pgmx saved as json"):
        document = read_document(raw)
        if document["type"] == PairwiseMarkovNetwork.__name__:
            return PairwiseMarkovNetwork.from_parts(parse_markov(document))
        if document["type"] == GaussianMarkovNetwork.__name__:
            return GaussianMarkovNetwork.from_parts(parse_gaussian(document))
        if document["type"] == MIXED_TYPE:
            return ConditionalGaussianNetwork.from_parts(parse_mixed(document))
        if document["type"] == GRAPH_TYPE:
            return TimeSeriesGraph.from_parts(parse_time_series_graph(document))
        if document["type"] == DYNAMIC_TYPE:
            return choose_class(parse_dynamic(document))
        return build_graph(document)


def save_markov_network(
    network: PairwiseMarkovNetwork | FittedLearner, path: str | os.PathLike, format: str | None = None
) -> Path:
    """Write a pairwise Markov network to a file.

    Parameters
    ----------
    network : PairwiseMarkovNetwork or fitted learner
        The network; it is not changed.
    path : str or path
        The file to write; an existing file is replaced.
    format : {"npz", "json", "graphml", "uai"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError, TypeError, FileNotFoundError
        As `save_model` does.

    Notes
    -----
    npz, json and graphml keep every bit of the log-potentials; a cell of probability zero is null in json and graphml.
    uai holds their exponentials in plain decimals, which pgmpy's reader needs. Of the attributes of the graph only its
    name is saved.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.datasets import grid_network
    >>> from pgmx.models import load_markov_network, save_markov_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_markov_network(save_markov_network(grid_network(3, 3), f"{folder}/grid.npz"))
    PairwiseMarkovNetwork(9 variables, 12 edges)
    """
    return _check_class(get_model(network), PairwiseMarkovNetwork).save(path, format)


def load_markov_network(path: str | os.PathLike, format: str | None = None) -> PairwiseMarkovNetwork:
    """Read a pairwise Markov network from a file.

    Parameters
    ----------
    path : str or path
        A file of `save_markov_network`, or a UAI file of the type MARKOV with factors of one and two variables;
        `read_model` reads other UAI files.
    format : {"npz", "json", "graphml", "uai"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    PairwiseMarkovNetwork
        Names and states as saved; from a UAI file of other programs "var_0", "var_1", ... with the states 0, 1, ...

    Raises
    ------
    ValueError, FileNotFoundError
        As `read_model` does.

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


def save_gaussian_network(
    network: GaussianMarkovNetwork | FittedLearner, path: str | os.PathLike, format: str | None = None
) -> Path:
    """Write a Gaussian Markov network to a file.

    Parameters
    ----------
    network : GaussianMarkovNetwork or fitted learner
        The network; it is not changed.
    path : str or path
        The file to write; an existing file is replaced.
    format : {"npz", "json", "graphml"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError, TypeError, FileNotFoundError
        As `save_model` does.

    Notes
    -----
    All three formats keep every bit of precision, scale, mean and transforms. Of the attributes of the graph, its nodes
    and its edges, only the name of the graph is saved.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.datasets import gaussian_chain_network
    >>> from pgmx.models import load_gaussian_network, save_gaussian_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_gaussian_network(save_gaussian_network(gaussian_chain_network(5), f"{folder}/chain.npz"))
    GaussianMarkovNetwork(5 variables, 4 edges)
    """
    return _check_class(get_model(network), GaussianMarkovNetwork).save(path, format)


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
    ValueError, FileNotFoundError
        As `read_model` does.

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


def _check_class(network: object, kind: type[Network]) -> Network:
    """Return a network; raise TypeError for an object of another class."""
    if not isinstance(network, kind):
        raise TypeError(f"network must be a {kind.__name__}, got {type(network).__name__}: save_model saves others")
    return network

"""The json form of graphs and fitted networks: a node-link graph with states and parameters beside it."""

import json
import math
from pathlib import Path

import networkx as nx
import numpy as np
from pgmpy.base import DAG, PDAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

__all__ = ["graph_class", "json_text", "plain", "read_json"]

# Most special first: the first class of which a graph is an instance is its type.
_CLASSES = {
    kind.__name__: kind
    for kind in (DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, DAG, PDAG, nx.DiGraph, nx.Graph)
}


def graph_class(graph: nx.Graph) -> str:
    """Return the name of the class under which a graph is stored.

    Parameters
    ----------
    graph : networkx.Graph
        A graph or network, without parallel edges.

    Returns
    -------
    str
        The most special class that it belongs to.

    Raises
    ------
    TypeError
        For other objects and for multigraphs.

    Examples
    --------
    >>> graph_class(DAG([("a", "b")]))
    'DAG'
    """
    if not isinstance(graph, nx.Graph) or graph.is_multigraph():
        raise TypeError(f"expected a pgmpy network, DAG, PDAG or networkx graph; got {type(graph).__name__}")
    return next(name for name, kind in _CLASSES.items() if isinstance(graph, kind))


def json_text(graph: nx.Graph) -> str:
    """Return the json form of a graph or fitted network.

    Parameters
    ----------
    graph : networkx.Graph
        A graph or network; names and states must be text, numbers, booleans or None.

    Returns
    -------
    str
        One line of ASCII.

    Raises
    ------
    TypeError, ValueError
        For names or states that json does not hold, such as tuples or dates, and for infinite numbers.

    Examples
    --------
    >>> json.loads(json_text(DAG([("a", "b")])))["edges"]
    [{'source': 'a', 'target': 'b'}]
    """
    cpds = list(getattr(graph, "cpds", []))
    states = {name: found for cpd in cpds for name, found in getattr(cpd, "state_names", {}).items()}
    nodes = []
    for name in graph.nodes():
        nodes.append({"id": plain(name, "the name")})
        if name in states:
            nodes[-1]["states"] = [plain(state, f"a state of {name!r}:") for state in states[name]]
    document = {
        "format": "pgmx",
        "version": 1,
        "type": graph_class(graph),
        "directed": graph.is_directed(),
        "multigraph": False,
        "graph": {"name": graph.name} if isinstance(graph.name, str) and graph.name else {},
        "nodes": nodes,
        "edges": [_edge(graph, u, v, weight) for u, v, weight in graph.edges(data="weight")],
    }
    if cpds:
        document["cpds"] = [_parameters(cpd) for cpd in cpds]
    return json.dumps(document, allow_nan=False)


def plain(value: object, what: str) -> object:
    """Return a value as json has it, or raise; `what` says what it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in (str, int, float, bool, type(None)) or (type(value) is float and not math.isfinite(value)):
        raise TypeError(f"{what} {value!r} has no place in json, which holds text, finite numbers, booleans and None")
    return value


def _edge(graph: nx.Graph, u: object, v: object, weight: object) -> dict:
    edge = {"source": plain(u, "the name"), "target": plain(v, "the name")}
    if weight is not None:
        edge["weight"] = plain(weight, f"the weight of {u!r} -> {v!r}:")
    if isinstance(graph, PDAG):
        edge["kind"] = "undirected" if graph.has_edge(v, u) else "directed"
        if edge["kind"] == "undirected" and (u, v) not in graph.undirected_edges:
            edge["opposite"] = True  # pgmpy names an undirected edge by one of its two directions
    return edge


def _parameters(cpd: TabularCPD | LinearGaussianCPD) -> dict:
    if isinstance(cpd, LinearGaussianCPD):
        return {
            "variable": plain(cpd.variable, "the name"),
            "evidence": [plain(name, "the name") for name in cpd.evidence],
            "beta": np.asarray(cpd.beta, dtype=float).tolist(),
            "std": float(cpd.std),
        }
    return {
        "variable": plain(cpd.variable, "the name"),
        "evidence": [plain(name, "the name") for name in cpd.variables[1:]],
        "values": np.asarray(cpd.get_values(), dtype=float).tolist(),
    }


def read_json(path: str | Path) -> nx.Graph:
    """Read a graph or network that `save_model` wrote as json.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    networkx.Graph
        An object of the class that was saved: ``DiscreteBayesianNetwork`` or ``LinearGaussianBayesianNetwork`` with
        their CPDs, ``PairwiseMarkovNetwork``, ``GaussianMarkovNetwork``, ``DAG``, ``PDAG``, ``DiGraph`` or ``Graph``;
        nodes, parents and states in the order they had.

    Raises
    ------
    ValueError
        When the file is not such a json, or its parts contradict each other.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.models import save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(DAG([("a", "b")]), f"{folder}/dag.json")
    ...     list(read_json(path).edges())
    [('a', 'b')]
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("format") != "pgmx" or document.get("version") != 1:
            raise ValueError("it is not marked as format 'pgmx', version 1")
        return _built(document)
    except (KeyError, TypeError, ValueError) as error:  # a JSONDecodeError and a UnicodeDecodeError are ValueErrors
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a model that pgmx saved as json: {what}") from error


def _built(document: dict) -> nx.Graph:
    """Return the object that a document describes."""
    if document["type"] == "PairwiseMarkovNetwork":
        from pgmx.models.files.markov import network_of

        return network_of(document)
    if document["type"] == "GaussianMarkovNetwork":
        from pgmx.models.files import gaussian as gaussian_files

        return gaussian_files.network_of(document)
    if document["type"] not in _CLASSES:
        raise ValueError(f"its type is {document['type']!r}; expected one of {list(_CLASSES)}")
    graph = _CLASSES[document["type"]]()
    graph.graph.update(document["graph"])
    graph.add_nodes_from(node["id"] for node in document["nodes"])
    edges = [(edge["source"], edge["target"]) for edge in document["edges"]]
    unknown = sorted({repr(name) for edge in edges for name in edge if name not in graph})
    if unknown:
        raise ValueError(f"its edges name unknown nodes: {', '.join(unknown)}")
    if isinstance(graph, DAG):  # networkx's own method: pgmpy's take weights each in another way
        weighted = [
            (*ends, {"weight": edge.get("weight")}) for ends, edge in zip(edges, document["edges"], strict=True)
        ]
        nx.DiGraph.add_edges_from(graph, weighted)
        if not nx.is_directed_acyclic_graph(graph):
            raise ValueError("its edges form a cycle")
    else:
        for (u, v), edge in zip(edges, document["edges"], strict=True):
            graph.add_edge(u, v, **({"weight": edge["weight"]} if "weight" in edge else {}))
    if isinstance(graph, PDAG):
        for ends, edge in zip(edges, document["edges"], strict=True):
            if edge["kind"] == "directed":
                graph.directed_edges.add(ends)
            elif not edge.get("opposite", False):
                graph.undirected_edges.add(ends)
    _add_parameters(graph, document)
    return graph


def _add_parameters(graph: nx.Graph, document: dict) -> None:
    cpds = document.get("cpds", [])
    if isinstance(graph, LinearGaussianBayesianNetwork):
        graph.add_cpds(*(LinearGaussianCPD(c["variable"], c["beta"], c["std"], c["evidence"]) for c in cpds))
    elif isinstance(graph, DiscreteBayesianNetwork):
        states = {node["id"]: node.get("states") for node in document["nodes"]}
        for cpd in cpds:
            scope = [cpd["variable"], *cpd["evidence"]]
            names = {name: list(states[name]) for name in scope}
            cards = [len(names[name]) for name in scope]
            values = np.array(cpd["values"], dtype=float)
            graph.add_cpds(TabularCPD(scope[0], cards[0], values, scope[1:], cards[1:], state_names=names))
    if cpds and len(cpds) == len(graph):
        graph.check_model()

"""The json form of graphs and fitted networks: a node-link graph with states and parameters."""

import json
import math
import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pgmpy.models
from pgmpy.base import DAG, PDAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.models import DiscreteMarkovNetwork

from pgmx.checks import join_names
from pgmx.inference.named_networks import NamedTables, read_tables
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.files.formats import (
    MARKS,
    check_distinct,
    check_list,
    check_marks,
    check_name,
    check_probabilities,
    load_json,
)
from pgmx.models.pag import PAG

# Subclasses come first: the type of a graph is the first class that it is an instance of.
_CLASSES = {
    kind.__name__: kind
    for kind in (
        pgmpy.models.DiscreteBayesianNetwork,
        pgmpy.models.LinearGaussianBayesianNetwork,
        DAG,
        PDAG,
        nx.DiGraph,
        DiscreteMarkovNetwork,
        PAG,
        nx.Graph,
    )
}
#: Our classes, which readers return in place of pgmpy's.
_OURS = {
    "DiscreteBayesianNetwork": DiscreteBayesianNetwork,
    "LinearGaussianBayesianNetwork": LinearGaussianBayesianNetwork,
}


def describe_graph(graph: nx.Graph) -> dict:
    """Return the document of a graph or of a pgmpy network with its parameters."""
    check_graph(graph)
    if isinstance(graph, DiscreteMarkovNetwork) and graph.factors:
        return _describe_factors(read_tables(graph), graph)
    cpds = list(getattr(graph, "cpds", []))
    states = {name: labels for cpd in cpds for name, labels in getattr(cpd, "state_names", {}).items()}
    nodes = []
    for name in graph.nodes():
        nodes.append({"id": to_json_value(name, "the name")})
        if name in states:
            nodes[-1]["states"] = [to_json_value(state, f"a state of {name!r}:") for state in states[name]]
    edges = [_describe_edge(graph, u, v, weight) for u, v, weight in graph.edges(data="weight")]
    kind = next(name for name, kind in _CLASSES.items() if isinstance(graph, kind))
    document = make_document(kind, _describe_name(graph), nodes, edges, directed=graph.is_directed())
    if cpds:
        document["cpds"] = [_describe_parameters(cpd) for cpd in cpds]
    return document


def _describe_factors(tables: NamedTables, graph: DiscreteMarkovNetwork) -> dict:
    """Return the document of a Markov network: nodes with states, and the values of its factors of any order."""
    names, states = to_json_labels(tables.names, tables.states)
    nodes = [{"id": name, "states": labels} for name, labels in zip(names, states, strict=True)]
    edges = [_describe_edge(graph, u, v, weight) for u, v, weight in graph.edges(data="weight")]
    document = make_document("DiscreteMarkovNetwork", _describe_name(graph), nodes, edges)
    document["factors"] = [
        {"variables": [names[v] for v in scope], "values": values.tolist()}
        for scope, values in zip(tables.scopes, tables.tables, strict=True)
    ]
    return document


def _describe_name(graph: nx.Graph) -> dict:
    return {"name": graph.name} if isinstance(graph.name, str) and graph.name else {}


def make_document(kind: str, about: dict, nodes: list[dict], edges: list[dict], *, directed: bool = False) -> dict:
    """Return a node-link graph with the mark of pgmx; `about` holds its name and origin."""
    document = {**MARKS, "type": kind, "directed": directed, "multigraph": False}
    return {**document, "graph": about, "nodes": nodes, "edges": edges}


def write_document(document: dict) -> bytes:
    """Return a document as one line of ASCII."""
    return json.dumps(document, allow_nan=False).encode("ascii")


def read_document(raw: bytes) -> dict:
    """Return the document in a json file, of any type."""
    document = load_json(raw)
    check_marks(document)
    return document


def to_json_value(value: object, what: str) -> object:
    """Return a value of a json type, or raise; `what` describes the value in the error."""
    # The json module refuses numpy's scalars.
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in (str, int, float, bool, type(None)) or (type(value) is float and not math.isfinite(value)):
        raise TypeError(
            f"{what} {value!r} cannot be saved in json, which holds text, finite numbers, booleans and None"
        )
    return value


def to_json_labels(names: Sequence, states: Sequence[Sequence]) -> tuple[list, list[list]]:
    """Return names and states as values of json types, or raise."""
    labels = zip(names, states, strict=True)
    return (
        [to_json_value(name, "the name") for name in names],
        [[to_json_value(state, f"a state of {name!r}:") for state in of_name] for name, of_name in labels],
    )


def _describe_edge(graph: nx.Graph, u: object, v: object, weight: object) -> dict:
    edge = {"source": to_json_value(u, "the name"), "target": to_json_value(v, "the name")}
    if weight is not None:
        edge["weight"] = check_weight(u, v, to_json_value(weight, f"the weight of {u!r} -> {v!r}:"))
    if isinstance(graph, PDAG):
        edge["kind"] = "undirected" if graph.has_edge(v, u) else "directed"
        if edge["kind"] == "undirected" and (u, v) not in graph.undirected_edges:
            edge["opposite"] = True  # pgmpy lists an undirected edge in one of its two directions
    if isinstance(graph, PAG):
        marks = graph.edges[u, v]["marks"]
        edge["marks"] = [marks[u], marks[v]]
    return edge


def _describe_parameters(cpd: TabularCPD | LinearGaussianCPD) -> dict:
    if isinstance(cpd, LinearGaussianCPD):
        return {
            "variable": to_json_value(cpd.variable, "the name"),
            "evidence": [to_json_value(name, "the name") for name in cpd.evidence],
            "beta": np.asarray(cpd.beta, dtype=float).tolist(),
            "std": float(cpd.std),
        }
    return {
        "variable": to_json_value(cpd.variable, "the name"),
        "evidence": [to_json_value(name, "the name") for name in cpd.variables[1:]],
        "values": np.asarray(cpd.get_values(), dtype=float).tolist(),
    }


def check_graph(graph: Any) -> None:
    """Raise unless a graph is valid and agrees with its parameters.

    Graphs of networks have no self-loops (other directed graphs may have them). Directed edges form no cycle and do not
    join two variables in both directions. CPDs have the parents of their variables. Factors are over cliques.
    """
    if type(graph) is not nx.DiGraph and nx.number_of_selfloops(graph):
        raise ValueError(f"an edge joins {next(nx.nodes_with_selfloops(graph))!r} to itself")
    directed = graph if isinstance(graph, DAG) else _check_marks(graph) if isinstance(graph, PDAG) else nx.DiGraph()
    if not nx.is_directed_acyclic_graph(directed):
        raise ValueError("its directed edges form a cycle")
    for cpd in getattr(graph, "cpds", []):
        parents = cpd.evidence if isinstance(cpd, LinearGaussianCPD) else cpd.variables[1:]
        if set(parents) != set(graph.predecessors(cpd.variable)):
            raise ValueError(f"the CPD of {cpd.variable!r} does not have the parents of its edges")
    factors: Any = getattr(graph, "factors", [])
    for factor in factors:
        for u, v in combinations(factor.scope(), 2):
            if not graph.has_edge(u, v):
                raise ValueError(f"a factor has the variables {u!r} and {v!r}, which no edge joins")
    if factors:
        lone = set(graph.nodes()).difference(*(factor.scope() for factor in factors))
        if lone:
            raise ValueError(f"{join_names(lone)} is in no factor: add a factor of ones")


def _check_marks(graph: PDAG) -> nx.DiGraph:
    """Return the directed edges of a PDAG; raise for pairs that are not joined by exactly one edge."""
    for u, v in graph.edges():
        is_directed = (u, v) in graph.directed_edges
        is_undirected = not graph.undirected_edges.isdisjoint(((u, v), (v, u)))
        if is_directed == is_undirected or graph.has_edge(v, u) != is_undirected:
            raise ValueError(f"{u!r} and {v!r} must be joined by one directed or by one undirected edge")
    return nx.DiGraph(graph.directed_edges)


def check_weight(u: object, v: object, weight: Any) -> Any:
    """Return the weight of an edge; raise unless it is a number in the range of a float."""
    if type(weight) not in (int, float) or not abs(weight) <= sys.float_info.max:
        raise ValueError(f"the weight of {u!r} -> {v!r} is {weight!r:.60}")
    return weight


def build_graph(document: dict) -> nx.Graph:
    """Return the graph or network that a document describes; the inverse of `describe_graph`."""
    if document["type"] not in _CLASSES:
        raise ValueError(f"its type is {document['type']!r}; expected one of {list(_CLASSES)}")
    graph = (_CLASSES | _OURS)[document["type"]]()
    graph.graph.update(_read_name(document))
    names = [to_json_value(node["id"], "the name") for node in check_list(document["nodes"], "its nodes")]
    check_distinct(names, "the names of nodes")
    graph.add_nodes_from(names)
    _add_edges(graph, check_list(document["edges"], "its edges"))
    _add_parameters(graph, document)
    if isinstance(graph, DiscreteMarkovNetwork):
        states = {node["id"]: node.get("states") for node in document["nodes"]}
        graph.add_factors(
            *(_build_factor(factor, states) for factor in check_list(document.get("factors", []), "its factors"))
        )
    check_graph(graph)
    return graph


def _read_name(document: dict) -> dict:
    name = check_name(document["graph"].get("name", ""))
    return {"name": name} if name else {}


def _add_edges(graph: Any, edges: list[dict]) -> None:
    """Add the edges of a document to a graph, with their weights and marks."""
    ends = [(edge["source"], edge["target"]) for edge in edges]
    check_distinct(ends if graph.is_directed() else map(frozenset, ends), "its edges")
    unknown = sorted({repr(name) for pair in ends for name in pair if name not in graph})
    if unknown:
        raise ValueError(f"its edges name unknown nodes: {', '.join(unknown)}")
    for (u, v), edge in zip(ends, edges, strict=True):
        if edge.get("weight") is not None:
            check_weight(u, v, edge["weight"])
    if isinstance(graph, DAG):  # networkx's own method: pgmpy's methods accept weights in different ways
        weighted = [(*pair, {"weight": edge.get("weight")}) for pair, edge in zip(ends, edges, strict=True)]
        nx.DiGraph.add_edges_from(graph, weighted)
        return
    for (u, v), edge in zip(ends, edges, strict=True):
        graph.add_edge(u, v, **({"weight": edge["weight"]} if "weight" in edge else {}))
        if isinstance(graph, PAG):
            u_mark, v_mark = check_list(edge["marks"], "the marks of an edge")
            graph.add_edge(u, v, u_mark, v_mark)
        if isinstance(graph, PDAG):
            if edge["kind"] not in ("directed", "undirected"):
                raise ValueError(f"the kind of {u!r} -> {v!r} is {edge['kind']!r:.60}, not directed or undirected")
            if edge["kind"] == "directed":
                graph.directed_edges.add((u, v))
            elif not edge.get("opposite", False):
                graph.undirected_edges.add((u, v))


def _build_factor(factor: dict, states: dict) -> DiscreteFactor:
    """Return a factor of a document; raise if it disagrees with the states or has invalid values."""
    scope = check_list(factor["variables"], "the variables of a factor")
    check_distinct(scope, "the variables of a factor")
    labels = {name: check_list(states[name], f"the states of {name!r}") for name in scope}
    values, shape = np.array(factor["values"], dtype=float), tuple(map(len, labels.values()))
    if values.shape != shape:
        raise ValueError(f"the factor of {scope} has the shape {values.shape}, its states require {shape}")
    return make_factor(scope, values, labels)


def make_factor(scope: Sequence, values: np.ndarray, labels: dict) -> DiscreteFactor:
    """Return a factor of pgmpy; raise for negative or non-finite values."""
    if not ((values >= 0) & (values < math.inf)).all():
        raise ValueError(
            f"the factor of {list(scope)!r} holds {float(values.min())!r}: values must be finite and not negative"
        )
    return DiscreteFactor(list(scope), values.shape, values, state_names={name: labels[name] for name in scope})


def _add_parameters(graph: Any, document: dict) -> None:
    cpds = check_list(document.get("cpds", []), "its CPDs")
    if not isinstance(graph, DiscreteBayesianNetwork | LinearGaussianBayesianNetwork):
        return
    check_distinct((cpd["variable"] for cpd in cpds), "the variables of CPDs")
    states = {node["id"]: node.get("states") for node in document["nodes"]}
    for cpd in cpds:
        name, evidence = cpd["variable"], check_list(cpd["evidence"], "the evidence of a CPD")
        check_distinct((name, *evidence), f"the variables of the CPD of {name!r}")
        if isinstance(graph, LinearGaussianBayesianNetwork):
            graph.add_cpds(LinearGaussianCPD(name, _read_coefficients(cpd), cpd["std"], evidence))
            continue
        labels = {parent: check_list(states[parent], f"the states of {parent!r}") for parent in (name, *evidence)}
        values = np.array(cpd["values"], dtype=float)
        shape = (len(labels[name]), math.prod(len(labels[parent]) for parent in evidence))
        if values.shape != shape:
            raise ValueError(f"the CPD of {name!r} has the shape {values.shape}, its states require {shape}")
        check_probabilities(values, name)
        cards = [len(labels[parent]) for parent in evidence]
        graph.add_cpds(TabularCPD(name, shape[0], values, evidence, cards, state_names=labels))


def _read_coefficients(cpd: dict) -> list[float]:
    """Return the coefficients of a linear Gaussian CPD; raise for missing or non-finite values."""
    beta = np.array(cpd["beta"], dtype=float)
    if beta.shape != (1 + len(cpd["evidence"]),) or not np.isfinite(beta).all():
        raise ValueError(f"the CPD of {cpd['variable']!r} needs {1 + len(cpd['evidence'])} finite coefficients")
    if type(cpd["std"]) not in (int, float) or not 0.0 <= cpd["std"] < math.inf:
        raise ValueError(f"the standard deviation of {cpd['variable']!r} is {cpd['std']!r}")
    return beta.tolist()

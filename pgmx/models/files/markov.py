"""Pairwise Markov networks in files: npz and json without loss, uai and graphml for other programs.

graphml holds log-potentials as attributes of nodes and edges, and names and states as text. uai holds the exponentials
of the log-potentials, with names and states in a comment at the end that only pgmx reads.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from io import BytesIO
from typing import NamedTuple

import networkx as nx
import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.inference.named_networks import NamedTables
from pgmx.models.files.archives import read_archived_document, read_arrays, write_archive
from pgmx.models.files.documents import make_document, read_document, to_json_labels, write_document
from pgmx.models.files.formats import (
    MARKS,
    check_labels,
    check_list,
    check_marks,
    check_name,
    list_distinct_texts,
    load_json,
)
from pgmx.models.files.graphml import write_graphml
from pgmx.models.files.uai import UaiNetwork, read_uai, write_uai


class MarkovParts(NamedTuple):
    """The fields of a pairwise Markov network; `name` may be empty.

    The strengths of edges, shape (m,), are computed from the potentials; graphml holds them for other programs.
    """

    names: Sequence[Hashable]
    states: Sequence[Sequence]
    potentials: PairwisePotentials
    name: str = ""
    strengths: np.ndarray | None = None


# ---- json ----


def _describe(parts: MarkovParts) -> dict:
    """Return the document of the fields: a node-link graph with states and log-potentials, null for minus infinity."""
    potentials = parts.potentials
    names, states = to_json_labels(parts.names, parts.states)
    nodes = [
        {"id": name, "states": labels, "log_potentials": _replace_infinities(potentials.node(v))}
        for v, (name, labels) in enumerate(zip(names, states, strict=True))
    ]
    edges = [
        {
            "source": names[i],
            "target": names[j],
            "log_potentials": [_replace_infinities(row) for row in potentials.table(e)],
        }
        for e, (i, j) in enumerate(potentials.edges.tolist())
    ]
    return make_document("PairwiseMarkovNetwork", {"name": parts.name} if parts.name else {}, nodes, edges)


def parse_markov(document: dict) -> MarkovParts:
    """Return the fields in a json document; raise if it has another type or is damaged."""
    check_marks(document, "PairwiseMarkovNetwork")
    nodes, edges = check_list(document["nodes"], "its nodes"), check_list(document["edges"], "its edges")
    names, states = check_labels([node["id"] for node in nodes], [node["states"] for node in nodes])
    vectors = [_restore_infinities(node["log_potentials"]) for node in nodes]
    tables = {(edge["source"], edge["target"]): _restore_infinities(edge["log_potentials"]) for edge in edges}
    potentials = _build_potentials(names, states, vectors, tables, len(edges))
    return MarkovParts(names, states, potentials, check_name(document["graph"].get("name", "")))


def _build_potentials(names: list, states: list, vectors: list, tables: dict, n_edges: int) -> PairwisePotentials:
    """Return the potentials from vectors and from tables by names; `n_edges` detects duplicate edges."""
    position = {name: v for v, name in enumerate(names)}
    if len({frozenset(ends) for ends in tables}) < n_edges:
        raise ValueError("an edge occurs twice")
    pairs = [((position[u], position[v]), table) for (u, v), table in tables.items()]
    return PairwisePotentials.build([len(labels) for labels in states], vectors, pairs)


def _replace_infinities(values: np.ndarray) -> list:
    # JSON has no infinities.
    return [None if value == -np.inf else value for value in values.tolist()]


def _restore_infinities(values: list) -> np.ndarray:
    if values and isinstance(values[0], list):
        return np.array([_restore_infinities(row) for row in values])
    return np.array([-np.inf if value is None else value for value in values], dtype=np.float64)


# ---- npz ----


def _write_npz(parts: MarkovParts) -> bytes:
    names, states = to_json_labels(parts.names, parts.states)
    arrays = {key: getattr(parts.potentials, key) for key in ("node_values", "edges", "edge_values")}
    return write_archive({**MARKS, "name": parts.name, "names": names, "states": states}, arrays)


def _read_npz(raw: bytes) -> MarkovParts:
    document = read_archived_document(raw)
    names, states = check_labels(document["names"], document["states"])
    cards = np.array([len(labels) for labels in states], dtype=np.int64)
    total, n_pairs = sum(map(len, states)), len(names) * (len(names) - 1) // 2
    most = {"node_values": total, "edges": 2 * n_pairs, "edge_values": total**2}
    # Edges first: they tell how many cells the tables may have, before these are decompressed.
    edges = read_arrays(raw, most, ["edges"])["edges"].reshape(-1, 2)
    if edges.size and not 0 <= edges.min() <= edges.max() < len(names):
        raise ValueError(f"its edges join variables outside its {len(names)} variables")
    most["edge_values"] = int((cards[edges[:, 0]] * cards[edges[:, 1]]).sum())
    arrays = read_arrays(raw, most)
    potentials = PairwisePotentials(cards, arrays["node_values"], edges, arrays["edge_values"])
    return MarkovParts(names, states, potentials, check_name(document["name"]))


# ---- graphml ----


def _write_graphml(parts: MarkovParts) -> bytes:
    document = _describe(parts)
    list_distinct_texts(parts.names, "names of variables")  # raises for two names that become the same text
    graph = nx.Graph(**document["graph"])
    for node in document["nodes"]:
        list_distinct_texts(node["states"], f"states of {node['id']!r}")
        states = [str(state) for state in node["states"]]
        graph.add_node(str(node["id"]), states=json.dumps(states), log_potentials=json.dumps(node["log_potentials"]))
    for e, edge in enumerate(document["edges"]):
        weight = {} if parts.strengths is None else {"weight": float(parts.strengths[e])}
        u, v, table = str(edge["source"]), str(edge["target"]), json.dumps(edge["log_potentials"])
        # Not every program keeps the order of the two ends. An attribute names the end that the rows belong to.
        graph.add_edge(u, v, **weight, rows=u, log_potentials=table)
    return write_graphml(graph)


def _read_graphml(raw: bytes) -> MarkovParts:
    graph = nx.read_graphml(BytesIO(raw))
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    names, states = check_labels(list(graph.nodes()), [load_json(node["states"]) for node in nodes])
    vectors = [_restore_infinities(load_json(node["log_potentials"])) for node in nodes]
    tables = {}
    for u, v, edge in graph.edges(data=True):
        if edge["rows"] not in (u, v):
            raise ValueError(f"the rows of the edge of {u!r} and {v!r} belong to {edge['rows']!r}")
        table = _restore_infinities(load_json(edge["log_potentials"]))
        tables[u, v] = table if edge["rows"] == u else table.T
    potentials = _build_potentials(names, states, vectors, tables, graph.number_of_edges())
    return MarkovParts(names, states, potentials, graph.graph.get("name", ""))


# ---- uai ----


def _write_uai(parts: MarkovParts) -> bytes:
    potentials = parts.potentials
    scopes = [[v] for v in range(potentials.n_variables)] + potentials.edges.tolist()
    logs = [*map(potentials.node, range(potentials.n_variables)), *potentials.tables()]
    return write_uai(NamedTables(parts.names, parts.states, scopes, [np.exp(table) for table in logs]), parts.name)


def make_pairwise(network: UaiNetwork) -> MarkovParts:
    """Return the fields of a network whose factors have one or two variables."""
    if network.kind != "MARKOV":
        raise ValueError(f"it begins with {network.kind!r}, not with 'MARKOV'")
    tables = network.tables
    large = next((scope for scope in tables.scopes if len(scope) > 2), None)
    if large is not None:
        raise ValueError(
            f"it has a factor of {large}, which a pairwise network cannot hold: pgmx.models.read_model reads it as a "
            "DiscreteMarkovNetwork"
        )
    return MarkovParts(tables.names, tables.states, tables.to_factors().pairwise(), network.name)


#: Writers by format; each format is also a file suffix. uai does not normalise: scale the potentials to Z = 1 before.
MARKOV_WRITERS: dict[str, Callable[[MarkovParts], bytes]] = {
    "npz": _write_npz,
    "json": lambda parts: write_document(_describe(parts)),
    "graphml": _write_graphml,
    "uai": _write_uai,
}

#: Readers by format.
MARKOV_READERS: dict[str, Callable[[bytes], MarkovParts]] = {
    "npz": _read_npz,
    "json": lambda raw: parse_markov(read_document(raw)),
    "graphml": _read_graphml,
    "uai": lambda raw: make_pairwise(read_uai(raw)),
}

"""Graphs over (variable, lag) in json and graphml, and linear dynamical systems in npz.

json holds the node (name, lag) as the list [name, lag]. graphml holds it as the text ``name@t-lag``, with the name and
the lag as attributes.
"""

from collections.abc import Callable, Hashable, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from pgmx.models.files.archives import has_type, read_archived_document, read_arrays, write_archive
from pgmx.models.files.documents import make_document, read_document, to_json_value, write_document
from pgmx.models.files.formats import MARKS, check_distinct, check_list, check_marks, check_name, list_distinct_texts
from pgmx.models.files.graphml import write_graphml

GRAPH_TYPE = "TimeSeriesGraph"
_SYSTEM_TYPE = "LinearDynamicalSystem"
_NUMBERS = ("weight", "strength", "confidence")
_MOST_LAGS = 100_000


class GraphParts(NamedTuple):
    """Nodes (name, lag), edges (source, target, attributes), and the name of the graph, which may be empty."""

    nodes: Sequence[tuple[Hashable, int]]
    edges: Sequence[tuple[tuple, tuple, dict[str, Any]]]
    name: str = ""


class SystemParts(NamedTuple):
    """The matrices [target, source] of the lags 1 to L, all dense or all sparse, and the other parameters."""

    names: Sequence[Hashable]
    matrices: Sequence[np.ndarray | csr_array]
    intercept: np.ndarray
    noise: np.ndarray | None
    exogenous_coef: np.ndarray
    exogenous_names: Sequence[Hashable] = ()


# ---- graphs ----


def describe_time_series_graph(parts: GraphParts) -> dict:
    """Return the document of the fields: a node-link graph."""
    _check_marks(parts.edges)
    places = {node: [to_json_value(node[0], "the name"), node[1]] for node in parts.nodes}
    nodes = [{"id": place} for place in places.values()]
    edges = [
        {"source": places[u], "target": places[v], **_describe_attributes(u, v, numbers)}
        for u, v, numbers in parts.edges
    ]
    return make_document(GRAPH_TYPE, {"name": parts.name} if parts.name else {}, nodes, edges, directed=True)


def _check_marks(edges: Sequence[tuple[tuple, tuple, dict[str, Any]]]) -> None:
    """Raise unless each undirected edge joins two nodes of lag 0 and occurs in both directions."""
    marked = {(u, v) for u, v, numbers in edges if numbers.get("undirected")}
    for u, v in marked:
        if u[1] != 0 or (v, u) not in marked:
            raise ValueError(f"the undirected edge {u!r} -> {v!r} must be instantaneous and occur in both directions")


def _describe_attributes(u: tuple, v: tuple, numbers: dict[str, Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        key: to_json_value(numbers[key], f"the {key} of {u!r} -> {v!r}:")
        for key in _NUMBERS
        if numbers.get(key) is not None
    }
    return attributes | ({"undirected": True} if numbers.get("undirected") else {})


def parse_time_series_graph(document: dict) -> GraphParts:
    """Return the fields in a document; raise if it has another type or is damaged."""
    check_marks(document, GRAPH_TYPE)
    nodes = [_read_node(node["id"]) for node in check_list(document["nodes"], "its nodes")]
    check_distinct(nodes, "the nodes")
    known, edges = set(nodes), []
    for edge in check_list(document["edges"], "its edges"):
        u, v = _read_node(edge["source"]), _read_node(edge["target"])
        if u not in known or v not in known:
            raise ValueError(f"its edge {u!r} -> {v!r} joins unknown nodes")
        edges.append((u, v, _read_attributes(u, v, edge)))
    check_distinct(((u, v) for u, v, _ in edges), "the edges")
    _check_marks(edges)
    name = check_name(document["graph"].get("name", ""))
    return GraphParts(nodes, edges, name)


def _read_node(value: object) -> tuple[Hashable, int]:
    name, lag = check_list(value, "a node")
    if type(name) not in (str, int, float, bool) or type(lag) is not int or not 0 <= lag <= _MOST_LAGS:
        raise ValueError(f"a node must be [name, lag], got {value!r:.60}")
    return name, lag


def _read_attributes(u: tuple, v: tuple, edge: dict[str, Any]) -> dict[str, Any]:
    attributes = {key: edge[key] for key in _NUMBERS if key in edge}
    for key, value in attributes.items():
        if type(value) not in (int, float) or not abs(value) < np.inf:
            raise ValueError(f"the {key} of {u!r} -> {v!r} is {value!r:.60}")
    undirected = edge.get("undirected", False)
    if type(undirected) is not bool:
        raise ValueError(f"the mark 'undirected' of {u!r} -> {v!r} is {undirected!r:.60}")
    return attributes | ({"undirected": True} if undirected else {})


def _write_graph_as_graphml(parts: GraphParts) -> bytes:
    _check_marks(parts.edges)
    # raises for two names that become the same text
    list_distinct_texts((name for name, _ in parts.nodes), "names of variables")
    graph = nx.DiGraph(type=GRAPH_TYPE)
    if parts.name:
        graph.name = parts.name
    labels = {node: f"{node[0]}@t-{node[1]}" for node in parts.nodes}
    for (name, lag), label in labels.items():
        graph.add_node(label, variable=str(name), lag=lag)
    for u, v, numbers in parts.edges:
        attributes = _describe_attributes(u, v, numbers)
        for key in attributes.keys() & set(_NUMBERS):
            attributes[key] = float(attributes[key])
        graph.add_edge(labels[u], labels[v], **attributes)
    return write_graphml(graph)


def _read_graph_from_graphml(raw: bytes) -> GraphParts:
    graph = nx.read_graphml(BytesIO(raw))
    if graph.graph.get("type") != GRAPH_TYPE:
        raise ValueError(f"it is not marked as a {GRAPH_TYPE}")
    if not graph.is_directed() or graph.is_multigraph():
        raise ValueError("its graph is not directed, or an edge occurs twice")
    places = {label: [node["variable"], node["lag"]] for label, node in graph.nodes(data=True)}
    nodes = [{"id": place} for place in places.values()]
    edges = [{"source": places[u], "target": places[v], **numbers} for u, v, numbers in graph.edges(data=True)]
    about = {"name": graph.graph["name"]} if "name" in graph.graph else {}
    return parse_time_series_graph(make_document(GRAPH_TYPE, about, nodes, edges, directed=True))


def is_time_series_graphml(raw: bytes) -> bool:
    """Return whether a graphml file is marked as a graph over (variable, lag)."""
    # A search in the bytes: parsing a large graph twice would take long.
    return GRAPH_TYPE.encode() in raw


# ---- systems ----


def _write_system(parts: SystemParts) -> bytes:
    is_sparse = not isinstance(parts.matrices[0], np.ndarray)
    document = {
        **MARKS,
        "type": _SYSTEM_TYPE,
        "names": [to_json_value(name, "the name") for name in parts.names],
        "exogenous_names": [to_json_value(name, "the name") for name in parts.exogenous_names],
        "lags": len(parts.matrices),
        "noise": None if parts.noise is None else parts.noise.ndim,
        "sparse": is_sparse,
    }
    arrays: dict[str, Any] = {"intercept": parts.intercept, "exogenous_coef": parts.exogenous_coef}
    if parts.noise is not None:
        arrays["noise"] = parts.noise
    if is_sparse:
        entries = [csr_array(matrix).tocoo() for matrix in parts.matrices]
        document["counts"] = [len(matrix.data) for matrix in entries]
        arrays["entries"] = np.concatenate([matrix.data for matrix in entries])
        arrays["rows"] = np.concatenate([matrix.row.astype(np.int64) for matrix in entries])
        arrays["columns"] = np.concatenate([matrix.col.astype(np.int64) for matrix in entries])
    else:
        arrays["coef"] = np.stack([np.asarray(matrix) for matrix in parts.matrices])
    return write_archive(document, arrays)


def _read_system(raw: bytes) -> SystemParts:
    document = read_archived_document(raw)
    if document.get("type") != _SYSTEM_TYPE:
        raise ValueError(f"it is not marked as of the type {_SYSTEM_TYPE!r}")
    names = check_list(document["names"], "the names")
    exogenous = check_list(document["exogenous_names"], "the exogenous names")
    lags, dimensions, n = document["lags"], document["noise"], len(names)
    if type(lags) is not int or not 1 <= lags <= _MOST_LAGS:
        raise ValueError(f"its number of lags is {lags!r:.60}")
    if dimensions not in (None, 1, 2) or type(document["sparse"]) is not bool:
        raise ValueError(f"its noise has {dimensions!r:.60} dimensions, or its mark 'sparse' is invalid")
    most = {"intercept": n, "exogenous_coef": n * len(exogenous)}
    most |= {} if dimensions is None else {"noise": n**dimensions}
    if document["sparse"]:
        counts = _read_counts(document["counts"], lags, n * n)
        most |= dict.fromkeys(("entries", "rows", "columns"), sum(counts))
    else:
        most["coef"] = lags * n * n
    arrays = read_arrays(raw, most)
    for key, shape in (("noise", (n,) * (dimensions or 0)), ("coef", (lags, n, n))):
        if key in arrays and arrays[key].shape != shape:
            raise ValueError(f"its array {key!r} has the shape {arrays[key].shape}, not {shape}")
    matrices = _split_entries(arrays, counts, n) if document["sparse"] else list(arrays["coef"])
    noise, effects = arrays.get("noise"), arrays["exogenous_coef"]
    return SystemParts(names, matrices, arrays["intercept"], noise, effects, exogenous)


def _read_counts(value: object, lags: int, most: int) -> list[int]:
    """Return the number of entries per lag."""
    counts = check_list(value, "the counts of entries")
    if len(counts) != lags or any(type(count) is not int or not 0 <= count <= most for count in counts):
        raise ValueError(f"its counts of entries are {counts!r:.60}, for {lags} lags")
    return counts


def _split_entries(arrays: dict[str, np.ndarray], counts: list[int], n: int) -> list[csr_array]:
    """Return one sparse matrix per lag."""
    entries, rows, columns = (arrays[key] for key in ("entries", "rows", "columns"))
    if not entries.shape == rows.shape == columns.shape == (sum(counts),):
        raise ValueError(f"its arrays of entries do not have the length {sum(counts)}")
    if len(rows) and not (min(rows.min(), columns.min()) >= 0 and max(rows.max(), columns.max()) < n):
        raise ValueError(f"its coefficients must join two of its {n} series")
    bounds = np.cumsum([0, *counts])
    matrices = []
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        of_lag = slice(start, stop)
        # csr would add the two values silently.
        if len(np.unique(rows[of_lag] * n + columns[of_lag])) < stop - start:
            raise ValueError("a coefficient occurs twice")
        matrices.append(csr_array((entries[of_lag], (rows[of_lag], columns[of_lag])), shape=(n, n)))
    return matrices


def is_system_npz(path) -> bool:
    """Return whether a file is an npz of a linear dynamical system, without reading its arrays."""
    return has_type(path, _SYSTEM_TYPE)


#: Writers and readers by format; each format is also a file suffix.
GRAPH_WRITERS: dict[str, Callable[[GraphParts], bytes]] = {
    "json": lambda parts: write_document(describe_time_series_graph(parts)),
    "graphml": _write_graph_as_graphml,
}
GRAPH_READERS: dict[str, Callable[[bytes], GraphParts]] = {
    "json": lambda raw: parse_time_series_graph(read_document(raw)),
    "graphml": _read_graph_from_graphml,
}
SYSTEM_WRITERS: dict[str, Callable[[SystemParts], bytes]] = {"npz": _write_system}
SYSTEM_READERS: dict[str, Callable[[bytes], SystemParts]] = {"npz": _read_system}

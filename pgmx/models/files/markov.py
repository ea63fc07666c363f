"""Pairwise Markov networks in files: npz and json without loss, uai and graphml for other programs.

graphml holds log-potentials as attributes of nodes and edges, and text for names and states; uai the exponentials of
the log-potentials, with names and states in a comment at the end, for us alone.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from io import BytesIO
from typing import NamedTuple

import networkx as nx
import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.models.files.archives import read_archive, write_archive
from pgmx.models.files.documents import make_document, plain, read_document, write_document
from pgmx.models.files.formats import MARKS, check_marks, encode_all
from pgmx.models.files.graphml import write_graphml

_COMMENT = "# pgmx "


class MarkovParts(NamedTuple):
    """What a pairwise Markov network consists of, `name` empty without one.

    The strengths of edges, shape (m,), follow from the potentials: graphml holds them for other programs.
    """

    names: Sequence[Hashable]
    states: Sequence[Sequence]
    potentials: PairwisePotentials
    name: str = ""
    strengths: np.ndarray | None = None


def _plain_labels(parts: MarkovParts) -> tuple[list, list[list]]:
    """Return names and states as json has them, or raise."""
    names = [plain(name, "the name") for name in parts.names]
    labels = zip(parts.names, parts.states, strict=True)
    return names, [[plain(state, f"a state of {name!r}:") for state in states] for name, states in labels]


# ---- json ----


def _describe(parts: MarkovParts) -> dict:
    """Return parts as a document: a node-link graph with states and log-potentials, null for minus infinity."""
    potentials = parts.potentials
    names, states = _plain_labels(parts)
    nodes = [
        {"id": name, "states": labels, "log_potentials": _nulls(potentials.node(v))}
        for v, (name, labels) in enumerate(zip(names, states, strict=True))
    ]
    edges = [
        {"source": names[i], "target": names[j], "log_potentials": [_nulls(row) for row in potentials.table(e)]}
        for e, (i, j) in enumerate(potentials.edges.tolist())
    ]
    return make_document("PairwiseMarkovNetwork", {"name": parts.name} if parts.name else {}, nodes, edges)


def parse_markov(document: dict) -> MarkovParts:
    """Return the parts that a json document holds; raise over one of another type, or a damaged one."""
    check_marks(document, "PairwiseMarkovNetwork")
    nodes = document["nodes"]
    names = [node["id"] for node in nodes]
    states = [node["states"] for node in nodes]
    position = {name: v for v, name in enumerate(names)}
    tables = [
        ((position[edge["source"]], position[edge["target"]]), _numbers(edge["log_potentials"]))
        for edge in document["edges"]
    ]
    vectors = [_numbers(node["log_potentials"]) for node in nodes]
    potentials = PairwisePotentials.build([len(labels) for labels in states], vectors, tables)
    return MarkovParts(names, states, potentials, document["graph"].get("name", ""))


def _nulls(values: np.ndarray) -> list:
    return [None if value == -np.inf else value for value in values.tolist()]


def _numbers(values: list) -> np.ndarray:
    if values and isinstance(values[0], list):
        return np.array([_numbers(row) for row in values])
    return np.array([-np.inf if value is None else value for value in values], dtype=np.float64)


# ---- npz ----


def _write_npz(parts: MarkovParts) -> bytes:
    names, states = _plain_labels(parts)
    arrays = {key: getattr(parts.potentials, key) for key in ("node_values", "edges", "edge_values")}
    return write_archive({**MARKS, "name": parts.name, "names": names, "states": states}, arrays)


def _read_npz(raw: bytes) -> MarkovParts:
    document, arrays = read_archive(raw)
    values = [arrays[key] for key in ("node_values", "edges", "edge_values")]
    states = document["states"]
    potentials = PairwisePotentials(np.array([len(labels) for labels in states]), *values)
    return MarkovParts(document["names"], states, potentials, document["name"])


# ---- graphml ----


def _write_graphml(parts: MarkovParts) -> bytes:
    document = _describe(parts)
    encode_all(parts.names, "names of variables")  # raises for two that become the same text
    graph = nx.Graph(**document["graph"])
    for node in document["nodes"]:
        encode_all(node["states"], f"states of {node['id']!r}")
        states = [str(state) for state in node["states"]]
        graph.add_node(str(node["id"]), states=json.dumps(states), log_potentials=json.dumps(node["log_potentials"]))
    for e, edge in enumerate(document["edges"]):
        weight = {} if parts.strengths is None else {"weight": float(parts.strengths[e])}
        u, v, table = str(edge["source"]), str(edge["target"]), json.dumps(edge["log_potentials"])
        # Not every program keeps the order of the two ends: which one the rows belong to stands beside the table.
        graph.add_edge(u, v, **weight, rows=u, log_potentials=table)
    return write_graphml(graph)


def _read_graphml(raw: bytes) -> MarkovParts:
    graph = nx.read_graphml(BytesIO(raw))
    names, nodes = list(graph.nodes()), [attributes for _, attributes in graph.nodes(data=True)]
    states = [json.loads(node["states"]) for node in nodes]
    vectors = [_numbers(json.loads(node["log_potentials"])) for node in nodes]
    position = {name: v for v, name in enumerate(names)}
    tables = []
    for u, v, edge in graph.edges(data=True):
        table = _numbers(json.loads(edge["log_potentials"]))
        tables.append(((position[u], position[v]), table if edge["rows"] == u else table.T))
    potentials = PairwisePotentials.build([len(labels) for labels in states], vectors, tables)
    return MarkovParts(names, states, potentials, graph.graph.get("name", ""))


# ---- uai ----


def _write_uai(parts: MarkovParts) -> bytes:
    potentials = parts.potentials
    names, states = _plain_labels(parts)
    scopes = [[v] for v in range(potentials.n_variables)] + potentials.edges.tolist()
    lines = ["MARKOV", str(len(names)), " ".join(map(str, potentials.cardinalities.tolist())), str(len(scopes))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope in scopes]
    for logs in [*map(potentials.node, range(potentials.n_variables)), *potentials.tables()]:
        cells = np.exp(logs).ravel()
        # Plain decimals, shortest that give the same number back: pgmpy's reader knows no exponents.
        lines += [str(len(cells)), " ".join(np.format_float_positional(cell, trim="-") for cell in cells)]
    labels = {"name": parts.name, "names": names, "states": states}
    return ("\n".join(lines) + "\n" + _COMMENT + json.dumps(labels, allow_nan=False) + "\n").encode("ascii")


def _read_uai(raw: bytes) -> MarkovParts:
    text = raw.decode("utf-8")
    words = iter(re.sub("#.*", "", text).split())
    kind = next(words, "nothing")
    if kind.upper() != "MARKOV":
        raise ValueError(f"it begins with {kind!r}, not with 'MARKOV'")
    cards = [_read_count(words) for _ in range(_read_count(words))]
    scopes = [[_read_count(words) for _ in range(_read_count(words))] for _ in range(_read_count(words))]
    vectors = [np.zeros(card) for card in cards]
    tables = []
    for scope in scopes:
        if len(scope) not in (1, 2) or max(scope) >= len(cards):
            raise ValueError(f"it has a factor of {scope}: one or two of the {len(cards)} variables are expected")
        cells = np.array([float(next(words, "nan")) for _ in range(_read_count(words))])
        if not (cells >= 0).all():
            raise ValueError(
                f"the factor of {scope} holds {cells.min()}, or ends too early: values must not be negative"
            )
        with np.errstate(divide="ignore"):
            logs = np.log(cells).reshape([cards[v] for v in scope])
        if len(scope) == 1:
            vectors[scope[0]] += logs
        else:
            tables.append(((scope[0], scope[1]), logs))
    potentials = PairwisePotentials.build(cards, vectors, tables)
    comment = next((line for line in text.splitlines() if line.startswith(_COMMENT)), None)
    if comment is None:
        return MarkovParts([f"var_{v}" for v in range(len(cards))], [range(card) for card in cards], potentials)
    labels = json.loads(comment[len(_COMMENT) :])
    return MarkovParts(labels["names"], labels["states"], potentials, labels["name"])


def _read_count(words: Iterator[str]) -> int:
    try:
        return int(next(words))
    except StopIteration:
        raise ValueError("it ends too early") from None


#: Bytes of parts, by format; each format is also a file suffix. uai holds them as they are: scale them to Z = 1 before.
MARKOV_WRITERS: dict[str, Callable[[MarkovParts], bytes]] = {
    "npz": _write_npz,
    "json": lambda parts: write_document(_describe(parts)),
    "graphml": _write_graphml,
    "uai": _write_uai,
}

#: Parts of bytes, by format.
MARKOV_READERS: dict[str, Callable[[bytes], MarkovParts]] = {
    "npz": _read_npz,
    "json": lambda raw: parse_markov(read_document(raw)),
    "graphml": _read_graphml,
    "uai": _read_uai,
}

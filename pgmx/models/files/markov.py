"""Pairwise Markov networks in files: npz and json without loss, uai and graphml for other programs.

graphml holds log-potentials as attributes of nodes and edges, and text for names and states; uai the exponentials of
the log-potentials, with names and states in a comment at the end, for us alone.
"""

import json
import math
import re
from collections.abc import Callable, Hashable, Sequence
from io import BytesIO
from typing import NamedTuple

import networkx as nx
import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.models.files.archives import read_archived_document, read_arrays, write_archive
from pgmx.models.files.documents import make_document, plain, read_document, write_document
from pgmx.models.files.formats import MARKS, check_distinct, check_list, check_marks, encode_all, load_json
from pgmx.models.files.graphml import write_graphml

_COMMENT = "# pgmx "

#: States in a uai file that need no number, as those of variables without a factor.
_FREE_STATES = 1 << 16

#: Digits of a count in a uai file.
_MOST_DIGITS = 18


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
    nodes, edges = check_list(document["nodes"], "its nodes"), check_list(document["edges"], "its edges")
    names, states = _check_labels([node["id"] for node in nodes], [node["states"] for node in nodes])
    vectors = [_numbers(node["log_potentials"]) for node in nodes]
    tables = {(edge["source"], edge["target"]): _numbers(edge["log_potentials"]) for edge in edges}
    potentials = _build_potentials(names, states, vectors, tables, len(edges))
    return MarkovParts(names, states, potentials, document["graph"].get("name", ""))


def _check_labels(names: object, states: object) -> tuple[list, list[list]]:
    """Return names and states as lists, or raise."""
    names = check_list(names, "the names")
    check_distinct(names, "the names")
    pairs = zip(names, check_list(states, "the states"), strict=True)
    return names, [check_list(labels, f"the states of {name!r}") for name, labels in pairs]


def _build_potentials(names: list, states: list, vectors: list, tables: dict, n_edges: int) -> PairwisePotentials:
    """Return the potentials of vectors and of tables by names; `n_edges` tells whether an edge is there twice."""
    position = {name: v for v, name in enumerate(names)}
    if len({frozenset(ends) for ends in tables}) < n_edges:
        raise ValueError("an edge is there twice")
    pairs = [((position[u], position[v]), table) for (u, v), table in tables.items()]
    return PairwisePotentials.build([len(labels) for labels in states], vectors, pairs)


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
    document = read_archived_document(raw)
    names, states = _check_labels(document["names"], document["states"])
    cards = np.array([len(labels) for labels in states], dtype=np.int64)
    total, n_pairs = sum(map(len, states)), len(names) * (len(names) - 1) // 2
    most = {"node_values": total, "edges": 2 * n_pairs, "edge_values": total**2}
    edges = read_arrays(raw, most, ["edges"])["edges"].reshape(-1, 2)
    if edges.size and not 0 <= edges.min() <= edges.max() < len(names):
        raise ValueError(f"its edges join variables beyond the {len(names)} that it has")
    most["edge_values"] = int((cards[edges[:, 0]] * cards[edges[:, 1]]).sum())
    arrays = read_arrays(raw, most)
    potentials = PairwisePotentials(cards, arrays["node_values"], edges, arrays["edge_values"])
    return MarkovParts(names, states, potentials, document["name"])


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
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    names, states = _check_labels(list(graph.nodes()), [load_json(node["states"]) for node in nodes])
    vectors = [_numbers(load_json(node["log_potentials"])) for node in nodes]
    tables = {}
    for u, v, edge in graph.edges(data=True):
        if edge["rows"] not in (u, v):
            raise ValueError(f"the rows of the edge of {u!r} and {v!r} are of {edge['rows']!r}")
        table = _numbers(load_json(edge["log_potentials"]))
        tables[u, v] = table if edge["rows"] == u else table.T
    potentials = _build_potentials(names, states, vectors, tables, graph.number_of_edges())
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
    words = _Words(re.sub("#.*", "", text).split())
    kind = words.take("MARKOV") if words.words else "nothing"
    if kind.upper() != "MARKOV":
        raise ValueError(f"it begins with {kind!r:.60}, not with 'MARKOV'")
    cards = [words.read_count("a number of states") for _ in range(words.read_count("the number of variables"))]
    if sum(cards) > len(raw) + _FREE_STATES:
        raise ValueError(f"it declares {sum(cards):,} states, more than there are numbers")
    n_factors = words.read_count("the number of factors")
    scopes = [[words.read_count("a variable") for _ in range(words.read_count("a size"))] for _ in range(n_factors)]
    vectors = [np.zeros(card) for card in cards]
    tables = []
    for scope in scopes:
        if len(set(scope)) != len(scope) or len(scope) not in (1, 2) or max(scope) >= len(cards):
            raise ValueError(f"it has a factor of {scope}: one or two of the {len(cards)} variables are expected")
        shape = [cards[v] for v in scope]
        logs = words.read_logs(math.prod(shape), f"the factor of {scope}").reshape(shape)
        if len(scope) == 1:
            vectors[scope[0]] += logs
        else:
            tables.append(((scope[0], scope[1]), logs))
    if words.at < len(words.words):
        raise ValueError(f"it goes on behind the last of {n_factors} factors, with {words.words[words.at]!r:.60}")
    potentials = PairwisePotentials.build(cards, vectors, tables)
    comment = next((line for line in text.splitlines() if line.startswith(_COMMENT)), None)
    if comment is None:
        return MarkovParts([f"var_{v}" for v in range(len(cards))], [range(card) for card in cards], potentials)
    labels = load_json(comment[len(_COMMENT) :])
    names, states = _check_labels(labels["names"], labels["states"])
    return MarkovParts(names, states, potentials, labels["name"])


class _Words:
    """Words of a text, taken one after the other; what they say is checked against how many there are."""

    def __init__(self, words: list[str]):
        self.words = words
        self.at = 0

    def take(self, what: str) -> str:
        """Return the next word; `what` says what is expected there."""
        if self.at == len(self.words):
            raise ValueError(f"it ends too early, {what} is expected")
        self.at += 1
        return self.words[self.at - 1]

    def read_count(self, what: str) -> int:
        """Return the next word as a number from 0 on."""
        word = self.take(what)
        if not word.isdecimal() or len(word) > _MOST_DIGITS:
            raise ValueError(f"word {self.at} must be {what}, of {_MOST_DIGITS} digits at most, got {word!r:.60}")
        return int(word)

    def read_logs(self, n: int, what: str) -> np.ndarray:
        """Return the logarithms of n numbers behind their count."""
        count = self.read_count(f"the number of values of {what}")
        if count != n:
            raise ValueError(f"{what} declares {count} values, its variables ask for {n}")
        if n > len(self.words) - self.at:
            raise ValueError(f"it ends too early, in {what}")
        try:
            cells = np.array([float(word) for word in self.words[self.at : self.at + n]])
        except ValueError as error:
            raise ValueError(f"{what} holds a word for a number: {error}") from None
        self.at += n
        if not ((cells >= 0) & (cells < np.inf)).all():
            raise ValueError(f"{what} holds {cells.min()}: values must be finite and must not be negative")
        with np.errstate(divide="ignore"):
            return np.log(cells)


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

"""Markov networks in files: npz and json without loss, uai and graphml for other programs.

========  ===================================================================================
format    keeps
========  ===================================================================================
npz       all of it; names and states must be text, numbers, booleans or None
json      the same, as text; log-potentials in full precision
graphml   the same: log-potentials as attributes of nodes and edges; names and states as text
uai       the factors, scaled to Z = 1; names and states in a comment at the end, for us alone
========  ===================================================================================
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.models.files.archives import UNREADABLE, read_archive

if TYPE_CHECKING:
    from pgmx.models.markov.network import PairwiseMarkovNetwork

__all__ = ["MARKOV_FORMATS", "document_of", "load_markov_network", "network_of", "save_markov_network"]

#: Formats that `save_markov_network` writes; each is also a file suffix.
MARKOV_FORMATS = ("npz", "json", "graphml", "uai")

_COMMENT = "# pgmx "


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
    path = Path(path)
    format = _format_of(path, format)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"cannot write {path.name}: there is no folder {path.parent}; make it first")
    network.potentials  # noqa: B018  # raises for a network that has none
    writers: dict[str, Callable[[Any], bytes]] = {"npz": _npz, "json": _json, "graphml": _graphml, "uai": _uai}
    path.write_bytes(writers[format](network))
    return path


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
    from pgmx.models.markov.network import PairwiseMarkovNetwork

    path = Path(path)
    readers: dict[str, Callable[[bytes], tuple]] = {
        "npz": _read_npz,
        "json": lambda raw: _parts_of(json.loads(raw.decode("utf-8"))),
        "graphml": _read_graphml,
        "uai": _read_uai,
    }
    format = _format_of(path, format)
    raw = path.read_bytes()
    try:
        name, *parts = readers[format](raw)
        network = PairwiseMarkovNetwork.from_potentials(*parts)
    except UNREADABLE as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a pairwise Markov network in {format} form: {what}") from error
    if name:
        network.graph["name"] = name
    return network


def _format_of(path: Path, format: str | None) -> str:
    name = path.suffix[1:].lower() if format is None else format
    if name not in MARKOV_FORMATS:
        seen = f"suffix {path.suffix!r} of {path.name!r}" if format is None else f"format {format!r}"
        raise ValueError(f"unknown {seen}; expected one of {', '.join(MARKOV_FORMATS)}")
    return name


# ---- json ----


def document_of(network: PairwiseMarkovNetwork) -> dict:
    """Return a network as a dictionary that json holds.

    Parameters
    ----------
    network : PairwiseMarkovNetwork
        The network.

    Returns
    -------
    dict
        A node-link graph with states and log-potentials; null stands for minus infinity.
    """
    from pgmx.models.files.documents import plain

    potentials = network.potentials
    names = [plain(name, "the name") for name in network.names]
    states = [[plain(state, f"a state of {name!r}:") for state in own] for name, own in network.states.items()]
    nodes = [
        {"id": name, "states": own, "log_potentials": _nulls(potentials.node(v))}
        for v, (name, own) in enumerate(zip(names, states, strict=True))
    ]
    edges = [
        {"source": names[i], "target": names[j], "log_potentials": [_nulls(row) for row in potentials.table(e)]}
        for e, (i, j) in enumerate(potentials.edges.tolist())
    ]
    return {
        "format": "pgmx",
        "version": 1,
        "type": "PairwiseMarkovNetwork",
        "directed": False,
        "multigraph": False,
        "graph": {"name": network.name} if isinstance(network.name, str) and network.name else {},
        "nodes": nodes,
        "edges": edges,
    }


def network_of(document: dict) -> PairwiseMarkovNetwork:
    """Return the network that a dictionary of `document_of` describes."""
    from pgmx.models.markov.network import PairwiseMarkovNetwork

    name, *parts = _parts_of(document)
    network = PairwiseMarkovNetwork.from_potentials(*parts)
    if name:
        network.graph["name"] = name
    return network


def _json(network: PairwiseMarkovNetwork) -> bytes:
    return json.dumps(document_of(network), allow_nan=False).encode("ascii")


def _parts_of(document: dict) -> tuple:
    if not isinstance(document, dict) or document.get("format") != "pgmx" or document.get("version") != 1:
        raise ValueError("it is not marked as format 'pgmx', version 1")
    if document["type"] != "PairwiseMarkovNetwork":
        raise ValueError(f"its type is {document['type']!r}")
    names = [node["id"] for node in document["nodes"]]
    states = [node["states"] for node in document["nodes"]]
    position = {name: v for v, name in enumerate(names)}
    tables = [
        ((position[edge["source"]], position[edge["target"]]), _numbers(edge["log_potentials"]))
        for edge in document["edges"]
    ]
    vectors = [_numbers(node["log_potentials"]) for node in document["nodes"]]
    potentials = PairwisePotentials.build([len(own) for own in states], vectors, tables)
    return document["graph"].get("name"), names, states, potentials


def _nulls(values: np.ndarray) -> list:
    return [None if value == -np.inf else value for value in values.tolist()]


def _numbers(values: list) -> np.ndarray:
    if values and isinstance(values[0], list):
        return np.array([_numbers(row) for row in values])
    return np.array([-np.inf if value is None else value for value in values], dtype=np.float64)


# ---- npz ----


def _npz(network: PairwiseMarkovNetwork) -> bytes:
    from pgmx.models.files.documents import plain

    names = [plain(name, "the name") for name in network.names]
    states = [[plain(state, f"a state of {name!r}:") for state in own] for name, own in network.states.items()]
    told = {"format": "pgmx", "version": 1, "name": str(network.name or ""), "names": names, "states": states}
    potentials, buffer = network.potentials, BytesIO()
    np.savez_compressed(
        buffer,
        names=np.frombuffer(json.dumps(told, allow_nan=False).encode("ascii"), dtype=np.uint8),
        node_values=potentials.node_values,
        edges=potentials.edges,
        edge_values=potentials.edge_values,
    )
    return buffer.getvalue()


def _read_npz(raw: bytes) -> tuple:
    told, arrays = read_archive(raw)
    parts = [arrays[key] for key in ("node_values", "edges", "edge_values")]
    cards = np.array([len(own) for own in told["states"]])
    return told["name"], told["names"], told["states"], PairwisePotentials(cards, *parts)


# ---- graphml ----


def _graphml(network: PairwiseMarkovNetwork) -> bytes:
    from pgmx.models.files.safe_names import encode_all

    document = document_of(network)
    encode_all(network.names, "names of variables")  # raises for two that become the same text
    graph = nx.Graph(**document["graph"])
    for node in document["nodes"]:
        encode_all(node["states"], f"states of {node['id']!r}")
        states = [str(state) for state in node["states"]]
        graph.add_node(str(node["id"]), states=json.dumps(states), log_potentials=json.dumps(node["log_potentials"]))
    for edge in document["edges"]:
        u, v = edge["source"], edge["target"]
        strength = float(network.edges[u, v]["strength"])
        told = json.dumps(edge["log_potentials"])
        # The order of the two ends is not kept by every program: it is told beside the table.
        graph.add_edge(str(u), str(v), weight=strength, rows=str(u), log_potentials=told)
    buffer = BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue()


def _read_graphml(raw: bytes) -> tuple:
    graph = nx.read_graphml(BytesIO(raw))
    names = list(graph.nodes())
    states = [json.loads(own["states"]) for _, own in graph.nodes(data=True)]
    vectors = [_numbers(json.loads(own["log_potentials"])) for _, own in graph.nodes(data=True)]
    position = {name: v for v, name in enumerate(names)}
    tables = []
    for u, v, own in graph.edges(data=True):
        table = _numbers(json.loads(own["log_potentials"]))
        tables.append(((position[u], position[v]), table if own["rows"] == u else table.T))
    return graph.graph.get("name"), names, states, PairwisePotentials.build([len(s) for s in states], vectors, tables)


# ---- uai ----


def _uai(network: PairwiseMarkovNetwork) -> bytes:
    from pgmx.models.files.documents import plain

    potentials, names = network.potentials, [plain(name, "the name") for name in network.names]
    states = [[plain(state, f"a state of {name!r}:") for state in own] for name, own in network.states.items()]
    scopes = [[v] for v in range(potentials.n_variables)] + potentials.edges.tolist()
    lines = ["MARKOV", str(len(names)), " ".join(map(str, potentials.cardinalities.tolist())), str(len(scopes))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope in scopes]
    for factor in network.factors:
        cells = factor.values.ravel()
        # Plain decimals, shortest that give the same number back: pgmpy's reader knows no exponents.
        lines += [str(len(cells)), " ".join(np.format_float_positional(cell, trim="-") for cell in cells)]
    told = {"name": str(network.name or ""), "names": names, "states": states}
    return ("\n".join(lines) + "\n" + _COMMENT + json.dumps(told, allow_nan=False) + "\n").encode("ascii")


def _read_uai(raw: bytes) -> tuple:
    text = raw.decode("utf-8")
    told = next((json.loads(line[len(_COMMENT) :]) for line in text.splitlines() if line.startswith(_COMMENT)), None)
    words = iter(re.sub("#.*", "", text).split())
    kind = next(words, "nothing")
    if kind.upper() != "MARKOV":
        raise ValueError(f"it begins with {kind!r}, not with 'MARKOV'")
    cards = [_count(words) for _ in range(_count(words))]
    scopes = [[_count(words) for _ in range(_count(words))] for _ in range(_count(words))]
    vectors = [np.zeros(card) for card in cards]
    tables = []
    for scope in scopes:
        if len(scope) not in (1, 2) or max(scope) >= len(cards):
            raise ValueError(f"it has a factor of {scope}: one or two of the {len(cards)} variables are expected")
        shape = [cards[v] for v in scope]
        cells = np.array([float(next(words, "nan")) for _ in range(_count(words))])
        if not (cells >= 0).all():
            raise ValueError(
                f"the factor of {scope} holds {cells.min()}, or ends too early: values must not be negative"
            )
        with np.errstate(divide="ignore"):
            logs = np.log(cells).reshape(shape)
        if len(scope) == 1:
            vectors[scope[0]] += logs
        else:
            tables.append(((scope[0], scope[1]), logs))
    potentials = PairwisePotentials.build(cards, vectors, tables)
    if told is None:
        return None, [f"var_{v}" for v in range(len(cards))], [range(card) for card in cards], potentials
    return told["name"], told["names"], told["states"], potentials


def _count(words) -> int:
    try:
        return int(next(words))
    except StopIteration:
        raise ValueError("it ends too early") from None

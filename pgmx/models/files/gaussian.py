"""Gaussian Markov networks in files: npz and json without loss, graphml for other programs.

========  ===================================================================================
format    keeps
========  ===================================================================================
npz       all of it; names must be text, numbers or booleans
json      the same, as text; numbers in full precision
graphml   the same: numbers as attributes of nodes and edges; names as text
========  ===================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from scipy.sparse import coo_array

from pgmx.models.files.archives import NOT_AN_ARCHIVE, UNREADABLE, read_archive
from pgmx.statistics import MarginalTransforms

if TYPE_CHECKING:
    from pgmx.models.gaussian.network import GaussianMarkovNetwork

__all__ = [
    "GAUSSIAN_FORMATS",
    "document_of",
    "is_gaussian_npz",
    "load_gaussian_network",
    "network_of",
    "save_gaussian_network",
]

#: Formats that `save_gaussian_network` writes; each is also a file suffix.
GAUSSIAN_FORMATS = ("npz", "json", "graphml")

_TYPE = "GaussianMarkovNetwork"


def save_gaussian_network(network: GaussianMarkovNetwork, path: str | os.PathLike, format: str | None = None) -> Path:
    """Write a Gaussian Markov network to a file.

    Parameters
    ----------
    network : GaussianMarkovNetwork
        The network; it is not changed.
    path : str or path
        Where to write; an existing file is replaced.
    format : {"npz", "json", "graphml"} or None, default=None
        None: the suffix of ``path``.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For an unknown format or suffix, and for names that become the same text in graphml.
    TypeError
        For names that are neither text, numbers nor booleans.
    FileNotFoundError
        When the folder does not exist.

    Notes
    -----
    All three keep every bit of precision, scale, mean and transforms. Attributes of the graph are left out but for its
    name, those of nodes and edges too.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.datasets import gaussian_chain_network
    >>> from pgmx.models import load_gaussian_network, save_gaussian_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_gaussian_network(save_gaussian_network(gaussian_chain_network(5), f"{folder}/chain.npz"))
    GaussianMarkovNetwork(5 variables, 4 edges)
    """
    path = Path(path)
    format = _format_of(path, format)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"cannot write {path.name}: there is no folder {path.parent}; make it first")
    writers: dict[str, Callable[[Any], bytes]] = {"npz": _npz, "json": _json, "graphml": _graphml}
    path.write_bytes(writers[format](network))
    return path


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
    ValueError
        When the suffix is unknown, or the file damaged or something else.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pgmx.models import GaussianMarkovNetwork, load_gaussian_network
    >>> network = GaussianMarkovNetwork.from_covariance(["a", "b"], [[2.0, 1.0], [1.0, 2.0]], mean=[5.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_gaussian_network(network.save(f"{folder}/two.json")).mean.to_dict()
    {'a': 5.0, 'b': 0.0}
    """
    path = Path(path)
    readers: dict[str, Callable[[bytes], GaussianMarkovNetwork]] = {
        "npz": _read_npz,
        "json": lambda raw: network_of(json.loads(raw.decode("utf-8"))),
        "graphml": _read_graphml,
    }
    format = _format_of(path, format)
    raw = path.read_bytes()
    try:
        return readers[format](raw)
    except UNREADABLE as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a Gaussian Markov network in {format} form: {what}") from error


def _format_of(path: Path, format: str | None) -> str:
    name = path.suffix[1:].lower() if format is None else format
    if name not in GAUSSIAN_FORMATS:
        seen = f"suffix {path.suffix!r} of {path.name!r}" if format is None else f"format {format!r}"
        raise ValueError(f"unknown {seen}; expected one of {', '.join(GAUSSIAN_FORMATS)}")
    return name


def _upper(network: GaussianMarkovNetwork) -> tuple[np.ndarray, coo_array]:
    """Return diagonal and strict upper triangle of the precision as given."""
    matrix = network.standardized_precision.tocoo()
    above = matrix.row < matrix.col
    kept = (matrix.data[above], (matrix.row[above], matrix.col[above]))
    return matrix.diagonal(), coo_array(kept, shape=matrix.shape)


def _whole(diagonal, entries, rows, columns) -> coo_array:
    """Return the matrix of a diagonal and entries on one side of it."""
    p = len(diagonal)
    data = np.concatenate([diagonal, entries, entries]).astype(np.float64)
    i, j = np.concatenate([np.arange(p), rows, columns]), np.concatenate([np.arange(p), columns, rows])
    return coo_array((data, (i.astype(np.int64), j.astype(np.int64))), shape=(p, p))


def _network(names, matrix, mean, scale, told: dict, transforms: dict) -> GaussianMarkovNetwork:
    """Make a network of what a file tells."""
    from pgmx.models.gaussian.network import GaussianMarkovNetwork

    maps = MarginalTransforms.from_arrays(transforms) if transforms else None
    network = GaussianMarkovNetwork.from_precision(
        names,
        matrix.tocsr(),
        mean=mean,
        scale=scale,
        transforms=maps,
        estimated_by=told["estimated_by"],
        n_samples=told["n_samples"],
    )
    if told.get("name"):
        network.graph["name"] = told["name"]
    return network


def _told(network: GaussianMarkovNetwork) -> dict:
    """Return what the network is called and where it comes from."""
    told: dict[str, Any] = {"name": network.name} if isinstance(network.name, str) and network.name else {}
    return {**told, "estimated_by": network.estimated_by, "n_samples": network.n_samples}


def _names_of(network: GaussianMarkovNetwork) -> list:
    from pgmx.models.files.documents import plain

    return [plain(name, "the name") for name in network.names]


# ---- json ----


def document_of(network: GaussianMarkovNetwork) -> dict:
    """Return a network as a dictionary that json holds.

    Parameters
    ----------
    network : GaussianMarkovNetwork
        The network.

    Returns
    -------
    dict
        A node-link graph; nodes with mean, scale and the diagonal of the standardised precision, edges with its other
        entries and their partial correlations.
    """
    diagonal, upper = _upper(network)
    names, means, scales = _names_of(network), network.mean.tolist(), network.scale.tolist()
    nodes = [
        {"id": name, "mean": mean, "scale": scale, "precision": own}
        for name, mean, scale, own in zip(names, means, scales, diagonal.tolist(), strict=True)
    ]
    edges = [
        {
            "source": names[i],
            "target": names[j],
            "precision": entry,
            "weight": network.edges[names[i], names[j]]["weight"],
        }
        for i, j, entry in zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True)
    ]
    document = {"format": "pgmx", "version": 1, "type": _TYPE, "directed": False, "multigraph": False}
    document |= {"graph": _told(network), "nodes": nodes, "edges": edges}
    if network.transforms is not None:
        document["transforms"] = _listed_arrays(network.transforms.arrays())
    return document


def network_of(document: dict) -> GaussianMarkovNetwork:
    """Return the network that a dictionary of `document_of` describes."""
    if not isinstance(document, dict) or document.get("format") != "pgmx" or document.get("version") != 1:
        raise ValueError("it is not marked as format 'pgmx', version 1")
    if document["type"] != _TYPE:
        raise ValueError(f"its type is {document['type']!r}")
    nodes, edges = document["nodes"], document["edges"]
    place = {node["id"]: v for v, node in enumerate(nodes)}
    rows = [place[edge["source"]] for edge in edges]
    columns = [place[edge["target"]] for edge in edges]
    matrix = _whole([node["precision"] for node in nodes], [edge["precision"] for edge in edges], rows, columns)
    mean, scale = ([node[key] for node in nodes] for key in ("mean", "scale"))
    maps = _arrays_of(document.get("transforms", {}))
    return _network(list(place), matrix, mean, scale, document["graph"], maps)


def _json(network: GaussianMarkovNetwork) -> bytes:
    return json.dumps(document_of(network), allow_nan=False).encode("ascii")


def _listed_arrays(arrays: dict) -> dict:
    return {key: {"dtype": array.dtype.str, "values": array.tolist()} for key, array in arrays.items()}


def _arrays_of(listed: dict) -> dict:
    found = {key: np.array(told["values"], dtype=np.dtype(told["dtype"])) for key, told in listed.items()}
    if any(array.dtype.hasobject for array in found.values()):
        raise ValueError("its transforms are no numbers")
    return found


# ---- npz ----


def _npz(network: GaussianMarkovNetwork) -> bytes:
    told = {"format": "pgmx", "version": 1, "type": _TYPE, "names": _names_of(network), "graph": _told(network)}
    diagonal, upper = _upper(network)
    arrays = {"diagonal": diagonal, "entries": upper.data, "rows": upper.row, "columns": upper.col}
    arrays |= {"mean": network.mean.to_numpy(), "scale": network.scale.to_numpy()}
    if network.transforms is not None:
        arrays |= {f"transform_{key}": array for key, array in network.transforms.arrays().items()}
    buffer = BytesIO()
    names = np.frombuffer(json.dumps(told, allow_nan=False).encode("ascii"), dtype=np.uint8)
    np.savez_compressed(buffer, names=names, **arrays)
    return buffer.getvalue()


def _read_npz(raw: bytes) -> GaussianMarkovNetwork:
    told, arrays = read_archive(raw)
    if told.get("type") != _TYPE:
        raise ValueError(f"it is not marked as of the type {_TYPE!r}")
    matrix = _whole(*(arrays[key] for key in ("diagonal", "entries", "rows", "columns")))
    begin = "transform_"
    maps = {key.removeprefix(begin): array for key, array in arrays.items() if key.startswith(begin)}
    return _network(told["names"], matrix, arrays["mean"], arrays["scale"], told["graph"], maps)


def is_gaussian_npz(path: str | os.PathLike) -> bool:
    """Tell whether a file is an npz of `save_gaussian_network`, without reading its matrices.

    Parameters
    ----------
    path : str or path
        An existing file.

    Returns
    -------
    bool
        False for files of other kinds as well.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return json.loads(archive["names"].tobytes()).get("type") == _TYPE
    except FileNotFoundError:
        raise
    except (*NOT_AN_ARCHIVE, KeyError, ValueError, OSError, EOFError):
        return False


# ---- graphml ----


def _graphml(network: GaussianMarkovNetwork) -> bytes:
    from pgmx.models.files.safe_names import encode_all

    document = document_of(network)
    encode_all(network.names, "names of variables")  # raises for two that become the same text
    told = {key: value for key, value in document["graph"].items() if value is not None}
    graph = nx.Graph(type=_TYPE, **told)
    if "transforms" in document:
        graph.graph["transforms"] = json.dumps(document["transforms"])
    for node in document["nodes"]:
        graph.add_node(str(node["id"]), **{key: node[key] for key in ("mean", "scale", "precision")})
    for edge in document["edges"]:
        own = {key: edge[key] for key in ("weight", "precision")}
        graph.add_edge(str(edge["source"]), str(edge["target"]), **own)
    buffer = BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue()


def _read_graphml(raw: bytes) -> GaussianMarkovNetwork:
    graph = nx.read_graphml(BytesIO(raw))
    told = graph.graph
    if told.get("type") != _TYPE:
        raise ValueError(f"it is not marked as a {_TYPE}")
    document: dict[str, Any] = {"format": "pgmx", "version": 1, "type": _TYPE}
    kept = ("name", "estimated_by", "n_samples")
    document["graph"] = {"n_samples": None, **{key: told[key] for key in kept if key in told}}
    document["nodes"] = [{"id": name, **own} for name, own in graph.nodes(data=True)]
    document["edges"] = [{"source": u, "target": v, **own} for u, v, own in graph.edges(data=True)]
    if "transforms" in told:
        document["transforms"] = json.loads(told["transforms"])
    return network_of(document)

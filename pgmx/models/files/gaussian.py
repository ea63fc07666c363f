"""Gaussian Markov networks in files: npz and json without loss, graphml for other programs.

graphml holds parameters as attributes of nodes and edges, and names as text.
"""

import json
import os
from collections.abc import Callable, Hashable, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, csr_array

from pgmx.archives import list_members
from pgmx.models.files.archives import has_type, read_archived_document, read_arrays, write_archive
from pgmx.models.files.documents import make_document, read_document, to_json_value, write_document
from pgmx.models.files.formats import MARKS, check_list, check_marks, check_name, list_distinct_texts, load_json
from pgmx.models.files.graphml import write_graphml
from pgmx.statistics import MarginalTransforms
from pgmx.statistics.marginal_transforms import MOST_KNOTS

_TYPE = "GaussianMarkovNetwork"
_TRANSFORM = "transform_"


class GaussianParts(NamedTuple):
    """The fields of a Gaussian Markov network; `name` may be empty.

    The precision, shape (p, p), is for the variables divided by `scale`; mean and scale have the shape (p,).
    """

    names: Sequence[Hashable]
    precision: csr_array
    mean: np.ndarray
    scale: np.ndarray
    transforms: MarginalTransforms | None
    estimated_by: str
    n_samples: float | None
    name: str = ""


def _split_precision(parts: GaussianParts) -> tuple[np.ndarray, coo_array]:
    """Return the diagonal and the strict upper triangle of the precision."""
    matrix = parts.precision.tocoo()
    above = matrix.row < matrix.col
    upper = coo_array((matrix.data[above], (matrix.row[above], matrix.col[above])), shape=matrix.shape)
    return matrix.diagonal(), upper


def _join_precision(diagonal, entries, rows, columns) -> csr_array:
    """Return the symmetric matrix with a diagonal and with entries on one side of it."""
    p = len(diagonal)
    # An edge may be given from either end.
    ends = np.sort(np.array([rows, columns], dtype=np.int64).reshape(2, -1), axis=0)
    if ends.size and not (ends.min() >= 0 and ends.max() < p and (ends[0] < ends[1]).all()):
        raise ValueError(f"its edges must join two of its {p} variables")
    if len(np.unique(ends[0] * p + ends[1])) < ends.shape[1]:
        raise ValueError("an edge occurs twice")
    data = np.concatenate([diagonal, entries, entries]).astype(np.float64)
    i, j = np.concatenate([np.arange(p), rows, columns]), np.concatenate([np.arange(p), columns, rows])
    return coo_array((data, (i.astype(np.int64), j.astype(np.int64))), shape=(p, p)).tocsr()


def _list_json_names(parts: GaussianParts) -> list:
    return [to_json_value(name, "the name") for name in parts.names]


def _describe_origin(parts: GaussianParts) -> dict:
    """Return the name and the origin of the network."""
    name = {"name": parts.name} if parts.name else {}
    return {**name, "estimated_by": parts.estimated_by, "n_samples": parts.n_samples}


def _make_parts(names, precision, mean, scale, transforms: dict[str, np.ndarray], origin: dict) -> GaussianParts:
    maps = MarginalTransforms.from_arrays(transforms) if transforms else None
    estimated_by, n_samples = origin["estimated_by"], origin["n_samples"]
    if n_samples is not None and not 0 <= n_samples < np.inf:
        raise ValueError(f"its number of samples is {n_samples!r}")
    if not isinstance(estimated_by, str):
        raise ValueError(f"its field 'estimated_by' is {estimated_by!r:.60}")
    name = check_name(origin.get("name", ""))
    return GaussianParts(names, precision, mean, scale, maps, estimated_by, n_samples, name)


# ---- json ----


def _describe(parts: GaussianParts) -> dict:
    """Return the document of the fields: a node-link graph whose nodes and edges hold the entries of the precision.

    The edges also hold partial correlations, for other programs.
    """
    diagonal, upper = _split_precision(parts)
    names, roots = _list_json_names(parts), np.sqrt(diagonal)
    columns = zip(names, parts.mean.tolist(), parts.scale.tolist(), diagonal.tolist(), strict=True)
    nodes = [{"id": name, "mean": mean, "scale": scale, "precision": entry} for name, mean, scale, entry in columns]
    weights = (-(upper.data / (roots[upper.row] * roots[upper.col]))).tolist()
    entries = zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), weights, strict=True)
    edges = [
        {"source": names[i], "target": names[j], "precision": entry, "weight": weight}
        for i, j, entry, weight in entries
    ]
    document = make_document(_TYPE, _describe_origin(parts), nodes, edges)
    if parts.transforms is not None:
        arrays = parts.transforms.arrays().items()
        document["transforms"] = {key: {"dtype": array.dtype.str, "values": array.tolist()} for key, array in arrays}
    return document


def parse_gaussian(document: dict) -> GaussianParts:
    """Return the fields in a json document; raise if it has another type or is damaged."""
    check_marks(document, _TYPE)
    nodes, edges = check_list(document["nodes"], "its nodes"), check_list(document["edges"], "its edges")
    place = {node["id"]: v for v, node in enumerate(nodes)}
    rows = [place[edge["source"]] for edge in edges]
    columns = [place[edge["target"]] for edge in edges]
    diagonal, entries = [node["precision"] for node in nodes], [edge["precision"] for edge in edges]
    mean, scale = ([node[key] for node in nodes] for key in ("mean", "scale"))
    transforms = {}
    for key, array in document.get("transforms", {}).items():
        if array["dtype"] not in ("<f8", "<i8"):
            raise ValueError(f"its transforms have values of the type {array['dtype']!r:.60}")
        transforms[key] = np.array(array["values"], dtype=array["dtype"])
    precision = _join_precision(diagonal, entries, rows, columns)
    names = [node["id"] for node in nodes]
    return _make_parts(names, precision, mean, scale, transforms, document["graph"])


# ---- npz ----


def _write_npz(parts: GaussianParts) -> bytes:
    document = {**MARKS, "type": _TYPE, "names": _list_json_names(parts), "graph": _describe_origin(parts)}
    diagonal, upper = _split_precision(parts)
    arrays = {"diagonal": diagonal, "entries": upper.data, "rows": upper.row, "columns": upper.col}
    arrays |= {"mean": parts.mean, "scale": parts.scale}
    if parts.transforms is not None:
        arrays |= {_TRANSFORM + key: array for key, array in parts.transforms.arrays().items()}
    return write_archive(document, arrays)


def _read_npz(raw: bytes) -> GaussianParts:
    document = read_archived_document(raw)
    if document.get("type") != _TYPE:
        raise ValueError(f"it is not marked as of the type {_TYPE!r}")
    p = len(check_list(document["names"], "the names"))
    columns, entries = dict.fromkeys(("diagonal", "mean", "scale"), p), ("entries", "rows", "columns")
    most = columns | dict.fromkeys(entries, p * (p - 1) // 2)
    if any(name.startswith(_TRANSFORM) for name in list_members(raw)):
        numbers = {"starts": p + 1, "knots": MOST_KNOTS * p, "scores": MOST_KNOTS * p}
        most |= {_TRANSFORM + key: n for key, n in numbers.items()}
    arrays = read_arrays(raw, most)
    precision = _join_precision(*(arrays[key] for key in ("diagonal", "entries", "rows", "columns")))
    maps = {key.removeprefix(_TRANSFORM): array for key, array in arrays.items() if key.startswith(_TRANSFORM)}
    return _make_parts(document["names"], precision, arrays["mean"], arrays["scale"], maps, document["graph"])


def is_gaussian_npz(path: str | os.PathLike) -> bool:
    """Return whether a file is an npz of a Gaussian Markov network, without reading its matrices."""
    return has_type(path, _TYPE)


# ---- graphml ----


def _write_graphml(parts: GaussianParts) -> bytes:
    document = _describe(parts)
    list_distinct_texts(parts.names, "names of variables")  # raises for two names that become the same text
    graph = nx.Graph(type=_TYPE, **{key: value for key, value in document["graph"].items() if value is not None})
    if "transforms" in document:
        graph.graph["transforms"] = json.dumps(document["transforms"])
    for node in document["nodes"]:
        graph.add_node(str(node["id"]), **{key: node[key] for key in ("mean", "scale", "precision")})
    for edge in document["edges"]:
        numbers = {key: edge[key] for key in ("weight", "precision")}
        graph.add_edge(str(edge["source"]), str(edge["target"]), **numbers)
    return write_graphml(graph)


def _read_graphml(raw: bytes) -> GaussianParts:
    graph = nx.read_graphml(BytesIO(raw))
    attributes = graph.graph
    if attributes.get("type") != _TYPE:
        raise ValueError(f"it is not marked as a {_TYPE}")
    origin = {key: attributes[key] for key in ("name", "estimated_by", "n_samples") if key in attributes}
    nodes: list[dict[str, Any]] = [{"id": name, **numbers} for name, numbers in graph.nodes(data=True)]
    edges = [{"source": u, "target": v, **numbers} for u, v, numbers in graph.edges(data=True)]
    document = make_document(_TYPE, {"n_samples": None, **origin}, nodes, edges)
    if "transforms" in attributes:
        document["transforms"] = load_json(attributes["transforms"])
    return parse_gaussian(document)


#: Writers by format; each format is also a file suffix.
GAUSSIAN_WRITERS: dict[str, Callable[[GaussianParts], bytes]] = {
    "npz": _write_npz,
    "json": lambda parts: write_document(_describe(parts)),
    "graphml": _write_graphml,
}

#: Readers by format.
GAUSSIAN_READERS: dict[str, Callable[[bytes], GaussianParts]] = {
    "npz": _read_npz,
    "json": lambda raw: parse_gaussian(read_document(raw)),
    "graphml": _read_graphml,
}

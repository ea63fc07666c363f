"""Rows of nodes as keyed entries: neighbours by hops and directions, layers of graphs, features of nodes."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Codes(NamedTuple):
    """Features that were computed elsewhere, (m, P 2 D)."""

    features: Any


class KeyedRows(NamedTuple):
    """Entries of m rows in `n_views` views each: view v of row t has those from starts[t n_views + v] on."""

    keys: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    n_views: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, alone."""
        return ((len(self.starts) - 1) // self.n_views,)


def mix_keys(numbers: np.ndarray, tag: int) -> np.ndarray:
    """Return 64-bit keys of columns under a tag: the finaliser of SplitMix64."""
    keys = numbers + np.array([(tag + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def hash_name(name: Any) -> int:
    """Return a natural number as it is, and 64 bits of any other name, the same in every process."""
    if isinstance(name, int | float | np.integer | np.floating) and 0 <= name < 2**62 and name == int(name):
        return int(name)
    text = f"s{name}" if isinstance(name, str) else f"{type(name).__name__}{name!r}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def key_matrix(rows: Any) -> KeyedRows:
    """Return dense or sparse rows (m, d) as keyed entries in one view."""
    matrix = sparse.csr_array(rows)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    keys = mix_keys(matrix.indices.astype(np.uint64), 0)
    return KeyedRows(keys, matrix.data.astype(np.float64), matrix.indptr.astype(np.int64), 1)


def key_nodes(
    names: Sequence[Any], graph: Any, hops: Sequence[int], layers: Sequence[Any] | None, node_features: Any
) -> KeyedRows:
    """Return the rows of nodes: a view of the graph, one of each layer, and one of their features."""
    graphs = [*([] if graph is None else [graph]), *(layers or ())]
    keys: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for name in names:
        for view, layer in enumerate(graphs):
            parts = list(_key_neighbours(layer, name, hops, view, optional=view > 0))
            keys.append(np.concatenate([part[0] for part in parts]))
            values.append(np.concatenate([part[1] for part in parts]))
        if node_features is not None:
            columns, numbers = _read_features(node_features, name)
            keys.append(mix_keys(columns, len(graphs) << 16))
            values.append(numbers)
    n_views = len(graphs) + (node_features is not None)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in keys], dtype=np.int64)])
    return KeyedRows(np.concatenate(keys), np.concatenate(values), starts.astype(np.int64), n_views)


def _key_neighbours(
    graph: Any, name: Any, hops: Sequence[int], view: int, optional: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield keys and values of unit length of each direction and hop, in the order of the keys."""
    if name not in graph:
        if optional:
            yield np.empty(0, np.uint64), np.empty(0)
            return
        raise ValueError(f"X holds {name!r:.60}, which is no node of graph: add it with its edges first")
    directions = (graph.succ, graph.pred) if graph.is_directed() else (graph.adj,)
    for direction, adjacency in enumerate(directions):
        for hop, weights in _count_steps(adjacency.__getitem__, name, hops):
            numbers = np.array([hash_name(other) for other in weights], dtype=np.uint64)
            values = np.array(list(weights.values()), dtype=np.float64)
            if not np.isfinite(values).all():
                raise ValueError(f"the edges of {name!r:.60} in graph have a weight that is NaN or infinite")
            order = np.argsort(numbers)
            values = values[order]
            length = np.sqrt(np.sum(values**2))
            yield (
                mix_keys(numbers[order], view << 16 | direction << 8 | (hop - 1)),
                values / length if length > 0.0 else values,
            )


def _count_steps(
    neighbours: Callable[[Any], Any], name: Any, hops: Sequence[int]
) -> Iterator[tuple[int, dict[Any, float]]]:
    """Yield the nodes at each hop with their weights: of the edges first, then shared equally among neighbours."""
    reach = {name: 1.0}
    for hop in range(1, max(hops) + 1):
        parts: dict[Any, list[float]] = {}
        for node, weight in reach.items():
            edges = neighbours(node)
            share = weight / len(edges) if hop > 1 and edges else weight
            for other, edge in edges.items():
                parts.setdefault(other, []).append(share * edge.get("weight", 1.0))
        if hop > 1:
            parts.pop(name, None)
        # exact sums, so that the order of edges does not matter
        following = {other: fsum(numbers) for other, numbers in parts.items()}
        if hop in hops:
            yield hop, following
        reach = following


def _read_features(node_features: Any, name: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and values of the features of a node that are not zero."""
    try:
        row = node_features[name]
    except (KeyError, IndexError):
        raise ValueError(f"X holds {name!r:.60}, of which node_features has no row: add it") from None
    row = np.asarray(row.todense() if sparse.issparse(row) else row, dtype=np.float64).ravel()
    if not np.isfinite(row).all():
        raise ValueError(f"node_features of {name!r:.60} hold NaN or infinity: fill it in")
    columns = np.flatnonzero(row)
    return columns.astype(np.uint64), row[columns]

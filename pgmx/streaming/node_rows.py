"""Rows of nodes as keyed entries: neighbours by hops and directions, layers of graphs, features of nodes."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import product
from math import fsum, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class EncodedRows(NamedTuple):
    """Features computed by `encode_row`, (m, P 2 D)."""

    features: Any


class KeyedRows(NamedTuple):
    """Entries of m rows with `n_views` views each; the entries of view v of row t start at starts[t n_views + v]."""

    keys: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    n_views: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, as a tuple."""
        return ((len(self.starts) - 1) // self.n_views,)


def mix_keys(numbers: np.ndarray, tag: int) -> np.ndarray:
    """Return 64-bit keys of columns for a tag, by the finaliser of SplitMix64."""
    # keys of the same column under two tags are unrelated, so that views get frequencies of their own
    keys = numbers + np.array([(tag + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def hash_name(name: Any) -> int:
    """Return a natural number unchanged, and a 64-bit hash of other names, the same in every process."""
    # equal values of any type are the same node for networkx
    if isinstance(name, int | float | np.integer | np.floating | np.bool_) and 0 <= name < 2**62 and name == int(name):
        return int(name)
    return int.from_bytes(blake2b(_spell_name(name).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _spell_name(name: Any) -> str:
    """Return the same text for equal names, for every process and numeric type."""
    if isinstance(name, str):
        return f"s{name}"
    if isinstance(name, int | float | np.integer | np.floating | np.bool_):
        whole = isinstance(name, int | np.integer) or float(name).is_integer()
        return f"n{int(name)}" if whole else f"n{float(name)!r}"
    if isinstance(name, tuple | frozenset):
        parts = [_spell_name(part) for part in name]
        ordered = parts if isinstance(name, tuple) else sorted(parts)
        return f"{type(name).__name__[0]}" + "".join(f"{len(part)}:{part}" for part in ordered)
    if type(name).__repr__ is object.__repr__:
        raise ValueError(
            f"the node {name!r:.60} has no unique text, so its frequencies would differ between processes: use "
            "numbers, texts or tuples of them as names"
        )
    return f"{type(name).__name__}{name!r}"


def key_matrix(rows: Any) -> KeyedRows:
    """Return dense or sparse rows (m, d) as keyed entries in one view."""
    matrix = sparse.csr_array(rows)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    keys = mix_keys(matrix.indices.astype(np.uint64), 0)
    return _scale_rows(keys, matrix.data.astype(np.float64), matrix.indptr.astype(np.int64), 1)


def _scale_rows(keys: np.ndarray, values: np.ndarray, starts: np.ndarray, n_views: int) -> KeyedRows:
    """Return rows; a row is divided by a power of 2 if squares of its values would overflow or underflow."""
    sizes = np.abs(values)
    # a power of 2 changes no digit of the values
    if len(values) and (sizes.max() > 1e100 or sizes.min() < 1e-100):
        counts = np.diff(starts)
        largest = np.ones(len(counts))
        largest[counts > 0] = np.maximum.reduceat(sizes, starts[:-1][counts > 0])
        exponents = np.where((largest > 1e100) | (largest < 1e-100), np.frexp(largest)[1], 0)
        values = np.ldexp(values, -np.repeat(exponents, counts))
    return KeyedRows(keys, values, starts, n_views)


def key_nodes(
    names: Sequence[Any],
    graph: Any,
    groups: Sequence[Sequence[int]],
    layers: Sequence[Any] | None,
    node_features: Any,
    unit: bool = True,
) -> KeyedRows:
    """Return the rows of nodes: a view per graph or layer and group of hops, and one for their features."""
    graphs = [*([] if graph is None else [graph]), *(layers or ())]
    n_views = len(graphs) * len(groups)
    keys: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for name in names:
        _check_name(name, graph, graphs, node_features)
        for view, (layer, hops) in enumerate(product(graphs, groups)):
            parts = list(_key_neighbours(layer, name, hops, view, unit)) if name in layer else _NO_ENTRIES
            keys.append(np.concatenate([part[0] for part in parts]))
            values.append(np.concatenate([part[1] for part in parts]))
        if node_features is not None:
            columns, numbers = _read_features(node_features, name)
            keys.append(mix_keys(columns, n_views << 16))
            values.append(numbers)
    n_views += node_features is not None
    starts = np.concatenate([[0], np.cumsum([len(part) for part in keys], dtype=np.int64)])
    return _scale_rows(np.concatenate(keys), np.concatenate(values), starts.astype(np.int64), n_views)


_NO_ENTRIES = [(np.empty(0, np.uint64), np.empty(0))]


def _check_name(name: Any, graph: Any, graphs: list[Any], node_features: Any) -> None:
    """Raise ValueError for a name that is not in `graph`, or, without a graph, in none of the layers and features."""
    if graph is not None and name not in graph:
        raise ValueError(f"X holds {name!r:.60}, which is not a node of graph: add it with its edges first")
    if graph is None and node_features is None and not any(name in layer for layer in graphs):
        raise ValueError(f"X holds {name!r:.60}, which is not a node of any layer: add it with its edges first")


def _key_neighbours(
    graph: Any, name: Any, hops: Sequence[int], view: int, unit: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield keys and values of each direction: the sum of the (unit) rows of the hops, in the order of the keys.

    Exact sums are used, so that the result does not depend on the order of edges.
    """
    directions = (graph.succ, graph.pred) if graph.is_directed() else (graph.adj,)
    for direction, adjacency in enumerate(directions):
        row: dict[Any, float] = {}
        for weights, scale in _count_steps(adjacency.__getitem__, name, hops):
            length = sqrt(fsum(weight * weight for weight in weights.values())) if unit else 1.0 / scale
            for other, weight in weights.items():
                row[other] = row.get(other, 0.0) + weight / length
        # sorted by key: sums of features then do not depend on the order in which edges were added
        numbers = np.array([hash_name(other) for other in row], dtype=np.uint64)
        order = np.argsort(numbers)
        yield mix_keys(numbers[order], view << 16 | direction << 8), np.array(list(row.values()), dtype=float)[order]


def _count_steps(
    neighbours: Callable[[Any], Any], name: Any, hops: Sequence[int]
) -> Iterator[tuple[dict[Any, float], float]]:
    """Yield the nodes at each hop with their weights: weights of edges first, then shared equally among neighbours.

    Weights of a hop are divided by the largest weight; the product of these is yielded too. Later hops include
    the node itself.
    """
    reach, scale = {name: 1.0}, 1.0
    for hop in range(1, max(hops) + 1):
        parts: dict[Any, list[float]] = {}
        for node, weight in reach.items():
            edges = neighbours(node)
            # the first hop keeps the weights of the edges, later ones divide the weight of a node among its neighbours
            share = weight / len(edges) if hop > 1 and edges else weight
            for other, edge in edges.items():
                parts.setdefault(other, []).append(share * _read_weight(edge, node, other))
        sums = {other: fsum(numbers) for other, numbers in parts.items()}
        largest = max(map(abs, sums.values()), default=0.0)
        reach = {other: number / largest for other, number in sums.items()} if largest > 0.0 else {}
        scale *= largest
        if hop in hops and reach:
            yield reach, scale


def _read_weight(edge: Any, node: Any, other: Any) -> float:
    """Return the weight of an edge; raise ValueError if it is not a finite number of moderate size."""
    weight = edge.get("weight", 1.0)
    try:
        if -1e150 < weight < 1e150:
            return float(weight)
    except TypeError:
        pass
    raise ValueError(
        f"the edge of {node!r:.60} and {other!r:.60} has weight={weight!r:.60}: give a finite number below 1e150"
    )


def _read_features(node_features: Any, name: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and values of the nonzero features of a node."""
    rows = getattr(node_features, "loc", node_features)  # brackets of a frame select columns
    by_position = isinstance(rows, np.ndarray | list | tuple) or sparse.issparse(rows)
    try:
        if by_position and not (isinstance(name, int | np.integer) and name >= 0):
            raise KeyError(name)
        row = rows[name]
    except (KeyError, IndexError):
        raise ValueError(f"X holds {name!r:.60}, but node_features has no row for it: add it") from None
    try:
        row = np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"node_features of {name!r:.60} must be numeric, got {row!r:.60}") from None
    if not np.isfinite(row).all():
        raise ValueError(f"node_features of {name!r:.60} hold NaN or infinity: fill it in")
    columns = np.flatnonzero(row)
    return columns.astype(np.uint64), row[columns]

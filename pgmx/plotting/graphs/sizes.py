"""Sizes of nodes by a measure of their position in the graph, and the choice of nodes that are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from pgmx.checks import check_natural, is_number, join_names
from pgmx.lookup import suggest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pgmx.plotting.graphs.packing import Edge

_SMALLEST = 0.45  # height of the smallest box, as a share of the height of the largest
_MEASURES = ("degree", "closeness")
_ROWS = 256  # nodes whose distances to all others are computed at a time


def read_sizes(sizes: Mapping | str, names: list, every_name: list, edges: Iterable[Edge]) -> tuple[np.ndarray, str]:
    """Return the heights of the boxes as shares of the largest, and a note about what they show.

    The area of a box is proportional to the value, with a lower limit that keeps labels readable. Degree and closeness
    are those in the graph on `every_name`, of which `names` are drawn.
    """
    if isinstance(sizes, str) and sizes in _MEASURES:
        place = {name: v for v, name in enumerate(every_name)}
        values = (count_neighbours if sizes == "degree" else measure_closeness)(len(every_name), edges)
        values = values[[place[name] for name in names]]
        what = sizes
    elif isinstance(sizes, Mapping):
        values, what = _read_values(sizes, names), "value"
    else:
        known = " or ".join(map(repr, _MEASURES))
        raise ValueError(f"sizes must be {known}, or a mapping of every node to a number, got {sizes!r:.100}")
    largest = values.max()
    shares = np.sqrt(values / largest) if largest > 0 else np.ones(len(names))
    return np.maximum(shares, _SMALLEST), f"size: {what}, {values.min():.3g} to {largest:.3g}"


def _read_values(sizes: Mapping, names: list) -> np.ndarray:
    absent = [name for name in names if name not in sizes]
    if absent:
        raise ValueError(f"sizes has no number for {join_names(absent)}: give one for every node")
    for name in names:
        if not is_number(sizes[name]) or not 0 <= sizes[name] < np.inf:
            raise ValueError(f"sizes must be finite and not negative, got {sizes[name]!r} for {name!r}")
    return np.array([float(sizes[name]) for name in names])


def count_neighbours(n: int, edges: Iterable[Edge]) -> np.ndarray:
    """Return the number of neighbours of each node, whatever the directions of the edges."""
    return np.diff(_join(n, edges).indptr).astype(float)


def measure_closeness(n: int, edges: Iterable[Edge]) -> np.ndarray:
    """Return the closeness centrality of each node, whatever the directions (Wasserman and Faust 1994).

    It is (r / Σ d) · r / (n - 1) over the r other nodes that a node reaches at the distances d.
    """
    from scipy.sparse.csgraph import dijkstra

    joined, closeness = _join(n, edges), np.zeros(n)
    for start in range(0, n, _ROWS):
        nodes = np.arange(start, min(start + _ROWS, n))
        distances = dijkstra(joined, indices=nodes, unweighted=True)
        reached = np.isfinite(distances)
        n_others = reached.sum(axis=1) - 1.0
        sums = np.where(reached, distances, 0.0).sum(axis=1)
        closeness[nodes] = np.divide(n_others**2, sums * max(n - 1, 1), out=np.zeros(len(nodes)), where=sums > 0)
    return closeness


def _join(n: int, edges: Iterable[Edge]) -> csr_array:
    """Return the symmetric matrix of the pairs that an edge joins."""
    from scipy.sparse import coo_array

    ends = np.array(sorted({(u, v) for edge in edges for u, v in (edge, edge[::-1])}), dtype=np.int64).reshape(-1, 2).T
    return coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n)).tocsr()


# ---- nodes that the user names ----


def find_nodes(given: Hashable | Iterable[Hashable], names: list, option: str, *, of_series: bool = False) -> list[int]:
    """Return the positions of the nodes that an option names: none, a node, nodes, or groups of nodes.

    In the graph of a time series the name of a variable stands for the variable at all lags.
    """
    place = {name: v for v, name in enumerate(names)}
    lags: dict[Hashable, list[int]] = {}
    if of_series:
        for v, (name, _) in enumerate(names):
            lags.setdefault(name, []).append(v)
    found: list[int] = []
    unknown: list[object] = []

    def add(item: object, depth: int) -> None:
        if isinstance(item, Hashable) and item in place:
            found.append(place[item])
        elif isinstance(item, Hashable) and item in lags:
            found.extend(lags[item])
        elif isinstance(item, Iterable) and not isinstance(item, str) and depth < 2:
            for member in item:
                add(member, depth + 1)
        else:
            unknown.append(item)

    if given is not None:
        add(given, 0)
    if unknown:
        known = [*lags, *names]
        remedy = suggest(unknown[0], map(str, known)) if len(unknown) == 1 else ""
        what = "a node" if len(unknown) == 1 else "nodes"
        raise ValueError(f"{option} has {join_names(unknown)}, not {what} of the graph{remedy}")
    return sorted(set(found))


def find_neighbourhood(n: int, edges: Iterable[Edge], centres: list[int], radius: int) -> list[int]:
    """Return the nodes at most `radius` edges from one of the centres, whatever the directions of the edges."""
    radius = check_natural(radius, "radius", 1)
    joined, near = _join(n, edges), np.zeros(n)
    near[centres] = 1.0
    for _ in range(min(radius, n)):
        near = near + joined @ near > 0
        near = near.astype(float)
    return np.flatnonzero(near).tolist()

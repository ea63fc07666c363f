"""The edges that a dynamic network may have, and the order of the first rows."""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from pgmx.data.series import LaggedSeries
from pgmx.data.series.lagged import Node
from pgmx.search.knowledge import EdgeConstraints, read_constraints, read_knowledge


def read_slice_constraints(
    nodes: Sequence[Node], n_series: int, *, instantaneous: bool, **options: Any
) -> EdgeConstraints:
    """Return the constraints of a transition network over (variable, lag); raise for required edges that it forbids.

    Edges end at one of the first `n_series` nodes, the present of the series. Edges of the present need
    `instantaneous`; static columns, which are the last nodes at lag 0, may always be parents.
    """
    allowed = np.zeros((len(nodes), len(nodes)), dtype=np.uint8)
    allowed[:n_series] = 1
    if not instantaneous:
        allowed[:n_series, :n_series] = 0
    for option, edges in read_knowledge(nodes, **options).required:
        wrong = edges[allowed[edges[:, 1], edges[:, 0]] == 0]
        if len(wrong):
            tail, head = (nodes[v] for v in wrong[0].tolist())
            raise ValueError(f"{option} holds {tail!r} -> {head!r}: {_explain(wrong[0], nodes, n_series)}")
    known = read_constraints(nodes, **options)
    if known.allowed is not None:
        allowed &= known.allowed
    np.fill_diagonal(allowed, 0)
    return EdgeConstraints(len(nodes), known.required, allowed)


def _explain(edge: np.ndarray, nodes: Sequence[Node], n_series: int) -> str:
    """Return why an edge cannot be in a transition network."""
    tail, head = edge.tolist()
    if head < n_series:
        return "edges of the same row need instantaneous=True"
    if nodes[head][1] == 0:
        return f"static column {nodes[head][0]!r} has no parents"
    if nodes[tail][1] < nodes[head][1]:
        return "no edge leads from a later to an earlier row; edges are ((source, lag), (target, 0))"
    return "edges are ((source, lag), (target, 0))"


def list_first_nodes(series: LaggedSeries) -> list[Node]:
    """Return the nodes of the first rows: static columns, then all series at the lags L to 1, the oldest first."""
    lags = range(series.lags, 0, -1)
    return [*((name, 0) for name in series.static), *((name, lag) for lag in lags for name in series.series)]


def order_first_nodes(nodes: Sequence[Node], n_static: int) -> EdgeConstraints:
    """Return the constraints of the first rows: no edge leads back in time or from a series to a static column."""
    lags = np.array([lag for _, lag in nodes])
    lags[:n_static] = lags.max() + 1
    allowed = (lags[None, :] >= lags[:, None]).astype(np.uint8)
    np.fill_diagonal(allowed, 0)
    return EdgeConstraints(len(nodes), allowed=allowed)


def find_common_order(present: np.ndarray, first: np.ndarray, n_series: int) -> np.ndarray | None:
    """Return the place of each series in an order of `present`, edges (m, 2), that is close to that of `first`.

    None if no cycle contains edges of both.
    """
    transition, prior = nx.DiGraph(), nx.DiGraph()
    for graph, edges in ((transition, present), (prior, first)):
        graph.add_nodes_from(range(n_series))
        graph.add_edges_from(edges.tolist())
    if nx.is_directed_acyclic_graph(nx.compose(transition, prior)):
        return None
    place = {v: k for k, v in enumerate(nx.lexicographical_topological_sort(prior))}
    return np.argsort(list(nx.lexicographical_topological_sort(transition, key=place.__getitem__)))


def keep_order(constraints: EdgeConstraints, places: np.ndarray) -> EdgeConstraints:
    """Return the constraints of first rows, the last nodes of which are the series, without edges against an order."""
    assert constraints.allowed is not None
    allowed, n = constraints.allowed.copy(), len(places)
    allowed[-n:, -n:] &= (places[None, :] < places[:, None]).astype(np.uint8)
    return EdgeConstraints(len(allowed), allowed=allowed)

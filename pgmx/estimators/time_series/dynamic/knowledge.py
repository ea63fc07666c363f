"""The edges that a dynamic network may have, and the knowledge of edges for the network of the first rows."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from pgmx.search.knowledge import EdgeConstraints, read_constraints, read_knowledge

Node = tuple[Hashable, int]


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


def list_slice_edges(edges: Collection | None, lags: int) -> list[tuple[Node, Node]]:
    """Return edges ((source, lag), (target, 0)) as edges among the first rows, which are at the lags 1 to `lags`."""
    shifted = []
    for (source, lag), (target, at) in edges or ():
        shifts = range(1, lags + 1) if at == 0 else ()
        shifted += [((source, lag + k), (target, k)) for k in shifts if lag + k <= lags]
    return shifted

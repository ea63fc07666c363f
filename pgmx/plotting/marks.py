"""Nodes and edges of any graph of pgmx, pgmpy or networkx, as integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pgmx.checks import check_same_names

if TYPE_CHECKING:
    from networkx import Graph


class Marks(NamedTuple):
    """A graph as integers: ``names[v]``, arrows (tail, head) and undirected pairs (u, v) with u < v, both sorted."""

    names: list
    directed: list
    undirected: list


def read_marks(graph: Graph, names: Sequence | None = None) -> Marks:
    """Read nodes and edges from a pgmpy or networkx graph, the nodes in the order of `names` where given.

    In a directed graph two opposite edges are one undirected edge, as in pgmpy's ``PDAG``. Raise TypeError where it is
    no such graph, ValueError where `names` are not its nodes. Cost O(nodes + edges log edges).
    """
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise TypeError(f"expected a pgmpy or networkx graph, got {type(graph).__name__}")
    names = list(graph.nodes()) if names is None else list(names)
    number = {name: v for v, name in enumerate(names)}
    check_same_names(names, graph.nodes(), "the graph", "its reference", "nodes")
    arcs = {(number[u], number[v]) for u, v in graph.edges() if u != v}
    if not graph.is_directed():
        arcs |= {(v, u) for u, v in arcs}
    both = {(u, v) for u, v in arcs if (v, u) in arcs}
    return Marks(names, sorted(arcs - both), sorted((u, v) for u, v in both if u < v))

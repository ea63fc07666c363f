"""Nodes and edges of any graph that pgmx or pgmpy hands back, as integers."""

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
    """Read nodes and edges from a pgmpy or networkx graph; cost O(nodes + edges log edges).

    Parameters
    ----------
    graph : networkx graph or pgmpy model
        In a directed graph two opposite edges are one undirected edge, as in pgmpy's ``PDAG``.
    names : sequence, optional
        The nodes in the order wanted; default the graph's own.

    Returns
    -------
    Marks
        Sorted, so that nothing depends on the order of a set.

    Raises
    ------
    TypeError
        If `graph` is no such graph.
    ValueError
        If `names` are not the nodes of the graph.

    Examples
    --------
    >>> import networkx as nx
    >>> from pgmx.plotting.marks import read_marks
    >>> read_marks(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")]))
    Marks(names=['a', 'b', 'c'], directed=[(0, 1)], undirected=[(1, 2)])
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

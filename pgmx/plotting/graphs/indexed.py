"""Graphs as integers, and the differences between two graphs on the same nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pgmx.checks import check_same_names

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from networkx import Graph


class IndexedGraph(NamedTuple):
    """A graph as integers: ``names[v]``, arrows (tail, head) and undirected pairs (u, v) with u < v, both sorted.

    `ends` has the marks at u and v of each edge of a PAG. An edge with one arrowhead is an arrow, others are pairs.
    """

    names: list
    directed: list
    undirected: list
    ends: dict[tuple[int, int], tuple[str, str]] = {}

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Arrows and undirected pairs."""
        return [*self.directed, *self.undirected]

    def keep(self, nodes: Sequence[int]) -> IndexedGraph:
        """Return the graph on some of the nodes, whose positions increase."""
        place = {v: k for k, v in enumerate(nodes)}

        def keep_pairs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
            return [(place[u], place[v]) for u, v in pairs if u in place and v in place]

        ends = {(place[u], place[v]): marks for (u, v), marks in self.ends.items() if u in place and v in place}
        names = [self.names[v] for v in nodes]
        return IndexedGraph(names, keep_pairs(self.directed), keep_pairs(self.undirected), ends)


def is_series_graph(graph: Any) -> bool:
    """Return whether nodes are (variable, lag)."""
    return hasattr(graph, "summary_graph")


def is_pag(graph: Any) -> bool:
    """Return whether a graph has marks at the ends of its edges."""
    return hasattr(graph, "definite_parents")


def index_graph(graph: Graph, names: list | None = None) -> IndexedGraph:
    """Return a graph as integers; two opposite arcs are one undirected edge, as in pgmpy's ``PDAG``."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise TypeError(f"expected a pgmpy or networkx graph or a fitted learner, got {type(graph).__name__}")
    names = list(graph.nodes()) if names is None else list(names)
    number = {name: v for v, name in enumerate(names)}
    check_same_names(names, graph.nodes(), "the graph", "its reference", "nodes")
    if is_pag(graph):
        return _index_pag(graph, names, number)
    arcs = {(number[u], number[v]) for u, v in graph.edges() if u != v}
    if not graph.is_directed():
        arcs |= {(v, u) for u, v in arcs}
    both = {(u, v) for u, v in arcs if (v, u) in arcs}
    return IndexedGraph(names, sorted(arcs - both), sorted((u, v) for u, v in both if u < v))


def index_reference(reference: Any, graph: Any, names: list) -> IndexedGraph | None:
    """Return a reference as integers with the names of the graph, None without one; TypeError if only one is a PAG."""
    if reference is None:
        return None
    if is_pag(graph) != is_pag(reference):
        raise TypeError("a PAG can be compared with a PAG only: leave out reference, or give another one")
    return index_graph(reference, names)


def _index_pag(graph: Graph, names: list, number: Mapping[Hashable, int]) -> IndexedGraph:
    """Return a PAG as integers; edges with one arrowhead are arrows."""
    ends = {}
    for u, v, marks in graph.edges(data="marks"):
        # the tail of an arrow first, else the smaller position
        tail, head = sorted((u, v), key=lambda end: (marks[end] == ">", number[end]))
        ends[number[tail], number[head]] = marks[tail], marks[head]
    arrows = [edge for edge, (at_tail, at_head) in ends.items() if at_head == ">" != at_tail]
    return IndexedGraph(names, sorted(arrows), sorted(ends.keys() - set(arrows)), ends)


def read_ends(edges: list[tuple], indexed: IndexedGraph, reference: IndexedGraph | None) -> list[tuple[str, str]]:
    """Return the marks at u and v of the edges (u, v, is_arrow, verdict); lines have a tail at both ends."""
    known = indexed.ends if reference is None else reference.ends | indexed.ends
    return [known.get(edge[:2], ("-", ">" if edge[2] else "-")) for edge in edges]


def compare_edges(indexed: IndexedGraph, reference: IndexedGraph | None) -> list[tuple]:
    """Return (u, v, is_arrow, verdict) for the edges of the graph and the edges only in the reference."""
    edges = [(u, v, True) for u, v in indexed.directed] + [(u, v, False) for u, v in indexed.undirected]
    if reference is None:
        return [(*edge, "shared") for edge in edges]
    theirs = [(u, v, True) for u, v in reference.directed] + [(u, v, False) for u, v in reference.undirected]
    same = {edge for edge in theirs if reference.ends.get(edge[:2]) == indexed.ends.get(edge[:2])}
    pairs = {frozenset(edge[:2]) for edge in theirs}
    verdicts = []
    for edge in edges:
        unlike = "turned" if frozenset(edge[:2]) in pairs else "extra"
        verdicts.append((*edge, "shared" if edge in same else unlike))
    ours = {frozenset(edge[:2]) for edge in edges}
    return verdicts + [(*edge, "missing") for edge in theirs if frozenset(edge[:2]) not in ours]

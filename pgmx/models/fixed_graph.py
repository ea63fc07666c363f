"""A pgmpy graph that is determined by parameters and cannot be changed; files hold the parameters."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import networkx as nx

from pgmx.checks import join_names
from pgmx.models.saving import SavedByParts


class FixedGraph(SavedByParts, nx.Graph):
    """Mixin of a pgmpy graph, directed or not, whose nodes and edges cannot be changed once it has parameters.

    Without parameters it can be changed: networkx fills empty graphs of the same class as a given graph.
    """

    #: The class of networkx. Its methods keep attributes of edges; pgmpy's methods lose them.
    _plain: type[nx.Graph] = nx.Graph

    #: What determines the graph, and the constructor that accepts another one.
    _follows_from = ("parameters", "another constructor")

    @abstractmethod
    def _is_fixed(self) -> bool:
        """Return whether the graph has parameters."""

    def _copy_graph(self, clone: nx.Graph) -> None:
        """Give an empty graph of the same class the nodes, the edges, and all attributes of this one."""
        clone.graph.update(self.graph)
        self._plain.add_nodes_from(clone, ((name, dict(marks)) for name, marks in self.nodes(data=True)))
        self._plain.add_edges_from(clone, ((u, v, dict(marks)) for u, v, marks in self.edges(data=True)))

    def _check_node(self, node: Hashable) -> None:
        if node not in self:
            raise ValueError(f"no variable {node!r}: the variables are {join_names(self.nodes())}")

    def _refuse_if_fixed(self, what: str) -> None:
        if self._is_fixed():
            source, constructor = self._follows_from
            raise TypeError(
                f"the {what} of a {type(self).__name__} follow from its {source} and cannot be changed: build "
                f"another network with {constructor}, or change the plain graph that to_networkx() returns"
            )

    def add_node(self, *args: Any, **kwargs: Any) -> None:
        """Add a node if the network has no parameters yet."""
        self._refuse_if_fixed("nodes")
        super().add_node(*args, **kwargs)

    def add_nodes_from(self, *args: Any, **kwargs: Any) -> None:
        """Add nodes if the network has no parameters yet."""
        self._refuse_if_fixed("nodes")
        super().add_nodes_from(*args, **kwargs)

    def remove_node(self, node: Hashable) -> None:
        """Remove a node if the network has no parameters yet."""
        self._refuse_if_fixed("nodes")
        super().remove_node(node)

    def remove_nodes_from(self, nodes: Iterable[Hashable]) -> None:
        """Remove nodes if the network has no parameters yet."""
        self._refuse_if_fixed("nodes")
        super().remove_nodes_from(nodes)

    def add_edge(self, u: Hashable, v: Hashable, weight: float | None = None, **attributes: Any) -> None:
        """Add an edge if the network has no parameters yet."""
        self._refuse_if_fixed("edges")
        if u == v:
            raise ValueError(f"an edge cannot join {u!r} to itself")
        self._plain.add_edge(self, u, v, weight=weight, **attributes)

    def add_edges_from(self, ebunch: Iterable, weights: Sequence[float] | None = None, **attributes: Any) -> None:
        """Add edges if the network has no parameters yet; pgmpy's own method would lose their attributes."""
        self._refuse_if_fixed("edges")
        edges = [tuple(edge) for edge in ebunch]
        if weights is not None:
            edges = [(u, v, {"weight": weight}) for (u, v, *_), weight in zip(edges, weights, strict=True)]
        self._plain.add_edges_from(self, edges, **attributes)

    def remove_edge(self, u: Hashable, v: Hashable) -> None:
        """Remove an edge if the network has no parameters yet."""
        self._refuse_if_fixed("edges")
        super().remove_edge(u, v)

    def remove_edges_from(self, ebunch: Iterable) -> None:
        """Remove edges if the network has no parameters yet."""
        self._refuse_if_fixed("edges")
        super().remove_edges_from(ebunch)

    def clear(self) -> None:
        """Remove everything if the network has no parameters yet."""
        self._refuse_if_fixed("nodes")
        super().clear()

    def clear_edges(self) -> None:
        """Remove all edges if the network has no parameters yet."""
        self._refuse_if_fixed("edges")
        super().clear_edges()

"""A pgmpy graph that follows from numbers, and therefore does not change; files hold the numbers."""

import os
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import networkx as nx
from pgmpy.base import UndirectedGraph

from pgmx.atomic import replace_file
from pgmx.checks import join_names
from pgmx.models.files.formats import check_target, choose_format, explain_unreadable


class FixedGraph(UndirectedGraph):
    """An undirected graph whose nodes and edges cannot be changed once it has numbers.

    Without numbers it is open: networkx fills empty graphs of the class of another.
    """

    #: What the graph follows from, and the constructor that takes another.
    _follows_from = ("parameters", "another constructor")

    #: How files hold the numbers, by format, and what messages call them.
    _writers: Mapping[str, Callable[[Any], bytes]]
    _readers: Mapping[str, Callable[[bytes], Any]]
    _description: str

    @abstractmethod
    def _is_fixed(self) -> bool:
        """Return whether the graph has numbers."""

    def _copy_graph(self, clone: nx.Graph) -> None:
        """Give an empty graph of the same class the nodes, the edges, and all attributes of this one."""
        clone.graph.update(self.graph)
        nx.Graph.add_nodes_from(clone, ((name, dict(marks)) for name, marks in self.nodes(data=True)))
        nx.Graph.add_edges_from(clone, ((u, v, dict(marks)) for u, v, marks in self.edges(data=True)))

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
        """Add a node, where the network has no numbers yet."""
        self._refuse_if_fixed("nodes")
        super().add_node(*args, **kwargs)

    def add_nodes_from(self, *args: Any, **kwargs: Any) -> None:
        """Add nodes, where the network has no numbers yet."""
        self._refuse_if_fixed("nodes")
        super().add_nodes_from(*args, **kwargs)

    def remove_node(self, node: Hashable) -> None:
        """Remove a node, where the network has no numbers yet."""
        self._refuse_if_fixed("nodes")
        super().remove_node(node)

    def remove_nodes_from(self, nodes: Iterable[Hashable]) -> None:
        """Remove nodes, where the network has no numbers yet."""
        self._refuse_if_fixed("nodes")
        super().remove_nodes_from(nodes)

    def add_edge(self, u: Hashable, v: Hashable, weight: float | None = None, **attributes: Any) -> None:
        """Add an edge, where the network has no numbers yet."""
        self._refuse_if_fixed("edges")
        if u == v:
            raise ValueError(f"an edge cannot join {u!r} to itself")
        nx.Graph.add_edge(self, u, v, weight=weight, **attributes)

    def add_edges_from(self, ebunch: Iterable, weights: Sequence[float] | None = None, **attributes: Any) -> None:
        """Add edges, where the network has no numbers yet; pgmpy's own method would lose their attributes."""
        self._refuse_if_fixed("edges")
        edges = [tuple(edge) for edge in ebunch]
        if weights is not None:
            edges = [(u, v, {"weight": weight}) for (u, v, *_), weight in zip(edges, weights, strict=True)]
        nx.Graph.add_edges_from(self, edges, **attributes)

    def remove_edge(self, u: Hashable, v: Hashable) -> None:
        """Remove an edge, where the network has no numbers yet."""
        self._refuse_if_fixed("edges")
        super().remove_edge(u, v)

    def remove_edges_from(self, ebunch: Iterable) -> None:
        """Remove edges, where the network has no numbers yet."""
        self._refuse_if_fixed("edges")
        super().remove_edges_from(ebunch)

    def clear(self) -> None:
        """Remove everything, where the network has no numbers yet."""
        self._refuse_if_fixed("nodes")
        super().clear()

    def clear_edges(self) -> None:
        """Remove all edges, where the network has no numbers yet."""
        self._refuse_if_fixed("edges")
        super().clear_edges()

    # ---- files ----

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: Any) -> Self:
        """Make a network of its parts, as files hold them."""

    @abstractmethod
    def parts(self) -> Any:
        """Return what files hold of a network."""

    def _parts_for(self, format: str) -> Any:
        """Return the parts as a format needs them."""
        return self.parts()

    def save(self, path: str | os.PathLike, format: str | None = None) -> Path:
        """Write the network to a file and return its path; `format` is the suffix of ``path`` by default.

        :func:`pgmx.models.save_markov_network` and :func:`pgmx.models.save_gaussian_network` say what each keeps.
        """
        path, format = check_target(path, format, self._writers)
        raw = self._writers[format](self._parts_for(format))
        with replace_file(path) as part:
            part.write_bytes(raw)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike, format: str | None = None) -> Self:
        """Read a network of this class from a file; `format` as for `save`."""
        path, format = choose_format(path, format, cls._readers)
        raw = path.read_bytes()
        with explain_unreadable(path, f"{cls._description} in {format} form"):
            return cls.from_parts(cls._readers[format](raw))

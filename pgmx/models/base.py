"""What the network classes share: checks of names, saving to files, and a graph that parameters determine."""

import os
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import networkx as nx

from pgmx.atomic import replace_file
from pgmx.checks import join_names
from pgmx.data.columns import python_scalar
from pgmx.models.files.formats import check_target, choose_format, explain_unreadable, pack_content, read_content


def check_names(names: Iterable[Hashable]) -> tuple:
    """Return names as Python scalars in a tuple, or raise if they cannot be the distinct nodes of a graph."""
    names = tuple(python_scalar(name) for name in names)
    if not names:
        raise ValueError("a network needs one variable at least, got no names")
    unhashable = [name for name in names if not isinstance(name, Hashable)]
    if unhashable:
        kind = type(unhashable[0]).__name__
        raise TypeError(f"names of variables must be hashable, got {kind}: give a list of names")
    if None in names:
        raise ValueError("None cannot be the name of a variable: networkx has no such node")
    if len(set(names)) < len(names):
        counts: dict[Hashable, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        twice = [name for name, count in counts.items() if count > 1]
        raise ValueError(f"the names {join_names(twice)} occur more than once: rename the variables")
    return names


def copy_into(clone: Any, network: Any) -> Any:
    """Give an empty network of pgmpy the graph of another, with all attributes, and copies of its CPDs."""
    clone.graph.update(network.graph)
    # networkx's methods keep the attributes, which pgmpy's lose, and are fast for large networks
    nx.DiGraph.add_nodes_from(clone, ((name, _copy_marks(marks)) for name, marks in network.nodes(data=True)))
    nx.DiGraph.add_edges_from(clone, ((u, v, _copy_marks(marks)) for u, v, marks in network.edges(data=True)))
    clone.cpds = [cpd.copy() for cpd in network.cpds]
    return clone


def _copy_marks(marks: Mapping[str, Any]) -> dict[str, Any]:
    # pgmpy keeps the roles of a node, such as "latents", in a set among its attributes
    return {key: set(value) if isinstance(value, set) else value for key, value in marks.items()}


Saved = TypeVar("Saved", bound="FileMixin")  # of Self jedi returns the base class


class FileMixin:
    """A model that is saved to files and loaded from them, as a tuple of its fields."""

    #: Writers and readers of the fields by format, and the description of the model in messages.
    _writers: Mapping[str, Callable[[Any], bytes]]
    _readers: Mapping[str, Callable[[bytes], Any]]
    _description: str

    @classmethod
    @abstractmethod
    def from_parts(cls: type[Saved], parts: Any) -> Saved:
        """Make a model from the fields that files hold."""

    @abstractmethod
    def parts(self) -> Any:
        """Return the fields that files hold."""

    def _parts_for(self, format: str) -> Any:
        """Return the fields in the form that a format needs."""
        return self.parts()

    def save(self, path: str | os.PathLike, format: str | None = None) -> Path:
        """Write the model to a file and return its path; `format` is the suffix of ``path`` by default.

        :func:`pgmx.models.save_model` says what each format keeps.
        """
        # Everything is checked and converted before a file is opened: after an error the old file is still there.
        path, format = check_target(path, format, self._writers)
        raw = pack_content(path, self._writers[format](self._parts_for(format)))
        # Another program never sees a half-written file.
        with replace_file(path) as part:
            part.write_bytes(raw)
        return path

    @classmethod
    def load(cls: type[Saved], path: str | os.PathLike, format: str | None = None) -> Saved:
        """Read a model of this class from a file; `format` as for `save`."""
        path, format = choose_format(path, format, cls._readers)
        raw = read_content(path)
        with explain_unreadable(path, f"{cls._description} in {format} form"):
            return cls.from_parts(cls._readers[format](raw))


class FixedGraph(FileMixin, nx.Graph):
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
        # Attributes are copied: changes of the copy must not change this graph.
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

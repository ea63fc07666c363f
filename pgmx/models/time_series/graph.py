"""The graph over (variable, lag) that learners from time series return."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import networkx as nx
import numpy as np
from pgmpy.models import DynamicBayesianNetwork
from scipy.sparse import csr_array

from pgmx.graphs.cycles import find_cycle
from pgmx.models.base import FileMixin, check_names
from pgmx.models.files.time_series import GRAPH_READERS, GRAPH_WRITERS, GraphParts
from pgmx.models.time_series.coefficients import (
    Coefficients,
    Matrix,
    count_entries,
    list_entries,
    read_coefficients,
    take_entries,
)
from pgmx.models.time_series.measures import GraphMeasures, measure_graph

#: Numeric attributes of edges.
NUMBERS = ("weight", "strength", "confidence")

Node = tuple[Hashable, int]


class TimeSeriesGraph(FileMixin, nx.DiGraph):
    r"""A directed graph over (variable, lag): the variables, and their lags, on which each variable depends.

    The node ``(name, l)`` is a variable l rows before the present, l >= 0. All edges ``(source, l) -> (target, 0)`` end
    at the present. They are lagged for l > 0 and instantaneous for l = 0.

    Parameters
    ----------
    incoming_graph_data : iterable of edges, networkx.DiGraph or None, default=None
        Edges ``((source, l), (target, 0))``, as for networkx; none by default.
    **attributes
        Attributes of the graph, as in networkx, such as ``name``.

    Attributes
    ----------
    names : tuple of hashable
        Names of the variables, in the order of their first nodes.
    lags : int
        Largest lag of a node, 0 for a graph without nodes.
    lagged_edges, instantaneous_edges : list of (node, node)
        The two kinds of edges.

    Raises
    ------
    ValueError, TypeError
        If a node is not a pair (name, lag) with an integer lag >= 0, or an edge does not end at lag 0 or joins a node
        to itself.

    Notes
    -----
    Edges may have three attributes. ``weight`` is the coefficient in the user's units. ``strength`` does not depend on
    units: learners set it to the absolute standardised coefficient or to the statistic that ranks edges, and the
    default is the absolute weight. ``confidence`` is the frequency of the edge over resamples. An undirected
    instantaneous relation is represented by two opposite edges with ``undirected=True``. Each has its own weight, and
    both have the larger strength and confidence.

    Graphs of `from_coefficients` have all variables at all lags as nodes, ordered by lag. Their edges are ordered by
    lag, source and target.

    References
    ----------
    J. Runge, P. Nowack, M. Kretschmer, S. Flaxman, D. Sejdinovic (2019), Detecting and quantifying causal associations
    in large nonlinear time series datasets, Science Advances 5 (graphs over (variable, lag)).

    Examples
    --------
    >>> from pgmx.models import TimeSeriesGraph
    >>> graph = TimeSeriesGraph.from_coefficients(["rain", "river"], [[0.5, 0.0], [0.25, 0.5]])
    >>> graph
    TimeSeriesGraph(2 variables, 1 lag, 3 edges)
    >>> graph.lagged_edges[1]
    (('rain', 1), ('river', 0))
    >>> list(graph.summary_graph().edges(data="lags"))
    [('rain', 'rain', (1,)), ('rain', 'river', (1,)), ('river', 'river', (1,))]
    """

    _writers = GRAPH_WRITERS
    _readers = GRAPH_READERS
    _description = "a graph over (variable, lag)"

    def __init__(self, incoming_graph_data: Iterable | None = None, **attributes: Any) -> None:
        data = incoming_graph_data
        if isinstance(data, nx.Graph):
            super().__init__()
            self.graph.update(data.graph | attributes)
            self.add_nodes_from(data.nodes(data=True))
            self.add_edges_from(data.edges(data=True))
        elif isinstance(data, list | tuple | set | frozenset):  # networkx would hide the error in an edge
            super().__init__(None, **attributes)
            self.add_edges_from(data)
        else:
            super().__init__(data, **attributes)

    # ---- construction ----

    @classmethod
    def from_coefficients(
        cls,
        names: Sequence[Hashable],
        coefs: Coefficients | None,
        *,
        strengths: Coefficients | None = None,
        confidence: Coefficients | None = None,
        undirected_instantaneous: bool = False,
    ) -> Self:
        """Make a graph from one matrix of coefficients per lag.

        Parameters
        ----------
        names : sequence of hashable, length n
            Distinct names of the variables; None is not allowed.
        coefs : array_like or scipy.sparse matrix of shape (n, n), or a sequence of L + 1 of them
            Coefficients ``[target, source]`` of lag 1, or of the lags 0 to L, as in the attribute ``coef_`` of
            learners. Each nonzero coefficient is an edge with the attribute ``weight``. None if only `strengths` are
            known.
        strengths, confidence : as `coefs`, optional
            Further attributes of the edges, not negative. By default strengths are the absolute coefficients. Without
            `coefs` each nonzero strength is an edge.
        undirected_instantaneous : bool, default=False
            Whether relations at lag 0 are undirected. Such a relation exists if one of its two entries is not zero.

        Returns
        -------
        TimeSeriesGraph
            A graph whose nodes are all variables at the lags 0 to L.

        Raises
        ------
        ValueError
            If names occur twice, a shape is wrong, a value is not finite, a strength is negative, a variable depends on
            its own present, or both `coefs` and `strengths` are None.

        Notes
        -----
        Cost: linear in the number of edges (about 3 microseconds per edge) and in the size of dense matrices.
        """
        names = check_names(names)
        n = len(names)
        if coefs is None and strengths is None:
            raise ValueError("coefs and strengths are both None: give one of them")
        tables: dict[str, tuple[Matrix, ...]] = {}
        for key, values in zip(NUMBERS, (coefs, strengths, confidence), strict=True):
            if values is not None:
                tables[key] = read_coefficients(values, n, "coefs" if key == "weight" else key)
        for key in tables.keys() - {"weight"}:
            _check_not_negative(tables[key], key)
        shape = tables["weight" if coefs is not None else "strength"]
        for key, matrices in tables.items():
            if len(matrices) != len(shape):
                raise ValueError(
                    f"{key} has matrices of {len(matrices)} lags (with lag 0), but edges have {len(shape)}"
                )
        if np.any(shape[0].diagonal() != 0.0):
            wrong = names[int(np.flatnonzero(shape[0].diagonal())[0])]
            raise ValueError(f"{wrong!r} depends on its own present: the diagonal of lag 0 must be zero")
        graph = cls()
        graph.add_nodes_from((name, lag) for lag in range(len(shape)) for name in names)
        for lag, matrix in enumerate(shape):
            undirected = undirected_instantaneous and lag == 0
            graph._add_matrix(names, lag, matrix, {key: matrices[lag] for key, matrices in tables.items()}, undirected)
        return graph

    def _add_matrix(self, names: tuple, lag: int, matrix: Matrix, tables: dict[str, Matrix], undirected: bool) -> None:
        """Add the edges of one lag."""
        if not count_entries(matrix):
            return
        if undirected:
            matrix = abs(csr_array(matrix)) + abs(csr_array(matrix)).T
        targets, sources, _ = list_entries(matrix)
        numbers = {key: take_entries(table, targets, sources) for key, table in tables.items()}
        if "weight" in numbers:
            numbers.setdefault("strength", np.abs(numbers["weight"]))
        if undirected:
            opposite = {key: take_entries(table, sources, targets) for key, table in tables.items()}
            if "weight" in opposite:
                opposite.setdefault("strength", np.abs(opposite["weight"]))
            for key in numbers.keys() - {"weight"}:
                numbers[key] = np.maximum(numbers[key], opposite[key])
        mark = {"undirected": True} if undirected else {}
        keys = tuple(key for key in NUMBERS if key in numbers)
        columns = zip(*(numbers[key].tolist() for key in keys), strict=True)
        rows = zip(sources.tolist(), targets.tolist(), columns, strict=True)
        # The method of networkx: these edges need no check.
        nx.DiGraph.add_edges_from(
            self,
            (((names[s], lag), (names[t], 0), dict(zip(keys, values, strict=True)) | mark) for s, t, values in rows),
        )

    def add_node(self, node_for_adding: Node, **attr: Any) -> None:
        """Add a node (name, lag), as networkx does."""
        _check_node(node_for_adding)
        super().add_node(node_for_adding, **attr)

    def add_nodes_from(self, nodes_for_adding: Iterable, **attr: Any) -> None:
        """Add nodes (name, lag), or (node, attributes), as networkx does."""
        nodes = list(nodes_for_adding)
        for node in nodes:
            has_attributes = isinstance(node, tuple) and len(node) == 2 and isinstance(node[1], dict)
            _check_node(node[0] if has_attributes else node)
        super().add_nodes_from(nodes, **attr)

    def add_edge(self, u_of_edge: Node, v_of_edge: Node, **attr: Any) -> None:
        """Add an edge (source, l) -> (target, 0), as networkx does."""
        _check_edge(u_of_edge, v_of_edge)
        super().add_edge(u_of_edge, v_of_edge, **attr)

    def add_edges_from(self, ebunch_to_add: Iterable, **attr: Any) -> None:
        """Add edges (source, l) -> (target, 0), with attributes or without, as networkx does."""
        edges = [tuple(edge) for edge in ebunch_to_add]
        for edge in edges:
            if len(edge) not in (2, 3):
                raise ValueError(f"an edge must be (source, target) or (source, target, attributes), got {edge!r:.200}")
            _check_edge(edge[0], edge[1])
        super().add_edges_from(edges, **attr)

    # ---- nodes and edges ----

    @property
    def names(self) -> tuple:
        """Names of the variables, in the order of their first nodes."""
        return tuple(dict.fromkeys(name for name, _ in self.nodes()))

    @property
    def lags(self) -> int:
        """Largest lag of a node, 0 for a graph without nodes."""
        return max((lag for _, lag in self.nodes()), default=0)

    @property
    def lagged_edges(self) -> list[tuple[Node, Node]]:
        """Edges (source, l) -> (target, 0) with l > 0."""
        return [(u, v) for u, v in self.edges() if u[1] > 0]

    @property
    def instantaneous_edges(self) -> list[tuple[Node, Node]]:
        """Edges (source, 0) -> (target, 0); undirected relations appear in both directions."""
        return [(u, v) for u, v in self.edges() if u[1] == 0]

    def summary_graph(self) -> nx.DiGraph:
        """Return the graph over names, with an edge if a variable depends on another one at any lag.

        Returns
        -------
        networkx.DiGraph
            Edges have ``lags``, the ascending tuple of their lags, and the largest ``strength`` and ``confidence`` over
            these lags if all have one. A variable that depends on its own past has an edge to itself.
        """
        summary = nx.DiGraph()
        summary.add_nodes_from(self.names)
        for (source, lag), (target, _), numbers in self.edges(data=True):
            if not summary.has_edge(source, target):
                summary.add_edge(source, target, lags=(), **{key: [] for key in NUMBERS[1:]})
            edge = summary.edges[source, target]
            edge["lags"] = tuple(sorted((*edge["lags"], lag)))
            for key in NUMBERS[1:]:
                edge[key].append(numbers.get(key))
        for _, _, edge in summary.edges(data=True):
            for key in NUMBERS[1:]:
                values = edge.pop(key)
                if None not in values:
                    edge[key] = max(values)
        return summary

    def to_arrays(self, attribute: str | None = "weight") -> np.ndarray:
        """Return an attribute of the edges as an array.

        Parameters
        ----------
        attribute : {"weight", "strength", "confidence"} or None, default="weight"
            The attribute. The value is 1 with None, and for an edge without the attribute.

        Returns
        -------
        ndarray of float64, shape (lags + 1, n, n)
            Entries ``[lag, target, source]`` in the order of `names`, 0 for no edge.

        Raises
        ------
        ValueError
            For another attribute.
        """
        if attribute not in (*NUMBERS, None):
            raise ValueError(f"attribute must be one of {', '.join(map(repr, NUMBERS))} or None, got {attribute!r}")
        place = {name: v for v, name in enumerate(self.names)}
        array = np.zeros((self.lags + 1, len(place), len(place)))
        entries: Any = self.edges(data=True)
        for (source, lag), (target, _), numbers in entries:
            array[lag, place[target], place[source]] = numbers.get(attribute, 1.0)
        return array

    def measures(self) -> GraphMeasures:
        r"""Return measures of the summary graph, without edges from a variable to itself.

        Returns
        -------
        GraphMeasures
            Named fields: ``density``, edges / (n (n - 1)); ``clustering``, the share of connected triplets of variables
            that are closed, ignoring directions; ``n_components``, ignoring directions; ``diameter``, the longest
            directed shortest path between two variables, 0 without edges; ``average_shortest_path``, the mean length of
            all finite ones, NaN without edges; ``average_neighbors``, edges / n; ``n_edges``; and ``by_node``, a frame
            of ``in_degree``, ``out_degree``, ``degree`` (their sum) and ``average_shortest_path`` (from the variable to
            all variables that it reaches) by name.

        Notes
        -----
        Cost: O(n m + n^2 log n) for n variables and m edges, and memory for 256 rows of distances.

        References
        ----------
        M. Rubinov, O. Sporns (2010), Complex network measures of brain connectivity: uses and interpretations,
        NeuroImage 52.
        """
        return measure_graph(self.summary_graph())

    def to_dynamic_bayesian_network(self) -> DynamicBayesianNetwork:
        """Return the structure as a dynamic Bayesian network of pgmpy, without parameters.

        Returns
        -------
        pgmpy.models.DynamicBayesianNetwork
            Nodes (name, 0) of the previous row and (name, 1) of the present: pgmpy counts slices forwards.

        Raises
        ------
        ValueError
            For edges of a lag above 1, which pgmpy 1.1 does not support, and for instantaneous relations that are
            undirected or form a cycle.
        """
        return make_dynamic_network(self)

    # ---- files ----

    @classmethod
    def from_parts(cls, parts: GraphParts) -> Self:
        """Make a graph from the fields that files hold; they are checked."""
        graph = cls(**({"name": parts.name} if parts.name else {}))
        graph.add_nodes_from(parts.nodes)
        graph.add_edges_from(parts.edges)
        return graph

    def parts(self) -> GraphParts:
        """Return the fields that files hold: nodes, edges with their attributes, and the name."""
        return GraphParts(list(self.nodes()), list(self.edges(data=True)), str(self.name or ""))

    def __repr__(self) -> str:
        counts = (("variable", len(self.names)), ("lag", self.lags), ("edge", self.number_of_edges()))
        words = (f"{n} {word}" if n == 1 else f"{n} {word}s" for word, n in counts)
        return f"TimeSeriesGraph({', '.join(words)})"

    __str__ = __repr__


def _check_not_negative(matrices: tuple[Matrix, ...], what: str) -> None:
    lowest = min((float(matrix.min()) for matrix in matrices), default=0.0)
    if lowest < 0.0:
        raise ValueError(f"{what} must not be negative, got {lowest}")


def _check_node(node: object) -> None:
    if not isinstance(node, tuple) or len(node) != 2 or type(node[1]) is not int:
        raise TypeError(f"a node must be a pair (name, lag) with an integer lag, got {node!r:.200}")
    if node[1] < 0:
        raise ValueError(f"the lag of {node!r:.200} must not be negative: it counts rows before the present")
    if node[0] is None:
        raise ValueError(f"None cannot be the name of a variable, got the node {node!r}")


def _check_edge(source: object, target: object) -> None:
    _check_node(source)
    _check_node(target)
    if target[1] != 0:  # type: ignore[index]
        raise ValueError(f"an edge must end at lag 0, got {source!r:.200} -> {target!r:.200}: shift both by the lag")
    if source == target:
        raise ValueError(f"an edge cannot join {source!r:.200} to itself; its own past has a lag above 0")


def make_dynamic_network(graph: nx.DiGraph) -> DynamicBayesianNetwork:
    """Make the network of edges (source, l) -> (target, 0) with l = 0 or 1; raise for other graphs."""
    edges = list(graph.edges(data="undirected"))
    longest = max(edges, key=lambda edge: edge[0][1], default=None)
    if longest is not None and longest[0][1] > 1:
        raise ValueError(
            f"pgmpy 1.1 has dynamic Bayesian networks of lag 1 only, and {longest[0]!r} -> {longest[1]!r} has lag "
            f"{longest[0][1]}: learn with lags=1, or use LinearDynamicalSystem.to_linear_gaussian_bn()"
        )
    lines = [(u, v) for u, v, undirected in edges if undirected]
    if lines:
        raise ValueError(f"{lines[0][0]!r} -- {lines[0][1]!r} has no direction: remove one of its two edges")
    position = {node: v for v, node in enumerate(graph.nodes())}
    cycle = find_cycle(len(position), [(position[u], position[v]) for u, v, _ in edges if u[1] == 0])
    if cycle is not None:
        nodes = list(position)
        path = " -> ".join(repr(nodes[v]) for v in cycle)
        raise ValueError(f"the instantaneous edges form a cycle, {path}: remove one of them")
    network = DynamicBayesianNetwork()
    network.add_nodes_from(dict.fromkeys(name for name, _ in graph.nodes()))
    # pgmpy counts slices forwards: the previous row is 0, the present is 1. Edges within a slice are in slice 0.
    network.add_edges_from(((source, 0), (target, lag)) for (source, lag), (target, _), _ in edges)
    return network


def read_dynamic_network(network: DynamicBayesianNetwork) -> TimeSeriesGraph:
    """Return the edges of a two-slice network that end at the present: (name, 1) in pgmpy is (name, 0) here."""
    graph = TimeSeriesGraph()
    graph.add_nodes_from((name, 1 - time) for name, time in network.nodes())
    graph.add_edges_from(((u, 1 - then), (v, 0)) for (u, then), (v, now) in network.edges() if now == 1)
    return graph

"""Pictures of graphs on axes or in a file: layout, comparison with a reference and strengths combined."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pgmx.checks import check_natural, is_number, join_names
from pgmx.fitted import FittedLearner
from pgmx.plotting.graphs.indexed import (
    IndexedGraph,
    compare_edges,
    index_graph,
    index_reference,
    is_pag,
    is_series_graph,
    read_ends,
)
from pgmx.plotting.graphs.scene import Scene, choose_layout, draw_scene
from pgmx.plotting.graphs.sizes import find_neighbourhood, find_nodes, read_sizes
from pgmx.plotting.graphs.spring_layout import count_readable
from pgmx.plotting.labels import label_lag, shorten_names
from pgmx.plotting.pictures import check_picture_path, limit_dpi, write_figure
from pgmx.plotting.series_graphs import take_graph
from pgmx.plotting.strengths import read_strengths

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from networkx import Graph
    from pandas import DataFrame

    from pgmx.plotting.strengths import Strengths

_LONGEST_LABEL = 28
_LAYOUTS = ("layered", "spring", "circular", "communities", "slices")


def plot_graph(
    graph: Graph | FittedLearner,
    ax: Axes | None = None,
    *,
    reference: Graph | FittedLearner | None = None,
    strengths: Mapping | DataFrame | FittedLearner | str | None = None,
    continuous: Iterable[Hashable] | None = None,
    sizes: Mapping[Hashable, float] | str | None = None,
    targets: Iterable[Hashable] | None = None,
    around: Hashable | Iterable[Hashable] | None = None,
    radius: int = 1,
    layout: str | None = None,
    pos: Mapping[Hashable, Sequence[float]] | None = None,
    max_edges: int | str | None = "auto",
) -> Axes:
    """Draw a directed, partially directed or undirected graph, or a PAG with its marks.

    A notebook shows the picture if the call is the last line of a cell. In a script, ``plot_graph(graph).show()``
    opens it in the browser, and ``plot_graph(graph).save(path)`` or :func:`save_picture` writes it. Isolated nodes are
    in separate rows at the bottom.

    Parameters
    ----------
    graph : pgmpy or networkx graph, or fitted learner
        For instance ``HillClimbSearch().fit(X)``, a fitted model or any ``networkx`` graph. The edges of a ``PAG`` are
        drawn with arrowheads, circles and tails, a ``DynamicBayesianNetwork`` of pgmpy or pgmx as slices.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure that fits the graph, independent of pyplot (nothing is shown).
    reference : pgmpy or networkx graph, or fitted learner, optional
        A graph on the same nodes for comparison. Edges are coloured as shared, with another or no direction, not in the
        reference, or (dashed) only in the reference.
    strengths : mapping, DataFrame, fitted bootstrap or str, optional
        Strengths of edges as ``{(u, v): strength}``, a table such as ``strengths_`` of ``BootstrapStructure``, a fitted
        bootstrap, or the name of an edge attribute such as ``"weight"``. Stronger edges are wider; see Notes.
    continuous : iterable of hashable, optional
        Names of the continuous variables. They are drawn round and in another colour than discrete variables, with a
        legend. Default: the continuous variables of a ``ConditionalGaussianNetwork``, else none.
    sizes : {"degree", "closeness"} or mapping of node to float, optional
        Nodes of different sizes: by the number of neighbours, by closeness centrality, or by your own values, which
        are not negative. Directions of edges are ignored. The area of a node is proportional to the value, with a
        lower limit.
    targets : iterable of hashable, optional
        The nodes that experiments set, or one group of nodes per experiment as in the `targets` of
        :func:`pgmx.models.cpdag`. They have a thick border, with a legend.
    around : node or iterable of nodes, optional
        Draw only the neighbourhood of these nodes. Their names are bold. In the graph of a time series, the name of a
        variable is the variable at all lags.
    radius : int, default=1
        Largest number of edges from a node of `around` to a node that is drawn, whatever their directions.
    layout : {"layered", "spring", "circular", "communities", "slices"}, optional
        "layered": arrows point down unless there is a cycle; "spring": distances follow the lengths of shortest paths
        (stress majorization); "circular": on a circle, in the order of the nodes; "communities": an overview, see
        Notes; "slices": the graph of a time series in columns of equal lag. Default: "communities" above 100 nodes,
        "slices" for a graph over lags of at most 20 variables, "layered" if there are arrows, else "spring".
    pos : mapping of node to (x, y), optional
        Positions of all nodes, y upwards, in any unit. They are scaled until boxes do not overlap; edges are straight.
    max_edges : int, "auto" or None, default="auto"
        Maximum number of edges: the strongest ones are drawn, with a note below. None draws all. "auto" is 2 n + 20 for
        n nodes if the graph has no arrows and no `reference` and its edges have strengths or weights, else None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``ax.figure.savefig`` writes the picture. Axes of a new figure have the methods `show` and `save`.

    Raises
    ------
    TypeError, ValueError
        If `graph` or `reference` is not a graph, only one is a PAG, `graph` has no nodes, `reference` has other nodes,
        `strengths` or `sizes` is none of the above, `continuous`, `targets` or `around` has a name that is not a node,
        `layout` is unknown or does not fit the graph, `pos` or `sizes` lacks a node, or `radius` or `max_edges` is not
        a natural number.

    Notes
    -----
    A table of strengths has the columns ``from``, ``to`` and ``strength``. Without `reference`, stronger edges are also
    darker and negative edges red. Negative edges are dashed, edges without a strength dotted. A legend is added.

    The overview draws at most 12 communities (Louvain's method; small ones join the neighbour with which they have the
    most edges) as discs with dots for nodes, and writes the names of the three most central nodes of each: those with
    the most neighbours, or with the largest `sizes`. Edges between two discs form bundles.

    Labels are cut at 28 characters; above 150 nodes they are half as large, and below 1.5 points they are left out.
    Above 300 nodes, "spring" separates communities, and the eight largest have colours if they hold half of the nodes.
    The nodes of a ``TimeSeriesGraph`` are labelled ``rain t-1``; lags without an edge are left out, and a variable
    without any edge is drawn once. A new figure has at most 4000 pixels per side in an SVG (96 per inch).

    Examples
    --------
    >>> import networkx as nx
    >>> from pgmx.plotting import plot_graph
    >>> ax = plot_graph(nx.DiGraph([("rain", "wet grass"), ("sprinkler", "wet grass")]))
    >>> [text.get_text() for text in ax.texts]
    ['rain', 'wet grass', 'sprinkler']
    """
    if layout is not None and layout not in _LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(map(repr, _LAYOUTS))}, got {layout!r}")
    drawn, compared = _leave_out_lags(take_graph(graph), take_graph(reference))
    indexed = index_graph(drawn)
    if not indexed.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    scales = _read_scales(drawn, strengths)
    other = index_reference(compared, drawn, indexed.names)
    kinds = dict(zip(indexed.names, _read_kinds(drawn, indexed.names, continuous), strict=True))
    of_series = is_series_graph(drawn)
    set_names = {indexed.names[v] for v in find_nodes(targets, indexed.names, "targets", of_series=of_series)}
    middle_names = {indexed.names[v] for v in find_nodes(around, indexed.names, "around", of_series=of_series)}
    whole = indexed
    indexed, other, chosen = _choose_nodes(indexed, other, middle_names, radius)
    names = indexed.names
    edges, left_out = _choose_edges(drawn, indexed, other, scales, max_edges)
    shares, measured = (
        (np.ones(len(names)), "") if sizes is None else read_sizes(sizes, names, whole.names, whole.pairs)
    )
    scene = Scene(
        names,
        [label_lag(name[0], name[1], _LONGEST_LABEL) for name in names]
        if of_series
        else shorten_names(names, _LONGEST_LABEL),
        edges,
        read_ends(edges, indexed, other),
        [kinds[name] for name in names],
        {v for v, name in enumerate(names) if name in set_names},
        {v for v, name in enumerate(names) if name in middle_names},
        shares,
        scales,
        "; ".join(text for text in (chosen, left_out, measured) if text),
        reference is not None,
        is_pag(drawn),
    )
    if layout == "slices" and not of_series:
        raise ValueError("layout='slices' is for graphs over lags, and the nodes of this graph have none")
    return draw_scene(ax, scene, layout or choose_layout(scene, of_series=of_series), pos)


def save_picture(
    graph: Graph | FittedLearner,
    path: str | PathLike[str],
    *,
    reference: Graph | FittedLearner | None = None,
    strengths: Mapping | DataFrame | FittedLearner | str | None = None,
    continuous: Iterable[Hashable] | None = None,
    sizes: Mapping[Hashable, float] | str | None = None,
    targets: Iterable[Hashable] | None = None,
    around: Hashable | Iterable[Hashable] | None = None,
    radius: int = 1,
    layout: str | None = None,
    pos: Mapping[Hashable, Sequence[float]] | None = None,
    max_edges: int | str | None = "auto",
    dpi: float = 150,
) -> Path:
    """Draw a graph as :func:`plot_graph` does and write it to a file.

    Parameters
    ----------
    graph : pgmpy or networkx graph, or fitted learner
        The graph to draw.
    path : str or path-like
        The file to write; the suffix is ``.svg`` or ``.png``.
    reference, strengths, continuous, sizes, targets, around, radius, layout, pos, max_edges : optional
        As for :func:`plot_graph`.
    dpi : float, default=150
        Pixels per inch of a PNG; reduced if a side would exceed 4000 pixels.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ValueError
        If the suffix is neither ``.svg`` nor ``.png``.
    OSError
        If the file cannot be written.

    Notes
    -----
    The same graph gives the same bytes with the same matplotlib. In an SVG each label is a group with the id
    ``label-0``, ``label-1``, ... in the order of the nodes.

    Examples
    --------
    >>> import networkx as nx, tempfile, pathlib
    >>> from pgmx.plotting import save_picture
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_picture(nx.path_graph(3), pathlib.Path(folder) / "path.svg")
    ...     path.read_text().count('id="label-')
    3
    """
    path = check_picture_path(path)
    if not is_number(dpi) or dpi <= 0:
        raise ValueError(f"dpi must be a positive number, got {dpi!r}")
    ax = plot_graph(
        graph,
        reference=reference,
        strengths=strengths,
        continuous=continuous,
        sizes=sizes,
        targets=targets,
        around=around,
        radius=radius,
        layout=layout,
        pos=pos,
        max_edges=max_edges,
    )
    figure = cast("Figure", ax.figure)
    write_figure(figure, path, limit_dpi(figure, dpi))
    return path


def _leave_out_lags(graph: Any, reference: Any) -> tuple[Any, Any]:
    """Return the graphs of a time series without the lags that have no edge in either; other graphs unchanged."""
    if not is_series_graph(graph):
        return graph, reference
    graphs = [graph]
    if reference is not None:
        index_graph(reference, graph.nodes())  # an error for other nodes, before any node is left out
        graphs.append(reference)
    joined = {node for one in graphs for edge in one.edges() for node in edge}
    variables = {name for name, _ in joined}
    drawn = [node for node in graph.nodes() if node in joined or (node[0] not in variables and node[1] == 0)]
    return graph.subgraph(drawn), None if reference is None else reference.subgraph(drawn)


def _choose_nodes(
    indexed: IndexedGraph, reference: IndexedGraph | None, centres: Collection[Hashable], radius: int
) -> tuple[IndexedGraph, IndexedGraph | None, str]:
    """Return the graphs of the neighbourhood of some nodes, and a note about it; the whole graphs without nodes."""
    radius = check_natural(radius, "radius", 1)
    if not centres:
        return indexed, reference, ""
    n, pairs = len(indexed.names), indexed.pairs + ([] if reference is None else reference.pairs)
    kept = find_neighbourhood(n, pairs, [v for v, name in enumerate(indexed.names) if name in centres], radius)
    edges = "1 edge" if radius == 1 else f"{radius} edges"
    note = f"{len(kept):,} of {n:,} nodes, at most {edges} from {join_names(centres, 3)}"
    return indexed.keep(kept), None if reference is None else reference.keep(kept), note


def _choose_edges(
    graph: Graph,
    indexed: IndexedGraph,
    reference: IndexedGraph | None,
    scales: Strengths | None,
    max_edges: int | str | None,
) -> tuple[list[tuple], str]:
    """Return the edges to draw with their verdicts, and a note about the edges that are left out."""
    edges = compare_edges(indexed, reference)
    if max_edges is None:
        return edges, ""
    weights = _read_weights(graph) if scales is None else scales.of
    if max_edges == "auto":
        if indexed.directed or reference is not None or not weights:
            return edges, ""
        most = count_readable(len(indexed.names))
    else:
        most = check_natural(max_edges, "max_edges", 0)
    if len(edges) <= most:
        return edges, ""
    names = indexed.names
    pairs = ((names[u], names[v]) for u, v, *_ in edges)
    sizes = [abs(weights.get((u, v), weights.get((v, u), 0.0))) for u, v in pairs]
    strongest = sorted(sorted(range(len(edges)), key=lambda k: (-sizes[k], k))[:most])
    which = "strongest" if weights else "first"
    return [edges[k] for k in strongest], f"the {most:,} {which} of {len(edges):,} edges (max_edges=None: all)"


def _read_weights(graph: Graph) -> dict:
    """Return the weights of edges (for series, the strengths); empty if an edge does not have one."""
    attribute = "strength" if is_series_graph(graph) else "weight"  # weights of series are in different units
    weights = {(u, v): value for u, v, value in graph.edges(data=attribute)}
    return weights if all(is_number(value) for value in weights.values()) else {}


def _read_kinds(graph: Graph, names: list, continuous: Iterable[Hashable] | None) -> list[str]:
    """Return "discrete" or "continuous" for each node; all "discrete" by default."""
    if continuous is None:
        continuous = getattr(graph, "continuous", ())
    members = [continuous] if isinstance(continuous, str) else list(continuous or ())
    unknown = [name for name in members if name not in names]
    if unknown:
        raise ValueError(f"continuous has {join_names(unknown)}, which are not nodes of the graph")
    return ["continuous" if name in members else "discrete" for name in names]


def _read_scales(graph, strengths):
    """Read the strengths; None if there are none, or if the graph has no edges."""
    if strengths is None or (isinstance(strengths, str) and not graph.number_of_edges()):
        return None
    if not isinstance(strengths, str):
        return read_strengths(strengths)
    values = {(u, v): value for u, v, value in graph.edges(data=strengths) if value is not None}
    if not values:
        raise ValueError(f"no edge of the graph has the attribute {strengths!r}")
    return read_strengths(values)

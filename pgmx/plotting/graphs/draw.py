"""Pictures of graphs on axes or in a file: layout, comparison with a reference and strengths combined."""

from __future__ import annotations

from math import nan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pgmx.checks import check_natural, is_number, join_names
from pgmx.fitted import FittedLearner, get_series_graph
from pgmx.plotting.graphs.indexed import IndexedGraph, compare_edges, index_graph, is_pag, is_series_graph, read_ends
from pgmx.plotting.graphs.layered_layout import MOST_IN_LAYERS, compute_layout
from pgmx.plotting.graphs.packing import HEIGHT
from pgmx.plotting.graphs.shapes import (
    MARGIN,
    draw_comparison_legend,
    draw_edges,
    draw_kind_legend,
    draw_nodes,
    draw_note,
    draw_strength_legend,
    line_style,
    prepare_axes,
    route_curves,
    route_lines,
)
from pgmx.plotting.graphs.spring_layout import (
    compute_circular_layout,
    compute_spring_layout,
    count_readable,
    find_communities,
)
from pgmx.plotting.pictures import check_picture_path, limit_dpi, write_figure
from pgmx.plotting.strengths import label_lag, read_strengths

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from networkx import Graph
    from pandas import DataFrame

    from pgmx.plotting.strengths import Strengths

_FONT = 9.0  # points
_SMALL_FONT, _MANY = 4.5, 150  # font of a graph with more nodes than _MANY
_LONGEST_LABEL = 28
_LAYOUTS = ("layered", "spring", "circular")


def plot_graph(
    graph: Graph | FittedLearner,
    ax: Axes | None = None,
    *,
    reference: Graph | FittedLearner | None = None,
    strengths: Mapping | DataFrame | FittedLearner | str | None = None,
    continuous: Iterable[Hashable] | None = None,
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
        drawn with arrowheads, circles and tails.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure that fits the graph, independent of pyplot (nothing is shown).
    reference : pgmpy or networkx graph, or fitted learner, optional
        A graph on the same nodes for comparison. Edges are coloured as shared, with another direction, not in the
        reference, or (dashed) only in the reference.
    strengths : mapping, DataFrame, fitted bootstrap or str, optional
        Strengths of edges as ``{(u, v): strength}``, a table such as ``strengths_`` of ``BootstrapStructure``, a fitted
        bootstrap, or the name of an edge attribute such as ``"weight"``. Stronger edges are wider; see Notes.
    continuous : iterable of hashable, optional
        Names of the continuous variables. They are drawn round and in another colour than discrete variables, with a
        legend. Default: the continuous variables of a ``ConditionalGaussianNetwork``, else none.
    layout : {"layered", "spring", "circular"}, optional
        "layered": arrows point down unless there is a cycle; "spring": distances follow the lengths of shortest paths
        (stress majorization); "circular": on a circle, in the order of the nodes. Default: "layered" for graphs with
        arrows and at most 300 nodes, else "spring".
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
        `strengths` is none of the above, `continuous` has a name that is not a node, `layout` is unknown, `pos` lacks a
        node, or `max_edges` is not a natural number.

    Notes
    -----
    A table of strengths has the columns ``from``, ``to`` and ``strength``. Without `reference`, stronger edges are also
    darker and negative edges red. Negative edges are dashed, edges without a strength dotted. A legend is added.

    Labels are cut at 28 characters; above 150 nodes they are half as large, and below 1.5 points they are left out.
    Above 300 nodes, "spring" separates communities (Louvain's method), and the eight largest have colours if they hold
    half of the nodes. The nodes of a ``TimeSeriesGraph`` are labelled ``rain t-1``; lags without an edge are left out,
    and a variable without any edge is drawn once.

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
    drawn, compared = _leave_out_lags(get_series_graph(graph), get_series_graph(reference))
    if compared is not None and is_pag(drawn) != is_pag(compared):
        raise TypeError("a PAG can be compared with a PAG only: leave out reference, or give another one")
    indexed = index_graph(drawn)
    if not indexed.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    scales = _read_scales(drawn, strengths)
    other = None if compared is None else index_graph(compared, indexed.names)
    edges, note = _choose_edges(drawn, indexed, other, scales, max_edges)
    ends = read_ends(edges, indexed, other)
    labels = [_label_lag(*name) if is_series_graph(drawn) else _shorten_label(name) for name in indexed.names]
    font = _FONT if len(labels) <= _MANY else _SMALL_FONT
    widths = [measure_text(label, font) + font for label in labels]
    is_large = len(labels) > MOST_IN_LAYERS
    communities = find_communities(len(labels), [edge[:2] for edge in edges]) if is_large else None
    centres, bends, curved = _place_nodes(indexed.names, widths, edges, layout, pos, communities)
    find = (lambda u, v: nan) if scales is None else scales.find
    sizes = [find(indexed.names[u], indexed.names[v]) for u, v, *_ in edges]
    kinds = _read_kinds(drawn, indexed.names, continuous)
    n_legends = (reference is not None) + (scales is not None) + (len(set(kinds)) == 2)
    ax, scale = prepare_axes(ax, centres, widths, bends, n_legends + bool(note))
    style = [line_style(edge[3], size, scales, reference is None) for edge, size in zip(edges, sizes, strict=True)]
    curves = route_curves(edges, centres, bends, widths) if curved else route_lines(edges, centres, widths)
    draw_edges(ax, ends, curves, style, scale)
    draw_nodes(ax, centres, widths, labels, font * scale, scale, kinds, communities)
    if note:
        draw_note(ax, note, 0.9 * _FONT * scale, 2 * MARGIN * n_legends)
    if reference is not None:
        draw_comparison_legend(ax, edges, 0.9 * _FONT * scale, of_pags=is_pag(drawn))
    if scales is not None:
        shown = [size for size, edge in zip(sizes, edges, strict=True) if edge[3] != "missing"]
        draw_strength_legend(ax, scales, shown, reference is None, scale, 0.9 * _FONT * scale, 2 * MARGIN)
    if len(set(kinds)) == 2:
        draw_kind_legend(ax, 0.9 * _FONT * scale, 2 * MARGIN * (n_legends - 1))
    return ax


def save_picture(
    graph: Graph | FittedLearner,
    path: str | PathLike[str],
    *,
    reference: Graph | FittedLearner | None = None,
    strengths: Mapping | DataFrame | FittedLearner | str | None = None,
    continuous: Iterable[Hashable] | None = None,
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
    reference, strengths, continuous, layout, pos, max_edges : optional
        As for :func:`plot_graph`.
    dpi : float, default=150
        Pixels per inch of a PNG; reduced if a side would exceed 6000 pixels.

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
    if max_edges == "auto":
        weights = _read_weights(graph) if scales is None else scales.of
        if indexed.directed or reference is not None or not weights:
            return edges, ""
        most = count_readable(len(indexed.names))
    else:
        most = check_natural(max_edges, "max_edges", 0)
        weights = _read_weights(graph) if scales is None else scales.of
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


def _place_nodes(
    names: list,
    widths: list[float],
    edges: list[tuple],
    layout: str | None,
    pos: Mapping | None,
    communities: np.ndarray | None,
) -> tuple[np.ndarray, dict, bool]:
    """Return the centres, the bends of edges, and whether edges are curves from the upper to the lower border."""
    if pos is not None:
        return _read_places(names, widths, pos), {}, False
    arrows = [edge[:2] for edge in edges if edge[2]]
    lines = [edge[:2] for edge in edges if not edge[2]]
    if layout == "circular":
        return compute_circular_layout(widths), {}, False
    if layout == "spring" or (layout is None and (not arrows or communities is not None)):
        pairs = sorted({(min(edge), max(edge)) for edge in [*arrows, *lines]})
        return compute_spring_layout(widths, pairs, communities), {}, False
    return *compute_layout(widths, arrows, lines), True


def _read_places(names: list, widths: list[float], pos: Mapping) -> np.ndarray:
    """Return the positions given by the user, in the unit of the widths."""
    missing = [name for name in names if name not in pos]
    if missing:
        raise ValueError(f"pos has no place for {join_names(missing)}: give (x, y) of every node")
    places = np.array([pos[name] for name in names], dtype=float)
    if places.shape != (len(names), 2) or not np.isfinite(places).all():
        raise ValueError(f"pos must give two finite numbers (x, y) for every node, got {dict(pos)!r:.200}")
    if len(names) > 1:
        gaps = np.abs(places[:, None] - places[None])
        sizes = np.asarray(widths)
        needed = np.stack([(sizes[:, None] + sizes[None]) / 2 + 8, np.full((len(names), len(names)), HEIGHT + 8)], -1)
        ratios = np.divide(needed, gaps, out=np.full_like(gaps, np.inf), where=gaps > 0).min(axis=-1)
        np.fill_diagonal(ratios, 0.0)
        nearest = ratios.max(axis=1)
        usual = nearest[np.isfinite(nearest)]  # nodes at the same position overlap at any scale
        # A single pair of very close nodes must not blow up the whole picture: at most four times the median scale.
        places *= min(usual.max(), 4 * np.median(usual)) if len(usual) else 1.0
    corner = (places - np.column_stack([np.asarray(widths) / 2, np.full(len(names), HEIGHT / 2)])).min(axis=0)
    return places - corner


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


def _shorten_label(name, longest=_LONGEST_LABEL):
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _label_lag(name, lag):
    """Return the label of a variable of a time series at a lag."""
    return label_lag(_shorten_label(name, _LONGEST_LABEL - len(label_lag("", lag))), lag)


def measure_text(text: str, font: float) -> float:
    """Return the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=font), ismath=False)[0]

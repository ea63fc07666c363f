"""Pictures of graphs: layout, comparison with a reference and strengths put together, on axes or in a file."""

from __future__ import annotations

from math import nan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pgmx.checks import FittedLearner, check_natural, check_same_names, is_number, join_names, take_graph
from pgmx.plotting.edge_styles import draw_strengths, draw_verdicts, line_style
from pgmx.plotting.layouts.communities import find_communities
from pgmx.plotting.layouts.layered import MOST_IN_LAYERS, compute_layout
from pgmx.plotting.layouts.packing import HEIGHT
from pgmx.plotting.layouts.spring import compute_circular_layout, compute_spring_layout, count_readable
from pgmx.plotting.pictures import check_picture_path, limit_dpi, write_figure
from pgmx.plotting.shapes import (
    MARGIN,
    draw_edges,
    draw_kinds,
    draw_nodes,
    draw_note,
    prepare_axes,
    route_curves,
    route_lines,
)
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


class Marks(NamedTuple):
    """A graph as integers: ``names[v]``, arrows (tail, head) and undirected pairs (u, v) with u < v, both sorted."""

    names: list
    directed: list
    undirected: list


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
    """Draw a directed, partially directed or undirected graph.

    A notebook shows the picture where the call is the last line of a cell; in a script ``plot_graph(graph).show()``
    opens it in the browser, and ``plot_graph(graph).save(path)`` or :func:`save_picture` writes it. Isolated nodes are
    in rows of their own at the bottom.

    Parameters
    ----------
    graph : pgmpy or networkx graph, or fitted learner
        For instance ``HillClimbSearch().fit(X)``, a fitted model or any ``networkx`` graph.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure just large enough, which belongs to the caller alone (pyplot does not
        know it and nothing is shown).
    reference : pgmpy or networkx graph, or fitted learner, optional
        A graph on the same nodes to compare with: edges are then coloured as shared, with another direction, not in
        the reference, or (dashed) only in the reference.
    strengths : mapping, DataFrame, fitted bootstrap or str, optional
        Numbers ``{(u, v): strength}``, a table with the columns ``from``, ``to`` and ``strength``, such as the
        ``strengths_`` of ``BootstrapStructure``, the bootstrap itself, or the name of an attribute of the edges, such
        as ``"weight"``: the stronger an edge, the wider and (without `reference`) the darker it is drawn, with a
        legend. Edges of negative strength are dashed and (without `reference`) red, edges without a strength dotted.
    continuous : iterable of hashable, optional
        Names of nodes that hold numbers: these are drawn round and in another colour than those with states, with a
        legend where there are both. By default those of a ``ConditionalGaussianNetwork``, else all are drawn alike.
    layout : {"layered", "spring", "circular"}, optional
        "layered": arrows point down wherever no cycle forbids it; "spring": distances are like the lengths of the
        shortest paths (stress majorization); "circular": on a circle, in the order of the nodes. Default: "layered"
        for graphs with arrows and at most 300 nodes, else "spring".
    pos : mapping of node to (x, y), optional
        Places of all nodes, y upwards, in any unit: they are scaled until boxes do not overlap, and edges are straight.
    max_edges : int, "auto" or None, default="auto"
        The strongest edges, as many as this, are drawn, and a line below says so; None draws all. "auto": of a graph
        without arrows and `reference`, whose edges have strengths or weights, 2 n + 20 for n nodes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; ``ax.figure.savefig`` writes it. Of a new figure, they have `show` and `save`.

    Raises
    ------
    TypeError, ValueError
        If `graph` or `reference` is no graph, `graph` has no nodes, `reference` has other nodes, `strengths` is none of
        the above, `continuous` has a name that is no node, `layout` is unknown, `pos` lacks a node, or `max_edges` is
        no natural number.

    Notes
    -----
    Labels are cut at 28 characters; above 150 nodes they are half as large, and below 1.5 points they are left out.
    Above 300 nodes springs keep communities (Louvain's method) apart, and the eight largest have colours if they hold
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
    drawn, compared = _leave_out_lags(take_graph(graph), take_graph(reference))
    marks = read_marks(drawn)
    if not marks.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    scales = _scales(drawn, strengths)
    edges, note = _choose_edges(drawn, marks, compared, scales, max_edges)
    labels = [_label_lag(*name) if _is_of_series(drawn) else _label(name) for name in marks.names]
    font = _FONT if len(labels) <= _MANY else _SMALL_FONT
    widths = [measure_text(label, font) + font for label in labels]
    is_large = len(labels) > MOST_IN_LAYERS
    communities = find_communities(len(labels), [edge[:2] for edge in edges]) if is_large else None
    centres, bends, curved = _place_nodes(marks.names, widths, edges, layout, pos, communities)
    find = (lambda u, v: nan) if scales is None else scales.find
    sizes = [find(marks.names[u], marks.names[v]) for u, v, *_ in edges]
    kinds = _read_kinds(drawn, marks.names, continuous)
    n_legends = (reference is not None) + (scales is not None) + (len(set(kinds)) == 2)
    ax, scale = prepare_axes(ax, centres, widths, bends, n_legends + bool(note))
    style = [line_style(edge[3], size, scales, reference is None) for edge, size in zip(edges, sizes, strict=True)]
    curves = route_curves(edges, centres, bends, widths) if curved else route_lines(edges, centres, widths)
    draw_edges(ax, edges, curves, style, scale)
    draw_nodes(ax, centres, widths, labels, font * scale, scale, kinds, communities)
    if note:
        draw_note(ax, note, 0.9 * _FONT * scale, 2 * MARGIN * n_legends)
    if reference is not None:
        draw_verdicts(ax, edges, 0.9 * _FONT * scale)
    if scales is not None:
        shown = [size for size, edge in zip(sizes, edges, strict=True) if edge[3] != "missing"]
        draw_strengths(ax, scales, shown, reference is None, scale, 0.9 * _FONT * scale, 2 * MARGIN)
    if len(set(kinds)) == 2:
        draw_kinds(ax, 0.9 * _FONT * scale, 2 * MARGIN * (n_legends - 1))
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
        What to draw.
    path : str or path-like
        Where to write; the suffix is ``.svg`` or ``.png``.
    reference, strengths, continuous, layout, pos, max_edges : optional
        As for :func:`plot_graph`.
    dpi : float, default=150
        Pixels per inch of a PNG; lowered so that no side exceeds 6000 pixels.

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


def _is_of_series(graph: Any) -> bool:
    """Return whether nodes are (variable, lag)."""
    return hasattr(graph, "summary_graph")


def _leave_out_lags(graph: Any, reference: Any) -> tuple[Any, Any]:
    """Return the graphs of a time series without the lags that have no edge in either; other graphs as they are."""
    if not _is_of_series(graph):
        return graph, reference
    graphs = [graph]
    if reference is not None:
        read_marks(reference, graph.nodes())  # of other nodes: refused before any is left out
        graphs.append(reference)
    joined = {node for one in graphs for edge in one.edges() for node in edge}
    variables = {name for name, _ in joined}
    drawn = [node for node in graph.nodes() if node in joined or (node[0] not in variables and node[1] == 0)]
    return graph.subgraph(drawn), None if reference is None else reference.subgraph(drawn)


def read_marks(graph: Graph, names: list | None = None) -> Marks:
    """Return the marks of a graph; two opposite arcs are one undirected edge, as in pgmpy's ``PDAG``."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise TypeError(f"expected a pgmpy or networkx graph or a fitted learner, got {type(graph).__name__}")
    names = list(graph.nodes()) if names is None else list(names)
    number = {name: v for v, name in enumerate(names)}
    check_same_names(names, graph.nodes(), "the graph", "its reference", "nodes")
    arcs = {(number[u], number[v]) for u, v in graph.edges() if u != v}
    if not graph.is_directed():
        arcs |= {(v, u) for u, v in arcs}
    both = {(u, v) for u, v in arcs if (v, u) in arcs}
    return Marks(names, sorted(arcs - both), sorted((u, v) for u, v in both if u < v))


def _choose_edges(
    graph: Graph, marks: Marks, reference: Graph | None, scales: Strengths | None, max_edges: int | str | None
) -> tuple[list[tuple], str]:
    """Return the edges to draw with their verdicts, and a line about those that are left out."""
    edges = _compare_edges(marks, None if reference is None else read_marks(reference, marks.names))
    if max_edges is None:
        return edges, ""
    if max_edges == "auto":
        weights = _read_weights(graph) if scales is None else scales.of
        if marks.directed or reference is not None or not weights:
            return edges, ""
        most = count_readable(len(marks.names))
    else:
        most = check_natural(max_edges, "max_edges", 0)
        weights = _read_weights(graph) if scales is None else scales.of
    if len(edges) <= most:
        return edges, ""
    names = marks.names
    pairs = ((names[u], names[v]) for u, v, *_ in edges)
    sizes = [abs(weights.get((u, v), weights.get((v, u), 0.0))) for u, v in pairs]
    strongest = sorted(sorted(range(len(edges)), key=lambda k: (-sizes[k], k))[:most])
    which = "strongest" if weights else "first"
    return [edges[k] for k in strongest], f"the {most:,} {which} of {len(edges):,} edges (max_edges=None: all)"


def _read_weights(graph: Graph) -> dict:
    """Return the numbers that edges have as weights, of series as strengths; empty where some have none."""
    attribute = "strength" if _is_of_series(graph) else "weight"  # weights of series are in different units
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
    """Return the places that a user gives, in the unit of the widths."""
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
        usual = nearest[np.isfinite(nearest)]  # nodes on one place overlap at any scale
        places *= min(usual.max(), 4 * np.median(usual)) if len(usual) else 1.0
    corner = (places - np.column_stack([np.asarray(widths) / 2, np.full(len(names), HEIGHT / 2)])).min(axis=0)
    return places - corner


def _read_kinds(graph: Graph, names: list, continuous: Iterable[Hashable] | None) -> list[str]:
    """Return "discrete" or "continuous" for each node; all the same where nothing is known."""
    if continuous is None:
        continuous = getattr(graph, "continuous", ())
    members = [continuous] if isinstance(continuous, str) else list(continuous or ())
    unknown = [name for name in members if name not in names]
    if unknown:
        raise ValueError(f"continuous has {join_names(unknown)}, which are no nodes of the graph")
    return ["continuous" if name in members else "discrete" for name in names]


def _scales(graph, strengths):
    """Read the strengths; None where there are none, or no edges to have the attribute."""
    if strengths is None or (isinstance(strengths, str) and not graph.number_of_edges()):
        return None
    if not isinstance(strengths, str):
        return read_strengths(strengths)
    values = {(u, v): value for u, v, value in graph.edges(data=strengths) if value is not None}
    if not values:
        raise ValueError(f"no edge of the graph has the attribute {strengths!r}")
    return read_strengths(values)


def _label(name, longest=_LONGEST_LABEL):
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _label_lag(name, lag):
    """Return the label of a variable of a time series some rows before the present, t."""
    return label_lag(_label(name, _LONGEST_LABEL - len(label_lag("", lag))), lag)


def measure_text(text: str, font: float) -> float:
    """Return the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=font), ismath=False)[0]


def _compare_edges(marks, reference):
    """Return (u, v, is_arrow, verdict) for the edges of the graph and those which only the reference has."""
    edges = [(u, v, True) for u, v in marks.directed] + [(u, v, False) for u, v in marks.undirected]
    if reference is None:
        return [(*edge, "shared") for edge in edges]
    theirs = [(u, v, True) for u, v in reference.directed] + [(u, v, False) for u, v in reference.undirected]
    same = set(theirs)
    pairs = {frozenset(edge[:2]) for edge in theirs}
    verdicts = []
    for edge in edges:
        unlike = "turned" if frozenset(edge[:2]) in pairs else "extra"
        verdicts.append((*edge, "shared" if edge in same else unlike))
    ours = {frozenset(edge[:2]) for edge in edges}
    return verdicts + [(*edge, "missing") for edge in theirs if frozenset(edge[:2]) not in ours]

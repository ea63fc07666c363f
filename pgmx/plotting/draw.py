"""Drawing of a layered layout with matplotlib's collections: a handful of artists, whatever the size of the graph."""

from __future__ import annotations

from math import nan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from pgmx.plotting.edge_styles import draw_strengths, draw_verdicts, line_style
from pgmx.plotting.layout import HEIGHT, layered_layout
from pgmx.plotting.marks import read_marks
from pgmx.plotting.strengths import read_strengths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from networkx import Graph
    from pandas import DataFrame

_FONT = 9.0  # points; a unit of the layout is a point
_SMALL_FONT, _MANY = 4.5, 150  # font of a graph with more nodes than _MANY
_UNREADABLE = 1.5  # points; smaller labels are left out
_MARGIN = 14.0
_LONGEST_LABEL = 28
_LONGEST_TANGENT = 57.0
_LARGEST_PNG = 6000  # pixels on the longer side
_SUFFIXES = (".svg", ".png")
_INK, _FACE, _RIM = "#33475b", "#eaf1f8", "#5b7fa6"


def plot_graph(
    graph: Graph,
    ax: Axes | None = None,
    *,
    reference: Graph | None = None,
    strengths: Mapping | DataFrame | str | None = None,
) -> Axes:
    """Draw a directed, partially directed or undirected graph in layers.

    Arrows point down wherever no cycle forbids it; the undirected edges of a PDAG have no head; isolated nodes stand
    in rows of their own at the bottom.

    Parameters
    ----------
    graph : pgmpy or networkx graph
        For instance ``HillClimbSearch().fit(X).graph_``, a fitted model or any ``networkx`` graph.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure just large enough, which belongs to the caller alone (pyplot does not
        know it and nothing is shown).
    reference : pgmpy or networkx graph, optional
        A graph on the same nodes to compare with: edges are then coloured as shared, with another direction, not in
        the reference, or (dashed) only in the reference.
    strengths : mapping, DataFrame or str, optional
        Numbers ``{(u, v): strength}``, a table with the columns ``from``, ``to`` and ``strength``, such as the
        ``strengths_`` of ``BootstrapStructure``, in either direction, or the name of an attribute of the edges, such as
        the ``"weight"`` in the `graph_` of a learner of Markov networks: the stronger an edge, the wider and (without
        `reference`) the darker it is drawn, with a legend. Where some are negative, as partial correlations are, the
        size tells the width, and edges of negative ones are dashed and (without `reference`) red. Edges that are not
        given are dotted.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; ``ax.figure.savefig`` writes it.

    Raises
    ------
    TypeError
        If `graph` or `reference` is no graph, or `strengths` is neither mapping, table nor text.
    ValueError
        If `graph` has no nodes, `reference` has other nodes, a strength is not finite, or no edge has the attribute.

    Notes
    -----
    Takes well below a second for a hundred nodes. Labels are cut at 28 characters; above 150 nodes they are half as
    large, and where they would be smaller than 1.5 points on the given `ax` they are left out.

    Examples
    --------
    >>> import networkx as nx
    >>> from pgmx.plotting import plot_graph
    >>> ax = plot_graph(nx.DiGraph([("rain", "wet grass"), ("sprinkler", "wet grass")]))
    >>> [text.get_text() for text in ax.texts]
    ['rain', 'wet grass', 'sprinkler']
    """
    marks = read_marks(graph)
    if not marks.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    edges = _judged_edges(marks, None if reference is None else read_marks(reference, marks.names))
    labels = [_label(name) for name in marks.names]
    font = _FONT if len(labels) <= _MANY else _SMALL_FONT
    widths = [_text_width(label, font) + font for label in labels]
    centres, bends = layered_layout(widths, [e[:2] for e in edges if e[2]], [e[:2] for e in edges if not e[2]])
    scales = _scales(graph, strengths)
    find = (lambda u, v: nan) if scales is None else scales.find
    given = [find(marks.names[u], marks.names[v]) for u, v, *_ in edges]
    n_legends = (reference is not None) + (scales is not None)
    ax, scale = _prepare_axes(ax, centres, widths, bends, n_legends)
    style = [line_style(edge[3], own, scales, reference is None) for edge, own in zip(edges, given, strict=True)]
    _draw_edges(ax, edges, _curves(edges, centres, bends, widths), style, scale)
    _draw_nodes(ax, centres, widths, labels, font * scale, scale)
    if reference is not None:
        draw_verdicts(ax, edges, 0.9 * _FONT * scale)
    if scales is not None:
        own = [strength for strength, edge in zip(given, edges, strict=True) if edge[3] != "missing"]
        draw_strengths(ax, scales, own, reference is None, scale, 0.9 * _FONT * scale, 2 * _MARGIN)
    return ax


def save_picture(
    graph: Graph,
    path: str | PathLike[str],
    *,
    reference: Graph | None = None,
    strengths: Mapping | DataFrame | str | None = None,
    dpi: float = 150,
) -> Path:
    """Draw a graph as :func:`plot_graph` does and write it to a file.

    Parameters
    ----------
    graph : pgmpy or networkx graph
        What to draw.
    path : str or path-like
        Where to write; the suffix is ``.svg`` or ``.png``.
    reference : pgmpy or networkx graph, optional
        A graph on the same nodes to compare with.
    strengths : mapping, DataFrame or str, optional
        Strengths of the edges, as in :func:`plot_graph`.
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
    from matplotlib import rc_context

    figure = cast("Figure", plot_graph(graph, reference=reference, strengths=strengths).figure)
    if path.suffix.lower() == ".png":
        figure.savefig(path, format="png", dpi=min(dpi, _LARGEST_PNG / max(figure.get_size_inches())))
    else:
        with rc_context({"svg.hashsalt": "pgmx", "svg.fonttype": "path"}):
            figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def check_picture_path(path: str | PathLike[str]) -> Path:
    """Return `path` as a Path, or raise a ValueError that lists the allowed suffixes."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"a picture is written to a file ending in {' or '.join(_SUFFIXES)}, got {path.name!r}")
    return path


def _scales(graph, strengths):
    """Read the strengths; None where there are none, or no edges whose attribute could tell them."""
    if strengths is None or (isinstance(strengths, str) and not graph.number_of_edges()):
        return None
    if not isinstance(strengths, str):
        return read_strengths(strengths)
    told = {(u, v): value for u, v, value in graph.edges(data=strengths) if value is not None}
    if not told:
        raise ValueError(f"no edge of the graph has the attribute {strengths!r}")
    return read_strengths(told)


def _label(name):
    text = " ".join(str(name).split())
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def _text_width(text, font):
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=font), ismath=False)[0]


def _judged_edges(marks, reference):
    """List (u, v, is_arrow, verdict) for the edges of the graph and those which only the reference has."""
    edges = [(u, v, True) for u, v in marks.directed] + [(u, v, False) for u, v in marks.undirected]
    if reference is None:
        return [(*edge, "shared") for edge in edges]
    there = [(u, v, True) for u, v in reference.directed] + [(u, v, False) for u, v in reference.undirected]
    same = set(there)
    pairs = {frozenset(edge[:2]) for edge in there}
    judged = []
    for edge in edges:
        unlike = "turned" if frozenset(edge[:2]) in pairs else "extra"
        judged.append((*edge, "shared" if edge in same else unlike))
    mine = {frozenset(edge[:2]) for edge in edges}
    return judged + [(*edge, "missing") for edge in there if frozenset(edge[:2]) not in mine]


def _prepare_axes(ax, centres, widths, bends, n_legends):
    """Set the limits so that a unit is a point on a figure of our own; return the axes and its points per unit."""
    half = np.asarray(widths) / 2
    inner = [route[:, 0] for route in bends.values()]
    left = min([(centres[:, 0] - half).min(), *(x.min() for x in inner)]) - _MARGIN
    right = max([(centres[:, 0] + half).max(), *(x.max() for x in inner)]) + _MARGIN
    low = -_MARGIN - 2 * _MARGIN * n_legends
    high = centres[:, 1].max() + HEIGHT / 2 + _MARGIN
    if n_legends and right - left < 420:
        middle = (left + right) / 2
        left, right = middle - 210, middle + 210
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=((right - left) / 72, (high - low) / 72)).add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    return ax, points * min(box.width / (right - left), box.height / (high - low))


def _curves(edges, centres, bends, widths):
    """Bezier control points (3k + 1, 2) of every edge, from border to border."""
    routes = []
    for u, v, *_ in edges:
        inner = bends[u, v] if (u, v) in bends else bends[v, u][::-1] if (v, u) in bends else np.empty((0, 2))
        routes.append(np.vstack([centres[u], inner, centres[v]]))
    _attach(edges, routes, centres, widths)
    return [_smooth(route) for route in routes]


def _attach(edges, routes, centres, widths):
    """Move the ends of the routes from the centres to points spread along the upper or lower border."""
    ends: dict[tuple[int, bool], list[tuple[float, int, int]]] = {}
    for at, (u, v, *_) in enumerate(edges):
        route = routes[at]
        ends.setdefault((u, route[1, 1] > route[0, 1]), []).append((route[1, 0], at, 0))
        ends.setdefault((v, route[-2, 1] > route[-1, 1]), []).append((route[-2, 0], at, -1))
    for (node, upper), here in ends.items():
        step = min(12.0, 0.7 * widths[node] / len(here))
        for place, (_, at, end) in enumerate(sorted(here)):
            x = centres[node, 0] + step * (place - (len(here) - 1) / 2)
            routes[at][end] = x, centres[node, 1] + (HEIGHT / 2 if upper else -HEIGHT / 2)


def _smooth(route):
    """A cubic spline through the points, nearly vertical at both ends, and steep where it passes between two boxes."""
    tangent = np.empty_like(route)
    tangent[1:-1] = (route[2:] - route[:-2]) / 2
    for end, step in ((0, route[1] - route[0]), (-1, route[-1] - route[-2])):
        tangent[end] = 0.25 * step[0], 1.2 * np.sign(step[1]) * min(abs(step[1]), _LONGEST_TANGENT)
    steepest = 1.1 * np.abs(tangent[1:-1, 1])
    tangent[1:-1, 0] = np.clip(0.8 * tangent[1:-1, 0], -steepest, steepest)
    curve = np.empty((3 * len(route) - 2, 2))
    curve[0::3] = route
    curve[1::3] = route[:-1] + tangent[:-1] / 3
    curve[2::3] = route[1:] - tangent[1:] / 3
    return curve


def _draw_edges(ax, edges, curves, style, scale):
    """Draw all edges as one collection of lines and one of heads; pale ones first, so that dark ones lie above."""
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path as Outline

    order = sorted(range(len(edges)), key=lambda at: style[at][2])
    arrows = [at for at in order if edges[at][2]]
    heads = [_head(curves[at], style[at][2]) for at in arrows]
    lines = [Outline(curves[at], [Outline.MOVETO] + [Outline.CURVE4] * (len(curves[at]) - 1)) for at in order]
    ax.add_collection(
        PathCollection(
            lines,
            facecolors="none",
            edgecolors=[style[at][0] for at in order],
            linestyles=[style[at][1] for at in order],
            linewidths=[scale * style[at][2] for at in order],
            zorder=1,
        ),
        autolim=False,
    )
    colours = [style[at][0] for at in arrows]
    ax.add_collection(
        PolyCollection(heads, facecolors=colours, edgecolors=colours, linewidths=scale, zorder=1), autolim=False
    )


def _head(curve, width):
    """The triangle at the end of a curve, which is shortened to its base."""
    length, half = 5.0 + 1.5 * width, 1.5 + 0.9 * width
    along = curve[-1] - curve[-2]
    along /= max(np.hypot(*along), 1e-9)
    across = np.array([-along[1], along[0]])
    tip = curve[-1].copy()
    base = tip - length * along
    curve[-1] = base
    return [tip, base + half * across, base - half * across]


def _draw_nodes(ax, centres, widths, labels, font, scale):
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import BoxStyle, FancyBboxPatch

    style = BoxStyle("round", pad=0, rounding_size=HEIGHT / 3)
    boxes = [
        FancyBboxPatch((x - width / 2, y - HEIGHT / 2), width, HEIGHT, boxstyle=style)
        for (x, y), width in zip(centres, widths, strict=True)
    ]
    faces = PatchCollection(boxes, facecolors=_FACE, edgecolors=_RIM, linewidths=0.8 * scale, zorder=2)
    ax.add_collection(faces, autolim=False)
    if font < _UNREADABLE:
        return
    for at, label in enumerate(labels):
        text = ax.text(*centres[at], label, fontsize=font, color=_INK, ha="center", va="center_baseline", zorder=3)
        text.set_parse_math(False)
        text.set_gid(f"label-{at}")

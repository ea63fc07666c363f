"""Graphs over (variable, lag), read from user input with the attributes of their edges, and drawn on a circle."""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.fitted import get_series_graph
from pgmx.plotting.labels import shorten_names
from pgmx.plotting.pictures import make_picture
from pgmx.plotting.strengths import Strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ATTRIBUTES = ("weight", "strength", "confidence")
_INK, _FACE, _RIM, _OWN = "#33475b", "#eaf1f8", "#5b7fa6", "#7a8794"
# Bend of an arc to the centre, and of the second of two opposite arcs, as shares of the distance of the nodes.
_BEND, _SECOND = 0.1, 0.26
_LABEL_AT = 0.36  # position of a label, as a share of the way from the source to the target


# ---- input ----


def take_graph(source: Any) -> Any:
    """Return the graph of a learner or of a model of time series (also pgmpy's), and anything else as it is."""
    graph = get_series_graph(source)
    if hasattr(graph, "get_interface_nodes"):  # a two-slice network
        from pgmx.models.time_series.graph import read_dynamic_network

        return read_dynamic_network(graph)
    return graph


def read_graph(source: Any) -> Any:
    """Return the `TimeSeriesGraph` of a graph, a system or a fitted learner."""
    graph = take_graph(source)
    if not (hasattr(graph, "to_arrays") and hasattr(graph, "summary_graph")):
        raise TypeError(
            "expected a TimeSeriesGraph, a LinearDynamicalSystem, a DynamicBayesianNetwork or a fitted learner of time "
            f"series, got {type(source).__name__}"
        )
    if not graph.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    return graph


def check_attribute(attribute: str) -> None:
    """Raise an error if this is not an attribute of edges."""
    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute must be one of {', '.join(map(repr, ATTRIBUTES))}, got {attribute!r}")


def choose_attribute(graph: Any, attribute: str) -> str:
    """Return the attribute; if the edges have only one of weight and strength, return that one."""
    check_attribute(attribute)
    numbers = [marks for _, _, marks in graph.edges(data=True)]
    for choice in (attribute, {"weight": "strength", "strength": "weight"}.get(attribute)):
        if not numbers or any(choice in marks for marks in numbers):
            return str(choice)
    raise ValueError(f"no edge of the graph has the attribute {attribute!r}")


def read_number(marks: Mapping[str, Any], attribute: str) -> float:
    """Return an attribute of an edge, 0 without it; a strength has the sign of the weight, if there is one."""
    value = float(marks.get(attribute, 0.0))
    return copysign(value, marks.get("weight", 1.0)) if attribute == "strength" else value


# ---- the circle ----


def plot_summary_graph(graph: Any, ax: Axes | None = None, *, attribute: str = "strength") -> Axes:
    """Draw the graph over the variables, on a circle, with the lags of each edge.

    Edges with a larger strongest value are wider and darker; positive values are blue, negative values red. The lags of
    a variable's own past are outside of the circle, next to the sign of a loop.

    Parameters
    ----------
    graph : TimeSeriesGraph, LinearDynamicalSystem, DynamicBayesianNetwork or fitted learner
        The graph to draw.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    attribute : {"weight", "strength", "confidence"}, default="strength"
        The attribute of the edges to draw. If the edges have only one of weight and strength, it is used for both; see
        Notes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If `graph` is none of the above or has no nodes, or no edge has the attribute.

    Notes
    -----
    A weight is a coefficient in the units of the data. A strength has no unit (for most learners it is the absolute
    standardised coefficient) and is drawn with the sign of the weight. An undirected edge at lag 0 is a line without a
    head. The picture is readable up to about 30 variables and 100 edges; `plot_adjacency` has no such limit.

    Examples
    --------
    >>> from pgmx.models import TimeSeriesGraph
    >>> from pgmx.plotting import plot_summary_graph
    >>> graph = TimeSeriesGraph.from_coefficients(["rain", "river"], [[0.0, 0.0], [0.25, 0.0]])
    >>> [text.get_text() for text in plot_summary_graph(graph).texts]
    ['rain', 'river', '1']
    """
    graph = read_graph(graph)
    attribute = choose_attribute(graph, attribute)
    names, links = list(graph.names), _list_links(graph, attribute)
    radius = max(1.0, 0.19 * len(names))
    # From the top, clockwise.
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    centres = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    if ax is None:
        side = 2.2 * radius + 2.2
        ax = make_picture(side + 0.6, side)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-radius - 0.9, radius + 0.9)
    ax.set_ylim(-radius - 0.65, radius + 0.65)
    boxes = [_draw_node(ax, name, centre) for name, centre in zip(shorten_names(names), centres, strict=True)]
    sizes = [abs(link.value) for link in links]
    has_signs = any(link.value < 0 for link in links)
    largest = max(sizes, default=0.0) or 1.0
    scales = Strengths({}, -largest if has_signs else 0.0, largest)
    pairs = {(link.source, link.target) for link in links}
    for link in sorted(links, key=lambda link: abs(link.value)):
        if link.source == link.target:
            _draw_own_lags(ax, centres[link.source], angles[link.source], link, scales)
        else:
            is_second = link.source > link.target and (link.target, link.source) in pairs
            _draw_link(ax, centres, boxes, link, scales, _SECOND if is_second else _BEND)
    return ax


class _Link(NamedTuple):
    """An edge of the summary: its ends as positions, its lags, its strongest value, whether it is directed."""

    source: int
    target: int
    lags: tuple
    value: float
    is_arrow: bool


def _list_links(graph: Any, attribute: str) -> list[_Link]:
    """Return one link per ordered pair of variables; undirected pairs have one link."""
    place = {name: v for v, name in enumerate(graph.names)}
    lags: dict[tuple[int, int, bool], dict[int, float]] = {}
    for (source, lag), (target, _), marks in graph.edges(data=True):
        u, v, is_arrow = place[source], place[target], not marks.get("undirected", False)
        ends = (u, v) if is_arrow else (min(u, v), max(u, v))
        by_lag = lags.setdefault((*ends, is_arrow), {})
        value = read_number(marks, attribute)
        if abs(value) >= abs(by_lag.get(lag, 0.0)):
            by_lag[lag] = value
    return [
        _Link(u, v, tuple(sorted(values)), max(values.values(), key=abs), is_arrow)
        for (u, v, is_arrow), values in lags.items()
    ]


def _draw_node(ax: Axes, name: str, centre: np.ndarray) -> Any:
    x, y = centre.tolist()
    text = ax.text(
        x,
        y,
        name,
        ha="center",
        va="center",
        fontsize=9,
        color=_INK,
        zorder=3,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": _FACE, "edgecolor": _RIM, "linewidth": 0.9},
    )
    text.set_parse_math(False)
    return text.get_bbox_patch()


def _draw_link(ax: Axes, centres: np.ndarray, boxes: list, link: _Link, scales: Strengths, bend: float) -> None:
    """Draw an arc from one box to the other, bent to the centre of the circle, and its lags on it."""
    from matplotlib.patches import FancyArrowPatch

    start, stop = centres[link.source], centres[link.target]
    across = np.array([stop[1] - start[1], start[0] - stop[0]])
    bend = -bend if across @ (start + stop) > 1e-9 else bend
    colour, width = scales.colour(link.value), scales.width(link.value)
    arrow = FancyArrowPatch(
        start,
        stop,
        connectionstyle=f"arc3,rad={bend}",
        arrowstyle=f"-|>,head_length={3.5 + width},head_width={1.4 + 0.6 * width}" if link.is_arrow else "-",
        patchA=boxes[link.source],
        patchB=boxes[link.target],
        shrinkA=1.0,
        shrinkB=2.0,
        color=colour,
        linewidth=width,
        zorder=1 + 0.5 * scales.share(link.value),
    )
    ax.add_patch(arrow)
    control = (start + stop) / 2 + bend * across
    t = _LABEL_AT if link.is_arrow else 0.5
    place = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * stop
    x, y = place.tolist()
    ax.text(
        x,
        y,
        ", ".join(map(str, link.lags)),
        ha="center",
        va="center",
        fontsize=7.5,
        color=colour if scales.share(link.value) > 0.4 else _INK,
        zorder=2.5,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.9},
    )


def _draw_own_lags(ax: Axes, centre: np.ndarray, angle: float, link: _Link, scales: Strengths) -> None:
    text = f"↻ {', '.join(map(str, link.lags))}"
    colour = scales.colour(link.value) if scales.share(link.value) > 0.4 else _OWN
    x, y = centre.tolist()
    y += 0.24 if np.sin(angle) >= -1e-9 else -0.24
    ax.text(x, y, text, ha="center", va="center", fontsize=7.5, color=colour, zorder=2.5)

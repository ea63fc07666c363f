"""The attributes of edges over successive windows of a series."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural
from pgmx.plotting.labels import shorten
from pgmx.plotting.series_graphs import choose_attribute, read_graph, read_number
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (
    "#2f6ea5",
    "#e08a00",
    "#3a8f5c",
    "#c8323c",
    "#7b5ea7",
    "#8c6d46",
    "#d277a8",
    "#5b6b7a",
    "#1f9aa8",
    "#a3a032",
)
_OTHERS, _CHANGE = "#c9d0d8", "#33475b"

Edge = tuple[tuple[Hashable, int], tuple[Hashable, int]]


def plot_edge_paths(
    graphs: Iterable[Any],
    ax: Axes | None = None,
    *,
    attribute: str = "strength",
    positions: Sequence[float] | None = None,
    n_edges: int = 8,
    edges: Sequence[Edge] | None = None,
    changes: Sequence[float] = (),
) -> Axes:
    """Draw the change of an edge attribute over windows, from a tracker or `graphs_by_window`.

    Parameters
    ----------
    graphs : iterable of TimeSeriesGraph, LinearDynamicalSystem or fitted learner
        One per window, in order.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    attribute : {"weight", "strength", "confidence"}, default="strength"
        The attribute of the edges to draw, 0 if a window does not have the edge. If the edges have only one of weight
        and strength, it is used for both; see Notes.
    positions : sequence of float, optional
        The position of each window on the abscissa. Default: 0, 1, 2, ...
    n_edges : int, default=8
        Number of edges drawn in colour, with their names: the edges with the widest range. All others are grey.
    edges : sequence of ((source, lag), (target, 0)), optional
        The edges to draw in colour instead.
    changes : sequence of float, optional
        Positions of dashed vertical lines, such as known changes or the restarts of a tracker.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If there are no graphs, an element is not a graph, positions and graphs differ in number, no edge has the
        attribute, or an edge to draw is in none of the graphs.

    Notes
    -----
    A weight is a coefficient in the units of the data. A strength has no unit (for most learners it is the absolute
    standardised coefficient) and is drawn with the sign of the weight.

    Examples
    --------
    >>> from pgmx.models import TimeSeriesGraph
    >>> from pgmx.plotting import plot_edge_paths
    >>> graphs = [TimeSeriesGraph.from_coefficients(["a", "b"], [[0.0, 0.0], [w, 0.0]]) for w in (0.1, 0.5, 0.9)]
    >>> [text.get_text() for text in plot_edge_paths(graphs).texts]
    ['a → b, lag 1']
    """
    windows = [read_graph(graph) for graph in graphs]
    if not windows:
        raise ValueError("there are no graphs to draw: give one per window")
    places = np.arange(len(windows)) if positions is None else np.asarray(positions)
    if len(places) != len(windows):
        raise ValueError(f"positions must hold one position per window, got {len(places)} for {len(windows)} graphs")
    n_edges = check_natural(n_edges, "n_edges", 1)
    drawn = [choose_attribute(graph, attribute) for graph in windows if graph.number_of_edges()]
    paths = _collect_paths(windows, drawn[0] if drawn else attribute)
    bold = _choose_edges(paths, edges, n_edges)
    ax = make_axes(ax, 7.6, 4.2)
    for edge, path in paths.items():
        if edge not in bold:
            ax.plot(places, path, color=_OTHERS, linewidth=0.8, zorder=1)
    for at, edge in enumerate(bold):
        ax.plot(places, paths[edge], color=_COLOURS[at % len(_COLOURS)], linewidth=1.9, zorder=2)
    for change in changes:
        ax.axvline(change, color=_CHANGE, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1.5)
    ax.axhline(0.0, color="#9aa5b1", linewidth=0.8, zorder=0.5)
    ax.set_xlabel("window" if positions is None else "")
    ax.set_ylabel(drawn[0] if drawn else attribute)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.margins(x=0.0)
    _name_paths(ax, bold, [float(paths[edge][-1]) for edge in bold])
    return ax


def _collect_paths(windows: list, attribute: str) -> dict[Edge, np.ndarray]:
    """Return the attribute of each edge in each window, 0 without the edge; an undirected edge has one entry."""
    paths: dict[Edge, np.ndarray] = {}
    for at, graph in enumerate(windows):
        place = {name: v for v, name in enumerate(graph.names)}
        for source, target, marks in graph.edges(data=True):
            if marks.get("undirected") and place[source[0]] > place[target[0]]:
                continue
            paths.setdefault((source, target), np.zeros(len(windows)))[at] = read_number(marks, attribute)
    return paths


def _choose_edges(paths: dict[Edge, np.ndarray], edges: Sequence[Edge] | None, n_edges: int) -> list[Edge]:
    if edges is None:
        order = sorted(paths, key=lambda edge: -float(np.ptp(paths[edge])))
        return order[:n_edges]
    chosen: list[Edge] = [((*source,), (*target,)) for source, target in edges]  # nodes may be lists
    for edge in chosen:
        if edge not in paths:
            raise ValueError(f"the edge {edge[0]!r} -> {edge[1]!r} is in none of the graphs: leave it out of edges")
    return chosen


def _name_paths(ax: Axes, edges: list[Edge], ends: list[float]) -> None:
    """Write the names of the edges at the right of the curves, without overlaps."""
    low, high = ax.get_ylim()
    gap = 0.055 * (high - low)
    order = np.argsort(ends, kind="stable")
    heights = np.array(ends, dtype=float)[order]
    for _ in range(200):  # neighbours push each other apart
        overlaps = gap - np.diff(heights)
        if not (overlaps > 1e-9).any():
            break
        push = np.maximum(overlaps, 0.0) / 2
        heights[:-1] -= push
        heights[1:] += push
    for at, height in zip(order.tolist(), heights.tolist(), strict=True):
        (source, lag), (target, _) = edges[at]
        ax.annotate(
            f"{shorten(source)} → {shorten(target)}, lag {lag}",
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=_COLOURS[at % len(_COLOURS)],
            fontsize=8,
            va="center",
            annotation_clip=False,
        ).set_parse_math(False)

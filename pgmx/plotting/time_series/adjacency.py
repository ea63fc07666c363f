"""Heat maps of the coefficients of a graph over (variable, lag), one per lag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.plotting.pictures import make_figure
from pgmx.plotting.time_series.sources import choose_attribute, read_graph, read_number, shorten

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

_DARK_RED, _WHITE, _DARK, _NONE = "#9c1620", "#ffffff", "#102f55", "#f2f4f6"
_MOST_LABELS = 40
_MOST_COLUMNS = 4


def plot_adjacency(graph: Any, *, attribute: str = "strength", figure: Figure | None = None) -> Figure:
    """Draw the dependences between variables, one heat map per lag.

    Columns are sources, rows are targets. Colours have one scale for all lags, blue for positive and red for negative
    values; cells without an edge are grey.

    Parameters
    ----------
    graph : TimeSeriesGraph, LinearDynamicalSystem or fitted learner
        The graph to draw.
    attribute : {"weight", "strength", "confidence"}, default="strength"
        The attribute of the edges to draw. If the edges have only one of weight and strength, it is used for both; see
        Notes.
    figure : matplotlib.figure.Figure, optional
        The figure to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.figure.Figure
        One axes per lag, in order, and the axes of the colours; lag 0 is left out if it has no edges.

    Raises
    ------
    TypeError, ValueError
        If `graph` is none of the above or has no nodes, or no edge has the attribute.

    Notes
    -----
    A weight is a coefficient in the units of the data. A strength has no unit (for most learners it is the absolute
    standardised coefficient) and is drawn with the sign of the weight. Names are left out above 40 variables. Memory:
    one dense matrix over all variables per lag.

    Examples
    --------
    >>> from pgmx.models import TimeSeriesGraph
    >>> from pgmx.plotting import plot_adjacency
    >>> graph = TimeSeriesGraph.from_coefficients(["rain", "river"], [[0.5, 0.0], [0.25, 0.5]])
    >>> [ax.get_title() for ax in plot_adjacency(graph).axes]
    ['lag 1', '']
    """
    graph = read_graph(graph)
    attribute = choose_attribute(graph, attribute)
    values = _read_values(graph, attribute)
    lags = [lag for lag in range(len(values)) if lag or not np.isnan(values[0]).all()] or [0]
    names = [shorten(name) for name in graph.names]
    n_columns = min(len(lags), _MOST_COLUMNS)
    n_rows = -(-len(lags) // n_columns)
    side = _choose_side(len(names))
    if figure is None:
        room = 0.3 + 0.075 * max(map(len, names)) if len(names) <= _MOST_LABELS else 0.3  # for names
        size = (side * n_columns + 1.3 + room, (side + 0.35) * n_rows + 0.25 + room)
        figure = make_figure(*size)
    limit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    is_signed = bool((np.nan_to_num(values) < 0).any())
    shades = _make_colours(is_signed)
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    for at, ax in enumerate(grid.ravel()):
        if at >= len(lags):
            ax.set_axis_off()
            continue
        image = ax.imshow(
            values[lags[at]], cmap=shades, vmin=-limit if is_signed else 0.0, vmax=limit, interpolation="nearest"
        )
        ax.set_title(f"lag {lags[at]}" if lags[at] else "lag 0, instantaneous", fontsize=10)
        _label_axes(ax, names, at % n_columns == 0, at + n_columns >= len(lags))
    bar = figure.colorbar(image, ax=grid, shrink=0.8, pad=0.02)
    bar.set_label(attribute)
    bar.outline.set_visible(False)
    return figure


def _read_values(graph: Any, attribute: str) -> np.ndarray:
    """Return (lags + 1, n, n), NaN without an edge; an undirected edge at lag 0 has one value for both directions."""
    place = {name: v for v, name in enumerate(graph.names)}
    values = np.full((graph.lags + 1, len(place), len(place)), np.nan)
    for (source, lag), (target, _), marks in graph.edges(data=True):
        values[lag, place[target], place[source]] = read_number(marks, attribute)
    for (source, _), (target, _), is_line in graph.edges(data="undirected"):
        if is_line:
            u, v = place[source], place[target]
            values[0, v, u] = max(np.nan_to_num(values[0, v, u]), np.nan_to_num(values[0, u, v]), key=abs)
    return values


def _choose_side(n: int) -> float:
    """Return the side of a map in inches."""
    return float(np.clip(1.1 + 0.26 * n, 2.2, 5.0 if n <= _MOST_LABELS else 4.0))


def _make_colours(is_signed: bool) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    middle = ["#e9b5b0", _WHITE, "#b5cbe2"] if is_signed else [_WHITE]
    colours = [_DARK_RED, *middle, _DARK] if is_signed else ["#dbe6f1", "#7fa3c9", _DARK]
    return LinearSegmentedColormap.from_list("pgmx", colours).with_extremes(bad=_NONE)


def _label_axes(ax: Any, names: list[str], is_left: bool, is_lowest: bool) -> None:
    """Write the names of sources below and of targets at the left, and draw lines between the cells."""
    n = len(names)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0, labelbottom=is_lowest, labelleft=is_left)
    if n <= _MOST_LABELS:
        ax.set_xticks(np.arange(n), names, rotation=90, fontsize=8)
        ax.set_yticks(np.arange(n), names, fontsize=8)
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
            label.set_parse_math(False)
        edges = np.arange(n + 1) - 0.5
        ax.hlines(edges, -0.5, n - 0.5, color="white", linewidth=1.0)
        ax.vlines(edges, -0.5, n - 0.5, color="white", linewidth=1.0)
    else:
        ax.set_xticks([])
        ax.set_yticks([])
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(n - 0.5, -0.5)
    if is_lowest:
        ax.set_xlabel("source")
    if is_left:
        ax.set_ylabel("target")

"""Heat maps of graphs: weights, strengths or probabilities of edges, next to those of a reference."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import check_same_names, is_number
from pgmx.fitted import FittedLearner
from pgmx.plotting.graphs.indexed import index_graph, is_series_graph
from pgmx.plotting.labels import shorten_names
from pgmx.plotting.pictures import make_figure
from pgmx.plotting.series_graphs import check_attribute, choose_attribute, read_graph, read_number, take_graph
from pgmx.plotting.strengths import name_share, read_strengths, take_strengths

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from networkx import Graph
    from pandas import DataFrame

_DARK_RED, _WHITE, _DARK, _NONE, _INK = "#9c1620", "#ffffff", "#102f55", "#f2f4f6", "#22303f"
_MOST_LABELS = 40
_MOST_MARKED = 100  # variables of a map with minus signs
_MOST_COLUMNS = 4
_ORDERS = ("given", "clustered")
_MOST_OPTIMAL = 300  # variables whose leaves are put in the optimal order


class Maps(NamedTuple):
    """Values of shape (lags + 1, n, n) in row target, column source, NaN without an edge, and what they are.

    `label` is empty if edges have no values; they are 1 then.
    """

    names: list
    values: np.ndarray
    label: str
    has_lags: bool
    has_directions: bool


def plot_adjacency(
    graph: Graph | FittedLearner | DataFrame,
    *,
    reference: Graph | FittedLearner | DataFrame | None = None,
    attribute: str = "strength",
    order: str = "given",
    figure: Figure | None = None,
) -> Figure:
    r"""Draw the edges of a graph as a heat map, one per lag for time series, next to the heat map of a reference.

    Columns are sources, rows are targets. Colours have one scale for all maps, blue for positive and red for negative
    values; cells without an edge are grey. A minus sign marks negative values, also in a print without colours.

    Parameters
    ----------
    graph : graph, model, fitted learner or DataFrame
        A pgmpy or networkx graph, a ``TimeSeriesGraph``, a model, or a learner. Of a fitted bootstrap or posterior the
        shares or probabilities of edges are drawn. A table is a matrix whose row is the source and whose column is
        the target, such as ``partial_correlations`` or ``arc_probability_``, or a table of strengths.
    reference : graph, model, fitted learner or DataFrame, optional
        The actual graph on the same variables, for comparison. If only one of the two has values, the edges of the
        other have the darkest colour.
    attribute : {"weight", "strength", "confidence"}, default="strength"
        The attribute of the edges to draw. If the edges have only one of weight and strength, it is used for both; see
        Notes.
    order : {"given", "clustered"}, default="given"
        "clustered" puts variables with strong edges next to each other (average linkage with optimal order of leaves;
        the distance is 1 - \|value\| / largest).
    figure : matplotlib.figure.Figure, optional
        The figure to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.figure.Figure
        One axes per lag, in order, each followed by that of the reference, and the axes of the colours if edges have
        values; lag 0 is left out if it has no edges.

    Raises
    ------
    TypeError, ValueError
        If `graph` or `reference` is none of the above or has no nodes, they have different variables, only one has
        lags, no edge of a graph over lags has the attribute, or `order` is unknown.

    Notes
    -----
    A weight is a coefficient in the units of the data. A strength has no unit (for most learners it is the absolute
    standardised coefficient) and is drawn with the sign of the weight. In Gaussian Markov networks both are partial
    correlations. In graphs without lags, edges without the attribute have one colour. For a bootstrap or posterior of
    directed graphs the value is the share of graphs with the edge from source to target; undirected edges count half
    for each direction. Diagonals of matrices are not drawn. Names are left out above 40 variables, minus signs above
    100. Memory: one dense matrix over all variables per lag.

    Examples
    --------
    >>> from pgmx.models import TimeSeriesGraph
    >>> from pgmx.plotting import plot_adjacency
    >>> graph = TimeSeriesGraph.from_coefficients(["rain", "river"], [[0.5, 0.0], [0.25, 0.5]])
    >>> [ax.get_title() for ax in plot_adjacency(graph).axes]
    ['lag 1', '']
    >>> import networkx as nx
    >>> truth = nx.DiGraph([("rain", "wet grass"), ("sprinkler", "wet grass")])
    >>> [ax.get_title() for ax in plot_adjacency(truth, reference=truth.reverse()).axes]
    ['graph', 'reference']
    """
    check_attribute(attribute)
    if order not in _ORDERS:
        raise ValueError(f"order must be one of {', '.join(map(repr, _ORDERS))}, got {order!r}")
    panels = [_read_maps(graph, attribute)]
    if reference is not None:
        panels.append(_match(_read_maps(reference, attribute), panels[0]))
    n_lags = max(len(panel.values) for panel in panels)
    values = np.stack([_pad(panel.values, n_lags) for panel in panels])
    limit = max((_find_largest(panel) for panel in panels if panel.label), default=1.0)
    for panel, part in zip(panels, values, strict=True):
        if not panel.label:
            part *= limit
    place = _cluster(values) if order == "clustered" else np.arange(len(panels[0].names))
    values = values[..., place[:, None], place[None]]
    return _draw_maps(panels, shorten_names([panels[0].names[v] for v in place.tolist()]), values, limit, figure)


def _draw_maps(panels: list[Maps], names: list[str], values: np.ndarray, limit: float, figure: Figure | None) -> Figure:
    """Draw one map per lag and panel."""
    first = panels[0]
    lags = [lag for lag in range(values.shape[1]) if lag or not np.isnan(values[:, 0]).all()] or [0]
    cells = [(panel, lag) for lag in lags for panel in range(len(panels))]
    n_columns = len(panels) if len(panels) > 1 else min(len(lags), _MOST_COLUMNS)
    n_rows = -(-len(cells) // n_columns)
    side = _choose_side(len(names))
    has_bar = any(panel.label for panel in panels)
    if figure is None:
        room = 0.3 + 0.075 * max(map(len, names)) if len(names) <= _MOST_LABELS else 0.3  # for names
        at_right = 1.3 if has_bar else 0.3
        figure = make_figure(side * n_columns + at_right + room, (side + 0.35) * n_rows + 0.25 + room)
    is_signed = bool((np.nan_to_num(values) < 0).any())
    shades = _make_colours(is_signed)
    has_directions = any(panel.has_directions for panel in panels)
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    for at, ax in enumerate(grid.ravel()):
        if at >= len(cells):
            ax.set_axis_off()
            continue
        panel, lag = cells[at]
        image = ax.imshow(
            values[panel, lag], cmap=shades, vmin=-limit if is_signed else 0.0, vmax=limit, interpolation="nearest"
        )
        _mark_negative(ax, values[panel, lag], limit)
        ax.set_title(_title(lag, panel, has_lags=first.has_lags, compares=len(panels) > 1), fontsize=10)
        _label_axes(ax, names, at % n_columns == 0, at + n_columns >= len(cells), has_directions)
    if has_bar:
        bar = figure.colorbar(image, ax=grid, shrink=0.8, pad=0.02)
        bar.set_label(next(panel.label for panel in panels if panel.label))
        bar.outline.set_visible(False)
    return figure


def _title(lag: int, panel: int, *, has_lags: bool, compares: bool) -> str:
    """Return the title of a map."""
    words = [f"lag {lag}" if lag else "lag 0, instantaneous"] if has_lags else []
    if compares and (panel or not has_lags):
        words.append("reference" if panel else "graph")
    return ", ".join(words)


# ---- input ----


def _read_maps(source: Any, attribute: str) -> Maps:
    """Return the values of the edges of a graph, a model, a learner or a table."""
    table = take_strengths(source)
    if hasattr(table, "columns") and hasattr(table, "index"):
        is_learner = table is not source
        if not is_learner and not {"from", "to", "strength"} <= set(table.columns):
            return _read_matrix(table)
        return _read_table(table, source if is_learner else None)
    graph = take_graph(source)
    if is_series_graph(graph) or hasattr(graph, "to_arrays"):
        return _read_series(read_graph(graph), attribute)
    indexed = index_graph(graph)
    if not indexed.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    return _read_plain(graph, indexed, attribute)


def _read_series(graph: Any, attribute: str) -> Maps:
    """Return one matrix per lag; an undirected edge at lag 0 has one value for both directions."""
    attribute = choose_attribute(graph, attribute)
    place = {name: v for v, name in enumerate(graph.names)}
    values = np.full((graph.lags + 1, len(place), len(place)), np.nan)
    for (source, lag), (target, _), marks in graph.edges(data=True):
        values[lag, place[target], place[source]] = read_number(marks, attribute)
    for (source, _), (target, _), is_line in graph.edges(data="undirected"):
        if is_line:
            u, v = place[source], place[target]
            values[0, v, u] = max(np.nan_to_num(values[0, v, u]), np.nan_to_num(values[0, u, v]), key=abs)
    return Maps(list(graph.names), values, attribute, True, True)


def _read_plain(graph: Any, indexed: Any, attribute: str) -> Maps:
    """Return the matrix of a graph without lags, with ones if not all edges have the attribute."""
    n, place = len(indexed.names), {name: v for v, name in enumerate(indexed.names)}
    values = np.full((1, n, n), np.nan)
    for u, v in indexed.directed:
        values[0, v, u] = 1.0
    for u, v in indexed.undirected:
        values[0, u, v] = values[0, v, u] = 1.0
    edges = [(place[u], place[v], marks) for u, v, marks in graph.edges(data=True) if u != v]
    for choice in dict.fromkeys((attribute, {"strength": "weight", "weight": "strength"}.get(attribute, attribute))):
        if edges and all(is_number(marks.get(choice)) for *_, marks in edges):
            for u, v, marks in edges:
                number = {**marks, "weight": marks["weight"] if is_number(marks.get("weight")) else 1.0}
                values[0, v, u] = read_number(number, choice)
                if not np.isnan(values[0, u, v]) and not graph.is_directed():
                    values[0, u, v] = values[0, v, u]
            # the nodes of the plain graph of a Gaussian Markov network have a mean
            has_means = not graph.is_directed() and all("mean" in marks for _, marks in graph.nodes(data=True))
            label = "partial correlation" if has_means or hasattr(graph, "partial_correlations") else choice
            return Maps(indexed.names, values, label, False, graph.is_directed())
    return Maps(indexed.names, values, "", False, graph.is_directed())


def _read_table(table: DataFrame, learner: Any) -> Maps:
    """Return the shares of a bootstrap, the probabilities of a posterior, or the strengths of a table."""
    strengths = read_strengths(table).of if len(table) or learner is None else {}
    has_lags = "lag" in table.columns
    graph = None if learner is None else learner.graph_
    known = {node for pair in strengths for node in pair}
    nodes = list(known) if graph is None else list(graph.nodes())
    names: list[Hashable] = list(dict.fromkeys(node[0] if has_lags else node for node in nodes))
    if graph is None:
        names.sort(key=lambda name: list(map(str, (*table["from"], *table["to"]))).index(str(name)))
    place = {name: v for v, name in enumerate(names)}
    n_lags = 1 + max((lag for (_, lag), _ in strengths), default=0) if has_lags else 1
    values = np.full((n_lags, len(names), len(names)), np.nan)
    has_directions = "direction" in table.columns and (graph is None or graph.is_directed())
    shares = table["direction"] if has_directions else [0.5] * len(table)
    for (pair, strength), share in zip(strengths.items(), shares, strict=True):
        (source, lag), (target, _) = pair if has_lags else ((pair[0], 0), (pair[1], 0))
        u, v = place[source], place[target]
        if lag:
            values[lag, v, u] = strength
            continue
        values[0, v, u] = strength * (share if has_directions else 1.0)
        if not has_directions or share < 1.0:
            values[0, u, v] = strength * (1.0 - share if has_directions else 1.0)
    label = "strength" if learner is None else name_share(learner)
    return Maps(names, values, label, has_lags, has_directions or has_lags)


def _read_matrix(table: DataFrame) -> Maps:
    """Return a square table in row target, column source; zeros and the diagonal are no edges."""
    names = list(table.columns)
    if list(table.index) != names or not names:
        raise ValueError(
            "a table must be square with the same names of rows and columns, or have the columns from, to and "
            f"strength; it has {len(table.index)} rows and the columns {names!r:.100}"
        )
    try:
        values = table.to_numpy(dtype=float, copy=True).T[None].copy()
    except (TypeError, ValueError):
        raise TypeError("the table must hold values of edges, and some of its cells are not numeric") from None
    if np.isinf(values).any():
        raise ValueError("the table has infinite values: replace them")
    values[values == 0.0] = np.nan
    values[0, np.arange(len(names)), np.arange(len(names))] = np.nan
    is_symmetric = np.array_equal(values[0], values[0].T, equal_nan=True)
    return Maps(names, values, "value", False, not is_symmetric)


def _match(maps: Maps, graph: Maps) -> Maps:
    """Return the maps of the reference in the order of the variables of the graph."""
    if maps.has_lags != graph.has_lags:
        which = "reference" if maps.has_lags else "graph"
        raise ValueError(f"only the {which} has lags: compare graphs of the same kind")
    check_same_names(graph.names, maps.names, "the graph", "its reference")
    place = {name: v for v, name in enumerate(maps.names)}
    order = np.array([place[name] for name in graph.names])
    return maps._replace(names=graph.names, values=maps.values[:, order[:, None], order[None]])


def _pad(values: np.ndarray, n_lags: int) -> np.ndarray:
    """Return the maps with empty ones for further lags."""
    more = np.full((n_lags - len(values), *values.shape[1:]), np.nan)
    return np.concatenate([values, more])


def _find_largest(maps: Maps) -> float:
    return float(np.nanmax(np.abs(maps.values), initial=0.0)) or 1.0


def _cluster(values: np.ndarray) -> np.ndarray:
    """Return an order of the variables that puts those with strong edges next to each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    sizes = np.abs(np.nan_to_num(values)).max(axis=(0, 1))
    sizes = np.maximum(sizes, sizes.T)
    np.fill_diagonal(sizes, 0.0)
    if len(sizes) < 3:
        return np.arange(len(sizes))
    distance = 1.0 - sizes / max(sizes.max(), 1e-300)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=len(sizes) <= _MOST_OPTIMAL)
    return leaves_list(tree)


# ---- shapes ----


def _choose_side(n: int) -> float:
    """Return the side of a map in inches."""
    return float(np.clip(1.1 + 0.26 * n, 2.2, 5.0 if n <= _MOST_LABELS else 4.0))


def _make_colours(is_signed: bool) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    middle = ["#e9b5b0", _WHITE, "#b5cbe2"] if is_signed else [_WHITE]
    colours = [_DARK_RED, *middle, _DARK] if is_signed else ["#dbe6f1", "#7fa3c9", _DARK]
    return LinearSegmentedColormap.from_list("pgmx", colours).with_extremes(bad=_NONE)


def _mark_negative(ax: Any, values: np.ndarray, limit: float) -> None:
    """Draw a minus sign in the middle of negative cells: in grey prints red and blue are the same."""
    n = len(values)
    rows, columns = np.nonzero(np.nan_to_num(values) < 0)
    if n > _MOST_MARKED or not len(rows):
        return
    shares = -values[rows, columns] / limit
    inks = np.where(shares > 0.75, _WHITE, _INK)
    width = min(1.4, 7.2 * _choose_side(n) / n)  # points: at most a tenth of a cell
    marks = ax.hlines(rows, columns - 0.22, columns + 0.22, color=inks, linewidth=width, label="negative")
    marks.set_alpha(0.3 + 0.7 * shares)


def _label_axes(ax: Any, names: list[str], is_left: bool, is_lowest: bool, has_directions: bool) -> None:
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
    if is_lowest and has_directions:
        ax.set_xlabel("source")
    if is_left and has_directions:
        ax.set_ylabel("target")

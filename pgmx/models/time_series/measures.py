"""Measures of a graph, and of graphs learned from windows of a series."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.base import clone

from pgmx.checks import check_natural

#: Number of nodes whose distances to all other nodes are computed at a time.
_ROWS = 256


class GraphMeasures(NamedTuple):
    """Measures of a directed graph without its edges from a node to itself; `by_node` has one row per node."""

    density: float
    clustering: float
    n_components: int
    diameter: int
    average_shortest_path: float
    average_neighbors: float
    n_edges: int
    by_node: pd.DataFrame


def measure_graph(graph: nx.Graph) -> GraphMeasures:
    """Return the measures of a graph; an undirected edge counts as two opposite edges."""
    names = list(graph.nodes())
    n, place = len(names), {name: v for v, name in enumerate(names)}
    edges = {(place[u], place[v]) for u, v in graph.edges() if u != v}
    if not graph.is_directed():
        # An undirected graph lists each edge once.
        edges |= {(v, u) for u, v in edges}
    ends = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2).T
    arcs = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n)).tocsr()
    lengths, n_reached, longest = _measure_distances(arcs)
    n_pairs = n_reached.sum()
    with np.errstate(invalid="ignore"):
        by_node = pd.DataFrame(
            {
                "in_degree": np.bincount(ends[1], minlength=n),
                "out_degree": np.bincount(ends[0], minlength=n),
                "degree": np.bincount(ends.ravel(), minlength=n),
                "average_shortest_path": lengths / n_reached,
            },
            index=pd.Index(names, tupleize_cols=False),
        )
    return GraphMeasures(
        density=len(edges) / (n * (n - 1)) if n > 1 else 0.0,
        clustering=_measure_clustering(arcs),
        n_components=int(connected_components(arcs, connection="weak", return_labels=False)) if n else 0,
        diameter=longest,
        average_shortest_path=float(lengths.sum() / n_pairs) if n_pairs else float("nan"),
        average_neighbors=len(edges) / n if n else 0.0,
        n_edges=len(edges),
        by_node=by_node,
    )


def _measure_distances(arcs: csr_array) -> tuple[np.ndarray, np.ndarray, int]:
    """Return per node the sum and the number of its finite distances to other nodes, and the largest distance."""
    n = len(arcs.indptr) - 1
    sums, counts, longest = np.zeros(n), np.zeros(n, dtype=np.int64), 0
    for start in range(0, n, _ROWS):
        nodes = np.arange(start, min(start + _ROWS, n))
        # Some rows of the matrix of distances at a time: the whole would take n^2 values.
        distances = dijkstra(arcs, indices=nodes, unweighted=True)
        reached = np.isfinite(distances) & (distances > 0)
        distances[~reached] = 0.0
        sums[nodes], counts[nodes] = distances.sum(axis=1), reached.sum(axis=1)
        longest = max(longest, int(distances.max(initial=0.0)))
    return sums, counts, longest


def _measure_clustering(arcs: csr_array) -> float:
    """Return the share of connected triplets that are closed, ignoring directions; 0 without triplets."""
    joined = ((arcs + arcs.T) > 0).astype(np.float64)
    degrees = np.asarray(joined.sum(axis=1)).ravel()
    triplets = float((degrees * (degrees - 1)).sum())
    return float((joined @ joined).multiply(joined).sum()) / triplets if triplets else 0.0


def graphs_by_window(series: Any, learner: Any, boundaries: int | Sequence[int]) -> list[nx.Graph]:
    """Learn a graph from each window of a series.

    Parameters
    ----------
    series : DataFrame, polars frame or array of shape (T, n_series)
        Rows of one series, oldest first.
    learner : learner of pgmx
        An object with `fit` and the fitted attribute `graph_`. A clone is fitted to each window; the learner itself is
        not changed.
    boundaries : int or sequence of int
        Increasing first rows of the windows after the first. ``[200, 400]`` gives three windows: rows 0 to 199, 200 to
        399 and 400 to the end (0 and T may be given too). An integer is the length of the windows; the last window also
        contains the remaining rows.

    Returns
    -------
    list of networkx.Graph
        The `graph_` of each window.

    Raises
    ------
    ValueError, TypeError
        If `series` has no rows, the boundaries do not increase or are outside of the series, or an error of the
        learner.

    Examples
    --------
    >>> from pgmx.estimators import DenseLDS
    >>> from pgmx.models import LinearDynamicalSystem, graphs_by_window
    >>> system = LinearDynamicalSystem(["a", "b"], [[0.5, 0.0], [0.5, 0.5]], noise_covariance=[1.0, 1.0])
    >>> len(graphs_by_window(system.simulate(300), DenseLDS(), 100))
    3
    """
    copies: list[Any] = [(clone(learner), window) for _, window in _split(series, boundaries)]
    return [copy.fit(window).graph_ for copy, window in copies]


def measures_by_window(series: Any, learner: Any, boundaries: int | Sequence[int]) -> pd.DataFrame:
    """Learn a graph from each window of a series and compute its measures.

    Parameters
    ----------
    series : DataFrame, polars frame or array of shape (T, n_series)
        As for `graphs_by_window`.
    learner : learner of pgmx
        As for `graphs_by_window`. The measures of a graph over lags are computed from its summary graph.
    boundaries : int or sequence of int
        As for `graphs_by_window`.

    Returns
    -------
    pandas.DataFrame
        One row per window, with the index levels ``start`` and ``stop`` (the row after the last). The columns are
        ``density``, ``clustering``, ``n_components``, ``diameter``, ``average_shortest_path``, ``average_neighbors``
        and ``n_edges``, as `TimeSeriesGraph.measures` defines them.

    Raises
    ------
    ValueError, TypeError
        As `graphs_by_window` does.

    References
    ----------
    Y. Shen, B. Baingana, G. B. Giannakis (2016), Nonlinear structural vector autoregressive models for inferring
    effective brain network connectivity, arXiv:1610.06551 (density, clustering coefficient, components, diameter and
    neighbours before and during a seizure).

    Examples
    --------
    >>> from pgmx.estimators import DenseLDS
    >>> from pgmx.models import LinearDynamicalSystem, measures_by_window
    >>> system = LinearDynamicalSystem(["a", "b"], [[0.5, 0.0], [0.5, 0.5]], noise_covariance=[1.0, 1.0])
    >>> measures_by_window(system.simulate(300), DenseLDS(), [100])["n_edges"].tolist()
    [2, 2]
    """
    rows, places = [], []
    for place, window in _split(series, boundaries):
        # Earlier windows must not affect the fit.
        fresh: Any = clone(learner)
        graph = fresh.fit(window).graph_
        measures = measure_graph(graph.summary_graph() if hasattr(graph, "summary_graph") else graph)
        places.append(place)
        rows.append({key: value for key, value in measures._asdict().items() if key != "by_node"})
    return pd.DataFrame(rows, index=pd.MultiIndex.from_tuples(places, names=["start", "stop"]))


def _split(series: Any, boundaries: int | Sequence[int]) -> list[tuple[tuple[int, int], Any]]:
    """Return the positions (start, stop) and the rows of each window."""
    if not hasattr(series, "shape") or len(series.shape) != 2:
        raise TypeError(f"series must be one frame or array of rows and columns, got {type(series).__name__}")
    n_rows = series.shape[0]
    if isinstance(boundaries, int | np.integer):
        width = check_natural(boundaries, "boundaries", 1)
        starts = list(range(0, n_rows - width + 1, width))
    elif not np.ndim(boundaries):
        raise TypeError(
            f"boundaries must be an integer, the length of windows, or a sequence of rows, got {boundaries!r}"
        )
    else:
        starts = [check_natural(bound, "each of boundaries", 0) for bound in boundaries]
        starts = starts if starts[:1] == [0] else [0, *starts]
    bounds = starts if starts[-1:] == [n_rows] else [*starts, n_rows]
    if len(bounds) < 2 or any(stop <= start for start, stop in pairwise(bounds)):
        raise ValueError(
            f"boundaries must be increasing positions between 0 and {n_rows}, the number of rows, or the length of "
            f"windows; got {boundaries!r:.200}"
        )
    take = series.iloc.__getitem__ if isinstance(series, pd.DataFrame) else series.__getitem__
    return [((start, stop), take(slice(start, stop))) for start, stop in pairwise(bounds)]


def make_lagged_strength_table(
    names: Sequence[Hashable], shares: np.ndarray, undirected: bool, feedback: bool = False
) -> pd.DataFrame:
    """Return one row (from, lag, to, strength, direction) for each edge of at least one graph, strongest first.

    `shares` has the share of graphs with the edge ``[lag, target, source]``. Pairs at lag 0 have one row, in their more
    frequent direction; with `feedback`, one for each. ``direction`` is its share among the edges of the two variables.
    """
    either = shares.copy()
    if not undirected and not feedback:
        either[0] += shares[0].T
    direction = np.ones_like(shares)
    np.divide(shares[0], shares[0] + shares[0].T, out=direction[0], where=either[0] > 0)
    listed = either > 0
    n = len(names)
    is_first = np.arange(n)[:, None] > np.arange(n)  # for ties the row from the first variable
    if not feedback:
        listed[0] &= (direction[0] > 0.5) | ((direction[0] == 0.5) & is_first)
    lags, targets, sources = np.nonzero(listed)
    strength, direction = either[listed], direction[listed]
    # Ties are ordered by position, so that equal graphs give equal tables.
    order = np.lexsort((targets, sources, lags, -direction, -strength))
    by_id = np.empty(n, dtype=object)
    # By assignment, since numpy would make a second axis of names that are tuples.
    by_id[:] = list(names)
    columns = {
        "from": pd.Series(by_id[sources[order]], dtype=object),
        "lag": lags[order],
        "to": pd.Series(by_id[targets[order]], dtype=object),
        "strength": strength[order],
        "direction": direction[order],
    }
    return pd.DataFrame(columns)

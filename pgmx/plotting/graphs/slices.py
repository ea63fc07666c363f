"""Layout of a graph over (variable, lag): one column per lag, the oldest at the left, one row per variable."""

from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np

from pgmx.plotting.graphs.packing import HEIGHT

#: Most columns and rows that are readable.
MOST_COLUMNS, MOST_ROWS = 4, 20
_ROW = 2.2 * HEIGHT  # distance of two rows
_COLUMN = 64.0  # distance of two columns, between their boxes
_BULGE, _BULGE_PER_ROW = 10.0, 8.0  # of an edge within a column

Node = tuple[Hashable, int]


def compute_slices(names: Sequence[Node], widths: Sequence[float]) -> np.ndarray:
    """Return the centres of the nodes, shape (n, 2), upwards from (0, 0)."""
    variables = list(dict.fromkeys(name for name, _ in sorted(names, key=lambda node: node[1])))
    row = {name: len(variables) - 1 - k for k, name in enumerate(variables)}
    gap = max(_COLUMN, 0.25 * _ROW * len(variables))
    x, left = {}, 0.0
    for lag in sorted({lag for _, lag in names}, reverse=True):
        widest = max(width for (_, other), width in zip(names, widths, strict=True) if other == lag)
        x[lag] = left + widest / 2
        left += widest + gap
    return np.array([(x[lag], HEIGHT / 2 + _ROW * row[name]) for name, lag in names])


def route_slices(
    edges: Sequence[tuple], names: Sequence[Node], centres: np.ndarray, widths: Sequence[float]
) -> list[np.ndarray]:
    """Return the Bezier control points (3k + 1, 2) of every edge.

    Edges of one lag bulge to the right of the column. Other edges go to the right, between the rows of columns that
    they pass.
    """
    columns = sorted({(lag, x) for (_, lag), x in zip(names, centres[:, 0].tolist(), strict=True)}, reverse=True)
    places = _spread_ends(edges, names, centres)
    curves = []
    for u, v, *_ in edges:
        within = names[u][1] == names[v][1]
        start, stop = centres[u].copy(), centres[v].copy()
        start += widths[u] / 2, places[u, 1, v]
        stop += (widths[v] / 2 if within else -widths[v] / 2), places[v, int(within), u]
        if within:
            reach = max(start[0], stop[0]) + _BULGE + _BULGE_PER_ROW * abs(stop[1] - start[1]) / _ROW
            curves.append(np.array([start, (reach, start[1]), (reach, stop[1]), stop]))
            continue
        points = [start]
        for lag, x in columns:
            if names[v][1] < lag < names[u][1]:
                height = start[1] + (stop[1] - start[1]) * (x - start[0]) / (stop[0] - start[0])
                row = np.floor((height - HEIGHT / 2) / _ROW) + 0.5
                points.append(np.array([x, HEIGHT / 2 + _ROW * row]))
        points.append(stop)
        curve = [points[0]]
        for one, other in pairwise(points):
            step = np.array([(other[0] - one[0]) / 2, 0.0])
            curve += [one + step, other - step, other]
        curves.append(np.array(curve))
    return curves


def _spread_ends(
    edges: Sequence[tuple], names: Sequence[Node], centres: np.ndarray
) -> dict[tuple[int, int, int], float]:
    """Return the heights at which edges meet a node, from its middle, by (node, side, other node); side 1 is right."""
    sides: dict[tuple[int, int], list[int]] = {}
    for u, v, *_ in edges:
        sides.setdefault((u, 1), []).append(v)
        sides.setdefault((v, int(names[u][1] == names[v][1])), []).append(u)
    places = {}
    for (node, side), others in sides.items():
        step = min(5.0, 0.7 * HEIGHT / len(others))
        for k, other in enumerate(sorted(others, key=lambda w: (centres[w, 1], w))):
            places[node, side, other] = step * (k - (len(others) - 1) / 2)
    return places

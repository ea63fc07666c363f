"""A first picture of a large graph: its communities as discs, with the names of their most central nodes.

Each disc holds the nodes of a community as dots. Edges between two communities pass through the line that joins the
centres of the discs, so that they form bundles (D. Holten 2006, Hierarchical edge bundles).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pgmx.plotting.graphs.packing import HEIGHT, Edge, find_components
from pgmx.plotting.graphs.sizes import count_neighbours
from pgmx.plotting.graphs.spring_layout import (
    compute_spring_layout,
    find_communities,
    push_apart,
    reduce_stress,
    rotate_flat,
)

MOST_APART = 100  # nodes of a graph that is drawn with all names by default
DOT = 3.2  # radius of a dot, in points
_MOST_DISCS, _FEWEST_NODES = 12, 5
_N_NAMES = 3
_FILLED = 0.2  # share of a disc that its dots cover
_MOST_BY_SPRINGS = 1500  # nodes of a disc that are placed by their edges
_GAP = 14.0  # between two discs with their names
_LEAST_FONT, _FONTS_IN_WIDTH = 10.0, 60.0  # points; letters of a picture on a slide
_WIDTH_TO_HEIGHT = 2.2  # of the positions of discs, as of a slide
_BEND = 0.92  # of the radius of a disc, where an edge turns to the other disc


class Disc(NamedTuple):
    """A community: its centre, radius, the nodes that are named, and the lines of its caption, names first."""

    centre: np.ndarray
    radius: float
    named: list[int]
    caption: list[str]

    @property
    def n_names(self) -> int:
        """Number of lines that are names."""
        return len(self.named)


class Overview(NamedTuple):
    """Discs, the centres of all dots, the disc of each node, the size of letters in points, and the extent.

    `frame` is (left, right, high); the lower border is at 0.
    """

    discs: list[Disc]
    centres: np.ndarray
    labels: np.ndarray
    font: float
    frame: tuple[float, float, float]


def compute_overview(labels: Sequence[str], edges: Iterable[Edge], measure: np.ndarray | None = None) -> Overview:
    """Place the nodes in discs; `measure` ranks the names of a disc (default: number of neighbours)."""
    n, edges = len(labels), sorted({(min(edge), max(edge)) for edge in edges})
    groups, rest = group_nodes(n, edges)
    measure = count_neighbours(n, edges) if measure is None else measure
    members = [np.array(group) for group in [*groups, *([rest] if rest else [])]]
    disc_of = np.empty(n, dtype=int)
    for label, group in enumerate(members):
        disc_of[group] = label
    radii = DOT * np.sqrt(np.array([len(group) for group in members]) / _FILLED) + DOT
    named = [_find_central(group, measure) if k < len(groups) else [] for k, group in enumerate(members)]
    captions = [
        _write_caption([labels[v] for v in nodes], len(group), has_edges=bool(measure[group].any()))
        for nodes, group in zip(named, members, strict=True)
    ]
    area = 3.6 * np.pi * (radii**2).sum()
    font = max(_LEAST_FONT, np.sqrt(1.6 * area) / _FONTS_IN_WIDTH)
    boxes = np.array([_measure_box(radius, caption, font) for radius, caption in zip(radii, captions, strict=True)])
    middles = _place_discs(boxes, _count_between(disc_of, edges, len(members)), has_rest=bool(rest))
    middles -= (middles - boxes / 2).min(axis=0)
    right, high = (middles + boxes / 2).max(axis=0).tolist()
    centres = np.zeros((n, 2))
    discs = []
    for k, group in enumerate(members):
        middle = middles[k] + (0.0, boxes[k, 1] / 2 - radii[k])  # the caption is below the disc
        inner = [edge for edge in edges if disc_of[edge[0]] == disc_of[edge[1]] == k]
        centres[group] = middle + (radii[k] - 2 * DOT) * _place_dots(group, inner)
        discs.append(Disc(middle, float(radii[k]), named[k], captions[k]))
    return Overview(discs, centres, disc_of, float(font), (0.0, right, high))


# ---- communities ----


def group_nodes(n: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[int]]:
    """Return at most 12 communities, the largest first, and the nodes of small groups without edges to others.

    The smallest community joins the one with which it has the most edges until none is small and at most 12 are left.
    """
    labels = find_communities(n, edges, smallest=1)
    groups = {label: np.flatnonzero(labels == label).tolist() for label in range(labels.max(initial=-1) + 1)}
    between = _count_between(labels, edges, len(groups))
    rest: list[int] = []
    while groups:
        smallest = min(groups, key=lambda label: (len(groups[label]), -label))
        if len(groups) + bool(rest) <= _MOST_DISCS and len(groups[smallest]) >= _FEWEST_NODES:
            break
        group, counts = groups.pop(smallest), between[smallest]
        if not counts.any():
            rest += group
            continue
        nearest = int(counts.argmax())
        groups[nearest] = sorted(groups[nearest] + group)
        between[nearest] += counts
        between[:, nearest] += counts
        between[nearest, nearest] = 0
        between[smallest] = between[:, smallest] = 0
    return sorted(groups.values(), key=lambda group: (-len(group), group)), sorted(rest)


def _count_between(labels: np.ndarray, edges: Sequence[Edge], k: int) -> np.ndarray:
    """Return the number of edges between each two of k groups, 0 on the diagonal."""
    counts = np.zeros((k, k), dtype=int)
    ends = labels[np.array(edges, dtype=int).reshape(-1, 2)]
    np.add.at(counts, (ends[:, 0], ends[:, 1]), 1)
    counts += counts.T
    np.fill_diagonal(counts, 0)
    return counts


def _find_central(group: np.ndarray, measure: np.ndarray) -> list[int]:
    """Return the nodes with the largest measure, the first ones of those that are equal."""
    return sorted(group.tolist(), key=lambda v: (-measure[v], v))[:_N_NAMES]


def _write_caption(names: list[str], size: int, *, has_edges: bool) -> list[str]:
    """Return the most central names and the number of the others."""
    if not names:
        return [f"{size:,} in small groups" if has_edges else f"{size:,} without edges"]
    n_others = size - len(names)
    return [*names, *([f"and {n_others:,} other{'s' if n_others > 1 else ''}"] if n_others else [])]


# ---- positions ----


def _measure_box(radius: float, caption: Sequence[str], font: float) -> tuple[float, float]:
    """Return the width and the height of a disc with its caption."""
    widest = 0.62 * font * max(map(len, caption))
    return max(2 * radius, widest), 2 * radius + 1.25 * font * len(caption) + 0.4 * font


def _place_discs(boxes: np.ndarray, between: np.ndarray, *, has_rest: bool) -> np.ndarray:
    """Return the centres of the boxes: communities with many edges between them are near, the rest is in a corner."""
    k = len(boxes) - has_rest
    places = np.zeros((len(boxes), 2))
    if k > 1:
        places[:k] = _widen(rotate_flat(_reduce_stress(boxes[:k], between[:k, :k])))
    if has_rest:
        low = (places - boxes / 2)[:k].min(axis=0, initial=0.0)
        high = (places + boxes / 2)[:k].max(axis=0, initial=0.0)
        places[k] = high[0] - boxes[k, 0] / 2, low[1] + boxes[k, 1] / 2
    return push_apart(places, *(boxes + _GAP).T)


def _reduce_stress(boxes: np.ndarray, between: np.ndarray) -> np.ndarray:
    """Return positions at distances that follow the sizes of the boxes and how many edges join them."""
    from scipy.sparse.csgraph import shortest_path

    reach = boxes.mean(axis=1) / 2 + _GAP
    length = reach[:, None] + reach[None]
    share = between / max(between.max(), 1)
    distance = shortest_path(np.where(between > 0, length * (1.4 - 0.5 * share), 0.0), directed=False)
    finite = distance[np.isfinite(distance)].max()
    distance[~np.isfinite(distance)] = max(finite, length.max())
    return reduce_stress(distance, np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0))


def _widen(places: np.ndarray) -> np.ndarray:
    """Return positions in the shape of a slide, with the same area."""
    width, height = np.ptp(places, axis=0)
    stretch = np.sqrt(np.clip(_WIDTH_TO_HEIGHT * height / max(width, 1e-9), 1.0, 2.5))
    return places * (stretch, 1 / stretch)


def _place_dots(group: np.ndarray, edges: Sequence[Edge]) -> np.ndarray:
    """Return positions in the unit disc: angles and the order of radii as in the layout by springs, evenly spread."""
    m = len(group)
    if m == 1:
        return np.zeros((1, 2))
    at = {v: k for k, v in enumerate(group.tolist())}
    inner = [(at[u], at[v]) for u, v in edges]
    if m > _MOST_BY_SPRINGS or len(find_components(m, inner)) > m / 2:
        angles = 2.399963 * np.arange(m)  # the golden angle: a sunflower
        return np.sqrt((np.arange(m) + 0.5) / m)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    places = compute_spring_layout([HEIGHT] * m, inner)
    places = places - places.mean(axis=0)
    places /= np.maximum(np.ptp(places, axis=0), 1e-9)
    angles = np.arctan2(places[:, 1], places[:, 0])
    radii = np.empty(m)
    radii[np.argsort(np.hypot(*places.T), kind="stable")] = np.sqrt((np.arange(m) + 0.5) / m)
    places = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    apart = 1.5 * np.sqrt(_FILLED / m)
    for _ in range(40):
        places = push_apart(places / apart, np.ones(m), np.ones(m), gap=0.0, n_steps=1) * apart
        radius = np.hypot(*places.T)
        places /= np.maximum(radius, 1.0)[:, None]
    return places


def route_bundles(edges: Sequence[tuple], overview: Overview, radii: np.ndarray) -> list[np.ndarray]:
    """Return the Bezier control points (4, 2) of each edge, from the border of one dot to that of the other."""
    curves = []
    for u, v, *_ in edges:
        start, stop = overview.centres[u], overview.centres[v]
        bends = [start, stop]
        a, b = overview.labels[u], overview.labels[v]
        if a != b:
            one, other = overview.discs[a], overview.discs[b]
            step = other.centre - one.centre
            step = step / np.hypot(*step)
            bends = [one.centre + _BEND * one.radius * step, other.centre - _BEND * other.radius * step]
        first, second = bends if a != b else (stop, start)
        curve = np.array(
            [start + _cut(first - start, float(radii[u])), *bends, stop + _cut(second - stop, float(radii[v]))]
        )
        if a == b:
            curve[1], curve[2] = (2 * curve[0] + curve[3]) / 3, (curve[0] + 2 * curve[3]) / 3
        curves.append(curve)
    return curves


def _cut(step: np.ndarray, length: float) -> np.ndarray:
    """Return the vector in the direction of a step with a given length."""
    return step * (length / max(float(np.hypot(*step)), 1e-9))

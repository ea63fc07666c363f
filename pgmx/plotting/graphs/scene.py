"""A graph that is ready to be drawn: layout, edges, nodes and legends combined on axes."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.plotting.graphs.communities import DOT, MOST_APART, compute_overview, route_bundles
from pgmx.plotting.graphs.layered_layout import MOST_IN_LAYERS, compute_layout
from pgmx.plotting.graphs.packing import HEIGHT
from pgmx.plotting.graphs.shapes import (
    MARGIN,
    draw_comparison_legend,
    draw_discs,
    draw_dots,
    draw_edges,
    draw_frames,
    draw_kind_legend,
    draw_nodes,
    draw_note,
    draw_strength_legend,
    frame_nodes,
    line_style,
    prepare_axes,
    route_curves,
    route_lines,
)
from pgmx.plotting.graphs.slices import MOST_COLUMNS, MOST_ROWS, compute_slices, route_slices
from pgmx.plotting.graphs.spring_layout import compute_circular_layout, compute_spring_layout, find_communities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from pgmx.plotting.strengths import Strengths

_FONT = 9.0  # points
_SMALL_FONT, _MANY = 4.5, 150  # font of a graph with more nodes than _MANY
_ZOOM = 1.4  # of a picture whose nodes have different sizes
_THINNED, _PALE = 0.6, "#6b7f94"  # widths, as a share, and colour of the edges of an overview


class Scene(NamedTuple):
    """What is drawn: nodes with labels, kinds and sizes (heights as shares of the largest), edges with their marks.

    `edges` are (u, v, is_arrow, verdict). `targets` have a thick border, the labels of `centres` are bold.
    """

    names: list
    labels: list[str]
    edges: list[tuple]
    ends: list[tuple[str, str]]
    kinds: list[str]
    targets: set[int]
    centres: set[int]
    shares: np.ndarray
    scales: Strengths | None
    note: str
    compares: bool
    of_pags: bool

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs that edges join, each once."""
        return sorted({(min(edge[:2]), max(edge[:2])) for edge in self.edges})

    @property
    def has_sizes(self) -> bool:
        """Whether the nodes have different sizes."""
        return bool((self.shares < 1.0).any())

    @property
    def shows_kinds(self) -> bool:
        """Whether there is a legend of nodes."""
        return len(set(self.kinds)) == 2 or bool(self.targets)

    @property
    def n_legends(self) -> int:
        """Number of legends below the picture, without the note."""
        return self.compares + (self.scales is not None) + self.shows_kinds

    def style_edges(self) -> tuple[list[tuple[Any, Any, float]], list[float]]:
        """Return colour, dashes and width of each edge, and its strength."""
        find = (lambda u, v: nan) if self.scales is None else self.scales.find
        strengths = [find(self.names[u], self.names[v]) for u, v, *_ in self.edges]
        pairs = zip(self.edges, strengths, strict=True)
        return [line_style(edge[3], size, self.scales, not self.compares) for edge, size in pairs], strengths


def choose_layout(scene: Scene, *, of_series: bool) -> str:
    """Return the default layout."""
    if len(scene.names) > MOST_APART:
        return "communities"
    if of_series:
        n_columns, n_rows = (len({name[k] for name in scene.names}) for k in (1, 0))
        if 2 <= n_columns <= MOST_COLUMNS and n_rows <= MOST_ROWS:
            return "slices"
    return "layered" if any(edge[2] for edge in scene.edges) else "spring"


def draw_scene(ax: Axes | None, scene: Scene, layout: str, pos: Mapping | None) -> Axes:
    """Draw a scene on axes, by default on those of a new figure."""
    if layout == "communities" and pos is None:
        return _draw_overview(ax, scene)
    font = _FONT if len(scene.names) <= _MANY else _SMALL_FONT
    widths = [
        measure_text(label, font * share) + font * share
        for label, share in zip(scene.labels, scene.shares.tolist(), strict=True)
    ]
    heights = HEIGHT * scene.shares
    is_large = len(widths) > MOST_IN_LAYERS
    communities = find_communities(len(widths), scene.pairs) if is_large else None
    centres, bends = _place_nodes(scene, widths, layout, pos, communities)
    zoom = _ZOOM if scene.has_sizes else 1.0
    slices = {}
    if pos is None and layout == "slices":
        slices = dict(enumerate(route_slices(scene.edges, scene.names, centres, widths)))
    frame = frame_nodes(centres, widths, bends | slices)
    ax, scale = prepare_axes(ax, frame, scene.n_legends + bool(scene.note), zoom)
    if pos is None and layout == "layered":
        curves = route_curves(scene.edges, centres, bends, widths, heights)
    elif slices:
        draw_frames(ax, scene.names, centres, widths, scale)
        curves = list(slices.values())
    else:
        curves = route_lines(scene.edges, centres, widths, heights)
    style, strengths = scene.style_edges()
    draw_edges(ax, scene.ends, curves, style, scale)
    draw_nodes(ax, centres, widths, heights, scene, font * scale, scale, communities)
    _draw_legends(ax, scene, strengths, scale, 0.9 * _FONT * scale)
    return ax


def _draw_overview(ax: Axes | None, scene: Scene) -> Axes:
    """Draw communities as discs with dots, and the names of their most central nodes."""
    overview = compute_overview(scene.labels, scene.pairs, scene.shares if scene.has_sizes else None)
    radii = DOT * (1.5 * scene.shares if scene.has_sizes else scene.shares)
    ax, scale = prepare_axes(ax, overview.frame, scene.n_legends + bool(scene.note))
    draw_discs(ax, overview, scale)
    style, strengths = scene.style_edges()
    plain = scene.scales is None and not scene.compares
    thin = [(_PALE if plain else colour, dashes, _THINNED * width) for colour, dashes, width in style]
    draw_edges(ax, scene.ends, route_bundles(scene.edges, overview, radii), thin, scale, _THINNED)
    draw_dots(ax, overview, radii, scene, scale)
    _draw_legends(ax, scene, strengths, scale, _FONT * scale)
    return ax


def _draw_legends(ax: Axes, scene: Scene, strengths: list[float], scale: float, font: float) -> None:
    """Draw the note and the legends, one above the other."""
    n_above = scene.n_legends
    if scene.note:
        draw_note(ax, scene.note, font, 2 * MARGIN * n_above)
    if scene.compares:
        draw_comparison_legend(ax, scene.edges, font, of_pags=scene.of_pags)
    if scene.scales is not None:
        shown = [size for size, edge in zip(strengths, scene.edges, strict=True) if edge[3] != "missing"]
        draw_strength_legend(ax, scene.scales, shown, not scene.compares, scale, font, 2 * MARGIN)
    if scene.shows_kinds:
        draw_kind_legend(ax, scene, font, 2 * MARGIN * (n_above - 1))


# ---- positions ----


def _place_nodes(
    scene: Scene, widths: list[float], layout: str, pos: Mapping | None, communities: np.ndarray | None
) -> tuple[np.ndarray, dict]:
    """Return the centres, and the bends of edges of a layered layout."""
    if pos is not None:
        return _read_places(scene.names, widths, pos), {}
    if layout == "circular":
        return compute_circular_layout(widths), {}
    if layout == "spring":
        return compute_spring_layout(widths, scene.pairs, communities), {}
    if layout == "slices":
        return compute_slices(scene.names, widths), {}
    arrows = [edge[:2] for edge in scene.edges if edge[2]]
    return compute_layout(widths, arrows, [edge[:2] for edge in scene.edges if not edge[2]])


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


def measure_text(text: str, font: float) -> float:
    """Return the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=font), ismath=False)[0]

"""Shapes of a drawn graph: the axes, curves of edges with their heads, boxes of nodes, and the legends.

All edges are one collection and all boxes another, so that large graphs are drawn fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.plotting.graphs.packing import HEIGHT
from pgmx.plotting.pictures import LARGEST_SIDE, make_picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from pgmx.plotting.strengths import Strengths

MARGIN = 14.0  # points; a unit of the layout is a point
_UNREADABLE = 1.5  # points; smaller labels are left out
_LONGEST_TANGENT = 57.0
_INK, _FACE, _RIM = "#33475b", "#eaf1f8", "#5b7fa6"
_PANEL, _PANEL_RIM, _FAINT = "#f4f6f8", "#c3ccd6", "#5f6f7f"
_THICK = 2.4  # points; border of a target
_UNKNOWN = "#9aa5b1"
#: Face, rim and radius of the corners of nodes by kind, in graphs with both kinds; continuous variables are round.
_KINDS = {"discrete": (_FACE, _RIM, HEIGHT / 10), "continuous": ("#fdf0dc", "#b5813a", HEIGHT / 2)}
#: Faces of the largest communities: Paul Tol's light scheme, which colour-blind readers can distinguish.
_COMMUNITIES = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
_DOTS, _DASHES = (0, (1, 2)), (0, (3.2, 1.4))
_VERDICTS: dict[str, tuple[str, Any, str]] = {
    "shared": (_INK, "-", "in both"),
    "turned": ("#e08a00", "-", "other or no direction"),
    "extra": ("#b3202c", (0, (7, 1.5, 1.5, 1.5)), "not in the reference"),  # dashes work without colours
    "missing": (_UNKNOWN, (0, (4, 3)), "only in the reference"),
}


def frame_nodes(centres, widths, bends):
    """Return the left, right and upper border of nodes and bends; the lower border is 0."""
    half = np.asarray(widths) / 2
    inner = [route[:, 0] for route in bends.values()]
    left = min([(centres[:, 0] - half).min(), *(x.min() for x in inner)])
    right = max([(centres[:, 0] + half).max(), *(x.max() for x in inner)])
    return left, right, centres[:, 1].max() + HEIGHT / 2


def prepare_axes(ax, frame, n_legends, zoom=1.0):
    """Set the limits so that a unit is `zoom` points on a new figure; return the axes and the points per unit.

    A new figure has at most 4000 pixels per side at 96 per inch.
    """
    left, right, high = frame[0] - MARGIN, frame[1] + MARGIN, frame[2] + MARGIN
    low = -MARGIN - 2 * MARGIN * n_legends
    if n_legends and right - left < 420:
        middle = (left + right) / 2
        left, right = middle - 210, middle + 210
    if ax is None:
        width, height = zoom * (right - left) / 72, zoom * (high - low) / 72
        share = min(1.0, LARGEST_SIDE / 96 / max(width, height))
        ax = make_picture(share * width, share * height, fills=True)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    return ax, points * min(box.width / (right - left), box.height / (high - low))


# ---- edges ----


def route_curves(edges, centres, bends, widths, heights):
    """Return the Bezier control points (3k + 1, 2) of every edge, from border to border."""
    routes = []
    for u, v, *_ in edges:
        inner = bends[u, v] if (u, v) in bends else bends[v, u][::-1] if (v, u) in bends else np.empty((0, 2))
        routes.append(np.vstack([centres[u], inner, centres[v]]))
    _attach_to_borders(edges, routes, centres, widths, heights)
    return [_fit_spline(route) for route in routes]


def route_lines(edges, centres, widths, heights):
    """Return the Bezier control points (4, 2) of every edge, a straight line from border to border."""
    curves = []
    for u, v, *_ in edges:
        start, stop = (_cross_border(centres[a], centres[b], widths[a], heights[a]) for a, b in ((u, v), (v, u)))
        curves.append(np.linspace(start, stop, 4))
    return curves


def _cross_border(inside, outside, width, height):
    """Return the point at which the line from the middle of a box to a point outside crosses the border."""
    step = outside - inside
    shares = np.array([width / 2, height / 2]) / np.maximum(np.abs(step), 1e-9)
    return inside + step * min(1.0, shares.min())


def _attach_to_borders(edges, routes, centres, widths, heights):
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
            routes[at][end] = x, centres[node, 1] + (heights[node] / 2 if upper else -heights[node] / 2)


def _fit_spline(route):
    """Return a cubic spline through the points, nearly vertical at both ends, and steep between two boxes."""
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


def draw_edges(ax, ends, curves, style, scale, marks=1.0):
    """Draw all edges as one collection of lines and one of heads; weak edges first, so that strong ones lie above.

    `ends` are the marks at both ends of each edge: an arrowhead ">", a circle "o" or nothing "-". `marks` is their
    size.
    """
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path as Outline

    order = sorted(range(len(ends)), key=lambda at: style[at][2])
    marked = {mark: [(at, end) for at in order for end in (0, 1) if ends[at][end] == mark] for mark in ">o"}
    heads = [_cut_head(curves[at][:: 1 if end else -1], style[at][2], marks) for at, end in marked[">"]]
    circles = [_cut_circle(curves[at][:: 1 if end else -1], style[at][2], marks) for at, end in marked["o"]]
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
    colours = [style[at][0] for at, _ in marked[">"]]
    ax.add_collection(
        PolyCollection(heads, facecolors=colours, edgecolors=colours, linewidths=scale * marks, zorder=1), autolim=False
    )
    if circles:
        rims = [style[at][0] for at, _ in marked["o"]]
        ax.add_collection(
            PolyCollection(circles, facecolors="white", edgecolors=rims, linewidths=scale * marks, zorder=1),
            autolim=False,
        )


def _cut_head(curve, width, size):
    """Return the triangle at the end of a curve, which is shortened to its base."""
    length, half = 5.0 * size + 1.5 * width, 1.5 * size + 0.9 * width
    along = curve[-1] - curve[-2]
    along /= max(np.hypot(*along), 1e-9)
    across = np.array([-along[1], along[0]])
    tip = curve[-1].copy()
    base = tip - length * along
    curve[-1] = base
    return [tip, base + half * across, base - half * across]


def _cut_circle(curve, width, size):
    """Return a polygon like a circle at the end of a curve, which is shortened to its border."""
    radius = 2.0 * size + 0.4 * width
    along = curve[-1] - curve[-2]
    along /= max(np.hypot(*along), 1e-9)
    centre = curve[-1] - radius * along
    curve[-1] -= 2 * radius * along
    angles = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
    return centre + radius * np.column_stack([np.cos(angles), np.sin(angles)])


def line_style(verdict: str, strength: float, scales: Strengths | None, coloured: bool) -> tuple[Any, Any, float]:
    """Return colour, dashes and width in points of an edge; if `coloured`, colours show strengths, not verdicts."""
    colour, dashes, _ = _VERDICTS[verdict]
    if scales is None or verdict == "missing":
        return colour, dashes, 1.0
    if np.isnan(strength):
        return (_UNKNOWN if coloured else colour), _DOTS, 1.0
    shade = scales.colour(strength) if coloured else colour
    return shade, _DASHES if scales.has_signs and strength < 0 else dashes, scales.width(strength)


# ---- nodes ----


def draw_nodes(ax, centres, widths, heights, scene, font, scale, communities=None):
    """Draw all boxes as one collection, and their labels if they are large enough to read.

    If all kinds are the same, the largest `communities` have one colour each, but only if they hold half of the nodes:
    a few coloured boxes among many others are not informative.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import BoxStyle, FancyBboxPatch

    kinds = scene.kinds
    alike = (_FACE, _RIM, HEIGHT / 3)
    styles = [_KINDS[kind] if len(set(kinds)) == 2 else alike for kind in kinds]
    if communities is not None and len(set(kinds)) < 2:
        places = [label if 0 <= label < len(_COMMUNITIES) else -1 for label in communities]
        if 2 * sum(place >= 0 for place in places) >= len(places):
            styles = [(_COMMUNITIES[k] if k >= 0 else _FACE, _RIM, HEIGHT / 3) for k in places]
    boxes = [
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle=BoxStyle("round", pad=0, rounding_size=min(radius * height / HEIGHT, width / 2)),
        )
        for (x, y), width, height, (_, _, radius) in zip(centres, widths, heights, styles, strict=True)
    ]
    faces = PatchCollection(
        boxes,
        facecolors=[face for face, _, _ in styles],
        edgecolors=[_INK if v in scene.targets else rim for v, (_, rim, _) in enumerate(styles)],
        linewidths=[scale * (_THICK if v in scene.targets else 0.8) for v in range(len(styles))]
        if scene.targets
        else 0.8 * scale,
        zorder=2,
    )
    ax.add_collection(faces, autolim=False)
    for at, label in enumerate(scene.labels):
        size = font * float(scene.shares[at])
        if size < _UNREADABLE:
            continue
        text = ax.text(*centres[at], label, fontsize=size, color=_INK, ha="center", va="center_baseline", zorder=3)
        text.set_parse_math(False)
        text.set_gid(f"label-{at}")
        if at in scene.centres:
            text.set_fontweight("bold")


def draw_frames(ax, names, centres, widths, scale):
    """Draw a frame around the nodes of each lag."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import BoxStyle, FancyBboxPatch

    frames, style = [], BoxStyle("round", pad=0, rounding_size=8.0)
    half, high = np.asarray(widths) / 2, centres[:, 1].max() + HEIGHT / 2
    for lag in sorted({lag for _, lag in names}):
        members = [v for v, (_, other) in enumerate(names) if other == lag]
        left = (centres[members, 0] - half[members]).min() - 8.0
        right = (centres[members, 0] + half[members]).max() + 8.0
        frames.append(FancyBboxPatch((left, -8.0), right - left, high + 16.0, boxstyle=style))
    ax.add_collection(
        PatchCollection(frames, facecolors=_PANEL, edgecolors=_PANEL_RIM, linewidths=0.8 * scale, zorder=0.5),
        autolim=False,
    )


def draw_discs(ax, overview, scale):
    """Draw the discs of communities, and below each the most central names and the number of the others."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    discs = [Circle(tuple(disc.centre), disc.radius) for disc in overview.discs]
    ax.add_collection(
        PatchCollection(discs, facecolors=_PANEL, edgecolors=_PANEL_RIM, linewidths=0.8 * scale, zorder=0.5),
        autolim=False,
    )
    font = overview.font
    for at, disc in enumerate(overview.discs):
        x, y = disc.centre
        y -= disc.radius + 0.2 * font
        for row, line in enumerate(disc.caption):
            is_name = row < disc.n_names
            text = ax.text(
                x,
                y - 1.25 * font * row,
                line,
                fontsize=scale * font * (1.0 if is_name else 0.85),
                fontweight="bold" if row == 0 and is_name else "normal",
                color=_INK if is_name else _FAINT,
                ha="center",
                va="top",
                zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
            )
            text.set_parse_math(False)
            text.set_gid(f"community-{at}")


def draw_dots(ax, overview, radii, scene, scale):
    """Draw the nodes of an overview as dots in the colours of their kinds or communities; the named ones are dark."""
    from matplotlib.collections import EllipseCollection

    named = {v for disc in overview.discs for v in disc.named}
    if len(set(scene.kinds)) == 2:
        faces = [_KINDS[kind][0] for kind in scene.kinds]
    else:
        faces = [_COMMUNITIES[k] if k < len(_COMMUNITIES) else _PANEL_RIM for k in overview.labels]
    thick = scene.targets | scene.centres
    # dots of one size are one path, placed many times, which makes an SVG shorter
    widths = 2 * (radii if np.ptp(radii) > 0 else radii[:1])
    ax.add_collection(
        EllipseCollection(
            widths,
            widths,
            np.zeros(len(widths)),
            units="xy",
            offsets=overview.centres,
            offset_transform=ax.transData,
            facecolors=[_INK if v in named else face for v, face in enumerate(faces)],
            edgecolors=_INK,
            linewidths=[scale * (1.6 if v in thick else 0.4) for v in range(len(faces))] if thick else 0.4 * scale,
            zorder=2,
        ),
        autolim=False,
    )


def draw_note(ax, text, font, bottom):
    """Draw a line of text about the picture, `bottom` units above the lower edge."""
    low, _ = ax.get_ylim()
    middle = sum(ax.get_xlim()) / 2
    note = ax.text(middle, low + bottom + MARGIN, text, fontsize=font, color=_INK, ha="center", va="center")
    note.set_parse_math(False)
    note.set_gid("note")


# ---- legends ----


def draw_kind_legend(ax, scene, font, bottom):
    """Draw the legend of the two kinds of nodes and of targets, `bottom` units above the lower edge."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    def sample(marker, face, rim, width=1.0):
        return Line2D(
            [],
            [],
            linestyle="none",
            marker=marker,
            markerfacecolor=face,
            markeredgecolor=rim,
            markeredgewidth=width,
        )

    entries = {}
    if len(set(scene.kinds)) == 2:
        for kind, (face, rim, _) in _KINDS.items():
            entries[kind] = sample("o" if kind == "continuous" else "s", face, rim)
    if scene.targets:
        entries["target of an experiment"] = sample("s", _FACE, _INK, _THICK)
    low, high = ax.get_ylim()
    legend = Legend(
        ax,
        list(entries.values()),
        list(entries),
        loc="lower center",
        bbox_to_anchor=(0.5, bottom / (high - low)),
        bbox_transform=ax.transAxes,
        ncols=len(entries),
        frameon=False,
        fontsize=font,
    )
    legend.set_gid("kinds")
    ax.add_artist(legend)


def draw_comparison_legend(ax: Axes, edges: Sequence[tuple], font: float, *, of_pags: bool = False) -> None:
    """Draw the legend of a comparison, with the number of edges (u, v, is_arrow, verdict) of each verdict."""
    from matplotlib.lines import Line2D

    handles = []
    has_directions = of_pags or any(edge[2] for edge in edges)
    for verdict, (colour, dashes, meaning) in _VERDICTS.items():
        number = sum(edge[3] == verdict for edge in edges)
        if verdict == "turned" and not has_directions:
            continue
        if verdict == "turned" and of_pags:
            meaning = "other marks"
        handles.append(Line2D([], [], color=colour, linestyle=dashes, label=f"{meaning}: {number}"))
    ax.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=font, columnspacing=1.2)


def draw_strength_legend(
    ax: Axes, scales: Strengths, strengths: Sequence[float], coloured: bool, scale: float, font: float, row: float
) -> None:
    """Draw sample lines of the range, above the other legend if there is one.

    `scale` is in points per unit of the axes, `row` is the height of a legend in these units.
    """
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", label="strength")]
    for value in scales.samples():
        colour, dashes, width = line_style("shared", value, scales, coloured)
        text = f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
        handles.append(Line2D([], [], color=colour, linestyle=dashes, linewidth=scale * width, label=text))
    unknown = int(np.isnan(strengths).sum())
    if unknown:
        handles.append(Line2D([], [], color=_UNKNOWN, linestyle=_DOTS, label=f"not given: {unknown}"))
    other = ax.get_legend()
    if other is not None:
        ax.add_artist(other)
    low, high = ax.get_ylim()
    legend = ax.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0 if other is None else row / (high - low)),
        ncols=len(handles),
        frameon=False,
        fontsize=font,
        columnspacing=1.4,
        handlelength=3.0 if scales.has_signs else 2.0,
    )
    legend.set_gid("strengths")

"""Styles of edges by comparison with a reference, by strength and by sign, with their legends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from pgmx.plotting.strengths import Strengths

_INK, _UNKNOWN = "#33475b", "#9aa5b1"
_DOTS, _DASHES = (0, (1, 2)), (0, (3.2, 1.4))
_VERDICTS: dict[str, tuple[str, Any, str]] = {
    "shared": (_INK, "-", "in both"),
    "turned": ("#e08a00", "-", "other direction"),
    "extra": ("#b3202c", (0, (7, 1.5, 1.5, 1.5)), "not in the reference"),  # dashes work without colours
    "missing": (_UNKNOWN, (0, (4, 3)), "only in the reference"),
}


def line_style(verdict: str, strength: float, scales: Strengths | None, coloured: bool) -> tuple[Any, Any, float]:
    """Return colour, dashes and width in points of an edge; if `coloured`, colours show strengths, not verdicts."""
    colour, dashes, _ = _VERDICTS[verdict]
    if scales is None or verdict == "missing":
        return colour, dashes, 1.0
    if np.isnan(strength):
        return (_UNKNOWN if coloured else colour), _DOTS, 1.0
    shade = scales.colour(strength) if coloured else colour
    return shade, _DASHES if scales.has_signs and strength < 0 else dashes, scales.width(strength)


def draw_verdicts(ax: Axes, edges: Sequence[tuple], font: float) -> None:
    """Draw the legend of a comparison, with the number of edges (u, v, is_arrow, verdict) of each verdict."""
    from matplotlib.lines import Line2D

    handles = []
    arrows = any(edge[2] for edge in edges)
    for verdict, (colour, dashes, meaning) in _VERDICTS.items():
        number = sum(edge[3] == verdict for edge in edges)
        if verdict == "turned" and not arrows:
            continue
        handles.append(Line2D([], [], color=colour, linestyle=dashes, label=f"{meaning}: {number}"))
    ax.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=font)


def draw_strengths(
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

"""Strengths of edges: read from user input, converted to widths and colours, and drawn as a ranking."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.fitted import FittedLearner
from pgmx.plotting.labels import label_lag
from pgmx.plotting.pictures import make_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_PALE, _DARK = np.array([0xC3, 0xD3, 0xE4]) / 255, np.array([0x10, 0x2F, 0x55]) / 255
_PALE_RED, _DARK_RED = np.array([0xF0, 0xBE, 0xBA]) / 255, np.array([0x9C, 0x16, 0x20]) / 255
_THINNEST, _WIDEST = 0.6, 3.4  # points
_MOST_BARS = 40
_FACE, _REST, _WEAK, _LINE = "#2f6ea5", "#b7cfe6", "#d5dae0", "#c8323c"


class Strengths(NamedTuple):
    """Strengths by ordered pair ``(u, v)``, and the ends ``low < high`` of the range of widths and colours."""

    of: dict
    low: float
    high: float

    def find(self, u: Hashable, v: Hashable) -> float:
        """Return the strength of the edge between u and v, NaN if unknown."""
        return self.of.get((u, v), self.of.get((v, u), float("nan")))

    @property
    def has_signs(self) -> bool:
        """Whether some strengths are negative; absolute values are then the sizes, and signs have different styles."""
        return self.low < 0

    def share(self, strength: float) -> float:
        """Return the size of a strength as a share of the highest, between 0 and 1."""
        return float(min(abs(strength) / self.high, 1.0))

    def width(self, strength: float) -> float:
        """Return the width of a line in points; a little more than proportional, to emphasise strong edges."""
        return _THINNEST + (_WIDEST - _THINNEST) * self.share(strength) ** 1.5

    def colour(self, strength: float) -> tuple[float, float, float]:
        """Return a colour between pale and dark blue, or red if the strength is negative."""
        pale, dark = (_PALE_RED, _DARK_RED) if self.has_signs and strength < 0 else (_PALE, _DARK)
        red, green, blue = (pale + (dark - pale) * self.share(strength)).tolist()
        return red, green, blue

    def samples(self) -> list[float]:
        """Return four strengths for a legend, evenly spaced up to the highest, or two of each sign."""
        shares = (-1.0, -0.5, 0.5, 1.0) if self.has_signs else (0.25, 0.5, 0.75, 1.0)
        return [share * self.high for share in shares]


def take_strengths(source: Any) -> Any:
    """Return the table of a fitted bootstrap; other objects unchanged."""
    # checked on the class: learners of series have an array of this name, unfitted learners raise an error
    return source.strengths_ if hasattr(type(source), "strengths_") else source


def name_share(source: Any) -> str:
    """Return what the strengths of a learner are; a table is that of a bootstrap."""
    return "probability" if hasattr(type(source), "path_probabilities") else "share of resamples"


def read_strengths(strengths: Any) -> Strengths:
    """Read strengths from a mapping ``{(u, v): number}``, a table with columns from, to and strength, or a bootstrap.

    The range of shares in a table is 0 to 1, else 0 to the maximum; it is symmetric if some are negative.
    """
    strengths = take_strengths(strengths)
    table = hasattr(strengths, "columns")
    if table:
        _check_columns(strengths, ("from", "to", "strength"))
        pairs = zip(*_list_ends(strengths), strict=True)
        values = dict(zip(pairs, strengths["strength"], strict=True))
    elif isinstance(strengths, Mapping):
        values = dict(strengths)
    else:
        raise TypeError(
            "strengths must be a mapping {(u, v): number} or a table with the columns from, to and strength, got "
            f"{type(strengths).__name__}"
        )
    if not values:
        raise ValueError("strengths is empty: give at least one edge")
    for edge, strength in values.items():
        if not isinstance(edge, tuple) or len(edge) != 2:
            raise TypeError(f"strengths must have pairs (u, v) for keys, got {edge!r}")
        if not isinstance(strength, Real):
            raise TypeError(f"the strength of {edge[0]!r} - {edge[1]!r} must be a number, got {strength!r}")
        if not isfinite(strength):
            raise ValueError(f"the strength of {edge[0]!r} - {edge[1]!r} must be finite, got {strength}")
    of = {edge: float(value) for edge, value in values.items()}
    signed, high = min(of.values()) < 0, max(map(abs, of.values()))
    if not signed and (high == 0 or (table and high <= 1)):
        high = 1.0
    return Strengths(of, -high if signed else 0.0, high)


def _list_ends(table: DataFrame) -> tuple[list, list]:
    """Return both ends of the pairs of a table; nodes are (name, lag) if the table has lags."""
    sources, targets = list(table["from"]), list(table["to"])
    if "lag" in table.columns:
        return list(zip(sources, map(int, table["lag"]), strict=True)), [(target, 0) for target in targets]
    return sources, targets


def _check_columns(table, wanted: tuple[str, ...]) -> None:
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise ValueError(f"the table has no column {absent[0]!r}; its columns are {list(table.columns)}")


def plot_strengths(
    strengths: DataFrame | FittedLearner,
    threshold: float | None = None,
    ax: Axes | None = None,
    *,
    kind: str | None = None,
) -> Axes:
    """Draw the shares of resamples in which edges were found, or their probabilities, strongest first.

    Each bar is one pair. Its dark section is the share of resamples with the direction of the label, its pale section
    the share with the other direction (undirected edges count half for each). Ranks show all pairs as one decreasing
    line. For a fitted posterior, shares of resamples are probabilities.

    Parameters
    ----------
    strengths : DataFrame, fitted bootstrap or fitted posterior
        A fitted bootstrap, a fitted posterior, or its ``strengths_``. The columns are ``from``, ``to``, ``strength``
        and, optionally, ``direction`` and ``lag``; see Notes.
    threshold : float, optional
        The strength that an edge needs. It is drawn as a line, and weaker bars are grey.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    kind : {"bars", "ranks"}, optional
        Default: bars for at most 40 pairs, else ranks. Bars show at most the 40 strongest pairs.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If a column is missing, the table is empty, a strength is not a finite number, or `kind` is unknown.

    Notes
    -----
    ``strength`` is the share of resamples that join the pair. ``direction`` is the share of these resamples in which
    the edge points from ``from`` to ``to``. A pair that occurs in both orders is drawn once, in its more frequent
    direction.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.plotting import plot_strengths
    >>> rows = [("rain", "wet", 0.98, 0.7), ("rain", "coin", 0.06, 0.5)]
    >>> ax = plot_strengths(pd.DataFrame(rows, columns=["from", "to", "strength", "direction"]), threshold=0.5)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rain → wet', 'rain — coin']
    """
    table = take_strengths(strengths)
    if not hasattr(table, "columns"):
        raise TypeError(
            f"strengths must be a table with columns from, to and strength, or a fitted bootstrap, got "
            f"{type(table).__name__}"
        )
    if kind not in (None, "bars", "ranks"):
        raise ValueError(f"kind must be 'bars', 'ranks' or None, got {kind!r}")
    rows, share = _rank_pairs(table), name_share(strengths)
    if kind == "bars" or (kind is None and len(rows) <= _MOST_BARS):
        return _draw_bars(rows, threshold, ax, share)
    return _draw_ranks(rows, threshold, ax, share)


class _Pair(NamedTuple):
    label: str
    strength: float
    direction: float


def _rank_pairs(table) -> list[_Pair]:
    """Return one row per pair, strongest first, oriented along its more frequent direction."""
    strengths = read_strengths(table)
    known = "direction" in table.columns
    directions = map(float, table["direction"]) if known else [0.5] * len(table)
    share = dict(zip(strengths.of, directions, strict=True)) if len(strengths.of) == len(table) else {}
    if not share:
        raise ValueError("the table holds a pair (from, to) twice: give each pair once")
    pairs = []
    for (u, v), strength in strengths.of.items():
        direction, back = share[u, v], share.get((v, u))
        if back is not None and (direction, str(v)) < (back, str(u)):
            continue  # the opposite row is drawn
        if direction < 0.5:
            u, v, direction = v, u, 1.0 - direction
        arrow = "→" if direction > 0.5 else "—"
        tail, head = (label_lag(*u), label_lag(*v)) if "lag" in table.columns else (u, v)
        pairs.append(_Pair(f"{tail} {arrow} {head}", strength, direction))
    return sorted(pairs, key=lambda pair: (-pair.strength, -pair.direction))


def make_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes, or new axes on a figure of this size in inches, without frame at top and right."""
    if ax is None:
        ax = make_picture(width, height)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _draw_bars(rows: list[_Pair], threshold: float | None, ax: Axes | None, share: str) -> Axes:
    shown = rows[:_MOST_BARS]
    ax = make_axes(ax, 6.4, 1.3 + 0.22 * len(shown))
    places = np.arange(len(shown))
    whole = np.array([row.strength for row in shown])
    along = whole * [row.direction for row in shown]
    weak = np.zeros(len(shown), dtype=bool) if threshold is None else whole < threshold
    style: dict[str, Any] = {"height": 0.72, "edgecolor": "none"}
    ax.barh(places, along, color=np.where(weak, "#9aa5b1", _FACE), label="direction of the label", **style)
    ax.barh(places, whole - along, left=along, color=np.where(weak, _WEAK, _REST), label="other direction", **style)
    ax.set_yticks(places, [row.label for row in shown], fontsize=8)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, max(1.0, whole.max()))
    ax.tick_params(axis="y", length=0)
    several = f" (the {len(shown)} strongest of {len(rows)} pairs)" if len(shown) < len(rows) else ""
    ax.set_xlabel(f"{share}{several}")
    if threshold is not None:
        _mark_threshold(ax.axvline(threshold, color=_LINE, linewidth=1.2, linestyle=(0, (4, 3))), threshold)
    # Above the bars, which may fill the whole width.
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, fontsize=8, borderaxespad=0.2
    )
    for handle, colour in zip(legend.get_patches(), (_FACE, _REST), strict=True):
        handle.set_facecolor(colour)  # the first bar may be a grey one
    return ax


def _draw_ranks(rows: list[_Pair], threshold: float | None, ax: Axes | None, share: str) -> Axes:
    ax = make_axes(ax, 6.4, 3.6)
    ranks = np.arange(1, len(rows) + 1)
    whole = np.array([row.strength for row in rows])
    ax.fill_between(ranks, whole, step="mid", color=_REST, alpha=0.6, linewidth=0)
    ax.step(ranks, whole, where="mid", color=_FACE, linewidth=1.6)
    ax.set_xlim(0.5, len(rows) + 0.5)
    ax.set_ylim(0, max(1.0, whole.max()) * 1.03)
    ax.set_xlabel("pairs, strongest first")
    ax.set_ylabel(share)
    if threshold is not None:
        line = ax.axhline(threshold, color=_LINE, linewidth=1.2, linestyle=(0, (4, 3)))
        _mark_threshold(line, threshold, f": {np.count_nonzero(whole >= threshold)} of {len(rows)} pairs reach it")
        ax.legend(loc="upper right", frameon=False, fontsize=9)
    return ax


def _mark_threshold(line, threshold: float, text: str = "") -> None:
    line.set_label(f"threshold {threshold:g}{text}")

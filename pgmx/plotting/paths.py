"""Paths of penalties: how many edges each penalty leaves, what was compared, and which one was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EDGES, _CRITERION, _CHOSEN = "#2f6ea5", "#e08a00", "#c8323c"
_CRITERIA = {
    "ebic": "EBIC",
    "cv": "held-out loss, nats per row",
    "held_out": "held-out loss, nats per row",
    "stars": "instability of the edges",
}


def plot_path(path: Any, ax: Axes | None = None) -> Axes:
    """Draw the number of edges along a path of penalties, and by what one of them was chosen.

    The penalties fall from left to right, so that graphs grow; the criterion has an axis of its own on the right.

    Parameters
    ----------
    path : learner or path
        A fitted learner with a `path_`, such as ``SelectedGraph`` or ``GroupLassoMarkovNetwork(selection="ebic")``, or
        a path alone, such as that and what ``GraphicalLasso().path(X)`` returns. A learner says what the criterion is.
    ax : matplotlib.axes.Axes, optional
        Where to draw; an axes for the criterion is laid over it. Default: a new figure, which belongs to the caller
        alone.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the edges; ``ax.figure.savefig`` writes the picture.

    Raises
    ------
    TypeError, ValueError
        If `path` is neither a path nor a learner that kept one, or has no penalties.

    Notes
    -----
    The axis of penalties is logarithmic unless one of them is 0. Where the criterion is not known, as after an end by
    `max_time`, its line has gaps.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> from pgmx.estimators import GroupLassoMarkovNetwork
    >>> from pgmx.plotting import plot_path
    >>> rows = sample(load_network("asia"), 500)
    >>> learner = GroupLassoMarkovNetwork(selection="ebic", lam_ratio=0.2, n_lams=8).fit(rows)
    >>> ax = plot_path(learner)
    >>> ax.get_ylabel(), ax.figure.axes[1].get_ylabel()
    ('edges', 'EBIC')
    """
    networks, selector = _path_of(path)
    lams, n_edges = np.asarray(networks.lams, dtype=float), np.asarray(networks.n_edges)
    if not len(n_edges):
        raise ValueError("the path has no penalties: there is nothing to draw")
    lams = lams[: len(n_edges)]  # a path that was ended early holds fewer networks than penalties
    ax = make_axes(ax, 6.4, 4.0)
    ax.plot(lams, n_edges, "o-", color=_EDGES, markersize=4.5, linewidth=1.6, clip_on=False)
    _label_penalties(ax, lams)
    _label_side(ax, "left", "edges", _EDGES)
    ax.set_ylim(0, max(1.0, 1.06 * n_edges.max()))
    criterion = None if networks.criterion is None else np.asarray(networks.criterion, dtype=float)
    if criterion is not None and np.isfinite(criterion).any():
        _draw_criterion(ax, lams[: len(criterion)], criterion[: len(lams)], selector)
    if networks.selected >= 0:
        _mark(ax, float(lams[networks.selected]), int(n_edges[networks.selected]))
    return ax


def _path_of(source) -> tuple[Any, Any]:
    """Return the path of a path or learner, and the learner that selected, None where not known."""
    learner = source
    while learner is not None:
        path = getattr(learner, "path_", None)
        if _is_path(path):
            return path, learner
        learner = getattr(learner, "estimator_", None)  # a learner wrapped around one that selects
    if _is_path(source):
        return source, None
    raise TypeError(
        f"a path of penalties or a fitted learner that kept one is needed, got a {type(source).__name__}: "
        "fit SelectedGraph, or give what path() returns"
    )


def _is_path(candidate) -> bool:
    return all(hasattr(candidate, name) for name in ("lams", "n_edges", "criterion", "selected"))


def _label_penalties(ax: Axes, lams: np.ndarray) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    low, high = float(lams.min()), float(lams.max())
    if low > 0:
        ax.set_xscale("log")
        marks = (1, 2, 5) if high / low > 20 else (1, 1.5, 2, 3, 5, 7)
        ax.xaxis.set_major_locator(LogLocator(subs=marks) if high / low > 3 else MaxNLocator(6))
        ax.xaxis.set_minor_locator(NullLocator())
        margin = (high / low) ** 0.03 if high > low else 1.5
        ax.set_xlim(high * margin, low / margin)
    else:
        margin = 0.03 * high if high > 0 else 1.0
        ax.set_xlim(high + margin, low - margin)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    ax.set_xlabel("penalty λ, falling")
    ax.grid(alpha=0.25, linewidth=0.6)


def _label_side(ax: Axes, side: str, text: str, colour: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.set_ylabel(text, color=colour)
    ax.tick_params(axis="y", colors=colour)
    ax.spines[side].set_color(colour)
    ax.yaxis.set_major_locator(MaxNLocator(7, integer=text == "edges", steps=(1, 2, 5, 10)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.8g}"))


def _draw_criterion(ax: Axes, lams: np.ndarray, criterion: np.ndarray, selector) -> None:
    """Draw what was compared on an axis of its own; with the limit of stability where there is one."""
    rule = getattr(selector, "selection", None)
    other = ax.twinx()
    for side in ("top", "left"):
        other.spines[side].set_visible(False)
    other.plot(lams, criterion, "s-", color=_CRITERION, markersize=4, linewidth=1.6)
    limit = getattr(selector, "stability", None) if rule == "stars" else None
    if limit is not None:
        other.axhline(limit, color=_CRITERION, linewidth=0.9, linestyle=(0, (1, 2)))
        other.set_ylim(0, 1.06 * max(limit, np.nanmax(criterion)))
    _label_side(other, "right", _CRITERIA.get(rule or "", "criterion"), _CRITERION)


def _mark(ax: Axes, lam: float, n_edges: int) -> None:
    """Mark the chosen penalty, and say above the frame which it is and how many edges it has."""
    ax.axvline(lam, color=_CHOSEN, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.annotate(
        f"chosen: λ = {lam:.3g}, {n_edges:,} edge{'' if n_edges == 1 else 's'}",
        (lam, 1.0),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 4),
        textcoords="offset points",
        ha=_side_of(ax, lam),
        color=_CHOSEN,
        fontsize=9,
        annotation_clip=False,
    )


def _side_of(ax: Axes, lam: float) -> str:
    """Return where the text of a mark is held, so that it stays above the frame."""
    place = ax.transAxes.inverted().transform(ax.transData.transform((lam, 0.0)))[0]
    return "left" if place < 0.25 else "right" if place > 0.75 else "center"

"""Paths of penalties: the number of edges, the criterion and the selected penalty."""

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
    """Draw the number of edges along a path of penalties, and the criterion of the selection.

    The penalties decrease from left to right, so that graphs grow. The criterion has a separate axis on the right.

    Parameters
    ----------
    path : learner or path
        A fitted learner with a `path_`, such as ``SelectedGraph`` or ``GroupLassoMarkovNetwork(selection="ebic")``, or
        a path alone, such as the result of ``GraphicalLasso().path(X)``. A learner provides the name of the criterion.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; the axes of the criterion are on top of them. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the edges; ``ax.figure.savefig`` writes the picture.

    Raises
    ------
    TypeError, ValueError
        If `path` is neither a path nor a learner with a path, or has no penalties.

    Notes
    -----
    The axis of penalties is logarithmic unless a penalty is 0. The line of the criterion has gaps if the criterion is
    unknown for some penalties, for example after a stop by `max_time`.

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
    networks, selector = _find_path(path)
    lams, n_edges = np.asarray(networks.lams, dtype=float), np.asarray(networks.n_edges)
    if not len(n_edges):
        raise ValueError("the path has no penalties: there is nothing to draw")
    lams = lams[: len(n_edges)]  # a path that was stopped early has fewer networks than penalties
    ax = make_axes(ax, 6.4, 4.0)
    ax.plot(lams, n_edges, "o-", color=_EDGES, markersize=4.5, linewidth=1.6, clip_on=False)
    _label_penalties(ax, lams)
    _label_side(ax, "left", "edges", _EDGES)
    ax.set_ylim(0, max(1.0, 1.06 * n_edges.max()))
    criterion = None if networks.criterion is None else np.asarray(networks.criterion, dtype=float)
    if criterion is not None and np.isfinite(criterion).any():
        _draw_criterion(ax, lams[: len(criterion)], criterion[: len(lams)], selector)
    if networks.selected >= 0:
        _mark_selected(ax, float(lams[networks.selected]), int(n_edges[networks.selected]))
    return ax


def _find_path(source) -> tuple[Any, Any]:
    """Return the path of a path or learner, and the learner that selected the penalty, None if unknown."""
    learner = source
    while learner is not None:
        path = getattr(learner, "path_", None)
        if _is_path(path):
            return path, learner
        learner = getattr(learner, "estimator_", None)  # the learner may be inside another one
    if _is_path(source):
        return source, None
    raise TypeError(
        f"a path of penalties or a fitted learner with a path is needed, got a {type(source).__name__}: "
        "fit SelectedGraph, or give the result of path()"
    )


def _is_path(candidate) -> bool:
    return all(hasattr(candidate, name) for name in ("lams", "n_edges", "criterion", "selected"))


def _label_penalties(ax: Axes, lams: np.ndarray) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    low, high = float(lams.min()), float(lams.max())
    if low > 0:
        ax.set_xscale("log")
        # a short axis needs more labels per decade; below a factor of 3 linear ones
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
    """Draw the criterion on a separate axis, with the limit of stability if there is one."""
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


def _mark_selected(ax: Axes, lam: float, n_edges: int) -> None:
    """Mark the selected penalty, with its value and its number of edges above the frame."""
    ax.axvline(lam, color=_CHOSEN, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.annotate(
        f"chosen: λ = {lam:.3g}, {n_edges:,} edge{'' if n_edges == 1 else 's'}",
        (lam, 1.0),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 4),
        textcoords="offset points",
        ha=_align_text(ax, lam),
        color=_CHOSEN,
        fontsize=9,
        annotation_clip=False,
    )


def _align_text(ax: Axes, lam: float) -> str:
    """Return the alignment of the text of a mark that keeps it above the frame."""
    place = ax.transAxes.inverted().transform(ax.transData.transform((lam, 0.0)))[0]
    return "left" if place < 0.25 else "right" if place > 0.75 else "center"

"""Learning curves: quality against the number of training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from pgmx.plotting.history import COLOURS, MARKERS
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_MEASURES = {
    "divergence": "KL divergence from the truth, nats",
    "shd": "structural Hamming distance of the CPDAGs",
    "n_edges": "edges",
}


def plot_learning_curve(curve: DataFrame, ax: Axes | None = None, *, measure: str = "divergence") -> Axes:
    """Draw the distance between learned networks and the true network against the number of rows.

    Lines are means over the repeats, bands are the range from minimum to maximum.

    Parameters
    ----------
    curve : DataFrame
        The result of `pgmx.metrics.learning_curve`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    measure : {"divergence", "shd", "n_edges"}, default="divergence"
        The measure to draw. The divergence has a logarithmic axis; infinite values are hollow marks above the frame.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If `curve` is not such a table, is empty or lacks a column, or `measure` is unknown.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.metrics import learning_curve
    >>> from pgmx.plotting import plot_learning_curve
    >>> network = load_network("cancer")
    >>> curve = learning_curve(network, [100, 1000], {"structure known": network}, n_repeats=2)
    >>> plot_learning_curve(curve).get_xlabel()
    'rows'
    """
    if measure not in _MEASURES:
        raise ValueError(f"measure must be one of {', '.join(_MEASURES)}, got {measure!r}")
    if not hasattr(curve, "columns"):
        raise TypeError(f"expected the table that learning_curve returns, got {type(curve).__name__}")
    absent = [name for name in ("learner", "n_rows", measure) if name not in curve.columns]
    if absent or not len(curve):
        what = f"no column {absent[0]!r}" if absent else "no rows"
        raise ValueError(f"the table of the curve has {what}: give the result of learning_curve")
    ax = make_axes(ax, 6.4, 4.2)
    endless = []
    for at, (label, rows) in enumerate(curve.groupby("learner", sort=False)):
        grouped = rows.groupby("n_rows")[measure]
        table = cast("DataFrame", grouped.agg(["mean", "min", "max"]))
        finite = np.isfinite(table["max"].to_numpy(dtype=float))
        colour, marker = COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]
        means = table.loc[finite]
        ax.plot(means.index, means["mean"], color=colour, marker=marker, markersize=5, linewidth=1.8, label=str(label))
        ax.fill_between(means.index, means["min"], means["max"], color=colour, alpha=0.15, linewidth=0)
        endless += [(size, 1.02 + 0.035 * at, marker, colour) for size in table.index[~finite]]
    ax.set_xscale("log")
    if measure == "divergence":
        ax.set_yscale("log")
    for size, height, marker, colour in endless:  # above the frame for any limits of the axis
        ax.plot(
            [size],
            [height],
            marker,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            markersize=5,
            markerfacecolor="white",
            markeredgecolor=colour,
        )
    ax.set_xlabel("rows" + (" (hollow marks: infinite)" if endless else ""))
    ax.set_ylabel(_MEASURES[measure])
    _plain_ticks(ax, measure)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="best")
    return ax


def _plain_ticks(ax: Axes, measure: str) -> None:
    from matplotlib.ticker import FuncFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if measure == "divergence":
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))

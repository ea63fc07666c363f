"""Curves: quality against time, and divergence from the truth against the number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pgmx.plotting.strengths import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

COLOURS = ("#2f6ea5", "#e08a00", "#3f9159", "#c8323c", "#7d55a3", "#33475b", "#a3713f", "#4aa7a7")
MARKERS = "osD^vPX*"
_WIDE_RANGE = 50.0  # a ratio beyond which seconds are drawn on a logarithmic axis
_MEASURES = {
    "divergence": "KL divergence from the truth, nats",
    "shd": "structural Hamming distance of the CPDAGs",
    "n_edges": "edges",
}


def plot_history(learners, ax: Axes | None = None, *, below_best: bool = False) -> Axes:
    """Draw the quality that learners reached against the seconds they took.

    The line is the best score so far; where a learner also walks through worse graphs, its current score is drawn
    faintly behind it. The dot is the end of the run.

    Parameters
    ----------
    learners : learner or mapping of str to learner
        Fitted learners with a `history_`, such as ``HillClimbSearch``, with a label for each where there are several.
        Their scores must be the same one on the same data to be comparable.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure, which belongs to the caller alone.
    below_best : bool, default=False
        Whether to draw how many nats each score lies below the best of all, on a logarithmic axis: differences at the
        end show, which the long way from the start graph hides otherwise. The best score itself, and what differs
        from it by less than a nat on a long way, is drawn at the lower end.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Seconds have a logarithmic axis where they span a factor of more than 50.

    Raises
    ------
    TypeError
        If an object has no history, that is, is no fitted learner of this kind.
    ValueError
        If there are no learners, or none has made a move.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> from pgmx.estimators import HillClimbSearch
    >>> from pgmx.plotting import plot_history
    >>> search = HillClimbSearch(scoring_method="bic").fit(sample(load_network("asia"), 500))
    >>> plot_history(search).get_ylabel()
    'score, nats'
    """
    labelled = dict(learners) if isinstance(learners, Mapping) else {"": learners}
    runs = {label: _history(learner, label) for label, learner in labelled.items()}
    drawn = [run for run in runs.values() if len(run["score"])]
    if not drawn:
        raise ValueError("no learner has a move in its history: there is nothing to draw")
    ax = _axes(ax, 6.4, 4.0)
    best = max(float(run["score"].max()) for run in drawn)
    gaps = np.concatenate([best - run["score"] for run in drawn])
    floor = max(0.5 * min(gaps[gaps > 1e-6], default=1.0), min(1.0, 1e-4 * gaps.max()))
    for at, (label, run) in enumerate(runs.items()):
        score = run["score"]
        if not len(score):
            continue
        top = np.maximum.accumulate(score)
        if below_best:
            score, top = np.maximum(best - score, floor), np.maximum(best - top, floor)
        colour = COLOURS[at % len(COLOURS)]
        if (score != top).any():
            ax.plot(run["seconds"], score, color=colour, linewidth=0.7, alpha=0.35)
        ax.step(run["seconds"], top, where="post", color=colour, linewidth=1.8, label=str(label))
        ax.plot(run["seconds"][-1:], top[-1:], MARKERS[at % len(MARKERS)], color=colour, markersize=6)
    _label_history(ax, drawn, best, below_best)
    if len(runs) > 1:
        ax.legend(frameon=False, loc="best")
    return ax


def _history(learner, label) -> dict:
    history = getattr(learner, "history_", None)
    if not isinstance(history, Mapping) or not {"score", "seconds"} <= history.keys():
        named = f"{label!r} is a {type(learner).__name__}" if label else f"got a {type(learner).__name__}"
        raise TypeError(f"a fitted learner with a history_ is needed, {named}: call fit first")
    return {name: np.asarray(history[name], dtype=float) for name in ("score", "seconds")}


def _label_history(ax: Axes, runs: list, best: float, below_best: bool) -> None:
    from matplotlib.ticker import FuncFormatter

    seconds = np.concatenate([run["seconds"] for run in runs])
    if seconds.max() > _WIDE_RANGE * seconds.min() > 0:
        ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlabel("seconds")
    ax.grid(alpha=0.25, linewidth=0.6)
    if below_best:
        ax.set_yscale("log")
        ax.set_ylabel(f"nats below the best score, {best:,.1f}")
    else:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.set_ylabel("score, nats")


def plot_learning_curve(curve: DataFrame, ax: Axes | None = None, *, measure: str = "divergence") -> Axes:
    """Draw how close learned networks come to the true one against the number of rows.

    Lines join the means over the repeats, bands reach from the least to the greatest of them.

    Parameters
    ----------
    curve : DataFrame
        What `pgmx.metrics.learning_curve` returns.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure, which belongs to the caller alone.
    measure : {"divergence", "shd", "n_edges"}, default="divergence"
        What to draw; the divergence on a logarithmic axis, on which sizes with an infinite one are hollow marks above
        the frame.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError
        If `curve` is no such table.
    ValueError
        If it is empty or lacks a column, or `measure` is unknown.

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
    lacking = [name for name in ("learner", "n_rows", measure) if name not in curve.columns]
    if lacking or not len(curve):
        what = f"no column {lacking[0]!r}" if lacking else "no rows"
        raise ValueError(f"the table of the curve has {what}: give what learning_curve returns")
    ax = _axes(ax, 6.4, 4.2)
    endless = []
    for at, (label, rows) in enumerate(curve.groupby("learner", sort=False)):
        grouped = rows.groupby("n_rows")[measure]
        table = grouped.agg(["mean", "min", "max"])
        finite = np.isfinite(table["max"].to_numpy(dtype=float))
        colour, marker = COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]
        drawn = table[finite]
        ax.plot(drawn.index, drawn["mean"], color=colour, marker=marker, markersize=5, linewidth=1.8, label=str(label))
        ax.fill_between(drawn.index, drawn["min"], drawn["max"], color=colour, alpha=0.15, linewidth=0)
        endless += [(size, 1.02 + 0.035 * at, marker, colour) for size in table.index[~finite]]
    ax.set_xscale("log")
    if measure == "divergence":
        ax.set_yscale("log")
    for size, height, marker, colour in endless:  # above the frame, whatever the limits become
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

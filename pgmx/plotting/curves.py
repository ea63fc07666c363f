"""Curves against the number of rows: learning curves, and errors and intervals of stream learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pgmx.plotting.history import COLOURS, MARKERS
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from pandas import DataFrame

_MEASURES = {
    "divergence": "KL divergence from the truth, nats",
    "shd": "structural Hamming distance of the CPDAGs",
    "n_edges": "edges",
}
_LABELS = {"squared": "mean squared error", "zero-one": "share of wrong labels", "absolute": "mean absolute error"}
_SHOWN = ("errors", "passes", "thresholds")
_STYLES = ("--", ":", "-.")


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
    from matplotlib.ticker import FuncFormatter

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
    _format_rows(ax)
    if measure == "divergence":
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="best")
    return ax


def plot_prequential(curve: Any, ax: Axes | None = None, *, show: str = "errors") -> Axes:
    """Draw the error of a stream learner per window, compared with the baselines; per pass; or thresholds over time.

    Squared errors are on a logarithmic axis, other ones on a linear one. The legend has the mean over all rows.

    Parameters
    ----------
    curve : PrequentialCurve
        The result of `pgmx.metrics.prequential`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    show : {"errors", "passes", "thresholds"}, default="errors"
        "errors": errors per window. "passes": the error of the learner per pass. "thresholds": the thresholds of a
        `CategoricalSubspace` at the end of each window.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If `curve` is not such a curve, `show` is unknown, or the learner has no thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.metrics import prequential
    >>> from pgmx.plotting import plot_prequential
    >>> from sklearn.linear_model import SGDRegressor
    >>> X = np.random.default_rng(0).random((80, 2))
    >>> curve = prequential(SGDRegressor(random_state=0), X, X @ [1.0, -1.0], window=20)
    >>> plot_prequential(curve).get_xlabel()
    'rows (windows of 20)'
    """
    if not hasattr(curve, "errors") or not hasattr(curve, "means"):
        raise TypeError(f"expected the result of prequential, got {type(curve).__name__}")
    if show not in _SHOWN:
        raise ValueError(f"show must be one of {', '.join(_SHOWN)}, got {show!r}")
    if show == "thresholds" and curve.thresholds is None:
        raise ValueError(f"{type(curve.learner).__name__} has no thresholds: show='thresholds' is for subspaces")
    ax = make_axes(ax, 7.2, 4.2)
    if show != "errors":
        return _draw_passes(curve, ax) if show == "passes" else _draw_thresholds(curve, ax)
    for at, (name, errors) in enumerate(curve.errors.items()):
        style: dict[str, Any] = (
            {"linewidth": 2.0, "zorder": 3} if at == 0 else {"linewidth": 1.4, "linestyle": _STYLES[at - 1]}
        )
        if len(errors) == 1:
            style |= {"marker": "o"}
        label = f"{name}: {curve.means[name]:.3g}"
        ax.plot(curve.n_rows, errors, color=COLOURS[at % len(COLOURS)], label=label, **style)
    if curve.loss == "squared" and all(np.all(errors > 0) for errors in curve.errors.values()):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.set_xlabel(f"rows (windows of {curve.window:,})")
    ax.set_ylabel(_LABELS[curve.loss])
    _format_rows(ax)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, title="mean over all rows")
    return ax


def _draw_passes(curve: Any, ax: Axes) -> Axes:
    name = type(curve.learner).__name__
    ax.plot(range(1, len(curve.passes) + 1), curve.passes, color=COLOURS[0], marker="o", label=name)
    ax.set_xlabel("pass")
    ax.set_ylabel(_LABELS[curve.loss])
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False)
    return ax


def _draw_thresholds(curve: Any, ax: Axes) -> Axes:
    for at, path in enumerate(curve.thresholds.T):
        ax.plot(curve.n_rows, path, color=COLOURS[at % len(COLOURS)], label=f"threshold {at + 1}")
    ax.set_xlabel(f"rows (windows of {curve.window:,})")
    ax.set_ylabel("threshold")
    _format_rows(ax)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
    return ax


def plot_intervals(targets: ArrayLike, intervals: ArrayLike, flags: ArrayLike = (), ax: Axes | None = None) -> Axes:
    """Draw the differences between the targets of a stream and the centres of their intervals, and flagged changes.

    The band is the interval predicted before each row, minus its centre. Targets outside are marked, and the legend has
    the share of targets inside.

    Parameters
    ----------
    targets : array of shape (n_rows,)
        The targets.
    intervals : array of shape (n_rows, 2)
        Lower and upper ends, as returned by ``predict_interval_partial_fit`` of a stream learner. Rows with infinite or
        NaN ends are not drawn and not counted.
    flags : array of shape (n_flags,), default=()
        Rows after which a change was flagged, counted from the first row of `targets`: ``drift_.flags`` of an AdaRaker
        learner minus the number of rows learned before.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        If the shapes of `targets` and `intervals` do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.plotting import plot_intervals
    >>> from pgmx.streaming import AdaRakerRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> learner, y = AdaRakerRegressor(), X[:, 0] * X[:, 1]
    >>> ends = learner.predict_interval_partial_fit(X, y)
    >>> plot_intervals(y, ends, learner.drift_.flags).get_xlabel()
    'rows'
    """
    y, ends = np.asarray(targets, dtype=float).ravel(), np.asarray(intervals, dtype=float)
    if ends.shape != (len(y), 2) or not len(y):
        raise ValueError(
            f"intervals must have the shape ({len(y)}, 2), one row per target and at least one, got {ends.shape}"
        )
    ax = make_axes(ax, 7.2, 4.2)
    rows = np.arange(len(y))
    known: Any = np.isfinite(ends).all(axis=1)
    inside = known & (ends[:, 0] <= y) & (y <= ends[:, 1])
    outside = known & ~inside
    ends = np.where(known[:, None], ends, np.nan)
    centres, halves = ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 2.0
    share = f"{inside.sum() / max(known.sum(), 1):.1%} inside"
    ax.fill_between(rows, -halves, halves, color=COLOURS[0], alpha=0.2, linewidth=0, label="interval")
    ax.plot(rows[inside], (y - centres)[inside], ".", color=COLOURS[5], markersize=2, label=f"target, {share}")
    ax.plot(rows[outside], (y - centres)[outside], ".", color=COLOURS[3], markersize=3, label="outside its interval")
    for number, row in enumerate(np.asarray(flags).ravel()):
        label = "change flagged" if number == 0 else None
        ax.axvline(float(row), color=COLOURS[1], linewidth=1.4, linestyle="--", label=label)
    ax.set_xlabel("rows")
    ax.set_ylabel("target minus the centre of its interval")
    _format_rows(ax)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4)
    return ax


def plot_regret(curve: Any, ax: Axes | None = None) -> Axes:
    """Draw the regret of a random-feature learner against the number of rows, with its bound.

    Parameters
    ----------
    curve : RegretCurve
        The result of `pgmx.metrics.regret`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError
        If `curve` is not such a curve.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.metrics import regret
    >>> from pgmx.plotting import plot_regret
    >>> from pgmx.streaming import RakerRegressor
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> plot_regret(regret(RakerRegressor(n_components=4), X, X[:, 0], n_points=5)).get_ylabel()
    'regret, sum of squared errors'
    """
    if not hasattr(curve, "static") or not hasattr(curve, "bound"):
        raise TypeError(f"expected the result of regret, got {type(curve).__name__}")
    ax = make_axes(ax, 7.2, 4.2)
    lines = {"against the best fixed function": curve.static}
    if not np.array_equal(curve.dynamic, curve.static):
        lines["against the best switching function"] = curve.dynamic
    if np.isfinite(curve.bound).any():
        lines["bound for the best fixed function"] = curve.bound
    for at, (label, values) in enumerate(lines.items()):
        style = "--" if values is curve.bound else "-"
        ax.plot(curve.n_rows, values, color=COLOURS[at], linestyle=style, linewidth=1.8, label=label)
    ax.set_xlabel("rows")
    ax.set_ylabel("regret, sum of squared errors")
    _format_rows(ax)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="best")
    return ax


def _format_rows(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))

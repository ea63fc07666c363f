"""Quality of the edges of known graphs: curves over thresholds of strengths, and errors of trackers over windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.plotting.history import COLOURS
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("roc", "precision_recall")
_MEASURES = {
    "edge_error_rate": "share of wrong pairs",
    "edge_mse": "mean squared error of coefficients",
}


def plot_roc(curves: Any, ax: Axes | None = None, *, kind: str = "roc") -> Axes:
    """Draw receiver operating characteristics of edges, or precision against recall, with the areas.

    Parameters
    ----------
    curves : EdgeCurve, or mapping of str to EdgeCurve
        Results of `pgmx.metrics.edge_curve`; the keys are labels.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    kind : {"roc", "precision_recall"}, default="roc"
        "roc": true positive rate against false positive rate, and the area under the curve. "precision_recall":
        precision against recall, and the average precision; better if few pairs are edges. The grey line is the
        expected curve of strengths without information; there is none if the curves have different shares of edges.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If a curve is not an `EdgeCurve`, there is none, or `kind` is unknown.

    Examples
    --------
    >>> from pgmx.datasets import sparse_system, system_transitions
    >>> from pgmx.estimators import DenseLDS
    >>> from pgmx.metrics import edge_curve
    >>> from pgmx.plotting import plot_roc
    >>> coef = sparse_system(10, 2)
    >>> train = system_transitions(coef, 20, noise=1.0).train
    >>> curve = edge_curve(DenseLDS(groups="series").fit(train).coef_, coef, diagonal=True)
    >>> plot_roc({"least squares": curve}).get_xlabel()
    'false positive rate'
    """
    by_label = _label_results(curves, ("true_positive_rate", "average_precision"), "edge_curve")
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    ax = make_axes(ax, 4.8, 4.6)
    for at, (label, curve) in enumerate(by_label.items()):
        if kind == "roc":
            x, y, area = curve.false_positive_rate, curve.true_positive_rate, curve.area
        else:
            x, y, area = curve.true_positive_rate, curve.precision, curve.average_precision
        style: dict[str, Any] = {
            "color": COLOURS[at % len(COLOURS)],
            "linewidth": 1.8,
            "label": f"{label}: {area:.3f}".lstrip(": "),
        }
        if kind == "roc":
            ax.plot(x, y, **style)
        else:
            ax.step(x, y, where="pre", **style)
    names = "false positive rate", "true positive rate", "area under the curve"
    chance = [0.0, 1.0]
    if kind != "roc":
        names = "recall", "precision", "average precision"
        shares = {float(curve.precision[-1]) for curve in by_label.values()}
        chance = [max(shares)] * 2
    if kind == "roc" or len(shares) == 1:
        ax.plot([0, 1], chance, color="0.6", linewidth=1.0, zorder=1)
    ax.set(xlabel=names[0], ylabel=names[1], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="best", title=names[2])
    return ax


def plot_tracking(
    curves: Any, ax: Axes | None = None, *, measure: str = "edge_error_rate", changes: Sequence[int] = ()
) -> Axes:
    """Draw the error of learners that follow a changing graph against the window.

    Triangles at the lower end are restarts of a tracker.

    Parameters
    ----------
    curves : TrackingCurve, or mapping of str to TrackingCurve
        Results of `pgmx.metrics.tracking_errors`; the keys are labels.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. Default: a new figure, independent of pyplot.
    measure : {"edge_error_rate", "edge_mse"}, default="edge_error_rate"
        The share of wrong pairs, or the mean squared error of the coefficients on a logarithmic axis.
    changes : sequence of int, default=()
        Windows at which the true graph changes, counted from 0; drawn as dashed lines.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError, ValueError
        If a curve is not a `TrackingCurve`, there is none, or `measure` or `changes` are invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.datasets import switching_series
    >>> from pgmx.estimators import TensorSEMTracker
    >>> from pgmx.metrics import tracking_errors
    >>> from pgmx.plotting import plot_tracking
    >>> A = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.0, 0.0]])
    >>> drawn = switching_series(A, 10, 100)
    >>> tracker, windows = TensorSEMTracker(exogenous="blind"), np.split(drawn.series, 10)
    >>> plot_tracking(tracking_errors(tracker, windows, [A] * 10)).get_xlabel()
    'window'
    """
    by_label = _label_results(curves, ("edge_error_rate", "edge_mse"), "tracking_errors")
    if measure not in _MEASURES:
        raise ValueError(f"measure must be one of {', '.join(_MEASURES)}, got {measure!r}")
    marks = np.asarray(changes)
    if marks.ndim != 1 or (marks.size and marks.dtype.kind not in "iu"):
        raise ValueError(f"changes must be windows, integers from 0 on, got {changes!r}")
    ax = make_axes(ax, 7.2, 4.2)
    for at, window in enumerate(marks.tolist()):
        label = "change" if at == 0 else None
        ax.axvline(window, color="0.5", linewidth=1.0, linestyle="--", label=label, zorder=1)
    for at, (label, curve) in enumerate(by_label.items()):
        errors, colour = getattr(curve, measure), COLOURS[at % len(COLOURS)]
        ax.plot(np.arange(len(errors)), errors, color=colour, linewidth=1.6, label=label or None)
        if curve.restarts:
            places = np.zeros(len(curve.restarts))
            ax.plot(curve.restarts, places, "^", color=colour, clip_on=False, transform=ax.get_xaxis_transform())
    if measure == "edge_mse" and all((curve.edge_mse > 0).any() for curve in by_label.values()):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.set_xlabel("window")
    ax.set_ylabel(_MEASURES[measure])
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.25, linewidth=0.6)
    if any(by_label) or len(marks):
        ax.legend(frameon=False, loc="best")
    return ax


def _label_results(results: Any, names: tuple[str, str], function: str) -> dict[str, Any]:
    """Return results of a metric by label; the label of a single result is empty."""
    by_label = {str(label): one for label, one in results.items()} if isinstance(results, Mapping) else {"": results}
    if not by_label:
        raise ValueError(f"there is nothing to draw: give results of {function}")
    for label, one in by_label.items():
        if not all(hasattr(one, name) for name in names):
            named = f"{label!r} is" if label else "got"
            raise TypeError(f"expected results of {function}, {named} {type(one).__name__}")
    return by_label

"""Errors of learners of streams beside those of baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.plotting.history import COLOURS
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {"squared": "mean squared error", "zero-one": "share of wrong labels"}
_STYLES = ("--", ":", "-.")


def plot_prequential(curve: Any, ax: Axes | None = None) -> Axes:
    """Draw the error of a learner of streams, window by window, beside those of the baselines.

    Squared errors are on a logarithmic axis, shares of wrong labels on a linear one. The legend gives the mean over all
    rows.

    Parameters
    ----------
    curve : PrequentialCurve
        What `pgmx.metrics.prequential` returns.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure, which belongs to the caller alone.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError
        If `curve` is no such curve.

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
        raise TypeError(f"expected what prequential returns, got {type(curve).__name__}")
    ax = make_axes(ax, 7.2, 4.2)
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


def _format_rows(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))

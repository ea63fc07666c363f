"""Curves of learning: quality against time, edges or tests, one line per learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pgmx.plotting.pictures import make_figure, make_panels
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#2f6ea5", "#e08a00", "#3f9159", "#c8323c", "#7d55a3", "#33475b", "#a3713f", "#4aa7a7")
MARKERS = "osD^vPX*"
_WIDE_RANGE = 50.0  # above this ratio of seconds the axis is logarithmic
_LEGEND_COLUMNS = 5  # of a legend above several panels


class _Measure(NamedTuple):
    """A measure: `sign` is 1 if higher is better, -1 if lower is, or 0; `option` makes a learner record it."""

    label: str
    sign: int = 0
    option: str = ""


_MEASURES = {
    "score": _Measure("score, nats", 1),
    "objective": _Measure("objective, nats per row", -1),
    "recall": _Measure("share of the true edges found", 0, "true_graph"),
    "held_out": _Measure("NPLL of held-out rows, nats per row", 0, "held_out"),
    "n_edges": _Measure("edges activated"),
    "gradient_norm": _Measure("norm of the gradient"),
}
_AGAINST = {
    "seconds": "seconds",
    "cpu_seconds": "CPU seconds",
    "n_edges": "edges activated",
    "n_tests": "pairs scored or tested",
    "n_tables": "pair tables counted",
}


class _Run(NamedTuple):
    """One learner in one panel: its label, its index among the learners, and two columns of its history."""

    label: str
    at: int
    x: np.ndarray
    y: np.ndarray


@overload
def plot_history(
    learners: Any, ax: Axes | None = ..., *, measures: str | None = ..., against: str = ..., below_best: bool = ...
) -> Axes: ...


@overload
def plot_history(
    learners: Any, ax: Any = ..., *, measures: Sequence[str], against: str = ..., below_best: bool = ...
) -> list[Axes]: ...


def plot_history(learners, ax=None, *, measures=None, against="seconds", below_best=False):
    """Draw the quality of learners against their running time.

    The mark is the end of a run. The line of a score is the best score so far. If a learner also visits worse graphs,
    its current score is a faint line behind it.

    Parameters
    ----------
    learners : learner, mapping of str to learner, or list of learners
        Fitted learners with a `history_`, such as ``HillClimbSearch``. A mapping has labels as keys; in a list, the
        labels are the class names. For a fair comparison, use the same data and the same score or penalties.
    ax : matplotlib.axes.Axes, or a sequence of them, optional
        The axes to draw on, one per panel. Default: a new figure, independent of pyplot.
    measures : str or sequence of str, optional
        "score" of a Bayesian network; "objective" of a Markov network, "recall" (the learners need ``true_graph``) and
        "held_out" (they need ``held_out``); "n_edges"; "gradient_norm" of a `TensorSEM`, on a logarithmic axis. A
        sequence gives one panel per measure. Default: the score, or else the objective.
    against : {"seconds", "cpu_seconds", "n_edges", "n_tests", "n_tables"}, default="seconds"
        The horizontal axis: wall seconds; for Markov networks also CPU seconds, activated edges, scores of pairs
        computed or pair tables counted.
    below_best : bool, default=False
        If True, draw the difference in nats from the best score or the smallest objective of all learners, on a
        logarithmic axis. The best value is drawn at the lower end.

    Returns
    -------
    matplotlib.axes.Axes or list of matplotlib.axes.Axes
        The axes, a list if `measures` is a sequence. The axis of seconds is logarithmic if they span a factor of more
        than 50.

    Raises
    ------
    TypeError, ValueError
        If an object has no history, there are no learners, no learner has made a move, a measure is unknown or was not
        recorded, or the number of axes differs from the number of measures.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> from pgmx.estimators import HillClimbSearch
    >>> from pgmx.plotting import plot_history
    >>> search = HillClimbSearch(scoring_method="bic").fit(sample(load_network("asia"), 500))
    >>> plot_history(search).get_ylabel()
    'score, nats'

    Several panels of several Markov networks:

    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> from pgmx.estimators import BestChoiceEdgeGrafting, EdgeGrafting
    >>> network = preferential_attachment_network(8, n_states=3)
    >>> rows = sample_markov_network(network, 1000)
    >>> runs = {
    ...     "exhaustive": EdgeGrafting(true_graph=network).fit(rows),
    ...     "best choice": BestChoiceEdgeGrafting(true_graph=network).fit(rows),
    ... }
    >>> panels = plot_history(runs, measures=["objective", "recall"], against="n_edges")
    >>> [panel.get_ylabel() for panel in panels]
    ['objective, nats per row', 'share of the true edges found']
    """
    by_label = _label_learners(learners)
    histories = {label: _read_history(learner, label) for label, learner in by_label.items()}
    if against not in _AGAINST:
        raise ValueError(f"against must be one of {', '.join(_AGAINST)}, got {against!r}")
    if measures is None:
        has_scores = all("score" in history for history in histories.values())
        names, single = ["score" if has_scores else "objective"], True
    else:
        names, single = ([measures], True) if isinstance(measures, str) else (list(measures), False)
    panels = [_list_runs(histories, measure, against) for measure in names]
    axes, own_figure = _make_panels(ax, len(names), single)
    for panel, measure, runs in zip(axes, names, panels, strict=True):
        _draw_runs(panel, runs, measure, against, below_best)
    if len(by_label) > 1:
        _add_legend(axes, sorted({(run.at, run.label) for runs in panels for run in runs}), own_figure)
    return axes[0] if single else axes


def _label_learners(learners) -> dict:
    """Return the learners by label; the label of a single learner is empty."""
    if isinstance(learners, Mapping):
        return dict(learners)
    if not isinstance(learners, list | tuple):
        return {"": learners}
    classes = [type(learner).__name__ for learner in learners]
    labels = [
        f"{name} {classes[: at + 1].count(name)}" if classes.count(name) > 1 else name
        for at, name in enumerate(classes)
    ]
    return dict(zip(labels, learners, strict=True))


def _read_history(learner, label) -> Mapping:
    history = getattr(learner, "history_", None)
    if not isinstance(history, Mapping) or "seconds" not in history:
        named = f"{label!r} is a {type(learner).__name__}" if label else f"got a {type(learner).__name__}"
        raise TypeError(f"a fitted learner with a history_ is needed, {named}: call fit first")
    return history


def _list_runs(histories: Mapping, measure: str, against: str) -> list[_Run]:
    """Return the learners with values for a panel."""
    if measure not in _MEASURES:
        raise ValueError(f"measures must be among {', '.join(_MEASURES)}, got {measure!r}")
    runs = []
    for at, (label, history) in enumerate(histories.items()):
        for name in (measure, against):
            if name not in history:
                raise ValueError(
                    f"the history of {label or 'the learner'!r} does not hold {name!r}{_suggest_option(name)}"
                )
        x, y = (np.asarray(history[name], dtype=float) for name in (against, measure))
        known = ~np.isnan(y)
        if known.any():
            runs.append(_Run(str(label), at, x[known], y[known]))
    if not runs:
        raise ValueError("no learner has a move in its history: there is nothing to draw")
    return runs


def _suggest_option(name: str) -> str:
    option = _MEASURES[name].option if name in _MEASURES else ""
    return f": give it {option}=... and fit again" if option else ""


def _make_panels(ax, n: int, single: bool) -> tuple[list[Axes], bool]:
    """Return one axes per panel, and whether they are on a new figure."""
    if n == 0:
        raise ValueError("measures is empty: name at least one")
    if ax is None and n > 1:
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        figure = make_figure(0.6 + 4.0 * n, 3.9, layout=ConstrainedLayoutEngine(wspace=0.04))
        return [make_axes(panel, 0, 0) for panel in make_panels(figure, n)], True
    panels = [ax] if single or ax is None else list(np.ravel(ax))
    if len(panels) != n:
        raise ValueError(f"give one axes per measure: {n} measures, got {len(panels)} axes")
    return [make_axes(panel, 6.4, 4.0) for panel in panels], False


def _draw_runs(ax: Axes, runs: list[_Run], measure: str, against: str, below_best: bool) -> None:
    sign = _MEASURES[measure].sign
    best = max(float((sign * run.y).max()) for run in runs)
    distances = below_best and sign != 0
    floor = _least_distance(np.concatenate([best - sign * run.y for run in runs]))
    for run in runs:
        y = run.y
        top = np.maximum.accumulate(y) if measure == "score" else y
        if distances:
            y, top = (np.maximum(best - sign * values, floor) for values in (y, top))
        colour = COLOURS[run.at % len(COLOURS)]
        if (y != top).any():
            ax.plot(run.x, y, color=colour, linewidth=0.7, alpha=0.35)
        ax.step(run.x, top, where="post", color=colour, linewidth=1.8)
        ax.plot(run.x[-1:], top[-1:], MARKERS[run.at % len(MARKERS)], color=colour, markersize=6)
    _label_axis(ax, np.concatenate([run.x for run in runs]), against)
    _label_quality(ax, measure, sign * best if distances else None)
    if measure == "gradient_norm":
        ax.set_yscale("log")


def _least_distance(gaps: np.ndarray) -> float:
    """Return the lower end of a logarithmic axis of distances from the best."""
    return max(0.5 * min(gaps[gaps > 1e-6], default=1.0), min(1.0, 1e-4 * gaps.max()))


def _label_axis(ax: Axes, values: np.ndarray, against: str) -> None:
    from matplotlib.ticker import FuncFormatter

    if against.endswith("seconds") and values.max() > _WIDE_RANGE * values.min() > 0:
        ax.set_xscale("log")
    pattern = "{:g}" if against.endswith("seconds") else "{:,.0f}"
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: pattern.format(value)))
    ax.set_xlabel(_AGAINST[against])
    ax.grid(alpha=0.25, linewidth=0.6)


def _label_quality(ax: Axes, measure: str, best: float | None) -> None:
    """Label the vertical axis; `best` is given if distances from it are drawn."""
    from matplotlib.ticker import FuncFormatter

    if best is None:
        ax.set_ylabel(_MEASURES[measure].label)
        if measure in ("score", "n_edges"):
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        return
    ax.set_yscale("log")
    if measure == "score":
        ax.set_ylabel(f"nats below the best score, {best:,.1f}")
    else:
        ax.set_ylabel(f"nats per row above the least objective, {best:,.4f}")


def _add_legend(axes: list[Axes], labels: list[tuple[int, str]], own_figure: bool) -> None:
    """Draw one legend: in the last axes, or above the panels of a new figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=COLOURS[at % len(COLOURS)], marker=MARKERS[at % len(MARKERS)], linewidth=1.8, label=label)
        for at, label in labels
    ]
    if not own_figure:
        axes[-1].legend(handles=handles, frameon=False, loc="best")
        return
    rows = -(-len(handles) // _LEGEND_COLUMNS)
    columns = -(-len(handles) // rows)
    axes[0].figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False)

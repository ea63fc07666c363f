"""Forecasts of series with their intervals: after the observed rows, and one-step predictions over many rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural, join_names
from pgmx.plotting.history import COLOURS
from pgmx.plotting.labels import shorten
from pgmx.plotting.pictures import make_figure
from pgmx.plotting.strengths import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE, _FORECAST, _TRUTH = "#33475b", "#2f6ea5", "#c8323c"
_MOST_SERIES = 12


def plot_forecast(
    system: Any,
    history: Any,
    steps: int = 12,
    *,
    coverages: Sequence[float] = (0.5, 0.9),
    series: Sequence[Hashable] | None = None,
    truth: Any = None,
    n_shown: int = 60,
    exogenous: Any = None,
    figure: Figure | None = None,
) -> Figure:
    """Draw the observed rows of series, their forecast and its intervals, one axes per series.

    Parameters
    ----------
    system : LinearDynamicalSystem or fitted learner
        The forecasting model; its noise covariance must be known. A learner also handles seasons and columns that are
        not series.
    history : array_like or frame of shape (n_rows, n_series)
        The last observed rows, in the form that `predict` needs.
    steps : int, default=12
        Number of rows to forecast, at least 1.
    coverages : sequence of float, default=(0.5, 0.9)
        Coverage probabilities of the intervals, one band each; wider bands are paler.
    series : sequence of hashable, optional
        Names of the series to draw. Default: the first twelve.
    truth : array_like or frame, optional
        The observed later rows: up to `steps` rows of all series.
    n_shown : int, default=60
        Number of the last rows of `history` to draw, at least 1.
    exogenous : array_like or frame, optional
        Exogenous rows of the forecast, in the form that `predict` needs.
    figure : matplotlib.figure.Figure, optional
        The figure to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.figure.Figure
        One axes per series, in order.

    Raises
    ------
    TypeError, ValueError
        If `system` cannot forecast or has no noise covariance, a series is unknown, or `predict` raises the error.

    Examples
    --------
    >>> from pgmx.models import LinearDynamicalSystem
    >>> from pgmx.plotting import plot_forecast
    >>> system = LinearDynamicalSystem(["rain", "river"], [[0.5, 0.0], [0.25, 0.5]], noise_covariance=[1.0, 0.25])
    >>> [ax.get_title(loc="left") for ax in plot_forecast(system, system.simulate(100)).axes]
    ['rain', 'river']
    """
    forecaster, names = _find_forecaster(system)
    columns = _choose_columns(names, series)
    n_shown = check_natural(n_shown, "n_shown", 1)
    rows, labels = _read_rows(_select_series(forecaster, history, names), names, n_shown, "history")
    means = forecaster.predict(history, steps, exogenous=exogenous)
    times, later = _place_times(len(rows), labels, means)
    bands = {
        coverage: [
            np.asarray(bound) for bound in forecaster.predict_interval(history, steps, coverage, exogenous=exogenous)
        ]
        for coverage in sorted(coverages, reverse=True)
    }
    actual = None
    if truth is not None:
        actual = _read_rows(_select_series(forecaster, truth, names), names, len(truth), "truth")[0][:steps]
    middle = np.asarray(means)
    figure, panels = _make_panels(figure, [names[column] for column in columns], 7.0, 0.6)
    for ax, column in zip(panels, columns, strict=True):
        for at, (coverage, (lower, upper)) in enumerate(bands.items()):
            ax.fill_between(
                later,
                np.append(rows[-1, column], lower[:, column]),
                np.append(rows[-1, column], upper[:, column]),
                color=_FORECAST,
                alpha=0.18 + 0.14 * at,
                linewidth=0,
                label=f"{coverage:.0%} interval",
            )
        ax.plot(times, rows[:, column], color=_LINE, linewidth=1.2, label="series")
        ax.plot(later, np.append(rows[-1, column], middle[:, column]), color=_FORECAST, linewidth=1.8, label="forecast")
        if actual is not None:
            ax.plot(
                later[1 : len(actual) + 1],
                actual[:, column],
                "o",
                color=_TRUTH,
                markersize=3,
                label="observed later",
                zorder=3,
            )
    handles, texts = panels[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9)
    if isinstance(times, np.ndarray):
        for ax in panels[-_count_columns(panels) :]:
            ax.set_xlabel("steps ahead", fontsize=9)
    return figure


def plot_predictions(
    predictions: Any, *, series: Sequence[Hashable] | None = None, figure: Figure | None = None
) -> Figure:
    """Draw series and their one-step predictions over time, with intervals, one axes per series.

    Parameters
    ----------
    predictions : OneStepPredictions, or mapping of str to OneStepPredictions
        Results of `pgmx.metrics.one_step_predictions` for the same rows; the keys are labels. The intervals of the
        first are drawn.
    series : sequence of hashable, optional
        Names of the series to draw. Default: the first twelve.
    figure : matplotlib.figure.Figure, optional
        The figure to draw on. Default: a new figure, independent of pyplot.

    Returns
    -------
    matplotlib.figure.Figure
        One axes per series, in order.

    Raises
    ------
    TypeError, ValueError
        If these are not predictions, or not of the same rows, there are none, or a series is unknown.

    Examples
    --------
    >>> from pgmx.metrics import one_step_predictions
    >>> from pgmx.models import LinearDynamicalSystem
    >>> from pgmx.plotting import plot_predictions
    >>> system = LinearDynamicalSystem(["rain", "river"], [[0.5, 0.0], [0.25, 0.5]], noise_covariance=[1.0, 0.25])
    >>> predictions = one_step_predictions(system, system.simulate(100))
    >>> [ax.get_title(loc="left") for ax in plot_predictions(predictions).axes]
    ['rain', 'river']
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    by_label = dict(predictions) if isinstance(predictions, Mapping) else {"prediction": predictions}
    if not by_label:
        raise ValueError("there is nothing to draw: give results of one_step_predictions")
    for one in by_label.values():
        if not all(hasattr(one, name) for name in ("observed", "predicted", "lower", "coverage")):
            raise TypeError(f"expected results of one_step_predictions, got {type(one).__name__}")
    first = next(iter(by_label.values()))
    if any(not one.observed.equals(first.observed) for one in by_label.values()):
        raise ValueError("the predictions are not of the same rows: give results for the same series and times")
    columns = _choose_columns(list(first.observed.columns), series)
    figure, panels = _make_panels(figure, list(first.observed.columns[columns]), 8.0, 0.7)
    times = first.observed.index
    times = times.to_timestamp() if hasattr(times, "to_timestamp") else times
    for ax, column in zip(panels, columns, strict=True):
        lower, upper = first.lower.iloc[:, column], first.upper.iloc[:, column]
        label = f"{first.coverage:.0%} interval" + ("" if len(by_label) == 1 else f" of {next(iter(by_label))}")
        ax.fill_between(times, lower, upper, color=_FORECAST, alpha=0.2, linewidth=0, label=label)
        ax.plot(times, first.observed.iloc[:, column], color=_LINE, linewidth=1.0, label="observed")
        for at, (name, one) in enumerate(by_label.items()):
            colour = (_FORECAST, *COLOURS[1:])[at % len(COLOURS)]
            ax.plot(times, one.predicted.iloc[:, column], color=colour, linewidth=1.6, label=str(name))
    handles, texts = panels[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=min(len(handles), 4), frameon=False, fontsize=9)
    if hasattr(times, "strftime"):
        for ax in panels:
            locator = AutoDateLocator()
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    return figure


def _make_panels(
    figure: Figure | None, titles: list[Hashable], width: float, margin: float
) -> tuple[Figure, list[Axes]]:
    """Return the axes of the series, in two columns if there are more than two; `width` is for one column."""
    wide = _count_columns(titles)
    n_rows = -(-len(titles) // wide)
    if figure is None:
        figure = make_figure(10.5 if wide == 2 else width, max(1.9 * n_rows + margin, 2.6))
    grid = figure.subplots(n_rows, wide, squeeze=False, sharex=True).ravel().tolist()
    panels, rest = grid[: len(titles)], grid[len(titles) :]
    for ax in rest:
        ax.remove()
    for ax, title in zip(panels, titles, strict=True):
        make_axes(ax, 0, 0)
        ax.set_title(shorten(title, 40), fontsize=10, loc="left").set_parse_math(False)
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.margins(x=0.01)
        ax.tick_params(labelsize=8)
    for ax in panels[-wide:]:
        ax.tick_params(labelbottom=True)  # also above a place without axes
    return figure, panels


def _count_columns(panels: list) -> int:
    return 2 if len(panels) > 2 else 1


def _choose_columns(names: list, series: Sequence[Hashable] | None) -> list[int]:
    if series is None:
        return list(range(min(len(names), _MOST_SERIES)))
    unknown = [name for name in series if name not in names]
    if unknown or not len(series):
        raise ValueError(
            f"series must be names of the system, got {join_names(series)}: choose from {join_names(names)}"
        )
    return [names.index(name) for name in series]


def _read_rows(rows: Any, names: list, n_shown: int, what: str) -> tuple[np.ndarray, Any]:
    """Return the last rows in the order of the names, and their labels, None for an array."""
    from pgmx.models.time_series.history import read_series

    values, labels = read_series(rows, tuple(names), 1, what)
    return values[-n_shown:], None if labels is None else labels[-n_shown:]


def _place_times(n_rows: int, labels: Any, means: Any) -> tuple[Any, Any]:
    """Return the abscissae of the rows, and of the last row with the forecasts: labels, or numbers of steps."""
    following = getattr(means, "index", None)
    if labels is None or following is None or not labels.append(following).is_monotonic_increasing:
        return np.arange(1 - n_rows, 1), np.arange(len(means) + 1)
    if hasattr(labels, "to_timestamp"):
        labels, following = labels.to_timestamp(), following.to_timestamp()
    return labels, labels[-1:].append(following)


def _find_forecaster(source: Any) -> tuple[Any, list]:
    """Return the forecaster, a learner of systems (also inside another learner) or a system, and the names."""
    sources: list[Any] = [source, getattr(source, "estimator_", None), getattr(source, "model_", None)]
    for forecaster in sources:
        if hasattr(forecaster, "predict_interval"):
            return forecaster, list(forecaster.names if hasattr(forecaster, "names") else forecaster.variables_)
    raise TypeError(f"expected a LinearDynamicalSystem or a fitted learner with one, got {type(source).__name__}")


def _select_series(forecaster: Any, rows: Any, names: list) -> Any:
    """Return rows with their labels, without the columns that are not series of a learner."""
    if not hasattr(forecaster, "get_params"):
        return rows
    from pgmx.data.series import SeriesOptions, read_history

    params = forecaster.get_params(deep=False)
    options = {option.name: params[option.name] for option in fields(SeriesOptions) if option.name in params}
    return read_history(rows, tuple(names), SeriesOptions(**options))

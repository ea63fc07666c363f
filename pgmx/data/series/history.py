"""The rows that a forecast continues, as a learner's options describe them."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx.data.files.readers import is_path, read_whole
from pgmx.data.series.options import SeriesOptions, make_seasons
from pgmx.data.series.time_index import TimeIndex, is_same_kind, make_labels


def read_history(X: Any, names: tuple, options: SeriesOptions) -> Any:
    """Return the series alone, labelled by their times: an array for an array, else a pandas frame."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1] != len(names) and options.check_columns(columns := _name_columns(X), None):
            return X[:, [columns.index(name) for name in names]]
        return X
    if is_path(X):
        X = read_whole(X, na_values=options.na_values)
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    time = options.time_column
    if time is not None and time in X.columns:
        X = X.set_axis(make_labels(X[time].array), axis=0)
    # only the lags matter for a forecast: earlier rows may be of other series
    if options.groups in X.columns and X[options.groups].iloc[-options.lags :].nunique() > 1:
        raise ValueError(
            f"the last {options.lags} rows of history are of several series ({options.groups!r}): give rows of one"
        )
    special = {time, options.groups, *options.exogenous_columns} - {None}
    return X[[name for name in X.columns if name not in special]]


def _name_columns(X: np.ndarray) -> list[str]:
    return [f"x{j}" for j in range(X.shape[1])]


def forecast_seasons(history: Any, steps: int, period: int, index: TimeIndex | None, n_rows: int) -> np.ndarray:
    """Return the seasonal columns (steps, period - 1) of the rows that follow a history.

    If its times do not determine them, the history is assumed to end with the last of the `n_rows` learned rows.
    """
    last = n_rows - 1
    if index is not None:
        label = history.index[-1] if isinstance(history, pd.DataFrame) and len(history) else None
        # a default index counts the rows of this table, not the steps of the learned series
        known = isinstance(history, pd.DataFrame) and not _is_default(history.index)
        if known and is_same_kind(label, index.last):
            place = index.count_steps(label)
            if place is None:
                raise ValueError(
                    f"the season of {label} is unknown: it is not a whole number of steps ({index.step}) away from "
                    f"{index.first}, the first learned time"
                )
            last = place
        else:
            last = index.count_steps(index.last) or 0
    return make_seasons(last + 1 + np.arange(steps), period)


def _is_default(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0


def check_last_rows(history: Any, lags: int, index: TimeIndex | None) -> None:
    """Raise ValueError if the last rows of a history, which are the lags, have a gap on the learned index."""
    if index is None or not isinstance(history, pd.DataFrame) or len(history) < lags:
        return
    first, last = history.index[-lags], history.index[-1]
    if not isinstance(first, pd.Timestamp | pd.Period | pd.Timedelta) or type(first) is not type(index.first):
        return
    begin, end = index.count_steps(first), index.count_steps(last)
    if begin is not None and end is not None and end - begin != lags - 1:
        raise ValueError(
            f"the last {lags} rows of history, {first} to {last}, do not follow each other by the step of the learned "
            f"series ({index.step}): give {lags} consecutive rows"
        )


def continue_labels(forecast: Any, history: Any, index: TimeIndex | None) -> Any:
    """Label the rows of a frame of forecasts by the learned step, if the last row of the history is on its grid."""
    if isinstance(forecast, pd.DataFrame) and index is not None and isinstance(index.first, pd.Timestamp):
        last = history.index[-1]
        if isinstance(last, pd.Timestamp) and index.count_steps(last) is not None:
            labels = pd.date_range(last, periods=len(forecast) + 1, freq=index.step, name=history.index.name)
            return forecast.set_axis(labels[1:], axis=0)
    return forecast

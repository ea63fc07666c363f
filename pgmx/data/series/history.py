"""The rows that a forecast continues, as a learner's options describe them."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx.data.files.readers import is_path, read_whole
from pgmx.data.series.options import SeriesOptions, make_seasons
from pgmx.data.series.time_index import TimeIndex, make_labels


def read_history(X: Any, names: tuple, options: SeriesOptions) -> Any:
    """Return the series alone, labelled by their times: an array for an array, else a pandas frame."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1] != len(names) and options.check_columns(columns := _name_columns(X), None):
            return X[:, [columns.index(name) for name in names]]
        return X
    if is_path(X):
        X = read_whole(X)
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    time = options.time_column
    if time is not None and time in X.columns:
        X = X.set_axis(make_labels(X[time].array), axis=0)
    special = {time, options.groups, *options.exogenous_columns} - {None}
    return X[[name for name in X.columns if name not in special]]


def _name_columns(X: np.ndarray) -> list[str]:
    return [f"x{j}" for j in range(X.shape[1])]


def forecast_seasons(history: Any, steps: int, period: int, index: TimeIndex | None, n_rows: int) -> np.ndarray:
    """Return the seasonal columns (steps, period - 1) of the rows that follow a history.

    Where its times do not tell them, it is taken to end with the last of the `n_rows` rows that were learned from.
    """
    last = n_rows - 1
    if index is not None:
        label = history.index[-1] if isinstance(history, pd.DataFrame) and len(history) else None
        known = isinstance(history, pd.DataFrame) and not _is_default(history.index)
        if known and isinstance(label, type(index.last)):
            place = index.count_steps(label)
            if place is None:
                raise ValueError(
                    f"the season of {label} is unknown: it is no whole number of steps ({index.step}) away from "
                    f"{index.first}, the first time that was learned from"
                )
            last = place
        else:
            last = index.count_steps(index.last) or 0
    return make_seasons(last + 1 + np.arange(steps), period)


def _is_default(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0

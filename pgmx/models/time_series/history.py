"""The last rows before a forecast, and the labels of forecasts."""

import os
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, join_names
from pgmx.models.rows import read_numeric_rows


class SeriesRows(NamedTuple):
    """Rows (n_rows, n_series), oldest first, and their labels; the labels are None for an array."""

    values: np.ndarray
    labels: pd.Index | None


def read_series(X, names: tuple, least: int, what: str) -> SeriesRows:
    """Return rows in the order of the names; raise for other columns, missing values or fewer than `least` rows."""
    array = isinstance(X, np.ndarray | list | tuple)
    if array:
        X = as_reals(X, what)
        if X.ndim == 1 and least <= 1:
            X = X.reshape(1, -1)
        if X.ndim != 2 or X.shape[1] != len(names):
            raise ValueError(f"{what} must have one column for each of {len(names)} series, got the shape {X.shape}")
    elif X is None or isinstance(X, str | os.PathLike):
        raise TypeError(f"{what} must be rows: a frame or an array; got {X!r:.200}")
    rows = read_numeric_rows(X, names, allow_missing=True)
    absent = [name for name, known in zip(names, rows.known, strict=True) if not known]
    if absent:
        raise ValueError(f"{what} lacks the series {join_names(absent)}: give a column for each series of the model")
    is_missing = np.isnan(rows.values).any(axis=0).tolist()
    incomplete = [name for name, missing in zip(names, is_missing, strict=True) if missing]
    if incomplete:
        raise ValueError(f"{what} has missing values in {join_names(incomplete)}: fill them, or give later rows")
    if len(rows.values) < least:
        unit = "row" if least == 1 else "rows"
        raise ValueError(f"{what} must hold at least the last {least} {unit}, oldest first; got {len(rows.values)}")
    return SeriesRows(rows.values, None if array else rows.index)


def read_exogenous(exogenous: ArrayLike | None, names: tuple, n_rows: int) -> np.ndarray | None:
    """Return exogenous rows (n_rows, n_exogenous), or None if the model has no such columns."""
    if not names:
        if exogenous is not None:
            raise ValueError("the model has no exogenous columns: leave out exogenous=")
        return None
    if exogenous is None:
        raise ValueError(f"the model has the exogenous column(s) {join_names(names)}: give {n_rows} rows as exogenous=")
    values = read_series(exogenous, names, 1, "exogenous").values
    if len(values) != n_rows:
        raise ValueError(f"exogenous must hold one row per time, {n_rows}; got {len(values)}")
    return values


def label_forecasts(values: np.ndarray, names: tuple, labels: pd.Index | None) -> np.ndarray | pd.DataFrame:
    """Return forecasts as a frame that continues these labels, or as an array without labels."""
    if labels is None:
        return values
    columns = pd.Index(list(names), tupleize_cols=False)
    return pd.DataFrame(values, index=continue_index(labels, len(values)), columns=columns)


def label_targets(values: np.ndarray, names: tuple, X: object, lags: int) -> np.ndarray | pd.DataFrame:
    """Return values for the rows of X after the first `lags`, as a frame if X is a frame and they match its rows."""
    if not isinstance(X, pd.DataFrame) or len(values) != len(X) - lags:
        return values
    return pd.DataFrame(values, index=X.index[lags:], columns=pd.Index(list(names), tupleize_cols=False))


def continue_index(index: pd.Index, steps: int) -> pd.Index:
    """Return the labels of the next rows if the index is regular, else 1, 2, ..., steps."""
    if isinstance(index, pd.RangeIndex):
        first = index.start + len(index) * index.step
        return pd.RangeIndex(first, first + steps * index.step, index.step, name=index.name)
    if isinstance(index, pd.PeriodIndex):
        widths = set(np.diff(index.asi8).tolist()) or {1}
        if len(index) and len(widths) == 1 and (width := widths.pop()) > 0:
            return pd.PeriodIndex([index[-1] + width * step for step in range(1, steps + 1)], name=index.name)
    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
        step = _find_step(index)
        if step is not None:
            make = pd.date_range if isinstance(index, pd.DatetimeIndex) else pd.timedelta_range
            return make(index[-1], periods=steps + 1, freq=step, name=index.name)[1:]
    elif pd.api.types.is_integer_dtype(index) and len(index) > 1 and len(set(np.diff(index.to_numpy()).tolist())) == 1:
        width = int(index[1] - index[0])
        return pd.Index(int(index[-1]) + width * np.arange(1, steps + 1), name=index.name)
    # Labels without a rule: the forecasts are numbered.
    return pd.RangeIndex(1, steps + 1, name=index.name)


def _find_step(index):
    """Return the frequency of dates: given by the index, inferred from three dates, or the difference of two."""
    if index.freq is not None:
        return index.freq
    if len(index) > 2:
        return type(index)(index, freq="infer").freq
    width = index[1] - index[0] if len(index) == 2 else pd.Timedelta(0)
    # two days, months or quarters do not determine the calendar
    return width if pd.Timedelta(0) < width < pd.Timedelta(days=1) else None


def label_columns(names: tuple) -> pd.Index:
    """Return names as the columns of a frame; tuples stay single labels."""
    return pd.Index(names, tupleize_cols=False)

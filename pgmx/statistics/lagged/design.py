"""Rows of predictors and targets of series with lags."""

import numpy as np

from pgmx.data.series import Panel


def make_lagged_design(panel: Panel, lags: int, *, intercept: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return predictors (T', lags N + K [+ 1]) and targets (T', N): T' rows whose whole lag window is observed.

    Columns: lag 1 of all series, lag 2, ..., exogenous columns at the time of the target, 1 for the intercept. Views if
    possible.
    """
    blocks = [
        segment_design(segment, exogenous, lags, intercept)
        for segment, exogenous in zip(panel.segments, panel.exogenous, strict=True)
        if len(segment) > lags
    ]
    if len(blocks) == 1:
        return blocks[0]
    predictors, targets = zip(*blocks, strict=True)
    return np.concatenate(predictors), np.concatenate(targets)


def segment_design(
    segment: np.ndarray, exogenous: np.ndarray, lags: int, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return predictors and targets of one segment."""
    n_targets = len(segment) - lags
    columns = [segment[lags - lag : lags - lag + n_targets] for lag in range(1, lags + 1)]
    if exogenous.shape[1]:
        columns.append(exogenous[lags:])
    if intercept:
        columns.append(np.ones((n_targets, 1)))
    return columns[0] if len(columns) == 1 else np.hstack(columns), segment[lags:]

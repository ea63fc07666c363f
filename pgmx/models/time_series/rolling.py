"""Forecast errors of several methods, with every row of a series as origin."""

from collections.abc import Sequence

import numpy as np

from pgmx.models.time_series.coefficients import Matrix


def score_origins(
    rows: np.ndarray,
    exogenous: np.ndarray | None,
    systems: dict[str, tuple[Sequence[Matrix], np.ndarray, np.ndarray]],
    start: int,
    steps: int,
) -> dict[str, np.ndarray]:
    """Return root mean square errors (steps,) per method, for series divided by their scales before `start`.

    `systems` holds matrices of the lags 1 to L, intercept and exogenous coefficients; "naive" repeats the last row.
    """
    origins = np.arange(start, len(rows))
    scales = rows[:start].std(axis=0)
    scales[scales == 0.0] = 1.0
    errors = {name: np.zeros(steps) for name in (*systems, "naive")}
    for name in errors:
        past: list[np.ndarray] = []
        for step in range(steps):
            first = origins[: len(origins) - step]  # the forecast rows are within the data
            past = [part[: len(first)] for part in past]
            if name == "naive":
                means = rows[first - 1]
            else:
                matrices, intercept, effects = systems[name]
                means = np.tile(intercept, (len(first), 1))
                if exogenous is not None:
                    means += exogenous[first + step] @ effects.T
                for lag, matrix in enumerate(matrices, start=1):
                    source = past[-lag] if lag <= step else rows[first + step - lag]
                    means += (matrix @ source.T).T
                past.append(means)
            errors[name][step] = np.sqrt((((rows[first + step] - means) / scales) ** 2).mean())
    return errors


def fit_autoregression(
    rows: np.ndarray, exogenous: np.ndarray | None, lags: int
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return matrices, intercept and exogenous coefficients of the vector autoregression by least squares."""
    n_rows, n = rows.shape
    parts = [rows[lags - lag : n_rows - lag] for lag in range(1, lags + 1)]
    if exogenous is not None:
        parts.append(exogenous[lags:])
    design = np.column_stack([*parts, np.ones(n_rows - lags)])
    solution = np.linalg.lstsq(design, rows[lags:], rcond=None)[0].T
    matrices = [solution[:, lag * n : (lag + 1) * n] for lag in range(lags)]
    return matrices, solution[:, -1], solution[:, lags * n : -1]

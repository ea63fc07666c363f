"""One-step predictions over many rows, with their intervals, compared with the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import is_number

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class OneStepPredictions:
    """Rows and their one-step predictions, returned by `one_step_predictions`.

    Attributes
    ----------
    observed : DataFrame of shape (n_rows, n_series)
        The rows after the first lags.
    predicted : DataFrame of shape (n_rows, n_series)
        Their predictions.
    lower : DataFrame of shape (n_rows, n_series)
        Lower ends of the intervals.
    upper : DataFrame of shape (n_rows, n_series)
        Upper ends of the intervals.
    coverage : float
        Coverage probability of each interval.
    """

    observed: DataFrame
    predicted: DataFrame
    lower: DataFrame
    upper: DataFrame
    coverage: float

    def summary(self) -> DataFrame:
        """Return the quality of the predictions of each series.

        Returns
        -------
        DataFrame of shape (n_series, 3)
            ``rmse``, the root mean square error in the units of the series; ``correlation`` of rows and predictions
            (NaN if one is constant); ``inside``, the share of rows within their intervals.
        """
        import pandas as pd

        observed, predicted = self.observed.to_numpy(), self.predicted.to_numpy()
        products = [values - values.mean(axis=0) for values in (observed, predicted)]
        norms = np.prod([np.sqrt((part**2).sum(axis=0)) for part in products], axis=0)
        correlation = np.full(len(norms), np.nan)
        np.divide((products[0] * products[1]).sum(axis=0), norms, out=correlation, where=norms > 0)
        inside = (self.lower.to_numpy() <= observed) & (observed <= self.upper.to_numpy())
        columns = {
            "rmse": np.sqrt(((observed - predicted) ** 2).mean(axis=0)),
            "correlation": correlation,
            "inside": inside.mean(axis=0),
        }
        return pd.DataFrame(columns, index=self.observed.columns)


def one_step_predictions(model: Any, X: Any, *, coverage: float = 0.9, exogenous: Any = None) -> OneStepPredictions:
    r"""Predict each row of a series from the rows before it, with intervals.

    .. math:: \hat x_t \pm z \sqrt{\operatorname{diag} Q}, \qquad \hat x_t = E(x_t \mid x_{t-1}, \dots, x_{t-L})

    with the noise covariance Q of the model. Each prediction uses the true previous rows, as in operation, where one
    row is predicted and then observed.

    Parameters
    ----------
    model : LinearDynamicalSystem, or fitted learner
        The model: a learner of linear dynamical systems, such as `SparsityInducingLDS`, or a `LinearSVARM` or
        `KernelSVARM` with ``instantaneous=False``. Fit it to other rows than `X`; otherwise the errors are those of
        the training rows.
    X : DataFrame or array of shape (T, n_series)
        Rows in the order of time, in the form that the model needs, without gaps. The first L rows are not predicted.
        To predict a whole week, begin with the last L rows before it.
    coverage : float, default=0.9
        Coverage probability of each interval, between 0 and 1.
    exogenous : DataFrame or array of shape (T, n_exogenous), optional
        Exogenous rows of the same times, if a `LinearDynamicalSystem` has such columns. A learner reads its exogenous
        columns from `X`.

    Returns
    -------
    OneStepPredictions
        Rows, predictions and the ends of their intervals, in the units of the series.

    Raises
    ------
    TypeError, ValueError
        If the model has no predictions or no noise covariance, its predictions use the same row (an instantaneous
        SVARM), rows are missing, or `coverage` is not between 0 and 1.

    Notes
    -----
    The coefficients and the noise are treated as known. If they were learned from few rows, the intervals are too
    narrow; ``summary()`` gives the share of rows inside.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, section 2.3.2 (figure 2.8).

    Examples
    --------
    >>> from pgmx.estimators import SparsityInducingLDS
    >>> from pgmx.metrics import one_step_predictions
    >>> from pgmx.models import LinearDynamicalSystem
    >>> system = LinearDynamicalSystem(["a", "b"], [[0.5, 0.0], [0.5, 0.5]], noise_covariance=[1.0, 1.0])
    >>> rows = system.simulate(1000)
    >>> learner = SparsityInducingLDS().fit(rows[:800])
    >>> predictions = one_step_predictions(learner, rows[799:])
    >>> predictions.predicted.shape
    (200, 2)
    >>> round(float(predictions.summary()["inside"].mean()), 2)
    0.88
    """
    import pandas as pd
    from scipy.special import ndtri

    if not is_number(coverage) or not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}")
    if not hasattr(model, "predict_rows") and not hasattr(model, "fitted_values"):
        raise TypeError(
            "one_step_predictions needs a LinearDynamicalSystem, or a learner of linear dynamical systems or vector "
            f"autoregressions, got {type(model).__name__}"
        )
    if getattr(model, "instantaneous", False):
        raise ValueError(
            f"the fitted values of a {type(model).__name__} with instantaneous terms use the predicted row itself: fit "
            "it with instantaneous=False"
        )
    is_learner = hasattr(model, "get_params")
    if is_learner and exogenous is not None:
        raise ValueError("a learner reads its exogenous columns from X: leave out exogenous=")
    variances = _read_variances(model)
    names = list(model.variables_ if is_learner else model.names)
    table = _read_table(X, names)
    if is_learner:
        values = model.predict_rows(X) if hasattr(model, "predict_rows") else model.fitted_values(X)
    else:
        values = model.predict_rows(X, exogenous=exogenous)
    if len(table) - len(values) != model.lags:
        raise ValueError(f"X has gaps: only {len(values)} of {len(table)} rows follow {model.lags} observed rows")
    time = getattr(model, "time_column", None)
    table = table if time is None else table.set_index(time)
    observed = table[names].iloc[model.lags :].astype(np.float64)
    predicted = pd.DataFrame(np.asarray(values), index=observed.index, columns=observed.columns)
    width = ndtri((1.0 + coverage) / 2.0) * np.sqrt(np.maximum(variances, 0.0))
    return OneStepPredictions(observed, predicted, predicted - width, predicted + width, float(coverage))


def _read_table(X: Any, names: list) -> DataFrame:
    """Return rows as a frame with the columns of the series; an array has the names x0, x1, ... or these names."""
    import pandas as pd

    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, list):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        columns = [f"x{j}" for j in range(X.shape[1])]
        X = pd.DataFrame(X, columns=pd.Index(names if len(names) == len(columns) else columns, tupleize_cols=False))
    if not isinstance(X, pd.DataFrame):
        raise TypeError(f"X must be a frame or an array of rows, got {type(X).__name__}")
    return X


def _read_variances(model: Any) -> np.ndarray:
    """Return the variances of the noise of each series."""
    for name in ("noise_covariance_", "noise_covariance", "noise_variance_"):
        noise = getattr(model, name, None)
        if noise is not None:
            return np.diagonal(noise) if np.ndim(noise) == 2 else np.asarray(noise)
    raise ValueError("the noise of the model is unknown: make the system with noise_covariance=")

"""Errors of learners that follow a changing graph, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.metrics.time_series import edge_error_rate, edge_mse

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class TrackingCurve:
    """Errors of a tracker after each window, returned by `tracking_errors`.

    Attributes
    ----------
    edge_error_rate : ndarray of float64, shape (n_windows,)
        Share of wrong pairs in the graph after each window.
    edge_mse : ndarray of float64, shape (n_windows,)
        Mean squared error of the coefficients.
    restarts : list of int
        Windows, counted from 0, at which the tracker found a change; empty if it does not test for changes.
    learner : object
        The learner after the last window, a copy of the argument.
    """

    edge_error_rate: np.ndarray
    edge_mse: np.ndarray
    restarts: list[int]
    learner: Any

    def to_frame(self) -> DataFrame:
        """Return the errors as a table with one row per window."""
        import pandas as pd

        names = ("edge_error_rate", "edge_mse")
        return pd.DataFrame({name: getattr(self, name) for name in names}).rename_axis("window")


def tracking_errors(
    learner: Any, windows: Sequence, coefs: Sequence, *, exogenous_power: Sequence | None = None
) -> TrackingCurve:
    r"""Learn a series window by window, and compare the coefficients and edges with the true ones after each window.

    .. math:: \frac{\|S_m - \hat S_m\|_0}{N (N - 1)}, \qquad \frac{\|A_m - \hat A_m\|_F^2}{N (N - 1)}

    after window m, with the indicators S of the edges, without the diagonal.

    Parameters
    ----------
    learner : TensorSEMTracker, linear SVARMTracker, or learner of time series with ``coef_`` and ``graph_``
        A tracker learns each window by ``partial_fit``. Any other learner learns each window alone by ``fit``, as a
        baseline. A copy learns, and the learner is not changed.
    windows : sequence of arrays or frames of shape (n_rows, N)
        Rows of each window, oldest first, as ``partial_fit`` or ``fit`` needs them.
    coefs : sequence of arrays, one per window
        True coefficients in each window, [target, source] or [lag, target, source], as in `coefficient_error`.
    exogenous_power : sequence of arrays of shape (N,), or array of shape (n_windows, N), optional
        Known powers of the inputs in each window, for a `TensorSEMTracker`.

    Returns
    -------
    TrackingCurve
        Both errors per window.

    Raises
    ------
    TypeError, ValueError
        If the sequences are empty or differ in length, the learner cannot learn windows, or a shape does not match.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       section 4.6.2 (figures 4.8 and 4.9).

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.datasets import switching_series
    >>> from pgmx.estimators import TensorSEMTracker
    >>> from pgmx.metrics import tracking_errors
    >>> A = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.0, 0.0]])
    >>> coefs = [A] * 20 + [A.T] * 20
    >>> drawn = switching_series(np.stack(coefs), 40, 500)
    >>> windows = np.split(drawn.series, 40)
    >>> curve = tracking_errors(TensorSEMTracker(), windows, coefs, exogenous_power=drawn.exogenous_power)
    >>> curve.restarts
    [20]
    >>> curve.edge_error_rate[[19, 20, 39]].round(2)
    array([0., 1., 0.])
    """
    n_windows = len(windows)
    if not n_windows:
        raise ValueError("windows is empty: give at least one")
    for values, name in ((coefs, "coefs"), (exogenous_power, "exogenous_power")):
        if values is not None and len(values) != n_windows:
            raise ValueError(f"{name} must have one entry per window, {n_windows}, got {len(values)}")
    is_tracker = hasattr(learner, "partial_fit")
    if not is_tracker and not hasattr(learner, "fit"):
        raise TypeError(f"tracking_errors needs a learner of time series, got {type(learner).__name__}")
    learner = deepcopy(learner)
    rates, errors, restarts = np.full(n_windows, np.nan), np.full(n_windows, np.nan), []
    for at, (window, coef) in enumerate(zip(windows, coefs, strict=True)):
        options = {} if exogenous_power is None else {"exogenous_power": exogenous_power[at]}
        n_restarts = len(getattr(learner, "restarts_", ()))
        (learner.partial_fit if is_tracker else learner.fit)(window, **options)
        # a tracker of rows counts them in rows
        restarts += [at] * (len(getattr(learner, "restarts_", ())) > n_restarts)
        if not hasattr(learner, "coef_"):
            raise TypeError(f"{type(learner).__name__} has no coef_: give a learner of time series")
        rates[at], errors[at] = edge_error_rate(_read_edges(learner), coef), edge_mse(learner, coef)
    return TrackingCurve(rates, errors, restarts, learner)


def _read_edges(learner: Any) -> np.ndarray:
    """Return the indicators of the edges of the graph, in the shape of the coefficients."""
    edges = learner.graph_.to_arrays(None)
    return edges.sum(axis=0) if np.ndim(learner.coef_) == 2 else edges

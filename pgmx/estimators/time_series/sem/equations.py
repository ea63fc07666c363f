"""The base class of the learners of structural equations: edges at lag 0 by a threshold."""

from numbers import Real
from typing import Any

import numpy as np

from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.time_series.learner import TimeSeriesLearner
from pgmx.estimators.time_series.sem.inputs import EXOGENOUS
from pgmx.models import TimeSeriesGraph


class EquationsLearner(TimeSeriesLearner):
    """Base of the learners of y = A y + B x. A subclass implements `_rank_edges`."""

    lags = 0

    _parameter_constraints: dict[str, Any] = {
        **TimeSeriesLearner._parameter_constraints,
        "exogenous": [StrOptions(set(EXOGENOUS))],
        "threshold": [Interval(Real, 0, None, closed="left")],
    }

    threshold: float
    coef_: Any
    _scales: np.ndarray
    _required: np.ndarray | None = None  # edges that are included for any value of their statistic

    def _rank_edges(self) -> np.ndarray:
        """Return |a_ij| s_j / s_i, the statistic that is compared with the threshold."""
        return np.abs(self.coef_ * (self._scales / self._scales[:, None]))

    def _make_graph(self) -> TimeSeriesGraph:
        strengths = self._rank_edges()
        is_edge = strengths > self.threshold
        if self._required is not None:
            is_edge[self._required[:, 1], self._required[:, 2]] = True
        tables = [self.coef_ * is_edge], [strengths * is_edge]
        return TimeSeriesGraph.from_coefficients(self.variables_, tables[0], strengths=tables[1])

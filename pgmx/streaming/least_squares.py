"""Recursive least squares: the linear baseline of streams, for regression and classification."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from pgmx._ext import _least_squares
from pgmx.streaming.base import Interval, StreamLearner
from pgmx.streaming.classifier import StreamClassifier

_CONSTRAINTS = {"penalty": [Interval(Real, 0, None, closed="neither")]}


class _LeastSquares(StreamLearner):
    """Weights W and P = (sum of (x, 1)(x, 1)' + penalty I)^-1 of all rows so far, updated row by row."""

    _parameter_constraints = _CONSTRAINTS
    _state_names = ("_weights", "_inverse")

    penalty: float

    def _count_values(self, n_features: int) -> int:
        return (n_features + 1) * (n_features + 1 + self._n_outputs)

    def _start(self, n_features: int) -> None:
        self._weights = np.zeros((self._n_outputs, n_features + 1))
        # the inverse of the penalty alone, before any row
        self._inverse = np.eye(n_features + 1) / self.penalty

    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        if predictions is None:
            predictions = np.empty((0, self._n_outputs))
        _least_squares.update(rows, self._encode_targets(targets), self._weights, self._inverse, predictions)

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = np.empty((len(rows), self._n_outputs))
        _least_squares.predict(rows, self._weights, outputs)
        return outputs

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        """Return the targets of the regression, (m, `_n_outputs`)."""
        return targets[:, None]


class RecursiveLeastSquares(RegressorMixin, _LeastSquares):
    """Least squares of all rows so far with an intercept and the ridge `penalty` >= 0 on all weights."""

    def __init__(self, *, penalty: float = 0.01):
        self.penalty = penalty


class RecursiveLeastSquaresClassifier(StreamClassifier, _LeastSquares):
    """Least squares on -1 and 1, one against the rest for more than two classes."""

    def __init__(self, *, penalty: float = 0.01):
        self.penalty = penalty

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        if self._n_outputs == 1:
            return np.ascontiguousarray(2.0 * (targets[:, None] == 1) - 1.0)
        return np.ascontiguousarray(2.0 * (targets[:, None] == np.arange(self._n_outputs)) - 1.0)

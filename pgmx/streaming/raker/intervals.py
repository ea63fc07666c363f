"""Prediction intervals of stream regressors, calibrated by the errors before each row."""

from numbers import Real
from typing import Any

import numpy as np

from pgmx.streaming.base import Interval, StreamLearner
from pgmx.streaming.inputs import iterate_chunks

COVERAGE: dict[str, Any] = {"coverage": [Interval(Real, 0, 1, closed="neither"), None]}


class IntervalsMixin(StreamLearner):
    """Regressors with two outputs: a prediction and the half-width of its interval."""

    coverage: float | None

    @property
    def _n_outputs(self) -> int:
        return 2

    @property
    def _n_functions(self) -> int:
        return 1

    def predict_interval(self, X: Any) -> np.ndarray:
        """Return prediction intervals of rows; nothing is learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends; all have the same width.

        Raises
        ------
        ValueError
            If `coverage` is None.
        """
        self._require_coverage()
        return _get_ends(self._compute_outputs(X))

    def predict_interval_partial_fit(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn more rows and return the prediction interval of each row from the rows before it.

        Parameters
        ----------
        X : array, frame of shape (n_rows, n_features), or iterator of pairs (X, y)
            The rows in their order. They are not changed and not kept.
        y : array of shape (n_rows,)
            The targets; None if `X` is an iterator.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends; the first interval of the stream is unbounded. The prediction is the centre.

        Raises
        ------
        ValueError
            If `coverage` is None, or as `partial_fit`.
        """
        self._require_coverage()
        outputs = [self._learn_chunk(*chunk, with_predictions=True) for chunk in iterate_chunks(X, y)]
        return _get_ends(np.concatenate(outputs))

    def _require_coverage(self) -> None:
        if self.coverage is None:
            raise ValueError(f"coverage=None: set coverage of {type(self).__name__}, for example 0.9")


def _get_ends(outputs: np.ndarray) -> np.ndarray:
    return outputs[:, :1] + outputs[:, 1:] * np.array([-1.0, 1.0])

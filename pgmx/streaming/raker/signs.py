"""Labels as signs, for classifiers with random features."""

from numbers import Real
from typing import Any

import numpy as np

from pgmx.streaming.base import Interval, StrOptions
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.raker.learner import RakerLearner

LOSS: dict[str, Any] = {
    "loss": [StrOptions({"logistic", "hinge"})],
    "step": [Interval(Real, 0, None, closed="neither"), None],
}


class SignsMixin(StreamClassifier, RakerLearner):
    """Classifiers with the targets 1 for a class and -1 for other classes."""

    @property
    def _n_functions(self) -> int:
        return self._n_outputs

    def _list_numbers(self, targets: np.ndarray) -> np.ndarray:
        n = self._n_outputs
        own = targets[:, None] == (np.ones(1) if n == 1 else np.arange(n))
        return np.ascontiguousarray(np.where(own, 1.0, -1.0))

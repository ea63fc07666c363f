"""Raker and AdaRaker: online regression and classification on random features of several kernels.

- `features`: random frequencies of the kernels
- `learner`: base of the four learners: their state, its start, and the compiled pass over rows
- `adaptive`: interval learners of different step sizes, and signs of changes
- `intervals`: prediction intervals of the regressors
- `signs`: labels as signs, for the classifiers
- `regressor`, `classifier`, `adaptive_regressor`, `adaptive_classifier`: the learners

The modules import `pgmx.streaming.base` and `classifier`; the compiled loops are in
``cython_ext/streaming/_raker.pyx``.
"""

from pgmx.streaming.raker.adaptive import Drift
from pgmx.streaming.raker.adaptive_classifier import AdaRakerClassifier
from pgmx.streaming.raker.adaptive_regressor import AdaRakerRegressor
from pgmx.streaming.raker.classifier import RakerClassifier
from pgmx.streaming.raker.regressor import RakerRegressor

__all__ = ["AdaRakerClassifier", "AdaRakerRegressor", "Drift", "RakerClassifier", "RakerRegressor"]

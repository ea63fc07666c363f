"""Stream learners: each row is used once, predicted before it is learned, in constant memory.

- `inputs`: chunks of arrays, frames and iterators, and the row and column of an invalid value
- `options`: options of learners as plain values, to compare and to save
- `saving`: learners in archives of arrays (npz), without pickle
- `base`: base of all learners: chunks, checks, `fit`, `partial_fit`, `predict_partial_fit`, `save` and `load`
- `classifier`: base of classifiers: labels, decision functions, probabilities
- `subspace`: sketches of categorical rows in a low-dimensional subspace, with missing values
- `least_squares`: recursive least squares, the linear baseline
- `gradraker`: Gradraker, regression and classification on the nodes of growing graphs
- `raker`: Raker and AdaRaker, regression and classification on random features of several kernels
- `river`: stream learners as learners of river

`pgmx.metrics`, `pgmx.plotting` and the command line import this package; it imports `pgmx.data` and the archives of
`pgmx.models.files`. The compiled loops are in ``cython_ext/streaming``.
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.streaming.base import StreamLearner
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.gradraker import GradrakerClassifier, GradrakerRegressor
from pgmx.streaming.raker import AdaRakerClassifier, AdaRakerRegressor, Drift, RakerClassifier, RakerRegressor
from pgmx.streaming.river import to_river
from pgmx.streaming.subspace import CategoricalSubspace

__all__ = [
    "AdaRakerClassifier",
    "AdaRakerRegressor",
    "CategoricalSubspace",
    "Drift",
    "GradrakerClassifier",
    "GradrakerRegressor",
    "RakerClassifier",
    "RakerRegressor",
    "StreamClassifier",
    "StreamLearner",
    "to_river",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported; this explains unknown names

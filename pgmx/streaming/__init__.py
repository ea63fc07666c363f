"""Stream learners: each row is used once, predicted before it is learned, in constant memory (except exact kernels)."""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.streaming.adaraker import AdaRakerClassifier, AdaRakerRegressor, Drift
from pgmx.streaming.base import StreamLearner
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.gradraker import GradrakerClassifier, GradrakerRegressor
from pgmx.streaming.online_kernels import OnlineKernelClassifier, OnlineKernelRegressor
from pgmx.streaming.raker import RakerClassifier, RakerRegressor
from pgmx.streaming.river import to_river
from pgmx.streaming.subspace import CategoricalSubspace

__all__ = [
    "AdaRakerClassifier",
    "AdaRakerRegressor",
    "CategoricalSubspace",
    "Drift",
    "GradrakerClassifier",
    "GradrakerRegressor",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "RakerClassifier",
    "RakerRegressor",
    "StreamClassifier",
    "StreamLearner",
    "to_river",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported; this explains unknown names

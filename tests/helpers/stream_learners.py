"""The learners of streams, as the tests that hold for all of them make them. A new learner is entered here."""

from typing import NamedTuple

import numpy as np
import pytest

from pgmx.streaming import (
    AdaRakerClassifier,
    AdaRakerRegressor,
    CategoricalSubspace,
    GradrakerClassifier,
    GradrakerRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    RakerClassifier,
    RakerRegressor,
)
from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier


class Stream(NamedTuple):
    """One learner of rows with targets, made by calling it with options, and what the tests need to know of it."""

    cls: type
    options: dict = {}
    frozen: tuple = ("penalty", 0.5)  # an option that may not change between chunks, and another value
    grid: tuple = ("penalty", [0.01, 1.0])  # an option and its values, for a grid search
    expected_failures: dict = {}  # scikit-learn's checks that cannot hold, each with its reason

    def __call__(self, **options):
        return self.cls(**{**self.options, **options})

    @property
    def name(self):
        return " ".join([self.cls.__name__, *(str(value) for value in self.options.values())])

    @property
    def is_classifier(self):
        return hasattr(self.cls, "decision_function")

    def draw(self, n_rows, seed=0, n_features=4, n_classes=3):
        """Return rows in [0, 1] and targets: a smooth function of them with noise, or its class."""
        rng = np.random.default_rng(seed)
        X = rng.random((n_rows, n_features))
        y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=n_rows)
        if self.is_classifier:
            y = np.array(["high", "low", "mean"])[np.digitize(y, [0.9, 1.2][: n_classes - 1])]
        return X, y

    def start(self, **options):
        """Return a learner and what its first `partial_fit` takes besides rows and targets."""
        return self(**options), ({"classes": ["high", "low", "mean"]} if self.is_classifier else {})


class CellStream(Stream):
    """A learner of rows of levels, without targets."""

    def draw(self, n_rows, seed=0, n_features=4, n_classes=3):
        """Return rows of levels 0, 1, ..., a fifth of them missing, and None for the targets."""
        rng = np.random.default_rng(seed)
        X = rng.integers(n_classes, size=(n_rows, n_features)).astype(float)
        X[:, 1::2] = np.clip(X[:, :-1:2] + rng.integers(2, size=X[:, 1::2].shape), 0, n_classes - 1)
        return np.where(rng.random(X.shape) < 0.2, np.nan, X), None


_SCORES = "predict_proba gives an axis of levels per cell, where this check expects one of classes per row"
SUBSPACE = CellStream(
    CategoricalSubspace,
    frozen=("lam", 3.0),
    grid=("n_components", [1, 2]),
    expected_failures={"check_estimator_sparse_array": _SCORES, "check_estimator_sparse_matrix": _SCORES},
)

STREAMS = [
    Stream(RecursiveLeastSquares),
    Stream(RecursiveLeastSquaresClassifier),
    Stream(GradrakerRegressor, frozen=("variances", 2.0), grid=("step", [0.1, 0.2])),
    Stream(GradrakerClassifier, frozen=("variances", 2.0), grid=("step", [0.1, 0.2])),
    Stream(AdaRakerRegressor, frozen=("variances", (0.5, 2.0)), grid=("step", [0.5, 1.0])),
    Stream(RakerRegressor, {"kernels": ("gaussian", "linear", "polynomial2", "laplacian_l1"), "step": "inverse_sqrt"}),
    Stream(RakerClassifier),
    Stream(OnlineKernelRegressor, frozen=("budget", 41)),
    Stream(OnlineKernelClassifier, {"budget": 40, "penalty": 0.01}),
    Stream(AdaRakerClassifier, {"loss": "hinge"}, frozen=("kernels", "cauchy"), grid=("step", [0.5, 1.0])),
]

every_stream = pytest.mark.parametrize("make", STREAMS, ids=lambda make: make.name)


def find_stream(cls):
    """Return the entry of a class, the first of several."""
    return next(make for make in [*STREAMS, SUBSPACE] if make.cls is cls)


STATE_NAMES = ("n_seen_", "n_features_in_", "classes_")


def list_state(learner):
    """Return the state of a learner as bytes, by name."""
    state = {name: np.asarray(array) for name, array in learner._pack_state().items()}
    state.update({name: np.asarray(getattr(learner, name)) for name in STATE_NAMES if hasattr(learner, name)})
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in state.items()}

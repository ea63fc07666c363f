"""Stream learners as learners of river, with rows as dictionaries."""

from copy import deepcopy
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from pgmx.streaming.base import StreamLearner
from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier


def to_river(learner: StreamLearner, classes: Any = None) -> Any:
    """Return a stream learner as a learner of river.

    Parameters
    ----------
    learner : StreamLearner
        A regressor or a classifier. A copy of it continues to learn, and it is not changed.
    classes : array of shape (n_classes,), optional
        All labels, for a classifier that has not learned any rows.

    Returns
    -------
    river.base.Regressor or river.base.Classifier
        It has ``learn_one(x, y)`` and ``predict_one(x)``, and for a classifier also ``predict_proba_one(x)``.

    Raises
    ------
    ImportError
        If river is missing: ``pip install pgmx[river]``.
    TypeError
        If `learner` is not a regressor or classifier of this package.
    ValueError
        If `classes` are missing, or given for a regressor.

    Notes
    -----
    The columns are the numeric features of the first row, sorted by name. A feature that is absent later has the value
    0, and new features are ignored. Before the first row, the prediction is 0, and all classes have equal
    probabilities. Only the logistic loss has probabilities; for other losses the predicted class has probability 1.

    Examples
    --------
    >>> from pgmx.streaming import to_river
    >>> to_river("raker")
    Traceback (most recent call last):
    TypeError: expected a learner of pgmx.streaming, got str
    """
    if not isinstance(learner, StreamLearner):
        raise TypeError(f"expected a learner of pgmx.streaming, got {type(learner).__name__}")
    if is_classifier(learner):
        classes = getattr(learner, "classes_", classes)
        if classes is None:
            raise ValueError(f"classes=None: give all labels of the stream to {type(learner).__name__}")
        return _make_classes()["RiverClassifier"](learner, np.unique(classes).tolist())
    if not is_regressor(learner):
        raise TypeError(f"{type(learner).__name__} is neither a regressor nor a classifier, so river cannot use it")
    if classes is not None:
        raise ValueError(f"classes={classes!r:.60}, but {type(learner).__name__} is a regressor: leave them out")
    return _make_classes()["RiverRegressor"](learner)


class _RiverLearner:
    """A copy of a learner, and the columns for the conversion of dictionaries to rows."""

    learner: Any
    _copy: Any = None
    _columns: list | None = None

    def _learn(self, x: dict, y: Any, **more: Any) -> None:
        if self._copy is None:
            # the learner of the user stays as it is: river clones and resets by the constructor
            self._copy = deepcopy(self.learner)
            names = getattr(self._copy, "feature_names_in_", None)
            # the columns of the first row stay; other types cannot be learned
            numbers = [name for name, value in x.items() if isinstance(value, Real)]
            self._columns = sorted(numbers, key=str) if names is None else list(names)
        if self._columns:
            self._copy.partial_fit(self._make_row(x), [y], **more)

    def _make_row(self, x: dict) -> np.ndarray:
        values = [x.get(name, 0.0) for name in self._columns or ()]
        return np.array([[float(value) if isinstance(value, Real) else 0.0 for value in values]])

    @property
    def _can_predict(self) -> bool:
        return hasattr(self._copy, "n_seen_")


@cache
def _make_classes() -> dict[str, Any]:
    """Return the two classes derived from classes of river."""
    try:
        from river import base
    except ImportError as error:
        raise ImportError("river is not installed: pip install pgmx[river]") from error

    class RiverRegressor(_RiverLearner, base.Regressor):
        """A stream regressor for river, returned by `to_river`."""

        def __init__(self, learner):
            self.learner = learner

        @classmethod
        def _unit_test_params(cls):
            yield {"learner": RecursiveLeastSquares()}

        def learn_one(self, x, y):
            self._learn(x, y)

        def predict_one(self, x):
            return float(self._copy.predict(self._make_row(x))[0]) if self._can_predict else 0.0

    class RiverClassifier(_RiverLearner, base.Classifier):
        """A stream classifier for river, returned by `to_river`."""

        def __init__(self, learner, classes):
            self.learner = learner
            self.classes = classes

        @classmethod
        def _unit_test_params(cls):
            yield {"learner": RecursiveLeastSquaresClassifier(), "classes": [False, True]}

        @property
        def _multiclass(self):
            return len(self.classes) > 2

        def learn_one(self, x, y):
            self._learn(x, y, classes=self.classes)

        def predict_proba_one(self, x):
            if not self._can_predict:
                return dict.fromkeys(self.classes, 1.0 / len(self.classes))
            row = self._make_row(x)
            if hasattr(self._copy, "predict_proba"):
                shares = self._copy.predict_proba(row)[0]
            else:
                shares = self._copy.classes_ == self._copy.predict(row)[0]
            return dict(zip(self.classes, map(float, shares), strict=True))

    for made in (RiverRegressor, RiverClassifier):
        made.__module__, made.__qualname__ = __name__, made.__name__
    return {"RiverRegressor": RiverRegressor, "RiverClassifier": RiverClassifier}


def __getattr__(name: str) -> Any:
    """Return the classes for river by name; pickles need them."""
    if name in ("RiverRegressor", "RiverClassifier"):
        return _make_classes()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

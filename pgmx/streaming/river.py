"""Learners of streams as learners of river, whose rows are dictionaries."""

from copy import deepcopy
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from pgmx.streaming.base import StreamLearner
from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier


def to_river(learner: StreamLearner, classes: Any = None) -> Any:
    """Return a learner of streams as a learner of river.

    Parameters
    ----------
    learner : StreamLearner
        A regressor or a classifier. A copy of it learns, from where it is; it is not changed.
    classes : array of shape (n_classes,), optional
        All labels, of a classifier that has learned no row.

    Returns
    -------
    river.base.Regressor or river.base.Classifier
        Has ``learn_one(x, y)`` and ``predict_one(x)``, a classifier ``predict_proba_one(x)`` as well.

    Raises
    ------
    ImportError
        Without river: ``pip install pgmx[river]``.
    TypeError
        If `learner` is no regressor or classifier of this package.
    ValueError
        If `classes` are needed, or given for a regressor.

    Notes
    -----
    The columns are the numbers of the first row, sorted by name. A feature that is absent later is 0, and one that
    joins later is left out. Before the first row 0 is predicted, and each class is as probable as another. Losses other
    than the logistic one have no probabilities: the predicted class gets 1.

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
            raise ValueError(f"classes=None: give all labels that {type(learner).__name__} will meet")
        return _make_classes()["RiverClassifier"](learner, np.unique(classes).tolist())
    if not is_regressor(learner):
        raise TypeError(f"{type(learner).__name__} is neither a regressor nor a classifier: river has no place for it")
    if classes is not None:
        raise ValueError(f"classes={classes!r:.60}, but {type(learner).__name__} predicts numbers: leave them out")
    return _make_classes()["RiverRegressor"](learner)


class _Rows:
    """A copy of a learner, and the columns in which dictionaries become rows."""

    learner: Any
    _copy: Any = None
    _columns: list | None = None

    def _learn(self, x: dict, y: Any, **more: Any) -> None:
        if self._copy is None:
            self._copy = deepcopy(self.learner)
            names = getattr(self._copy, "feature_names_in_", None)
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
    """Return the two classes that derive from those of river."""
    try:
        from river import base
    except ImportError as error:
        raise ImportError("river is not installed: pip install pgmx[river]") from error

    class RiverRegressor(_Rows, base.Regressor):
        """A regressor of streams for river; made by `to_river`."""

        def __init__(self, learner):
            self.learner = learner

        @classmethod
        def _unit_test_params(cls):
            yield {"learner": RecursiveLeastSquares()}

        def learn_one(self, x, y):
            self._learn(x, y)

        def predict_one(self, x):
            return float(self._copy.predict(self._make_row(x))[0]) if self._can_predict else 0.0

    class RiverClassifier(_Rows, base.Classifier):
        """A classifier of streams for river; made by `to_river`."""

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
    """Return the classes of river by name, as pickles ask for them."""
    if name in ("RiverRegressor", "RiverClassifier"):
        return _make_classes()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

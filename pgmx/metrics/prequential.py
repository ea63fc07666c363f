"""Prequential errors of stream learners (each row is predicted, then learned), compared with three baselines."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural

if TYPE_CHECKING:
    from pandas import DataFrame

LAST, MEAN, MODE, LINEAR = "last value", "running mean", "most frequent class", "recursive least squares"


@dataclass(frozen=True)
class PrequentialCurve:
    """Errors of a learner and of three baselines per window, returned by `prequential`.

    Attributes
    ----------
    n_rows : ndarray of int64, shape (n_windows,)
        Number of rows of the stream up to the end of each window; the last window may be shorter.
    errors : dict of str to ndarray of float64, shape (n_windows,)
        Mean loss per window: of the learner, under the name of its class, then of the baselines.
    means : dict of str to float
        Mean loss over all rows.
    loss : {"squared", "zero-one", "absolute"}
        The loss: (f - y)² for numeric targets, 1 for a wrong label, ``|f - y|`` for hidden values of a subspace.
    window : int
        Number of rows per window.
    learner : object
        The learner after the last row, a copy of the argument.
    passes : ndarray of float64, shape (n_passes,)
        Mean loss of the learner per pass; a single pass except for a `CategoricalSubspace`.
    thresholds : ndarray of shape (n_windows, n_levels - 1) or None
        The thresholds of a `CategoricalSubspace` at the end of each window; None for other learners.
    """

    n_rows: np.ndarray
    errors: dict[str, np.ndarray]
    means: dict[str, float]
    loss: str
    window: int
    learner: Any
    passes: np.ndarray
    thresholds: np.ndarray | None = None

    def to_frame(self) -> DataFrame:
        """Return the curve as a table: ``n_rows``, one column of errors per learner, and one per threshold."""
        import pandas as pd

        paths = () if self.thresholds is None else self.thresholds.T
        names = {f"threshold {number}": path for number, path in enumerate(paths, start=1)}
        return pd.DataFrame({"n_rows": self.n_rows, **self.errors, **names})


def prequential(learner: Any, X: Any, y: Any = None, *, window: int = 500, classes: Any = None) -> PrequentialCurve:
    r"""Predict each row of a stream before it is learned, and average the losses over windows.

    .. math:: e_w = \frac{1}{|w|} \sum_{t \in w} \ell\bigl(f_{t-1}(x_t), y_t\bigr)

    with :math:`f_{t-1}` learned from the rows before t, and the loss :math:`(f - y)^2`, or 1 for a wrong label. The
    same is computed for three baselines, because the error of a stream is hard to judge alone: the last value, the
    running mean (for labels: the most frequent label), and recursive least squares with an intercept.

    A `CategoricalSubspace` has no target. A fifth of the observed values, the same in all passes, is hidden from it and
    never learned. The hidden values of each row are imputed from the other ones, which are then learned. The loss is
    ``|f - y|``, or 1 for a wrong level of a logit. The baselines are the last value and the running mean (for a logit
    the most frequent level) of the column. There are `max_iter` passes, but one if `X` is an iterator or the learner
    has learned before. Errors per pass are its ``passes``, the path of its thresholds ``thresholds``.

    Parameters
    ----------
    learner : StreamLearner, or estimator with partial_fit and predict
        A regressor, a classifier or a `CategoricalSubspace`. A copy of it continues to learn, and it is not changed.
        An estimator without ``predict_partial_fit`` is called row by row.
    X : array or frame of shape (n_rows, n_features), path, or iterator
        The rows in their order, in the form that ``partial_fit`` needs. Files and iterators need the memory of one
        chunk.
    y : array of shape (n_rows,), str or None
        The targets, or the name of their column in frames and files; None if `X` yields pairs.
    window : int, default=500
        Number of rows per window.
    classes : array of shape (n_classes,), optional
        All labels. Default: the labels that the learner knows, or the labels of `y`. They are required for an iterator
        if the classifier is new.

    Returns
    -------
    PrequentialCurve
        Errors per window and over all rows. The baselines start at the first row of `X`, also if the learner has
        learned rows before.

    Raises
    ------
    TypeError, ValueError
        If the learner cannot predict or rejects a chunk, `window` is not a positive integer, `classes` are missing, or
        a subspace is given a target.

    Notes
    -----
    Cost: the learner, and 2 d² operations per row of d features for recursive least squares. Errors do not depend on
    the size of the chunks.

    References
    ----------
    A. P. Dawid (1984), Statistical theory: the prequential approach, J. R. Stat. Soc. A 147.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.metrics import prequential
    >>> from sklearn.linear_model import SGDRegressor
    >>> X = np.random.default_rng(0).random((80, 2))
    >>> curve = prequential(SGDRegressor(random_state=0), X, X @ [1.0, -1.0], window=40)
    >>> list(curve.errors)
    ['SGDRegressor', 'last value', 'running mean', 'recursive least squares']
    >>> curve.n_rows.tolist()
    [40, 80]
    >>> curve.means["recursive least squares"] < 0.05 < curve.means["running mean"]
    True
    >>> from pgmx.streaming import CategoricalSubspace
    >>> answers = np.array([[1, 2, np.nan], [4, 5, 5], [3, 3, 3], [5, 5, np.nan], [2, 1, 1]] * 20)
    >>> prequential(CategoricalSubspace(n_components=1, lam=1.0, max_iter=3), answers).passes.round(1)
    array([0.6, 0.4, 0.4])
    """
    from pgmx.streaming.inputs import iterate_chunks

    window = check_natural(window, "window", 1)
    if hasattr(learner, "_guess_hidden"):
        if y is not None or classes is not None:
            raise ValueError(f"{type(learner).__name__} has no target: leave y and classes out")
        return _measure_hidden_cells(learner, X, window)
    if not hasattr(learner, "predict"):
        raise TypeError(f"prequential needs a learner that predicts, but {type(learner).__name__} has no predict")
    errors: PrequentialErrors | None = None
    for rows, targets in iterate_chunks(X, y):
        if errors is None:
            errors = PrequentialErrors(learner, window, classes, None if _is_stream(X) else targets)
        errors.learn(rows, targets)
    assert errors is not None  # an empty stream is an error
    return errors.make_curve()


class PrequentialErrors:
    """Sums of losses per window of a copy of a learner and of baselines, updated by chunks."""

    def __init__(self, learner: Any, window: int, classes: Any = None, y: Any = None):
        from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier

        self.learner = deepcopy(learner)  # the caller's learner learns nothing
        self.window = window
        self.n_rows = 0
        self.labels = _list_labels(learner, classes, y)
        self.label = type(learner).__name__
        self.linear: Any = RecursiveLeastSquares() if self.labels is None else RecursiveLeastSquaresClassifier()
        # the sum of numeric targets, or the count of each label; and the last value
        self.history = np.zeros(1 if self.labels is None else len(self.labels))
        # what the baseline of the last value predicts before the first row
        self.last = 0.0 if self.labels is None else self.labels[0]
        self.sums: dict[str, np.ndarray] = {}

    def learn(self, X: Any, y: Any) -> None:
        """Predict and learn a chunk; a chunk that the learner rejects changes nothing."""
        guesses = {self.label: self._predict(self.learner, X, y)}
        # the linear baseline needs dense rows
        dense = X.toarray() if hasattr(X, "toarray") else X
        targets = np.asarray(y).reshape(-1)
        guesses |= {
            LAST: np.concatenate([[self.last], targets[:-1]]),
            MEAN if self.labels is None else MODE: self._list_means(targets),
            LINEAR: self._predict(self.linear, dense, y),
        }
        windows = (self.n_rows + np.arange(len(targets))) // self.window
        for name, guess in guesses.items():
            losses = guess != targets if self.labels is not None else (guess - targets.astype(float)) ** 2
            sums = np.zeros(windows[-1] + 1)
            sums[: len(self.sums.get(name, []))] = self.sums.get(name, [])
            np.add.at(sums, windows, losses.astype(float))  # one by one, so that the sum does not depend on the chunks
            self.sums[name] = sums
        self.last = targets[-1]
        self.n_rows += len(targets)

    def _predict(self, learner: Any, X: Any, y: Any) -> np.ndarray:
        """Learn a chunk, and return the predictions before each row."""
        more = {} if self.labels is None or hasattr(learner, "classes_") else {"classes": self.labels}
        if hasattr(learner, "predict_partial_fit"):
            return learner.predict_partial_fit(X, y, **more)
        started = any(name.endswith("_") and not name.startswith("_") for name in vars(learner))
        return np.array([*_predict_rows(learner, X, np.asarray(y), more, started, self.last)])

    def _list_means(self, targets: np.ndarray) -> np.ndarray:
        """Return the mean, or the most frequent label, before each row."""
        if self.labels is None:
            totals = np.cumsum(np.concatenate([self.history, targets.astype(float)]))
            self.history = totals[-1:]
            return totals[:-1] / np.maximum(self.n_rows + np.arange(len(targets)), 1)
        counts = np.cumsum(np.vstack([self.history, targets[:, None] == self.labels]), axis=0)
        self.history = counts[-1]
        return self.labels[counts[:-1].argmax(axis=1)]

    @property
    def mean(self) -> float:
        """Mean loss of the learner over all rows so far."""
        return float(self.sums[self.label].sum()) / self.n_rows

    def make_curve(self) -> PrequentialCurve:
        """Return the curve of all windows so far."""
        ends = np.minimum((np.arange(len(self.sums[self.label])) + 1) * self.window, self.n_rows)
        sizes = np.diff(ends, prepend=0)
        return PrequentialCurve(
            ends.astype(np.int64),
            {name: sums / sizes for name, sums in self.sums.items()},
            {name: float(sums.sum()) / self.n_rows for name, sums in self.sums.items()},
            "squared" if self.labels is None else "zero-one",
            self.window,
            self.learner,
            np.array([self.mean]),
        )


def _measure_hidden_cells(learner: Any, X: Any, window: int) -> PrequentialCurve:
    """Return the curve of a subspace, which has hidden values instead of a target."""
    from pgmx.metrics.hidden_cells import HiddenCellErrors

    errors = HiddenCellErrors(learner, window)
    errors.run(X)
    ends = np.minimum(np.arange(1, len(errors.counts) + 1) * window, errors.n_rows).astype(np.int64)
    lists = list(errors.list_errors())
    return PrequentialCurve(
        ends,
        {name: windows for name, windows, _ in lists},
        {name: mean for name, _, mean in lists},
        "zero-one" if learner.model == "logit" else "absolute",
        window,
        errors.learner,
        np.array(errors.passes),
        np.array(errors.thresholds),
    )


def _is_stream(X: Any) -> bool:
    """Return whether there may be more chunks after the first."""
    return hasattr(X, "__next__") or isinstance(X, str | PathLike)


def _list_labels(learner: Any, classes: Any, y: Any) -> np.ndarray | None:
    """Return the labels in ascending order, None for a regressor."""
    from sklearn.base import is_classifier

    if not is_classifier(learner):
        if classes is not None:
            raise ValueError(f"classes={classes!r:.60}, but {type(learner).__name__} is a regressor: leave them out")
        return None
    if hasattr(learner, "classes_"):
        return learner.classes_
    labels = y if classes is None else classes
    if labels is None:
        raise ValueError(f"classes=None: give all labels of the stream to {type(learner).__name__}")
    return np.unique(np.asarray(labels))


def _predict_rows(learner: Any, X: Any, y: np.ndarray, more: dict, started: bool, first: Any) -> Iterator[Any]:
    """Predict and learn row by row; before the first row of the stream the prediction is `first`."""
    rows = X.iloc if hasattr(X, "iloc") else X
    for t in range(len(y)):
        row = rows[t : t + 1]
        yield learner.predict(row)[0] if started else first
        learner.partial_fit(row, y[t : t + 1], **more)
        started, more = True, {}

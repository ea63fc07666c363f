"""The base of stream classifiers: labels, decision functions, probabilities of the logistic loss."""

from typing import Any, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from pgmx.checks import join_names
from pgmx.streaming.base import StreamLearner
from pgmx.streaming.inputs import iterate_chunks


def _is_logistic(learner: Any) -> bool:
    """Return whether the loss gives probabilities."""
    return getattr(learner, "loss", None) == "logistic"


Learner = TypeVar("Learner", bound="StreamClassifier")  # with Self, jedi infers the base class


class StreamClassifier(ClassifierMixin, StreamLearner):
    """Base of stream classifiers.

    For one or two classes, there is one output column; positive outputs mean the second class. For more classes, there
    is one column per class; the largest output determines the class. Before the first row the first class is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    """

    classes_: np.ndarray

    @property
    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) < 3 else len(self.classes_)

    def fit(self: Learner, X: Any, y: Any = None, classes: Any = None) -> Learner:
        """Reset the learner and learn the rows in one pass.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, an iterator of pairs (X, y) or of frames, or a
            CSV or Parquet file or folder of Parquet files, which is read in chunks.
        y : array of shape (n_rows,), str or None
            The labels, or the name of their column in frames and files; None if `X` yields pairs.
        classes : array of shape (n_classes,), optional
            All labels. Default: the labels of `y`; for files and iterators the labels of the first chunk.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there are no rows, a label is not among the classes, or values are missing or infinite. The learner is
            then unchanged.
        """
        return self._fit(X, y, classes)

    def partial_fit(self: Learner, X: Any, y: Any = None, classes: Any = None) -> Learner:
        """Learn more rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, an iterator of pairs (X, y) or of frames, or a
            CSV or Parquet file or folder of Parquet files, which is read in chunks.
        y : array of shape (n_rows,), str or None
            The labels, or the name of their column in frames and files; None if `X` yields pairs.
        classes : array of shape (n_classes,), optional
            All labels of the stream: required in the first call, and unchanged in later calls.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there are no rows, `classes` is missing in the first call or differs from it, a label is unknown, the
            number of columns has changed, values are missing or infinite, or an option was changed since the first row.
            Nothing of the chunk is then learned; previous chunks of an iterator are.
        """
        self._require_classes(classes)
        for rows, targets in iterate_chunks(X, y):
            self._learn_chunk(rows, targets, classes=classes)
        return self

    def predict_partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> np.ndarray:
        """Learn more rows and return the prediction of each row before it was learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, an iterator of pairs (X, y) or of frames, or a
            CSV or Parquet file or folder of Parquet files, which is read in chunks.
        y : array of shape (n_rows,), str or None
            The labels, or the name of their column in frames and files; None if `X` yields pairs.
        classes : array of shape (n_classes,), optional
            All labels of the stream: required in the first call, and unchanged in later calls.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels; the prediction of row t uses only the rows before it.

        Raises
        ------
        ValueError
            As `partial_fit`.
        """
        self._require_classes(classes)
        return self._predict_chunks(X, y, classes)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the outputs of rows, which determine the labels; nothing is learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            The output of the second class for two classes, else the output of each class against all others.
        """
        outputs = self._compute_outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; only for the logistic loss.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            1 / (1 + exp(-output)) for two classes. For more classes, the probability of each class against all others,
            divided by the sum.
        """
        shares = expit(self._compute_outputs(X))
        if len(self.classes_) == 1:
            return np.ones((len(shares), 1))
        if shares.shape[1] == 1:
            return np.hstack([1.0 - shares, shares])
        totals = shares.sum(axis=1, keepdims=True)
        return np.where(totals > 0.0, shares / np.where(totals > 0.0, totals, 1.0), 1.0 / shares.shape[1])

    # ---- labels ----

    def _require_classes(self, classes: Any) -> None:
        if classes is None and not hasattr(self, "n_seen_"):
            raise ValueError(
                f"classes=None in the first call of partial_fit: give all labels of the stream to {type(self).__name__}"
            )

    def _check_targets(self, y: np.ndarray, classes: Any, restart: bool) -> np.ndarray:
        if classes is not None:
            classes = np.unique(np.asarray(classes))
            # three of each, because scikit-learn warns about many labels that occur once
            check_classification_targets(np.repeat(classes, 3))
            if not restart and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={join_names(classes.tolist())} differ from the classes of the first call, "
                    f"{join_names(self.classes_.tolist())}"
                )
        if restart:
            if classes is None:
                check_classification_targets(y)
            self.classes_ = np.unique(y) if classes is None else classes
        try:
            unknown = np.setdiff1d(y, self.classes_).tolist()
        # labels of different types cannot be sorted together
        except TypeError:
            unknown = [label for label in y.tolist() if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(
                f"y holds the unknown label(s) {join_names(unknown)}: the classes are "
                f"{join_names(self.classes_.tolist())}"
            )
        return np.searchsorted(self.classes_, y).astype(np.int64)

    def _decode_outputs(self, outputs: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 1:
            # with a single label there is nothing to decide
            return np.repeat(self.classes_, len(outputs))
        if outputs.shape[1] == 1:
            return self.classes_[(outputs[:, 0] > 0.0).astype(np.intp)]
        return self.classes_[outputs.argmax(axis=1)]

    def _check_labels(self) -> None:
        labels = getattr(self, "classes_", np.empty(0))
        if not len(labels) or not np.array_equal(labels, np.unique(labels)):
            raise ValueError("its classes are missing, or not distinct in ascending order")

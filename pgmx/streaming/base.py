"""The base of all learners of streams: chunks, checks, scikit-learn's methods, state in named arrays."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pgmx.lookup import explain_options
from pgmx.streaming.inputs import check_finite, iterate_chunks
from pgmx.streaming.options import compare_options
from pgmx.streaming.saving import read_learner, write_learner

# scikit-learn's private names pass through here: one place to mend when they move
__all__ = ["Interval", "Options", "StrOptions", "StreamLearner"]

Learner = TypeVar("Learner", bound="StreamLearner")  # of Self jedi returns the base class


class StreamLearner(BaseEstimator, ABC):
    """Base of learners that see each row once, in constant memory.

    A subclass stores its options, all keyword-only, declares them in `_parameter_constraints`, derives from
    scikit-learn's ``RegressorMixin`` (or from `StreamClassifier`), and implements the hooks ``_start``, ``_update`` and
    ``_predict``. Its state consists of the arrays that `_state_names` lists.

    Attributes
    ----------
    n_seen_ : int
        Rows learned so far.
    n_features_in_ : int
        Columns of the rows.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, where the first rows came with names.

    Notes
    -----
    ``partial_fit(X, y)`` equals a loop over single rows to the last bit, whatever the chunks, and
    ``predict_partial_fit`` returns what that loop would have predicted before each row. A chunk that is refused leaves
    the learner as it was. Options cannot be changed by ``set_params`` between two chunks, but for those that the class
    says may be: ``fit`` starts anew with other options.

    Copies, pickles and files of ``save`` hold the same state to the last bit.
    """

    _parameter_constraints: dict[str, Any] = {}
    #: Attributes that make up the state: arrays of float64, int64 or other numbers, C-contiguous, owned.
    _state_names: tuple[str, ...] = ()
    #: Those of them that say how large the others are: of a file they are read first.
    _first_names: tuple[str, ...] = ()
    #: Options that may change between chunks.
    _free_options: tuple[str, ...] = ()
    #: Whether rows may be sparse; `_update` and `_predict` take CSR matrices of float64 then as well.
    _accepts_sparse = False

    n_seen_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    _start_options: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        explain_options(cls)

    # ---- hooks ----

    @abstractmethod
    def _start(self, n_features: int) -> None:
        """Make every array of the state anew, for the options as they are; of classifiers, `classes_` is set."""

    @abstractmethod
    def _count_numbers(self, n_features: int) -> int:
        """Return how many numbers the state has at least, for the options as they are; nothing is allocated."""

    @abstractmethod
    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        """Learn checked rows (m, d) in one compiled call; `n_seen_` counts the rows before them.

        Targets are float64 (m,), of classifiers the int64 positions of the labels in `classes_`. `predictions`,
        (m, `_n_outputs`) or None, is filled with what is predicted before each row.
        """

    @abstractmethod
    def _predict(self, rows: Any) -> np.ndarray:
        """Return the outputs of checked rows, float64 (m, `_n_outputs`), and change nothing."""

    @property
    def _n_outputs(self) -> int:
        """Columns of `predictions`."""
        return 1

    def _check_targets(self, y: np.ndarray, classes: Any, restart: bool) -> np.ndarray:
        """Return the targets as `_update` takes them; raise for those that cannot be learned."""
        return np.ascontiguousarray(y, dtype=np.float64)

    def _decode_outputs(self, outputs: np.ndarray) -> np.ndarray:
        """Return predictions (m,) of outputs (m, `_n_outputs`)."""
        return outputs[:, 0]

    # ---- scikit-learn ----

    def fit(self: Learner, X: Any, y: Any = None) -> Learner:
        """Forget everything and learn the rows in one pass.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, a CSV or Parquet file or a folder of Parquet
            files, which is read piece by piece, or an iterator of pairs (X, y) or of frames.
        y : array of shape (n_rows,), str or None
            The targets; the name of their column in frames and files; None where `X` yields pairs.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there is no row, or numbers are missing or infinite: the learner is as it was then.
        """
        return self._fit(X, y)

    def partial_fit(self: Learner, X: Any, y: Any = None) -> Learner:
        """Learn further rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, a CSV or Parquet file or a folder of Parquet
            files, which is read piece by piece, or an iterator of pairs (X, y) or of frames.
        y : array of shape (n_rows,), str or None
            The targets; the name of their column in frames and files; None where `X` yields pairs.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there is no row, the rows have another number of columns than before, numbers are missing or infinite,
            or an option was changed since the first row. Nothing of the chunk is learned then; chunks of an iterator
            that came before it are.
        """
        for rows, targets in iterate_chunks(X, y):
            self._learn_chunk(rows, targets)
        return self

    def predict_partial_fit(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn further rows and return what was predicted before each was learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, a CSV or Parquet file or a folder of Parquet
            files, which is read piece by piece, or an iterator of pairs (X, y) or of frames.
        y : array of shape (n_rows,), str or None
            The targets; the name of their column in frames and files; None where `X` yields pairs.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions, that of row t made by the rows before it.

        Raises
        ------
        ValueError
            As `partial_fit`.
        """
        return self._predict_chunks(X, y)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets of rows; nothing is learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.
        """
        return self._decode_outputs(self._compute_outputs(X))

    def _compute_outputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        self._check_options()  # compiled loops trust them
        return self._predict(self._check_rows(X, None, restart=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_seen_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.target_tags.required = True
        return tags

    # ---- chunks ----

    def _fit(self: Learner, X: Any, y: Any, classes: Any = None) -> Learner:
        """Start anew and learn; a stream that is refused leaves the learner as it was."""
        before = dict(vars(self))
        restart = True
        try:
            for rows, targets in iterate_chunks(X, y):
                self._learn_chunk(rows, targets, classes=classes, restart=restart)
                restart = False
        except BaseException:
            self._restore(before)
            raise
        return self

    def _predict_chunks(self, X: Any, y: Any, classes: Any = None) -> np.ndarray:
        outputs = [
            self._learn_chunk(rows, targets, classes=classes, with_predictions=True)
            for rows, targets in iterate_chunks(X, y)
        ]
        return self._decode_outputs(np.concatenate(outputs))

    def _learn_chunk(
        self, X: Any, y: Any, *, classes: Any = None, restart: bool = False, with_predictions: bool = False
    ) -> Any:
        """Check a chunk, learn it, and return the outputs before each row, or None; a refused one changes nothing."""
        before = dict(vars(self))
        restart = restart or not hasattr(self, "n_seen_")
        try:
            self._validate_params()
            rows, y = self._check_rows(X, y, restart=restart)
            targets = self._check_targets(y, classes, restart)
            if restart:
                self._start(self.n_features_in_)
                self.n_seen_ = 0
                self._freeze_options()
            else:
                self._check_options()
            m = rows.shape[0]
            outputs = np.empty((m, self._n_outputs)) if with_predictions else None
            self._update(rows, targets, outputs)
        except BaseException:
            self._restore(before)
            raise
        self.n_seen_ += m
        return outputs

    def _check_rows(self, X: Any, y: Any, *, restart: bool) -> Any:
        """Return rows as C-contiguous float64, with a y both; without a y the rows alone."""
        learned = restart or y is not None
        target = {"y": y, "y_numeric": self._estimator_type() == "regressor"} if learned else {}
        checked: Any = validate_data(
            self,
            X,
            **target,
            reset=restart,
            dtype=np.float64,
            order="C",
            accept_sparse="csr" if self._accepts_sparse else False,
            ensure_all_finite=False,
        )
        rows = checked[0] if learned else checked
        n_before = (0 if restart else self.n_seen_) if learned else None
        check_finite(rows, getattr(self, "feature_names_in_", None), n_before)
        return checked

    def _estimator_type(self) -> str | None:
        return self.__sklearn_tags__().estimator_type

    def _restore(self, before: dict[str, Any]) -> None:
        """Take the attributes of a moment again; `_start` makes new arrays, so that those of then are unchanged."""
        attributes: Any = vars(self)
        attributes.clear()
        attributes.update(before)

    def _freeze_options(self) -> None:
        """Remember the options that the state was made for."""
        self._start_options = {
            name: value for name, value in self.get_params(deep=False).items() if name not in self._free_options
        }

    def _check_options(self) -> None:
        """Raise ValueError for an option that was changed since the first row."""
        for name, value in self._start_options.items():
            if not compare_options(value, getattr(self, name)):
                raise ValueError(
                    f"{name}={getattr(self, name)!r}, but {type(self).__name__} has learned {self.n_seen_:,} rows with "
                    f"{name}={value!r}: set it back, or start anew by fit"
                )

    # ---- copies and files ----

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or a copy: arrays of its own, in the memory order that keeps the last bit."""
        super().__setstate__(state)
        for name in self._state_names:
            if isinstance(getattr(self, name, None), np.ndarray):
                setattr(self, name, np.array(getattr(self, name), order="C"))

    def _pack_state(self) -> dict[str, np.ndarray]:
        """Return the state as arrays of numbers or text."""
        return {name: getattr(self, name) for name in self._state_names}

    def _unpack_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Take arrays that `_check_state` has passed; `_start` was called before."""
        for name, array in arrays.items():
            setattr(self, name, np.array(array, order="C"))

    def _take_first(self, arrays: dict[str, np.ndarray]) -> None:
        """Check and take the arrays of `_first_names` from a file; raise ValueError for what they cannot be."""

    def _list_sizes(self) -> dict[str, float]:
        """Return the most bytes of each array of the state, of a learner just started; infinity where it grows."""
        return {name: array.nbytes for name, array in self._pack_state().items()}

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Raise ValueError for arrays from a file that cannot be the state of a learner just started."""
        for name, expected in self._pack_state().items():
            array = arrays[name]
            if array.dtype != expected.dtype or array.shape != expected.shape:
                raise ValueError(
                    f"its array {name!r} is {array.dtype} of the shape {array.shape}, where the options ask for "
                    f"{expected.dtype} of {expected.shape}"
                )
            if array.dtype.kind == "f" and np.isnan(array).any():
                raise ValueError(f"its array {name!r} holds NaN")

    def _check_labels(self) -> None:
        """Raise ValueError where a file lacks labels, or has some that do not belong."""
        if hasattr(self, "classes_"):
            raise ValueError("it holds classes, which a regressor does not have")

    def save(self, path: str | os.PathLike) -> Path:
        """Write the learner to a file, from which `load` continues to the last bit.

        Parameters
        ----------
        path : str or path
            Where to write, ending in ``.npz``; an existing file is replaced when the new one is complete.

        Returns
        -------
        pathlib.Path
            The file: an archive of arrays and a JSON document, without pickle.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If no row was learned yet.
        ValueError
            For another suffix, and where an option was changed since the first row.
        TypeError
            For an option or label that a file cannot hold.
        """
        check_is_fitted(self)
        self._check_options()
        return write_learner(self, path)

    @classmethod
    def load(cls: type[Learner], path: str | os.PathLike) -> Learner:
        """Return the learner that `save` has written.

        Parameters
        ----------
        path : str or path
            The file. ``StreamLearner.load`` reads each learner of this package, another class only its own.

        Returns
        -------
        StreamLearner
            The learner, its state the same to the last bit.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is damaged, or holds something else.
        """
        return read_learner(cls, path)

"""The base of all stream learners: chunks, checks, scikit-learn's methods, state in named arrays."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pgmx.checks import refuse_booleans
from pgmx.lookup import explain_options
from pgmx.streaming.inputs import check_finite, iterate_chunks
from pgmx.streaming.saving import compare_options, read_learner, write_learner

# private names of scikit-learn are imported only here, so that changes of them affect one module
__all__ = ["Interval", "Options", "StrOptions", "StreamLearner"]

Learner = TypeVar("Learner", bound="StreamLearner")  # with Self, jedi infers the base class


class StreamLearner(BaseEstimator, ABC):
    """Base of learners that use each row once, in constant memory.

    A subclass stores its options, all keyword-only, declares them in `_parameter_constraints`, derives from
    scikit-learn's ``RegressorMixin`` (or from `StreamClassifier`), and implements the hooks ``_start``, ``_update`` and
    ``_predict``. Its state is the arrays in `_state_names`.

    Attributes
    ----------
    n_seen_ : int
        Number of learned rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, if the first rows had names.

    Notes
    -----
    ``partial_fit(X, y)`` gives exactly the same result as a loop over single rows, for any chunks.
    ``predict_partial_fit`` returns the predictions of that loop before each row. A rejected chunk does not change the
    learner. Most options cannot be changed by ``set_params`` between two chunks; ``fit`` restarts with other options.

    Copies, pickles and files of ``save`` have exactly the same state.
    """

    _parameter_constraints: dict[str, Any] = {}
    #: Attributes of the state: numeric arrays (float64, int64 or others), C-contiguous, owned by the learner.
    _state_names: tuple[str, ...] = ()
    #: The attributes that determine the sizes of the others; they are read first from a file.
    _first_names: tuple[str, ...] = ()
    #: Options that may change between chunks.
    _free_options: tuple[str, ...] = ()
    #: Whether rows may be sparse; `_update` and `_predict` then also accept CSR matrices of float64.
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
        """Create every array of the state for the current options; for classifiers, `classes_` is already set."""

    @abstractmethod
    def _count_values(self, n_features: int) -> int:
        """Return the minimum number of values in the state for the current options, without allocation."""

    @abstractmethod
    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        """Learn checked rows (m, d) in one compiled call; `n_seen_` counts the rows before them.

        Targets are float64 (m,), for classifiers the int64 positions of the labels in `classes_`. `predictions`,
        (m, `_n_outputs`) or None, is filled with the predictions before each row.
        """

    @abstractmethod
    def _predict(self, rows: Any) -> np.ndarray:
        """Return the outputs of checked rows, float64 (m, `_n_outputs`), without changes of the state."""

    @property
    def _n_outputs(self) -> int:
        """Columns of `predictions`."""
        return 1

    def _check_targets(self, y: np.ndarray, classes: Any, restart: bool) -> np.ndarray:
        """Return the targets for `_update`; raise an error for invalid targets."""
        return np.ascontiguousarray(y, dtype=np.float64)

    def _decode_outputs(self, outputs: np.ndarray) -> np.ndarray:
        """Return predictions (m,) of outputs (m, `_n_outputs`)."""
        return outputs[:, 0]

    # ---- scikit-learn ----

    def fit(self: Learner, X: Any, y: Any = None) -> Learner:
        """Reset the learner and learn the rows in one pass.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, an iterator of pairs (X, y) or of frames, or a
            CSV or Parquet file or folder of Parquet files, which is read in chunks.
        y : array of shape (n_rows,), str or None
            The targets, or the name of their column in frames and files; None if `X` yields pairs.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there are no rows, or values are missing or infinite. The learner is then unchanged.
        """
        return self._fit(X, y)

    def partial_fit(self: Learner, X: Any, y: Any = None) -> Learner:
        """Learn more rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, an iterator of pairs (X, y) or of frames, or a
            CSV or Parquet file or folder of Parquet files, which is read in chunks.
        y : array of shape (n_rows,), str or None
            The targets, or the name of their column in frames and files; None if `X` yields pairs.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there are no rows, the number of columns has changed, values are missing or infinite, or an option was
            changed since the first row. Nothing of the chunk is then learned; previous chunks of an iterator are.
        """
        for rows, targets in iterate_chunks(X, y):
            self._learn_chunk(rows, targets)
        return self

    def predict_partial_fit(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn more rows and return the prediction of each row before it was learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features), path, or iterator
            The rows in their order, not changed and not kept: a table, an iterator of pairs (X, y) or of frames, or a
            CSV or Parquet file or folder of Parquet files, which is read in chunks.
        y : array of shape (n_rows,), str or None
            The targets, or the name of their column in frames and files; None if `X` yields pairs.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions; the prediction of row t uses only the rows before it.

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
        self._check_options()  # compiled loops do not check them
        return self._predict(self._check_rows(X, None, restart=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_seen_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.target_tags.required = True
        return tags

    def _validate_params(self) -> None:
        super()._validate_params()
        refuse_booleans(type(self).__name__, self.get_params(deep=False), self._parameter_constraints)

    # ---- chunks ----

    def _fit(self: Learner, X: Any, y: Any, classes: Any = None) -> Learner:
        """Restart and learn; a rejected stream does not change the learner."""
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
        """Check and learn a chunk, and return the outputs before each row or None; a rejected chunk changes nothing."""
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
        """Return rows as C-contiguous float64; with a y, return both."""
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
        # errors name the row of the stream, for predictions only the row of the chunk
        n_before = (0 if restart else self.n_seen_) if learned else None
        check_finite(rows, getattr(self, "feature_names_in_", None), n_before)
        return checked

    def _estimator_type(self) -> str | None:
        return self.__sklearn_tags__().estimator_type

    def _restore(self, before: dict[str, Any]) -> None:
        """Restore previous attributes; `_start` creates new arrays, so that the previous arrays are unchanged."""
        attributes: Any = vars(self)
        attributes.clear()
        attributes.update(before)

    def _freeze_options(self) -> None:
        """Store the options of the state."""
        self._start_options = {
            name: value for name, value in self.get_params(deep=False).items() if name not in self._free_options
        }

    def _check_options(self) -> None:
        """Raise ValueError for an option that was changed since the first row."""
        for name, value in self._start_options.items():
            if not compare_options(value, getattr(self, name)):
                raise ValueError(
                    f"{name}={getattr(self, name)!r}, but {type(self).__name__} has learned {self.n_seen_:,} rows with "
                    f"{name}={value!r}: set it back, or restart by fit"
                )

    # ---- copies and files ----

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or a copy with its own arrays, in the same memory order for exactly the same results."""
        super().__setstate__(state)
        for name in self._state_names:
            # the order of memory decides the order of sums in BLAS and the kernels
            if isinstance(getattr(self, name, None), np.ndarray):
                setattr(self, name, np.array(getattr(self, name), order="C"))

    def _pack_state(self) -> dict[str, np.ndarray]:
        """Return the state as numeric or text arrays."""
        return {name: getattr(self, name) for name in self._state_names}

    def _unpack_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Set the state from arrays that passed `_check_state`; `_start` was called before."""
        for name, array in arrays.items():
            setattr(self, name, np.array(array, order="C"))

    def _unpack_first(self, arrays: dict[str, np.ndarray]) -> None:
        """Check and set the arrays of `_first_names` from a file; raise ValueError for invalid arrays."""

    def _list_sizes(self) -> dict[str, float]:
        """Return the maximum bytes of each array of the state of a new learner; infinity for growing arrays."""
        return {name: array.nbytes for name, array in self._pack_state().items()}

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Raise ValueError for arrays from a file that are invalid as the state of a new learner."""
        for name, expected in self._pack_state().items():
            array = arrays[name]
            if array.dtype != expected.dtype or array.shape != expected.shape:
                raise ValueError(
                    f"its array {name!r} is {array.dtype} of the shape {array.shape}, but the options need "
                    f"{expected.dtype} of {expected.shape}"
                )
            if array.dtype.kind == "f" and np.isnan(array).any():
                raise ValueError(f"its array {name!r} holds NaN")

    def _check_labels(self) -> None:
        """Raise ValueError if a file lacks labels, or has unexpected labels."""
        if hasattr(self, "classes_"):
            raise ValueError("it holds classes, which a regressor does not have")

    def save(self, path: str | os.PathLike) -> Path:
        """Write the learner to a file; `load` restores exactly the same state.

        Parameters
        ----------
        path : str or path
            The file to write, with the suffix ``.npz``; an existing file is replaced when the new one is complete.

        Returns
        -------
        pathlib.Path
            The file: an archive of arrays and a JSON document, without pickle.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If no row was learned yet.
        ValueError
            If the suffix is not ``.npz``, or an option was changed since the first row.
        TypeError
            If an option or label cannot be saved.
        """
        check_is_fitted(self)
        self._check_options()
        return write_learner(self, path)

    @classmethod
    def load(cls: type[Learner], path: str | os.PathLike) -> Learner:
        """Return the learner of a file that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file. ``StreamLearner.load`` reads every learner of this package, other classes only their own files.

        Returns
        -------
        StreamLearner
            The learner with exactly the same state.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is damaged, or is not a saved learner of this class.
        """
        return read_learner(cls, path)

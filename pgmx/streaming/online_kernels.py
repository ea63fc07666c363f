"""Online learning with exact kernels: the baselines of Raker, which keep all rows or the last ones."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pgmx._ext import _raker
from pgmx.streaming.base import Interval, StreamLearner, StrOptions
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.features import DEGREES, LANES, list_kernels, round_up
from pgmx.streaming.losses import LOSSES, check_step

#: Positions of the kernels in the compiled loop; polynomials follow.
_KINDS = {"gaussian": 0, "laplacian": 1, "cauchy": 2, "laplacian_l1": 3, "linear": 4}
_ROOM = 64  # rows allocated at the start


class OnlineKernelLearner(StreamLearner):
    """Base of both learners: support rows (n, d padded), coefficients (n, outputs, P) and log weights (outputs, P)."""

    _parameter_constraints: dict[str, Any] = {
        "kernels": [str, "array-like"],
        "variances": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "budget": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
        "step": [Interval(Real, 0, None, closed="neither")],
        "weight_step": [Interval(Real, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, 1e300, closed="both")],
    }
    _state_names = ("_supports", "_squares", "_coefficients", "_kernel_logs")

    kernels: str | Sequence[str]
    variances: float | Sequence[float]
    budget: int | None
    step: float | None
    weight_step: float
    penalty: float
    loss: str = "square"

    @property
    def kernels_(self) -> tuple[tuple[str, float], ...]:
        """Kernels as pairs of a name and a variance, or a degree."""
        check_is_fitted(self)
        self._check_options()
        return list_kernels(self.kernels, self.variances)

    @property
    def kernel_weights_(self) -> np.ndarray:
        """Weights of the kernels [output, kernel], with sum 1."""
        check_is_fitted(self)
        weights = np.exp(self._kernel_logs)
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def n_supports_(self) -> int:
        """Number of kept rows."""
        check_is_fitted(self)
        return self._count_supports()

    # ---- hooks ----

    def _count_supports(self) -> int:
        return self.n_seen_ if self.budget is None else min(self.n_seen_, self.budget)

    def _count_room(self) -> int:
        """Return the number of rows of the state."""
        return self._count_supports() if self.budget is None else self.budget

    def _count_values(self, n_features: int) -> int:
        pairs = list_kernels(self.kernels, self.variances)
        # without a budget at least the first row
        return self._n_outputs * len(pairs) + (self.budget or 1) * (n_features + self._n_outputs * len(pairs))

    def _start(self, n_features: int) -> None:
        check_step(self._get_step(), self.loss, self.penalty)
        pairs = list_kernels(self.kernels, self.variances)
        room = _ROOM if self.budget is None else self.budget
        self._supports = np.zeros((room, round_up(n_features, LANES)))
        self._squares = np.zeros(room)
        self._coefficients = np.zeros((room, self._n_outputs, len(pairs)))
        # logs, since products of many small factors would underflow
        self._kernel_logs = np.zeros((self._n_outputs, len(pairs)))

    def _get_step(self) -> float:
        return LOSSES[self.loss].get_full_step(self.penalty) if self.step is None else float(self.step)

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        """Return the targets of the functions, (m, `_n_outputs`)."""
        return targets[:, None]

    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        if self.budget is None:
            self._make_room(self.n_seen_ + len(rows))
        self._run(rows, self._encode_targets(targets), predictions, learn=True)

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = np.empty((len(rows), self._n_outputs))
        self._run(rows, np.empty((0, self._n_outputs)), outputs, learn=False)
        return outputs

    def _make_room(self, n_rows: int) -> None:
        """Double the arrays until they hold the rows."""
        room = len(self._squares)
        if n_rows > room:
            more = max(n_rows, 2 * room) - room
            for name in self._state_names[:3]:
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros((more, *array.shape[1:]))]))

    def _run(self, rows: np.ndarray, targets: np.ndarray, predictions: np.ndarray | None, *, learn: bool) -> None:
        pairs = list_kernels(self.kernels, self.variances)
        d = rows.shape[1]
        # a distance of Laplacian kernels is divided by the width, a squared one by (twice) the variance
        factors = {"gaussian": lambda s: 0.5 / s, "cauchy": lambda s: 1.0 / s, "linear": lambda s: 1.0 / d}
        scales = [
            number if DEGREES.get(name, 0) > 1 else factors.get(name, lambda s: s**-0.5)(number)
            for name, number in pairs
        ]
        _raker.learn_supports(
            np.pad(rows, ((0, 0), (0, self._supports.shape[1] - d))),
            targets,
            self._supports,
            self._squares,
            self._coefficients,
            self._kernel_logs,
            np.array([_KINDS.get(name, 5) for name, _ in pairs], dtype=np.int32),
            np.array(scales, dtype=np.float64),
            np.empty((0, 1)) if predictions is None else predictions,
            d=d,
            budget=self.budget or 0,
            loss=LOSSES[self.loss].code,
            step=self._get_step(),
            weight_step=self.weight_step,
            penalty=self.penalty,
            n_seen=self.n_seen_,
            learn=learn,
        )

    # ---- copies and files: without spare rows ----

    def _pack_state(self) -> dict[str, np.ndarray]:
        n = self._count_room()
        return {
            name: np.array(array[:n] if name in self._state_names[:3] else array)
            for name, array in super()._pack_state().items()
        }

    def _unpack_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._unpack_state(arrays)
        # the compiled loop needs at least one row
        self._make_room(1)

    def __getstate__(self) -> dict[str, Any]:
        inherited: Any = super().__getstate__()
        state = dict(inherited)
        if hasattr(self, "n_seen_"):
            state.update(self._pack_state())
        return state

    def _list_sizes(self) -> dict[str, float]:
        arrays = StreamLearner._pack_state(self)
        n = self._count_room()
        rows = self._state_names[:3]
        return {
            name: 8.0 * n * np.prod(array.shape[1:]) if name in rows else array.nbytes for name, array in arrays.items()
        }

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        n = self._count_room()
        for name, expected in StreamLearner._pack_state(self).items():
            array = arrays[name]
            shape = (n, *expected.shape[1:]) if name in self._state_names[:3] else expected.shape
            if array.dtype != expected.dtype or array.shape != shape:
                raise ValueError(
                    f"its array {name!r} is {array.dtype} of the shape {array.shape}, but the options and its learned "
                    f"rows need {expected.dtype} of {shape}"
                )
            if not np.isfinite(array).all():
                raise ValueError(f"its array {name!r} holds NaN or infinite values")


class OnlineKernelRegressor(RegressorMixin, OnlineKernelLearner):
    r"""Online regression by several exact kernels with learned weights: the baseline of `RakerRegressor`.

    For each row, f first predicts its target. Then the row becomes a support:

    .. math:: f(x) = \sum_p w_p f_p(x), \quad f_p(x) = \sum_s a_{sp} k_p(x_s, x), \quad
              a_{tp} = -\mu c'(f_p(x_t), y_t), \quad \log w_p \leftarrow \log w_p - \mu_w c(f_p(x_t), y_t)

    with the loss c = (f - y)^2; the other a_sp are multiplied by 1 - 2 mu lambda, and weights are divided by their sum.
    Without `budget` all rows are supports, and the cost of a row grows with the number of rows.

    Parameters
    ----------
    kernels : str or sequence of str, default="gaussian"
        Kernels of the distance r: "gaussian" exp(-r^2 / (2 s^2)), "laplacian" exp(-r / s), "cauchy"
        1 / (1 + r^2 / s^2). "laplacian_l1": ``exp(-|x - x'|_1 / s)``. Kernels of x'z: "linear" x'z / d,
        "polynomial2" and "polynomial3" ((1 + x'z) / (1 + d))^q.
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel of a distance is used with each width.
    budget : int, default=None
        Number B >= 1 of supports, the last rows (OMKL-B). None: all rows (OMKL).
    step : float, default=0.25
        Step size mu, for k(x, x) <= 1: ``step * (1 + penalty) < 1``. It is divided by k(x, x) if that is larger.
    weight_step : float, default=0.5
        Step size mu_w of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    penalty : float, default=0.0
        Weight lambda of the squared norm of f_p in the loss, at least 0.

    Attributes
    ----------
    n_seen_ : int
        Number of learned rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, if the first rows had names.
    kernels_ : tuple of (str, float)
        The P kernels, each with its variance, for kernels of x'z with their degree.
    kernel_weights_ : ndarray of shape (n_outputs, P)
        Weights of the kernels, with sum 1; there is one output.
    n_supports_ : int
        Number of supports.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or the step size is too large.

    Notes
    -----
    A row costs n (d + P) operations and up to n P exponentials for n supports and d columns; memory is n (d + P).

    References
    ----------
    Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in environments
    with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 1 (OMKL) and section 5 (OMKL-B).

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import OnlineKernelRegressor
    >>> X = np.random.default_rng(0).random((500, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1]
    >>> learner = OnlineKernelRegressor(budget=100)
    >>> errors = learner.predict_partial_fit(X, y) - y
    >>> bool(np.mean(errors[250:] ** 2) < 0.5 * np.var(y)), learner.n_supports_
    (True, 100)
    """

    def __init__(
        self,
        *,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        budget: int | None = None,
        step: float = 0.25,
        weight_step: float = 0.5,
        penalty: float = 0.0,
    ):
        self.kernels = kernels
        self.variances = variances
        self.budget = budget
        self.step = step
        self.weight_step = weight_step
        self.penalty = penalty


class OnlineKernelClassifier(StreamClassifier, OnlineKernelLearner):
    r"""Online classification by several exact kernels with learned weights: the baseline of `RakerClassifier`.

    For each row, f first predicts the label. Then the row becomes a support, for each class as a separate function:

    .. math:: f(x) = \sum_p w_p f_p(x), \quad f_p(x) = \sum_s a_{sp} k_p(x_s, x), \quad
              a_{tp} = -\mu c'(f_p(x_t), y_t), \quad \log w_p \leftarrow \log w_p - \mu_w c(f_p(x_t), y_t)

    with the loss c; the other a_sp are multiplied by 1 - 2 mu lambda, and weights are divided by their sum. Without
    `budget` all rows are supports, and the cost of a row grows with the number of rows.

    Parameters
    ----------
    loss : {"logistic", "hinge"}, default="logistic"
        log(1 + exp(-y f)), which gives probabilities, or max(0, 1 - y f), with y = 1 for the class and -1 for others.
    kernels : str or sequence of str, default="gaussian"
        Kernels of the distance r: "gaussian" exp(-r^2 / (2 s^2)), "laplacian" exp(-r / s), "cauchy"
        1 / (1 + r^2 / s^2). "laplacian_l1": ``exp(-|x - x'|_1 / s)``. Kernels of x'z: "linear" x'z / d,
        "polynomial2" and "polynomial3" ((1 + x'z) / (1 + d))^q.
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel of a distance is used with each width.
    budget : int, default=None
        Number B >= 1 of supports, the last rows (OMKL-B). None: all rows (OMKL).
    step : float, default=None
        Step size mu, for k(x, x) <= 1; it is divided by k(x, x) if that is larger. None: 4 / (1 + 8 penalty) for the
        logistic loss and 2 / (1 + 4 penalty) for the hinge loss.
    weight_step : float, default=0.5
        Step size mu_w of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    penalty : float, default=0.0
        Weight lambda of the squared norm of f_p in the loss, at least 0.

    Attributes
    ----------
    n_seen_ : int
        Number of learned rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, if the first rows had names.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    kernels_ : tuple of (str, float)
        The P kernels, each with its variance, for kernels of x'z with their degree.
    kernel_weights_ : ndarray of shape (n_outputs, P)
        Weights of the kernels, with sum 1; one output for two classes, else one per class.
    n_supports_ : int
        Number of supports.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or the step size is too large.

    Notes
    -----
    A row costs n (d + K P) operations and up to n P exponentials for n supports, d columns and K outputs; memory is
    n (d + K P).

    References
    ----------
    Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in environments
    with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 1 (OMKL) and section 5 (OMKL-B).

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import OnlineKernelClassifier
    >>> X = np.random.default_rng(0).random((500, 3))
    >>> y = np.where(np.sin(6 * X[:, 0]) > X[:, 1] - 0.5, "up", "down")
    >>> learner = OnlineKernelClassifier()
    >>> labels = learner.predict_partial_fit(X, y, classes=["down", "up"])
    >>> bool(np.mean(labels[250:] != y[250:]) < 0.15)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **OnlineKernelLearner._parameter_constraints,
        "loss": [StrOptions({"logistic", "hinge"})],
        "step": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        *,
        loss: str = "logistic",
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        budget: int | None = None,
        step: float | None = None,
        weight_step: float = 0.5,
        penalty: float = 0.0,
    ):
        self.loss = loss
        self.kernels = kernels
        self.variances = variances
        self.budget = budget
        self.step = step
        self.weight_step = weight_step
        self.penalty = penalty

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        n = self._n_outputs
        own = targets[:, None] == (np.ones(1) if n == 1 else np.arange(n))
        return np.ascontiguousarray(np.where(own, 1.0, -1.0))

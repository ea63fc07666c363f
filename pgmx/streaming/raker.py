"""Raker: online regression and classification on random features of several kernels."""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pgmx._ext import _raker
from pgmx.streaming.base import Interval, StreamLearner, StrOptions
from pgmx.streaming.classifier import StreamClassifier
from pgmx.streaming.features import DEGREES, FeatureMap, count_values, list_kernels, make_feature_map, map_rows
from pgmx.streaming.inputs import iterate_chunks
from pgmx.streaming.losses import LOSSES, check_step

COVERAGE: dict[str, Any] = {"coverage": [Interval(Real, 0, 1, closed="neither"), None]}

LOSS: dict[str, Any] = {
    "loss": [StrOptions({"logistic", "hinge"})],
    "step": [Interval(Real, 0, None, closed="neither"), None],
}

#: The schedules of Raker's step; AdaRaker's interval learners have one step size each.
SCHEDULES: list[Any] = [Interval(Real, 0, None, closed="neither"), StrOptions({"constant", "inverse_sqrt"}), callable]

_SQUARE_STEP = 0.25  # the default of the square loss, half a full step


class RakerLearner(StreamLearner):
    """Base of the four learners: coefficients (outputs, experts, kernels, 2 D padded) of random features."""

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "kernels": [str, "array-like"],
        "variances": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "orthogonal": ["boolean"],
        "step": [Interval(Real, 0, None, closed="neither")],
        "weight_step": [Interval(Real, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, 1e300, closed="both")],
        "random_state": ["random_state"],
    }
    _state_names = ("_frequencies", "_coefficients", "_kernel_logs", "_expert_logs", "_losses", "_figures", "_flags")
    #: Number of stored change flags.
    _n_flags = 0
    _is_adaptive = False

    n_components: int
    kernels: str | Sequence[str]
    variances: float | Sequence[float]
    orthogonal: bool
    step: Any
    weight_step: float
    penalty: float
    random_state: Any
    loss: str = "square"
    coverage: float | None = None
    restart: bool = False
    base: int = 2

    @property
    def kernels_(self) -> tuple[tuple[str, float], ...]:
        """Kernels as pairs of a name and a variance, or a degree."""
        check_is_fitted(self)
        self._check_options()
        return list_kernels(self.kernels, self.variances)

    @property
    def frequencies_(self) -> np.ndarray:
        """Frequencies of the shift-invariant kernels, by [kernel, component, feature]."""
        check_is_fitted(self)
        self._check_options()
        n = int((self._kinds == 0).sum()) * self.n_components
        return self._frequencies[: self.n_features_in_, :n].T.reshape(-1, self.n_components, self.n_features_in_).copy()

    @property
    def kernel_weights_(self) -> np.ndarray:
        """Weights of the kernels [output, interval learner, kernel], with sum 1."""
        check_is_fitted(self)
        weights = np.exp(self._kernel_logs[:, : self._count_experts()])
        return weights / weights.sum(axis=2, keepdims=True)

    # ---- hooks ----

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise ValueError(f"its array {name!r} holds infinite values")
        flags = arrays["_flags"]
        if (flags < 0).any() or (flags[1:] >= max(self.n_seen_, 1)).any() or flags[0] > self.n_seen_:
            raise ValueError(f"its flags of changes are not between 0 and its {self.n_seen_:,} learned rows")

    def _list_steps(self) -> np.ndarray:
        """Return the step sizes of the experts."""
        if callable(self.step):
            return np.ones(1)  # the factors are the steps
        full = LOSSES[self.loss].get_full_step(self.penalty)
        if self.step is None or isinstance(self.step, str):
            return np.array([_SQUARE_STEP if self.loss == "square" and self.step == "constant" else full])
        return np.array([float(self.step)])

    def _list_factors(self, n_rows: int) -> np.ndarray | None:
        """Return the factors of the step sizes of the next rows; None for constant steps."""
        rows = self.n_seen_ + 1 + np.arange(n_rows)
        if isinstance(self.step, str) and self.step == "inverse_sqrt":
            return rows**-0.5
        if not callable(self.step):
            return None
        factors = np.empty(n_rows)
        for i, row in enumerate(rows.tolist()):
            step = self.step(row)
            if not isinstance(step, Real) or not 0.0 < float(step) < np.inf:
                raise ValueError(f"step({row}) is {step!r:.60}: the step of a row must be a finite number above 0")
            check_step(float(step), self.loss, self.penalty, f"step({row})")
            factors[i] = step
        return factors

    def _list_rates(self) -> np.ndarray:
        """Return the step sizes of the experts' weights."""
        return self._list_steps()

    def _list_start_logs(self) -> np.ndarray:
        """Return the log weights of new experts."""
        return np.log(self._list_steps())

    @property
    def _alarm_expert(self) -> int:
        """The expert whose losses are monitored for changes."""
        return 0

    def _count_experts(self) -> int:
        """Return the number of experts that predict the next row."""
        return 1

    def _count_values(self, n_features: int) -> int:
        pairs = list_kernels(self.kernels, self.variances)
        values, length = count_values(pairs, n_features, self.n_components)
        return values + len(pairs) * length * self._n_functions * len(self._list_steps())

    def _start(self, n_features: int) -> None:
        steps = self._list_steps()
        if not callable(self.step):
            check_step(float(steps[0]), self.loss, self.penalty)
        pairs = list_kernels(self.kernels, self.variances)
        rng = check_random_state(self.random_state)
        drawn = make_feature_map(pairs, n_features, self.n_components, self.orthogonal, rng)
        self._frequencies, n_outputs = drawn.frequencies, self._n_functions
        self._coefficients = np.zeros((n_outputs, len(steps), len(pairs), drawn.length))
        # logs, since products of many small factors would underflow
        self._kernel_logs = np.zeros((n_outputs, len(steps), len(pairs)))
        self._expert_logs = np.tile(self._list_start_logs(), (n_outputs, 1))
        # -1: no loss yet
        self._losses = np.full((n_outputs, len(steps)), -1.0)
        self._figures = np.zeros(_raker.N_FIGURES)
        self._figures[_raker.MEAN_ERROR] = -1.0
        self._flags = np.zeros(1 + self._n_flags, dtype=np.int64)

    @property
    def _kinds(self) -> np.ndarray:
        """Degrees of the kernels, 0 for shift-invariant ones."""
        names = [name for name, _ in list_kernels(self.kernels, self.variances)]
        return np.array([DEGREES.get(name, 0) for name in names], dtype=np.int32)

    def _append_one(self, rows: np.ndarray) -> np.ndarray:
        """Return rows with a last column of 1 if there are polynomials."""
        return np.hstack([rows, np.ones((len(rows), 1))]) if len(self._frequencies) > rows.shape[1] else rows

    def _map_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the features (m, P, length) of checked rows."""
        drawn = FeatureMap(self._frequencies, self._kinds, self._coefficients.shape[3])
        return map_rows(rows, drawn, self.n_components)

    @property
    def _n_functions(self) -> int:
        """Number of learned functions, the columns of the encoded targets."""
        return self._n_outputs

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        """Return the encoded targets of the functions, (m, `_n_functions`)."""
        return targets[:, None]

    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        _raker.update(
            self._append_one(rows),
            self._encode_targets(targets),
            self._frequencies,
            self._list_steps(),
            self._list_rates(),
            self._list_start_logs(),
            self._coefficients,
            self._kernel_logs,
            self._expert_logs,
            self._losses,
            self._figures,
            self._flags,
            np.empty((0, 1)) if predictions is None else predictions,
            n_components=self.n_components,
            loss=LOSSES[self.loss].code,
            weight_step=self.weight_step,
            penalty=self.penalty,
            adaptive=self._is_adaptive,
            restart=self.restart,
            coverage=self.coverage or 0.0,
            monitored=self._alarm_expert,
            n_seen=self.n_seen_,
            base=self.base,
            kinds=self._kinds,
            factors=self._list_factors(len(rows)),
        )

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = np.empty((len(rows), self._n_outputs))
        _raker.predict(
            self._append_one(rows),
            self._frequencies,
            self._coefficients,
            self._kernel_logs,
            self._expert_logs,
            self._figures,
            outputs,
            n_components=self.n_components,
            n_seen=self.n_seen_,
            base=self.base,
            kinds=self._kinds,
        )
        return outputs


class IntervalsMixin(StreamLearner):
    """Regressors with two outputs: a prediction and the half-width of its interval."""

    coverage: float | None

    @property
    def _n_outputs(self) -> int:
        return 2

    @property
    def _n_functions(self) -> int:
        return 1

    def predict_interval(self, X: Any) -> np.ndarray:
        """Return prediction intervals of rows; nothing is learned.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends; all have the same width.

        Raises
        ------
        ValueError
            If `coverage` is None.
        """
        self._require_coverage()
        return _get_ends(self._compute_outputs(X))

    def predict_interval_partial_fit(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn more rows and return the prediction interval of each row from the rows before it.

        Parameters
        ----------
        X : array, frame of shape (n_rows, n_features), or iterator of pairs (X, y)
            The rows in their order. They are not changed and not kept.
        y : array of shape (n_rows,)
            The targets; None if `X` is an iterator.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends; the first interval of the stream is unbounded. The prediction is the centre.

        Raises
        ------
        ValueError
            If `coverage` is None, or as `partial_fit`.
        """
        self._require_coverage()
        outputs = [self._learn_chunk(*chunk, with_predictions=True) for chunk in iterate_chunks(X, y)]
        return _get_ends(np.concatenate(outputs))

    def _require_coverage(self) -> None:
        if self.coverage is None:
            raise ValueError(f"coverage=None: set coverage of {type(self).__name__}, for example 0.9")


def _get_ends(outputs: np.ndarray) -> np.ndarray:
    return outputs[:, :1] + outputs[:, 1:] * np.array([-1.0, 1.0])


class SignsMixin(StreamClassifier, RakerLearner):
    """Classifiers with the targets 1 for a class and -1 for other classes."""

    @property
    def _n_functions(self) -> int:
        return self._n_outputs

    def _encode_targets(self, targets: np.ndarray) -> np.ndarray:
        n = self._n_outputs
        own = targets[:, None] == (np.ones(1) if n == 1 else np.arange(n))
        return np.ascontiguousarray(np.where(own, 1.0, -1.0))


# ---- the learners ----


class RakerRegressor(RegressorMixin, IntervalsMixin, RakerLearner):
    r"""Online regression by random features of several kernels with learned weights.

    For each row, f first predicts its target. Then the row is learned:

    .. math:: f(x) = \sum_p w_p \theta_p' z_p(x), \quad
              \theta_p \leftarrow \theta_p - s (c'(\theta_p' z_p, y) z_p + 2 \lambda \theta_p), \quad
              \log w_p \leftarrow \log w_p - s_w c(\theta_p' z_p, y)

    with the loss c = (f - y)^2, the sines and cosines z_p of D random frequencies of kernel p over the root of D, and
    the weights w_p divided by their sum.

    Parameters
    ----------
    n_components : int, default=50
        Number D of random frequencies per kernel, each with a sine and a cosine; at least 1.
    kernels : str or sequence of str, default="gaussian"
        Kernels of the distance r: "gaussian" exp(-r^2 / (2 s^2)), "laplacian" exp(-r / s), "cauchy"
        1 / (1 + r^2 / s^2). "laplacian_l1": ``exp(-|x - x'|_1 / s)``. Kernels of x'z: "linear" x'z / d,
        "polynomial2" and "polynomial3" ((1 + x'z) / (1 + d))^q.
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel of a distance is used with each width.
    orthogonal : bool, default=True
        If True, the directions of up to n_features frequencies are orthogonal. This reduces the variance of the
        approximation of the same kernels. "laplacian_l1" has independent frequencies.
    step : float, {"constant", "inverse_sqrt"} or callable, default=0.25
        Step size of the coefficients, for features of length 1: ``step * (1 + penalty) < 1``. "constant": 0.25.
        "inverse_sqrt": m / sqrt(t) at row t = 1, 2, ..., with m = 1 / (2 + 2 penalty). A function of t returns the step
        of row t; such a learner can be pickled if the function can, but not saved.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    penalty : float, default=0.0
        Weight of the squared length of the coefficients in the loss, at least 0.
    coverage : float or None, default=0.9
        Share of targets inside the intervals of ``predict_interval``, between 0 and 1. None: no intervals.
    random_state : int, RandomState or None, default=0
        Seed of the frequencies; None uses fresh entropy.

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
    frequencies_ : ndarray of shape (n_waves, n_components, `n_features_in_`)
        Frequencies of the kernels of a distance.
    kernel_weights_ : ndarray of shape (n_outputs, 1, P)
        Weights of the kernels, with sum 1; there is one output.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or a step size is too large.

    Notes
    -----
    A row costs about P D d + 8 P D multiplications and P D sines and cosines for d columns and P kernels; memory is
    O(P D d). All polynomials share count sketches with 2 D buckets: the features of degree q are products of the
    Fourier transforms of the first q sketches [4]_, each of which costs 2 D d multiplications. A linear kernel has
    the d columns as features. Features of these kernels that are longer than 1 divide the step by their squared length.
    The default step sizes suit targets of about unit range. Scale the columns to a range that suits the variances.

    Intervals are f ± q m with the running mean m of the errors ``|y - f|`` before each row was learned. log q increases
    by 0.05 coverage after a miss and decreases by 0.05 (1 - coverage) otherwise. The share of misses over T rows is
    1 - coverage within O(1/T), if log q stays between -50 and 50.

    References
    ----------
    .. [1] Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in
       environments with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 2.
    .. [2] Yu, F. X. et al. (2016). Orthogonal random features. Advances in Neural Information Processing Systems 29.
    .. [3] Gibbs, I. and Candes, E. (2021). Adaptive conformal inference under distribution shift. Advances in Neural
       Information Processing Systems 34, equation 2; here on a logarithmic scale.
    .. [4] Pham, N. and Pagh, R. (2013). Fast and scalable polynomial kernels via explicit feature maps. Proceedings of
       KDD, 239-247.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import RakerRegressor
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1]
    >>> learner = RakerRegressor()
    >>> errors = learner.predict_partial_fit(X, y) - y
    >>> bool(np.mean(errors[1000:] ** 2) < 0.2 * np.var(y))
    True
    >>> ends = learner.predict_interval(X[:5])
    >>> ends.shape
    (5, 2)
    """

    _parameter_constraints: dict[str, Any] = {**RakerLearner._parameter_constraints, **COVERAGE, "step": SCHEDULES}

    def __init__(
        self,
        *,
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        orthogonal: bool = True,
        step: float | str | Callable[[int], float] = 0.25,
        weight_step: float = 2.0,
        penalty: float = 0.0,
        coverage: float | None = 0.9,
        random_state: Any = 0,
    ):
        self.n_components = n_components
        self.kernels = kernels
        self.variances = variances
        self.orthogonal = orthogonal
        self.step = step
        self.weight_step = weight_step
        self.penalty = penalty
        self.coverage = coverage
        self.random_state = random_state


class RakerClassifier(SignsMixin, RakerLearner):
    r"""Online classification by random features of several kernels with learned weights.

    For each row, f first predicts the label. Then each class is learned as a separate function:

    .. math:: f(x) = \sum_p w_p \theta_p' z_p(x), \quad
              \theta_p \leftarrow \theta_p - s (c'(\theta_p' z_p, y) z_p + 2 \lambda \theta_p), \quad
              \log w_p \leftarrow \log w_p - s_w c(\theta_p' z_p, y)

    with the loss c, the sines and cosines z_p of D random frequencies of kernel p over the root of D, and the weights
    w_p divided by their sum.

    Parameters
    ----------
    loss : {"logistic", "hinge"}, default="logistic"
        log(1 + exp(-y f)), which gives probabilities, or max(0, 1 - y f), with y = 1 for the class and -1 for others.
    n_components : int, default=50
        Number D of random frequencies per kernel, each with a sine and a cosine; at least 1.
    kernels : str or sequence of str, default="gaussian"
        Kernels of the distance r: "gaussian" exp(-r^2 / (2 s^2)), "laplacian" exp(-r / s), "cauchy"
        1 / (1 + r^2 / s^2). "laplacian_l1": ``exp(-|x - x'|_1 / s)``. Kernels of x'z: "linear" x'z / d,
        "polynomial2" and "polynomial3" ((1 + x'z) / (1 + d))^q.
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel of a distance is used with each width.
    orthogonal : bool, default=True
        If True, the directions of up to n_features frequencies are orthogonal. This reduces the variance of the
        approximation of the same kernels. "laplacian_l1" has independent frequencies.
    step : float, {"constant", "inverse_sqrt"} or callable, default=None
        Step size of the coefficients, for features of length 1. None and "constant": m = 4 / (1 + 8 penalty) for the
        logistic loss and 2 / (1 + 4 penalty) for the hinge loss. The logistic loss diverges at twice this value or
        more, the hinge loss at 1 / penalty or more. "inverse_sqrt": m / sqrt(t) at row t = 1, 2, ... A function of t
        returns the step of row t; such a learner can be pickled if the function can, but not saved.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0. With 0 the weights stay equal.
    penalty : float, default=0.0
        Weight of the squared length of the coefficients in the loss, at least 0.
    random_state : int, RandomState or None, default=0
        Seed of the frequencies; None uses fresh entropy.

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
    frequencies_ : ndarray of shape (n_waves, n_components, `n_features_in_`)
        Frequencies of the kernels of a distance.
    kernel_weights_ : ndarray of shape (n_outputs, 1, P)
        Weights of the kernels, with sum 1; one output for two classes, else one per class.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or a step size is too large.

    Notes
    -----
    A row costs about P D d + 8 P D multiplications and P D sines and cosines for d columns and P kernels; memory is
    O(P D d). All polynomials share count sketches with 2 D buckets: the features of degree q are products of the
    Fourier transforms of the first q sketches [3]_, each of which costs 2 D d multiplications. A linear kernel has
    the d columns as features. Features of these kernels that are longer than 1 divide the step by their squared length.
    The default step sizes suit targets of about unit range, here ±1.
    Several classes are learned one against the rest on the same features. The thesis version of [1]_ (chapter 3) has a
    wrong sign in Pr(y = 1) = 1 / (1 + exp(f)) and a factor 2 in the gradient; here Pr(y = 1) is 1 / (1 + exp(-f)).

    References
    ----------
    .. [1] Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in
       environments with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 2.
    .. [2] Yu, F. X. et al. (2016). Orthogonal random features. Advances in Neural Information Processing Systems 29.
    .. [3] Pham, N. and Pagh, R. (2013). Fast and scalable polynomial kernels via explicit feature maps. Proceedings of
       KDD, 239-247.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import RakerClassifier
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = np.where(np.sin(6 * X[:, 0]) > X[:, 1] - 0.5, "up", "down")
    >>> learner = RakerClassifier()
    >>> labels = learner.predict_partial_fit(X, y, classes=["down", "up"])
    >>> bool(np.mean(labels[1000:] != y[1000:]) < 0.08)
    True
    """

    _parameter_constraints: dict[str, Any] = {**RakerLearner._parameter_constraints, **LOSS, "step": [*SCHEDULES, None]}

    def __init__(
        self,
        *,
        loss: str = "logistic",
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        orthogonal: bool = True,
        step: float | str | Callable[[int], float] | None = None,
        weight_step: float = 2.0,
        penalty: float = 0.0,
        random_state: Any = 0,
    ):
        self.loss = loss
        self.n_components = n_components
        self.kernels = kernels
        self.variances = variances
        self.orthogonal = orthogonal
        self.step = step
        self.weight_step = weight_step
        self.penalty = penalty
        self.random_state = random_state

"""AdaRaker: Raker learners with different step sizes, their weights reset at starts of intervals, and change flags."""

from collections.abc import Sequence
from math import log2
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pgmx.streaming.base import Interval
from pgmx.streaming.losses import LOSSES
from pgmx.streaming.raker import COVERAGE, LOSS, IntervalsMixin, RakerLearner, SignsMixin

#: Maximum length of an interval.
_LONGEST = 2**31
#: The default step of classifiers in full steps, chosen on streams of eye states and signs of `drifting_stream`.
#: Intervals of up to 256 rows then use full steps.
_FULL_STEPS = 16.0


class Drift(NamedTuple):
    """Estimate of how fast a stream changes, by an AdaRaker learner.

    Attributes
    ----------
    interval : int
        Length base^j, in rows, of the leading interval learner. It has the smallest loss over about the last 100 rows,
        averaged over the outputs. On stationary streams, long intervals with small steps lead.
    step : float
        Its step size.
    n_flags : int
        Number of flagged changes.
    flags : ndarray of int64
        Rows, counted from 0, after which changes were flagged (at most the last 64), in ascending order.
    """

    interval: int
    step: float
    n_flags: int
    flags: np.ndarray


class AdaptiveLearner(RakerLearner):
    """Experts with step sizes min(m, step b^(-j/2)) for intervals of b^j rows: base b, full step m of the loss."""

    _parameter_constraints: dict[str, Any] = {
        **RakerLearner._parameter_constraints,
        "restart": ["boolean"],
        "base": [Interval(Integral, 2, 64, closed="both")],
    }
    _n_flags = 64
    _is_adaptive = True

    @property
    def expert_weights_(self) -> np.ndarray:
        """Weights of the interval learners [output, interval learner], with sum 1."""
        check_is_fitted(self)
        logs = self._expert_logs[:, : self._count_experts()]
        # the largest log is subtracted, so that exp cannot overflow
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def drift_(self) -> Drift:
        """The leading interval learner, and the rows of flagged changes."""
        check_is_fitted(self)
        losses = self._losses.mean(axis=0)
        # negative: this learner has not seen a row
        leader = int(np.where(losses < 0.0, np.inf, losses).argmin())
        # a ring: entry 0 counts all flags, the others hold the last of them
        n, room = int(self._flags[0]), self._n_flags
        places = np.arange(max(0, n - room), n) % room
        return Drift(int(self.base) ** leader, float(self._list_steps()[leader]), n, self._flags[1:][places])

    def _list_steps(self) -> np.ndarray:
        most = LOSSES[self.loss].get_full_step(self.penalty)
        first = _FULL_STEPS * most if self.step is None else self.step
        n_experts = _count_digits(_LONGEST, self.base)
        return np.minimum(most, first * float(self.base) ** (-0.5 * np.arange(n_experts)))

    @property
    def _alarm_expert(self) -> int:
        # intervals of about 64 rows: long enough to show a change, short enough to recover soon
        return max(1, round(6.0 / log2(self.base)))

    def _list_rates(self) -> np.ndarray:
        steps = self._list_steps()
        return steps if self.restart else np.full(len(steps), float(self.weight_step))

    def _list_start_logs(self) -> np.ndarray:
        # steps of long intervals are small; as weights they would slow these intervals down on stationary streams
        return (1.0 if self.restart else 0.5) * np.log(self._list_steps())

    def _count_experts(self) -> int:
        # a learner of intervals of b^j rows starts at row b^j
        return min(len(self._list_steps()), _count_digits(self.n_seen_ + 1, self.base))


def _count_digits(number: int, base: int) -> int:
    """Return floor(log number) + 1 to the base."""
    n = 0
    while number:
        n, number = n + 1, number // base
    return n


class AdaRakerRegressor(RegressorMixin, IntervalsMixin, AdaptiveLearner):
    r"""Online regression in changing environments: a mixture of Raker learners with different step sizes.

    Learner j has the step size s_j = min(m, step b^(-j/2)). At each multiple of b^j rows, its weight h_j is reset to
    the root of s_j. For each row, the mixture f first predicts its target. Then all learners learn it:

    .. math:: f(x) = \sum_j h_j f_j(x), \quad
              f_j(x) = \sum_p w_{jp} \theta_{jp}' z_p(x), \quad
              \log h_j \leftarrow \log h_j + s_w (c(f, y) - c(f_j, y))

    with the loss c = (f - y)^2, the step size s_w = `weight_step` and the weights divided by their sum; f_j is the
    prediction of a `RakerRegressor` of this step size.

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
    step : float, default=1.0
        The interval learner of b^j rows has the step size min(m, step b^(-j/2)), with m = 1 / (2 + 2 penalty).
    base : int, default=2
        Base b of the lengths of intervals, from 2 to 64. A row costs log 2 / log b as much as with the base 2.
    restart : bool, default=False
        If True, follow the source: an interval learner resets its coefficients and the weights of its kernels at the
        start of its next interval, its own weight h_j becomes s_j, and s_j replaces s_w.
    weight_step : float, default=2.0
        Step size of the log weights of kernels and interval learners, at least 0. With 0 the weights are constant.
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
    kernel_weights_ : ndarray of shape (n_outputs, n_active, P)
        Weights of the kernels, with sum 1; there is one output.
    expert_weights_ : ndarray of shape (n_outputs, n_active)
        Weights of the floor(log(n_seen_ + 1) / log(base)) + 1 interval learners that predict the next row, with sum 1.
    drift_ : Drift
        The leading interval learner (``interval``, ``step``), the number ``n_flags`` of flagged changes, and the rows
        ``flags`` of the last 64 changes.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or a step size is too large.

    Notes
    -----
    A row costs about P D d + 8 J P D multiplications and P D sines and cosines, for d columns, P kernels and J = log
    of the number of learned rows. Memory is O(32 P D + P D d).
    The default step sizes suit targets of about unit range. Scale the columns to a range that suits the variances.
    The sign of the loss of a learner relative to the mixture is wrong in [1]_: as printed, learners with smaller loss
    lose weight. Its small weights h_j = s_j with steps s_j slow down long intervals on stationary streams. With
    `weight_step` and the root of s_j, errors were smaller on most streams that were measured.

    Changes are flagged by a CUSUM of the losses of the learner of 64 rows. It uses the likelihood ratio of errors 1.5
    times as large against the errors of about the last 200 rows, truncated at 3.5 standard deviations. Flags do not
    change predictions.

    Intervals are f ± q m with the running mean m of the errors ``|y - f|`` before each row was learned. log q increases
    by 0.05 coverage after a miss and decreases by 0.05 (1 - coverage) otherwise. The share of misses over T rows is
    1 - coverage within O(1/T), if log q stays between -50 and 50.

    References
    ----------
    .. [1] Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in
       environments with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 3.
    .. [2] Yu, F. X. et al. (2016). Orthogonal random features. Advances in Neural Information Processing Systems 29.
    .. [3] Gibbs, I. and Candes, E. (2021). Adaptive conformal inference under distribution shift. Advances in Neural
       Information Processing Systems 34, equation 2; here on a logarithmic scale.
    .. [4] Page, E. S. (1954). Continuous inspection schemes. Biometrika 41, 100-115.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import AdaRakerRegressor
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1]
    >>> learner = AdaRakerRegressor()
    >>> errors = learner.predict_partial_fit(X, y) - y
    >>> bool(np.mean(errors[1000:] ** 2) < 0.2 * np.var(y))
    True
    >>> ends = learner.predict_interval(X[:5])
    >>> ends.shape
    (5, 2)
    """

    _parameter_constraints: dict[str, Any] = {**AdaptiveLearner._parameter_constraints, **COVERAGE}

    def __init__(
        self,
        *,
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        orthogonal: bool = True,
        step: float = 1.0,
        base: int = 2,
        restart: bool = False,
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
        self.base = base
        self.restart = restart
        self.weight_step = weight_step
        self.penalty = penalty
        self.coverage = coverage
        self.random_state = random_state


class AdaRakerClassifier(SignsMixin, AdaptiveLearner):
    r"""Online classification in changing environments: a mixture of Raker learners with different step sizes.

    Learner j has the step size s_j = min(m, step b^(-j/2)). At each multiple of b^j rows, its weight h_j is reset to
    the root of s_j. For each row, the mixture f first predicts the label. Then all learners learn it:

    .. math:: f(x) = \sum_j h_j f_j(x), \quad
              f_j(x) = \sum_p w_{jp} \theta_{jp}' z_p(x), \quad
              \log h_j \leftarrow \log h_j + s_w (c(f, y) - c(f_j, y))

    with the loss c, the step size s_w = `weight_step` and the weights divided by their sum; f_j is the
    function of a `RakerClassifier` of this step size.

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
    step : float, default=None
        The interval learner of b^j rows has the step size min(m, step b^(-j/2)), with m = 4 / (1 + 8 penalty) for the
        logistic loss and 2 / (1 + 4 penalty) for the hinge loss; None: 16 m.
    base : int, default=2
        Base b of the lengths of intervals, from 2 to 64. A row costs log 2 / log b as much as with the base 2.
    restart : bool, default=False
        If True, follow the source: an interval learner resets its coefficients and the weights of its kernels at the
        start of its next interval, its own weight h_j becomes s_j, and s_j replaces s_w.
    weight_step : float, default=2.0
        Step size of the log weights of kernels and interval learners, at least 0. With 0 the weights are constant.
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
    kernel_weights_ : ndarray of shape (n_outputs, n_active, P)
        Weights of the kernels, with sum 1; one output for two classes, else one per class.
    expert_weights_ : ndarray of shape (n_outputs, n_active)
        Weights of the floor(log(n_seen_ + 1) / log(base)) + 1 interval learners that predict the next row, with sum 1.
    drift_ : Drift
        The leading interval learner (``interval``, ``step``), the number ``n_flags`` of flagged changes, and the rows
        ``flags`` of the last 64 changes.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or a step size is too large.

    Notes
    -----
    A row costs about P D d + 8 J P D multiplications (the second term per class), and P D sines and cosines, for d
    columns, P kernels and J = log_b of the number of learned rows. Memory is O(32 P D) per class and O(P D d).
    The default step sizes suit targets of about unit range, here ±1.
    Several classes are learned one against the rest on the same features. The thesis version of [1]_ (chapter 3) has a
    wrong sign in Pr(y = 1) = 1 / (1 + exp(f)) and a factor 2 in the gradient; here Pr(y = 1) is 1 / (1 + exp(-f)).
    The sign of the loss of a learner relative to the mixture is wrong in [1]_: as printed, learners with smaller loss
    lose weight. Its small weights h_j = s_j with steps s_j slow down long intervals on stationary streams. With
    `weight_step` and the root of s_j, errors were smaller on most streams that were measured.

    Changes are flagged by a CUSUM of the mistakes of the learner of 64 rows. It uses the likelihood ratio of a doubled
    mistake rate against the rate over about the last 200 rows. Flags do not change predictions.

    References
    ----------
    .. [1] Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in
       environments with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 3.
    .. [2] Yu, F. X. et al. (2016). Orthogonal random features. Advances in Neural Information Processing Systems 29.
    .. [3] Page, E. S. (1954). Continuous inspection schemes. Biometrika 41, 100-115.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import AdaRakerClassifier
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = np.where(np.sin(6 * X[:, 0]) > X[:, 1] - 0.5, "up", "down")
    >>> learner = AdaRakerClassifier()
    >>> labels = learner.predict_partial_fit(X, y, classes=["down", "up"])
    >>> bool(np.mean(labels[1000:] != y[1000:]) < 0.08)
    True
    """

    _parameter_constraints: dict[str, Any] = {**AdaptiveLearner._parameter_constraints, **LOSS}

    def __init__(
        self,
        *,
        loss: str = "logistic",
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        orthogonal: bool = True,
        step: float | None = None,
        base: int = 2,
        restart: bool = False,
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
        self.base = base
        self.restart = restart
        self.weight_step = weight_step
        self.penalty = penalty
        self.random_state = random_state

"""Raker: online regression by random features of several kernels."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import RegressorMixin

from pgmx.streaming.raker.intervals import COVERAGE, IntervalsMixin
from pgmx.streaming.raker.learner import RakerLearner


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
    kernels : {"gaussian", "laplacian", "cauchy"} or sequence of them, default="gaussian"
        Shift-invariant kernels of the distance r: exp(-r^2 / (2 s^2)), exp(-r / s) and 1 / (1 + r^2 / s^2).
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel is used with each width.
    orthogonal : bool, default=True
        If True, the directions of up to n_features frequencies are orthogonal. This reduces the variance of the
        approximation of the same kernels.
    step : float, default=0.25
        Step size of the coefficients, for features of length 1: ``step * (1 + penalty) < 1``.
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
        The P kernels, each with its variance.
    frequencies_ : ndarray of shape (P, n_components, `n_features_in_`)
        Frequencies of the kernels.
    kernel_weights_ : ndarray of shape (n_outputs, 1, P)
        Weights of the kernels, with sum 1; there is one output.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or a step size is too large.

    Notes
    -----
    A row costs about P D d + 8 P D multiplications and P D sines and cosines for d columns and P kernels; memory is
    O(P D d).
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

    _parameter_constraints: dict[str, Any] = {**RakerLearner._parameter_constraints, **COVERAGE}

    def __init__(
        self,
        *,
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        orthogonal: bool = True,
        step: float = 0.25,
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

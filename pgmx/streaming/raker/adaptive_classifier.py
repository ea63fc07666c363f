"""AdaRaker: online classification by interval learners of different step sizes."""

from collections.abc import Sequence
from typing import Any

from pgmx.streaming.raker.adaptive import AdaptiveLearner
from pgmx.streaming.raker.signs import LOSS, SignsMixin


class AdaRakerClassifier(SignsMixin, AdaptiveLearner):
    r"""Online classification in changing environments: a mixture of Raker learners with different step sizes.

    Learner j has the step size s_j = min(m, step 2^(-j/2)). At each multiple of 2^j rows, its weight h_j is reset to
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
    kernels : {"gaussian", "laplacian", "cauchy"} or sequence of them, default="gaussian"
        Shift-invariant kernels of the distance r: exp(-r^2 / (2 s^2)), exp(-r / s) and 1 / (1 + r^2 / s^2).
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel is used with each width.
    orthogonal : bool, default=True
        If True, the directions of up to n_features frequencies are orthogonal. This reduces the variance of the
        approximation of the same kernels.
    step : float, default=None
        The interval learner of 2^j rows has the step size min(m, step 2^(-j/2)), with m = 4 / (1 + 8 penalty) for the
        logistic loss and 2 / (1 + 4 penalty) for the hinge loss; None: 16 m.
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
        The P kernels, each with its variance.
    frequencies_ : ndarray of shape (P, n_components, `n_features_in_`)
        Frequencies of the kernels.
    kernel_weights_ : ndarray of shape (n_outputs, n_active, P)
        Weights of the kernels, with sum 1; one output for two classes, else one per class.
    expert_weights_ : ndarray of shape (n_outputs, n_active)
        Weights of the floor(log2(n_seen_ + 1)) + 1 interval learners that predict the next row, with sum 1.
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
    columns, P kernels and J = log2 of the number of learned rows. Memory is O(32 P D) per class and O(P D d).
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
        self.restart = restart
        self.weight_step = weight_step
        self.penalty = penalty
        self.random_state = random_state

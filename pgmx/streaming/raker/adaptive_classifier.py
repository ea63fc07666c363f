"""AdaRaker: online classification by interval learners of different step sizes."""

from collections.abc import Sequence
from typing import Any

from pgmx.streaming.raker.adaptive import AdaptiveLearner
from pgmx.streaming.raker.signs import LOSS, SignsMixin


class AdaRakerClassifier(SignsMixin, AdaptiveLearner):
    r"""Online classification in environments that change: a mixture of Raker learners of different step sizes.

    Learner j has the step size s_j = min(m, step 2^(-j/2)) and is renewed at the rows that 2^j divides: its weight
    h_j becomes the root of s_j. Before each row the mixture f predicts the label, then all learners learn it:

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
        Random frequencies D per kernel, each with a sine and a cosine: at least 1.
    kernels : {"gaussian", "laplacian", "cauchy"} or sequence of them, default="gaussian"
        Shift-invariant kernels of the distance r: exp(-r^2 / (2 s^2)), exp(-r / s) and 1 / (1 + r^2 / s^2).
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0: each kernel is taken with each of them.
    orthogonal : bool, default=True
        Whether the directions of at most n_features frequencies are orthogonal. The variance of the approximation is
        smaller then; the kernels are the same.
    step : float, default=None
        The interval learner of 2^j rows has the step size min(m, step 2^(-j/2)), with m = 4 / (1 + 8 penalty) under the
        logistic loss and 2 / (1 + 4 penalty) under the hinge loss; None: 16 m.
    restart : bool, default=False
        Whether to mix as the source describes it: an interval learner forgets its coefficients and the weights of its
        kernels when its next interval begins, its own weight h_j becomes s_j, and s_j takes the place of s_w.
    weight_step : float, default=2.0
        Step size of the logarithms of the weights of kernels and interval learners, at least 0: constant weights.
    penalty : float, default=0.0
        Weight of the squared length of the coefficients in the loss, at least 0.
    random_state : int, RandomState or None, default=0
        Where frequencies come from; None draws fresh entropy.

    Attributes
    ----------
    n_seen_ : int
        Rows learned so far.
    n_features_in_ : int
        Columns of the rows.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, where the first rows came with names.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    kernels_ : tuple of (str, float)
        The P kernels, each with its variance.
    frequencies_ : ndarray of shape (P, n_components, `n_features_in_`)
        Frequencies of the kernels.
    kernel_weights_ : ndarray of shape (n_outputs, n_active, P)
        Weights of the kernels, which add up to 1; one output for two classes, else one per class.
    expert_weights_ : ndarray of shape (n_outputs, n_active)
        Weights of the floor(log2(n_seen_ + 1)) + 1 interval learners that predict the next row; they add up to 1.
    drift_ : Drift
        The interval learner that leads (``interval``, ``step``), the number ``n_flags`` of changes that were flagged,
        and the rows ``flags`` of the last 64.

    Raises
    ------
    ValueError
        At the first row, for a kernel that is unknown, a variance that is not above 0, or a step size too large.

    Notes
    -----
    A row costs about P D d + 8 J P D multiplications, the second term for each class, and P D sines and cosines, for d
    columns, P kernels and J = log2 of the rows seen; memory is O(32 P D) per class and O(P D d).
    Step sizes suit targets of about unit range: ±1 here.
    Several classes are learned one against the rest on the same features. Chapter 3 of [1]_ in its form as a thesis
    gives Pr(y = 1) = 1 / (1 + exp(f)), the wrong way round, and a factor 2 in the gradient; here Pr(y = 1) is
    1 / (1 + exp(-f)).
    The loss of a learner relative to the mixture has its sign reversed in [1]_: as printed, learners of smaller loss
    lose weight. Its small weights h_j = s_j, which change by steps s_j, hold long intervals back where nothing changes:
    with `weight_step` and the root of s_j errors are smaller on most streams measured.

    Changes are flagged by a CUSUM of the mistakes of the learner of 64 rows: the likelihood ratio of mistakes twice as
    frequent against those of the last 200 rows or so. Flags change no prediction.

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

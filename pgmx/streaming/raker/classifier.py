"""Raker: online classification by random features of several kernels."""

from collections.abc import Sequence
from typing import Any

from pgmx.streaming.raker.learner import RakerLearner
from pgmx.streaming.raker.signs import LOSS, SignsMixin


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
    kernels : {"gaussian", "laplacian", "cauchy"} or sequence of them, default="gaussian"
        Shift-invariant kernels of the distance r: exp(-r^2 / (2 s^2)), exp(-r / s) and 1 / (1 + r^2 / s^2).
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0. Each kernel is used with each width.
    orthogonal : bool, default=True
        If True, the directions of up to n_features frequencies are orthogonal. This reduces the variance of the
        approximation of the same kernels.
    step : float, default=None
        Step size of the coefficients, for features of length 1. None: 4 / (1 + 8 penalty) for the logistic loss and
        2 / (1 + 4 penalty) for the hinge loss. The logistic loss diverges at twice this value or more, the hinge loss
        at 1 / penalty or more.
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
        The P kernels, each with its variance.
    frequencies_ : ndarray of shape (P, n_components, `n_features_in_`)
        Frequencies of the kernels.
    kernel_weights_ : ndarray of shape (n_outputs, 1, P)
        Weights of the kernels, with sum 1; one output for two classes, else one per class.

    Raises
    ------
    ValueError
        At the first row, if a kernel is unknown, a variance is not positive, or a step size is too large.

    Notes
    -----
    A row costs about P D d + 8 P D multiplications and P D sines and cosines for d columns and P kernels; memory is
    O(P D d).
    The default step sizes suit targets of about unit range, here ±1.
    Several classes are learned one against the rest on the same features. The thesis version of [1]_ (chapter 3) has a
    wrong sign in Pr(y = 1) = 1 / (1 + exp(f)) and a factor 2 in the gradient; here Pr(y = 1) is 1 / (1 + exp(-f)).

    References
    ----------
    .. [1] Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in
       environments with unknown dynamics. Journal of Machine Learning Research 20(22), algorithm 2.
    .. [2] Yu, F. X. et al. (2016). Orthogonal random features. Advances in Neural Information Processing Systems 29.

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

    _parameter_constraints: dict[str, Any] = {**RakerLearner._parameter_constraints, **LOSS}

    def __init__(
        self,
        *,
        loss: str = "logistic",
        n_components: int = 50,
        kernels: str | Sequence[str] = "gaussian",
        variances: float | Sequence[float] = (0.1, 1.0, 10.0),
        orthogonal: bool = True,
        step: float | None = None,
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

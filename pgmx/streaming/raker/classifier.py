"""Raker: online classification by random features of several kernels."""

from collections.abc import Sequence
from typing import Any

from pgmx.streaming.raker.learner import RakerLearner
from pgmx.streaming.raker.signs import LOSS, SignsMixin


class RakerClassifier(SignsMixin, RakerLearner):
    r"""Online classification by random features of several kernels, whose weights are learned as well.

    Before each row f predicts the label, then each class is learned as a function of its own:

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
        Random frequencies D per kernel, each with a sine and a cosine: at least 1.
    kernels : {"gaussian", "laplacian", "cauchy"} or sequence of them, default="gaussian"
        Shift-invariant kernels of the distance r: exp(-r^2 / (2 s^2)), exp(-r / s) and 1 / (1 + r^2 / s^2).
    variances : float or sequence of float, default=(0.1, 1.0, 10.0)
        Widths s^2 > 0: each kernel is taken with each of them.
    orthogonal : bool, default=True
        Whether the directions of at most n_features frequencies are orthogonal. The variance of the approximation is
        smaller then; the kernels are the same.
    step : float, default=None
        Step size of the coefficients, for features of length 1. None: 4 / (1 + 8 penalty) under the logistic loss and
        2 / (1 + 4 penalty) under the hinge loss. The logistic loss diverges from twice that on, the hinge loss from
        1 / penalty on.
    weight_step : float, default=2.0
        Step size of the logarithms of the kernels' weights, at least 0: equal weights for ever.
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
    kernel_weights_ : ndarray of shape (n_outputs, 1, P)
        Weights of the kernels, which add up to 1; one output for two classes, else one per class.

    Raises
    ------
    ValueError
        At the first row, for a kernel that is unknown, a variance that is not above 0, or a step size too large.

    Notes
    -----
    A row costs about P D d + 8 P D multiplications and P D sines and cosines for d columns and P kernels; memory is
    O(P D d).
    Step sizes suit targets of about unit range: ±1 here.
    Several classes are learned one against the rest on the same features. Chapter 3 of [1]_ in its form as a thesis
    gives Pr(y = 1) = 1 / (1 + exp(f)), the wrong way round, and a factor 2 in the gradient; here Pr(y = 1) is
    1 / (1 + exp(-f)).

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

"""Regret of Raker learners: their loss minus that of the best fixed, or switching, function on the same features."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural

if TYPE_CHECKING:
    from pandas import DataFrame

_CUT = 1e-12  # eigenvalues of Gram matrices below this share of the largest are rounding


@dataclass(frozen=True)
class RegretCurve:
    """Regret of growing parts of a stream, returned by `regret`.

    Attributes
    ----------
    n_rows : ndarray of int64, shape (n_points,)
        The first T rows of each part.
    losses : ndarray of shape (n_points,)
        Sums of the losses of the learner over the first T rows, each predicted before it was learned.
    static : ndarray of shape (n_points,)
        `losses` minus the least sum of losses of one function over these rows (3.25).
    dynamic : ndarray of shape (n_points,)
        `losses` minus the least sum of losses of functions that switch at `changes`; `static` without changes.
    bound : ndarray of shape (n_points,)
        The bound of `static` in lemma 4 (3.27). NaN where its assumptions do not hold: a loss of a kernel above 1,
        several or varying steps, a penalty, or kernels that are not shift-invariant.
    kernels : ndarray of int64, shape (n_points,)
        Position of the kernel of the best fixed function in ``kernels_``.
    learner : object
        The learner after the last row, a copy of the argument.
    """

    n_rows: np.ndarray
    losses: np.ndarray
    static: np.ndarray
    dynamic: np.ndarray
    bound: np.ndarray
    kernels: np.ndarray
    learner: Any

    def to_frame(self) -> DataFrame:
        """Return the curve as a table with one row per point."""
        import pandas as pd

        names = ("n_rows", "losses", "static", "dynamic", "bound")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def regret(learner: Any, X: Any, y: Any, *, changes: Any = (), n_points: int = 50) -> RegretCurve:
    r"""Compute the regret of a Raker or AdaRaker regressor, with the best function in hindsight.

    .. math:: R(T) = \sum_{t \le T} (f_{t-1}(x_t) - y_t)^2
              - \min_p \min_\theta \sum_{t \le T} (\theta' z_p(x_t) - y_t)^2
              \le \frac{\ln P}{\eta_w} + \frac{\|\theta^*\|^2}{2 \eta} + \frac{\eta L^2 T}{2} + \eta_w T

    with the features z_p of the learner, the step sizes :math:`\eta` (`step`) and :math:`\eta_w` (`weight_step`), and
    the largest length L of a gradient of the losses of the kernels. For equal step sizes this is lemma 4 of the
    reference. The bound holds for `RakerRegressor` if no loss of a kernel exceeds 1 and ``weight_step`` is at most 1.

    Parameters
    ----------
    learner : RakerRegressor or AdaRakerRegressor
        A learner that has not learned yet. A copy of it learns.
    X : array or frame of shape (n_rows, n_features)
        The rows in their order.
    y : array of shape (n_rows,)
        The targets.
    changes : sequence of int, default=()
        Rows, counted from 0, at which the best switching function may change: ascending, from 1 to n_rows - 1.
    n_points : int, default=50
        Number of values of T, evenly spaced up to n_rows.

    Returns
    -------
    RegretCurve
        Regrets and bounds. For each T the best function is computed from the first T rows.

    Raises
    ------
    TypeError, ValueError
        If the learner is of another class or has learned rows, rows or targets are invalid, or `changes` do not ascend.

    Notes
    -----
    The best function is the least squares solution of smallest length. Cost: T P (2 D)^2 for Gram matrices and n_points
    P (2 D)^3 for their solutions. Theorems 2 and 3 of the reference, on AdaRaker, leave their constants open: compare
    the growth of `dynamic` with T instead.

    References
    ----------
    Shen, Y., Chen, T. and Giannakis, G. B. (2019). Random feature-based online multi-kernel learning in environments
    with unknown dynamics. Journal of Machine Learning Research 20(22), equations 3.25 to 3.27 and 3.34 of the thesis.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.metrics import regret
    >>> from pgmx.streaming import RakerRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> y = 0.5 * np.sin(4 * X[:, 0])
    >>> curve = regret(RakerRegressor(n_components=8, step=0.1, weight_step=0.1), X, y, n_points=3)
    >>> curve.n_rows.tolist()
    [100, 200, 300]
    >>> bool((curve.static < curve.bound).all())
    True
    """
    from pgmx.streaming import AdaRakerRegressor, RakerRegressor

    if not isinstance(learner, RakerRegressor | AdaRakerRegressor):
        raise TypeError(f"regret is computed for RakerRegressor and AdaRakerRegressor, got {type(learner).__name__}")
    if hasattr(learner, "n_seen_"):
        raise ValueError(f"the learner has learned {learner.n_seen_:,} rows: give a new one, whose coefficients are 0")
    n_points = check_natural(n_points, "n_points", 1)
    learner = deepcopy(learner)
    predictions = learner.predict_partial_fit(X, y)
    targets = np.asarray(y, dtype=float).reshape(-1)
    n = len(targets)
    starts = _check_changes(changes, n)
    ends = np.unique(np.linspace(0, n, n_points + 1).round().astype(np.int64)[1:])
    ends = ends[ends > 0]
    losses = np.cumsum((predictions - targets) ** 2)[ends - 1]
    features = learner._map_rows(learner._check_rows(X, None, restart=False))
    whole, parts = _Squares(features, targets), _Squares(features, targets)
    past, static, dynamic, kernels, lengths = 0.0, [], [], [], []
    for end in ends:
        least, kernel, length = whole.solve(0, end)
        static.append(least)
        kernels.append(kernel)
        lengths.append(length)
        while len(starts) > 1 and starts[1] < end:
            past += parts.solve(starts[0], starts[1])[0]
            starts = starts[1:]
        dynamic.append(past + parts.solve(starts[0], end)[0])
    bound = np.full(len(ends), np.nan)
    if isinstance(learner, RakerRegressor):
        bound = _compute_bounds(learner, features, targets, ends, np.array(lengths))
    return RegretCurve(
        ends, losses, losses - static, losses - dynamic, bound, np.array(kernels, dtype=np.int64), learner
    )


def _check_changes(changes: Any, n_rows: int) -> list[int]:
    """Return the first rows of the segments."""
    rows = np.asarray(changes)
    if rows.size == 0:
        return [0]
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows[0] < 1 or rows[-1] >= n_rows or (np.diff(rows) <= 0).any():
        raise ValueError(f"changes={changes!r:.60} must be ascending rows from 1 to {n_rows - 1}")
    return [0, *rows.tolist()]


class _Squares:
    """Least squares of all kernels on a segment of rows, of which Gram matrices are kept."""

    def __init__(self, features: np.ndarray, targets: np.ndarray):
        self.features, self.targets = features, targets
        self.first = self.last = -1

    def solve(self, first: int, last: int) -> tuple[float, int, float]:
        """Return the least loss, its kernel, and the squared length of the coefficients, of the rows first to last."""
        if first != self.first:
            n_kernels, length = self.features.shape[1:]
            self.first = self.last = first
            self.grams = np.zeros((n_kernels, length, length))
            self.products, self.total = np.zeros((n_kernels, length)), 0.0
        rows = self.features[self.last : last].swapaxes(0, 1)
        y = self.targets[self.last : last]
        self.grams += rows.swapaxes(1, 2) @ rows
        self.products += np.einsum("pti,t->pi", rows, y)
        self.total += float(y @ y)
        self.last = last
        answers = []
        for kernel, (gram, product) in enumerate(zip(self.grams, self.products, strict=True)):
            sizes, axes = np.linalg.eigh(gram)
            parts = (axes.T @ product)[sizes > _CUT * sizes[-1]]
            sizes = sizes[sizes > _CUT * sizes[-1]]
            answers.append(
                (max(self.total - float(parts**2 @ (1 / sizes)), 0.0), kernel, float((parts / sizes) @ (parts / sizes)))
            )
        return min(answers)


def _compute_bounds(
    learner: Any, features: np.ndarray, targets: np.ndarray, ends: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return the bounds of lemma 4, NaN where it does not apply; the losses of the kernels are computed by a replay."""
    step, rate = float(learner._list_steps()[0]), float(learner.weight_step)
    if learner._list_factors(1) is not None or learner.penalty > 0.0 or learner._kinds.any() or not 0.0 < rate <= 1.0:
        return np.full(len(ends), np.nan)
    theta, largest = np.zeros(features.shape[1:]), np.empty(len(targets))
    for t, (z, target) in enumerate(zip(features, targets, strict=True)):
        errors = (theta * z).sum(axis=1) - target
        largest[t] = np.abs(errors).max()
        theta -= 2.0 * step * errors[:, None] * z
    errors = np.maximum.accumulate(largest)[ends - 1]
    slopes = 2.0 * errors  # features have length 1
    bounds = np.log(len(theta)) / rate + lengths / (2.0 * step) + (0.5 * step * slopes**2 + rate) * ends
    return np.where(errors <= 1.0, bounds, np.nan)

"""Structural equations that change from window to window."""

from collections.abc import Hashable, Mapping
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_same_names, warn_of_target
from pgmx.data.series import Panel
from pgmx.estimators.base import Interval, StrOptions, adopt_fit, clone_learner
from pgmx.estimators.time_series.cost import SeriesSize, estimate_equations
from pgmx.estimators.time_series.equations.learner import (
    EquationsLearner,
    check_moments,
    read_powers,
    warn_of_proportional_powers,
)
from pgmx.runs.run import Run
from pgmx.solvers.time_series.sem_likelihood import SecondMoments
from pgmx.solvers.time_series.sem_tracking import MOST_WINDOWS, LikelihoodTracker, RecursiveTracker


class TensorSEMTracker(EquationsLearner):
    r"""Structural equations that change over time, tracked from window to window.

    .. math:: \max_{W, r} \; \sum_{l \le m} \beta^{m - l} \ell_l(W, r_l)

    with the log-likelihood of `TensorSEM` for each window, W = B⁻¹ (I − A), and the forgetting factor β. If a window
    contradicts the equations, all previous windows are forgotten.

    Parameters
    ----------
    data : list of DataFrame or of array, optional
        Windows for ``estimate()``, oldest first.
    exogenous : {"known", "partial", "blind"}, default="known"
        Whether all, some or none of the powers of the inputs are given with each window.
    method : {"likelihood", "rls"}, default="likelihood"
        ``"rls"`` is the recursive least squares of the thesis. It needs all powers, and a memory of 1 / (1 − β) windows
        that is longer than the number of series. It ignores `sweeps` and `detect`.
    forgetting : float, default=0.8
        Weight β of a window relative to the next, above 0 and at most 1.
    sweeps : int, default=2
        Newton sweeps per window. After a restart up to 8 sweeps are made, as needed.
    detect : bool, default=True
        Whether each window is tested for a change. The χ² tests, of all pairs together and of the largest pair, check
        that the inputs W y are uncorrelated, each at the level 10⁻⁶ for independent rows. Strongly autocorrelated
        inputs (.9 at 500 rows) cause false restarts: thin the rows, or give False.
    threshold : float or "relative", default=0.1
        Edges of ``graph_`` have :math:`|a_{ij}| s_j / s_i` above this threshold, with the root mean squares s of the
        series in the last window. ``"relative"`` means a tenth of the largest value.
    fit_intercept : bool, default=False
        Whether the means of each window are subtracted.
    time_column : hashable, default=None
        Column of the times.
    missing : {"error", "drop"}, default="error"
        How to treat rows with missing values: raise an error, or leave them out.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        Whether an index without a regular step raises an error.
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (N, N)
        A, ``[target, source]``, in the user's units, zero diagonal. After a restart the old A is kept until the new A
        is identifiable and differs by more than its standard errors, for at most 20 windows.
    gain_ : ndarray of float64, shape (N,)
        Diagonal of B; 1 for inputs without any known power. With ``"rls"`` 0 for inputs for which the first windows
        give no estimate.
    exogenous_power_ : ndarray of float64, shape (N,)
        Powers of the inputs in the window of the last update of ``coef_``.
    restarts_ : list of int
        Windows, counted from 0, that contradicted the previous equations.
    is_provisional_ : bool
        Whether ``coef_`` is older than the last restart, or not identifiable yet if there was no restart.
    n_windows_ : int
        Windows so far.
    graph_ : TimeSeriesGraph
        Edges at lag 0, with ``weight`` and ``strength``.
    variables_ : list
        Names of the series.
    n_features_in_ : int
        Number of series N.
    feature_names_in_ : ndarray of object
        Names of the series.

    Raises
    ------
    ValueError
        If a window or its powers do not match. The learner is not changed then.

    Warns
    -----
    IdentifiabilityWarning
        If the powers of inputs are still nearly proportional after 20 windows.

    Notes
    -----
    The learner stores the second moments of the windows with weight above 10⁻³, at most 128 of them. An update costs
    O(sweeps · windows · N³), and memory does not grow with the stream. A pickled learner resumes with exactly the same
    results. ``"rls"`` stores N³ values and costs O(N⁴) per window. Its columns of (I − A)⁻¹ B are eigenvectors of the
    largest eigenvalues (eq. 4.33). For many series these are wrong until about two windows per series have been seen
    since the start or a change, and they are always wrong for small β.

    References
    ----------
    Y. Shen (2019), Online and nonlinear learning over networks, thesis, section 4.5, algorithm 5b, eqs. 4.26 to 4.34.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import TensorSEMTracker
    >>> rng = np.random.default_rng(0)
    >>> A = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.0, 0.0]])
    >>> tracker = TensorSEMTracker(exogenous="blind")
    >>> for m in range(40):
    ...     if m == 20:
    ...         A[0, 1] = 0.0
    ...     inputs = rng.standard_normal((500, 3)) * rng.uniform(0.4, 2.0, 3)
    ...     tracker = tracker.partial_fit(inputs @ np.linalg.inv(np.eye(3) - A).T)
    >>> tracker.restarts_
    [20]
    >>> tracker.graph_.instantaneous_edges
    [(('x0', 0), ('x2', 0)), (('x2', 0), ('x1', 0))]
    """

    _parameter_constraints = {
        **EquationsLearner._parameter_constraints,
        "method": [StrOptions({"likelihood", "rls"})],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "sweeps": [Interval(Integral, 1, None, closed="left")],
        "detect": ["boolean"],
    }

    _tracker: LikelihoodTracker | RecursiveTracker

    def __init__(
        self,
        data: Any = None,
        *,
        exogenous: Literal["known", "partial", "blind"] = "known",
        method: Literal["likelihood", "rls"] = "likelihood",
        forgetting: float = 0.8,
        sweeps: int = 2,
        detect: bool = True,
        threshold: float | Literal["relative"] = 0.1,
        fit_intercept: bool = False,
        time_column: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        n_jobs: int | None = None,
    ):
        self.data = data
        self.exogenous = exogenous
        self.method = method
        self.forgetting = forgetting
        self.sweeps = sweeps
        self.detect = detect
        self.threshold = threshold
        self.fit_intercept = fit_intercept
        self.time_column = time_column
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        exogenous_power: ArrayLike | None = None,
    ) -> Self:
        """Track the equations over windows. Windows of earlier calls are forgotten.

        Parameters
        ----------
        X : list or dict of DataFrame or of array, or one of them
            The windows, oldest first.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : None
            Must be None: windows have no weights.
        exogenous_power : array or DataFrame of shape (M, N), optional
            Mean squares of the inputs in each window.

        Returns
        -------
        self
            The fitted learner.
        """
        warn_of_target(self, X, y)
        self._validate()
        self._refuse_weights(sample_weight)
        windows = list(X.values()) if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else [X]
        if not len(windows):
            raise ValueError("X has no windows: give at least one frame")
        panels = [self._open(window) for window in windows]
        powers = read_powers(exogenous_power, panels[0].names, len(panels), self.exogenous)
        # a rejected window must not change a learner that was fitted before
        fresh = clone_learner(self)
        for panel, power in zip(panels, powers, strict=True):
            fresh._add_window(panel, power)
        adopt_fit(self, fresh)
        return self

    def partial_fit(self, window: Any, exogenous_power: ArrayLike | None = None) -> Self:
        """Update the equations with one more window.

        Parameters
        ----------
        window : DataFrame or array of shape (L, N)
            Rows of the window, the same series each time.
        exogenous_power : array of shape (N,), optional
            Mean squares of the inputs in the window, positive. NaN means unknown with ``exogenous="partial"``.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            As in the docstring of the class.
        """
        self._validate()
        self._fit(self._open(window), None, exogenous_power)
        return self

    def _fit(
        self, opened: Panel, sample_weight: ArrayLike | None, exogenous_power: ArrayLike | None = None
    ) -> Run | None:
        """Use a panel as one more window."""
        self._refuse_weights(sample_weight)
        to_frame = getattr(exogenous_power, "to_frame", None)  # a row of a frame has this method
        power = exogenous_power if to_frame is None else to_frame().T
        self._add_window(opened, read_powers(power, opened.names, 1, self.exogenous)[0])
        return None

    def _estimate_solving(self, size: SeriesSize) -> int:
        n = size.n_series
        n_windows = max(1, size.n_rows // (2 * n))  # the lengths of the windows are unknown
        if self.method == "rls":
            return 16 * n**3
        return estimate_equations(size, min(n_windows, MOST_WINDOWS))

    def _add_window(self, panel: Panel, powers: np.ndarray) -> None:
        """Check a window, then update the equations with it."""
        if self.method == "rls" and self.exogenous != "known":
            raise ValueError(
                f"method='rls' needs exogenous='known', got {self.exogenous!r}: give all powers, or method='likelihood'"
            )
        names, rows = panel.names, np.concatenate(panel.segments)
        if hasattr(self, "_tracker"):
            check_same_names(self.variables_, names, "the windows before", "this window", "series")
            # later windows may have their columns in another order
            order = [names.index(name) for name in self.variables_]
            names, rows, powers = tuple(self.variables_), rows[:, order], powers[order]
        if self.fit_intercept:
            rows = rows - rows.mean(axis=0)
        with self._on_threads():
            moment = np.ascontiguousarray(rows.T @ rows / len(rows))
            data = SecondMoments(moment[None], np.array([float(len(rows))]), powers[None])
            check_moments(data, names)
            if not hasattr(self, "_tracker"):
                self._set_names(names)
                self._tracker = self._make_tracker(len(names))
            was_settled = self._tracker.settled
            self._tracker.add(moment, len(rows), np.ascontiguousarray(powers))
        self._scales = data.scales
        self._results = {}
        if self._tracker.settled and not was_settled:
            warn_of_proportional_powers(self.variables_, self._tracker.find_proportional())

    def _make_tracker(self, n_series: int) -> LikelihoodTracker | RecursiveTracker:
        if self.method == "rls":
            return RecursiveTracker(n_series, self.forgetting)
        return LikelihoodTracker(n_series, self.forgetting, self.sweeps, self.detect)

    # ---- results ----

    @property
    def coef_(self) -> np.ndarray:
        """A, ``[target, source]``."""
        return self._report().matrix

    @property
    def gain_(self) -> np.ndarray:
        """Diagonal of B."""
        return self._report().gains

    @property
    def exogenous_power_(self) -> np.ndarray:
        """Powers of the inputs in the window of the last update of ``coef_``."""
        return self._report().powers[-1]

    @property
    def restarts_(self) -> list[int]:
        """Windows that contradicted the previous equations."""
        self._require_fit()
        return list(self._tracker.restarts)

    @property
    def is_provisional_(self) -> bool:
        """Whether ``coef_`` is older than the last restart, or not identifiable yet."""
        self._require_fit()
        return not self._tracker.settled

    @property
    def n_windows_(self) -> int:
        """Windows so far."""
        self._require_fit()
        return self._tracker.n_windows

    def _report(self):
        self._require_fit()
        assert self._tracker.reported is not None
        return self._tracker.reported

"""Sparse structural equations from windows with different powers of the inputs."""

import warnings
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from math import inf
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level
from pgmx.data.series import Panel
from pgmx.estimators.base import Interval
from pgmx.estimators.time_series.cost import SeriesSize, estimate_equations
from pgmx.estimators.time_series.equations.learner import WindowsLearner, warn_of_proportional_powers
from pgmx.estimators.time_series.equations.sparse_problem import EquationsPathSolver, SparseProblem
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run, is_past
from pgmx.solvers.time_series.sem_likelihood import (
    SecondMoments,
    compute_identifiability,
    evaluate,
    find_proportional,
    read_coefficients,
)


class SparseTensorSEM(WindowsLearner):
    r"""Sparse structural equations: the likelihood of `TensorSEM` with an l1 penalty on the coefficients.

    .. math:: \max_A \; \ell(A) - \lambda \sum_{i \ne j} w_{ij} |a_{ij}| s_j / s_i

    for :math:`y_t = A y_t + B x_t`, where ℓ is the log-likelihood per row with the best gains B and unknown powers of
    the inputs, and s are the standard deviations of the series. The problem is not convex.

    Parameters
    ----------
    data : DataFrame, array, path, or list of them, optional
        Data for ``estimate()``, rows in time order.
    exogenous : {"known", "partial", "blind"}, default="known"
        Whether all, some or none of the powers of the inputs are given to ``fit``.
    lam : float, default=None
        The penalty λ > 0. It has no unit.
    lam_ratio : float, default=0.1
        λ as a share (at most 1) of ``lam_max_``. Used if `lam` is None. `SelectedGraph` chooses λ.
    adaptive : bool, default=True
        Whether the weights w are 1 / :math:`|\hat a_{ij}| s_i / s_j` with the maximum :math:`\hat A` of the likelihood,
        as in the adaptive lasso. False: all weights are 1.
    refit : bool, default=True
        Whether the coefficients of the edges are estimated again without a penalty.
    window : int, default=None
        Number of rows of a window, at least 2. Rows after the last complete window belong to that window.
    boundaries : sequence of int, default=None
        First row of each window after the first, counted from 0 over all series of a panel. Give `window` or
        `boundaries`. Without both, each series of a panel is one window.
    required_edges : collection of ((source, 0), (target, 0)), default=None
        Edges without a penalty, which ``graph_`` always has.
    forbidden_edges : collection of ((source, 0), (target, 0)), default=None
        Edges whose coefficients are zero.
    fit_intercept : bool, default=False
        Whether the means of the series are subtracted.
    time_column, groups : hashable, default=None
        Columns with the times of the rows, and with the series of a panel.
    missing : {"error", "drop"}, default="error"
        How to treat rows with missing values: raise an error, or leave them out. No window crosses such a gap.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        Whether an index without a regular step raises an error.
    tol : float, default=1e-6
        Largest violation of the subgradient conditions at the end.
    max_iter : int, default=200
        Maximum number of Newton steps, for the penalised estimate and again for the refit.
    max_time : float, default=None
        Time limit in seconds. The current estimate is returned then.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each step. The run ends if it returns True.
    n_jobs : int, default=None
        Number of threads for the moments of the windows. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (N, N)
        A, ``[target, source]``, in the user's units, zero diagonal.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty at which the empty graph (with required edges) is a solution.
    kkt_residual_ : float
        Largest violation of the subgradient conditions, before `refit`.
    objective_ : float
        The penalised log-likelihood per row, before `refit`, without constants.
    gain_ : ndarray of float64, shape (N,)
        Diagonal of B, positive.
    exogenous_power_ : ndarray of float64, shape (M, N)
        Powers of the inputs, including the given ones.
    intercept_ : ndarray of float64, shape (N,)
        :math:`(I - A) \mu` for the subtracted means; zero without `fit_intercept`.
    identifiability_ : ndarray of float64, shape (N, N)
        0 if two inputs have proportional powers; closer to 1 the more the ratio of the powers varies.
    n_iter_ : int
        Number of Newton steps.
    converged_, stopped_by_ : bool, str
        Whether `tol` was reached, and why the run ended: ``"converged"``, ``"max_iter"``, ``"max_time"``,
        ``"callback"`` or ``"interrupt"``.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    window_lengths_ : ndarray of int64, shape (M,)
        Rows of each window.
    graph_ : TimeSeriesGraph
        Edges at lag 0, with ``weight`` from ``coef_`` and :math:`|a_{ij}| s_j / s_i` as ``strength``.
    variables_ : list
        Names of the series.
    n_features_in_ : int
        Number of series N.
    feature_names_in_ : ndarray of object
        Names of the series.
    n_left_out_ : int
        Number of rows left out.

    Raises
    ------
    ValueError
        As for `TensorSEM`.

    Warns
    -----
    IdentifiabilityWarning
        If columns of powers are nearly proportional.
    ConvergenceWarning
        If `tol` was not reached.

    Notes
    -----
    Newton steps by conjugate gradients, in the orthant of the current signs, start from the soft-thresholded maximum of
    the likelihood. The result satisfies the subgradient conditions, but need not be the global optimum. On simulated
    windows (N = 50) with λ up to a fifth of ``lam_max_``, starts near the maximum of the likelihood reach one solution,
    and the empty graph as a start often a worse one. Larger λ, which remove true edges, have several optima.

    EBIC with `adaptive` recovers edges nearly as well as the best threshold of `TensorSEM`, which needs the true graph.
    A path costs a fifth to a quarter of a fit of `TensorSEM` per penalty, with equal weights a half
    (``tests/benchmarks/TIME_SERIES.md``).

    Cost for M windows of L rows and S coefficients, at most K per series: a fit of `TensorSEM`, then O(M N (N + S) + N³
    + N K² (M + steps)) per Newton step. Memory O(M N² + N K²).

    References
    ----------
    Y. Shen (2019), Online and nonlinear learning over networks, thesis, chapter 4: eqs. 4.5 to 4.10, and section 4.7,
    which asks for edge sparsity.

    H. Zou (2006), The adaptive lasso and its oracle properties, Journal of the American Statistical Association 101,
    1418-1429.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.datasets import switching_series
    >>> from pgmx.estimators import SelectedGraph, SparseTensorSEM
    >>> A = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.0, 0.0]])
    >>> series = switching_series(A, 8, 300).series
    >>> learner = SelectedGraph(SparseTensorSEM(exogenous="blind", window=300)).fit(series)
    >>> learner.graph_.instantaneous_edges
    [(('x0', 0), ('x2', 0)), (('x1', 0), ('x0', 0)), (('x2', 0), ('x1', 0))]
    """

    _path_start: tuple = (None, None)  # the problem and the optimum of a path of penalties, for the next fit
    _parameter_constraints = {
        **{name: rule for name, rule in WindowsLearner._parameter_constraints.items() if name != "threshold"},
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "lam_ratio": [Interval(Real, 0, 1, closed="right")],
        "adaptive": ["boolean"],
        "refit": ["boolean"],
    }

    threshold = 0.0

    _unit = "steps"

    _required: np.ndarray

    coef_: np.ndarray
    lam_: float
    lam_max_: float
    kkt_residual_: float
    objective_: float
    gain_: np.ndarray
    exogenous_power_: np.ndarray
    identifiability_: np.ndarray
    n_iter_: int

    def __init__(
        self,
        data: Any = None,
        *,
        exogenous: Literal["known", "partial", "blind"] = "known",
        lam: float | None = None,
        lam_ratio: float = 0.1,
        adaptive: bool = True,
        refit: bool = True,
        window: int | None = None,
        boundaries: Sequence[int] | None = None,
        required_edges: Collection | None = None,
        forbidden_edges: Collection | None = None,
        fit_intercept: bool = False,
        time_column: Hashable | None = None,
        groups: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        tol: float = 1e-6,
        max_iter: int = 200,
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
    ):
        self.data = data
        self.exogenous = exogenous
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.adaptive = adaptive
        self.refit = refit
        self.window = window
        self.boundaries = boundaries
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.fit_intercept = fit_intercept
        self.time_column = time_column
        self.groups = groups
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs

    def _estimate_solving(self, size: SeriesSize) -> int:
        return 2 * super()._estimate_solving(size) + estimate_equations(size, 8)

    def _prepare(
        self, opened: Panel, exogenous_power: ArrayLike | None
    ) -> tuple[SecondMoments, Callable[[SecondMoments], SparseProblem]]:
        """Return the second moments of series with standard deviation 1, and how to make a problem of windows."""
        knowledge = self._read_knowledge(opened.names, range(1))
        data = self._gather(opened, exogenous_power)
        self._required = knowledge.required
        allowed = knowledge.allow(opened.n_series, 0)
        return data.rescale(self._scales), partial(self._make_problem, allowed=allowed)

    def _make_problem(self, data: SecondMoments, allowed: np.ndarray | None) -> SparseProblem:
        options: dict[str, Any] = {"adaptive": self.adaptive, "tol": self.tol, "max_iter": self.max_iter}
        return SparseProblem.from_moments(data, required=self._required, allowed=allowed, **options)

    def _fit(self, opened: Panel, sample_weight: ArrayLike | None, exogenous_power: ArrayLike | None = None) -> Run:
        self._refuse_weights(sample_weight)
        (known, start), self._path_start = self._path_start, (None, None)
        with self._open_run() as run, self._on_threads():
            data, make = self._prepare(opened, exogenous_power)
            problem = known or make(data)
            self.lam_max_ = problem.lam_max
            self.lam_ = self.lam_ratio * problem.lam_max if self.lam is None else float(self.lam)

            def record(matrix: np.ndarray, objective: float) -> bool:
                return run.record(objective=-objective, n_edges=np.count_nonzero(matrix))

            optimum = problem.solve(self.lam_, start, record)
            matrix, converged = optimum.matrix, optimum.converged
            self.kkt_residual_, self.objective_, self.n_iter_ = optimum.violation, -optimum.objective, optimum.n_iter
            if self.refit and not run.is_over():
                again = problem.refit(matrix, record=record)
                matrix, converged = again.matrix, converged and again.converged
                self.n_iter_ += again.n_iter
            if not converged:
                warnings.warn(
                    f"{type(self).__name__} did not reach tol={self.tol} in {self.n_iter_} iterations: give a larger "
                    "max_iter, max_time or tol",
                    ConvergenceWarning,
                    stacklevel=caller_level(),
                )
            self._set_equations(data, matrix, opened.names)
        self._finish(opened)
        return self._end_run(run, converged)

    def _make_path_solver(self, panel: Panel, units: np.ndarray | None, **options: Any) -> EquationsPathSolver:
        """Return the solver of penalties for `SelectedGraph`."""
        return EquationsPathSolver(self, panel, **options)

    def _relearn(
        self, data: SecondMoments, start: np.ndarray, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        def record(*_: object) -> bool:
            return is_past(inf)

        problem = self._make_problem(data, allowed)
        lam = self.lam_ratio * problem.lam_max if self.lam is None else float(self.lam)
        matrix = problem.solve(lam, None, record).matrix
        edges = matrix != 0
        edges[self._required[:, 1], self._required[:, 2]] = True
        return edges, problem.refit(matrix, record=record).matrix if self.refit else matrix

    def _set_equations(self, data: SecondMoments, matrix: np.ndarray, names: Sequence) -> None:
        """Set the results in the user's units, given A of series with standard deviation 1."""
        point, scales = evaluate(data, np.eye(len(matrix)) - matrix), self._scales
        shown = read_coefficients(data, point)
        self.coef_ = matrix * (scales[:, None] / scales)
        # without any power of an input its scale is free: the gain is set to 1
        unknown = ~np.isfinite(data.powers).any(axis=0)
        self.gain_ = np.where(unknown, 1.0, shown.gains * scales)
        self.exogenous_power_ = np.where(unknown, shown.powers * scales**2, shown.powers)
        self.identifiability_ = compute_identifiability(data, point)
        warn_of_proportional_powers(names, find_proportional(data, point))

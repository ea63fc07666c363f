"""Linear structural vector autoregressions."""

from collections.abc import Callable, Collection, Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data.series import Panel
from pgmx.estimators.time_series.svarm.learner import SVARMLearner
from pgmx.estimators.time_series.svarm.problem import make_terms, read_lines
from pgmx.models import TimeSeriesGraph
from pgmx.models.time_series.coefficients import measure_strengths
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run
from pgmx.solvers.time_series.kernel_blocks import Kernel, KernelBlocks, make_kernel


class LinearSVARM(SVARMLearner):
    r"""Sparse linear structural vector autoregression.

    .. math:: y_t = c + A_0 y_t + \sum_{l=1}^{L} A_l y_{t-l} + e_t, \quad \operatorname{diag} A_0 = 0

    with series centred and scaled to variance 1 over all T rows. The targets are the rows after the first L. The
    coefficients minimise

    .. math:: \tfrac{1}{2} \sum_j \Big\|Y_j - \sum_b x_b w_{bj}\Big\|^2 + \lambda \sum_{b,j} |w_{bj}|

    over the columns b of one lag and series, each centred and scaled to a square sum T - L.

    Parameters
    ----------
    data : frame, array, path, or list or dict of them, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    lags : int, default=1
        Largest lag L, at least 1.
    instantaneous : bool, default=True
        Whether series depend on present values of other series. `predict` needs False.
    orient : None, default=None
        Must be None: instantaneous edges have no direction, since for linear functions and Gaussian noise both
        directions fit equally well. See `KernelSVARM`.
    lam : float, default=None
        Penalty λ > 0, not divided by T. None means `lam_ratio` times `lam_max_`.
    lam_ratio : float, default=0.1
        Penalty as a share of the smallest penalty without edges, used if `lam` is None.
    tol : float, default=1e-6
        Largest duality gap of a target, relative to its objective.
    max_iter : int, default=100000
        Maximum number of passes of coordinate descent per target, or of iterations of ADMM.
    solver : {"descent", "admm"}, default="descent"
        Coordinate descent with working sets, or the alternating direction method of multipliers. For the squared
        loss with the lasso only.
    loss : {"squared", "absolute", "epsilon_insensitive"}, default="squared"
        Loss of a residual r: r² / 2, abs(r), or max(abs(r) − ε, 0). The latter two are robust against outliers.
    epsilon : float, default=0.1
        ε of the ε-insensitive loss, in standard deviations of each series, at least 0.
    penalty : {"lasso", "ridge"}, default="lasso"
        λ times the sum of the norms, or of the squared norms, of the coefficients of each edge. With "ridge" all
        allowed edges are present; see `test_edges`.
    exogenous_columns : list of hashable, default=None
        Exogenous columns, which are not series. They enter at the time of the target and are not penalised.
    seasonal_period : int, default=None
        Number of rows of a season. The means of its phases enter unpenalised. In forecasts a history without times (an
        array, a default index) is assumed to end with the last training row.
    required_edges, forbidden_edges : collection of ((source, lag), (target, 0)), default=None
        Edges without a penalty, and edges that are excluded.
    time_column, groups : hashable, default=None
        Columns with the times of the rows, and with the series of a panel.
    missing : {"error", "drop"}, default="error"
        How to treat missing values: raise an error, or leave out the rows whose lag window has a missing value.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        How to treat irregular times: raise an error, or assume that rows are equidistant.
    max_time : float, default=None
        Time limit in seconds. The current estimate is returned then.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each round over all targets. The run ends if it
        returns True.
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (L + 1, N, N)
        Coefficients [lag, target, source] in the user's units; lag 0 is instantaneous.
    intercept_ : ndarray of float64, shape (N,)
        Intercepts in the user's units.
    strengths_ : ndarray of float64, shape (L + 1, N, N)
        Strengths [lag, target, source]: absolute coefficients of the columns scaled to square sum T - L.
    graph_ : TimeSeriesGraph
        The learned graph, with the attributes ``weight`` and ``strength``; computed on first access. Instantaneous
        relations with at least one nonzero coefficient have both directions and are marked undirected.
    objective_, dual_gap_ : float
        The objective, and an upper bound on its distance from the optimum.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty without edges: the largest :math:`|x_b' y_j|` of the allowed edges.
    converged_, stopped_by_, n_iter_ : bool, str, int
        Whether `tol` was reached; why the run ended ("converged", "max_iter", "max_time", "callback" or "interrupt");
        and the maximum number of passes or iterations of a target.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`. If edges are required, they refer to
        the targets with the same required edges.
    noise_variance_ : ndarray of float64, shape (N,)
        Mean squared residuals, in the user's units.
    exogenous_coef_ : ndarray of float64, shape (N, K)
        Coefficients of exogenous and seasonal columns, in the user's units.
    means_, scales_ : ndarray of float64, shape (N,)
        Means and population standard deviations of the series.
    n_targets_, n_left_out_ : int
        Number of predicted rows, and number of rows left out because of missing values.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        The series.

    Raises
    ------
    ValueError, TypeError
        If the series or an option is invalid. The message names it.

    Warns
    -----
    ConvergenceWarning
        If `tol` was not reached.

    Notes
    -----
    Other losses replace ½‖·‖², and the ridge replaces the sum of norms by the sum of squared norms. The squared loss
    with the ridge has a closed form, with one factorisation for all series: O(F T min(F, T)) time for F columns. The
    absolute and the ε-insensitive loss are minimised by the alternating direction method of multipliers or, with the
    lasso and linear functions, by linear programmes; `n_iter_` is 1 then.

    ``fit`` also accepts the inputs and responses of `pgmx.datasets.kernel_responses`, or any object with these two
    attributes. Rows are independent trials then: the response of a node depends on the inputs of other nodes in the
    same row, and edges are directed, at lag 0. `lags` and `instantaneous` are not used.

    `KernelSVARM` with the kernel "linear" has the same objective. Least squares with the present of the other series as
    regressors is a neighbourhood regression, not a structural equation. Interpret its instantaneous coefficients as a
    skeleton. Cost: O(T N² L) time for a round over all columns, and N² (L + 1)² memory for the Gram matrix.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       chapter 5, equations 5.1, 5.12 and 5.13, and algorithm 6b.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import LinearSVARM
    >>> rng = np.random.default_rng(0)
    >>> series = rng.standard_normal((200, 3))
    >>> series[1:, 1] += 2.0 * series[:-1, 0]
    >>> learner = LinearSVARM(lam_ratio=0.3).fit(series)
    >>> list(learner.graph_.edges())
    [(('x0', 1), ('x1', 0))]
    """

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        instantaneous: bool = True,
        orient: None = None,
        lam: float | None = None,
        lam_ratio: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 100_000,
        solver: Literal["descent", "admm"] = "descent",
        loss: Literal["squared", "absolute", "epsilon_insensitive"] = "squared",
        epsilon: float = 0.1,
        penalty: Literal["lasso", "ridge"] = "lasso",
        exogenous_columns: Collection[Hashable] | None = None,
        seasonal_period: int | None = None,
        required_edges: Collection | None = None,
        forbidden_edges: Collection | None = None,
        time_column: Hashable | None = None,
        groups: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lags = lags
        self.instantaneous = instantaneous
        self.orient = orient
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.loss = loss
        self.epsilon = epsilon
        self.penalty = penalty
        self.exogenous_columns = exogenous_columns
        self.seasonal_period = seasonal_period
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.time_column = time_column
        self.groups = groups
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs

    coef_: np.ndarray
    intercept_: np.ndarray

    def _list_kernels(self) -> list[tuple[Kernel, str]]:
        return [(make_kernel("linear", 1.0), "linear")]

    def _fit(self, opened: Panel, sample_weight: ArrayLike | None) -> Run | None:
        run = super()._fit(opened, sample_weight)
        scales = self.scales_
        slopes, shift = read_lines(self._terms.terms, self.strengths_.shape)
        self.coef_ = slopes * scales[:, None] / self._source_scales
        # linear functions are centred on the rows: their value at zero belongs to the intercept
        level = scales * (self._terms.intercept + shift) + self.means_
        self.intercept_ = level - (self.coef_ @ self._source_means).sum(axis=0)
        return run

    def _measure_units(self) -> np.ndarray:
        return self.scales_[:, None] / self.scales_

    def _read_effects(self, blocks: KernelBlocks, weights: np.ndarray, strengths: np.ndarray) -> np.ndarray:
        return read_lines(make_terms(blocks, weights, np.arange(len(weights))), strengths.shape)[0]

    def _graph_resamples(self, means: np.ndarray, confidence: np.ndarray) -> TimeSeriesGraph:
        strengths, is_skeleton = measure_strengths(list(means), self.scales_), self._is_skeleton()
        return TimeSeriesGraph.from_coefficients(
            self.variables_, means, strengths=strengths, confidence=confidence, undirected_instantaneous=is_skeleton
        )

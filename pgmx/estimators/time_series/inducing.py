"""Sparse linear dynamical systems by the lasso."""

from collections.abc import Callable, Collection, Hashable
from numbers import Integral, Real
from typing import Any, Literal

from scipy.sparse import csr_array

from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.time_series.cost import SeriesSize, estimate_products, estimate_rows
from pgmx.estimators.time_series.learner import TargetCounter
from pgmx.estimators.time_series.linear import SparseLDSLearner
from pgmx.estimators.time_series.problem import (
    MOST_COVARIANCES,
    LDSProblem,
    LDSSolution,
    list_knowledge,
    make_rows,
    make_sparse_solution,
    reduce_moments,
)
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run
from pgmx.solvers.time_series.lagged_lasso import (
    find_largest_penalty,
    fit_support,
    keep_largest,
    measure_violation,
    solve_lasso,
)
from pgmx.solvers.time_series.screening import (
    descend_lasso,
    find_candidates,
    fit_rows,
    measure_row_violation,
    solve_screened,
)

#: Bytes of correlations of blocks of targets with all predictors.
_CANDIDATE_BYTES = 1 << 24


class SparsityInducingLDS(SparseLDSLearner):
    r"""Sparse linear dynamical system: the lasso selects the parents of every series.

    .. math::

        \min_{A_i} \; \frac{1}{2 T'} \sum_t \Big( x_{it} - \sum_{l=1}^{L} A_{l,i}\, x_{t-l} \Big)^2
        + \lambda \sum_l \| A_{l,i} \|_1

    for each series i, over the T' rows t whose L previous rows are observed. Optionally each series keeps only its k
    largest coefficients. The kept coefficients are estimated again by least squares.

    Parameters
    ----------
    data : DataFrame, array, path, iterator of frames, or list or dict of tables, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    lags : int, default=1
        The number of lags L.
    lam : float, default=None
        The penalty λ > 0. With `standardize` it refers to series divided by their standard deviations.
    lam_ratio : float, default=0.1
        λ as a share (at most 1) of ``lam_max_``, the smallest penalty without edges. Used if `lam` is None.
    k : int, default=None
        Maximum number of parents (series and lag) per series: the parents with the largest coefficients are kept. None
        keeps all parents that the lasso selects.
    refit : bool, default=True
        Whether the coefficients of the selected parents are estimated by least squares. False keeps the coefficients of
        the lasso.
    screen : int, default=None
        Number of predictors per series, chosen by correlation, with which the lasso starts. Use it if the
        cross-products of all predictors, 8 (L n)² bytes, do not fit in memory. See the notes.
    solver : {"lasso", "sgd"}, default="lasso"
        ``"lasso"``: the exact optimum. ``"sgd"``: 20 L n stochastic gradient steps as in [1]_, which need `k`. They are
        slower and less accurate, and have no certificate.
    standardize : bool, default=True
        Whether the series are divided by their population standard deviations.
    fit_intercept : bool, default=False
        Whether the model has a constant, which is not penalised.
    exogenous_columns : list of column names, default=None
        Exogenous columns, which are not series. They enter at the time of the predicted row and are not penalised.
    seasonal_period : int, default=None
        Number of rows of a season. It adds `seasonal_period` - 1 seasonal columns to the exogenous columns. In
        forecasts a history without times (an array, a default index) is assumed to end with the last training row.
    required_edges : collection of ((source, lag), (target, 0)), default=None
        Required edges. They are not penalised, and are kept in addition to the k largest.
    forbidden_edges : collection of ((source, lag), (target, 0)), default=None
        Edges whose coefficients are zero.
    time_column : hashable, default=None
        Column of the times. None uses the index of a pandas frame.
    groups : hashable, default=None
        Column that identifies the series of a panel.
    missing : {"error", "drop"}, default="error"
        How to treat missing values: raise an error, or leave out the rows whose lag window has a missing value.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        How to treat irregular times: raise an error, or assume that rows are equidistant.
    random_state : int or None, default=0
        Seed of the rows that "sgd" draws. None draws a new seed.
    max_time : float, default=None
        Time limit in seconds. No further block of 256 targets starts then. The remaining targets have no parents, with
        a warning.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each block; the objective is NaN. The run ends
        if it returns True.
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.

    Attributes
    ----------
    coef_ : csr_array of shape (n, n), or tuple of lags + 1 of them for several lags
        Coefficients ``[target, source]``, of the lags 0 (no entries) to L, in the user's units.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty without edges except required ones.
    kkt_residual_ : float
        Largest violation of the optimality conditions of the lasso, before `k` and `refit`; 0 or about 1e-12 λ, except
        for `screen` with `k`, for "sgd", and for unsolved regressions.
    converged_, stopped_by_ : bool, str
        Whether all regressions were solved, and why the run ended: ``"converged"``, ``"max_time"``, ``"callback"`` or
        ``"interrupt"``.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    intercept_ : ndarray of shape (n,)
        The constants, zeros without `fit_intercept`.
    exogenous_coef_ : ndarray of shape (n, n_exogenous)
        Coefficients of the exogenous columns, followed by the seasonal columns.
    noise_covariance_ : ndarray of shape (n, n), or (n,) for more than 2,000 series
        Covariance of the residuals, or only their variances, divided by `n_targets_`.
    model_ : LinearDynamicalSystem
        The learned system, computed on first access.
    graph_ : TimeSeriesGraph
        The learned graph over (name, lag), computed on first access. ``weight`` is the coefficient.
    n_targets_ : int
        Number of predicted rows.
    n_left_out_ : int
        Number of rows that were left out because their lag window has unobserved rows.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the series, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the series, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data or an option is invalid. The message names the option or column.

    Warns
    -----
    ConvergenceWarning
        If `max_time` or the callback ended the run before all regressions were solved.

    Notes
    -----
    With `screen`, predictors that violate the optimality conditions are added until none does. With `screen` and `k`
    this ends when the k largest coefficients no longer change; `kkt_residual_` is the remaining violation. Cost for P =
    L n predictors and m non-zeros: T' P² for the cross-products, then m P. With `screen`: 2 T' P n for the
    correlations, the same per check, and T' screen² n; memory for three copies of the lagged rows.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, algorithm 3.
    .. [2] Fan, J. and Lv, J. (2008). Sure independence screening for ultrahigh dimensional feature space. Journal of
       the Royal Statistical Society B 70, 849-911.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.datasets import sparse_system
    >>> A, rng = sparse_system(30, degree=2), np.random.default_rng(0)
    >>> X = np.zeros((500, 30))
    >>> for t in range(1, 500):
    ...     X[t] = A @ X[t - 1] + rng.standard_normal(30)
    >>> from pgmx.estimators import SparsityInducingLDS
    >>> learner = SparsityInducingLDS(k=2).fit(X)
    >>> int(((learner.coef_ != 0).multiply(A != 0)).sum()), learner.coef_.nnz
    (60, 60)
    """

    _parameter_constraints = {
        **SparseLDSLearner._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "lam_ratio": [Interval(Real, 0, 1, closed="right")],
        "k": [Interval(Integral, 1, None, closed="left"), None],
        "refit": ["boolean"],
        "screen": [Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"lasso", "sgd"})],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
    }

    lam_: float
    lam_max_: float
    kkt_residual_: float

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        lam: float | None = None,
        lam_ratio: float = 0.1,
        k: int | None = None,
        refit: bool = True,
        screen: int | None = None,
        solver: Literal["lasso", "sgd"] = "lasso",
        standardize: bool = True,
        fit_intercept: bool = False,
        exogenous_columns: Collection[Hashable] | None = None,
        seasonal_period: int | None = None,
        required_edges: Collection | None = None,
        forbidden_edges: Collection | None = None,
        time_column: Hashable | None = None,
        groups: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        random_state: int | None = 0,
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lags = lags
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.k = k
        self.refit = refit
        self.screen = screen
        self.solver = solver
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.exogenous_columns = exogenous_columns
        self.seasonal_period = seasonal_period
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.time_column = time_column
        self.groups = groups
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.random_state = random_state
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs

    def _reads_chunks(self) -> bool:
        # screening and stochastic gradients need the rows, not their cross-products
        return self.screen is None and self.solver == "lasso"

    def _estimate_solving(self, size: SeriesSize) -> int:
        if self._reads_chunks():
            return estimate_products(size, self.lags, copies=4)
        rows = estimate_rows(size, self.lags, has_covariance=size.n_series <= MOST_COVARIANCES)
        return rows + _CANDIDATE_BYTES

    def _solve(self, problem: LDSProblem, run: Run | None = None) -> LDSSolution:
        if self.solver == "sgd" and self.k is None:
            raise ValueError('solver="sgd" needs k (such as k=10), since none of its coefficients is exactly zero')
        if self.solver == "sgd" or self.screen is not None:
            return self._solve_rows(problem, run)
        reduction, required = reduce_moments(problem), list_knowledge(problem)[1]
        products = reduction.products
        self._set_penalty(find_largest_penalty(products.cross, required))
        record = TargetCounter(run, problem.n_series)
        coefs = solve_lasso(products, self.lam_, required, record)
        self._end_blocks(record, problem.n_series, run)
        # before `k` and `refit`, which change the coefficients of the lasso
        self.kkt_residual_ = measure_violation(products, coefs, self.lam_, required)
        coefs = keep_largest(coefs, self.k, required)
        return make_sparse_solution(problem, reduction, fit_support(products, coefs) if self.refit else coefs)

    def _solve_rows(self, problem: LDSProblem, run: Run | None) -> LDSSolution:
        row_problem = make_rows(problem, range(1, self.lags + 1))
        rows, record = row_problem.rows, TargetCounter(run, problem.n_series)
        if self.solver == "sgd":
            # the strongest correlation of any target is the largest penalty
            self._set_penalty(find_candidates(rows, 1)[1])
            coefs = csr_array(descend_lasso(rows, self.lam_, self.random_state))
            record(problem.n_series, coefs.nnz)
            self.kkt_residual_ = measure_row_violation(rows, coefs, self.lam_)
        else:
            assert self.screen is not None
            solution = solve_screened(rows, self.lam, self.lam_ratio, self.screen, self.k, record)
            coefs, self.lam_, self.lam_max_, self.kkt_residual_ = solution
        self._end_blocks(record, problem.n_series, run)
        coefs = keep_largest(coefs, self.k, rows.required)
        return make_sparse_solution(problem, row_problem, fit_rows(rows, coefs) if self.refit else coefs)

    def _set_penalty(self, largest: float) -> None:
        self.lam_max_ = largest
        self.lam_ = self.lam_ratio * largest if self.lam is None else float(self.lam)

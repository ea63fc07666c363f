"""Sparse linear dynamical systems of very many series, from the parents of a few series."""

from collections.abc import Callable, Collection, Hashable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.time_series.cost import SeriesSize, estimate_rows
from pgmx.estimators.time_series.learner import TargetCounter
from pgmx.estimators.time_series.linear import SparseLDSLearner
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution, make_rows, make_sparse_solution
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run
from pgmx.solvers.time_series.lagged_lasso import keep_largest
from pgmx.solvers.time_series.screening import Rows, descend_lasso, fit_rows, solve_screened, sum_row_residuals
from pgmx.solvers.time_series.seeds import add_required, share_parents

#: Number of predictors (by correlation) per wanted parent with which the lasso of a seed starts, and maximum number of
#: coefficients two steps back that are kept after stochastic gradient steps (none of them is zero).
CANDIDATES, MOST_TWO_STEPS = 4, 100


class ScalableLDS(SparseLDSLearner):
    r"""Sparse linear dynamical system of very many series, from the parents of a few seed series.

    .. math::

        E_{j, u} = \sum_{i \in S:\, j \in N_i} \frac{|B_{i, u}|}{\| B_i \|_1}

    For each seed i of a random set S the lasso selects at most k parents N_i one step back, and estimates the
    coefficients B_i of all series two steps back. The parents of a series j that is a parent of seeds are the series
    with the k largest scores E. All coefficients are then estimated by least squares given the parents.

    Parameters
    ----------
    data : DataFrame, array, path, iterator of frames, or list or dict of tables, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    lags : int, default=1
        The number of lags L. B has the lags 2 to 2 L.
    n_seeds : int, default=None
        Number of seeds, at most n. The cost is then linear in n.
    seed_fraction : float, default=0.2
        Share of the series that are seeds, used if `n_seeds` is None. The cost is then quadratic in n.
    k : int, default=10
        Maximum number of parents (series and lag) per series.
    lam : float, default=None
        Penalty λ > 0 of both regressions. The default is √(2 ln(L n) / T') (about the largest correlation of
        independent series) times the mean variance of the series, which is 1 with `standardize`.
    solver : {"lasso", "sgd"}, default="lasso"
        Whether the regressions of the seeds are solved exactly, or by stochastic gradient steps as in [1]_ with λ =
        .001.
    standardize : bool, default=True
        Whether the series are divided by their population standard deviations.
    fit_intercept : bool, default=False
        Whether the model has a constant.
    exogenous_columns : list of column names, default=None
        Exogenous columns, which are not series. They enter at the time of the predicted row and are not penalised.
    seasonal_period : int, default=None
        Number of rows of a season. It adds `seasonal_period` - 1 seasonal columns to the exogenous columns. In
        forecasts a history without times (an array, a default index) is assumed to end with the last training row.
    required_edges : collection of ((source, lag), (target, 0)), default=None
        Required edges, in addition to the k others.
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
        Random seed for the choice of the seed series. None draws a new seed.
    max_time : float, default=None
        Time limit in seconds. No further block of 256 seeds starts then. The remaining seeds have no parents, with a
        warning.
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
        Coefficients ``[target, source]``, of the lags 0 (no entries) to L, in the user's units. A series that is
        neither a seed nor a parent of a seed has no parents.
    seeds_ : list
        Names of the seeds, in the order of the series.
    lam_ : float
        The penalty.
    converged_, stopped_by_ : bool, str
        Whether all regressions were solved, and why the run ended: ``"converged"``, ``"max_time"``, ``"callback"`` or
        ``"interrupt"``.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    intercept_ : ndarray of shape (n,)
        The constants, zeros without `fit_intercept`.
    exogenous_coef_ : ndarray of shape (n, n_exogenous)
        Coefficients of the exogenous columns, followed by the seasonal columns.
    noise_covariance_ : ndarray of shape (n,)
        Variances of the residuals, divided by `n_targets_`.
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
    Use `SparsityInducingLDS` if it is affordable (with `screen` for thousands of series). This learner only
    approximates the parents of series that are not seeds. The approximation is good if series with common children have
    the same parents. On random graphs (n = 500, 4 parents, T = 1,000) it finds 22, 44 and 57 % of the parents with 10,
    30 and 50 % seeds, and `SparsityInducingLDS` finds 100 %.

    Cost: T' L n per seed and per check of its lasso, and T' k² per series. No n x n array is formed.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.datasets import sparse_system
    >>> A, rng = sparse_system(60, degree=2, kind="block"), np.random.default_rng(0)
    >>> X = np.zeros((500, 60))
    >>> for t in range(1, 500):
    ...     X[t] = A @ X[t - 1] + rng.standard_normal(60)
    >>> from pgmx.estimators import ScalableLDS
    >>> learner = ScalableLDS(n_seeds=20, k=2).fit(X)
    >>> len(learner.seeds_), learner.coef_.shape
    (20, (60, 60))
    """

    _parameter_constraints = {
        **SparseLDSLearner._parameter_constraints,
        "n_seeds": [Interval(Integral, 1, None, closed="left"), None],
        "seed_fraction": [Interval(Real, 0, 1, closed="right")],
        "k": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "solver": [StrOptions({"lasso", "sgd"})],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
    }

    seeds_: list
    lam_: float

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        n_seeds: int | None = None,
        seed_fraction: float = 0.2,
        k: int = 10,
        lam: float | None = None,
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
        self.n_seeds = n_seeds
        self.seed_fraction = seed_fraction
        self.k = k
        self.lam = lam
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

    def _estimate_solving(self, size: SeriesSize) -> int:
        return estimate_rows(size, self.lags, has_covariance=False)

    def _solve(self, problem: LDSProblem, run: Run | None = None) -> LDSSolution:
        n, lags = problem.n_series, self.lags
        if self.n_seeds is not None and self.n_seeds > n:
            raise ValueError(f"n_seeds must be at most the number of series, {n}, got {self.n_seeds}")
        rng = np.random.default_rng(self.random_state)
        n_seeds = max(1, round(self.seed_fraction * n)) if self.n_seeds is None else self.n_seeds
        seeds = np.sort(rng.choice(n, n_seeds, replace=False))
        self.seeds_ = [problem.names[seed] for seed in seeds]
        whole = make_rows(problem, range(1, lags + 1))
        self._set_penalty(problem, whole.rows)
        # each seed has two regressions: on one step and on two steps before
        record = TargetCounter(run, 2 * n_seeds)
        one_step = self._regress(_select_targets(whole.rows, seeds), rng, record)
        two_steps = self._regress(make_rows(problem, range(2, 2 * lags + 1), seeds).rows, rng, record)
        self._end_blocks(record, 2 * n_seeds, run)
        if self.solver == "sgd":
            # stochastic gradients leave no coefficient at zero
            two_steps = keep_largest(two_steps, MOST_TWO_STEPS, {})
        scores = share_parents(one_step, two_steps, seeds, n, lags, self.k, whole.rows.forbidden)
        parents = add_required(scores, whole.rows.required)
        coefs = fit_rows(whole.rows, parents)
        # only the variances of the noise: no n x n array is ever formed
        return make_sparse_solution(problem, whole, coefs, sum_row_residuals(whole.rows, coefs))

    def _set_penalty(self, problem: LDSProblem, rows: Rows) -> None:
        assert problem.panel is not None
        p, length = rows.predictors.shape
        variance = 1.0 if self.standardize else np.mean(problem.panel.scales() ** 2)
        # about the largest of p correlations with noise over this number of rows
        smallest = 1e-3 if self.solver == "sgd" else np.sqrt(2.0 * np.log(max(p, 2)) / length)
        self.lam_ = float(smallest * variance) if self.lam is None else float(self.lam)

    def _regress(self, rows: Rows, rng: np.random.Generator, record: TargetCounter) -> csr_array:
        if self.solver == "sgd":
            coefs = csr_array(descend_lasso(rows, self.lam_, int(rng.integers(2**63))))
            record(len(rows.targets), coefs.nnz)
            return coefs
        return solve_screened(rows, self.lam_, 1.0, CANDIDATES * self.k, None, record).coefs


def _select_targets(rows: Rows, targets: np.ndarray) -> Rows:
    """Return the rows of some targets."""
    sides = (
        {place: side[target] for place, target in enumerate(targets.tolist()) if target in side}
        for side in (rows.forbidden, rows.required)
    )
    return Rows(rows.predictors, rows.targets[targets], *sides)

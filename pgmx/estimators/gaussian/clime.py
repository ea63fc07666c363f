"""CLIME: constrained l1 minimisation, one linear programme per variable."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array, csr_array

from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.gaussian.columns import estimate_columns, solve_columns
from pgmx.estimators.gaussian.cost import GaussianSize
from pgmx.estimators.gaussian.estimate import GaussianEstimate, drop_rounding, list_edges
from pgmx.estimators.gaussian.learner import GaussianLearner, find_largest_correlation
from pgmx.parallel.tasks import SharedArrays
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run, Store, local_deadline
from pgmx.solvers.gaussian.clime import clime_columns
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.screening import screen_clime_columns
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian.correlations import FactoredCorrelations

#: Arrays of a block of columns of ADMM.
_ADMM_ARRAYS = 36


class CLIME(GaussianLearner):
    r"""Gaussian graphical model by constrained l1 minimisation.

    .. math::

        \min_q \|q\|_1 \quad \text{such that} \quad \|(R + \epsilon I)\, q - e_j\|_\infty \le \lambda

    for each variable j, with R the correlations of the data and ε the ridge. Columns i and j give two values for the
    pair (i, j). The value of smaller magnitude is used.

    Parameters
    ----------
    data : DataFrame, array, path or covariance, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    solver : {"auto", "homotopy", "admm"}, default="auto"
        ``"homotopy"``: the exact parametric path from λ = 1 down. ``"admm"``: linearised ADMM to `tol`. ``"auto"``: the
        path, and ADMM for the columns whose path costs more. See the notes for more than 8,192 columns.
    ridge : float or "auto", default="auto"
        The ridge ε. ``"auto"`` is :math:`1 / \sqrt n` if R is singular (always if p >= n), else 0.
    lam : float, default=None
        Penalty λ on the correlation scale. None means `lam_ratio` times `lam_max_`. `SelectedGraph` chooses λ from the
        data.
    lam_ratio : float, default=0.3
        Penalty as a share of the smallest λ without edges, used if `lam` is None.
    refit : bool, default=False
        Whether the parameters of `model_` are estimated by maximum likelihood given the learned graph, without
        shrinkage.
    tol : float, default=1e-4
        Tolerance of ADMM: largest duality gap of a column relative to max(1, \|q\|_1), and largest violation of the
        constraint. The path is exact.
    max_iter : int, default=5000
        Maximum number of iterations of ADMM.
    max_time : float, default=None
        Time limit in seconds. The current estimate is returned then.
    checkpoint : path-like, default=None
        File with the work that is done so far. The same call of ``fit`` or ``path`` resumes from it, with the same
        result. It is deleted at the end.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one after each penalty (GraphicalLasso) or block of columns (other
        learners).
    covariance : {"empirical", "precomputed"}, default="empirical"
        Whether ``fit`` expects rows, or a covariance or correlation matrix as a frame or array of shape (p, p). An
        indefinite matrix is replaced by the nearest correlation matrix, with a warning; see `repaired_`.
    n_samples : float, default=None
        Number of rows from which the ``"precomputed"`` covariance was estimated. EBIC and the ridge of CLIME need it.
    missing : {"error", "drop", "pairwise"}, default="error"
        How to treat missing values: raise an error, drop rows with a missing value, or compute each covariance from the
        rows in which both variables are observed.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each sweep or block of columns. The run ends if
        it returns True.
    n_jobs : int, default=None
        Number of workers, as in joblib. The result does not depend on it.

    Attributes
    ----------
    precision_raw_ : ndarray of shape (p, p)
        The solved columns in the units of the data, before symmetrisation. They satisfy the constraint.
    violation_ : float
        Largest excess over the constraint, :math:`\|(R + \epsilon I) Q - I\|_{max} - \lambda`; zero up to rounding for
        the exact path. `dual_gap_` refers to the constraint that each column satisfies.
    ridge_ : float
        The ridge ε.
    graph_ : networkx.Graph
        The learned graph; ``weight`` of an edge is its partial correlation in `model_`.
    model_ : GaussianMarkovNetwork
        The learned network, always positive definite. `model_.estimated_by` is the estimation method.
    precision_, covariance_ : ndarray of shape (p, p)
        The precision estimated by the method, in the units of the data (if the method has none: the precision of
        `model_`), and the covariance of `model_`.
    location_ : ndarray of shape (p,)
        Means.
    correlation_ : ndarray of shape (p, p)
        Correlations from which the graph was learned.
    repaired_ : float
        Largest change of a correlation when the matrix was made positive semidefinite; 0.0 if no change was needed.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges as positions in `variables_`.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty without edges (for CLIME: with a diagonal estimate).
    objective_, dual_gap_ : float
        The objective on the correlation scale, and an upper bound on its distance from the optimum.
    converged_, stopped_by_ : bool, str
        Whether `tol` was reached, and why the run ended: ``"converged"``, ``"max_iter"``, ``"max_time"``,
        ``"callback"``, ``"interrupt"`` or ``"stalled"``.
    n_iter_ : int
        Number of sweeps, pivots of the path, or iterations; the maximum over columns if columns are solved separately.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the columns, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the columns, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data or an option is invalid. The message names the option or column.

    Warns
    -----
    ConvergenceWarning
        If `tol` was not reached.

    Notes
    -----
    `precision_` may be indefinite. `model_` is then estimated by maximum likelihood given the graph. Cost of the path:
    about k p multiplications for each of about k pivots of a column with k non-zeros. Cost of ADMM: 2 p²
    multiplications (4 n p if p > n) for each of some hundreds of iterations per column. ADMM is cheaper for columns
    with hundreds of non-zeros. If there are more than 8,192 columns and fewer rows than columns, R is never formed,
    except with ``solver="admm"``: the path is solved over candidate variables and checked against all variables. It
    costs some 8 n p multiplications per column and penalty, and O(p) memory for each of 128 columns at a time. Columns
    are independent of each other and can be solved on several machines (``joblib.parallel_config``).

    References
    ----------
    .. [1] Cai, T., Liu, W. and Luo, X. (2011). A constrained l1 minimization approach to sparse precision matrix
       estimation. Journal of the American Statistical Association 106, 594-607, equations 1 to 3.
    .. [2] Pang, H., Liu, H. and Vanderbei, R. (2014). The fastclime package for linear programming and large-scale
       precision matrix estimation in R. Journal of Machine Learning Research 15, 489-493.
    .. [3] Wang, H. et al. (2013). Large scale distributed sparse precision estimation. Advances in Neural Information
       Processing Systems 26, algorithm 1.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_chain_network
    >>> rows = gaussian_chain_network(5, 0.6).simulate(500, random_state=1)
    >>> learner = CLIME(lam=0.15).fit(rows)
    >>> sorted(learner.graph_.edges())
    [('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3'), ('x3', 'x4')]
    >>> learner.violation_ < 1e-9
    True
    """

    _parameter_constraints = {
        **GaussianLearner._parameter_constraints,
        "solver": [StrOptions({"auto", "homotopy", "admm"})],
        "ridge": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        solver: Literal["auto", "homotopy", "admm"] = "auto",
        ridge: float | Literal["auto"] = "auto",
        lam: float | None = None,
        lam_ratio: float = 0.3,
        refit: bool = False,
        tol: float = 1e-4,
        max_iter: int = 5000,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        covariance: Literal["empirical", "precomputed"] = "empirical",
        n_samples: float | None = None,
        missing: Literal["error", "drop", "pairwise"] = "error",
        na_values: Any = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.covariance = covariance
        self.n_samples = n_samples
        self.missing = missing
        self.na_values = na_values
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs
        self.solver = solver
        self.ridge = ridge

    violation_: float
    ridge_: float

    _unit = "blocks"

    remedy = "raise max_iter or max_time. If the constraint cannot be met, use a larger penalty or a ridge"

    def _should_select_by_refit(self) -> bool:
        return True

    @property
    def precision_raw_(self) -> np.ndarray:
        """The solved columns before symmetrisation, of shape (p, p), in the units of the data."""
        return self._make_once("raw", lambda: self._estimate.raw.toarray() / self._products_of_scales())

    def _set_results(self, sample: GaussianSample, estimate: GaussianEstimate) -> None:
        super()._set_results(sample, estimate)
        self.violation_ = float(estimate.violation)
        self.ridge_ = self._ridge(sample)

    def _estimate_solving(self, size: GaussianSize) -> int:
        if self.solver == "admm":
            return estimate_columns(size, self.n_jobs, _ADMM_ARRAYS)
        return estimate_columns(size, self.n_jobs)

    def _ridge(self, sample: GaussianSample) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        if not sample.singular:
            return 0.0
        if sample.n_rows is None:
            raise ValueError(
                "ridge='auto' needs n_samples if the covariance is singular: give n_samples, or a ridge above 0"
            )
        return 1 / sqrt(sample.n_rows)

    def _largest_penalty(self, sample: GaussianSample, lam: float = inf, share: float = 0.0) -> float:
        largest = find_largest_correlation(sample)
        # from here on a multiple of the unit vector satisfies the constraints of every column
        return largest / (1 + self._ridge(sample) + largest)

    def _solve(
        self,
        sample: GaussianSample,
        lams: np.ndarray,
        run: Run,
        store: Store | None = None,
        is_enough: Callable[[list[GaussianEstimate]], bool] = lambda estimates: False,
    ) -> list[GaussianEstimate]:
        iterates = self.solver == "admm"
        forms_matrix = not isinstance(sample.correlations, FactoredCorrelations) or (not iterates and lams[-1] == 0)
        matrices = {} if sample.factor is None else {"factor": sample.factor}
        if forms_matrix:
            matrices["correlation"] = sample.correlation
        is_screened = not forms_matrix and not iterates
        limits = self.tol, self.max_iter, run.wall_deadline
        columns = _ColumnSolver(lams, self._ridge(sample), self.solver, *limits, is_screened)
        estimates = solve_columns(columns, SharedArrays(**matrices), len(sample.names), run, self.n_jobs, store)
        return [self._make_estimate(estimates, k, run) for k in range(len(lams))]

    def _make_estimate(self, columns: ColumnEstimates, k: int, run: Run) -> GaussianEstimate:
        precision = drop_rounding(_symmetrise(columns.coefficients[k]))
        n_iter = int(columns.n_iter.max(initial=0))
        return GaussianEstimate(
            lam=float(columns.lams[k]),
            edges=list_edges(precision),
            precision=precision,
            raw=columns.coefficients[k],
            objective=float(abs(columns.coefficients[k]).sum()),
            dual_gap=float(columns.gaps[k].sum()),
            violation=float(columns.violations[k].max(initial=-np.inf)),
            stopped_by=self._stop_reason(bool(columns.converged[k].all()), n_iter >= self.max_iter, run),
            n_iter=n_iter,
        )


def _symmetrise(columns: csc_array) -> csr_array:
    """Return for each pair of entries (i, j), (j, i) the entry of smaller magnitude; if equal, the upper one."""
    columns = columns.sorted_indices()  # entries in the order of (j, i), for `searchsorted`
    p = len(columns.indptr) - 1
    i, j = columns.indices.astype(np.int64), np.repeat(np.arange(p), np.diff(columns.indptr))
    numbers, mirrored = j * p + i, i * p + j
    at = np.minimum(np.searchsorted(numbers, mirrored), len(numbers) - 1) if len(numbers) else numbers
    both = numbers[at] == mirrored  # where one is zero, so is the result
    values, across = columns.data, columns.data[at]
    smaller = (np.abs(values) < np.abs(across)) | ((np.abs(values) == np.abs(across)) & (i <= j))
    values = np.where(smaller, values, across)
    if both.all():
        return csr_array((values, columns.indices, columns.indptr), shape=columns.shape)
    return csr_array((values[both], (i[both], j[both])), shape=columns.shape)


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class _ColumnSolver:
    """Solver of columns, which can be sent to a worker."""

    lams: np.ndarray
    ridge: float
    solver: str
    tol: float
    max_iter: int
    wall_deadline: float
    is_screened: bool

    def certify_zero(self, lam: float) -> tuple[float, float]:
        """Return the gap of a column of zeros, which solves the problem of λ = 1, and its violation for `lam`."""
        return 0.0, max(0.0, 1.0 - lam)

    def __call__(self, arrays: SharedArrays, columns: np.ndarray) -> ColumnEstimates:
        deadline = local_deadline(self.wall_deadline)
        if self.is_screened:
            return screen_clime_columns(arrays.factor, columns, self.lams, ridge=self.ridge, deadline=deadline)
        return clime_columns(
            getattr(arrays, "correlation", None),
            columns,
            self.lams,
            factor=getattr(arrays, "factor", None),
            ridge=self.ridge,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            deadline=deadline,
        )

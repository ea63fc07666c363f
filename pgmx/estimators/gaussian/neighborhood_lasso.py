"""Neighbourhood selection: one lasso per variable."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array

from pgmx.estimators.base import StrOptions
from pgmx.estimators.gaussian.columns import estimate_columns, solve_columns
from pgmx.estimators.gaussian.cost import GaussianSize
from pgmx.estimators.gaussian.estimate import GaussianEstimate, get_units, sort_pairs
from pgmx.estimators.gaussian.learner import GaussianLearner, find_largest_correlation
from pgmx.parallel.tasks import SharedArrays
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run, Store, local_deadline
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.neighborhood import neighborhood_columns
from pgmx.solvers.gaussian.screening import compute_screened_objective, screen_neighborhood_columns
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian.correlations import FactoredCorrelations


class NeighborhoodLasso(GaussianLearner):
    r"""Gaussian graphical model by a lasso regression of each variable on all others.

    .. math::

        \min_{b \in R^p,\; b_j = 0} \; \frac{1}{2n} \|z_j - Z b\|_2^2 + \lambda \|b\|_1

    for each variable j, on data standardised to mean 0 and variance 1. Variables i and j are neighbours if both
    regressions select the other variable (``rule="and"``), or if at least one does (``"or"``).

    Parameters
    ----------
    data : DataFrame, array, path or covariance, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    rule : {"and", "or"}, default="and"
        Whether an edge needs both regressions of a pair to select the other variable, or one of them.
    lam : float, default=None
        Penalty λ on the correlation scale. None means `lam_ratio` times `lam_max_`. `SelectedGraph` chooses λ from the
        data.
    lam_ratio : float, default=0.3
        Penalty as a share of the smallest λ without edges, used if `lam` is None.
    refit : bool, default=False
        Whether the parameters of `model_` are estimated by maximum likelihood given the learned graph, without
        shrinkage.
    tol : float, default=1e-8
        Largest duality gap of a column. All columns have variance 1.
    max_iter : int, default=100
        Maximum number of passes per column that check the optimality conditions of all variables.
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
    coefficients_ : ndarray of shape (p, p)
        Column j has the coefficients of the regression of variable j, in the units of the data.
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
    The method estimates a graph, but no precision. `precision_`, `covariance_` and `model_` are estimated by maximum
    likelihood given the graph. Coordinate descent works on the correlations, so the rows are read once. Cost: about k p
    multiplications for a variable with k neighbours. Columns are independent of each other. If there are more than
    8,192 columns and fewer rows than columns, the correlations are never formed. The lasso of a variable is then solved
    over candidates and checked against all variables, in three or four products of the rows, O(n p) per variable.

    References
    ----------
    .. [1] Meinshausen, N. and Bühlmann, P. (2006). High-dimensional graphs and variable selection with the lasso.
       Annals of Statistics 34, 1436-1462, section 3.
    .. [2] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33, section 2.2.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_chain_network
    >>> rows = gaussian_chain_network(5, 0.6).simulate(500, random_state=1)
    >>> learner = NeighborhoodLasso(lam=0.2).fit(rows)
    >>> sorted(learner.graph_.edges())
    [('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3'), ('x3', 'x4')]
    """

    _parameter_constraints = {**GaussianLearner._parameter_constraints, "rule": [StrOptions({"and", "or"})]}

    def __init__(
        self,
        data: Any = None,
        *,
        rule: Literal["and", "or"] = "and",
        lam: float | None = None,
        lam_ratio: float = 0.3,
        refit: bool = False,
        tol: float = 1e-8,
        max_iter: int = 100,
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
        self.rule = rule

    _unit = "blocks"

    def _should_select_by_refit(self) -> bool:
        return True

    @property
    def coefficients_(self) -> np.ndarray:
        """Coefficients of the regressions, of shape (p, p), in the units of the data."""
        return self._make_once("coefficients", self._make_coefficients)

    def _make_coefficients(self) -> np.ndarray:
        _, scale = get_units(self._sample)
        return self._estimate.raw.toarray() * np.outer(1 / scale, scale)

    def _estimate_solving(self, size: GaussianSize) -> int:
        return estimate_columns(size, self.n_jobs)

    def _largest_penalty(self, sample: GaussianSample, lam: float = inf, share: float = 0.0) -> float:
        return find_largest_correlation(sample)

    def _solve(
        self,
        sample: GaussianSample,
        lams: np.ndarray,
        run: Run,
        store: Store | None = None,
        is_enough: Callable[[list[GaussianEstimate]], bool] = lambda estimates: False,
    ) -> list[GaussianEstimate]:
        # without a penalty no variable can be screened out
        is_wide = isinstance(sample.correlations, FactoredCorrelations) and lams[-1] > 0
        arrays = SharedArrays(factor=sample.factor) if is_wide else SharedArrays(correlation=sample.correlation)
        columns = _ColumnSolver(lams, self.tol, self.max_iter, run.wall_deadline, is_wide)
        estimates = solve_columns(columns, arrays, len(sample.names), run, self.n_jobs, store)
        return [self._make_estimate(sample, estimates, k, run) for k in range(len(lams))]

    def _make_estimate(self, sample: GaussianSample, columns: ColumnEstimates, k: int, run: Run) -> GaussianEstimate:
        coefficients, lam = columns.coefficients[k], float(columns.lams[k])
        neighbors = csc_array(coefficients != 0)
        pairs = (neighbors.multiply(neighbors.T) if self.rule == "and" else neighbors + neighbors.T).tocoo()
        upper = pairs.row < pairs.col
        return GaussianEstimate(
            lam=lam,
            edges=sort_pairs(pairs.row[upper], pairs.col[upper]),
            precision=None,
            raw=coefficients,
            objective=_compute_objective(sample, coefficients, lam),
            dual_gap=float(columns.gaps[k].sum()),
            violation=0.0,
            stopped_by=self._stop_reason(bool(columns.converged[k].all()), lam > 0, run),  # λ = 0 does not iterate
            n_iter=int(columns.n_iter.max(initial=0)),
        )


def _compute_objective(sample: GaussianSample, coefficients: csc_array, lam: float) -> float:
    """Return Σ_j 1/2 - R_j' b_j + b_j' R b_j / 2 + λ |b_j|_1."""
    if isinstance(sample.correlations, FactoredCorrelations) and lam > 0:
        return compute_screened_objective(sample.correlations.factor, coefficients, lam)
    correlation = sample.correlation
    entries = coefficients.tocoo()
    fitted = (coefficients.T @ correlation).T  # R b_j in columns, R being symmetric
    i, j, b = entries.row, entries.col, entries.data
    quadratic = float(b @ (0.5 * fitted[i, j] - correlation[i, j]))
    return 0.5 * len(correlation) + quadratic + lam * float(np.abs(b).sum())


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class _ColumnSolver:
    """Solver of neighbourhoods, which can be sent to a worker."""

    lams: np.ndarray
    tol: float
    max_iter: int
    wall_deadline: float
    is_wide: bool

    def certify_zero(self, lam: float) -> tuple[float, float]:
        """Return the gap of a column of zeros against the dual point 0; there are no constraints."""
        return 0.5, 0.0

    def __call__(self, arrays: SharedArrays, columns: np.ndarray) -> ColumnEstimates:
        limits: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "deadline": local_deadline(self.wall_deadline),
        }
        if self.is_wide:
            return screen_neighborhood_columns(arrays.factor, columns, self.lams, **limits)
        return neighborhood_columns(arrays.correlation, columns, self.lams, **limits)

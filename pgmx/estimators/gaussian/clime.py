"""CLIME: constrained l1 minimisation, one linear programme a variable."""

from dataclasses import dataclass
from math import sqrt
from numbers import Real

import numpy as np
from scipy.sparse import csc_array, csr_array

from pgmx.estimators._documented import documented
from pgmx.estimators._options import with_options
from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.gaussian.columns import solve_columns
from pgmx.estimators.gaussian.estimate import GaussianEstimate, edges_of, without_rounding
from pgmx.estimators.gaussian.learner import GaussianLearner, largest_correlation
from pgmx.parallel.spread import SharedArrays
from pgmx.runs.run import Run, local_deadline
from pgmx.solvers.gaussian.clime.columns import clime_columns
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.statistics import GaussianSample

#: Above so many bytes the correlations of a thin sample are not formed, and ADMM works on its factor.
MATRIX_MEMORY = 2**32


@documented
class CLIME(GaussianLearner):
    r"""Gaussian graphical model by constrained l1 minimisation.

    .. math::

        \min_q \|q\|_1 \quad \text{such that} \quad \|(R + \epsilon I)\, q - e_j\|_\infty \le \lambda

    for each variable j, with R the correlations of the data and ε the ridge. Of the two values that columns i and j
    give to the pair the smaller in magnitude is taken.

    Parameters
    ----------
    data : DataFrame, array, path or covariance, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    solver : {"auto", "homotopy", "admm"}, default="auto"
        The exact parametric path from λ = 1 down; linearised ADMM to `tol`; or the path, and ADMM for those columns
        whose path becomes more work than ADMM (those with hundreds of non-zeros).
    ridge : float or "auto", default="auto"
        ε. ``"auto"`` is :math:`1 / \sqrt n` where R is singular, as it is for p >= n, else 0.
    {gaussian_penalty}
    tol : float, default=1e-4
        Of ADMM: largest duality gap of a column relative to max(1, \|q\|_1), and largest violation of the constraint.
        The path is exact.
    max_iter : int, default=5000
        Most iterations of ADMM.
    {gaussian_run}

    Attributes
    ----------
    precision_raw_ : ndarray of shape (p, p)
        The columns as solved, in the units of the data: what meets the constraint. Not symmetric.
    violation_ : float
        By how much the worst column misses the constraint, :math:`\|(R + \epsilon I) Q - I\|_{max} - \lambda`; zero or
        rounding for the exact path. `dual_gap_` is that of the constraint as each column meets it.
    ridge_ : float
        ε.
    {gaussian_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data and unknown options. The message names the culprit.

    Warns
    -----
    ConvergenceWarning
        If `max_iter`, `max_time` or the callback ended it.

    Notes
    -----
    `precision_` may be indefinite, as the method allows; `model_` is then that of maximum likelihood under the graph.
    Splitting R into blocks of large correlations is exact for the graphical lasso and not for CLIME, so nothing is
    split here. Cost of the path: about k p multiplications for each of the some k pivots of a column with k non-zeros;
    of ADMM: 2 p² multiplications (4 n p where p > n) for each iteration of a column, some hundreds. Columns are
    independent of each other, and can be solved on several machines (``joblib.parallel_config``).

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

    __init__ = with_options(GaussianLearner.__init__, solver="auto", ridge="auto", tol=1e-4, max_iter=5000)

    solver: str
    ridge: float | str

    _unit = "blocks"

    remedy = (
        "raise max_iter or max_time, or, where nothing meets the constraint or almost, take a larger penalty or a ridge"
    )

    selects_by_refit = True

    @property
    def precision_raw_(self) -> np.ndarray:
        """The columns as solved, in the units of the data."""
        return self._make_once("raw", lambda: self._found.raw.toarray() / self._products_of_scales())

    def _accept(self, sample: GaussianSample, found: GaussianEstimate) -> None:
        super()._accept(sample, found)
        self.violation_ = float(found.violation)
        self.ridge_ = self._ridge(sample)

    def _ridge(self, sample: GaussianSample) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        if not sample.singular:
            return 0.0
        if sample.n_rows is None:
            raise ValueError(
                "ridge='auto' of a singular covariance is 1 / sqrt(n_samples): give n_samples, or a ridge above 0"
            )
        return 1 / sqrt(sample.n_rows)

    def _largest_penalty(self, sample: GaussianSample) -> float:
        largest = largest_correlation(sample)
        return largest / (1 + self._ridge(sample) + largest)

    def _solve(self, sample: GaussianSample, lams: np.ndarray, run: Run) -> list[GaussianEstimate]:
        p = len(sample.names)
        matrices = {}
        if sample.factor is None or (self.solver != "admm" and 8 * p * p <= MATRIX_MEMORY):
            matrices["correlation"] = sample.correlation
        if sample.factor is not None:
            matrices["factor"] = sample.factor
        columns = _Columns(lams, self._ridge(sample), self.solver, self.tol, self.max_iter, run.wall_deadline)
        found = solve_columns(columns, SharedArrays(**matrices), p, run, self.n_jobs)
        return [_estimate(found, k) for k in range(len(lams))]


def symmetrised(columns: csc_array) -> csr_array:
    """Return of each pair of entries (i, j), (j, i) the smaller in magnitude, with its sign; of equals the upper."""
    entries = columns.tocoo()
    i, j, own = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
    order = np.lexsort((i, j))
    i, j, own = i[order], j[order], own[order]
    numbers, mirrored = j * len(columns.indptr) + i, i * len(columns.indptr) + j
    at = np.minimum(np.searchsorted(numbers, mirrored), len(numbers) - 1) if len(numbers) else numbers
    both = numbers[at] == mirrored  # where one is zero, so is the result
    other = own[at]
    smaller = (np.abs(own) < np.abs(other)) | ((np.abs(own) == np.abs(other)) & (i <= j))
    values = np.where(smaller, own, other)
    return csr_array((values[both], (i[both], j[both])), shape=columns.shape)


def _estimate(found: ColumnEstimates, k: int) -> GaussianEstimate:
    precision = without_rounding(symmetrised(found.coefficients[k]))
    return GaussianEstimate(
        lam=float(found.lams[k]),
        edges=edges_of(precision),
        precision=precision,
        raw=found.coefficients[k],
        objective=float(abs(found.coefficients[k]).sum()),
        dual_gap=float(found.gaps[k].sum()),
        violation=float(found.violations[k].max(initial=-np.inf)),
        converged=bool(found.converged[k].all()),
        n_iter=int(found.n_iter.max(initial=0)),
    )


@dataclass(frozen=True)
class _Columns:
    """Columns of some variables, as a task that can be sent."""

    lams: np.ndarray
    ridge: float
    solver: str
    tol: float
    max_iter: int
    wall_deadline: float

    def of_zero(self, lam: float) -> tuple[float, float]:
        """Return the gap of a column of zeros, which solves the problem of λ = 1, and by how much it misses its own."""
        return 0.0, max(0.0, 1.0 - lam)

    def __call__(self, arrays: SharedArrays, columns: np.ndarray) -> ColumnEstimates:
        return clime_columns(
            getattr(arrays, "correlation", None),
            columns,
            self.lams,
            factor=getattr(arrays, "factor", None),
            ridge=self.ridge,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            deadline=local_deadline(self.wall_deadline),
        )

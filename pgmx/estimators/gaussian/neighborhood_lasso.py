"""Neighbourhood selection: one lasso a variable."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from pgmx.estimators._documented import documented
from pgmx.estimators._options import with_options
from pgmx.estimators.base import StrOptions
from pgmx.estimators.gaussian.columns import solve_columns
from pgmx.estimators.gaussian.estimate import GaussianEstimate, sorted_pairs, units_of
from pgmx.estimators.gaussian.learner import GaussianLearner, largest_correlation
from pgmx.parallel.spread import SharedArrays
from pgmx.runs.run import Run, local_deadline
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.neighborhood import neighborhood_columns
from pgmx.statistics import GaussianSample


@documented
class NeighborhoodLasso(GaussianLearner):
    r"""Gaussian graphical model by a lasso regression of each variable on all others.

    .. math::

        \min_{b \in R^p,\; b_j = 0} \; \frac{1}{2n} \|z_j - Z b\|_2^2 + \lambda \|b\|_1

    for each variable j, on data standardised to mean 0 and variance 1. Variables i and j are neighbours if both
    regressions chose the other (``rule="and"``) or one did (``"or"``).

    Parameters
    ----------
    data : DataFrame, array, path or covariance, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    rule : {"and", "or"}, default="and"
        What to do where only one of two regressions chose the other variable.
    {gaussian_penalty}
    tol : float, default=1e-8
        Largest duality gap of a column; its variance is 1.
    max_iter : int, default=100
        Most passes over all variables in search of those that violate the optimum of a column.
    {gaussian_run}

    Attributes
    ----------
    coefficients_ : ndarray of shape (p, p)
        Column j holds the coefficients of the regression of variable j, in the units of the data.
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
    The method estimates a graph and no precision: `precision_`, `covariance_` and `model_` are those of maximum
    likelihood under the graph. Coordinate descent on the correlations: rows are read once. Cost: about k p
    multiplications for a variable with k neighbours; columns are independent of each other.

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

    __init__ = with_options(GaussianLearner.__init__, rule="and", tol=1e-8, max_iter=100)

    rule: str

    _unit = "blocks"

    selects_by_refit = True

    @property
    def coefficients_(self) -> np.ndarray:
        """Coefficients of the regressions, in the units of the data."""
        return self._make_once("coefficients", self._make_coefficients)

    def _make_coefficients(self) -> np.ndarray:
        _, scale = units_of(self._sample)
        return self._found.raw.toarray() * np.outer(1 / scale, scale)

    def _largest_penalty(self, sample: GaussianSample) -> float:
        return largest_correlation(sample)

    def _solve(self, sample: GaussianSample, lams: np.ndarray, run: Run) -> list[GaussianEstimate]:
        columns = _Columns(lams, self.tol, self.max_iter, run.wall_deadline)
        arrays = SharedArrays(correlation=sample.correlation)
        found = solve_columns(columns, arrays, len(sample.names), run, self.n_jobs)
        return [self._estimate(sample.correlation, found, k) for k in range(len(lams))]

    def _estimate(self, correlation: np.ndarray, found: ColumnEstimates, k: int) -> GaussianEstimate:
        coefficients = found.coefficients[k]
        chosen = csc_array(coefficients != 0)
        joined = chosen.multiply(chosen.T) if self.rule == "and" else chosen + chosen.T
        pairs = joined.tocoo()
        upper = pairs.row < pairs.col
        return GaussianEstimate(
            lam=float(found.lams[k]),
            edges=sorted_pairs(pairs.row[upper], pairs.col[upper]),
            precision=None,
            raw=coefficients,
            objective=_objective(correlation, coefficients, float(found.lams[k])),
            dual_gap=float(found.gaps[k].sum()),
            violation=0.0,
            converged=bool(found.converged[k].all()),
            n_iter=int(found.n_iter.max(initial=0)),
        )


def _objective(correlation: np.ndarray, coefficients: csc_array, lam: float) -> float:
    """Return Σ_j 1/2 - R_j' b_j + b_j' R b_j / 2 + λ |b_j|_1."""
    entries = coefficients.tocoo()
    fitted = (coefficients.T @ correlation).T  # R b_j in columns, R being symmetric
    i, j, b = entries.row, entries.col, entries.data
    own = float(b @ (0.5 * fitted[i, j] - correlation[i, j]))
    return 0.5 * coefficients.shape[1] + own + lam * float(np.abs(b).sum())


@dataclass(frozen=True)
class _Columns:
    """Neighbourhoods of some variables, as a task that can be sent."""

    lams: np.ndarray
    tol: float
    max_iter: int
    wall_deadline: float

    def of_zero(self, lam: float) -> tuple[float, float]:
        """Return the gap of a column of zeros against the dual point 0; there are no constraints."""
        return 0.5, 0.0

    def __call__(self, arrays: SharedArrays, columns: np.ndarray) -> ColumnEstimates:
        return neighborhood_columns(
            arrays.correlation,
            columns,
            self.lams,
            tol=self.tol,
            max_iter=self.max_iter,
            deadline=local_deadline(self.wall_deadline),
        )

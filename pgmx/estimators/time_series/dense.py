"""Linear dynamical systems by least squares."""

import warnings
from collections.abc import Collection, Hashable
from math import log10
from typing import Any, Literal

import numpy as np

from pgmx.checks import caller_level
from pgmx.estimators.base import StrOptions
from pgmx.estimators.time_series.cost import SeriesSize, estimate_products, estimate_rows
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution, split_coefficients
from pgmx.runs.run import Run
from pgmx.solvers.time_series.least_squares import (
    LeastSquares,
    solve_gram,
    solve_spectrum,
    solve_supports,
    solve_svd,
)


class DenseLDS(LDSLearner):
    r"""Linear dynamical system by least squares: every series depends on the past of all series.

    .. math::

        \min_A \sum_t \Big\| x_t - \sum_{l=1}^{L} A_l\, x_{t-l} \Big\|_2^2

    over the rows t whose L previous rows are observed.

    Parameters
    ----------
    data : DataFrame, array, path, iterator of frames, or list or dict of tables, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    lags : int, default=1
        The number of lags L.
    solver : {"gram", "svd"}, default="gram"
        Whether to use cross-products of the predictors or their singular values. Cross-products square the condition
        number. If this would lose more than half the digits, ``"gram"`` also uses singular values.
    standardize : bool, default=True
        Whether the series are divided by their standard deviations. This matters only if predictors are linearly
        dependent: the norm of the coefficients is then minimised in these units.
    fit_intercept : bool, default=False
        Whether the model has a constant.
    exogenous_columns : list of column names, default=None
        Exogenous columns, which are not series. They enter at the time of the predicted row.
    seasonal_period : int, default=None
        Number of rows of a season. It adds `seasonal_period` - 1 seasonal columns to the exogenous columns. In
        forecasts a history without times (an array, a default index) is assumed to end with the last training row.
    required_edges : collection of ((source, lag), (target, 0)), default=None
        Required edges. This learner has all edges, so the option is only checked.
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
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n, n), or (lags + 1, n, n) for several lags
        Coefficients ``[target, source]``, of the lags 0 (zeros) to L, in the user's units.
    intercept_ : ndarray of shape (n,)
        The constants, zeros without `fit_intercept`.
    exogenous_coef_ : ndarray of shape (n, n_exogenous)
        Coefficients of the exogenous columns, followed by the seasonal columns.
    noise_covariance_ : ndarray of shape (n, n)
        Covariance of the residuals, by maximum likelihood (divided by `n_targets_`).
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

    Notes
    -----
    Cost: T P² + T P n multiplications for P = L n predictors; ``"svd"`` needs about 6 T P² + 2 T P n.

    References
    ----------
    .. [1] Lütkepohl, H. (2005). New Introduction to Multiple Time Series Analysis, equation 3.2.10.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import DenseLDS
    >>> rows = np.array([[8.0, 4.0], [5.0, 4.0], [3.5, 3.25], [2.5625, 2.5]])
    >>> learner = DenseLDS().fit(rows)
    >>> learner.coef_.round(3).tolist()
    [[0.5, 0.25], [0.25, 0.5]]
    >>> learner.predict(rows, steps=2).round(3).tolist()
    [[1.906, 1.891], [1.426, 1.422]]
    """

    _parameter_constraints = {
        **LDSLearner._parameter_constraints,
        "solver": [StrOptions({"gram", "svd"})],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        solver: Literal["gram", "svd"] = "gram",
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
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lags = lags
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
        self.n_jobs = n_jobs

    def _reads_chunks(self) -> bool:
        return self.solver == "gram"

    def _estimate_solving(self, size: SeriesSize) -> int:
        products = estimate_products(size, self.lags)
        if self.solver == "gram":
            return products
        return estimate_rows(size, self.lags) + products

    def _solve(self, problem: LDSProblem, run: Run | None = None) -> LDSSolution:
        supports = problem.list_supports()
        if supports is None:
            return split_coefficients(problem, _solve_all(problem, self.solver))
        _ = problem.moments  # computed before threads need them
        columns = solve_supports(supports, lambda predictors, targets: solve_some(problem, predictors, targets))
        coefficients = np.zeros(problem.moments.cross.shape)
        for target, (support, column) in enumerate(zip(supports, columns, strict=True)):
            coefficients[support, target] = column
        return split_coefficients(problem, coefficients)


def _solve_all(problem: LDSProblem, solver: str) -> np.ndarray:
    """Return the coefficients (P, N) of all predictors."""
    if solver == "svd":
        return solve_svd(*problem.design).coefficients
    moments = problem.moments
    solution = solve_gram(moments.gram, moments.cross)
    if solution is None and problem.panel is not None:
        solution = solve_svd(*problem.design)
    return (_solve_spectrum(moments.gram, moments.cross) if solution is None else solution).coefficients


def solve_some(problem: LDSProblem, predictors: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the coefficients (predictors, targets) of some targets over some predictors."""
    moments = problem.moments
    products = moments.gram[np.ix_(predictors, predictors)], moments.cross[np.ix_(predictors, targets)]
    solution = solve_gram(*products)
    if solution is None and problem.panel is not None:
        solution = solve_svd(problem.design[0][:, predictors], problem.design[1][:, targets])
    return (_solve_spectrum(*products) if solution is None else solution).coefficients


def _solve_spectrum(gram: np.ndarray, cross: np.ndarray) -> LeastSquares:
    """Return the solution from cross-products alone for ill-conditioned predictors, with a warning."""
    solution = solve_spectrum(gram, cross)
    # float64 has about 15 digits; the condition number of the cross-products takes its share of them
    digits = max(0, round(15 + log10(max(solution.rcond, 1e-15))))
    warnings.warn(
        "the predictors are nearly dependent: the coefficients of series that are read in chunks have about "
        f"{digits} correct digits. Give the series in memory, leave out some, or fit an intercept if their means are "
        "large",
        UserWarning,
        stacklevel=caller_level(),
    )
    return solution

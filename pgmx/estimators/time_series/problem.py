"""Series with lags as a linear problem, in the units of the solver."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from pgmx.data.series import Panel
from pgmx.estimators.time_series.knowledge import LaggedKnowledge
from pgmx.solvers.time_series.least_squares import drop_negative_directions, sum_squares
from pgmx.statistics.lagged_moments import LaggedMoments, compute_lagged_moments, make_lagged_design

#: Maximum number of series for which the noise covariance is computed; for more series only the variances.
MOST_COVARIANCES = 2000
#: If the squares of residuals are below this share of the sum of their terms, they lose digits and are summed row by
#: row.
SMALLEST_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class LDSProblem:
    """Predict x_t from x_{t-1}, ..., x_{t-L}, exogenous columns and, with `has_intercept`, a constant.

    `panel` holds the series in the units of the solver: minus `shifts` if there is an intercept, and divided by
    `scales` with standardize. It is None for series read in chunks; then there are only `moments`. `deviations` are the
    standard deviations of the series, always in the user's units.
    """

    names: tuple
    lags: int
    has_intercept: bool
    scales: np.ndarray
    shifts: np.ndarray
    deviations: np.ndarray
    knowledge: LaggedKnowledge
    panel: Panel | None
    n_exogenous: int = 0
    summed: LaggedMoments | None = field(default=None, repr=False)

    @property
    def n_series(self) -> int:
        """N."""
        return len(self.names)

    @property
    def n_lagged(self) -> int:
        """Number of lagged predictors, L N. The columns after them (exogenous, constant) are never penalised."""
        return self.lags * self.n_series

    @cached_property
    def moments(self) -> LaggedMoments:
        """Cross-products of predictors and targets: (P, P) with P = L N + K [+ 1]."""
        if self.panel is None:
            assert self.summed is not None
            return self.summed
        return compute_lagged_moments(self.panel, self.lags, intercept=self.has_intercept)

    @cached_property
    def n_targets(self) -> int:
        """T', the number of predicted rows."""
        return self.moments.n_targets if self.panel is None else self.panel.count_targets(self.lags)

    @cached_property
    def design(self) -> tuple[np.ndarray, np.ndarray]:
        """Predictors (T', P) and targets (T', N)."""
        assert self.panel is not None
        return make_lagged_design(self.panel, self.lags, intercept=self.has_intercept)

    @cached_property
    def free_predictors(self) -> np.ndarray:
        """Ids of the exogenous columns and the constant."""
        return np.arange(self.n_lagged, self.n_lagged + self.n_exogenous + self.has_intercept)

    def list_supports(self) -> list[np.ndarray] | None:
        """Return the ids of the allowed predictors of each target; None if no edge is forbidden."""
        if not len(self.knowledge.forbidden):
            return None
        supports = [np.arange(self.n_lagged + len(self.free_predictors))] * self.n_series
        for lag, target, source in self.knowledge.forbidden.tolist():
            supports[target] = supports[target][supports[target] != (lag - 1) * self.n_series + source]
        return supports


class LDSSolution(NamedTuple):
    """The result of a solver, in its units: coefficients of lag 1, lag 2, ..., (N, N) [target, source], dense or csr.

    `exogenous` is (N, K), `intercept` (N,). `residual_gram` is the result of `sum_residuals`.
    """

    coefficients: tuple[np.ndarray | csr_array, ...]
    exogenous: np.ndarray
    intercept: np.ndarray
    residual_gram: np.ndarray


def split_coefficients(problem: LDSProblem, stacked: np.ndarray) -> LDSSolution:
    """Return the solution of dense coefficients (P, N), predictors in rows."""
    n, lagged = problem.n_series, problem.n_lagged
    return LDSSolution(
        tuple(np.ascontiguousarray(stacked[lag * n : (lag + 1) * n].T) for lag in range(problem.lags)),
        np.ascontiguousarray(stacked[lagged : lagged + problem.n_exogenous].T),
        stacked[-1].copy() if problem.has_intercept else np.zeros(n),
        sum_residuals(problem, stacked),
    )


def split_sparse_coefficients(
    problem: LDSProblem, stacked: csr_array, residuals: np.ndarray | None = None
) -> LDSSolution:
    """Return the solution of sparse coefficients (N, P), predictors in columns, and residuals if they are known."""
    n, lagged = problem.n_series, problem.n_lagged
    free = stacked[:, lagged:].toarray()
    return LDSSolution(
        tuple(csr_array(stacked[:, lag * n : (lag + 1) * n]) for lag in range(problem.lags)),
        free[:, : problem.n_exogenous],
        free[:, -1].copy() if problem.has_intercept else np.zeros(n),
        sum_residuals(problem, stacked.T) if residuals is None else residuals,
    )


def sum_residuals(problem: LDSProblem, coefficients: Any) -> np.ndarray:
    """Return the cross-products (N, N) of the residuals of coefficients (P, N), or squares (N,) of many series.

    They are computed from the cross-products of the data. The residuals themselves are used if the cross-products would
    lose digits, or have not been computed.
    """
    wide = problem.n_series > MOST_COVARIANCES
    if not wide and (problem.panel is None or "moments" in problem.__dict__):
        moments = problem.moments
        dense = np.asarray(coefficients.todense() if issparse(coefficients) else coefficients)
        squares = sum_squares(moments.gram, moments.cross, moments.target_gram, dense)
        terms = np.abs(dense).T @ np.sqrt(moments.gram.diagonal()) + np.sqrt(moments.target_gram.diagonal())
        if (squares.diagonal() > SMALLEST_SHARE * terms**2).all():
            return squares
        if problem.panel is None:
            return drop_negative_directions(squares)
    predictors, targets = problem.design
    residuals = targets - np.asarray((coefficients.T @ predictors.T).T)
    return np.einsum("ij,ij->j", residuals, residuals) if wide else residuals.T @ residuals

"""Series with lags as a linear problem, in the units of the solver, also as input of the sparse solvers."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from pgmx.data.series import Panel
from pgmx.estimators.time_series.knowledge import LaggedKnowledge
from pgmx.solvers.time_series.lagged_lasso import Reduction, partial_out
from pgmx.solvers.time_series.least_squares import drop_negative_directions, sum_squares
from pgmx.solvers.time_series.screening import Rows
from pgmx.statistics.lagged_moments import LaggedMoments, compute_lagged_moments, make_lagged_design

#: Maximum number of series for which the noise covariance is computed; for more series only the variances.
MOST_COVARIANCES = 2000

#: If the squares of residuals are below this share of the sum of their terms, they lose digits and are summed row by
#: row.
_SMALLEST_SHARE = 1e-6


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

    `exogenous` is (N, K), `intercept` (N,). `residual_gram` is the result of `_sum_residuals`.
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
        _sum_residuals(problem, stacked),
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
        _sum_residuals(problem, stacked.T) if residuals is None else residuals,
    )


def _sum_residuals(problem: LDSProblem, coefficients: Any) -> np.ndarray:
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
        # the difference of nearly equal sums loses as many digits as it is smaller than its terms
        if (squares.diagonal() > _SMALLEST_SHARE * terms**2).all():
            return squares
        if problem.panel is None:
            # without rows nothing more exact is possible, but a covariance must not be negative
            return drop_negative_directions(squares)
    predictors, targets = problem.design
    residuals = targets - np.asarray((coefficients.T @ predictors.T).T)
    return np.einsum("ij,ij->j", residuals, residuals) if wide else residuals.T @ residuals


# ---- the problem as input of the sparse solvers: cross-products or rows, without the unpenalised predictors ----


class RowProblem(NamedTuple):
    """Residuals after regression on the unpenalised predictors, as rows, and its coefficients (K, p), (K, m)."""

    rows: Rows
    of_predictors: np.ndarray
    of_targets: np.ndarray


def list_knowledge(problem: LDSProblem) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """Return the forbidden and the required predictors by target."""
    sides: list[dict[int, np.ndarray]] = []
    for edges in (problem.knowledge.forbidden, problem.knowledge.required):
        lag, target, source = edges.T
        # predictors are ordered by lag, then by series
        places = (lag - 1) * problem.n_series + source
        sides.append({int(one): np.sort(places[target == one]) for one in np.unique(target)})
    return sides[0], sides[1]


def reduce_moments(problem: LDSProblem) -> Reduction:
    """Return the mean cross-products of the lagged predictors and targets, with NaN for forbidden edges."""
    moments, forbidden = problem.moments, list_knowledge(problem)[0]
    count = moments.n_targets
    reduction = partial_out(
        moments.gram / count, moments.cross.T / count, moments.target_gram.diagonal() / count, problem.n_lagged
    )
    for target, predictors in forbidden.items():
        # the solvers leave out predictors with NaN
        reduction.products.cross[target, predictors] = np.nan
    return reduction


def make_rows(problem: LDSProblem, lags: range, targets: np.ndarray | None = None) -> RowProblem:
    """Return the rows of some lags and targets (default: all targets); knowledge refers to the lags from 1 on."""
    if problem.panel is None:
        raise ValueError("these options need the rows of the series in memory, got series in chunks: give one table")
    longest = lags[-1]
    if not problem.panel.count_targets(longest):
        raise ValueError(f"no series has {longest + 1} consecutive complete rows: give longer series")
    predictors = _stack_rows(problem.panel, lags, longest, None)
    responses = _stack_rows(problem.panel, range(1), longest, targets)
    unpenalised = np.zeros((responses.shape[1], 0))
    if problem.n_exogenous:
        unpenalised = np.concatenate([part[longest:] for part in problem.panel.exogenous if len(part) > longest])
    if problem.has_intercept:
        unpenalised = np.column_stack([unpenalised, np.ones(len(unpenalised))])
    of_predictors, of_targets = np.zeros((0, len(predictors))), np.zeros((0, len(responses)))
    if unpenalised.shape[1]:
        of_predictors, of_targets = (
            np.linalg.lstsq(unpenalised, part.T, rcond=None)[0] for part in (predictors, responses)
        )
        predictors -= of_predictors.T @ unpenalised.T
        responses -= of_targets.T @ unpenalised.T
    # other lags are no edges of the model
    forbidden, required = list_knowledge(problem) if lags[0] == 1 else ({}, {})
    if targets is not None:
        forbidden, required = (
            {place: side[target] for place, target in enumerate(targets.tolist()) if target in side}
            for side in (forbidden, required)
        )
    return RowProblem(Rows(predictors, responses, forbidden, required), of_predictors, of_targets)


def _stack_rows(panel: Panel, lags: range, longest: int, series: np.ndarray | None) -> np.ndarray:
    """Return the values of series some lags before each target, (lags n, T'): lag by lag, one series per row."""
    columns = slice(None) if series is None else series
    parts = [
        np.vstack([segment[longest - lag : len(segment) - lag, columns].T for lag in lags])
        for segment in panel.segments
        if len(segment) > longest
    ]
    return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.hstack(parts))


def make_sparse_solution(
    problem: LDSProblem, reduction: Reduction | RowProblem, coefs: csr_array, residuals: np.ndarray | None = None
) -> LDSSolution:
    """Return the solution of coefficients (N, L N), with unpenalised ones and residuals (summed if not given)."""
    unpenalised = reduction.of_targets - reduction.of_predictors @ coefs.T
    stacked = csr_array(hstack([coefs, csr_array(unpenalised.T)], format="csr"))
    return split_sparse_coefficients(problem, stacked, residuals)

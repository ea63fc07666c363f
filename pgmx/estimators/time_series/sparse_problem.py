"""A linear problem as input of the sparse solvers: cross-products or rows, without the unpenalised predictors."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from pgmx.data.series import Panel
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution, split_sparse_coefficients
from pgmx.solvers.time_series.lagged_lasso import Reduction, partial_out
from pgmx.solvers.time_series.screening import Rows


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
    beside = np.zeros((responses.shape[1], 0))
    if problem.n_exogenous:
        beside = np.concatenate([part[longest:] for part in problem.panel.exogenous if len(part) > longest])
    if problem.has_intercept:
        beside = np.column_stack([beside, np.ones(len(beside))])
    of_predictors, of_targets = np.zeros((0, len(predictors))), np.zeros((0, len(responses)))
    if beside.shape[1]:
        of_predictors, of_targets = (np.linalg.lstsq(beside, part.T, rcond=None)[0] for part in (predictors, responses))
        predictors -= of_predictors.T @ beside.T
        responses -= of_targets.T @ beside.T
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


def finish(
    problem: LDSProblem, reduction: Reduction | RowProblem, coefs: csr_array, residuals: np.ndarray | None = None
) -> LDSSolution:
    """Return the solution of coefficients (N, L N), with unpenalised ones and residuals (summed if not given)."""
    beside = reduction.of_targets - reduction.of_predictors @ coefs.T
    stacked = csr_array(hstack([coefs, csr_array(beside.T)], format="csr"))
    return split_sparse_coefficients(problem, stacked, residuals)

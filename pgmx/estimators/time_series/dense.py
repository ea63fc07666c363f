"""Linear dynamical systems by least squares."""

from collections.abc import Collection, Hashable
from typing import Any, Literal

import numpy as np

from pgmx.estimators.base import StrOptions
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution, split_coefficients
from pgmx.solvers.time_series.least_squares import (
    solve_gram,
    solve_masked,
    solve_svd,
    sum_squares,
)


class DenseLDS(LDSLearner):
    """Linear dynamical system by least squares: every series depends on the past of all."""

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
        irregular: Literal["error", "ignore"] = "error",
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
        self.irregular = irregular

    def _solve(self, problem: LDSProblem) -> LDSSolution:
        return solve_dense(problem, problem.make_mask(), self.solver)


def solve_dense(problem: LDSProblem, mask: np.ndarray | None, solver: str) -> LDSSolution:
    """Return the least-squares solution, zero outside `mask`, bool (N, P), if that is given."""
    design = None if problem.panel is None else lambda: problem.design
    if mask is not None:
        coefficients = solve_masked(problem.moments.gram, problem.moments.cross, mask, design)
    else:
        solution = None if solver == "svd" else solve_gram(problem.moments.gram, problem.moments.cross)
        coefficients = (solve_svd(*problem.design) if solution is None else solution).coefficients
    moments = problem.moments
    residuals = sum_squares(moments.gram, moments.cross, moments.target_gram, coefficients)
    return split_coefficients(problem, coefficients, residuals)

"""What all learners of linear dynamical systems share: units, results, forecasts."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from pgmx.data.series import Panel
from pgmx.estimators.time_series.learner import TimeSeriesLearner
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution
from pgmx.parallel.spread import one_blas_thread
from pgmx.runs.run import Run


class LDSLearner(TimeSeriesLearner):
    """Base of the learners of linear dynamical systems; a subclass implements `_solve` of an `LDSProblem`.

    The problem and its solution are in the units of the solver, all results in those of the user. A subclass with
    another `_fit` ends in `_accept`.
    """

    standardize: bool
    fit_intercept: bool

    coef_: Any
    intercept_: np.ndarray
    exogenous_coef_: np.ndarray
    noise_covariance_: np.ndarray

    _exogenous_names: tuple

    @abstractmethod
    def _solve(self, problem: LDSProblem) -> LDSSolution:
        """Return the coefficients of a problem, in its units."""

    def _fit(self, opened: Panel, sample_weight: ArrayLike | None) -> Run | None:
        self._refuse_weights(sample_weight)
        with one_blas_thread():
            problem = self._make_problem(opened)
            self._accept(problem, self._solve(problem))
        self.n_left_out_ = opened.n_left_out
        self._exogenous_names = opened.exogenous_names
        return None

    def _make_problem(self, panel: Panel) -> LDSProblem:
        """Return the problem in the units of the solver."""
        n = panel.n_series
        shifts = panel.means() if self.fit_intercept else None
        scales = panel.scales() if self.standardize else None
        return LDSProblem(
            names=panel.names,
            lags=self.lags,
            has_intercept=self.fit_intercept,
            scales=np.ones(n) if scales is None else scales,
            shifts=np.zeros(n) if shifts is None else shifts,
            knowledge=self._read_knowledge(panel.names, range(1, self.lags + 1)),
            panel=panel.rescale(scales, shifts),
            n_exogenous=len(panel.exogenous_names),
        )

    def _accept(self, problem: LDSProblem, solution: LDSSolution) -> None:
        """Set the results, in the user's units."""
        scales, shifts, n = problem.scales, problem.shifts, problem.n_series
        matrices = tuple(_change_units(matrix, scales) for matrix in solution.coefficients)
        self.coef_ = matrices[0]
        if problem.lags > 1:
            first = matrices[0]
            self.coef_ = (
                (csr_array((n, n)), *matrices) if issparse(first) else np.stack([np.zeros_like(first), *matrices])
            )
        self.exogenous_coef_ = scales[:, None] * solution.exogenous
        self.intercept_ = scales * solution.intercept
        if problem.has_intercept:
            self.intercept_ += shifts - sum(matrix @ shifts for matrix in matrices)
        noise = solution.residual_gram / problem.n_targets
        self.noise_covariance_ = noise * (scales**2 if noise.ndim == 1 else np.multiply.outer(scales, scales))
        self.n_targets_ = problem.n_targets
        self._results = {}
        self._set_names(problem.names)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_results")

    def _make_graph(self) -> Any:
        raise NotImplementedError("graphs of time series follow")


def _change_units(matrix: np.ndarray | csr_array, scales: np.ndarray) -> np.ndarray | csr_array:
    """Return coefficients [target, source] of the series times their scales."""
    if issparse(matrix):
        matrix = csr_array(matrix)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        data = matrix.data * (scales[rows] / scales[matrix.indices])
        return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix * (scales[:, None] / scales)

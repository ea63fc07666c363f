"""Base classes of the learners of linear dynamical systems: units, results, forecasts, resamples, and their runs."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level
from pgmx.data.draws import count_draws
from pgmx.data.series import Panel, SeriesChunks, continue_labels
from pgmx.estimators.base import clone_learner
from pgmx.estimators.time_series.blocks import BlockLearner, BlockProblem, BlockResampler
from pgmx.estimators.time_series.learner import (
    RUN_CONSTRAINTS,
    IterativeLearner,
    TargetCounter,
    TimeSeriesLearner,
    clone_silent,
)
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution
from pgmx.estimators.time_series.series_path import PathSolver, SeriesPathSolver
from pgmx.models import LinearDynamicalSystem, TimeSeriesGraph
from pgmx.models.time_series.coefficients import change_units, measure_strengths, read_coefficients
from pgmx.models.time_series.forecasts import compute_log_densities
from pgmx.models.time_series.history import label_targets
from pgmx.parallel.tasks import SharedArrays
from pgmx.runs.run import Run
from pgmx.statistics.lagged_moments import (
    BlockMoments,
    compute_block_moments,
    compute_lagged_moments,
    make_lagged_design,
)


class LDSLearner(BlockLearner, TimeSeriesLearner):
    """Base of the learners of linear dynamical systems. A subclass implements `_solve` (of an `LDSProblem`).

    The problem and its solution are in the units of the solver, all results in the units of the user. A subclass with
    another `_fit` calls `_set_results` at its end.
    """

    standardize: bool
    fit_intercept: bool

    coef_: Any
    intercept_: np.ndarray
    exogenous_coef_: np.ndarray
    noise_covariance_: np.ndarray
    _deviations: np.ndarray

    @abstractmethod
    def _solve(self, problem: LDSProblem, run: Run | None = None) -> LDSSolution:
        """Return the coefficients of a problem, in its units; an iterative learner records its steps on the run."""

    def _fit(self, opened: Panel | SeriesChunks, sample_weight: ArrayLike | None) -> Run | None:
        self._refuse_weights(sample_weight)
        self._learn(opened)
        return None

    def _learn(self, opened: Panel | SeriesChunks, run: Run | None = None) -> None:
        with self._on_threads():
            problem = self._make_problem(opened)
            self._set_results(problem, self._solve(problem, run))
        self._store_series(opened)

    def _make_problem(self, series: Panel | SeriesChunks) -> LDSProblem:
        """Return the problem in the units of the solver; chunks are read."""
        names, intercept = series.names, self.fit_intercept
        knowledge = self._read_knowledge(names, range(1, self.lags + 1))
        panel, summed = None, None
        shifts = np.zeros(len(names))
        if isinstance(series, SeriesChunks):
            shifts = series.shifts.mean if intercept else shifts
            summed = compute_lagged_moments(series, self.lags, intercept=intercept, shifts=shifts)
            deviations = series.columns.scales()
            scales = deviations if self.standardize else np.ones(len(names))
            # the scales are known only after the chunks were read
            summed = summed.rescale(scales)
        else:
            shifts = series.means() if intercept else shifts
            deviations = series.scales()
            scales = deviations if self.standardize else np.ones(len(names))
            panel = series.rescale(scales if self.standardize else None, shifts if intercept else None)
        n_exogenous = len(series.exogenous_names)
        return LDSProblem(
            names, self.lags, intercept, scales, shifts, deviations, knowledge, panel, n_exogenous, summed
        )

    def _set_results(self, problem: LDSProblem, solution: LDSSolution) -> None:
        """Set the results, in the user's units."""
        scales, shifts, n = problem.scales, problem.shifts, problem.n_series
        matrices: Any = tuple(change_units(matrix, scales) for matrix in solution.coefficients)
        # one lag: a matrix; several: an axis for the lags, with zeros for lag 0, so that positions are lags
        self.coef_ = matrices[0]
        if problem.lags > 1:
            first: Any = matrices[0]
            self.coef_ = (
                (csr_array((n, n)), *matrices) if issparse(first) else np.stack([np.zeros_like(first), *matrices])
            )
        self.exogenous_coef_ = scales[:, None] * solution.exogenous
        self.intercept_ = scales * solution.intercept
        if problem.has_intercept:
            # the model of shifted series, in terms of the series themselves
            self.intercept_ += shifts - sum(matrix @ shifts for matrix in matrices)
        noise = solution.residual_gram / problem.n_targets
        self.noise_covariance_ = noise * (scales**2 if noise.ndim == 1 else np.multiply.outer(scales, scales))
        self.n_targets_ = problem.n_targets
        self._deviations = problem.deviations
        self._results = {}
        self._set_names(problem.names)

    def _make_path_solver(self, panel: Panel, units: np.ndarray | None, **options: Any) -> PathSolver:
        """Return the solver of penalties for `SelectedGraph`; `units` of the series make orders comparable."""
        return SeriesPathSolver(self, panel, units=units, **options)

    # ---- resamples of blocks of rows ----

    def _open_blocks(self, X: Any) -> Panel:
        if not self._reads_chunks():
            raise ValueError(
                f"BlockBootstrap resamples cross-products, but {type(self).__name__} needs the rows "
                "with these options: use SparsityInducingLDS with solver='lasso' and screen=None, DenseLDS with "
                "solver='gram', or SparsityEnforcingLDS"
            )
        return self._open_panel(X)

    def _divide_blocks(self, opened: Panel, choose_length: Callable[[int], int]) -> BlockProblem:
        problem = self._make_problem(opened)
        assert problem.panel is not None
        length = choose_length(problem.n_targets)
        blocks = compute_block_moments(problem.panel, problem.lags, length, intercept=problem.has_intercept)
        # the rows stay here: workers need only the cross-products of the blocks
        resampler = LinearResampler(clone_silent(self), replace(problem, panel=None))
        arrays = SharedArrays(products=blocks.products, squares=blocks.squares, sizes=blocks.sizes)
        return BlockProblem(resampler, arrays, problem.scales[:, None] / problem.scales)

    def _graph_resamples(self, means: np.ndarray, confidence: np.ndarray) -> TimeSeriesGraph:
        return self._graph_coefficients(means, confidence=confidence)

    # ---- results ----

    @property
    def model_(self) -> LinearDynamicalSystem:
        """The learned system, computed on first access."""
        return self._make_once("model", self._make_model)

    def _make_model(self) -> LinearDynamicalSystem:
        return LinearDynamicalSystem(
            self.variables_,
            self.coef_,
            self.intercept_,
            self.noise_covariance_,
            exogenous_coef=self.exogenous_coef_ if self._exogenous_names else None,
            exogenous_names=self._exogenous_names,
        )

    def _make_graph(self) -> TimeSeriesGraph:
        return self._graph_coefficients(self.coef_)

    def _graph_coefficients(self, coef: Any, **numbers: Any) -> TimeSeriesGraph:
        """Return the graph of coefficients in the user's units, its strengths standardised."""
        strengths = measure_strengths(read_coefficients(coef, len(self.variables_)), self._deviations)
        return TimeSeriesGraph.from_coefficients(self.variables_, coef, strengths=strengths, **numbers)

    def predict(self, history: Any, steps: int = 1, *, exogenous: Any = None) -> Any:
        """Return the means of the rows that follow a history.

        Parameters
        ----------
        history : DataFrame or array of shape (n_rows, n_series)
            The last rows, oldest first, at least `lags` of them; a single row is allowed for one lag. It may have
            columns of times, groups and exogenous columns. With `seasonal_period`, rows without times (an array, a
            default index) are assumed to end with the last training row.
        steps : int, default=1
            Number of rows to forecast.
        exogenous : DataFrame or array of shape (steps, n_exogenous), optional
            The exogenous columns of the rows to forecast, if there are any. Seasonal columns are added.

        Returns
        -------
        ndarray of shape (steps, n_series), or a frame for a frame
            The forecasts, in the user's units.
        """
        rows, steps, exogenous = self._read_history(history, steps, exogenous)
        return continue_labels(self.model_.predict(rows, steps, exogenous=exogenous), rows, self._index)

    def predict_interval(
        self, history: Any, steps: int = 1, coverage: float = 0.9, *, exogenous: Any = None
    ) -> tuple[Any, Any]:
        """Return prediction intervals of the rows that follow a history, each with a given coverage.

        Parameters
        ----------
        history : DataFrame or array of shape (n_rows, n_series)
            The last rows, as for ``predict``.
        steps : int, default=1
            Number of rows to forecast.
        coverage : float, default=0.9
            Probability of each single interval, between 0 and 1.
        exogenous : DataFrame or array of shape (steps, n_exogenous), optional
            As for ``predict``. Seasonal columns are added.

        Returns
        -------
        lower, upper : ndarray of shape (steps, n_series), or frames for a frame
            Bounds from the covariance of the forecast errors for each number of steps, as in
            ``LinearDynamicalSystem.predict_interval``. The coefficients are treated as known.

        Raises
        ------
        ValueError
            If `coverage` is not between 0 and 1, and in the cases of ``predict``.
        """
        rows, steps, exogenous = self._read_history(history, steps, exogenous)
        lower, upper = self.model_.predict_interval(rows, steps, coverage, exogenous=exogenous)
        return continue_labels(lower, rows, self._index), continue_labels(upper, rows, self._index)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of the rows of series, each given the `lags` rows before it.

        Parameters
        ----------
        X : DataFrame, array, path, iterator of frames, or a list or dict of tables
            As for ``fit``, with the same columns.
        y : None
            Ignored.

        Returns
        -------
        float
            Natural logarithm of the Gaussian density, per predicted row.

        Raises
        ------
        ValueError
            If the noise covariance is singular, for example with fewer rows than series.
        """
        predicted, targets = self._predict_panel(self._read_same_series(X))
        return float(compute_log_densities(targets - predicted, self.noise_covariance_).mean())

    def predict_rows(self, X: Any) -> Any:
        """Return the mean of each row of series, given the `lags` rows before it: one-step predictions.

        Parameters
        ----------
        X : DataFrame, array, path, iterator of frames, or a list or dict of tables
            As for ``fit``, with the same columns: the training series or other rows of them. With `seasonal_period`,
            an array is assumed to begin in the season of the first training row.

        Returns
        -------
        ndarray or pandas.DataFrame of shape (n_targets, n_series)
            Means in the user's units; the series of a panel are concatenated. For a pandas frame without gaps a frame
            with the labels of the rows.

        Raises
        ------
        ValueError, TypeError
            If the series are not the training series, or have fewer than `lags` + 2 rows.
        """
        values = self._predict_panel(self._read_same_series(X))[0]
        return values if self.time_column is not None else label_targets(values, tuple(self.variables_), X, self.lags)

    def _predict_panel(self, panel: Panel) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of the rows after the first lags of each segment, and these rows."""
        predictors, targets = make_lagged_design(panel, self.lags)
        matrices = (self.coef_,) if self.lags == 1 else tuple(self.coef_[1:])
        n = len(self.variables_)
        values = self.intercept_ + predictors[:, n * self.lags :] @ self.exogenous_coef_.T
        for lag, matrix in enumerate(matrices):
            values = values + (matrix @ predictors[:, lag * n : (lag + 1) * n].T).T
        return values, targets


@dataclass(frozen=True, eq=False)
class LinearResampler(BlockResampler):
    """A learner and a problem without its rows: resamples sum the cross-products of blocks."""

    learner: LDSLearner
    problem: LDSProblem

    def solve_all(self, arrays: SharedArrays, seed: int, numbers: range) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges of each resample, and their standardised coefficients."""
        problem, learner = self.problem, clone_learner(self.learner)  # threads share it
        blocks = BlockMoments(
            arrays.products, arrays.squares, arrays.sizes, problem.lags, problem.n_exogenous, problem.has_intercept
        )
        counts = np.array([count_draws(seed, number, len(blocks.sizes)) for number in numbers])
        values = np.zeros((problem.lags + 1, problem.n_series, problem.n_series))
        for moments in blocks.sum(counts):
            matrices: Any = learner._solve(replace(problem, summed=moments)).coefficients
            for lag, matrix in enumerate(matrices, start=1):
                values[lag] = matrix.toarray() if issparse(matrix) else matrix
            yield values != 0, values


class SparseLDSLearner(IterativeLearner, LDSLearner):
    """Base of the learners that solve one block of targets after another; `_solve` ends with `_end_blocks`."""

    _parameter_constraints: dict[str, Any] = {**LDSLearner._parameter_constraints, **RUN_CONSTRAINTS}

    _unit = "blocks"

    def _fit(self, opened: Panel | SeriesChunks, sample_weight: ArrayLike | None) -> Run:
        self._refuse_weights(sample_weight)
        with self._open_run() as run:
            self._learn(opened, run)
        return self._end_run(run, run.stopped_by == "converged")

    def _end_blocks(self, record: TargetCounter, n_targets: int, run: Run | None) -> None:
        """End a run, with a warning if some targets were not solved."""
        if run is None:
            return
        if record.n_targets == n_targets:
            run.end("converged")
            return
        warnings.warn(
            f"{type(self).__name__} was ended by {run.stopped_by} after {record.n_targets} of {n_targets} "
            "regressions. The other regressions give no parents. Give a larger max_time",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )

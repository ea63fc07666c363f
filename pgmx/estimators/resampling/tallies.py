"""Sums over resamples of blocks of rows of time series."""

from dataclasses import replace
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from pgmx.data.draws import count_draws
from pgmx.estimators.base import clone_learner
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.problem import LDSProblem
from pgmx.estimators.time_series.svarm.resampler import SVARMResampler, SVARMRows
from pgmx.parallel.tasks import SharedArrays
from pgmx.runs.run import is_past
from pgmx.statistics.lagged_moments import BlockMoments

#: Resamples per task. The task reads the cross-products of all blocks once.
TOGETHER = 16


class Tally(NamedTuple):
    """Counts of edges and sums of their coefficients over some resamples, (lags, n, n), in solver units."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    n_resamples: int

    @classmethod
    def of_zeros(cls, shape: tuple[int, ...], n_resamples: int) -> Self:
        """Return an empty tally."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape), n_resamples)

    def add(self, lags: int | slice, edges: np.ndarray, values: np.ndarray) -> None:
        """Add the edges and coefficients of one resample."""
        self.counts[lags] += edges
        self.sums[lags] += values
        self.squares[lags] += values**2


class LinearResamples:
    """Task of a worker: sums over some resamples."""

    def __init__(
        self, learner: LDSLearner, problem: LDSProblem, seed: int, n_resamples: int, lags: int, n_exogenous: int
    ) -> None:
        self._learner, self._problem, self._seed, self._n_resamples = learner, problem, seed, n_resamples
        self._lags, self._n_exogenous = lags, n_exogenous

    def __call__(self, arrays: SharedArrays, number: int) -> Tally:
        """Return the sums over the resamples of a task."""
        problem, learner = self._problem, clone_learner(self._learner)
        blocks = BlockMoments(
            arrays.products, arrays.squares, arrays.sizes, self._lags, self._n_exogenous, problem.has_intercept
        )
        numbers = range(number * TOGETHER, min((number + 1) * TOGETHER, self._n_resamples))
        counts = np.array([count_draws(self._seed, resample, len(blocks.sizes)) for resample in numbers])
        shape = (problem.lags, problem.n_series, problem.n_series)
        tally = Tally.of_zeros(shape, len(numbers))
        for n_before, moments in enumerate(blocks.sum(counts)):
            solution = learner._solve(replace(problem, summed=moments))
            if n_before and is_past(inf):  # its solver may have been interrupted
                return tally._replace(n_resamples=n_before)
            matrices: Any = solution.coefficients
            for lag, matrix in enumerate(matrices):
                dense = matrix.toarray() if issparse(matrix) else matrix
                tally.add(lag, dense != 0, dense)
        return tally


class StructuralResamples:
    """Task of a worker: sums over some resamples of the rows of a structural vector autoregression."""

    def __init__(self, resampler: SVARMResampler, sizes: np.ndarray, seed: int, n_resamples: int) -> None:
        self._resampler, self._sizes, self._seed, self._n_resamples = resampler, sizes, seed, n_resamples

    def __call__(self, arrays: SharedArrays, number: int) -> Tally:
        """Return the sums of coefficients, or else of strengths, over the resamples of a task."""
        rows = SVARMRows(arrays.columns, arrays.targets, arrays.basis)
        numbers = range(number * TOGETHER, min((number + 1) * TOGETHER, self._n_resamples))
        lags, n = self._resampler.learner.lags, rows.targets.shape[1]
        tally = Tally.of_zeros((lags + 1, n, n), len(numbers))
        for n_before, resample in enumerate(numbers):
            counts = count_draws(self._seed, resample, len(self._sizes))
            edges, values = self._resampler.solve(rows, np.repeat(counts, self._sizes))
            if n_before and is_past(inf):  # its solver may have been interrupted
                return tally._replace(n_resamples=n_before)
            tally.add(slice(None), edges, values * edges)
        return tally

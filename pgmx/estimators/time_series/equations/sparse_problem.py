"""Sparse structural equations of some windows: the problem of one penalty, and the choice from a path of penalties."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, nan
from typing import Any, Self

import numpy as np

from pgmx.data.series import Panel
from pgmx.estimators.time_series.equations.learner import check_moments
from pgmx.estimators.time_series.series_path import PathSolver
from pgmx.runs.run import Run, is_past
from pgmx.solvers.time_series.sem_lasso import EquationsLoss, SparseOptimum, minimise_sparse, sum_penalties
from pgmx.solvers.time_series.sem_likelihood import (
    SecondMoments,
    evaluate,
    maximise_likelihood,
    measure_fit,
    read_coefficients,
)

Record = Callable[[np.ndarray, float], bool]


@dataclass(frozen=True, eq=False)
class SparseProblem:
    """Windows of series with standard deviation 1, and the penalty of each coefficient for λ = 1.

    Penalties are 0 for required and infinite for forbidden edges. Solutions start near `dense`, the maximum of the
    likelihood with all allowed edges, since other local optima can be those of inputs in another order.
    """

    data: SecondMoments
    loss: EquationsLoss
    dense: np.ndarray
    weights: np.ndarray
    lam_max: float
    tol: float
    max_iter: int

    @classmethod
    def from_moments(
        cls,
        data: SecondMoments,
        required: np.ndarray,
        allowed: np.ndarray | None,
        *,
        adaptive: bool,
        tol: float,
        max_iter: int,
    ) -> Self:
        """Return the problem of windows, with weights 1, or 1 / |a_ij| of the maximum of the likelihood."""
        n, loss = len(data.scales), EquationsLoss(data)
        dense = read_coefficients(data, maximise_likelihood(data, allowed=allowed).separation).matrix
        weights = np.ones((n, n))
        if adaptive:
            weights = 1.0 / np.maximum(np.abs(dense), np.finfo(float).eps)
        if allowed is not None:
            weights[~allowed] = inf
        np.fill_diagonal(weights, inf)
        weights[required[:, 1], required[:, 2]] = 0.0
        fixed = np.where(weights == 0, 0.0, inf)
        start = np.where(weights == 0, dense, 0.0)
        empty = minimise_sparse(loss, fixed, start, tol=tol, max_iter=max_iter).matrix
        slopes = np.abs(loss.differentiate(loss.evaluate(empty)).gradient)
        penalised = (weights > 0) & np.isfinite(weights)
        largest = float((slopes[penalised] / weights[penalised]).max(initial=0.0))
        return cls(data, loss, dense, weights, largest, tol, max_iter)

    def solve(self, lam: float, start: np.ndarray | None = None, record: Record | None = None) -> SparseOptimum:
        """Return the optimum under λ, from `start` or from the soft-thresholded maximum of the likelihood."""
        # 0 inf is not a number
        penalties = np.where(self.weights == 0, 0.0, lam * np.where(self.weights == 0, 1.0, self.weights))
        soft = np.sign(self.dense) * np.maximum(np.abs(self.dense) - penalties, 0.0)
        return self._minimise(penalties, soft, start, record)

    def refit(self, matrix: np.ndarray, start: np.ndarray | None = None, record: Record | None = None) -> SparseOptimum:
        """Return the maximum of the likelihood with the edges of A, from `start` if that is better than without it."""
        edges = (matrix != 0) | (self.weights == 0)
        if start is not None:
            start = np.where(edges, np.where(start != 0, start, matrix), 0.0)
        return self._minimise(np.where(edges, 0.0, inf), np.where(edges, self.dense, 0.0), start, record)

    def _minimise(
        self, penalties: np.ndarray, start: np.ndarray, other: np.ndarray | None, record: Record | None
    ) -> SparseOptimum:
        points = [self.loss.evaluate(at) for at in (start, other) if at is not None]
        point = min(points, key=lambda one: one.value + sum_penalties(one.matrix, penalties))
        return minimise_sparse(self.loss, penalties, point, tol=self.tol, max_iter=self.max_iter, record=record)


class EquationsPathSolver(PathSolver):
    """Solver of sparse structural equations along a path, compared by EBIC or by held-out windows."""

    def __init__(self, learner: Any, panel: Panel, selection: str, gamma: float, n_folds: int, early_stopping: bool):
        if learner.exogenous != "blind":
            raise ValueError(
                f"SelectedGraph has no powers of the inputs, got exogenous={learner.exogenous!r}: give "
                "exogenous='blind', or learn with some values of lam"
            )
        super().__init__(tuple(panel.names), 0, early_stopping)
        data, make = learner._prepare(panel, None)
        self._refits, self._gamma, self._is_ebic = learner.refit, gamma, selection == "ebic"
        self._problem: SparseProblem = make(data)
        self.lam_max = self._problem.lam_max
        self._folds = [] if self._is_ebic else self._divide(data, panel.names, n_folds, make)
        self._best = inf
        self._chosen: np.ndarray | None = None
        self._solutions = [_Solution(one) for one in (self._problem, *(train for train, _ in self._folds))]

    @staticmethod
    def _divide(
        data: SecondMoments, names: Any, n_folds: int, make: Callable[[SecondMoments], SparseProblem]
    ) -> list[tuple[SparseProblem, SecondMoments]]:
        """Return the problem without every fold of windows, and the windows of the fold."""
        n_windows = len(data.moments)
        if n_folds > n_windows:
            raise ValueError(f"n_folds={n_folds} needs {n_folds} windows, got {n_windows}: give fewer folds")
        folds = []
        for k in range(n_folds):
            # the windows of a fold are distant from each other, so that both parts see all powers
            held_out = np.arange(n_windows) % n_folds == k
            train, rest = (SecondMoments(*(part[where] for part in data)) for where in (~held_out, held_out))
            check_moments(train, names)
            folds.append((make(train), rest))
        return folds

    def _evaluate(self, lam: float, run: Run) -> tuple[np.ndarray, Callable[[], float]] | None:
        solution = self._solutions[0]
        solution.advance(lam, self._refits or self._is_ebic)
        if self._lams and run.is_over():  # the last solution may be incomplete
            return None
        edges = np.argwhere(solution.matrix != 0)
        edges = np.column_stack([np.zeros(len(edges), dtype=np.int64), edges])

        def compute() -> float:
            value = self._compute_ebic(len(edges)) if self._is_ebic else self._compute_loss(lam)
            if not self._is_ebic and run.is_over():
                return nan
            if value < self._best:
                self._best, self._chosen = value, solution.matrix
            return value

        return edges, compute

    def _compute_ebic(self, n_edges: int) -> float:
        """Return −2 T ℓ + |E| (ln T + 2 γ ln(N − 1)) without constants, with ℓ at the maximum given the edges."""
        n_rows, n = float(self._problem.data.n_rows.sum()), self._problem.loss.n_series
        return 2.0 * n_rows * self._solutions[0].loss + n_edges * (log(n_rows) + 2.0 * self._gamma * log(max(n - 1, 1)))

    def _compute_loss(self, lam: float) -> float:
        """Return minus the mean log-likelihood of held-out rows."""
        total, count = 0.0, 0.0
        for solution, (train, held_out) in zip(self._solutions[1:], self._folds, strict=True):
            solution.advance(lam, self._refits)
            matrix = solution.refitted if self._refits else solution.matrix
            assert matrix is not None
            rows = evaluate(train.data, np.eye(len(matrix)) - matrix).rows
            total -= float(held_out.n_rows.sum()) * measure_fit(held_out, rows)
            count += float(held_out.n_rows.sum())
        return total / count

    def prepare(self, learner: Any) -> None:
        """Let the learner use the problem of the path, and start at its optimum, since there may be several."""
        learner._path_start = self._problem, self._chosen


class _Solution:
    """The optimum of a problem, and of the likelihood with its edges, for one penalty after another."""

    matrix: np.ndarray | None = None
    refitted: np.ndarray | None = None
    loss = nan  # with the refitted coefficients

    def __init__(self, problem: SparseProblem):
        self._problem = problem

    def advance(self, lam: float, refits: bool) -> None:
        """Solve for a penalty, and refit if it has other edges than the penalty before."""
        before, self.matrix = self.matrix, self._problem.solve(lam, self.matrix, _is_over).matrix
        if refits and (before is None or not np.array_equal(before != 0, self.matrix != 0)):
            optimum = self._problem.refit(self.matrix, self.refitted, _is_over)
            self.refitted, self.loss = optimum.matrix, optimum.objective


def _is_over(matrix: np.ndarray, objective: float) -> bool:
    return is_past(inf)

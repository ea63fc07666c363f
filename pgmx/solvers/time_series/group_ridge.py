"""The closed form of additive models with a squared penalty, for all targets from one factorisation."""

from functools import cached_property

import numpy as np
from scipy.linalg import solve

from pgmx.solvers.time_series.group_lasso import ColumnFactor, GroupEstimates, GroupLassoProblem, factor_columns


class GroupRidge:
    r"""Minimise ½‖y − Φw‖² + λ Σ ‖w_b‖² over the blocks that each target may use: (Φ'Φ + 2λI)⁻¹ Φ'y, eq. 5.13.

    All targets share P = (Φ'Φ + 2λI)⁻¹ over all columns. Without the columns e, which the target may not use, the
    solution is w − P[:, e] P[e, e]⁻¹ w[e].
    """

    def __init__(self, problem: GroupLassoProblem, lam: float):
        self.problem, self.ridge = problem, 2.0 * lam

    @cached_property
    def _factor(self) -> ColumnFactor:
        return factor_columns(self.problem.columns)

    def _apply(self, vectors: np.ndarray) -> np.ndarray:
        """Return P times each of the rows (m, F)."""
        values, rows, _ = self._factor
        shares = vectors @ rows.T
        result = (shares / (values + self.ridge)) @ rows
        if len(values) < vectors.shape[1]:  # directions in which the columns do not vary
            result += (vectors - shares @ rows) / self.ridge
        return result

    def _list_excluded(self, target: int) -> np.ndarray:
        return self.problem.expand_blocks(np.flatnonzero(~self.problem.allowed[target]))

    def solve(self) -> GroupEstimates:
        """Return the solutions, with the duality gaps that their rounding leaves."""
        problem, targets = self.problem, np.arange(len(self.problem.targets))
        products = problem.products
        w = self._apply(products)
        for target in targets.tolist():
            w[target] = self._solve_target(target, products[target], w[target])
        # one refinement, since the columns that are removed may explain the target nearly exactly
        remainder = products - (w @ problem.columns.T) @ problem.columns - self.ridge * w
        shift = self._apply(remainder)
        for target in targets.tolist():
            w[target] += self._solve_target(target, remainder[target], shift[target])
        residuals = problem.compute_residuals(w, targets)
        fit, cost = (residuals**2).sum(axis=1), (w**2).sum(axis=1)
        slack = w - residuals @ problem.columns / self.ridge
        slack *= np.repeat(problem.allowed, np.diff(problem.starts), axis=1)
        half, steps = 0.5 * self.ridge, np.ones(len(w), dtype=np.int64)
        return GroupEstimates(w, 0.5 * fit + half * cost, half * (slack**2).sum(axis=1), steps)

    def _solve_target(self, target: int, products: np.ndarray, full: np.ndarray) -> np.ndarray:
        """Return the solution without the columns that a target may not use, given the solution with all."""
        excluded = self._list_excluded(target)
        if not len(excluded):
            return full
        if 2 * len(excluded) > len(full):  # few columns are left
            result, used = np.zeros_like(full), np.setdiff1d(np.arange(len(full)), excluded)
            columns = self.problem.columns[:, used]
            gram = columns.T @ columns + self.ridge * np.eye(len(used))
            result[used] = solve(gram, products[used], assume_a="pos") if len(used) else 0.0
            return result
        rows = self._invert(excluded)
        result = full - solve(rows[:, excluded], full[excluded], assume_a="pos") @ rows
        result[excluded] = 0.0
        return result

    def _invert(self, columns: np.ndarray) -> np.ndarray:
        """Return rows of P."""
        units = np.zeros((len(columns), self.problem.columns.shape[1]))
        units[np.arange(len(columns)), columns] = 1.0
        return self._apply(units)

    def count_freedom(self) -> np.ndarray:
        """Return the degrees of freedom of each target, the trace of (Φ'Φ + 2λI)⁻¹ Φ'Φ over its columns."""
        values, width = self._factor.values, self.problem.columns.shape[1]
        trace = (1.0 / (values + self.ridge)).sum() + (width - len(values)) / self.ridge
        freedom = np.zeros(len(self.problem.targets))
        for target in range(len(freedom)):
            excluded = self._list_excluded(target)
            left = trace
            if len(excluded):
                rows = self._invert(excluded)
                left = trace - np.trace(solve(rows[:, excluded], rows @ rows.T, assume_a="pos"))
            freedom[target] = width - len(excluded) - self.ridge * left
        return freedom

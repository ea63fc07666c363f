r"""Columns of the CLIME estimator of wide tables, by the exact path over candidates, checked against all variables.

Let q and y solve the problem of column j and its dual over the candidates C,

.. math:: \min_q \|q\|_1 \;\text{s.t.}\; \|S_{CC} q - e_j\|_\infty \le \lambda, \qquad
    \max_y y_j - \lambda \|y\|_1 \;\text{s.t.}\; \|S_{CC} y\|_\infty \le 1, \qquad S = A'A + \rho I

Padded with zeros, they solve the whole problem if no other i has :math:`|A_i'Aq| > \lambda` or :math:`|A_i'Ay| > 1`.
Such i are added to C. Initially C contains the variables whose constraint is violated by the solution without
neighbours, :math:`q = (1 - \lambda) / (1 + \rho) e_j`.
"""

from math import inf

import numpy as np

from pgmx.solvers.gaussian.clime.homotopy_path import EXCESS, GAP, follow_column
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.screening.blocks import (
    ColumnBlock,
    SparseColumn,
    WideFactor,
    assemble,
    find_violators,
    screen_columns,
)


def screen_clime_columns(
    factor: np.ndarray, columns: np.ndarray, lams: np.ndarray, *, ridge: float = 0.0, deadline: float = inf
) -> ColumnEstimates:
    """Solve `clime_columns` by the exact path for R = A'A, without R.

    `factor` is A of shape (n, p) with columns of length 1. Gaps and violations refer to the whole problem. Cost: about
    two rounds of two products of rows, O(n p) per column and penalty. Memory: O(p) for each of 128 columns.
    """
    return screen_columns(
        factor,
        columns,
        lams,
        lambda whole, part: _Columns(whole, part, lams, ridge, deadline),
        zero_gap=0.0,
        zero_violations=np.maximum(0.0, 1.0 - lams),
        deadline=deadline,
    )


class _Columns(ColumnBlock):
    def __init__(self, factor: WideFactor, columns: np.ndarray, lams: np.ndarray, ridge: float, deadline: float):
        super().__init__(factor, columns, lams)
        self._ridge, self._deadline = ridge, deadline
        self._multipliers = [[SparseColumn() for _ in columns] for _ in lams]

    @property
    def _least_correlation(self) -> float:
        lam = float(self.lams[-1])
        return lam * (1.0 + self._ridge) / (1.0 - lam) if lam < 1.0 else inf

    def find_converged(self) -> np.ndarray:
        """Return whether excess and gap are small enough for an exact solution, shape (k, c)."""
        sizes = np.array([[np.abs(one.values).sum() for one in row] for row in self.solutions])
        return (self.violations <= EXCESS) & (self.gaps <= GAP * np.maximum(1.0, sizes))

    def _solve_over(self, c: int, candidates: np.ndarray) -> int:
        nodes = np.append(candidates, self.columns[c])
        part = self.factor.matrix[:, nodes]
        points, multipliers, n_exchanges = follow_column(
            part.T @ part, len(candidates), self.lams, ridge=self._ridge, deadline=self._deadline
        )
        for solutions, matrix in ((self.solutions, points), (self._multipliers, multipliers)):
            for t in range(len(self.lams)):
                entries = slice(matrix.indptr[t], matrix.indptr[t + 1])
                solutions[t][c] = SparseColumn(nodes[matrix.indices[entries]], matrix.data[entries])
        return n_exchanges

    def _check(self, due: np.ndarray, candidates: list[np.ndarray]) -> list[np.ndarray]:
        violators = [np.zeros(0, dtype=np.int64) for _ in due]
        for t, lam in enumerate(self.lams.tolist()):
            points = [self.solutions[t][c] for c in due.tolist()]
            multipliers = [self._multipliers[t][c] for c in due.tolist()]
            known = [np.append(candidates[c], self.columns[c]) for c in due.tolist()]
            excesses, more_rows = self._find_largest(points, known, lam + EXCESS, shift=1.0)
            images, more_columns = self._find_largest(multipliers, known, 1.0 + EXCESS)
            violations = excesses - lam
            norms = np.array([np.abs(y.values).sum() for y in multipliers])
            own = np.array([y.values[y.places == nodes[-1]].sum() for y, nodes in zip(multipliers, known, strict=True)])
            duals = (own - (lam + np.maximum(violations, 0.0)) * norms) / np.maximum(1.0, images)
            self.violations[t, due] = violations
            self.gaps[t, due] = np.array([np.abs(q.values).sum() for q in points]) - duals
            for at, (rows, others) in enumerate(zip(more_rows, more_columns, strict=True)):
                violators[at] = np.union1d(violators[at], np.union1d(rows, others))
        return violators

    def _find_largest(
        self, vectors: list[SparseColumn], known: list[np.ndarray], level: float, shift: float = 0.0
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the largest |S x - shift e_j| of each x, zero outside `known` (with j last), and the violators."""
        factor = self.factor
        combinations = factor.combine(assemble(vectors, factor.n_columns))
        correlations = factor.correlate(combinations)
        doubts = factor.doubt * np.sqrt(np.einsum("ij,ij->j", combinations, combinations))
        largest, violators = np.zeros(len(known)), []
        for at, (x, nodes) in enumerate(zip(vectors, known, strict=True)):
            whole = np.zeros(factor.n_columns)
            whole[x.places] = self._ridge * x.values
            inside = combinations[:, at] @ factor.matrix[:, nodes] + whole[nodes]
            inside[-1] -= shift
            correlations[at, nodes] = 0.0
            near = np.flatnonzero(correlations[at] >= level - doubts[at])
            outside = np.abs(combinations[:, at] @ factor.matrix[:, near])
            largest[at] = max(np.abs(inside).max(), outside.max(initial=0.0))
            violators.append(find_violators(near, outside, level, nodes))
        return largest, violators

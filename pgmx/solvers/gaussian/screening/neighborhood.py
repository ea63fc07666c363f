r"""Neighbourhoods of the variables of wide tables: the lasso of each column over candidates, checked against all.

The initial candidates are the variables with the largest :math:`|R_{ij}|` above the smallest penalty. Variables that
violate :math:`|A_i'(A_j - A b)| \le \lambda` are added until the duality gap against all variables is within the
tolerance.
"""

from math import inf

import numpy as np
from scipy import sparse

from pgmx._ext import _gram_lasso
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.screening.blocks import (
    BLOCK,
    ColumnBlock,
    SparseColumn,
    WideFactor,
    assemble,
    find_violators,
    screen_columns,
)

#: Share of the tolerance to which a column is solved over its candidates.
WITHIN = 0.5


def screen_neighborhood_columns(
    factor: np.ndarray,
    columns: np.ndarray,
    lams: np.ndarray,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    deadline: float = inf,
) -> ColumnEstimates:
    """Solve `neighborhood_columns` for R = A'A and penalties above 0, without R.

    `factor` is A of shape (n, p) with columns of length 1. The gaps refer to the whole problem. Cost: three or four
    products of rows, O(n p) per column, and one more for each penalty. Memory: O(p) for each of 128 columns.
    """
    return screen_columns(
        factor,
        columns,
        lams,
        lambda whole, part: _Neighborhoods(whole, part, lams, tol, max_iter),
        zero_gap=0.5,
        zero_violations=np.zeros(len(lams)),
        deadline=deadline,
    )


class _Neighborhoods(ColumnBlock):
    def __init__(self, factor: WideFactor, columns: np.ndarray, lams: np.ndarray, tol: float, max_iter: int):
        super().__init__(factor, columns, lams)
        self._tol, self._max_iter = tol, max_iter
        self._within = np.full(len(columns), WITHIN * tol)

    @property
    def _least_correlation(self) -> float:
        return float(self.lams[-1])

    def find_converged(self) -> np.ndarray:
        """Return whether the gap is within the tolerance, shape (k, c)."""
        return self.gaps <= self._tol

    def _sharpen(self, c: int, last_gap: float) -> bool:
        """Require more accuracy if the last was reached and is too low, but not after max_iter or for rounding."""
        if self.gaps[:, c].max() >= 0.5 * last_gap:
            return False
        self._within[c] *= 0.1
        return True

    def _solve_over(self, c: int, candidates: np.ndarray) -> int:
        if not len(candidates):
            return 0
        nodes = np.append(candidates, self.columns[c])
        part = self.factor.matrix[:, nodes]
        counts = np.zeros((1, len(self.lams)), dtype=np.int64)
        gaps, steps = np.zeros((1, len(self.lams))), np.zeros(1, dtype=np.int64)
        target = np.array([len(candidates)], dtype=np.int64)
        places, values = _gram_lasso.neighborhoods(
            part.T @ part, target, self.lams, self._within[c], self._max_iter, counts, gaps, steps
        )
        ends = np.cumsum(counts[0])
        for t, (begin, end) in enumerate(zip(ends - counts[0], ends, strict=True)):
            self.solutions[t][c] = SparseColumn(candidates[places[begin:end]], values[begin:end])
        return int(steps[0])

    def _check(self, due: np.ndarray, candidates: list[np.ndarray]) -> list[np.ndarray]:
        factor = self.factor
        violators = [np.zeros(0, dtype=np.int64) for _ in due]
        targets = factor.matrix[:, self.columns[due]]
        for t, lam in enumerate(self.lams.tolist()):
            coefficients = assemble([self.solutions[t][c] for c in due.tolist()], factor.n_columns)
            residuals = targets - factor.combine(coefficients)  # of length 1 at most
            gradients = factor.correlate(residuals)
            gradients[np.arange(len(due)), self.columns[due]] = 0.0
            largest = np.zeros(len(due))
            for at in range(len(due)):
                near = np.flatnonzero(gradients[at] >= lam - factor.doubt)
                exact = np.abs(residuals[:, at] @ factor.matrix[:, near])
                largest[at] = exact.max(initial=0.0)
                more = find_violators(near, exact, lam, candidates[due[at]])
                violators[at] = np.union1d(violators[at], more)
            shares = np.minimum(1.0, lam / np.maximum(largest, lam))
            sizes = np.array([np.abs(self.solutions[t][c].values).sum() for c in due.tolist()])
            self.gaps[t, due] = _compute_gaps(targets, residuals, shares, lam * sizes)
        return violators


def _compute_gaps(targets: np.ndarray, residuals: np.ndarray, shares: np.ndarray, costs: np.ndarray) -> np.ndarray:
    r"""Return the gaps of b against the dual points s r: |r|²/2 + λ|b|₁ - s a'r + s²|r|²/2."""
    squares = np.einsum("ij,ij->j", residuals, residuals)
    products = np.einsum("ij,ij->j", targets, residuals)
    return 0.5 * squares + costs - shares * products + 0.5 * np.square(shares) * squares


def compute_screened_objective(factor: np.ndarray, coefficients: sparse.csc_array, lam: float) -> float:
    """Return the sum over columns of |A_j - A b_j|² / 2 + λ|b_j|₁."""
    whole = WideFactor(factor)
    total = lam * float(np.abs(coefficients.data).sum())
    for first in range(0, factor.shape[1], BLOCK):
        part = slice(first, first + BLOCK)
        residuals = factor[:, part] - whole.combine(coefficients[:, part])
        total += 0.5 * float(np.einsum("ij,ij->", residuals, residuals))
    return total

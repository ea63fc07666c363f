r"""Neighbourhoods of the variables of wide tables: the lasso of each column over candidates, checked against all.

Candidates are at first the variables of largest :math:`|R_{ij}|` above the smallest penalty; those that violate
:math:`|A_i'(A_j - A b)| \le \lambda` join them until the duality gap against all variables is within the tolerance. So
screening is never trusted without a check (Tibshirani et al. 2012, Strong rules for discarding predictors in lasso-type
problems, Journal of the Royal Statistical Society B 74, 245-266, section 7). Products with all variables are taken in
single precision, and again in double precision for the variables that their error bound leaves in doubt.
"""

from math import inf

import numpy as np
from scipy import sparse

from pgmx._ext import _gram_lasso
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

#: Columns that are screened and checked together: their correlations with all others are one product.
BLOCK = 128
#: Most candidates of a column before its first solution; and most of those that are added after a check.
FIRST, MORE = 200, 100
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

    `factor` is A of shape (n, p), its columns of length 1; the gaps are those of the whole problem. Cost: three or four
    products of rows, O(n p) a column and one more for each penalty; memory: O(p) numbers for each of 128 columns.
    """
    p, k, single = factor.shape[1], len(lams), np.asarray(factor, dtype=np.float32)
    gaps, steps = np.full((k, len(columns)), 0.5), np.zeros(len(columns), dtype=np.int64)
    solutions = [[_Solution() for _ in columns] for _ in range(k)]
    for first in range(0, len(columns), BLOCK):
        if first and is_past(deadline):
            break
        part = slice(first, first + BLOCK)
        block = _Block(factor, single, columns[part], lams, tol, max_iter)
        gaps[:, part], steps[part] = block.solve()
        for t in range(k):
            solutions[t][part] = block.solutions[t]
    return ColumnEstimates(
        lams=lams,
        columns=columns,
        coefficients=[_assemble(of_penalty, p) for of_penalty in solutions],
        gaps=gaps,
        violations=np.zeros(gaps.shape),
        converged=gaps <= tol,
        n_iter=steps,
    )


class _Solution:
    """Non-zeros of a column."""

    def __init__(self, places: np.ndarray | None = None, values: np.ndarray | None = None):
        self.places = np.zeros(0, dtype=np.int64) if places is None else places
        self.values = np.zeros(0) if values is None else values


class _Block:
    """Columns that are screened and checked together; `solutions` holds those of each penalty."""

    def __init__(
        self, factor: np.ndarray, single: np.ndarray, columns: np.ndarray, lams: np.ndarray, tol: float, max_iter: int
    ):
        self._factor, self._single, self._columns, self._lams = factor, single, columns, lams
        self._tol, self._max_iter = tol, max_iter
        self.solutions = [[_Solution() for _ in columns] for _ in lams]

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return gaps of shape (k, c) and steps of shape (c,)."""
        candidates = self._screen()
        gaps = np.full((len(self._lams), len(self._columns)), inf)
        steps = np.zeros(len(self._columns), dtype=np.int64)
        within = np.full(len(self._columns), WITHIN * self._tol)
        due = np.arange(len(self._columns))
        while len(due):
            for c in due.tolist():
                steps[c] += self._solve_over(c, candidates[c], within[c])
            before = gaps[:, due].max(axis=0)
            violators = self._check(due, candidates, gaps)
            rest = []
            for c, more, last in zip(due.tolist(), violators, before.tolist(), strict=True):
                if gaps[:, c].max() <= self._tol:
                    continue
                if len(more):
                    candidates[c] = np.union1d(candidates[c], more)
                elif gaps[:, c].max() < 0.5 * last:  # as accurate as asked for, and not enough
                    within[c] *= 0.1
                else:
                    continue  # max_iter, or rounding
                rest.append(c)
            due = np.array(rest, dtype=np.int64)
        return gaps, steps

    def _screen(self) -> list[np.ndarray]:
        """Return the first candidates of each column, ascending."""
        strength = np.abs(self._single[:, self._columns].T @ self._single)
        strength[np.arange(len(self._columns)), self._columns] = 0.0
        candidates = []
        for row in strength:
            above = np.flatnonzero(row > self._lams[-1])
            if len(above) > FIRST:
                above = np.sort(above[np.argpartition(-row[above], FIRST)[:FIRST]])
            candidates.append(above)
        return candidates

    def _solve_over(self, c: int, candidates: np.ndarray, tol: float) -> int:
        """Solve the path of a column over its candidates; return the steps taken."""
        if not len(candidates):
            return 0
        nodes = np.append(candidates, self._columns[c])
        part = self._factor[:, nodes]
        counts = np.zeros((1, len(self._lams)), dtype=np.int64)
        gaps, steps = np.zeros((1, len(self._lams))), np.zeros(1, dtype=np.int64)
        target = np.array([len(candidates)], dtype=np.int64)
        places, values = _gram_lasso.neighborhoods(
            part.T @ part, target, self._lams, tol, self._max_iter, counts, gaps, steps
        )
        ends = np.cumsum(counts[0])
        for t, (begin, end) in enumerate(zip(ends - counts[0], ends, strict=True)):
            self.solutions[t][c] = _Solution(candidates[places[begin:end]], values[begin:end])
        return int(steps[0])

    def _check(self, due: np.ndarray, candidates: list[np.ndarray], gaps: np.ndarray) -> list[np.ndarray]:
        """Set the gaps of some columns against all variables; return the strongest violators of each."""
        violators = [np.zeros(0, dtype=np.int64) for _ in due]
        targets = self._factor[:, self._columns[due]]
        doubt = (len(self._factor) + 4) * float(np.finfo(np.float32).eps)  # of products of vectors of length up to 1
        for t, lam in enumerate(self._lams.tolist()):
            coefficients = _assemble([self.solutions[t][c] for c in due.tolist()], self._factor.shape[1])
            residuals = targets - _multiply(self._factor, coefficients)
            gradients = np.abs(residuals.T.astype(np.float32) @ self._single)
            gradients[np.arange(len(due)), self._columns[due]] = 0.0
            largest = np.zeros(len(due))
            for at in range(len(due)):
                near = np.flatnonzero(gradients[at] >= lam - doubt)
                exact = np.abs(residuals[:, at] @ self._factor[:, near])
                largest[at] = exact.max(initial=0.0)
                more = near[(exact > lam) & ~np.isin(near, candidates[due[at]])]
                violators[at] = np.union1d(violators[at], more[np.argsort(-gradients[at][more], kind="stable")[:MORE]])
            shares = np.minimum(1.0, lam / np.maximum(largest, lam))
            sizes = np.array([np.abs(self.solutions[t][c].values).sum() for c in due.tolist()])
            gaps[t, due] = _compute_gaps(targets, residuals, shares, lam * sizes)
        return violators


def _compute_gaps(targets: np.ndarray, residuals: np.ndarray, shares: np.ndarray, costs: np.ndarray) -> np.ndarray:
    r"""Return the gaps of b against the dual points s r: |r|²/2 + λ|b|₁ - s a'r + s²|r|²/2."""
    squares = np.einsum("ij,ij->j", residuals, residuals)
    products = np.einsum("ij,ij->j", targets, residuals)
    return 0.5 * squares + costs - shares * products + 0.5 * np.square(shares) * squares


def _multiply(factor: np.ndarray, coefficients: sparse.csc_array) -> np.ndarray:
    """Return A B, of which only the columns of A that B takes are read."""
    taken = np.unique(coefficients.indices)
    return factor[:, taken] @ coefficients[taken].toarray()


def _assemble(solutions: list[_Solution], p: int) -> sparse.csc_array:
    """Return solutions as the columns of a matrix."""
    indptr = np.concatenate(([0], np.cumsum([len(one.places) for one in solutions]))).astype(np.int32)
    places = np.concatenate([one.places for one in solutions]).astype(np.int32)
    values = np.concatenate([one.values for one in solutions])
    matrix = sparse.csc_array((values, places, indptr), shape=(p, len(solutions)))
    matrix.sort_indices()
    return matrix


def compute_screened_objective(factor: np.ndarray, coefficients: sparse.csc_array, lam: float) -> float:
    """Return the sum over columns of |A_j - A b_j|² / 2 + λ|b_j|₁."""
    total = lam * float(np.abs(coefficients.data).sum())
    for first in range(0, factor.shape[1], BLOCK):
        part = slice(first, first + BLOCK)
        residuals = factor[:, part] - _multiply(factor, coefficients[:, part])
        total += 0.5 * float(np.einsum("ij,ij->", residuals, residuals))
    return total

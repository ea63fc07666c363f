"""Columns of wide tables, solved over candidates without R, and the check against all variables that adds violators.

Screening always needs this check (Tibshirani et al. 2012, Strong rules for discarding predictors in lasso-type
problems, Journal of the Royal Statistical Society B 74, 245-266, section 7). Products with all variables are computed
in single precision. Variables that the error bound leaves in doubt are computed again in double precision.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from math import inf

import numpy as np
from scipy import sparse

from pgmx._ext import _gram_lasso
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.clime import EXCESS, GAP, follow_column
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

#: Columns that are screened and checked together: their correlations with all others are one product.
BLOCK = 128

#: Maximum number of candidates of a column before its first solution, and of candidates added after a check.
FIRST, MORE = 200, 100

#: Share of the tolerance to which a column is solved over its candidates.
WITHIN = 0.5


class SparseColumn:
    """Non-zeros of a column."""

    def __init__(self, places: np.ndarray | None = None, values: np.ndarray | None = None):
        self.places = np.zeros(0, dtype=np.int64) if places is None else places
        self.values = np.zeros(0) if values is None else values


class WideFactor:
    """A of shape (n, p) with R = A'A, its columns of length 1, in double and single precision."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix
        #: Bound on the error of a product of a column of A with a vector of length 1, in single precision.
        self.doubt = (len(matrix) + 4) * float(np.finfo(np.float32).eps)

    @property
    def n_columns(self) -> int:
        """P."""
        return self.matrix.shape[1]

    @cached_property
    def single(self) -> np.ndarray:
        """A in single precision."""
        return np.asarray(self.matrix, dtype=np.float32)

    def combine(self, coefficients: sparse.csc_array) -> np.ndarray:
        """Return A B of shape (n, c); only the columns of A that B needs are read."""
        taken = np.unique(coefficients.indices)
        return self.matrix[:, taken] @ coefficients[taken].toarray()

    def correlate(self, vectors: np.ndarray) -> np.ndarray:
        """Return |A' v| for the columns v of an array of shape (n, c) in single precision, shape (c, p)."""
        return np.abs(vectors.T.astype(np.float32) @ self.single)


class ColumnBlock(ABC):
    """Columns that are screened and checked together.

    `solutions[t][c]` solves column c at penalty t. `gaps` and `violations` of shape (k, c) refer to the whole problem.
    `steps` of shape (c,) counts the work.
    """

    def __init__(self, factor: WideFactor, columns: np.ndarray, lams: np.ndarray):
        self.factor, self.columns, self.lams = factor, columns, lams
        self.solutions = [[SparseColumn() for _ in columns] for _ in lams]
        self.gaps = np.full((len(lams), len(columns)), inf)
        self.violations = np.zeros(self.gaps.shape)
        self.steps = np.zeros(len(columns), dtype=np.int64)

    def solve(self, deadline: float) -> None:
        """Solve all columns over candidates, until no other variable violates the conditions of the optimum."""
        candidates = self._screen()
        due = np.arange(len(self.columns))
        while len(due):
            for c in due.tolist():
                self.steps[c] += self._solve_over(c, candidates[c])
            before = self.gaps[:, due].max(axis=0)
            violators = self._check(due, candidates)
            if is_past(deadline):
                break
            converged = self.find_converged()
            rest = []
            for c, more, last in zip(due.tolist(), violators, before.tolist(), strict=True):
                if converged[:, c].all():
                    continue
                if len(more):
                    candidates[c] = np.union1d(candidates[c], more)
                elif not self._sharpen(c, last):
                    continue
                rest.append(c)
            due = np.array(rest, dtype=np.int64)

    def _screen(self) -> list[np.ndarray]:
        """Return the first candidates of each column, ascending."""
        strength = self.factor.correlate(self.factor.matrix[:, self.columns])
        strength[np.arange(len(self.columns)), self.columns] = 0.0
        candidates = []
        for row in strength:
            above = np.flatnonzero(row > self._least_correlation)
            if len(above) > FIRST:
                above = np.sort(above[np.argpartition(-row[above], FIRST)[:FIRST]])
            candidates.append(above)
        return candidates

    @property
    @abstractmethod
    def _least_correlation(self) -> float:
        """|R_ij| above which i is an initial candidate of column j."""

    @abstractmethod
    def _solve_over(self, c: int, candidates: np.ndarray) -> int:
        """Solve the path of a column over its candidates; return the number of steps."""

    @abstractmethod
    def _check(self, due: np.ndarray, candidates: list[np.ndarray]) -> list[np.ndarray]:
        """Set gaps and violations of some columns against all variables; return the strongest violators of each."""

    @abstractmethod
    def find_converged(self) -> np.ndarray:
        """Return the columns that reached the tolerance at each penalty, shape (k, c)."""

    def _sharpen(self, c: int, last_gap: float) -> bool:
        """Return whether a column without violators should be solved again, more accurately."""
        return False


def find_violators(places: np.ndarray, values: np.ndarray, level: float, known: np.ndarray) -> np.ndarray:
    """Return the places of the largest values above a level, without known places."""
    more = (values > level) & ~np.isin(places, known)
    return places[more][np.argsort(-values[more], kind="stable")[:MORE]]


def screen_columns(
    factor: np.ndarray,
    columns: np.ndarray,
    lams: np.ndarray,
    make_block: Callable[[WideFactor, np.ndarray], ColumnBlock],
    *,
    zero_gap: float,
    zero_violations: np.ndarray,
    deadline: float = inf,
) -> ColumnEstimates:
    """Solve columns block by block; columns after the deadline stay zero, with the gap and violation of zero.

    Memory: O(p) per column of a block.
    """
    whole = WideFactor(factor)
    k, m = len(lams), len(columns)
    gaps, violations = np.full((k, m), zero_gap), np.repeat(zero_violations[:, None], m, axis=1)
    steps, converged = np.zeros(m, dtype=np.int64), np.zeros((k, m), dtype=bool)
    solutions = [[SparseColumn() for _ in columns] for _ in range(k)]
    for first in range(0, m, BLOCK):
        if first and is_past(deadline):
            break
        part = slice(first, first + BLOCK)
        block = make_block(whole, columns[part])
        block.solve(deadline)
        gaps[:, part], violations[:, part], steps[part] = block.gaps, block.violations, block.steps
        converged[:, part] = block.find_converged()
        for t in range(k):
            solutions[t][part] = block.solutions[t]
    return ColumnEstimates(
        lams=lams,
        columns=columns,
        coefficients=[assemble(of_penalty, whole.n_columns) for of_penalty in solutions],
        gaps=gaps,
        violations=violations,
        converged=converged,
        n_iter=steps,
    )


def assemble(solutions: list[SparseColumn], p: int) -> sparse.csc_array:
    """Return solutions as the columns of a matrix."""
    indptr = np.concatenate(([0], np.cumsum([len(one.places) for one in solutions]))).astype(np.int32)
    places = np.concatenate([one.places for one in solutions]).astype(np.int32)
    values = np.concatenate([one.values for one in solutions])
    matrix = sparse.csc_array((values, places, indptr), shape=(p, len(solutions)))
    matrix.sort_indices()
    return matrix


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
    r"""Lassos of columns over candidates: initially the variables with the largest |R_ij| above the smallest penalty.

    Variables that violate :math:`|A_i'(A_j - A b)| \le \lambda` are added until the duality gap against all variables
    is within the tolerance.
    """

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
        lambda whole, part: _ClimeColumns(whole, part, lams, ridge, deadline),
        zero_gap=0.0,
        zero_violations=np.maximum(0.0, 1.0 - lams),
        deadline=deadline,
    )


class _ClimeColumns(ColumnBlock):
    """CLIME columns by the exact path over candidates."""

    # Let q and y solve the problem of column j and its dual over the candidates C, with S = A'A + rho I:
    #   min |q|_1  subject to  |S_CC q - e_j|_inf <= lam
    #   max y_j - lam |y|_1  subject to  |S_CC y|_inf <= 1
    # Padded with zeros, they solve the whole problem if no other i has |A_i'A q| > lam or |A_i'A y| > 1. Such i are
    # added to C. Initially C contains the variables whose constraint is violated by the solution without neighbours,
    # q = (1 - lam) / (1 + rho) e_j.

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

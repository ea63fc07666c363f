"""Columns that are solved over candidates, and the check against all variables that adds violators.

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

from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

#: Columns that are screened and checked together: their correlations with all others are one product.
BLOCK = 128
#: Maximum number of candidates of a column before its first solution, and of candidates added after a check.
FIRST, MORE = 200, 100


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

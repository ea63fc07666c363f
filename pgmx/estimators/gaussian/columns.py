"""Columns of a precision, solved in blocks by parallel workers."""

from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csc_array, hstack

from pgmx.checks import count_workers
from pgmx.parallel.arrays import SharedArrays
from pgmx.parallel.spread import spread
from pgmx.runs.run import Run
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

#: Blocks per worker, and the fewest columns of a block.
BLOCKS, LEAST_COLUMNS = 16, 64


class ColumnSolver(Protocol):
    """Solves columns that do not depend on one another; can be pickled."""

    def __call__(self, arrays: SharedArrays, columns: np.ndarray) -> ColumnEstimates:
        """Return the estimates of some columns."""
        ...

    def certify_zero(self, lam: float) -> tuple[float, float]:
        """Return the duality gap and the violation of a column of zeros."""
        ...


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class ColumnTask:
    """Task of a worker for `spread`: to solve the block of a given number, of `block` columns each."""

    solve: ColumnSolver
    n_columns: int
    block: int

    def __call__(self, arrays, number: int) -> ColumnEstimates:
        """Return the estimates of one block of columns."""
        first = number * self.block
        return self.solve(arrays, np.arange(first, min(first + self.block, self.n_columns), dtype=np.int64))


def solve_columns(
    solve: ColumnSolver, arrays: SharedArrays, n_columns: int, run: Run, n_jobs: int | None
) -> ColumnEstimates:
    """Return the estimates of all columns in order; those after the user ended the run are zero."""
    n_workers = count_workers(n_jobs)
    block = max(LEAST_COLUMNS, -(-n_columns // (BLOCKS * n_workers)))
    task = ColumnTask(solve, n_columns, block)
    parts: dict[int, ColumnEstimates] = {}
    with run.catch_interrupt(), closing(spread(task, arrays, -(-n_columns // block), n_jobs=n_jobs)) as results:
        for number, part in results:
            parts[number] = part
            n_edges = sum(one.coefficients[-1].nnz for one in parts.values())
            run.record(objective=float("nan"), n_edges=n_edges)
            if run.is_stopped_by_user():
                break
    if not parts:
        run.raise_error()
    lams = next(iter(parts.values())).lams
    for number in range(-(-n_columns // block)):
        if number not in parts:
            columns = np.arange(number * block, min((number + 1) * block, n_columns), dtype=np.int64)
            parts[number] = _zero_columns(solve, lams, columns, n_columns)
    return _concatenate([parts[number] for number in sorted(parts)])


def _concatenate(parts: list[ColumnEstimates]) -> ColumnEstimates:
    """Put blocks side by side."""
    whole = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=-1)
        for name in ("columns", "gaps", "violations", "converged", "n_iter")
    }
    coefficients = [csc_array(hstack([part.coefficients[k] for part in parts])) for k in range(len(parts[0].lams))]
    return replace(parts[0], coefficients=coefficients, **whole)


def _zero_columns(solve: ColumnSolver, lams: np.ndarray, columns: np.ndarray, n_columns: int) -> ColumnEstimates:
    """Return the estimates of columns that were not solved."""
    shape = (len(lams), len(columns))
    gaps, violations = zip(*map(solve.certify_zero, lams), strict=True)
    return ColumnEstimates(
        lams=lams,
        columns=columns,
        coefficients=[csc_array((n_columns, len(columns))) for _ in lams],
        gaps=np.repeat(gaps, shape[1]).reshape(shape),
        violations=np.repeat(violations, shape[1]).reshape(shape),
        converged=np.zeros(shape, dtype=bool),
        n_iter=np.zeros(len(columns), dtype=np.int64),
    )

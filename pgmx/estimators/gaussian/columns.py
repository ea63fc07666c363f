"""Columns of a precision, solved in blocks by whatever workers there are."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csc_array, hstack

from pgmx.parallel.spread import SharedArrays, spread
from pgmx.runs.run import Run
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

#: Blocks a worker gets, and the fewest columns of a block.
BLOCKS, LEAST_COLUMNS = 16, 64


@dataclass(frozen=True)
class ColumnTask:
    """A block of columns for a worker: what `spread` calls with the arrays and the number of the block.

    Parameters
    ----------
    solve : callable
        ``solve(arrays, columns)`` returns ColumnEstimates; can be pickled.
    n_columns, block : int
        Columns in all, and of a block.
    """

    solve: Callable
    n_columns: int
    block: int

    def __call__(self, arrays, number: int) -> ColumnEstimates:
        """Return the estimates of one block of columns."""
        first = number * self.block
        return self.solve(arrays, np.arange(first, min(first + self.block, self.n_columns), dtype=np.int64))


def solve_columns(
    solve: Callable, arrays: SharedArrays, n_columns: int, run: Run, n_jobs: int | None
) -> ColumnEstimates:
    """Return the estimates of all columns.

    Parameters
    ----------
    solve : callable
        ``solve(arrays, columns)`` returns the estimates of some columns, which depend on nothing else;
        ``solve.of_zero(lam)`` the gap and the violation of a column of zeros.
    arrays : SharedArrays
        What all blocks read.
    n_columns : int
        p.
    run : Run
        Told after each block. Its deadline is the solver's affair; the callback leaves out blocks not begun.
    n_jobs : int, optional
        Workers, as joblib understands it.

    Returns
    -------
    ColumnEstimates
        Of all p columns in order. Columns that were left out are zero, not converged.
    """
    n_workers = effective_n_jobs(n_jobs)
    block = max(LEAST_COLUMNS, -(-n_columns // (BLOCKS * n_workers)))
    task = ColumnTask(solve, n_columns, block)
    found: dict[int, ColumnEstimates] = {}
    for number, part in spread(task, arrays, -(-n_columns // block), n_jobs=n_jobs):
        found[number] = part
        n_edges = sum(one.coefficients[-1].nnz for one in found.values())
        run.record(objective=float("nan"), n_edges=n_edges)
        if run.stopped_by == "callback":
            break
    lams = next(iter(found.values())).lams
    parts = []
    for number in range(-(-n_columns // block)):
        columns = np.arange(number * block, min((number + 1) * block, n_columns), dtype=np.int64)
        parts.append(found[number] if number in found else _left_out(solve, lams, columns, n_columns))
    return _joined(parts)


def _joined(parts: list[ColumnEstimates]) -> ColumnEstimates:
    """Put blocks side by side."""
    whole = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=-1)
        for name in ("columns", "gaps", "violations", "converged", "n_iter")
    }
    coefficients = [csc_array(hstack([part.coefficients[k] for part in parts])) for k in range(len(parts[0].lams))]
    return replace(parts[0], coefficients=coefficients, **whole)


def _left_out(solve: Callable, lams: np.ndarray, columns: np.ndarray, n_columns: int) -> ColumnEstimates:
    """Return columns of zeros."""
    shape = (len(lams), len(columns))
    gaps, violations = zip(*map(solve.of_zero, lams), strict=True)  # type: ignore[attr-defined]
    return ColumnEstimates(
        lams=lams,
        columns=columns,
        coefficients=[csc_array((n_columns, len(columns))) for _ in lams],
        gaps=np.repeat(gaps, shape[1]).reshape(shape),
        violations=np.repeat(violations, shape[1]).reshape(shape),
        converged=np.zeros(shape, dtype=bool),
        n_iter=np.zeros(len(columns), dtype=np.int64),
    )

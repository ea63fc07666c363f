"""Columns of a precision, solved in blocks by parallel workers."""

from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csc_array, hstack

from pgmx.checks import count_workers
from pgmx.estimators.gaussian.cost import GaussianSize
from pgmx.estimators.gaussian.snapshots import COLUMN_FIGURES, pack_columns, read_columns
from pgmx.parallel.tasks import SharedArrays, run_tasks
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run, Store
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.screening import BLOCK as WIDE_COLUMNS

#: Arrays of a block of columns while it is solved, with R and without.
_BLOCK_ARRAYS, _WIDE_ARRAYS = 10, 14

#: Blocks per worker, and the fewest columns of a block.
_BLOCKS, _LEAST_COLUMNS = 16, 128


def estimate_columns(size: GaussianSize, n_jobs: int | None, arrays: int = _BLOCK_ARRAYS) -> int:
    """Return the bytes for solving all columns in blocks. Without R the number of arrays is fixed."""
    n_workers = count_workers(n_jobs)
    block = min(size.n_columns, max(_LEAST_COLUMNS, -(-size.n_columns // (_BLOCKS * n_workers))))
    if size.is_wide:
        return 8 * _WIDE_ARRAYS * n_workers * min(block, WIDE_COLUMNS) * size.n_columns
    return 8 * arrays * n_workers * block * size.n_columns


class ColumnSolver(Protocol):
    """Solver of independent columns; it can be pickled."""

    @property
    def lams(self) -> np.ndarray:
        """The penalties."""
        ...

    def __call__(self, arrays: SharedArrays, columns: np.ndarray) -> ColumnEstimates:
        """Return the estimates of some columns."""
        ...

    def certify_zero(self, lam: float) -> tuple[float, float]:
        """Return the duality gap and the violation of a column of zeros."""
        ...


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class ColumnTask:
    """Task of a worker for `run_tasks`: solve one block of columns."""

    solve: ColumnSolver
    blocks: list[np.ndarray]

    def __call__(self, arrays, number: int) -> ColumnEstimates:
        """Return the estimates of a block, given by its number."""
        return self.solve(arrays, self.blocks[number])


def solve_columns(
    solve: ColumnSolver,
    arrays: SharedArrays,
    n_columns: int,
    run: Run,
    n_jobs: int | None,
    store: Store | None = None,
) -> ColumnEstimates:
    """Return the estimates of all columns in order; columns that the user's end of the run left unsolved are zero.

    Blocks in the store are not solved again. Solved blocks are saved there when a snapshot is due.
    """
    n_workers = count_workers(n_jobs)
    block = max(_LEAST_COLUMNS, -(-n_columns // (_BLOCKS * n_workers)))
    blocks = [np.arange(first, min(first + block, n_columns), dtype=np.int64) for first in range(0, n_columns, block)]
    parts = {} if store is None or store.snapshot is None else _read_parts(store.snapshot, solve.lams, blocks)
    due = [number for number in range(len(blocks)) if number not in parts]
    task = ColumnTask(solve, [blocks[number] for number in due])
    n_stored, n_rows = len(parts), run.n_rows
    run.estimate_left = lambda: n_stored + len(due) - len(parts)
    with run.catch_interrupt(), closing(run_tasks(task, arrays, len(due), n_jobs=n_jobs)) as results:
        for at, part in results:
            parts[due[at]] = part
            # the smallest penalty has the most edges
            n_edges = sum(one.coefficients[-1].nnz for one in parts.values())
            run.record(objective=float("nan"), n_edges=n_edges)
            if run.is_stopped_by_user():
                break
            if store is not None and store.is_due() and not run.is_over():
                n_rows = run.n_rows
                _save(store, parts, n_rows)
    if not parts:
        run.raise_error()
    # the last blocks too, although no snapshot was due
    if store is not None and run.is_over():
        _save(store, parts, n_rows)
    for number, columns in enumerate(blocks):
        if number not in parts:
            parts[number] = _make_zero_columns(solve, solve.lams, columns, n_columns)
    return _concatenate([parts[number] for number in sorted(parts)])


def _read_parts(snapshot: Snapshot, lams: np.ndarray, blocks: list[np.ndarray]) -> dict[int, ColumnEstimates]:
    """Return the complete blocks of columns of a snapshot, by number; incomplete blocks are solved again."""
    stored = read_columns(snapshot, lams, sum(map(len, blocks)))
    parts = {}
    for number, columns in enumerate(blocks):
        at = np.flatnonzero(np.isin(stored.columns, columns))
        # another number of workers divides the columns differently
        if len(at) == len(columns):
            at = at[np.argsort(stored.columns[at])]
            rows = {name: getattr(stored, name)[..., at] for name in COLUMN_FIGURES}
            parts[number] = replace(stored, coefficients=[whole[:, at] for whole in stored.coefficients], **rows)
    return parts


def _save(store: Store, parts: dict[int, ColumnEstimates], n_rows: int) -> None:
    store.save(pack_columns(_concatenate([parts[number] for number in sorted(parts)])), n_rows)


def _concatenate(parts: list[ColumnEstimates]) -> ColumnEstimates:
    """Concatenate blocks."""
    if len(parts) == 1:
        return parts[0]
    whole = {name: np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in COLUMN_FIGURES}
    coefficients = [csc_array(hstack([part.coefficients[k] for part in parts])) for k in range(len(parts[0].lams))]
    return replace(parts[0], coefficients=coefficients, **whole)


def _make_zero_columns(solve: ColumnSolver, lams: np.ndarray, columns: np.ndarray, n_columns: int) -> ColumnEstimates:
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

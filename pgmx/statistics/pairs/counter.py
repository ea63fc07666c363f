"""Adds rows to the cells of pairs of variables: of those listed, or of all."""

from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed

from pgmx._ext import _pair_tables
from pgmx.checks import count_workers
from pgmx.data import DiscreteTable

# Words of all planes that are read before the next words: a mapped table is read from disk once, not once a block.
_PASS_WORDS = 1 << 24

# Work, in cells counted over 512 rows, that is worth a thread of its own: a few milliseconds.
_TASK_WORK = 1 << 23

# Planes, a multiple of the kernel's tile, that one task of a count of all pairs takes.
_TASK_ROWS = 128

# Pairs listed at a time where all pairs are counted by lists.
_LIST_PAIRS = 1 << 18


class PairCounter:
    """Adds rows of tables to the cells of a store, in threads if there is enough work; `n_cells` per variable."""

    def __init__(self, cardinalities: np.ndarray, n_cells: np.ndarray, store, n_jobs: int | None):
        self._cardinalities = cardinalities
        self._n_cells = n_cells
        self._store = store
        self._n_jobs = n_jobs

    def add_pairs(self, table: DiscreteTable, weights, pairs, where, stride):
        """Add rows to the cells of distinct pairs i < j, int64 of shape (k, 2), at the places that the store gave."""
        if not len(pairs):
            return
        pairs, where, stride = (np.ascontiguousarray(part, dtype=np.int64) for part in (pairs, where, stride))
        most = float(_pair_tables.HISTOGRAM_CELLS)
        usual = most if weights is not None else min(float(self._n_cells[pairs].prod(axis=1).mean()), most)
        n_jobs = count_workers(self._n_jobs)
        work = int(len(pairs) * table.n_rows / 512 * usual / _TASK_WORK)
        n_tasks = 1 if n_jobs == 1 else max(1, min(4 * n_jobs, work))
        if n_tasks == 1:
            self._add_list(table, weights, pairs, where, stride)
            return
        cuts = np.linspace(0, len(pairs), n_tasks + 1).astype(int)
        Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")(
            delayed(self._add_list)(table, weights, pairs[a:b], where[a:b], stride[a:b])
            for a, b in pairwise(cuts.tolist())
            if a < b
        )

    def _add_list(self, table, weights, pairs, where, stride):
        """Add rows to the cells of some pairs, in this thread."""
        largest = int(self._cardinalities[pairs].prod(axis=1).max())
        values = self._store.values
        scratch = np.zeros(_pair_tables.scratch_cells(largest), dtype=values.dtype)
        what = (self._cardinalities, self._n_cells, pairs, where, stride, values, scratch)
        if weights is None:
            _pair_tables.count_list(table.codes, table.planes, table.plane_offsets, *what)
        else:
            _pair_tables.sum_list(table.codes, weights, *what)

    def add_all(self, table: DiscreteTable, weights):
        """Add rows, with float64 weights where there are some, to the cells of all pairs of a triangle."""
        n = len(self._cardinalities)
        small = np.zeros(n, dtype=bool)
        if weights is None:
            planes_of = np.diff(table.plane_offsets)
            small = (planes_of > 0) & (planes_of <= _pair_tables.MANY_STATES)
        if small.any():
            self._add_triangle(table, np.flatnonzero(small))
        if small.all():
            return
        block, n_listed = [], 0
        for i in range(n):
            others = np.arange(i + 1, n)
            others = others[~small[others]] if small[i] else others
            block.append(np.column_stack((np.full(len(others), i), others)))
            n_listed += len(others)
            if n_listed >= _LIST_PAIRS or i == n - 1:
                pairs = np.concatenate(block)
                self.add_pairs(table, weights, pairs, *self._store.place(pairs))
                block, n_listed = [], 0

    def _add_triangle(self, table, variables):
        """Add rows to the cells of all pairs among variables of few states."""
        n_cells, store = self._n_cells[variables], self._store
        owner = np.repeat(np.arange(len(variables)), n_cells)
        ends = np.cumsum(n_cells)
        state = np.arange(len(owner)) - (ends - n_cells)[owner]
        of = variables[owner]
        row = store.begins[of] + state * store.widths[of] - store.columns[of + 1]
        arrays = (table.planes, table.plane_offsets[of] + state, ends[owner], row, store.columns[of] + state)
        m, n_words = len(of), table.planes.shape[1]
        alone = count_workers(self._n_jobs) == 1
        rows = max(m, 1) if alone else _TASK_ROWS
        step = max(_PASS_WORDS // max(m, 1) // 512, 1) * 512
        for first_word in range(0, n_words, step):
            words = (first_word, min(first_word + step, n_words))
            tasks = [(first, min(first + rows, m), *words, store.values) for first in range(0, m, rows)]
            if alone:
                for task in tasks:
                    _pair_tables.count_triangle(*arrays, *task)
            else:
                Parallel(n_jobs=self._n_jobs, prefer="threads", require="sharedmem")(
                    delayed(_pair_tables.count_triangle)(*arrays, *task) for task in tasks
                )

"""Storage of the cells of pairs (all pairs in a triangle, or the latest in an arena), and counting of rows into them.

Triangle and arena assign the cells of a pair in one flat array. Both have

``values``
    The array: uint32 counts or float64 sums of weights, initially zero.
``claim(pairs) -> (served, where, stride, missing)``
    Cells for the first `served` pairs: the start of each table, the stride of its rows, and whether it still has to be
    counted. `served` is less than the number of pairs if space runs out, see ``clear``.
``clear()``
    Removes all pairs.
``list_pairs() -> (pairs, where, stride)``
    All claimed pairs.

`PairCounter` counts the rows of a table on this machine in the cells themselves. The workers of a distributed table
count blocks of pairs in cells of their own and send sums, which `DistributedPairs` adds to the cells.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from pgmx._ext import _pair_tables
from pgmx.data import DiscreteTable
from pgmx.parallel.threads import call_on_threads, count_threads
from pgmx.statistics.counts import WORD_PAIR_SECONDS, add_counts, add_weights, narrow_counts

# Words of all planes that are processed together, so that a mapped table is read from disk once, not once per block.
_PASS_WORDS = 1 << 24

# Minimum work of a thread, in cells counted over 512 rows: a few milliseconds.
_TASK_WORK = 1 << 23

# Planes per task when all pairs are counted, a multiple of the kernel's tile.
_TASK_ROWS = 128

# Number of pairs per list when all pairs are counted by lists.
_LIST_PAIRS = 1 << 18

#: Bytes of the index of an arena per pair: two slots of two int64.
_INDEX_BYTES = 32


class Triangle:
    r"""Cells of all pairs; tables of a variable with all later variables are adjacent; k is `n_cells`, per variable.

    .. math:: \text{cell}(i, a, j, b) = \text{begin}_i + a \sum_{v > i} k_v + \sum_{i < v < j} k_v + b
    """

    def __init__(self, n_cells: np.ndarray, dtype):
        self.n_cells = n_cells
        self.columns = np.concatenate(([0], np.cumsum(n_cells)))
        self.widths = self.columns[-1] - self.columns[1:]
        self.begins = np.concatenate(([0], np.cumsum(n_cells * self.widths)))
        self._dtype = dtype
        self.clear()

    @staticmethod
    def size(n_cells: np.ndarray, itemsize: int) -> int:
        """Return the bytes of a triangle over variables with these cells."""
        after = int(n_cells.sum()) - np.cumsum(n_cells)
        return int((n_cells * after).sum()) * itemsize + len(n_cells) * (len(n_cells) - 1) // 2

    def clear(self):
        """Remove all pairs."""
        n = len(self.n_cells)
        self.values = np.zeros(max(int(self.begins[-1]), 1), dtype=self._dtype)
        self.known = np.zeros(n * (n - 1) // 2, dtype=np.uint8)

    def place(self, pairs):
        """Return the starts of tables and the strides of their rows."""
        i, j = pairs[:, 0], pairs[:, 1]
        return self.begins[i] + self.columns[j] - self.columns[i + 1], self.widths[i]

    def claim(self, pairs):
        """Assign cells to pairs, see the module."""
        i, j = pairs[:, 0], pairs[:, 1]
        missing = np.empty(len(pairs), dtype=np.uint8)
        _pair_tables.claim_flags(self.known, i * (2 * len(self.n_cells) - i - 1) // 2 + j - i - 1, missing)
        return len(pairs), *self.place(pairs), missing.view(bool)

    def list_pairs(self):
        """Return all pairs with cells."""
        first, second = np.triu_indices(len(self.n_cells), 1)
        known = self.known.view(bool)
        pairs = np.column_stack((first[known], second[known]))
        return pairs, *self.place(pairs)


class Arena:
    """Cells assigned in the order of requests; when space runs out, all pairs are removed.

    `memory` is in bytes, for cells and index together; there is always room for the largest table.
    """

    def __init__(self, n_cells: np.ndarray, dtype, memory: int):
        self.n_cells = n_cells
        largest = int(np.prod(np.sort(n_cells)[-2:])) if len(n_cells) > 1 else 1
        usual = max(float(n_cells.mean()) ** 2, 1.0) * np.dtype(dtype).itemsize
        n_pairs = len(n_cells) * (len(n_cells) - 1) // 2
        wanted = min(max(int(memory / (usual + _INDEX_BYTES)), 1), max(n_pairs, 1))
        self._slots = 1 << max((2 * wanted - 1).bit_length() - 1, 1)
        self._most = self._slots * 3 // 4
        cells = (memory - 16 * self._slots) // np.dtype(dtype).itemsize
        self._cells = max(cells, largest, 1)
        self._dtype = dtype
        self.clear()

    def clear(self):
        """Remove all pairs."""
        self.values = np.zeros(self._cells, dtype=self._dtype)  # pages are allocated when they are written
        self._keys = np.zeros(self._slots, dtype=np.int64)
        self._places = np.zeros(self._slots, dtype=np.int64)
        self._used = np.zeros(2, dtype=np.int64)

    def claim(self, pairs):
        """Assign cells to pairs, see the module."""
        i, j = pairs[:, 0], pairs[:, 1]
        where = np.empty(len(pairs), dtype=np.int64)
        missing = np.zeros(len(pairs), dtype=np.uint8)
        served = _pair_tables.claim_cells(
            self._keys,
            self._places,
            i * len(self.n_cells) + j,
            self.n_cells[i] * self.n_cells[j],
            self._cells,
            self._most,
            self._used,
            where,
            missing,
        )
        return served, where[:served], self.n_cells[j[:served]], missing[:served].view(bool)

    def list_pairs(self):
        """Return all pairs with cells."""
        taken = np.flatnonzero(self._keys)
        i, j = np.divmod(self._keys[taken] - 1, len(self.n_cells))
        return np.column_stack((i, j)), self._places[taken], self.n_cells[j]


class TriangleBlock(Triangle):
    """The rows of a triangle with the pairs whose first variable is `first` to ``stop - 1``."""

    def __init__(self, n_cells: np.ndarray, dtype, first: int, stop: int):
        self._first, self._stop = first, stop
        super().__init__(n_cells, dtype)

    def clear(self):
        """Set all cells to zero."""
        self.begins = self.begins - self.begins[self._first]
        self.values = np.zeros(int(self.begins[self._stop]), dtype=self._dtype)


class PairCounter:
    """Counter that adds rows of a table to the cells of a store, with threads if there is enough work.

    `n_cells` is per variable. `weights` are float64 weights of the rows, None if each row counts as one.
    """

    def __init__(
        self, table: DiscreteTable, weights: np.ndarray | None, n_cells: np.ndarray, store, n_jobs: int | None
    ):
        self._table, self._weights = table, weights
        self._cardinalities = table.cardinalities
        self._n_cells = n_cells
        self._store = store
        self._n_jobs = n_jobs

    def add_pairs(self, pairs, where, stride):
        """Add the rows to the cells of distinct pairs i < j, int64 of shape (k, 2), at their places in the store."""
        if not len(pairs):
            return
        pairs, where, stride = (np.ascontiguousarray(part, dtype=np.int64) for part in (pairs, where, stride))
        most = float(_pair_tables.HISTOGRAM_CELLS)
        usual = most if self._weights is not None else min(float(self._n_cells[pairs].prod(axis=1).mean()), most)
        n_jobs = count_threads(self._n_jobs)
        work = int(len(pairs) * self._table.n_rows / 512 * usual / _TASK_WORK)
        n_tasks = 1 if n_jobs == 1 else max(1, min(4 * n_jobs, work))
        cuts = np.linspace(0, len(pairs), n_tasks + 1).astype(int)
        calls = (
            partial(self._add_list, pairs[a:b], where[a:b], stride[a:b]) for a, b in pairwise(cuts.tolist()) if a < b
        )
        call_on_threads(calls, n_jobs)

    def _add_list(self, pairs, where, stride):
        """Add the rows to the cells of some pairs, in this thread."""
        largest = int(self._cardinalities[pairs].prod(axis=1).max())
        table, values = self._table, self._store.values
        scratch = np.zeros(_pair_tables.scratch_cells(largest), dtype=values.dtype)
        what = (self._cardinalities, self._n_cells, pairs, where, stride, values, scratch)
        if self._weights is None:
            _pair_tables.count_list(table.codes, table.planes, table.plane_offsets, *what)
        else:
            _pair_tables.sum_list(table.codes, self._weights, *what)

    def add_all(self):
        """Add the rows to the cells of all pairs of a triangle."""
        self.add_block(0, len(self._cardinalities))

    def add_block(self, first: int, stop: int):
        """Add the rows to the cells of a triangle whose first variable is `first` to ``stop - 1``."""
        n = len(self._cardinalities)
        small = np.zeros(n, dtype=bool)
        if self._weights is None:
            planes_of = np.diff(self._table.plane_offsets)
            small = (planes_of > 0) & (planes_of <= _pair_tables.MANY_STATES)
        if small[first:stop].any():
            self._add_triangle(np.flatnonzero(small), first, stop)
        if small[first:].all():
            return
        block, n_listed = [], 0
        for i in range(first, stop):
            others = np.arange(i + 1, n)
            others = others[~small[others]] if small[i] else others
            block.append(np.column_stack((np.full(len(others), i), others)))
            n_listed += len(others)
            if n_listed >= _LIST_PAIRS or i == stop - 1:
                pairs = np.concatenate(block)
                self.add_pairs(pairs, *self._store.place(pairs))
                block, n_listed = [], 0

    def _add_triangle(self, variables, first, stop):
        """Add the rows to the cells of pairs of variables with few states, the first one in a range."""
        n_cells, store, table = self._n_cells[variables], self._store, self._table
        owner = np.repeat(np.arange(len(variables)), n_cells)
        ends = np.cumsum(n_cells)
        state = np.arange(len(owner)) - (ends - n_cells)[owner]
        of = variables[owner]
        row = store.begins[of] + state * store.widths[of] - store.columns[of + 1]
        arrays = (table.planes, table.plane_offsets[of] + state, ends[owner], row, store.columns[of] + state)
        begin, end = np.searchsorted(of, (first, stop)).tolist()
        m, n_words = len(of), table.planes.shape[1]
        alone = count_threads(self._n_jobs) == 1
        rows = max(end - begin, 1) if alone else _TASK_ROWS
        step = max(_PASS_WORDS // max(m, 1) // 512, 1) * 512
        for first_word in range(0, n_words, step):
            words = (first_word, min(first_word + step, n_words))
            tasks = [(at, min(at + rows, end), *words, store.values) for at in range(begin, end, rows)]
            seconds = WORD_PAIR_SECONDS * m * m / 2 * (words[1] - words[0])
            calls = (partial(_pair_tables.count_triangle, *arrays, *task) for task in tasks)
            call_on_threads(calls, self._n_jobs, seconds)


#: Number of cells per message.
_BLOCK_CELLS = 1 << 20


class DistributedPairs:
    """`PairCounter` for a distributed table, whose workers have the rows and their weights; a message per block."""

    def __init__(self, table: Any, n_cells: np.ndarray, store):
        self._table = table
        self._n_cells = n_cells
        self._store = store

    def add_pairs(self, pairs, where, stride):
        """Add the rows to the cells of distinct pairs i < j, int64 of shape (k, 2), at their places in the store."""
        if not len(pairs):
            return
        ends = np.cumsum(self._n_cells[pairs].prod(axis=1))
        blocks = np.flatnonzero(np.diff((ends - 1) // _BLOCK_CELLS)) + 1
        for block in np.split(np.arange(len(pairs)), blocks):
            cells = _place_cells(pairs[block], where[block], stride[block], self._n_cells)
            self._store.values[cells] += self._sum(count_pairs, pairs[block])

    def add_all(self):
        """Add the rows to the cells of all pairs of a triangle, for some first variables at a time."""
        begins, first = self._store.begins, 0
        while first < len(self._n_cells):
            stop = max(int(np.searchsorted(begins, begins[first] + _BLOCK_CELLS, side="right")) - 1, first + 1)
            self._store.values[begins[first] : begins[stop]] += self._sum(count_block, first, stop)
            first = stop

    def _sum(self, function, *arguments) -> np.ndarray:
        is_weighted = self._table.row_weights is not None
        add = add_weights if is_weighted else add_counts
        return self._table.reduce(function, self._n_cells, *arguments, add=add)


def open_counter(
    table: DiscreteTable, weights: np.ndarray | None, n_cells: np.ndarray, store, n_jobs: int | None
) -> PairCounter | DistributedPairs:
    """Return the counter of the rows of a table, which adds them to the cells of a store.

    Rows on this machine are counted in the store, without a copy, by `n_jobs` threads. Blocks of pairs would count them
    as well, but with a second array; for a distributed table they limit the length of a message.
    """
    table, weights = table.keep_weights(weights)
    if table.is_remote:  # a message has the sums of a block of pairs, whose length must be limited
        return DistributedPairs(table, n_cells, store)
    return PairCounter(table, weights, n_cells, store, n_jobs)


class _Cells:
    """Cells of a list of pairs; tables are adjacent."""

    def __init__(self, n_cells: np.ndarray, pairs: np.ndarray, dtype):
        self.begins = np.concatenate(([0], np.cumsum(n_cells[pairs].prod(axis=1))))
        self.values = np.zeros(int(self.begins[-1]), dtype=dtype)


def count_pairs(partition: Any, n_cells: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Count a list of pairs in a partition; tables are adjacent."""
    store = _Cells(n_cells, pairs, _type_of(partition))
    PairCounter(partition.table, partition.weights, n_cells, store, 1).add_pairs(
        pairs, store.begins[:-1], n_cells[pairs[:, 1]]
    )
    return _narrow(store.values)


def count_block(partition: Any, n_cells: np.ndarray, first: int, stop: int) -> np.ndarray:
    """Count the pairs whose first variable is `first` to ``stop - 1`` in a partition, in the order of a triangle."""
    store = TriangleBlock(n_cells, _type_of(partition), first, stop)
    PairCounter(partition.table, partition.weights, n_cells, store, 1).add_block(first, stop)
    return _narrow(store.values)


def _type_of(partition: Any) -> np.dtype:
    return np.dtype(np.uint32 if partition.weights is None else np.float64)


def _narrow(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind == "f" else narrow_counts(values)


def _place_cells(pairs: np.ndarray, where: np.ndarray, stride: np.ndarray, n_cells: np.ndarray) -> np.ndarray:
    """Return the places in a store of the cells of adjacent tables."""
    sizes = n_cells[pairs]
    n_of = sizes.prod(axis=1)
    e = np.repeat(np.arange(len(pairs)), n_of)
    row, column = np.divmod(np.arange(len(e)) - np.repeat(np.cumsum(n_of) - n_of, n_of), sizes[e, 1])
    return where[e] + row * stride[e] + column

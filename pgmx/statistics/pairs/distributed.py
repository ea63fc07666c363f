"""Pairs of a distributed table: workers count blocks of pairs and send sums to the driver."""

from typing import Any

import numpy as np

from pgmx.data import DistributedTable
from pgmx.statistics.counts import add_counts, narrow_counts
from pgmx.statistics.pairs.cells import PairCounter, TriangleBlock

#: Number of cells per message.
_BLOCK_CELLS = 1 << 20


class DistributedPairs:
    """`PairCounter` for a distributed table, whose workers hold the rows and their weights."""

    def __init__(self, table: DistributedTable, n_cells: np.ndarray, store):
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


class _Cells:
    """Cells of a list of pairs; tables are adjacent."""

    def __init__(self, n_cells: np.ndarray, pairs: np.ndarray, dtype):
        self.begins = np.concatenate(([0], np.cumsum(n_cells[pairs].prod(axis=1))))
        self.values = np.zeros(int(self.begins[-1]), dtype=dtype)


def count_pairs(part: Any, n_cells: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Count a list of pairs in a partition; tables are adjacent."""
    store = _Cells(n_cells, pairs, _type_of(part))
    PairCounter(part.table, part.weights, n_cells, store, 1).add_pairs(pairs, store.begins[:-1], n_cells[pairs[:, 1]])
    return _narrow(store.values)


def count_block(part: Any, n_cells: np.ndarray, first: int, stop: int) -> np.ndarray:
    """Count the pairs whose first variable is `first` to ``stop - 1`` in a partition, in the order of a triangle."""
    store = TriangleBlock(n_cells, _type_of(part), first, stop)
    PairCounter(part.table, part.weights, n_cells, store, 1).add_block(first, stop)
    return _narrow(store.values)


def add_weights(parts: list[np.ndarray]) -> np.ndarray:
    """Add the sums of weights of some partitions."""
    return np.sum(parts, axis=0)


def _type_of(part: Any) -> np.dtype:
    return np.dtype(np.uint32 if part.weights is None else np.float64)


def _narrow(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind == "f" else narrow_counts(values)


def _place_cells(pairs: np.ndarray, where: np.ndarray, stride: np.ndarray, n_cells: np.ndarray) -> np.ndarray:
    """Return the places in a store of the cells of adjacent tables."""
    sizes = n_cells[pairs]
    n_of = sizes.prod(axis=1)
    e = np.repeat(np.arange(len(pairs)), n_of)
    row, column = np.divmod(np.arange(len(e)) - np.repeat(np.cumsum(n_of) - n_of, n_of), sizes[e, 1])
    return where[e] + row * stride[e] + column

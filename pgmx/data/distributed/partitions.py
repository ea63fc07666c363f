"""Partitions that workers keep: some rows of a distributed table, coded or numeric, with the weights of the rows.

The functions at the end make partitions of other partitions. All results depend on the arguments alone, so that dask
repeats the calls if a worker is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pgmx.data.files.readers import CHUNK_ROWS, limit_chunk_rows
from pgmx.data.frame import Frame
from pgmx.data.table import DiscreteTable, Partition


class KeptPartition(Partition):
    """Some rows of a distributed discrete table, kept by a worker, which has one for each of its threads.

    `n_threads` is more than one if the worker has fewer partitions than threads.
    """

    def __reduce__(self):
        return KeptPartition, (self.table, self.weights)  # the cache is computed again where it is needed

    def __sizeof__(self) -> int:
        planes = 0 if self.table._planes is None else self.table.planes.nbytes
        weights = 0 if self.weights is None else self.weights.nbytes
        return object.__sizeof__(self) + self.table.codes.nbytes + planes + weights

    def chunks(self) -> Iterator[tuple[int, DiscreteTable]]:
        """Yield the rows in chunks, each with the number of its first row."""
        first = 0
        for chunk in cut_table(self.table):
            yield first, chunk
            first += chunk.n_rows

    def with_weights(self, weights: np.ndarray | None) -> KeptPartition:
        """Return a partition with other weights of its rows, or without weights; it shares the table."""
        return KeptPartition(self.table, None if weights is None else np.ascontiguousarray(weights, dtype=np.float64))

    def repeat_rows(self, counts: np.ndarray) -> KeptPartition:
        """Return a partition in which row i occurs ``counts[i]`` times; it may have no rows."""
        table = self.table
        if counts.any():
            return KeptPartition(table.repeat_rows(counts))
        codes = np.empty((table.n_variables, 0), dtype=table.codes.dtype)
        return KeptPartition(DiscreteTable._from_parts(table.columns, table.states, codes, table.missing_codes))


class NumericPartition:
    """Some rows of a numeric table: blocks of float64 rows, C-contiguous, with the columns `names`.

    `weights` are float64 weights of the rows, None if each row counts as one.
    """

    def __init__(self, names: tuple, blocks: list[np.ndarray], weights: np.ndarray | None = None):
        self.names = names
        self.blocks = blocks
        self.weights = weights

    def __reduce__(self):
        return NumericPartition, (self.names, self.blocks, self.weights)

    def __sizeof__(self) -> int:
        weights = 0 if self.weights is None else self.weights.nbytes
        return object.__sizeof__(self) + sum(block.nbytes for block in self.blocks) + weights

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(map(len, self.blocks))

    def chunks(self) -> Iterator[tuple[int, Frame]]:
        """Yield the rows in chunks, each with the number of its first row."""
        first = 0
        for block in self.blocks:
            step = limit_chunk_rows(CHUNK_ROWS, len(self.names))
            for begin in range(0, len(block), step):
                rows = block[begin : begin + step]
                yield first + begin, Frame(self.names, list(rows.T), len(rows))
            first += len(block)

    def with_weights(self, weights: np.ndarray | None) -> NumericPartition:
        """Return a partition with other weights of its rows, or without weights; it shares the blocks."""
        kept = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        return NumericPartition(self.names, self.blocks, kept)

    def repeat_rows(self, counts: np.ndarray) -> NumericPartition:
        """Return a partition in which row i occurs ``counts[i]`` times; it may have no rows."""
        ends = np.cumsum([len(block) for block in self.blocks], dtype=np.int64)
        of_blocks = zip(self.blocks, np.split(counts, ends), strict=False)  # after the last block nothing is left
        blocks = [np.repeat(block, times, axis=0) for block, times in of_blocks]
        return NumericPartition(self.names, [block for block in blocks if len(block)])


def cut_table(table: DiscreteTable) -> Iterator[DiscreteTable]:
    """Yield the rows of a table in chunks."""
    step = limit_chunk_rows(CHUNK_ROWS, table.n_variables)
    for first in range(0, table.n_rows, step):
        yield slice_table(table, first, min(first + step, table.n_rows))


def slice_table(table: DiscreteTable, first: int, stop: int) -> DiscreteTable:
    """Return consecutive rows of a table in memory."""
    codes = np.ascontiguousarray(table.codes[:, first:stop])
    return DiscreteTable._from_parts(table.columns, table.states, codes, table.missing_codes)


# ---- functions that workers call ----


def weigh_partition(partition: Any, weights: np.ndarray | None) -> Any:
    """Return a partition with other weights of its rows, or without weights."""
    return partition.with_weights(weights)


def repeat_partition(partition: Any, counts: np.ndarray) -> Any:
    """Return a partition in which row i occurs ``counts[i]`` times."""
    return partition.repeat_rows(counts)


def call_with_weights(partition: Any, weights: np.ndarray, function: Callable, *arguments: Any) -> Any:
    """Call a function with a partition whose rows have these weights for this call only."""
    return function(partition.with_weights(weights), *arguments)


def count_rows(partition: Any) -> int:
    """Return the number of rows of a partition."""
    return partition.n_rows


def take_codes(partition: KeptPartition, at: int) -> np.ndarray:
    """Return the codes of a column."""
    return partition.table.codes[at]


def drop_column(partition: KeptPartition, at: int) -> KeptPartition:
    """Return a partition without a column."""
    return KeptPartition(partition.table._split_column(at)[1], partition.weights)


def pack_planes(partition: KeptPartition) -> int:
    """Make the bit planes of a partition, and return the bytes of its codes and planes."""
    return partition.table.codes.nbytes + partition.table.planes.nbytes


def digest_rows(partition: KeptPartition) -> np.uint64:
    """Return the sum of a digest of each row, which does not depend on the order of the rows."""
    digests = np.zeros(partition.n_rows, dtype=np.uint64)
    for codes in partition.table.codes:
        digests = (digests ^ codes) * np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, as in SplitMix64
        digests ^= digests >> np.uint64(29)
    return digests.sum(dtype=np.uint64)


def add_digests(digests: list[np.uint64]) -> np.uint64:
    """Return the sum of digests, modulo 2**64."""
    return np.array(digests).sum(dtype=np.uint64)

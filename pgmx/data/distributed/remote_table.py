"""The common methods of distributed tables: requests to the workers, weights of their rows, and resamples.

Learners need sums over rows, so a request goes to the workers and an array of sums is returned::

    driver                                      worker (each has some partitions)
    search, score           request             partition: codes and bit planes
      |  asks for counts  ---------------->       |  counts its rows
      |                                           v
      |                                         sums of partitions, added in a tree among the workers
      v                     sums                  |
    terms of the score  <------------------------ +

`reduce` makes both arrows in one call. The caller defines the counts and how two sums are added, and the same call with
a table on one machine calls the function once, with all rows. Every worker draws resamples from its own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_weights
from pgmx.data.distributed.partitions import call_with_weights, count_rows, weigh_partition
from pgmx.data.distributed.remote_partitions import RemotePartitions
from pgmx.data.draws import (
    BLOCK_ROWS,
    DrawSpan,
    count_block_draws,
    count_draws,
    count_draws_in_blocks,
    count_many_draws,
    count_weighted_draws,
    list_spans,
)
from pgmx.data.weights import narrow_weights


class BlockDraws(NamedTuple):
    """A partition's share of a resample of many draws: counts of its rows before and after its whole blocks.

    `of_blocks` are the draws per block, and `first` is the number of the first block.
    """

    head: np.ndarray
    first: int
    of_blocks: np.ndarray
    tail: np.ndarray


class RemoteTable:
    """Common methods of distributed tables: requests to the workers, weights of rows, and rows drawn from them."""

    __slots__ = ()

    #: The rows are on the workers of a cluster: a question about them costs a message.
    is_remote = True

    _partitions: RemotePartitions
    _weights: np.ndarray | None

    def _with_partitions(self, partitions: RemotePartitions, weights: np.ndarray | None = None) -> Self:
        """Return a table of other partitions with the same variables."""
        raise NotImplementedError

    # ---- the table ----

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return self._partitions.n_rows

    @property
    def n_parts(self) -> int:
        """Number of partitions, which are summed one by one."""
        return len(self._partitions.row_counts)

    def release(self) -> None:
        """Free the memory of the workers; the table no longer has rows."""
        self._partitions.release()

    def _describe(self, size: str, n_bytes: Mapping[str, int]) -> str:
        """Return the text of the table, with the memory of each worker."""
        text = f"{size}, {self.n_parts} partitions"
        if self._partitions.is_released:
            return f"{type(self).__name__}({text}, released)"
        by_worker = ", ".join(f"{address}: {n / 2**20:.1f} MiB" for address, n in n_bytes.items())
        return f"{type(self).__name__}({text}, {by_worker})"

    # ---- requests to the workers ----

    def reduce(
        self, function: Callable, *arguments: Any, add: Callable[[list], Any], weights: np.ndarray | None = None
    ) -> Any:
        """Return the sum of a function over the partitions.

        Parameters
        ----------
        function : callable
            Called with a partition and the arguments. The partition of a discrete table has a `table`, a `lock` and a
            dictionary `cache`, a numeric one `names` and `blocks`, float64 arrays of shape (m, n_columns); both have
            `weights`. The workers import the function.
        *arguments
            Sent to every partition.
        add : callable
            From a list of two results to their sum, the result of the earlier partitions first.
        weights : ndarray of float64, shape (n_rows,), optional
            Weights of the rows for this request, in the order of the partitions. By default the partitions have the
            weights that their workers keep, see :meth:`weigh_rows`.

        Returns
        -------
        object
            The result of `add`, or of the function if there is a single partition.

        Raises
        ------
        ValueError
            If the table was released.
        Exception
            An error of the function, or of reading a partition again from its source.

        Notes
        -----
        Each worker that has rows gets one message. It computes its partitions on its threads and adds neighbouring
        results. Workers then add the remaining sums, four at a time, until the driver can fetch the last of them. Which
        two sums are added depends only on the partitions, and so the sum is reproducible to the bit.
        """
        if weights is None or self._has_weights(weights):
            return self._partitions.reduce(function, *arguments, add=add)
        slices = self._split(narrow_weights(weights))
        return self._partitions.reduce(call_with_weights, function, *arguments, add=add, slices=slices)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return the results of a function for each row, which the workers compute and keep until they are requested.

        Parameters
        ----------
        function : callable
            Called with some rows (a DiscreteTable, or a Frame of float64 columns), the number of the first of them in
            the table, and the arguments; it returns a pandas frame, or an array if `meta` is a Series, with an entry
            for each row. The workers import it.
        *arguments
            Sent once, to one worker, from which the other workers get them.
        meta : pandas.DataFrame or Series
            The result of the function for no rows.

        Returns
        -------
        dask.dataframe.DataFrame or Series
            A partition for each partition of the table, rows in the order of the table, labelled by position.
            Each call of ``compute()``, ``persist()`` or ``to_parquet()`` computes the answers again.

        Raises
        ------
        ValueError
            If the table was released. Errors of the function are raised when the answers are computed.

        Notes
        -----
        The workers need the partitions for this: do not release the table before. The function gets chunks of at most
        65,536 rows and 8 million values, so that a worker needs memory for one chunk and the answers of a partition.
        """
        return self._partitions.map_rows(function, *arguments, meta=meta)

    def map_partitions(self, function: Callable, setup: Any) -> RemotePartitions:
        """Make an object of each partition, which the workers keep as long as the result is referred to.

        Parameters
        ----------
        function : callable
            Called with a partition and the setup; the workers import it. Dask calls it again if its worker is lost.
        setup : object
            Sent to every partition.

        Returns
        -------
        RemotePartitions
            Its ``reduce`` calls functions with these objects, as :meth:`reduce` does with the partitions.

        Raises
        ------
        ValueError
            If the table was released.
        """
        row_counts = self._partitions.row_counts
        return self._partitions.map_partitions(function, [setup] * len(row_counts), row_counts=row_counts)

    # ---- weights of the rows, and resamples ----

    @property
    def row_weights(self) -> np.ndarray | None:
        """The weights that the workers keep for their rows, float64 of shape (n_rows,), read-only; None if not set."""
        return self._weights

    def weigh_rows(self, weights: ArrayLike | None) -> Self:
        """Return the table with weights of its rows, which the workers keep.

        Parameters
        ----------
        weights : array_like of float, shape (n_rows,), or None
            In the order of the partitions, finite, none negative, not all zero; None removes the weights. They replace
            the weights of the table.

        Returns
        -------
        DistributedTable or DistributedNumericTable
            A table with the same rows; the table itself if it has these weights. A function given to :meth:`reduce`
            finds the weights as attribute `weights` of the partition, and :meth:`draw_rows` draws in proportion to
            them; nothing else reads them.

        Raises
        ------
        ValueError
            If there is not one weight per row, one is negative, infinite or NaN, or all are zero.

        Notes
        -----
        One message to each partition: 8 bytes per row, fewer if the weights are whole. A worker keeps 8 bytes per row.
        """
        if weights is None:
            return self if self._weights is None else self._weigh([None] * self.n_parts, None)
        if self._has_weights(weights):
            return self
        checked = check_weights(weights, "weights", self.n_rows)
        # `row_weights` gives this array away
        checked.setflags(write=False)
        return self._weigh([narrow_weights(of_partition) for of_partition in self._split(checked)], checked)

    def keep_weights(self, weights: np.ndarray | None) -> tuple[Self, np.ndarray | None]:
        """Return a table whose workers keep the weights of their rows, and these weights.

        Parameters
        ----------
        weights : ndarray of float64, shape (n_rows,), or None
            As for :meth:`weigh_rows`.

        Returns
        -------
        table : DistributedTable or DistributedNumericTable
            The table of :meth:`weigh_rows`.
        weights : ndarray or None
            Its `row_weights`.
        """
        table = self.weigh_rows(weights)
        return table, table.row_weights

    def draw_rows(self, seed: int, resample: int) -> Self:
        """Return a resample: rows drawn with replacement, by every worker from its own rows.

        Parameters
        ----------
        seed, resample : int
            Not negative, below 2**64: the key of the random numbers, which are functions of it and of their index.

        Returns
        -------
        DistributedTable or DistributedNumericTable
            As many rows as the table has, or as the weights of :meth:`weigh_rows` add up to, in the order of the table.
            They are the same as in a resample of the whole table, for any partitions.

        Notes
        -----
        Two messages to each partition, of some hundred bytes. For each of its partitions a worker makes all draws and
        keeps the draws of its rows: about 10 ns per draw, and memory in proportion to its rows.
        """
        bounds = np.cumsum([0, *self._partitions.row_counts])
        if self._weights is not None:
            bounds = np.concatenate(([0.0], np.cumsum(self._weights)))[bounds]
        return self._with_partitions(
            self._partitions.map_partitions(draw_rows, list_spans(bounds), seed, resample, row_counts=count_rows)
        )

    def draw_weights(self, seed: int, resample: int) -> Self:
        """Return a resample of many draws: the same rows, with the number of times each was drawn as weights.

        Parameters
        ----------
        seed, resample : int
            As in :meth:`draw_rows`. The table has weights; as many rows are drawn as they add up to.

        Returns
        -------
        DistributedTable or DistributedNumericTable
            Its `row_weights` are the counts, the same as in a resample of the whole table, for any partitions.

        Notes
        -----
        A message to each partition: a number for each block of 1,024 rows, and for up to 2,046 rows outside whole
        blocks. A worker draws for its own rows; the driver draws for the row weights of the whole table.
        """
        if self._weights is None:
            raise ValueError("draw_weights draws in proportion to weights, and the table has none: weigh_rows first")
        row_counts = self._partitions.row_counts
        slices = split_block_draws(seed, resample, self._weights, row_counts)
        counts = count_many_draws(seed, resample, self._weights).astype(np.float64)
        counts.setflags(write=False)
        partitions = self._partitions.map_partitions(draw_weights, slices, seed, resample, row_counts=row_counts)
        return self._with_partitions(partitions, counts)

    def _has_weights(self, weights: ArrayLike) -> bool:
        """Return whether the workers keep these weights."""
        # the same array needs no comparison of all rows
        return weights is self._weights or (self._weights is not None and np.array_equal(weights, self._weights))

    def _split(self, values: np.ndarray) -> list[np.ndarray]:
        """Split values of all rows by partitions."""
        return np.split(values, np.cumsum(self._partitions.row_counts)[:-1])

    def _weigh(self, slices: Sequence[np.ndarray | None], weights: np.ndarray | None) -> Self:
        row_counts = self._partitions.row_counts
        partitions = self._partitions.map_partitions(weigh_partition, slices, row_counts=row_counts)
        return self._with_partitions(partitions, weights)


def split_block_draws(seed: int, resample: int, weights: np.ndarray, row_counts: Sequence[int]) -> list[BlockDraws]:
    """Return each partition's share of a resample of many draws."""
    of_blocks = count_block_draws(seed, resample, weights)

    def count(begin: int, end: int) -> np.ndarray:
        """Return the counts of some rows, which lie in few blocks."""
        first, stop = begin // BLOCK_ROWS, -(-end // BLOCK_ROWS)
        rows = slice(first * BLOCK_ROWS, stop * BLOCK_ROWS)
        counts = count_draws_in_blocks(seed, resample, weights[rows], of_blocks[first:stop], first)
        return narrow_weights(counts[begin - rows.start : end - rows.start])

    slices = []
    for begin, end in pairwise(np.cumsum([0, *row_counts]).tolist()):
        first, stop = -(-begin // BLOCK_ROWS), end // BLOCK_ROWS
        if end == len(weights):
            stop = len(of_blocks)  # the last block is whole, if shorter
        if first >= stop:
            slices.append(BlockDraws(count(begin, end), first, of_blocks[:0], np.zeros(0, dtype=np.uint8)))
            continue
        tail = count(stop * BLOCK_ROWS, end) if stop * BLOCK_ROWS < end else np.zeros(0, dtype=np.uint8)
        slices.append(BlockDraws(count(begin, first * BLOCK_ROWS), first, of_blocks[first:stop], tail))
    return slices


# ---- functions that workers call ----


def draw_rows(partition: Any, span: DrawSpan, seed: int, resample: int) -> Any:
    """Return a partition in which every row occurs as often as a resample of the whole table draws it."""
    if partition.weights is None:
        counts = count_draws(seed, resample, int(span.total), int(span.begin), int(span.end))
        return partition.repeat_rows(counts)
    # added one after the other, in the same order as the sums of the whole table: both are equal to the bit
    ends = np.cumsum(np.concatenate(([span.begin], partition.weights)))[1:]
    return partition.repeat_rows(count_weighted_draws(seed, resample, ends, span.begin, span.total))


def draw_weights(partition: Any, draws: BlockDraws, seed: int, resample: int) -> Any:
    """Return a partition with the weights of a resample of many draws."""
    inner = partition.weights[len(draws.head) : len(partition.weights) - len(draws.tail)]
    counts = count_draws_in_blocks(seed, resample, inner, draws.of_blocks, draws.first)
    return partition.with_weights(np.concatenate((draws.head, counts, draws.tail)))

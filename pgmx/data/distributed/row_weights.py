"""Weights of the rows that workers keep, and resamples of these rows, which every worker draws from its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_weights
from pgmx.data.distributed.remote_parts import RemoteParts
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

    `of_blocks` are the numbers of draws of these blocks, and `first` is the number of the first block.
    """

    head: np.ndarray
    first: int
    of_blocks: np.ndarray
    tail: np.ndarray


class RowWeights:
    """Common methods of distributed tables: weights of rows, and rows drawn in proportion to them."""

    __slots__ = ()

    _parts: RemoteParts
    _weights: np.ndarray | None
    #: Functions that workers call: with a partition and weights or None, and with a partition and counts of its rows.
    _weigh_part: ClassVar[Callable]
    _repeat_part: ClassVar[Callable]
    _count_rows: ClassVar[Callable]

    def _with_parts(self, parts: RemoteParts, weights: np.ndarray | None = None) -> Self:
        """Return a table of other partitions with the same variables."""
        raise NotImplementedError

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
        rows_of = self._parts.rows_of
        if weights is None:
            if self._weights is None:
                return self
            return self._weigh([None] * len(rows_of), None)
        if weights is self._weights or (self._weights is not None and np.array_equal(weights, self._weights)):
            return self
        checked = check_weights(weights, "weights", self._parts.n_rows)
        checked.setflags(write=False)
        return self._weigh([narrow_weights(part) for part in np.split(checked, np.cumsum(rows_of)[:-1])], checked)

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
        bounds = np.cumsum([0, *self._parts.rows_of])
        if self._weights is not None:
            bounds = np.concatenate(([0.0], np.cumsum(self._weights)))[bounds]
        draws = (self._repeat_part, seed, resample)
        return self._with_parts(
            self._parts.replace_parts(draw_part, list_spans(bounds), *draws, rows_of=self._count_rows)
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
        slices = split_block_draws(seed, resample, self._weights, self._parts.rows_of)
        counts = count_many_draws(seed, resample, self._weights).astype(np.float64)
        counts.setflags(write=False)
        draws = (self._weigh_part, seed, resample)
        parts = self._parts.replace_parts(draw_part_weights, slices, *draws, rows_of=self._parts.rows_of)
        return self._with_parts(parts, counts)

    def _weigh(self, slices: Sequence[np.ndarray | None], weights: np.ndarray | None) -> Self:
        parts = self._parts.replace_parts(self._weigh_part, slices, rows_of=self._parts.rows_of)
        return self._with_parts(parts, weights)


def split_block_draws(seed: int, resample: int, weights: np.ndarray, rows_of: Sequence[int]) -> list[BlockDraws]:
    """Return each partition's share of a resample of many draws."""
    of_blocks = count_block_draws(seed, resample, weights)

    def count(begin: int, end: int) -> np.ndarray:
        """Return the counts of some rows, which lie in few blocks."""
        first, stop = begin // BLOCK_ROWS, -(-end // BLOCK_ROWS)
        rows = slice(first * BLOCK_ROWS, stop * BLOCK_ROWS)
        counts = count_draws_in_blocks(seed, resample, weights[rows], of_blocks[first:stop], first)
        return narrow_weights(counts[begin - rows.start : end - rows.start])

    slices = []
    for begin, end in pairwise(np.cumsum([0, *rows_of]).tolist()):
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


def draw_part(part: Any, span: DrawSpan, repeat_part: Callable, seed: int, resample: int) -> Any:
    """Return a partition in which every row occurs as often as a resample of the whole table draws it."""
    if part.weights is None:
        return repeat_part(part, count_draws(seed, resample, int(span.total), int(span.begin), int(span.end)))
    # added one after the other, in the same order as the sums of the whole table: both are equal to the bit
    ends = np.cumsum(np.concatenate(([span.begin], part.weights)))[1:]
    return repeat_part(part, count_weighted_draws(seed, resample, ends, span.begin, span.total))


def draw_part_weights(part: Any, draws: BlockDraws, weigh_part: Callable, seed: int, resample: int) -> Any:
    """Return a partition with the weights of a resample of many draws."""
    inner = part.weights[len(draws.head) : len(part.weights) - len(draws.tail)]
    counts = count_draws_in_blocks(seed, resample, inner, draws.of_blocks, draws.first)
    return weigh_part(part, np.concatenate((draws.head, counts, draws.tail)))

"""The functions that workers call for a numeric partition: they read the rows as float64, and keep them.

`read_numbers` reads a partition, and `survey_numbers` gives the driver its columns and the faults of their values;
`order_columns` puts the columns into the order of the first partition. All results depend on the arguments alone, so
that dask repeats the calls if a worker is lost.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgmx.data.columns import column_kind
from pgmx.data.numeric import ValueFaults, open_number_chunks
from pgmx.data.plane_file import PLANE_SUFFIX, open_table
from pgmx.data.readers import CHUNK_ROWS, limit_chunk_rows, open_chunk
from pgmx.data.table import DiscreteTable, Frame


class NumericSurvey(NamedTuple):
    """The driver's description of a partition: its columns with their faults, its rows, and the number of kept rows.

    `integers` marks the columns that hold integers in all of its rows.
    """

    faults: ValueFaults
    integers: np.ndarray
    rows_seen: int
    n_rows: int


class NumericBlocks(NamedTuple):
    """Some rows as blocks of float64, C-contiguous, all with the same columns."""

    blocks: list[np.ndarray]
    survey: NumericSurvey


class NumericPart:
    """Some rows of a distributed numeric table, kept by a worker: blocks of float64 rows.

    `weights` are float64 weights of the rows, None if each counts as one.
    """

    def __init__(self, names: tuple, blocks: list[np.ndarray], weights: np.ndarray | None = None):
        self.names = names
        self.blocks = blocks
        self.weights = weights

    def __reduce__(self):
        return NumericPart, (self.names, self.blocks, self.weights)

    def __sizeof__(self) -> int:
        weights = 0 if self.weights is None else self.weights.nbytes
        return object.__sizeof__(self) + sum(block.nbytes for block in self.blocks) + weights

    def pieces(self) -> Iterator[tuple[int, Frame]]:
        """Yield the rows in chunks, each with the number of its first row."""
        first = 0
        for block in self.blocks:
            step = limit_chunk_rows(CHUNK_ROWS, len(self.names))
            for begin in range(0, len(block), step):
                rows = block[begin : begin + step]
                yield first + begin, Frame(self.names, list(rows.T), len(rows))
            first += len(block)


def read_numbers(rows: Any, drops: bool, na_values: Any = None) -> NumericBlocks:
    """Read the rows of a partition, a path, a frame or an array; `drops` leaves out rows with missing values."""
    if isinstance(rows, Path) and rows.suffix.lower() == PLANE_SUFFIX:
        rows = open_table(rows)
    if isinstance(rows, DiscreteTable):
        faults = ValueFaults(rows.columns)
        faults.kinds = dict.fromkeys(rows.columns, "coded states")
        return NumericBlocks([], NumericSurvey(faults, np.zeros(rows.n_variables, dtype=bool), rows.n_rows, 0))
    frames = open_number_chunks(rows, 0, na_values) if isinstance(rows, Path) else iter([open_chunk(rows)])
    read, blocks, rows_seen = None, [], 0
    integers = np.ones(1, dtype=bool)
    for frame in frames:
        read = read or ValueFaults(frame.names)
        block = read.read_rows(frame)
        rows_seen += frame.n_rows
        # a chunk without rows does not determine the types of its columns
        integers = integers & [not frame.n_rows or column_kind(values) == "integer" for values in frame.columns]
        if drops:
            known = ~np.isnan(block).any(axis=1)
            block = block if known.all() else block[known]
        if len(block):
            blocks.append(block)
    assert read is not None  # a file gives at least one chunk
    return NumericBlocks(blocks, NumericSurvey(read, integers, rows_seen, sum(map(len, blocks))))


def survey_numbers(numbers: NumericBlocks) -> NumericSurvey:
    """Return the driver's description of a partition."""
    return numbers.survey


def order_columns(part: NumericBlocks, positions: list[int], names: tuple) -> NumericPart:
    """Return a partition with the columns `names`; ``positions[v]`` is the present position of column v."""
    if positions == list(range(len(positions))):
        return NumericPart(names, part.blocks)
    return NumericPart(names, [np.ascontiguousarray(block[:, positions]) for block in part.blocks])


def weigh_numbers(part: NumericPart, weights: np.ndarray | None) -> NumericPart:
    """Return a partition with other weights of its rows, or without weights; it shares the blocks."""
    kept = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    return NumericPart(part.names, part.blocks, kept)


def repeat_numbers(part: NumericPart, counts: np.ndarray) -> NumericPart:
    """Return a partition in which row i occurs ``counts[i]`` times; it may have no rows."""
    ends = np.cumsum([len(block) for block in part.blocks], dtype=np.int64)
    of_blocks = zip(part.blocks, np.split(counts, ends), strict=False)  # after the last block nothing is left
    blocks = [np.repeat(block, times, axis=0) for block, times in of_blocks]
    return NumericPart(part.names, [block for block in blocks if len(block)])


def count_rows(part: NumericPart) -> int:
    """Return the number of rows of a partition."""
    return sum(map(len, part.blocks))

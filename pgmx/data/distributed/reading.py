"""The functions with which workers read the rows of a partition, as codes of discrete variables or as float64.

A discrete partition is coded in two steps. `code_partition` reads its rows and codes them with codes of its own, and
`survey_partition` returns to the driver the states of these codes. When the driver knows the states of all
partitions, `finish_partition` converts them to the codes of the whole table.

A numeric partition is read by `read_numbers` as float64. `survey_numbers` gives the driver its columns and the faults
of their values; `order_columns` puts the columns into the order of the first partition.

All results depend on the arguments alone, so that dask repeats the calls if a worker is lost: the codes that
`finish_partition` takes from a coder are made again with the partition.
"""

import mmap
import platform
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx import __version__
from pgmx._ext import _rows
from pgmx.data.chunk_coder import FinalStates, GrowingColumn, StateCoder, label_codes
from pgmx.data.columns import MAX_BYTE_STATES, column_kind
from pgmx.data.declared_states import check_discrete_columns
from pgmx.data.distributed.partitions import KeptPartition, NumericPartition, cut_table, slice_table
from pgmx.data.errors import ContinuousColumnsError
from pgmx.data.files.plane_file import PLANE_SUFFIX, open_table
from pgmx.data.files.readers import CHUNK_ROWS, explain_unreadable, open_chunks, read_csv_chunks
from pgmx.data.frame import open_chunk
from pgmx.data.numeric import ValueFaults, open_number_chunks
from pgmx.data.table import DiscreteTable

#: Rows that a partition may have: a worker indexes and counts them in 32 bits.
MOST_PARTITION_ROWS = 2**31 - 1

#: First rows that are read to see whether a partition has floating-point columns.
_FIRST_ROWS = 4096


class PartitionCoder(StateCoder):
    """Coder of the rows of one partition, whose codes stay in memory until they are taken."""

    def __init__(self, missing: str, are_texts: bool = False, **options: Any):
        super().__init__(None, missing, are_texts, **options)
        self.chunks: list[list[np.ndarray]] = []
        self.are_taken = False
        self.continuous: list = []  # names of floating-point columns; if there are some, nothing is coded

    def _keep_codes(self, n_rows, rows):
        self.chunks.append(_copy_to_pages(list(rows)))

    def take_chunks(self) -> Iterator[list[np.ndarray]]:
        """Yield the chunks; the memory of each is free when the next one is requested, to avoid a second copy."""
        if self.are_taken:
            raise RuntimeError("the codes of a partition were taken before: distribute the source again")
        self.are_taken = True
        self.chunks.reverse()
        while self.chunks:
            yield self.chunks.pop()

    def add_table(self, table: DiscreteTable) -> None:
        """Add the rows of a coded table, whose states count as declared."""
        self.begin(table.columns)
        for column, states, codes in zip(self.columns, table.states, table.codes, strict=True):
            column.enter_states(states, codes)
        self.rows_seen = self.n_rows = table.n_rows
        for chunk in cut_table(table) if table.n_rows else ():
            columns = zip(chunk.codes, table.states, strict=True)
            self._keep_codes(chunk.n_rows, (_number_codes(codes, len(states)) for codes, states in columns))


def _copy_to_pages(columns: list[np.ndarray]) -> list[np.ndarray]:
    """Copy arrays to pages of their own, which return to the system with the last array; the heap would keep them."""
    ends = np.cumsum([-(-column.nbytes // 8) * 8 for column in columns]).tolist()
    pages = _map_pages(ends[-1])
    copies = []
    for column, begin in zip(columns, [0, *ends], strict=False):
        copies.append(np.frombuffer(pages, column.dtype, len(column), begin))
        copies[-1][:] = column
    return copies


def _map_pages(n_bytes: int) -> mmap.mmap:
    """Return memory of the system, which it provides in small pages as they are written.

    Codes that are written column by column would need the first large page of each column, 2 MB, at once.
    """
    pages = mmap.mmap(-1, max(n_bytes, 1), access=mmap.ACCESS_COPY)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel without large pages
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def _number_codes(codes: np.ndarray, n_states: int) -> np.ndarray:
    """Return codes in the width that the number of states needs: the last number of each width means missing."""
    return codes.astype(np.uint8 if n_states <= MAX_BYTE_STATES else np.uint16)


class Survey(NamedTuple):
    """The driver's description of a partition: its columns with their states, and its rows."""

    columns: list[GrowingColumn]
    n_rows: int
    rows_seen: int
    are_texts: bool
    continuous: list


class PartitionLabels(NamedTuple):
    """How a partition gets its codes: the position of each column in the partition, and final codes by number."""

    positions: list[int]
    labels: list[dict[int, np.ndarray]]


def code_partition(rows: Any, missing: str, na_values: Any = None, discrete_columns: Any = None) -> PartitionCoder:
    """Read and code the rows of a partition: a path, a frame, an array, or a coded table."""
    if isinstance(rows, Path) and rows.suffix.lower() == PLANE_SUFFIX:
        rows = open_table(rows)
    if isinstance(rows, DiscreteTable):
        if (rows.missing_codes >= 0).any():
            raise ValueError(
                "a coded table with marked missing values (missing='pairwise') cannot be used: code it with 'drop' or "
                "'category'"
            )
        coder = PartitionCoder(missing)
        coder.add_table(rows)
        return coder
    chunks, are_texts = (
        open_chunks(rows, CHUNK_ROWS, 0, na_values) if isinstance(rows, Path) else ([open_chunk(rows)], False)
    )
    coder = PartitionCoder(missing, are_texts, discrete_columns=discrete_columns, warns=na_values is None)
    if are_texts and (names := find_continuous(rows, na_values, discrete_columns)):
        coder.continuous = names
        return coder
    try:
        for frame in chunks:
            coder.add(frame)
    except ContinuousColumnsError as error:  # not an error: the driver makes a numeric table
        coder.continuous = list(error.names)
        coder.chunks.clear()
    return coder


def survey_partition(coder: PartitionCoder) -> Survey:
    """Return the driver's description of a partition."""
    return Survey(coder.columns, coder.n_rows, coder.rows_seen, coder._are_texts, coder.continuous)


def make_labels(numbers: np.ndarray, final: FinalStates, dtype: np.dtype) -> dict[int, np.ndarray]:
    """Return the final codes of a partition's column by its own codes, given their codes in the merged column."""
    labels = label_codes(final._replace(codes=final.codes[numbers]), dtype)
    return {1: labels[1]} if len(numbers) <= MAX_BYTE_STATES else labels


def finish_partition(
    coders: Sequence[PartitionCoder], labels: Sequence[PartitionLabels], columns: tuple, states: tuple
) -> KeptPartition:
    """Convert the rows of some partitions, one after the other, to the codes of the whole table; coders lose theirs."""
    dtype = np.dtype(np.uint16 if max(map(len, states)) > MAX_BYTE_STATES else np.uint8)
    shape = len(columns), sum(coder.n_rows for coder in coders)
    codes = np.ndarray(shape, dtype, _map_pages(shape[0] * shape[1] * dtype.itemsize))
    first = 0
    for coder, of_partition in zip(coders, labels, strict=True):
        for chunk in coder.take_chunks():
            stop = first + len(chunk[0])
            for v, position in enumerate(of_partition.positions):
                numbers = chunk[position]
                _rows.relabel(numbers, of_partition.labels[v][numbers.itemsize], codes[v, first:stop])
            first = stop
    return KeptPartition(DiscreteTable._from_parts(columns, states, codes))


def read_versions() -> tuple[str, str]:
    """Return the versions of pgmx and of Python."""
    return __version__, platform.python_version()


def find_continuous(rows: Any, na_values: Any = None, discrete_columns: Any = None) -> list:
    """Return the names of floating-point columns in the first rows of a table in memory, or of a CSV file.

    Columns declared discrete are left out. A CSV column of integers does not count: with missing values it may be
    discrete.
    """
    if isinstance(rows, DiscreteTable):
        return []
    if not isinstance(rows, Path):
        first = open_chunk(slice_rows(rows, 0, _FIRST_ROWS))
        return list(first.declare_discrete(discrete_columns).list_known_floats())
    chunks = read_csv_chunks(rows, _FIRST_ROWS, na_values=na_values)
    with explain_unreadable(rows), closing(chunks), np.errstate(invalid="ignore"):
        first = next(chunks)
        discrete = check_discrete_columns(discrete_columns, first.columns)
        names = [name for name, values in first.items() if values.dtype.kind == "f" and (values % 1 > 0).any()]
        return [name for name in names if name not in discrete]


def slice_rows(table: Any, first: int, stop: int) -> Any:
    """Return consecutive rows of a table in memory."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[first:stop]
    if isinstance(table, pa.Table):
        return table.slice(first, stop - first)
    if isinstance(table, DiscreteTable):
        return slice_table(table, first, stop)
    return table[first:stop]


# ---- numeric partitions ----


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


def order_columns(blocks: NumericBlocks, positions: list[int], names: tuple) -> NumericPartition:
    """Return a partition with the columns `names`; ``positions[v]`` is the present position of column v."""
    if positions == list(range(len(positions))):
        return NumericPartition(names, blocks.blocks)
    return NumericPartition(names, [np.ascontiguousarray(block[:, positions]) for block in blocks.blocks])

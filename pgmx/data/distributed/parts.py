"""The functions that workers call: they code the rows of a partition, keep them, and count them.

A partition is coded in two steps. `code_part` reads its rows and codes them by numbers of its own, and `survey_part`
returns to the driver the states behind the numbers. When the driver knows the states of all partitions, `finish_part`
converts the numbers to the codes of the whole table. All results depend on the arguments alone, so that dask repeats
the calls if a worker is lost: the codes that `finish_part` takes from a coder are made again with the partition.
"""

import mmap
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pgmx import __version__
from pgmx._ext import _rows
from pgmx.data.chunk_coder import FinalStates, GrowingColumn, StateCoder, label_codes
from pgmx.data.columns import MAX_BYTE_STATES
from pgmx.data.distributed.sources import find_floats, slice_rows
from pgmx.data.errors import ContinuousColumnsError
from pgmx.data.plane_file import PLANE_SUFFIX, open_table
from pgmx.data.readers import CHUNK_ROWS, limit_chunk_rows, open_chunk, open_chunks
from pgmx.data.table import DiscreteTable

#: Rows that a partition may have: a worker numbers and counts them in 32 bits.
MOST_PART_ROWS = 2**31 - 1


class PartCoder(StateCoder):
    """Coder of the rows of one partition, whose codes stay in memory until they are taken."""

    def __init__(self, missing: str, are_texts: bool = False, **options: Any):
        super().__init__(None, missing, are_texts, **options)
        self.pieces: list[list[np.ndarray]] = []
        self.are_taken = False
        self.floats: list = []  # names of floating-point columns; if there are some, nothing is coded

    def _keep_codes(self, n_rows, rows):
        self.pieces.append(_copy_to_pages(list(rows)))

    def take_pieces(self) -> Iterator[list[np.ndarray]]:
        """Yield the chunks; the memory of each is free when the next one is requested, to avoid a second copy."""
        if self.are_taken:
            raise RuntimeError("the codes of a partition were taken before: distribute the source again")
        self.are_taken = True
        self.pieces.reverse()
        while self.pieces:
            yield self.pieces.pop()

    def add_table(self, table: DiscreteTable) -> None:
        """Add the rows of a coded table, whose states count as declared."""
        self.begin(table.columns)
        for column, states, codes in zip(self.columns, table.states, table.codes, strict=True):
            column.enter_states(states, codes)
        self.rows_seen = self.n_rows = table.n_rows
        for piece in cut_table(table) if table.n_rows else ():
            columns = zip(piece.codes, table.states, strict=True)
            self._keep_codes(piece.n_rows, (_number_codes(codes, len(states)) for codes, states in columns))


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
    floats: list


class PartLabels(NamedTuple):
    """How a partition gets its codes: the position of each column in the partition, and final codes by number."""

    positions: list[int]
    labels: list[dict[int, np.ndarray]]


class Part:
    """Some rows of a distributed table, kept by a worker; `kept` caches results of counting, under `lock`.

    `weights` are float64 weights of the rows, None if each counts as one. `n_threads` threads may count the partition:
    more than one if its worker has fewer partitions than threads.
    """

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None = None):
        self.table = table
        self.weights = weights
        self.lock = Lock()
        self.kept: dict[Any, Any] = {}
        self.n_threads = 1

    def __reduce__(self):
        return Part, (self.table, self.weights)

    def __sizeof__(self) -> int:
        planes = 0 if self.table._planes is None else self.table.planes.nbytes
        weights = 0 if self.weights is None else self.weights.nbytes
        return object.__sizeof__(self) + self.table.codes.nbytes + planes + weights

    def pieces(self) -> Iterator[tuple[int, DiscreteTable]]:
        """Yield the rows in chunks, each with the number of its first row."""
        first = 0
        for piece in cut_table(self.table):
            yield first, piece
            first += piece.n_rows


def cut_table(table: DiscreteTable) -> Iterator[DiscreteTable]:
    """Yield the rows of a table in chunks."""
    step = limit_chunk_rows(CHUNK_ROWS, table.n_variables)
    for first in range(0, table.n_rows, step):
        yield slice_rows(table, first, min(first + step, table.n_rows))


def code_part(rows: Any, missing: str, na_values: Any = None, discrete_columns: Any = None) -> PartCoder:
    """Read and code the rows of a partition: a path, a frame, an array, or a coded table."""
    if isinstance(rows, Path) and rows.suffix.lower() == PLANE_SUFFIX:
        rows = open_table(rows)
    if isinstance(rows, DiscreteTable):
        if (rows.missing_codes >= 0).any():
            raise ValueError(
                "a coded table with marked missing values (missing='pairwise') cannot be used: code it with 'drop' or "
                "'category'"
            )
        coder = PartCoder(missing)
        coder.add_table(rows)
        return coder
    chunks, are_texts = (
        open_chunks(rows, CHUNK_ROWS, 0, na_values) if isinstance(rows, Path) else ([open_chunk(rows)], False)
    )
    coder = PartCoder(missing, are_texts, discrete_columns=discrete_columns, warns=na_values is None)
    if are_texts and (floats := find_floats(rows, na_values, discrete_columns)):
        coder.floats = floats
        return coder
    try:
        for frame in chunks:
            coder.add(frame)
    except ContinuousColumnsError as error:  # not an error: the driver makes a numeric table
        coder.floats = list(error.names)
        coder.pieces.clear()
    return coder


def survey_part(coder: PartCoder) -> Survey:
    """Return the driver's description of a partition."""
    return Survey(coder.columns, coder.n_rows, coder.rows_seen, coder._are_texts, coder.floats)


def make_labels(numbers: np.ndarray, final: FinalStates, dtype: np.dtype) -> dict[int, np.ndarray]:
    """Return the final codes of a partition's column by its own numbers; `numbers` are those of the merged column."""
    labels = label_codes(final._replace(codes=final.codes[numbers]), dtype)
    return {1: labels[1]} if len(numbers) <= MAX_BYTE_STATES else labels


def finish_part(coders: Sequence[PartCoder], labels: Sequence[PartLabels], columns: tuple, states: tuple) -> Part:
    """Convert the rows of some partitions, one after the other, to the codes of the whole table; coders lose theirs."""
    dtype = np.dtype(np.uint16 if max(map(len, states)) > MAX_BYTE_STATES else np.uint8)
    shape = len(columns), sum(coder.n_rows for coder in coders)
    codes = np.ndarray(shape, dtype, _map_pages(shape[0] * shape[1] * dtype.itemsize))
    first = 0
    for coder, of_part in zip(coders, labels, strict=True):
        for piece in coder.take_pieces():
            stop = first + len(piece[0])
            for v, position in enumerate(of_part.positions):
                numbers = piece[position]
                _rows.relabel(numbers, of_part.labels[v][numbers.itemsize], codes[v, first:stop])
            first = stop
    return Part(DiscreteTable._from_parts(columns, states, codes))


def repeat_part(part: Part, weights: np.ndarray) -> Part:
    """Return a partition in which row i occurs ``weights[i]`` times; it may have no rows."""
    table = part.table
    if weights.any():
        return Part(table.repeat_rows(weights))
    codes = np.empty((table.n_variables, 0), dtype=table.codes.dtype)
    return Part(DiscreteTable._from_parts(table.columns, table.states, codes, table.missing_codes))


def weigh_part(part: Part, weights: np.ndarray | None) -> Part:
    """Return a partition with other weights of its rows, or without weights; it shares the table."""
    return Part(part.table, None if weights is None else np.ascontiguousarray(weights, dtype=np.float64))


def count_part_rows(part: Part) -> int:
    """Return the number of rows of a partition."""
    return part.table.n_rows


def pack_part(part: Part) -> int:
    """Make the bit planes of a partition, and return the bytes of its codes and planes."""
    return part.table.codes.nbytes + part.table.planes.nbytes


def read_versions() -> tuple[str, str]:
    """Return the versions of pgmx and of Python."""
    return __version__, platform.python_version()

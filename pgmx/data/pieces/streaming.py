"""Coding of tables larger than memory, in one pass over their chunks.

Each chunk is coded by the state numbers of `GrowingColumn`, into an unnamed temporary file. When all states are known,
each column is read back block by block, its codes are put into their final order, and written to the plane file with
its bit planes. Memory is bounded by a chunk and a block, whatever the number of rows; the temporary file takes a byte
per value.
"""

import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

from pgmx._ext import _rows
from pgmx.atomic import write_all
from pgmx.data.columns.declared import check_discrete_columns, check_state_names
from pgmx.data.errors import FloatColumnsError, MissingCellsError
from pgmx.data.files.missing_words import MarkerTally, warn_of_markers
from pgmx.data.files.plane_file import BLOCK_ROWS, PLANE_SUFFIX, PlaneWriter
from pgmx.data.files.plane_reader import open_table
from pgmx.data.frame import check_missing_option, check_rows, check_rows_left, warn_of_many_states
from pgmx.data.pieces.chunks import CHUNK_ROWS, open_chunks
from pgmx.data.pieces.state_dictionaries import NARROW_MISSING, WIDE_MISSING, GrowingColumn


class PieceCoder(ABC):
    """Coder of a table in chunks, whose states are known when all chunks were read.

    With `are_texts`, all values are words whose types are inferred at the end; `n_jobs` threads share the columns of a
    chunk. Numeric values of `discrete_columns` are states. With `warns`, a warning lists words that look like markers
    of missing values, with their counts. A subclass keeps the codes of each chunk.
    """

    def __init__(self, state_names, missing, are_texts, n_jobs=None, discrete_columns=None, warns=False):
        self.n_rows = 0
        self.rows_seen = 0
        self.columns: list[GrowingColumn] = []
        self._state_names = state_names
        self._declared: dict = {}
        self._missing = missing
        self._are_texts = are_texts
        self._n_jobs = n_jobs
        self._discrete_columns = discrete_columns
        self._warns = warns and are_texts

    @property
    def names(self):
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def begin(self, names):
        """Enter the columns; their declared states are checked."""
        discrete = check_discrete_columns(self._discrete_columns, names)
        self.columns = [
            GrowingColumn(name, self._are_texts, name in discrete, MarkerTally() if self._warns else None)
            for name in names
        ]
        if self._state_names is not None:
            self._declared = check_state_names(self._state_names, names)

    def add(self, frame, is_tallied=False):
        """Code one more chunk, a Frame; all have the same columns. Markers in it may have been counted before."""
        if not self.columns:
            self.begin(frame.names)
        frame = frame.declare_discrete(self._discrete_columns)
        self.rows_seen += frame.n_rows
        if frame.n_rows == 0:
            for column, values in zip(self.columns, frame.columns, strict=True):
                column.declare(values)
            return
        row = np.empty((frame.n_columns, frame.n_rows), dtype=np.uint8)
        coded = self._code_columns(frame, row)
        if self._missing == "drop" and any(c.obstacle for c in coded):
            for column, values, c, codes in zip(self.columns, frame.columns, coded, row, strict=True):
                column.note(c.obstacle)
                if self._are_texts:  # words of rows that are left out still affect the type of their column
                    column.recode(values, c, codes, counts=False)
            complete = frame.complete_rows()
            self.rows_seen -= complete.n_rows
            self.add(complete, is_tallied=True)
            return
        columns = zip(self.columns, frame.columns, coded, row, strict=True)
        recoded = (column.recode(values, c, codes, tallies=not is_tallied) for column, values, c, codes in columns)
        self._keep_codes(frame.n_rows, recoded)
        self.n_rows += frame.n_rows

    @abstractmethod
    def _keep_codes(self, n_rows, rows):
        """Keep the codes of a chunk, one array per column."""

    def _code_columns(self, frame, row):
        """Code the columns of a chunk one by one; float columns are refused unless all their values are missing."""
        coded = frame.code_columns(row, self._n_jobs)
        floats = frame.list_known_floats() if any(c.obstacle == "float" for c in coded) else ()
        if floats:
            raise FloatColumnsError(floats)
        return coded

    def finish_columns(self):
        """Return the final states and codes of all columns; raise or warn if there are too few rows or values."""
        check_rows(self.rows_seen, len(self.columns))
        finals = self._list_finals()
        incomplete = [column.name for column in self.columns if column.has_missing]
        if incomplete and self._missing == "error":
            raise MissingCellsError(incomplete)
        check_rows_left(self.n_rows, self.rows_seen, lambda: incomplete)
        warn_of_many_states(self.names, [final.states for final in finals], self.n_rows)
        warn_of_markers({column.name: column.tally for column in self.columns if column.tally is not None})
        return finals

    def missing_codes(self, finals):
        """Return the codes of marked missing values of a table, -1 if none are marked."""
        return [final.missing_code if self._missing == "pairwise" else -1 for final in finals]

    def _list_finals(self):
        """Finish all columns; all columns that turn out to be floating-point are named together."""
        finals, floats = [], []
        for column in self.columns:
            try:
                finals.append(column.finish(self._declared.get(column.name), self._missing))
            except FloatColumnsError:
                floats.append(column.name)
        if floats:
            raise FloatColumnsError(floats)
        return finals


def label_codes(final, dtype):
    """Return the final code of each number of a column by the bytes of the number, 1 or 2, missing values included."""
    labels = {1: np.zeros(NARROW_MISSING + 1, dtype=dtype), 2: np.zeros(WIDE_MISSING + 1, dtype=dtype)}
    labels[1][: min(len(final.codes), NARROW_MISSING)] = final.codes[:NARROW_MISSING]
    labels[2][: len(final.codes)] = final.codes
    labels[1][NARROW_MISSING] = labels[2][WIDE_MISSING] = max(final.missing_code, 0)
    return labels


class ChunkCoder(PieceCoder):
    """Coder of a table in chunks for the file `path`, with a temporary file in the same folder."""

    def __init__(self, path, *coding, **options):
        super().__init__(*coding, **options)
        self._chunks: list[tuple[int, np.ndarray]] = []  # rows, and offsets of the columns and of the end
        self._path = Path(path)
        self._file = tempfile.TemporaryFile(dir=self._path.parent, prefix=".pgmx-", buffering=0)  # noqa: SIM115
        self._end = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._file.close()

    def _keep_codes(self, n_rows, rows):
        bounds = [self._end]
        for codes in rows:
            rest = codes.data.cast("B")
            bounds.append(bounds[-1] + len(rest))
            write_all(self._file, rest, self._path)
        self._end = bounds[-1]
        self._chunks.append((n_rows, np.array(bounds)))

    def finish(self):
        """Write the plane file."""
        finals = self.finish_columns()
        states = tuple(final.states for final in finals)
        with PlaneWriter(self._path, self.names, states, self.missing_codes(finals), self.n_rows) as writer:
            for v, final in enumerate(finals):
                writer.write_column(v, self._blocks(v, final, writer.dtype))

    def _blocks(self, v, final, dtype):
        """Yield the final codes of a column, `BLOCK_ROWS` at a time."""
        labels = label_codes(final, dtype)
        block = np.empty(min(BLOCK_ROWS, self.n_rows), dtype=dtype)
        filled = 0
        for n_rows, bounds in self._chunks:
            at = int(bounds[v])
            itemsize = (int(bounds[v + 1]) - at) // n_rows
            first = 0
            while first < n_rows:
                n = min(n_rows - first, len(block) - filled)
                codes = self._read(at + first * itemsize, n, itemsize)
                _rows.relabel(codes, labels[itemsize], block[filled : filled + n])
                first, filled = first + n, filled + n
                if filled == len(block):
                    yield block
                    filled = 0
        if filled:
            yield block[:filled]

    def _read(self, at, n, itemsize):
        """Read codes back from the temporary file."""
        codes = np.empty(n, dtype=f"u{itemsize}")
        rest = codes.data.cast("B")
        self._file.seek(at)
        while rest:
            n_read = self._file.readinto(rest)
            if not n_read:
                raise OSError("the temporary file of codes ended early")
            rest = rest[n_read:]
        return codes


def stream_to_file(
    X, path, *, state_names, missing, chunk_rows=CHUNK_ROWS, n_jobs=None, na_values=None, discrete_columns=None
):
    """Code chunks into a plane file."""
    check_missing_option(missing)
    chunks, are_texts = open_chunks(X, chunk_rows, na_values=na_values)
    coding = state_names, missing, are_texts, n_jobs
    with ChunkCoder(path, *coding, discrete_columns=discrete_columns, warns=na_values is None) as coder:
        for frame in chunks:
            coder.add(frame)
        coder.finish()


def stream_to_table(X, **options):
    """Code chunks into a temporary plane file, which is deleted with the table mapped from it.

    The options are the same as in `stream_to_file`.
    """
    folder = Path(tempfile.mkdtemp(prefix="pgmx-"))
    try:
        path = folder / f"table{PLANE_SUFFIX}"
        stream_to_file(X, path, **options)
        table = open_table(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(table, _discard, folder, os.getpid())
    return table


def _discard(folder, owner):
    """Remove the file of a table, in the process that made it: a forked one holds a copy of the table."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)

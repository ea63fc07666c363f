"""Coding of tables that arrive in chunks, in one pass, with states that grow chunk by chunk.

`GrowingColumn` gives the states of a column indices in the order in which chunks bring them, and `StateCoder` codes by
these indices. `PlaneFileCoder` writes them to an unnamed temporary file. When all states are known, each column is read
back block by block, its codes are put into their final order, and written to the plane file with its bit planes. Memory
is bounded by a chunk and a block, whatever the number of rows; the temporary file takes a byte per value.
"""

import csv
import io
import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmx._ext import _rows
from pgmx.atomic import write_all
from pgmx.checks import check_missing_option, check_rows
from pgmx.data.columns import (
    MAX_STATES,
    check_distinct,
    code_observed,
    column_kind,
    list_categories,
    name_missing_state,
    name_numbers,
    order_states,
    raise_too_many,
    warn_of_many_states,
)
from pgmx.data.declared_states import check_discrete_columns, check_state_names, list_unknown_states, match_states
from pgmx.data.errors import ContinuousColumnsError, MissingValuesError, check_rows_left, refuse_undeclared
from pgmx.data.files.missing_words import MarkerCounts, is_code, warn_of_markers
from pgmx.data.files.plane_file import BLOCK_ROWS, PLANE_SUFFIX, PlaneWriter, open_table
from pgmx.data.files.readers import CHUNK_ROWS, CSV_OPTIONS, open_chunks

#: Codes of missing values among the codes of a chunk, for codes of one and of two bytes.
_NARROW_MISSING = 255

_WIDE_MISSING = 65535


# ---- the states of one column, chunk by chunk ----


class FinalStates(NamedTuple):
    """States of a column and their codes after all chunks were read."""

    states: tuple
    #: Code in the whole table of each index that `GrowingColumn.recode` gave, in the order of the indices.
    codes: np.ndarray
    #: Code in the whole table of missing values, -1 if there are none.
    missing_code: int


class GrowingColumn:
    """The states of one column, numbered in the order in which chunks bring them.

    `has_missing` is whether a value was missing so far. With `texts`, the values are the words of a text file, whose
    type is inferred at the end from all of them. With `is_discrete`, numeric values are states. With `markers`, values
    that look like markers of missing values are counted there.
    """

    def __init__(self, name, texts, is_discrete=False, markers=None):
        self.name = name
        self.has_missing = False
        self.is_discrete = is_discrete
        self.markers = markers
        self._texts = texts
        self._kind = None
        self._numbers: dict = {}  # (type, state): number
        self._seen: set = set()  # indices of states that occur
        self._has_blank_floats = False

    def recode(self, values, coded, row, counts=True, counts_markers=True):
        """Return the codes of a chunk as state indices of the whole column, one of the codes above for missing values.

        `coded` is the result of `code_column` for `values`; `row`, uint8 of shape (n_rows,), holds its codes if it has
        none, and may be overwritten. States count as occurring if `counts`, and as possible markers of missing values
        if `counts_markers`. Raise ValueError for values of another kind than before, and for more than 65535 states.
        """
        incomplete = coded.obstacle is not None
        self.note(coded.obstacle)
        if coded.obstacle == "float":
            return np.full(len(row), _NARROW_MISSING, dtype=np.uint8)
        if incomplete:
            coded = code_observed(values, row, self.name, self.is_discrete)
        self._check_kind(values, bool(coded.states))
        codes = row if coded.codes is None else coded.codes
        numbers = [self._number(state) for state in coded.states]
        if self.markers is not None and counts_markers:
            self.markers.add(coded.states, np.bincount(codes, minlength=len(numbers))[: len(numbers)].tolist())
        if self._kind == "category":
            self._seen.update(np.array(numbers, dtype=int)[np.bincount(codes, minlength=len(numbers) + 1)[:-1] > 0])
        elif counts:
            self._seen.update(numbers)
        if len(self._numbers) > _NARROW_MISSING:
            labels = np.array([*numbers, _WIDE_MISSING], dtype=np.uint16)
        else:
            labels = np.array([*numbers, _NARROW_MISSING], dtype=np.uint8)
            if not incomplete and numbers == list(range(len(numbers))):
                return codes
        out = np.empty(len(codes), dtype=labels.dtype)
        _rows.relabel(codes, labels, out)
        return out

    def note(self, obstacle):
        """Remember why a chunk could not be coded: missing values, or a float column in which all are missing."""
        self.has_missing |= obstacle is not None
        # pandas gives this type to a chunk of any column in which all values are missing
        self._has_blank_floats |= obstacle == "float"

    def declare(self, values):
        """Enter the categories of a chunk without rows."""
        if column_kind(values) == "category":
            self._check_kind(values, True)
            for state in list_categories(values):
                self._number(state)

    def merge(self, other):
        """Enter the states of the same column in later rows; return their indices here, in the order of the other's."""
        if other._kind is not None:
            self._join_kinds(other._kind)
        self.has_missing |= other.has_missing
        self._has_blank_floats |= other._has_blank_floats
        numbers = np.array([self._number(state) for _, state in other._numbers], dtype=np.intp)
        self._seen.update(numbers[sorted(other._seen)].tolist())
        if self.markers is not None and other.markers is not None:
            self.markers.merge(other.markers)
        return numbers

    def enter_states(self, states, codes):
        """Enter the states of a coded column, in their order, as declared; `codes` are the codes of all its values."""
        self._kind = "category"
        numbers = np.array([self._number(state) for state in states])
        self._seen.update(numbers[np.bincount(codes, minlength=len(states)) > 0].tolist())

    def finish(self, declared, missing):
        """Return the states in their final order, and the final code of each number.

        `declared` are the states that the user declared, None without. Raise ContinuousColumnsError if the column is
        floating-point, ValueError if a state is not declared, there are too many, or two states differ only in
        their type.
        """
        values = self._infer_types()
        if self._kind != "category" and any(type(value) is float for value in values):
            values = name_numbers(values)
        if self._has_blank_floats and all(type(value) is int for value in values):
            raise ContinuousColumnsError([self.name])
        observed = sorted(self._seen)
        if self._kind != "category":
            # by type and value: Python considers 1, 1.0 and True equal
            distinct = list({(type(values[i]), values[i]): values[i] for i in observed}.values())
            check_distinct(distinct, self.name)
            states = tuple(distinct[i] for i in order_states(distinct)) if distinct else ()
        else:
            states = tuple(values)
        if declared is not None:
            undeclared = list_unknown_states(values, declared, np.array(observed, dtype=np.intp))
            if undeclared:
                refuse_undeclared(self.name, dict.fromkeys(undeclared), declared)
            states = declared
        codes = match_states(values, states)
        if not self.has_missing or missing in ("error", "drop"):
            return FinalStates(states, codes, -1)
        states = (*states, name_missing_state(states))
        if len(states) > MAX_STATES:
            raise_too_many(self.name)
        return FinalStates(states, codes, len(states) - 1)

    def _check_kind(self, values, is_known):
        """Refuse a chunk of another kind than before; a chunk without observed values fits any kind."""
        kind = column_kind(values)
        if self.is_discrete and kind == "float":
            kind = "integer"  # chunks of integers and of floats may follow each other
        if is_known or kind == "category":
            self._join_kinds(kind)

    def _join_kinds(self, kind):
        """Store the kind of further values, or refuse them."""
        known = self._kind
        if known in (None, kind) or (known == "object" and kind != "category"):
            self._kind = known or kind
        elif kind == "object" and known != "category":
            self._kind = kind
        else:
            raise ValueError(
                f"column {self.name!r} holds {known} values in the first chunks and {kind} values in a later one: give "
                "all chunks the same types of columns"
            )

    def _number(self, state):
        """Return the number of a state; a new state is entered."""
        number = self._numbers.setdefault((type(state), state), len(self._numbers))
        if number >= MAX_STATES:
            if self._texts:
                self._infer_types()  # if they are floating-point values, that error is more helpful
            raise_too_many(self.name)
        return number

    def _infer_types(self):
        """Return the states in the order of their indices; words of a text file in the type that fits all of them."""
        values = [state for _, state in self._numbers]
        if not self._texts or not values or any(map(is_code, values)):
            return values
        # The parser of whole files decides: the type of a column depends only on its distinct words.
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["words"], *([word] for word in values)])
        text.seek(0)
        typed = pd.read_csv(text, dtype_backend="numpy_nullable", **CSV_OPTIONS)["words"]
        if typed.dtype.kind == "f" and not self.is_discrete:
            raise ContinuousColumnsError([self.name])
        return typed.tolist() if typed.dtype.kind in "iubf" else values


# ---- the columns of a table ----


class StateCoder(ABC):
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
            GrowingColumn(name, self._are_texts, name in discrete, MarkerCounts() if self._warns else None)
            for name in names
        ]
        if self._state_names is not None:
            self._declared = check_state_names(self._state_names, names)

    def add(self, frame, is_counted=False):
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
            self.add(complete, is_counted=True)
            return
        columns = zip(self.columns, frame.columns, coded, row, strict=True)
        recoded = (
            column.recode(values, c, codes, counts_markers=not is_counted) for column, values, c, codes in columns
        )
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
            raise ContinuousColumnsError(floats)
        return coded

    def finish_columns(self):
        """Return the final states and codes of all columns; raise or warn if there are too few rows or values."""
        check_rows(self.rows_seen, len(self.columns))
        finals = self._list_finals()
        incomplete = [column.name for column in self.columns if column.has_missing]
        if incomplete and self._missing == "error":
            raise MissingValuesError(incomplete)
        check_rows_left(self.n_rows, self.rows_seen, lambda: incomplete)
        warn_of_many_states(self.names, [final.states for final in finals], self.n_rows)
        warn_of_markers({column.name: column.markers for column in self.columns if column.markers is not None})
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
            except ContinuousColumnsError:
                floats.append(column.name)
        if floats:
            raise ContinuousColumnsError(floats)
        return finals


def label_codes(final, dtype):
    """Return the final code of each number of a column by the bytes of the number, 1 or 2, missing values included."""
    labels = {1: np.zeros(_NARROW_MISSING + 1, dtype=dtype), 2: np.zeros(_WIDE_MISSING + 1, dtype=dtype)}
    labels[1][: min(len(final.codes), _NARROW_MISSING)] = final.codes[:_NARROW_MISSING]
    labels[2][: len(final.codes)] = final.codes
    labels[1][_NARROW_MISSING] = labels[2][_WIDE_MISSING] = max(final.missing_code, 0)
    return labels


# ---- to a plane file ----


class PlaneFileCoder(StateCoder):
    """Coder of a table in chunks for the file `path`, with a temporary file in the same folder."""

    def __init__(self, path, *coding, **options):
        super().__init__(*coding, **options)
        self._chunks: list[tuple[int, np.ndarray]] = []  # rows, and offsets of the columns and of the end
        self._path = Path(path)
        # in the folder of the result, whose disk must have room for the table anyway
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


def code_chunks_to_file(
    X, path, *, state_names, missing, chunk_rows=CHUNK_ROWS, n_jobs=None, na_values=None, discrete_columns=None
):
    """Code chunks into a plane file."""
    check_missing_option(missing)
    chunks, are_texts = open_chunks(X, chunk_rows, na_values=na_values)
    coding = state_names, missing, are_texts, n_jobs
    with PlaneFileCoder(path, *coding, discrete_columns=discrete_columns, warns=na_values is None) as coder:
        for frame in chunks:
            coder.add(frame)
        coder.finish()


def code_chunks(X, **options):
    """Code chunks into a temporary plane file, which is deleted with the table mapped from it.

    The options are the same as in `code_chunks_to_file`.
    """
    folder = Path(tempfile.mkdtemp(prefix="pgmx-"))
    try:
        path = folder / f"table{PLANE_SUFFIX}"
        code_chunks_to_file(X, path, **options)
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

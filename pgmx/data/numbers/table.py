"""The door for tables of numbers: any accepted table in, float64 rows out, whole or piece by piece."""

from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from pgmx.data.files.plane_file import PLANE_SUFFIX
from pgmx.data.files.readers import CSV_OPTIONS, UNREADABLE, csv_header, is_csv, is_path, table_files, unreadable
from pgmx.data.frame import Frame, check_missing_option, check_rows_left
from pgmx.data.numbers.cells import (
    float_rows,
    infinite_columns,
    kinds_of_states,
    missing_columns,
    named,
    raise_of_cells,
    raise_of_states,
)
from pgmx.data.pieces.chunks import CHUNK_CELLS, CHUNK_ROWS, is_iterator, open_chunks
from pgmx.data.sources import check_rows, open_source
from pgmx.data.table import DiscreteTable

#: What numeric tables do with missing cells.
NUMERIC_MISSING = ("error", "drop", "pairwise")


class NumericTable:
    """A table of numbers, in memory or read in pieces; made by `open_numeric`.

    Parameters
    ----------
    names : tuple
        Distinct column names.
    missing : {"error", "drop", "pairwise"}
        What was chosen for missing cells.
    block : ndarray of float64, shape (n_rows, n_columns), optional
        All rows, checked; None for a table that is read in pieces.
    pieces : callable, optional
        Gives an iterator of frames each time it is called.

    Attributes
    ----------
    names : tuple
        Column names in order.
    n_columns : int
        Number of columns.
    missing : str
        The option as given.
    in_memory : bool
        Whether the rows lie in memory; else each pass reads a file again, or uses an iterator up.

    Notes
    -----
    Whatever is wrong with the cells of a file or of an iterator is raised by the pass that meets it, after the rest was
    read too, so that all columns at fault are named.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import open_numeric
    >>> table = open_numeric([[1, 0.5], [2, 0.25]])
    >>> table
    NumericTable(2 columns, 2 rows)
    >>> [chunk.tolist() for chunk in table.chunks()]
    [[[1.0, 0.5], [2.0, 0.25]]]
    """

    def __init__(self, names, missing, *, block=None, pieces=None):
        self.names = tuple(names)
        self.n_columns = len(self.names)
        self.missing = missing
        self.in_memory = block is not None
        self._kept = None
        self._n_given = None if block is None else len(block)
        if block is not None:
            block, self._kept = self._checked(block)
            block.flags.writeable = False
        self._block = block
        self._pieces = pieces

    def __repr__(self):
        rows = f"{len(self._block)} rows" if self.in_memory else "in pieces"
        return f"NumericTable({self.n_columns} columns, {rows})"

    @property
    def has_missing(self):
        """Whether cells are missing in the rows; None where they were not read yet, as those of a file."""
        if self.missing != "pairwise":
            return False
        return bool(missing_columns(self._block).any()) if self.in_memory else None

    def rows(self):
        """Return all rows.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns), C-contiguous
            A read-only view for a table in memory; a file is read whole.
        """
        if self.in_memory:
            return self._block
        return np.concatenate(list(self.chunks()))

    def chunks(self):
        """Yield the rows in pieces.

        Yields
        ------
        ndarray of float64, shape (m, n_columns), C-contiguous
            The next rows, m >= 1: not to be changed.

        Raises
        ------
        ValueError
            If columns hold no numbers, cells are missing or infinite, fewer than two rows are there, a file cannot be
            read, or an iterator was used up by an earlier pass.
        """
        return (rows for _, rows in self.numbered_chunks())

    def numbered_chunks(self):
        """Yield the rows in pieces, each with its row numbers in the input.

        Yields
        ------
        tuple of (ndarray of int64, shape (m,), ndarray of float64, shape (m, n_columns))
            Row numbers in the input, counting the rows that missing="drop" leaves out, and the rows.
        """
        return self._chunks_in_memory() if self.in_memory else self._chunks_of_pieces()

    def check_weights(self, weights):
        """Return row weights for the rows that are kept, or raise.

        Parameters
        ----------
        weights : array_like of shape (n_rows_in_the_input,)
            Finite, not negative, not all zero.

        Returns
        -------
        ndarray of float64
            A copy, one number for each row of the input.
        """
        weights = np.array(weights, dtype=np.float64)
        if weights.ndim != 1:
            raise ValueError(f"weights must be one number a row, got the shape {weights.shape}")
        if self._n_given is not None and len(weights) != self._n_given:
            raise ValueError(f"{len(weights)} weights for {self._n_given} rows: give one weight a row")
        if not np.isfinite(weights).all() or weights.min(initial=0.0) < 0 or not (weights > 0).any():
            raise ValueError("weights must be finite and not negative, and not all of them zero")
        return weights

    def _checked(self, block):
        """Return the rows that are kept and their numbers (None for all), or raise naming the columns at fault."""
        infinite, incomplete = infinite_columns(block), missing_columns(block)
        raise_of_cells(self.names, incomplete if self.missing == "error" else None, infinite)
        if self.missing != "drop" or not incomplete.any():
            return block[:], None
        kept = np.flatnonzero(~np.isnan(block).any(axis=1))
        check_rows_left(len(kept), len(block), lambda: named(self.names, incomplete))
        return block[kept], kept

    def _chunks_in_memory(self):
        step = max(1, min(CHUNK_ROWS, CHUNK_CELLS // self.n_columns))
        for first in range(0, len(self._block), step):
            rows = self._block[first : first + step]
            yield (
                (np.arange(first, first + len(rows)) if self._kept is None else self._kept[first : first + step]),
                rows,
            )

    def _chunks_of_pieces(self):
        frames = self._pieces()
        n_given = n_kept = 0
        incomplete = np.zeros(self.n_columns, dtype=bool)
        for frame in frames:
            faults = _Faults(self, frame)
            if faults.any():
                for rest in frames:
                    faults.merge(_Faults(self, rest))
                faults.throw()
            rows, numbers = faults.rows, np.arange(n_given, n_given + frame.n_rows)
            n_given += frame.n_rows
            if self.missing == "drop":
                known = ~np.isnan(rows).any(axis=1)
                incomplete |= faults.incomplete
                if not known.all():
                    rows, numbers = rows[known], numbers[known]
            n_kept += len(rows)
            if len(rows):
                yield numbers, rows
        self._n_given = n_given
        check_rows(n_given, self.n_columns)
        check_rows_left(n_kept, n_given, lambda: named(self.names, incomplete))


class _Faults:
    """A piece as float64 rows, with what is wrong with it."""

    def __init__(self, table, frame):
        self.names, self.missing = table.names, table.missing
        self.kinds = kinds_of_states(frame)
        self.rows = np.empty((0, table.n_columns)) if self.kinds else float_rows(frame)
        self.infinite, self.incomplete = infinite_columns(self.rows), missing_columns(self.rows)

    def any(self):
        return bool(self.kinds) or self.infinite.any() or (self.missing == "error" and self.incomplete.any())

    def merge(self, other):
        self.kinds = {**other.kinds, **self.kinds}
        self.infinite |= other.infinite
        self.incomplete |= other.incomplete

    def throw(self):
        raise_of_states(self.names, self.kinds)
        raise_of_cells(self.names, self.incomplete if self.missing == "error" else None, self.infinite)


def open_numeric(X, *, missing="error"):
    """Open a table of numbers for a Gaussian learner.

    Parameters
    ----------
    X : table, array_like of shape (n_rows, n_columns), list of rows, NumericTable, path, or iterator of frames
        The data, for example a pandas, polars or Arrow table, never changed: integers and floats. The columns of an
        array are named x0, x1, ... A CSV or Parquet file, a folder of Parquet files (taken in the order of their names)
        or an iterator of frames may be larger than memory. A NumericTable is returned as it is.
    missing : {"error", "drop", "pairwise"}, default="error"
        What to do with missing cells (None, NaN, NA). "error": raise, naming the columns. "drop": leave out their rows.
        "pairwise": keep them, as NaN, for what uses the rows known in each pair of columns.

    Returns
    -------
    NumericTable
        The table. An array of float64 in C order is referred to, not copied: do not change it meanwhile.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no Parquet file in the folder.
    TypeError
        If the input is no table, or coded already.
    ValueError
        If the table is empty or has one row, a column name occurs twice, a column holds states, text, booleans or
        dates, or cells are missing or infinite; the columns are named.

    Notes
    -----
    A table in memory takes 8 bytes a cell, and is checked here. A file is read anew in each pass, in pieces of at most
    65,536 rows and 8 million cells, an iterator once.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.data import open_numeric
    >>> table = open_numeric(pd.DataFrame({"height": [1.5, None, 2.0], "age": [3, 4, 5]}), missing="drop")
    >>> table.names, table.rows().tolist()
    (('height', 'age'), [[1.5, 3.0], [2.0, 5.0]])
    """
    check_missing_option(missing, NUMERIC_MISSING, " for a table of numbers")
    if isinstance(X, NumericTable):
        if X.missing != missing and not (X.in_memory and not X.has_missing):
            raise ValueError(f"the table was opened with missing={X.missing!r}, got missing={missing!r}")
        return X
    if isinstance(X, DiscreteTable) or (is_path(X) and Path(X).suffix.lower() == PLANE_SUFFIX):
        raise TypeError(f"{X!r} holds coded states, not numbers: give the table that it was coded from")
    if is_path(X):
        return _of_path(Path(X), missing)
    if is_iterator(X):
        return _of_iterator(X, missing)
    return _of_table(X, missing)


def _of_table(X, missing):
    if isinstance(X, Frame):
        frame = X
    else:
        source = open_source(X)
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiu":
            return NumericTable(source.names, missing, block=np.require(np.asarray(X), np.float64, ["C", "A"]))
        frame = Frame(*source)
    raise_of_states(frame.names, kinds_of_states(frame))
    return NumericTable(frame.names, missing, block=float_rows(frame))


def _of_path(path, missing):
    files = table_files(path)
    if not is_csv(files[0]):
        first = next(open_chunks(path, CHUNK_ROWS)[0])
        return NumericTable(first.names, missing, pieces=lambda: open_chunks(path, CHUNK_ROWS)[0])
    try:
        csv_header(path)
        names = pd.read_csv(path, nrows=0, **CSV_OPTIONS).columns
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    rows = max(1, min(CHUNK_ROWS, CHUNK_CELLS // max(1, len(names))))
    return NumericTable(names, missing, pieces=lambda: open_chunks(_csv_pieces(path, rows), rows)[0])


def _of_iterator(X, missing):
    frames = open_chunks(X, CHUNK_ROWS)[0]
    first = next(frames)
    left = [chain([first], frames)]

    def pieces():
        if not left:
            raise ValueError(
                "an iterator of frames can be read once, and it was: give a file (CSV or Parquet), or a table in memory"
            )
        return left.pop()

    return NumericTable(first.names, missing, pieces=pieces)


def _csv_pieces(path, rows):
    """Read a CSV file in pieces, the type of a column told from the cells of each."""
    try:
        with pd.read_csv(path, chunksize=rows, **CSV_OPTIONS) as reader:
            yield from reader
    except UNREADABLE as error:
        raise unreadable(path, error) from error

"""Numeric tables: any accepted table as float64 rows, whole or in chunks."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_weights
from pgmx.data.distributed.partitions import NumericPartition
from pgmx.data.files.plane_file import PLANE_SUFFIX
from pgmx.data.files.readers import (
    csv_header,
    explain_unreadable,
    is_csv,
    is_path,
    read_csv_pieces,
    table_files,
)
from pgmx.data.frame import Frame, check_missing_option, check_rows, check_rows_left
from pgmx.data.numbers.cells import (
    CellFaults,
    float_rows,
    infinite_columns,
    kinds_of_states,
    missing_columns,
    raise_of_cells,
    raise_of_states,
    select_names,
)
from pgmx.data.pieces.chunks import (
    CHUNK_ROWS,
    align_columns,
    is_iterator,
    name_path_in_errors,
    open_chunks,
    rows_at_a_time,
)
from pgmx.data.sources import open_source
from pgmx.data.table import DiscreteTable

#: How numeric tables handle missing values.
NUMERIC_MISSING = ("error", "drop", "pairwise")


class NumericTable:
    """A numeric table, in memory or read in chunks; made by `open_numeric`.

    Parameters
    ----------
    names : tuple
        Distinct column names.
    missing : {"error", "drop", "pairwise"}
        How missing values are handled.
    block : ndarray of float64, shape (n_rows, n_columns), optional
        All rows, checked; None for a table that is read in chunks.
    pieces : callable, optional
        Returns an iterator of frames each time it is called.

    Attributes
    ----------
    names : tuple
        Column names in order.
    n_columns : int
        Number of columns.
    missing : str
        The option.
    in_memory : bool
        Whether the rows are in memory; else each pass reads a file again, or uses an iterator up.

    Notes
    -----
    Faults in the values of a file or an iterator are raised by the pass that finds them, after the rest was read too,
    so that all columns with faults are named.

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

    #: Whether the rows are on the workers of a cluster, so that a question about them costs a message.
    is_remote = False

    def __init__(
        self,
        names: Iterable[Hashable],
        missing: str,
        *,
        block: np.ndarray | None = None,
        pieces: Callable[[], Iterator[Frame]] | None = None,
    ):
        self.names = tuple(names)
        self.n_columns = len(self.names)
        self.missing = missing
        self.in_memory = block is not None
        self._row_numbers: np.ndarray | None = None
        self._n_input_rows = None if block is None else len(block)
        if block is not None:
            block, self._row_numbers = self._check_block(block)
            block.flags.writeable = False
        self._block = block
        self._pieces = pieces

    def __repr__(self) -> str:
        rows = "in chunks" if self._block is None else f"{len(self._block)} rows"
        return f"NumericTable({self.n_columns} columns, {rows})"

    @property
    def has_missing(self) -> bool | None:
        """Whether values are missing in the rows; None if the rows were not read yet, as for a file."""
        if self.missing != "pairwise":
            return False
        return None if self._block is None else bool(missing_columns(self._block).any())

    @property
    def is_complete(self) -> bool:
        """Whether it is known that no value is missing."""
        return self.in_memory and not self.has_missing

    def rows(self) -> np.ndarray:
        """Return all rows, float64 of shape (n_rows, n_columns), C-contiguous; a file is read.

        For a table in memory this is a read-only view.
        """
        if self._block is not None:
            return self._block
        return np.concatenate(list(self.chunks()))

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield the rows in chunks.

        Yields
        ------
        ndarray of float64, shape (m, n_columns), C-contiguous
            The next rows, m >= 1: not to be changed.

        Raises
        ------
        ValueError
            If columns are non-numeric, values are missing or infinite, there are fewer than two rows, a file cannot be
            read, or an iterator was used up by an earlier pass.
        """
        return (rows for _, rows in self.chunks_with_numbers())

    def chunks_with_numbers(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the row numbers in the input, int64 (m,), and the rows, float64 (m, n_columns), of each chunk.

        Row numbers count the rows that missing="drop" leaves out.
        """
        return self._chunks_of_pieces() if self._block is None else self._chunks_in_memory(self._block)

    def reduce(
        self, function: Callable, *arguments: Any, add: Callable[[list], Any], weights: np.ndarray | None = None
    ) -> Any:
        """Return the sum of a function over the partitions: a table on one machine is one partition, in memory.

        Parameters
        ----------
        function : callable
            Called with a partition, which has `names`, `blocks` (float64 arrays of shape (m, n_columns)) and `weights`,
            and the arguments.
        *arguments
            Passed to the function.
        add : callable
            From a list of two results to their sum. Not needed for one partition.
        weights : ndarray of float64, shape (n_rows,), optional
            Weights of the rows, which become the `weights` of the partition.

        Returns
        -------
        object
            The result of the function.
        """
        return function(NumericPartition(self.names, [self.rows()], weights), *arguments)

    def check_weights(self, weights: ArrayLike, name: str = "weights") -> np.ndarray:
        """Return a float64 copy of weights, one per row of the input, or raise: finite, not negative, not all zero."""
        return check_weights(weights, name, self._n_input_rows)

    def _check_block(self, block):
        """Return the kept rows and their numbers (None for all), or raise naming the columns with faults."""
        infinite, incomplete = infinite_columns(block), missing_columns(block)
        raise_of_cells(self.names, incomplete if self.missing == "error" else None, infinite)
        if self.missing != "drop" or not incomplete.any():
            return block[:], None
        complete = np.flatnonzero(~np.isnan(block).any(axis=1))
        check_rows_left(len(complete), len(block), lambda: select_names(self.names, incomplete))
        return block[complete], complete

    def _chunks_in_memory(self, block: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        step = rows_at_a_time(CHUNK_ROWS, self.n_columns)
        for first in range(0, len(block), step):
            last = min(first + step, len(block))
            numbers = np.arange(first, last) if self._row_numbers is None else self._row_numbers[first:last]
            yield numbers, block[first:last]

    def _chunks_of_pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        frames = iter(()) if self._pieces is None else self._pieces()
        n_input = n_complete = 0
        faults = CellFaults(self.names)
        for frame in frames:
            rows = faults.read_rows(frame)
            if faults.any(self.missing):
                for rest in frames:
                    faults.read_rows(rest)
                faults.throw(self.missing)
            numbers = np.arange(n_input, n_input + frame.n_rows)
            n_input += frame.n_rows
            if self.missing == "drop":
                known = ~np.isnan(rows).any(axis=1)
                if not known.all():
                    rows, numbers = rows[known], numbers[known]
            n_complete += len(rows)
            if len(rows):
                yield numbers, rows
        is_first_pass = self._n_input_rows is None
        self._n_input_rows = n_input
        check_rows(n_input, self.n_columns)
        if is_first_pass:
            check_rows_left(n_complete, n_input, lambda: select_names(self.names, faults.incomplete))


def open_numeric(X: Any, *, missing: str = "error", na_values: Any = None) -> NumericTable:
    """Open a numeric table for a Gaussian learner.

    Parameters
    ----------
    X : table, array_like of shape (n_rows, n_columns), list of rows, NumericTable, path, or iterator of frames
        The data, for example a pandas, polars or Arrow table, never changed: integers and floating-point values. The
        columns of an array are named x0, x1, ... A CSV or Parquet file, a folder of Parquet files (read in the order
        of their names) or an iterator of frames may be larger than memory. A NumericTable is returned as it is.
    missing : {"error", "drop", "pairwise"}, default="error"
        How missing values (None, NaN, NA) are handled. "error": raise, naming the columns. "drop": leave out their
        rows. "pairwise": keep them, as NaN, for learners that use the rows observed in each pair of columns.
    na_values : scalar, str, list-like or dict, optional
        Further values that are missing, for a CSV file, as for `read_table`.

    Returns
    -------
    NumericTable
        The table. An array of float64 in C order is referred to, not copied: do not change it meanwhile.

    Raises
    ------
    FileNotFoundError
        If the file does not exist, or there is no Parquet file in the folder.
    TypeError
        If the input is not a table, or is already coded.
    ValueError
        If the table is empty or has one row, a column name occurs twice, a column holds states, text, booleans or
        dates, or values are missing or infinite; the columns are named.

    Notes
    -----
    A table in memory takes 8 bytes per value, and is checked here. A file is read again in each pass, in chunks of at
    most 65,536 rows and 8 million values, an iterator once.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.data import open_numeric
    >>> table = open_numeric(pd.DataFrame({"height": [1.5, None, 2.0], "age": [3, 4, 5]}), missing="drop")
    >>> table.names, table.rows().tolist()
    (('height', 'age'), [[1.5, 3.0], [2.0, 5.0]])
    """
    check_missing_option(missing, NUMERIC_MISSING, " for a numeric table")
    if isinstance(X, NumericTable):
        if X.missing != missing and not X.is_complete:
            raise ValueError(f"the table was opened with missing={X.missing!r}, got missing={missing!r}")
        return X
    if isinstance(X, DiscreteTable) or (is_path(X) and Path(X).suffix.lower() == PLANE_SUFFIX):
        raise TypeError(f"{X!r} holds coded states, not numbers: give the table that it was coded from")
    if is_path(X):
        return _from_path(Path(X), missing, na_values)
    if is_iterator(X):
        return _from_iterator(X, missing)
    return _from_table(X, missing)


def _from_table(X, missing):
    if isinstance(X, Frame):
        frame = X
    else:
        frame = open_source(X)
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiu":
            return NumericTable(frame.names, missing, block=np.require(np.asarray(X), np.float64, ["C", "A"]))
    raise_of_states(frame.names, kinds_of_states(frame))
    return NumericTable(frame.names, missing, block=float_rows(frame))


def _from_path(path, missing, na_values):
    if is_csv(table_files(path)[0]):
        with explain_unreadable(path):
            names = csv_header(path)
    else:
        names = next(open_number_chunks(path, na_values=na_values)).names
    return NumericTable(names, missing, pieces=lambda: open_number_chunks(path, na_values=na_values))


def open_number_chunks(path: Path, fewest: int = 2, na_values: Any = None) -> Iterator[Frame]:
    """Open a file, or a folder of Parquet files, in chunks whose columns have the types of their values.

    It raises ValueError if there are fewer than two rows, unless `fewest` is 0, or a chunk has other columns.
    """
    if not is_csv(table_files(path)[0]):
        return open_chunks(path, CHUNK_ROWS, fewest, na_values)[0]
    with explain_unreadable(path):
        rows = rows_at_a_time(CHUNK_ROWS, len(csv_header(path)))
    pieces = read_csv_pieces(path, rows, na_values=na_values)
    return align_columns(name_path_in_errors(path, pieces), path if fewest else None)


def _from_iterator(X, missing):
    frames = open_chunks(X, CHUNK_ROWS)[0]
    first = next(frames)
    unread = [chain([first], frames)]

    def pieces():
        if not unread:
            raise ValueError(
                "an iterator of frames can be read once, and it was: give a file (CSV or Parquet), or a table in memory"
            )
        return unread.pop()

    return NumericTable(first.names, missing, pieces=pieces)

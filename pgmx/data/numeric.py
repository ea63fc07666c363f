"""Numeric tables: float64 rows, in memory or read in chunks, and the checks of their values."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike

from pgmx.checks import check_rows, check_weights, join_names
from pgmx.data.columns import column_kind, read_floats
from pgmx.data.distributed.partitions import NumericPartition
from pgmx.data.errors import COMPLEX_REMEDY, MissingValuesError, check_rows_left, refuse_infinite
from pgmx.data.files.readers import (
    CHUNK_CELLS,
    CHUNK_ROWS,
    align_columns,
    explain_unreadable,
    is_csv,
    is_path,
    limit_chunk_rows,
    list_table_files,
    name_path_in_errors,
    open_chunks,
    read_csv_chunks,
    read_csv_header,
)
from pgmx.data.frame import Frame

#: How numeric tables handle missing values.
NUMERIC_MISSING = ("error", "drop", "pairwise")

#: Results of `pandas.api.types.infer_dtype` for numeric Python objects; "empty" if all are missing.
_NUMBERS = ("floating", "mixed-integer-float", "integer", "empty")


class MissingNumbersError(MissingValuesError):
    """Numeric columns with missing values that are not allowed; the arguments are the same as in the base class."""

    purposes = {
        "drop": "to leave out the rows that have them",
        "pairwise": "to use for each pair of columns the rows that are observed in both",
    }


class NotNumbersError(TypeError, ValueError):
    """Non-numeric columns: both a wrong type of an argument and a wrong value in it."""


class TextColumnsError(NotNumbersError):
    """Columns of states or text; the time column of a series may be among them."""


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
    read_chunks : callable, optional
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

    #: Whether the columns are views of fewer columns; then the rows are made one chunk at a time.
    has_views = False

    def __init__(
        self,
        names: Iterable[Hashable],
        missing: str,
        *,
        block: np.ndarray | None = None,
        read_chunks: Callable[[], Iterator[Frame]] | None = None,
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
        self._read_chunks = read_chunks

    def __repr__(self) -> str:
        rows = "in chunks" if self._block is None else f"{len(self._block)} rows"
        return f"NumericTable({self.n_columns} columns, {rows})"

    @property
    def has_missing(self) -> bool | None:
        """Whether values are missing in the rows; None if the rows were not read yet, as for a file."""
        if self.missing != "pairwise":
            return False
        return None if self._block is None else bool(mark_missing_columns(self._block).any())

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
        """Yield the row indices in the input, int64 (m,), and the rows, float64 (m, n_columns), of each chunk.

        Row indices count the rows that missing="drop" leaves out.
        """
        return self._chunks_read() if self._block is None else self._chunks_in_memory(self._block)

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
        """Return the kept rows and their indices (None for all), or raise naming the columns with faults."""
        infinite, incomplete = mark_infinite_columns(block), mark_missing_columns(block)
        refuse_values(self.names, incomplete if self.missing == "error" else None, infinite)
        if self.missing != "drop" or not incomplete.any():
            # a view, which is made read-only: the array of the caller stays writeable
            return block[:], None
        complete = np.flatnonzero(~np.isnan(block).any(axis=1))
        check_rows_left(len(complete), len(block), lambda: select_names(self.names, incomplete))
        return block[complete], complete

    def _chunks_in_memory(self, block: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        step = limit_chunk_rows(CHUNK_ROWS, self.n_columns)
        for first in range(0, len(block), step):
            last = min(first + step, len(block))
            numbers = np.arange(first, last) if self._row_numbers is None else self._row_numbers[first:last]
            yield numbers, block[first:last]

    def _chunks_read(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        frames = iter(()) if self._read_chunks is None else self._read_chunks()
        n_input = n_complete = 0
        faults = ValueFaults(self.names)
        for frame in frames:
            rows = faults.read_rows(frame)
            if faults.any(self.missing):
                # the rest is read too, so that one error names all columns with faults
                for rest in frames:
                    faults.read_rows(rest)
                faults.raise_if_any(self.missing)
            numbers = np.arange(n_input, n_input + frame.n_rows)
            n_input += frame.n_rows
            if self.missing == "drop":
                known = ~np.isnan(rows).any(axis=1)
                if not known.all():
                    rows, numbers = rows[known], numbers[known]
            n_complete += len(rows)
            if len(rows):
                yield numbers, rows
        # later passes over a file would repeat the warning of rows left out
        is_first_pass = self._n_input_rows is None
        self._n_input_rows = n_input
        check_rows(n_input, self.n_columns)
        if is_first_pass:
            check_rows_left(n_complete, n_input, lambda: select_names(self.names, faults.incomplete))


def make_numeric_table(frame: Frame, missing: str, X: Any = None) -> NumericTable:
    """Return the numeric table of columns in memory; `X` is the input whose columns they are."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiu":  # a float64 array in C order is not copied
        return NumericTable(frame.names, missing, block=np.require(np.asarray(X), np.float64, ["C", "A"]))
    refuse_nonnumeric(frame.names, list_nonnumeric_kinds(frame))
    return NumericTable(frame.names, missing, block=make_rows(frame))


def read_numeric_table(X: Any, missing: str, na_values: Any = None) -> NumericTable:
    """Return the numeric table of a path, which each pass reads again, or of an iterator, which one pass uses up."""
    if not is_path(X):
        return _from_iterator(X, missing)
    path = Path(X)
    if is_csv(list_table_files(path)[0]):
        with explain_unreadable(path):
            names = read_csv_header(path)
    else:
        # the first chunk of a Parquet file has no rows: only the schema is read
        names = next(open_number_chunks(path, na_values=na_values)).names
    return NumericTable(names, missing, read_chunks=lambda: open_number_chunks(path, na_values=na_values))


def _from_iterator(X, missing):
    frames = open_chunks(X, CHUNK_ROWS)[0]
    first = next(frames)
    # the only pass takes the iterator from this list
    unread = [chain([first], frames)]

    def read_chunks():
        if not unread:
            raise ValueError(
                "an iterator of frames can be read once, and it was: give a file (CSV or Parquet), or a table in memory"
            )
        return unread.pop()

    return NumericTable(first.names, missing, read_chunks=read_chunks)


def open_number_chunks(path: Path, fewest: int = 2, na_values: Any = None) -> Iterator[Frame]:
    """Open a file, or a folder of Parquet files, in chunks whose columns have the types of their values.

    It raises ValueError if there are fewer than two rows, unless `fewest` is 0, or a chunk has other columns.
    """
    if not is_csv(list_table_files(path)[0]):
        return open_chunks(path, CHUNK_ROWS, fewest, na_values)[0]
    with explain_unreadable(path):
        rows = limit_chunk_rows(CHUNK_ROWS, len(read_csv_header(path)))
    chunks = read_csv_chunks(path, rows, na_values=na_values)
    return align_columns(name_path_in_errors(path, chunks), path if fewest else None)


# ---- values: non-numeric, missing and infinite ones, and the rest as float64 rows ----


def list_nonnumeric_kinds(frame):
    """Return the kinds of the non-numeric columns, by name."""
    kinds = {}
    for name, values in zip(frame.names, frame.columns, strict=True):
        kind = column_kind(values)
        if kind == "object":
            kind = pd.api.types.infer_dtype(values, skipna=True)
            kind = "float" if kind in _NUMBERS else kind
        if name in frame.discrete:
            kind = "states"
        if kind not in ("integer", "float", "empty"):
            kinds[name] = "text" if kind == "string" else kind
            # objects of several types: say which of them is not a number
            if kind.startswith("mixed"):
                kinds[name] += _conversion_error(values)
    return kinds


def _conversion_error(values):
    """Return Python's message about the first value of a type that cannot be converted to float."""
    for value in values[~pd.isna(values)]:
        try:
            float(value)
        except TypeError as error:
            return f": {error}"
        except ValueError:
            continue
    return ""


def make_rows(frame):
    """Return the values of a numeric frame as a new array, missing ones as NaN."""
    rows = np.empty((frame.n_rows, frame.n_columns))
    for v, values in enumerate(frame.columns):
        rows[:, v] = read_column(values)
    return rows


def read_column(values):
    """Return the values of a numeric column as an array, without a copy if it is one; missing ones as NaN."""
    if isinstance(values, pa.ChunkedArray):
        return values.cast(pa.float64(), safe=False).to_numpy()  # integers above 2**53 are rounded
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return values
    return read_floats(values)


def _columns_with(rows, test):
    """Mark the columns in which some value passes a test, in blocks of rows."""
    found = np.zeros(rows.shape[1], dtype=bool)
    # in blocks, since a mask of all values takes an eighth of the table
    step = max(1, CHUNK_CELLS // max(1, rows.shape[1]))
    for first in range(0, len(rows), step):
        found |= test(rows[first : first + step]).any(axis=0)
    return found


def mark_missing_columns(rows):
    """Mark the columns with missing values (NaN)."""
    return _columns_with(rows, np.isnan)


def mark_infinite_columns(rows):
    """Mark the columns with infinite values."""
    return _columns_with(rows, np.isinf)


def refuse_nonnumeric(names, kinds):
    """Refuse non-numeric columns."""
    if not kinds:
        return
    complexes = [name for name in names if "complex" in str(kinds.get(name))]
    if complexes:
        raise NotNumbersError(f"column(s) {join_names(complexes)} hold complex numbers: {COMPLEX_REMEDY}")
    culprits = [name for name in names if name in kinds]
    contents = ", ".join(sorted(set(map(str, kinds.values()))))
    hint = (
        ". Values of a CSV file that are missing, such as '?', are named by na_values (--na)"
        if "text" in contents
        else ""
    )
    raise TextColumnsError(
        f"column(s) {join_names(culprits)} hold states or text, not numbers ({contents}): leave them out, or convert "
        f"them, if they are numbers in text, for example with astype(float){hint}"
    )


def refuse_values(names, incomplete, infinite):
    """Refuse infinite values, and missing values if `incomplete` is given."""
    # infinite values first: no option allows them
    refuse_infinite(select_names(names, infinite))
    if incomplete is not None and incomplete.any():
        raise MissingNumbersError(select_names(names, incomplete))


def select_names(names, mask):
    """Return the names of the columns that `mask` marks."""
    return [names[v] for v in np.flatnonzero(mask)]


class ValueFaults:
    """Faults of the values in the chunks of a numeric table that were read so far.

    `kinds` holds the kinds of the non-numeric columns, by name; `infinite` and `incomplete` mark columns.
    """

    def __init__(self, names):
        self.names = names
        self.kinds: dict = {}
        self.infinite = np.zeros(len(names), dtype=bool)
        self.incomplete = np.zeros(len(names), dtype=bool)

    def read_rows(self, frame):
        """Return the rows of a chunk with these columns as float64, no rows if columns are non-numeric."""
        kinds = list_nonnumeric_kinds(frame)
        rows = np.empty((0, len(self.names))) if kinds else make_rows(frame)
        self.kinds = {**kinds, **self.kinds}
        self.infinite |= mark_infinite_columns(rows)
        self.incomplete |= mark_missing_columns(rows)
        return rows

    def merge(self, other, positions):
        """Add the faults of other rows; their column ``positions[v]`` is column v here."""
        self.kinds = {**other.kinds, **self.kinds}
        self.infinite |= other.infinite[positions]
        self.incomplete |= other.incomplete[positions]

    def any(self, missing):
        """Return whether there are faults; missing values are one with missing="error"."""
        return bool(self.kinds) or self.infinite.any() or (missing == "error" and self.incomplete.any())

    def raise_if_any(self, missing):
        """Raise naming the columns with faults, if there are some."""
        refuse_nonnumeric(self.names, self.kinds)
        refuse_values(self.names, self.incomplete if missing == "error" else None, self.infinite)

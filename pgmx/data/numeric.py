"""Numeric tables: float64 rows, in memory or read in chunks, the checks of their values, and targets to predict."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike

from pgmx.checks import check_weights, join_names
from pgmx.data.columns import column_kind, float_cells
from pgmx.data.csv_files import find_layout
from pgmx.data.distributed.partitions import NumericPartition
from pgmx.data.errors import COMPLEX_REMEDY, MissingCellsError, check_rows_left
from pgmx.data.plane_file import PLANE_SUFFIX
from pgmx.data.readers import (
    CHUNK_CELLS,
    CHUNK_ROWS,
    align_columns,
    csv_header,
    explain_unreadable,
    is_csv,
    is_iterator,
    is_path,
    name_path_in_errors,
    open_chunks,
    open_piece,
    open_source,
    read_csv_pieces,
    rows_at_a_time,
    table_files,
)
from pgmx.data.table import DiscreteTable, Frame, check_missing_option, check_rows

#: How numeric tables handle missing values.
NUMERIC_MISSING = ("error", "drop", "pairwise")

#: Results of `pandas.api.types.infer_dtype` for numeric Python objects; "empty" if all are missing.
_NUMBERS = ("floating", "mixed-integer-float", "integer", "empty")


class MissingNumbersError(MissingCellsError):
    """Numeric columns with missing values that are not allowed; the arguments are the same as in the base class."""

    purposes = {
        "drop": "to leave out the rows that have them",
        "pairwise": "to use for each pair of columns the rows that are observed in both",
    }


class NotNumbersError(TypeError, ValueError):
    """Non-numeric columns: both a wrong type of an argument and a wrong value in it."""


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


# ---- values: non-numeric, missing and infinite ones, and the rest as float64 rows ----


def kinds_of_states(frame):
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


def float_rows(frame):
    """Return the values of a numeric frame as a new array, missing ones as NaN."""
    rows = np.empty((frame.n_rows, frame.n_columns))
    for v, values in enumerate(frame.columns):
        rows[:, v] = column_numbers(values)
    return rows


def column_numbers(values):
    """Return the values of a numeric column as an array, without a copy if it is one; missing ones as NaN."""
    if isinstance(values, pa.ChunkedArray):
        return values.cast(pa.float64(), safe=False).to_numpy()  # integers above 2**53 are rounded
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return values
    return float_cells(values)


def _columns_with(rows, test):
    """Mark the columns in which some value passes a test, in blocks of rows."""
    found = np.zeros(rows.shape[1], dtype=bool)
    step = max(1, CHUNK_CELLS // max(1, rows.shape[1]))
    for first in range(0, len(rows), step):
        found |= test(rows[first : first + step]).any(axis=0)
    return found


def missing_columns(rows):
    """Mark the columns with missing values (NaN)."""
    return _columns_with(rows, np.isnan)


def infinite_columns(rows):
    """Mark the columns with infinite values."""
    return _columns_with(rows, np.isinf)


def raise_of_states(names, kinds):
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
    raise NotNumbersError(
        f"column(s) {join_names(culprits)} hold states or text, not numbers ({contents}): leave them out, or convert "
        f"them to numbers, for example with astype(float){hint}"
    )


def raise_of_cells(names, incomplete, infinite):
    """Refuse infinite values, and missing values if `incomplete` is given."""
    if infinite.any():
        culprits = join_names(select_names(names, infinite))
        raise ValueError(f"infinite values (inf) in column(s) {culprits}: replace them or drop their rows")
    if incomplete is not None and incomplete.any():
        raise MissingNumbersError(select_names(names, incomplete))


def select_names(names, mask):
    """Return the names of the columns that `mask` marks."""
    return [names[v] for v in np.flatnonzero(mask)]


class CellFaults:
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
        kinds = kinds_of_states(frame)
        rows = np.empty((0, len(self.names))) if kinds else float_rows(frame)
        self.kinds = {**kinds, **self.kinds}
        self.infinite |= infinite_columns(rows)
        self.incomplete |= missing_columns(rows)
        return rows

    def merge(self, other, positions):
        """Add the faults of other rows; their column ``positions[v]`` is column v here."""
        self.kinds = {**other.kinds, **self.kinds}
        self.infinite |= other.infinite[positions]
        self.incomplete |= other.incomplete[positions]

    def any(self, missing):
        """Return whether there are faults; missing values are one with missing="error"."""
        return bool(self.kinds) or self.infinite.any() or (missing == "error" and self.incomplete.any())

    def throw(self, missing):
        """Raise naming the columns with faults, if there are some."""
        raise_of_states(self.names, self.kinds)
        raise_of_cells(self.names, self.incomplete if missing == "error" else None, self.infinite)


# ---- numeric rows and the column to predict from them ----


def split_target(table: Any, target: Hashable) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the other columns of a table as float64, and the target: float64, integers, or labels as objects."""
    frame = table if isinstance(table, Frame) else open_piece(table)
    if target not in frame.names:
        raise ValueError(f"{target!r} is not a column of the table: its columns are {join_names(frame.names)}")
    at = frame.names.index(target)
    others = Frame(
        (*frame.names[:at], *frame.names[at + 1 :]), [*frame.columns[:at], *frame.columns[at + 1 :]], frame.n_rows
    )
    if not others.names:
        raise ValueError(f"the table has no column besides {target!r}: there is nothing to predict it from")
    return _read_numbers(others), _read_target(frame.columns[at], target, frame.n_rows)


def _read_numbers(frame: Frame) -> pd.DataFrame:
    raise_of_states(frame.names, kinds_of_states(frame))
    return pd.DataFrame(float_rows(frame), columns=pd.Index(frame.names, dtype=object))


def _read_target(values: Any, target: Hashable, n_rows: int) -> np.ndarray:
    column = Frame((target,), [values], n_rows)
    if kinds_of_states(column):
        labels = np.array(values.to_pylist() if hasattr(values, "to_pylist") else list(values), dtype=object)
        if pd.isna(labels).any():
            raise ValueError(f"the target {target!r} has missing values: drop their rows")
        return labels
    numbers = float_rows(column)[:, 0]
    if not np.isfinite(numbers).all():
        raise ValueError(f"the target {target!r} has missing or infinite values: drop their rows")
    return numbers.astype(np.int64) if column_kind(values) == "integer" else numbers


def iterate_pieces(
    source: Any,
    target: Hashable,
    chunk_rows: int,
    labels: bool = False,
    layout: Mapping[str, str] | None = None,
    choose: Callable[[Sequence], Sequence] | None = None,
    na_values: Any = None,
) -> Iterator[tuple]:
    """Yield rows and targets of a path, an iterator of frames, or an open CSV file; `labels`: the targets are text.

    `layout` gives sep and decimal of CSV, `na_values` further words for missing values, `choose` the columns to read.
    ValueError if there is no row.
    """
    for piece in _iterate_frames(source, chunk_rows, {target: str} if labels else None, layout or {}, na_values):
        if choose is not None:
            piece = piece.take_columns(choose(piece.names))
        rows, targets = split_target(piece, target)
        yield rows, np.array([str(value) for value in targets], dtype=object) if labels else targets


def iterate_rows(path: Any, chunk_rows: int, na_values: Any = None) -> Iterator[pd.DataFrame]:
    """Yield the rows of a path as float64, missing values as NaN; ValueError for other values, or without rows."""
    for piece in _iterate_frames(path, chunk_rows, na_values=na_values):
        yield _read_numbers(piece)


def read_rows(path: Any, chunk_rows: int, na_values: Any = None) -> pd.DataFrame:
    """Return all rows that `iterate_rows` yields."""
    return pd.concat(list(iterate_rows(path, chunk_rows, na_values)), ignore_index=True)


def _iterate_frames(
    source: Any,
    chunk_rows: int,
    types: dict | None = None,
    layout: Mapping[str, str] = MappingProxyType({}),
    na_values: Any = None,
) -> Iterator[Frame]:
    """Yield the chunks that have rows; ValueError if there is none."""
    pieces: Iterable[Any]
    if is_path(source) and not is_csv(table_files(source, layout.get("sep"))[0]):
        pieces, _ = open_chunks(source, chunk_rows, 0, na_values)
    elif is_iterator(source) and not hasattr(source, "read"):
        pieces = align_columns(source)
    else:  # numbers are parsed from each chunk, the labels of all chunks have one type
        pieces = align_columns(_parse(source, chunk_rows, types, layout, na_values))
    empty = True
    for piece in pieces:
        if piece.n_rows:
            empty = False
            yield piece
    if empty:
        holder = f"{source}" if is_path(source) else "the stream"
        raise ValueError(f"{holder} has columns but no row (0 samples): give at least one row")


def _parse(
    source: Any, chunk_rows: int, types: dict | None, layout: Mapping[str, str], na_values: Any
) -> Iterator[pd.DataFrame]:
    options = {"layout": find_layout(source, **layout), "na_values": na_values}
    yield from read_csv_pieces(source, chunk_rows, dtype=types, **options)

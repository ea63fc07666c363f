"""The opening of any accepted input as a discrete or a numeric table or as columns; the package has a drawing."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from pgmx.atomic import replace_file
from pgmx.checks import check_missing_option, check_natural, check_path, check_rows, join_names
from pgmx.data.chunk_coder import code_chunks, code_chunks_to_file
from pgmx.data.declared_states import check_discrete_columns, check_state_names, list_discrete_columns
from pgmx.data.errors import ContinuousColumnsError
from pgmx.data.files.plane_file import PLANE_SUFFIX, open_table, write_coded
from pgmx.data.files.readers import (
    CHUNK_ROWS,
    explain_unreadable,
    has_continuous_columns,
    is_chunked,
    is_csv,
    is_path,
    join_frames,
    open_chunks,
    read_whole,
)
from pgmx.data.frame import CODED_ALREADY, Frame, open_chunk, open_columns, open_rows
from pgmx.data.numeric import NUMERIC_MISSING, NumericTable, make_numeric_table, read_numeric_table
from pgmx.data.table import DiscreteTable
from pgmx.data.weights import number_cells

#: Kinds of opened tables, see `_open`.
Kind = Literal["discrete", "numeric", "columns", "any"]


def _open(
    X: Any,
    kind: Kind,
    *,
    state_names: Mapping | None = None,
    missing: str = "error",
    na_values: Any = None,
    discrete_columns: Sequence[Hashable] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Open any input; the public functions of this module are its kinds, and document the options.

    Return a DiscreteTable ("discrete"), a NumericTable ("numeric") or a Frame ("columns"); "any" is a DiscreteTable for
    coded inputs and for chunks of discrete columns, else a Frame. Options that do not concern an input are ignored.
    """
    if kind == "numeric":
        check_missing_option(missing, NUMERIC_MISSING, " for a numeric table")
    if isinstance(X, pd.DataFrame):  # first, and without a reader: the usual input, and the test of paths is slow
        frame = Frame.from_pandas(X).check_shape()
    elif isinstance(X, Frame):
        frame = X
    elif isinstance(X, DiscreteTable) or is_plane_file(X):
        return _take_coded(X, kind, state_names, missing, discrete_columns)
    elif isinstance(X, NumericTable):
        return _take_numeric(X, kind, missing)
    elif is_chunked(X):
        options = {"state_names": state_names, "missing": missing, "n_jobs": n_jobs}
        return _read_chunks(X, kind, options | {"na_values": na_values, "discrete_columns": discrete_columns})
    else:
        frame = open_columns(X)
    if kind == "numeric":
        return make_numeric_table(frame, missing, X)
    frame = frame.declare_discrete(discrete_columns)
    if kind == "discrete":
        return frame.encode(state_names=state_names, missing=missing, n_jobs=n_jobs)
    return frame


def _take_coded(
    X: Any, kind: Kind, state_names: Mapping | None, missing: str, discrete_columns: Sequence[Hashable] | None
) -> DiscreteTable:
    """Return a coded table, or map a plane file; its states must be the declared ones."""
    if kind == "numeric":
        raise TypeError(f"{X!r} holds coded states, not numbers: give the table that it was coded from")
    if kind == "columns":
        raise TypeError(f"{X} is already coded: open it with pgmx.data.open_table" if is_path(X) else CODED_ALREADY)
    check_missing_option(missing)
    table = X if isinstance(X, DiscreteTable) else open_table(X)
    check_discrete_columns(discrete_columns, table.columns)
    for name, declared in check_state_names(state_names or {}, table.columns).items():
        states = table.states[table.index(name)]
        if states != declared:
            raise ValueError(
                f"the table is already coded, with the states {join_names(states)} for {name!r}: give state_names "
                "when it is coded"
            )
    return table


def _take_numeric(X: NumericTable, kind: Kind, missing: str) -> NumericTable:
    """Return a numeric table, which must have been opened with the same option `missing`, or be complete."""
    if kind != "numeric":
        raise TypeError(
            f"{X!r} is a numeric table for Gaussian graphical models, and discrete columns or rows in memory are "
            "needed here: give the table that it was made from, with discrete_columns=[...] for discrete columns"
        )
    if X.missing != missing and not X.is_complete:
        raise ValueError(f"the table was opened with missing={X.missing!r}, got missing={missing!r}")
    return X


def _read_chunks(X: Any, kind: Kind, options: dict[str, Any]) -> Any:
    """Open a file, a folder of Parquet files or an iterator; `options` are those of `encode`."""
    if kind == "numeric":
        return read_numeric_table(X, options["missing"], options["na_values"])
    if kind == "columns":
        return _read_columns(X, options["na_values"])
    if kind == "discrete":
        return code_chunks(X, **options)
    discrete = options["discrete_columns"]
    if is_path(X):
        path = Path(X)
        # a Parquet file names its types in the schema, so that continuous columns cost no pass over the rows
        if is_csv(path) or not has_continuous_columns(path, list_discrete_columns(discrete)):
            try:
                return code_chunks(path, **options)
            except ContinuousColumnsError:  # the types of a CSV file are unknown until it is read
                pass
        return _read_columns(path, options["na_values"]).declare_discrete(discrete)
    # an iterator can be read once: its first frame decides
    first = next(X, None)
    if first is not None and open_chunk(first).declare_discrete(discrete).list_known_floats():
        return join_frames(first, X).declare_discrete(discrete)
    return code_chunks(chain([] if first is None else [first], X), **options)


def _read_columns(X: Any, na_values: Any) -> Frame:
    """Return all rows of files or of an iterator as columns in memory."""
    if not is_path(X):
        return join_frames(next(X, None), X)
    frame = Frame.from_pandas(read_whole(Path(X), na_values=na_values))
    check_rows(frame.n_rows, frame.n_columns, X)
    with explain_unreadable(Path(X)):
        return frame.check_shape()


def is_plane_file(X: Any) -> bool:
    """Return whether an input is the path of a plane file."""
    return is_path(X) and Path(X).suffix.lower() == PLANE_SUFFIX


# ---- the kinds of opened tables ----


def encode(
    X: Any,
    *,
    state_names: Mapping | None = None,
    missing: str = "error",
    na_values: Any = None,
    discrete_columns: Sequence[Hashable] | None = None,
    n_jobs: int | None = None,
) -> DiscreteTable:
    """Code a table of discrete variables.

    Parameters
    ----------
    X : table, array_like of shape (n_rows, n_columns), list of rows, DiscreteTable, path, or iterator of frames
        The data, for example a pandas, polars or Arrow table, never changed. The columns of an array are named x0, x1,
        ... A DiscreteTable is returned as it is, a plane file (.pgmx) opened. A CSV or Parquet file, a folder of
        Parquet files (read in the order of their names) or an iterator of frames may be larger than memory: it is
        coded in one pass to a temporary plane file, which is deleted together with the table that is mapped from it.
    state_names : mapping of column name to sequence of states, optional
        States and their order for some or all columns, and states that do not occur in the data.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        How missing values (None, NaN, NA, NaT) are handled. "error": raise, naming the columns. "drop": leave out
        their rows. "category": add one more state to their column, the last, named "missing" ("missing_1", ... if a
        state has that name). "pairwise": the same coding, and `DiscreteTable.missing_codes` holds the code of that
        state, so that scores can leave those rows out family by family.
    na_values : scalar, str, list-like or dict, optional
        Further values that are missing, for a CSV file, as for `read_table`.
    discrete_columns : sequence of column names, optional
        Columns that are discrete although they hold numbers, floating-point columns too. Their states are the distinct
        values: integers if all of them are whole (1 and 2 of 1.0, NaN, 2.0), else floating-point numbers. The option
        changes nothing for columns of other types.
    n_jobs : int, optional
        Threads over the columns of a table of at least 4 million values; None means 1, as in joblib. The result does
        not depend on it.

    Returns
    -------
    DiscreteTable
        The coded table, in memory or mapped from a file.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no Parquet file in the folder.
    TypeError
        If the input is not a table, a column holds dates or another type that cannot be a state, or a value is
        unhashable.
    ValueError
        If the table is empty or has one row, a column name occurs twice, a floating-point column is not among
        `discrete_columns`, values are missing, a state is not declared in `state_names`, a column has more than 65535
        states, an option names a column that does not exist, chunks have different columns, or a file cannot be read.

    Warns
    -----
    UserWarning
        If a column has more states than ``max(20, n_rows / 20)``, or if a CSV file has values that look like markers of
        missing values, see `read_table`.

    Notes
    -----
    The states of a categorical column (pandas category, polars Enum, Arrow dictionary) are its categories in their
    declared order, also those that never occur. The states of any other column are its sorted distinct values (integers
    by value, False before True, strings by code point, mixed types by type name and text). They are Python objects.

    Each column is read once or twice. A value takes about 1 ns for categories and small integers, 3 to 5 ns for
    strings. A table in chunks gives the same result as the whole table, for any chunk size; declared categories of the
    chunks are merged in the order of the chunks. Coding in chunks needs the memory of one chunk, whatever the number of
    rows, and a byte per value in each of two files in the folder for temporary files (``tempfile.gettempdir()``).

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.data import encode
    >>> table = encode(pd.DataFrame({"rain": [False, True, True], "sky": ["blue", "grey", "blue"]}))
    >>> table.states
    ((False, True), ('blue', 'grey'))
    >>> table.codes
    array([[0, 1, 1],
           [0, 1, 0]], dtype=uint8)
    """
    options: dict[str, Any] = {"na_values": na_values, "discrete_columns": discrete_columns, "n_jobs": n_jobs}
    return _open(X, "discrete", state_names=state_names, missing=missing, **options)


def open_any(
    X: Any,
    *,
    state_names: Mapping | None = None,
    missing: str = "error",
    na_values: Any = None,
    discrete_columns: Sequence[Hashable] | None = None,
    n_jobs: int | None = None,
) -> DiscreteTable | Frame:
    """Open data for a learner: as a coded table if possible, else as columns.

    Parameters
    ----------
    X : any input of `encode`
        The data; also a file or an iterator with floating-point columns. An iterator is used up.
    state_names : mapping of column name to sequence of states, optional
        As for `encode`, if the data are coded here.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        As for `encode`, if the data are coded here.
    na_values : scalar, str, list-like or dict, optional
        As for `encode`.
    discrete_columns : sequence of column names, optional
        As for `encode`; columns in memory keep it as their attribute `discrete`.
    n_jobs : int, optional
        As for `encode`.

    Returns
    -------
    DiscreteTable or Frame
        A coded table for a DiscreteTable, a plane file, and a file, folder or iterator with discrete columns only.
        Columns for a table in memory, for a file with floating-point columns, and for an iterator whose first frame
        has some. Such files and iterators are read whole.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        As `encode` and `open_frame` do.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import open_any
    >>> open_any(iter([np.array([[0, 1], [1, 1]])]))
    DiscreteTable(2 variables, 2 rows, 3 states, uint8)
    >>> open_any(iter([np.array([[0.5, 1.5], [1.5, 2.5]])])).float_columns
    ('x0', 'x1')
    """
    options: dict[str, Any] = {"na_values": na_values, "discrete_columns": discrete_columns, "n_jobs": n_jobs}
    return _open(X, "any", state_names=state_names, missing=missing, **options)


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
    return _open(X, "numeric", missing=missing, na_values=na_values)


def open_frame(X: Any, *, na_values: Any = None) -> Frame:
    """Open a table of any accepted kind as columns in memory.

    Parameters
    ----------
    X : pandas, polars or Arrow table, array_like of shape (n_rows, n_columns), list of rows, path or iterator of frames
        The data, never changed. A Frame is returned as it is. A file, a folder of Parquet files or an iterator is read
        whole.
    na_values : scalar, str, list-like or dict, optional
        As for `encode`.

    Returns
    -------
    Frame
        The table as columns. It refers to the memory of `X`: use it at once, do not keep it.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError
        If the input is not a table, or is already coded.
    ValueError
        If it is not two-dimensional, is empty, has one row, or a column name occurs twice.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import open_frame
    >>> frame = open_frame(np.array([[0.5, 1.0], [0.25, np.nan]]))
    >>> frame.names, frame.float_columns, frame.missing_columns()
    (('x0', 'x1'), ('x0', 'x1'), ('x1',))
    """
    return _open(X, "columns", na_values=na_values)


def split_column(opened: Any, name: Hashable, option: str) -> tuple[tuple[np.ndarray, list], Any]:
    """Return a column of opened data as `number_cells` does, and the data without it; `option` names the column."""
    names = list(opened.names)
    if name not in names:
        raise ValueError(f"{option}={name!r} is not a column of the data: {join_names(names)}")
    at = names.index(name)
    others = names[:at] + names[at + 1 :]
    if isinstance(opened, Frame):
        return number_cells(opened.columns[at]), opened.take_columns(others)
    if not isinstance(opened, DiscreteTable):
        raise ValueError(
            f"{option}={name!r} names a column, but {opened!r} is numeric: give fit(X, {option}=frame), a frame of "
            "booleans for all rows, and distribute the other columns"
        )
    states = list(opened.states[at])
    if opened.missing_codes[at] >= 0:
        states[opened.missing_codes[at]] = None
    codes, rest = opened._split_column(at)
    return (codes, states), rest


# ---- data for scores ----


def open_for_scores(
    X: Any, kind: Kind = "any", *, discrete_columns: Sequence[Hashable] | None = None, **options: Any
) -> Any:
    """Open data as `open_any` or `open_frame` does; return a numeric table that is distributed or has views as it is.

    Scores of continuous columns need only sums over its rows. The table has no columns that could be declared discrete.
    """
    if not (isinstance(X, NumericTable) and (X.is_remote or X.has_views)):
        return _open(X, kind, discrete_columns=discrete_columns, **options)
    names = check_discrete_columns(discrete_columns, X.names)
    if names:
        raise ValueError(
            f"discrete_columns names {join_names(sorted(names, key=X.names.index))}, but {X!r} has continuous "
            "columns: give discrete_columns to distribute, or rows in memory"
        )
    return X


# ---- rows for fitted models ----


def open_new_rows(X: Any, kind: Literal["numeric", "columns"]) -> Any:
    """Open rows for a fitted model, any number of them: a table of its kind as it is, others and iterators as columns.

    Files with words are opened by `open_new_chunks`, since the model knows the types of their columns.
    """
    if isinstance(X, Frame) or (kind == "numeric" and isinstance(X, NumericTable)):
        return X
    if is_path(X):
        return _open(X, kind, missing="pairwise")
    return join_frames(next(X, None), X, open_rows) if is_chunked(X) else open_chunk(X)


def open_new_chunks(X: Any) -> tuple[Iterator[Frame | DiscreteTable], bool]:
    """Open rows of discrete columns for a fitted model, any number of them, in chunks.

    Return chunks with the same columns, and whether they come from a file, in which states are text or numbers: the
    type of a state is lost in many formats. Tables in memory and coded ones are one chunk.
    """
    if is_plane_file(X):
        return iter([open_table(X)]), True
    if is_chunked(X):
        return open_chunks(X, CHUNK_ROWS, fewest=0)[0], is_path(X)
    if isinstance(X, NumericTable):
        _take_numeric(X, "discrete", X.missing)  # raises
    return iter([X if isinstance(X, DiscreteTable) else open_rows(X)]), False


def to_columns(table: NumericTable) -> Frame:
    """Return all rows of a numeric table as columns in memory."""
    return open_frame(pd.DataFrame(table.rows(), columns=pd.Index(table.names, tupleize_cols=False), copy=False))


def open_rows_to_score(X: Any) -> Any:
    """Return rows in memory as columns, one row is enough for a fitted model; return any other input as it is."""
    if isinstance(X, Frame | DiscreteTable | NumericTable) or is_chunked(X):
        return X
    frame = open_rows(X)
    check_rows(frame.n_rows, frame.n_columns, least=1)
    return frame


# ---- writing ----


def write_table(
    X: Any,
    path: str | PathLike[str],
    *,
    state_names: Mapping | None = None,
    missing: str = "error",
    na_values: Any = None,
    discrete_columns: Sequence[Hashable] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    n_jobs: int | None = None,
) -> DiscreteTable:
    """Code a table into a plane file, which `open_table` maps into memory.

    Parameters
    ----------
    X : any input of `encode`
        The data.
    path : str or path-like
        The file to write, with the suffix .pgmx. An existing file is replaced at once when the new one is complete.
    state_names : mapping of column name to sequence of states, optional
        As for `encode`.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        As for `encode`.
    na_values : scalar, str, list-like or dict, optional
        As for `encode`.
    discrete_columns : sequence of column names, optional
        As for `encode`.
    chunk_rows : int, default=65536
        Rows of a file that are read at a time, fewer for tables of more than 128 columns. The result does not depend on
        it.
    n_jobs : int, optional
        As for `encode`.

    Returns
    -------
    DiscreteTable
        The table, mapped from the file.

    Raises
    ------
    FileNotFoundError
        If the input or the folder of `path` does not exist.
    TypeError, ValueError
        As `encode` does; if the suffix is not .pgmx, or a name or a state is not a string, number, boolean, None or a
        tuple of these.

    Notes
    -----
    The file takes a byte per value (two if a variable has more than 255 states) and an eighth of a byte for each row
    and state. While it is written, an unnamed file in the same folder takes as much again as the codes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from pgmx.data import write_table
    >>> chunks = (np.array([[0, 1], [1, k]]) for k in range(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = write_table(chunks, pathlib.Path(folder, "chunks.pgmx"))
    >>> table.states, table.n_rows
    (((0, 1), (0, 1, 2)), 6)
    """
    path = check_path(path)
    if path.suffix.lower() != PLANE_SUFFIX:
        raise ValueError(f"{path} must have the suffix {PLANE_SUFFIX}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.absolute().parent}")
    chunk_rows = check_natural(chunk_rows, "chunk_rows", 1)
    options: dict[str, Any] = {"state_names": state_names, "missing": missing, "n_jobs": n_jobs}
    options |= {"na_values": na_values, "discrete_columns": discrete_columns}
    with replace_file(path) as part:
        if is_chunked(X) and not is_plane_file(X):
            code_chunks_to_file(X, part, chunk_rows=chunk_rows, **options)
        else:
            write_coded(encode(X, **options), part)
        table = open_table(part)  # before another process may replace it
    assert table._mapping is not None
    # it was mapped under the temporary name
    table._mapping.path = path.absolute()
    return table

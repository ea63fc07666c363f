"""The functions that open data: any accepted table becomes a coded table or columns."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from pgmx.atomic import replace_file
from pgmx.checks import check_natural, check_path, join_names
from pgmx.data.chunk_coder import stream_to_file, stream_to_table
from pgmx.data.columns import check_discrete_columns, check_state_names, list_discrete_columns
from pgmx.data.errors import FloatColumnsError
from pgmx.data.numeric import NumericTable
from pgmx.data.plane_file import PLANE_SUFFIX, open_table, write_coded
from pgmx.data.readers import (
    CHUNK_ROWS,
    explain_unreadable,
    is_csv,
    is_iterator,
    is_path,
    join_frames,
    open_piece,
    open_rows,
    open_source,
    parquet_has_floats,
    read_whole,
)
from pgmx.data.table import DiscreteTable, Frame, check_missing_option, check_rows


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
    if isinstance(X, Frame | pd.DataFrame):
        frame = open_frame(X).declare_discrete(discrete_columns)
        return frame.encode(state_names=state_names, missing=missing, n_jobs=n_jobs)
    if isinstance(X, DiscreteTable) or _is_plane_file(X):
        check_missing_option(missing)
        table = X if isinstance(X, DiscreteTable) else open_table(X)
        check_discrete_columns(discrete_columns, table.columns)
        return _check_declared(table, state_names)
    if is_path(X) or is_iterator(X):
        options: dict[str, Any] = {"na_values": na_values, "discrete_columns": discrete_columns}
        return stream_to_table(X, state_names=state_names, missing=missing, n_jobs=n_jobs, **options)
    frame = open_frame(X).declare_discrete(discrete_columns)
    return frame.encode(state_names=state_names, missing=missing, n_jobs=n_jobs)


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
        if _is_plane_file(X) or not (is_path(X) or is_iterator(X)):
            write_coded(encode(X, **options), part)
        else:
            stream_to_file(X, part, chunk_rows=chunk_rows, **options)
        table = open_table(part)  # before another process may replace it
    assert table._mapping is not None
    table._mapping.path = path.absolute()
    return table


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
    if isinstance(X, pd.DataFrame):
        return open_frame(X).declare_discrete(discrete_columns)
    options: dict[str, Any] = {"state_names": state_names, "missing": missing, "n_jobs": n_jobs}
    options |= {"na_values": na_values, "discrete_columns": discrete_columns}
    if isinstance(X, DiscreteTable) or _is_plane_file(X):
        return encode(X, **options)
    if is_path(X):
        path = Path(X)
        if is_csv(path) or not parquet_has_floats(path, list_discrete_columns(discrete_columns)):
            try:
                return stream_to_table(path, **options)
            except FloatColumnsError:  # the types of a CSV file are unknown until it is read
                pass
        return open_frame(path, na_values=na_values).declare_discrete(discrete_columns)
    if is_iterator(X):
        first = next(X, None)
        if first is not None and open_piece(first).declare_discrete(discrete_columns).list_known_floats():
            return join_frames(first, X).declare_discrete(discrete_columns)
        return stream_to_table(chain([] if first is None else [first], X), **options)
    return open_frame(X).declare_discrete(discrete_columns)


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
    if isinstance(X, Frame):
        return X
    if isinstance(X, pd.DataFrame):
        return Frame.from_pandas(X).check_shape()
    if isinstance(X, NumericTable):
        raise TypeError(
            f"{X!r} is a numeric table for Gaussian graphical models, and discrete columns or rows in memory are "
            "needed here: give the table that it was made from, with discrete_columns=[...] for discrete columns"
        )
    if _is_plane_file(X):
        raise TypeError(f"{X} is already coded: open it with pgmx.data.open_table")
    if is_path(X):
        frame = Frame.from_pandas(read_whole(Path(X), na_values=na_values))
        check_rows(frame.n_rows, frame.n_columns, X)
        with explain_unreadable(Path(X)):
            return frame.check_shape()
    if is_iterator(X):
        first = next(X, None)
        return join_frames(first, X)
    return open_source(X)


def open_rows_to_score(X: Any) -> Any:
    """Return rows in memory as columns, one row is enough for a fitted model; return any other input as it is."""
    if isinstance(X, Frame | DiscreteTable | NumericTable) or is_path(X) or is_iterator(X):
        return X
    frame = open_rows(X)
    check_rows(frame.n_rows, frame.n_columns, least=1)
    return frame


def _is_plane_file(X) -> bool:
    return is_path(X) and Path(X).suffix.lower() == PLANE_SUFFIX


def _check_declared(table: DiscreteTable, state_names: Mapping | None) -> DiscreteTable:
    """Return a coded table whose states must be the declared ones."""
    if state_names is None:
        return table
    for name, declared in check_state_names(state_names, table.columns).items():
        states = table.states[table.index(name)]
        if states != declared:
            raise ValueError(
                f"the table is already coded, with the states {join_names(states)} for {name!r}: give state_names "
                "when it is coded"
            )
    return table

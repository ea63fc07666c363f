"""Accepted inputs: every kind of table as a frame, without a copy of the data."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import join_names
from pgmx.data.frame import Frame
from pgmx.data.table import DiscreteTable

ACCEPTED = "a pandas, polars or Arrow table, a 2-D numpy array, or a list of rows"
ACCEPTED_PIECES = "pandas, polars or Arrow tables, record batches or 2-D numpy arrays"


def open_source(X) -> Frame:
    """Return the columns of an input, neither copied nor changed; the columns of an array are named x0, x1, ...

    Raise TypeError if this kind of input is not accepted, ValueError if it is not two-dimensional, has no columns,
    fewer than two rows, or a column name that occurs twice.
    """
    return _split_columns(X).check_shape()


def open_piece(X) -> Frame:
    """Return the columns of a chunk of a table, which may have any number of rows; raises as `open_source` does."""
    if isinstance(X, (list, tuple)):
        raise TypeError(f"an iterator must give tables ({ACCEPTED_PIECES}), got a {type(X).__name__}")
    return open_rows(X)


def open_rows(X) -> Frame:
    """Return the columns of an input as `open_source` does, which may have any number of rows."""
    frame = X if isinstance(X, Frame) else _split_columns(X)
    return frame.check_shape(is_piece=True)


def _split_columns(X) -> Frame:
    """Return the columns of an input, by its type."""
    if isinstance(X, pd.DataFrame):
        return Frame.from_pandas(X)
    if isinstance(X, np.ndarray):
        return _from_array(X)
    if isinstance(X, (pa.Table, pa.RecordBatch)):
        return _from_arrow(X)
    if isinstance(X, pd.Series):
        raise ValueError(f"Expected 2D array, got 1D array instead: the Series {X.name!r}. Use X.to_frame()")
    if isinstance(X, (list, tuple)):
        return _from_rows(X)
    _refuse(X)
    return _from_protocol(X)


def _refuse(X):
    """Raise for inputs that look like tables but are not tables."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        raise TypeError(f"sparse input is not supported, got {type(X).__name__}: use X.toarray()")
    if isinstance(X, DiscreteTable):
        raise TypeError("a DiscreteTable is already coded: use it as it is")
    if isinstance(X, dict):
        raise TypeError("a dict is not a table: use pandas.DataFrame(X)")
    if isinstance(X, (str, bytes)):
        raise TypeError(f"expected {ACCEPTED}, got {X!r}: give a path alone, not among tables")


def _from_array(X) -> Frame:
    """Return the columns of a numpy array."""
    if X.dtype.names is not None:
        raise ValueError("a structured array is not a 2-D table: use pandas.DataFrame(X)")
    if X.ndim != 2:
        got = "scalar" if X.ndim == 0 else f"{X.ndim}D"
        raise ValueError(
            f"Expected 2D array, got {got} array instead (shape={X.shape}). Reshape your data to rows and columns, for "
            "example with X.reshape(-1, 1) for a single column"
        )
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported (dtype={X.dtype}): use the real and imaginary parts as columns")
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    if isinstance(X, np.ma.MaskedArray):
        masked = np.atleast_1d(np.ma.getmaskarray(X).any(axis=0))
        if masked.any():
            culprits = [name for name, mask in zip(names, masked, strict=True) if mask]
            raise ValueError(
                f"masked values in column(s) {join_names(culprits)}: pandas.DataFrame(X) makes them missing values"
            )
    X = np.asarray(X)
    block = X if X.dtype.kind in "iub" and X.size else None
    return Frame(names, [X[:, j] for j in range(X.shape[1])], X.shape[0], block)


def _from_rows(rows) -> Frame:
    """Return the columns of a list of rows; the values remain the same Python objects."""
    if len(rows) and len(getattr(rows[0], "shape", ())) == 2 and not isinstance(rows[0], np.ndarray):
        raise TypeError(
            f"a {type(rows).__name__} of tables is not a table: iter(X) reads them one after the other, as one table"
        )
    try:
        cells = np.array(rows, dtype=object)
    except ValueError as error:
        raise ValueError(f"the rows do not form a 2-D table: {error}") from error
    if cells.ndim == 1 and len(cells):
        lengths = sorted({len(row) for row in rows if isinstance(row, (list, tuple, np.ndarray))})
        if len(lengths) > 1:
            raise ValueError(
                f"the rows have different lengths, {join_names(lengths)}: give every row one value per column"
            )
        if isinstance(rows[0], dict):
            raise TypeError("a list of dicts is not a table: use pandas.DataFrame(X)")
    return _from_array(cells)


def _from_arrow(X) -> Frame:
    """Return the columns of an Arrow table."""
    table = X if isinstance(X, pa.Table) else pa.table(X)
    return Frame(tuple(table.column_names), list(table.columns), table.num_rows)


def _from_protocol(X) -> Frame:
    """Return the columns of an object that narwhals, the Arrow stream protocol or numpy can read."""
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(frame, nw.Series):
        raise ValueError(f"Expected 2D array, got 1D array instead: the Series {frame.name!r}. Use X.to_frame()")
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{type(X).__name__} is lazy: collect it first, for example with X.collect()")
    if isinstance(frame, nw.DataFrame):
        if frame.implementation.is_pandas():
            return _split_columns(frame.to_native())
        opaque = [name for name, dtype in frame.schema.items() if dtype == nw.Object]
        if opaque:
            raise TypeError(f"column(s) {join_names(opaque)} hold Python objects: cast them to strings or integers")
        wide = [name for name, dtype in frame.schema.items() if dtype in (nw.Int128, nw.UInt128)]
        if wide:
            raise ValueError(f"column(s) {join_names(wide)} hold integers of 128 bits: cast them to Int64 or strings")
        if frame.implementation.is_polars():
            # The codes of a Categorical depend on all strings that polars has met: not an order that a user stated.
            names = [name for name, dtype in frame.schema.items() if dtype == nw.Categorical]
            frame = frame.with_columns(nw.col(name).cast(nw.String) for name in names) if names else frame
        return _from_arrow(frame.to_arrow())
    if hasattr(X, "__arrow_c_stream__"):
        try:
            return _from_arrow(pa.table(X))
        except pa.ArrowInvalid as error:
            raise ValueError(f"Expected 2D array: the Arrow stream is not a table ({error})") from error
    if hasattr(X, "__array__"):
        return _from_array(np.asarray(X))
    raise TypeError(f"expected {ACCEPTED}, got {type(X).__name__}")

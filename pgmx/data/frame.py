"""Tables in memory as columns: `Frame`, and how an accepted table of any library becomes one, without a copy."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import check_known_names, check_missing_option, check_rows, join_names
from pgmx.data.columns import (
    CodedColumn,
    add_missing_state,
    code_columns,
    code_observed,
    column_kind,
    copy_floats,
    find_missing,
    is_float_column,
    read_floats,
    take_rows,
    unwrap_array,
    warn_of_many_states,
    widen_codes,
)
from pgmx.data.declared_states import check_discrete_columns, check_state_names, recode_column
from pgmx.data.errors import MissingValuesError, check_rows_left, refuse_continuous, refuse_infinite
from pgmx.data.table import DiscreteTable

#: Phrases of error messages; they name the accepted types.
ACCEPTED = "a pandas, polars or Arrow table, a 2-D numpy array, or a list of rows"
_ACCEPTED_CHUNKS = "pandas, polars or Arrow tables, record batches or 2-D numpy arrays"
CODED_ALREADY = "a DiscreteTable is already coded: use it as it is"


class Frame:
    """A table of any accepted kind, as columns; made by `open_frame`.

    Parameters
    ----------
    names : tuple
        Distinct column names.
    columns : list
        One 1-D numpy array, pandas extension array or Arrow chunked array per column.
    n_rows : int
        Number of rows.
    block : ndarray of int or bool, shape (n_rows, n_columns), optional
        All columns as one array.
    discrete : frozenset, optional
        Names of the discrete columns that hold numbers, see `declare_discrete`.

    Attributes
    ----------
    names : tuple
        Column names in order.
    columns : list
        The columns as they were given.
    n_rows, n_columns : int
        Shape of the table.
    discrete : frozenset
        Names of the columns that were declared discrete.
    float_columns : tuple
        Names of the floating-point columns (in a float dtype or as Python objects) that were not declared discrete.
    """

    #: Whether the rows are on the workers of a cluster, as in distributed tables.
    is_remote = False

    def __init__(
        self,
        names: tuple,
        columns: list,
        n_rows: int,
        block: np.ndarray | None = None,
        discrete: frozenset = frozenset(),
    ):
        self.names = names
        self.n_rows = n_rows
        self.n_columns = len(names)
        self.columns = columns
        self.discrete = discrete
        self._block = block

    @classmethod
    def from_pandas(cls, X: pd.DataFrame) -> Frame:
        """Return the columns of a pandas frame, which are neither copied nor changed."""
        # The public methods to access a column take ten times as long, which matters for wide frames.
        arrays = X._iter_column_arrays() if hasattr(X, "_iter_column_arrays") else (s.array for _, s in X.items())
        columns = [values if isinstance(values, np.ndarray) else unwrap_array(values) for values in arrays]
        return cls(tuple(X.columns), columns, len(X))

    def check_shape(self, *, is_chunk: bool = False) -> Frame:
        """Return the frame itself; ValueError if it has no columns, equal names, or, as a whole, under two rows."""
        if not self.names:
            raise ValueError(
                f"0 feature(s) (shape=({self.n_rows}, 0)) while a minimum of 1 is required: the table has no columns"
            )
        if not is_chunk:
            check_rows(self.n_rows, self.n_columns)
        check_known_names(self.names)
        if len(set(self.names)) < len(self.names):
            twice = [name for name, count in Counter(self.names).items() if count > 1]
            raise ValueError(
                f"duplicate column name(s) {join_names(twice)}: rename or drop the columns that repeat a name"
            )
        return self

    def declare_discrete(self, discrete_columns: Iterable[Hashable] | None) -> Frame:
        """Return the table with further columns declared discrete; the data are not copied.

        Parameters
        ----------
        discrete_columns : iterable of hashable or None
            Names of columns. The distinct values of a floating-point column become its states, see `pgmx.data.encode`.

        Returns
        -------
        Frame
            The table itself if no name is given.

        Raises
        ------
        TypeError, ValueError
            If the names are not a list, or one is not a column.
        """
        added = check_discrete_columns(discrete_columns, self.names) - self.discrete
        if not added:
            return self
        return Frame(self.names, self.columns, self.n_rows, self._block, self.discrete | added)

    def declare_continuous(self, columns: Iterable[Hashable]) -> Frame:
        """Return the table with integer columns as floating-point ones, missing values as NaN.

        Parameters
        ----------
        columns : iterable of hashable
            Names of columns. Columns of other types, and those declared discrete, stay as they are.

        Returns
        -------
        Frame
            The table itself if none of the columns holds integers.
        """
        wanted = set(columns) - self.discrete
        at = [
            v
            for v, (name, values) in enumerate(zip(self.names, self.columns, strict=True))
            if name in wanted and column_kind(values) == "integer"
        ]
        if not at:
            return self
        floats = list(self.columns)
        for v in at:
            floats[v] = read_floats(floats[v])
        return Frame(self.names, floats, self.n_rows, discrete=self.discrete)

    def add_discrete(self, name: Hashable, codes: np.ndarray, states: Sequence) -> Frame:
        """Return the table with a further discrete column, last, with these states in this order.

        Parameters
        ----------
        name : hashable
            A new name.
        codes : ndarray of int, shape (n_rows,)
            Positions in `states`.
        states : sequence
            Distinct values.

        Returns
        -------
        Frame
            A new table; the columns are not copied.
        """
        column = pd.Categorical.from_codes(codes, pd.Index(states, tupleize_cols=False))
        return Frame((*self.names, name), [*self.columns, column], self.n_rows, discrete=self.discrete)

    @cached_property
    def float_columns(self) -> tuple:
        """Names of the floating-point columns, in order."""
        if self._block is not None:
            return ()
        columns = zip(self.names, self.columns, strict=True)
        return tuple(name for name, values in columns if name not in self.discrete and is_float_column(values))

    def list_known_floats(self) -> tuple:
        """Return the names of the floating-point columns with at least one observed value, in order."""
        columns = dict(zip(self.names, self.columns, strict=True))
        masks = {name: find_missing(columns[name]) for name in self.float_columns}
        return tuple(name for name, mask in masks.items() if mask is None or not mask.all())

    def missing_columns(self) -> tuple:
        """Return the names of the columns with missing values, in order."""
        masks = zip(self.names, map(find_missing, self.columns), strict=True)
        return tuple(name for name, mask in masks if mask is not None and mask.any())

    def empty_columns(self) -> tuple:
        """Return the names of the columns in which all values are missing, in order."""
        masks = zip(self.names, map(find_missing, self.columns), strict=True)
        return tuple(name for name, mask in masks if mask is not None and mask.all())

    def encode(
        self, *, state_names: Mapping | None = None, missing: str = "error", n_jobs: int | None = None
    ) -> DiscreteTable:
        """Code the table; see `pgmx.data.encode`.

        Parameters
        ----------
        state_names : mapping of column name to sequence of states, optional
            States and their order for some or all columns.
        missing : {"error", "drop", "category", "pairwise"}, default="error"
            How missing values are handled.
        n_jobs : int, optional
            Threads over the columns; None means 1.

        Returns
        -------
        DiscreteTable
            The coded table.
        """
        check_missing_option(missing)
        declared = {} if state_names is None else check_state_names(state_names, self.names)
        codes = np.empty((self.n_columns, self.n_rows), dtype=np.uint8)
        coded = self.code_columns(codes, n_jobs)
        continuous = [v for v, c in enumerate(coded) if c.obstacle == "float"]
        if continuous:
            refuse_continuous(((self.names[v], read_floats(self.columns[v])) for v in continuous), missing)
        incomplete = [v for v, c in enumerate(coded) if c.obstacle == "missing"]
        if incomplete and missing == "error":
            raise MissingValuesError([self.names[v] for v in incomplete], empty=self.empty_columns())
        if incomplete and missing == "drop":
            # coded again: states that occur in the dropped rows alone must not be states of the table
            return self.enough_complete_rows().encode(state_names=declared, n_jobs=n_jobs)
        for v in incomplete:
            name = self.names[v]
            # the state of missing values is added after the declared states, which do not include it
            coded[v] = code_observed(self.columns[v], codes[v], name, name in self.discrete)
        for v, name in enumerate(self.names):
            if name in declared:
                coded[v] = recode_column(coded[v], codes[v], declared[name], name)
        for v in incomplete:
            coded[v] = add_missing_state(coded[v], codes[v], self.names[v])
        codes = widen_codes(codes, coded)
        states = tuple(c.states for c in coded)
        warn_of_many_states(self.names, states, self.n_rows)
        missing_codes = np.full(self.n_columns, -1)
        if missing == "pairwise":
            missing_codes[incomplete] = [len(states[v]) - 1 for v in incomplete]
        return DiscreteTable._from_parts(self.names, states, codes, missing_codes)

    def to_pandas(self, *, missing: str = "error", integers_as_categories: bool = False) -> pd.DataFrame:
        """Return a new pandas frame for scores that need one.

        Parameters
        ----------
        missing : {"error", "drop"}, default="error"
            Whether a missing value is an error or its row is dropped.
        integers_as_categories : bool, default=False
            Whether integer and boolean columns become categories too.

        Returns
        -------
        pandas.DataFrame
            A copy with a new index: floating-point columns as float64, integer and boolean columns in their numpy
            dtype, all others, and those declared discrete, as category with the states of the coded table.

        Raises
        ------
        ValueError
            If values are missing or infinite; the columns are named.
        TypeError
            If a column is neither numeric nor discrete.
        """
        check_missing_option(missing, ("error", "drop"), " for a numeric table")
        # the usual case of Gaussian scores: one block, which pandas takes without a copy
        if len(self.float_columns) == self.n_columns:
            block = np.empty((self.n_columns, self.n_rows))
            for row, values in zip(block, self.columns, strict=True):
                copy_floats(values, row)
            if np.isfinite(block).all():
                return pd.DataFrame(block.T, copy=False).set_axis(list(self.names), axis=1)
        incomplete = self.missing_columns()
        if incomplete and missing == "error":
            raise MissingValuesError(incomplete, choices=("drop",), empty=self.empty_columns())
        if incomplete:
            return self.enough_complete_rows().to_pandas(integers_as_categories=integers_as_categories)
        numeric = () if integers_as_categories else ("integer", "boolean")
        cells, others = {}, []
        for name, values in zip(self.names, self.columns, strict=True):
            if name in self.float_columns:
                cells[name] = read_floats(values)
            elif name not in self.discrete and column_kind(values) in numeric:
                cells[name] = np.array(values.to_numpy() if hasattr(values, "to_numpy") else values)
            else:
                others.append(name)
        refuse_infinite([name for name in self.float_columns if not np.isfinite(cells[name]).all()])
        if others:
            categories = self.take_columns(others).encode().to_pandas()
            cells.update((name, categories[name]) for name in others)
        return pd.DataFrame({v: cells[name] for v, name in enumerate(self.names)}).set_axis(list(self.names), axis=1)

    def code_columns(self, codes: np.ndarray, n_jobs: int | None = None) -> list[CodedColumn]:
        """Code every column into its row of `codes`, see `columns.code_columns`."""
        return code_columns(self.names, self.columns, codes, discrete=self.discrete, block=self._block, n_jobs=n_jobs)

    def complete_mask(self) -> np.ndarray:
        """Return which rows have no missing value, bool of shape (n_rows,)."""
        keep = np.ones(self.n_rows, dtype=bool)
        for mask in map(find_missing, self.columns):
            if mask is not None:
                keep &= ~mask
        return keep

    def rows(self, keep: np.ndarray) -> Frame:
        """Return the rows for which `keep`, bool of shape (n_rows,), is True; the result may be empty."""
        columns = [take_rows(values, keep) for values in self.columns]
        return Frame(self.names, columns, int(keep.sum()), discrete=self.discrete)

    def take_columns(self, names: Sequence) -> Frame:
        """Return some of the columns, in the order given."""
        columns = dict(zip(self.names, self.columns, strict=True))
        return Frame(tuple(names), [columns[name] for name in names], self.n_rows, discrete=self.discrete)

    def complete_rows(self) -> Frame:
        """Return the rows without missing values; the result may be empty."""
        return self.rows(self.complete_mask())

    def enough_complete_rows(self) -> Frame:
        """Return the rows without missing values, or raise if fewer than two are left."""
        complete = self.complete_rows()
        check_rows_left(complete.n_rows, self.n_rows, self.missing_columns)
        return complete


# ---- tables of pandas, polars, Arrow and numpy, and rows as lists ----


def open_columns(X) -> Frame:
    """Return the columns of an input, neither copied nor changed; the columns of an array are named x0, x1, ...

    Raise TypeError if this kind of input is not accepted, ValueError if it is not two-dimensional, has no columns,
    fewer than two rows, or a column name that occurs twice.
    """
    return _split_columns(X).check_shape()


def open_chunk(X) -> Frame:
    """Return the columns of a chunk of a table, which may have any number of rows; raises as `open_columns` does."""
    if isinstance(X, (list, tuple)):
        # a list would pass as a table, but an iterator over lists gives single rows
        raise TypeError(f"an iterator must give tables ({_ACCEPTED_CHUNKS}), got a {type(X).__name__}")
    return open_rows(X)


def open_rows(X) -> Frame:
    """Return the columns of an input as `open_columns` does, which may have any number of rows."""
    frame = X if isinstance(X, Frame) else _split_columns(X)
    return frame.check_shape(is_chunk=True)


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
    # without this module no input is sparse, and its import takes time
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        raise TypeError(f"sparse input is not supported, got {type(X).__name__}: use X.toarray()")
    if isinstance(X, DiscreteTable):
        raise TypeError(CODED_ALREADY)
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
    # a kernel codes all columns of an integer array in one call
    block = X if X.dtype.kind in "iub" and X.size else None
    return Frame(names, [X[:, j] for j in range(X.shape[1])], X.shape[0], block)


def _from_rows(rows) -> Frame:
    """Return the columns of a list of rows; the values remain the same Python objects."""
    if len(rows) and len(getattr(rows[0], "shape", ())) == 2 and not isinstance(rows[0], np.ndarray):
        raise TypeError(
            f"a {type(rows).__name__} of tables is not a table: iter(X) reads them one after the other, as one table"
        )
    try:
        # objects: an array of one type would turn numeric values among texts into texts
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
    # late: tables of pandas, Arrow and numpy do not need it
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

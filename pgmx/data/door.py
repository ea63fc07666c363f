"""The one door for data: any accepted table in, a coded table or a clean pandas frame out."""

import warnings
from functools import cached_property

import numpy as np
import pandas as pd

from pgmx.data.columns import (
    code_column,
    code_integers,
    column_kind,
    float_cells,
    is_float_column,
    missing_mask,
    take_rows,
)
from pgmx.data.declared import checked_state_names, recoded
from pgmx.data.messages import listed
from pgmx.data.sources import open_source
from pgmx.data.table import DiscreteTable

MISSING_OPTIONS = ("error", "drop")

#: Smaller tables are coded by one thread: starting others takes joblib 12 ms.
THREADED_CELLS = 4_000_000


def encode(X, *, state_names=None, missing="error", n_jobs=None):
    """Code a table of discrete variables.

    Parameters
    ----------
    X : pandas, polars or Arrow table, array_like of shape (n_rows, n_columns), list of rows, or DiscreteTable
        The data, never changed. The columns of an array are named x0, x1, ... A DiscreteTable is returned as it is.
    state_names : mapping of column name to sequence of states, optional
        States and their order for some or all columns, and states that do not occur in the data.
    missing : {"error", "drop"}, default="error"
        Whether a missing cell (None, NaN, NA, NaT) is an error or drops its row.
    n_jobs : int, optional
        Threads over the columns of a table of at least 4 million cells, as in joblib; None means 1. The result does not
        depend on it.

    Returns
    -------
    DiscreteTable
        The coded table.

    Raises
    ------
    TypeError
        If the input is no table, a column holds dates or another type that cannot be a state, or a cell is unhashable.
    ValueError
        If the table is empty or has one row, a column name occurs twice, a column holds floats, cells are missing, a
        state is not declared in `state_names`, or a column has more than 65535 states.

    Warns
    -----
    UserWarning
        If a column has more states than ``max(20, n_rows / 20)``.

    Notes
    -----
    The states of a categorical column (pandas category, polars Enum, Arrow dictionary) are its categories in their
    declared order, also those that never occur; any other column has the sorted distinct values it holds (integers by
    value, False before True, strings by code point, mixed types by type name and text). They are Python objects.

    One to two passes over each column: per cell about 1 ns for categories and small integers, 3 to 5 ns for strings.

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
    if isinstance(X, DiscreteTable):
        _check_missing_option(missing)
        for name, states in checked_state_names(state_names, X.columns).items():
            if X.states[X.index(name)] != states:
                raise ValueError(
                    f"the table is coded already, with the states {listed(X.states[X.index(name)])} for {name!r}: "
                    "give state_names when it is coded"
                )
        return X
    return open_frame(X).encode(state_names=state_names, missing=missing, n_jobs=n_jobs)


def open_frame(X):
    """Open a table of any accepted kind.

    Parameters
    ----------
    X : pandas, polars or Arrow table, array_like of shape (n_rows, n_columns), or list of rows
        The data, never changed. A Frame is returned as it is.

    Returns
    -------
    Frame
        The table behind one face. It refers to the cells of `X`: use it at once, do not keep it.

    Raises
    ------
    TypeError
        If the input is no table.
    ValueError
        If it is not two-dimensional, empty, has one row, or a column name occurs twice.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import open_frame
    >>> frame = open_frame(np.array([[0.5, 1.0], [0.25, np.nan]]))
    >>> frame.names, frame.float_columns, frame.missing_columns()
    (('x0', 'x1'), ('x0', 'x1'), ('x1',))
    """
    return X if isinstance(X, Frame) else Frame(*open_source(X))


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

    Attributes
    ----------
    names : tuple
        Column names in order.
    n_rows, n_columns : int
        Shape of the table.
    float_columns : tuple
        Names of the columns of floats, in a float dtype or as Python objects.
    """

    def __init__(self, names, columns, n_rows, block=None):
        self.names = names
        self.n_rows = n_rows
        self.n_columns = len(names)
        self._columns = columns
        self._block = block

    @cached_property
    def float_columns(self):
        """Names of the columns of floats, in order."""
        if self._block is not None:
            return ()
        return tuple(name for name, values in zip(self.names, self._columns, strict=True) if is_float_column(values))

    def is_float(self, name):
        """Tell whether a column holds floats.

        Parameters
        ----------
        name : hashable
            The column's name.

        Returns
        -------
        bool
            True for a float dtype and for Python objects that are numbers, some of them floats.
        """
        if name not in self.names:
            raise ValueError(f"no column {name!r}: the columns are {listed(self.names)}")
        return name in self.float_columns

    def missing_columns(self):
        """Name the columns with missing cells.

        Returns
        -------
        tuple
            Their names, in order.
        """
        masks = zip(self.names, map(missing_mask, self._columns), strict=True)
        return tuple(name for name, mask in masks if mask is not None and mask.any())

    def encode(self, *, state_names=None, missing="error", n_jobs=None):
        """Code the table; see `pgmx.data.encode`.

        Parameters
        ----------
        state_names : mapping of column name to sequence of states, optional
            States and their order for some or all columns.
        missing : {"error", "drop"}, default="error"
            Whether a missing cell is an error or drops its row.
        n_jobs : int, optional
            Threads over the columns; None means 1.

        Returns
        -------
        DiscreteTable
            The coded table.
        """
        _check_missing_option(missing)
        declared = checked_state_names(state_names, self.names)
        codes = np.empty((self.n_columns, self.n_rows), dtype=np.uint8)
        coded = self._code(codes, n_jobs)
        self._refuse_floats([name for name, c in zip(self.names, coded, strict=True) if c.obstacle == "float"])
        incomplete = [name for name, c in zip(self.names, coded, strict=True) if c.obstacle == "missing"]
        if incomplete and missing == "error":
            _raise_missing(incomplete)
        if incomplete:
            return self._complete_rows().encode(state_names=declared, n_jobs=n_jobs)
        for v, name in enumerate(self.names):
            if name in declared:
                coded[v] = recoded(coded[v], codes[v], declared[name], name)
        codes = _assembled(codes, coded)
        states = tuple(c.states for c in coded)
        _warn_of_many_states(self.names, states, self.n_rows)
        return DiscreteTable._adopt(self.names, states, codes)

    def to_pandas(self, *, missing="error", integers_as_categories=False):
        """Return a new pandas frame for scores that work on one.

        Parameters
        ----------
        missing : {"error", "drop"}, default="error"
            Whether a missing cell is an error or drops its row.
        integers_as_categories : bool, default=False
            Whether integer and boolean columns become categories too.

        Returns
        -------
        pandas.DataFrame
            A copy with a fresh index: float columns as float64, integer and boolean columns in their numpy dtype, all
            others as category with the states of the coded table.

        Raises
        ------
        ValueError
            If cells are missing or infinite; the columns are named.
        TypeError
            If a column is neither of floats nor of states.
        """
        _check_missing_option(missing)
        incomplete = self.missing_columns()
        if incomplete and missing == "error":
            _raise_missing(incomplete)
        if incomplete:
            return self._complete_rows().to_pandas(integers_as_categories=integers_as_categories)
        numeric = () if integers_as_categories else ("integer", "boolean")
        kept, stated = {}, []
        for v, (name, values) in enumerate(zip(self.names, self._columns, strict=True)):
            if name in self.float_columns:
                kept[name] = float_cells(values)
            elif column_kind(values) in numeric:
                kept[name] = np.array(values.to_numpy() if hasattr(values, "to_numpy") else values)
            else:
                stated.append(v)
        infinite = [name for name in self.float_columns if not np.isfinite(kept[name]).all()]
        if infinite:
            raise ValueError(f"infinite cells (inf) in column(s) {listed(infinite)}: replace them or drop their rows")
        if stated:
            part = Frame(tuple(self.names[v] for v in stated), [self._columns[v] for v in stated], self.n_rows)
            categories = part.encode().to_pandas()
            kept.update((name, categories[name]) for name in part.names)
        return pd.DataFrame({v: kept[name] for v, name in enumerate(self.names)}).set_axis(list(self.names), axis=1)

    def _code(self, codes, n_jobs):
        """Code every column into its row of `codes`; errors come in the order of the columns."""
        n_workers = 1
        if n_jobs is not None and n_jobs != 1:
            from joblib import Parallel, delayed, effective_n_jobs

            n_workers = effective_n_jobs(n_jobs)
        if n_workers == 1 or codes.size < THREADED_CELLS:
            return _joined([self._code_range(0, self.n_columns, codes)])
        n_parts = min(4 * n_workers, self.n_columns)
        bounds = [part * self.n_columns // n_parts for part in range(n_parts + 1)]
        tasks = (delayed(self._code_range)(bounds[k], bounds[k + 1], codes) for k in range(n_parts))
        return _joined(Parallel(n_jobs=n_jobs, require="sharedmem")(tasks))

    def _code_range(self, first, stop, codes):
        """Code the columns from `first` to `stop`; return what was coded and the error that ended it, if any."""
        coded = []
        try:
            if self._block is not None:
                coded = code_integers(self._block[:, first:stop], codes[first:stop], self.names[first:stop])
            else:
                for v in range(first, stop):
                    coded.append(code_column(self._columns[v], codes[v], self.names[v]))
        except (TypeError, ValueError) as error:
            return coded, error
        return coded, None

    def _refuse_floats(self, names):
        """Raise when there are columns of floats, with hints that fit their cells."""
        if not names:
            return
        whole, incomplete, infinite = [], [], []
        for name in names:
            cells = float_cells(self._columns[self.names.index(name)])
            known = cells[~np.isnan(cells)]
            if known.size < cells.size:
                incomplete.append(name)
            if not np.isfinite(known).all():
                infinite.append(name)
            elif known.size and (known == np.floor(known)).all():
                whole.append(name)
        notes = (
            ("hold whole numbers only: if they are states, convert them with astype('Int64')", whole),
            ("have missing cells (NaN)", incomplete),
            ("have infinite cells (inf)", infinite),
        )
        hints = "".join(f" Column(s) {listed(found)} {note}." for note, found in notes if found)
        raise ValueError(
            f"float column(s) {listed(names)} in a table of discrete variables: discretise them, for example with "
            f"pandas.qcut, or use a Gaussian score ('bic-g', or 'bic-cg' beside discrete columns).{hints}"
        )

    def _complete_rows(self):
        """Return the rows without missing cells."""
        keep = np.ones(self.n_rows, dtype=bool)
        for mask in map(missing_mask, self._columns):
            if mask is not None:
                keep &= ~mask
        left = int(keep.sum())
        if left < 2:
            raise ValueError(
                f"{left} of {self.n_rows} rows have no missing cell (NaN), at least 2 are needed: leave out columns "
                f"that are mostly missing, or fill them (columns with missing cells: {listed(self.missing_columns())})"
            )
        return Frame(self.names, [take_rows(values, keep) for values in self._columns], left)


def _joined(parts):
    """Put the parts of the coding together, or raise the error of the first column that has one."""
    coded = []
    for part, error in parts:
        if error is not None:
            raise error
        coded += part
    return coded


def _assembled(codes, coded):
    """Widen the codes when some column has more than 255 states."""
    if all(c.codes is None for c in coded):
        return codes
    wide = codes.astype(np.uint16)
    for row, c in zip(wide, coded, strict=True):
        if c.codes is not None:
            row[:] = c.codes
    return wide


def _check_missing_option(missing):
    if missing not in MISSING_OPTIONS:
        raise ValueError(f"missing must be one of {listed(MISSING_OPTIONS)}, got {missing!r}")


def _raise_missing(names):
    raise ValueError(
        f"missing cells (NaN) in column(s) {listed(names)}: pass missing='drop' to leave out the rows that have "
        "them, or fill them first"
    )


def _warn_of_many_states(names, states, n_rows):
    """Warn of columns with more states than ``max(20, n_rows / 20)``."""
    limit = max(20, n_rows / 20)
    many = [f"{name!r} ({len(s)} states)" for name, s in zip(names, states, strict=True) if len(s) > limit]
    if many:
        shown = ", ".join(many[:10]) + (f" and {len(many) - 10} more" if len(many) > 10 else "")
        warnings.warn(
            f"implausibly many states for {n_rows} rows in column(s) {shown}: few rows are left for each state, and "
            "the tables of a network grow with them. Merge rare states, discretise numbers (for example with "
            "pandas.qcut), or drop identifiers",
            UserWarning,
            stacklevel=4,
        )

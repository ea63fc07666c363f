"""A table of any accepted kind as columns, and its coding."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from pgmx.checks import caller_level, check_known_names, count_workers, join_names
from pgmx.data.columns.declared import check_discrete_columns, check_state_names, recode_column
from pgmx.data.columns.kinds import (
    Coded,
    code_column,
    code_integers,
    column_kind,
    copy_floats,
    float_cells,
    is_float_column,
)
from pgmx.data.columns.missing import add_missing_state, code_known_cells, missing_mask, take_rows
from pgmx.data.errors import FloatColumnsError, IncompleteRowsWarning, MissingCellsError, spell_discrete
from pgmx.data.table import DiscreteTable

MISSING_OPTIONS = ("error", "drop", "category", "pairwise")

#: Smaller tables are coded by one thread, since joblib needs 12 ms to start others.
THREADED_CELLS = 4_000_000


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
        columns = [values if isinstance(values, np.ndarray) else _unwrap(values) for values in arrays]
        return cls(tuple(X.columns), columns, len(X))

    def check_shape(self, *, is_piece: bool = False) -> Frame:
        """Return the frame itself; ValueError if it has no columns, equal names, or, as a whole, under two rows."""
        if not self.names:
            raise ValueError(
                f"0 feature(s) (shape=({self.n_rows}, 0)) while a minimum of 1 is required: the table has no columns"
            )
        if not is_piece:
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
        masks = {name: missing_mask(columns[name]) for name in self.float_columns}
        return tuple(name for name, mask in masks.items() if mask is None or not mask.all())

    def missing_columns(self) -> tuple:
        """Return the names of the columns with missing values, in order."""
        masks = zip(self.names, map(missing_mask, self.columns), strict=True)
        return tuple(name for name, mask in masks if mask is not None and mask.any())

    def empty_columns(self) -> tuple:
        """Return the names of the columns in which all values are missing, in order."""
        masks = zip(self.names, map(missing_mask, self.columns), strict=True)
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
        floats = [name for name, c in zip(self.names, coded, strict=True) if c.obstacle == "float"]
        self._refuse_floats(floats, missing)
        incomplete = [v for v, c in enumerate(coded) if c.obstacle == "missing"]
        if incomplete and missing == "error":
            raise MissingCellsError([self.names[v] for v in incomplete], empty=self.empty_columns())
        if incomplete and missing == "drop":
            return self.enough_complete_rows().encode(state_names=declared, n_jobs=n_jobs)
        for v in incomplete:
            name = self.names[v]
            coded[v] = code_known_cells(self.columns[v], codes[v], name, name in self.discrete)
        for v, name in enumerate(self.names):
            if name in declared:
                coded[v] = recode_column(coded[v], codes[v], declared[name], name)
        for v in incomplete:
            coded[v] = add_missing_state(coded[v], codes[v], self.names[v])
        codes = _widen_codes(codes, coded)
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
        if len(self.float_columns) == self.n_columns:
            block = np.empty((self.n_columns, self.n_rows))
            for row, values in zip(block, self.columns, strict=True):
                copy_floats(values, row)
            if np.isfinite(block).all():
                return pd.DataFrame(block.T, copy=False).set_axis(list(self.names), axis=1)
        incomplete = self.missing_columns()
        if incomplete and missing == "error":
            raise MissingCellsError(incomplete, choices=("drop",), empty=self.empty_columns())
        if incomplete:
            return self.enough_complete_rows().to_pandas(integers_as_categories=integers_as_categories)
        numeric = () if integers_as_categories else ("integer", "boolean")
        cells, others = {}, []
        for name, values in zip(self.names, self.columns, strict=True):
            if name in self.float_columns:
                cells[name] = float_cells(values)
            elif name not in self.discrete and column_kind(values) in numeric:
                cells[name] = np.array(values.to_numpy() if hasattr(values, "to_numpy") else values)
            else:
                others.append(name)
        infinite = [name for name in self.float_columns if not np.isfinite(cells[name]).all()]
        if infinite:
            raise ValueError(
                f"infinite values (inf) in column(s) {join_names(infinite)}: replace them or drop their rows"
            )
        if others:
            categories = self.take_columns(others).encode().to_pandas()
            cells.update((name, categories[name]) for name in others)
        return pd.DataFrame({v: cells[name] for v, name in enumerate(self.names)}).set_axis(list(self.names), axis=1)

    def code_columns(self, codes: np.ndarray, n_jobs: int | None = None) -> list[Coded]:
        """Code every column into its row of `codes`; errors are raised in the order of the columns.

        `codes`, uint8 of shape (n_columns, n_rows) and C-contiguous, receives the codes of columns with at most 255
        states; `n_jobs` threads share the columns.
        """
        n_workers = 1
        if n_jobs is not None and n_jobs != 1:
            from joblib import Parallel, delayed

            n_workers = count_workers(n_jobs)
        if n_workers == 1 or codes.size < THREADED_CELLS:
            return _join_parts([self._code_range(0, self.n_columns, codes)])
        n_parts = min(4 * n_workers, self.n_columns)
        bounds = [part * self.n_columns // n_parts for part in range(n_parts + 1)]
        tasks = (delayed(self._code_range)(bounds[k], bounds[k + 1], codes) for k in range(n_parts))
        return _join_parts(Parallel(n_jobs=n_jobs, require="sharedmem")(tasks))

    def _code_range(self, first, stop, codes):
        """Code the columns from `first` to `stop`; return the coded ones and the error that ended it, if any."""
        coded = []
        try:
            if self._block is not None:
                coded = code_integers(self._block[:, first:stop], codes[first:stop], self.names[first:stop])
            else:
                for v in range(first, stop):
                    name = self.names[v]
                    coded.append(code_column(self.columns[v], codes[v], name, name in self.discrete))
        except (TypeError, ValueError) as error:
            return coded, error
        return coded, None

    def _refuse_floats(self, names, missing):
        """Raise if there are floating-point columns, with hints that depend on their values."""
        if not names:
            return
        whole, incomplete, infinite = [], [], []
        for name in names:
            cells = float_cells(self.columns[self.names.index(name)])
            known = cells[~np.isnan(cells)]
            if known.size < cells.size:
                incomplete.append(name)
            if not np.isfinite(known).all():
                infinite.append(name)
            elif known.size and (known == np.floor(known)).all():
                whole.append(name)
        notes = (
            (f"hold whole numbers only: if they are discrete, declare them with {spell_discrete(whole)}", whole),
            ("have missing values (NaN)", incomplete),
            ("have infinite values (inf)", infinite),
        )
        hints = "".join(f" Column(s) {join_names(culprits)} {note}." for note, culprits in notes if culprits)
        choices = ("drop",) if incomplete or missing in ("category", "pairwise") else ()
        raise FloatColumnsError(names, hints, choices=choices)

    def complete_mask(self) -> np.ndarray:
        """Return which rows have no missing value, bool of shape (n_rows,)."""
        keep = np.ones(self.n_rows, dtype=bool)
        for mask in map(missing_mask, self.columns):
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


def _unwrap(values):
    """Return the array inside a pandas wrapper that adds nothing to it."""
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        return values.to_numpy()
    return values.__arrow_array__() if isinstance(values.dtype, pd.ArrowDtype) else values


def _join_parts(parts):
    """Join the coded ranges of columns, or raise the error of the first column that has one."""
    coded = []
    for part, error in parts:
        if error is not None:
            raise error
        coded += part
    return coded


def _widen_codes(codes, coded):
    """Widen the codes if some column has more than 255 states."""
    if all(c.codes is None for c in coded):
        return codes
    wide = codes.astype(np.uint16)
    for row, c in zip(wide, coded, strict=True):
        if c.codes is not None:
            row[:] = c.codes
    return wide


def check_missing_option(missing, options=MISSING_OPTIONS, where=""):
    """Refuse an unknown value of the option `missing`."""
    if missing not in options:
        raise ValueError(f"missing must be one of {join_names(options)}{where}, got {missing!r}")


def check_rows(n_rows, n_columns, path=None, least=2):
    """Refuse a table of fewer than `least` rows; the message names the file if there is one."""
    if n_rows < least:
        holder = "" if path is None else f"{path} holds no table: "
        raise ValueError(
            f"{holder}{n_rows} sample(s) (shape=({n_rows}, {n_columns})) while a minimum of {least} is required: give "
            f"a table with at least {'two rows' if least == 2 else 'one row'}"
        )


def refuse_unobserved(names, missing=None):
    """Refuse columns in which all values are missing; with missing="em" say that they are not latent variables."""
    if names:
        latent = ". Latent variables are not learned by EM: each column needs observed values"
        raise ValueError(
            f"columns {join_names(names)} have no observed value: drop them{latent if missing == 'em' else ''}"
        )


def check_rows_left(n_left, n_rows, missing_columns):
    """Warn of rows that are left out; refuse a table with fewer than two complete rows.

    `missing_columns()` returns the columns with missing values.
    """
    if n_left < 2:
        raise ValueError(
            f"{n_left} of {n_rows} rows have no missing value (NaN), at least 2 are needed: leave out columns that are "
            f"mostly missing, or fill them (columns with missing values: {join_names(missing_columns())})"
        )
    warn_of_rows_left(n_left, n_rows)


def warn_of_rows_left(n_left, n_rows):
    """Warn the caller of pgmx of rows that missing="drop" leaves out."""
    if n_left < n_rows:
        warnings.warn(
            f"missing='drop' leaves out {n_rows - n_left:,} of {n_rows:,} rows, which have missing values (NaN): "
            f"{n_left:,} rows ({n_left / n_rows:.0%}) remain",
            IncompleteRowsWarning,
            stacklevel=caller_level(),
        )


def warn_of_many_states(names, states, n_rows):
    """Warn the caller of pgmx of columns with more states than ``max(20, n_rows / 20)``."""
    limit = max(20, n_rows / 20)
    many = [f"{name!r} ({len(s)} states)" for name, s in zip(names, states, strict=True) if len(s) > limit]
    if many:
        shown = ", ".join(many[:10]) + (f" and {len(many) - 10} more" if len(many) > 10 else "")
        warnings.warn(
            f"implausibly many states for {n_rows} rows in column(s) {shown}: few rows are left for each state, and "
            "the tables of a network grow with them. Merge rare states, discretise continuous variables (with "
            "pgmx.data.discretize), or drop identifiers",
            UserWarning,
            stacklevel=caller_level(),
        )

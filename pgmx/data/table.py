"""Tables of state codes: `DiscreteTable`, in memory or mapped from a file, and its rows as a partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgmx._ext import _rows
from pgmx.checks import join_names
from pgmx.data.columns import (
    MAX_BYTE_STATES,
    MAX_STATES,
    python_scalar,
)
from pgmx.data.errors import check_codes


class MappedFile(Protocol):
    """The interface of the mapped file of a table, see `plane_file.MappedRows`."""

    path: Path
    stamp: tuple
    codes: np.ndarray
    planes: np.ndarray
    offsets: np.ndarray
    verified: set[str]

    def verify(self, part: str) -> None:
        """Raise ValueError unless the "codes" or the "planes" are unchanged since they were written; once."""

    def pickle_parts(self) -> tuple[Callable, tuple]:
        """Return a function and its arguments that open the file again in another process."""
        ...


class Partition:
    """Rows of a discrete table as one partition: the first argument of the functions that `reduce` calls.

    `weights` are float64 weights of the rows, None if each row counts as one. `cache` keeps results of counting for
    later calls, under `lock`. `n_threads` threads may count the rows.
    """

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None = None):
        self.table = table
        self.weights = weights
        self.lock = Lock()
        self.cache: dict[Any, Any] = {}
        self.n_threads = 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows


class DiscreteTable:
    """Immutable table of state codes, one row of `codes` per variable.

    The value of variable ``v`` in row ``i`` of the data is ``states[v][codes[v, i]]``.

    Parameters
    ----------
    columns : sequence of hashable
        Variable names, distinct.
    states : sequence of sequences
        State names of each variable in their stated order, distinct within a variable; at least one and at most
        65535 each. States that never occur in the data are kept.
    codes : array_like of int, shape (n_variables, n_rows)
        Index of the state of each value. Copied.
    missing_codes : array_like of int, shape (n_variables,), optional
        For each variable its last code if that code means a missing value, else -1. None means all -1.

    Attributes
    ----------
    columns : tuple
        Variable names, in the order of the data.
    states : tuple of tuple
        State names of each variable.
    codes : ndarray, shape (n_variables, n_rows), uint8 or uint16
        C-contiguous and read-only; uint16 when some variable has more than 255 states.
    n_variables, n_rows : int
        Shape of `codes`.
    cardinalities : ndarray of int64, shape (n_variables,)
        Number of states of each variable, read-only.
    planes : ndarray of uint64, shape (n_planes, n_words), 64-byte aligned
        One bit plane per state: bit ``i % 64`` of word ``i // 64`` is set when row ``i`` has that state. ``n_words`` is
        a multiple of 8 and the bits beyond the last row are zero. Variables with more than 255 states have no planes.
    plane_offsets : ndarray of int64, shape (n_variables + 1,)
        The planes of variable ``v`` are ``planes[plane_offsets[v] : plane_offsets[v + 1]]``.
    missing_codes : ndarray of int64, shape (n_variables,)
        Code of the missing values of each variable, -1 if there are none; read-only. All are -1 unless the table was
        coded with ``missing="pairwise"``.
    path : pathlib.Path or None
        The plane file from which codes and planes are mapped; None for a table in memory.

    Raises
    ------
    ValueError
        If the shapes disagree, a name occurs twice, or a code is out of range.

    Notes
    -----
    `codes` takes one byte per value. The planes take about ``n_rows / 8`` bytes per state; they are packed at the first
    access and kept, so that all learners that are given the same table share them. They are not pickled. A table mapped
    from a plane file is pickled as the path of the file: other processes must be able to read the same file.

    Examples
    --------
    >>> from pgmx.data import DiscreteTable
    >>> table = DiscreteTable(["rain", "umbrella"], [[False, True], ["no", "yes"]], [[0, 1, 1], [0, 1, 0]])
    >>> table
    DiscreteTable(2 variables, 3 rows, 4 states, uint8)
    >>> table.states[table.index("umbrella")]
    ('no', 'yes')
    """

    __slots__ = (
        "__weakref__",
        "_cardinalities",
        "_codes",
        "_columns",
        "_mapping",
        "_missing_codes",
        "_planes",
        "_positions",
        "_states",
    )

    #: Whether the rows are on the workers of a cluster, so that a question about them costs a message.
    is_remote = False

    #: Whether the columns are views of fewer columns, see `view_columns`. Pairs of all of them are not counted then.
    has_views = False

    def __init__(
        self,
        columns: Sequence[Hashable],
        states: Sequence[Sequence],
        codes: ArrayLike,
        missing_codes: ArrayLike | None = None,
    ):
        columns = tuple(columns)
        states = tuple(tuple(python_scalar(name) for name in names) for names in states)
        codes = np.asarray(codes)
        cardinalities, missing_codes = check_codes(columns, states, codes, missing_codes, MAX_STATES)
        dtype = np.uint8 if cardinalities.max() <= MAX_BYTE_STATES else np.uint16
        self._set(columns, states, np.array(codes, dtype=dtype, order="C"), missing_codes)
        if len(self._positions) < len(columns):
            twice = next(name for v, name in enumerate(columns) if self._positions[name] != v)
            raise ValueError(f"variable {twice!r} occurs more than once: rename one of the columns")

    def _set(self, columns, states, codes, missing_codes):
        """Store checked attributes as they are."""
        self._columns = columns
        self._states = states
        self._codes = np.require(codes, requirements=["C", "A"])  # arrays from a network may have any alignment
        self._codes.setflags(write=False)
        self._cardinalities = np.array([len(names) for names in states], dtype=np.int64)
        self._cardinalities.setflags(write=False)
        self._missing_codes = np.full(len(columns), -1) if missing_codes is None else np.array(missing_codes, np.int64)
        self._missing_codes.setflags(write=False)
        self._positions = {name: v for v, name in enumerate(columns)}
        self._planes: tuple[np.ndarray, np.ndarray] | None = None
        self._mapping: MappedFile | None = None

    @classmethod
    def _from_parts(cls, columns, states, codes, missing_codes=None) -> DiscreteTable:
        """Make a table of attributes known to be valid, without a copy: `codes` must not be changed afterwards."""
        table = cls.__new__(cls)
        table._set(columns, states, codes, missing_codes)
        return table

    @classmethod
    def _from_mapping(cls, columns, states, missing_codes, mapping: MappedFile) -> DiscreteTable:
        """Make a table of a plane file, whose codes and planes are verified at their first use."""
        table = cls._from_parts(columns, states, mapping.codes, missing_codes)
        table._planes = (mapping.planes, mapping.offsets)
        table._mapping = mapping
        return table

    @property
    def columns(self) -> tuple:
        """Variable names, in the order of the data."""
        return self._columns

    @property
    def names(self) -> tuple:
        """Variable names: `columns` under the name that all kinds of tables share."""
        return self._columns

    @property
    def n_columns(self) -> int:
        """Number of variables: `n_variables` under the name that all kinds of tables share."""
        return len(self._columns)

    @property
    def float_columns(self) -> tuple:
        """Names of the continuous columns: none."""
        return ()

    @property
    def states(self) -> tuple[tuple, ...]:
        """State names of each variable, in their stated order."""
        return self._states

    @property
    def codes(self) -> np.ndarray:
        """State codes, shape (n_variables, n_rows), uint8 or uint16, read-only."""
        if self._mapping is not None:
            self._mapping.verify("codes")
        return self._codes

    @property
    def cardinalities(self) -> np.ndarray:
        """Number of states of each variable, int64, read-only."""
        return self._cardinalities

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self._codes.shape[0]

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return self._codes.shape[1]

    @property
    def missing_codes(self) -> np.ndarray:
        """Code of the missing values of each variable, -1 if there are none; int64, read-only."""
        return self._missing_codes

    @property
    def path(self) -> Path | None:
        """The plane file from which the table is mapped, None for a table in memory."""
        return None if self._mapping is None else self._mapping.path

    @property
    def planes(self) -> np.ndarray:
        """Bit planes, one per state, shape (n_planes, n_words), uint64."""
        if self._mapping is not None:
            self._mapping.verify("planes")
        return self._pack()[0]

    @property
    def plane_offsets(self) -> np.ndarray:
        """First plane of each variable, shape (n_variables + 1,), int64."""
        return self._pack()[1]

    def _pack(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the planes and their offsets, packed at the first call."""
        planes = self._planes
        if planes is None:
            from pgmx._ext import _counts

            planes = self._planes = _counts.pack_planes(self._codes, self._cardinalities)
        return planes

    def index(self, name: Hashable) -> int:
        """Return the position of a variable in `columns`, `states` and `codes`; ValueError for an unknown name."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise ValueError(f"no variable {name!r}: the variables are {join_names(self._columns)}") from None

    def _split_column(self, at: int) -> tuple[np.ndarray, DiscreteTable]:
        """Return the codes of a column, and the table without it."""
        kept = np.flatnonzero(np.arange(self.n_variables) != at)
        columns, states = (tuple(values[v] for v in kept) for values in (self._columns, self._states))
        codes = np.ascontiguousarray(self.codes[kept])
        return self.codes[at], DiscreteTable._from_parts(columns, states, codes, self._missing_codes[kept])

    # ---- sums over the rows ----

    def reduce(
        self, function: Callable, *arguments: Any, add: Callable[[list], Any], weights: np.ndarray | None = None
    ) -> Any:
        """Return the sum of a function over the partitions: a table on one machine is one partition.

        Parameters
        ----------
        function : callable
            Called with a partition, which has a `table`, `weights`, a `lock` and a dictionary `cache`, and the
            arguments.
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
        return function(Partition(self, weights), *arguments)

    @property
    def has_wide_counts(self) -> bool:
        """Whether counts may need more than 32 bits: only sums over several partitions do."""
        return False

    def view_columns(self) -> dict[str, Any]:
        """Return the arguments of the compiled scorer if the columns are views of fewer columns, else nothing."""
        return {}

    def view_codes(self) -> dict[str, Any]:
        """Return the arguments of the compiled scorer of weighted rows: the codes, and where columns start in them."""
        return {"codes": self.codes}

    def keep_weights(self, weights: np.ndarray | None) -> tuple[DiscreteTable, np.ndarray | None]:
        """Return a table, and the weights of its rows, which workers keep if they keep the rows.

        Parameters
        ----------
        weights : ndarray of float64, shape (n_rows,), or None
            Weights of the rows; None means that each row counts as one.

        Returns
        -------
        table : DiscreteTable
            The table itself, if its rows are on this machine.
        weights : ndarray or None
            The weights.
        """
        return self, weights

    def identify_rows(self) -> Any:
        """Return a value that identifies the rows, for the fingerprint of a checkpoint: the codes."""
        return self.codes

    def repeat_rows(self, weights: ArrayLike) -> DiscreteTable:
        """Return the table in which row i occurs ``weights[i]`` times; the order of the rows is kept.

        Parameters
        ----------
        weights : array_like of int, shape (n_rows,)
            The number of repetitions of each row; none negative, not all zero.

        Returns
        -------
        DiscreteTable
            A new table in memory with the same states, also those that no longer occur.

        Raises
        ------
        ValueError
            If there is not one weight per row, one is negative or not an integer, or no row is left.

        Notes
        -----
        0.3 to 0.6 ns per value, and the memory of the new codes.

        Examples
        --------
        >>> table = DiscreteTable(["a"], [("x", "y")], [[0, 1, 1]])
        >>> table.repeat_rows([2, 0, 1]).codes
        array([[0, 0, 1]], dtype=uint8)
        """
        weights = self._check_repeats(weights)
        # row indices of 32 bits take half the memory
        rows = np.empty(int(weights.sum()), dtype=np.uint32 if self.n_rows < 2**32 else np.uint64)
        if not rows.size:
            raise ValueError("no row is left: at least one weight must be positive")
        _rows.repeat_numbers(np.ascontiguousarray(weights), rows)
        codes = np.empty((self.n_variables, rows.size), dtype=self._codes.dtype)
        _rows.gather_rows(self.codes, rows, codes)
        return DiscreteTable._from_parts(self._columns, self._states, codes, self._missing_codes)

    def _check_repeats(self, weights: ArrayLike) -> np.ndarray:
        """Return the number of repetitions of each row, as int64."""
        weights = np.asarray(weights)
        if weights.shape != (self.n_rows,):
            raise ValueError(f"one weight per row is needed, {self.n_rows} in all, got shape {weights.shape}")
        if weights.dtype.kind not in "iub":
            raise ValueError(f"weights must be integers, got {weights.dtype}: rows can only be repeated whole times")
        if weights.dtype.kind == "i" and weights.min() < 0:
            raise ValueError(f"weights must not be negative, got {weights.min()}")
        return weights.astype(np.int64, copy=False)

    def to_pandas(self, columns: Iterable[Hashable] | None = None) -> pd.DataFrame:
        """Return the data as a new pandas frame of category columns, all states declared.

        Parameters
        ----------
        columns : sequence of hashable, optional
            Variables to include, in this order; None means all.

        Returns
        -------
        pandas.DataFrame, shape (n_rows, n_columns)
            With a fresh index.

        Examples
        --------
        >>> DiscreteTable(["a"], [("x", "y")], [[1, 0]]).to_pandas()["a"].tolist()
        ['y', 'x']
        """
        positions = [self.index(name) for name in (self._columns if columns is None else columns)]
        cells = {
            i: pd.Categorical.from_codes(self.codes[v], categories=pd.Index(list(self._states[v])))
            for i, v in enumerate(positions)
        }
        return pd.DataFrame(cells).set_axis([self._columns[v] for v in positions], axis=1)

    def __repr__(self) -> str:
        n_states = int(self._cardinalities.sum())
        return (
            f"DiscreteTable({self.n_variables} variables, {self.n_rows} rows, {n_states} states, {self._codes.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DiscreteTable):
            return NotImplemented
        # Types are compared too: Python considers the states 1 and True equal, a user does not.
        return self is other or (
            self._columns == other._columns
            and self._states == other._states
            and [[type(s) for s in names] for names in self._states]
            == [[type(s) for s in names] for names in other._states]
            and np.array_equal(self._missing_codes, other._missing_codes)
            and self._codes.shape == other._codes.shape
            and all(map(np.array_equal, self.codes, other.codes))  # by variable: a mask of the whole may be too large
        )

    def __hash__(self) -> int:
        # without the codes: they would have to be read whole
        return hash((self._columns, self._states, self._codes.shape))

    def __reduce__(self):
        if self._mapping is not None:
            # the path of the file, in place of its rows
            return self._mapping.pickle_parts()
        return DiscreteTable._from_parts, (self._columns, self._states, self._codes, self._missing_codes)

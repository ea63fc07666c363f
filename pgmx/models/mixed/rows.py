"""Mixed rows for a network, with missing values."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.columns import match_states
from pgmx.data.inputs import open_new_rows
from pgmx.data.numeric import list_nonnumeric_kinds, read_column, refuse_nonnumeric, refuse_values
from pgmx.inference.mixed.families import MixedRows, RowPiece
from pgmx.models.base import check_columns, check_complete
from pgmx.models.markov.rows import code_cells, map_states

#: Number of values per chunk of rows: 18 MB.
PIECE_CELLS = 1 << 20


class ReadRows:
    """Values of n variables: codes of states (one or two bytes), or numbers as given; None without a column.

    `missing` and `unknown` hold per variable the mask of missing values and of unknown states, bool (n_rows,), or None
    if there are none. `absent`, bool (n,), is the mask of variables without a column.
    """

    def __init__(self, n: int, n_rows: int, index: pd.Index):
        self.n_rows, self.index = n_rows, index
        self.codes: list[np.ndarray | None] = [None] * n
        self.numbers: list[np.ndarray | None] = [None] * n
        self.missing: list[np.ndarray | None] = [None] * n
        self.unknown: list[np.ndarray | None] = [None] * n

    @property
    def absent(self) -> np.ndarray:
        """The variables without a column."""
        return np.array(
            [codes is None and numbers is None for codes, numbers in zip(self.codes, self.numbers, strict=True)]
        )

    @property
    def incomplete(self) -> np.ndarray:
        """The variables with missing values or without a column, bool (n,)."""
        return self.absent | np.array([mask is not None for mask in self.missing])

    def pieces(self) -> Iterator[slice]:
        """Yield chunks of rows that need little memory."""
        step = max(1, PIECE_CELLS // max(1, len(self.codes)))
        return (slice(begin, min(begin + step, self.n_rows)) for begin in range(0, self.n_rows, step))

    def take(self, piece: slice) -> RowPiece:
        """Return the rows of a chunk."""
        shape = (len(self.codes), piece.stop - piece.start)
        rows = MixedRows(np.zeros(shape, dtype=np.intp), np.zeros(shape))
        missing, unknown = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        missing[self.absent] = True
        for target, columns in ((rows.codes, self.codes), (rows.numbers, self.numbers), (missing, self.missing)):
            for v, column in enumerate(columns):
                if column is not None:
                    target[v] = column[piece]
        for v, column in enumerate(self.unknown):
            if column is not None:
                unknown[v] = column[piece]
        rows.numbers[missing] = 0.0
        return RowPiece(rows, missing, unknown)


def read_mixed_rows(
    X: Any,
    names: tuple,
    states: tuple,
    *,
    allow_missing: bool = False,
    allow_unknown: bool = False,
    ignore: Iterable[Hashable] = (),
) -> ReadRows:
    """Return rows in the order of a network; `states` are None for continuous variables; `ignore` drops columns.

    Raises if a column is not a variable, a continuous value is not finite, a discrete value is not a state of the
    variable (unless `allow_unknown`), or a value is missing and must not be.
    """
    frame, index = _open(X, names)
    check_columns(frame.names, names, allow_missing)
    ignore = set(ignore)
    at = {name: column for column, name in enumerate(frame.names) if name not in ignore}
    read = ReadRows(len(names), frame.n_rows, index)
    _read_floats(frame, [(v, at[name]) for v, name in enumerate(names) if states[v] is None and name in at], read)
    for v, name in enumerate(names):
        if states[v] is not None and name in at:
            _read_states(read, v, name, frame.columns[at[name]], states[v], allow_unknown)
    check_complete([name for v, name in enumerate(names) if read.missing[v] is not None], allow_missing)
    return read


def _read_states(read: ReadRows, v: int, name: Hashable, cells: Any, states: tuple, allow_unknown: bool) -> None:
    observed, codes, mask = code_cells(cells, name)
    places = match_states(observed, states, absent=-1) if allow_unknown else map_states(name, observed, states, codes)
    is_unknown = places < 0
    known: Any = slice(None)
    places = np.maximum(places, 0).astype(np.min_scalar_type(len(states)))
    column = np.zeros(read.n_rows, dtype=places.dtype)
    if mask is not None and mask.any():
        read.missing[v], known = mask, ~mask
    column[known] = places[codes]
    read.codes[v] = column
    if is_unknown.any():
        unknown = np.zeros(read.n_rows, dtype=bool)
        unknown[known] = is_unknown[codes]
        read.unknown[v] = unknown


def _read_floats(frame: Frame, places: list[tuple[int, int]], read: ReadRows) -> None:
    """Read the continuous columns, given as pairs of a variable and its column."""
    part = Frame(tuple(frame.names[c] for _, c in places), [frame.columns[c] for _, c in places], frame.n_rows)
    refuse_nonnumeric(part.names, list_nonnumeric_kinds(part))
    infinite = np.zeros(len(places), dtype=bool)
    for k, ((v, _), cells) in enumerate(zip(places, part.columns, strict=True)):
        numbers = read_column(cells)
        read.numbers[v] = numbers
        if numbers.dtype.kind == "f":
            infinite[k] = np.isinf(numbers).any()
            mask = np.isnan(numbers)
            read.missing[v] = mask if mask.any() else None
    refuse_values(part.names, None, infinite)


def _open(X: Any, names: tuple) -> tuple[Frame, pd.Index]:
    """Return the columns of a table, or of a dictionary of single values or columns, and labels of the rows."""
    if isinstance(X, Mapping):
        X = _make_frame(X)
    if isinstance(X, DiscreteTable):
        X = _make_frame_of_states(X)
    if isinstance(X, pd.DataFrame) and not X.shape[1]:
        return Frame((), [], len(X)), X.index
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    frame = open_new_rows(X, "columns")
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(names):
            raise ValueError(
                f"an array must have one column for each of {len(names)} variables, in their order, got shape "
                f"{X.shape}: use a frame with named columns"
            )
        frame = Frame(tuple(names), frame.columns, frame.n_rows)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(frame.n_rows)
    return frame, index


def _make_frame_of_states(table: DiscreteTable) -> pd.DataFrame:
    """Return a coded table as a frame of states with missing values."""
    frame = table.to_pandas()
    for v in np.flatnonzero(table.missing_codes >= 0).tolist():
        cells = frame.iloc[:, v].cat
        frame.isetitem(v, cells.remove_categories(cells.categories[table.missing_codes[v]]))
    return frame


def _make_frame(columns: Mapping) -> pd.DataFrame:
    """Return a frame from a dictionary of single values, or of sequences of one length."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(1))
    cells = [
        pd.Series(list(values)) if isinstance(values, list | tuple | np.ndarray | pd.Series) else pd.Series([values])
        for values in columns.values()
    ]
    lengths = {len(values) for values in cells}
    if len(lengths) > 1:
        raise ValueError(
            f"the columns of a dictionary must be single values, or sequences of one length; {join_names(columns)} "
            f"have the lengths {sorted(lengths)}"
        )
    return pd.concat(cells, axis=1).set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)

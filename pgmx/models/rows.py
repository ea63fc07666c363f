"""Rows of data in the form that a network reads: state codes, numbers, or both; with missing values and absent columns.

Nothing here imports pgmpy, since workers of a cluster read rows too.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.columns import code_column, find_missing, is_float_column, read_floats, take_rows
from pgmx.data.declared_states import list_unknown_states, match_states
from pgmx.data.inputs import open_new_rows
from pgmx.data.numeric import (
    NumericTable,
    list_nonnumeric_kinds,
    make_rows,
    mark_infinite_columns,
    read_column,
    refuse_nonnumeric,
    refuse_values,
)
from pgmx.inference.mixed.families import MixedRows, RowChunk
from pgmx.inference.problem import Problem

#: Number of values per chunk of rows: 18 MB.
CHUNK_CELLS = 1 << 20


def _check_columns(columns: Sequence[Hashable], names: Sequence[Hashable], allow_missing: bool) -> None:
    """Raise if a column is not a variable of a network, or a variable lacks a column that it needs."""
    variables, present = set(names), set(columns)
    extra = [name for name in columns if name not in variables]
    if extra:
        raise ValueError(
            f"column(s) {join_names(extra)} are not variables of the network: leave them out, or rename them"
        )
    absent = [name for name in names if name not in present]
    if absent and not allow_missing:
        raise ValueError(f"the variables {join_names(absent)} have no column: predict() fills columns that are missing")


def _check_complete(incomplete: Sequence[Hashable], allow_missing: bool) -> None:
    """Raise if columns have missing values and must not."""
    if incomplete and not allow_missing:
        raise ValueError(
            f"missing values in column(s) {join_names(incomplete)}: drop the rows, or fill them by predict()"
        )


def make_label_columns(names: Sequence[Hashable], labels: Sequence[Sequence[Hashable]]) -> pd.MultiIndex | None:
    """Return two levels of columns: (name, label) for each label of each name; None without names."""
    if not names:
        return None
    # pandas' own constructors sort the labels, or take tuples apart
    distinct = list(dict.fromkeys(label for own in labels for label in own))
    place = {label: k for k, label in enumerate(distinct)}
    levels = [pd.Index(list(names), tupleize_cols=False), pd.Index(distinct, tupleize_cols=False)]
    codes = [
        np.repeat(np.arange(len(names)), list(map(len, labels))),
        [place[label] for own in labels for label in own],
    ]
    return pd.MultiIndex(levels=levels, codes=codes)


# ---- discrete networks ----


class CodedRows(NamedTuple):
    """Coded rows: codes, 0 for missing values, and the mask of missing values, both (n_variables, n_rows).

    `index` is the index of a pandas frame, None for other inputs; `columns` are the variables with a column, in the
    order of the columns.
    """

    codes: np.ndarray
    missing: np.ndarray
    index: Any
    columns: list[int]

    @property
    def incomplete(self) -> list[int]:
        """The variables without a column or with a missing value, in order."""
        absent = np.ones(len(self.missing), dtype=bool)
        absent[self.columns] = False
        return np.flatnonzero(absent | self.missing.any(axis=1)).tolist()


def read_discrete_rows(X, problem: Problem, *, allow_missing: bool = False) -> CodedRows:
    """Code rows by the states of a network. The columns of an array are the variables, in this order.

    A dictionary of single values is one row. Raises if a column is not a variable, a value is not among its states, or
    a value is missing and must not be.
    """
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    if isinstance(X, Mapping):
        X = _make_mixed_frame(X)
    # missing values of files get a separate code
    is_bare = isinstance(X, pd.DataFrame) and not X.shape[1]
    source = Frame((), [], len(X)) if is_bare else open_new_rows(X)
    columns = source.columns if isinstance(source, DiscreteTable) else source.names
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(problem.names):
            raise ValueError(
                f"an array must have one column for each of {len(problem.names)} variables, in their order, got shape "
                f"{X.shape}: use a frame with named columns"
            )
        columns = problem.names
    _check_columns(columns, problem.names, allow_missing)
    at = {name: column for column, name in enumerate(columns)}
    largest = max(map(len, problem.states))
    # One or two bytes per value, since there may be many rows.
    codes = np.zeros((len(problem.names), source.n_rows), dtype=np.uint8 if largest <= 255 else np.uint16)
    missing = np.zeros(codes.shape, dtype=bool)
    incomplete = []
    for v, name in enumerate(problem.names):
        if name not in at:
            missing[v] = True
            continue
        if isinstance(source, DiscreteTable):
            states, column, mask = _read_table_column(source, at[name])
        else:
            states, column, mask = _code_values(source.columns[at[name]], name)
        if mask is not None and mask.any():
            incomplete.append(name)
            missing[v] = mask
        codes[v, ~missing[v]] = _map_states(name, states, problem.states[v], column)[column]
    _check_complete(incomplete, allow_missing)
    place = {name: v for v, name in enumerate(problem.names)}
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    return CodedRows(codes, missing, index, [place[name] for name in columns])


def _read_table_column(table: DiscreteTable, column: int) -> tuple[tuple, np.ndarray, np.ndarray | None]:
    marker = table.missing_codes[column]
    codes = table.codes[column]
    if marker < 0:
        return table.states[column], codes, None
    return table.states[column][:-1], codes[codes != marker], codes == marker


def _code_values(values: Any, name: Hashable) -> tuple[tuple, np.ndarray, np.ndarray | None]:
    """Return the observed states of a column, the codes of its values, and the mask of missing values."""
    mask = find_missing(values)
    if mask is not None and mask.any():
        values = take_rows(values, ~mask)
    if not len(values):
        return (), np.empty(0, dtype=np.intp), mask
    if is_float_column(values):
        # pandas stores integers with missing values as floats: in a dictionary 1.0 equals the state 1.
        distinct, codes = np.unique(read_floats(values), return_inverse=True)
        return tuple(distinct.tolist()), codes, mask
    row = np.empty(len(values), dtype=np.uint8)
    coded = code_column(values, row, name)
    return coded.states, row if coded.codes is None else coded.codes, mask


def _map_states(name: Hashable, observed: tuple, states: tuple, codes: np.ndarray) -> np.ndarray:
    """Return the code in the network for each state of a column; states that do not occur may be unknown."""
    unknown = list_unknown_states(observed, states, codes)
    if unknown:
        remedy = "set these values to missing, or drop the rows"
        if any(str(state) in states for state in unknown):
            remedy = "the network has them as text, convert the column with astype(str)"
        raise ValueError(
            f"column {name!r} holds {join_names(unknown)}, which are not among the states of the variable, "
            f"{join_names(states)}: {remedy}"
        )
    return match_states(observed, states)


# ---- Gaussian networks ----


class NumericRows(NamedTuple):
    """Rows (n_rows, n_variables), NaN for missing values; their labels; a mask of variables with a column."""

    values: np.ndarray
    known: np.ndarray
    index: pd.Index


def read_numeric_rows(X, names: tuple, *, allow_missing: bool = False) -> NumericRows:
    """Return rows in the order of a network. The columns of an array are the variables, in this order.

    Raises if a column is not a variable, a value is not a finite number, or a value is missing and must not be.
    """
    columns, cells, index = _open_numeric(X, names)
    _check_columns(columns, names, allow_missing)
    place = {name: v for v, name in enumerate(names)}
    known = np.isin(np.arange(len(names)), [place[name] for name in columns])
    # Absent columns are missing in every row.
    values = np.full((len(cells), len(names)), np.nan)
    values[:, [place[name] for name in columns]] = cells
    refuse_values(names, None, mark_infinite_columns(values))
    incomplete = [names[v] for v in np.flatnonzero(np.isnan(values).any(axis=0) & known).tolist()]
    _check_complete(incomplete, allow_missing)
    return NumericRows(values, known, index)


def read_numeric_evidence(evidence: Mapping, names: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending positions and values of observed variables; raise for unknown names and invalid values."""
    if not isinstance(evidence, Mapping):
        raise TypeError(f"evidence must be a dictionary {{name: number}}, got {type(evidence).__name__}")
    rows = read_numeric_rows({name: [value] for name, value in evidence.items()}, names, allow_missing=True)
    positions = np.flatnonzero(rows.known)
    absent = [names[v] for v in positions.tolist() if np.isnan(rows.values[0, v])]
    if absent:
        raise ValueError(f"the evidence of {join_names(absent)} is missing: leave out unobserved variables")
    return positions, rows.values[0, positions]


def _open_numeric(X, names: tuple) -> tuple[tuple, np.ndarray, pd.Index]:
    """Return column names, float64 rows, and labels of the rows."""
    if isinstance(X, Mapping):
        X = _make_numeric_frame(X)
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=np.float64)
    if isinstance(X, pd.DataFrame) and not X.shape[1]:
        return (), np.empty((len(X), 0)), X.index
    opened = open_new_rows(X, "numeric")
    if isinstance(opened, NumericTable):
        cells = opened.rows()
        return opened.names, cells, pd.RangeIndex(len(cells))
    frame = opened
    refuse_nonnumeric(frame.names, list_nonnumeric_kinds(frame))
    columns = frame.names
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(names):
            raise ValueError(
                f"an array must have one column for each of {len(names)} variables, in their order (NaN for missing "
                f"values), got shape {X.shape}: use a frame with named columns"
            )
        columns = names
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(frame.n_rows)
    return columns, make_rows(frame), index


def _make_numeric_frame(columns: Mapping) -> pd.DataFrame:
    """Return a frame from a dictionary of single values, or of sequences of one length."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(1))
    cells = [np.atleast_1d(np.asarray(values)) for values in columns.values()]
    shapes = [values.shape for values in cells]
    if len(set(shapes)) > 1 or cells[0].ndim > 1:
        raise ValueError(f"the columns of a dictionary must be numbers, or sequences of one length, got {shapes}")
    frame = pd.concat([pd.Series(values) for values in cells], axis=1)
    return frame.set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)


# ---- mixed networks ----


class MixedColumns:
    """Values of n variables: codes of states (one or two bytes), or numbers as given; None without a column.

    `missing` and `unknown` hold per variable the mask of missing values and of unknown states, bool (n_rows,), or None
    if there are none. `absent`, bool (n,), is the mask of variables without a column. `columns` are the names of the
    columns in the order of the table.
    """

    def __init__(self, n: int, n_rows: int, index: pd.Index):
        self.n_rows, self.index = n_rows, index
        self.columns: tuple = ()
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

    def chunks(self) -> Iterator[slice]:
        """Yield chunks of rows that need little memory."""
        step = max(1, CHUNK_CELLS // max(1, len(self.codes)))
        return (slice(begin, min(begin + step, self.n_rows)) for begin in range(0, self.n_rows, step))

    def take(self, chunk: slice) -> RowChunk:
        """Return the rows of a chunk."""
        shape = (len(self.codes), chunk.stop - chunk.start)
        rows = MixedRows(np.zeros(shape, dtype=np.intp), np.zeros(shape))
        missing, unknown = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        missing[self.absent] = True
        for target, columns in ((rows.codes, self.codes), (rows.numbers, self.numbers), (missing, self.missing)):
            for v, column in enumerate(columns):
                if column is not None:
                    target[v] = column[chunk]
        for v, column in enumerate(self.unknown):
            if column is not None:
                unknown[v] = column[chunk]
        # NaN would spread through sums over all variables.
        rows.numbers[missing] = 0.0
        return RowChunk(rows, missing, unknown)


def read_mixed_rows(
    X: Any,
    names: tuple,
    states: tuple,
    *,
    allow_missing: bool = False,
    allow_unknown: bool = False,
    ignore: Iterable[Hashable] = (),
) -> MixedColumns:
    """Return rows in the order of a network; `states` are None for continuous variables; `ignore` drops columns.

    Raises if a column is not a variable, a continuous value is not finite, a discrete value is not a state of the
    variable (unless `allow_unknown`), or a value is missing and must not be. Rows read before are returned as they are.
    """
    if isinstance(X, MixedColumns):
        return X
    frame, index = _open_mixed(X, names)
    _check_columns(frame.names, names, allow_missing)
    ignore = set(ignore)
    at = {name: column for column, name in enumerate(frame.names) if name not in ignore}
    read = MixedColumns(len(names), frame.n_rows, index)
    read.columns = frame.names
    _read_continuous(frame, [(v, at[name]) for v, name in enumerate(names) if states[v] is None and name in at], read)
    for v, name in enumerate(names):
        if states[v] is not None and name in at:
            _read_discrete(read, v, name, frame.columns[at[name]], states[v], allow_unknown)
    _check_complete([name for v, name in enumerate(names) if read.missing[v] is not None], allow_missing)
    return read


def _read_discrete(read: MixedColumns, v: int, name: Hashable, cells: Any, states: tuple, allow_unknown: bool) -> None:
    observed, codes, mask = _code_values(cells, name)
    places = match_states(observed, states, absent=-1) if allow_unknown else _map_states(name, observed, states, codes)
    is_unknown = places < 0
    known: Any = slice(None)
    # Unknown states get any valid code; their mask tells them apart.
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


def _read_continuous(frame: Frame, places: list[tuple[int, int]], read: MixedColumns) -> None:
    """Read the continuous columns, given as pairs of a variable and its column."""
    numeric = Frame(tuple(frame.names[c] for _, c in places), [frame.columns[c] for _, c in places], frame.n_rows)
    refuse_nonnumeric(numeric.names, list_nonnumeric_kinds(numeric))
    infinite = np.zeros(len(places), dtype=bool)
    for k, ((v, _), cells) in enumerate(zip(places, numeric.columns, strict=True)):
        numbers = read_column(cells)
        read.numbers[v] = numbers
        if numbers.dtype.kind == "f":
            infinite[k] = np.isinf(numbers).any()
            mask = np.isnan(numbers)
            read.missing[v] = mask if mask.any() else None
    refuse_values(numeric.names, None, infinite)


def _open_mixed(X: Any, names: tuple) -> tuple[Frame, pd.Index]:
    """Return the columns of a table, or of a dictionary of single values or columns, and labels of the rows."""
    if isinstance(X, Mapping):
        X = _make_mixed_frame(X)
    if isinstance(X, DiscreteTable):
        X = _decode_table(X)
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


def _decode_table(table: DiscreteTable) -> pd.DataFrame:
    """Return a coded table as a frame of states with missing values."""
    frame = table.to_pandas()
    for v in np.flatnonzero(table.missing_codes >= 0).tolist():
        cells = frame.iloc[:, v].cat
        frame.isetitem(v, cells.remove_categories(cells.categories[table.missing_codes[v]]))
    return frame


def _make_mixed_frame(columns: Mapping) -> pd.DataFrame:
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

"""Rows of data in the form that a network reads: state codes, numbers, or both; with missing values and absent columns.

Nothing here imports pgmpy, since workers of a cluster read rows too.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx._ext._row_columns import RowColumns
from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.columns import code_column, find_missing, is_float_column, list_categories, read_floats, take_rows
from pgmx.data.declared_states import list_unknown_states, match_states, match_texts
from pgmx.data.files.plane_file import PLANE_SUFFIX
from pgmx.data.files.readers import is_chunked, is_path
from pgmx.data.inputs import open_new_chunks, open_new_rows
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
from pgmx.inference.problem import Problem, UnknownStateError
from pgmx.lookup import suggest
from pgmx.models.state_codes import StateCodes, list_same_codes

#: Number of values per chunk of rows: 18 MB.
CHUNK_CELLS = 1 << 20


def _check_columns(columns: Sequence[Hashable], names: Sequence[Hashable], allow_missing: bool) -> None:
    """Raise if a column is not a variable of a network, or a variable lacks a column that it needs."""
    variables, present = set(names), set(columns)
    extra = [name for name in columns if name not in variables]
    if extra:
        close = suggest(extra[0], (name for name in names if name not in present))
        raise ValueError(
            f"column(s) {join_names(extra)} are not variables of the network{close}: leave them out, or rename them"
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


def find_variables(variables: Sequence[Hashable], names: Sequence[Hashable]) -> list[int]:
    """Return the positions of variables, ascending; raise if one is not among the names, or if there are none."""
    if isinstance(variables, bytes) or not isinstance(variables, Iterable):
        raise TypeError(f"variables must be a list of names, got {variables!r}: use [{variables!r}]")
    chosen = [variables] if isinstance(variables, str) else list(variables)
    if not chosen:
        raise ValueError(f"variables is empty: name one or more of {join_names(names)}")
    place = {name: v for v, name in enumerate(names)}
    for name in chosen:
        if name not in place:
            raise ValueError(f"no variable {name!r}{suggest(name, names)}: the variables are {join_names(names)}")
    return sorted({place[name] for name in chosen})


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


def read_discrete_rows(X, problem: Problem, *, allow_missing: bool = False) -> CodedRows:
    """Code all rows by the states of a network, as `DiscreteRows` does."""
    rows = DiscreteRows(X, problem, allow_missing=allow_missing)
    codes = rows.read_all()
    missing = codes < 0
    codes[missing] = 0
    # one or two bytes per value, since there may be many rows
    codes = codes.astype(np.uint8 if max(map(len, problem.states)) <= 255 else np.uint16, copy=False)
    return CodedRows(codes, missing, rows.index, rows.columns)


class DiscreteRows:
    """Rows of any input in the codes of a network, in chunks, -1 for missing values; states of files match by text.

    `index` is the index of a pandas frame, None for other inputs; `columns` are the variables with a column, in the
    order of the columns. Raises if a column is not a variable, a value is not among its states, or a value is missing
    and must not be; errors about values come when their chunk is read.
    """

    def __init__(self, X: Any, problem: Problem, *, allow_missing: bool = True):
        if not problem.names:
            raise ValueError("the network has no variables: add nodes and their tables")
        if isinstance(X, Mapping):
            X = _make_frame(X)
        self.index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        self._problem, self._allow_missing = problem, allow_missing
        self._kept: list[np.ndarray] | None = None
        tables: Iterator[Frame | DiscreteTable]
        if isinstance(X, pd.DataFrame) and not X.shape[1]:
            tables, self._are_texts = iter([Frame((), [], len(X))]), False
        else:
            tables, self._are_texts = open_new_chunks(X)
        self._first = next(tables)
        self._others = tables
        names = self._first.columns if isinstance(self._first, DiscreteTable) else self._first.names
        if isinstance(X, np.ndarray | list | tuple):
            names = _name_columns(names, problem.names)
        _check_columns(names, problem.names, allow_missing)
        place = {name: v for v, name in enumerate(problem.names)}
        self.columns = [place[name] for name in names]
        self._is_stream = is_chunked(X)

    @property
    def n_rows(self) -> int:
        """The number of rows; all chunks are read and kept to count those of a file or an iterator."""
        kept = self._keep()
        return self._first.n_rows if kept is None else sum(codes.shape[1] for codes in kept)

    @property
    def incomplete(self) -> list[int]:
        """The variables without a column or with a missing value, in order; all chunks are read and kept."""
        has_missing = np.ones(len(self._problem.names), dtype=bool)
        kept = self._keep()
        if kept is not None:
            has_missing = np.any([(codes < 0).any(axis=1) for codes in kept], axis=0)
        elif self.code_columns is not None:
            has_missing[self.columns] = False
            has_missing[self.code_columns.find_incomplete()] = True
        else:
            masks = map(find_missing, self._first.columns)
            has_missing[self.columns] = [mask is not None and mask.any() for mask in masks]
        absent = np.isin(np.arange(len(has_missing)), self.columns, invert=True)
        return np.flatnonzero(has_missing | absent).tolist()

    @cached_property
    def code_columns(self) -> RowColumns | None:
        """The columns of a table in memory if all are codes or categories, which are not copied; else None."""
        if self._is_stream or (isinstance(self._first, Frame) and self._are_texts):
            return None
        found = self._find_codes(self._first)
        if found is None:
            return None
        columns = RowColumns(*found, self._first.n_rows)
        if not self._allow_missing:
            _check_complete([self._problem.names[v] for v in columns.find_incomplete()], False)
        return columns

    def _find_codes(self, table: Frame | DiscreteTable) -> tuple[list, list] | None:
        """Return per variable the codes of its column and their map (see `StateCodes`); None for other columns."""
        names, states, kept = self._problem.names, self._problem.states, StateCodes.of(self._problem)
        codes: list[np.ndarray | None] = [None] * len(names)
        maps: list[np.ndarray | None] = [None] * len(names)
        for column, v in enumerate(self.columns):
            if isinstance(table, DiscreteTable):
                marker, row = table.missing_codes[column], table.codes[column]
                observed = table.states[column] if marker < 0 else table.states[column][:-1]
                places = _map_states(names[v], observed, states[v], row, self._are_texts)
                codes[v], maps[v] = row, np.concatenate([[-1], places, [-1]]).astype(np.int32)  # the last: missing
                continue
            values = table.columns[column]
            if not isinstance(values, pd.Categorical):
                return None
            codes[v], maps[v] = row, found = values.codes, kept.find_map(v, values)
            if found is None:  # a category that is not a state; it must not occur
                places = _map_states(names[v], list_categories(values), states[v], row[row >= 0])
                maps[v] = np.append(-1, places).astype(np.int32)
        return codes, maps

    def copy_complete(self) -> list[np.ndarray | None]:
        """Return new arrays of the codes of the complete columns, as in pandas, as far as no value has to be read."""
        kept = StateCodes.of(self._problem)
        copies: list[np.ndarray | None] = [None] * len(self._problem.names)
        if self.code_columns is None:
            return copies
        codes, maps = self.code_columns.arrays
        for v in set(self.columns).difference(self.code_columns.find_incomplete()):
            if maps[v] is list_same_codes(len(self._problem.states[v])):
                copies[v] = codes[v].astype(kept.dtype(v), order="C")
            else:
                copies[v] = maps[v][1:].astype(kept.dtype(v))[codes[v]]
        return copies

    def tables(self, most: int) -> Iterator[tuple[int, RowColumns]]:
        """Yield the number of the first row of a part of the table, and its columns; once.

        Codes and categories are one part. Other columns are coded, at most `most` rows at a time.
        """
        if self.code_columns is not None:
            yield 0, self.code_columns
            return
        begin = 0
        for codes in self._code_chunks(most):
            maps = [list_same_codes(len(states)) for states in self._problem.states]
            yield begin, RowColumns(list(codes), maps, codes.shape[1])
            begin += codes.shape[1]

    def read_all(self) -> np.ndarray:
        """Return the codes of all rows, (n_variables, n_rows); once."""
        parts = list(self._code_chunks(None))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _keep(self) -> list[np.ndarray] | None:
        """Read all chunks of a file or an iterator and return their codes; None for other inputs."""
        if self._is_stream and self._kept is None:
            self._kept = list(self._code_chunks(None))
        return self._kept

    def _code_chunks(self, most: int | None) -> Iterator[np.ndarray]:
        if self._kept is not None:
            kept, self._kept = self._kept[::-1], None
            while kept:
                yield kept.pop()  # its memory is free when the next one is read
            return
        for table in chain([self._first], self._others):
            step = max(1, most or table.n_rows)
            for begin in range(0, max(1, table.n_rows), step):
                yield self._code(table, begin, min(begin + step, table.n_rows))

    def _code(self, table: Frame | DiscreteTable, begin: int, end: int) -> np.ndarray:
        """Return the codes of some rows in the smallest type, as in pandas."""
        names, states = self._problem.names, self._problem.states
        codes = np.full((len(names), end - begin), -1, dtype=np.min_scalar_type(-max(map(len, states))))
        incomplete = []
        for column, v in enumerate(self.columns):
            if isinstance(table, DiscreteTable):
                column_codes = _read_table_column(table, column, begin, end)
            else:
                column_codes = _code_values(table.columns[column][begin:end], names[v])
            if _write_codes(column_codes, names[v], states[v], codes[v], self._are_texts):
                incomplete.append(names[v])
        _check_complete(incomplete, self._allow_missing)
        return codes


def _write_codes(
    column: tuple[tuple, np.ndarray, np.ndarray | None], name: Hashable, states: tuple, out: np.ndarray, by_text: bool
) -> bool:
    """Write the codes of a coded column by the states of a variable; return whether values are missing."""
    observed, codes, mask = column
    places = _map_states(name, observed, states, codes, by_text)
    if mask is None or not mask.any():
        out[:] = places[codes]
        return False
    out[~mask] = places[codes]
    return True


def _name_columns(columns: tuple, names: tuple) -> tuple:
    """Return the variables of the columns of an array: those called x0, x1, ..., or in the order of the network."""
    if len(columns) != len(names):
        raise ValueError(
            f"an array must have one column for each of {len(names)} variables, in their order, got {len(columns)} "
            "column(s): use a frame with named columns"
        )
    return columns if set(columns) == set(names) else names


def _read_table_column(
    table: DiscreteTable, column: int, begin: int, end: int
) -> tuple[tuple, np.ndarray, np.ndarray | None]:
    marker = table.missing_codes[column]
    codes = table.codes[column, begin:end]
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


def _map_states(name: Hashable, observed: tuple, states: tuple, codes: np.ndarray, by_text: bool = False) -> np.ndarray:
    """Return the code in the network for each state of a column; states that do not occur may be unknown."""
    places = match_texts(observed, states, -1) if by_text else match_states(observed, states, -1)
    unknown = list_unknown_states(observed, [observed[k] for k in np.flatnonzero(places >= 0)], codes)
    if unknown:
        remedy = "set these values to missing, or drop the rows"
        if not by_text and (match_texts(unknown, states, -1) >= 0).any():
            remedy = _name_conversion(unknown, states)
        text = (
            f"column {name!r} holds {join_names(unknown)}, which are not among the states of the variable, "
            f"{join_names(states)}: {remedy}"
        )
        raise UnknownStateError(name, unknown[0], states, text)
    return np.maximum(places, 0)


def _name_conversion(unknown: Sequence[Hashable], states: Sequence[Hashable]) -> str:
    """Return how to convert a column whose values have the text of states of the network."""
    if not all(isinstance(state, str) for state in states):
        return "the network has them as numbers or booleans, convert the column, for example with pandas.to_numeric"
    whole = 'astype("Int64").' if any(isinstance(state, float) for state in unknown) else ""
    return f'the network has them as text, convert the column with {whole}astype("string")'


# ---- rows of files, with the types of the variables ----


def type_columns(frame: Frame, kinds: Mapping[Hashable, tuple | None]) -> pd.DataFrame:
    """Return a chunk of a file in the types of its variables: their states, or None for continuous ones.

    Values match states by their text; unknown values become further categories. Words become numbers in continuous
    columns. Other columns are returned as they are.
    """
    columns: dict[int, Any] = {}
    for k, (name, values) in enumerate(zip(frame.names, frame.columns, strict=True)):
        if name not in kinds or (kinds[name] is None and not _is_words(values)):
            columns[k] = values.to_pandas() if hasattr(values, "to_pandas") else values
        else:
            states = kinds[name]
            columns[k] = _parse_numbers(values, name) if states is None else _make_categories(values, name, states)
    names = pd.Index(frame.names, tupleize_cols=False)
    return pd.DataFrame(columns, index=pd.RangeIndex(frame.n_rows), copy=False).set_axis(names, axis=1)


def _make_categories(values: Any, name: Hashable, states: tuple) -> pd.Categorical:
    observed, of_rows, mask = _code_values(values, name)
    places = match_texts(observed, states, -1)
    unknown = [observed[k] for k in np.flatnonzero(places < 0)]
    places[places < 0] = len(states) + np.arange(len(unknown))
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[slice(None) if mask is None else ~mask] = places[of_rows]
    return pd.Categorical.from_codes(codes, pd.Index([*states, *unknown], tupleize_cols=False))


def _parse_numbers(words: np.ndarray, name: Hashable) -> np.ndarray:
    cells = pd.Series(words)
    parsed: Any = pd.to_numeric(cells, errors="coerce")
    numbers = parsed.astype("float64").to_numpy()
    wrong = np.flatnonzero(np.isnan(numbers) & cells.notna().to_numpy())
    if len(wrong):
        raise ValueError(f"column {name!r} is continuous in the network, but holds {cells.iloc[wrong[0]]!r:.60}")
    return numbers


def _is_words(values: Any) -> bool:
    """Return whether a column holds the words of a CSV file."""
    return isinstance(values, np.ndarray) and values.dtype == object


def _is_table_file(X: Any) -> bool:
    return is_path(X) and Path(X).suffix.lower() != PLANE_SUFFIX


def _read_file(path: Any, kinds: Mapping[Hashable, tuple | None]) -> pd.DataFrame:
    """Return all rows of a file, read in chunks, in the types of their variables."""
    tables, _ = open_new_chunks(path)
    frames = [
        _decode_table(table) if isinstance(table, DiscreteTable) else type_columns(table, kinds) for table in tables
    ]
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


# ---- Gaussian networks ----


class NumericRows(NamedTuple):
    """Rows (n_rows, n_variables), NaN for missing values; their labels; a mask of variables with a column.

    `order` lists the variables with a column in the order of the columns.
    """

    values: np.ndarray
    known: np.ndarray
    index: pd.Index
    order: list[int]


def read_numeric_rows(X, names: tuple, *, allow_missing: bool = False) -> NumericRows:
    """Return rows in the order of a network. The columns of an array are the variables, in this order.

    Raises if a column is not a variable, a value is not a finite number, or a value is missing and must not be.
    """
    columns, cells, index = _open_numeric(X, names)
    _check_columns(columns, names, allow_missing)
    place = {name: v for v, name in enumerate(names)}
    order = [place[name] for name in columns]
    known = np.isin(np.arange(len(names)), order)
    # Absent columns are missing in every row.
    values = np.full((len(cells), len(names)), np.nan)
    values[:, order] = cells
    refuse_values(names, None, mark_infinite_columns(values))
    incomplete = [names[v] for v in np.flatnonzero(np.isnan(values).any(axis=0) & known).tolist()]
    _check_complete(incomplete, allow_missing)
    return NumericRows(values, known, index, order)


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
    if _is_table_file(X):
        X = _read_file(X, dict.fromkeys(names))
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
    ignore = set(ignore)
    if is_path(X):
        kinds = dict(zip(names, states, strict=True))
        X = _read_file(X, {name: kind for name, kind in kinds.items() if name not in ignore})
    frame, index = _open_mixed(X, names)
    _check_columns(frame.names, names, allow_missing)
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
        X = _make_frame(X)
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


def _make_frame(columns: Mapping) -> pd.DataFrame:
    """Return a frame from a dictionary of single values, or of sequences of one length."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(1))
    cells = [
        pd.Series(list(values)) if isinstance(values, list | tuple | np.ndarray | pd.Series) else pd.Series([values])
        for values in columns.values()
    ]
    if len({len(values) for values in cells}) > 1:
        lengths = ", ".join(f"{name!r} {len(values)}" for name, values in list(zip(columns, cells, strict=True))[:10])
        raise ValueError(
            f"the columns of a dictionary must be single values, or sequences of one length; the lengths are {lengths}"
        )
    return pd.concat(cells, axis=1).set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)

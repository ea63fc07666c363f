"""Rows of floats and states for a network, missing cells marked."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame, open_frame
from pgmx.data.files.readers import is_path
from pgmx.data.numbers.cells import float_rows, infinite_columns, kinds_of_states, raise_of_cells, raise_of_states
from pgmx.data.pieces.chunks import is_iterator
from pgmx.data.recode import match_states
from pgmx.data.sources import open_piece
from pgmx.inference.mixed.families import MixedRows
from pgmx.models.markov.rows import code_cells, map_states
from pgmx.models.names import check_columns, check_complete


class ReadRows(NamedTuple):
    """Rows of n variables, which cells are missing and which hold unknown states, bool (n, n_rows), and labels.

    `absent`, bool (n,), are the variables without a column.
    """

    rows: MixedRows
    missing: np.ndarray
    unknown: np.ndarray
    index: pd.Index
    absent: np.ndarray


def read_mixed_rows(
    X: Any,
    names: tuple,
    states: tuple,
    *,
    allow_missing: bool = False,
    allow_unknown: bool = False,
    ignore: Iterable[Hashable] = (),
) -> ReadRows:
    """Return rows in the order of a network, whose `states` are None for floats; columns to `ignore` are missing.

    Raises if a column is no variable, a cell of floats no finite number, a cell of states no state of the variable
    (unless `allow_unknown`), or where cells must not be missing.
    """
    frame, index = _open(X, names)
    check_columns(frame.names, names, allow_missing)
    ignore = set(ignore)
    at = {name: column for column, name in enumerate(frame.names) if name not in ignore}
    shape = (len(names), frame.n_rows)
    missing, unknown = np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool)
    rows = MixedRows(np.zeros(shape, dtype=np.intp), np.zeros(shape))
    _read_floats(
        frame, [(v, at[name]) for v, name in enumerate(names) if states[v] is None and name in at], rows, missing
    )
    for v, name in enumerate(names):
        if states[v] is None or name not in at:
            continue
        observed, codes, mask = code_cells(frame.columns[at[name]], name)
        missing[v] = False if mask is None else mask
        known = ~missing[v]
        if allow_unknown:
            places = match_states(observed, states[v], absent=-1)
            unknown[v, known] = places[codes] < 0 if len(observed) else False
        else:
            places = map_states(name, observed, states[v], codes)
        rows.codes[v, known] = np.maximum(places, 0)[codes]
    check_complete([name for v, name in enumerate(names) if name in at and missing[v].any()], allow_missing)
    absent = np.array([name not in at for name in names])
    return ReadRows(rows, missing, unknown, index, absent)


def _read_floats(frame: Frame, places: list[tuple[int, int]], rows: MixedRows, missing: np.ndarray) -> None:
    """Read the columns of floats: pairs of a variable and its column."""
    if not places:
        return
    part = Frame(tuple(frame.names[c] for _, c in places), [frame.columns[c] for _, c in places], frame.n_rows)
    raise_of_states(part.names, kinds_of_states(part))
    numbers = float_rows(part)
    raise_of_cells(part.names, None, infinite_columns(numbers))
    for (v, _), column in zip(places, numbers.T, strict=True):
        missing[v] = np.isnan(column)
        rows.numbers[v] = np.where(missing[v], 0.0, column)


def _open(X: Any, names: tuple) -> tuple[Frame, pd.Index]:
    """Return the columns of a table, or of a dictionary of cells or columns, and labels of the rows."""
    if isinstance(X, Mapping):
        X = _make_frame(X)
    if isinstance(X, DiscreteTable):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame) and not X.shape[1]:
        return Frame((), [], len(X)), X.index
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    frame = open_frame(X) if isinstance(X, Frame) or is_path(X) or is_iterator(X) else open_piece(X)
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(names):
            raise ValueError(
                f"an array must have one column for each of {len(names)} variables, in their order, got shape "
                f"{X.shape}: use a frame with named columns"
            )
        frame = Frame(tuple(names), frame.columns, frame.n_rows)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(frame.n_rows)
    return frame, index


def _make_frame(columns: Mapping) -> pd.DataFrame:
    """Return a frame of a dictionary of cells, or of sequences of one length."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(1))
    cells = [
        pd.Series(list(values)) if isinstance(values, list | tuple | np.ndarray | pd.Series) else pd.Series([values])
        for values in columns.values()
    ]
    lengths = {len(values) for values in cells}
    if len(lengths) > 1:
        raise ValueError(
            f"the columns of a dictionary must be cells, or sequences of one length; {join_names(columns)} have the "
            f"lengths {sorted(lengths)}"
        )
    return pd.concat(cells, axis=1).set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)

"""Missing values: their positions, and the coding of columns that have some."""

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import join_names
from pgmx.data.columns.kinds import Coded, code_column, list_categories, raise_too_many
from pgmx.data.table import MAX_BYTE_STATES, MAX_STATES, MISSING


def missing_mask(values):
    """Return which values of a column are missing, as a bool array; None for a dtype without missing values."""
    if isinstance(values, pa.ChunkedArray):
        if pa.types.is_dictionary(values.type):  # the dictionary itself may hold a null
            values = values.cast(values.type.value_type)
        return values.is_null(nan_is_null=True).to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind in "iubU":
        return None
    return np.asarray(pd.isna(values))


def take_rows(values, keep):
    """Return the rows of a column for which the mask `keep` is True."""
    return values.filter(pa.array(keep)) if isinstance(values, pa.ChunkedArray) else values[keep]


def code_known_cells(values, out, name, is_discrete=False):
    """Code a column that `code_column` finds incomplete; missing values get the code after the last state.

    Return the states of the observed values. The codes go to `out`, uint8 of shape (n_rows,), or, if there are more
    than 255 states, into the result.
    """
    missing = missing_mask(values)
    known = np.ones(len(values), dtype=bool) if missing is None else ~missing
    n_known = int(known.sum())
    part = np.empty(n_known, dtype=np.uint8)
    if n_known:
        states, codes, _ = code_column(take_rows(values, known), part, name, is_discrete)
    else:
        states, codes = list_categories(values), None
    if len(states) > MAX_BYTE_STATES:
        wide = np.full(len(known), len(states), dtype=np.uint16)
        if codes is not None:
            wide[known] = codes
        return Coded(states, wide)
    out[:] = len(states)
    out[known] = part
    return Coded(states)


def add_missing_state(coded, row, name):
    """Return a column coded by `code_known_cells` with one more state, the last, for its missing values.

    `row` holds its codes if `coded` has none; the result has codes of its own if it now has more than 255 states.
    """
    states = (*coded.states, missing_name(coded.states))
    if len(states) > MAX_STATES:
        raise_too_many(name)
    if len(states) > MAX_BYTE_STATES and coded.codes is None:
        return Coded(states, row.astype(np.uint16))
    return coded._replace(states=states)


def missing_name(states):
    """Return the name of the state of missing values: "missing", or "missing_1", ... if a state has that name."""
    names, name, k = set(states), MISSING, 0
    while name in names:
        k += 1
        name = f"{MISSING}_{k}"
    return name


def refuse_marked(table, remedy):
    """Refuse a coded table that marks missing values, if they cannot be left out; `remedy` says what to do."""
    marked = [name for name, code in zip(table.columns, table.missing_codes, strict=True) if code >= 0]
    if marked:
        raise ValueError(f"missing values are marked (missing='pairwise') in column(s) {join_names(marked)}: {remedy}")

"""Missing cells: where they are, and the coding of columns that have some."""

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import join_names
from pgmx.data.columns.kinds import Coded, code_column, declared_categories, raise_too_many
from pgmx.data.table import MAX_BYTE_STATES, MAX_STATES, MISSING


def missing_mask(values):
    """Mark the missing cells of a column.

    Parameters
    ----------
    values : ndarray, pandas.api.extensions.ExtensionArray or pyarrow.ChunkedArray
        The column.

    Returns
    -------
    ndarray of bool, or None
        None when the dtype has no missing cells.
    """
    if isinstance(values, pa.ChunkedArray):
        if pa.types.is_dictionary(values.type):  # the dictionary itself may hold a null
            values = values.cast(values.type.value_type)
        return values.is_null(nan_is_null=True).to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind in "iubU":
        return None
    return np.asarray(pd.isna(values))


def take_rows(values, keep):
    """Return the rows of a column where the mask `keep` is True."""
    return values.filter(pa.array(keep)) if isinstance(values, pa.ChunkedArray) else values[keep]


def code_known_cells(values, out, name):
    """Code a column of which cells are missing; they get the code after that of the last state.

    Parameters
    ----------
    values : ndarray, pandas.api.extensions.ExtensionArray or pyarrow.ChunkedArray, shape (n_rows,)
        The column, one that `code_column` finds incomplete.
    out : ndarray of uint8, shape (n_rows,), C-contiguous
        Receives the codes when there are at most 255 states.
    name : hashable
        The column's name, for messages.

    Returns
    -------
    Coded
        The states of the known cells and, when there are more than 255, the codes.
    """
    known = ~missing_mask(values)
    n_known = int(known.sum())
    part = np.empty(n_known, dtype=np.uint8)
    if n_known:
        states, codes, _ = code_column(take_rows(values, known), part, name)
    else:
        states, codes = declared_categories(values), None
    if len(states) > MAX_BYTE_STATES:
        wide = np.full(len(known), len(states), dtype=np.uint16)
        if codes is not None:
            wide[known] = codes
        return Coded(states, wide)
    out[:] = len(states)
    out[known] = part
    return Coded(states)


def with_marker(coded, row, name):
    """Add a last state to a coded column for its missing cells, which have that code already.

    Parameters
    ----------
    coded : Coded
        The column as `code_known_cells` gives it.
    row : ndarray of uint8, shape (n_rows,)
        Its codes where `coded` has none of its own.
    name : hashable
        The column's name, for messages.

    Returns
    -------
    Coded
        The column with one more state, codes of its own when it now has more than 255.
    """
    states = (*coded.states, missing_name(coded.states))
    if len(states) > MAX_STATES:
        raise_too_many(name)
    if len(states) > MAX_BYTE_STATES and coded.codes is None:
        return Coded(states, row.astype(np.uint16))
    return coded._replace(states=states)


def missing_name(states):
    """Name of the state for missing cells: "missing", or "missing_1", ... where a state has that name."""
    taken, name, k = set(states), MISSING, 0
    while name in taken:
        k += 1
        name = f"{MISSING}_{k}"
    return name


def refuse_marked(table, remedy):
    """Refuse a coded table that marks missing cells, for what cannot leave them out; `remedy` says what to do."""
    marked = [name for name, code in zip(table.columns, table.missing_codes, strict=True) if code >= 0]
    if marked:
        raise ValueError(f"missing cells are marked (missing='pairwise') in column(s) {join_names(marked)}: {remedy}")

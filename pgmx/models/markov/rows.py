"""Rows of data in the state codes of a network, with missing values and absent columns."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.data import DiscreteTable
from pgmx.data.columns import (
    code_column,
    find_missing,
    is_float_column,
    list_unknown_states,
    match_states,
    read_floats,
    take_rows,
)
from pgmx.data.inputs import open_new_rows
from pgmx.inference.problem import Problem
from pgmx.models.base import check_columns, check_complete


class Rows(NamedTuple):
    """Coded rows: codes, 0 for missing values, and the mask of missing values, both (n_variables, n_rows).

    `index` is the index of a pandas frame, None for other inputs.
    """

    codes: np.ndarray
    missing: np.ndarray
    index: Any


def code_rows(X, problem: Problem, *, allow_missing: bool = False) -> Rows:
    """Code rows by the states of a network. The columns of an array are the variables, in this order.

    Raises if a column is not a variable, a value is not among its states, or a value is missing and must not be.
    """
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    source = open_new_rows(X)  # missing values of files get a separate code
    columns = source.columns if isinstance(source, DiscreteTable) else source.names
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(problem.names):
            raise ValueError(
                f"an array must have one column for each of {len(problem.names)} variables, in their order, got shape "
                f"{X.shape}: use a frame with named columns"
            )
        columns = problem.names
    check_columns(columns, problem.names, allow_missing)
    at = {name: column for column, name in enumerate(columns)}
    largest = max(map(len, problem.states))
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
            states, column, mask = code_cells(source.columns[at[name]], name)
        if mask is not None and mask.any():
            incomplete.append(name)
            missing[v] = mask
        codes[v, ~missing[v]] = map_states(name, states, problem.states[v], column)[column]
    check_complete(incomplete, allow_missing)
    return Rows(codes, missing, getattr(X, "index", None) if hasattr(X, "iloc") else None)


def _read_table_column(table: DiscreteTable, column: int) -> tuple[tuple, np.ndarray, np.ndarray | None]:
    marker = table.missing_codes[column]
    codes = table.codes[column]
    if marker < 0:
        return table.states[column], codes, None
    return table.states[column][:-1], codes[codes != marker], codes == marker


def code_cells(values: Any, name: Hashable) -> tuple[tuple, np.ndarray, np.ndarray | None]:
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


def map_states(name: Hashable, observed: tuple, states: tuple, codes: np.ndarray) -> np.ndarray:
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

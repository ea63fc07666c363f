"""Rows of data in the state codes of a network, missing cells and columns marked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame, open_any
from pgmx.data.columns.kinds import code_column, float_cells, is_float_column
from pgmx.data.columns.missing import missing_mask, take_rows
from pgmx.data.files.readers import is_path
from pgmx.data.pieces.chunks import is_iterator
from pgmx.data.recode import list_unknown_states, match_states
from pgmx.data.sources import open_piece
from pgmx.inference.problem import Problem

__all__ = ["Rows", "coded_rows"]


class Rows(NamedTuple):
    """Coded rows.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (n_variables, n_rows)
        Codes in the order of the network; 0 where missing.
    missing : ndarray of bool, shape (n_variables, n_rows)
        Which cells are.
    index : object
        Row labels of a pandas frame, None for other inputs.
    """

    codes: np.ndarray
    missing: np.ndarray
    index: Any


def coded_rows(X, problem: Problem, *, allow_missing: bool = False) -> Rows:
    """Code rows by the states of a network.

    Parameters
    ----------
    X : DataFrame, array, DiscreteTable, path or iterator of frames
        Rows, any number of them; columns in any order, those of an array in the order of the variables.
    problem : Problem
        Names and states.
    allow_missing : bool, default=False
        Whether columns may be absent and cells missing.

    Returns
    -------
    Rows
        Codes, mask and index.

    Raises
    ------
    ValueError
        If a column is no variable, a cell is no state of it, or something is missing that must not be.
    """
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    if is_path(X) or is_iterator(X):
        X = open_any(X, missing="pairwise")  # a state of their own marks the missing cells
    source = None if isinstance(X, DiscreteTable) else X if isinstance(X, Frame) else open_piece(X)
    columns, n_rows = (X.columns, X.n_rows) if source is None else (source.names, source.n_rows)
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(problem.names):
            raise ValueError(
                f"an array must have one column for each of {len(problem.names)} variables, in their order, got shape "
                f"{X.shape}: use a frame with named columns"
            )
        columns = problem.names
    at = {name: column for column, name in enumerate(columns)}
    extra = [name for name in columns if name not in set(problem.names)]
    if extra:
        raise ValueError(
            f"column(s) {join_names(extra)} are no variables of the network: leave them out, or rename them"
        )
    lacking = [name for name in problem.names if name not in at]
    if lacking and not allow_missing:
        raise ValueError(
            f"the variables {join_names(lacking)} have no column: predict() fills columns that are missing"
        )
    largest = max(map(len, problem.states))
    codes = np.zeros((len(problem.names), n_rows), dtype=np.uint8 if largest <= 255 else np.uint16)
    missing = np.zeros(codes.shape, dtype=bool)
    incomplete = []
    for v, name in enumerate(problem.names):
        if name not in at:
            missing[v] = True
            continue
        if source is None:
            own, found, mask = _of_table(X, at[name])
        else:
            own, found, mask = _of_column(source.columns[at[name]], name)
        if mask is not None and mask.any():
            incomplete.append(name)
            missing[v] = mask
        codes[v, ~missing[v]] = _lookup(name, own, problem.states[v], found)[found]
    if incomplete and not allow_missing:
        raise ValueError(
            f"missing cells in column(s) {join_names(incomplete)}: drop the rows, or fill them by predict()"
        )
    return Rows(codes, missing, getattr(X, "index", None) if hasattr(X, "iloc") else None)


def _of_table(table: DiscreteTable, column: int) -> tuple[tuple, np.ndarray, np.ndarray | None]:
    marker = table.missing_codes[column]
    codes = table.codes[column]
    if marker < 0:
        return table.states[column], codes, None
    return table.states[column][:-1], codes[codes != marker], codes == marker


def _of_column(values, name) -> tuple[tuple, np.ndarray, np.ndarray | None]:
    """Return the states of a column's known cells, their codes, and the mask of missing ones."""
    mask = missing_mask(values)
    if mask is not None and mask.any():
        values = take_rows(values, ~mask)
    if not len(values):
        return (), np.empty(0, dtype=np.intp), mask
    if is_float_column(values):
        # Integers beside missing cells come as floats: 1.0 is the state 1 to a dictionary.
        distinct, codes = np.unique(float_cells(values), return_inverse=True)
        return tuple(distinct.tolist()), codes, mask
    row = np.empty(len(values), dtype=np.uint8)
    coded = code_column(values, row, name)
    return coded.states, row if coded.codes is None else coded.codes, mask


def _lookup(name, own: tuple, states: tuple, found: np.ndarray) -> np.ndarray:
    """Return the network's code of each state of a column; those that do not occur may be unknown."""
    unknown = list_unknown_states(own, states, found)
    if unknown:
        remedy = "code such cells as missing, or drop the rows"
        if any(str(state) in states for state in unknown):
            remedy = "the network knows them as text, convert the column with astype(str)"
        raise ValueError(
            f"column {name!r} holds {join_names(unknown)}, which are no states of the variable in the network, "
            f"{join_names(states)}: {remedy}"
        )
    return match_states(own, states)

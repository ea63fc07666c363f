"""Rows of numbers for a Gaussian network, missing cells and columns marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data import Frame
from pgmx.data.files.readers import is_path
from pgmx.data.numbers.cells import float_rows, infinite_columns, kinds_of_states, raise_of_cells, raise_of_states
from pgmx.data.numbers.table import open_numeric
from pgmx.data.pieces.chunks import is_iterator
from pgmx.data.sources import open_piece

__all__ = ["NumericRows", "evidence_of", "numeric_rows"]


class NumericRows(NamedTuple):
    """Rows in the order of a network.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_variables)
        Numbers; NaN where missing.
    known : ndarray of bool, shape (n_variables,)
        Whether there is a column of the variable.
    index : pandas.Index
        Labels of the rows.
    """

    values: np.ndarray
    known: np.ndarray
    index: Any


def numeric_rows(X, names: tuple, *, allow_missing: bool = False) -> NumericRows:
    """Bring rows into the order of a network.

    Parameters
    ----------
    X : DataFrame, mapping, array, path or iterator of frames
        Rows, any number of them; columns in any order, those of an array in the order of the variables. A mapping gives
        a number, or a sequence of them, for each name.
    names : tuple
        Names of the variables.
    allow_missing : bool, default=False
        Whether columns may be absent and cells missing.

    Returns
    -------
    NumericRows
        Values, which variables have a column, and index.

    Raises
    ------
    ValueError
        If a column is no variable or holds other things than finite numbers, or something is missing that must not be.
    """
    columns, cells, index = _cells_of(X, names)
    place, there = {name: v for v, name in enumerate(names)}, set(columns)
    extra = [name for name in columns if name not in place]
    if extra:
        raise ValueError(
            f"column(s) {join_names(extra)} are no variables of the network: leave them out, or rename them"
        )
    known = np.array([name in there for name in names])
    lacking = [name for name in names if name not in there]
    if lacking and not allow_missing:
        raise ValueError(
            f"the variables {join_names(lacking)} have no column: predict() fills columns that are missing"
        )
    values = np.full((len(cells), len(names)), np.nan)
    values[:, [place[name] for name in columns]] = cells
    raise_of_cells(names, None, infinite_columns(values))
    incomplete = [names[v] for v in np.flatnonzero(np.isnan(values).any(axis=0) & known).tolist()]
    if incomplete and not allow_missing:
        raise ValueError(
            f"missing cells in column(s) {join_names(incomplete)}: drop the rows, or fill them by predict()"
        )
    return NumericRows(values, known, index)


def evidence_of(evidence: Mapping, names: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values of observed variables, in the order of the network.

    Parameters
    ----------
    evidence : dict of {name: number}
        Observed values.
    names : tuple
        Names of the variables.

    Returns
    -------
    tuple of (ndarray of int64, ndarray of float64)
        Positions, ascending, and values.

    Raises
    ------
    TypeError
        If `evidence` is no dictionary.
    ValueError
        If a name is no variable or a value no finite number.
    """
    if not isinstance(evidence, Mapping):
        raise TypeError(f"evidence must be a dictionary {{name: number}}, got {type(evidence).__name__}")
    rows = numeric_rows({name: [value] for name, value in evidence.items()}, names, allow_missing=True)
    positions = np.flatnonzero(rows.known)
    absent = [names[v] for v in positions.tolist() if np.isnan(rows.values[0, v])]
    if absent:
        raise ValueError(f"the evidence of {join_names(absent)} is missing: leave out what is not observed")
    return positions, rows.values[0, positions]


def _cells_of(X, names: tuple) -> tuple[tuple, np.ndarray, Any]:
    """Return names of columns, float64 rows, and labels of the rows."""
    if isinstance(X, Mapping):
        X = _frame_of(X)
    if is_path(X) or is_iterator(X):
        table = open_numeric(X, missing="pairwise")
        cells = table.rows()
        return table.names, cells, pd.RangeIndex(len(cells))
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=np.float64)
    if isinstance(X, pd.DataFrame) and not X.shape[1]:
        return (), np.empty((len(X), 0)), X.index
    frame = X if isinstance(X, Frame) else Frame(*open_piece(X))
    raise_of_states(frame.names, kinds_of_states(frame))
    columns = frame.names
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(names):
            raise ValueError(
                f"an array must have one column for each of {len(names)} variables, in their order (NaN where "
                f"missing), got shape {X.shape}: use a frame with named columns"
            )
        columns = names
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(frame.n_rows)
    return columns, float_rows(frame), index


def _frame_of(columns: Mapping) -> pd.DataFrame:
    """Return a frame of a dictionary of numbers, or of sequences of one length."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(1))
    cells = [np.atleast_1d(np.asarray(own)) for own in columns.values()]
    if len({own.shape for own in cells}) > 1 or cells[0].ndim > 1:
        shapes = [own.shape for own in cells]
        raise ValueError(f"the columns of a dictionary must be numbers, or sequences of one length, got {shapes}")
    frame = pd.concat([pd.Series(own) for own in cells], axis=1)
    return frame.set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)

"""Numeric rows for a Gaussian network, with missing values and absent columns."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data.inputs import open_new_rows
from pgmx.data.numeric import (
    NumericTable,
    list_nonnumeric_kinds,
    make_rows,
    mark_infinite_columns,
    refuse_nonnumeric,
    refuse_values,
)
from pgmx.models.base import check_columns, check_complete


class NumericRows(NamedTuple):
    """Rows (n_rows, n_variables), NaN for missing values; their labels; a mask of variables with a column."""

    values: np.ndarray
    known: np.ndarray
    index: pd.Index


def read_rows(X, names: tuple, *, allow_missing: bool = False) -> NumericRows:
    """Return rows in the order of a network. The columns of an array are the variables, in this order.

    Raises if a column is not a variable, a value is not a finite number, or a value is missing and must not be.
    """
    columns, cells, index = _read_cells(X, names)
    check_columns(columns, names, allow_missing)
    place = {name: v for v, name in enumerate(names)}
    known = np.isin(np.arange(len(names)), [place[name] for name in columns])
    values = np.full((len(cells), len(names)), np.nan)
    values[:, [place[name] for name in columns]] = cells
    refuse_values(names, None, mark_infinite_columns(values))
    incomplete = [names[v] for v in np.flatnonzero(np.isnan(values).any(axis=0) & known).tolist()]
    check_complete(incomplete, allow_missing)
    return NumericRows(values, known, index)


def read_evidence(evidence: Mapping, names: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending positions and values of observed variables; raise for unknown names and invalid values."""
    if not isinstance(evidence, Mapping):
        raise TypeError(f"evidence must be a dictionary {{name: number}}, got {type(evidence).__name__}")
    rows = read_rows({name: [value] for name, value in evidence.items()}, names, allow_missing=True)
    positions = np.flatnonzero(rows.known)
    absent = [names[v] for v in positions.tolist() if np.isnan(rows.values[0, v])]
    if absent:
        raise ValueError(f"the evidence of {join_names(absent)} is missing: leave out unobserved variables")
    return positions, rows.values[0, positions]


def _read_cells(X, names: tuple) -> tuple[tuple, np.ndarray, pd.Index]:
    """Return column names, float64 rows, and labels of the rows."""
    if isinstance(X, Mapping):
        X = _make_frame(X)
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


def _make_frame(columns: Mapping) -> pd.DataFrame:
    """Return a frame from a dictionary of single values, or of sequences of one length."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(1))
    cells = [np.atleast_1d(np.asarray(values)) for values in columns.values()]
    shapes = [values.shape for values in cells]
    if len(set(shapes)) > 1 or cells[0].ndim > 1:
        raise ValueError(f"the columns of a dictionary must be numbers, or sequences of one length, got {shapes}")
    frame = pd.concat([pd.Series(values) for values in cells], axis=1)
    return frame.set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)

"""Observed values of arrays, frames, sparse matrices and triples, and the codes of their levels."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from pgmx.checks import check_natural


class Cells(NamedTuple):
    """Observed values, row by row and in ascending columns; `starts` (n_rows + 1,) has the start of each row."""

    starts: np.ndarray  # int64
    columns: np.ndarray  # int32
    values: np.ndarray  # float64
    shape: tuple[int, int]
    codes: np.ndarray = np.empty(0, np.int32)  # int32, of the levels

    @property
    def rows(self) -> np.ndarray:
        """Row of each cell."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))


def check_format(matrix: Any) -> None:
    """Raise ValueError for a sparse matrix whose format stores zeros between its entries."""
    if matrix.format in ("bsr", "dia"):
        raise ValueError(
            f"the sparse matrix X has the format {matrix.format!r}, which cannot distinguish 0 from missing values: "
            "give CSR, CSC or COO"
        )


def list_cells(rows: Any, n_entries: int | None = None) -> Cells:
    """Return the observed values of checked rows: an array without its NaN, or the explicit entries of a CSR matrix.

    ValueError for duplicate entries; `n_entries` is the number of entries before the conversion to CSR.
    """
    if isinstance(rows, np.ndarray):
        observed = ~np.isnan(rows)
        columns, values, counts = np.nonzero(observed)[1], rows[observed], observed.sum(axis=1)
    else:
        if not rows.has_canonical_format or rows.nnz != n_entries:
            rows = rows.copy()
            rows.sum_duplicates()
            if rows.nnz != n_entries:
                raise ValueError("the sparse matrix X has two entries for one cell: give each cell once")
        observed = ~np.isnan(rows.data)
        columns, values = rows.indices[observed], rows.data[observed]
        counts = np.diff(np.r_[0, np.cumsum(observed)][rows.indptr])
    starts = np.r_[0, np.cumsum(counts)].astype(np.int64)
    return Cells(starts, columns.astype(np.int32), np.ascontiguousarray(values, np.float64), rows.shape)


def read_triples(rows: Any, columns: Any, levels: Any, n_columns: int | None) -> csr_matrix:
    """Return triples as a CSR matrix; ValueError for negative positions and for duplicate cells."""
    places = {"rows": np.asarray(rows), "columns": np.asarray(columns)}
    numbers = np.asarray(levels, dtype=np.float64)
    for name, array in places.items():
        if array.ndim != 1 or array.shape != numbers.shape:
            raise ValueError(
                f"{name} has the shape {array.shape} and levels {numbers.shape}: give three arrays of one length"
            )
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold positions from 0 on, got {array.dtype}: convert names to integers")
        if array.size and array.min() < 0:
            raise ValueError(f"{name} holds {array.min()}: positions begin at 0")
    if not numbers.size:
        raise ValueError("there are no triples: give at least one row, column and level")
    width = int(places["columns"].max()) + 1 if n_columns is None else check_natural(n_columns, "n_columns", 1)
    if places["columns"].max() >= width:
        raise ValueError(f"columns holds {places['columns'].max()}, beyond n_columns={n_columns}")
    order = np.lexsort((places["columns"], places["rows"]))
    row, column = places["rows"][order].astype(np.int64), places["columns"][order].astype(np.int64)
    twice = np.flatnonzero((np.diff(row) == 0) & (np.diff(column) == 0))
    if len(twice):
        raise ValueError(f"row {row[twice[0]]} and column {column[twice[0]]} occur twice: give each cell once")
    starts = np.searchsorted(row, np.arange(row[-1] + 2))
    return csr_matrix((numbers[order], column, starts), shape=(int(row[-1]) + 1, width))


def find_levels(cells: Cells, is_tobit: bool) -> np.ndarray:
    """Return the observed levels, ascending, or the minimum and maximum; a single level gets a second one.

    ValueError if there are no observed values.
    """
    levels = np.unique(cells.values) + 0.0
    if not len(levels):
        raise ValueError(f"X has no observed value in {cells.shape[0]} sample(s): give some, or declare levels=")
    if is_tobit:
        levels = levels[[0, -1]]
    if levels[0] == levels[-1]:
        return np.array([levels[0], levels[0] + max(1.0, abs(levels[0]))])
    return levels


def code_cells(cells: Cells, levels: np.ndarray, is_tobit: bool, names: Any = None) -> np.ndarray:
    """Return the position of each value's level, int32; for a tobit 0, 1, 2 for below, inside and above the bounds."""
    if is_tobit:
        return ((cells.values > levels[0]).astype(np.int32) + (cells.values >= levels[1])).astype(np.int32)
    codes = np.minimum(np.searchsorted(levels, cells.values), len(levels) - 1)
    wrong = np.flatnonzero(levels[codes] != cells.values)
    if len(wrong):
        column = cells.columns[wrong[0]]
        name = repr(names[column]) if names is not None else str(column)
        known = ", ".join(f"{level:g}" for level in levels[:10]) + (", ..." if len(levels) > 10 else "")
        raise ValueError(
            f"column {name}, row {cells.rows[wrong[0]]} of the chunk holds {cells.values[wrong[0]]:g}, which is not "
            f"among the levels {known}: declare all of them by levels="
        )
    return codes.astype(np.int32)


def read_cell_positions(cells: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return row * n_columns + column of cells given as rows and columns; ValueError outside the shape."""
    if len(cells) != 2:
        raise ValueError(f"cells must be a pair of rows and columns, got {len(cells)} entries")
    rows, columns = (np.asarray(places) if len(places) else np.empty(0, np.int64) for places in cells)
    if rows.ndim != 1 or rows.shape != columns.shape:
        raise ValueError(
            f"cells has rows of the shape {rows.shape} and columns of {columns.shape}: give two equal lists"
        )
    for name, array, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= size):
            raise ValueError(f"cells names a {name} that is not from 0 to {size - 1}")
    return rows.astype(np.int64) * shape[1] + columns

"""Coefficients of time series: one matrix [target, source] per lag, dense or sparse."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from pgmx.checks import as_reals, read_only

#: One matrix: [target, source].
Matrix: TypeAlias = np.ndarray | csr_array

#: Accepted input: a matrix of lag 1, or matrices of the lags 0 to L.
Coefficients: TypeAlias = ArrayLike | sparray | spmatrix | Sequence


def read_coefficients(coef: Coefficients, n: int, what: str = "coef") -> tuple[Matrix, ...]:
    """Return matrices (n, n) of the lags 0 to L, copied and read-only, from one matrix of lag 1 or a sequence.

    All are sparse if one is sparse; a missing lag 0 is empty.
    """
    if issparse(coef):
        return csr_array((n, n)), _read_sparse(coef, n, what)
    if isinstance(coef, list | tuple) and any(issparse(matrix) for matrix in coef):
        matrices = tuple(_read_sparse(matrix, n, f"{what}[{lag}]") for lag, matrix in enumerate(coef))
        return _check_lags(matrices, what)
    values: Any = coef
    array = np.array(as_reals(values, what), dtype=np.float64, order="C")
    if array.ndim == 2:
        array = np.stack([np.zeros_like(array), array])
    if array.ndim != 3 or array.shape[1:] != (n, n):
        raise ValueError(
            f"{what} must have the shape ({n}, {n}) [target, source] for one lag, or (lags + 1, {n}, {n}) with lag 0 "
            f"first, for {n} names; got {np.shape(values)}"
        )
    _check_finite(array, what)
    return _check_lags(tuple(read_only(array)), what)


def _read_sparse(matrix: object, n: int, what: str) -> csr_array:
    """Return a matrix as a canonical csr array without stored zeros."""
    array = csr_array(matrix, dtype=np.float64, copy=True)
    if array.shape != (n, n):
        raise ValueError(f"{what} must have the shape ({n}, {n}) [target, source], got {array.shape}")
    _check_finite(array.data, what)
    array.sum_duplicates()
    array.eliminate_zeros()
    for part in (array.data, array.indices, array.indptr):
        read_only(part)
    return array


def _check_lags(matrices: tuple[Matrix, ...], what: str) -> tuple[Matrix, ...]:
    if not matrices:
        raise ValueError(f"{what} holds no matrices: give one for each lag from 0")
    return matrices


def _check_finite(values: np.ndarray, what: str) -> None:
    if not np.isfinite(values).all():
        wrong = float(values[~np.isfinite(values)][0])
        raise ValueError(f"{what} must be finite, got {wrong}: replace it, by 0 for no edge")


def list_entries(matrix: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return targets, sources and values of nonzero entries, ordered by source and then target."""
    if isinstance(matrix, np.ndarray):
        targets, sources = np.nonzero(matrix)
        values = matrix[targets, sources]
    else:
        entries = matrix.tocoo()
        targets, sources, values = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
    order = np.lexsort((targets, sources))
    return targets[order], sources[order], values[order]


def take_entries(matrix: Matrix, targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return the values of some entries, including zeros that a sparse matrix does not store."""
    if not len(targets):
        return np.empty(0)
    return np.asarray(matrix[targets, sources]).reshape(-1)


def count_entries(matrix: Matrix) -> int:
    """Return the number of nonzero entries."""
    return int(np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.nnz)


def change_units(matrix: Matrix, scales: np.ndarray) -> Matrix:
    """Return the coefficients [target, source] of the series multiplied by their scales."""
    if issparse(matrix):
        matrix = csr_array(matrix)
        rows = np.repeat(np.arange(len(scales)), np.diff(matrix.indptr))
        data = matrix.data * (scales[rows] / scales[matrix.indices])
        return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix * (scales[:, None] / scales)


def measure_strengths(matrices: Sequence[Matrix], deviations: np.ndarray) -> tuple[Matrix, ...]:
    """Return the absolute standardised coefficients, |a_ij| s_j / s_i, where s are the standard deviations.

    They do not depend on the units of the series; a constant series keeps its units.
    """
    units = 1.0 / np.where(deviations > 0.0, deviations, 1.0)
    return tuple(abs(change_units(matrix, units)) for matrix in matrices)

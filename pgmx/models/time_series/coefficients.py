"""Parameters of time series: coefficients as one matrix [target, source] per lag, dense or sparse, and vectors."""

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
    for values in (array.data, array.indices, array.indptr):
        read_only(values)
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
    # The same order for dense and sparse matrices.
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


# ---- the other parameters of a linear dynamical system ----


def read_column(values: ArrayLike | None, n: int, what: str) -> np.ndarray:
    """Return one value per series, shape (n,), zeros by default."""
    array = np.zeros(n) if values is None else np.array(as_reals(values, what), dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{what} must have the shape ({n},), one value per series, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite, got {float(array[~np.isfinite(array)][0])}")
    return read_only(array)


def read_noise(values: ArrayLike | None, n: int) -> np.ndarray | None:
    """Return a covariance (n, n) or variances (n,) of the noise, checked."""
    if values is None:
        return None
    array = np.array(as_reals(values, "noise_covariance"), dtype=np.float64, order="C")
    if array.ndim == 1:
        array = np.array(read_column(array, n, "noise_covariance"))
        if (array < 0.0).any():
            raise ValueError(f"noise_covariance must not hold negative variances; got {float(array.min())}")
        return read_only(array)
    if array.shape != (n, n):
        raise ValueError(f"noise_covariance must have the shape ({n}, {n}) or ({n},), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"noise_covariance must be finite, got {float(array[~np.isfinite(array)][0])}")
    scale = np.sqrt(np.maximum(array.diagonal(), 0.0))
    # Checked on the scale of correlations, since units differ.
    units = np.where(scale > 0.0, scale, 1.0)
    correlation = array / np.outer(units, units)
    if np.abs(correlation - correlation.T).max() > 1e-8:
        raise ValueError("noise_covariance must be symmetric: average it with its transpose")
    # A singular covariance is allowed: fits to few rows have one.
    lowest = float(np.linalg.eigvalsh((correlation + correlation.T) / 2.0)[0])
    if lowest < -1e-8:
        raise ValueError(
            f"noise_covariance must be positive semidefinite; its correlations have the eigenvalue {lowest:.3g}"
        )
    return read_only((array + array.T) / 2.0)


def read_exogenous_coef(values: ArrayLike | None, n: int, n_exogenous: int) -> np.ndarray:
    """Return coefficients (n, n_exogenous), checked."""
    array = np.zeros((n, 0)) if values is None else np.array(as_reals(values, "exogenous_coef"), dtype=np.float64)
    if array.shape != (n, n_exogenous):
        raise ValueError(
            f"exogenous_coef must have the shape ({n}, {n_exogenous}), series by exogenous_names, got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"exogenous_coef must be finite, got {float(array[~np.isfinite(array)][0])}")
    return read_only(array)

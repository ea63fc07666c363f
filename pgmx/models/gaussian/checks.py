"""Checks of the parameters of a Gaussian network: names, matrices and vectors."""

import numpy as np
from scipy.sparse import csr_array, issparse

from pgmx.checks import as_reals, join_names, read_only
from pgmx.statistics.precision import compute_smallest_eigenvalue

#: Largest difference between a matrix and its transpose, relative to the roots of its diagonal.
ASYMMETRY = 1e-8


def check_precision(matrix, names: tuple) -> csr_array:
    """Return a copy of a matrix as symmetric csr_array with sorted indices and a positive diagonal, or raise."""
    sparse = csr_array(
        matrix if issparse(matrix) else _to_dense(matrix, names, "precision"), dtype=np.float64, copy=True
    )
    _check_shape(sparse.shape, names, "precision")
    sparse.sum_duplicates()
    _check_finite(sparse.data, np.repeat(np.arange(len(names)), np.diff(sparse.indptr)), names, "precision")
    sparse.eliminate_zeros()
    diagonal = sparse.diagonal()
    _check_positive(diagonal, names, "the precision is not positive definite: its diagonal")
    transposed = csr_array(sparse.T)
    difference = abs(sparse - transposed).tocoo()
    roots = np.sqrt(diagonal)
    rows, columns = difference.coords
    excess = difference.data / (roots[rows] * roots[columns])
    if len(excess) and excess.max() > ASYMMETRY:
        _refuse_asymmetry(names, rows[excess.argmax()], columns[excess.argmax()], "precision")
    if difference.nnz:
        sparse = csr_array((sparse + transposed) / 2.0)
        sparse.eliminate_zeros()
    sparse.sort_indices()
    for array in (sparse.data, sparse.indices, sparse.indptr):
        read_only(array)
    return sparse


def split_covariance(matrix, names: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlations of a covariance matrix and its standard deviations, or raise."""
    covariance = _to_dense(matrix.toarray() if issparse(matrix) else matrix, names, "covariance")
    _check_shape(covariance.shape, names, "covariance")
    rows = np.repeat(np.arange(len(names)), len(names))
    _check_finite(covariance.ravel(), rows, names, "covariance")
    _check_positive(covariance.diagonal(), names, "the covariance is not positive definite: its diagonal")
    scale = np.sqrt(covariance.diagonal())
    correlation = covariance / np.outer(scale, scale)
    difference = np.abs(correlation - correlation.T)
    if difference.max() > ASYMMETRY:
        _refuse_asymmetry(names, *divmod(int(difference.argmax()), len(names)), "covariance")
    correlation = (correlation + correlation.T) / 2.0
    np.fill_diagonal(correlation, 1.0)
    return correlation, scale


def check_column(values, names: tuple, what: str, default: float, *, positive: bool = False) -> np.ndarray:
    """Return one value per variable as a read-only float64 array, or raise an error that names the variables."""
    if values is None:
        column = np.full(len(names), default)
    else:
        column = as_reals(values, what).astype(np.float64)
        if column.shape != (len(names),):
            raise ValueError(f"{what} must hold one value for each of {len(names)} variables, got shape {column.shape}")
    wrong = ~np.isfinite(column) | (column <= 0.0 if positive else False)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        kind = "finite and positive" if positive else "finite"
        raise ValueError(f"the {what} of {names[at]!r} must be {kind}, got {float(column[at])!r}")
    return read_only(column)


def explain_not_positive(scaled: csr_array, what: str) -> str:
    """Return an error message with the smallest eigenvalue of a matrix with unit diagonal."""
    smallest = compute_smallest_eigenvalue(scaled)
    return (
        f"the {what} is not positive definite: with unit diagonal its smallest eigenvalue is {smallest:.3g}, and must "
        "be above 0 by more than rounding errors; add to the diagonal, or estimate it with a larger penalty"
    )


def _to_dense(matrix, names: tuple, what: str) -> np.ndarray:
    if hasattr(matrix, "iloc"):
        for labels in (tuple(matrix.index), tuple(matrix.columns)):
            if len(labels) == len(names) and labels != names:
                raise ValueError(
                    f"the {what} has labels {join_names(labels)}, but the names are {join_names(names)}: give both "
                    f"in the same order"
                )
    return np.array(matrix, dtype=np.float64)


def _check_shape(shape: tuple[int, ...] | None, names: tuple, what: str) -> None:
    if shape != (len(names), len(names)):
        raise ValueError(f"the {what} must be square with one row for each of {len(names)} names, got shape {shape}")


def _check_finite(data: np.ndarray, rows: np.ndarray, names: tuple, what: str) -> None:
    wrong = ~np.isfinite(data)
    if wrong.any():
        culprits = [names[v] for v in np.unique(rows[wrong]).tolist()]
        raise ValueError(f"the {what} is not finite in the row(s) of {join_names(culprits)}")


def _check_positive(diagonal: np.ndarray, names: tuple, begin: str) -> None:
    if (diagonal <= 0.0).any():
        at = int(np.flatnonzero(diagonal <= 0.0)[0])
        raise ValueError(f"{begin} holds {float(diagonal[at])!r} for {names[at]!r}, and must be positive")


def _refuse_asymmetry(names: tuple, i: int, j: int, what: str) -> None:
    raise ValueError(
        f"the {what} is not symmetric: the entries of {names[i]!r} and {names[j]!r} differ; average it with its "
        "transpose"
    )

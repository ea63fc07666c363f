"""A sample given only by a covariance matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgmx.checks import as_reals, check_known_names, is_number, join_names
from pgmx.statistics.gaussian.passes import repair
from pgmx.statistics.gaussian.sample import GaussianSample
from pgmx.statistics.symmetric import (
    divide_by_deviations,
    locate_largest_asymmetry,
    locate_largest_off_diagonal,
    make_correlation,
)

_ASYMMETRIC = (
    "the covariance is not symmetric: its two entries of {!r} and {!r} differ. Give (C + C.T) / 2 if this is intended"
)
_BEYOND = "not a covariance matrix: the correlation of {!r} and {!r} is beyond 1"


def sample_of_covariance(
    covariance: Any, n_samples: float | None = None, *, names: Sequence | None = None
) -> GaussianSample:
    """Return a sample that is given only by its covariance matrix.

    Parameters
    ----------
    covariance : array_like or frame of shape (p, p)
        Covariances or correlations, symmetric. Never changed.
    n_samples : float, optional
        Number of rows from which it was estimated.
    names : sequence of length p, optional
        Names of the columns; by default the names of a frame, or x0, x1, ...

    Returns
    -------
    GaussianSample
        With method "precomputed" and means 0. If the matrix is indefinite, the nearest correlation matrix is used, and
        `repaired` is the largest change.

    Raises
    ------
    ValueError
        If the matrix is not square, finite and symmetric (to 1e-6 of the scales), has a nonpositive variance or a
        correlation beyond 1, or if names or n_samples do not match.

    Examples
    --------
    >>> from pgmx.statistics import sample_of_covariance
    >>> sample = sample_of_covariance([[4.0, 1.0], [1.0, 1.0]], n_samples=50)
    >>> sample.names, sample.scale.tolist(), sample.correlation.tolist()
    (('x0', 'x1'), [2.0, 1.0], [[1.0, 0.5], [0.5, 1.0]])
    """
    matrix, names = _read_matrix(covariance, names)
    if n_samples is not None and (not is_number(n_samples) or n_samples < 2):
        raise ValueError(f"n_samples must be a number of at least 2, or None, got {n_samples!r}")
    bad = [names[v] for v in np.flatnonzero(~np.isfinite(matrix).all(axis=0)).tolist()]
    if bad:
        raise ValueError(
            f"the covariance has missing or infinite values in column(s) {join_names(bad)}: leave these columns out"
        )
    variances = matrix.diagonal()
    bad = [names[v] for v in np.flatnonzero(variances <= 0).tolist()]
    if bad:
        raise ValueError(f"the variance of column(s) {join_names(bad)} is not positive: leave constant columns out")
    scale = np.sqrt(variances)
    correlation = divide_by_deviations(matrix, out=matrix)
    _refuse_worst(locate_largest_asymmetry(correlation), 1e-6, names, _ASYMMETRIC)
    _refuse_worst(locate_largest_off_diagonal(correlation), 1 + 1e-6, names, _BEYOND)
    correlation, repaired = repair(make_correlation(correlation))
    n_rows = None if n_samples is None else float(n_samples)
    mean = np.zeros(len(names))
    return GaussianSample(names, n_rows, mean, scale, "precomputed", correlation=correlation, repaired=repaired)


def _read_matrix(covariance: Any, names: Sequence | None) -> tuple[np.ndarray, tuple]:
    """Return a float64 copy of a matrix and the names of its columns."""
    columns = getattr(covariance, "columns", None)
    index = getattr(covariance, "index", None)
    try:
        matrix = as_reals(covariance, "the covariance").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the covariance must be a matrix of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"the covariance must be a square matrix, got the shape {matrix.shape}")
    if (
        columns is not None
        and index is not None
        and list(index) != list(columns)
        and list(index) != [*range(len(index))]
    ):
        raise ValueError("the rows and columns of the covariance have different names: give both in the same order")
    if names is None:
        names = [f"x{v}" for v in range(len(matrix))] if columns is None else list(columns)
    names = tuple(names)
    check_known_names(names)
    if len(names) != len(matrix) or len(set(names)) != len(names):
        raise ValueError(f"names must be {len(matrix)} different names, got {join_names(names)}")
    return matrix, names


def _refuse_worst(found: tuple[float, int, int], limit: float, names: Sequence, message: str) -> None:
    """Raise an error that names the pair if its value is above the limit."""
    value, i, j = found
    if value > limit:
        raise ValueError(message.format(names[min(i, j)], names[max(i, j)]))

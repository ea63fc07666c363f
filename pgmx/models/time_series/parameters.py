"""Checks of the parameters of a linear dynamical system other than its coefficients."""

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, read_only


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
    units = np.where(scale > 0.0, scale, 1.0)
    correlation = array / np.outer(units, units)
    if np.abs(correlation - correlation.T).max() > 1e-8:
        raise ValueError("noise_covariance must be symmetric: average it with its transpose")
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

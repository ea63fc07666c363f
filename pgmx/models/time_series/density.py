"""Densities of forecast errors."""

from math import log, pi

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular


def compute_log_densities(errors: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the log densities (T,) of errors (T, n) under N(0, noise), in nats.

    The noise is a covariance (n, n), or variances (n,) of independent noise. Raises ValueError if it is singular.
    """
    units = np.sqrt(noise if noise.ndim == 1 else noise.diagonal())
    try:
        if not (units > 0.0).all():
            raise LinAlgError
        triangle = None
        if noise.ndim == 2:
            triangle = cholesky(noise / np.outer(units, units), lower=True, check_finite=False)
    except LinAlgError:
        raise ValueError(
            "noise_covariance is singular, so rows have no density: fit the system to more rows than predictors"
        ) from None
    scores, log_det = errors / units, np.log(units).sum()
    if triangle is not None:
        scores = solve_triangular(triangle, scores.T, lower=True, check_finite=False).T
        log_det += np.log(triangle.diagonal()).sum()
    return -0.5 * np.einsum("ij,ij->i", scores, scores) - log_det - 0.5 * errors.shape[1] * log(2.0 * pi)

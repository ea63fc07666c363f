"""Coefficients of a separation, their standard errors, and which pairs of inputs the data can distinguish."""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from pgmx.solvers.time_series.sem.likelihood import Separation, pair_curvatures
from pgmx.solvers.time_series.sem.moments import SecondMoments

#: Smallest L (h_ij h_ji − 1) of a distinguishable pair of known inputs: a standard error of 1/√20 of e_ij.
LEAST_INFORMATION = 20.0
#: Probability that any pair of proportional unknown inputs passes; and the mean of L (h_ij h_ji − 1) of such pairs per
#: degree of freedom: 4 for given rows of W, more for rows that maximise the likelihood.
LEVEL, BY_CHANCE = 0.01, 5.0


class Coefficients(NamedTuple):
    """The structural equations y = A y + B x of a separation."""

    matrix: np.ndarray  # (N, N): A, zero diagonal
    gains: np.ndarray  # (N,): diagonal of B, positive; 1 for inputs without known power
    powers: np.ndarray  # (M, N): mean squares of x


def read_coefficients(data: SecondMoments, point: Separation) -> Coefficients:
    """Return A = I − diag(W)⁻¹ W, B = diag(W)⁻¹ and the powers of the inputs (proposition 3)."""
    own = np.diag(point.rows)
    matrix = -point.rows / own[:, None]
    np.fill_diagonal(matrix, 0.0)
    gains = 1.0 / np.abs(own)
    unknown = ~np.isfinite(data.powers).any(axis=0)
    powers = np.where(unknown, point.powers * gains**2, point.powers)
    return Coefficients(matrix, np.where(unknown, 1.0, gains), powers)


def compute_standard_errors(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return the standard errors of A by the delta method, shape (N, N), zero on the diagonal.

    A row of A is infinite if its input is proportional to another. O(M N² + N³).
    """
    variances, _ = compute_pair_variances(data, point)
    proportional = np.isinf(variances)
    variances[proportional] = 0.0
    rows, matrix = point.rows, read_coefficients(data, point).matrix
    plain = variances @ rows**2
    total = plain + matrix**2 * np.diag(plain)[:, None] + 2.0 * matrix * ((variances * rows.T) @ rows)
    total = np.where(proportional.any(axis=1, keepdims=True), np.inf, np.maximum(total, 0.0))
    np.fill_diagonal(total, 0.0)
    return np.sqrt(total) / np.abs(np.diag(rows))[:, None]


def compute_pair_variances(data: SecondMoments, point: Separation) -> tuple[np.ndarray, np.ndarray]:
    """Return the variances of e_ij in W ← (I + E) W, and its covariances with e_ji; infinite if proportional.

    For independent rows: H⁻¹ J H⁻¹ / L for each pair, with J from the powers of the rows of W. Therefore they also hold
    with noise in addition to the inputs.
    """
    weights, own = data.shares[:, None] / point.powers, np.einsum("mii->mi", point.products)
    h = pair_curvatures(data, point)
    spread = (weights * own / point.powers).T @ own  # variance of the score of e_ij
    both = (weights * own).T @ (own / point.powers)  # and its covariance with the score of e_ji
    proportional = ~(h * h.T > 1.0)
    factor = 1.0 / np.where(proportional, 1.0, h * h.T - 1.0) ** 2 / data.n_rows.sum()
    variances = factor * (h.T**2 * spread - 2.0 * h.T * both + spread.T)
    covariances = factor * ((1.0 + h * h.T) * both - h.T * spread - h * spread.T)
    variances[proportional] = np.inf
    covariances[proportional] = 0.0
    np.fill_diagonal(variances, 0.0)
    return variances, covariances


def compute_identifiability(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return 1 − 1/(h_ij h_ji), shape (N, N): 0 if inputs i and j are proportional over the windows; 1 for i = j."""
    h = pair_curvatures(data, point)
    share = np.clip(1.0 - 1.0 / np.maximum(h * h.T, 1.0), 0.0, 1.0)
    np.fill_diagonal(share, 1.0)
    return share


def find_proportional(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return whether each pair of inputs is nearly proportional, shape (N, N).

    Known inputs: L (h_ij h_ji − 1) is below `LEAST_INFORMATION`. Unknown inputs: it is below `BY_CHANCE` times the
    quantile of χ² with M − 1 degrees of freedom that any pair exceeds by chance with probability `LEVEL`.
    """
    n, n_windows = len(point.rows), len(data.moments)
    h = pair_curvatures(data, point)
    information = data.n_rows.sum() * (h * h.T - 1.0)
    level = LEVEL / max(1, n * (n - 1) // 2)
    by_chance = BY_CHANCE * chi2.isf(level, n_windows - 1) if n_windows > 1 else np.inf
    estimated = np.asarray(~np.isfinite(data.powers).all(axis=0))
    least = np.where(estimated[:, None] & estimated, max(by_chance, LEAST_INFORMATION), LEAST_INFORMATION)
    near = information < least
    np.fill_diagonal(near, False)
    return near

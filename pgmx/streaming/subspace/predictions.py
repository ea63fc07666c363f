"""Predictors, probabilities, levels and expectations of cells."""

import numpy as np
from scipy.special import ndtr, softmax


def compute_predictors(
    sketches: np.ndarray, rows: np.ndarray, columns: np.ndarray, subspace: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Return the predictors (m, c) of m cells; sketches (n, d + c or d), subspace (D, c, d), offsets (D, c)."""
    d = subspace.shape[2]
    predictors = offsets[columns] + np.einsum("mcd,md->mc", subspace[columns], sketches[rows, :d])
    return predictors + sketches[rows, d:] if sketches.shape[1] > d else predictors


def compute_masses(predictors: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return Phi(h - x) - Phi(l - x), (m, J), between thresholds (J + 1,); the nearer tail is used for precision."""
    edges = thresholds - predictors
    low, high = edges[:, :-1], edges[:, 1:]
    upper = low > -high
    return np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def compute_level_probabilities(predictors: np.ndarray, thresholds: np.ndarray, is_logit: bool) -> np.ndarray:
    """Return the probabilities (m, J) of the levels; for a logit the softmax of 0 and the predictors."""
    if is_logit:
        return softmax(np.column_stack([np.zeros(len(predictors)), predictors]), axis=1)
    return compute_masses(predictors, thresholds)


def predict_levels(predictors: np.ndarray, thresholds: np.ndarray, levels: np.ndarray, is_logit: bool) -> np.ndarray:
    """Return the median level for a probit, the most probable level for a logit."""
    if is_logit:
        return levels[np.column_stack([np.zeros(len(predictors)), predictors]).argmax(axis=1)]
    return levels[np.searchsorted(thresholds[1:-1], predictors[:, 0])]


def compute_censored_means(predictors: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return E min(max(x + v, low), high) for v ~ N(0, 1) and bounds (low, high), which may be infinite."""
    x = predictors[:, 0]
    low, high = bounds[0] - x, bounds[1] - x
    mean = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    if np.isfinite(bounds[0]):
        mean = mean + low * ndtr(low)
    if np.isfinite(bounds[1]):
        mean = mean + high * ndtr(-high)
    return x + mean

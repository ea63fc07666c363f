"""Gradraker in plain numpy, row by row, with frequencies that are given."""

import numpy as np


def compute_features(rows, frequencies, variances):
    """Return the features (m, P, 2 D) of dense rows for frequencies (d, D) of width 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    angles = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0) @ frequencies
    parts = [np.hstack([np.sin(angles / s), np.cos(angles / s)]) for s in np.sqrt(variances)]
    return np.stack(parts, axis=1) / np.sqrt(frequencies.shape[1])


def learn_squares(features, targets, step, weight_step, centred, penalty=0.0):
    """Return predictions (m, k) before each row was learned, and the weights (P, k) after the last."""
    m, n_kernels, width = features.shape
    k = targets.shape[1]
    coefficients, logs = np.zeros((n_kernels, k, width)), np.zeros((n_kernels, k))
    predictions = np.empty((m, k))
    for t in range(m):
        outputs = np.einsum("pki,pi->pk", coefficients, features[t])
        weights = np.exp(logs) / np.exp(logs).sum(axis=0)
        mean = targets[:t].mean() if centred and t else 0.0
        predictions[t] = mean + (weights * outputs).sum(axis=0)
        variance = targets[: t + 1].var() if centred else 1.0
        errors = outputs - (targets[t] - (targets[: t + 1].mean() if centred else 0.0))
        logs = logs - weight_step * errors**2 / (variance if variance > 0.0 else 1.0)
        own = (step / np.maximum(1.0, (features[t] ** 2).sum(axis=1)))[:, None, None]
        coefficients -= 2.0 * own * (errors[:, :, None] * features[t][:, None, :] + penalty * coefficients)
    return predictions, np.exp(logs) / np.exp(logs).sum(axis=0)


def compute_rows(adjacency, hops):
    """Return the sum over hops of the unit rows of A (D^-1 A)^(hop - 1), for a dense matrix A of weights."""
    shares = adjacency / np.maximum(np.count_nonzero(adjacency, axis=1), 1)[:, None]
    total = np.zeros_like(adjacency)
    for hop in hops:
        rows = adjacency @ np.linalg.matrix_power(shares, hop - 1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        total += np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12)
    return total

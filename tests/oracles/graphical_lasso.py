"""The graphical lasso and the lasso of a column, solved slowly and obviously; for at most ten variables or so."""

import numpy as np


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


def penalties(p, lam, penalize_diagonal=False):
    """Return the matrix of penalties."""
    weights = np.full((p, p), float(lam))
    if not penalize_diagonal:
        np.fill_diagonal(weights, 0.0)
    return weights


def objective(theta, R, lam, penalize_diagonal=False):
    """Return -log det T + tr(R T) + sum of penalties; infinite off the cone."""
    if np.linalg.eigvalsh(theta)[0] <= 0:
        return np.inf
    weights = penalties(len(R), lam, penalize_diagonal)
    return -np.linalg.slogdet(theta)[1] + np.trace(R @ theta) + (weights * np.abs(theta)).sum()


def dual_value(W):
    """Return log det W + p; minus infinity off the cone."""
    return np.linalg.slogdet(W)[1] + len(W) if np.linalg.eigvalsh(W)[0] > 0 else -np.inf


def gap(theta, R, lam, penalize_diagonal=False):
    """Return the objective minus the dual value of the inverse put into the box."""
    weights = penalties(len(R), lam, penalize_diagonal)
    W = np.clip(np.linalg.inv(theta), R - weights, R + weights)
    if penalize_diagonal:
        np.fill_diagonal(W, R.diagonal() + lam)
    return objective(theta, R, lam, penalize_diagonal) - dual_value(W)


def kkt_violation(theta, R, lam, penalize_diagonal=False):
    """Return the largest distance of 0 from the subdifferential."""
    weights = penalties(len(R), lam, penalize_diagonal)
    gradient = R - np.linalg.inv(theta)
    return np.where(
        theta != 0, np.abs(gradient + weights * np.sign(theta)), np.maximum(np.abs(gradient) - weights, 0.0)
    ).max()


def graphical_lasso(R, lam, penalize_diagonal=False, tol=1e-10, max_iter=50_000):
    """Minimise by proximal gradient steps with backtracking."""
    weights = penalties(len(R), lam, penalize_diagonal)
    theta = np.diag(1.0 / (R.diagonal() + lam * penalize_diagonal))
    value, step = objective(theta, R, lam, penalize_diagonal), 1.0
    for _ in range(max_iter):
        gradient = R - np.linalg.inv(theta)
        step *= 1.5
        while True:
            new = soft(theta - step * gradient, step * weights)
            new_value = objective(new, R, lam, penalize_diagonal)
            if new_value <= value - 0.1 / step * ((new - theta) ** 2).sum() + 1e-14 or step < 1e-12:
                break
            step *= 0.5
        theta, value = new, new_value
        if gap(theta, R, lam, penalize_diagonal) <= tol:
            break
    return theta


def column_objective(b, R, j, lam):
    """Return 1/2 b'Rb - R_j'b + lam |b|."""
    return 0.5 * b @ R @ b - R[j] @ b + lam * np.abs(b).sum()


def column_violation(b, R, j, lam):
    """Return the largest distance of 0 from the subdifferential, variable j left out."""
    gradient = R @ b - R[j]
    found = np.where(b != 0, np.abs(gradient + lam * np.sign(b)), np.maximum(np.abs(gradient) - lam, 0.0))
    return np.delete(found, j).max(initial=0.0)


def column_lasso(R, j, lam, tol=1e-12, max_iter=100_000):
    """Minimise by coordinate descent, one variable at a time."""
    b = np.zeros(len(R))
    for _ in range(max_iter):
        for i in range(len(R)):
            if i != j:
                b[i] = soft(R[i, j] - R[i] @ b + R[i, i] * b[i], lam) / R[i, i]
        if column_violation(b, R, j, lam) <= tol:
            break
    return b


def maximum_likelihood(R, edges, tol=1e-12, max_iter=10_000):
    """Fit the cliques of single edges and nodes in turn (iterative proportional scaling)."""
    theta = np.diag(1.0 / R.diagonal())
    for _ in range(max_iter):
        for pair in edges:
            part = np.ix_(pair, pair)
            theta[part] += np.linalg.inv(R[part]) - np.linalg.inv(np.linalg.inv(theta)[part])
        W = np.linalg.inv(theta)
        if max(abs(W[i, j] - R[i, j]) for i, j in edges) <= tol:
            break
    return theta

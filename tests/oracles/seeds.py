"""Algorithm 4 of the source with dense matrices, node by node."""

import numpy as np


def share_parents(one_step, two_steps, seeds, k):
    """Return the sets of parents (lag 1) of all nodes from dense rows A_i and B_i of the seeds."""
    n = one_step.shape[1]
    scores, parents = np.zeros((n, n)), {}
    for a, b, seed in zip(np.abs(one_step), np.abs(two_steps), seeds, strict=True):
        parents[seed] = {j for j in sorted(range(n), key=lambda j: (-a[j], j))[:k] if a[j] > 0}
        if b.sum() > 0:
            for j in parents[seed]:
                scores[j] += b / b.sum()
    for node in set(range(n)) - set(seeds):
        order = sorted(range(n), key=lambda j: (-scores[node, j], j))[:k]
        parents[node] = {j for j in order if scores[node, j] > 0}
    return [parents[node] for node in range(n)]


def descend(X, Y, draws, step, lam):
    """Return the coefficients (m, p) after the steps of algorithm 3 from zero, on half the square."""
    coefs = np.zeros((Y.shape[0], X.shape[1]))
    for i, y in enumerate(Y):
        for t in draws:
            error = y[t] - coefs[i] @ X[t]
            coefs[i] += step * (error * X[t] - lam * np.sign(coefs[i]))
    return coefs

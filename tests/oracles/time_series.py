"""Vector autoregressions by plain loops over lags, targets and sources."""

import numpy as np


def forecast(coefs, intercept, history, steps):
    """Return the means of the rows that follow; coefs[lag][target, source], lag 0 not used."""
    rows = [np.asarray(row, dtype=float) for row in history]
    n = len(rows[0])
    for _ in range(steps):
        row = np.zeros(n)
        for target in range(n):
            row[target] = intercept[target]
            for lag in range(1, len(coefs)):
                for source in range(n):
                    row[target] += coefs[lag][target, source] * rows[-lag][source]
        rows.append(row)
    return np.array(rows[len(history) :])


def companion(coefs):
    """Return the matrix of the system of one lag over stacked rows."""
    lags, n = len(coefs) - 1, len(coefs[0])
    matrix = np.zeros((lags * n, lags * n))
    matrix[:n] = np.hstack(list(coefs[1:]))
    matrix[n:, : n * (lags - 1)] = np.eye(n * (lags - 1))
    return matrix

"""Gaussian scores in exact arithmetic of columns with independent noise, which may determine each other without it."""

import math
from fractions import Fraction

#: Variance of the noise, in that of its column.
NOISE = Fraction(1, 10**12)


def covariance(columns, weights=None):
    """Return the covariances of columns of integers, denominator N, as fractions."""
    weights = [1] * len(columns[0]) if weights is None else [Fraction(float(w)) for w in weights]
    total = sum(weights)
    columns = [[Fraction(float(x)) for x in column] for column in columns]
    centred = []
    for column in columns:
        mean = sum(w * x for w, x in zip(weights, column, strict=True)) / total
        centred.append([x - mean for x in column])
    return [[sum(w * x * y for w, x, y in zip(weights, a, b, strict=True)) / total for b in centred] for a in centred]


def determinant(matrix):
    """Return the determinant of a positive definite matrix of fractions."""
    matrix, result = [list(row) for row in matrix], Fraction(1)
    for i in range(len(matrix)):
        result *= matrix[i][i]
        for row in matrix[i + 1 :]:
            factor = row[i] / matrix[i][i]
            for j in range(i, len(matrix)):
                row[j] -= factor * matrix[i][j]
    return result


def add_noise(matrix, variances):
    """Return a covariance matrix of columns with independent noise of `NOISE` times the variances."""
    return [[x + (NOISE * variances[i] if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(matrix)]


def log_residual(matrix, child, parents):
    """Return the logarithm of the residual variance of a column given others."""
    rows = [[matrix[i][j] for j in (*parents, child)] for i in (*parents, child)]
    ratio = determinant(rows) / determinant([row[:-1] for row in rows[:-1]])
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def noisy_score(matrix, child, parents, n, cost):
    """Return the score of a family from covariances with noise: the likelihood less `cost` for each parameter."""
    residual = log_residual(matrix, child, parents)
    return -n / 2 * (math.log(2 * math.pi) + residual + 1) - cost * (len(parents) + 2)

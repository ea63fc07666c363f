"""Rank correlations from their definitions, one pair of rows at a time; nothing here knows of the kernels."""

import math

import numpy as np


def known_in_both(x, y):
    """Return the values of the rows in which neither is NaN."""
    both = ~(np.isnan(x) | np.isnan(y))
    return x[both], y[both]


def kendall_counts(x, y):
    """Return concordant minus discordant pairs of rows, and the untied pairs of x and of y, as Python integers."""
    x, y = (column.tolist() for column in known_in_both(x, y))
    balance = of_x = of_y = 0
    for r in range(len(x)):
        for s in range(r):
            sign_x = (x[r] > x[s]) - (x[r] < x[s])
            sign_y = (y[r] > y[s]) - (y[r] < y[s])
            balance += sign_x * sign_y
            of_x += sign_x != 0
            of_y += sign_y != 0
    return balance, of_x, of_y


def tau_b(x, y):
    """Return Kendall's tau-b over the rows known in both, 0 where either is constant there."""
    balance, of_x, of_y = kendall_counts(x, y)
    return balance / math.sqrt(of_x * of_y) if of_x and of_y else 0.0


def average_ranks(x):
    """Return ranks from 1, the mean of their places for equal values."""
    return np.array([np.sum(x < v) + 0.5 * (np.sum(x == v) + 1) for v in x])


def rho(x, y):
    """Return Spearman's rho over the rows known in both, 0 where either is constant there."""
    x, y = (average_ranks(column) for column in known_in_both(x, y))
    x, y = x - np.mean(x) if len(x) else x, y - np.mean(y) if len(y) else y
    scale = math.sqrt(math.fsum(x**2) * math.fsum(y**2))
    return math.fsum(x * y) / scale if scale else 0.0


def matrix_of(coefficient, X):
    """Return the coefficient of all pairs of columns, ones on the diagonal."""
    p = X.shape[1]
    matrix = np.eye(p)
    for i in range(p):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = coefficient(X[:, i], X[:, j])
    return matrix

"""Tests of conditional independence by their definitions, stratum by stratum, with numpy and scipy."""

import numpy as np
from scipy import special, stats


def list_tables(x, y, z):
    """Yield the table of x and y, without empty rows and columns, of each stratum of the columns z (k, n)."""
    _, strata = np.unique(z, axis=1, return_inverse=True) if len(z) else (None, np.zeros(len(x), dtype=int))
    for s in range(strata.max() + 1):
        rows = strata.ravel() == s
        table = np.zeros((x.max() + 1, y.max() + 1))
        np.add.at(table, (x[rows], y[rows]), 1)
        yield table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]


def test_discrete(kind, x, y, z):
    """Return (statistic, degrees of freedom, p-value) of "pearson", "yates", "g_square" or "moments"."""
    statistic = dof = mean = variance = 0.0
    for observed in list_tables(x, y, z):
        if min(observed.shape) < 2:
            continue
        expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
        if kind == "yates":
            statistic += stats.chi2_contingency(observed, correction=True).statistic
        elif kind == "g_square":
            statistic += 2 * (special.xlogy(observed, observed / expected)).sum()
        else:
            statistic += ((observed - expected) ** 2 / expected).sum()
        dof += (observed.shape[0] - 1) * (observed.shape[1] - 1)
        more = moments_of_table(observed)
        mean, variance = mean + more[0], variance + more[1]
    if kind == "moments":
        if variance < 1e-12 * mean or mean == 0:
            return 0.0, 0.0, 1.0
        statistic, dof = statistic * 2 * mean / variance, 2 * mean**2 / variance
    return statistic, dof, stats.chi2.sf(statistic, dof) if dof else 1.0


test_discrete.__test__ = False


def moments_of_table(observed):
    """Return the mean and variance of Pearson's statistic given the margins (Haldane 1940)."""
    n, (r, c) = observed.sum(), observed.shape
    mean = n * (r - 1) * (c - 1) / (n - 1)
    if n < 4:
        return mean, 9 / 8 if n == 3 and r == c == 2 else 0.0
    v = [(k - 1) * (n - k) / (n - 1) for k in (r, c)]
    w = [((n / observed.sum(axis=1 - axis)).sum() - k**2) / (n - 2) for axis, k in enumerate((r, c))]
    return mean, 2 * n / (n - 3) * (v[0] - w[0]) * (v[1] - w[1]) + n**2 / (n - 1) * w[0] * w[1]

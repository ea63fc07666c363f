"""CLIME columns by linear programming, and certificates that ask no solver."""

import numpy as np
from scipy.optimize import linprog


def shifted(R, ridge):
    """Return R + ridge I."""
    return R + ridge * np.eye(len(R))


def solve_column(S, j, lam):
    """Return (q, y, value) of min |q|_1 s.t. |S q - e_j| <= lam and of its dual, None where nothing is feasible."""
    p = len(S)
    e = np.eye(p)[j]
    # q = u - v with u, v >= 0: both signs of every row
    A = np.block([[S, -S], [-S, S]])
    found = linprog(np.ones(2 * p), A_ub=A, b_ub=np.concatenate([lam + e, lam - e]), bounds=(0, None), method="highs")
    if found.status == 2:
        return None
    assert found.status == 0, found.message
    marginals = -found.ineqlin.marginals
    return found.x[:p] - found.x[p:], marginals[p:] - marginals[:p], found.fun


def excess(S, q, j, lam):
    """Return by how much the largest constraint is exceeded."""
    return float(abs(S @ q - np.eye(len(S))[j]).max() - lam)


def dual_value(S, y, j, lam):
    """Return y_j - lam |y|_1 for y scaled into |S y| <= 1: a lower bound of |q|_1."""
    y = y / max(1.0, abs(S @ y).max())
    return float(y[j] - lam * abs(y).sum())


def smallest_radius(S, j):
    """Return the least lam for which column j has a feasible point."""
    p = len(S)
    e = np.eye(p)[j]
    ones = np.ones((p, 1))
    A = np.block([[S, -ones], [-S, -ones]])
    cost = np.concatenate([np.zeros(p), [1.0]])
    bounds = [(None, None)] * p + [(0, None)]
    return float(linprog(cost, A_ub=A, b_ub=np.concatenate([e, -e]), bounds=bounds, method="highs").fun)

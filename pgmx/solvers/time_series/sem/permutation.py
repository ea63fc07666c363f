"""Assignment of separated inputs to series, if the inputs are unknown."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from pgmx.solvers.time_series.sem.moments import SecondMoments


def assign_rows(rows: np.ndarray, own: np.ndarray, data: SecondMoments) -> np.ndarray:
    """Return for each series the row of W that is its input, so that the diagonal is as large as possible.

    The assignment maximises Σ log|w_ii| minus the loss of log-likelihood of the known powers of the series compared
    with the powers `own` (M, N) of the rows. A series with at most one known power has no loss. Shape (N,); O(M N² +
    N³).
    """
    cost = -np.log(np.maximum(np.abs(rows.T), np.finfo(float).tiny))
    is_known = np.isfinite(data.powers)
    for i in np.flatnonzero(is_known.sum(axis=0) > 1):
        known = is_known[:, i]
        weights = data.n_rows[known]
        ratios = own[known] / data.powers[known, i][:, None]
        scale = weights @ ratios / weights.sum()
        cost[i] += 0.5 * (weights @ (np.log(scale) - np.log(ratios)))
    return linear_sum_assignment(cost)[1]

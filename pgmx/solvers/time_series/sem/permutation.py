"""Which separated input belongs to which series: an assignment, where the inputs are not known."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from pgmx.solvers.time_series.sem.moments import SecondMoments


def assign_rows(rows: np.ndarray, own: np.ndarray, data: SecondMoments) -> np.ndarray:
    """Return for each series the row of W that is its input: the diagonal is as large as can be.

    The assignment maximises Σ log|w_ii| less the log-likelihood that the known powers of the series lose against the
    powers `own` (M, N) of the rows; a series with at most one known power loses nothing. Shape (N,); O(M N² + N³).
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

"""Stochastic subgradient descent on the lasso of many targets, as in the thesis, with corrections."""

import numpy as np

from pgmx._ext import _lagged_lasso
from pgmx.solvers.time_series.screening import NONE, Rows

#: Number of steps per predictor, and the step length in units of the reciprocal mean square of a row of predictors.
STEPS, LENGTH = 20, 0.5


def descend_lasso(rows: Rows, lam: float, seed: int | None) -> np.ndarray:
    """Return coefficients (m, p) after 20 p steps from zero.

    All targets share the drawn rows. A step is b += γ ((y - b'x) x - λ sign(b)) with γ = 1 / (2 mean ‖x‖²); a random
    start, as in the thesis, needs more steps, and γ = 1 does not converge. Required predictors are not penalised.
    """
    coefs = np.zeros((len(rows.targets), len(rows.predictors)))
    apart = rows.forbidden.keys() | rows.required.keys()
    together = [target for target in range(len(coefs)) if target not in apart]
    coefs[together] = _descend(rows.predictors, rows.targets[together], lam, seed)
    for target in sorted(apart):
        free = rows.required.get(target, NONE)
        penalised = np.setdiff1d(np.arange(coefs.shape[1]), np.union1d(free, rows.forbidden.get(target, NONE)))
        part, y = rows.predictors[penalised], rows.targets[target]
        weights = np.linalg.lstsq(rows.predictors[free].T, np.column_stack([part.T, y]), rcond=None)[0]
        residuals = np.column_stack([part.T, y]).T - weights.T @ rows.predictors[free]
        coefs[target, penalised] = _descend(residuals[:-1], residuals[-1:], lam, seed)[0]
        coefs[target, free] = weights[:, -1] - weights[:, :-1] @ coefs[target, penalised]
    return coefs


def _descend(predictors: np.ndarray, targets: np.ndarray, lam: float, seed: int | None) -> np.ndarray:
    rows = np.ascontiguousarray(predictors.T)
    coefs = np.zeros((len(targets), len(predictors)))
    size = float(np.einsum("ij,ij->", rows, rows)) / len(rows)
    if size and len(targets):
        draws = np.random.default_rng(seed).integers(len(rows), size=STEPS * len(predictors))
        _lagged_lasso.descend(rows, np.ascontiguousarray(targets), draws, LENGTH / size, lam, coefs)
    return coefs

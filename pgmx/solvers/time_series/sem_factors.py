"""Least squares factors of the tensor of second moments: in closed form, and by alternating steps.

Equations and problems are numbered as in chapter 4 of Y. Shen (2019), Online and nonlinear learning over networks,
thesis.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pgmx.solvers.time_series.sem_likelihood import SecondMoments, assign_rows

#: Share of the new columns in a step of alternating least squares. The columns occur twice in the model, but a step
#: solves for one of them: full steps oscillate.
DAMPING = 0.5


class Factors(NamedTuple):
    """Factors of R_m = Σ_i r_mi a_i a_i'."""

    columns: np.ndarray  # (N, N): a_i, that is (I − A)⁻¹ B
    powers: np.ndarray  # (M, N)
    residual: float  # Σ_m ‖R_m − Σ_i r_mi a_i a_i'‖² over Σ_m ‖R_m‖²
    n_iter: int
    converged: bool


def solve_khatri_rao(data: SecondMoments) -> Factors:
    """Return the leading eigenvector of each slice of H = [vec R_1 ...] (R^x)⁺, with known powers (eqs. 4.28, 4.33).

    With fewer windows than series H has minimum norm, and its slices are not close to rank one. O(M N³ + N⁴) time.
    """
    n = data.powers.shape[1]
    flat = data.moments.reshape(len(data.moments), n * n)
    columns = np.empty((n, n))
    inverse = np.linalg.pinv(data.powers.T)  # (M, N)
    for i in range(n):
        values, vectors = np.linalg.eigh((inverse[:, i] @ flat).reshape(n, n))
        columns[:, i] = np.sqrt(max(values[-1], np.finfo(float).tiny)) * vectors[:, -1]
    return Factors(columns, data.powers, _compute_residual(data, columns, data.powers), 1, True)


def alternate_least_squares(
    data: SecondMoments,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
    record: Callable[[np.ndarray, float], bool] | None = None,
) -> Factors:
    """Minimise the residual over tied columns and unknown powers alternately, from `start` (problem P1).

    Without a start (N, N), the columns are those of diagonal moments. Ends when the relative decrease of the residual
    in a round is below `tol`. O(M N³) per round, after which `record` is called with columns and residual; it returns
    True to end.
    """
    known = np.isfinite(data.powers)
    own = np.einsum("mii->mi", data.moments)
    weight = (np.where(known, data.powers, 0.0) ** 2).sum(axis=0)
    scale = (np.where(known, data.powers, 0.0) * own).sum(axis=0) / np.where(weight > 0, weight, 1.0)
    scale = np.where(weight > 0, scale, own.mean(axis=0))
    columns = np.diag(np.sqrt(scale)) if start is None else start
    powers = np.where(known, data.powers, own / scale)
    best, previous = None, np.inf
    for n_iter in range(1, max_iter + 1):
        right = ((data.moments @ columns) * powers[:, None, :]).sum(axis=0)
        left = (columns.T @ columns) * (powers.T @ powers)
        columns = (1.0 - DAMPING) * columns + DAMPING * np.linalg.lstsq(left, right.T, rcond=None)[0].T
        powers = _fit_powers(data, columns, powers, known)
        residual = _compute_residual(data, columns, powers)
        converged = abs(previous - residual) <= tol * residual
        if best is None or residual < best.residual:
            best = Factors(columns, powers, residual, n_iter, converged)
        if (record is not None and record(columns, residual)) or converged:
            break
        previous = residual
    assert best is not None
    if not known.all():  # inputs of unknown powers are found in any order
        rows = np.linalg.pinv(best.columns)
        order = assign_rows(rows, np.einsum("ij,mjk,ik->mi", rows, data.moments, rows, optimize=True), data)
        best = best._replace(columns=best.columns[:, order], powers=best.powers[:, order])
    return best._replace(n_iter=n_iter, converged=converged)


def _fit_powers(data: SecondMoments, columns: np.ndarray, powers: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the unknown powers by least squares, each at least a small share of the mean of its input."""
    if known.all():
        return powers
    gram = (columns.T @ columns) ** 2
    projections = ((data.moments @ columns) * columns).sum(axis=1)
    if not known.any():
        powers = np.linalg.lstsq(gram, projections.T, rcond=None)[0].T
    powers = powers.copy()
    for m, unknown in enumerate(~known if known.any() else ()):
        rest = projections[m, unknown] - gram[np.ix_(unknown, ~unknown)] @ powers[m, ~unknown]
        powers[m, unknown] = np.linalg.lstsq(gram[np.ix_(unknown, unknown)], rest, rcond=None)[0]
    least = 1e-6 * np.abs(powers).mean(axis=0)
    return np.where(known, powers, np.maximum(powers, least))


def _compute_residual(data: SecondMoments, columns: np.ndarray, powers: np.ndarray) -> float:
    fits = ((data.moments @ columns) * columns).sum(axis=1)
    total = float((data.moments**2).sum())
    model = float(((powers @ (columns.T @ columns) ** 2) * powers).sum())
    return max(total - 2.0 * float((fits * powers).sum()) + model, 0.0) / total

"""The lasso of many targets on very many predictors, without their cross-products.

It is screened and checked, or minimised by stochastic subgradient descent, as in the thesis, with corrections.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pgmx._ext import _lagged_lasso
from pgmx.parallel.threads import call_on_threads
from pgmx.solvers.time_series.lagged_lasso import BLOCK, MOST_PASSES, TOLERANCE, Record, find_violation

#: Maximum number of checks of the other predictors per target.
MOST_CHECKS = 100
NO_PREDICTORS = np.empty(0, dtype=np.int64)

#: Number of steps per predictor, and the step length in units of the reciprocal mean square of a row of predictors.
STEPS, LENGTH = 20, 0.5


class Screened(NamedTuple):
    """Coefficients (m, p) of the lasso, the penalty, the largest penalty, and the largest violation of optimality."""

    coefs: csr_array
    lam: float
    lam_max: float
    violation: float


class Rows(NamedTuple):
    """Predictors (p, T) and targets (m, T), one per row, and the forbidden and required predictors of targets."""

    predictors: np.ndarray
    targets: np.ndarray
    forbidden: Mapping[int, np.ndarray]
    required: Mapping[int, np.ndarray]


def solve_screened(
    rows: Rows, lam: float | None, lam_ratio: float, n_best: int, k: int | None, record: Record | None = None
) -> Screened:
    """Return the lasso of each target over the `n_best` predictors of largest correlation, and all violators.

    Predictors that violate optimality are added, `n_best` at a time, until none does, or, with k, until the k largest
    coefficients do not change. The checked coefficients are returned. Cost: 2 T p m multiplications for the
    correlations, and the same per check. Targets after an end set by `record` have no coefficients.
    """
    candidates, lam_max = find_candidates(rows, n_best)
    lam = lam_ratio * lam_max if lam is None else lam
    if not lam_max:
        if record is not None:
            record(len(rows.targets), 0)
        return Screened(csr_array((len(rows.targets), len(rows.predictors))), lam, lam_max, 0.0)
    entries: list[tuple[np.ndarray, np.ndarray]] = []
    violation = 0.0
    for first in range(0, len(rows.targets), BLOCK):
        block, beyond = _solve_block(
            rows, range(first, first + len(candidates[first : first + BLOCK])), candidates, lam, k
        )
        entries += block
        violation = max(violation, beyond)
        if record is not None and record(len(block), sum(len(places) for places, _ in block)):
            break
    if len(entries) < len(candidates):
        violation = max(violation, lam_max - lam)
        entries += [(np.zeros(0, dtype=np.int32), np.zeros(0))] * (len(candidates) - len(entries))
    counts = [len(places) for places, _ in entries]
    data, indices = (np.concatenate([entry[part] for entry in entries]) for part in (1, 0))
    shape = (len(entries), len(rows.predictors))
    return Screened(
        csr_array((data, indices, np.concatenate([[0], np.cumsum(counts)])), shape=shape), lam, lam_max, violation
    )


def find_candidates(rows: Rows, n_best: int) -> tuple[list[np.ndarray], float]:
    """Return the predictors of largest correlation with each target, ascending, and the largest of all."""
    candidates, largest = [], 0.0
    p, length = rows.predictors.shape
    for first in range(0, len(rows.targets), BLOCK):
        sizes = np.abs(rows.targets[first : first + BLOCK] @ rows.predictors.T)
        for place, row in enumerate(sizes):
            required = rows.required.get(first + place, NO_PREDICTORS)
            row[rows.forbidden.get(first + place, NO_PREDICTORS)] = -1.0
            row[required] = -1.0
            best = np.argpartition(row, p - n_best)[p - n_best :] if n_best < p else np.arange(p)
            best = best[row[best] >= 0]
            largest = max(largest, float(row[best].max(initial=0.0)) / length)
            candidates.append(np.union1d(best, required).astype(np.int32))
    return candidates, largest


def _solve_block(
    rows: Rows, block: range, candidates: list[np.ndarray], lam: float, k: int | None
) -> tuple[list, float]:
    """Return the places and values of the targets of a block, and the largest violation."""
    places = {target: candidates[target] for target in block}
    solutions = _solve_targets(rows, places, lam)
    largest: dict[int, float] = {}
    open_targets = list(block)
    for _ in range(MOST_CHECKS):
        residuals = np.array(
            [rows.targets[target] - solutions[target] @ rows.predictors[places[target]] for target in open_targets]
        )
        gradients = residuals @ rows.predictors.T
        gradients /= residuals.shape[1]
        joined = {}
        for target, gradient in zip(open_targets, gradients, strict=True):
            gradient[rows.forbidden.get(target, NO_PREDICTORS)] = 0.0
            gradient[places[target]] = 0.0
            sizes = np.abs(gradient, out=gradient)
            largest[target] = max(float(sizes.max()) - lam, 0.0)
            if largest[target] <= TOLERANCE * lam:
                continue
            joined[target] = _join_violators(sizes, places[target], solutions[target], lam, len(candidates[target]))
        open_targets = []
        for target, solution in _solve_targets(rows, joined, lam).items():
            largest_now = None if k is None else _list_largest(joined[target], solution, k)
            if k is not None and _list_largest(places[target], solutions[target], k) == largest_now:
                continue
            places[target], solutions[target] = joined[target], solution
            open_targets.append(target)
        if not open_targets:
            break
    entries = []
    for target in block:
        is_kept = solutions[target] != 0
        entries.append((places[target][is_kept], solutions[target][is_kept]))
    return entries, max(largest.values())


def _join_violators(sizes: np.ndarray, places: np.ndarray, solution: np.ndarray, lam: float, most: int) -> np.ndarray:
    """Return the predictors with a coefficient and the largest violators, ascending."""
    violators = np.flatnonzero(sizes > lam)
    if len(violators) > most:
        violators = violators[np.argpartition(sizes[violators], len(violators) - most)[-most:]]
    return np.union1d(places[solution != 0], violators).astype(np.int32)


def _list_largest(places: np.ndarray, solution: np.ndarray, k: int) -> set[int]:
    order = np.argsort(-np.abs(solution), kind="stable")[:k]
    return set(places[order[solution[order] != 0]].tolist())


def _solve_targets(rows: Rows, places: Mapping[int, np.ndarray], lam: float) -> dict[int, np.ndarray]:
    """Return the coefficients of targets on some predictors each."""
    calls = [partial(_solve_target, rows, target, chosen, lam) for target, chosen in places.items()]
    return dict(zip(places, call_on_threads(calls, None), strict=True))


def _solve_target(rows: Rows, target: int, places: np.ndarray, lam: float) -> np.ndarray:
    """Return the coefficients of a target on some predictors, in their order."""
    part, y = rows.predictors[places], rows.targets[target]
    required = rows.required.get(target)
    weights = None
    if required is not None:
        is_free = np.isin(places, required)
        weights, part_free = (
            np.linalg.lstsq(part[is_free].T, np.column_stack([part.T, y]), rcond=None)[0],
            part[is_free],
        )
        part, y = part - weights[:, :-1].T @ part_free, y - weights[:, -1] @ part_free
    gram = part @ part.T
    gram /= len(y)
    s = np.append(part @ y, y @ y) / len(y)
    if weights is not None:
        s[:-1][is_free] = np.nan
    _, nonzeros, values, _ = _lagged_lasso.lasso_rows(gram, s[None], lam, TOLERANCE * lam, MOST_PASSES)
    solution = np.zeros(len(places))
    solution[nonzeros] = values
    if weights is not None:
        solution[is_free] = weights[:, -1] - weights[:, :-1] @ solution
    return solution


def fit_rows(rows: Rows, coefs: csr_array) -> csr_array:
    """Return the least-squares coefficients of each target over its predictors with a coefficient.

    T k² multiplications for k predictors; the coefficients of smallest norm if they are linearly dependent.
    """
    parts = np.split(coefs.indices, coefs.indptr[1:-1])
    calls = [partial(_fit_target, rows, target, places) for target, places in enumerate(parts)]
    values = np.concatenate([np.empty(0), *call_on_threads(calls, None)])
    return csr_array((values, coefs.indices, coefs.indptr), shape=coefs.shape)


def _fit_target(rows: Rows, target: int, places: np.ndarray) -> np.ndarray:
    """Return the least-squares coefficients of a target on some predictors."""
    chosen, y = rows.predictors[places], rows.targets[target]
    if not len(chosen):
        return np.empty(0)
    try:
        factor = np.linalg.cholesky(chosen @ chosen.T)
        is_sound = factor.diagonal().min() > 1e-4 * factor.diagonal().max()
    except np.linalg.LinAlgError:
        is_sound = False
    if is_sound:
        return np.linalg.solve(factor.T, np.linalg.solve(factor, chosen @ y))
    return np.linalg.lstsq(chosen.T, y, rcond=None)[0]


def measure_row_violation(rows: Rows, coefs: csr_array, lam: float) -> float:
    """Return the largest violation of the optimality conditions, as `measure_violation` does from cross-products."""
    largest = 0.0
    for first in range(0, len(rows.targets), BLOCK):
        part = coefs[first : first + BLOCK]
        gradients = (rows.targets[first : first + BLOCK] - part @ rows.predictors) @ rows.predictors.T
        gradients /= rows.predictors.shape[1]
        for place in range(len(gradients)):
            gradients[place, rows.forbidden.get(first + place, NO_PREDICTORS)] = 0.0
        largest = max(largest, find_violation(gradients, part, lam, first, rows.required))
    return largest


def sum_row_residuals(rows: Rows, coefs: csr_array) -> np.ndarray:
    """Return the sum of squared residuals of each target, (m,)."""
    sums = np.empty(len(rows.targets))
    for first in range(0, len(sums), BLOCK):
        residuals = rows.targets[first : first + BLOCK] - coefs[first : first + BLOCK] @ rows.predictors
        sums[first : first + BLOCK] = np.einsum("ij,ij->i", residuals, residuals)
    return sums


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
        free = rows.required.get(target, NO_PREDICTORS)
        penalised = np.setdiff1d(np.arange(coefs.shape[1]), np.union1d(free, rows.forbidden.get(target, NO_PREDICTORS)))
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

"""The lasso of many targets on the same predictors, from cross-products, with its certificate and refits."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pgmx._ext import _lagged_lasso
from pgmx.parallel.threads import call_on_threads
from pgmx.solvers.time_series.least_squares import solve_spectrum

#: Number of targets that are checked together: rows of dense arrays.
BLOCK = 256
#: Number of targets per task of a thread.
TARGETS_PER_TASK = 16
#: Allowed violation of optimality, as a share of the penalty, and maximum number of passes over the predictors per
#: target.
TOLERANCE, MOST_PASSES = 1e-10, 200
#: If a squared coefficient of unit predictors exceeds this multiple of the target's square, the predictors are
#: dependent.
LARGEST_SQUARE = 1e10


class Products(NamedTuple):
    """Cross-products divided by the number of rows: (p, p) of predictors, (m, p) with targets, (m,) of targets.

    A forbidden predictor of a target has NaN in `cross`.
    """

    gram: np.ndarray
    cross: np.ndarray
    squares: np.ndarray


class Reduction(NamedTuple):
    """Cross-products of residuals, and the regression coefficients (K, p) of predictors and (K, m) of targets."""

    products: Products
    of_predictors: np.ndarray
    of_targets: np.ndarray


def partial_out(gram: np.ndarray, cross: np.ndarray, squares: np.ndarray, n: int) -> Reduction:
    """Return the cross-products of residuals of the first n predictors, and of targets, on all later predictors.

    A lasso that does not penalise the later predictors is the lasso of these cross-products.
    """
    m = len(cross)
    if n == len(gram):
        return Reduction(Products(gram, cross, squares), np.zeros((0, n)), np.zeros((0, m)))
    unpenalised_gram = gram[n:, :n]
    weights = np.linalg.lstsq(gram[n:, n:], np.hstack([unpenalised_gram, cross[:, n:].T]), rcond=None)[0]
    of_predictors, of_targets = weights[:, :n], weights[:, n:]
    products = Products(
        _symmetrise(gram[:n, :n] - unpenalised_gram.T @ of_predictors),
        cross[:, :n] - of_targets.T @ unpenalised_gram,
        np.maximum(squares - np.einsum("ij,ji->i", cross[:, n:], of_targets), 0.0),
    )
    return Reduction(products, of_predictors, of_targets)


def _symmetrise(matrix: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(0.5 * (matrix + matrix.T))


def find_largest_penalty(cross: np.ndarray, required: Mapping[int, np.ndarray]) -> float:
    """Return the smallest penalty at which all coefficients are zero, except required ones."""
    sizes = np.abs(cross)
    for target, predictors in required.items():
        sizes[target, predictors] = 0.0
    return float(np.nanmax(sizes, initial=0.0))


#: Called with the number of targets and of coefficients of each solved block; True ends the solver.
Record = Callable[[int, int], bool]


def solve_lasso(
    products: Products, lam: float, required: Mapping[int, np.ndarray], record: Record | None = None
) -> csr_array:
    r"""Return the coefficients (m, p) of the lasso of each target.

    .. math:: \min_b \; \tfrac{1}{2} b' G b - s_i' b + \lambda \|b\|_1

    `required` has the unpenalised predictors by target. Targets after an end set by `record` have no coefficients.
    """
    m, p = products.cross.shape
    is_over = False
    plain = np.setdiff1d(np.arange(m), list(required))
    counts, places, values = np.zeros(m, dtype=np.int64), [], []
    parts: dict[int, tuple] = {}
    for first in range(0, len(plain), BLOCK):
        if is_over:
            break
        targets = plain[first : first + BLOCK]
        rows = _join_squares(products.cross[targets], products.squares[targets])
        solved = call_on_threads(
            [
                partial(
                    _lagged_lasso.lasso_rows,
                    products.gram,
                    rows[part : part + TARGETS_PER_TASK],
                    lam,
                    TOLERANCE * lam,
                    MOST_PASSES,
                )
                for part in range(0, len(rows), TARGETS_PER_TASK)
            ],
            None,
        )
        block, *entries = (np.concatenate(parts) for parts in list(zip(*solved, strict=True))[:3])
        ends = np.cumsum(block)[:-1]
        parts |= dict(zip(targets.tolist(), zip(*(np.split(part, ends) for part in entries), strict=True), strict=True))
        is_over = record is not None and record(len(targets), int(block.sum()))
    for target, predictors in required.items():
        if is_over:
            break
        parts[target] = _solve_with_required(products, target, predictors, lam)
        is_over = record is not None and record(1, len(parts[target][0]))
    nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
    for target in range(m):
        part = parts.get(target, nothing)
        counts[target] = len(part[0])
        places.append(part[0])
        values.append(part[1])
    return _assemble(counts, places, values, p)


def _join_squares(cross: np.ndarray, squares: np.ndarray) -> np.ndarray:
    return np.hstack([cross, squares[:, None]])


def _assemble(counts: np.ndarray, places: list, values: list, p: int) -> csr_array:
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((np.concatenate(values), np.concatenate(places), indptr), shape=(len(counts), p))


def _solve_with_required(
    products: Products, target: int, predictors: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of a target's coefficients if some are not penalised."""
    gram, s = products.gram, products.cross[target]
    inner = gram[np.ix_(predictors, predictors)]
    weights = np.linalg.lstsq(inner, np.column_stack([gram[predictors], s[predictors]]), rcond=None)[0]
    rest = s - gram[:, predictors] @ weights[:, -1]
    rest[predictors] = np.nan
    square = max(products.squares[target] - s[predictors] @ weights[:, -1], 0.0)
    reduced = _symmetrise(gram - gram[:, predictors] @ weights[:, :-1])
    _, places, values, _ = _lagged_lasso.lasso_rows(
        reduced, np.append(rest, square)[None], lam, TOLERANCE * lam, MOST_PASSES
    )
    required_values = weights[:, -1] - weights[:, places] @ values
    places, values = np.concatenate([places, predictors]), np.concatenate([values, required_values])
    order = np.argsort(places)
    return places[order].astype(np.int32), values[order]


def measure_violation(products: Products, coefs: csr_array, lam: float, required: Mapping[int, np.ndarray]) -> float:
    r"""Return the largest violation of the optimality conditions of the lasso, over all targets and predictors.

    .. math:: |g_j| \le \lambda \; (b_j = 0), \qquad g_j = \lambda \, \mathrm{sign}(b_j) \; (b_j \ne 0),
              \qquad g = s_i - G b
    """
    largest = 0.0
    for first in range(0, (len(coefs.indptr) - 1), BLOCK):
        part = coefs[first : first + BLOCK]
        gradients = products.cross[first : first + BLOCK] - part @ products.gram
        largest = max(largest, find_violation(gradients, part, lam, first, required))
    return largest


def find_violation(
    gradients: np.ndarray, coefs: csr_array, lam: float, first: int, required: Mapping[int, np.ndarray]
) -> float:
    """Return the largest violation of a block of targets from `first` on; the gradients (b, p) are overwritten."""
    rows, columns = np.repeat(np.arange(len(coefs.indptr) - 1), np.diff(coefs.indptr)), coefs.indices
    at_support = np.abs(gradients[rows, columns] - lam * np.sign(coefs.data))
    for target in range(first, first + (len(coefs.indptr) - 1)):
        if target in required:
            is_free = (rows == target - first) & np.isin(columns, required[target])
            at_support[is_free] = np.abs(gradients[rows[is_free], columns[is_free]])
    gradients[rows, columns] = 0.0
    beyond = max(np.nanmax(gradients, initial=0.0), -np.nanmin(gradients, initial=0.0)) - lam
    return float(max(beyond, at_support.max(initial=0.0), 0.0))


def keep_largest(coefs: csr_array, k: int | None, required: Mapping[int, np.ndarray]) -> csr_array:
    """Return the k largest coefficients of each row (of equal ones the first), and the required ones."""
    if k is None or not len(coefs.data) or np.diff(coefs.indptr).max() <= k:
        return coefs
    rows = np.repeat(np.arange(len(coefs.indptr) - 1), np.diff(coefs.indptr))
    sizes = np.abs(coefs.data)
    for target, predictors in required.items():
        part = slice(coefs.indptr[target], coefs.indptr[target + 1])
        sizes[part][np.isin(coefs.indices[part], predictors)] = np.inf
    order = np.lexsort((coefs.indices, -sizes, rows))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - coefs.indptr[rows]
    stays = (ranks < k) | np.isinf(sizes)
    indptr = np.concatenate([[0], np.cumsum(stays)])[coefs.indptr]
    return csr_array((coefs.data[stays], coefs.indices[stays], indptr), shape=coefs.shape)


def fit_support(products: Products, coefs: csr_array) -> csr_array:
    """Return the least-squares coefficients of each target over its predictors with a coefficient."""
    values = np.zeros(len(coefs.data))
    indptr, places = coefs.indptr.astype(np.int64), coefs.indices.astype(np.int32)
    cross = np.ascontiguousarray(products.cross)
    is_solved = _lagged_lasso.least_squares_rows(products.gram, cross, indptr, places, values) != 0
    rows = np.repeat(np.arange(len(is_solved)), np.diff(indptr))
    # If the square of a coefficient of unit predictors exceeds this multiple of the target's square, the smallest
    # eigenvalue is below its inverse, hence rounding error.
    is_solved[rows[values**2 * products.gram.diagonal()[places] > LARGEST_SQUARE * products.squares[rows]]] = False
    for target in np.flatnonzero(~is_solved).tolist():
        part = slice(indptr[target], indptr[target + 1])
        inner = products.gram[np.ix_(places[part], places[part])]
        values[part] = solve_spectrum(inner, cross[target, places[part], None]).coefficients[:, 0]
    return csr_array((values, places, indptr), shape=coefs.shape)

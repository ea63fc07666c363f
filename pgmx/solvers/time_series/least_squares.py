"""Least squares of many targets at once, by cross-products or by singular values."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh, get_lapack_funcs, svd

from pgmx.parallel.threads import call_on_threads

(dpocon,) = get_lapack_funcs(("pocon",), dtype=np.float64)

#: Smallest reciprocal condition number for which equilibrated cross-products are used; solutions then have about nine
#: correct digits.
SMALLEST_RCOND = 1e-7
#: Number of targets per task of a thread.
BLOCK = 512


class LeastSquares(NamedTuple):
    """Coefficients (P, N), and the reciprocal condition number of the equilibrated cross-products."""

    coefficients: np.ndarray
    rcond: float


def solve_gram(gram: np.ndarray, cross: np.ndarray) -> LeastSquares | None:
    """Return the least-squares coefficients from cross-products, or None if they are too ill-conditioned.

    The columns are equilibrated and the matrix is factored by Cholesky: P³ / 3 + 2 P² N multiplications.
    """
    scale = np.sqrt(gram.diagonal())
    if not (scale > 0).all():
        return None
    equilibrated = gram / scale
    equilibrated /= scale[:, None]
    norm = np.abs(equilibrated).sum(axis=0).max()
    try:
        factor = cholesky(equilibrated, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    rcond, _ = dpocon(factor, norm, uplo="L")
    if rcond < SMALLEST_RCOND:
        return None
    calls = [
        partial(cho_solve, (factor, True), part / scale[:, None], overwrite_b=True, check_finite=False)
        for part in np.split(cross, range(BLOCK, cross.shape[1], BLOCK), axis=1)
    ]
    solution = np.hstack(call_on_threads(calls, None))
    return LeastSquares(solution / scale[:, None], float(rcond))


def solve_spectrum(gram: np.ndarray, cross: np.ndarray) -> LeastSquares:
    """Return the least-squares coefficients of smallest norm in equilibrated columns, by the eigenvalues of the Gram.

    Half the digits of the data are lost: eigenvalues below 1e-12 of the largest count as zero.
    """
    scale = np.sqrt(gram.diagonal())
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = eigh(gram / np.multiply.outer(scale, scale), check_finite=False)
    keep = values > 1e-12 * values[-1]
    vectors = vectors[:, keep]
    solution = vectors @ ((vectors.T @ (cross / scale[:, None])) / values[keep][:, None])
    return LeastSquares(solution / scale[:, None], float(max(values[0], 0.0) / values[-1]))


def solve_svd(predictors: np.ndarray, targets: np.ndarray) -> LeastSquares:
    """Return the least-squares coefficients of smallest norm in equilibrated columns, by singular values.

    Singular values below the rounding of the largest, as in ``numpy.linalg.matrix_rank``, count as zero. About
    6 T P² + 2 T P N multiplications.
    """
    scale = np.sqrt(np.einsum("ij,ij->j", predictors, predictors))
    scale = np.where(scale > 0, scale, 1.0)
    left, values, right = svd(predictors / scale, full_matrices=False, overwrite_a=True, check_finite=False)
    keep = values > max(predictors.shape) * np.finfo(float).eps * values[0]
    solution = right[keep].T @ ((left[:, keep].T @ targets) / values[keep][:, None])
    return LeastSquares(solution / scale[:, None], float((values[-1] / values[0]) ** 2))


def sum_squares(gram: np.ndarray, cross: np.ndarray, target_gram: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the cross-products (N, N) of the residuals of any coefficients (P, N); squares are at least 0."""
    products = coefficients.T @ (cross - 0.5 * (gram @ coefficients))
    squares = target_gram - products - products.T
    np.fill_diagonal(squares, np.maximum(squares.diagonal(), 0.0))  # a perfect fit leaves rounding errors
    return squares


def drop_negative_directions(squares: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix in units of the diagonal, to remove rounding errors."""
    units = np.sqrt(np.where(squares.diagonal() > 0.0, squares.diagonal(), 1.0))
    values, vectors = eigh(squares / np.multiply.outer(units, units), check_finite=False)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T * np.multiply.outer(units, units)


def solve_supports(
    supports: Sequence[np.ndarray], solve: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> list[np.ndarray]:
    """Return the coefficients of each target over its own predictors, `supports`, sorted ids.

    ``solve(predictors, targets)`` returns coefficients (predictors, targets); targets of equal supports are solved
    together.
    """
    groups: dict[bytes, list[int]] = {}
    for target, support in enumerate(supports):
        groups.setdefault(support.tobytes(), []).append(target)
    solutions = [np.empty(0)] * len(supports)
    together = [targets for targets in groups.values() if len(supports[targets[0]])]
    calls = [partial(solve, supports[targets[0]], np.array(targets)) for targets in together]
    for targets, columns in zip(together, call_on_threads(calls, None), strict=True):
        for target, column in zip(targets, columns.T, strict=True):
            solutions[target] = column
    return solutions

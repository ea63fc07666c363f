"""Kernels of one variable, and thin factors of their matrices."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: Named kernels.
NAMES = ("gaussian", "poly2", "linear")
#: A kernel matrix counts as indefinite if a remaining diagonal entry falls below minus this share of its largest entry.
INDEFINITE = 1e-7


def _linear(u, v):
    return u * v


def _poly2(u, v):
    return (1.0 + u * v) ** 2


def _gaussian(u, v, bandwidth):
    return np.exp(-((u - v) ** 2) / (2.0 * bandwidth**2))


def make_kernel(kernel: str | Kernel, bandwidth: float) -> Kernel:
    """Return the function of a named kernel, or the given function."""
    if not isinstance(kernel, str):
        return kernel
    if kernel == "gaussian":
        return partial(_gaussian, bandwidth=bandwidth)
    return {"linear": _linear, "poly2": _poly2}[kernel]


class ThinFactor(NamedTuple):
    """Factors F of the kernel matrices of series, K = F F', by pivoted Cholesky decomposition.

    `factors` (r, N, T); `pivots` (N, r) values of the pivots, `triangles` (N, r, r) rows of F at the pivots, lower
    triangular, and `ranks` (N,): entries beyond the rank are zero.
    """

    factors: np.ndarray
    pivots: np.ndarray
    triangles: np.ndarray
    ranks: np.ndarray


def factor_kernel(kernel: Kernel, label: str, values: np.ndarray, *, tol: float, max_rank: int | None) -> ThinFactor:
    """Return factors of the kernel matrices of the rows of `values`, (N, T), until a share `tol` of each trace remains.

    One step takes O(N T k) time at rank k, for all series at once. Fine and Scheinberg (2001), section 4.
    """
    n, length = values.shape
    everyone = np.arange(n)
    diagonal = _evaluate(kernel, label, values, values)
    largest, traces = diagonal.max(axis=1), diagonal.sum(axis=1)
    most = length if max_rank is None else min(max_rank, length)
    columns: list[np.ndarray] = []
    places: list[np.ndarray] = []
    ranks = np.zeros(n, dtype=np.int64)
    for k in range(most + 1):
        if (diagonal < -INDEFINITE * largest[:, None]).any():
            raise ValueError(
                f"the kernel {label} is not positive semidefinite: give one that is, such as exp(-|u - v|)"
            )
        diagonal = np.maximum(diagonal, 0.0)
        is_open = diagonal.sum(axis=1) > tol * traces
        if k == most or not is_open.any():
            break
        place = diagonal.argmax(axis=1)
        pivot = diagonal[everyone, place]
        column = _evaluate(kernel, label, values[everyone, place][:, None], values)
        for earlier in columns:
            column -= earlier[everyone, place][:, None] * earlier
        column *= np.where(is_open, 1.0 / np.sqrt(np.where(is_open, pivot, 1.0)), 0.0)[:, None]
        diagonal = diagonal - column**2
        diagonal[everyone, place] = 0.0
        ranks += is_open
        columns.append(column)
        places.append(place)
    pivots = np.stack([values[everyone, place] for place in places], axis=1) if places else np.zeros((n, 0))
    factors = np.stack(columns) if columns else np.zeros((0, n, length))
    triangles = np.zeros((n, len(places), len(places)))
    for k, place in enumerate(places):
        triangles[:, k, :] = factors[:, everyone, place].T
        triangles[ranks <= k, k, :] = 0.0
        triangles[ranks <= k, k, k] = 1.0
    return ThinFactor(factors, pivots, np.tril(triangles), ranks)


def extend_factor(
    kernel: Kernel, label: str, pivots: np.ndarray, triangle: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return the rows of F at other values of one series, (m, r), from its r pivots."""
    products = _evaluate(kernel, label, pivots[:, None], values[None, :])
    return np.linalg.solve(triangle, products).T


def _evaluate(kernel: Kernel, label: str, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the values of a kernel, checked for shape and finiteness."""
    shape = np.broadcast_shapes(u.shape, v.shape)
    values = np.asarray(kernel(u, v), dtype=np.float64)
    if values.shape != shape:
        raise ValueError(
            f"the kernel {label} returned shape {values.shape} for arguments of shapes {u.shape} and {v.shape}: it "
            f"must broadcast them to {shape}, like (u, v) -> np.exp(-abs(u - v))"
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"the kernel {label} returned a value that is not finite: give a kernel that is finite everywhere"
        )
    return np.array(values)


def check_symmetry(kernel: Kernel, label: str, values: Sequence[float]) -> None:
    """Refuse a kernel with k(u, v) different from k(v, u) on a few values."""
    few = np.asarray(values, dtype=np.float64)
    matrix = _evaluate(kernel, label, few[:, None], few[None, :])
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise ValueError(f"the kernel {label} is not symmetric: k(u, v) must equal k(v, u)")

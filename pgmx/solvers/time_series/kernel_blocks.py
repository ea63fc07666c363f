"""Blocks of columns for additive models of a time series: one per lag, series and kernel.

A block holds a thin factor of the matrix of a kernel of one variable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

#: Share of the trace of a kernel matrix that its factor may omit, and largest share of an omitted direction.
FACTOR_TOL = 1e-9
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: Named kernels.
NAMES = ("gaussian", "poly2", "linear")

#: A kernel matrix counts as indefinite if a remaining diagonal entry falls below minus this share of its largest entry.
INDEFINITE = 1e-7


def make_kernel(kernel: str | Kernel, bandwidth: float) -> Kernel:
    """Return the function of a named kernel, or the given function."""
    if not isinstance(kernel, str):
        return kernel
    if kernel == "gaussian":
        return partial(_gaussian, bandwidth=bandwidth)
    return {"linear": _linear, "poly2": _poly2}[kernel]


def _linear(u, v):
    return u * v


def _poly2(u, v):
    return (1.0 + u * v) ** 2


def _gaussian(u, v, bandwidth):
    return np.exp(-((u - v) ** 2) / (2.0 * bandwidth**2))


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
    diagonal = evaluate_kernel(kernel, label, values, values)
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
        column = evaluate_kernel(kernel, label, values[everyone, place][:, None], values)
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
    products = evaluate_kernel(kernel, label, pivots[:, None], values[None, :])
    return np.linalg.solve(triangle, products).T


def evaluate_kernel(kernel: Kernel, label: str, u: np.ndarray, v: np.ndarray) -> np.ndarray:
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
    matrix = evaluate_kernel(kernel, label, few[:, None], few[None, :])
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise ValueError(f"the kernel {label} is not symmetric: k(u, v) must equal k(v, u)")


@dataclass(frozen=True, eq=False)
class KernelBlocks:
    """Factors of centred kernel matrices of trace T', side by side, the columns within each block orthogonal.

    `columns` (T', F), `starts` (B + 1,), and the `lags`, `sources` and `kernels` of the B blocks, (B,); `means` and
    `rotations` per block transform the factor of its series into its columns.
    """

    columns: np.ndarray
    starts: np.ndarray
    lags: np.ndarray
    sources: np.ndarray
    kernels: np.ndarray
    functions: tuple[tuple[Kernel, str], ...]
    factors: tuple[ThinFactor, ...]
    means: tuple[np.ndarray, ...]
    rotations: tuple[np.ndarray, ...]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.lags)

    def drop_columns(self) -> "KernelBlocks":
        """Return the blocks with only the arrays that `extend` needs."""
        factors = tuple(factor._replace(factors=np.empty((0, 0, 0))) for factor in self.factors)
        return replace(self, columns=np.empty((0, self.columns.shape[1])), factors=factors)

    def extend(self, block: int, values: np.ndarray) -> np.ndarray:
        """Return the columns of a block at other values of its series, (m, r), unpenalised columns not removed."""
        kernel, source = self.kernels[block], self.sources[block]
        function, label = self.functions[kernel]
        factor = self.factors[kernel]
        rank = factor.ranks[source]
        part = factor.triangles[source, :rank, :rank]
        rows = extend_factor(function, label, factor.pivots[source, :rank], part, values)
        return (rows - self.means[block]) @ self.rotations[block]


def build_blocks(
    segments: Sequence[np.ndarray],
    lags: int,
    kernels: Sequence[tuple[Kernel, str]],
    *,
    instantaneous: bool = True,
    basis: np.ndarray | None = None,
    max_rank: int | None = None,
    used: np.ndarray | None = None,
) -> KernelBlocks:
    """Return the blocks of series in segments (T_s, N), for the targets in rows `lags` and later of each.

    `basis` (T', q) are orthonormal columns that enter unpenalised, in addition to the constant. They are removed from
    the columns. `used` (K, N) are the kernels of each series, by default all. O(N T r^2) time for kernels of rank r.
    """
    series = np.concatenate(segments).T
    all_columns, starts = [], [0]
    places: list[tuple[int, int, int]] = []
    means: list[np.ndarray] = []
    rotations: list[np.ndarray] = []
    factors = []
    for kernel, label in kernels:
        check_symmetry(kernel, label, np.quantile(series, np.linspace(0.0, 1.0, 8)).tolist())
        factors.append(factor_kernel(kernel, label, series, tol=FACTOR_TOL, max_rank=max_rank))
    for lag in range(0 if instantaneous else 1, lags + 1):
        rows = list_rows([len(segment) for segment in segments], lags, lag)
        for k, factor in enumerate(factors):
            window = factor.factors[:, :, rows].transpose(1, 2, 0)  # (N, T', r)
            middle = window.mean(axis=1)
            window = window - middle[:, None, :]
            rotation, sizes = _orthogonalise(window, middle, basis)
            for source in range(len(series)):
                size = sizes[source]
                if size == 0 or (used is not None and not used[k, source]):
                    continue
                rank = factor.ranks[source]
                rotation_of_source = np.ascontiguousarray(rotation[source][:rank, :size])
                column = window[source][:, :rank] @ rotation_of_source
                all_columns.append(column if basis is None else column - basis @ (basis.T @ column))
                places.append((lag, source, k))
                means.append(middle[source][:rank])
                rotations.append(rotation_of_source)
                starts.append(starts[-1] + size)
    n_rows = len(rows)
    table = np.array(places, dtype=np.int64).reshape(-1, 3)
    return KernelBlocks(
        columns=np.ascontiguousarray(np.concatenate(all_columns, axis=1)) if all_columns else np.zeros((n_rows, 0)),
        starts=np.array(starts, dtype=np.int64),
        lags=table[:, 0],
        sources=table[:, 1],
        kernels=table[:, 2],
        functions=tuple(kernels),
        factors=tuple(factors),
        means=tuple(means),
        rotations=tuple(rotations),
    )


def list_rows(lengths: Sequence[int], lags: int, lag: int) -> np.ndarray:
    """Return the rows `lag` steps before the targets, in the concatenated segments."""
    ends = np.cumsum(lengths)
    return np.concatenate(
        [
            np.arange(end - length + lags - lag, end - lag)
            for length, end in zip(lengths, ends, strict=True)
            if length > lags
        ]
    )


def _orthogonalise(window: np.ndarray, middle: np.ndarray, basis: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return a rotation (r, r) per series to orthogonal columns of total square T', largest first, and their number.

    The scale refers to the centred matrix before the columns of `basis` are removed.
    """
    n_rows = window.shape[1]
    squares = np.einsum("itr,itr->i", window, window)
    varies = squares > 1e-12 * (squares + n_rows * (middle**2).sum(axis=1))
    scale = np.sqrt(np.divide(n_rows, squares, out=np.zeros_like(squares), where=varies))
    gram = window.transpose(0, 2, 1) @ window
    if basis is not None:
        shares = window.transpose(0, 2, 1) @ basis
        gram -= shares @ shares.transpose(0, 2, 1)
    values, vectors = np.linalg.eigh(gram * scale[:, None, None] ** 2)
    sizes = (values > FACTOR_TOL * n_rows).sum(axis=1)
    return vectors[:, :, ::-1] * scale[:, None, None], sizes

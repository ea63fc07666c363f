"""Blocks of columns for additive models of a time series: one per lag, series and kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pgmx.solvers.time_series.svarm.kernels import Kernel, ThinFactor, check_symmetry, extend_factor, factor_kernel

#: Share of the trace of a kernel matrix that its factor may omit, and largest share of an omitted direction.
FACTOR_TOL = 1e-9


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
) -> KernelBlocks:
    """Return the blocks of series in segments (T_s, N), for the targets in rows `lags` and later of each.

    `basis` (T', q) are orthonormal columns that enter unpenalised, in addition to the constant. They are removed from
    the columns. O(N T r^2) time for kernels of rank r, with one pivoted factor per series and kernel for all lags.
    """
    series = np.concatenate(segments).T
    pieces, starts = [], [0]
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
                if size == 0:
                    continue
                rank = factor.ranks[source]
                turn = np.ascontiguousarray(rotation[source][:rank, :size])
                column = window[source][:, :rank] @ turn
                pieces.append(column if basis is None else column - basis @ (basis.T @ column))
                places.append((lag, source, k))
                means.append(middle[source][:rank])
                rotations.append(turn)
                starts.append(starts[-1] + size)
    n_rows = len(rows)
    table = np.array(places, dtype=np.int64).reshape(-1, 3)
    return KernelBlocks(
        columns=np.ascontiguousarray(np.concatenate(pieces, axis=1)) if pieces else np.zeros((n_rows, 0)),
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

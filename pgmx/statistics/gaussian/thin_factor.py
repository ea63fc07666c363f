"""A correlation matrix of fewer rows than columns, stored as its factor: the standardised rows."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pgmx.atomic import name_temporary, reserve_file, write_all
from pgmx.statistics.moments import find_constant_columns

#: Number of values that are read or standardised at a time: 32 MB of float64.
_BLOCK_CELLS = 1 << 22


class RowStore:
    """Rows that are read in chunks, stored in memory or in an unnamed temporary file."""

    def __init__(self, n_columns: int, on_disk: bool = False):
        self.n_columns = n_columns
        self.n_rows = 0
        self.on_disk = on_disk
        self._pieces: list[np.ndarray] = []
        self._file: Any = None

    def add(self, rows: np.ndarray) -> None:
        """Store more rows of float64, shape (m, n_columns); in memory they are referenced, not copied."""
        if not len(rows):
            return
        self.n_rows += len(rows)
        if not self.on_disk:
            self._pieces.append(rows)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix=".pgmx-", dir=_find_folder(), buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)  # also if an error ends the pass
        write_all(self._file, np.ascontiguousarray(rows).data.cast("B"), _find_folder() or tempfile.gettempdir())

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows in order, in blocks that must not be changed."""
        if self._file is None:
            yield from self._pieces
            return
        step = max(1, _BLOCK_CELLS // self.n_columns)
        self._file.seek(0)
        for first in range(0, self.n_rows, step):
            size = (min(step, self.n_rows - first)) * self.n_columns
            block = np.empty(size)
            rest = block.data.cast("B")
            while rest.nbytes:
                rest = rest[self._file.readinto(rest) :]
            yield block.reshape(-1, self.n_columns)

    def enumerate_blocks(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield blocks with the positions of their first row and of the row after their last row."""
        first = 0
        for block in self.blocks():
            yield first, first + len(block), block
            first += len(block)

    def close(self) -> None:
        """Drop the rows."""
        self._pieces = []
        if self._file is not None:
            self._file.close()


def make_thin_factor(
    store: RowStore, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the factor A_ij = √(w_i / Σw) (x_ij - mean_j) / scale_j of the correlation matrix A'A of stored rows.

    Return A, means, scales (1.0 for constant columns), and positions of constant columns. A is read-only, and mapped if
    the store is on disk. It has one additional row per constant column, so that this column is uncorrelated with all
    others.
    """
    mean, scale, constant = _compute_means_and_scales(store, weights)
    total = float(store.n_rows) if weights is None else float(weights.sum())
    shape = (store.n_rows + len(constant), store.n_columns)
    folder = Path(tempfile.mkdtemp(prefix="pgmx-", dir=_find_folder())) if store.on_disk else None
    try:
        path = None if folder is None else folder / "factor.npy"
        factor: Any = np.empty(shape) if path is None else _map_file(path, shape)
        for first, stop, block in store.enumerate_blocks():
            part = factor[first:stop]
            np.subtract(block, mean, out=part)
            part /= scale * np.sqrt(total)
            part[:, constant] = 0.0
            if weights is not None:
                part *= np.sqrt(weights[first:stop])[:, None]
        factor[store.n_rows :] = 0.0
        # a row of its own gives a constant column the variance 1 and no correlation
        factor[np.arange(store.n_rows, shape[0]), constant] = 1.0
        if path is not None:
            factor.flush()
            factor = np.load(path, mmap_mode="r")
            weakref.finalize(factor, _discard, folder, os.getpid())
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    factor.flags.writeable = False
    return factor, mean, scale, constant


def _compute_means_and_scales(store: RowStore, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, scales and constant columns by two passes; the second removes the rounding of the first mean."""
    total = float(store.n_rows) if weights is None else float(weights.sum())
    start = next(store.blocks())[0].copy()  # sums of columns with large means would lose digits
    first = np.zeros(store.n_columns)
    low, high = np.full(store.n_columns, np.inf), np.full(store.n_columns, -np.inf)
    for begin, stop, block in store.enumerate_blocks():
        share = np.ones(len(block)) if weights is None else weights[begin:stop]
        first += share @ (block - start)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    first = start + first / total
    rest, squares = np.zeros(store.n_columns), np.zeros(store.n_columns)
    for begin, stop, block in store.enumerate_blocks():
        share = np.ones(len(block)) if weights is None else weights[begin:stop]
        centred = block - first
        rest += share @ centred
        squares += share @ (centred * centred)
    rest /= total
    variance = np.maximum(squares / total - rest * rest, 0.0)
    constant = find_constant_columns(low, high, variance)
    scale = np.sqrt(variance)
    scale[constant] = 1.0
    return first + rest, scale, constant


def _map_file(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Return a new array of float64 that is mapped from a file, after a check of free disk space."""
    with name_temporary(path):
        array = np.lib.format.open_memmap(path, "w+", np.float64, shape)
        reserve_file(path)
    return array


def _find_folder() -> str | None:
    """Return the folder of temporary files: joblib's folder if the user has set one, so that workers see it."""
    return os.environ.get("JOBLIB_TEMP_FOLDER")


def _discard(folder, owner):
    """Remove the file of a factor in its own process only: a forked process has a copy of the array."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)

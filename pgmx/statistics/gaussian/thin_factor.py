"""A correlation matrix of fewer rows than columns, kept as the standardised rows whose products it is."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

#: Cells that are read or standardised at a time: 32 MB of float64.
_BLOCK_CELLS = 1 << 22


class RowStore:
    """Rows that come in pieces, kept in memory or in an unnamed temporary file.

    Parameters
    ----------
    n_columns : int
        Numbers in a row.
    on_disk : bool, default=False
        Whether the rows go to a file.

    Attributes
    ----------
    n_rows : int
        Rows so far.

    Examples
    --------
    >>> import numpy as np
    >>> store = RowStore(2, on_disk=True)
    >>> store.add(np.array([[1.0, 2.0]]))
    >>> store.add(np.array([[3.0, 4.0], [5.0, 6.0]]))
    >>> store.n_rows, [block.tolist() for block in store.blocks()]
    (3, [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    """

    def __init__(self, n_columns, on_disk=False):
        self.n_columns = n_columns
        self.n_rows = 0
        self.on_disk = on_disk
        self._pieces: list[np.ndarray] = []
        self._file = None

    def add(self, rows):
        """Keep more rows.

        Parameters
        ----------
        rows : ndarray of float64, shape (m, n_columns)
            They are referred to until the store is dropped, where it is in memory.
        """
        if not len(rows):
            return
        self.n_rows += len(rows)
        if not self.on_disk:
            self._pieces.append(rows)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix=".pgmx-", dir=_folder(), buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)  # also where an error ends the pass
        left = np.ascontiguousarray(rows).data.cast("B")
        while left.nbytes:
            left = left[self._file.write(left) :]

    def blocks(self):
        """Yield the rows in order.

        Yields
        ------
        ndarray of float64, shape (m, n_columns)
            The next rows, not to be changed.
        """
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

    def close(self):
        """Drop the rows."""
        self._pieces = []
        if self._file is not None:
            self._file.close()


def thin_factor(store, weights=None):
    r"""Standardise stored rows into a factor of their correlation matrix.

    .. math:: A_{ij} = \sqrt{w_i / n}\, (x_{ij} - \bar x_j) / s_j, \qquad R = A^T A, \qquad n = \sum_i w_i

    Parameters
    ----------
    store : RowStore
        Finite rows.
    weights : ndarray of float64, shape (n_rows,), optional
        Positive row weights; 1 each by default.

    Returns
    -------
    factor : ndarray of float64, shape (n_rows + n_constant, n_columns), read-only
        A; mapped from a temporary .npy file, which goes with the array, where the store is on disk. A constant column
        has a row of its own at the end that makes it uncorrelated with all others.
    mean, scale : ndarray of float64, shape (n_columns,)
        Means and standard deviations by maximum likelihood, 1.0 for a constant column.
    constant : ndarray of int64
        Positions of the columns that hold one value, or that vary by less than their rounding.

    Notes
    -----
    Three passes over n p numbers; nothing of the size p² is formed.

    Examples
    --------
    >>> import numpy as np
    >>> store = RowStore(3)
    >>> store.add(np.array([[1.0, 2.0, 7.0], [3.0, -2.0, 7.0]]))
    >>> factor, mean, scale, constant = thin_factor(store)
    >>> mean.tolist(), scale.tolist(), constant.tolist()
    ([2.0, 0.0, 7.0], [1.0, 2.0, 1.0], [2])
    >>> (factor.T @ factor).round(12).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    mean, scale, constant = _means_and_scales(store, weights)
    total = float(store.n_rows) if weights is None else float(weights.sum())
    shape = (store.n_rows + len(constant), store.n_columns)
    folder = Path(tempfile.mkdtemp(prefix="pgmx-", dir=_folder())) if store.on_disk else None
    try:
        path = None if folder is None else folder / "factor.npy"
        factor: Any = np.empty(shape) if path is None else np.lib.format.open_memmap(path, "w+", np.float64, shape)
        for first, stop, block in _numbered(store):
            part = factor[first:stop]
            np.subtract(block, mean, out=part)
            part /= scale * np.sqrt(total)
            part[:, constant] = 0.0
            if weights is not None:
                part *= np.sqrt(weights[first:stop])[:, None]
        factor[store.n_rows :] = 0.0
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


def _means_and_scales(store, weights):
    """Two passes, the second about the mean of the first, whose rounding it takes out."""
    total = float(store.n_rows) if weights is None else float(weights.sum())
    start = next(store.blocks())[0].copy()  # far from zero, sums of the columns themselves would lose digits
    first = np.zeros(store.n_columns)
    low, high = np.full(store.n_columns, np.inf), np.full(store.n_columns, -np.inf)
    for begin, stop, block in _numbered(store):
        share = np.ones(len(block)) if weights is None else weights[begin:stop]
        first += share @ (block - start)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    first = start + first / total
    rest, squares = np.zeros(store.n_columns), np.zeros(store.n_columns)
    for begin, stop, block in _numbered(store):
        share = np.ones(len(block)) if weights is None else weights[begin:stop]
        centred = block - first
        rest += share @ centred
        squares += share @ (centred * centred)
    rest /= total
    variance = np.maximum(squares / total - rest * rest, 0.0)
    rounding = np.maximum(np.abs(low), np.abs(high)) * 1e-15
    constant = np.flatnonzero((high <= low) | ((variance <= rounding**2) & np.isfinite(variance)))
    scale = np.sqrt(variance)
    scale[constant] = 1.0
    return first + rest, scale, constant


def _numbered(store):
    first = 0
    for block in store.blocks():
        yield first, first + len(block), block
        first += len(block)


def _folder():
    """Where temporary files go: where joblib puts its own, if the user said where, so that workers see them."""
    return os.environ.get("JOBLIB_TEMP_FOLDER")


def _discard(folder, owner):
    """Remove the file of a factor, in the process that made it: a forked one holds a copy of the array."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)

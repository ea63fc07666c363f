"""Where the tables of pairs of variables are stored: all of them in a triangle, or the latest in an arena.

Both assign the cells of a pair in one flat array. A store has

``values``
    The array, uint32 counts or float64 sums of weights; cells that nothing was added to hold zero.
``claim(pairs) -> (served, where, stride, missing)``
    Cells for the first `served` of the pairs: where a table begins, from one of its rows to the next, and whether it
    has yet to be counted. Fewer than asked for when space ran out, see ``clear``.
``clear()``
    Forgets all pairs.
``list_pairs() -> (pairs, where, stride)``
    All pairs that have been claimed.
"""

import numpy as np

from pgmx._ext import _pair_tables

#: Bytes of the index of an arena for each pair it may hold: two slots of two int64.
_INDEX_BYTES = 32


class Triangle:
    r"""Cells of all pairs, the rows of a variable against all later ones side by side; k is `n_cells`, per variable.

    .. math:: \text{cell}(i, a, j, b) = \text{begin}_i + a \sum_{v > i} k_v + \sum_{i < v < j} k_v + b
    """

    def __init__(self, n_cells: np.ndarray, dtype):
        self.n_cells = n_cells
        self.columns = np.concatenate(([0], np.cumsum(n_cells)))
        self.widths = self.columns[-1] - self.columns[1:]
        self.begins = np.concatenate(([0], np.cumsum(n_cells * self.widths)))
        self._dtype = dtype
        self.clear()

    @staticmethod
    def size(n_cells: np.ndarray, itemsize: int) -> int:
        """Return the bytes of a triangle over such variables."""
        after = int(n_cells.sum()) - np.cumsum(n_cells)
        return int((n_cells * after).sum()) * itemsize + len(n_cells) * (len(n_cells) - 1) // 2

    def clear(self):
        """Forget all pairs."""
        n = len(self.n_cells)
        self.values = np.zeros(max(int(self.begins[-1]), 1), dtype=self._dtype)
        self.known = np.zeros(n * (n - 1) // 2, dtype=np.uint8)

    def place(self, pairs):
        """Return where tables begin and how far their rows lie apart."""
        i, j = pairs[:, 0], pairs[:, 1]
        return self.begins[i] + self.columns[j] - self.columns[i + 1], self.widths[i]

    def claim(self, pairs):
        """Assign cells to pairs, see the module."""
        i, j = pairs[:, 0], pairs[:, 1]
        missing = np.empty(len(pairs), dtype=np.uint8)
        _pair_tables.claim_flags(self.known, i * (2 * len(self.n_cells) - i - 1) // 2 + j - i - 1, missing)
        return len(pairs), *self.place(pairs), missing.view(bool)

    def list_pairs(self):
        """Return all pairs with cells."""
        first, second = np.triu_indices(len(self.n_cells), 1)
        known = self.known.view(bool)
        pairs = np.column_stack((first[known], second[known]))
        return pairs, *self.place(pairs)


class Arena:
    """Cells assigned in the order of requests; when they run out, all pairs are forgotten.

    `memory` is in bytes, for cells and index together; the largest table fits whatever the number.
    """

    def __init__(self, n_cells: np.ndarray, dtype, memory: int):
        self.n_cells = n_cells
        largest = int(np.prod(np.sort(n_cells)[-2:])) if len(n_cells) > 1 else 1
        usual = max(float(n_cells.mean()) ** 2, 1.0) * np.dtype(dtype).itemsize
        n_pairs = len(n_cells) * (len(n_cells) - 1) // 2
        wanted = min(max(int(memory / (usual + _INDEX_BYTES)), 1), max(n_pairs, 1))
        self._slots = 1 << max((2 * wanted - 1).bit_length() - 1, 1)
        self._most = self._slots * 3 // 4
        cells = (memory - 16 * self._slots) // np.dtype(dtype).itemsize
        self._cells = max(cells, largest, 1)
        self._dtype = dtype
        self.clear()

    def clear(self):
        """Forget all pairs."""
        self.values = np.zeros(self._cells, dtype=self._dtype)  # pages are allocated as they are written
        self._keys = np.zeros(self._slots, dtype=np.int64)
        self._places = np.zeros(self._slots, dtype=np.int64)
        self._used = np.zeros(2, dtype=np.int64)

    def claim(self, pairs):
        """Assign cells to pairs, see the module."""
        i, j = pairs[:, 0], pairs[:, 1]
        where = np.empty(len(pairs), dtype=np.int64)
        missing = np.zeros(len(pairs), dtype=np.uint8)
        served = _pair_tables.claim_cells(
            self._keys,
            self._places,
            i * len(self.n_cells) + j,
            self.n_cells[i] * self.n_cells[j],
            self._cells,
            self._most,
            self._used,
            where,
            missing,
        )
        return served, where[:served], self.n_cells[j[:served]], missing[:served].view(bool)

    def list_pairs(self):
        """Return all pairs with cells."""
        taken = np.flatnonzero(self._keys)
        i, j = np.divmod(self._keys[taken] - 1, len(self.n_cells))
        return np.column_stack((i, j)), self._places[taken], self.n_cells[j]

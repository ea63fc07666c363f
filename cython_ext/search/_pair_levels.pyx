"""A queue of pairs by level, with one byte for each possible pair.

Problem: hundreds of millions of pairs, with ids from 0, are queued by priority. The next pairs are needed, and any pair
must be moved and removed by its id. An indexed heap would need 60 bytes per pair.
Algorithm: priorities are rounded to 127 levels. The byte of a pair is its level, 0 if it is not queued, plus 128 if it
is queued for the next pass. Bytes are in blocks, each with a lower bound on its smallest level. The next pair is the
one with the smallest id in the first block of the smallest level, found by a scan of that block.
Cost: a byte per pair, and one per block. A change takes O(1), the choice of the next pairs a pass over the bounds and
over the blocks that contain them. A block is scanned once per level, and again after a change that lowered its bound.
Thread-safety: an object serves one thread; the interpreter lock is held.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr

import numpy as np

cdef enum:
    BLOCK = 1 << 14                      # pairs of a block
    LATER = 128                          # added to the level of a pair that is queued for the next pass


cdef class PairLevels:
    """Pairs with levels from 1 to 127; the smallest level leaves first, ties by the smallest id.

    Parameters
    ----------
    size : int
        Pairs have ids from 0 to size - 1.

    Attributes
    ----------
    n_waiting, n_later : int
        Number of pairs queued in this pass, and for the next pass.
    """

    cdef readonly Py_ssize_t size, n_waiting, n_later
    cdef object _kept
    cdef uint8_t[::1] levels, least      # by pair; by block, LATER if no pair of it is queued

    def __init__(self, Py_ssize_t size):
        self.size = size
        # pages are allocated as they are written
        self._kept = np.zeros(max(size, 1), np.uint8), np.full((size + BLOCK) // BLOCK, LATER, np.uint8)
        self.levels, self.least = self._kept

    @property
    def nbytes(self):
        """Bytes allocated."""
        return sum(part.nbytes for part in self._kept)

    def add(self, const int64_t[::1] pairs, const uint8_t[::1] levels, bint later=False):
        """Add pairs that are not queued, to this pass, or to the next pass if `later`."""
        cdef Py_ssize_t k
        self.check(pairs, levels)
        for k in range(pairs.shape[0]):
            if levels[k] == 0 or levels[k] >= LATER or self.levels[pairs[k]]:
                raise ValueError(
                    f"pair {pairs[k]} cannot be queued at level {levels[k]}: the pair is queued already, or the level "
                    "is not in 1..127"
                )
            if later:
                self.levels[pairs[k]] = levels[k] | LATER
                self.n_later += 1
            else:
                self.set_level(pairs[k], levels[k])
                self.n_waiting += 1

    def begin_pass(self):
        """Move the pairs of the next pass to this pass."""
        cdef Py_ssize_t k, block
        cdef uint8_t least, level
        with nogil:
            for block in range(self.least.shape[0]):
                least = LATER
                for k in range(block * BLOCK, min((block + 1) * BLOCK, self.size)):
                    level = self.levels[k] & (LATER - 1)
                    self.levels[k] = level
                    level = level - 1    # 255 if the pair is not queued
                    least = min(least, level)
                self.least[block] = min(least + 1, LATER)
        self.n_waiting += self.n_later
        self.n_later = 0

    def take(self, Py_ssize_t most):
        """Remove the next pairs of this pass, at most `most`; return the pairs, int64, and their levels, uint8."""
        cdef Py_ssize_t count = max(0, min(most, self.n_waiting)), done = 0, block = 0, k, end
        cdef uint8_t *found
        cdef int level = 0
        pairs, levels = np.empty(count, np.int64), np.empty(count, np.uint8)
        cdef int64_t[::1] pair_out = pairs
        cdef uint8_t[::1] level_out = levels
        with nogil:
            while done < count:
                level = self.least_level()
                for block in range(self.least.shape[0]):
                    if self.least[block] != level:
                        continue
                    k, end = block * BLOCK, min((block + 1) * BLOCK, self.size)
                    while done < count and k < end:
                        found = <uint8_t *>memchr(&self.levels[k], level, end - k)
                        if found == NULL:
                            k = end
                            break
                        k = found - &self.levels[0]
                        self.levels[k] = 0
                        pair_out[done], level_out[done] = k, level
                        done += 1
                        k += 1
                    if k < end:
                        break            # enough, and there may be more of this level
                    self.find_least(block)
                    if done == count:
                        break
        self.n_waiting -= count
        return pairs, levels

    def lower(self, const int64_t[::1] pairs, const uint8_t[::1] lower_levels):
        """Replace the level of pairs queued in this pass by the entry of a table at the old level, not a higher one."""
        cdef Py_ssize_t k
        cdef uint8_t level
        if lower_levels.shape[0] != LATER:
            raise ValueError(f"a level is needed for each from 0 to 127, got {lower_levels.shape[0]}")
        self.check(pairs, None)
        for k in range(pairs.shape[0]):
            level = self.levels[pairs[k]]
            if 0 < level < LATER:
                self.set_level(pairs[k], max(min(level, lower_levels[level]), 1))

    def discard(self, const int64_t[::1] pairs):
        """Remove the pairs that are queued in this pass or for the next pass."""
        cdef Py_ssize_t k
        self.check(pairs, None)
        for k in range(pairs.shape[0]):
            self.n_waiting -= 0 < self.levels[pairs[k]] < LATER
            self.n_later -= self.levels[pairs[k]] > LATER
            self.levels[pairs[k]] = 0

    def contains(self, const int64_t[::1] pairs):
        """Return which of the pairs are queued in this pass or for the next pass, bool."""
        self.check(pairs, None)
        return self._kept[0][pairs] > 0

    def content(self):
        """Return a copy of all bytes."""
        return self._kept[0][:self.size].copy()

    def restore(self, const uint8_t[::1] content):
        """Continue from the bytes of another queue of this size."""
        cdef Py_ssize_t k, block
        if content.shape[0] != self.size:
            raise ValueError(f"a byte is needed for each of {self.size} pairs, got {content.shape[0]}")
        self.n_waiting = self.n_later = 0
        with nogil:
            for k in range(self.size):
                self.levels[k] = 0 if content[k] == LATER else content[k]
                self.n_waiting += 0 < content[k] < LATER
                self.n_later += content[k] > LATER
            for block in range(self.least.shape[0]):
                self.find_least(block)

    cdef int check(self, const int64_t[::1] pairs, const uint8_t[::1] levels) except -1:
        cdef Py_ssize_t k
        if levels is not None and levels.shape[0] != pairs.shape[0]:
            raise ValueError(f"{pairs.shape[0]} pairs need as many levels, got {levels.shape[0]}")
        for k in range(pairs.shape[0]):
            if not 0 <= pairs[k] < self.size:
                raise ValueError(f"pair {pairs[k]} is not from 0 to {self.size - 1}")
        return 0

    cdef inline void set_level(self, Py_ssize_t pair, uint8_t level) noexcept nogil:
        self.levels[pair] = level
        self.least[pair // BLOCK] = min(self.least[pair // BLOCK], level)

    cdef int least_level(self) noexcept nogil:
        cdef Py_ssize_t block
        cdef uint8_t least = LATER
        for block in range(self.least.shape[0]):
            least = min(least, self.least[block])
        return least

    cdef void find_least(self, Py_ssize_t block) noexcept nogil:
        # The smallest byte from 1 to 127; after subtracting 1 it is the smallest of all bytes.
        cdef Py_ssize_t k
        cdef uint8_t least = LATER, level
        for k in range(block * BLOCK, min((block + 1) * BLOCK, self.size)):
            level = self.levels[k] - 1
            least = min(least, level)
        self.least[block] = min(least + 1, LATER)

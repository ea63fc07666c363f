"""Checksums of the codes and the bit planes of a table, with the checks that make them safe to count.

Problem: a table that is mapped from a file is read once before its first use, at a small share of the cost of learning.
Algorithm: the bytes of a row are little-endian words, the last filled up with zeros, word k in lane k mod 8; each lane
keeps the sum a of its words and the sum b of all values that a has had, modulo 2^64 (Fletcher's sums). A change within
one word changes a, words that trade places change b. In the same pass the largest code is found, and the planes of a
variable are compared with each other: every row has one state. These are additions and comparisons without a branch.
Cost: the time to read the bytes, about 0.15 ns each from memory. Thread-safety: inputs are only read; the GIL is
released.
Reference: Fletcher (1982), An arithmetic checksum for serial transmissions, IEEE Transactions on Communications 30,
247-252.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

cdef extern from "_checksums.h" nogil:
    void pgmx_add_bytes(const unsigned char *bytes, Py_ssize_t n_bytes, uint64_t *lanes)
    uint64_t pgmx_fold_lanes(const uint64_t *lanes, uint64_t n_bytes)
    unsigned int pgmx_add_u8(const uint8_t *codes, Py_ssize_t n, uint64_t *lanes, unsigned int least)
    unsigned int pgmx_add_u16(const uint16_t *codes, Py_ssize_t n, uint64_t *lanes, unsigned int least)
    void pgmx_checksums_select(int level)
    bint pgmx_add_plane(const uint64_t *plane, Py_ssize_t n_words, uint64_t *lanes, uint64_t *seen)

from _simd cimport select_simd_level

pgmx_checksums_select(select_simd_level())

cdef enum:
    N_SUMS = 16                 # two for each lane
    BLOCK_WORDS = 1 << 11       # words of each plane whose rows are marked while the first-level cache holds them

ctypedef fused code_t:
    uint8_t
    uint16_t


cdef class Checksum:
    """The checksum of bytes that arrive in blocks, each except the last of a multiple of 64 bytes."""

    cdef uint64_t[N_SUMS] lanes
    cdef uint64_t n_bytes

    def update(self, const unsigned char[::1] block):
        """Continue with a block."""
        cdef Py_ssize_t n = block.shape[0]
        if self.n_bytes % 64:
            raise ValueError("only the last block may have a length that is no multiple of 64 bytes")
        if n > 0:
            with nogil:
                pgmx_add_bytes(&block[0], n, self.lanes)
            self.n_bytes += <uint64_t>n

    def value(self) -> int:
        """Return the checksum of all blocks so far."""
        return pgmx_fold_lanes(self.lanes, self.n_bytes)


def summarise_codes(const code_t[:, ::1] codes):
    """Return the checksum (uint64) and the largest code (uint32) of each row of codes of shape (n, N)."""
    cdef Py_ssize_t n = codes.shape[0], n_rows = codes.shape[1], v
    cdef uint64_t[N_SUMS] lanes
    checksums, largest = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint32)
    cdef uint64_t[::1] to_checksums = checksums
    cdef uint32_t[::1] to_largest = largest
    with nogil:
        for v in range(n):
            memset(lanes, 0, sizeof(lanes))
            if code_t is uint8_t:
                to_largest[v] = pgmx_add_u8(&codes[v, 0], n_rows, lanes, 0)
            else:
                to_largest[v] = pgmx_add_u16(&codes[v, 0], n_rows, lanes, 0)
            to_checksums[v] = pgmx_fold_lanes(lanes, <uint64_t>n_rows * sizeof(code_t))
    return checksums, largest


def summarise_planes(const uint64_t[:, ::1] planes, const int64_t[::1] offsets, Py_ssize_t n_rows):
    """Return the checksum of each plane and whether each row has one state per variable, and none beyond the last row.

    The planes of variable v begin at ``offsets[v]``; it may have none. The words of a plane are a multiple of 8.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, n_words = planes.shape[1], v, p, first, length
    checksums = np.empty(planes.shape[0], dtype=np.uint64)
    lanes = np.zeros((planes.shape[0], N_SUMS), dtype=np.uint64)
    cdef uint64_t[::1] to_checksums = checksums
    cdef uint64_t[:, ::1] sums = lanes
    cdef uint64_t[BLOCK_WORDS] seen
    cdef bint is_partition = True
    with nogil:
        for v in range(n):
            if offsets[v + 1] == offsets[v]:
                continue
            first = 0
            while first < n_words:
                length = min(n_words - first, <Py_ssize_t>BLOCK_WORDS)
                memset(seen, 0, sizeof(seen))
                for p in range(offsets[v], offsets[v + 1]):
                    if pgmx_add_plane(&planes[p, first], length, &sums[p, 0], seen):
                        is_partition = False
                if not holds_all_rows(seen, first, length, n_rows):
                    is_partition = False
                first += BLOCK_WORDS
        for p in range(planes.shape[0]):
            to_checksums[p] = pgmx_fold_lanes(&sums[p, 0], 8 * <uint64_t>n_words)
    return checksums, is_partition


cdef bint holds_all_rows(const uint64_t *seen, Py_ssize_t first, Py_ssize_t length, Py_ssize_t n_rows) noexcept nogil:
    # Whether words `first` and following have the bits of all rows, and no others.
    cdef Py_ssize_t w, rest, n_full = min(max(n_rows // 64 - first, 0), length)
    cdef uint64_t expected, wrong = 0
    for w in range(n_full):
        wrong |= ~seen[w]
    for w in range(n_full, length):
        rest = n_rows - 64 * (first + w)
        expected = 0 if rest <= 0 else (<uint64_t>1 << rest) - 1
        wrong |= seen[w] ^ expected
    return wrong == 0

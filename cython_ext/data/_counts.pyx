"""Bit planes of a coded table, and counts of all pairs of planes.

Problem: a table of n variables with few states is counted many times. Algorithm: every state of every variable
becomes a plane, one bit per row; a joint count is the population count of an AND of planes.
Cost: packing is one pass over the codes per state; a pair of planes takes N/512 vector operations with AVX-512.
Thread-safety: all functions only read their inputs, and only write the array they return or the block they are given.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from _simd cimport pgmx_count_and, pgmx_popcount, select_simd_level, simd_levels

cdef extern from "_planes.h" nogil:
    void pgmx_pack_u8(const uint8_t *codes, Py_ssize_t n_rows, unsigned int state, uint64_t *plane)
    void pgmx_pack_u16(const uint16_t *codes, Py_ssize_t n_rows, unsigned int state, uint64_t *plane)

# A variable with more states gets no planes: they would cost more memory than its codes are worth.
MAX_PLANE_STATES = 255

# A tile of the pair count reads this many words of 32 + 8 planes: 160 KiB, which stay in the L2 cache.
cdef enum:
    BLOCK_WORDS = 512
    TILE = 32

ctypedef fused code_t:
    uint8_t
    uint16_t

SIMD_LEVEL = simd_levels()[select_simd_level()]


def aligned_words(Py_ssize_t n_rows, Py_ssize_t n_columns):
    """Return zeroed uint64 (n_rows, n_columns), its first word on a 64-byte boundary."""
    flat = np.zeros(n_rows * n_columns + 8, dtype=np.uint64)
    shift = (-flat.ctypes.data % 64) // 8
    return flat[shift:shift + n_rows * n_columns].reshape(n_rows, n_columns)


def pack_planes(const code_t[:, ::1] codes, const int64_t[::1] cardinalities):
    """Return ``(planes, offsets)``: the planes of variable v are ``planes[offsets[v]:offsets[v + 1]]``.

    ``planes`` is uint64 (sum of states, words), 64-byte aligned, words a multiple of 8, padding bits zero. Variables
    with more than ``MAX_PLANE_STATES`` states have none.
    """
    cdef Py_ssize_t n = codes.shape[0], n_rows = codes.shape[1], v, s
    cdef Py_ssize_t n_words = (n_rows + 511) // 512 * 8
    counts = np.where(np.asarray(cardinalities) <= MAX_PLANE_STATES, np.asarray(cardinalities), 0)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    planes = aligned_words(offsets[n], n_words)
    cdef uint64_t[:, ::1] out = planes
    cdef const int64_t[::1] first = offsets
    if n_rows == 0 or offsets[n] == 0:
        return planes, offsets
    with nogil:
        for v in range(n):
            for s in range(first[v + 1] - first[v]):
                if code_t is uint8_t:
                    pgmx_pack_u8(&codes[v, 0], n_rows, <unsigned int>s, &out[first[v] + s, 0])
                else:
                    pgmx_pack_u16(&codes[v, 0], n_rows, <unsigned int>s, &out[first[v] + s, 0])
    return planes, offsets


def count_planes(const uint64_t[:, ::1] planes):
    """Return the bits set in each plane, uint32."""
    counts = np.zeros(planes.shape[0], dtype=np.uint32)
    cdef uint32_t[::1] out = counts
    cdef Py_ssize_t i
    with nogil:
        for i in range(planes.shape[0]):
            out[i] = <uint32_t>pgmx_popcount(&planes[i, 0], planes.shape[1])
    return counts


def count_pairs(
    const uint64_t[:, ::1] planes,      # in: (all planes, words)
    const int64_t[::1] chosen,          # in: (m,) the planes to be paired
    Py_ssize_t first,                   # in: rows [first, last) of the result are computed
    Py_ssize_t last,
    uint32_t[:, ::1] counts,            # out: (m, m), the upper triangle counts[i, j], j >= i, must hold zeros
):
    """Add ``counts[i, j] = |planes[chosen[i]] & planes[chosen[j]]|`` for first <= i < last and j >= i.

    Cost: (last - first) * m / 2 * words / 8 vector operations with AVX-512. Blocks of rows may run in threads.
    """
    cdef Py_ssize_t m = chosen.shape[0], n_words = planes.shape[1], i, j, tile, begin, end, width
    pointers = np.empty(max(m, 1), dtype=np.uintp)
    cdef size_t[::1] address = pointers
    for i in range(m):
        address[i] = <size_t>&planes[chosen[i], 0]
    cdef const uint64_t **plane = <const uint64_t **>&address[0]
    with nogil:
        tile = first
        while tile < last:
            begin = 0
            while begin < n_words:
                end = min(begin + BLOCK_WORDS, n_words)
                j = tile
                while j < m:
                    width = min(8, m - j)
                    for i in range(tile, min(tile + TILE, last)):
                        if j + width > i:
                            # a group of eight that crosses the diagonal is counted whole
                            pgmx_count_and(plane[i], plane + j, width, begin, end, &counts[i, j])
                    j += 8
                begin = end
            tile += TILE

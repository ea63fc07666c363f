"""Rows of a coded table: repeating them, relabelling their codes, and packing blocks of them into planes.

Problem: a resample repeats rows of a table of n variables, and a table larger than memory is finished block by block.
Algorithm: draws are counted, and a row repeated as often; `gather_rows` reads each index once for four variables; the
other two are single passes over one block.
Cost: one load and one store per value. Thread-safety: inputs are only read and may be read-only memory maps, outputs
belong to the caller, and the GIL is released.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

cdef extern from "_planes.h" nogil:
    void pgmx_pack_u8(const uint8_t *codes, Py_ssize_t n_rows, unsigned int state, uint64_t *plane)

ctypedef fused code_t:
    uint8_t
    uint16_t

ctypedef fused label_t:
    uint8_t
    uint16_t

ctypedef fused index_t:
    uint32_t
    uint64_t


def gather_rows(
    const code_t[:, ::1] codes,         # in: (n, N)
    const index_t[::1] rows,            # in: (m,), each below N
    code_t[:, ::1] out,                 # out: (n, m)
):
    """Write ``out[v, i] = codes[v, rows[i]]``."""
    cdef Py_ssize_t n = codes.shape[0], m = rows.shape[0], v = 0, i
    cdef index_t row
    cdef const code_t *a
    cdef const code_t *b
    cdef const code_t *c
    cdef const code_t *d
    cdef code_t *to_a
    cdef code_t *to_b
    cdef code_t *to_c
    cdef code_t *to_d
    if n == 0 or m == 0:
        return
    with nogil:
        while v + 4 <= n:
            a, b, c, d = &codes[v, 0], &codes[v + 1, 0], &codes[v + 2, 0], &codes[v + 3, 0]
            to_a, to_b, to_c, to_d = &out[v, 0], &out[v + 1, 0], &out[v + 2, 0], &out[v + 3, 0]
            for i in range(m):
                row = rows[i]
                to_a[i] = a[row]
                to_b[i] = b[row]
                to_c[i] = c[row]
                to_d[i] = d[row]
            v += 4
        while v < n:
            for i in range(m):
                out[v, i] = codes[v, rows[i]]
            v += 1


def repeat_numbers(
    const int64_t[::1] counts,          # in: (N,), none negative
    index_t[::1] rows,                  # out: (sum of counts,)
):
    """Write each index from 0 as often as ``counts`` says, ascending."""
    cdef Py_ssize_t i, j = 0, m = rows.shape[0]
    cdef int64_t left
    with nogil:
        for i in range(counts.shape[0]):
            if counts[i] <= 4 and j + 4 <= m:   # no branch on the count, which is random
                rows[j] = rows[j + 1] = rows[j + 2] = rows[j + 3] = <index_t>i
            else:
                for left in range(counts[i]):
                    rows[j + left] = <index_t>i
            j += counts[i]


def add_draws(
    const uint64_t[::1] numbers,        # in: random numbers
    Py_ssize_t n_rows,
    Py_ssize_t first,
    int64_t[::1] counts,                # in and out: (m,)
):
    """Add one to ``counts[row - first]`` for each number, whose upper 53 bits are a fraction u: row is [u n_rows]."""
    cdef Py_ssize_t i, row, m = counts.shape[0]
    with nogil:
        for i in range(numbers.shape[0]):
            row = <Py_ssize_t>(<double><int64_t>(numbers[i] >> 11) * (1.0 / 9007199254740992.0) * n_rows) - first
            if 0 <= row < m:
                counts[row] += 1


def relabel(
    const code_t[::1] codes,            # in: (m,), each below the number of labels
    const label_t[::1] labels,          # in
    label_t[::1] out,                   # out: (m,)
):
    """Write ``out[i] = labels[codes[i]]``."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            out[i] = labels[codes[i]]


def pack_block(
    const uint8_t[::1] codes,           # in: (m,)
    uint64_t[:, ::1] planes,            # out: (states, words), words * 64 >= m; bits beyond the codes are zero
):
    """Write the bit plane of each state: bit i of plane s says whether ``codes[i] == s``."""
    cdef Py_ssize_t s, m = codes.shape[0], full = m // 64
    with nogil:
        for s in range(planes.shape[0]):
            if full < planes.shape[1]:  # the last words are filled bit by bit, on top of what they hold
                memset(&planes[s, full], 0, (planes.shape[1] - full) * 8)
            if m > 0:
                pgmx_pack_u8(&codes[0], m, <unsigned int>s, &planes[s, 0])

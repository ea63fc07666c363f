# Sums of the weights of rows by the cell that a row is in and the state that it has.
#
# Small tables are summed in four copies, each for one row in four, so that an addition need not wait for the one before
# it.

from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memset


cdef enum:
    COPIED_CELLS = 1 << 10      # largest number of cells for which four copies fit into the first-level cache


cdef fused code_t:
    uint8_t
    uint16_t


cdef inline void add_weights(
    const code_t *codes, const int32_t *cells, const double *weights, Py_ssize_t n_rows, Py_ssize_t c, double *table,
    Py_ssize_t size
) noexcept nogil:
    # table[code * c + cell] += weight; the table has space for four copies of its `size` entries.
    cdef Py_ssize_t i = 0
    cdef double *second = table + size
    cdef double *third = second + size
    cdef double *fourth = third + size
    cdef bint has_copies = size <= COPIED_CELLS
    memset(table, 0, (4 * size if has_copies else size) * sizeof(double))
    while has_copies and i + 4 <= n_rows:
        table[codes[i] * c + cells[i]] += weights[i]
        second[codes[i + 1] * c + cells[i + 1]] += weights[i + 1]
        third[codes[i + 2] * c + cells[i + 2]] += weights[i + 2]
        fourth[codes[i + 3] * c + cells[i + 3]] += weights[i + 3]
        i += 4
    while i < n_rows:
        table[codes[i] * c + cells[i]] += weights[i]
        i += 1
    for i in range(size if has_copies else 0):
        table[i] = (table[i] + second[i]) + (third[i] + fourth[i])

"""Moments of continuous columns within the cells of discrete columns: a Gram matrix for each cell, or a few columns.

Problem: a search over conditional Gaussian families needs the moments of the same cells repeatedly, each time for other
pairs of continuous columns. If there are few columns, all pairs are summed at once. A single family needs only its own.
Algorithm: `sum_grams` transposes blocks of rows, so that a row is contiguous; the rows of a block are sorted by cell,
and the outer products of the rows of a cell are added to its matrix in tiles that stay in registers. `sum_few` compares
the cells of the rows with each cell and adds the products of the columns under the mask; up to three columns stay in
registers. For one column in many cells, it adds each row to its cell.

Cost: sum_grams: p^2 / 2 multiplications per row and column of codes, about four per cycle, and a copy of the row;
sum_few: an addition per cell, product and eight rows.
Memory: `BLOCK_BYTES` in addition to the result. All sums run in the order of the rows within a block, and the blocks
depend on the shape of the table only: the result has the same bits on every processor.
Thread-safety: free of state; releases the GIL.
Reference: Goto & van de Geijn (2008), Anatomy of high-performance matrix multiplication, section 4 (register tiles).
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _simd cimport select_simd_level


cdef extern from "_masked.h" nogil:
    enum:
        PGMX_MASKED_ROWS
        PGMX_MASKED_COLUMNS
        PGMX_CELL_WIDTH
    Py_ssize_t pgmx_masked_most
    void pgmx_masked_add(
        const double *products, Py_ssize_t n_products, const uint16_t *cell, Py_ssize_t n_cells, double *counts,
        double *sums
    )
    void pgmx_masked_moments(
        const double *const *columns, Py_ssize_t m, const uint16_t *cell, Py_ssize_t n_cells, double *counts,
        double *sums
    )
    void pgmx_cell_moments(const double *column, const uint16_t *cell, double *sums)
    void pgmx_masked_multiply(const double *left, const double *right, Py_ssize_t n, double *target)
    void pgmx_masked_prefetch(const void *begin, Py_ssize_t n_bytes)
    void pgmx_masked_select(int level)

cdef extern from "_gram.h" nogil:
    void pgmx_gram(const double *left, const double *right, Py_ssize_t n, Py_ssize_t width, double *sums)
    void pgmx_gram_select(int level)


pgmx_gram_select(select_simd_level())
pgmx_masked_select(select_simd_level())

cdef enum:
    BLOCK_BYTES = 1 << 19       # of transposed rows
    TILE = 64                   # rows that are transposed, or added, together

ctypedef struct Scratch:
    Buffer table                # the transposed rows of a block, (rows, width)
    Buffer order                # rows of the block by cell
    Buffer ends                 # end of each cell in `order`
    Buffer left                 # rows of a tile, times their weights
    Buffer right
    Buffer sums


def sum_grams(
    const double[:, ::1] columns,
    const double[::1] weights,
    const uint16_t[:, ::1] codes,
    const int64_t[::1] sizes,
) -> np.ndarray:
    """Return the sums over the rows of a cell of the products of all pairs of columns, including a column of ones.

    Parameters
    ----------
    columns : float64 (p, N), C-contiguous
        Continuous columns.
    weights : float64 (N,) or None
        Weights of the rows.
    codes : uint16 (G, N)
        Row g divides the rows into ``sizes[g]`` cells.
    sizes : int64 (G,)
        Cell counts of each row of codes, at least one each.

    Returns
    -------
    float64 (sum(sizes), p + 1, p + 1)
        Symmetric; the last column is the column of ones. The cells are in the order of the rows of codes.
    """
    cdef Py_ssize_t p = columns.shape[0], n_rows = codes.shape[1], width = (p + 8) // 8 * 8
    cdef Py_ssize_t n_cells = 0, most = 0, g, row = 0, n, start, block, i, j, c
    cdef Scratch scratch
    cdef double *table
    cdef double *sums
    cdef double *left
    cdef double *right
    cdef uint32_t *order
    cdef uint32_t *ends
    cdef const double *weight = &weights[0] if weights is not None and n_rows > 0 else NULL
    cdef double[:, :, ::1] out
    for g in range(sizes.shape[0]):
        n_cells += sizes[g]
        most = max(most, sizes[g])
    result = np.empty((n_cells, p + 1, p + 1))
    if n_cells == 0:
        return result
    out = result
    block = min(max(BLOCK_BYTES // (width * 8) // TILE, 1) * TILE, (n_rows + TILE - 1) // TILE * TILE)
    memset(&scratch, 0, sizeof(Scratch))
    try:
        table = <double *>reserve(&scratch.table, block * width * sizeof(double))
        order = <uint32_t *>reserve(&scratch.order, block * sizeof(uint32_t))
        ends = <uint32_t *>reserve(&scratch.ends, (most + 1) * sizeof(uint32_t))
        left = <double *>reserve(&scratch.left, TILE * width * sizeof(double))
        right = <double *>reserve(&scratch.right, TILE * width * sizeof(double))
        sums = <double *>reserve(&scratch.sums, n_cells * width * width * sizeof(double))
        with nogil:
            memset(sums, 0, n_cells * width * width * sizeof(double))
            while row < n_rows:
                n = min(block, n_rows - row)
                transpose(columns, row, n, width, table)
                start = 0
                for g in range(sizes.shape[0]):
                    sort_rows(&codes[g, row], n, sizes[g], order, ends)
                    for c in range(sizes[g]):
                        add_rows(
                            table, order + (ends[c - 1] if c > 0 else 0), ends[c] - (ends[c - 1] if c > 0 else 0),
                            weight, width, left, right,
                            sums + (start + c) * width * width,
                        )
                    start += sizes[g]
                row += n
                if weight != NULL:
                    weight += n
            for c in range(n_cells):
                for i in range(p + 1):
                    for j in range(i, p + 1):
                        out[c, i, j] = out[c, j, i] = sums[(c * width + i) * width + j]
    finally:
        release(&scratch.table)
        release(&scratch.order)
        release(&scratch.ends)
        release(&scratch.left)
        release(&scratch.right)
        release(&scratch.sums)
    return result


cdef void transpose(
    const double[:, ::1] columns, Py_ssize_t first, Py_ssize_t n, Py_ssize_t width, double *table
) noexcept nogil:
    cdef Py_ssize_t p = columns.shape[0], begin = 0, size, i, v
    cdef const double *column
    cdef double *target
    while begin < n:
        size = min(TILE, n - begin)
        for v in range(width):
            target = table + begin * width + v
            if v < p:
                column = &columns[v, first + begin]
                for i in range(size):
                    target[i * width] = column[i]
            else:
                for i in range(size):
                    target[i * width] = 1.0 if v == p else 0.0
        begin += size


cdef void sort_rows(
    const uint16_t *code, Py_ssize_t n, Py_ssize_t size, uint32_t *order, uint32_t *ends
) noexcept nogil:
    # Counting sort: `ends` first holds counts, then the place of the next row of a cell.
    cdef Py_ssize_t i, c
    memset(ends, 0, (size + 1) * sizeof(uint32_t))
    for i in range(n):
        ends[code[i] + 1] += 1
    for c in range(size):
        ends[c + 1] += ends[c]
    for i in range(n):
        order[ends[code[i]]] = <uint32_t>i
        ends[code[i]] += 1


cdef void add_rows(
    const double *table, const uint32_t *rows, Py_ssize_t n, const double *weights, Py_ssize_t width,
    double *left, double *right, double *sums
) noexcept nogil:
    cdef Py_ssize_t begin = 0, size, r, i
    cdef double weight
    while begin < n:
        size = min(TILE, n - begin)
        for r in range(size):
            memcpy(right + r * width, table + rows[begin + r] * width, width * sizeof(double))
            if weights != NULL:
                weight = weights[rows[begin + r]]
                for i in range(width):
                    left[r * width + i] = right[r * width + i] * weight
        pgmx_gram(right if weights == NULL else left, right, size, width, sums)
        begin += size


def sum_few(
    const double[:, ::1] columns,
    const double[::1] weights,
    const uint16_t[:, ::1] states,
    const int64_t[::1] members,
    const int64_t[::1] cards,
    const int64_t[::1] floats,
) -> np.ndarray:
    """Return the packed moments of a few continuous columns in the few joint configurations of some discrete columns.

    Parameters
    ----------
    columns : float64 (p, N), C-contiguous
        Continuous columns.
    weights : float64 (N,) or None
        Weights of the rows.
    states : uint16 (n_d, N)
        Discrete columns.
    members : int64 (k,)
        Rows of `states`, the last one the fastest digit of a configuration.
    cards : int64 (k,)
        Cardinalities of the members; their product q is at most 65534.
    floats : int64 (m,)
        Rows of `columns`.

    Returns
    -------
    float64 (q, 1 + m + m (m + 1) / 2)
        Counts, sums, and sums of products of the pairs (0, 0), (0, 1), ..., (m - 1, m - 1) of `floats`.
    """
    cdef Py_ssize_t n_rows = states.shape[1], m = floats.shape[0], q = 1, row = 0, n, k, c, t, i
    cdef Py_ssize_t n_sums = m + m * (m + 1) // 2, n_products
    cdef bint weighted = weights is not None
    cdef uint16_t[PGMX_MASKED_ROWS] numbers
    cdef const uint16_t *cell
    cdef const double *column[PGMX_MASKED_COLUMNS]
    cdef bint is_few = weights is None and 0 < m <= PGMX_MASKED_COLUMNS
    cdef Buffer block, totals, lanes
    cdef double *products
    cdef double *sums
    cdef double *cell_sums
    cdef bint by_cell
    cdef double[:, ::1] out
    n_products = n_sums + weighted
    for k in range(members.shape[0]):
        q *= cards[k]
    result = np.zeros((q, 1 + n_sums))
    out = result
    counts = np.zeros(q)
    cdef double[::1] count = counts
    memset(&block, 0, sizeof(Buffer))
    memset(&totals, 0, sizeof(Buffer))
    memset(&lanes, 0, sizeof(Buffer))
    by_cell = is_few and m == 1 and q > pgmx_masked_most
    try:
        products = <double *>reserve(&block, (n_products + 1) * PGMX_MASKED_ROWS * sizeof(double))
        sums = <double *>reserve(&totals, (q * n_products + 1) * 8 * sizeof(double))
        cell_sums = <double *>reserve(&lanes, (by_cell * q + 1) * 8 * PGMX_CELL_WIDTH * sizeof(double))
        with nogil:
            memset(cell_sums, 0, by_cell * q * 8 * PGMX_CELL_WIDTH * sizeof(double))
            memset(products, 0, (n_products + 1) * PGMX_MASKED_ROWS * sizeof(double))
            memset(sums, 0, q * n_products * 8 * sizeof(double))
            while row < n_rows:
                n = min(PGMX_MASKED_ROWS, n_rows - row)
                if members.shape[0] == 1 and n == PGMX_MASKED_ROWS:
                    cell = &states[members[0], row]
                else:
                    number_rows(states, members, cards, row, n, numbers)
                    cell = numbers
                if by_cell and n == PGMX_MASKED_ROWS:
                    prefetch(columns, floats[0], row + n)
                    pgmx_cell_moments(&columns[floats[0], row], cell, cell_sums)
                elif is_few and n == PGMX_MASKED_ROWS:
                    for i in range(m):
                        column[i] = &columns[floats[i], row]
                        prefetch(columns, floats[i], row + n)
                    pgmx_masked_moments(column, m, cell, q, &count[0], sums)
                else:
                    if by_cell:  # the last rows, fewer than a block
                        add_lanes(cell_sums, q, &count[0], sums)
                        by_cell = False
                    fill_products(columns, weights, floats, row, n, products)
                    pgmx_masked_add(products, n_products, cell, q, &count[0], sums)
                row += n
            if by_cell:
                add_lanes(cell_sums, q, &count[0], sums)
            for c in range(q):
                for t in range(n_products):
                    for i in range(8):
                        out[c, t + (not weighted)] += sums[(c * n_products + t) * 8 + i]
                if not weighted:
                    out[c, 0] = count[c]
    finally:
        release(&block)
        release(&totals)
        release(&lanes)
    return result


cdef void add_lanes(const double *cell_sums, Py_ssize_t q, double *counts, double *sums) noexcept nogil:
    # sums of one column by cell and lane, in the layout of the kernels with masks
    cdef Py_ssize_t c, i, t
    for c in range(q):
        for i in range(8):
            for t in range(2):
                sums[(2 * c + t) * 8 + i] += cell_sums[(c * 8 + i) * PGMX_CELL_WIDTH + t]
            counts[c] += cell_sums[(c * 8 + i) * PGMX_CELL_WIDTH + 2]


cdef void number_rows(
    const uint16_t[:, ::1] states, const int64_t[::1] members, const int64_t[::1] cards, Py_ssize_t row, Py_ssize_t n,
    uint16_t *cell
) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef const uint16_t *column
    cdef uint16_t card
    if members.shape[0] == 0:
        memset(cell, 0, n * sizeof(uint16_t))
    else:
        memcpy(cell, &states[members[0], row], n * sizeof(uint16_t))
    for k in range(1, members.shape[0]):
        column = &states[members[k], row]
        card = <uint16_t>cards[k]
        for i in range(n):
            cell[i] = <uint16_t>(cell[i] * card + column[i])
    for i in range(n, PGMX_MASKED_ROWS):
        cell[i] = 65535


cdef inline void prefetch(const double[:, ::1] columns, Py_ssize_t column, Py_ssize_t row) noexcept nogil:
    cdef Py_ssize_t n = min(PGMX_MASKED_ROWS, columns.shape[1] - row)
    if n > 0:
        pgmx_masked_prefetch(&columns[column, row], n * sizeof(double))


cdef void fill_products(
    const double[:, ::1] columns, const double[::1] weights, const int64_t[::1] floats, Py_ssize_t row, Py_ssize_t n,
    double *products
) noexcept nogil:
    cdef Py_ssize_t m = floats.shape[0], i, j, _
    cdef double *target = products
    if weights is not None:
        memcpy(target, &weights[row], n * sizeof(double))
        target += PGMX_MASKED_ROWS
    for i in range(m):
        prefetch(columns, floats[i], row + n)
        memcpy(target, &columns[floats[i], row], n * sizeof(double))
        target += PGMX_MASKED_ROWS
    for i in range(m):
        for j in range(i, m):
            pgmx_masked_multiply(&columns[floats[i], row], &columns[floats[j], row], n, target)
            target += PGMX_MASKED_ROWS
    if weights is None:
        return
    target = products + PGMX_MASKED_ROWS
    for _ in range(m + m * (m + 1) // 2):
        pgmx_masked_multiply(target, products, n, target)
        target += PGMX_MASKED_ROWS

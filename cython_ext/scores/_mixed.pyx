"""Moments of continuous columns within the cells of discrete columns, and the log-likelihoods that follow from them.

Problem: the score of a continuous x with discrete parents D and continuous parents C is a sum over the configurations
of D of the log-likelihood of a regression of x on C in the rows of that configuration. It needs the number of these
rows, the sums of x and C and the sums of their products, the packed moments of a cell. Algorithm: `sum_products` adds
eight products per row to the cell of the row, for many discrete columns in one pass over the rows; `regression_terms`
and `mixture_terms` decompose the covariance matrix of each cell by Cholesky.

Cost: sum_products: one vector addition per row, group of codes and eight products; the terms: m^3 / 6
multiplications per cell of m columns, and one logarithm per column.
All sums run in the order of the rows and of the cells: the result has the same bits on every processor.
Thread-safety: all functions are free of state and release the GIL.
References: Lauritzen (1996), Graphical Models, section 6.1; Golub & Van Loan (2013), section 4.2.5.
"""

from libc.math cimport INFINITY, sqrt
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _dual cimport Dual, Pivot, begin_pivot, eliminate
from _simd cimport select_simd_level


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)

cdef extern from "_scatter.h" nogil:
    void pgmx_scatter(
        const double *rows, const uint32_t *base, const uint16_t *code, uint32_t size, ptrdiff_t n, double *sums,
        ptrdiff_t stride, int copies
    )
    void pgmx_scatter_select(int level)


pgmx_scatter_select(select_simd_level())

cdef double SMALLEST = 1e-10            # least residual variance of a column in a cell, in squares of its unit
cdef double LOG_2_PI = 1.8378770664093453

cdef enum:
    WIDTH = 8                   # products that are added together
    BLOCK = 256                 # rows whose products are made together
    COPIES = 4                  # of the sums of few cells, see _scatter.h
    FEW_CELLS = 64
    MOST_COLUMNS = 512          # of one family: larger families are refused

# divisor of a sum of squares: n rows, n minus the number of coefficients of the regression, n - 1
LIKELIHOOD, UNBIASED, SAMPLE = 0, 1, 2


def sum_products(
    const double[:, ::1] columns,
    const double[::1] weights,
    const uint32_t[::1] cells,
    const uint16_t[:, ::1] states,
    const int64_t[::1] members,
    const int64_t[::1] cards,
    Py_ssize_t n_cells,
    const uint16_t[:, ::1] codes,
    const int64_t[::1] sizes,
    const int32_t[:, ::1] pairs,
) -> np.ndarray:
    """Return sums over the rows of products of pairs of columns, by cell.

    Parameters
    ----------
    columns : float64 (p, N), C-contiguous
        Continuous columns.
    weights : float64 (N,) or None
        Weights of the rows.
    cells : uint32 (N,) or None
        Below `n_cells`; if None, the cell of a row is the mixed radix code of its states in the columns `members`.
    states : uint16 (n_d, N)
        Discrete columns.
    members : int64 (k,)
        Rows of `states`, the last one the fastest digit.
    cards : int64 (k,)
        Cardinalities of the members.
    n_cells : int
        Number of cells.
    codes : uint16 (G, N) or None
        Each row of codes g divides each cell into ``sizes[g]`` cells.
    sizes : int64 (G,)
        Number of codes in each row of `codes`; [1] if `codes` is None.
    pairs : int32 (M, 2)
        Positions of columns; -1 is the column of ones.

    Returns
    -------
    float64 (n_cells * sum(sizes), M)
        For each row of codes g in order, row ``cell * sizes[g] + code``.
    """
    cdef Py_ssize_t n_rows = states.shape[1], n_pairs = pairs.shape[0], n_groups = sizes.shape[0]
    cdef Py_ssize_t first = 0, row, n, t, i, g, c, width, total = 0, start, stride
    cdef int copies
    cdef Buffer block, sums, place
    cdef double *products
    cdef double *cell_sums
    cdef uint32_t *cell
    cdef const double *left
    cdef const double *right
    cdef const double *weight = &weights[0] if weights is not None else NULL
    cdef double[:, ::1] out
    for g in range(n_groups):
        total += n_cells * sizes[g]
    result = np.zeros((total, n_pairs))
    if n_pairs == 0 or total == 0 or n_rows == 0:
        return result
    out = result
    stride = total * WIDTH
    copies = COPIES if total <= FEW_CELLS else 1
    memset(&block, 0, sizeof(Buffer))
    memset(&sums, 0, sizeof(Buffer))
    memset(&place, 0, sizeof(Buffer))
    try:
        products = <double *>reserve(&block, BLOCK * WIDTH * sizeof(double))
        cell_sums = <double *>reserve(&sums, copies * stride * sizeof(double))
        cell = <uint32_t *>reserve(&place, BLOCK * sizeof(uint32_t))
        with nogil:
            while first < n_pairs:
                width = min(WIDTH, n_pairs - first)
                memset(products, 0, BLOCK * WIDTH * sizeof(double))
                memset(cell_sums, 0, copies * stride * sizeof(double))
                row = 0
                while row < n_rows:
                    n = min(BLOCK, n_rows - row)
                    number_cells(cells, states, members, cards, row, n, cell)
                    for t in range(width):
                        left = &columns[pairs[first + t, 0], row] if pairs[first + t, 0] >= 0 else NULL
                        right = &columns[pairs[first + t, 1], row] if pairs[first + t, 1] >= 0 else NULL
                        fill_products(left, right, NULL if weight == NULL else weight + row, n, products + t)
                    start = 0
                    for g in range(n_groups):
                        pgmx_scatter(
                            products, cell, NULL if codes is None else &codes[g, row], <uint32_t>sizes[g], n,
                            cell_sums + start * WIDTH, stride, copies,
                        )
                        start += n_cells * sizes[g]
                    row += BLOCK
                for i in range(total):
                    for c in range(copies):
                        for t in range(width):
                            out[i, first + t] += cell_sums[c * stride + i * WIDTH + t]
                first += WIDTH
    finally:
        release(&block)
        release(&sums)
        release(&place)
    return result


cdef void number_cells(
    const uint32_t[::1] cells, const uint16_t[:, ::1] states, const int64_t[::1] members, const int64_t[::1] cards,
    Py_ssize_t row, Py_ssize_t n, uint32_t *cell
) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef const uint16_t *column
    cdef uint32_t card
    if cells is not None:
        memcpy(cell, &cells[row], n * sizeof(uint32_t))
        return
    memset(cell, 0, n * sizeof(uint32_t))
    for k in range(members.shape[0]):
        column = &states[members[k], row]
        card = <uint32_t>cards[k]
        for i in range(n):
            cell[i] = cell[i] * card + column[i]


cdef void fill_products(
    const double *left, const double *right, const double *weight, Py_ssize_t n, double *block
) noexcept nogil:
    cdef Py_ssize_t i
    if left == NULL:
        left, right = right, left
    if left == NULL:
        for i in range(n):
            block[WIDTH * i] = 1.0
    elif right == NULL:
        for i in range(n):
            block[WIDTH * i] = left[i]
    else:
        for i in range(n):
            block[WIDTH * i] = left[i] * right[i]
    if weight != NULL:
        for i in range(n):
            block[WIDTH * i] *= weight[i]


def regression_terms(
    const double[:, ::1] moments, const int64_t[::1] starts, Py_ssize_t m, int divisor,
    const uint8_t[:, ::1] determined=None, double noise=0.0
) -> np.ndarray:
    """Return the log-likelihoods of regressions of the last of m columns on the others, summed over ranges of cells.

    Parameters
    ----------
    moments : float64 (T, 1 + m + m (m + 1) / 2)
        Packed moments of each cell: count, sums, and sums of products of the pairs (0, 0), (0, 1), ..., (m - 1, m - 1).
    starts : int64 (K + 1,)
        Range k holds the cells from ``starts[k]`` to ``starts[k + 1]``.
    m : int
        Columns, at least one.
    divisor : int
        Divisor of the residual sum of squares: LIKELIHOOD, n; UNBIASED, n - m; SAMPLE, n - 1.
    determined : uint8 (K, m), optional
        1 for a column of range k that is a combination of the preceding columns in all rows of the table. Each column
        of the range has independent noise, so that its residual variance is not 0.
    noise : float, default=0.0
        Variance of the noise, in the units of the moments.

    Returns
    -------
    float64 (K,)
        -inf if a cell has between 1 and m rows, or a column that the others determine to ten digits only in that cell.
    """
    return sum_terms(moments, starts, m, divisor, True, determined, noise)


def mixture_terms(
    const double[:, ::1] moments, const int64_t[::1] starts, Py_ssize_t m, int divisor,
    const uint8_t[:, ::1] determined=None, double noise=0.0
) -> np.ndarray:
    """Return n log n and the log-density of its n rows under a Gaussian distribution, summed over ranges of cells.

    Parameters and result are those of `regression_terms`; `divisor` is LIKELIHOOD or SAMPLE.
    """
    return sum_terms(moments, starts, m, divisor, False, determined, noise)


cdef sum_terms(
    const double[:, ::1] moments, const int64_t[::1] starts, Py_ssize_t m, int divisor, bint regress,
    const uint8_t[:, ::1] determined, double noise
):
    cdef Py_ssize_t k, cell
    cdef double total, term, log_pivots
    if m > MOST_COLUMNS:
        raise ValueError(f"a family has {m} continuous columns, the limit is {MOST_COLUMNS}: set max_indegree")
    result = np.zeros(starts.shape[0] - 1)
    cdef double[::1] out = result
    cdef double *scratch
    if m == 0:
        return result
    scratch = <double *>malloc(m * m * sizeof(Dual))
    if scratch == NULL:
        raise MemoryError("cannot allocate a covariance matrix")
    with nogil:
        for k in range(out.shape[0]):
            total = 0.0
            for cell in range(starts[k], starts[k + 1]):
                if moments[cell, 0] > 0:
                    if determined is None:
                        log_pivots = factorize(&moments[cell, 0], m, regress, scratch)
                    else:
                        log_pivots = factorize_with_noise(
                            &moments[cell, 0], m, regress, &determined[k, 0], noise, <Dual *>scratch
                        )
                    term = cell_term(moments[cell, 0], m, divisor, regress, log_pivots)
                    total += term
                    if term == -INFINITY:
                        break
            out[k] = total
    free(scratch)
    return result


cdef double cell_term(double n, Py_ssize_t m, int divisor, bint regress, double log_pivots) noexcept nogil:
    cdef double degrees = n if divisor == 0 else n - m if divisor == 1 else n - 1
    if log_pivots == -INFINITY:
        return -INFINITY
    if regress:
        return -n / 2 * (LOG_2_PI + log_pivots + pgmx_log(n / degrees)) - degrees / 2
    return n * pgmx_log(n) - n / 2 * (m * (LOG_2_PI + pgmx_log(n / degrees)) + log_pivots) - degrees * m / 2


cdef double factorize(const double *packed, Py_ssize_t m, bint regress, double *factor) noexcept nogil:
    # Cholesky of the covariance matrix with denominator n; the logarithm of the last pivot, or the sum of all.
    cdef double n = packed[0], total, pivot, log_pivots = 0.0
    cdef const double *sums = packed + 1
    cdef const double *products = packed + 1 + m
    cdef Py_ssize_t i, j, t, at = 0
    if n <= m:
        return -INFINITY
    for i in range(m):
        for j in range(i, m):
            factor[i * m + j] = (products[at] - sums[i] * sums[j] / n) / n
            at += 1
    for i in range(m):
        for j in range(i, m):
            total = factor[i * m + j]
            for t in range(i):
                total -= factor[t * m + i] * factor[t * m + j]
            factor[i * m + j] = total
        pivot = factor[i * m + i]
        if not pivot >= SMALLEST:
            return -INFINITY
        log_pivots = pgmx_log(pivot) if regress else log_pivots + pgmx_log(pivot)
        pivot = sqrt(pivot)
        for j in range(i, m):
            factor[i * m + j] /= pivot
    return log_pivots


cdef double factorize_with_noise(
    const double *packed, Py_ssize_t m, bint regress, const uint8_t *determined, double noise, Dual *factor
) noexcept nogil:
    # The same for columns with noise, some of which are combinations of preceding columns.
    cdef double n = packed[0], logarithm, log_pivots = 0.0
    cdef const double *sums = packed + 1
    cdef const double *products = packed + 1 + m
    cdef Py_ssize_t i, j, t, at = 0
    cdef Pivot pivot
    if n <= m:
        return -INFINITY
    for i in range(m):
        for j in range(i, m):
            factor[i * m + j] = Dual((products[at] - sums[i] * sums[j] / n) / n, noise if i == j else 0.0)
            at += 1
    for t in range(m):
        if not determined[t] and not factor[t * m + t].value >= SMALLEST:
            return -INFINITY
        logarithm = pgmx_log(begin_pivot(&factor[t * m + t], determined[t], noise, &pivot))
        log_pivots = logarithm if regress else log_pivots + logarithm
        for i in range(t + 1, m):
            for j in range(i, m):
                eliminate(&pivot, &factor[t * m + i], &factor[t * m + j], &factor[i * m + j])
    return log_pivots

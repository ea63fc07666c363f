# Statistics of a table of two discrete variables in strata, as ``_ci_rows.pyx`` defines them.

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t


cdef extern from "_tails.h" nogil:
    double pgmx_log(double x)
    double pgmx_atanh_tail(double s)
    double pgmx_chi2_tail(double t, double dof)


cdef enum Kind:
    PEARSON, YATES, G_SQUARE, MOMENTS


cdef struct Strata:             # the cells (S, x) of the strata in which x has several states
    Py_ssize_t n_cells, n_strata
    int32_t *places             # number of each cell among those of the tree
    double *counts              # rows of each cell
    double *shares              # 1 / counts
    int64_t *ends               # exclusive end of each stratum among the cells
    double *totals              # rows of each stratum


cdef struct Result:
    double statistic, dof, raw  # raw: the statistic before it is scaled to its moments


cdef inline double g_term(double t) noexcept nogil:
    # (1 + t) ln(1 + t) - t for t >= -1; with s = t / (2 + t) it is (2 s^2 + (1 + s) (2 atanh(s) - 2 s)) / (1 - s).
    cdef double s = t / (2.0 + t)
    if fabs(s) < 0.17:
        return (2.0 * s * s + (1.0 + s) * pgmx_atanh_tail(s)) / (1.0 - s)
    return (1.0 + t) * pgmx_log(1.0 + t) - t if t > -1.0 else 1.0


cdef inline double sum_stratum(
    Kind kind, const Strata *strata, Py_ssize_t begin, Py_ssize_t end, double n, const double *table,
    const double *columns, Py_ssize_t r, Py_ssize_t n_columns
) noexcept nogil:
    # The statistic of one stratum; table[s * n_cells + cell] has the rows with state s of y.
    cdef double total = 0.0, part, d, e
    cdef Py_ssize_t s, i
    cdef const double *row = table
    for s in range(r):
        if columns[s] > 0.0:
            part = 0.0
            if kind == G_SQUARE:
                for i in range(begin, end):
                    e = strata.counts[i] * columns[s]
                    part += strata.counts[i] * g_term((n * row[i] - e) / e)
                part *= 2.0 * columns[s]
            elif kind == YATES and n_columns == 2 and end - begin == 2:
                for i in range(begin, end):
                    d = fabs(n * row[i] - strata.counts[i] * columns[s]) - 0.5 * n
                    part += d * d * strata.shares[i] if d > 0.0 else 0.0
                part /= columns[s]
            else:
                for i in range(begin, end):
                    d = n * row[i] - strata.counts[i] * columns[s]
                    part += d * d * strata.shares[i]
                part /= columns[s]
            total += part
        row += strata.n_cells
    return total / n


cdef inline void add_moments(
    const Strata *strata, Py_ssize_t begin, Py_ssize_t end, double n, const double *columns, Py_ssize_t r,
    Py_ssize_t n_columns, double *mean, double *variance
) noexcept nogil:
    # Adds the mean and the variance of Pearson's statistic of a stratum of n > 1 rows given its margins.
    cdef double rows = <double>(end - begin), cols = <double>n_columns, of_rows = 0.0, of_cols = 0.0, v1, v2, w1, w2
    cdef Py_ssize_t i
    mean[0] += n * (rows - 1.0) * (cols - 1.0) / (n - 1.0)
    if n < 4.0:
        if n == 3.0 and rows == 2.0 and cols == 2.0:
            variance[0] += 1.125
        return
    for i in range(begin, end):
        of_rows += strata.shares[i]
    for i in range(r):
        if columns[i] > 0.0:
            of_cols += 1.0 / columns[i]
    v1 = (rows - 1.0) * (n - rows) / (n - 1.0)
    v2 = (cols - 1.0) * (n - cols) / (n - 1.0)
    w1 = (n * of_rows - rows * rows) / (n - 2.0)
    w2 = (n * of_cols - cols * cols) / (n - 2.0)
    variance[0] += 2.0 * n / (n - 3.0) * (v1 - w1) * (v2 - w2) + n * n / (n - 1.0) * w1 * w2


cdef inline void test_table(
    Kind kind, const Strata *strata, const double *table, double *columns, Py_ssize_t r, Result *result
) noexcept nogil:
    # The test of a table (r states of y, cells); `columns` has room for r numbers.
    cdef double mean = 0.0, variance = 0.0, count
    cdef Py_ssize_t g, i, s, begin = 0, end, n_columns
    result[0] = Result(0.0, 0.0, 0.0)
    for g in range(strata.n_strata):
        end = strata.ends[g]
        n_columns = 0
        for s in range(r):
            count = 0.0
            for i in range(s * strata.n_cells + begin, s * strata.n_cells + end):
                count += table[i]
            columns[s] = count
            n_columns += count > 0.0
        if n_columns > 1:
            result.dof += <double>((end - begin - 1) * (n_columns - 1))
            result.raw += sum_stratum(kind, strata, begin, end, strata.totals[g], table, columns, r, n_columns)
            if kind == MOMENTS:
                add_moments(strata, begin, end, strata.totals[g], columns, r, n_columns, &mean, &variance)
        begin = end
    result.statistic = result.raw
    if kind == MOMENTS:
        result.statistic = result.dof = 0.0
        if variance > 1e-12 * mean:     # otherwise the statistic is a constant, but for rounding
            result.statistic, result.dof = result.raw * (2.0 * mean / variance), 2.0 * mean * mean / variance


cdef inline double find_tail(const Result *result) noexcept nogil:
    return pgmx_chi2_tail(result.statistic, result.dof) if result.dof > 0.0 else 1.0


cdef inline void add_stratum(Strata *strata, Py_ssize_t first, double total) noexcept nogil:
    # Closes the stratum whose cells begin at `first`; it is dropped unless it has two cells.
    if strata.n_cells - first < 2:
        strata.n_cells = first
        return
    strata.ends[strata.n_strata] = strata.n_cells
    strata.totals[strata.n_strata] = total
    strata.n_strata += 1

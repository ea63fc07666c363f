"""The score of a family of a table with missing values, from the cells of the family that occur.

Problem: the formula of ``pgmx.scores.discrete.formulas``: the gain of each parent, given the parents before it, on the
rows that are complete in child, these parents and this one. Parents come in the order of their gains as only parents.
Algorithm: the likelihoods are sums of n ln n over the joint states of some columns of the complete cells. They are
added up in a table of all joint states if it is small, else along the sorted cells.
Cost: with k parents and m cells, 8k passes over the cells.
Thread-safety: a pure function of its arguments.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memset

from _terms cimport pgmx_log


cdef struct Numbered:
    int64_t key
    Py_ssize_t place


cdef struct Cells:
    Py_ssize_t m, k                               # cells that occur, columns
    const int64_t *states                         # (m, k), the child first
    const double *counts
    const int64_t *cards                          # without the state of missing values
    const int64_t *missing                        # the code of a missing value in each column, or -1
    double n_rows                                 # rows of the table
    double cost, log_cost                         # a parameter costs cost + log_cost ln n for n rows
    Py_ssize_t *kept                              # cells that are complete in some columns
    Py_ssize_t n_kept
    double total                                  # their rows
    Py_ssize_t *columns
    double *sums                                  # (8 m + 64,)
    Numbered *keys                                # (m,)


cdef int compare(const void *a, const void *b) noexcept nogil:
    cdef const Numbered *x = <const Numbered *>a
    cdef const Numbered *y = <const Numbered *>b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return -1 if x.place < y.place else 1             # counts are added in the order of the cells


cdef inline double term(double n) noexcept nogil:
    return n * pgmx_log(n) if n > 1e-300 else 0.0


cdef double entropy(Cells *c, Py_ssize_t n_columns) noexcept nogil:
    # The sum of n ln n over the joint states of `columns` in the complete cells.
    cdef double size = 1.0, total = 0.0, n = 0.0
    cdef Py_ssize_t x, y
    cdef int64_t key
    for y in range(n_columns):
        size *= c.cards[c.columns[y]]
    if size > 8.0 * c.n_kept + 64.0:
        for x in range(c.n_kept):
            c.keys[x].key = find_key(c, n_columns, c.kept[x])
            c.keys[x].place = x
        qsort(c.keys, c.n_kept, sizeof(Numbered), compare)
        for x in range(c.n_kept):
            if x > 0 and c.keys[x].key != c.keys[x - 1].key:
                total += term(n)
                n = 0.0
            n += c.counts[c.kept[c.keys[x].place]]
        return total + term(n)
    memset(c.sums, 0, <Py_ssize_t>size * sizeof(double))
    for x in range(c.n_kept):
        key = find_key(c, n_columns, c.kept[x])
        c.sums[key] += c.counts[c.kept[x]]
    for x in range(<Py_ssize_t>size):
        if c.sums[x] > 0.0:
            total += term(c.sums[x])
    return total


cdef inline int64_t find_key(const Cells *c, Py_ssize_t n_columns, Py_ssize_t cell) noexcept nogil:
    cdef int64_t key = 0
    cdef Py_ssize_t y
    for y in range(n_columns):
        key = key * c.cards[c.columns[y]] + c.states[cell * c.k + c.columns[y]]
    return key


cdef void keep_complete(Cells *c, Py_ssize_t n_columns) noexcept nogil:
    cdef Py_ssize_t x, y
    cdef bint complete
    c.n_kept = 0
    c.total = 0.0
    for x in range(c.m):
        complete = True
        for y in range(n_columns):
            complete &= c.states[x * c.k + c.columns[y]] != c.missing[c.columns[y]]
        if complete:
            c.kept[c.n_kept] = x
            c.n_kept += 1
            c.total += c.counts[x]


cdef double weigh(const Cells *c, double gain, double n_parameters) noexcept nogil:
    # The gain per row minus the cost of its parameters, for all rows.
    return c.n_rows / c.total * (gain - (c.cost + c.log_cost * pgmx_log(c.total)) * n_parameters)


cdef double gain_of(Cells *c, const Py_ssize_t *before, Py_ssize_t n_before, Py_ssize_t k) noexcept nogil:
    # The gain of the parent in column k in addition to the parents `before`.
    cdef double gain, n_parameters = 1.0
    cdef Py_ssize_t y
    for y in range(n_before):
        c.columns[y] = before[y]
        n_parameters *= c.cards[before[y]]
    c.columns[n_before] = k
    c.columns[n_before + 1] = 0
    keep_complete(c, n_before + 2)
    gain = entropy(c, n_before + 2) - entropy(c, n_before + 1)
    c.columns[n_before] = 0
    gain -= entropy(c, n_before + 1) - entropy(c, n_before)
    return weigh(c, gain, <double>(c.cards[0] - 1) * n_parameters * <double>(c.cards[k] - 1))


cdef double score(Cells *c, Py_ssize_t *order, double *alone) noexcept nogil:
    cdef double total, rest = 0.0
    cdef Py_ssize_t k, x
    for k in range(c.k):
        c.columns[k] = k
    keep_complete(c, c.k)
    if c.n_kept == 0 or c.total == 0.0:
        return -INFINITY
    for k in range(1, c.k):
        alone[k] = gain_of(c, NULL, 0, k)
        # by gain, of equal gains the first parent
        x = k - 1
        while x > 0 and alone[order[x - 1]] < alone[k]:
            order[x] = order[x - 1]
            x -= 1
        order[x] = k
    c.columns[0] = 0
    keep_complete(c, 1)
    total = weigh(c, entropy(c, 1) - term(c.total), <double>(c.cards[0] - 1))
    if c.k > 1:
        total += alone[order[0]]
    for k in range(1, c.k - 1):
        rest += gain_of(c, order, k, order[k])
    return total + rest


def score_family(
    const int64_t[:, ::1] states, const double[::1] counts, const int64_t[::1] cards, const int64_t[::1] missing,
    double n_rows, double cost, double log_cost
):
    """Return the score of a family; -inf if no row is complete in it.

    Parameters
    ----------
    states : int64 (m, k)
        The cells that occur, the child first, then the parents.
    counts : float64 (m,)
        Rows in each cell, or the sum of their weights.
    cards, missing : int64 (k,)
        States of each column without that of missing values, and the code of a missing value, or -1.
    n_rows, cost, log_cost
        Rows of the table; a parameter costs cost + log_cost ln n if it is judged on n rows.
    """
    cdef Cells c
    cdef Py_ssize_t m = states.shape[0], k = states.shape[1]
    cdef double result = -INFINITY
    cdef Py_ssize_t *places
    cdef double *numbers
    if m == 0:
        return result
    places = <Py_ssize_t *>malloc((m + 2 * k + 1) * sizeof(Py_ssize_t))
    numbers = <double *>malloc((8 * m + 64 + k) * sizeof(double))
    c.keys = <Numbered *>malloc(m * sizeof(Numbered))
    if places != NULL and numbers != NULL and c.keys != NULL:
        c.m, c.k, c.states, c.counts = m, k, &states[0, 0], &counts[0]
        c.cards, c.missing, c.n_rows, c.cost, c.log_cost = &cards[0], &missing[0], n_rows, cost, log_cost
        c.kept = places
        c.columns = places + m                        # k + 1 of them
        c.sums = numbers
        with nogil:
            result = score(&c, places + m + k + 1, numbers + 8 * m + 64)
    free(places)
    free(numbers)
    free(c.keys)
    if places == NULL or numbers == NULL or c.keys == NULL:
        raise MemoryError
    return result

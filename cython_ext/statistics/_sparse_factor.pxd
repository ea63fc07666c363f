# A sparse Cholesky factor of a symmetric positive definite matrix: order, structure, values, solutions, variances.
#
# Order: minimum degree on the quotient graph (George & Liu 1989, SIAM Review 31, 1-19), the lowest position of equal
# degrees; it stops when the rest is complete. Values: columns by the columns to their left. Variances: the entries of
# the inverse on the structure of the factor (Takahashi, Fagan & Chin 1973; Erisman & Tinney 1975, CACM 18, 177-179).

from libc.math cimport log, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memset

from _buffers cimport Buffer, release, reserve


cdef struct SparseFactor:
    Py_ssize_t size
    int64_t *begins         # (c + 1,) of the columns
    int64_t *order          # (c,) positions, in the order of elimination
    int64_t *rows           # below the diagonal, ascending, in the order of elimination
    double *values
    Py_ssize_t capacity     # of rows
    Buffer integers, numbers, graph


cdef inline void release_factor(SparseFactor *factor) noexcept nogil:
    release(&factor.integers)
    release(&factor.numbers)
    release(&factor.graph)
    free(factor.rows)
    factor.rows = NULL
    factor.capacity = 0


cdef inline int compare_integers(const void *a, const void *b) noexcept nogil:
    cdef int64_t x = (<const int64_t *>a)[0], y = (<const int64_t *>b)[0]
    return (x > y) - (x < y)


cdef inline int reserve_rows(SparseFactor *factor, Py_ssize_t n) except -1 nogil:
    cdef int64_t *grown
    if n > factor.capacity:
        factor.capacity = n + n // 2
        grown = <int64_t *>realloc(factor.rows, factor.capacity * sizeof(int64_t))
        if grown == NULL:
            with gil:
                raise MemoryError(f"cannot allocate {factor.capacity * 8} bytes for the factor of a precision matrix")
        factor.rows = grown
    return 0


cdef inline int order_variables(
    SparseFactor *factor, Py_ssize_t c, const int64_t *starts, const int64_t *adjacent
) except -1 nogil:
    # The graph is given by the neighbours of each variable.
    cdef int64_t *starts_of = <int64_t *>reserve(&factor.integers, (2 * c + 1) * sizeof(int64_t))
    cdef Py_ssize_t n_slots = starts[c]
    # Each variable has a list of elements, then one of variables, which together are never longer than at first.
    cdef int64_t *slots = <int64_t *>reserve(&factor.graph, (n_slots + 8 * c) * sizeof(int64_t))
    cdef int64_t *n_elements = slots + n_slots
    cdef int64_t *n_others = n_elements + c
    cdef int64_t *degree = n_others + c
    cdef int64_t *mark = degree + c
    cdef int64_t *column = mark + c         # place of an eliminated variable in the order; -1 before
    cdef int64_t *kept = column + c
    cdef int64_t *absorbed = kept + c
    cdef int64_t *own
    cdef int64_t i, j, p, e
    cdef Py_ssize_t step, k, t, n_kept, n_own, n_rows = 0, left, stamp = 0, first
    factor.size, factor.begins, factor.order = c, starts_of, starts_of + c + 1
    for k in range(n_slots):
        slots[k] = adjacent[k]
    for i in range(c):
        n_elements[i], n_others[i], degree[i] = 0, starts[i + 1] - starts[i], starts[i + 1] - starts[i]
        mark[i], column[i], absorbed[i] = 0, -1, 0
    for step in range(c):
        left = c - 1 - step
        p = -1
        for i in range(c):
            if column[i] < 0 and (p < 0 or degree[i] < degree[p]):
                p = i
        first = n_rows
        reserve_rows(factor, n_rows + left)
        stamp += 1
        mark[p] = stamp
        own = slots + starts[p]
        for k in range(n_elements[p]):
            e = own[k]
            absorbed[e] = 1
            for t in range(factor.begins[column[e]], factor.begins[column[e] + 1]):
                j = factor.rows[t]
                if mark[j] != stamp:
                    mark[j] = stamp
                    factor.rows[n_rows] = j
                    n_rows += 1
        for k in range(n_elements[p], n_elements[p] + n_others[p]):
            j = own[k]
            if mark[j] != stamp:
                mark[j] = stamp
                factor.rows[n_rows] = j
                n_rows += 1
        factor.order[step], column[p] = p, step
        factor.begins[step], factor.begins[step + 1] = first, n_rows
        if n_rows - first == left:
            break
        for t in range(first, n_rows):          # the new element replaces what it holds
            i = factor.rows[t]
            own = slots + starts[i]
            n_kept = 0
            for k in range(n_elements[i]):
                if not absorbed[own[k]]:
                    kept[n_kept] = own[k]
                    n_kept += 1
            kept[n_kept] = p
            n_kept += 1
            n_own = n_kept
            for k in range(n_elements[i], n_elements[i] + n_others[i]):
                if mark[own[k]] != stamp:
                    kept[n_kept] = own[k]
                    n_kept += 1
            n_elements[i], n_others[i] = n_own, n_kept - n_own
            for k in range(n_kept):
                own[k] = kept[k]
        for t in range(factor.begins[step], n_rows):
            i = factor.rows[t]
            own = slots + starts[i]
            stamp += 1
            mark[i] = stamp
            degree[i] = 0
            for k in range(n_elements[i]):
                e = column[own[k]]
                for j in range(factor.begins[e], factor.begins[e + 1]):
                    if mark[factor.rows[j]] != stamp:
                        mark[factor.rows[j]] = stamp
                        degree[i] += 1
            for k in range(n_elements[i], n_elements[i] + n_others[i]):
                if mark[own[k]] != stamp:
                    mark[own[k]] = stamp
                    degree[i] += 1
    first = step + 1                            # the rest is complete
    k = first
    for i in range(c):
        if column[i] < 0:
            factor.order[k], column[i] = i, k
            k += 1
    reserve_rows(factor, n_rows + (c - first) * (c - first) // 2)
    for k in range(first):
        for t in range(factor.begins[k], factor.begins[k + 1]):
            factor.rows[t] = column[factor.rows[t]]
        qsort(factor.rows + factor.begins[k], factor.begins[k + 1] - factor.begins[k], sizeof(int64_t),
              compare_integers)
    for k in range(first, c):
        for t in range(k + 1, c):
            factor.rows[n_rows] = t
            n_rows += 1
        factor.begins[k + 1] = n_rows
    return 0


cdef inline double factorise_columns(
    SparseFactor *factor, const int64_t *starts, const int64_t *rows, const double *entries, double least,
    double *inverse, double *log_det
) except? -1.0 nogil:
    # The matrix is given by rows, in the order of elimination. inverse holds 1 / L_jj. Returns the least pivot, 0 if it
    # is below `least`.
    cdef Py_ssize_t c = factor.size, j, k, after, t, q, e
    cdef double pivot, smallest = 1.0, multiple
    cdef double *work = <double *>reserve(&factor.numbers, (c + factor.begins[c]) * sizeof(double))
    cdef int64_t *head = <int64_t *>reserve(&factor.graph, 3 * c * sizeof(int64_t))
    cdef int64_t *link = head + c
    cdef int64_t *place = link + c
    factor.values = work + c
    memset(work, 0, c * sizeof(double))
    for j in range(c):
        head[j] = -1
    log_det[0] = 0.0
    for j in range(c):
        for e in range(starts[j], starts[j + 1]):
            if rows[e] >= j:
                work[rows[e]] = entries[e]
        k = head[j]
        while k >= 0:                           # columns with an entry in row j
            after, q = link[k], place[k]
            multiple = factor.values[q]
            for t in range(q, factor.begins[k + 1]):
                work[factor.rows[t]] -= multiple * factor.values[t]
            if q + 1 < factor.begins[k + 1]:
                place[k] = q + 1
                link[k] = head[factor.rows[q + 1]]
                head[factor.rows[q + 1]] = k
            k = after
        pivot = work[j]
        work[j] = 0.0
        if not pivot >= least:
            return 0.0
        smallest = min(smallest, pivot)
        log_det[0] += log(pivot)
        inverse[j] = 1.0 / sqrt(pivot)
        for t in range(factor.begins[j], factor.begins[j + 1]):
            factor.values[t] = work[factor.rows[t]] * inverse[j]
            work[factor.rows[t]] = 0.0
        if factor.begins[j] < factor.begins[j + 1]:
            place[j] = factor.begins[j]
            link[j] = head[factor.rows[place[j]]]
            head[factor.rows[place[j]]] = j
    return smallest


cdef inline void solve_columns(
    const SparseFactor *factor, const double *inverse, double *right, Py_ssize_t lanes
) noexcept nogil:
    # Solve L L' x = b in place for right-hand sides (c, lanes).
    cdef Py_ssize_t c = factor.size, j, t, w
    cdef double entry
    cdef double *own
    cdef double *other
    for j in range(c):
        own = right + j * lanes
        for w in range(lanes):
            own[w] *= inverse[j]
        for t in range(factor.begins[j], factor.begins[j + 1]):
            entry, other = factor.values[t], right + factor.rows[t] * lanes
            for w in range(lanes):
                other[w] -= entry * own[w]
    for j in range(c - 1, -1, -1):
        own = right + j * lanes
        for t in range(factor.begins[j], factor.begins[j + 1]):
            entry, other = factor.values[t], right + factor.rows[t] * lanes
            for w in range(lanes):
                own[w] -= entry * other[w]
        for w in range(lanes):
            own[w] *= inverse[j]


cdef inline int invert_diagonal(SparseFactor *factor, const double *inverse, double *variances) except -1 nogil:
    # Set the diagonal of the inverse; the factor is lost, since the other entries of the inverse replace it.
    cdef Py_ssize_t c = factor.size, j, k, t, s, begin, n
    cdef double *column = <double *>reserve(&factor.graph, 3 * c * sizeof(double))
    cdef double *sums = column + c
    cdef int64_t *at = <int64_t *>(sums + c)    # place of a row in the column; -1
    cdef int64_t row
    for j in range(c):
        at[j] = -1
    for j in range(c - 1, -1, -1):
        begin, n = factor.begins[j], factor.begins[j + 1] - factor.begins[j]
        for t in range(n):
            row = factor.rows[begin + t]
            at[row] = t
            column[t] = factor.values[begin + t] * inverse[j]
            sums[t] = column[t] * variances[row]
        for t in range(n):                      # entries of the inverse among the rows of this column
            row = factor.rows[begin + t]
            for s in range(factor.begins[row], factor.begins[row + 1]):
                k = at[factor.rows[s]]
                if k >= 0:
                    sums[t] += column[k] * factor.values[s]
                    sums[k] += column[t] * factor.values[s]
        variances[j] = inverse[j] * inverse[j]
        for t in range(n):
            variances[j] += column[t] * sums[t]
            factor.values[begin + t] = -sums[t]
            at[factor.rows[begin + t]] = -1
    return 0

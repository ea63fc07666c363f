# A lasso with the rows of a symmetric matrix M, by its active set:
#
#     minimise 1/2 b' M b - s' b + lam ||b||_1   over b with b_j = 0.
#
# The active set A has the non-zeros and the variables that have violated their optimality condition |s_i - (M b)_i| <=
# lam. On A the problem is solved with the small Gram matrix M_AA: a coordinate pass finds signs, then the equations
# M_NN b_N = s_N - lam sign(b_N) of the non-zeros N are solved by Cholesky, up to the first change of a sign (this
# variable becomes zero). One pass over |N| rows of M then gives M b for all variables, and the next violators.
# Reference: Friedman, Hastie & Tibshirani (2010), "Regularization paths for generalized linear models via coordinate
# descent", sections 2.2 and 2.6 (covariance updates, active sets); Lee, Battle, Raina & Ng (2006), "Efficient sparse
# coding algorithms", section 3 (feature-sign search).
# Cost of a column: |N| p for the pass, |A|^2 gathered entries and |N|^3 / 6 for the equations.
# Thread-safety: a Lasso belongs to one thread; M is only read.

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from _dense cimport pgmx_axpy, pgmx_beyond, pgmx_combine_rows, pgmx_dot

cdef enum:
    PASSES = 200         # coordinate passes between two passes over the rows, if equations fail
    SOLVES = 12          # Cholesky solves between two passes over the rows
    LARGEST_SOLVE = 400  # with more variables only coordinate passes

# Result of a solve for given signs.
cdef enum:
    OPTIMAL
    ZERO_VIOLATES
    SIGN_GONE
    SINGULAR


cdef struct Rows:
    # A symmetric matrix by rows. Columns first..done-1 are updated only in their own rows, not yet in other rows.
    const double *at
    Py_ssize_t stride, size, first, done


cdef struct Lasso:
    Py_ssize_t size, k, capacity, n_nonzero
    int *active          # (size,) A
    int *found           # (size,) violators
    int *support         # (size,) N
    int *listed          # (size,) 1 + its place in A; 0 outside
    double *inverse      # (size,) reciprocals of the diagonal of M on A
    double *b            # (size,) on A
    double *left         # (size,) s - M b on A
    double *weight       # (size,) b on N
    double *trial        # (size,)
    double *direction    # (size,)
    double *out          # (size,) M b on all variables
    int *place           # (size,) places in A of the members of N
    double *gram         # (capacity, capacity) M on A
    double *factor       # (capacity, capacity) Cholesky factor


cdef inline void free_lasso(Lasso *z) noexcept nogil:
    free(z.active)
    free(z.found)
    free(z.support)
    free(z.listed)
    free(z.inverse)
    free(z.b)
    free(z.left)
    free(z.weight)
    free(z.trial)
    free(z.direction)
    free(z.out)
    free(z.place)
    free(z.gram)
    free(z.factor)
    z.active = z.found = z.support = z.place = z.listed = NULL
    z.b = z.inverse = z.direction = z.left = z.weight = z.trial = z.out = z.gram = z.factor = NULL


cdef inline bint open_lasso(Lasso *z, Py_ssize_t size) noexcept nogil:
    # Returns whether there was memory for a problem of `size` variables; call free_lasso in any case.
    cdef size_t n = <size_t>size + 8
    z.size, z.k, z.n_nonzero, z.capacity = size, 0, 0, 32
    z.active = <int *>malloc(n * sizeof(int))
    z.found = <int *>malloc(n * sizeof(int))
    z.support = <int *>malloc(n * sizeof(int))
    z.place = <int *>malloc(n * sizeof(int))
    z.listed = <int *>calloc(n, sizeof(int))
    z.inverse = <double *>malloc(n * sizeof(double))
    z.b = <double *>malloc(n * sizeof(double))
    z.left = <double *>malloc(n * sizeof(double))
    z.weight = <double *>malloc(n * sizeof(double))
    z.trial = <double *>malloc(n * sizeof(double))
    z.direction = <double *>malloc(n * sizeof(double))
    z.out = <double *>calloc(n, sizeof(double))
    z.gram = <double *>malloc(z.capacity * z.capacity * sizeof(double))
    z.factor = <double *>malloc(z.capacity * z.capacity * sizeof(double))
    return not (
        z.active == NULL or z.found == NULL or z.support == NULL or z.place == NULL or z.listed == NULL
        or z.b == NULL or z.left == NULL or z.weight == NULL or z.trial == NULL or z.direction == NULL
        or z.out == NULL or z.inverse == NULL or z.gram == NULL or z.factor == NULL
    )


cdef inline bint make_room(Lasso *z, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t capacity = z.capacity, a
    cdef double *gram
    cdef double *factor
    if k <= capacity:
        return True
    while capacity < k:
        capacity *= 2
    gram = <double *>malloc(capacity * capacity * sizeof(double))
    factor = <double *>realloc(z.factor, capacity * capacity * sizeof(double))
    if factor != NULL:
        z.factor = factor
    if gram == NULL or factor == NULL:
        free(gram)
        return False
    for a in range(z.k):
        memcpy(gram + a * capacity, z.gram + a * z.capacity, z.k * sizeof(double))
    free(z.gram)
    z.gram, z.capacity = gram, capacity
    return True


cdef inline double entry(const Rows *M, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    if M.first <= b < M.done and not (b < a < M.done):
        return M.at[b * M.stride + a]
    return M.at[a * M.stride + b]


cdef inline void join(Lasso *z, const Rows *M, Py_ssize_t n) noexcept nogil:
    # Adds the n variables listed after the last of A, for which there is memory. Sets only M_AA.
    cdef Py_ssize_t k = z.k, c, e, i, all_of = k + n
    cdef double *row
    cdef const double *source
    cdef const int *active = z.active
    for e in range(k, all_of):
        z.listed[active[e]] = <int>e + 1
    for e in range(k, all_of):
        i = active[e]
        row, source = z.gram + e * z.capacity, M.at + i * M.stride
        for c in range(all_of):
            row[c] = source[active[c]]
        for c in range(M.first, M.done):
            if z.listed[c]:
                row[z.listed[c] - 1] = entry(M, i, c)
        z.inverse[e] = 1 / row[e]
        for c in range(k):
            z.gram[c * z.capacity + e] = row[c]
    z.k = all_of


cdef inline void close_set(Lasso *z) noexcept nogil:
    cdef Py_ssize_t c
    for c in range(z.k):
        z.listed[z.active[c]] = 0
    z.k = 0


cdef inline double coordinate_pass(Lasso *z, double lam, bint *signs_moved) noexcept nogil:
    # One pass over A; returns the largest change of M b on its own variable.
    cdef Py_ssize_t c, k = z.k
    cdef double old, pull, fresh, step, diagonal, most = 0
    cdef const double *inverse = z.inverse
    signs_moved[0] = False
    for c in range(k):
        old, diagonal = z.b[c], z.gram[c * z.capacity + c]
        pull = z.left[c] + diagonal * old
        if pull > lam:
            fresh = (pull - lam) * inverse[c]
        elif pull < -lam:
            fresh = (pull + lam) * inverse[c]
        else:
            fresh = 0
        step = fresh - old
        if step == 0:
            continue
        if (fresh > 0) != (old > 0) or (fresh < 0) != (old < 0):
            signs_moved[0] = True
        z.b[c] = fresh
        pgmx_axpy(-step, z.gram + c * z.capacity, z.left, k)
        most = max(most, fabs(step) * diagonal)
    return most


cdef inline Py_ssize_t factorise(Lasso *z, Py_ssize_t m) noexcept nogil:
    # Cholesky factor, by rows, of M on the m places; returns the number of rows before M is singular.
    cdef Py_ssize_t a, c
    cdef double *row
    cdef double *other
    cdef const double *gram
    cdef double value
    for a in range(m):
        row, gram = z.factor + a * z.capacity, z.gram + <Py_ssize_t>z.place[a] * z.capacity
        for c in range(a):
            other = z.factor + c * z.capacity
            row[c] = (gram[z.place[c]] - small_dot(row, other, c)) * other[c]
        value = gram[z.place[a]]
        row[a] = value - small_dot(row, row, a)
        if not row[a] > 1e-10 * value:
            return a
        row[a] = 1 / sqrt(row[a])  # the reciprocal of the pivot
    return m


cdef inline double small_dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil:
    cdef double even = 0, odd = 0
    cdef Py_ssize_t i
    if n >= 32:
        return pgmx_dot(x, y, n)
    for i in range(0, n - 1, 2):
        even += x[i] * y[i]
        odd += x[i + 1] * y[i + 1]
    if n & 1:
        even += x[n - 1] * y[n - 1]
    return even + odd


cdef inline void solve_lower(const Lasso *z, Py_ssize_t m, double *x) noexcept nogil:
    cdef Py_ssize_t a
    for a in range(m):
        x[a] = (x[a] - small_dot(z.factor + a * z.capacity, x, a)) * z.factor[a * z.capacity + a]


cdef inline void solve_upper(const Lasso *z, Py_ssize_t m, double *x) noexcept nogil:
    cdef Py_ssize_t a, c
    for a in range(m - 1, -1, -1):
        x[a] *= z.factor[a * z.capacity + a]
        for c in range(a):
            x[c] -= x[a] * z.factor[a * z.capacity + c]


cdef inline int solve_signs(Lasso *z, double lam, double slack) noexcept nogil:
    # Solves for the non-zeros with their signs, or moves to the first change of a sign.
    cdef Py_ssize_t m = 0, c, a, first = -1, rank
    cdef double share, shortest = 1, step, slope = 0
    for c in range(z.k):
        if z.b[c] != 0:
            z.place[m] = <int>c
            # the residual of s minus the penalty term: the right-hand side of the step to the solution
            z.trial[m] = z.left[c] - (lam if z.b[c] > 0 else -lam)
            m += 1
    rank = factorise(z, m)
    if rank == m:
        solve_lower(z, m, z.trial)
        solve_upper(z, m, z.trial)
    else:
        # M v = 0, to 1e-10, for this v on the first rank + 1 non-zeros. Then s' v = 0, so in z.left it is rounding
        # error and must not choose the direction: along v only ||b|| changes, and it decreases in one of the two
        for a in range(rank):
            z.factor[rank * z.capacity + a] *= -1
        memcpy(z.direction, z.factor + rank * z.capacity, rank * sizeof(double))
        solve_upper(z, rank, z.direction)
        z.direction[rank] = 1
        for a in range(rank + 1):
            slope -= z.direction[a] if z.b[z.place[a]] > 0 else -z.direction[a]
        m = rank + 1
        for a in range(m):
            z.trial[a] = z.direction[a] if slope >= 0 else -z.direction[a]
        shortest = INFINITY
    for a in range(m):
        c = z.place[a]
        if (rank == m and (z.b[c] + z.trial[a]) * z.b[c] <= 0) or (rank < m and z.trial[a] * z.b[c] < 0):
            share = -z.b[c] / z.trial[a]
            if share < shortest or first < 0:
                shortest, first = share, a
    if rank < m and first < 0:
        return SINGULAR
    for a in range(m):
        c = z.place[a]
        step = -z.b[c] if a == first else shortest * z.trial[a]
        if step != 0:
            z.b[c] = 0 if a == first else z.b[c] + step
            pgmx_axpy(-step, z.gram + c * z.capacity, z.left, z.k)
    if first >= 0:
        return SIGN_GONE
    for c in range(z.k):
        if z.b[c] == 0 and fabs(z.left[c]) > lam + slack:
            return ZERO_VIOLATES
    return OPTIMAL


cdef inline Py_ssize_t fit_active(Lasso *z, double lam, double slack) noexcept nogil:
    # Minimises over A; returns the number of passes and solves, negative if PASSES did not suffice.
    cdef Py_ssize_t taken = 0, passes = 0, _solves, next_solve = 4 + z.k // 8
    cdef bint signs_moved = False
    cdef int said
    while passes < PASSES:
        passes += 1
        taken += 1
        if coordinate_pass(z, lam, &signs_moved) <= slack:
            return taken
        if passes >= next_solve and not signs_moved and z.k <= LARGEST_SOLVE:
            next_solve = 2 * passes
            for _solves in range(SOLVES):
                taken += 1
                said = solve_signs(z, lam, slack)
                if said == OPTIMAL:
                    return taken
                if said != SIGN_GONE:
                    break
    return -taken


cdef inline void combine(Lasso *z, const Rows *M) noexcept nogil:
    # out = M b, including pending columns of M.
    cdef Py_ssize_t c, m = 0, i, a
    cdef double total
    for c in range(z.k):
        if z.b[c] != 0:
            z.support[m], z.weight[m] = z.active[c], z.b[c]
            m += 1
    z.n_nonzero = m
    pgmx_combine_rows(M.at, M.stride, z.support, z.weight, m, M.size, z.out)
    for i in range(M.first, M.done):
        total = 0
        for a in range(m):
            total += z.weight[a] * entry(M, z.support[a], i)
        z.out[i] = total


cdef inline double objective(const Lasso *z, const double *s, double lam) noexcept nogil:
    cdef double value = 0
    cdef Py_ssize_t a, i
    for a in range(z.n_nonzero):
        i = z.support[a]
        value += z.weight[a] * (0.5 * z.out[i] - s[i]) + lam * fabs(z.weight[a])
    return value


cdef inline Py_ssize_t fit_column(
    Lasso *z, const Rows *M, const double *s, Py_ssize_t j, double lam, double slack, Py_ssize_t max_rounds,
    const int *start, const double *values, Py_ssize_t n_start, bint *settled
) noexcept nogil:
    # Solves for variable j from b = values on start. The solution is (support, weight, n_nonzero), M b is in out, with
    # s[j] in place j. Returns the number of passes and solves, -1 if memory is exhausted.
    cdef Py_ssize_t c, e, taken = 0, _rounds, n, before, fresh
    cdef double value, last = INFINITY
    settled[0] = False
    z.k = 0
    if not make_room(z, n_start):
        return -1
    for c in range(n_start):
        z.active[c], z.b[c], z.left[c] = start[c], values[c], s[start[c]]
    join(z, M, n_start)
    for c in range(n_start):
        pgmx_axpy(-z.b[c], z.gram + c * z.capacity, z.left, n_start)
    for _rounds in range(max_rounds):
        settled[0] = True
        if z.k:
            n = fit_active(z, lam, slack)
            settled[0] = n >= 0
            taken += n if n >= 0 else -n
        combine(z, M)
        z.out[j] = s[j]
        n = pgmx_beyond(z.out, s, lam + slack, z.size, z.found)
        before = fresh = z.k
        if not make_room(z, before + n):
            close_set(z)
            return -1
        for e in range(n):
            c = z.found[e]
            if not z.listed[c]:
                z.active[fresh], z.b[fresh], z.left[fresh] = <int>c, 0, s[c] - z.out[c]
                fresh += 1
        join(z, M, fresh - before)
        if z.k == before and settled[0]:
            break
        if not settled[0]:
            # if M is singular up to rounding, passes may not end, or b may grow: stop if the gain is only rounding
            # error, or more than is possible
            value = objective(z, s, lam)
            if not value < last - 1e-15 * s[j] or value < -s[j]:
                break
            last = value
        settled[0] = False
    close_set(z)
    return taken


cdef inline bint fit_neighbors(
    Lasso *z, const Rows *M, const double *s, const int *neighbours, Py_ssize_t n, bint *solved
) noexcept nogil:
    # Solves M_NN b = s_N for given N, with results as in fit_column. False if memory is exhausted.
    cdef Py_ssize_t c
    z.k = 0
    if not make_room(z, n):
        return False
    for c in range(n):
        z.active[c], z.place[c], z.b[c] = neighbours[c], <int>c, s[neighbours[c]]
    join(z, M, n)
    solved[0] = factorise(z, n) == n
    if solved[0]:
        solve_lower(z, n, z.b)
        solve_upper(z, n, z.b)
        combine(z, M)
    close_set(z)
    return True

"""Family scores of Gaussian networks whose variables are blocks of columns, and the gain of every parent of a child.

Problem: with R the correlation matrix of all columns, s their standard deviations (denominator N), X the m columns of
a child and P the k columns of its parents,

    score(X | P) = -N/2 (m ln 2 pi + ln det(S_X|P) + m) - cost (m k + m (m + 1) / 2 + m),

where S_X|P is the covariance of the residuals of X given P: a joint Gaussian, of which a family is a factor.
Algorithm: R_PP = L L' and Z = inv(L) R_P. for all columns at once. The residual correlations of a candidate U and of X
are R minus the products of their columns of Z. Adding U gains -N/2 times the ln det of both blocks together minus the
ln det of each block, by small Cholesky factors. Blocks are in the order of the variables whichever is the child, so
that u -> x and x -> u with the same parents tie exactly. A deletion is the difference of two families. A column whose
residual variance is less than SMALLEST of its variance cannot be added, nor a column that leaves less to the child.

Cost of a row: D (k^2 / 2 + k (m + u)) multiplications for D columns and candidates of u columns, and a factor of
m + u columns for each candidate.
Thread-safety: one scorer serves one thread at a time; the row methods release the GIL.
References: Andrews, Ramsey & Cooper (2019), Learning high-dimensional directed acyclic graphs with mixed data-types,
section 3; Golub & Van Loan (2013), Matrix Computations, section 4.2.5.
"""

cimport cython
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t, uint8_t

from _buffers cimport Buffer, release, reserve

from pgmx._ext._scorer cimport Scorer


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)


cdef double SMALLEST = 1e-10            # least share of a variance that an added parent may leave
cdef double SINGULAR = 1e-13            # families that leave less are refused; far below SMALLEST: no added parent is
cdef double LOG_2_PI = 1.8378770664093453

cdef enum:
    COLUMNS, FACTOR, ROWS, RESIDUALS, PAIR, SMALL, OTHERS, N_SCRATCH


@cython.final
cdef class BlockScorer(Scorer):
    """Scores of the families of one correlation matrix; each variable is a block of its columns.

    Parameters
    ----------
    correlation : float64 (D, D), C-contiguous
        Symmetric, ones on the diagonal.
    variances : float64 (D,)
        Denominator N; positive.
    starts : int64 (n + 1,)
        Variable v has the columns from ``starts[v]`` to ``starts[v + 1]``, or no columns.
    n_rows : float
        N, or the sum of the weights.
    cost : float
        Cost of a free parameter.
    allowed : uint8 (n, n) or None
        ``allowed[child, parent]``: 0 forbids the arc; its gain is -inf.
    max_indegree : int
        A child with `max_indegree` parents has no gains of additions.
    names : sequence, optional
        Names of the variables, for messages.
    """

    cdef const double *correlation
    cdef const int64_t *starts
    cdef const double[::1] variances
    cdef Py_ssize_t n_columns, widest
    cdef double half_rows, cost
    cdef Buffer[N_SCRATCH] scratch

    def __cinit__(
        self,
        const double[:, ::1] correlation,
        const double[::1] variances,
        const int64_t[::1] starts,
        double n_rows,
        double cost,
        *,
        const uint8_t[:, ::1] allowed=None,
        Py_ssize_t max_indegree=1 << 30,
        names=None,
    ):
        cdef Py_ssize_t v
        self.set_up(starts.shape[0] - 1, allowed, max_indegree, names)
        self.n_columns = correlation.shape[0]
        self.correlation = &correlation[0, 0] if self.n_columns > 0 else NULL
        self.starts = &starts[0]
        self.variances = variances
        self.owners = correlation, starts
        self.half_rows = n_rows / 2
        self.cost = cost
        for v in range(self.n):
            self.widest = max(self.widest, self.width(v))
        reserve(&self.scratch[PAIR], 4 * (self.widest + 1) * (self.widest + 1) * sizeof(double))
        reserve(&self.scratch[SMALL], 4 * (self.widest + 1) * (self.widest + 1) * sizeof(double))
        reserve(&self.scratch[RESIDUALS], (self.widest + 1) * (self.n_columns + 1) * sizeof(double))
        for v in range(self.n):
            self.alone[v] = self.score_terms(v, NULL, 0)
        self.choose_unit(1e10)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(N_SCRATCH):
            release(&self.scratch[i])

    # ---- families ----

    cdef inline Py_ssize_t width(self, Py_ssize_t v) noexcept nogil:
        return self.starts[v + 1] - self.starts[v]

    cdef inline bint can_add(self, Py_ssize_t child, Py_ssize_t u, Py_ssize_t k) noexcept nogil:
        return u != child and k < self.max_indegree and self.is_allowed(child, u)

    cdef int *list_columns(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, Py_ssize_t *n_of
    ) except NULL nogil:
        # The columns of the parents, n_of[0] of them, then the columns of the child.
        cdef Py_ssize_t i, c, v, total = self.width(child), at = 0
        cdef int *columns
        for i in range(k):
            total += self.width(parents[i])
        columns = <int *>reserve(&self.scratch[COLUMNS], (total + 1) * sizeof(int))
        for i in range(k + 1):
            n_of[0] = at
            v = parents[i] if i < k else child
            for c in range(self.starts[v], self.starts[v + 1]):
                columns[at] = <int>c
                at += 1
        return columns

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        cdef Py_ssize_t n_of = 0, m = self.width(child), size, i, j
        cdef int *columns = self.list_columns(child, parents, k, &n_of)
        cdef double *matrix
        cdef double log_determinant
        cdef Py_ssize_t culprit
        size = n_of + m
        matrix = <double *>reserve(&self.scratch[FACTOR], (size * size + 1) * sizeof(double))
        for i in range(size):
            for j in range(i, size):
                matrix[i * size + j] = self.correlation[columns[i] * self.n_columns + columns[j]]
        culprit = factorize(matrix, size, n_of, SINGULAR, &log_determinant)
        if culprit >= 0:
            self.refuse(child, parents, k, columns[culprit])
        for i in range(n_of, size):
            log_determinant += pgmx_log(self.variances[columns[i]])
        return -self.half_rows * (log_determinant + m * (LOG_2_PI + 1)) - self.cost * (m * n_of + m * (m + 3) / 2.0)

    cdef int refuse(self, Py_ssize_t child, const int *parents, Py_ssize_t k, Py_ssize_t column) except -1 with gil:
        names = range(self.n) if self.names is None else self.names
        culprit = 0
        while self.starts[culprit + 1] <= column:
            culprit += 1
        raise ValueError(
            f"{names[culprit]!r} is determined by others among {names[child]!r} and its parents "
            f"{[names[parents[i]] for i in range(k)]!r}, to thirteen digits: drop one of these columns, or start from "
            "a graph that does not join them"
        )

    # ---- the row of a child ----

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef double score = self.score_terms(child, parents, k)
        cdef Py_ssize_t n_of = 0, width = self.n_columns, m = self.width(child), u, c, i, d
        cdef double *z = NULL
        cdef double *residuals = <double *>self.scratch[RESIDUALS].data
        cdef int *rest
        cdef int *columns
        for u in range(self.n):
            gains[u] = -INFINITY
        if k < self.max_indegree:
            columns = self.list_columns(child, parents, k, &n_of)
            z = self.fill_rows(columns, n_of)
            for i in range(m):                                      # residual correlations of the child with all
                c = self.starts[child] + i
                for u in range(width):
                    residuals[i * width + u] = self.correlation[c * width + u]
                for d in range(n_of):
                    for u in range(width):
                        residuals[i * width + u] -= z[d * width + c] * z[d * width + u]
            for u in range(self.n):
                if self.can_add(child, u, k):
                    gains[u] = self.gain_of_adding(child, u, n_of, z, residuals)
        for i in range(k):
            rest = <int *>reserve(&self.scratch[OTHERS], (k + 1) * sizeof(int))
            for d in range(k - 1):
                rest[d] = parents[d if d < i else d + 1]
            gains[parents[i]] = self.round_gain(self.score_terms(child, rest, k - 1) - score)
        return score

    cdef double *fill_rows(self, const int *columns, Py_ssize_t k) except NULL nogil:
        # Z, (k, D). A parent was factorized before: no pivot is too small.
        cdef Py_ssize_t width = self.n_columns, i, j, u
        cdef double *rows = <double *>reserve(&self.scratch[ROWS], (k * width + 1) * sizeof(double))
        cdef double factor
        for i in range(k):
            for u in range(width):
                rows[i * width + u] = self.correlation[columns[i] * width + u]
            for j in range(i):
                factor = rows[j * width + columns[i]]
                for u in range(width):
                    rows[i * width + u] -= factor * rows[j * width + u]
            factor = sqrt(rows[i * width + columns[i]])
            for u in range(width):
                rows[i * width + u] /= factor
        return rows

    cdef double gain_of_adding(
        self, Py_ssize_t child, Py_ssize_t u, Py_ssize_t k, const double *z, const double *residuals
    ) noexcept nogil:
        # The residual correlations of both blocks, the block of the smaller id first.
        cdef Py_ssize_t m = self.width(child), w = self.width(u), width = self.n_columns, size = m + w, i, j, d, a, b
        cdef double *pair = <double *>self.scratch[PAIR].data
        cdef double *small = <double *>self.scratch[SMALL].data
        cdef double both, one, other, value
        cdef Py_ssize_t at = 0 if child < u else w, at_u = m if child < u else 0
        for i in range(w):
            a = self.starts[u] + i
            for j in range(i, w):
                b = self.starts[u] + j
                value = self.correlation[a * width + b]
                for d in range(k):
                    value -= z[d * width + a] * z[d * width + b]
                pair[(at_u + i) * size + at_u + j] = value
        for i in range(m):
            for j in range(i, m):
                pair[(at + i) * size + at + j] = residuals[i * width + self.starts[child] + j]
            for j in range(w):
                value = residuals[i * width + self.starts[u] + j]
                if child < u:
                    pair[i * size + m + j] = value
                else:
                    pair[j * size + w + i] = value
        one = log_determinant_of(pair, size, 0, m if child < u else w, small)
        other = log_determinant_of(pair, size, m if child < u else w, size, small)
        both = log_determinant_of(pair, size, 0, size, small)
        if not one > -INFINITY or not other > -INFINITY or not both > -INFINITY \
                or not is_regular_turned(pair, size, m if child < u else w, small):
            return -INFINITY
        return self.round_gain(-self.half_rows * (both - (one + other)) - self.cost * m * w)

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        cdef Py_ssize_t width = self.n_columns, i, u
        cdef double *residuals = <double *>self.scratch[RESIDUALS].data
        cdef double gain
        for i in range(self.width(a)):
            for u in range(self.starts[b], self.starts[b + 1]):
                residuals[i * width + u] = self.correlation[(self.starts[a] + i) * width + u]
            for u in range(self.starts[a], self.starts[a + 1]):
                residuals[i * width + u] = self.correlation[(self.starts[a] + i) * width + u]
        gain = self.gain_of_adding(a, b, 0, NULL, residuals)
        of_a[0] = gain if self.can_add(a, b, 0) else -INFINITY
        of_b[0] = gain if self.can_add(b, a, 0) else -INFINITY
        return 0


cdef Py_ssize_t factorize(
    double *matrix, Py_ssize_t size, Py_ssize_t first, double least, double *log_determinant
) noexcept nogil:
    # Cholesky of the upper triangle in place, and the sum of the logarithms of the pivots from `first` on; the first
    # column whose pivot is too small, or -1.
    cdef Py_ssize_t i, j, t
    cdef double total, pivot
    log_determinant[0] = 0.0
    for i in range(size):
        for j in range(i, size):
            total = matrix[i * size + j]
            for t in range(i):
                total -= matrix[t * size + i] * matrix[t * size + j]
            matrix[i * size + j] = total
        pivot = matrix[i * size + i]
        if not pivot >= least:
            return i
        if i >= first:
            log_determinant[0] += pgmx_log(pivot)
        pivot = sqrt(pivot)
        for j in range(i, size):
            matrix[i * size + j] /= pivot
    return -1


cdef double log_determinant_of(
    const double *matrix, Py_ssize_t size, Py_ssize_t begin, Py_ssize_t end, double *scratch
) noexcept nogil:
    # Of a diagonal block; -inf if it is singular.
    cdef Py_ssize_t i, j, m = end - begin
    cdef double total
    for i in range(m):
        for j in range(i, m):
            scratch[i * m + j] = matrix[(begin + i) * size + begin + j]
    return total if factorize(scratch, m, 0, SMALLEST, &total) < 0 else -INFINITY


cdef bint is_regular_turned(const double *matrix, Py_ssize_t size, Py_ssize_t split, double *scratch) noexcept nogil:
    # Whether the first block leaves enough if the second block precedes it.
    cdef Py_ssize_t i, j, a, b
    cdef double total
    for i in range(size):
        a = i + split if i < size - split else i - (size - split)
        for j in range(i, size):
            b = j + split if j < size - split else j - (size - split)
            scratch[i * size + j] = matrix[min(a, b) * size + max(a, b)]
    return factorize(scratch, size, 0, SMALLEST, &total) < 0

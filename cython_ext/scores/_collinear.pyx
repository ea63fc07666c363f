"""Family scores of Gaussian networks over columns that determine each other, as if they had independent noise.

Problem: let R be a correlation matrix in which some columns are combinations of others. The scores of `_gaussian` and
`_blocks` are unbounded there: the residual variance of a determined column is 0. They are finite for R + D with
D = noise I, the correlations of the columns with independent noise added. D is too small for R + D to be formed: with
noise of 1e-6 of a standard deviation it is 1e-12, and the rounding of R is 1e-16.
Algorithm: the Cholesky factor of R + D, with the terms of D kept separate from R, see `_dual`. A determinant does not
depend on the order of the columns: Markov equivalent graphs have the same score.
Variables are blocks of columns, as in `_blocks`, and marginal likelihoods, for blocks of one column, have the constants
and weights of `_gaussian`. Two variables of which one determines the other are copies: no family holds both.

Cost of a row: D k (k + m + u) / 2 steps for D columns, k columns of parents, and blocks of m and u columns of the child
and a candidate; a step is ten multiplications. Deletions: k Cholesky factors.
Thread-safety: one scorer serves one thread at a time; the row methods release the GIL.
References: Golub & Van Loan (2013), Matrix Computations, section 4.2.5.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

from _buffers cimport Buffer, release, reserve
from _dual cimport Dual, Pivot, begin_pivot, eliminate, is_determined

from pgmx._ext._scorer cimport Scorer


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)


cdef double LOG_2_PI = 1.8378770664093453

cdef enum:
    COLUMNS, FACTOR, ROWS, PIVOTS, PAIR, SMALL, OTHERS, N_SCRATCH


@cython.final
cdef class CollinearScorer(Scorer):
    """Scores of the families of one singular correlation matrix; each variable is a block of its columns.

    Parameters
    ----------
    correlation : float64 (D, D), C-contiguous
        Symmetric, positive semidefinite to rounding, ones on the diagonal.
    variances : float64 (D,)
        Denominator N; positive.
    starts : int64 (n + 1,)
        Variable v has the columns from ``starts[v]`` to ``starts[v + 1]``, or no columns.
    n_rows : float
        N, or the sum of the weights.
    cost : float
        Cost of a free parameter.
    noise : float
        Variance of the noise of a column, in its variance.
    copies : uint8 (n, n)
        Symmetric, 1 for two variables that no family may hold together.
    allowed : uint8 (n, n) or None
        ``allowed[child, parent]``: 0 forbids the arc; its gain is -inf.
    max_indegree : int
        A child with `max_indegree` parents has no gains of additions.
    names : sequence, optional
        Names of the variables, for messages.
    constants, weights : float64 (n,), optional
        Of a marginal likelihood, as in `GaussianScorer`, if each variable is one column.
    """

    cdef const double *correlation
    cdef const int64_t *starts
    cdef const uint8_t *copies
    cdef const double *constants            # NULL for a maximised likelihood
    cdef const double *weights
    cdef const double[::1] variances
    cdef Py_ssize_t n_columns, widest
    cdef double half_rows, cost, noise
    cdef Buffer[N_SCRATCH] scratch

    def __cinit__(
        self,
        const double[:, ::1] correlation,
        const double[::1] variances,
        const int64_t[::1] starts,
        double n_rows,
        double cost,
        double noise,
        const uint8_t[:, ::1] copies,
        *,
        const uint8_t[:, ::1] allowed=None,
        Py_ssize_t max_indegree=1 << 30,
        names=None,
        const double[::1] constants=None,
        const double[::1] weights=None,
    ):
        cdef Py_ssize_t v
        self.set_up(starts.shape[0] - 1, allowed, max_indegree, names)
        self.n_columns = correlation.shape[0]
        self.correlation, self.starts, self.copies = &correlation[0, 0], &starts[0], &copies[0, 0]
        self.variances = variances
        self.owners = correlation, starts, copies, constants, weights
        self.half_rows, self.cost, self.noise = n_rows / 2, cost, noise
        if constants is not None:
            self.constants, self.weights = &constants[0], &weights[0]
        for v in range(self.n):
            self.widest = max(self.widest, self.width(v))
        reserve(&self.scratch[PAIR], 4 * (self.widest + 1) * (self.widest + 1) * sizeof(Dual))
        reserve(&self.scratch[SMALL], 4 * (self.widest + 1) * (self.widest + 1) * sizeof(Dual))
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

    cdef inline void read_entry(self, Py_ssize_t a, Py_ssize_t b, Dual *entry) noexcept nogil:
        entry.value, entry.slope = self.correlation[a * self.n_columns + b], self.noise if a == b else 0.0

    cdef bint can_add(self, Py_ssize_t child, Py_ssize_t u, const int *parents, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t i
        if u == child or k >= self.max_indegree or not self.is_allowed(child, u) or self.copies[child * self.n + u]:
            return False
        for i in range(k):
            if self.copies[parents[i] * self.n + u]:
                return False
        return True

    cdef int check_copies(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except -1 nogil:
        cdef Py_ssize_t i, j
        for i in range(k):
            for j in range(i):
                if self.copies[parents[i] * self.n + parents[j]]:
                    self.refuse(child, parents, k, parents[i], parents[j])
            if self.copies[child * self.n + parents[i]]:
                self.refuse(child, parents, k, child, parents[i])
        return 0

    cdef int refuse(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, Py_ssize_t culprit, Py_ssize_t other
    ) except -1 with gil:
        names = range(self.n) if self.names is None else self.names
        raise ValueError(
            f"{names[culprit]!r} is determined by {names[other]!r} among {names[child]!r} and its parents "
            f"{[names[parents[i]] for i in range(k)]!r}, to ten digits: drop one of these columns, or start from a "
            "graph that does not join them"
        )

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
        cdef int *columns
        cdef Dual *matrix
        cdef double of_child, of_parents = 0.0
        self.check_copies(child, parents, k)
        columns = self.list_columns(child, parents, k, &n_of)
        size = n_of + m
        matrix = <Dual *>reserve(&self.scratch[FACTOR], (size * size + 1) * sizeof(Dual))
        for i in range(size):
            for j in range(i, size):
                self.read_entry(columns[i], columns[j], &matrix[i * size + j])
        of_child = factorize(matrix, size, n_of, self.noise, &of_parents)
        for i in range(n_of, size):
            of_child += pgmx_log(self.variances[columns[i]])
        if self.constants == NULL:
            return -self.half_rows * (of_child + m * (LOG_2_PI + 1)) - self.cost * (m * n_of + m * (m + 3) / 2.0)
        for i in range(n_of):
            of_parents += pgmx_log(self.variances[columns[i]])
        return self.constants[k] - self.weights[k] * of_child - of_parents / 2

    # ---- the row of a child ----

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef double score = self.score_terms(child, parents, k)
        cdef Py_ssize_t n_of = 0, u, i, d
        cdef Dual *rows
        cdef int *rest
        cdef int *columns
        for u in range(self.n):
            gains[u] = -INFINITY
        if k < self.max_indegree:
            columns = self.list_columns(child, parents, k, &n_of)
            rows = self.fill_rows(columns, n_of)
            for u in range(self.n):
                if self.can_add(child, u, parents, k):
                    gains[u] = self.gain_of_adding(child, u, k, n_of, rows)
        for i in range(k):
            rest = <int *>reserve(&self.scratch[OTHERS], (k + 1) * sizeof(int))
            for d in range(k - 1):
                rest[d] = parents[d if d < i else d + 1]
            gains[parents[i]] = self.round_gain(self.score_terms(child, rest, k - 1) - score)
        return score

    cdef Dual *fill_rows(self, const int *columns, Py_ssize_t k) except NULL nogil:
        # The entries of all columns with each of k pivots, (k, D).
        cdef Py_ssize_t width = self.n_columns, i, j, u
        cdef Dual *rows = <Dual *>reserve(&self.scratch[ROWS], (k * width + 1) * sizeof(Dual))
        cdef Pivot *pivots = <Pivot *>reserve(&self.scratch[PIVOTS], (k + 1) * sizeof(Pivot))
        for i in range(k):
            for u in range(width):
                self.read_entry(columns[i], u, &rows[i * width + u])
            for j in range(i):
                for u in range(width):
                    eliminate(&pivots[j], &rows[j * width + columns[i]], &rows[j * width + u], &rows[i * width + u])
            u = i * width + columns[i]
            begin_pivot(&rows[u], is_determined(&rows[u], self.noise), self.noise, &pivots[i])
        return rows

    cdef double gain_of_adding(
        self, Py_ssize_t child, Py_ssize_t u, Py_ssize_t k, Py_ssize_t n_of, const Dual *rows
    ) noexcept nogil:
        # From the residual correlations of both blocks, the block of the smaller id first, so that both arcs tie.
        cdef Pivot *pivots = <Pivot *>self.scratch[PIVOTS].data
        cdef Dual *pair = <Dual *>self.scratch[PAIR].data
        cdef Dual *small = <Dual *>self.scratch[SMALL].data
        cdef Py_ssize_t first = min(child, u), second = max(child, u), m = self.width(first), w = self.width(second)
        cdef Py_ssize_t size = m + w, i, j, d, a, b, width = self.n_columns
        cdef double one, other, rest, none = 0.0
        for i in range(size):
            a = self.starts[first] + i if i < m else self.starts[second] + i - m
            for j in range(i, size):
                b = self.starts[first] + j if j < m else self.starts[second] + j - m
                self.read_entry(a, b, &pair[i * size + j])
                for d in range(n_of):
                    eliminate(&pivots[d], &rows[d * width + a], &rows[d * width + b], &pair[i * size + j])
        for i in range(w):
            for j in range(i, w):
                small[i * w + j] = pair[(m + i) * size + m + j]
        other = factorize(small, w, 0, self.noise, &none)
        rest = factorize(pair, size, m, self.noise, &one) - other
        if self.constants == NULL:
            return self.round_gain(-self.half_rows * rest - self.cost * m * w)
        one += pgmx_log(self.variances[self.starts[first]])
        other += pgmx_log(self.variances[self.starts[second]])
        return self.round_gain(
            self.constants[k + 1] - self.constants[k] - self.weights[k + 1] * rest - (one + other) / 2
        )

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        cdef double gain = self.gain_of_adding(a, b, 0, 0, NULL)
        of_a[0] = gain if self.can_add(a, b, NULL, 0) else -INFINITY
        of_b[0] = gain if self.can_add(b, a, NULL, 0) else -INFINITY
        return 0


cdef double factorize(Dual *matrix, Py_ssize_t size, Py_ssize_t first, double noise, double *before) noexcept nogil:
    # Eliminates the upper triangle in place; the sum of the logarithms of the pivots from `first` on, and before it.
    cdef Py_ssize_t i, j, t
    cdef Pivot pivot
    cdef double logarithm, total = 0.0
    before[0] = 0.0
    for t in range(size):
        i = t * size + t
        logarithm = pgmx_log(begin_pivot(&matrix[i], is_determined(&matrix[i], noise), noise, &pivot))
        if t < first:
            before[0] += logarithm
        else:
            total += logarithm
        for i in range(t + 1, size):
            for j in range(i, size):
                eliminate(&pivot, &matrix[t * size + i], &matrix[t * size + j], &matrix[i * size + j])
    return total

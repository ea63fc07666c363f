"""Family scores of linear Gaussian networks, and the gain of each parent that can be added to or removed from a child.

Problem: with R the correlation matrix, s the standard deviations (denominator N) and P the parents of x,

    score(x | P) = -N/2 (ln(2 pi s_x^2 v_x) + 1) - cost (|P| + 2),     v_x = 1 - R_xP inv(R_PP) R_Px;

no regression is fitted and no row is read. Algorithm: R_PP = L L', parents ascending, and Z = inv(L) R_P. for all
variables at once: a row of Z for each parent. Given P, the residual variance of u is v_u = 1 - sum_i Z_iu^2 and its
residual covariance with x is c_u = R_xu - sum_i Z_ix Z_iu. Adding u changes v_x to v_x - c_u^2 / v_u. With
M = inv(R_PP) and b = M R_Px, deleting p changes v_x to v_x + b_p^2 / M_pp. The rows of Z are kept for each child: an
appended parent costs one row, any other change the rows from the first parent that differs. Parents are always in
ascending order, so that a row of gains depends only on its family and not on earlier moves, and u -> x and x -> u with
the same parents tie exactly. A variable whose residual variance given the parents is less than SMALLEST of its variance
cannot be added.

With constants a_k and weights b_k for k parents it is the score of a marginal likelihood instead. Then R and s come
from the posterior matrix T:

    score(x | P) = a_k - b_k ln(s_x^2 v_x) - ln det(T_PP) / 2,     b_k = b_0 + k / 2.

If families of some children leave out rows, R of these children differs. Its rows are computed when they are needed,
from R of all rows and the products of the rows that are left out. They are kept as long as the memory suffices.

Cost of a row: n (k - d) (k + d) / 2 multiplications if the first d of k parents are the same as for the previous row,
n logarithms, and k^3 / 6 multiplications.
Thread-safety: one scorer serves one thread at a time; the row methods release the GIL.
References: Golub & Van Loan (2013), Matrix Computations, section 4.2.5; Lauritzen (1996), section 5.1.3 (residual
variances from the inverse).
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from _buffers cimport Buffer, release, reserve
from _simd cimport select_simd_level

from pgmx._ext._scorer cimport Scorer


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)

cdef extern from "_gaussian_rows.h" nogil:
    ctypedef struct pgmx_gaussian_family:
        double residual, smallest, unit, factor, constant, log_child
    void pgmx_subtract_row(double factor, const double *row, Py_ssize_t n, double *target)
    void pgmx_take_parent(double factor, const double *row, Py_ssize_t n, double *covariances, double *residual)
    void pgmx_likelihood_gains(
        const pgmx_gaussian_family *family, const double *covariances, const double *residual, Py_ssize_t n,
        double *gains
    )
    void pgmx_evidence_gains(
        const pgmx_gaussian_family *family, const double *covariances, const double *residual,
        const double *log_variances, Py_ssize_t n, double *gains
    )
    void pgmx_gaussian_rows_select(int level)


pgmx_gaussian_rows_select(select_simd_level())

cdef double SMALLEST = 1e-10            # least share of a variance that parents may leave
cdef double LOG_2_PI = 1.8378770664093453

cdef enum:
    COVARIANCES, RESIDUAL, INVERSE, SMALL, SPARE, N_SCRATCH


cdef struct Memo:                         # the rows of Z of a child
    int n_parents
    int *parents
    double *rows
    size_t n_bytes                      # of the two blocks


@cython.final
cdef class GaussianScorer(Scorer):
    """Scores of the families of one correlation matrix.

    Parameters
    ----------
    correlation : float64 (n, n), C-contiguous
        Symmetric, ones on the diagonal.
    variances : float64 (n,)
        Denominator N; positive.
    n_rows : float
        N, or the sum of the weights.
    cost : float
        Cost of a free parameter; a family with k parents has k + 2 parameters.
    allowed : uint8 (n, n) or None
        ``allowed[child, parent]``: 0 forbids the arc; its gain is -inf.
    max_indegree : int
        A child with `max_indegree` parents has no gains of additions.
    memory : int
        Bytes of rows of Z that may be kept.
    names : sequence, optional
        Names of the variables, for messages.
    constants, weights : float64 (n,), optional
        a and b of a marginal likelihood, for 0 to n - 1 parents; then `n_rows` and `cost` are not used.
    left_out : tuple, optional
        The rows that families leave out, only for a maximised likelihood. ``(group_of, rows, products, members, ends,
        n_kept, means, scales)``: the group of a child, int64 (n,), -1 for none; rows in the standard units of all rows,
        times the roots of their weights, float64 (M, n), or None, and then their products summed over each of K sets,
        float64 (K, n, n); the rows or sets of group g, ``members[ends[g]:ends[g + 1]]``, int64; the weight of its other
        rows, float64 (G,); means and standard deviations of columns in these, float64 (G, n).
    """

    cdef const double *correlation
    cdef double half_rows, cost
    cdef const double *constants            # NULL for a maximised likelihood
    cdef const double *weights
    cdef double *log_variances
    cdef object arrays
    cdef Memo *memos
    cdef size_t memory, memory_used
    cdef Buffer[N_SCRATCH] scratch
    cdef const int64_t *group_of            # NULL if all families count all rows
    cdef const double *left_rows            # NULL if products are given
    cdef const double *left_products
    cdef const int64_t *members
    cdef const int64_t *ends
    cdef const double *n_kept
    cdef const double *means
    cdef const double *scales
    cdef Py_ssize_t n_groups
    cdef double **own_rows                  # (G, n): rows of the correlation matrix of each set, NULL until needed
    cdef size_t own_memory

    def __cinit__(
        self,
        const double[:, ::1] correlation,
        const double[::1] variances,
        double n_rows,
        double cost,
        *,
        const uint8_t[:, ::1] allowed=None,
        Py_ssize_t max_indegree=1 << 30,
        size_t memory=1 << 26,
        names=None,
        const double[::1] constants=None,
        const double[::1] weights=None,
        left_out=None,
    ):
        cdef Py_ssize_t v
        self.set_up(correlation.shape[0], allowed, max_indegree, names)
        self.correlation = &correlation[0, 0]
        self.owners = correlation
        self.half_rows = n_rows / 2
        self.cost = cost
        self.memory = memory
        self.memos = <Memo *>calloc(self.n, sizeof(Memo))
        if not self.memos:
            raise MemoryError("cannot allocate the Gaussian scorer")
        self.log_variances = <double *>calloc(self.n + 1, sizeof(double))
        if not self.log_variances:
            raise MemoryError("cannot allocate the Gaussian scorer")
        if constants is not None and self.n > 0:
            self.constants, self.weights = &constants[0], &weights[0]
            self.arrays = constants, weights
        for v in range(self.n):
            self.log_variances[v] = pgmx_log(variances[v])
            if self.constants == NULL:
                self.alone[v] = -self.half_rows * (LOG_2_PI + self.log_variances[v] + 1) - 2 * cost
            else:
                self.alone[v] = self.constants[0] - self.weights[0] * self.log_variances[v]
        if left_out is not None:
            group_of, rows, products, members, ends, n_kept, means, scales = left_out
            values = (products if rows is None else rows).reshape(-1, self.n)
            self.leave_out(group_of, values, members, ends, n_kept, means, scales)
            if rows is None:
                self.left_products, self.left_rows = self.left_rows, NULL
        self.choose_unit(1e10)
        reserve(&self.scratch[COVARIANCES], self.n * sizeof(double))
        reserve(&self.scratch[RESIDUAL], self.n * sizeof(double))

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.memos != NULL:
            for i in range(self.n):
                free(self.memos[i].parents)
                free(self.memos[i].rows)
        free(self.memos)
        free(self.log_variances)
        for i in range(self.n_groups * self.n if self.own_rows != NULL else 0):
            free(self.own_rows[i])
        free(self.own_rows)
        for i in range(N_SCRATCH):
            release(&self.scratch[i])

    @property
    def moments(self):
        """The correlation matrix and N; None for a marginal likelihood, or if families leave out rows."""
        if self.constants != NULL or self.group_of != NULL:
            return None
        return np.asarray(self.owners), 2 * self.half_rows

    # ---- rows that are left out ----

    cdef int leave_out(
        self, const int64_t[::1] group_of, const double[:, ::1] rows, const int64_t[::1] members,
        const int64_t[::1] ends, const double[::1] n_kept, const double[:, ::1] means, const double[:, ::1] scales
    ) except -1:
        cdef Py_ssize_t v
        self.arrays = group_of, rows, members, ends, n_kept, means, scales
        self.n_groups = n_kept.shape[0]
        if self.n_groups == 0:
            return 0
        self.own_rows = <double **>calloc(self.n_groups * self.n, sizeof(double *))
        if self.own_rows == NULL:
            raise MemoryError("cannot allocate the Gaussian scorer")
        self.group_of, self.ends = &group_of[0], &ends[0]
        self.left_rows, self.members = &rows[0, 0], &members[0]
        self.n_kept, self.means, self.scales = &n_kept[0], &means[0, 0], &scales[0, 0]
        for v in range(self.n):
            if group_of[v] >= 0:
                self.alone[v] = -self.half_rows_of(v) * (
                    LOG_2_PI + self.log_variances[v] + 2 * pgmx_log(scales[group_of[v], v]) + 1
                ) - 2 * self.cost
        return 0

    cdef bint has_own_rows(self, Py_ssize_t child) noexcept nogil:
        return self.group_of != NULL and self.group_of[child] >= 0

    cdef inline double half_rows_of(self, Py_ssize_t child) noexcept nogil:
        return self.n_kept[self.group_of[child]] / 2 if self.has_own_rows(child) else self.half_rows

    cdef const double *row_of(self, Py_ssize_t child, Py_ssize_t v) except NULL nogil:
        # The correlations of variable v with all in the rows that families of the child count.
        cdef Py_ssize_t group, i
        cdef double **place
        cdef double *row
        if not self.has_own_rows(child):
            return self.correlation + v * self.n
        group = self.group_of[child]
        place = &self.own_rows[group * self.n + v]
        if place[0] != NULL:
            return place[0]
        if self.own_memory + self.n * sizeof(double) > self.memory:
            for i in range(self.n_groups * self.n):
                free(self.own_rows[i])
                self.own_rows[i] = NULL
            self.own_memory = 0
        row = <double *>malloc(self.n * sizeof(double))
        if row == NULL:
            with gil:
                raise MemoryError("cannot allocate a row of correlations")
        self.own_memory += self.n * sizeof(double)
        self.fill_own_row(group, v, row)
        place[0] = row
        return row

    cdef void fill_own_row(self, Py_ssize_t group, Py_ssize_t v, double *row) noexcept nogil:
        cdef Py_ssize_t n = self.n, i, u
        cdef const double *left
        cdef double factor
        cdef const double *means = self.means + group * n
        cdef const double *scales = self.scales + group * n
        cdef double total = 2 * self.half_rows, n_kept = self.n_kept[group]
        for u in range(n):
            row[u] = total * self.correlation[v * n + u]
        for i in range(self.ends[group], self.ends[group + 1]):
            if self.left_rows != NULL:
                left = self.left_rows + self.members[i] * n
                factor = left[v]
            else:
                left = self.left_products + (self.members[i] * n + v) * n
                factor = 1.0
            pgmx_subtract_row(factor, left, n, row)
        for u in range(n):
            row[u] = (row[u] / n_kept - means[v] * means[u]) / (scales[v] * scales[u])
        row[v] = 1.0

    # ---- formulas ----

    cdef double combine_score(
        self, Py_ssize_t child, Py_ssize_t k, double residual, double log_determinant
    ) noexcept nogil:
        # log_determinant: of the matrix T of the parents; used for a marginal likelihood only.
        if self.constants != NULL:
            return self.constants[k] - self.weights[k] * (self.log_variances[child] + pgmx_log(residual)) \
                - log_determinant / 2
        return self.alone[child] - (self.half_rows_of(child) * pgmx_log(residual) + self.cost * k if k > 0 else 0.0)

    cdef double gain_of_adding(
        self, Py_ssize_t child, Py_ssize_t u, Py_ssize_t k, double covariance, double residual,
        double residual_of_parent
    ) noexcept nogil:
        # Symmetric in child and parent.
        cdef double share = covariance * covariance / (residual * residual_of_parent)
        if residual_of_parent < SMALLEST or residual < SMALLEST or not (1.0 - share) * residual >= SMALLEST \
                or not (1.0 - share) * residual_of_parent >= SMALLEST:
            return -INFINITY
        if self.constants != NULL:
            return self.round_gain(self.evidence_gain(child, u, k, residual, residual_of_parent, 1.0 - share))
        return self.round_gain(-self.half_rows_of(child) * pgmx_log(1.0 - share) - self.cost)

    cdef double evidence_gain(
        self, Py_ssize_t child, Py_ssize_t u, Py_ssize_t k, double residual, double residual_of_parent, double rest
    ) noexcept nogil:
        # The gain of adding u to k parents, if the residual variance of the child is multiplied by `rest`.
        cdef double logs = (self.log_variances[child] + pgmx_log(residual)) \
            + (self.log_variances[u] + pgmx_log(residual_of_parent))
        return self.constants[k + 1] - self.constants[k] - self.weights[k + 1] * pgmx_log(rest) - logs / 2

    cdef bint can_add(self, Py_ssize_t child, Py_ssize_t u, Py_ssize_t k) noexcept nogil:
        return u != child and k < self.max_indegree and self.is_allowed(child, u)

    cdef int refuse(self, Py_ssize_t child, const int *parents, Py_ssize_t k, Py_ssize_t culprit) except -1 with gil:
        names = range(self.n) if self.names is None else self.names
        family = [names[parents[i]] for i in range(k)]
        raise ValueError(
            f"{names[culprit]!r} is a combination of others among {names[child]!r} and its parents {family!r}, to ten "
            "digits: drop one of these columns, or start from a graph that does not join them"
        )

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        cdef double log_determinant = 0.0
        cdef double residual = self.residual_variance(child, parents, k, &log_determinant)
        return self.combine_score(child, k, residual, log_determinant)

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        cdef double gain = self.gain_of_adding(a, b, 0, self.correlation[a * self.n + b], 1.0, 1.0)
        of_a[0] = gain if self.can_add(a, b, 0) else -INFINITY
        of_b[0] = gain if self.can_add(b, a, 0) else -INFINITY
        return 0

    # ---- factors ----

    cdef double residual_variance(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *log_determinant
    ) except? -1 nogil:
        # v of the child from the columns of its family only, by the same operations as for a row.
        cdef double *z = <double *>reserve(&self.scratch[SMALL], (k + 1) * (k + 1) * sizeof(double))
        cdef Py_ssize_t i, j, u, column
        cdef double pivot, residual = 1.0
        for i in range(k):
            for u in range(i, k + 1):
                column = parents[u] if u < k else child
                z[i * (k + 1) + u] = self.row_of(child, parents[i])[column]
                for j in range(i):
                    z[i * (k + 1) + u] -= z[j * (k + 1) + i] * z[j * (k + 1) + u]
            pivot = z[i * (k + 1) + i]
            if not pivot >= SMALLEST:
                self.refuse(child, parents, k, parents[i])
            pivot = sqrt(pivot)
            for u in range(i, k + 1):
                z[i * (k + 1) + u] /= pivot
            log_determinant[0] += self.log_pivot(parents[i], z[i * (k + 1) + i])
            residual -= z[i * (k + 1) + k] * z[i * (k + 1) + k]
        if not residual >= SMALLEST:
            self.refuse(child, parents, k, child)
        return residual

    cdef double log_pivot(self, Py_ssize_t parent, double root) noexcept nogil:
        return self.log_variances[parent] + pgmx_log(root * root) if self.constants != NULL else 0.0

    cdef double *find_rows(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except NULL nogil:
        # The rows of Z for all variables; the rows of parents in common with the last call are reused.
        cdef Memo *memo = &self.memos[child]
        cdef Py_ssize_t n = self.n, i = 0, j, u
        cdef double *rows
        cdef double *row
        cdef double factor
        while i < k and i < memo.n_parents and memo.parents[i] == parents[i]:
            i += 1
        memo.n_parents = 0
        rows = self.grow_rows(memo, k)
        if rows == NULL:
            rows = <double *>reserve(&self.scratch[SPARE], k * n * sizeof(double))
            i = 0
        while i < k:
            row = rows + i * n
            memcpy(row, self.row_of(child, parents[i]), n * sizeof(double))
            for j in range(i):
                pgmx_subtract_row(rows[j * n + parents[i]], rows + j * n, n, row)
            if not row[parents[i]] >= SMALLEST:
                self.refuse(child, parents, k, parents[i])
            factor = sqrt(row[parents[i]])
            for u in range(n):
                row[u] /= factor
            i += 1
        if rows == memo.rows:
            memcpy(memo.parents, parents, k * sizeof(int))
            memo.n_parents = <int>k
        return rows

    cdef double *grow_rows(self, Memo *memo, Py_ssize_t k) noexcept nogil:
        # The kept rows with space for k parents; NULL if that would exceed the memory.
        cdef size_t n_bytes = k * (self.n * sizeof(double) + sizeof(int))
        cdef void *rows
        cdef void *parents
        if n_bytes <= memo.n_bytes:
            return memo.rows
        if self.memory_used - memo.n_bytes + n_bytes > self.memory:
            return NULL
        rows = realloc(memo.rows, k * self.n * sizeof(double))
        if rows == NULL:
            return NULL
        memo.rows = <double *>rows
        parents = realloc(memo.parents, k * sizeof(int))
        if parents == NULL:
            return NULL
        memo.parents = <int *>parents
        self.memory_used += n_bytes - memo.n_bytes
        memo.n_bytes = n_bytes
        return memo.rows

    # ---- the row of a child ----

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef Py_ssize_t n = self.n, i, u
        cdef double *covariances = <double *>self.scratch[COVARIANCES].data     # c: covariances with the child
        cdef double *residual = <double *>self.scratch[RESIDUAL].data           # v
        cdef double *rows = NULL
        cdef double log_determinant = 0.0
        memcpy(covariances, self.row_of(child, child), n * sizeof(double))
        for u in range(n):
            residual[u] = 1.0
        if k > 0:
            rows = self.find_rows(child, parents, k)
        for i in range(k):
            pgmx_take_parent(rows[i * n + child], rows + i * n, n, covariances, residual)
            log_determinant += self.log_pivot(parents[i], rows[i * n + parents[i]])
        if not residual[child] >= SMALLEST:
            self.refuse(child, parents, k, child)
        self.fill_additions(child, k, covariances, residual, gains)
        self.fill_deletions(rows, child, parents, k, residual[child], gains)
        return self.combine_score(child, k, residual[child], log_determinant)

    cdef void fill_additions(
        self, Py_ssize_t child, Py_ssize_t k, const double *covariances, const double *residual, double *gains
    ) noexcept nogil:
        # By the operations of `gain_of_adding`; `fill_deletions` overwrites the gains of parents.
        cdef pgmx_gaussian_family family
        cdef Py_ssize_t u
        if k >= self.max_indegree or k + 1 >= self.n:
            for u in range(self.n):
                gains[u] = -INFINITY
            return
        family.residual, family.smallest, family.unit = residual[child], SMALLEST, self.unit
        if self.constants != NULL:
            family.factor, family.constant = -self.weights[k + 1], self.constants[k + 1] - self.constants[k]
            family.log_child = self.log_variances[child] + pgmx_log(residual[child])
            pgmx_evidence_gains(&family, covariances, residual, self.log_variances, self.n, gains)
        else:
            family.factor, family.constant, family.log_child = -self.half_rows_of(child), -self.cost, 0.0
            pgmx_likelihood_gains(&family, covariances, residual, self.n, gains)
        gains[child] = -INFINITY
        if self.allowed != NULL:
            for u in range(self.n):
                if not self.is_allowed(child, u):
                    gains[u] = -INFINITY

    cdef int fill_deletions(
        self, const double *rows, Py_ssize_t child, const int *parents, Py_ssize_t k, double residual, double *gains
    ) except -1 nogil:
        # L_ij = Z_j of parent i; column d of inv(L) by forward substitution gives b_d and M_dd.
        cdef double *column = <double *>reserve(&self.scratch[INVERSE], (k + 1) * sizeof(double))
        cdef Py_ssize_t n = self.n, d, i, j
        cdef double total, slope, precision
        for d in range(k):
            slope = precision = 0.0
            for i in range(d, k):
                total = 1.0 if i == d else 0.0
                for j in range(d, i):
                    total -= rows[j * n + parents[i]] * column[j]
                column[i] = total / rows[i * n + parents[i]]
                slope += column[i] * rows[i * n + child]
                precision += column[i] * column[i]
            total = slope * slope / (precision * residual)
            if self.constants != NULL:
                gains[parents[d]] = -self.round_gain(self.evidence_gain(
                    child, parents[d], k - 1, residual * (1.0 + total), 1.0 / precision, 1.0 / (1.0 + total)
                ))
            else:
                gains[parents[d]] = self.round_gain(-self.half_rows_of(child) * pgmx_log(1.0 + total) + self.cost)
        return 0

"""Missing values of rows under a sparse precision matrix: conditional means and variances, determinants.

Problem: the deviations d of a row from the mean have the precision K, with unit diagonal. For missing values h and
observed values o: the means x = -K_hh^-1 K_ho d_o, the variances diag(K_hh^-1), and ln |K_hh|.
Algorithm: missing values that no path of missing values joins are independent given the row, so that each connected
component of K_hh is factorised separately: K_cc = U'U, once for all rows with the same missing values; large components
have sparse factors in an order of minimum degree. If a pivot is below 1e-6, K_cc has lost digits. If K = A'A is known
(the rows of A are regressions divided by their standard deviations), U is then taken from a QR factorisation of A by
Householder reflections, and the means are those of the corrected seminormal equations.
Ties: the factor is a function of the component, and sums run in the order of the variables: the result of a row does
not depend on other rows.
Cost of a component of c variables: O(c^3), and O(c^2) per row, less with a sparse factor. Memory: one factor, and the
values of 8 rows.
Thread-safety: an object serves one thread; inputs are only read; the GIL is released.
References: Rue & Held (2005), Gaussian Markov Random Fields, theorem 2.5; Golub & Van Loan (2013), Matrix Computations,
algorithms 4.2.1 and 5.2.1; Björck (1996), Numerical Methods for Least Squares Problems, section 6.6.5.
"""

from libc.math cimport log, sqrt
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _sparse_factor cimport (
    SparseFactor, compare_integers, factorise_columns, invert_diagonal, order_variables, release_factor, solve_columns,
)

cdef enum:
    LANES = 8                   # rows that are solved together
    SMALL = 96                  # variables of a component whose factor is dense, whatever its graph
    MOST_REFLECTED = 4096       # variables of a component that is factorised by reflections

cdef double LEAST_PIVOT = 8.0 * 2.0 ** -52  # below it a matrix of unit diagonal is singular to working precision
cdef double EXACT_PIVOT = 1e-6


cdef class RowSolver:
    """Solves for missing values under one precision, given as a matrix in compressed rows.

    `root` is None, or the arrays of A in compressed rows and in compressed columns.
    """

    cdef const int64_t[::1] starts, columns, row_starts, row_columns, column_starts, column_rows
    cdef const double[::1] entries, row_entries
    cdef bint has_root
    cdef uint8_t[::1] hidden                  # missing values of the present rows
    cdef int64_t[::1] seen, place             # component that has last visited a variable; position in it
    cdef int64_t[::1] members                 # of the present component, ascending or in the order of its factor
    cdef int64_t[::1] seen_rows, equations    # the same of the rows of A
    cdef int64_t stamp
    cdef Py_ssize_t size, n_equations
    cdef bint by_reflections, is_sparse
    cdef SparseFactor factor                  # L = U' by columns, of large components
    cdef Buffer graph_buffer, inverse_buffer
    cdef Buffer factor_buffer, right_buffer, reflection_buffer, residual_buffer
    cdef double *upper                        # U, row by row
    cdef double *inverse                      # 1 / U_kk
    cdef double log_det

    def __init__(self, starts, columns, entries, root=None):
        self.starts, self.columns, self.entries = starts, columns, entries
        self.has_root = root is not None
        n = len(starts) - 1
        n_rows = 0
        if root is not None:
            self.row_starts, self.row_columns, self.row_entries, self.column_starts, self.column_rows = root
            n_rows = self.row_starts.shape[0] - 1
        self.hidden = np.zeros(n, dtype=np.uint8)
        self.seen, self.place, self.members = (np.zeros(n, dtype=np.int64) for _ in range(3))
        self.seen_rows, self.equations = (np.zeros(n_rows, dtype=np.int64) for _ in range(2))

    def __dealloc__(self):
        release(&self.factor_buffer)
        release(&self.right_buffer)
        release(&self.reflection_buffer)
        release(&self.residual_buffer)
        release(&self.graph_buffer)
        release(&self.inverse_buffer)
        release_factor(&self.factor)

    def fill(
        self,
        double[:, ::1] values,              # in, out: (n, p) deviations; missing ones are set
        const uint8_t[:, ::1] missing,      # in: (n, p)
        const int64_t[::1] order,           # in: (n,) rows, in which rows with the same missing values are adjacent
        const int64_t[::1] begins,          # in: (groups + 1,) where they begin
        double[::1] log_dets,               # out: (n,) ln |K_hh|
        double[:, ::1] variances,           # out: (n, p) variances of missing values; None if not needed
    ):
        """Fill missing values; return whether all K_hh are positive definite to working precision."""
        cdef Py_ssize_t g
        cdef bint is_definite = True
        with nogil:
            for g in range(begins.shape[0] - 1):
                is_definite = self.fill_group(
                    values, missing, &order[begins[g]], begins[g + 1] - begins[g], log_dets, variances
                )
                if not is_definite:
                    break
        return is_definite

    cdef int fill_group(
        self, double[:, ::1] values, const uint8_t[:, ::1] missing, const int64_t *rows, Py_ssize_t n,
        double[::1] log_dets, double[:, ::1] variances
    ) except -1 nogil:
        cdef Py_ssize_t v, k, r, p = values.shape[1]
        cdef double sums = 0.0
        for v in range(p):
            self.hidden[v] = missing[rows[0], v]
        for v in range(p):
            if self.hidden[v] != 1:
                continue
            self.find_component(v)
            if not self.factorise():
                return 0
            sums += self.log_det
            self.solve_rows(values, rows, n)
            if variances is not None:
                self.store_variances(variances, rows, n)
            for k in range(self.size):
                self.hidden[self.members[k]] = 2  # filled
        for r in range(n):
            log_dets[rows[r]] = sums
        return 1

    # ---- components ----

    cdef void find_component(self, Py_ssize_t first) noexcept nogil:
        """List the missing variables that paths of missing variables join to one of them."""
        cdef Py_ssize_t e, k, at = 0, count = 1
        cdef int64_t v, u
        self.stamp += 1
        self.members[0], self.seen[first] = first, self.stamp
        while at < count:
            v = self.members[at]
            at += 1
            for e in range(self.starts[v], self.starts[v + 1]):
                u = self.columns[e]
                if self.hidden[u] and self.seen[u] != self.stamp:
                    self.seen[u] = self.stamp
                    self.members[count] = u
                    count += 1
        if count > 1:
            qsort(&self.members[0], count, sizeof(int64_t), compare_integers)
        for k in range(count):
            self.place[self.members[k]] = k
        self.size = count

    # ---- factors ----

    cdef int factorise(self) except -1 nogil:
        """Factorise the matrix of the component, whose order may change; return 0 if it is singular."""
        cdef double least
        self.by_reflections = False
        self.inverse = <double *>reserve(&self.inverse_buffer, self.size * sizeof(double))
        self.is_sparse = self.size > SMALL and self.order_members()
        least = self.factorise_sparsely() if self.is_sparse else self.factorise_densely()
        if least >= EXACT_PIVOT:
            return 1
        if self.has_root and self.size <= MOST_REFLECTED:
            return self.factorise_root()
        return least >= LEAST_PIVOT

    cdef int order_members(self) except -1 nogil:
        """Put the variables into an order of minimum degree; return whether the factor is sparse."""
        cdef Py_ssize_t c = self.size, i, e, n = 0, n_entries = 0
        cdef int64_t u
        cdef int64_t *begins
        cdef int64_t *adjacent
        for i in range(c):
            n_entries += self.starts[self.members[i] + 1] - self.starts[self.members[i]]
        begins = <int64_t *>reserve(&self.graph_buffer, (2 * c + 1 + n_entries) * sizeof(int64_t))
        adjacent = begins + c + 1
        for i in range(c):
            begins[i] = n
            for e in range(self.starts[self.members[i]], self.starts[self.members[i] + 1]):
                u = self.columns[e]
                if self.hidden[u] and u != self.members[i]:
                    adjacent[n] = self.place[u]
                    n += 1
        begins[c] = n
        if 8 * n > c * c:           # an order would not help
            return 0
        order_variables(&self.factor, c, begins, adjacent)
        for i in range(c):
            begins[i] = self.members[self.factor.order[i]]
        for i in range(c):
            self.members[i] = begins[i]
            self.place[begins[i]] = i
        return 5 * self.factor.begins[c] < c * c

    cdef double factorise_sparsely(self) except? -1.0 nogil:
        """Set the sparse factor; return the least pivot, 0 if the matrix is singular."""
        cdef Py_ssize_t c = self.size, i, e, n = 0, n_entries = 0
        cdef int64_t u
        cdef int64_t *begins
        cdef int64_t *rows
        cdef double *entries
        for i in range(c):
            n_entries += self.starts[self.members[i] + 1] - self.starts[self.members[i]]
        begins = <int64_t *>reserve(&self.graph_buffer, (c + 1 + 2 * n_entries) * sizeof(int64_t))
        rows = begins + c + 1
        entries = <double *>(rows + n_entries)
        for i in range(c):
            begins[i] = n
            for e in range(self.starts[self.members[i]], self.starts[self.members[i] + 1]):
                u = self.columns[e]
                if self.hidden[u]:
                    rows[n], entries[n] = self.place[u], self.entries[e]
                    n += 1
        begins[c] = n
        return factorise_columns(&self.factor, begins, rows, entries, LEAST_PIVOT, self.inverse, &self.log_det)

    cdef double factorise_densely(self) except? -1.0 nogil:
        """Set the dense factor; return the least pivot, 0 if the matrix is singular."""
        cdef Py_ssize_t c = self.size, i, j, k, e
        cdef int64_t u
        cdef double pivot, factor, least = 1.0
        cdef double *row
        cdef double *other
        self.upper = <double *>reserve(&self.factor_buffer, c * c * sizeof(double))
        memset(self.upper, 0, c * c * sizeof(double))
        for i in range(c):
            row = self.upper + i * c
            for e in range(self.starts[self.members[i]], self.starts[self.members[i] + 1]):
                u = self.columns[e]
                if self.hidden[u] and self.place[u] >= i:
                    row[self.place[u]] = self.entries[e]
        self.log_det = 0.0
        for k in range(c):
            row = self.upper + k * c
            pivot = row[k]
            if not pivot >= LEAST_PIVOT:
                return 0.0
            least = min(least, pivot)
            self.log_det += log(pivot)
            row[k] = sqrt(pivot)
            self.inverse[k] = 1.0 / row[k]
            for j in range(k + 1, c):
                row[j] *= self.inverse[k]
            for i in range(k + 1, c):
                factor = row[i]
                if factor != 0.0:
                    other = self.upper + i * c
                    for j in range(i, c):
                        other[j] -= factor * row[j]
        return least

    cdef int factorise_root(self) except -1 nogil:
        """Set U to the triangle of the QR factorisation of the rows and columns of A in the component."""
        cdef Py_ssize_t c = self.size, i, j, k, e, m = 0
        cdef int64_t row
        cdef double norm, head, dot
        cdef double *reflected
        cdef double *column
        cdef double *other
        self.by_reflections, self.is_sparse = True, False
        self.upper = <double *>reserve(&self.factor_buffer, c * c * sizeof(double))
        for i in range(c):
            for e in range(self.column_starts[self.members[i]], self.column_starts[self.members[i] + 1]):
                row = self.column_rows[e]
                if self.seen_rows[row] != self.stamp:
                    self.seen_rows[row] = self.stamp
                    self.equations[m] = row
                    m += 1
        qsort(&self.equations[0], m, sizeof(int64_t), compare_integers)
        self.n_equations = m
        reflected = <double *>reserve(&self.reflection_buffer, m * c * sizeof(double))
        memset(reflected, 0, m * c * sizeof(double))
        for i in range(m):
            for e in range(self.row_starts[self.equations[i]], self.row_starts[self.equations[i] + 1]):
                if self.is_member(self.row_columns[e]):
                    reflected[self.place[self.row_columns[e]] * m + i] = self.row_entries[e]
        memset(self.upper, 0, c * c * sizeof(double))
        self.log_det = 0.0
        for k in range(c):
            column = reflected + k * m
            norm = 0.0
            for i in range(k, m):
                norm += column[i] * column[i]
            norm = sqrt(norm)
            if not norm > 0.0:
                return 0
            head = column[k]
            if head > 0.0:
                norm = -norm
            column[k] = head - norm  # the vector of the reflection; its square is -2 norm (head - norm)
            self.log_det += 2.0 * log(-norm if norm < 0.0 else norm)
            self.upper[k * c + k] = -norm if norm < 0.0 else norm
            self.inverse[k] = 1.0 / self.upper[k * c + k]
            for j in range(k + 1, c):
                other = reflected + j * m
                dot = 0.0
                for i in range(k, m):
                    dot += column[i] * other[i]
                dot /= norm * (head - norm)
                for i in range(k, m):
                    other[i] += dot * column[i]
                self.upper[k * c + j] = -other[k] if norm < 0.0 else other[k]
        return 1

    cdef inline bint is_member(self, int64_t v) noexcept nogil:
        return self.hidden[v] and self.seen[v] == self.stamp

    cdef int store_variances(
        self, double[:, ::1] variances, const int64_t *rows, Py_ssize_t n
    ) except -1 nogil:
        """Store the variances, of a dense factor the sums of squares of the rows of U^-1; a sparse factor is lost."""
        cdef Py_ssize_t c = self.size, i, j, k, r
        cdef double dot
        cdef double *column = <double *>reserve(&self.right_buffer, 2 * c * sizeof(double))
        cdef double *sums = column + c
        memset(sums, 0, c * sizeof(double))
        if self.is_sparse:
            invert_diagonal(&self.factor, self.inverse, sums)
        for j in range(0 if self.is_sparse else c):
            column[j] = self.inverse[j]
            sums[j] += column[j] * column[j]
            for i in range(j - 1, -1, -1):
                dot = 0.0
                for k in range(i + 1, j + 1):
                    dot += self.upper[i * c + k] * column[k]
                column[i] = -dot * self.inverse[i]
                sums[i] += column[i] * column[i]
        for r in range(n):
            for k in range(c):
                variances[rows[r], self.members[k]] = sums[k]
        return 0

    # ---- rows ----

    cdef int solve_rows(self, double[:, ::1] values, const int64_t *rows, Py_ssize_t n) except -1 nogil:
        """Set the missing values of the component."""
        cdef Py_ssize_t c = self.size, begin = -LANES, w, k, lanes
        cdef double *right = <double *>reserve(&self.right_buffer, c * LANES * sizeof(double))
        while begin + LANES < n:
            begin += LANES
            lanes = min(<Py_ssize_t>LANES, n - begin)
            if self.by_reflections:
                self.solve_equations(values, rows + begin, lanes, right)
            else:
                self.add_observed(values, rows + begin, lanes, right)
                self.solve(right, lanes)
            for k in range(c):
                for w in range(lanes):
                    values[rows[begin + w], self.members[k]] = right[k * lanes + w]
        return 0

    cdef void add_observed(
        self, double[:, ::1] values, const int64_t *rows, Py_ssize_t lanes, double *right
    ) noexcept nogil:
        """Set the right-hand sides -K_co d_o."""
        cdef Py_ssize_t k, e, w
        cdef int64_t u
        memset(right, 0, self.size * lanes * sizeof(double))
        for k in range(self.size):
            for e in range(self.starts[self.members[k]], self.starts[self.members[k] + 1]):
                u = self.columns[e]
                if not self.hidden[u]:
                    for w in range(lanes):
                        right[k * lanes + w] -= self.entries[e] * values[rows[w], u]

    cdef void solve(self, double *right, Py_ssize_t lanes) noexcept nogil:
        """Solve U'U x = b in place."""
        cdef Py_ssize_t c = self.size, i, k, w
        cdef double factor
        cdef double *row
        if self.is_sparse:
            solve_columns(&self.factor, self.inverse, right, lanes)
            return
        for k in range(c):
            row = self.upper + k * c
            for w in range(lanes):
                right[k * lanes + w] *= self.inverse[k]
            for i in range(k + 1, c):
                factor = row[i]
                if factor != 0.0:
                    for w in range(lanes):
                        right[i * lanes + w] -= factor * right[k * lanes + w]
        for k in range(c - 1, -1, -1):
            row = self.upper + k * c
            for i in range(k + 1, c):
                factor = row[i]
                if factor != 0.0:
                    for w in range(lanes):
                        right[k * lanes + w] -= factor * right[i * lanes + w]
            for w in range(lanes):
                right[k * lanes + w] *= self.inverse[k]

    cdef int solve_equations(
        self, double[:, ::1] values, const int64_t *rows, Py_ssize_t lanes, double *right
    ) except -1 nogil:
        """Solve the least squares problem A_c x = -A_o d_o by the seminormal equations, corrected once."""
        cdef Py_ssize_t c = self.size, m = self.n_equations, i, e, k, w, _step
        cdef int64_t u
        cdef double *residuals = <double *>reserve(&self.residual_buffer, (m + c) * lanes * sizeof(double))
        cdef double *means = residuals + m * lanes
        memset(means, 0, c * lanes * sizeof(double))
        for _step in range(2):
            memset(residuals, 0, m * lanes * sizeof(double))
            memset(right, 0, c * lanes * sizeof(double))
            for i in range(m):
                for e in range(self.row_starts[self.equations[i]], self.row_starts[self.equations[i] + 1]):
                    u = self.row_columns[e]
                    if self.is_member(u):
                        for w in range(lanes):
                            residuals[i * lanes + w] -= self.row_entries[e] * means[self.place[u] * lanes + w]
                    elif not self.hidden[u]:
                        for w in range(lanes):
                            residuals[i * lanes + w] -= self.row_entries[e] * values[rows[w], u]
                for e in range(self.row_starts[self.equations[i]], self.row_starts[self.equations[i] + 1]):
                    u = self.row_columns[e]
                    if self.is_member(u):
                        for w in range(lanes):
                            right[self.place[u] * lanes + w] += self.row_entries[e] * residuals[i * lanes + w]
            self.solve(right, lanes)
            for k in range(c * lanes):
                means[k] += right[k]
        for k in range(c * lanes):
            right[k] = means[k]
        return 0

"""Lasso problems with the rows of one symmetric matrix: the graphical lasso and the neighbourhoods of variables.

Problem: the graphical lasso minimises -log det T + tr(R T) + lam sum |T_ij|; its dual maximises log det W over
|W - R| <= lam. Block ascent on W updates one variable after another. With W_11 the matrix without variable j, the best
column is W_11 b. Here b solves the lasso of _inner_lasso.pxd with M = W and s the column of R, and column j of T is
(-b, 1) / (W_jj - b' W_11 b). Neighbourhoods solve the same lasso with M = R.
Algorithm: exact column steps from a feasible positive definite W keep both properties and never decrease log det W. New
columns are clipped to the box before they are stored, so that W is exactly feasible. They are stored as rows at once,
and as columns eight at a time: one cache line per entry instead of eight.
Reference: Friedman, Hastie & Tibshirani (2008), "Sparse inverse covariance estimation with the graphical lasso",
section 2; Mazumder & Hastie (2012), "The graphical lasso: new insights and alternatives", sections 2 and 3 (why W must
start feasible); Meinshausen & Bühlmann (2006), "High-dimensional graphs and variable selection with the lasso",
section 2.
Cost: k p per column with k non-zeros, hence |E| p per sweep; memory p^2 doubles in addition to R.
Thread-safety: `neighborhoods` only reads; a ColumnAscent belongs to one thread at a time. The GIL is released
throughout.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy as np

from _dense cimport pgmx_abs_max, pgmx_beyond, pgmx_combine_rows, pgmx_dot, pgmx_move_into_box, select_dense_level
from _inner_lasso cimport Lasso, Rows, fit_column, fit_neighbors, free_lasso, open_lasso
from _sparse_rows cimport Sparse, append, root, sort_support

select_dense_level()

cdef enum:
    PENDING = 8  # number of columns stored together: the number of doubles in a cache line


def components(const double[:, ::1] R, double lam):
    """Label the connected components of the graph of |R_ij| > lam by their smallest members, int32 of shape (p,)."""
    cdef Py_ssize_t p = R.shape[0], j, c, n
    cdef int a, b
    labels, scratch, nothing = np.empty(p, dtype=np.int32), np.empty(p + 8, dtype=np.int32), np.zeros(p)
    cdef int[::1] parent = labels, found = scratch
    cdef double[::1] zero = nothing
    with nogil:
        for j in range(p):
            parent[j] = <int>j
            n = pgmx_beyond(&R[j, 0], &zero[0], lam, j, &found[0])
            for c in range(n):
                a, b = root(&parent[0], found[c]), root(&parent[0], <int>j)
                if a < b:
                    parent[b] = a
                else:
                    parent[a] = b
        for j in range(p):
            parent[j] = parent[parent[j]]
    return labels


def neighborhoods(
    const double[:, ::1] R,           # in: (p, p) symmetric
    const int64_t[::1] columns,       # in: (m,) the variables to solve for
    const double[::1] lams,           # in: (k,) penalties, each solution starts from the previous one
    double tol,                       # required absolute duality gap
    Py_ssize_t max_rounds,            # maximum passes over the rows per column and penalty
    int64_t[:, ::1] counts,           # out: (m, k) number of non-zeros
    double[:, ::1] gaps,              # out: (m, k)
    int64_t[::1] steps,               # out: (m,)
):
    """Solve the lasso of each column for all penalties.

    Returns the places and values of the non-zeros, by column and then by penalty.
    """
    cdef Py_ssize_t p = R.shape[0], m = columns.shape[0], k = lams.shape[0], c, step, j, taken, _tries
    cdef Lasso z
    cdef Rows M
    cdef Sparse solutions
    cdef bint settled, enough
    cdef double slack, gap
    cdef const double *s
    solutions.at, solutions.values, solutions.n, solutions.capacity = NULL, NULL, 0, 0
    M.stride, M.size, M.first, M.done = p, p, 0, 0
    with nogil:
        enough = open_lasso(&z, p)
        M.at = &R[0, 0]
        for c in range(m):
            if not enough:
                break
            j = columns[c]
            s = &R[j, 0]
            steps[c] = 0
            z.n_nonzero = 0
            for step in range(k):
                slack = 0.1 * tol
                for _tries in range(3):
                    memcpy(z.found, z.support, z.n_nonzero * sizeof(int))
                    memcpy(z.trial, z.weight, z.n_nonzero * sizeof(double))
                    taken = fit_column(
                        &z, &M, s, j, lams[step], slack, max_rounds, z.found, z.trial, z.n_nonzero, &settled
                    )
                    if taken < 0:
                        enough = False
                        break
                    steps[c] += taken
                    gap = lasso_gap(&z, s, j, lams[step])
                    if gap <= tol or not settled:
                        break
                    slack *= 0.01
                if not enough:
                    break
                gaps[c, step], counts[c, step] = gap, z.n_nonzero
                enough = append(&solutions, z.support, z.weight, z.n_nonzero)
                if not enough:
                    break
        free_lasso(&z)
    try:
        if not enough:
            raise MemoryError(f"{m} neighbourhoods of {p} variables cannot be held: solve for fewer columns at a time")
        places, values = np.empty(solutions.n, dtype=np.int32), np.empty(solutions.n)
        fill(places, values, &solutions)
    finally:
        free(solutions.at)
        free(solutions.values)
    return places, values


cdef fill(int[::1] places, double[::1] values, const Sparse *entries):
    if entries.n:
        memcpy(&places[0], entries.at, entries.n * sizeof(int))
        memcpy(&values[0], entries.values, entries.n * sizeof(double))


cdef double lasso_gap(Lasso *z, const double *s, Py_ssize_t j, double lam) noexcept nogil:
    # Primal minus dual at the residual x_j - X b, scaled into |X' r| <= lam; s[j] is the variance of x_j.
    cdef double fitted = 0, squares = 0, size = 0, steepest = 0, residual, product, scale
    cdef Py_ssize_t a, i
    for a in range(z.n_nonzero):
        i = z.support[a]
        fitted += s[i] * z.weight[a]
        squares += z.out[i] * z.weight[a]
        size += fabs(z.weight[a])
    for i in range(z.size):
        z.trial[i] = s[i] - z.out[i]
    steepest = pgmx_abs_max(z.trial, z.size)
    # the variance of x_j - X b: nonnegative up to rounding
    residual, product = max(s[j] - 2 * fitted + squares, 0.0), s[j] - fitted
    # the best multiple of the residual within the box
    scale = product / residual if residual > 0 else 0
    if steepest > 0:
        scale = max(min(scale, lam / steepest), -lam / steepest)
    return 0.5 * residual + lam * size - scale * product + 0.5 * scale * scale * residual


cdef class ColumnAscent:
    """Block ascent on the dual of the graphical lasso, from a feasible positive definite W.

    It has no point until one of the `start_` methods sets one.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Symmetric, C-contiguous; referenced, not copied.
    """

    cdef const double[:, ::1] _R
    cdef double[:, ::1] _W
    cdef double[::1] _theta
    cdef Sparse *_columns
    cdef int64_t[::1] _first            # position of the first entry of each column in `_entries`
    cdef double[::1] _entries           # off the diagonal of the precision, one for each coefficient
    cdef Lasso _lasso
    cdef readonly object memory
    cdef readonly Py_ssize_t size

    def __cinit__(self, const double[:, ::1] R):
        cdef Py_ssize_t p = R.shape[0]
        self._columns = NULL
        enough = open_lasso(&self._lasso, p)
        self._columns = <Sparse *>calloc(max(p, 1), sizeof(Sparse))
        if not enough or self._columns == NULL:
            raise MemoryError(f"no memory for the columns of {p} variables")
        self.size = p
        self._R = R
        # complete cache lines per row, and rows that do not all start in the same cache set
        stride = (p + 7) // 8 * 8
        if stride % 64 == 0:
            stride += 8
        raw = np.empty(p * stride + 8)
        begin = (8 - raw.ctypes.data // 8 % 8) % 8
        self.memory = raw[begin:begin + p * stride].reshape(p, stride)
        self._W = self.memory
        self._theta = np.empty(p)
        self._first, self._entries = np.zeros(p + 1, dtype=np.int64), np.zeros(0)

    def __dealloc__(self):
        cdef Py_ssize_t j
        free_lasso(&self._lasso)
        if self._columns != NULL:
            for j in range(self.size):
                free(self._columns[j].at)
                free(self._columns[j].values)
            free(self._columns)

    @property
    def dual(self):
        """W as a view (p, p), feasible and, up to rounding, positive definite."""
        return self.memory[:, :self.size]

    def start_soft(self, double lam):
        """Start at the smallest feasible correlations, which are positive definite for sparse problems."""
        cdef Py_ssize_t p = self.size, i, j
        cdef double value
        cdef const double *row
        cdef double *to
        with nogil:
            for j in range(p):
                row, to = &self._R[j, 0], &self._W[j, 0]
                for i in range(p):
                    value = row[i]
                    to[i] = max(value - lam, 0.0) + min(value + lam, 0.0)
                to[j] = row[j]
        self._begin(True)

    def start_shrunk(self, double share):
        """Start at R with its correlations reduced by `share` > 0: positive definite if R is semidefinite."""
        np.multiply(self._R, 1 - share, out=self.dual)
        np.fill_diagonal(self.dual, np.diagonal(self._R))
        self._begin(True)

    def start_from(self, W, double share):
        """Start at R + share (W - R), with the current coefficients or the coefficients of `start_columns`."""
        np.subtract(W, self._R, out=self.dual)
        self.dual[...] *= share
        self.dual[...] += self._R
        np.fill_diagonal(self.dual, np.diagonal(self._R))
        self._begin(False)

    cdef void _begin(self, bint empty):
        cdef Py_ssize_t j
        for j in range(self.size):
            self._theta[j] = 1 / self._R[j, j]
            if empty:
                self._columns[j].n = 0

    def start_columns(self, const int[::1] indptr, const int[::1] indices, const double[::1] values):
        """Set the start coefficients of the lassos; coefficients of variable j are indptr[j]:indptr[j + 1]."""
        cdef Py_ssize_t j
        cdef bint enough = True
        for j in range(self.size):
            self._columns[j].n = 0
            if indptr[j + 1] > indptr[j]:
                enough = enough and append(
                    &self._columns[j], &indices[indptr[j]], &values[indptr[j]], indptr[j + 1] - indptr[j]
                )
        if not enough:
            raise MemoryError("no memory for the coefficients to start from")

    def columns(self):
        """Return the coefficients in the form of `start_columns` (indptr, indices, values)."""
        counts = [0] + [self._columns[j].n for j in range(self.size)]
        indptr = np.cumsum(counts).astype(np.int32)
        places, numbers = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        cdef int[::1] first = indptr, indices = places
        cdef double[::1] values = numbers
        cdef Py_ssize_t j, c
        for j in range(self.size):
            for c in range(self._columns[j].n):
                indices[first[j] + c], values[first[j] + c] = self._columns[j].at[c], self._columns[j].values[c]
        return indptr, places, numbers

    def sweep(self, double lam, double slack, Py_ssize_t max_rounds, Py_ssize_t first, Py_ssize_t stop, double moved):
        """Make a step in the columns from `first` to `stop`, multiples of PENDING or the end.

        Returns (moved, steps, stuck, entries): `moved` plus the sum of theta_ii theta_jj d_ij^2 over all changes d of
        W; the number of passes and solves; the number of columns not changed because W was not positive definite; the
        number of non-zeros.
        """
        cdef Py_ssize_t p = self.size, j, i, c, taken, steps = 0, stuck = 0, entries = 0
        cdef double left
        cdef Rows M
        cdef Lasso *z = &self._lasso
        cdef Sparse *column
        cdef bint settled, enough = True
        M.at, M.stride, M.size, M.first, M.done = &self._W[0, 0], self._W.shape[1], p, first, first
        with nogil:
            for j in range(first, stop):
                column = self._columns + j
                M.done = j
                taken = fit_column(
                    z, &M, &self._R[j, 0], j, lam, slack, max_rounds, column.at, column.values, column.n, &settled
                )
                enough = taken >= 0
                if not enough:
                    break
                steps += taken
                left = self._conditional_variance(j)
                if left > 1e-14 * self._W[j, j]:
                    self._theta[j] = 1 / left
                    for c in range(z.n_nonzero):
                        i = z.support[c]
                        z.out[i] = self._R[j, i] - (lam if z.weight[c] > 0 else -lam)
                    enough = self._store(j, &M, lam, &moved)
                    if not enough:
                        break
                else:
                    self._refresh(j, &M)
                    stuck += 1
                entries += column.n
                self._settle(j, &M)
        if not enough:
            raise MemoryError(f"no memory for the coefficients of {p} variables")
        return moved, steps, stuck, entries

    def sweep_graph(
        self,
        const int[::1] indptr,
        const int[::1] indices,
        double least,
        Py_ssize_t first,
        Py_ssize_t stop,
        double moved,
    ):
        """Set the columns from `first` to `stop`, as in `sweep`, to their regressions on the neighbours of a graph.

        The neighbours of variable j are indices[indptr[j]:indptr[j + 1]]. Returns (moved, stuck) as in `sweep`. stuck
        counts the columns whose conditional variance would be at most `least` times their variance; these are not
        changed.
        """
        cdef Py_ssize_t p = self.size, j, c, stuck = 0
        cdef double left
        cdef Rows M
        cdef Lasso *z = &self._lasso
        cdef bint solved, enough = True
        M.at, M.stride, M.size, M.first, M.done = &self._W[0, 0], self._W.shape[1], p, first, first
        with nogil:
            for j in range(first, stop):
                M.done = j
                enough = fit_neighbors(z, &M, &self._R[j, 0], &indices[0] + indptr[j], indptr[j + 1] - indptr[j],
                                       &solved)
                if not enough:
                    break
                left = self._conditional_variance(j) if solved else 0
                if left > least * self._W[j, j]:
                    self._theta[j] = 1 / left
                    for c in range(z.n_nonzero):
                        z.out[z.support[c]] = self._R[j, z.support[c]]
                    enough = self._store(j, &M, INFINITY, &moved)
                    if not enough:
                        break
                else:
                    self._refresh(j, &M)
                    stuck += 1
                self._settle(j, &M)
        if not enough:
            raise MemoryError(f"no memory for the coefficients of {p} variables")
        return moved, stuck

    cdef double _conditional_variance(self, Py_ssize_t j) noexcept nogil:
        cdef double left = self._W[j, j]
        cdef Py_ssize_t c
        for c in range(self._lasso.n_nonzero):
            left -= self._lasso.weight[c] * self._lasso.out[self._lasso.support[c]]
        return left

    cdef bint _store(self, Py_ssize_t j, const Rows *M, double radius, double *moved) noexcept nogil:
        # Stores the solution of column j as its coefficients, and `out` as row j of W.
        cdef Lasso *z = &self._lasso
        cdef Sparse *column = self._columns + j
        cdef double *row = &self._W[j, 0]
        sort_support(z)
        column.n = 0
        self._refresh(j, M)
        z.out[j] = row[j]
        moved[0] += self._theta[j] * pgmx_move_into_box(
            z.out, &self._R[j, 0], radius, &self._theta[0], row, self.size
        )
        return append(column, z.support, z.weight, z.n_nonzero)

    cdef void _refresh(self, Py_ssize_t j, const Rows *M) noexcept nogil:
        # Update row j from the pending columns.
        cdef Py_ssize_t i
        for i in range(M.first, j):
            self._W[j, i] = self._W[i, j]

    cdef void _settle(self, Py_ssize_t j, Rows *M) noexcept nogil:
        # Stores the pending rows also as columns, when there are enough of them.
        cdef Py_ssize_t i, c, p = self.size, stride = self._W.shape[1], first = M.first, n = j + 1 - M.first
        cdef double *W = &self._W[0, 0]
        cdef const double *rows = W + first * stride
        cdef double *to
        if n < PENDING and j + 1 < p:
            return
        for i in range(p):
            to = W + i * stride + first
            if n == PENDING and (i < first or i >= first + n):
                for c in range(PENDING):
                    to[c] = rows[c * stride + i]
            else:
                for c in range(n):
                    if i < first + c or i >= first + n:
                        to[c] = rows[c * stride + i]
        M.first = j + 1

    def precision(self):
        """Compute a symmetric precision from the columns, for `residual` and `triplets`.

        An entry is zero if one of the two columns of the pair is zero, otherwise their mean. Returns tr(R T), the sum
        of the absolute entries off the diagonal, and the number of non-zeros off the diagonal.
        """
        cdef Py_ssize_t p = self.size, j, c, k, i, n = 0
        cdef double trace = 0, size = 0, mean
        cdef Sparse *column
        cdef Sparse *other
        cdef int64_t[::1] first = np.zeros(p + 1, dtype=np.int64), cursor = np.zeros(p, dtype=np.int64)
        for j in range(p):
            first[j + 1] = first[j] + self._columns[j].n
        self._first, self._entries = first, np.zeros(first[p])
        with nogil:
            for j in range(p):
                trace += self._theta[j] * self._R[j, j]
            for j in range(p):
                column = self._columns + j
                for c in range(column.n):
                    i = column.at[c]
                    if i > j:
                        break
                    other = self._columns + i  # whose places before j were passed by previous columns
                    k = cursor[i]
                    while k < other.n and other.at[k] < j:
                        k += 1
                    cursor[i] = k
                    if k == other.n or other.at[k] > j or other.values[k] == 0:
                        continue
                    mean = 0.5 * (-other.values[k] * self._theta[i] - column.values[c] * self._theta[j])
                    self._entries[first[i] + k] = self._entries[first[j] + c] = mean
                    n += 2
                    trace += 2 * mean * self._R[i, j]
                    size += 2 * fabs(mean)
        return trace, size, n

    cdef int _check_entries(self) except -1:
        cdef Py_ssize_t j
        for j in range(self.size):
            if self._first[j + 1] - self._first[j] != self._columns[j].n:
                raise RuntimeError("the columns have changed since their precision was made: call `precision` first")
        return 0

    def residual(self, double lam):
        """Return measures of how close W and the result of `precision` are to optimality and to being inverse.

        Returns (slack, squares, apart): sum of lam |T_ij| - (W - R)_ij T_ij off the diagonal, with nonnegative terms;
        squared Frobenius norm of E = I - W T; sum of |T_ij E_ij|, to first order the difference between the inverse of
        T and W in the trace of the objective.
        """
        cdef Py_ssize_t p = self.size, stride = self._W.shape[1], j, c, i, m
        cdef double slack = 0, squares = 0, apart = 0, value
        cdef const double *W = &self._W[0, 0]
        cdef Sparse *column
        cdef Lasso *z = &self._lasso
        self._check_entries()
        with nogil:
            for j in range(p):
                column = self._columns + j
                m = 0
                for c in range(column.n):
                    i, value = column.at[c], self._entries[self._first[j] + c]
                    if value != 0:
                        z.support[m], z.weight[m] = <int>i, value
                        # negative if W was rounded out of the box, by an amount that E also contains
                        slack += max(lam * fabs(value) - (W[j * stride + i] - self._R[j, i]) * value, 0.0)
                        m += 1
                z.support[m], z.weight[m] = <int>j, self._theta[j]
                pgmx_combine_rows(W, stride, z.support, z.weight, m + 1, p, z.out)
                z.out[j] -= 1
                squares += pgmx_dot(z.out, z.out, p)
                for c in range(m + 1):
                    apart += fabs(z.weight[c] * z.out[z.support[c]])
        return slack, squares, apart

    def triplets(self, double share=1.0):
        """Return the result of `precision` as the arrays of a CSR matrix (indptr, indices, values).

        Columns ascend; `share` multiplies the entries off the diagonal.
        """
        cdef Py_ssize_t p = self.size, j, c, i, n = 0, capacity = p + self._entries.shape[0]
        cdef Sparse *column
        cdef bint placed
        cdef double value
        self._check_entries()
        pointers, places = np.zeros(p + 1, dtype=np.int32), np.empty(capacity, dtype=np.int32)
        numbers = np.empty(capacity)
        cdef int[::1] indptr = pointers, indices = places
        cdef double[::1] values = numbers
        with nogil:
            for j in range(p):
                column = self._columns + j
                placed = False
                for c in range(column.n + 1):
                    i = column.at[c] if c < column.n else p
                    if not placed and i > j:
                        indices[n], values[n] = <int>j, self._theta[j]
                        n += 1
                        placed = True
                    if i < p:
                        value = self._entries[self._first[j] + c]
                        if value != 0:
                            indices[n], values[n] = <int>i, share * value
                            n += 1
                indptr[j + 1] = <int>n
        return pointers, places[:n], numbers[:n]

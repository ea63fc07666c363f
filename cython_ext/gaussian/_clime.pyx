"""Columns of the CLIME estimator: exact parametric paths, and the elementwise passes of its ADMM.

Problem, for a symmetric positive semidefinite S = R + ridge I and a column j:

    minimise |q|_1 subject to |S q - e_j|_inf <= lam,    dual: maximise y_j - lam |y|_1 subject to |S y|_inf <= 1.

Algorithm of the paths: parametric primal-dual simplex in lam, from lam = 1 (with q = 0) downwards. Between two events q
is linear in lam. At an event a constraint becomes active or a variable reaches zero. Then y moves until a variable
enters or a constraint leaves, and the k x k inverse of the active submatrix of S is updated by rank one.
Cost of an event: 4 k p for the two directions, 8 k^2 for the inverse. Memory: 8 k^2 and about 120 p bytes.
Algorithm of the ADMM: pgmx/solvers/gaussian/clime_admm.py. BLAS computes products with S; here are the elementwise
passes between them.
Thread-safety: an object must be used by one thread at a time. All work is done without the GIL on the object's own
memory.
References: Vanderbei (2014), Linear Programming, chapter 7 (parametric self-dual simplex method); Pang, Liu and
Vanderbei (2014), Journal of Machine Learning Research 15, 489-493 (the same method for CLIME, with a dense tableau).
"""

from libc.math cimport INFINITY, fabs
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

import numpy as np

from _basis cimport Basis, apply_inverse, combine
from _clime_path cimport (
    DONE, FRESH_EVERY, INFEASIBLE, NO_MEMORY, RUNNING, SPENT, STUCK, Path, begin, dual_step, move,
    pgmx_pivots_level, primal_step, refresh, residual,
)
from _dense cimport pgmx_abs_max, pgmx_axpy, select_dense_level

cdef int LEVEL = select_dense_level()
pgmx_pivots_level = LEVEL

# Names of the values of `Paths.statuses`.
STATUSES = ("waiting", "done", "infeasible", "stuck", "spent", "no memory")

# Entries up to this size are zeros, changed by the widened bounds.
cdef double NOTHING = 1e-11

ctypedef fused real:
    float
    double

cdef struct Store:
    int32_t *index
    double *value
    ptrdiff_t size
    ptrdiff_t capacity


cdef bint reserve_store(Store *store, ptrdiff_t more) noexcept nogil:
    cdef ptrdiff_t capacity = 2 * store.capacity + more
    cdef void *index
    cdef void *value
    if store.size + more <= store.capacity:
        return True
    index = realloc(store.index, <size_t>capacity * sizeof(int32_t))
    if index != NULL:
        store.index = <int32_t *>index
    value = realloc(store.value, <size_t>capacity * sizeof(double))
    if value != NULL:
        store.value = <double *>value
    if index == NULL or value == NULL:
        return False
    store.capacity = capacity
    return True


cdef inline void put(Store *store, int32_t index, double value) noexcept nogil:
    store.index[store.size] = index
    store.value[store.size] = value
    store.size += 1


cdef tuple pop_content(Store *store):
    # The content as arrays; the store is empty afterwards.
    cdef int32_t[::1] index
    cdef double[::1] value
    content = np.empty(store.size, dtype=np.int32), np.empty(store.size)
    if store.size:
        index, value = content
        memcpy(&index[0], store.index, <size_t>store.size * sizeof(int32_t))
        memcpy(&value[0], store.value, <size_t>store.size * sizeof(double))
    store.size = 0
    return content


cdef class Paths:
    """Solutions of some columns at given radii, computed in steps.

    ``advance`` works for about the given number of floating-point operations, and returns whether all columns are
    finished. ``finish`` ends the others at their last feasible points. Then ``pop_entries`` returns the solutions,
    ordered by column and then by radius, with ``counts`` entries each. A column that used more than a finite
    `allowance` of operations per radius, or got stuck with one, stops as "spent": it has entries for its first
    ``reached`` radii, and ``pop_unfinished_entries`` returns its point and multipliers there. With `with_multipliers`,
    ``pop_multipliers`` returns y of every solution, ``multiplier_counts`` entries each.
    """

    cdef Path path
    cdef Store out, unfinished, multipliers
    cdef bint with_multipliers
    cdef double *memory
    cdef double *saved          # (p,) copy of the directions
    cdef int *integers
    cdef const double[:, ::1] matrix
    cdef const int64_t[::1] columns
    cdef const double[::1] lams
    cdef double[::1] tilt
    cdef int64_t[:, ::1] count_view, multiplier_view, unfinished_view
    cdef double[:, ::1] gap_view, violation_view
    cdef int64_t[::1] pivot_view, status_view, reached_view
    cdef ptrdiff_t column       # the current one
    cdef ptrdiff_t radius       # the next one to reach
    cdef double allowance
    cdef int64_t most
    cdef double[::1] work_view
    cdef readonly object counts, multiplier_counts, unfinished_counts, gaps, violations, pivots, statuses, reached
    cdef readonly object works

    def __cinit__(
        self,
        const double[:, ::1] matrix,      # in: (p, p) R
        const int64_t[::1] columns,       # in: (m,)
        const double[::1] lams,           # in: (k,) descending, >= 0
        double ridge,
        double allowance,                 # operations per radius and column
        int64_t most,                     # maximum exchanges per column
        bint with_multipliers=False,
    ):
        cdef ptrdiff_t p = matrix.shape[0], m = columns.shape[0], n = lams.shape[0], i
        self.matrix, self.columns, self.lams = matrix, columns, lams
        self.allowance, self.most, self.with_multipliers = allowance, most, with_multipliers
        tilt = np.arange(1, p + 1) * 0.6180339887498949
        self.tilt = tilt - np.floor(tilt)
        self.counts, self.unfinished_counts = np.zeros((m, n), dtype=np.int64), np.zeros((m, 2), dtype=np.int64)
        self.multiplier_counts = np.zeros((m, n), dtype=np.int64)
        self.gaps, self.violations = np.zeros((m, n)), np.zeros((m, n))
        self.pivots, self.reached = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        self.statuses, self.works = np.zeros(m, dtype=np.int64), np.zeros(m)
        self.count_view, self.unfinished_view = self.counts, self.unfinished_counts
        self.multiplier_view = self.multiplier_counts
        self.gap_view, self.violation_view = self.gaps, self.violations
        self.pivot_view, self.reached_view, self.status_view = self.pivots, self.reached, self.statuses
        self.work_view = self.works
        self.memory = <double *>calloc(<size_t>(16 * p), sizeof(double))
        self.integers = <int *>calloc(<size_t>(3 * p), sizeof(int))
        if self.memory == NULL or self.integers == NULL:
            raise MemoryError(f"cannot allocate {16 * p * 8} bytes of scratch memory for a path")
        self.assign_memory(p, ridge)
        self.path.basis.matrix = &matrix[0, 0]
        self.path.tilt = &self.tilt[0]
        for i in range(p):
            self.path.basis.iota[i] = <int>i
        self.column, self.radius = -1, 0
        self.next_column()

    cdef void assign_memory(self, ptrdiff_t p, double ridge):
        cdef Path *path = &self.path
        cdef double *at = self.memory
        path.basis.p, path.basis.ridge = p, ridge
        path.basis.variables = self.integers
        path.basis.constraints = self.integers + p
        path.basis.iota = self.integers + 2 * p
        path.r, path.dr, path.g, path.dg = at, at + p, at + 2 * p, at + 3 * p
        path.reach, path.slack, path.w = at + 4 * p, at + 5 * p, at + 6 * p
        path.q, path.dq, path.y, path.dy = at + 7 * p, at + 8 * p, at + 9 * p, at + 10 * p
        path.sign_q, path.sign_y = at + 11 * p, at + 12 * p
        path.basis.cross, path.basis.image = at + 13 * p, at + 14 * p
        self.saved = at + 15 * p

    def __dealloc__(self):
        free(self.path.basis.inverse)
        free(self.path.basis.scratch)
        free(self.memory)
        free(self.integers)
        free(self.out.index)
        free(self.out.value)
        free(self.multipliers.index)
        free(self.multipliers.value)
        free(self.unfinished.index)
        free(self.unfinished.value)

    cdef void settle_point(self, double step, double lam, bint refine) noexcept nogil:
        # dq = the solution `step` below the radius of the path, dr = its residual, dg = S y, recomputed. `refine`
        # removes from dq the widening of the bounds and the rounding errors of the inverse.
        cdef Path *path = &self.path
        cdef Basis *basis = &path.basis
        cdef ptrdiff_t k = basis.k, a
        for a in range(k):
            path.dq[a] = path.q[a] + step * path.dq[a] if step != 0.0 else path.q[a]
        residual(path, path.dq, path.dr)
        if refine:
            for a in range(k):
                path.w[a] = path.dr[basis.constraints[a]] - path.sign_y[a] * lam
            apply_inverse(basis, path.w, basis.image)
            pgmx_axpy(1.0, basis.image, path.dq, k)
            residual(path, path.dq, path.dr)
        combine(basis, basis.constraints, path.y, k, path.dg)

    cdef bint emit(self, double step, bint refine) noexcept nogil:
        # Computes the solution `step` below the radius of the path, with its certificate; False if memory is exhausted.
        cdef Path *path = &self.path
        cdef ptrdiff_t k = path.basis.k, p = path.basis.p, a
        cdef double size = 0.0, dual = 0.0, dropped = 0.0, value, violation, scale
        cdef double lam = self.lams[self.radius]
        if not reserve_store(&self.out, k):
            return False
        cdef ptrdiff_t before = self.out.size
        # the directions are saved, since other radii may be in the same linear segment of the path
        memcpy(self.saved, path.dq, <size_t>k * sizeof(double))
        self.settle_point(step, lam, refine)
        for a in range(k):
            value = path.dq[a]
            if fabs(value) > NOTHING:
                put(&self.out, path.basis.variables[a], value)
                size += fabs(value)
            else:
                dropped += fabs(value)
            dual += fabs(path.y[a])
        # an omitted entry changes a residual by at most itself times the largest entry of S
        violation = pgmx_abs_max(path.dr, p) + dropped * (1.0 + path.basis.ridge) - lam
        scale = max(1.0, pgmx_abs_max(path.dg, p))
        dual *= -(lam + max(violation, 0.0))
        for a in range(k):
            if path.basis.constraints[a] == path.j:
                dual += path.y[a]
        self.count_view[self.column, self.radius] = self.out.size - before
        if self.with_multipliers:
            if not reserve_store(&self.multipliers, k):
                return False
            for a in range(k):
                put(&self.multipliers, path.basis.constraints[a], path.y[a])
            self.multiplier_view[self.column, self.radius] = k
        self.gap_view[self.column, self.radius] = size - dual / scale
        self.violation_view[self.column, self.radius] = violation
        self.radius += 1
        memcpy(path.dq, self.saved, <size_t>k * sizeof(double))
        return True

    cdef bint emit_rest(self) noexcept nogil:
        # Sets the radii not reached to the last feasible point.
        while self.radius < self.lams.shape[0]:
            if not self.emit(0.0, False):
                return False
        return True

    cdef bint save_unfinished(self) noexcept nogil:
        cdef Path *path = &self.path
        cdef ptrdiff_t k = path.basis.k, a
        if not reserve_store(&self.unfinished, 2 * k):
            return False
        for a in range(k):
            put(&self.unfinished, path.basis.variables[a], path.q[a])
        for a in range(k):
            put(&self.unfinished, path.basis.constraints[a], path.y[a])
        self.unfinished_view[self.column, 0] = self.unfinished_view[self.column, 1] = k
        return True

    cdef void next_column(self) noexcept nogil:
        self.column += 1
        self.radius = 0
        if self.column < self.columns.shape[0]:
            begin(&self.path, self.columns[self.column])
            while self.radius < self.lams.shape[0] and self.lams[self.radius] >= 1.0:
                if not self.emit(0.0, False):
                    self.path.status = NO_MEMORY
                    return
            if self.radius == self.lams.shape[0]:
                self.path.status = DONE

    cdef void run(self, double work) noexcept nogil:
        # Processes events of the current column until it ends, or until more than `work` is done.
        cdef Path *path = &self.path
        cdef double step
        cdef ptrdiff_t passed
        while path.status == RUNNING and path.work < work:
            if not dual_step(path):
                return
            if path.since_fresh >= FRESH_EVERY and not refresh(path):
                path.status = STUCK
                return
            step = primal_step(path)
            passed = self.radius
            while self.radius < self.lams.shape[0] and path.lam - self.lams[self.radius] <= step:
                if not self.emit(path.lam - self.lams[self.radius], True):
                    path.status = NO_MEMORY
                    return
            if self.radius == self.lams.shape[0]:
                path.status = DONE
                return
            if self.radius > passed:    # certificates were written over dr
                combine(&path.basis, path.basis.variables, path.dq, path.basis.k, path.dr)
            move(path, step)
            if path.pivots >= self.most and path.status == RUNNING:
                path.status = STUCK
            if path.work > self.allowance * <double>(self.radius + 1) and path.status == RUNNING:
                path.status = SPENT

    cdef bint settle(self) noexcept nogil:
        # Records a column that has ended and starts the next; False if memory is exhausted.
        cdef Path *path = &self.path
        if path.status == STUCK and self.allowance < INFINITY:
            path.status = SPENT     # a caller that limits the work has another solver
        self.pivot_view[self.column] = path.pivots
        self.work_view[self.column] = path.work
        self.reached_view[self.column] = self.radius
        self.status_view[self.column] = path.status
        if path.status == SPENT and not self.save_unfinished():
            return False
        if path.status in (INFEASIBLE, STUCK, RUNNING) and not self.emit_rest():
            return False
        self.next_column()
        return True

    def advance(self, double work):
        """Continue for about `work` floating-point operations; return whether every column has ended."""
        cdef double before, most
        cdef bint stored = True
        with nogil:
            while stored and self.column < self.columns.shape[0] and work > 0.0:
                before = self.path.work
                most = before + work
                self.run(most)
                work -= self.path.work - before + 1.0
                if self.path.status == NO_MEMORY:
                    stored = False
                elif self.path.status != RUNNING:
                    stored = self.settle()
        if not stored:
            raise MemoryError(f"cannot allocate memory for a basis of {self.path.basis.k + 1} variables")
        return self.column >= self.columns.shape[0]

    def finish(self):
        """End all columns at their current state: unfinished columns keep their last feasible point."""
        cdef bint stored = True
        with nogil:
            while stored and self.column < self.columns.shape[0]:
                stored = self.settle()
        if not stored:
            raise MemoryError("cannot allocate memory for the solutions")

    def pop_entries(self):
        """Return rows and values of all solutions, in the order of `counts`, and remove them."""
        return pop_content(&self.out)

    def pop_multipliers(self):
        """Return rows and values of the multipliers of all solutions, in the order of `multiplier_counts`."""
        return pop_content(&self.multipliers)

    def pop_unfinished_entries(self):
        """Return rows and values of points and multipliers of spent columns, in the order of `unfinished_counts`."""
        return pop_content(&self.unfinished)


cdef inline real soft_threshold(real x, real bound) noexcept nogil:
    # x minus its projection on [-bound, bound]; the two comparisons compile to minimum and maximum instructions.
    cdef real inside = x if x > -bound else -bound
    return x - (inside if inside < bound else bound)


def primal_shrink(
    const real[:, ::1] points,        # in: (m, p) q, one row per problem
    const real[:, ::1] slopes,        # in: (m, p) S u
    const real[::1] steps,            # in: (m,)
    real[:, ::1] moved,               # out: (m, p) soft(q - step S u, step)
):
    """Compute the first half of an iteration."""
    cdef ptrdiff_t m = points.shape[0], p = points.shape[1], c, i
    cdef real step
    with nogil:
        for c in range(m):
            step = steps[c]
            for i in range(p):
                moved[c, i] = soft_threshold(points[c, i] - step * slopes[c, i], step)


def dual_shrink(
    const real[:, ::1] multipliers,   # in: (m, p) u
    const real[:, ::1] images,        # in: (m, p) S q
    const real[:, ::1] ahead,         # in: (m, p) S q of the point just moved
    const real[::1] steps,            # in: (m,)
    const int64_t[::1] columns,       # in: (m,) j of each row
    real lam,
    real[:, ::1] moved,               # out: (m, p) soft(u + step (2 ahead - images - e_j), step lam)
):
    """Compute the second half of an iteration: the split constraint and its multipliers together."""
    cdef ptrdiff_t m = images.shape[0], p = images.shape[1], c, i
    cdef real step, x
    with nogil:
        for c in range(m):
            step = steps[c]
            for i in range(p):
                x = multipliers[c, i] + step * (2 * ahead[c, i] - images[c, i])
                moved[c, i] = soft_threshold(x, step * lam)
            i = columns[c]
            x = multipliers[c, i] + step * (2 * ahead[c, i] - images[c, i])
            moved[c, i] = soft_threshold(x - step, step * lam)


def anchor(
    real[:, :, ::1] now,              # in and out: (4, m, p) q, u, S q, S u
    const real[:, :, ::1] moved,      # in: (4, m, p) the same after an iteration
    const real[:, :, ::1] anchors,    # in: (4, m, p) the same at the last restart
    const real[::1] shares,           # in: (m,) of the anchor in the new point
    const real[::1] primal_steps,     # in: (m,)
    const real[::1] dual_steps,       # in: (m,)
    double[::1] residuals,            # out: (m,) squared distance of `moved` from `now` in the norm of the iteration
):
    """Move twice the step of the iteration, then a share of the distance back to the anchor."""
    cdef ptrdiff_t m = now.shape[1], p = now.shape[2], c, i, f
    cdef real share, rest, dq, du, x, y, z
    with nogil:
        for c in range(m):
            x = y = z = 0
            for i in range(p):
                dq, du = moved[0, c, i] - now[0, c, i], moved[1, c, i] - now[1, c, i]
                x += dq * dq
                y += du * du
                z += du * (moved[2, c, i] - now[2, c, i])
            residuals[c] = x / primal_steps[c] + y / dual_steps[c] - 2 * z
            share = shares[c]
            rest = 1 - share
            for f in range(4):
                for i in range(p):
                    now[f, c, i] = rest * (2 * moved[f, c, i] - now[f, c, i]) + share * anchors[f, c, i]

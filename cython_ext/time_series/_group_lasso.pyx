"""Block coordinate descent of the group lasso of one target on the Gram matrix of a working set.

Problem: minimise 1/2 ||y - sum_b Phi_b w_b||^2 + lam sum_b ||w_b|| over the blocks of a working set, with orthogonal
columns within each block. One block therefore needs only its diagonal of the Gram matrix G. The dual maximises y't -
||t||^2 / 2 over ||Phi_b't|| <= lam; its point is the residual, scaled into the constraints.
Algorithm: each block is minimised exactly. With u = q_b + D_b w_b the block is 0 if ||u|| <= lam, and otherwise w = u /
(D + lam / s). Here s = ||w|| is the root of 1 / ||u / (D s + lam)|| = 1. The left side is increasing and concave in s,
so Newton steps from the left never overshoot. q = c - G w is updated, and the objective and the gap are computed from
w, q, c and ||y||^2 only. After each FADING passes the last iterates are extrapolated (Anderson); the result is used if
it lowers the objective.
Reference: Shen (thesis, chapter 5, eq. 5.11); Friedman, Hastie & Tibshirani (2010), "A note on the group lasso and a
sparse group lasso", section 2; Bertrand & Massias (2021), "Anderson acceleration of coordinate descent", algorithm 2.
Cost: m r per changed block, with m columns in the working set and r in the block; memory m^2 + O(m). Thread-safety:
`descend` reads the Gram and writes its own w; the GIL is released throughout.
"""

from libc.math cimport fabs, fmax, fmin, sqrt
from libc.stdint cimport int64_t

import numpy as np

cdef enum:
    FADING = 5  # passes between two extrapolations, and between two checks of the gap
    NEWTON = 60  # maximum number of steps for the norm of a block


cdef double find_length(const double *u, const double *d, Py_ssize_t r, double lam, double length) noexcept nogil:
    """Return ||w|| of the minimiser of 1/2 w'Dw - u'w + lam ||w|| for ||u|| > lam."""
    cdef double total, slope, share, step
    cdef Py_ssize_t i, _steps
    for _steps in range(NEWTON):
        total, slope = 0.0, 0.0
        for i in range(r):
            share = u[i] / (d[i] * length + lam)
            total += share * share
            slope += d[i] * share * share / (d[i] * length + lam)
        # with p = ||u / (D s + lam)||^2 = total and p' = -2 slope: the step of 1 / sqrt(p) - 1
        if slope <= 0.0:
            break
        step = (sqrt(total) - 1.0) * total / slope
        length = fmax(length + step, 0.0)
        if fabs(step) <= 1e-14 * length:
            break
    return length


cdef double measure(
    const double *w, const double *q, const double *c, const int64_t *starts, Py_ssize_t n_blocks, double lam,
    double square, double *gap,
) noexcept nogil:
    """Return the objective and write the duality gap of the working set."""
    cdef double wc = 0.0, wq = 0.0, lengths = 0.0, length, norm, worst = 0.0, residual, product, scale
    cdef Py_ssize_t b, i
    for b in range(n_blocks):
        length, norm = 0.0, 0.0
        for i in range(starts[b], starts[b + 1]):
            wc += w[i] * c[i]
            wq += w[i] * q[i]
            length += w[i] * w[i]
            norm += q[i] * q[i]
        lengths += sqrt(length)
        worst = fmax(worst, norm)
    residual = fmax(square - wc - wq, 0.0)
    product = square - wc
    worst = sqrt(worst)
    scale = product / residual if residual > 0.0 else 1.0
    if worst > 0.0:
        scale = fmin(fmax(scale, -lam / worst), lam / worst)
    gap[0] = 0.5 * residual + lam * lengths - scale * product + 0.5 * scale * scale * residual
    return 0.5 * residual + lam * lengths


cdef void sweep(
    const double *gram, Py_ssize_t m, const double *d, const int64_t *starts, Py_ssize_t n_blocks, double lam,
    double *w, double *q, double *u,
) noexcept nogil:
    """Minimise over each block in turn."""
    cdef Py_ssize_t b, i, k, begin, r
    cdef double norm, length, change
    cdef const double *row
    for b in range(n_blocks):
        begin = starts[b]
        r = starts[b + 1] - begin
        norm, length = 0.0, 0.0
        for i in range(r):
            u[i] = q[begin + i] + d[begin + i] * w[begin + i]
            norm += u[i] * u[i]
            length += w[begin + i] * w[begin + i]
        if norm <= lam * lam:
            if length == 0.0:
                continue
            for i in range(r):
                u[i] = 0.0
        else:
            length = find_length(u, d + begin, r, lam, sqrt(length))
            for i in range(r):
                u[i] = u[i] * length / (d[begin + i] * length + lam)
        for i in range(r):
            change = u[i] - w[begin + i]
            if change != 0.0:
                w[begin + i] = u[i]
                row = gram + (begin + i) * m
                for k in range(m):
                    q[k] -= change * row[k]


cdef bint extrapolate(const double *iterates, Py_ssize_t m, double *out) noexcept nogil:
    """Write Anderson's combination of FADING + 1 iterates; False if its equations are singular."""
    cdef double normal[FADING][FADING]
    cdef double z[FADING]
    cdef double pivot, total
    cdef Py_ssize_t a, b, i, k
    cdef const double *left
    cdef const double *right
    cdef double trace = 0.0
    for a in range(FADING):
        for b in range(a + 1):
            left, right = iterates + a * m, iterates + b * m
            total = 0.0
            for i in range(m):
                total += (left[m + i] - left[i]) * (right[m + i] - right[i])
            normal[a][b] = total
            normal[b][a] = total
        trace += normal[a][a]
        z[a] = 1.0
    if not trace > 0.0:
        return False
    for a in range(FADING):
        normal[a][a] += 1e-12 * trace
    for a in range(FADING):  # Gaussian elimination of a positive definite matrix
        pivot = normal[a][a]
        if not pivot > 0.0:
            return False
        for b in range(a + 1, FADING):
            total = normal[b][a] / pivot
            for k in range(a, FADING):
                normal[b][k] -= total * normal[a][k]
            z[b] -= total * z[a]
    for a in range(FADING - 1, -1, -1):
        for k in range(a + 1, FADING):
            z[a] -= normal[a][k] * z[k]
        z[a] /= normal[a][a]
    total = 0.0
    for a in range(FADING):
        total += z[a]
    if total == 0.0:
        return False
    for i in range(m):
        out[i] = 0.0
    for a in range(FADING):
        for i in range(m):
            out[i] += z[a] / total * iterates[(a + 1) * m + i]
    return True


def gather(const double[:, ::1] gram, const int64_t[::1] columns):
    """Return the rows and columns `columns` of a symmetric matrix, float64 of shape (m, m)."""
    cdef Py_ssize_t m = columns.shape[0], i, k
    result = np.empty((m, m))
    cdef double[:, ::1] part = result
    with nogil:
        for i in range(m):
            for k in range(m):
                part[i, k] = gram[columns[i], columns[k]]
    return result


def descend(
    const double[:, ::1] gram,        # in: (m, m) of the working set
    const double[::1] c,              # in: (m,) products of the columns with the target
    const int64_t[::1] starts,        # in: (B + 1,) first column of each block, then m
    double lam,                       # in: penalty, positive
    double square,                    # in: ||y||^2
    double[::1] w,                    # in and out: (m,) coefficients
    double tol,                       # in: required duality gap of the working set
    Py_ssize_t max_passes,
):
    """Minimise the group lasso of one target over a working set; return the number of passes and the gap."""
    cdef Py_ssize_t m = gram.shape[0], n_blocks = starts.shape[0] - 1, passes = 0, i, k, place = 0
    cdef double gap, value, other, other_gap
    workspace = np.empty((FADING + 5, max(m, 1)))
    cdef double[:, ::1] rows = workspace
    cdef double *iterates = &rows[0, 0]
    cdef double *q = &rows[FADING + 1, 0]
    cdef double *d = &rows[FADING + 2, 0]
    cdef double *u = &rows[FADING + 3, 0]
    cdef double *trial = &rows[FADING + 4, 0]
    if m == 0:
        return 0, 0.0
    trial_q = np.empty(m)
    cdef double[::1] other_q = trial_q
    with nogil:
        for i in range(m):
            q[i], d[i] = c[i], gram[i, i]
        for k in range(m):
            if w[k] != 0.0:
                for i in range(m):
                    q[i] -= w[k] * gram[k, i]
        value = measure(&w[0], q, &c[0], &starts[0], n_blocks, lam, square, &gap)
        for i in range(m):
            iterates[i] = w[i]
        while gap > tol and passes < max_passes:
            sweep(&gram[0, 0], m, d, &starts[0], n_blocks, lam, &w[0], q, u)
            passes += 1
            place += 1
            for i in range(m):
                iterates[place * m + i] = w[i]
            if place < FADING:
                continue
            value = measure(&w[0], q, &c[0], &starts[0], n_blocks, lam, square, &gap)
            if gap > tol and extrapolate(iterates, m, trial):
                for i in range(m):
                    other_q[i] = c[i]
                for k in range(m):
                    if trial[k] != 0.0:
                        for i in range(m):
                            other_q[i] -= trial[k] * gram[k, i]
                other = measure(trial, &other_q[0], &c[0], &starts[0], n_blocks, lam, square, &other_gap)
                if other < value:
                    value, gap = other, other_gap
                    for i in range(m):
                        w[i], q[i] = trial[i], other_q[i]
            place = 0
            for i in range(m):
                iterates[i] = w[i]
    return passes, gap

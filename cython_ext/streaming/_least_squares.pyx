"""Recursive least squares of several targets on the same rows.

Problem: after each row, for every target, the minimiser of the squares of all rows so far plus a ridge penalty,

    W_t = argmin sum_{s<=t} ||y_s - W (x_s, 1)||^2 + penalty ||W||^2

Algorithm: the Sherman-Morrison update of P = (sum x x' + penalty I)^-1: k = P x / (1 + x' P x), W += (y - W x) k',
P -= k (P x)'. Row by row, so that the result has the same bits for all chunks of rows.
Reference: Haykin (2002), Adaptive Filter Theory, 4th ed., section 9.3, without forgetting.
Cost: 2 d^2 per row, and 2 d per target; the state has d^2 values.
Thread-safety: rows and targets are read only; state and predictions belong to the caller; the GIL is released.
"""

from libc.stdlib cimport free, malloc


cdef inline double apply_weights(const double* w, const double* x, Py_ssize_t d) noexcept nogil:
    """Return w (x, 1) for d weights, the intercept last."""
    cdef double total = w[d - 1]
    cdef Py_ssize_t j
    for j in range(d - 1):
        total += w[j] * x[j]
    return total


def update(
    const double[:, ::1] rows,      # in: (m, d - 1)
    const double[:, ::1] targets,   # in: (m, k)
    double[:, ::1] weights,         # in and out: (k, d) W, intercepts last
    double[:, ::1] inverse,         # in and out: (d, d) P, symmetric
    double[:, ::1] predictions,     # out: (m, k) made before each row was learned; or no rows
):
    """Learn the rows in their order."""
    cdef Py_ssize_t m = rows.shape[0], d = weights.shape[1], k = weights.shape[0], t, i, j
    cdef bint wanted = predictions.shape[0] > 0
    cdef double total, share, error
    cdef const double* x
    cdef double* u
    if m == 0:
        return
    u = <double*> malloc(d * sizeof(double))
    if u == NULL:
        raise MemoryError("no memory for recursive least squares")
    with nogil:
        for t in range(m):
            x = &rows[t, 0] if d > 1 else NULL
            total = 1.0
            for i in range(d):
                u[i] = apply_weights(&inverse[i, 0], x, d)
                total += u[i] * (x[i] if i < d - 1 else 1.0)
            for i in range(k):
                error = apply_weights(&weights[i, 0], x, d)
                if wanted:
                    predictions[t, i] = error
                error = (targets[t, i] - error) / total
                for j in range(d):
                    weights[i, j] += error * u[j]
            for i in range(d):
                share = u[i] / total
                for j in range(i + 1):
                    inverse[i, j] -= share * u[j]
                    inverse[j, i] = inverse[i, j]
    free(u)


def predict(
    const double[:, ::1] rows,      # in: (m, d - 1)
    const double[:, ::1] weights,   # in: (k, d)
    double[:, ::1] predictions,     # out: (m, k)
):
    """Compute W (x, 1) of each row."""
    cdef Py_ssize_t m = rows.shape[0], d = weights.shape[1], k = weights.shape[0], t, i
    if m == 0:
        return
    with nogil:
        for t in range(m):
            for i in range(k):
                predictions[t, i] = apply_weights(&weights[i, 0], &rows[t, 0] if d > 1 else NULL, d)

"""Random features of sparse rows with an unbounded set of named columns, and online learning on such features.

Problem: f(a) = sum_p w_p theta_p' z_p(a) for rows a of a graph whose nodes join one by one; theta and w of each output
are learned from one pass.
Algorithm: the D frequencies of a column are independent normals of a generator keyed by (seed, column), so that no
table of columns is needed and their order does not matter. Normals made before are found in a table of bounded size,
one slot per hash, which changes no bit of a result. All widths of one view share the projection of the row. Learning:
a gradient step per kernel and output, log w_p -= step loss_p.
Reference: Shen, Leus & Giannakis (2019), Online graph-adaptive learning with scalability and privacy, IEEE
Transactions on Signal Processing 67, algorithm 2; the features (14), without orthogonal frequencies.
Cost: D deg + P D sines and cosines per row, 4 P D k multiplications for k outputs; the table is `slots` (D + 1) words.
Thread-safety: encode without `store` writes nothing but its output; state belongs to the caller; the GIL is released.
"""

from libc.math cimport exp, log, log1p, sqrt
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

from _rng cimport next_word, uniform
from _sincos cimport pgmx_dot, pgmx_shift, pgmx_sincos, select_feature_level

LEVEL = select_feature_level()

cdef double TWO_PI = 6.283185307179586


cdef inline void draw_normals(uint64_t key, uint64_t seed, double* out, double* work, Py_ssize_t d) noexcept nogil:
    """Fill out with the d normals of a column, by Box and Muller: cosines, then sines; work has 2 (d + 1) elements."""
    cdef uint64_t state = key ^ seed
    cdef Py_ssize_t half = (d + 1) // 2, i
    cdef double* radii = work
    cdef double* angles = work + half
    cdef double* waves = work + 2 * half
    state = next_word(&state)
    for i in range(half):
        radii[i] = 1.0 - uniform(&state)
        angles[i] = TWO_PI * uniform(&state)
    for i in range(half):
        radii[i] = sqrt(-2.0 * log(radii[i]))
    pgmx_sincos(angles, waves + half, waves, half)
    for i in range(half):
        waves[i] *= radii[i]
        waves[half + i] *= radii[i]
    for i in range(d):
        out[i] = waves[i]


def encode(
    const uint64_t[::1] keys,       # in: columns of the entries
    const double[::1] values,       # in: their values
    const long long[::1] starts,    # in: (m n_views + 1) first entry of each view of each row
    Py_ssize_t first,               # in: the first row
    const double[::1] scales,       # in: (n_widths) 1 / width of the kernels
    uint64_t seed,                  # in
    uint64_t[::1] names,            # in and out: (slots) keys of the table; slots is a power of 2
    double[:, ::1] table,           # in and out: (slots, D) their normals
    bint store,                     # in: whether new normals enter the table
    double[:, :, ::1] features,     # out: (m, P, 2 D), P = n_views n_widths: sines, then cosines, over the root of D
    const double[:, ::1] factors=None,  # in: (n_widths, D) factors of the projections; None: 1
    const int[::1] kinds=None,      # in: (n_widths) 0, or the degree of a product of projections, with zeros after it
    bint unit=True,                 # in: whether rows are scaled to unit length
):
    """Compute the features of rows."""
    cdef Py_ssize_t m = features.shape[0], D = table.shape[1], n_widths = scales.shape[0], k
    cdef Py_ssize_t n_views = features.shape[1] // n_widths, t, v, e, i, w, view
    cdef uint64_t mask = <uint64_t> names.shape[0] - 1, key, slot
    cdef double total, value, share = 1.0 / sqrt(<double> D)
    cdef double* sums = <double*> malloc((4 * D + 4) * sizeof(double))
    cdef const double* normals
    cdef double* z
    if sums == NULL:
        raise MemoryError("no memory for random features")
    with nogil:
        for t in range(m):
            for v in range(n_views):
                view = (first + t) * n_views + v
                total = 0.0
                for i in range(D):
                    sums[i] = 0.0
                for e in range(starts[view], starts[view + 1]):
                    key = keys[e]
                    value = values[e]
                    total += value * value
                    slot = (key ^ (key >> 29)) & mask
                    if names[slot] == key:
                        normals = &table[slot, 0]
                    elif store:
                        draw_normals(key, seed, &table[slot, 0], sums + 2 * D, D)
                        names[slot] = key
                        normals = &table[slot, 0]
                    else:
                        draw_normals(key, seed, sums + D, sums + 2 * D, D)
                        normals = sums + D
                    pgmx_shift(sums, normals, 1.0, value, D)
                total = (1.0 / sqrt(total) if total > 0.0 else 0.0) if unit else 1.0
                for w in range(n_widths):
                    z = &features[t, v * n_widths + w, 0]
                    value = total * scales[w]
                    if kinds is not None and kinds[w] > 0:
                        for i in range(D):
                            z[i], z[D + i] = share, 0.0
                            for k in range(kinds[w]):
                                z[i] *= value * sums[(i + k) % D]
                        continue
                    for i in range(D):
                        sums[D + i] = value * sums[i]
                    if factors is not None:
                        for i in range(D):
                            sums[D + i] *= factors[w, i]
                    pgmx_sincos(sums + D, z, z + D, D)
                    for i in range(2 * D):
                        z[i] *= share
    free(sums)


cdef inline double compute_output(const double* theta, const double* z, Py_ssize_t n) noexcept nogil:
    """Return theta' z."""
    cdef Py_ssize_t whole = n - n % 8, i
    cdef double total = pgmx_dot(theta, z, whole)
    for i in range(whole, n):
        total += theta[i] * z[i]
    return total


cdef inline double combine(
    const double* log_weights, const double* outputs, Py_ssize_t n, Py_ssize_t stride
) noexcept nogil:
    """Return the mean of the n outputs under weights; their logs are `stride` elements apart."""
    cdef double largest = log_weights[0], total = 0.0, mean = 0.0, weight
    cdef Py_ssize_t p
    for p in range(1, n):
        largest = max(largest, log_weights[p * stride])
    for p in range(n):
        weight = exp(log_weights[p * stride] - largest)
        total += weight
        mean += weight * outputs[p]
    return mean / total


cdef inline double compute_loss(int loss, double f, double y, double* slope) noexcept nogil:
    """Return the loss of f and set its slope: 0 square, 1 logistic, 2 hinge."""
    cdef double margin = y * f
    if loss == 0:
        slope[0] = 2.0 * (f - y)
        return (f - y) * (f - y)
    if loss == 1:
        slope[0] = -y / (1.0 + exp(margin))
        return log1p(exp(-margin)) if margin > -30.0 else -margin
    slope[0] = -y if margin < 1.0 else 0.0
    return 1.0 - margin if margin < 1.0 else 0.0


def learn(
    const double[:, :, ::1] features,    # in: (m, P, 2 D)
    const double[:, ::1] targets,        # in: (m, k)
    double[:, :, ::1] coefficients,      # in and out: (P, k, 2 D) theta
    double[:, ::1] log_weights,          # in and out: (P, k)
    double[::1] moments,                 # in and out: (3) rows, mean and squares about it; all outputs are centred
    bint centred,                        # in: whether targets are centred and losses divided by their variance
    int loss,                            # in: 0 square, 1 logistic, 2 hinge
    double step,                         # in
    double weight_step,                  # in
    double[:, ::1] predictions,          # out: (m, k) made before each row was learned; or no rows
    double penalty=0.0,                  # in: of the squared length of theta
    bint long_features=False,            # in: whether features longer than 1 divide the step by their squared length
):
    """Learn rows in their order."""
    cdef Py_ssize_t m = features.shape[0], P = features.shape[1], n = features.shape[2], k = targets.shape[1]
    cdef Py_ssize_t t, p, j
    cdef bint wanted = predictions.shape[0] > 0
    cdef double target, error, slope = 0.0, largest, scale = 1.0, own = step
    cdef double* outputs = <double*> malloc(P * sizeof(double))
    if outputs == NULL:
        raise MemoryError("no memory for outputs of kernels")
    with nogil:
        for t in range(m):
            for j in range(k):
                target = targets[t, j]
                for p in range(P):
                    outputs[p] = compute_output(&coefficients[p, j, 0], &features[t, p, 0], n)
                if wanted:
                    predictions[t, j] = moments[1] + combine(&log_weights[0, j], outputs, P, k)
                if centred:
                    moments[0] += 1.0
                    error = target - moments[1]
                    moments[1] += error / moments[0]
                    target -= moments[1]
                    moments[2] += error * target
                    scale = moments[0] / moments[2] if moments[2] > 0.0 else 1.0
                for p in range(P):
                    log_weights[p, j] -= weight_step * scale * compute_loss(loss, outputs[p], target, &slope)
                    if long_features:
                        own = step / max(1.0, compute_output(&features[t, p, 0], &features[t, p, 0], n))
                    pgmx_shift(&coefficients[p, j, 0], &features[t, p, 0], 1.0 - 2.0 * own * penalty, -own * slope, n)
                largest = log_weights[0, j]
                for p in range(1, P):
                    largest = max(largest, log_weights[p, j])
                for p in range(P):
                    log_weights[p, j] -= largest
    free(outputs)


def predict(
    const double[:, :, ::1] features,    # in: (m, P, 2 D)
    const double[:, :, ::1] coefficients,  # in: (P, k, 2 D)
    const double[:, ::1] log_weights,    # in: (P, k)
    const double[::1] moments,           # in: (3)
    double[:, ::1] predictions,          # out: (m, k)
):
    """Compute the outputs of rows."""
    cdef Py_ssize_t m = features.shape[0], P = features.shape[1], n = features.shape[2], k = predictions.shape[1]
    cdef Py_ssize_t t, p, j
    cdef double* outputs = <double*> malloc(P * sizeof(double))
    if outputs == NULL:
        raise MemoryError("no memory for outputs of kernels")
    with nogil:
        for t in range(m):
            for j in range(k):
                for p in range(P):
                    outputs[p] = compute_output(&coefficients[p, j, 0], &features[t, p, 0], n)
                predictions[t, j] = moments[1] + combine(&log_weights[0, j], outputs, P, k)
    free(outputs)

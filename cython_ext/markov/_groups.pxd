# Penalised groups of parameters: the distance from optimality, and the minimiser of a separable quadratic plus penalty.
#
# The penalty is lam ||x||_2 of the group, or lam sum |x_k| over its active cells with all other cells fixed at zero.
# Both functions work on the caller's memory and are thread-safe.
# Reference: Moré & Sorensen (1983), SIAM Journal on Scientific and Statistical Computing 4, 553-572 (scalar equation).

from libc.math cimport fabs, sqrt
from libc.stdint cimport uint8_t


cdef inline double distance_from_optimal(
    const double *gradient, const double *values, const uint8_t *active, Py_ssize_t size, double lam, bint cellwise
) noexcept nogil:
    # 2-norm of the least element of the subdifferential.
    cdef Py_ssize_t k
    cdef double norm = 0.0, total = 0.0, part
    if cellwise:
        for k in range(size):
            if not active[k]:
                continue
            if values[k] != 0.0:
                part = gradient[k] + (lam if values[k] > 0.0 else -lam)
            else:
                part = max(0.0, fabs(gradient[k]) - lam)
            total += part * part
        return sqrt(total)
    for k in range(size):
        norm += values[k] * values[k]
        total += gradient[k] * gradient[k]
    if norm == 0.0:
        return max(0.0, sqrt(total) - lam)
    if lam == 0.0:
        return sqrt(total)
    norm, total = lam / sqrt(norm), 0.0
    for k in range(size):
        part = gradient[k] + norm * values[k]
        total += part * part
    return sqrt(total)


cdef inline void minimise_model(
    double *pull, const double *curvature, double *values, const uint8_t *active, Py_ssize_t size, double lam,
    bint cellwise,
) noexcept nogil:
    # values = argmin sum_k curvature_k x_k^2 / 2 - pull_k x_k + penalty(x)
    cdef Py_ssize_t k, _
    cdef double norm = 0.0, steepest = 0.0, radius, least, total, slope, denominator, part
    if cellwise:
        for k in range(size):
            if not active[k] or fabs(pull[k]) <= lam:
                values[k] = 0.0
            else:
                values[k] = (pull[k] - (lam if pull[k] > 0.0 else -lam)) / curvature[k]
        return
    if lam == 0.0:
        for k in range(size):
            values[k] = pull[k] / curvature[k]
        return
    for k in range(size):
        norm += pull[k] * pull[k]
        steepest = max(steepest, curvature[k])
    norm = sqrt(norm)
    if norm <= lam:
        for k in range(size):
            values[k] = 0.0
        return
    # x_k = radius pull_k / (curvature_k radius + lam) with radius = ||x||: Newton's method on 1 / ||pull / (...)|| - 1,
    # increasing and concave, hence from the left without overshooting.
    least = (norm - lam) / steepest
    radius = least
    for _ in range(50):
        total = slope = 0.0
        for k in range(size):
            denominator = 1.0 / (curvature[k] * radius + lam)
            part = pull[k] * denominator
            part *= part
            total += part
            slope += part * curvature[k] * denominator
        norm = sqrt(total)
        part = (norm - 1.0) * total / slope
        radius = max(radius + part, least)
        if fabs(part) <= 1e-9 * radius:
            break
    for k in range(size):
        values[k] = radius * pull[k] / (curvature[k] * radius + lam)

# The parameters of a node without edges: its term of the pseudolikelihood depends only on the shares of its states.

from libc.math cimport exp, log, sqrt


cdef inline void fit_lone_node(
    double *x, const double *f, Py_ssize_t s, double l2, double penalty, double *ahead, double *gradient
) noexcept nogil:
    # Minimise (log sum exp x - f' x) / 2 + penalty * ||x|| + l2 / 2 * ||x||^2 by accelerated proximal gradient; the
    # loss has curvature 1/4 at most. Starts from the logits of the shares f, which are the optimum without penalties; a
    # state that never occurs starts at 1e-6. `ahead` and `gradient` are scratch.
    cdef double mean = 0, total, norm, shrink, moved, old, momentum = 1, following, step = 1 / (0.25 + l2)
    cdef Py_ssize_t a, _step
    for a in range(s):
        x[a] = log(max(f[a], 1e-6))
        mean += x[a] / s
    for a in range(s):
        x[a] -= mean
        ahead[a] = x[a]
    for _step in range(5000):
        total = 0
        for a in range(s):
            gradient[a] = exp(ahead[a])
            total += gradient[a]
        norm = 0
        for a in range(s):
            gradient[a] = ahead[a] - step * (0.5 * (gradient[a] / total - f[a]) + l2 * ahead[a])
            norm += gradient[a] * gradient[a]
        norm = sqrt(norm)
        shrink = 1
        if penalty > 0:
            shrink = 1 - penalty * step / norm if norm > penalty * step else 0
        following = (1 + sqrt(1 + 4 * momentum * momentum)) / 2
        moved = 0
        for a in range(s):
            old = x[a]
            x[a] = shrink * gradient[a]
            moved += (x[a] - ahead[a]) * (x[a] - ahead[a])
            ahead[a] = x[a] + (momentum - 1) / following * (x[a] - old)
        momentum = following
        if moved < 1e-20:
            return

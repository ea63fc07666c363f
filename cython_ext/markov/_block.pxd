# One block of the pseudolikelihood: the table W of an edge (i, j) together with the parameters of its two nodes.
#
# Let h[a, b] be the mean over all rows of p(x_i = a | rest) [x_j = b], f[b] its sum over a, and D[a, b] the step of the
# logit of state a in rows with x_j = b. For D of range at most R in each b, an upper bound of the term of node i is
#
#     <g, D> + psi(R) / 2 * sum_b D_b' (diag(h_b) - h_b h_b' / f_b) D_b,    psi(R) = (exp(R) - 1 - R) / R^2,
#
# because the variance of D_b under the shifted conditional is at most exp(t R) times that under the present one, and
# the mean of p p' over rows is at least the product of the means. So the block needs no Hessian pass over the rows and
# no line search: the bound is minimised with the penalty (accelerated proximal gradient on s_i s_j + s_i + s_j
# parameters), R is read from the step, and the bound is raised if R is larger than assumed.
# All functions work on the caller's memory and are thread-safe.

from libc.math cimport exp, fabs, sqrt


cdef struct Group:
    Py_ssize_t size
    double *value        # current parameters
    double *trial        # iterate
    double *ahead        # extrapolated point
    double *gradient     # of the smooth bound at the extrapolated point
    double curvature     # step is 1 / curvature
    double penalty       # times the norm (feature-wise: times each absolute value)
    const unsigned char *mask   # feature-wise: cells that may be non-zero; else NULL


cdef struct Side:
    Py_ssize_t rows       # states of the node
    Py_ssize_t columns    # states of its neighbour
    const double *mass    # h, rows x columns
    const double *margin  # f, columns
    double *step          # D, rows x columns


cdef inline double norm_of(const double *x, Py_ssize_t size) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t k
    for k in range(size):
        total += x[k] * x[k]
    return sqrt(total)


cdef inline double group_violation(
    const double *value, const double *gradient, Py_ssize_t size, double penalty, double l2, const unsigned char *mask
) noexcept nogil:
    # Distance of 0 from the subdifferential of the objective in this group.
    cdef double norm, g, total = 0
    cdef Py_ssize_t k
    if mask != NULL:
        for k in range(size):
            if mask[k]:
                g = gradient[k] + l2 * value[k]
                if value[k] > 0:
                    g += penalty
                elif value[k] < 0:
                    g -= penalty
                else:
                    g = max(fabs(g) - penalty, 0)
                total += g * g
        return sqrt(total)
    norm = norm_of(value, size)
    if norm == 0:
        return max(norm_of(gradient, size) - penalty, 0)
    for k in range(size):
        g = gradient[k] + (l2 + penalty / norm) * value[k]
        total += g * g
    return sqrt(total)


cdef inline void shrink_group(Group *group) noexcept nogil:
    # The prox of the penalty, on trial.
    cdef double shrink, norm, threshold = group.penalty / group.curvature
    cdef Py_ssize_t k
    if group.mask != NULL:
        for k in range(group.size):
            shrink = max(fabs(group.trial[k]) - threshold, 0) if group.mask[k] else 0
            group.trial[k] = shrink if group.trial[k] > 0 else -shrink
    elif threshold > 0:
        norm = norm_of(group.trial, group.size)
        shrink = 1 - threshold / norm if norm > threshold else 0
        for k in range(group.size):
            group.trial[k] *= shrink


cdef inline double spread(const Side *side) noexcept nogil:
    # Largest range of the step within a state of the neighbour.
    cdef double low, high, widest = 0
    cdef Py_ssize_t a, b
    for b in range(side.columns):
        low = high = side.step[b]
        for a in range(1, side.rows):
            low = min(low, side.step[a * side.columns + b])
            high = max(high, side.step[a * side.columns + b])
        widest = max(widest, high - low)
    return widest


cdef inline double bound_factor(double reach) noexcept nogil:
    # 2 psi(R)
    if reach < 1e-2:
        return 1 + reach / 3 + reach * reach / 12
    return 2 * (exp(reach) - 1 - reach) / (reach * reach)


cdef inline void curvatures(const Side *side, double *largest, double *summed) noexcept nogil:
    # Bounds on the eigenvalues of diag(h_b) - h_b h_b' / f_b: their maximum and their sum over b.
    cdef double top
    cdef Py_ssize_t a, b
    largest[0] = summed[0] = 0
    for b in range(side.columns):
        top = 0
        for a in range(side.rows):
            top = max(top, side.mass[a * side.columns + b])
        top = min(top, 0.5 * side.margin[b])
        largest[0] = max(largest[0], top)
        summed[0] += top


cdef inline void add_curved(
    const Side *side, double factor, double *table, double *node, bint transposed
) noexcept nogil:
    # Add factor * (diag(h_b) - h_b h_b' / f_b) D_b to the gradients of the table and of the node.
    cdef double mean, pull
    cdef Py_ssize_t a, b
    for b in range(side.columns):
        mean = 0
        for a in range(side.rows):
            mean += side.mass[a * side.columns + b] * side.step[a * side.columns + b]
        mean = mean / side.margin[b] if side.margin[b] > 0 else 0
        for a in range(side.rows):
            pull = factor * side.mass[a * side.columns + b] * (side.step[a * side.columns + b] - mean)
            node[a] += pull
            table[b * side.rows + a if transposed else a * side.columns + b] += pull


cdef inline void set_steps(
    const Group *table, const Group *first, const Group *second, const double *w, const double *u, const double *v,
    Side *of_first, Side *of_second
) noexcept nogil:
    # D of both sides at the point (w, u, v).
    cdef Py_ssize_t a, b, rows = first.size, columns = second.size
    cdef double d
    for a in range(rows):
        for b in range(columns):
            d = w[a * columns + b] - table.value[a * columns + b]
            of_first.step[a * columns + b] = d + u[a] - first.value[a]
            of_second.step[b * rows + a] = d + v[b] - second.value[b]


cdef inline Py_ssize_t minimise_bound(
    Group *groups, Side *of_first, Side *of_second, const double *slopes, double l2, double factor, double tol,
    Py_ssize_t most
) noexcept nogil:
    # groups: table, first node, second node; slopes: their gradients at the current point, one after the other.
    # Starts from `trial`; leaves the minimiser there. Returns the iterations.
    cdef Group *group
    cdef Py_ssize_t k, c, at, step
    cdef double momentum = 1, ahead, moved, against, old, fresh
    for c in range(3):
        for k in range(groups[c].size):
            groups[c].ahead[k] = groups[c].trial[k]
    for step in range(most):
        set_steps(
            &groups[0], &groups[1], &groups[2], groups[0].ahead, groups[1].ahead, groups[2].ahead, of_first, of_second
        )
        at = 0
        for c in range(3):
            group = &groups[c]
            for k in range(group.size):
                group.gradient[k] = slopes[at + k] + l2 * group.ahead[k]
            at += group.size
        add_curved(of_first, 0.5 * factor, groups[0].gradient, groups[1].gradient, False)
        add_curved(of_second, 0.5 * factor, groups[0].gradient, groups[2].gradient, True)
        moved = 0
        against = 0
        ahead = (1 + sqrt(1 + 4 * momentum * momentum)) / 2
        for c in range(3):
            group = &groups[c]
            # gradient becomes the old trial, so that one array serves both
            for k in range(group.size):
                old = group.trial[k]
                fresh = group.ahead[k] - group.gradient[k] / group.curvature
                group.gradient[k] = old
                group.trial[k] = fresh
            shrink_group(group)
            for k in range(group.size):
                old = group.gradient[k]
                moved += (group.trial[k] - group.ahead[k]) * (group.trial[k] - group.ahead[k]) * group.curvature ** 2
                against += (group.ahead[k] - group.trial[k]) * (group.trial[k] - old) * group.curvature
        for c in range(3):
            group = &groups[c]
            for k in range(group.size):
                group.ahead[k] = group.trial[k] + (
                    (momentum - 1) / ahead * (group.trial[k] - group.gradient[k]) if against <= 0 else 0
                )
        momentum = ahead if against <= 0 else 1
        if moved < tol * tol:
            return step + 1
    return most

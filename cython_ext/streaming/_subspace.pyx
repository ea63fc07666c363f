"""Sketches of rows of categories in a low-dimensional subspace, and the subspace learned from the rows, one by one.

Problem: value i of row t has the predictors x_j = m_j + b_ij + a_j + u_ij' psi, j < c; c = 1 except for a logit of more
than two levels. A row's sketch z = (psi, a) is the minimiser, for the current subspace, of

    g(z) = -sum_{i observed} log p(y_i | x) + lam/2 ||psi||^2 + lam_offset/2 ||a||^2

probit: p = Phi(h) - Phi(l), l and h the thresholds around the level minus x; tobit: the density of y - x inside the
bounds, p as in probit beyond them; tobit of type II: p inside, the density beyond; logit: softmax of (0, x), level 0 is
the base.
Algorithm: Newton's method (halved steps if the gradient grows) or gradient descent from zero; then one gradient step
for u_i of the observed columns, and u <- u / (1 + step lam / t) for all columns by one scalar. Offsets and thresholds
(of a probit by the first threshold and the logarithms of the gaps; of a logit as minus the common offset) have step
sizes of an average. Bounds of a tobit move up to the nearest exact value. Tails use Mills' ratio, mirrored so that the
value is right of x.
Reference: Shen (2019), thesis, University of Minnesota, algorithms 1, 1a and 1b, equations (2.14) to (2.23); the sign
of (2.20) corrected, the tobits derived from (2.3) and (2.4).
Cost: (observed values) c (c + k) k + k^3 / 6 per Newton step, k = d + c; columns that are not observed cost nothing.
Thread-safety: values are read only, and the state too by `sketch_rows`; the GIL is released.
"""

from libc.math cimport INFINITY, erf, erfc, exp, fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

cdef enum:
    PROBIT
    TOBIT
    LOGIT
    TOBIT_II

cdef double ROOT_HALF = 0.7071067811865476
cdef double HALF_ROOT_TWO_PI = 1.2533141373155003
cdef double DENSITY = 0.3989422804014327  # of N(0, 1) at 0
cdef double FAR = 30.0                    # from here on Mills' ratio is computed by its series
cdef double EARLY = 1000.0                # rows before which the penalty on the subspace does not grow with 1 / t
cdef double PRIOR = 10.0                  # prior number of values of the common offset and the thresholds
cdef double SMALL = 1e-6                  # of the scale: the subspace is multiplied out

# Largest number of steps per sketch and the gradient at which they end, for learning and for sketches only.
cdef int LEARN_STEPS = 8, SKETCH_STEPS = 60, DESCENT = 40
cdef double LEARN_TOL = 1e-3, SKETCH_TOL = 1e-9


cdef struct Model:
    int kind
    bint offsets, newton, learn_thresholds
    Py_ssize_t n_columns, d, c, k, n_levels
    double lam, lam_offset, step, decay
    double *subspace    # (n_columns, c, d); times the scale
    double *offset      # (n_columns, c)
    double *count       # (n_columns,) values learned
    double *centre      # (c,)
    double *threshold   # (n_levels + 1,), infinite at both ends
    double *progress    # scale, rows, values
    double *limit       # (2,) values that the bounds of a tobit cannot pass


cdef struct Work:
    double *design      # (most, c, k) rows (u_ij, e_j) of the observed values
    double *base        # (most, c) m_j + b_ij
    double *score       # (most, c) derivative of log p
    double *x           # (c,)
    double *curvature   # (c, c) minus the second derivative
    double *product     # (k,)
    double *hessian     # (k, k), lower triangle
    double *gradient    # (k,)
    double *move        # (k,)
    double *slope       # (n_levels + 1,) derivative by thresholds


cdef inline double compute_mills_ratio(double z) noexcept nogil:
    """Return Q(z) / phi(z) for z >= 0."""
    cdef double q
    if z < FAR:
        return HALF_ROOT_TWO_PI * erfc(ROOT_HALF * z) * exp(0.5 * z * z)
    q = 1 / (z * z)
    return (1 - q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q * (1 - 9 * q))))) / z


cdef inline void differentiate_interval(
    double low, double high, double *score, double *curvature, double *at_low, double *at_high
) noexcept nogil:
    """First and minus second derivative by x of log(Phi(high) - Phi(low)); phi(low) and phi(high) by that mass."""
    cdef double a = low, b = high, s, c, r, mass
    cdef bint mirrored = low + high < 0
    if mirrored:
        a, b = -high, -low
    if b == INFINITY:
        r = 0
        s = 1 / compute_mills_ratio(a) if a >= 0 else DENSITY * exp(-0.5 * a * a) / (0.5 * erfc(ROOT_HALF * a))
        c = s * (s - a)
    elif b - a < 1e-5:  # as narrow as a point
        s, c = 0.5 * (a + b), 1
        r = 1 / (b - a)
    elif a >= 0:
        r = exp(-0.5 * (b - a) * (b + a))
        mass = compute_mills_ratio(a) - r * compute_mills_ratio(b)
        s = (1 - r) / mass
        c = s * s - (a - r * b) / mass
        r /= mass
    else:
        mass = 0.5 * (erf(ROOT_HALF * b) - erf(ROOT_HALF * a))
        r = DENSITY * exp(-0.5 * b * b) / mass
        s = DENSITY * exp(-0.5 * a * a) / mass
        c = (s - r) * (s - r) - (a * s - b * r)
        s -= r
    curvature[0] = min(max(c, 0.0), 1.0)
    score[0] = -s if mirrored else s
    at_low[0], at_high[0] = (r, s + r) if mirrored else (s + r, r)


cdef inline bint is_exact(Model *m, int code) noexcept nogil:
    """Return whether a value of a tobit is known, not censored."""
    return (m.kind == TOBIT and code == 1) or (m.kind == TOBIT_II and code != 1)


cdef void differentiate_cell(Model *m, int code, double value, Work *w, double *score) noexcept nogil:
    """Write score (c,) and w.curvature (c, c) of a value at w.x; add to w.slope if thresholds are learned."""
    cdef double at_low, at_high, total, top
    cdef Py_ssize_t j, p
    if m.kind == LOGIT:
        top = 0
        for j in range(m.c):
            top = max(top, w.x[j])
        total = exp(-top)
        for j in range(m.c):
            w.x[j] = exp(w.x[j] - top)
            total += w.x[j]
        for j in range(m.c):
            w.x[j] /= total
        for j in range(m.c):
            score[j] = (code == j + 1) - w.x[j]
            for p in range(m.c):
                w.curvature[j * m.c + p] = (w.x[j] if p == j else 0) - w.x[j] * w.x[p]
    elif is_exact(m, code):
        score[0], w.curvature[0] = value - w.x[0], 1
    else:
        differentiate_interval(
            m.threshold[code] - w.x[0], m.threshold[code + 1] - w.x[0], score, w.curvature, &at_low, &at_high
        )
        if m.learn_thresholds:
            w.slope[code] -= at_low
            w.slope[code + 1] += at_high


cdef void solve_cholesky(double *H, double *g, double *out, Py_ssize_t k) noexcept nogil:
    """Solve H out = g for a positive definite H, whose lower triangle becomes its factor."""
    cdef Py_ssize_t i, j, p
    cdef double v
    for j in range(k):
        v = H[j * k + j]
        for p in range(j):
            v -= H[j * k + p] * H[j * k + p]
        v = sqrt(v)
        H[j * k + j] = v
        for i in range(j + 1, k):
            for p in range(j):
                H[i * k + j] -= H[i * k + p] * H[j * k + p]
            H[i * k + j] /= v
    for j in range(k):
        v = g[j]
        for p in range(j):
            v -= H[j * k + p] * out[p]
        out[j] = v / H[j * k + j]
    for j in range(k - 1, -1, -1):
        v = out[j]
        for p in range(j + 1, k):
            v -= H[p * k + j] * out[p]
        out[j] = v / H[j * k + j]


cdef void gather_cells(Model *m, const int32_t *columns, Py_ssize_t n, Work *w) noexcept nogil:
    """Write design and base of the observed columns."""
    cdef Py_ssize_t r, j, p, i
    cdef double *row
    for r in range(n):
        i = columns[r]
        for j in range(m.c):
            row = w.design + (r * m.c + j) * m.k
            for p in range(m.d):
                row[p] = m.progress[0] * m.subspace[(i * m.c + j) * m.d + p]
            for p in range(m.d, m.k):
                row[p] = p == m.d + j
            w.base[r * m.c + j] = m.centre[j] + m.offset[i * m.c + j]


cdef double differentiate_row(
    Model *m, const int32_t *codes, const double *values, Py_ssize_t n, const double *z, Work *w
) noexcept nogil:
    """Write scores, gradient of -g and, for Newton's method, the Hessian of g at z; return the largest gradient."""
    cdef Py_ssize_t r, j, p, i, k = m.k
    cdef double total, largest = 0
    cdef double *row
    cdef double *other
    for p in range(k):
        total = m.lam if p < m.d else m.lam_offset
        w.gradient[p] = -total * z[p]
        for i in range(p):
            w.hessian[p * k + i] = 0
        w.hessian[p * k + p] = total
    for p in range(m.n_levels + 1):
        w.slope[p] = 0
    for r in range(n):
        for j in range(m.c):
            row = w.design + (r * m.c + j) * k
            total = w.base[r * m.c + j]
            for p in range(k):
                total += row[p] * z[p]
            w.x[j] = total
        differentiate_cell(m, codes[r], values[r], w, w.score + r * m.c)
        for j in range(m.c):
            row = w.design + (r * m.c + j) * k
            total = w.score[r * m.c + j]
            for p in range(k):
                w.gradient[p] += total * row[p]
            if not m.newton:
                continue
            for p in range(k):
                w.product[p] = 0
            for i in range(m.c):
                other = w.design + (r * m.c + i) * k
                total = w.curvature[j * m.c + i]
                for p in range(k):
                    w.product[p] += total * other[p]
            for p in range(k):
                total = row[p]
                for i in range(p + 1):
                    w.hessian[p * k + i] += total * w.product[i]
    for p in range(k):
        largest = max(largest, fabs(w.gradient[p]))
    return largest


cdef void sketch_row(
    Model *m, const int32_t *columns, const int32_t *codes, const double *values, Py_ssize_t n,
    int steps, double tol, double *z, Work *w
) noexcept nogil:
    """Write the sketch z (k,) of a row, and the scores there."""
    cdef Py_ssize_t p, k = m.k
    cdef int step
    cdef double largest, before = INFINITY, bound = 0
    gather_cells(m, columns, n, w)
    for p in range(k):
        z[p] = 0
    if not m.newton:
        for p in range(n * m.c * k):
            bound += w.design[p] * w.design[p]
        bound = max(m.lam, m.lam_offset) + bound * (0.25 if m.kind == LOGIT and m.c == 1 else 1.0)
        steps *= DESCENT
    for step in range(steps + 1):
        largest = differentiate_row(m, codes, values, n, z, w)
        if largest <= tol or step == steps:
            return
        if not m.newton:
            for p in range(k):
                z[p] += w.gradient[p] / bound
        elif largest > before:
            for p in range(k):
                w.move[p] *= 0.5
                z[p] -= w.move[p]
        else:
            before = largest
            solve_cholesky(w.hessian, w.gradient, w.move, k)
            for p in range(k):
                z[p] += w.move[p]


cdef void step_thresholds(Model *m, Work *w) noexcept nogil:
    """Move the first threshold and the logarithms of the gaps along the derivatives w.slope of the last row."""
    cdef Py_ssize_t j
    cdef double share = 1 / (PRIOR + m.progress[2]), total = 0, gap
    for j in range(m.n_levels - 1, 1, -1):
        total += w.slope[j]
        gap = m.threshold[j] - m.threshold[j - 1]
        w.slope[j] = gap * exp(min(max(share * total * gap, -1.0), 1.0))
    m.threshold[1] += share * (total + w.slope[1])
    for j in range(2, m.n_levels):
        m.threshold[j] = m.threshold[j - 1] + w.slope[j]


cdef void step_bounds(
    Model *m, const int32_t *codes, const double *values, Py_ssize_t n, Work *w
) noexcept nogil:
    """Move the bounds of a tobit along w.slope; no exact value may become a censored one."""
    cdef Py_ssize_t r, j
    cdef double side, share = 1 / (PRIOR + m.progress[2])
    cdef double nearer = 1.0 if m.kind == TOBIT else -1.0  # the lower bound of type I rises
    for r in range(n):
        if is_exact(m, codes[r]):
            for j in range(2):
                if m.kind == TOBIT or codes[r] == 2 * j:
                    side = nearer if j == 0 else -nearer
                    m.limit[j] = side * min(side * m.limit[j], side * values[r])
    for j in range(2):
        if fabs(m.limit[j]) == INFINITY:  # a bound waits for an exact value, since bounds must not cross
            continue
        side = nearer if j == 0 else -nearer
        m.threshold[j + 1] = side * min(side * (m.threshold[j + 1] + share * w.slope[j + 1]), side * m.limit[j])


cdef void learn_row(
    Model *m, const int32_t *columns, const int32_t *codes, const double *values, Py_ssize_t n, const double *z, Work *w
) noexcept nogil:
    """Move subspace, offsets and thresholds by the scores of a row at its sketch."""
    cdef Py_ssize_t r, j, p, i
    cdef double rate, share, score, bend = 0.25 if m.kind == LOGIT else 1.0
    cdef double *u
    rate = m.step / (1 + m.decay * m.progress[2] / m.n_columns)
    m.progress[1] += 1
    m.progress[2] += n
    m.progress[0] /= 1 + rate * m.lam / max(m.progress[1], EARLY)
    for r in range(n):
        i = columns[r]
        m.count[i] += 1
        rate = m.step / (1 + m.decay * m.count[i]) / m.progress[0]
        share = 1 / (m.lam_offset + bend * m.count[i])
        for j in range(m.c):
            score = w.score[r * m.c + j]
            u = m.subspace + (i * m.c + j) * m.d
            for p in range(m.d):
                u[p] += rate * score * z[p]
            if m.offsets:
                m.offset[i * m.c + j] += share * score
    if m.learn_thresholds and m.kind == PROBIT:
        step_thresholds(m, w)
    elif m.learn_thresholds and m.kind != LOGIT:
        step_bounds(m, codes, values, n, w)
    if (m.offsets and not (m.learn_thresholds and m.kind == PROBIT)) or (m.learn_thresholds and m.kind == LOGIT):
        for j in range(m.c):
            score = 0
            for r in range(n):
                score += w.score[r * m.c + j]
            m.centre[j] += score / (bend * (PRIOR + m.progress[2]))
    if m.progress[0] < SMALL:
        for p in range(m.n_columns * m.c * m.d):
            m.subspace[p] *= m.progress[0]
        m.progress[0] = 1


cdef bint handle_rows(
    Model *m, const int64_t[::1] starts, const int32_t[::1] columns, const int32_t[::1] codes,
    const double[::1] values, double[:, ::1] sketches, bint learn
) noexcept nogil:
    """Sketch each row, and learn it; return False if memory is short."""
    cdef Py_ssize_t t, n, most = 1, n_rows = starts.shape[0] - 1, ck = m.c * m.k
    cdef int steps = LEARN_STEPS if learn else SKETCH_STEPS
    cdef double tol = LEARN_TOL if learn else SKETCH_TOL
    cdef const int32_t *columns_at
    cdef const int32_t *codes_at
    cdef const double *values_at
    cdef Work w
    cdef double *block
    for t in range(n_rows):
        most = max(most, starts[t + 1] - starts[t])
    block = <double *> calloc(
        most * (ck + 2 * m.c) + m.c * (m.c + 1) + m.k * (m.k + 3) + m.n_levels + 1, sizeof(double)
    )
    if block == NULL:
        return False
    w.design = block
    w.base = w.design + most * ck
    w.score = w.base + most * m.c
    w.x = w.score + most * m.c
    w.curvature = w.x + m.c
    w.product = w.curvature + m.c * m.c
    w.hessian = w.product + m.k
    w.gradient = w.hessian + m.k * m.k
    w.move = w.gradient + m.k
    w.slope = w.move + m.k
    for t in range(n_rows):
        n = starts[t + 1] - starts[t]
        columns_at, codes_at, values_at = NULL, NULL, NULL
        if n:
            columns_at, codes_at, values_at = &columns[starts[t]], &codes[starts[t]], &values[starts[t]]
        sketch_row(m, columns_at, codes_at, values_at, n, steps, tol, &sketches[t, 0], &w)
        if learn:
            learn_row(m, columns_at, codes_at, values_at, n, &sketches[t, 0], &w)
    free(block)
    return True


def learn_rows(
    const int64_t[::1] starts,      # in: (rows + 1,) first value of each row
    const int32_t[::1] columns,     # in: (cells,)
    const int32_t[::1] codes,       # in: (cells,) position of the level; tobits: 0 and 2 beyond the bounds, 1 inside
    const double[::1] values,       # in: (cells,) values of a tobit, in units of the noise
    double[:, :, ::1] subspace,     # in and out: (n_columns, c, d)
    double[:, ::1] offset,          # in and out: (n_columns, c)
    double[::1] count,              # in and out: (n_columns,) values learned per column
    double[::1] centre,             # in and out: (c,)
    double[::1] threshold,          # in and out: (levels + 1,) ascending from -inf to inf
    double[::1] progress,           # in and out: scale of the subspace, rows and values learned
    int kind,                       # 0 probit, 1 tobit, 2 logit, 3 tobit of type II
    bint offsets,
    bint newton,                    # or gradient descent
    bint learn_thresholds,
    double lam,                     # penalty on sketches and subspace
    double lam_offset,              # penalty on offsets
    double step,                    # of the subspace, for the first values of a column
    double decay,                   # 1 / (number of values of a column after which the step has halved)
    double[:, ::1] sketches,        # out: (rows, d + c)
    double[::1] limit=None,         # in and out: (2,) values that learned bounds of a tobit cannot pass
):
    """Learn the rows in their order."""
    cdef Model m
    cdef bint enough
    m.kind, m.offsets, m.newton, m.learn_thresholds = kind, offsets, newton, learn_thresholds
    m.n_columns, m.c, m.d = subspace.shape[0], subspace.shape[1], subspace.shape[2]
    m.k, m.n_levels = sketches.shape[1], threshold.shape[0] - 1
    m.lam, m.lam_offset, m.step, m.decay = lam, lam_offset, step, decay
    m.subspace, m.offset, m.count = &subspace[0, 0, 0], &offset[0, 0], &count[0]
    m.centre, m.threshold, m.progress = &centre[0], &threshold[0], &progress[0]
    m.limit = NULL if limit is None else &limit[0]
    with nogil:
        enough = handle_rows(&m, starts, columns, codes, values, sketches, True)
    if not enough:
        raise MemoryError("cannot allocate memory for the values of the longest row")


def sketch_rows(
    const int64_t[::1] starts,
    const int32_t[::1] columns,
    const int32_t[::1] codes,
    const double[::1] values,
    const double[:, :, ::1] subspace,
    const double[:, ::1] offset,
    const double[::1] centre,
    const double[::1] threshold,
    const double[::1] progress,
    int kind,
    bint offsets,
    bint newton,
    double lam,
    double lam_offset,
    double[:, ::1] sketches,
):
    """Write the sketch of each row, without learning; arguments as in `learn_rows`."""
    cdef Model m
    cdef bint enough
    m.kind, m.offsets, m.newton, m.learn_thresholds = kind, offsets, newton, False
    m.n_columns, m.c, m.d = subspace.shape[0], subspace.shape[1], subspace.shape[2]
    m.k, m.n_levels = sketches.shape[1], threshold.shape[0] - 1
    m.lam, m.lam_offset, m.step, m.decay, m.count, m.limit = lam, lam_offset, 0, 0, NULL, NULL
    m.subspace, m.offset = <double *> &subspace[0, 0, 0], <double *> &offset[0, 0]
    m.centre, m.threshold, m.progress = <double *> &centre[0], <double *> &threshold[0], <double *> &progress[0]
    with nogil:
        enough = handle_rows(&m, starts, columns, codes, values, sketches, False)
    if not enough:
        raise MemoryError("cannot allocate memory for the values of the longest row")

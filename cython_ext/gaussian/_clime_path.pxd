# One column of the CLIME estimator along its penalty, by exchanges of a primal-dual pair of active sets.
#
# State: q lives on the variables of the basis, y on its constraints, r = e_j - S q and g = S y with S = R + ridge I.
# Optimal at lam are |r_i| <= lam with equality on the constraints, |g_i| <= 1 with equality on the variables, and the
# signs of y those of r, the signs of q those of g. Every bound is widened by its own tiny amount (TILT_*). This breaks
# ties (equal correlations, collinear columns) one by one, so that exchanges cannot cycle.

from libc.math cimport INFINITY, fabs
from libc.stddef cimport ptrdiff_t, size_t
from libc.string cimport memset

from _basis cimport (
    Basis, apply_inverse, apply_transposed, basis_grow, basis_invert, basis_replace_constraint,
    basis_replace_variable, basis_shrink, border_row, combine,
)
from _dense cimport pgmx_abs_max, pgmx_axpy


cdef extern from "_pivots.h" nogil:
    double pgmx_first_bound(
        const double *g, const double *v, const double *reach, ptrdiff_t n, double least, ptrdiff_t *who
    )
    double pgmx_first_breach(
        const double *r, const double *v, const double *slack, ptrdiff_t n, double lam, double least,
        ptrdiff_t *who, int *side
    )
    int pgmx_pivots_level

cdef extern from *:
    """
    /* The widening of |g_i| <= 1 and of |r_i| <= lam, times a number in (0, 1) of its own for each i. */
    #define PGMX_TILT_DUAL 1e-10
    #define PGMX_TILT_PRIMAL 1e-12
    /* Entries of a direction below this share of its weights are zero up to rounding. */
    #define PGMX_LEAST 1e-11
    /* Exchanges after which q, y, r and g are recomputed, and the error that requires a new inverse. */
    #define PGMX_FRESH_EVERY 40
    #define PGMX_DRIFT 1e-11
    /* The error of a new inverse above which the basis counts as singular. */
    #define PGMX_WORST_DRIFT 1e-8
    /* After an exchange on a pivot below this share of the largest, values are recomputed at once. */
    #define PGMX_SMALL_PIVOT 1e-6
    /* Allowed excess over a bound to avoid such a pivot. */
    #define PGMX_OVERRUN 1e-10
    /* Consecutive steps of length zero, in addition to four per row of the matrix, that end a column. */
    #define PGMX_STALLED 200
    """
    const double TILT_DUAL "PGMX_TILT_DUAL"
    const double TILT_PRIMAL "PGMX_TILT_PRIMAL"
    const double LEAST "PGMX_LEAST"
    const ptrdiff_t FRESH_EVERY "PGMX_FRESH_EVERY"
    const double DRIFT "PGMX_DRIFT"
    const double WORST_DRIFT "PGMX_WORST_DRIFT"
    const double SMALL_PIVOT "PGMX_SMALL_PIVOT"
    const double OVERRUN "PGMX_OVERRUN"
    const ptrdiff_t STALLED "PGMX_STALLED"

# Status of a column.
cdef enum:
    RUNNING
    DONE            # all penalties reached
    INFEASIBLE      # no q satisfies a smaller radius
    STUCK           # singular basis, a stall, or too many exchanges
    SPENT           # the allowance of work is used up
    NO_MEMORY

cdef struct Path:
    Basis basis
    ptrdiff_t j
    double lam                # radius reached
    double *r                 # (p,) e_j - S q
    double *dr                # (p,) S dq
    double *g                 # (p,) S y
    double *dg                # (p,)
    double *reach             # (p,) bound of |g|, infinite for active variables
    double *slack             # (p,) widening of |r|, infinite for active constraints
    double *q                 # (p,) the first k, by position in the basis
    double *dq
    double *y
    double *dy
    double *w                 # (p,) scratch
    double *sign_q            # (p,) by position
    double *sign_y            # (p,) by position
    const double *tilt        # (p,) in (0, 1)
    bint enters               # event: a constraint enters, else a variable leaves
    ptrdiff_t event           # the constraint, or the position of the variable
    double event_sign
    ptrdiff_t pivots
    ptrdiff_t since_fresh
    ptrdiff_t idle            # exchanges since the last change of the radius
    double work               # approximate number of floating-point operations
    int status


cdef inline double reach_of(const Path *path, ptrdiff_t i) noexcept nogil:
    return 1.0 + TILT_DUAL * path.tilt[i]


cdef inline double slack_of(const Path *path, ptrdiff_t i) noexcept nogil:
    return TILT_PRIMAL * path.tilt[path.basis.p - 1 - i]


cdef inline void begin(Path *path, ptrdiff_t j) noexcept nogil:
    # At radius 1 the solution is zero. Below it the constraint of row j is active first.
    cdef ptrdiff_t p = path.basis.p, i
    memset(path.r, 0, <size_t>p * sizeof(double))
    memset(path.g, 0, <size_t>p * sizeof(double))
    for i in range(p):
        path.reach[i] = reach_of(path, i)
        path.slack[i] = slack_of(path, i)
    path.r[j] = 1.0
    path.j, path.lam, path.basis.k = j, 1.0, 0
    path.enters, path.event, path.event_sign = True, j, 1.0
    path.pivots = path.since_fresh = path.idle = 0
    path.work = 0.0
    path.status = RUNNING


cdef inline void residual(const Path *path, const double *q, double *out) noexcept nogil:
    # out (p,) = e_j - S q.
    cdef ptrdiff_t i
    combine(&path.basis, path.basis.variables, q, path.basis.k, out)
    for i in range(path.basis.p):
        out[i] = -out[i]
    out[path.j] += 1.0


cdef inline bint refresh(Path *path) noexcept nogil:
    # Recomputes q, y, r and g from the basis; a basis whose inverse has drifted is inverted again. If this fails, the
    # old values are kept.
    cdef Basis *basis = &path.basis
    cdef ptrdiff_t k = basis.k, p = basis.p, a, i, attempt
    cdef double off = 0.0
    for attempt in range(2):
        for a in range(k):
            path.w[a] = path.sign_q[a] * reach_of(path, basis.variables[a])
        apply_transposed(basis, path.w, path.dy)
        combine(basis, basis.constraints, path.dy, k, path.dg)
        off = 0.0
        for a in range(k):
            off = max(off, fabs(path.dg[basis.variables[a]] - path.w[a]))
        for a in range(k):
            i = basis.constraints[a]
            path.w[a] = (1.0 if i == path.j else 0.0) - path.sign_y[a] * (path.lam + slack_of(path, i))
        apply_inverse(basis, path.w, path.dq)
        combine(basis, basis.variables, path.dq, k, path.dr)
        for a in range(k):
            off = max(off, fabs(path.dr[basis.constraints[a]] - path.w[a]))
        path.work += 4.0 * <double>(k * p) + 4.0 * <double>(k * k)
        if off <= DRIFT or attempt == 1:
            break
        path.work += 4.0 * <double>k * <double>k * <double>k
        if not basis_invert(basis):
            return False
    path.since_fresh = 0
    if not off <= WORST_DRIFT:
        return False
    for i in range(p):
        path.dr[i] = -path.dr[i]
    path.dr[path.j] += 1.0
    path.q, path.dq = path.dq, path.q
    path.r, path.dr = path.dr, path.r
    path.y, path.dy = path.dy, path.y
    path.g, path.dg = path.dg, path.g
    return True


cdef inline ptrdiff_t first_zero(
    const double *x, const double *dx, const double *sign, ptrdiff_t k, double least, double *step
) noexcept nogil:
    # The entry that first loses its sign, and the step; -1 if none does before `step`.
    cdef ptrdiff_t a, found = -1
    cdef double closing, left, t
    for a in range(k):
        closing = -sign[a] * dx[a]
        if closing > least:
            left = sign[a] * x[a]
            t = left / closing if left > 0.0 else 0.0
            if t < step[0]:
                step[0] = t
                found = a
    return found


cdef inline void aim(Path *path) noexcept nogil:
    # The directions dy and dg for the event.
    cdef Basis *basis = &path.basis
    cdef ptrdiff_t k = basis.k, a, b
    cdef double sign = path.event_sign
    if path.enters:
        border_row(basis, path.event, path.w)
        apply_transposed(basis, path.w, path.dy)
        for a in range(k):
            path.dy[a] *= -sign
        basis.constraints[k] = <int>path.event     # position k is after the basis: one combination for all
        path.dy[k] = sign
        path.y[k] = 0.0
        path.sign_y[k] = sign
        combine(basis, basis.constraints, path.dy, k + 1, path.dg)
    else:
        b = path.event
        sign = path.sign_q[b]
        for a in range(k):
            path.dy[a] = -sign * basis.inverse[b * basis.capacity + a]
        combine(basis, basis.constraints, path.dy, k, path.dg)
        path.dg[basis.variables[b]] = -sign
        path.reach[basis.variables[b]] = reach_of(path, basis.variables[b])


cdef inline double dual_ratio(Path *path, double least, ptrdiff_t *who, ptrdiff_t *gone) noexcept nogil:
    # The step at which a variable reaches its bound or a multiplier becomes zero, and its index; `gone` is -1 for a
    # bound.
    cdef double step = pgmx_first_bound(path.g, path.dg, path.reach, path.basis.p, least, who)
    gone[0] = first_zero(path.y, path.dy, path.sign_y, path.basis.k, least, &step)
    return step


cdef inline bint dual_step(Path *path) noexcept nogil:
    # Moves y until a variable enters or a constraint leaves, and exchanges. False: the path ends here.
    cdef Basis *basis = &path.basis
    cdef ptrdiff_t k = basis.k, p = basis.p, who = -1, gone = -1, other = -1, left = -1
    cdef double step, later, largest, pivot
    aim(path)
    largest = max(1.0, pgmx_abs_max(path.dy, k))
    step = dual_ratio(path, LEAST * largest, &who, &gone)
    if step == INFINITY:
        path.status = INFEASIBLE
        return False
    pivot = fabs(path.dg[who]) if gone < 0 else fabs(path.dy[gone])
    if pivot < SMALL_PIVOT * largest:
        # most likely zero up to rounding: skipped if its bound is exceeded by a negligible amount
        later = dual_ratio(path, SMALL_PIVOT * largest, &other, &left)
        if (later - step) * pivot <= OVERRUN:
            step, who, gone = later, other, left
            pivot = fabs(path.dg[who]) if gone < 0 else fabs(path.dy[gone])
    pgmx_axpy(step, path.dg, path.g, p)
    pgmx_axpy(step, path.dy, path.y, k + 1 if path.enters else k)
    if path.enters:
        if not answer_entering(path, who, gone, path.event_sign):
            return False
    else:
        answer_leaving(path, who, gone)
    path.work += 2.0 * <double>(k * p) + 8.0 * <double>(k * k) + 8.0 * <double>p
    path.pivots += 1
    path.since_fresh += 1
    if pivot < SMALL_PIVOT * largest:
        path.since_fresh = FRESH_EVERY
    return True


cdef inline void admit(Path *path, ptrdiff_t position, ptrdiff_t variable) noexcept nogil:
    path.sign_q[position] = 1.0 if path.g[variable] > 0.0 else -1.0
    path.q[position] = 0.0
    path.reach[variable] = INFINITY


cdef inline bint answer_entering(Path *path, ptrdiff_t who, ptrdiff_t gone, double sign) noexcept nogil:
    # The constraint of the event enters; a variable enters or a constraint leaves.
    cdef Basis *basis = &path.basis
    cdef ptrdiff_t k = basis.k, a
    for a in range(k):
        path.w[a] = -sign * path.dy[a]
    path.slack[path.event] = INFINITY
    if gone < 0:
        if not basis_grow(basis, path.event, who, path.w):
            path.status = NO_MEMORY
            return False
        admit(path, k, who)
    else:
        path.slack[basis.constraints[gone]] = slack_of(path, basis.constraints[gone])
        basis_replace_constraint(basis, gone, path.event, path.w)
        path.y[gone] = path.y[k]
        path.sign_y[gone] = sign
    return True


cdef inline void answer_leaving(Path *path, ptrdiff_t who, ptrdiff_t gone) noexcept nogil:
    # The variable of the event leaves; a variable enters or a constraint leaves.
    cdef Basis *basis = &path.basis
    cdef ptrdiff_t b = path.event, last = basis.k - 1
    if gone < 0:
        basis_replace_variable(basis, b, who)
        admit(path, b, who)
        return
    path.slack[basis.constraints[gone]] = slack_of(path, basis.constraints[gone])
    basis_shrink(basis, b, gone)
    path.q[b], path.sign_q[b] = path.q[last], path.sign_q[last]
    path.y[gone], path.sign_y[gone] = path.y[last], path.sign_y[last]


cdef inline double primal_step(Path *path) noexcept nogil:
    # Sets dq, dr and the next event, and returns the decrease of the radius until this event.
    cdef Basis *basis = &path.basis
    cdef ptrdiff_t k = basis.k, who = -1, gone
    cdef int side = 0
    cdef double step, least
    apply_inverse(basis, path.sign_y, path.dq)
    combine(basis, basis.variables, path.dq, k, path.dr)
    least = LEAST * max(1.0, pgmx_abs_max(path.dq, k))
    step = pgmx_first_breach(path.r, path.dr, path.slack, basis.p, path.lam, least, &who, &side)
    gone = first_zero(path.q, path.dq, path.sign_q, k, least, &step)
    path.enters = gone < 0
    path.event = who if gone < 0 else gone
    path.event_sign = side
    path.work += 2.0 * <double>(k * basis.p) + 2.0 * <double>(k * k) + 12.0 * <double>basis.p
    return step


cdef inline void move(Path *path, double step) noexcept nogil:
    cdef ptrdiff_t p = path.basis.p
    pgmx_axpy(step, path.dq, path.q, path.basis.k)
    pgmx_axpy(-step, path.dr, path.r, p)
    path.lam -= step
    path.idle = 0 if step > 0.0 else path.idle + 1
    if path.idle > STALLED + 4 * p:
        path.status = STUCK

# Regressions of all variables on a set of variables, which gains and loses one member at a time.
#
# R is a correlation matrix, P the members, M = inv(R_PP). For each variable u, v_u = 1 - R_uP M R_Pu is its residual
# variance given P, and c_u = R_ux - R_uP M R_Px its residual covariance with one child x. For a new member p with
# slopes b = M R_Pp and the residual row h = R_p - sum_j b_j R_j:
#
#     v_u -= h_u^2 / h_p,   c_u -= h_x h_u / h_p,   M_ij += b_i b_j / h_p,   M_pj = -b_j / h_p,   M_pp = 1 / h_p.
#
# Without member p, with its row m of M and g = sum_j m_j R_j:
#
#     v_u += g_u^2 / M_pp,   c_u += g_x g_u / M_pp,   M_ij -= m_i m_j / M_pp.
#
# Cost of a change: k n + 2 n + 2 k^2 multiplications for k members. Rounding errors grow with the number of changes, so
# that after MOST_CHANGES the members are added again one by one. No function needs the GIL.
# Reference: Lauritzen (1996), Graphical Models, section 5.1.3 and appendix B.

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from _dense cimport pgmx_combine_rows


cdef extern from "_variance_rows.h" nogil:
    void pgmx_shift_rows(
        double scale, double factor, const double *row, Py_ssize_t n, double *residuals, double *covariances
    )
    void pgmx_flag_parents(
        double least, double most, double smallest, const double *residuals, const double *covariances, Py_ssize_t n,
        uint64_t *flags
    )
    void pgmx_variance_rows_select(int level)


cdef enum:
    MOST_CHANGES = 64


cdef struct Regression:
    int child                           # -1: none yet
    int k, capacity                     # number of members, and the number for which M has memory
    int n_changes
    int *members
    double *inverse                     # M, (capacity, capacity)
    double *residuals                   # v, NULL while nothing is allocated
    double *covariances                 # c


cdef struct RegressionScratch:          # shared by all regressions
    const double *correlation
    Py_ssize_t n
    double *row                         # h or g
    double *slopes                      # (n + 1,), b
    double *cross                       # (n + 1,), R_Pp
    int *listed                         # (n + 1,)
    int *place                          # 1 + the position of each wanted member, zeros between calls


cdef inline bint init_scratch(RegressionScratch *scratch, const double *correlation, Py_ssize_t n) noexcept nogil:
    # False if memory is short; call free_scratch() in both cases.
    scratch.correlation, scratch.n = correlation, n
    scratch.row = <double *>calloc(n + 1, sizeof(double))
    scratch.slopes = <double *>calloc(n + 1, sizeof(double))
    scratch.cross = <double *>calloc(n + 1, sizeof(double))
    scratch.listed = <int *>calloc(n + 1, sizeof(int))
    scratch.place = <int *>calloc(n + 1, sizeof(int))
    return scratch.row != NULL and scratch.slopes != NULL and scratch.cross != NULL and scratch.listed != NULL \
        and scratch.place != NULL


cdef inline void free_scratch(RegressionScratch *scratch) noexcept nogil:
    free(scratch.row)
    free(scratch.slopes)
    free(scratch.cross)
    free(scratch.listed)
    free(scratch.place)


cdef inline void free_regression(Regression *one) noexcept nogil:
    free(one.members)
    free(one.inverse)
    free(one.residuals)


cdef inline bint reserve_members(Regression *one, int k, Py_ssize_t n) noexcept nogil:
    # Memory for k members, M is kept; False if memory is short.
    cdef int capacity = 2 * one.capacity if one.capacity > 0 else 8
    cdef int *members
    cdef double *inverse
    cdef int i
    if one.residuals == NULL:
        one.residuals = <double *>malloc(2 * n * sizeof(double))
        if one.residuals == NULL:
            return False
        one.covariances = one.residuals + n
    if k <= one.capacity:
        return True
    capacity = max(capacity, k)
    members = <int *>malloc(capacity * sizeof(int))
    inverse = <double *>malloc(<size_t>capacity * capacity * sizeof(double))
    if members == NULL or inverse == NULL:
        free(members)
        free(inverse)
        return False
    for i in range(one.k):
        members[i] = one.members[i]
        memcpy(inverse + <size_t>i * capacity, one.inverse + <size_t>i * one.capacity, one.k * sizeof(double))
    free(one.members)
    free(one.inverse)
    one.members, one.inverse, one.capacity = members, inverse, capacity
    return True


cdef inline void find_slopes(const Regression *one, RegressionScratch *scratch, int u) noexcept nogil:
    # cross = R_Pu, slopes = M R_Pu.
    cdef const double *row = scratch.correlation + <size_t>u * scratch.n
    cdef const double *inverse
    cdef int i, j
    cdef double total
    for i in range(one.k):
        scratch.cross[i] = row[one.members[i]]
    for i in range(one.k):
        inverse = one.inverse + <size_t>i * one.capacity
        total = 0.0
        for j in range(one.k):
            total += inverse[j] * scratch.cross[j]
        scratch.slopes[i] = total


cdef inline void find_residual_row(
    const Regression *one, RegressionScratch *scratch, int u, double *row
) noexcept nogil:
    # slopes = M R_Pu, row = R_u - sum_j slopes_j R_j.
    cdef int i
    find_slopes(one, scratch, u)
    for i in range(one.k):
        scratch.listed[i] = one.members[i]
        scratch.cross[i] = -scratch.slopes[i]
    scratch.listed[one.k] = u
    scratch.cross[one.k] = 1.0
    pgmx_combine_rows(scratch.correlation, scratch.n, scratch.listed, scratch.cross, one.k + 1, scratch.n, row)


cdef inline void start_regression(Regression *one, const RegressionScratch *scratch, int child) noexcept nogil:
    cdef Py_ssize_t u
    one.k = one.n_changes = 0
    one.child = child
    for u in range(scratch.n):
        one.residuals[u] = 1.0
    memcpy(one.covariances, scratch.correlation + <size_t>child * scratch.n, scratch.n * sizeof(double))


cdef inline bint add_member(Regression *one, RegressionScratch *scratch, int p) noexcept nogil:
    # False if memory is short.
    cdef double *inverse
    cdef double *last
    cdef double pivot
    cdef int i, j, k = one.k
    if not reserve_members(one, k + 1, scratch.n):
        return False
    find_residual_row(one, scratch, p, scratch.row)
    pivot = 1.0 / max(scratch.row[p], 1e-10)  # the members may determine p
    pgmx_shift_rows(pivot, pivot * scratch.row[one.child], scratch.row, scratch.n, one.residuals, one.covariances)
    last = one.inverse + <size_t>k * one.capacity
    for i in range(k):
        inverse = one.inverse + <size_t>i * one.capacity
        for j in range(k):
            inverse[j] += pivot * scratch.slopes[i] * scratch.slopes[j]
        inverse[k] = last[i] = -pivot * scratch.slopes[i]
    last[k] = pivot
    one.members[k] = p
    one.k += 1
    one.n_changes += 1
    return True


cdef inline void remove_member(Regression *one, RegressionScratch *scratch, int at) noexcept nogil:
    cdef double *inverse = one.inverse + <size_t>at * one.capacity
    cdef double pivot = 1.0 / inverse[at], factor
    cdef int i, j, last = one.k - 1
    memcpy(scratch.slopes, inverse, one.k * sizeof(double))
    pgmx_combine_rows(
        scratch.correlation, scratch.n, one.members, scratch.slopes, one.k, scratch.n, scratch.row
    )
    pgmx_shift_rows(
        -pivot, -pivot * scratch.row[one.child], scratch.row, scratch.n, one.residuals, one.covariances
    )
    for i in range(one.k):
        inverse = one.inverse + <size_t>i * one.capacity
        factor = pivot * scratch.slopes[i]
        for j in range(one.k):
            inverse[j] -= factor * scratch.slopes[j]
    # the last member takes its place
    if at != last:
        memcpy(
            one.inverse + <size_t>at * one.capacity, one.inverse + <size_t>last * one.capacity,
            one.k * sizeof(double)
        )
        for i in range(last):
            inverse = one.inverse + <size_t>i * one.capacity
            inverse[at] = inverse[last]
        one.members[at] = one.members[last]
    one.k = last
    one.n_changes += 1


cdef inline bint regress(
    Regression *one, RegressionScratch *scratch, int child, const int *parents, int k
) noexcept nogil:
    # Brings a regression to a child and its parents; False if memory is short.
    cdef int i, j, n_changes, common = 0
    if not reserve_members(one, k, scratch.n):
        return False
    for i in range(k):
        scratch.place[parents[i]] = 1
    for i in range(one.k):
        common += scratch.place[one.members[i]]
    n_changes = one.k + k - 2 * common
    # to add all members again costs about k / 2 changes
    if one.child != child or n_changes + one.n_changes > MOST_CHANGES or 2 * n_changes > k + 3:
        for i in range(k):
            scratch.place[parents[i]] = 0
        start_regression(one, scratch, child)
        for i in range(k):
            if not add_member(one, scratch, parents[i]):
                return False
        one.n_changes = 0
        return True
    for i in range(one.k - 1, -1, -1):
        j = one.members[i]
        if scratch.place[j]:
            scratch.place[j] = 0
        else:
            remove_member(one, scratch, i)
    for i in range(k):
        if scratch.place[parents[i]]:
            scratch.place[parents[i]] = 0
            if not add_member(one, scratch, parents[i]):
                return False
    return True

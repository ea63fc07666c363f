# Grow-shrink searches for the parents of a child among its predecessors, from a family of the child.
#
# A walk adds the best parent and deletes the worst until no change of one parent gains. It decides by shares and losses
# of `_gaussian_families`, whose regressions are kept for each child, so that a family next to the last one of its child
# costs one change of the regression.

from libc.math cimport exp
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from _dag cimport bit, set_bit
from _gaussian_families cimport (
    Family,
    Store,
    Walk,
    bytes_of,
    enter,
    find_slot,
    free_store,
    init_store,
    set_arrays,
    take_bytes,
)
from _regressions cimport (
    Regression,
    RegressionScratch,
    find_slopes,
    free_regression,
    free_scratch,
    init_scratch,
    pgmx_flag_parents,
    regress,
)
from _rng cimport next_word


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)


cdef enum:
    REGRESSION_BYTES = 1 << 25          # of the vectors of all regressions


cdef struct Walks:
    Py_ssize_t n, words
    int most_parents
    double half_rows, least_gain
    const uint64_t *allowed             # (n, words), by child; NULL allows all
    double *prices                      # costs of 0, 1, ... parents together
    double *least_shares                # of an addition to k parents
    double *most_losses                 # of a deletion from k parents
    int64_t *priority
    uint64_t *required                  # (n, words), by child
    uint64_t *hashes                    # (2 n,): of parents, then of children
    Store store
    Regression *regressions
    Py_ssize_t n_regressions
    RegressionScratch scratch
    uint64_t *flags
    int *listed                         # candidates of a family
    float *shares
    int *parents                        # of the family that is looked up
    int *rank                           # of each variable in the order; the caller writes it
    int *marks                          # of the variables that a walk wants
    int mark
    int *ids                            # (2 n,): chosen and wanted variables of a walk
    Py_ssize_t n_families, n_walks      # computed families; walks that were made or remembered
    Py_ssize_t values_read              # entries of the correlation matrix


cdef inline bint init_walks(
    Walks *walks, const double *correlation, Py_ssize_t n, double n_rows, double least_gain, Py_ssize_t memory
) noexcept nogil:
    # `walks` is all zero. False if memory is short; call free_walks() in both cases.
    cdef uint64_t state = 1
    cdef Py_ssize_t i
    walks.n, walks.words, walks.half_rows, walks.least_gain = n, (n + 63) // 64, n_rows / 2, least_gain
    i = REGRESSION_BYTES // (2 * n * <Py_ssize_t>sizeof(double))
    walks.n_regressions = min(n, max(i, 4))
    walks.prices = <double *>calloc(3 * (n + 2), sizeof(double))
    walks.priority = <int64_t *>calloc(n, sizeof(int64_t))
    walks.required = <uint64_t *>calloc(n * walks.words, sizeof(uint64_t))
    walks.hashes = <uint64_t *>calloc(3 * n, sizeof(uint64_t))
    walks.regressions = <Regression *>calloc(walks.n_regressions, sizeof(Regression))
    walks.listed = <int *>calloc(6 * n + 2, sizeof(int))
    walks.shares = <float *>calloc(n, sizeof(float))
    if not (
        init_scratch(&walks.scratch, correlation, n) and init_store(&walks.store, memory) and walks.prices != NULL
        and walks.priority != NULL and walks.required != NULL and walks.hashes != NULL and walks.regressions != NULL
        and walks.listed != NULL and walks.shares != NULL
    ):
        return False
    walks.least_shares, walks.most_losses = walks.prices + n + 2, walks.prices + 2 * (n + 2)
    walks.flags = walks.hashes + 2 * n
    walks.parents, walks.rank = walks.listed + n, walks.listed + 2 * n + 1
    walks.marks, walks.ids = walks.listed + 3 * n + 1, walks.listed + 4 * n + 1
    for i in range(2 * n):
        walks.hashes[i] = next_word(&state)
    for i in range(walks.n_regressions):
        walks.regressions[i].child = -1
    return True


cdef inline void free_walks(Walks *walks) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(walks.n_regressions if walks.regressions != NULL else 0):
        free_regression(&walks.regressions[i])
    free_scratch(&walks.scratch)
    free_store(&walks.store)
    free(walks.prices)
    free(walks.priority)
    free(walks.required)
    free(walks.hashes)
    free(walks.regressions)
    free(walks.listed)
    free(walks.shares)


cdef inline int refuse(const Walks *walks) except -1 nogil:
    with gil:
        raise MemoryError(f"cannot allocate families of {walks.n} variables")


cdef inline void set_cost(Walks *walks, int k, double cost) noexcept nogil:
    # The cost of parent number k + 1.
    walks.prices[k + 1] = walks.prices[k] + cost
    walks.least_shares[k] = 1.0 - exp(-(cost + walks.least_gain) / walks.half_rows)
    walks.most_losses[k + 1] = exp((cost - walks.least_gain) / walks.half_rows) - 1.0


# ---- families ----


cdef inline Family *compute_family(Walks *walks, int child, int k) except NULL nogil:
    cdef Regression *one = &walks.regressions[child % walks.n_regressions]
    cdef Family *family
    cdef Py_ssize_t n = walks.n, u
    cdef double residual = 1.0, c
    cdef int i, j, m = 0
    if not regress(one, &walks.scratch, child, walks.parents, k):
        refuse(walks)
    walks.n_families += 1
    walks.values_read += n * (2 * k + 4)
    find_slopes(one, &walks.scratch, child)
    for i in range(k):
        residual -= walks.scratch.slopes[i] * walks.scratch.cross[i]
    residual = max(residual, 1e-10)
    if k < walks.most_parents:
        # a parent must leave a residual variance of 1e-8: shares of smaller ones have rounding errors
        pgmx_flag_parents(
            walks.least_shares[k] * residual, residual - 1e-8, 1e-8, one.residuals, one.covariances, n,
            walks.flags
        )
        for u in range(n):
            walks.listed[m] = <int>u
            m += <int>walks.flags[u]
        j = 0
        for i in range(m):
            u = walks.listed[i]
            if u == child or (walks.allowed != NULL and not bit(walks.allowed + child * walks.words, u)):
                continue
            c = one.covariances[u]
            walks.listed[j] = <int>u
            walks.shares[j] = <float>(c * c / (one.residuals[u] * residual))
            j += 1
        m = j
    family = <Family *>take_bytes(&walks.store, bytes_of(k, m))
    if family == NULL:
        refuse(walks)
    family.child, family.k, family.m, family.end, family.walk = child, k, m, NULL, NULL
    set_arrays(family)
    memcpy(family.additions, walks.listed, m * sizeof(int))
    memcpy(family.shares, walks.shares, m * sizeof(float))
    memcpy(family.parents, walks.parents, k * sizeof(int))
    for i in range(k):
        walks.scratch.place[walks.parents[i]] = i
    for i in range(k):
        c = walks.scratch.slopes[i]
        j = walks.scratch.place[one.members[i]]
        family.losses[j] = <float>(c * c / (one.inverse[<size_t>i * one.capacity + i] * residual))
    for i in range(k):
        walks.scratch.place[walks.parents[i]] = 0
    family.score = -walks.half_rows * pgmx_log(residual) - walks.prices[k]
    return family


cdef inline Family *find(Walks *walks, int child, int k, uint64_t hash) except NULL nogil:
    cdef Py_ssize_t slot = find_slot(&walks.store, hash, child, walks.parents, k)
    cdef Family *family = walks.store.slots[slot].family
    if family == NULL:
        family = compute_family(walks, child, k)
        family.hash = hash
        if not enter(&walks.store, family, slot):
            refuse(walks)
    return family


cdef inline Family *look_up(Walks *walks, int child, int k) except NULL nogil:
    # The family of a child and `parents`.
    cdef uint64_t hash = walks.hashes[walks.n + child]
    cdef int i
    for i in range(k):
        hash ^= walks.hashes[walks.parents[i]]
    return find(walks, child, k, hash)


cdef inline Family *add(Walks *walks, Family *family, int u) except NULL nogil:
    cdef int i = 0, k = family.k
    while i < k and family.parents[i] < u:
        i += 1
    memcpy(walks.parents, family.parents, i * sizeof(int))
    walks.parents[i] = u
    memcpy(walks.parents + i + 1, family.parents + i, (k - i) * sizeof(int))
    return find(walks, family.child, k + 1, family.hash ^ walks.hashes[u])


cdef inline Family *delete(Walks *walks, Family *family, int i) except NULL nogil:
    cdef int k = family.k
    memcpy(walks.parents, family.parents, i * sizeof(int))
    memcpy(walks.parents + i, family.parents + i + 1, (k - i - 1) * sizeof(int))
    return find(walks, family.child, k - 1, family.hash ^ walks.hashes[family.parents[i]])


cdef inline Family *delete_parent(Walks *walks, Family *family, int u) except NULL nogil:
    cdef int i = 0
    while family.parents[i] != u:
        i += 1
    return delete(walks, family, i)


cdef inline double gain_of(const Walks *walks, const Family *family, int i) noexcept nogil:
    # Of addition number i.
    return -walks.half_rows * pgmx_log(1.0 - family.shares[i]) - (walks.prices[family.k + 1] - walks.prices[family.k])


# ---- grow-shrink ----


cdef inline bint is_chosen(const Walks *walks, int u, int n_chosen) noexcept nogil:
    cdef int i
    for i in range(n_chosen):
        if walks.ids[i] == u:
            return True
    return False


cdef inline int best_addition(Walks *walks, const Family *family, int end, int *n_wanted) noexcept nogil:
    # The number of the best addition of a rank below `end`, or -1. Better ones are added to the wanted variables.
    cdef int i, u, best = -1
    cdef float most = -1.0
    for i in range(family.m):
        if family.shares[i] >= most:
            u = family.additions[i]
            if walks.rank[u] < end and (
                family.shares[i] > most or walks.priority[u] < walks.priority[family.additions[best]]
            ):
                best, most = i, family.shares[i]
    for i in range(family.m):
        if family.shares[i] >= most:
            u = family.additions[i]
            if i != best and walks.marks[u] != walks.mark and walks.rank[u] >= end:
                walks.marks[u] = walks.mark
                walks.ids[walks.n + n_wanted[0]] = u
                n_wanted[0] += 1
    return best


cdef inline int worst_parent(const Walks *walks, const Family *family) noexcept nogil:
    # The number of the parent whose deletion gains most, or -1.
    cdef float least = <float>walks.most_losses[family.k]
    cdef const uint64_t *required = walks.required + family.child * walks.words
    cdef int i, worst = -1
    for i in range(family.k):
        if family.losses[i] < least and not bit(required, family.parents[i]):
            worst, least = i, family.losses[i]
    return worst


cdef inline int remember(Walks *walks, Family *start, Family *end, int n_chosen, int n_wanted) except -1 nogil:
    cdef Walk *walk = start.walk
    cdef int capacity
    if walk == NULL or walk.capacity < n_chosen + n_wanted:
        capacity = n_chosen + n_wanted + 4
        walk = <Walk *>take_bytes(&walks.store, sizeof(Walk) + capacity * sizeof(int))
        if walk == NULL:
            refuse(walks)
        walk.capacity = capacity
    walk.n_chosen, walk.n_wanted = n_chosen, n_wanted
    memcpy(walk.ids, walks.ids, n_chosen * sizeof(int))
    memcpy(walk.ids + n_chosen, walks.ids + walks.n, n_wanted * sizeof(int))
    start.walk, start.end = walk, end
    return 0


cdef inline Family *find_family(Walks *walks, Family *start, int end) except NULL nogil:
    # The family at the end of the walk from `start` among the variables of ranks below `end`. The last walk is
    # remembered: predecessors with all chosen variables and none of the wanted ones give the same result.
    cdef Family *family = start
    cdef Walk *walk = start.walk
    cdef int i, n_chosen = 0, n_wanted = 0
    cdef bint is_same = start.end != NULL
    walks.n_walks += 1
    if is_same:
        for i in range(walk.n_chosen):
            is_same &= walks.rank[walk.ids[i]] < end
        for i in range(walk.n_chosen, walk.n_chosen + walk.n_wanted):
            is_same &= walks.rank[walk.ids[i]] >= end
        if is_same:
            return start.end
    walks.mark += 1
    if walks.mark == 0x7fffffff:
        memset(walks.marks, 0, walks.n * sizeof(int))
        walks.mark = 1
    while True:
        i = best_addition(walks, family, end, &n_wanted)
        if i >= 0:
            walks.ids[n_chosen] = family.additions[i]
            n_chosen += not is_chosen(walks, family.additions[i], n_chosen)
            family = add(walks, family, family.additions[i])
            continue
        i = worst_parent(walks, family)
        if i < 0:
            break
        family = delete(walks, family, i)
    remember(walks, start, family, n_chosen, n_wanted)
    return family

"""Smallest partial correlations of each pair of adjacent variables, over all sets of neighbours of one size.

Problem: for a variable x, its neighbours y in a graph and all sets S of `size` neighbours of x without y, the squared
partial correlation r^2(x, y | S) of a correlation matrix; wanted are its minimum over S and the first S that has it.
Algorithm: the sets of x are walked as a tree in lexicographic order. One step down is one pivot: with M the Schur
complement of the variables in S so far, M_ij <- M_ij - M_is M_js / M_ss. The last pivot is made for the row of x and
the diagonal only, so that a test costs a few multiplications: r^2 = c^2 / (v_x v_y) with c the entry of (x, y) and v
the diagonal. It is compared as c^2 < r^2_min v_x v_y: no root, no logarithm, and a division only for a new minimum.
A set within the neighbours of both x and y belongs to the smaller of the two, by id.
With pools, sets are chosen among given variables, of which the neighbours are some, and a set within given variables of
x or of y is left out, since it was tested before.
Limits: a set is left out if a pivot is below 1e-9 (a variable of S is determined by the others), and a test if v_x or
v_y is below 1e-10.
Ties: the first set in lexicographic order has the minimum.
Cost: for d neighbours C(d, size) d operations, and C(d, size - 1) d^2 of the pivots. Memory: size (d + 1)^2 doubles.
Thread-safety: the arguments are read, except the outputs, in which a call writes the slots of its rows; the GIL is
released.
Reference: Whittaker (1990), Graphical Models in Applied Multivariate Statistics, section 5.8 (partial correlations by
pivots); Colombo & Maathuis (2014), JMLR 15, algorithm 4.1 (frozen neighbourhoods).
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define PGMX_POPCOUNT(x) __builtin_popcountll(x)
    #else
    static int PGMX_POPCOUNT(unsigned long long x) { int n = 0; while (x) { x &= x - 1; n++; } return n; }
    #endif
    """
    int PGMX_POPCOUNT(uint64_t) noexcept nogil

cdef double LEAST_PIVOT = 1e-9
cdef double LEAST_VARIANCE = 1e-10


cdef struct Walk:
    Py_ssize_t d                # neighbours of x
    Py_ssize_t size, n_words, n_bits
    const int64_t *ids          # (d,) of the neighbours
    bint has_pools
    const int64_t *tiers        # (d,) of the neighbours, NULL without tiers
    int64_t tier                # of x
    double *matrices            # (size, d + 1, d + 1) Schur complements; the first row is that of x
    uint64_t *shared            # (d, n_bits) by neighbour: the y < x adjacent to it; with pools also who tested it
    uint64_t *common            # (size + 1, n_bits): the same for all of S; one row per step
    const uint64_t *idle        # (n_words,) with pools: the members that are not adjacent to x
    Py_ssize_t *chosen          # (size,) positions of S
    double *least               # (d,) smallest r^2; -1 for members of S
    double *saved               # (size,) the values of members of S
    double *best                # out: slots of x, (d,)
    int64_t *sets               # out: slots of x, (d, size)
    int64_t n_tests


cdef void visit_leaf(Walk *w, Py_ssize_t depth, Py_ssize_t s) noexcept nogil:
    """Test all neighbours given the chosen ones and s."""
    cdef Py_ssize_t y, k, n = w.d + 1
    cdef const double *row_x = w.matrices + depth * n * n
    cdef const double *row_s = row_x + (s + 1) * n
    cdef const double *matrix = row_x
    cdef double pivot = row_s[s + 1], inverse, slope, v_x, v_y, c
    cdef int64_t latest = w.tier, n_shared = 0
    cdef bint improves
    if w.has_pools and (
        w.common[(depth + 1) * w.n_bits - 1] & w.shared[(s + 1) * w.n_bits - 1]
    ) >> (w.d & 63) & 1:
        return
    if pivot < LEAST_PIVOT:
        return
    inverse = 1.0 / pivot
    slope = row_s[0] * inverse
    v_x = row_x[0] - row_s[0] * slope
    if v_x < LEAST_VARIANCE:
        return
    w.chosen[depth] = s
    for k in range(w.n_words):
        n_shared += PGMX_POPCOUNT(list_shared(w, depth, s, k))
    if w.tiers != NULL:
        for k in range(depth + 1):
            latest = max(latest, w.tiers[w.chosen[k]])
    if latest == w.tier and not w.has_pools:
        w.n_tests += w.d - w.size - n_shared
    else:
        for y in range(w.d):
            if (latest == w.tier or w.tiers[y] >= latest) and not is_shared(w, depth, s, y) \
                    and not is_chosen(w, depth, y):
                w.n_tests += 1
    for y in range(w.d):
        c = row_x[y + 1] - slope * row_s[y + 1]
        v_y = matrix[(y + 1) * n + y + 1] - row_s[y + 1] * row_s[y + 1] * inverse
        improves = c * c < w.least[y] * v_x * v_y
        if not improves or y == s or v_y < LEAST_VARIANCE or is_shared(w, depth, s, y):
            continue
        if latest > w.tier and w.tiers[y] < latest:
            continue
        c = c * c / (v_x * v_y)
        if c < w.least[y]:
            w.least[y] = w.best[y] = c
            for k in range(w.size):
                w.sets[y * w.size + k] = w.ids[w.chosen[k]]


cdef inline uint64_t list_shared(Walk *w, Py_ssize_t depth, Py_ssize_t s, Py_ssize_t k) noexcept nogil:
    """Return a word of the y that are not tested here: y < x is adjacent to all of S, so that the test belongs to y."""
    cdef uint64_t word = w.common[depth * w.n_bits + k] & w.shared[s * w.n_bits + k]
    if w.has_pools:
        word |= (w.common[depth * w.n_bits + w.n_words + k] & w.shared[s * w.n_bits + w.n_words + k]) | w.idle[k]
    return word


cdef inline bint is_shared(Walk *w, Py_ssize_t depth, Py_ssize_t s, Py_ssize_t y) noexcept nogil:
    return list_shared(w, depth, s, y >> 6) >> (y & 63) & 1


cdef inline bint is_chosen(Walk *w, Py_ssize_t depth, Py_ssize_t y) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(depth + 1):
        if w.chosen[k] == y:
            return True
    return False


cdef void walk(Walk *w, Py_ssize_t depth, Py_ssize_t first) noexcept nogil:
    """Choose the next member of S among the neighbours from `first` on."""
    cdef Py_ssize_t s, i, j, n = w.d + 1
    cdef const double *matrix = w.matrices + depth * n * n
    cdef const double *row_s
    cdef double *below
    cdef double inverse, factor
    if depth == w.size - 1:
        for s in range(first, w.d):
            visit_leaf(w, depth, s)
        return
    below = w.matrices + (depth + 1) * n * n
    for s in range(first, w.d - (w.size - depth) + 1):
        row_s = matrix + (s + 1) * n
        if row_s[s + 1] < LEAST_PIVOT:
            continue
        inverse = 1.0 / row_s[s + 1]
        for i in range(n):
            factor = row_s[i] * inverse
            if 0 < i <= s + 1:  # of these rows only the diagonal is needed
                below[i * n + i] = matrix[i * n + i] - row_s[i] * factor
                continue
            for j in range(n):
                below[i * n + j] = matrix[i * n + j] - factor * row_s[j]
        for i in range(w.n_bits):
            w.common[(depth + 1) * w.n_bits + i] = w.common[depth * w.n_bits + i] & w.shared[s * w.n_bits + i]
        w.chosen[depth] = s
        w.saved[depth] = w.least[s]
        w.least[s] = -1.0
        walk(w, depth + 1, s + 1)
        w.least[s] = w.saved[depth]


cdef bint set_limits(
    Walk *w, Py_ssize_t x, const uint8_t[:, ::1] adjacent, const uint8_t[:, ::1] tested, uint64_t *idle
) noexcept nogil:
    """Set the bits of pools, bit d for x itself, and mark members that are not adjacent to x; return whether one is."""
    cdef Py_ssize_t i, j, at
    cdef int64_t owner
    cdef bint is_needed = False
    for j in range(w.n_words):
        idle[j] = 0
        w.common[w.n_words + j] = ~<uint64_t>0
    for j in range(w.d + 1):
        owner, at = w.ids[j] if j < w.d else x, w.n_words + (j >> 6)
        for i in range(w.d):
            if tested[owner, w.ids[i]]:
                w.shared[i * w.n_bits + at] |= (<uint64_t>1) << (j & 63)
        if j < w.d and adjacent[x, owner]:
            is_needed = True
        elif j < w.d:
            idle[j >> 6] |= (<uint64_t>1) << (j & 63)
            w.least[j] = -1.0
    return is_needed


def find_least_correlations(
    const double[:, ::1] correlation,   # in: (n, n)
    const uint8_t[:, ::1] adjacent,     # in: (n, n) symmetric, without a diagonal
    const int64_t[::1] starts,          # in: (n + 1,) where the neighbours of a variable begin
    const int64_t[::1] neighbours,      # in: ascending
    tiers,                              # in: int64 (n,), or None
    Py_ssize_t size,                    # in: 1 or more
    Py_ssize_t first, Py_ssize_t last,  # in: the variables first, ..., last - 1
    double[::1] best,                   # out: smallest r^2 per neighbour, 2 without a test
    int64_t[:, ::1] sets,               # out: (len(neighbours), size) its set
    const uint8_t[:, ::1] members=None,  # in: (n, n) pools, which `starts` and `neighbours` then list
    const uint8_t[:, ::1] tested=None,  # in: (n, n) with pools: the variables whose subsets were tested
):
    """Fill the slots of some variables and return the number of tests; slots without tests have no meaning."""
    cdef Py_ssize_t x, i, j, d, n, largest = 0, k
    cdef int64_t n_tests = 0
    cdef const int64_t *ids
    cdef Walk w
    for x in range(first, last):
        largest = max(largest, starts[x + 1] - starts[x])
    if largest <= size:
        return 0
    w.has_pools = members is not None
    if not w.has_pools:
        members = adjacent
    cdef Py_ssize_t n_words = largest // 64 + 1
    cdef double[::1] matrices = np.empty(size * (largest + 1) * (largest + 1))
    cdef uint64_t[::1] bits = np.empty((2 * (largest + size) + 3) * n_words, dtype=np.uint64)
    cdef Py_ssize_t[::1] chosen = np.empty(size, dtype=np.intp)
    cdef double[::1] values = np.empty(largest + size)
    cdef const int64_t[::1] tier_of
    cdef int64_t[::1] local_tiers = np.empty(largest, dtype=np.int64)
    cdef bint has_tiers = tiers is not None
    if has_tiers:
        tier_of = tiers
    w.size = size
    w.matrices, w.chosen, w.least, w.saved = &matrices[0], &chosen[0], &values[0], &values[largest]
    w.tiers, w.tier = &local_tiers[0] if has_tiers else NULL, 0
    with nogil:
        for x in range(first, last):
            d = starts[x + 1] - starts[x]
            if d <= size:
                continue
            ids = &neighbours[starts[x]]
            n = d + 1
            w.d, w.ids, w.n_tests = d, ids, 0
            w.n_words = d // 64 + 1 if w.has_pools else (d + 63) // 64
            w.n_bits = 2 * w.n_words if w.has_pools else w.n_words
            w.shared, w.common, w.idle = &bits[0], &bits[d * w.n_bits], &bits[(d + size) * w.n_bits]
            w.best, w.sets = &best[starts[x]], &sets[starts[x], 0]
            for k in range(d):
                w.least[k] = w.best[k] = 2.0
                if has_tiers:
                    local_tiers[k] = tier_of[ids[k]]
            if has_tiers:
                w.tier = tier_of[x]
            matrices[0] = correlation[x, x]
            for i in range(d):
                matrices[i + 1] = matrices[(i + 1) * n] = correlation[x, ids[i]]
                for j in range(d):
                    matrices[(i + 1) * n + j + 1] = correlation[ids[i], ids[j]]
            for k in range((d + 1) * w.n_bits):
                w.shared[k] = 0
            for j in range(d):
                if ids[j] > x:
                    break
                w.common[j >> 6] |= (<uint64_t>1) << (j & 63)
                for i in range(d):
                    if members[ids[j], ids[i]]:
                        w.shared[i * w.n_bits + (j >> 6)] |= (<uint64_t>1) << (j & 63)
            if w.has_pools and not set_limits(&w, x, adjacent, tested, &bits[(d + size) * w.n_bits]):
                continue
            walk(&w, 0, 0)
            n_tests += w.n_tests
    return n_tests

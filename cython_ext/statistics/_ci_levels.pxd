# The tests of a level of sets: whose they are, and how they compare.

from libc.stdint cimport int64_t, uint8_t

from _ci_statistics cimport Result


cdef struct Level:              # all tests given sets of a size; matrices (n, n)
    Py_ssize_t n, size
    const uint8_t *adjacent
    const uint8_t *members      # of the sets of each variable
    const uint8_t *tested       # NULL, or the variables whose subsets were tested before
    const int64_t *tiers        # NULL without tiers, or without sets
    int64_t n_tests, n_refused


cdef inline Py_ssize_t list_members(const uint8_t *row, Py_ssize_t n, int *out) noexcept nogil:
    cdef Py_ssize_t i, n_members = 0
    for i in range(n):
        if row[i]:
            out[n_members] = <int>i
            n_members += 1
    return n_members


cdef inline bint has_all(const uint8_t *row, const int *chosen, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t s
    for s in range(size):
        if not row[chosen[s]]:
            return False
    return True


cdef inline Py_ssize_t choose_wanted(
    const Level *level, Py_ssize_t x, const int *neighbours, Py_ssize_t degree, const int *chosen, int *wanted
) noexcept nogil:
    # Numbers of the neighbours to be tested with x given the chosen set, unless it was asked before.
    cdef Py_ssize_t i, j = 0, s, y, size = level.size, n = 0
    cdef int64_t last = 0
    if level.tested != NULL and has_all(level.tested + x * level.n, chosen, size):
        return 0
    if level.tiers != NULL:
        last = level.tiers[chosen[0]]
        for s in range(1, size):
            last = max(last, level.tiers[chosen[s]])
    for i in range(degree):
        y = neighbours[i]
        while j < size and chosen[j] < y:
            j += 1
        if j < size and chosen[j] == y:
            continue
        if y < x and has_all(level.members + y * level.n, chosen, size):
            continue    # asked from the other side
        if level.tested != NULL and has_all(level.tested + y * level.n, chosen, size):
            continue
        if level.tiers != NULL and max(level.tiers[x], level.tiers[y]) < last:
            continue
        wanted[n] = <int>i
        n += 1
    return n


cdef inline bint is_weaker(const Result *result, const Result *other) noexcept nogil:
    # Whether the p-value cannot be larger than that of another test.
    return result.dof <= other.dof and result.statistic >= other.statistic

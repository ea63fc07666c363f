# The arcs that a child may get, best first, sorted only as far as they are asked for.
#
# Most lists are asked for their first legal addition alone before the gains of the child change again, so that the
# first few are selected one by one, and the others sorted when one of them is asked for.
# Cost: O(n) to fill, O(m) for each of the first SELECTED, O(m log m) for all m.

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort, realloc


cdef enum:
    SELECTED = 4


cdef struct Addition:           # parent -> (the child whose list this is)
    double gain
    int64_t priority
    int parent


cdef struct Additions:
    Addition *items
    int n, n_sorted
    int first_legal             # -1: not known yet; n: there is none


cdef inline int compare_additions(const void *a, const void *b) noexcept nogil:
    cdef const Addition *x = <const Addition *>a
    cdef const Addition *y = <const Addition *>b
    if x.gain != y.gain:
        return (x.gain < y.gain) - (x.gain > y.gain)
    return (x.priority > y.priority) - (x.priority < y.priority)


cdef inline int fill_additions(
    Additions *list, const double *gains, Py_ssize_t n, Py_ssize_t child, double least, const int64_t *priority
) except -1 nogil:
    # Those of at least a gain, none of -inf.
    cdef Py_ssize_t u, m = 0
    cdef Addition *items
    for u in range(n):
        m += u != child and gains[u] >= least and gains[u] > -INFINITY
    items = <Addition *>realloc(list.items, (m + 1) * sizeof(Addition))
    if items == NULL:
        with gil:
            raise MemoryError(f"cannot allocate {m} moves")
    list.items, list.n, list.n_sorted, list.first_legal = items, <int>m, 0, -1
    m = 0
    for u in range(n):
        if u != child and gains[u] >= least and gains[u] > -INFINITY:
            items[m].gain, items[m].priority, items[m].parent = gains[u], priority[u], <int>u
            m += 1
    return 0


cdef inline Addition *addition_at(Additions *list, int i) noexcept nogil:
    # Number i of the list, best first.
    cdef Addition *first
    cdef Addition swap
    cdef int j
    while i >= list.n_sorted:
        first = list.items + list.n_sorted
        if list.n_sorted == SELECTED:
            qsort(first, list.n - SELECTED, sizeof(Addition), compare_additions)
            list.n_sorted = list.n
            break
        for j in range(list.n_sorted + 1, list.n):
            if compare_additions(list.items + j, first) < 0:
                swap = first[0]
                first[0] = list.items[j]
                list.items[j] = swap
        list.n_sorted += 1
    return list.items + i

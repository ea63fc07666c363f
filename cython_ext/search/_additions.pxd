# The possible new arcs of a child, best first.

from libc.stdint cimport int64_t


cdef struct Addition:           # parent -> the child whose list this is
    double gain
    int64_t priority
    int parent


cdef inline int compare_additions(const void *a, const void *b) noexcept nogil:
    cdef const Addition *x = <const Addition *>a
    cdef const Addition *y = <const Addition *>b
    if x.gain != y.gain:
        return (x.gain < y.gain) - (x.gain > y.gain)
    return (x.priority > y.priority) - (x.priority < y.priority)

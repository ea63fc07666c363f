# Rows of places and values that grow, and the union of sets by their smallest members.

from libc.stdlib cimport realloc
from libc.string cimport memcpy

from _inner_lasso cimport Lasso


cdef struct Sparse:
    int *at
    double *values
    Py_ssize_t n, capacity


cdef inline bint append(Sparse *to, const int *at, const double *values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t capacity
    cdef int *places
    cdef double *numbers
    if to.n + n > to.capacity:
        capacity = max(2 * to.capacity, to.n + n + 8)
        places = <int *>realloc(to.at, capacity * sizeof(int))
        if places != NULL:
            to.at = places
        numbers = <double *>realloc(to.values, capacity * sizeof(double))
        if numbers != NULL:
            to.values = numbers
        if places == NULL or numbers == NULL:
            return False
        to.capacity = capacity
    if n == 0:
        return True
    memcpy(to.at + to.n, at, n * sizeof(int))
    memcpy(to.values + to.n, values, n * sizeof(double))
    to.n += n
    return True


cdef inline void sort_support(Lasso *z) noexcept nogil:
    # By insertion: new entries are at the end.
    cdef Py_ssize_t a, c
    cdef int at
    cdef double weight
    for a in range(1, z.n_nonzero):
        at, weight = z.support[a], z.weight[a]
        c = a
        while c > 0 and z.support[c - 1] > at:
            z.support[c], z.weight[c] = z.support[c - 1], z.weight[c - 1]
            c -= 1
        z.support[c], z.weight[c] = at, weight


cdef inline int root(int *parent, int i) noexcept nogil:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i

# Weights that come from elsewhere; it stands here for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int64_t

from _buffers cimport Buffer


cdef class RemoteWeights:
    cdef object ask                     # called with a list of (child, parents, candidates)
    cdef Py_ssize_t child               # of the family that is held, -1 for none
    cdef const int[::1] parents
    cdef object keys, weights, tables
    cdef int64_t[::1] first             # by candidate: its first row in the tables, -1 without

    cdef bint holds(self, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil
    cdef int request(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *wanted, Py_ssize_t n, const int64_t *cards
    ) except -1 with gil
    cdef Py_ssize_t fill_cells(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int64_t *cards, Buffer *keys, Buffer *weights
    ) except -1 with gil
    cdef int fill_table(self, Py_ssize_t u, const int64_t *cards, double *table) except -1 with gil

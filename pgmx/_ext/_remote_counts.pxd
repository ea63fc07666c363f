# Counts that come from elsewhere; it stands here for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from _cells cimport Cells
from _workspace cimport Row, Workspace


cdef class RemoteCounts:
    cdef object ask                     # called with child, parents and candidates
    cdef Py_ssize_t n
    cdef Py_ssize_t child               # of the family that is held, -1 for none
    cdef object parents, keys, counts, tables
    cdef int64_t[::1] first             # by candidate: its first row in the tables, -1 without

    cdef bint holds(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except -1
    cdef int request(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *wanted, Py_ssize_t n, const int64_t *cards
    ) except -1 with gil
    cdef int fill_cells(self, Workspace *work, const int *parents, Py_ssize_t k, Py_ssize_t child) except -1 with gil
    cdef int fill_tables(self, Workspace *work, const Row *row, const int *candidates, Py_ssize_t n) except -1 with gil
    cdef uint32_t *fill_pair(self, Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil

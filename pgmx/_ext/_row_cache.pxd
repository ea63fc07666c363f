# Rows of gains that are kept; it stands here for the reason that ``_scorer.pxd`` gives.

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport uint64_t

from pgmx._ext._scorer cimport Family, Scorer


cdef struct Entry:
    uint64_t hash
    int child, n_parents
    int *parents                # NULL without any
    double *row                 # n gains, then the score
    Py_ssize_t next             # in the chain, -1 at its end


cdef class RowStore:
    cdef readonly Py_ssize_t n, n_rows
    cdef Py_ssize_t limit, oldest, capacity, n_chains
    cdef Entry *entries
    cdef Py_ssize_t *chains
    cdef PyThread_type_lock lock

    cdef void drop_all(self) noexcept nogil
    cdef bint find(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *row, double *score) noexcept nogil
    cdef bint has(self, const Family *family) noexcept nogil
    cdef void keep(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const double *row, double score
    ) noexcept nogil
    cdef Py_ssize_t place(self, uint64_t hash, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil
    cdef bint store(self, uint64_t hash, Py_ssize_t child, int *parents, Py_ssize_t k, double *row) noexcept nogil
    cdef bint grow(self) noexcept nogil
    cdef void link(self, Py_ssize_t i) noexcept nogil
    cdef void unlink(self, Py_ssize_t i) noexcept nogil


cdef class CachedScorer(Scorer):
    cdef readonly Scorer source
    cdef readonly RowStore store
    cdef readonly Py_ssize_t n_asked    # rows that the source computed

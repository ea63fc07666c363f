# Rows of gains that are kept; it is in this folder for the reason that ``_scorer.pxd`` gives.

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


cdef enum:
    MOST_AHEAD = 24             # largest number of prefetched rows


cdef struct Order:              # a family whose row is wanted
    int child, k
    int *parents                # (k,), of room for n
    bint is_taken


cdef class RowsAhead:
    cdef readonly RowStore store
    cdef Py_ssize_t n_threads, n_orders, n_open   # n_open: orders that nobody has taken
    cdef PyThread_type_lock lock
    cdef Order *orders          # the most wanted first
    cdef Order *current         # by thread: the row that it computes, child -1 for none
    cdef int *owners            # by child: the thread that computed its last row, -1 for none
    cdef PyThread_type_lock *bells  # by thread: held while it has nothing to do
    cdef char *is_asleep        # by thread
    cdef Py_ssize_t awaited     # the thread that the first one waits for, -1 for none
    cdef bint is_closed

    cdef bint is_due(self) noexcept nogil
    cdef void publish(self, const Family *families, Py_ssize_t n) noexcept nogil
    cdef void wake(self, Py_ssize_t thread) noexcept nogil
    cdef bint take(self, Py_ssize_t thread) noexcept nogil
    cdef void begin(self, Py_ssize_t thread, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil
    cdef void finish(self, Py_ssize_t thread) noexcept nogil
    cdef Py_ssize_t find_thread(self, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil
    cdef int compute(self, Py_ssize_t thread, Scorer source, double *row) except -1 nogil
    cdef int work(self, Py_ssize_t thread, Scorer source, double *row) except -1 nogil
    cdef bint prepare(
        self, Scorer source, Py_ssize_t child, const int *parents, Py_ssize_t k, double *row
    ) except -1 nogil


cdef class CachedScorer(Scorer):
    cdef readonly Scorer source
    cdef readonly RowStore store
    cdef readonly RowsAhead ahead       # None if no other thread computes rows
    cdef readonly Py_ssize_t n_asked    # rows that the source computed

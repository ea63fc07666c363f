# Counts that come from elsewhere; it stands here for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from _workspace cimport Memo, Row, Workspace


cdef class RemoteCounts:
    cdef object ask                     # called with a list of (child, parents, candidates)
    cdef Py_ssize_t n
    cdef list requests                  # of the next message
    cdef Py_ssize_t n_asked             # how many they are
    cdef dict answers                   # by child and parents, as bytes: what was asked for ahead
    cdef size_t n_bytes                 # of the answers
    cdef bytes family                   # child and parents of the answer in use
    cdef object keys, counts, tables
    cdef int64_t[::1] first             # by candidate: its first row in the tables, -1 without

    cdef bint has(self, const Row *row) except -1 with gil
    cdef bint holds(self, const Row *row, const int64_t *cards) except -1 with gil
    cdef int add(self, const Row *row, const int *wanted, Py_ssize_t n) except -1 with gil
    cdef int send(self) except -1 nogil
    cdef int send_requests(self) except -1 with gil
    cdef int request(
        self, const Row *row, const int *wanted, Py_ssize_t n, const int64_t *cards
    ) except -1 with gil
    cdef int use(self, answer, const int64_t *cards) except -1
    cdef int drop_oldest(self) except -1
    cdef int fill_cells(self, Workspace *work, Row *row) except -1 nogil
    cdef int copy_cells(self, Workspace *work, const Row *row) except -1 with gil
    cdef int merge_memo(self, Workspace *work, const Row *row, const Memo *memo) except -1 nogil
    cdef int fill_tables(self, Workspace *work, const Row *row, const int *candidates, Py_ssize_t n) except -1 with gil
    cdef uint32_t *fill_pair(self, Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil

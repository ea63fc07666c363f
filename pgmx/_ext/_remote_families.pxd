# Counts that workers compute; it is in this folder for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int64_t, uint32_t

from _buffers cimport Buffer
from _workspace cimport Memo, Row, Workspace

from pgmx._ext._scorer cimport Family

cdef enum:
    MESSAGE_MEMORY = 1 << 24    # bytes of the answers to one message, unless a single family needs more


cdef class RemoteFamilies:
    cdef object ask                     # called with a list of (child, parents, candidates)
    cdef Py_ssize_t n
    cdef Py_ssize_t n_left_out          # states of a candidate without a row in its table
    cdef const int64_t[::1] cards
    cdef list requests                  # of the next message
    cdef Py_ssize_t n_asked             # number of requests
    cdef double message                 # upper bound of the bytes of their answers
    cdef dict answers                   # by child and parents, as bytes: prefetched answers
    cdef dict used                      # used answers
    cdef size_t n_bytes                 # of the answers
    cdef bytes family                   # child and parents of the answer in use
    cdef bint has_tables                # whether this answer has tables
    cdef object dtype, keys, counts, tables
    cdef int64_t[::1] first             # by candidate: its first row in the tables, -1 without

    cdef bint has(self, const Family *family) except -1 with gil
    cdef object find(self, bytes name)
    cdef bint holds(self, const Family *family) except -1 with gil
    cdef bint add(
        self, const Family *family, const int *wanted, Py_ssize_t n, double cells, double tables
    ) except -1 with gil
    cdef int send(self) except -1 nogil
    cdef int send_requests(self) except -1 with gil
    cdef int request(self, const Family *family, const int *wanted, Py_ssize_t n) except -1 with gil
    cdef int use(self, answer) except -1
    cdef int forget(self, bytes name) except -1


cdef class RemoteCounts(RemoteFamilies):
    cdef int fill_cells(self, Workspace *work, Row *row) except -1 nogil
    cdef bint has_row(self, const Row *row) except -1 nogil
    cdef int copy_cells(self, Workspace *work, const Row *row) except -1 with gil
    cdef int copy_pair(self, Workspace *work, const Row *row) except -1 nogil
    cdef int merge_memo(self, Workspace *work, const Row *row, const Memo *memo) except -1 nogil
    cdef int fill_tables(self, Workspace *work, const Row *row, const int *candidates, Py_ssize_t n) except -1 with gil
    cdef uint32_t *fill_pair(self, Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil


cdef class RemoteWeights(RemoteFamilies):
    cdef Py_ssize_t fill_cells(self, const Family *family, Buffer *keys, Buffer *weights) except -1 with gil
    cdef bint has_table(self, const Family *family, Py_ssize_t u) except -1 with gil
    cdef int fill_table(self, const Family *family, Py_ssize_t u, double *table) except -1 with gil

# The move queue, for the kernel of trials; it stands here for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int64_t, uint64_t

from _additions cimport Addition, Additions
from _dag cimport Dag


cdef enum:
    C_ADD, C_DELETE, C_REVERSE


cdef struct Move:
    int op, tail, head
    double gain


cdef class DagMoves:
    cdef readonly Py_ssize_t n
    cdef Dag dag
    cdef Py_ssize_t tabu_length, tabu_filled, tabu_next
    cdef Py_ssize_t max_indegree
    cdef double floor
    cdef double[3] bonus
    cdef double[:, ::1] gains
    cdef const int64_t[::1] priority
    cdef Additions *additions       # by child
    cdef double *most               # by head: what deleting or reversing an arc into it gains at most; NaN: not known
    cdef uint64_t *required         # (n, words) by head, NULL without constraints
    cdef uint64_t *barred           # (3, n, words) by operation and head, NULL without tabu
    cdef Move *tabu                 # ring of the barred moves

    cdef int list_additions(self, Py_ssize_t child) except -1 nogil
    cdef Addition *best_addition(self, Py_ssize_t child) noexcept nogil
    cdef bint wins(self, const Move *best, double gain, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    cdef void find_best(self, Move *best, double least) noexcept nogil
    cdef void find_best_into(self, Py_ssize_t head, Move *best) noexcept nogil
    cdef double most_into(self, Py_ssize_t head) noexcept nogil
    cdef void forget_most(self, Py_ssize_t child) noexcept nogil
    cdef bint allow_all(self) noexcept nogil
    cdef bint is_barred(self, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    cdef bint can_add(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    cdef bint can_delete(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    cdef bint can_reverse(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    cdef bint draw_once(self, double temperature, uint64_t *state, Move *move) noexcept nogil
    cdef int make_move(self, int op, Py_ssize_t tail, Py_ssize_t head) except -1 nogil
    cdef int bar(self, int op, int tail, int head) except -1 nogil
    cdef int insert(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil
    cdef int remove(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil

# The move queue, for the kernel of trials; it is in this folder for the reason that ``_scorer.pxd`` gives.

cimport cython
from libc.stdint cimport int64_t, uint64_t

from _additions cimport Addition

from pgmx._ext._dag_graph cimport DirectedGraph


cdef enum:
    C_ADD, C_DELETE, C_REVERSE


cdef struct Move:
    int op, tail, head
    double gain


cdef class DagMoves(DirectedGraph):
    cdef Py_ssize_t tabu_length, tabu_filled, tabu_next
    cdef Py_ssize_t max_indegree
    cdef double floor
    cdef double[3] bonus
    cdef double[:, ::1] gains
    cdef const int64_t[::1] priority
    cdef double *top                # by child: the largest gain of an addition, legal or not; -inf without any
    cdef double *bound              # by child: upper bound of the gains of legal additions
    cdef uint64_t *open             # scratch: variables that may become a parent of a child, (words,)
    cdef double *most               # by head: upper bound of the gain of deleting or reversing an arc; NaN: not known
    cdef uint64_t *required         # (n, words) by head, NULL without constraints
    cdef uint64_t *barred           # (3, n, words) by operation and head, NULL without tabu
    cdef Move *tabu                 # ring of the barred moves

    @cython.final
    cdef void read_gains(self, Py_ssize_t child) noexcept nogil
    @cython.final
    cdef const uint64_t *barred_tails(self, Py_ssize_t child) noexcept nogil
    @cython.final
    cdef Py_ssize_t list_additions(self, Py_ssize_t child, Addition *additions) noexcept nogil
    @cython.final
    cdef bint wins(self, const Move *best, double gain, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef void find_best(self, Move *best, double least) noexcept nogil
    @cython.final
    cdef int best_addition(self, Py_ssize_t head, double least, double *gain) noexcept nogil
    @cython.final
    cdef void compare_addition(self, Py_ssize_t head, Move *best) noexcept nogil
    @cython.final
    cdef void find_best_into(self, Py_ssize_t head, Move *best) noexcept nogil
    @cython.final
    cdef double most_into(self, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef void forget_most(self, Py_ssize_t child) noexcept nogil
    @cython.final
    cdef void forget_legal(self, Py_ssize_t child) noexcept nogil
    @cython.final
    cdef bint allow_all(self) noexcept nogil
    @cython.final
    cdef bint is_barred(self, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef bint can_add(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef bint can_delete(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef bint can_reverse(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef bint draw_once(self, double temperature, uint64_t *state, Move *move) noexcept nogil
    @cython.final
    cdef int make_move(self, int op, Py_ssize_t tail, Py_ssize_t head) except -1 nogil
    @cython.final
    cdef int bar(self, int op, int tail, int head) except -1 nogil
    @cython.final
    cdef int insert(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil
    @cython.final
    cdef void remove(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef void remove_later(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil
    @cython.final
    cdef void forget_without(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil

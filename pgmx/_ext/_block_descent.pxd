# The base of the conditionals of a pseudolikelihood, for local and remote rows. It is next to the built kernels because
# Cython imports a shared class by its full name: `from pgmx._ext._block_descent cimport BlockDescent`.

from libc.stdint cimport int64_t, uint8_t


cdef class BlockDescent:
    cdef readonly Py_ssize_t n, n_steps
    cdef readonly double total              # sum of the weights of the rows
    cdef public double l2
    cdef const int64_t[::1] cards
    cdef int64_t[::1] offset
    cdef const double[::1] margin, node_penalty
    cdef double[::1] theta, total_of        # parameters of the nodes; sums of their conditionals over the rows
    cdef readonly object node_values
    cdef readonly object drift
    cdef double[::1] _drift
    cdef uint8_t[::1] by_row                # whether the conditional of a node differs between rows
    cdef bint is_rebuild                    # whether shifts belong to a rebuild, which does not change the drift

    cdef int set_up(self, cardinalities, margins, double total, double l2, node_penalties) except -1
    cdef int settle(self, Py_ssize_t i, object added) except -1
    cdef void multiply(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil
    cdef double _block(
        self, Py_ssize_t i, Py_ssize_t j, double *value, const double *table, const uint8_t *mask, double penalty,
        double tol, double *memory, size_t size
    ) except -1

    # defined by subclasses
    cdef void side(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil
    cdef double shift(self, Py_ssize_t i, Py_ssize_t j, const double *step, void *scratch) noexcept nogil
    cdef int open(self, Py_ssize_t i) except -1
    cdef int close(self, Py_ssize_t i) except -1

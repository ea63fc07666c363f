# The store of elimination plans, shared by the kernels that answer rows; here for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int32_t

from _plans cimport Kind, Network, Plan, Scratch


cdef class PlanStore:
    cdef Network network
    cdef Scratch scratch
    cdef list _inputs                             # keeps the arrays of the network alive
    cdef Py_ssize_t max_bytes, n_bytes
    # records (kind, numbers of variables, families and query, these) in one pool of integers
    cdef Plan **plans
    cdef Py_ssize_t *records
    cdef int32_t *pool
    cdef Py_ssize_t *slots
    cdef Py_ssize_t n_kept, kept_size, pool_used, pool_size, n_slots
    cdef int32_t *local                           # position of a variable in the component that is being planned

    cdef Py_ssize_t keep(
        self, Kind kind, const int32_t *hidden, Py_ssize_t m, const int32_t *families, Py_ssize_t n_families,
        const int32_t *query, Py_ssize_t n_query
    ) noexcept nogil
    cdef int _check_number(self, Py_ssize_t number) except -1
    cdef Plan *get_plan(self, Py_ssize_t number) except NULL
    cdef int _grow(self, Py_ssize_t size) noexcept nogil
    cdef int reserve(self, const Plan *plan) noexcept nogil

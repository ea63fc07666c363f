# The tables of a network, copied for each variable so that its own states are contiguous: rows of conditionals.

from libc.stdint cimport int32_t, int64_t


cdef struct Network:
    const int64_t *node_offsets     # (n + 1,) first cell of a variable
    const double *node_logs         # (cells,)
    const double *node_scaled       # (cells,) exponentials, the largest of a variable 1
    const int64_t *pointer          # (n + 1,) incidences of a variable
    const int64_t *first_row        # (incidences,) first cell of the copied table
    const int64_t *members          # (incidences + 1,) other members of the table
    const int64_t *member           # their ids
    const int64_t *strides          # cells from one state of a member to the next
    const double *logs              # copied tables
    const double *scaled            # exponentials, the largest of a row 1


cdef inline Py_ssize_t row_of(const Network *net, Py_ssize_t incidence, const int32_t *state) noexcept nogil:
    cdef Py_ssize_t k, at = net.first_row[incidence]
    for k in range(net.members[incidence], net.members[incidence + 1]):
        at += net.strides[k] * state[net.member[k]]
    return at

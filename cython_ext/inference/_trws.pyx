"""An upper bound on the score of every configuration of a pairwise network, by sequential tree-reweighted messages.

Problem: an upper bound on max over x of S(x) = sum_i theta_i(x_i) + sum_ij W_ij(x_i, x_j): S is decomposed into trees,
and the sum of their maxima is minimised over decompositions: the dual of the linear relaxation over the local polytope.
Algorithm: TRW-S. The trees are chains of increasing variable indices; variable i is in
max(edges to smaller, edges to larger indices) of them. A forward and a backward pass over the variables send the
messages
    M_ij(b) = max_a gamma_i T_i(a) - M_ji(a) + W_ij(a, b),    T_i = theta_i + sum_k M_ki,    gamma_i = 1 / chains of i,
and the bound, which never increases, is the sum of the amounts by which each T_i and each message is lowered in the
backward pass to have a maximum of 0. The forward pass chooses a configuration: each variable gets the best state given
the states of smaller indices and the messages from larger indices.
Cost of a pass: sum over edges of s_i s_j. Thread-safety: inputs are only read, messages and codes are written; the GIL
is released.
Reference: Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization, IEEE Transactions on
Pattern Analysis and Machine Intelligence 28, 1568-1583 (section 5 and figure 3, with maxima for minima).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np


cdef struct Pairs:
    const int64_t *node_at      # (n + 1,) first cell of a variable
    const double *nodes         # (cells,)
    const int64_t *edge_at      # (m + 1,) first cell of an edge's table
    const double *tables        # (edge cells,)
    const int64_t *pointer      # (n + 1,) slots of a variable, one per neighbour
    const int64_t *neighbour    # (slots,)
    const int64_t *edge         # (slots,)
    const int64_t *twin         # (slots,) of the other end
    const int64_t *message_at   # (slots + 1,) first cell of the message into the variable
    double *messages


cdef double lower(double *values, Py_ssize_t size) noexcept nogil:
    # Subtracts the largest value; returns it.
    cdef Py_ssize_t a
    cdef double top = values[0]
    for a in range(1, size):
        top = max(top, values[a])
    for a in range(size):
        values[a] -= top
    return top


cdef inline Py_ssize_t collect(const Pairs *net, Py_ssize_t v, double *total) noexcept nogil:
    # T of a variable; returns its number of states.
    cdef Py_ssize_t a, k, r = net.node_at[v + 1] - net.node_at[v]
    cdef const double *message
    for a in range(r):
        total[a] = net.nodes[net.node_at[v] + a]
    for k in range(net.pointer[v], net.pointer[v + 1]):
        message = net.messages + net.message_at[k]
        for a in range(r):
            total[a] += message[a]
    return r


cdef double send(
    const Pairs *net, Py_ssize_t v, Py_ssize_t k, const double *total, Py_ssize_t r, double share, double *cavity
) noexcept nogil:
    # The message over slot k; returns the amount subtracted.
    cdef Py_ssize_t u = net.neighbour[k], a, b, q = net.node_at[u + 1] - net.node_at[u]
    cdef const double *back = net.messages + net.message_at[k]
    cdef double *out = net.messages + net.message_at[net.twin[k]]
    cdef const double *table = net.tables + net.edge_at[net.edge[k]]
    cdef double value
    for a in range(r):
        cavity[a] = share * total[a] - back[a]
    for b in range(q):
        out[b] = -INFINITY
    if v < u:
        for a in range(r):
            for b in range(q):
                value = cavity[a] + table[a * q + b]
                out[b] = value if value > out[b] else out[b]
    else:
        for b in range(q):
            for a in range(r):
                value = cavity[a] + table[b * r + a]
                out[b] = value if value > out[b] else out[b]
    return lower(out, q)


cdef double visit(
    const Pairs *net, Py_ssize_t v, bint forward, double *total, double *cavity
) noexcept nogil:
    # Sends to the neighbours of larger indices (forward) or smaller ones; returns the contribution to the bound.
    cdef Py_ssize_t k, ahead = 0, r = collect(net, v, total), degree = net.pointer[v + 1] - net.pointer[v]
    cdef double share, gain
    for k in range(net.pointer[v], net.pointer[v + 1]):
        ahead += net.neighbour[k] > v
    share = 1.0 / max(1, max(ahead, degree - ahead))
    gain = lower(total, r)
    for k in range(net.pointer[v], net.pointer[v + 1]):
        if (net.neighbour[k] > v) == forward:
            gain += send(net, v, k, total, r, share, cavity)
    return gain


cdef void choose(const Pairs *net, Py_ssize_t v, int32_t *codes, double *total) noexcept nogil:
    # The best state given the states of smaller indices and the messages from larger indices.
    cdef Py_ssize_t a, k, u, r = net.node_at[v + 1] - net.node_at[v]
    cdef const double *row
    for a in range(r):
        total[a] = net.nodes[net.node_at[v] + a]
    for k in range(net.pointer[v], net.pointer[v + 1]):
        u = net.neighbour[k]
        row = net.messages + net.message_at[k]
        if u < v:
            row = net.tables + net.edge_at[net.edge[k]] + codes[u] * r
        for a in range(r):
            total[a] += row[a]
    codes[v] = 0
    for a in range(1, r):
        if total[a] > total[codes[v]]:
            codes[v] = <int32_t>a


def pass_messages(
    const int64_t[::1] node_at,         # in: (n + 1,)
    const double[::1] nodes,            # in: (cells,) finite
    const int64_t[::1] edge_at,         # in: (m + 1,)
    const double[::1] tables,           # in: (edge cells,) finite, row-major, the states of the smaller index first
    const int64_t[::1] pointer,         # in: (n + 1,)
    const int64_t[::1] neighbour,       # in: (slots,)
    const int64_t[::1] edge,            # in: (slots,)
    const int64_t[::1] twin,            # in: (slots,)
    const int64_t[::1] message_at,      # in: (slots + 1,)
    double[::1] messages,               # in and out: (message cells,)
    int32_t[::1] codes,                 # out: (n,) the configuration of the last pass
    Py_ssize_t n_passes,
):
    """Make some forward and backward passes, at least one; return the bound after the last."""
    cdef Pairs net
    cdef Py_ssize_t n = codes.shape[0], _, v, widest = np.diff(node_at).max()
    cdef double bound = INFINITY
    cdef double[:, ::1] scratch = np.empty((2, widest))
    net.node_at, net.nodes, net.edge_at, net.pointer = &node_at[0], &nodes[0], &edge_at[0], &pointer[0]
    if neighbour.shape[0]:
        net.tables, net.neighbour, net.edge, net.twin = &tables[0], &neighbour[0], &edge[0], &twin[0]
        net.message_at, net.messages = &message_at[0], &messages[0]
    with nogil:
        for _ in range(n_passes):
            for v in range(n):
                choose(&net, v, &codes[0], &scratch[0, 0])
                visit(&net, v, True, &scratch[0, 0], &scratch[1, 0])
            bound = 0.0
            for v in range(n - 1, -1, -1):
                bound += visit(&net, v, False, &scratch[0, 0], &scratch[1, 0])
    return bound

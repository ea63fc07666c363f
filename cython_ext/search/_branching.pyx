"""Maximum-weight branchings of dense directed graphs.

Problem: choose at most one entering arc for every node, without a cycle, so that the sum of weights is largest.
Algorithm: Edmonds'. A virtual root has an arc of weight 0 to every node, so that exactly one entering arc per node is
chosen. From each node the best entering arcs are followed backwards until they reach a node connected to the root. A
cycle on the way is contracted to one node. The weight of an arc into it is reduced by the weight of the cycle's arc
that it would replace. A contracted node occupies the row of one of its members; arcs still leave single nodes.
Cost: O(n^2): a contraction of k nodes takes k rows, and there are at most 2 n nodes in all.
Thread-safety: reads and writes its arguments only.
References: Edmonds (1967), Journal of Research of the National Bureau of Standards 71B, 233-240; Tarjan (1977),
Networks 7, 25-35 (dense form).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


cdef Py_ssize_t best_source(const double *row, Py_ssize_t n) noexcept nogil:
    # The first of the best columns; the root is column 0, so that no arc is chosen if none gains.
    cdef Py_ssize_t u, best = 0
    for u in range(1, n):
        if row[u] > row[best]:
            best = u
    return best


cdef void merge(
    double *entering, int32_t *heads, int32_t *row_of, uint8_t *gone, Py_ssize_t n,
    const int32_t *cycle, Py_ssize_t size, const double *chosen,
) noexcept nogil:
    # Merges the rows of the cycle into the row of its first member; columns remain single nodes.
    cdef Py_ssize_t kept = cycle[0], m, u, i
    cdef double *row = entering + kept * n
    cdef double weight
    for u in range(n):
        row[u] -= chosen[kept]
    for i in range(1, size):
        m = cycle[i]
        gone[m] = True
        for u in range(n):
            weight = entering[m * n + u] - chosen[m]
            if weight > row[u]:
                row[u] = weight
                heads[kept * n + u] = heads[m * n + u]
    for u in range(n):
        if gone[row_of[u]]:
            row_of[u] = <int32_t>kept
        if row_of[u] == kept:
            row[u] = -INFINITY


def maximum_branching(
    double[:, ::1] entering,    # in: (n + 1, n + 1) weight of the arc from the column to the row, 0 being the root;
                                # overwritten; -inf forbids an arc, and must be on the diagonal
):
    """Return the tail of the arc into each node, int64 (n + 1,): 0 for an arc from the root."""
    cdef Py_ssize_t n = entering.shape[0], first, length, slot, source, tail, start, n_nodes = n
    cdef Py_ssize_t i, node, inner
    cdef int32_t[:, ::1] heads = np.repeat(np.arange(n, dtype=np.int32)[:, None], n, axis=1)
    cdef double[::1] chosen = np.zeros(n)
    cdef uint8_t[::1] gone = np.zeros(n, dtype=np.uint8)
    cdef uint8_t[::1] settled = np.zeros(n, dtype=np.uint8)
    cdef uint8_t[::1] entered = np.zeros(2 * n, dtype=np.uint8)
    cdef int32_t[::1] path = np.empty(n + 1, dtype=np.int32)
    cdef int32_t[::1] place = np.full(n, -1, dtype=np.int32)        # of a row on the path
    cdef int32_t[::1] row_of = np.arange(n, dtype=np.int32)         # of a single node
    cdef int32_t[::1] node_in = np.arange(n, dtype=np.int32)        # the node of a row
    cdef int32_t[::1] into = np.zeros(2 * n, dtype=np.int32)        # the node that a node was contracted to
    cdef int32_t[::1] arc_tail = np.zeros(2 * n, dtype=np.int32)    # the arc chosen for a node
    cdef int32_t[::1] arc_head = np.zeros(2 * n, dtype=np.int32)
    parents = np.zeros(n, dtype=np.int64)
    cdef int64_t[::1] out = parents
    settled[0] = True
    with nogil:
        for first in range(1, n):
            if gone[first] or settled[first]:
                continue
            path[0], place[first], length = <int32_t>first, 0, 1
            while not settled[path[length - 1]]:
                slot = path[length - 1]
                tail = best_source(&entering[slot, 0], n)
                chosen[slot] = entering[slot, tail]
                node = node_in[slot]
                arc_tail[node], arc_head[node] = <int32_t>tail, heads[slot, tail]
                source = row_of[tail]
                if place[source] < 0:
                    path[length], place[source] = <int32_t>source, <int32_t>length
                    length += 1
                    continue
                start = place[source]
                merge(
                    &entering[0, 0], &heads[0, 0], &row_of[0], &gone[0], n, &path[start], length - start, &chosen[0]
                )
                for i in range(start, length):
                    into[node_in[path[i]]] = <int32_t>n_nodes
                    place[path[i]] = -1
                node_in[source] = <int32_t>n_nodes
                n_nodes += 1
                place[source] = <int32_t>start
                length = start + 1
            for i in range(length):
                settled[path[i]] = True
                place[path[i]] = -1
        # The largest nodes first: the arc into a contracted node also enters the nodes inside it, down to its own end.
        for node in range(n_nodes - 1, 0, -1):
            if entered[node]:
                continue
            out[arc_head[node]] = arc_tail[node]
            inner = arc_head[node]
            while inner != node:
                entered[inner] = True
                inner = into[inner]
    return parents

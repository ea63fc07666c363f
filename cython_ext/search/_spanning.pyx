"""The growth of a maximum spanning forest from rows of weights.

Algorithm: Prim's on the complete graph; the row of a variable is needed when it is the next to join the forest.
Weights are rounded to integer keys, and ties are broken by an order of the variables. A variable whose edge to the new
member is not better than its best edge costs one comparison: ``bars`` is the smallest weight that may be better.
Cost: n values read per variable that joins.
Thread-safety: an object serves one thread; it releases the GIL while the forest grows.
Reference: Prim (1957), Bell System Technical Journal 36, 1389-1401.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

import numpy as np


cdef class ForestGrowth:
    """A forest that variables join one by one, each by the edge of largest weight to its members.

    Parameters
    ----------
    priority : int64 (n,)
        A permutation that breaks ties of keys.
    resolution : float
        A key is a weight in integer multiples of this, a power of two.
    allowed : uint8 (n, n) or None
        The pairs that may be joined, symmetric.

    Attributes
    ----------
    keys : float64 (n,)
        Key of the best edge from the forest to each variable outside, 0 if there is none; -inf inside.
    nearest : int64 (n,)
        End of that edge in the forest, -1 without one.
    best : float64 (n,)
        Weight of that edge.
    order : int64 (n,)
        The variables in the order in which they have joined, and then ``next``.
    n_joined : int
        Number of variables that have joined.
    next : int
        The variable that joins next: by the best edge, or the first by priority if there is none; -1 at the end.
    """

    cdef readonly object keys, nearest, best, order
    cdef readonly Py_ssize_t n_joined
    cdef readonly int64_t next
    cdef Py_ssize_t n
    cdef double resolution
    cdef const int64_t[::1] priority
    cdef const uint8_t[:, ::1] allowed
    cdef double[::1] key, bar, weight
    cdef int64_t[::1] end, joined

    def __cinit__(self, const int64_t[::1] priority, double resolution, const uint8_t[:, ::1] allowed=None):
        self.n = n = priority.shape[0]
        self.priority, self.resolution, self.allowed = priority, resolution, allowed
        self.keys, self.best = np.zeros(n), np.zeros(n)
        self.nearest, self.order = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        self.key, self.weight, self.end, self.joined = self.keys, self.best, self.nearest, self.order
        self.bar = np.full(n, -0.5 * resolution)
        self.choose()

    def grow(self, const double[:, ::1] rows, const int64_t[::1] row_of, Py_ssize_t most) -> int:
        """Let variables join until one has no row, at most ``most``; return the number that have joined.

        ``rows[row_of[v], u]`` is the weight of v and u, -inf for none; ``row_of[v]`` is negative if v has no row.
        """
        cdef Py_ssize_t n = 0
        with nogil:
            while n < most and self.next >= 0 and row_of[self.next] >= 0:
                self.join(&rows[row_of[self.next], 0])
                n += 1
        return n

    cdef void join(self, const double *row) noexcept nogil:
        # Lets the next variable join; the row is its row.
        cdef const double *bar = &self.bar[0]
        cdef int64_t node = self.next
        cdef Py_ssize_t v
        self.key[node], self.bar[node] = -INFINITY, INFINITY
        self.n_joined += 1
        for v in range(self.n):
            if row[v] >= bar[v]:        # most edges are not better than the best one
                self.improve(node, v, row[v])
        self.choose()

    cdef void improve(self, int64_t node, Py_ssize_t v, double weight) noexcept nogil:
        # Updates the best edge of a variable outside if this edge is better.
        cdef double key
        if self.key[v] == -INFINITY or (self.allowed is not None and not self.allowed[node, v]):
            return
        key = round_to_whole(weight / self.resolution)
        if key > self.key[v] or (
            key > 0 and key == self.key[v] and comes_first(&self.priority[0], node, v, self.end[v], v)
        ):
            self.key[v], self.end[v], self.weight[v] = key, node, weight
            self.bar[v] = (key - 0.5) * self.resolution

    cdef void choose(self) noexcept nogil:
        cdef const double *key = &self.key[0] if self.n > 0 else NULL
        cdef double largest = -INFINITY
        cdef int64_t first = -1
        cdef Py_ssize_t v
        for v in range(self.n):
            if key[v] < largest or key[v] == -INFINITY:
                continue
            if key[v] > largest or self.joins_first(v, first):
                largest, first = key[v], v
        self.next = first
        if first >= 0:
            self.joined[self.n_joined] = first

    cdef bint joins_first(self, int64_t v, int64_t other) noexcept nogil:
        # Whether v joins before another variable of the same key.
        cdef const int64_t *priority = &self.priority[0]
        if self.key[v] > 0:
            return comes_first(priority, self.end[v], v, self.end[other], other)
        return priority[v] < priority[other]


def root_trees(
    const int64_t[:, ::1] pairs,        # in: (m, 2) edges of a forest
    const int64_t[::1] starts,          # in: every variable at least once; the first of a tree is its root
    int64_t[::1] tail_of,               # out: (n,) the neighbour towards the root, -1 at the root
    int64_t[::1] edge_of,               # out: (n,) the index of that edge, -1 at the root
):
    """Direct the edges of a forest away from the roots of its trees."""
    cdef Py_ssize_t n = tail_of.shape[0], m = pairs.shape[0], i, k, n_stack
    cdef int64_t v, u
    cdef int64_t[::1] begin = np.zeros(n + 2, dtype=np.int64), place = np.empty(2 * m, dtype=np.int64)
    cdef int64_t[::1] stack = np.empty(n + 1, dtype=np.int64)
    cdef uint8_t[::1] is_visited = np.zeros(n, dtype=np.uint8)
    with nogil:
        for i in range(m):
            begin[pairs[i, 0] + 2] += 1
            begin[pairs[i, 1] + 2] += 1
        for i in range(n):
            begin[i + 2] += begin[i + 1]
        for i in range(m):      # begin[v + 1] is the position of v's next edge
            for k in range(2):
                v = pairs[i, k]
                place[begin[v + 1]] = i
                begin[v + 1] += 1
        for i in range(n):
            tail_of[i] = edge_of[i] = -1
        for i in range(starts.shape[0]):
            if is_visited[starts[i]]:
                continue
            stack[0], n_stack, is_visited[starts[i]] = starts[i], 1, True
            while n_stack > 0:
                n_stack -= 1
                v = stack[n_stack]
                for k in range(begin[v], begin[v + 1]):
                    u = pairs[place[k], 0] + pairs[place[k], 1] - v
                    if not is_visited[u]:
                        is_visited[u], tail_of[u], edge_of[u] = True, v, place[k]
                        stack[n_stack] = u
                        n_stack += 1


cdef inline bint comes_first(const int64_t *priority, int64_t a, int64_t b, int64_t c, int64_t d) noexcept nogil:
    # Whether the edge a - b comes before c - d if their weights are equal.
    cdef int64_t p = min(priority[a], priority[b]), q = min(priority[c], priority[d])
    if p != q:
        return p < q
    return max(priority[a], priority[b]) < max(priority[c], priority[d])


cdef inline double round_to_whole(double x) noexcept nogil:
    # The same as rint, which is a function call on many processors; |x| is below 2^51, or infinite.
    return (x + 6755399441055744.0) - 6755399441055744.0

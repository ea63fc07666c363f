"""The edges of a maximum spanning forest among pairs in any order, each visited once.

Problem: the weights of all pairs of many variables do not fit into memory, and threads count them in blocks.
Algorithm: the best forest of the edges so far is kept. An edge that is worse than all edges on its path in the forest
is not in a better forest. Two bounds represent that path: the worst edge between each of its ends and the root. Edges
that pass are stored until there are some times n of them. Then Kruskal's algorithm computes the best forest of these
and the old forest. The forest of a union of edge sets follows from their forests, so that every thread has its own
filter.
Cost: two comparisons per edge, and O(n log n) whenever the stored edges are sorted. If the order of the edges is
independent of their weights, edges pass more and more rarely: the k-th edge of a variable with probability about 1/k.
Thread-safety: an object serves one thread; ``take`` releases the GIL.
References: Kruskal (1956), Proceedings of the American Mathematical Society 7, 48-50; Tarjan (1983), Data Structures
and Network Algorithms, chapter 6 (an edge that is lightest on a cycle is not in a maximum spanning forest).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

cdef enum:
    ROOM = 4                    # times n edges are stored before they are sorted


cdef struct Edge:
    double key                  # the weight in integer multiples of the resolution
    double weight
    int first, second           # priorities of its ends, the smaller first
    int a, b


cdef bint is_better(const Edge *x, const Edge *y) noexcept nogil:
    if x.key != y.key:
        return x.key > y.key
    if x.first != y.first:
        return x.first < y.first
    return x.second < y.second


cdef int compare(const void *x, const void *y) noexcept nogil:
    if is_better(<const Edge *>x, <const Edge *>y):
        return -1
    return 1 if is_better(<const Edge *>y, <const Edge *>x) else 0


cdef class EdgeFilter:
    """The best forest of the edges passed to it.

    Parameters
    ----------
    priority : int64 (n,)
        A permutation that breaks ties of keys.
    resolution : float
        A key is a weight in integer multiples of this, a power of two; edges without a positive key are left out.
    allowed : uint8 (n, n) or None
        The pairs that may be joined, symmetric.
    """

    cdef Py_ssize_t n, n_edges, n_waiting, room
    cdef double resolution
    cdef const int64_t[::1] priority
    cdef const uint8_t[:, ::1] allowed
    cdef Edge *edges            # the forest, best edge first, then the stored edges
    cdef Edge *worst            # by variable, the worst edge on its path to the root; key 0 without a path
    cdef double[::1] bar        # by variable, the smallest weight that may be as good as that
    cdef int[::1] parent, degree, place, order

    def __cinit__(self, const int64_t[::1] priority, double resolution, const uint8_t[:, ::1] allowed=None):
        cdef Py_ssize_t v
        self.n = priority.shape[0]
        self.priority, self.resolution, self.allowed = priority, resolution, allowed
        self.room = ROOM * self.n + 64
        self.edges = <Edge *>malloc((self.n + self.room) * sizeof(Edge))
        self.worst = <Edge *>malloc((self.n + 1) * sizeof(Edge))
        if self.edges == NULL or self.worst == NULL:
            raise MemoryError(f"cannot allocate the edges of a forest of {self.n} variables")
        for v in range(self.n):
            self.worst[v].key = 0.0
            self.worst[v].first = self.worst[v].second = <int>self.n
        self.bar = np.full(self.n, 0.5 * resolution)
        self.parent, self.degree = np.empty(self.n, dtype=np.intc), np.empty(self.n + 1, dtype=np.intc)
        self.place, self.order = np.empty(2 * self.n, dtype=np.intc), np.empty(self.n, dtype=np.intc)

    def __dealloc__(self):
        free(self.edges)
        free(self.worst)

    def take(
        self,
        const int64_t[::1] block,           # in: ids of the rows
        const int64_t[::1] others,          # in: ids of the columns
        const double[:, ::1] weights,       # in: (block, others), -inf for no edge
        const int64_t[::1] begins,          # in: (block,) first column of each row that is a new edge
    ):
        """Process the edges between a block of variables and others."""
        cdef Py_ssize_t i, k
        cdef const double *row
        cdef const int64_t *ids
        cdef const double *bar
        cdef double least
        if self.n == 0 or others.shape[0] == 0:
            return
        with nogil:
            bar, ids = &self.bar[0], &others[0]
            for i in range(block.shape[0]):
                row = &weights[i, 0]
                least = bar[block[i]]
                for k in range(begins[i], others.shape[0]):
                    if row[k] >= least or row[k] >= bar[ids[k]]:
                        self.put(block[i], ids[k], row[k])
                        least = bar[block[i]]

    def merge(self, EdgeFilter other not None):
        """Process the forest of another filter."""
        cdef Py_ssize_t i
        other.sort()
        for i in range(other.n_edges):
            self.put(other.edges[i].a, other.edges[i].b, other.edges[i].weight)

    def grow(self) -> tuple:
        """Return the forest in the order of Prim's algorithm.

        For each variable, in the order in which they join: its neighbour in the present forest, int64 (n,), -1 for the
        first variable of a tree (by priority); the variable; the weight of the edge, float64 (n,), 0 for none.
        """
        cdef Py_ssize_t i, k, n_heap, n_joined = 0
        cdef int v
        nearest, members = np.full(self.n, -1, dtype=np.int64), np.empty(self.n, dtype=np.int64)
        weights = np.zeros(self.n)
        cdef int64_t[::1] end = nearest, joined = members
        cdef double[::1] gained = weights
        cdef const int64_t[::1] first = np.argsort(self.priority)
        cdef uint8_t[::1] is_inside = np.zeros(self.n, dtype=np.uint8)
        cdef int[::1] heap = np.empty(2 * self.n + 1, dtype=np.intc)    # of edges by index, the best is the smallest
        self.sort()
        with nogil:
            for i in range(self.n):
                if is_inside[first[i]]:
                    continue
                v, n_heap = <int>first[i], 0
                while True:
                    joined[n_joined] = v
                    n_joined += 1
                    is_inside[v] = True
                    for k in range(self.degree[v], self.degree[v + 1]):
                        push(&heap[0], n_heap, self.place[k])
                        n_heap += 1
                    while n_heap > 0:
                        k = pop(&heap[0], n_heap)
                        n_heap -= 1
                        v = self.edges[k].a if is_inside[self.edges[k].b] else self.edges[k].b
                        if not is_inside[v]:
                            end[n_joined] = self.edges[k].a + self.edges[k].b - v
                            gained[n_joined] = self.edges[k].weight
                            break
                    else:
                        break
        return nearest, members, weights

    cdef void put(self, int64_t a, int64_t b, double weight) noexcept nogil:
        # Stores an edge unless the bounds show that it is worse than all edges on its path.
        cdef Edge *edge = self.edges + self.n_edges + self.n_waiting
        if a == b or (self.allowed is not None and not self.allowed[a, b]):
            return
        edge.weight, edge.a, edge.b = weight, <int>a, <int>b
        edge.key = round_to_whole(weight / self.resolution)
        edge.first = <int>min(self.priority[a], self.priority[b])
        edge.second = <int>max(self.priority[a], self.priority[b])
        if edge.key > 0 and (is_better(edge, self.worst + a) or is_better(edge, self.worst + b)):
            self.n_waiting += 1
            if self.n_waiting == self.room:
                self.sort()

    # ---- Kruskal's algorithm ----

    cdef void sort(self) noexcept nogil:
        cdef Py_ssize_t i, m = self.n_edges + self.n_waiting
        cdef int a, b
        qsort(self.edges, m, sizeof(Edge), compare)
        self.n_edges = self.n_waiting = 0
        for i in range(self.n):
            self.parent[i] = <int>i
        for i in range(m):
            a, b = self.root_of(self.edges[i].a), self.root_of(self.edges[i].b)
            if a != b:
                self.parent[a] = b
                self.edges[self.n_edges] = self.edges[i]
                self.n_edges += 1
        self.bound_paths()

    cdef int root_of(self, int v) noexcept nogil:
        while self.parent[v] != v:
            self.parent[v] = self.parent[self.parent[v]]
            v = self.parent[v]
        return v

    cdef void bound_paths(self) noexcept nogil:
        # The worst edge between each variable and the end of the best edge; variables of other trees have none.
        cdef Py_ssize_t i, k, n_seen = 1
        cdef int v, u
        cdef Edge *edge
        for v in range(self.n):
            self.degree[v] = 0
            self.worst[v].key = 0.0
            self.worst[v].first = self.worst[v].second = <int>self.n
            self.bar[v] = 0.5 * self.resolution
        self.degree[self.n] = 0
        for i in range(self.n_edges):
            self.degree[self.edges[i].a] += 1
            self.degree[self.edges[i].b] += 1
        k = 0
        for v in range(self.n + 1):     # end of the edges of v in the list of all edges
            k += self.degree[v]
            self.degree[v] = <int>k
        for i in range(2 * self.n_edges):
            v = self.edges[i // 2].a if i % 2 == 0 else self.edges[i // 2].b
            self.degree[v] -= 1
            self.place[self.degree[v]] = <int>(i // 2)
        if self.n_edges == 0:
            return
        self.order[0] = self.edges[0].a
        self.worst[self.order[0]].key = INFINITY
        i = 0
        while i < n_seen:
            v = self.order[i]
            self.bar[v] = (self.worst[v].key - 0.5) * self.resolution
            for k in range(self.degree[v], self.degree[v + 1]):
                edge = self.edges + self.place[k]
                u = edge.a + edge.b - v
                if self.worst[u].key == 0.0:
                    self.worst[u] = edge[0] if is_better(&self.worst[v], edge) else self.worst[v]
                    self.order[n_seen] = u
                    n_seen += 1
            i += 1


cdef inline double round_to_whole(double x) noexcept nogil:
    # The same as rint, which is a function call on many processors; |x| is below 2^51, or infinite.
    return (x + 6755399441055744.0) - 6755399441055744.0


cdef inline void push(int *heap, Py_ssize_t n, int item) noexcept nogil:
    cdef Py_ssize_t i = n
    while i > 0 and heap[(i - 1) // 2] > item:
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = item


cdef inline int pop(int *heap, Py_ssize_t n) noexcept nogil:
    # Returns the smallest of n items and closes the gap.
    cdef int smallest = heap[0], last = heap[n - 1]
    cdef Py_ssize_t i = 0, child
    while 2 * i + 1 < n - 1:
        child = 2 * i + 1
        if child + 1 < n - 1 and heap[child + 1] < heap[child]:
            child += 1
        if last <= heap[child]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = last
    return smallest

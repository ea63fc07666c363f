"""Elimination orders of small cost, by greedy rules with random ties.

Problem: find an order for summing variables out of a product of tables, so that intermediate tables have few cells.
Algorithm: a greedy order eliminates the vertex of lowest cost: the missing edges among its neighbours (min-fill), or
the cells of its table (min-weight), or the cells among the neighbours of eliminated vertices, ties by the first touched
(a sweep from a random vertex with a front as in a breadth-first search; on grids it reaches the treewidth, and min-fill
does not). Orders are drawn, with random ties, until a work budget is spent, and the cheapest is kept. An order is
abandoned when it costs more than the best. The graph is one bit set per vertex; the counts of missing edges are updated
edge by edge. Work is counted in words read, not in seconds, so that a graph always has the same answer.
Lower bound: minor-min-width: the vertex of smallest degree is contracted with its neighbour of fewest common
neighbours. The largest of these degrees is at most the treewidth of the graph.
Cost of an order: O(n) per vertex to choose it, O(n / 64 + common neighbours) per edge added.
Thread-safety: inputs are only read; the GIL is released.
References: Koller & Friedman (2009), Probabilistic Graphical Models, algorithm 9.4 (greedy orders); Gogate & Dechter
(2004), A complete anytime algorithm for treewidth, UAI (minor-min-width and random ties).
"""

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from _rng cimport next_word

import numpy as np

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int pgmx_popcount(unsigned long long x) { return (int)__popcnt64(x); }
    static __inline int pgmx_lowest(unsigned long long x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
    #else
    static inline int pgmx_popcount(unsigned long long x) { return __builtin_popcountll(x); }
    static inline int pgmx_lowest(unsigned long long x) { return __builtin_ctzll(x); }
    #endif
    """
    int pgmx_popcount(uint64_t x) noexcept nogil
    int pgmx_lowest(uint64_t x) noexcept nogil

cdef enum:
    FEWEST_ORDERS = 12

cdef enum:
    FILL
    FILL_BY_SIZE
    WEIGHT
    SWEEP

cdef struct Graph:
    Py_ssize_t n, words
    uint64_t *near          # (n, words) neighbours, a bit each
    int64_t *missing        # (n,) missing edges among the neighbours
    int64_t *degree         # (n,)
    double *size            # (n,) log of the cells of the table of a vertex and its neighbours
    int64_t *remaining      # vertices not yet eliminated
    Py_ssize_t n_remaining
    const double *logs      # (n,) log of the states of a vertex


cdef inline bint adjacent(const Graph *graph, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return (graph.near[a * graph.words + (b >> 6)] >> (b & 63)) & 1


cdef inline void join(Graph *graph, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    graph.near[a * graph.words + (b >> 6)] |= <uint64_t>1 << (b & 63)


cdef inline void part(Graph *graph, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    graph.near[a * graph.words + (b >> 6)] &= ~(<uint64_t>1 << (b & 63))


cdef Py_ssize_t list_neighbours(const Graph *graph, Py_ssize_t v, int64_t *out) noexcept nogil:
    cdef Py_ssize_t k, count = 0
    cdef uint64_t word
    for k in range(graph.words):
        word = graph.near[v * graph.words + k]
        while word:
            out[count] = (k << 6) + pgmx_lowest(word)
            count += 1
            word &= word - 1
    return count


cdef void count_missing(Graph *graph, int64_t *neighbours) noexcept nogil:
    cdef Py_ssize_t v, i, k, count
    cdef int64_t edges
    for v in range(graph.n):
        count = list_neighbours(graph, v, neighbours)
        graph.degree[v] = count
        graph.size[v] = graph.logs[v]
        edges = 0
        for i in range(count):
            graph.size[v] += graph.logs[neighbours[i]]
            for k in range(graph.words):
                edges += pgmx_popcount(
                    graph.near[v * graph.words + k] & graph.near[neighbours[i] * graph.words + k]
                )
        graph.missing[v] = (count * (count - 1) - edges) // 2


cdef int64_t eliminate(Graph *graph, Py_ssize_t v, int64_t *neighbours, Py_ssize_t *n_neighbours) noexcept nogil:
    # Removes v and connects its neighbours; returns the number of words read.
    cdef Py_ssize_t count = list_neighbours(graph, v, neighbours), i, j, k, a, b, c
    cdef int64_t common, work = graph.words + count
    cdef uint64_t word
    n_neighbours[0] = count
    if graph.missing[v]:
        for i in range(count):
            a = neighbours[i]
            for j in range(i + 1, count):
                b = neighbours[j]
                if adjacent(graph, a, b):
                    continue
                common = 0
                for k in range(graph.words):
                    word = graph.near[a * graph.words + k] & graph.near[b * graph.words + k]
                    while word:
                        c = (k << 6) + pgmx_lowest(word)
                        graph.missing[c] -= 1
                        common += 1
                        word &= word - 1
                work += graph.words + common
                graph.missing[a] += graph.degree[a] - common
                graph.missing[b] += graph.degree[b] - common
                join(graph, a, b)
                join(graph, b, a)
                graph.degree[a] += 1
                graph.degree[b] += 1
                graph.size[a] += graph.logs[b]
                graph.size[b] += graph.logs[a]
    for i in range(count):
        a = neighbours[i]
        graph.missing[a] -= graph.degree[a] - count     # pairs of v and a vertex outside of its clique
        part(graph, a, v)
        graph.degree[a] -= 1
        graph.size[a] -= graph.logs[v]
    return work


cdef double cost_of(const Graph *graph, Py_ssize_t v, int rule) noexcept nogil:
    if graph.missing[v] == 0:
        return 0.0                                      # simplicial: eliminating it first is optimal
    if rule == WEIGHT:
        return 0.5 + graph.size[v]
    # the size is the logarithm of a number of cells: it decides between equal numbers of edges
    return graph.missing[v] + (1e-6 * graph.size[v] if rule == FILL_BY_SIZE else 0.0)


cdef Py_ssize_t choose(const Graph *graph, int rule, uint64_t *word) noexcept nogil:
    # Position of the cheapest remaining vertex; ties are broken at random, or by the first without a draw.
    cdef Py_ssize_t i, best = 0, ties = 0
    cdef double cost, least = INFINITY
    for i in range(graph.n_remaining):
        cost = cost_of(graph, graph.remaining[i], rule)
        if cost < least:
            least, best, ties = cost, i, 1
        elif cost == least:
            ties += 1
            if word == NULL:
                if graph.remaining[i] < graph.remaining[best]:
                    best = i
            elif next_word(word) % <uint64_t>ties == 0:
                best = i
    return best


cdef Py_ssize_t choose_at_front(const Graph *graph, const int64_t *touched, uint64_t *word) noexcept nogil:
    # Position of the vertex of smallest table among the neighbours of eliminated vertices, ties by the first touched;
    # if there is none, a random vertex of smallest table.
    cdef Py_ssize_t i, v, best = -1
    for i in range(graph.n_remaining):
        v = graph.remaining[i]
        if touched[v] < 0:
            continue
        if best >= 0:
            if graph.size[v] > graph.size[graph.remaining[best]] + 1e-9:
                continue
            if graph.size[v] > graph.size[graph.remaining[best]] - 1e-9 and (
                touched[v] > touched[graph.remaining[best]]
            ):
                continue
        best = i
    return best if best >= 0 else <Py_ssize_t>(next_word(word) % <uint64_t>graph.n_remaining)


cdef double draw_order(
    Graph *graph, int rule, uint64_t *word, bint by_largest, double most, int64_t *order, int64_t *neighbours,
    int64_t *touched, double *cells, int64_t *work
) noexcept nogil:
    # Eliminates all remaining vertices; returns the cost, infinity if it is not below `most`.
    cdef double largest = 0.0, cost = 0.0
    cdef Py_ssize_t step = 0, place, v, count, i
    for i in range(graph.n):
        touched[i] = -1
    cells[0] = 0.0
    while graph.n_remaining:
        place = choose_at_front(graph, touched, word) if rule == SWEEP else choose(graph, rule, word)
        v = graph.remaining[place]
        cells[0] += exp(graph.size[v])
        largest = max(largest, graph.size[v])
        cost = largest * 1e3 + log(cells[0]) if by_largest else cells[0]
        if cost >= most:
            cells[0] = INFINITY
            return INFINITY
        work[0] += graph.n_remaining + eliminate(graph, v, neighbours, &count)
        for i in range(count):
            if touched[neighbours[i]] < 0:
                touched[neighbours[i]] = step
        graph.n_remaining -= 1
        graph.remaining[place] = graph.remaining[graph.n_remaining]
        order[step] = v
        step += 1
    return cost


cdef class _Memory:
    # Two graphs in one memory block each: the original, and the copy that is eliminated.
    cdef Graph graph
    cdef void *block

    def __cinit__(self, Py_ssize_t n, Py_ssize_t words):
        self.graph.n, self.graph.words = n, words
        self.block = malloc(8 * n * (words + 4) + 8)
        if self.block == NULL:
            raise MemoryError(f"no memory for a graph of {n} variables")
        self.graph.near = <uint64_t *>self.block
        self.graph.missing = <int64_t *>(self.graph.near + n * words)
        self.graph.degree = self.graph.missing + n
        self.graph.remaining = self.graph.degree + n
        self.graph.size = <double *>(self.graph.remaining + n)

    def __dealloc__(self):
        free(self.block)


cdef void copy_graph(const Graph *source, Graph *target) noexcept nogil:
    memcpy(target.near, source.near, 8 * source.n * (source.words + 4))
    target.n_remaining, target.logs = source.n_remaining, source.logs


def search_orders(
    const uint64_t[:, ::1] near,        # in: (n, words) neighbours, a bit each, symmetric, none its own
    const double[::1] logs,             # in: (n,) log of the number of states
    int64_t budget,                     # words that may be read before the last order begins; a small problem gets
                                        # fewer, by the cells of its tables
    uint64_t seed,
    bint by_largest,                    # compare orders by the largest table, then by all cells
    int64_t[::1] order,                 # out: (n,) the best order
    int64_t[::1] pointer,               # out: (n + 1,) offsets of the neighbours of the k-th
):
    """Return the neighbours of each vertex at its elimination in the best order, and the number of orders drawn."""
    cdef Py_ssize_t n = near.shape[0], words = near.shape[1], v, k, count, n_orders = 0
    cdef _Memory first = _Memory(n, words), second = _Memory(n, words)
    cdef Graph *whole = &first.graph
    cdef Graph *work_graph = &second.graph
    cdef int64_t work = 0
    cdef double best = INFINITY, fewest = INFINITY, cost, cells
    cdef uint64_t state = seed
    trial_array, neighbours_array, touched_array = np.empty((3, n), dtype=np.int64)
    cdef int64_t[::1] trial = trial_array, neighbours = neighbours_array, touched = touched_array
    cdef int *rules = [FILL_BY_SIZE, SWEEP, FILL, SWEEP, WEIGHT, FILL]
    whole.logs = &logs[0]
    memcpy(whole.near, &near[0, 0], 8 * n * words)
    for v in range(n):
        whole.remaining[v] = v
        order[v] = v
    whole.n_remaining = n
    with nogil:
        count_missing(whole, &neighbours[0])
        while n_orders == 0 or work < budget and (n_orders < FEWEST_ORDERS or work < fewest):
            copy_graph(whole, work_graph)
            work += n * words
            cost = draw_order(
                work_graph,
                rules[n_orders % 6],
                NULL if n_orders == 0 else &state,
                by_largest,
                best,
                &trial[0],
                &neighbours[0],
                &touched[0],
                &cells,
                &work,
            )
            n_orders += 1
            fewest = min(fewest, cells)
            if cost < best:
                best = cost
                memcpy(&order[0], &trial[0], 8 * n)
        copy_graph(whole, work_graph)
    cliques = []
    pointer[0] = 0
    for k in range(n):
        eliminate(work_graph, order[k], &neighbours[0], &count)
        cliques.append(neighbours_array[:count].copy())
        pointer[k + 1] = pointer[k] + count
    return np.concatenate(cliques) if n else neighbours_array, n_orders


def bound_width(
    const uint64_t[:, ::1] near,        # in: (n, words) neighbours, a bit each, symmetric, none its own
):
    """Return a lower bound on the width of every elimination order."""
    cdef Py_ssize_t n = near.shape[0], words = near.shape[1], v, u, k, i, count, place, partner
    cdef int64_t bound = 0, common, fewest
    cdef _Memory memory = _Memory(n, words)
    cdef Graph *graph = &memory.graph
    neighbours_array = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] neighbours = neighbours_array
    memcpy(graph.near, &near[0, 0], 8 * n * words)
    graph.n_remaining = n
    with nogil:
        for v in range(n):
            graph.remaining[v] = v
            graph.degree[v] = 0
            for k in range(words):
                graph.degree[v] += pgmx_popcount(graph.near[v * words + k])
        while graph.n_remaining:
            place = 0
            for i in range(1, graph.n_remaining):
                if graph.degree[graph.remaining[i]] < graph.degree[graph.remaining[place]]:
                    place = i
            v = graph.remaining[place]
            bound = max(bound, graph.degree[v])
            count = list_neighbours(graph, v, &neighbours[0])
            partner, fewest = -1, n
            for i in range(count):
                common = 0
                for k in range(words):
                    common += pgmx_popcount(graph.near[v * words + k] & graph.near[neighbours[i] * words + k])
                if common < fewest:
                    fewest, partner = common, neighbours[i]
            for i in range(count):
                u = neighbours[i]
                part(graph, u, v)
                graph.degree[u] -= 1
                if u != partner and not adjacent(graph, u, partner):
                    join(graph, u, partner)
                    join(graph, partner, u)
                    graph.degree[u] += 1
                    graph.degree[partner] += 1
            graph.n_remaining -= 1
            graph.remaining[place] = graph.remaining[graph.n_remaining]
    return bound

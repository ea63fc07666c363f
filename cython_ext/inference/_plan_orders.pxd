# Elimination orders of the components of a question, found in microseconds: greedy orders by several rules, of which
# the cheapest is taken. (``_orders.pyx`` searches longer, for networks as a whole.)
#
# Variables whose neighbours are all joined are eliminated first, once for all rules: that never makes a table larger
# than it has to be. What is left is eliminated by each rule in turn, and then with costs that vary at random, as long
# as the orders take less time than the passes through the tables. An order is a function of the graph, the cards and
# the query alone.
#
# Every variable keeps what the rules need: the pairs of its neighbours that are not joined, their number and the sum of
# their tables' cells, and the cells of its own table with its neighbours. An elimination changes these numbers for the
# neighbours, and for the common neighbours of each pair that it joins.

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from _rng cimport uniform
from _simd cimport pgmx_lowest_bit


cdef enum:
    N_RULES = 4
    MOST_ORDERS = 100
    FEW_CELLS = 1024                          # below these, the first order is taken
    MOST_TABLE_CELLS = 0x7FFFFFFF             # cells are numbered by int32


cdef enum Rule:
    FILL_CELLS                                # cells of the tables of the pairs that become joined
    FILL_AND_CELLS                            # these, times the square root of the table's cells
    FILL                                      # pairs that become joined
    MESSAGE                                   # cells of the message


cdef struct Graph:
    Py_ssize_t n, words
    const double *cards
    uint64_t *near                            # (n, words) neighbours, a bit each; of an eliminated variable: its scope
    double *cells                             # of the table of a variable and its neighbours
    double *fill                              # cells of the tables of the pairs of neighbours that are not joined
    double *around                            # sum of the neighbours' cards
    double *cost                              # by the rule; infinity: eliminated, or of the query
    int32_t *missing                          # pairs of neighbours that are not joined
    int32_t *degree


cdef inline Py_ssize_t count_graph_bytes(Py_ssize_t n) noexcept nogil:
    return n * ((n + 63) // 64 + 5) * 8


cdef inline void place_graph(Graph *g, Py_ssize_t n, const double *cards, void *memory) noexcept nogil:
    g.n = n
    g.words = (n + 63) // 64
    g.cards = cards
    g.near = <uint64_t *>memory
    g.cells = <double *>(g.near + n * g.words)
    g.fill = g.cells + n
    g.around = g.fill + n
    g.cost = g.around + n
    g.missing = <int32_t *>(g.cost + n)
    g.degree = g.missing + n


cdef inline void count_pairs(Graph *g) noexcept nogil:
    # Sets all numbers but the costs.
    cdef Py_ssize_t v, a, q, k
    cdef uint64_t word, common
    cdef const uint64_t *row
    cdef double joined, square
    for v in range(g.n):
        row = g.near + v * g.words
        g.cells[v] = g.cards[v]
        g.around[v] = square = joined = 0.0
        g.degree[v] = g.missing[v] = 0
        for q in range(g.words):
            word = row[q]
            while word:
                a = q * 64 + pgmx_lowest_bit(word)
                word &= word - 1
                g.degree[v] += 1
                g.cells[v] *= g.cards[a]
                g.around[v] += g.cards[a]
                square += g.cards[a] * g.cards[a]
                for k in range(g.words):
                    common = row[k] & g.near[a * g.words + k]
                    while common:
                        joined += g.cards[a] * g.cards[k * 64 + pgmx_lowest_bit(common)]
                        g.missing[v] -= 1
                        common &= common - 1
        # both counted every pair twice
        g.missing[v] = (g.missing[v] + g.degree[v] * (g.degree[v] - 1)) // 2
        g.fill[v] = (g.around[v] * g.around[v] - square - joined) / 2.0


cdef inline Py_ssize_t join_pair(Graph *g, Py_ssize_t a, Py_ssize_t b, uint64_t *touched) noexcept nogil:
    cdef Py_ssize_t q, c, n_common = 0
    cdef uint64_t word
    cdef double common = 0.0, pair = g.cards[a] * g.cards[b]
    for q in range(g.words):
        word = g.near[a * g.words + q] & g.near[b * g.words + q]
        touched[q] |= word
        while word:
            c = q * 64 + pgmx_lowest_bit(word)
            word &= word - 1
            g.missing[c] -= 1
            g.fill[c] -= pair
            common += g.cards[c]
            n_common += 1
    g.missing[a] += g.degree[a] - <int32_t>n_common
    g.missing[b] += g.degree[b] - <int32_t>n_common
    g.fill[a] += g.cards[b] * (g.around[a] - common)
    g.fill[b] += g.cards[a] * (g.around[b] - common)
    g.near[a * g.words + b // 64] |= (<uint64_t>1) << (b % 64)
    g.near[b * g.words + a // 64] |= (<uint64_t>1) << (a % 64)
    g.degree[a] += 1
    g.degree[b] += 1
    g.around[a] += g.cards[b]
    g.around[b] += g.cards[a]
    g.cells[a] *= g.cards[b]
    g.cells[b] *= g.cards[a]
    return n_common


cdef inline Py_ssize_t eliminate(Graph *g, Py_ssize_t v, int32_t *around, uint64_t *touched) noexcept nogil:
    """Join the neighbours of v (n_neighbours into `around`) and take v out of their rows; returns the work in steps.

    `touched` receives the variables whose numbers changed; v's own row keeps its neighbours.
    """
    cdef Py_ssize_t q, i, j, a, n = 0, work = g.words
    cdef uint64_t word
    for q in range(g.words):
        word = g.near[v * g.words + q]
        touched[q] |= word
        while word:
            around[n] = <int32_t>(q * 64 + pgmx_lowest_bit(word))
            word &= word - 1
            n += 1
    if g.missing[v] > 0:
        for i in range(n):
            for j in range(i + 1, n):
                a = around[i]
                if not (g.near[a * g.words + around[j] // 64] >> (around[j] % 64)) & 1:
                    work += g.words + join_pair(g, a, around[j], touched)
    for i in range(n):
        a = around[i]
        # the pairs of v and a's neighbours that were not v's
        g.missing[a] -= g.degree[a] - <int32_t>n
        g.fill[a] -= g.cards[v] * (g.around[a] - g.cards[v] - (g.around[v] - g.cards[a]))
        g.degree[a] -= 1
        g.around[a] -= g.cards[v]
        g.cells[a] /= g.cards[v]
        g.near[a * g.words + v // 64] &= ~((<uint64_t>1) << (v % 64))
    return work + 2 * n


cdef inline double count_cells(const Graph *g, Py_ssize_t v) noexcept nogil:
    # Of the table of v and its neighbours: `cells` is no longer exact once it was above 2^53.
    cdef double cells = g.cards[v]
    cdef Py_ssize_t q
    cdef uint64_t word
    if g.cells[v] <= 1e15:
        return g.cells[v]
    for q in range(g.words):
        word = g.near[v * g.words + q]
        while word:
            cells *= g.cards[q * 64 + pgmx_lowest_bit(word)]
            word &= word - 1
    return cells


cdef inline double find_cost(const Graph *g, Py_ssize_t v, Rule rule, uint64_t *random) noexcept nogil:
    cdef double cost
    if g.missing[v] == 0:
        return 0.0
    if rule == FILL:
        cost = g.missing[v] + min(0.5, g.cells[v] * 1e-12)        # the cells decide between equal numbers
    elif rule == MESSAGE:
        cost = g.cells[v] / g.cards[v]
    elif rule == FILL_CELLS:
        cost = g.fill[v] + min(0.5, g.cells[v] * 1e-12)
    else:
        cost = g.fill[v] * sqrt(g.cells[v])
    cost = min(cost, 1e300)                   # infinity would say that v is gone
    return cost if random == NULL else cost * (1.0 + 0.5 * uniform(random))


cdef inline double draw_order(
    Graph *g, Rule rule, uint64_t *random, Py_ssize_t start, Py_ssize_t n_first, Py_ssize_t n_steps,
    const int32_t *query, Py_ssize_t n_query, int32_t *order, int32_t *around, uint64_t *touched, double total,
    double most, double *work
) noexcept nogil:
    """Set the order from `start` on; returns the number of cells, infinity as soon as it is not below `most`."""
    cdef Py_ssize_t s, v, i, q, best
    cdef uint64_t word
    cdef double cells
    for v in range(g.n):
        g.cost[v] = find_cost(g, v, rule, random)
    for s in range(start):
        g.cost[order[s]] = INFINITY
    for i in range(n_query):
        g.cost[query[i]] = INFINITY
    for s in range(start, n_steps):
        if s == n_first:
            for i in range(n_query):
                g.cost[query[i]] = find_cost(g, query[i], rule, random)
        best = 0
        for v in range(1, g.n):
            if g.cost[v] < g.cost[best]:
                best = v
        order[s] = <int32_t>best
        g.cost[best] = INFINITY
        cells = count_cells(g, best)
        total += INFINITY if cells > MOST_TABLE_CELLS else cells
        if total >= most:
            return INFINITY
        work[0] += g.n + eliminate(g, best, around, touched)
        for q in range(g.words):
            word = touched[q]
            touched[q] = 0
            while word:
                v = q * 64 + pgmx_lowest_bit(word)
                word &= word - 1
                if g.cost[v] < INFINITY:
                    g.cost[v] = find_cost(g, v, rule, random)
    return total


cdef inline double follow_order(
    Graph *g, Py_ssize_t n_steps, const int32_t *order, int32_t *around, uint64_t *touched
) noexcept nogil:
    # The number of cells of an order that is given.
    cdef Py_ssize_t s
    cdef double cells, total = 0.0
    for s in range(n_steps):
        cells = count_cells(g, order[s])
        total += INFINITY if cells > MOST_TABLE_CELLS else cells
        eliminate(g, order[s], around, touched)
    return total


cdef inline Py_ssize_t eliminate_joined(
    Graph *g, Py_ssize_t n_first, const int32_t *query, Py_ssize_t n_query, int32_t *order, int32_t *around,
    uint64_t *touched, double *total
) noexcept nogil:
    # Eliminates variables whose neighbours are all joined as long as there are any; returns their number.
    cdef Py_ssize_t s = 0, end = 0, v, q
    cdef double cells
    cdef uint64_t word
    for v in range(g.n):
        g.cost[v] = 1.0
    for q in range(n_query):
        g.cost[query[q]] = INFINITY
    for v in range(g.n):
        if g.missing[v] == 0 and g.cost[v] < INFINITY:
            order[end] = <int32_t>v
            end += 1
            g.cost[v] = INFINITY
    while s < end:
        cells = count_cells(g, order[s])
        total[0] += INFINITY if cells > MOST_TABLE_CELLS else cells
        eliminate(g, order[s], around, touched)
        s += 1
        for q in range(g.words):
            word = touched[q]
            touched[q] = 0
            while word:
                v = q * 64 + pgmx_lowest_bit(word)
                word &= word - 1
                if g.missing[v] == 0 and g.cost[v] < INFINITY:
                    order[end] = <int32_t>v
                    end += 1
                    g.cost[v] = INFINITY
    return end


cdef inline double find_order(
    Py_ssize_t n, const double *cards, uint64_t *near, const int32_t *query, Py_ssize_t n_query, Py_ssize_t n_steps,
    int32_t *order
) noexcept nogil:
    """Order n variables, the query last; returns the number of cells of their tables, -1 if memory is exhausted.

    `near` (n, words): in the neighbours, out the neighbours of each variable when it is eliminated. The first `n_steps`
    variables are eliminated. `order` (n,) is followed if its first value is not -1.
    """
    cdef Py_ssize_t words = (n + 63) // 64, size = count_graph_bytes(n), start, n_orders = 0
    cdef Py_ssize_t n_first = n - n_query
    cdef double total = 0.0, cells, best = INFINITY, work = 0.0
    cdef uint64_t seed = 0
    cdef Graph first, graph
    cdef char *memory = <char *>malloc(2 * size + n * (8 + 2 * sizeof(int32_t)))
    cdef uint64_t *touched
    cdef int32_t *around
    cdef int32_t *trial
    if memory == NULL:
        return -1.0
    place_graph(&first, n, cards, memory)
    place_graph(&graph, n, cards, memory + size)
    touched = <uint64_t *>(memory + 2 * size)
    around = <int32_t *>(touched + n)
    trial = around + n
    memset(touched, 0, words * sizeof(uint64_t))
    memcpy(first.near, near, n * words * sizeof(uint64_t))
    count_pairs(&first)
    if order[0] >= 0:
        best = follow_order(&first, n_steps, order, around, touched)
        memcpy(near, first.near, n * words * sizeof(uint64_t))
        free(memory)
        return best
    start = eliminate_joined(&first, n_first, query, n_query, order, around, touched, &total)
    if start == n_steps:
        best = total
        memcpy(near, first.near, n * words * sizeof(uint64_t))
    else:
        memcpy(trial, order, start * sizeof(int32_t))
        while n_orders < MOST_ORDERS and (n_orders == 0 or best > FEW_CELLS and work < 0.5 * (best - total)):
            memcpy(graph.near, first.near, size)
            work += n * words
            cells = draw_order(
                &graph, <Rule>(n_orders % N_RULES), NULL if n_orders < N_RULES else &seed, start, n_first, n_steps,
                query, n_query, trial, around, touched, total, best, &work
            )
            n_orders += 1
            if n_orders == 1 or cells < best:
                best = cells
                memcpy(order, trial, n_steps * sizeof(int32_t))
                memcpy(near, graph.near, n * words * sizeof(uint64_t))
    free(memory)
    return best

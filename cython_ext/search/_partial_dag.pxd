# A class of equivalent directed acyclic graphs with known directions, as bitsets: an edge is directed if all graphs of
# the class agree.
#
# Meek's rules are applied to one directed edge at a time, from a list of edges to which no rule was applied yet.
# Cost of an edge: a few passes over the words of a bitset for each common neighbour of its ends.
# Reference: Meek (1995), Causal inference and causal explanation with background knowledge, UAI, rules R1 to R4.

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from _dag cimport bit, clear_bit, set_bit
from _simd cimport pgmx_lowest_bit, pgmx_popcount


cdef struct PartialDag:
    Py_ssize_t n, words
    uint64_t *adjacent          # (n, words), and so are the next three
    uint64_t *neighbours        # by undirected edges
    uint64_t *parents
    uint64_t *children
    int *waiting                # directed edges (tail, head) to which no rule was applied yet
    Py_ssize_t n_waiting, n_edges, capacity


cdef inline bint init_partial(PartialDag *graph, Py_ssize_t n) noexcept nogil:
    # False if memory is short; call free_partial() in both cases.
    memset(graph, 0, sizeof(PartialDag))
    graph.n, graph.words = n, (n + 63) // 64
    graph.adjacent = <uint64_t *>calloc(4 * n * graph.words + 1, sizeof(uint64_t))
    graph.neighbours = graph.adjacent + n * graph.words
    graph.parents = graph.neighbours + n * graph.words
    graph.children = graph.parents + n * graph.words
    return graph.adjacent != NULL


cdef inline void free_partial(PartialDag *graph) noexcept nogil:
    free(graph.adjacent)
    free(graph.waiting)


cdef inline bint reserve_waiting(PartialDag *graph, Py_ssize_t n_edges) noexcept nogil:
    # Space to direct all edges of the graph; False if memory is short.
    cdef int *grown
    graph.n_edges = n_edges
    if n_edges > graph.capacity:
        grown = <int *>realloc(graph.waiting, 4 * n_edges * sizeof(int))
        if grown == NULL:
            return False
        graph.waiting, graph.capacity = grown, 2 * n_edges
    return True


cdef inline bint copy_partial(PartialDag *target, const PartialDag *source) noexcept nogil:
    # False if memory is short; no edge of the source may be waiting.
    memcpy(target.adjacent, source.adjacent, 4 * source.n * source.words * sizeof(uint64_t))
    target.n_waiting = 0
    return reserve_waiting(target, source.n_edges)


cdef inline void orient(PartialDag *graph, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    # Directs an edge, once.
    cdef Py_ssize_t words = graph.words
    if not bit(graph.neighbours + tail * words, head):
        return
    clear_bit(graph.neighbours + tail * words, head)
    clear_bit(graph.neighbours + head * words, tail)
    set_bit(graph.children + tail * words, head)
    set_bit(graph.parents + head * words, tail)
    graph.waiting[2 * graph.n_waiting], graph.waiting[2 * graph.n_waiting + 1] = <int>tail, <int>head
    graph.n_waiting += 1


cdef inline void close_partial(PartialDag *graph) noexcept nogil:
    # Applies the rules until none applies.
    cdef Py_ssize_t tail, head
    while graph.n_waiting > 0:
        graph.n_waiting -= 1
        tail, head = graph.waiting[2 * graph.n_waiting], graph.waiting[2 * graph.n_waiting + 1]
        apply_chain_rules(graph, tail, head)
        apply_diamond_rules(graph, tail, head)


cdef inline void apply_chain_rules(PartialDag *graph, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    cdef Py_ssize_t w, words = graph.words
    cdef const uint64_t *of_head = graph.neighbours + head * words
    cdef const uint64_t *of_tail = graph.neighbours + tail * words
    cdef uint64_t word
    # R1: tail -> head - other, tail and other not adjacent
    for w in range(words):
        word = of_head[w] & ~graph.adjacent[tail * words + w]
        while word != 0:
            orient(graph, head, 64 * w + pgmx_lowest_bit(word))
            word &= word - 1
    # R2: tail -> head -> other, tail - other; and other -> tail -> head, other - head
    for w in range(words):
        word = of_tail[w] & graph.children[head * words + w]
        while word != 0:
            orient(graph, tail, 64 * w + pgmx_lowest_bit(word))
            word &= word - 1
        word = of_head[w] & graph.parents[tail * words + w]
        while word != 0:
            orient(graph, 64 * w + pgmx_lowest_bit(word), head)
            word &= word - 1


cdef inline void apply_diamond_rules(PartialDag *graph, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    # R3 with tail -> head as one of its directed edges, and R4 with tail -> head as its first: its second needs no
    # check, since R1 directs it as soon as the first one is directed.
    cdef Py_ssize_t w, v, words = graph.words
    cdef uint64_t word
    # R3: two parents of the head that are not adjacent, both joined to v by undirected edges
    for w in range(words):
        word = graph.neighbours[head * words + w] & graph.neighbours[tail * words + w]
        while word != 0:
            v = 64 * w + pgmx_lowest_bit(word)
            word &= word - 1
            if has_other_parent(graph, tail, head, v):
                orient(graph, v, head)
    # R4: tail -> head -> v, and some variable is joined to tail and v by undirected edges, and adjacent to head
    for w in range(words):
        word = graph.children[head * words + w] & ~graph.adjacent[tail * words + w]
        while word != 0:
            v = 64 * w + pgmx_lowest_bit(word)
            word &= word - 1
            orient_tops(graph, tail, head, v)


cdef inline bint has_other_parent(
    const PartialDag *graph, Py_ssize_t tail, Py_ssize_t head, Py_ssize_t top
) noexcept nogil:
    # Whether the head has a parent that is joined to top and not adjacent to the tail.
    cdef Py_ssize_t w, words = graph.words
    cdef uint64_t word
    for w in range(words):
        word = graph.parents[head * words + w] & graph.neighbours[top * words + w] & ~graph.adjacent[tail * words + w]
        if w == tail >> 6:
            word &= ~(<uint64_t>1 << (tail & 63))
        if word != 0:
            return True
    return False


cdef inline void orient_tops(PartialDag *graph, Py_ssize_t tail, Py_ssize_t head, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t w, words = graph.words
    cdef uint64_t word
    for w in range(words):
        word = graph.neighbours[last * words + w] & graph.neighbours[tail * words + w]
        word &= graph.adjacent[head * words + w]
        while word != 0:
            orient(graph, 64 * w + pgmx_lowest_bit(word), last)
            word &= word - 1


cdef inline void close_pattern(PartialDag *graph, const uint64_t *parents, const uint64_t *compelled) noexcept nogil:
    # Directs the edges of a skeleton, all undirected, as in the class of a graph with these parents and directions.
    cdef Py_ssize_t head, tail, w, v, words = graph.words
    cdef const uint64_t *of_head
    cdef uint64_t word, others
    for head in range(graph.n):
        of_head = parents + head * words
        for w in range(words):
            word = of_head[w]
            while word != 0:
                tail = 64 * w + pgmx_lowest_bit(word)
                word &= word - 1
                others = 0
                for v in range(words):
                    others |= of_head[v] & ~graph.adjacent[tail * words + v] & ~one_bit(tail, v)
                if others != 0 or bit(compelled + head * words, tail):
                    orient(graph, tail, head)
    close_partial(graph)


cdef inline uint64_t one_bit(Py_ssize_t v, Py_ssize_t w) noexcept nogil:
    # Word number w of the set of one variable.
    return <uint64_t>1 << (v & 63) if w == v >> 6 else 0


cdef inline void extend_partial(PartialDag *graph, const uint64_t *preferred) noexcept nogil:
    # Directs all edges without a new v-structure or cycle; the parents in `preferred` decide between directions.
    cdef Py_ssize_t head, tail, w, words = graph.words
    cdef uint64_t word
    for head in range(graph.n):
        for w in range(words):
            word = graph.neighbours[head * words + w]
            while word != 0:
                tail = 64 * w + pgmx_lowest_bit(word)
                word &= word - 1
                if not bit(graph.neighbours + head * words, tail):
                    continue            # a rule has directed the edge
                if bit(preferred + head * words, tail):
                    orient(graph, tail, head)
                else:
                    orient(graph, head, tail)
                close_partial(graph)


cdef inline bint has_path(
    const PartialDag *graph, Py_ssize_t start, Py_ssize_t end, bint is_long, uint64_t *seen, int *stack
) noexcept nogil:
    # Whether a path outside `seen` leads from start to end without following an edge backwards; a long path is not the
    # edge between them. `seen` is changed.
    cdef Py_ssize_t v, w, words = graph.words, top = 1
    cdef uint64_t word
    stack[0] = <int>start
    set_bit(seen, start)
    while top > 0:
        top -= 1
        v = stack[top]
        for w in range(words):
            word = (graph.children[v * words + w] | graph.neighbours[v * words + w]) & ~seen[w]
            if is_long and v == start:
                word &= ~one_bit(end, w)
            if w == end >> 6 and (word >> (end & 63)) & 1:
                return True
            seen[w] |= word
            while word != 0:
                stack[top] = <int>(64 * w + pgmx_lowest_bit(word))
                top += 1
                word &= word - 1
    return False


cdef inline bint is_acyclic(PartialDag *graph, int *n_parents, int *stack) noexcept nogil:
    # By the parents alone, whether variables without parents can be removed until none is left; sets the children.
    cdef Py_ssize_t v, w, child, n_removed = 0, top = 0, words = graph.words
    cdef uint64_t word
    memset(graph.children, 0, graph.n * words * sizeof(uint64_t))
    for v in range(graph.n):
        n_parents[v] = <int>pgmx_popcount(graph.parents + v * words, words)
        if n_parents[v] == 0:
            stack[top] = <int>v
            top += 1
        for w in range(words):
            word = graph.parents[v * words + w]
            while word != 0:
                set_bit(graph.children + (64 * w + pgmx_lowest_bit(word)) * words, v)
                word &= word - 1
    while top > 0:
        top -= 1
        v = stack[top]
        n_removed += 1
        for w in range(words):
            word = graph.children[v * words + w]
            while word != 0:
                child = 64 * w + pgmx_lowest_bit(word)
                word &= word - 1
                n_parents[child] -= 1
                if n_parents[child] == 0:
                    stack[top] = <int>child
                    top += 1
    return n_removed == graph.n

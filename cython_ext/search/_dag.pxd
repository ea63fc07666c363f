# A directed acyclic graph: parents of each node, ascending, and its children, ancestors and descendants as bitsets.
#
# Adding tail -> head closes a cycle exactly when head is an ancestor of tail, which is one bit test.
# Cost of adding or deleting an arc: O(words) for each descendant of its head, and O(1) for each pair of nodes that
# becomes connected or disconnected.
# Reference: Giudici & Castelo (2003), Machine Learning 50, 127-158 (ancestor matrix).

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset

from _simd cimport pgmx_lowest_bit


cdef struct Dag:
    Py_ssize_t n, words, n_edges
    int **parents
    int *n_parents
    int *capacity
    uint64_t *ancestors         # (n, words)
    uint64_t *descendants       # (n, words)
    uint64_t *children          # (n, words)
    uint64_t *before            # scratch of `collect_ancestors`, (words,)
    char *stale                 # nodes whose ancestors are to be recomputed, zeros between calls
    int *stack


cdef inline bint bit(const uint64_t *bits, Py_ssize_t i) noexcept nogil:
    return (bits[i >> 6] >> (i & 63)) & 1


cdef inline void set_bit(uint64_t *bits, Py_ssize_t i) noexcept nogil:
    bits[i >> 6] |= <uint64_t>1 << (i & 63)


cdef inline void clear_bit(uint64_t *bits, Py_ssize_t i) noexcept nogil:
    bits[i >> 6] &= ~(<uint64_t>1 << (i & 63))


cdef inline bint init_dag(Dag *dag, Py_ssize_t n) noexcept nogil:
    # False if memory is short; call free_dag() in both cases.
    dag.n = n
    dag.words = (n + 63) // 64
    dag.n_edges = 0
    dag.parents = <int **>calloc(n, sizeof(int *))
    dag.n_parents = <int *>calloc(n, sizeof(int))
    dag.capacity = <int *>calloc(n, sizeof(int))
    dag.ancestors = <uint64_t *>calloc(n * dag.words, sizeof(uint64_t))
    dag.descendants = <uint64_t *>calloc(n * dag.words, sizeof(uint64_t))
    dag.before = <uint64_t *>calloc(dag.words, sizeof(uint64_t))
    dag.children = <uint64_t *>calloc(n * dag.words, sizeof(uint64_t))
    dag.stale = <char *>calloc(n, 1)
    dag.stack = <int *>malloc((n + 1) * sizeof(int))
    return dag.parents != NULL and dag.n_parents != NULL and dag.capacity != NULL and dag.ancestors != NULL \
        and dag.descendants != NULL and dag.before != NULL and dag.children != NULL and dag.stale != NULL \
        and dag.stack != NULL


cdef inline void free_dag(Dag *dag) noexcept nogil:
    cdef Py_ssize_t v
    if dag.parents != NULL:
        for v in range(dag.n):
            free(dag.parents[v])
    free(dag.parents)
    free(dag.n_parents)
    free(dag.capacity)
    free(dag.ancestors)
    free(dag.descendants)
    free(dag.before)
    free(dag.children)
    free(dag.stale)
    free(dag.stack)


cdef inline uint64_t *ancestors_of(const Dag *dag, Py_ssize_t v) noexcept nogil:
    return dag.ancestors + v * dag.words


cdef inline uint64_t *descendants_of(const Dag *dag, Py_ssize_t v) noexcept nogil:
    return dag.descendants + v * dag.words


cdef inline uint64_t *children_of(const Dag *dag, Py_ssize_t v) noexcept nogil:
    return dag.children + v * dag.words


cdef inline Py_ssize_t find_parent(const Dag *dag, Py_ssize_t child, Py_ssize_t parent) noexcept nogil:
    # The position of a parent, -1 if there is no such arc.
    cdef Py_ssize_t i
    for i in range(dag.n_parents[child]):
        if dag.parents[child][i] == parent:
            return i
    return -1


cdef inline bint is_covered(const Dag *dag, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    # Whether the parents of head are tail and the parents of tail.
    cdef Py_ssize_t i, j = 0
    if dag.n_parents[head] != dag.n_parents[tail] + 1:
        return False
    for i in range(dag.n_parents[head]):
        if dag.parents[head][i] != tail:
            if j == dag.n_parents[tail] or dag.parents[head][i] != dag.parents[tail][j]:
                return False
            j += 1
    return True


cdef inline int insert_arc(Dag *dag, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
    # Adds an arc that does not close a cycle: head and its descendants inherit tail and its ancestors.
    cdef Py_ssize_t i = dag.n_parents[head], w
    cdef uint64_t word
    cdef int *grown
    if i == dag.capacity[head]:
        grown = <int *>realloc(dag.parents[head], (2 * i + 4) * sizeof(int))
        if grown == NULL:
            with gil:
                raise MemoryError("cannot allocate a list of parents")
        dag.parents[head] = grown
        dag.capacity[head] = <int>(2 * i + 4)
    while i > 0 and dag.parents[head][i - 1] > tail:
        dag.parents[head][i] = dag.parents[head][i - 1]
        i -= 1
    dag.parents[head][i] = <int>tail
    dag.n_parents[head] += 1
    dag.n_edges += 1
    set_bit(children_of(dag, tail), head)
    inherit(dag, tail, head)
    for w in range(dag.words):
        word = descendants_of(dag, head)[w]
        while word != 0:
            inherit(dag, tail, 64 * w + pgmx_lowest_bit(word))
            word &= word - 1
    return 0


cdef inline void inherit(Dag *dag, Py_ssize_t tail, Py_ssize_t v) noexcept nogil:
    # v becomes a descendant of tail and of its ancestors.
    cdef uint64_t *target = ancestors_of(dag, v)
    cdef uint64_t word
    cdef Py_ssize_t w
    for w in range(dag.words):
        word = ancestors_of(dag, tail)[w]
        if w == tail >> 6:
            word |= <uint64_t>1 << (tail & 63)
        word &= ~target[w]
        target[w] |= word
        while word != 0:
            set_bit(descendants_of(dag, 64 * w + pgmx_lowest_bit(word)), v)
            word &= word - 1


cdef inline void delete_arc(Dag *dag, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    cdef Py_ssize_t i, w
    cdef uint64_t word
    detach_arc(dag, tail, head)
    for i in range(dag.n_parents[head]):
        if bit(ancestors_of(dag, dag.parents[head][i]), tail):
            return              # tail leads to head on another path
    mark_stale(dag, head)
    rebuild_from(dag, head)
    for w in range(dag.words):  # the descendants of head stay the same
        word = descendants_of(dag, head)[w]
        while word != 0:
            rebuild_from(dag, 64 * w + pgmx_lowest_bit(word))
            word &= word - 1


cdef inline void detach_arc(Dag *dag, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    # Deletes an arc without a change of ancestors: mark_stale() and rebuild_stale() must follow.
    cdef Py_ssize_t i = find_parent(dag, head, tail)
    memmove(dag.parents[head] + i, dag.parents[head] + i + 1, (dag.n_parents[head] - i - 1) * sizeof(int))
    dag.n_parents[head] -= 1
    dag.n_edges -= 1
    clear_bit(children_of(dag, tail), head)


cdef inline void mark_stale(Dag *dag, Py_ssize_t first) noexcept nogil:
    # Marks `first` and its descendants, whose sets of ancestors may have become smaller.
    cdef Py_ssize_t w
    cdef uint64_t word
    dag.stale[first] = 1
    for w in range(dag.words):
        word = descendants_of(dag, first)[w]
        while word != 0:
            dag.stale[64 * w + pgmx_lowest_bit(word)] = 1
            word &= word - 1


cdef inline void rebuild_stale(Dag *dag) noexcept nogil:
    # Recomputes the ancestors of the nodes that mark_stale() marked, parents first.
    cdef Py_ssize_t v
    for v in range(dag.n):
        if dag.stale[v]:
            rebuild_from(dag, v)


cdef inline void rebuild_from(Dag *dag, Py_ssize_t v) noexcept nogil:
    # Recomputes the ancestors of v after its stale ancestors: a node is computed when none of its parents is stale.
    cdef Py_ssize_t p, i, top = 1
    cdef bint is_ready
    dag.stack[0] = <int>v
    while top > 0 and dag.stale[v]:
        p = dag.stack[top - 1]
        is_ready = True
        for i in range(dag.n_parents[p]):
            if dag.stale[dag.parents[p][i]]:
                dag.stack[top] = dag.parents[p][i]
                top += 1
                is_ready = False
                break
        if is_ready:
            top -= 1
            dag.stale[p] = 0
            collect_ancestors(dag, p)


cdef inline void collect_ancestors(Dag *dag, Py_ssize_t v) noexcept nogil:
    # Recomputes the ancestors of v from its parents' ancestors, and removes v from the descendants of lost ancestors.
    cdef uint64_t *target = ancestors_of(dag, v)
    cdef const uint64_t *source
    cdef uint64_t word
    cdef Py_ssize_t i, w
    memcpy(dag.before, target, dag.words * sizeof(uint64_t))
    memset(target, 0, dag.words * sizeof(uint64_t))
    for i in range(dag.n_parents[v]):
        source = ancestors_of(dag, dag.parents[v][i])
        for w in range(dag.words):
            target[w] |= source[w]
        set_bit(target, dag.parents[v][i])
    for w in range(dag.words):
        word = dag.before[w] & ~target[w]
        while word != 0:
            clear_bit(descendants_of(dag, 64 * w + pgmx_lowest_bit(word)), v)
            word &= word - 1


cdef inline void open_parents(
    const Dag *dag, Py_ssize_t child, const uint64_t *barred, uint64_t *open_bits
) noexcept nogil:
    # The bits of the possible parents of child, except `barred` ones (NULL for none).
    cdef const uint64_t *closed = descendants_of(dag, child)
    cdef Py_ssize_t i, w
    for w in range(dag.words):
        open_bits[w] = ~closed[w]
    for w in range(dag.words if barred != NULL else 0):
        open_bits[w] &= ~barred[w]
    close_others(dag, child, open_bits)
    for i in range(dag.n_parents[child]):
        clear_bit(open_bits, dag.parents[child][i])


cdef inline void close_others(const Dag *dag, Py_ssize_t child, uint64_t *open_bits) noexcept nogil:
    # Clears the bits that are not other variables.
    if dag.n & 63:
        open_bits[dag.words - 1] &= (<uint64_t>1 << (dag.n & 63)) - 1
    clear_bit(open_bits, child)

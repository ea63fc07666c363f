# A directed acyclic graph: parents of each node, ascending, and the ancestors of each node as a bitset.
#
# Adding tail -> head closes a cycle exactly when head is an ancestor of tail, which is one bit test.
# Cost: O(n words) to add an arc; to delete one, the ancestors of its head and its descendants are computed again.
# Reference: Giudici & Castelo (2003), Machine Learning 50, 127-158 (ancestor matrix).

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memmove, memset


cdef struct Dag:
    Py_ssize_t n, words, n_edges
    int **parents
    int *n_parents
    int *capacity
    uint64_t *ancestors         # (n, words)


cdef inline bint bit(const uint64_t *bits, Py_ssize_t i) noexcept nogil:
    return (bits[i >> 6] >> (i & 63)) & 1


cdef inline void set_bit(uint64_t *bits, Py_ssize_t i) noexcept nogil:
    bits[i >> 6] |= <uint64_t>1 << (i & 63)


cdef inline void clear_bit(uint64_t *bits, Py_ssize_t i) noexcept nogil:
    bits[i >> 6] &= ~(<uint64_t>1 << (i & 63))


cdef inline bint init_dag(Dag *dag, Py_ssize_t n) noexcept nogil:
    # False where memory is short; call free_dag() in both cases.
    dag.n = n
    dag.words = (n + 63) // 64
    dag.n_edges = 0
    dag.parents = <int **>calloc(n, sizeof(int *))
    dag.n_parents = <int *>calloc(n, sizeof(int))
    dag.capacity = <int *>calloc(n, sizeof(int))
    dag.ancestors = <uint64_t *>calloc(n * dag.words, sizeof(uint64_t))
    return dag.parents != NULL and dag.n_parents != NULL and dag.capacity != NULL and dag.ancestors != NULL


cdef inline void free_dag(Dag *dag) noexcept nogil:
    cdef Py_ssize_t v
    if dag.parents != NULL:
        for v in range(dag.n):
            free(dag.parents[v])
    free(dag.parents)
    free(dag.n_parents)
    free(dag.capacity)
    free(dag.ancestors)


cdef inline uint64_t *ancestors_of(const Dag *dag, Py_ssize_t v) noexcept nogil:
    return dag.ancestors + v * dag.words


cdef inline Py_ssize_t find_parent(const Dag *dag, Py_ssize_t child, Py_ssize_t parent) noexcept nogil:
    # The position of a parent, -1 where there is no such arc.
    cdef Py_ssize_t i
    for i in range(dag.n_parents[child]):
        if dag.parents[child][i] == parent:
            return i
    return -1


cdef inline bint is_covered(const Dag *dag, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
    # Whether the parents of head are those of tail and tail itself.
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
    # Adds an arc that closes no cycle: head and its descendants inherit tail and its ancestors.
    cdef Py_ssize_t i = dag.n_parents[head], v, w
    cdef uint64_t *source = ancestors_of(dag, tail)
    cdef uint64_t *target
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
    for v in range(dag.n):
        target = ancestors_of(dag, v)
        if v == head or bit(target, head):
            for w in range(dag.words):
                target[w] |= source[w]
            set_bit(target, tail)
    return 0


cdef inline int delete_arc(Dag *dag, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
    cdef Py_ssize_t i = find_parent(dag, head, tail)
    memmove(dag.parents[head] + i, dag.parents[head] + i + 1, (dag.n_parents[head] - i - 1) * sizeof(int))
    dag.n_parents[head] -= 1
    dag.n_edges -= 1
    for i in range(dag.n_parents[head]):
        if bit(ancestors_of(dag, dag.parents[head][i]), tail):
            return 0            # tail leads to head on another path
    return rebuild_ancestors(dag, head)


cdef inline int rebuild_ancestors(Dag *dag, Py_ssize_t first) except -1 nogil:
    # Recomputes the ancestors of `first` and of all its descendants, parents first.
    cdef Py_ssize_t n = dag.n, v, p, i, w, top
    cdef char *stale = <char *>calloc(n, 1)
    cdef int *stack = <int *>malloc((n + 1) * sizeof(int))
    cdef uint64_t *target
    cdef bint ready
    if stale == NULL or stack == NULL:
        free(stale)
        free(stack)
        with gil:
            raise MemoryError("cannot allocate the stack of a graph walk")
    for v in range(n):
        stale[v] = v == first or bit(ancestors_of(dag, v), first)
    for v in range(n):
        if not stale[v]:
            continue
        stack[0] = <int>v
        top = 1
        while top > 0:       # depth first: a node is done once none of its parents is stale
            p = stack[top - 1]
            ready = True
            for i in range(dag.n_parents[p]):
                if stale[dag.parents[p][i]]:
                    stack[top] = dag.parents[p][i]
                    top += 1
                    ready = False
                    break
            if not ready:
                continue
            top -= 1
            stale[p] = 0
            target = ancestors_of(dag, p)
            memset(target, 0, dag.words * sizeof(uint64_t))
            for i in range(dag.n_parents[p]):
                for w in range(dag.words):
                    target[w] |= ancestors_of(dag, dag.parents[p][i])[w]
                set_bit(target, dag.parents[p][i])
    free(stale)
    free(stack)
    return 0

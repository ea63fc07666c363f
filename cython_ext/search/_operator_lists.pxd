# Lists of cliques in the order of their sizes, and of the operators of one head, which are sorted as far as they are
# read: a heap of the unread ones in front of the read ones.
#
# Cost: O(words) per clique; O(1) to add an operator, O(log n) to read the next best.

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from _simd cimport pgmx_lowest_bit


cdef struct Cliques:
    int *ids
    int *ends                   # of each clique in `ids`
    uint64_t *rest              # variables that may be added to each clique, (capacity, words)
    Py_ssize_t n, capacity, id_capacity


cdef struct Operator:
    double gain
    int tail
    int clique                  # its number in the list of the head


cdef struct OperatorList:
    Operator *operators         # a heap of the unread ones, then the read ones, the best last
    Py_ssize_t n, n_unread, capacity, cursor
    int *ids                    # members of the cliques
    int *ends                   # of each clique in `ids`
    Py_ssize_t n_cliques, n_ids, clique_capacity, id_capacity


cdef inline void *grow(void *memory, size_t n_bytes) except NULL:
    cdef void *grown = realloc(memory, n_bytes)
    if grown == NULL:
        raise MemoryError(f"cannot allocate {n_bytes} bytes for operators")
    return grown


# ---- cliques ----

cdef inline void free_cliques(Cliques *found) noexcept nogil:
    free(found.ids)
    free(found.ends)
    free(found.rest)


cdef inline Py_ssize_t begin_of(const int *ends, Py_ssize_t c) noexcept nogil:
    return ends[c - 1] if c > 0 else 0


cdef inline bint find_cliques(
    Cliques *found, const uint64_t *variables, const uint64_t *adjacent, Py_ssize_t words, Py_ssize_t most
) except -1:
    # The sets of pairwise adjacent variables, the smallest first, then by their ids; False if there are more.
    cdef Py_ssize_t c = 0, w, v
    cdef uint64_t word
    found.n = 0
    reserve_clique(found, 1, words)
    found.n = 1
    found.ends[0] = 0
    memcpy(found.rest, variables, words * sizeof(uint64_t))
    while c < found.n:
        for w in range(words):
            word = found.rest[c * words + w]
            while word != 0:
                if found.n == most:
                    return False
                v = 64 * w + pgmx_lowest_bit(word)
                word &= word - 1
                widen_clique(found, c, v, adjacent + v * words, words)
        c += 1
    return True


cdef inline int widen_clique(
    Cliques *found, Py_ssize_t c, Py_ssize_t v, const uint64_t *near, Py_ssize_t words
) except -1:
    # Clique number c with a further variable, after which only later ones that are `near` may be added.
    cdef Py_ssize_t begin = begin_of(found.ends, c), size = found.ends[c] - begin, end = found.ends[found.n - 1], w
    cdef uint64_t *rest
    reserve_clique(found, size + 1, words)
    memcpy(found.ids + end, found.ids + begin, size * sizeof(int))
    found.ids[end + size] = <int>v
    found.ends[found.n] = <int>(end + size + 1)
    rest = found.rest + found.n * words
    for w in range(words):
        rest[w] = found.rest[c * words + w] & near[w] if w >= v >> 6 else 0
    rest[v >> 6] &= ~(((<uint64_t>1 << (v & 63)) << 1) - 1)
    found.n += 1
    return 0


cdef inline int reserve_clique(Cliques *found, Py_ssize_t n_ids, Py_ssize_t words) except -1:
    # Space for one more clique of `n_ids` variables.
    cdef Py_ssize_t used = found.ends[found.n - 1] if found.n > 0 else 0
    if found.n == found.capacity:
        found.ends = <int *>grow(found.ends, (2 * found.n + 16) * sizeof(int))
        found.rest = <uint64_t *>grow(found.rest, (2 * found.n + 16) * words * sizeof(uint64_t))
        found.capacity = 2 * found.n + 16
    if used + n_ids > found.id_capacity:
        found.ids = <int *>grow(found.ids, (2 * used + n_ids + 64) * sizeof(int))
        found.id_capacity = 2 * used + n_ids + 64
    return 0


# ---- operators ----

cdef inline void free_list(OperatorList *found) noexcept nogil:
    free(found.operators)
    free(found.ids)
    free(found.ends)


cdef inline void clear_list(OperatorList *found) noexcept nogil:
    found.n = found.n_unread = found.cursor = found.n_cliques = found.n_ids = 0


cdef inline int add_operator(OperatorList *found, double gain, Py_ssize_t tail, Py_ssize_t clique) except -1:
    if found.n == found.capacity:
        found.operators = <Operator *>grow(found.operators, (2 * found.n + 8) * sizeof(Operator))
        found.capacity = 2 * found.n + 8
    found.operators[found.n] = Operator(gain, <int>tail, <int>clique)
    found.n += 1
    return 0


cdef inline int keep_cliques(OperatorList *found, const Cliques *cliques, Py_ssize_t n_before) except -1:
    # Appends cliques to those of the list, unless no operator was added to the `n_before`.
    cdef Py_ssize_t n = found.n_cliques + cliques.n, n_ids = cliques.ends[cliques.n - 1], c
    if found.n == n_before:
        return 0
    if n > found.clique_capacity:
        found.ends = <int *>grow(found.ends, n * sizeof(int))
        found.clique_capacity = n
    if found.n_ids + n_ids > found.id_capacity:
        found.ids = <int *>grow(found.ids, (found.n_ids + n_ids) * sizeof(int))
        found.id_capacity = found.n_ids + n_ids
    if n_ids:  # without any, both lists may be null
        memcpy(found.ids + found.n_ids, cliques.ids, n_ids * sizeof(int))
    for c in range(cliques.n):
        found.ends[found.n_cliques + c] = <int>found.n_ids + cliques.ends[c]
    found.n_cliques = n
    found.n_ids += n_ids
    return 0


cdef inline void make_heap(OperatorList *found, const int64_t *rank) noexcept nogil:
    # All operators are unread.
    cdef Py_ssize_t i
    found.n_unread = found.n
    for i in range(found.n // 2 - 1, -1, -1):
        sink(found, i, rank)


cdef inline Operator *read_operator(OperatorList *found, Py_ssize_t position, const int64_t *rank) noexcept nogil:
    # The operator at a position of the sorted list, from 0 to n - 1.
    cdef Operator top
    while found.n - found.n_unread <= position:
        found.n_unread -= 1
        top = found.operators[0]
        found.operators[0] = found.operators[found.n_unread]
        found.operators[found.n_unread] = top
        sink(found, 0, rank)
    return found.operators + (found.n - 1 - position)


cdef inline void sink(OperatorList *found, Py_ssize_t i, const int64_t *rank) noexcept nogil:
    cdef Operator moved = found.operators[i]
    cdef Py_ssize_t child = 2 * i + 1
    if i >= found.n_unread:
        return
    while child < found.n_unread:
        if child + 1 < found.n_unread and comes_first(found.operators + child + 1, found.operators + child, rank):
            child += 1
        if not comes_first(found.operators + child, &moved, rank):
            break
        found.operators[i] = found.operators[child]
        i, child = child, 2 * child + 1
    found.operators[i] = moved


cdef inline bint comes_first(const Operator *a, const Operator *b, const int64_t *rank) noexcept nogil:
    # Ties: by the tail, then smaller cliques, then by their ids, so that nothing depends on the order of sets.
    if a.gain != b.gain:
        return a.gain > b.gain
    if a.tail != b.tail:
        return rank[a.tail] < rank[b.tail]
    return a.clique < b.clique

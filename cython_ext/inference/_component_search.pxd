# The component of a hidden variable: breadth-first search in the graph that joins the variables of each family.

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from _plans cimport Network
from _simd cimport pgmx_lowest_bit


cdef struct Search:
    int32_t *hidden                           # the variables of the component found last, sorted
    int32_t *families                         # its families, sorted
    int32_t *stack
    uint8_t *seen                             # hidden variables of all components since `start_search`
    uint8_t *used                             # their families
    uint64_t *bits                            # zeros: sets of variables or families


cdef inline uint64_t hash_record(const int32_t *record, Py_ssize_t size) noexcept nogil:
    cdef uint64_t key = 1469598103934665603u
    cdef Py_ssize_t i
    for i in range(size):
        key = (key ^ <uint64_t>record[i]) * 1099511628211u
        key ^= key >> 29
    return key


cdef inline void sort_numbers(int32_t *numbers, Py_ssize_t m, uint64_t *bits, Py_ssize_t n) noexcept nogil:
    # Sorts distinct numbers below n, with the help of n bits, zeros before and after.
    cdef Py_ssize_t i, k
    cdef int32_t number
    cdef uint64_t word
    if m < 10:
        for i in range(1, m):
            number = numbers[i]
            k = i
            while k > 0 and numbers[k - 1] > number:
                numbers[k] = numbers[k - 1]
                k -= 1
            numbers[k] = number
        return
    for i in range(m):
        bits[numbers[i] // 64] |= (<uint64_t>1) << (numbers[i] % 64)
    k = 0
    for i in range((n + 63) // 64):
        word = bits[i]
        bits[i] = 0
        while word:
            numbers[k] = <int32_t>(i * 64 + pgmx_lowest_bit(word))
            word &= word - 1
            k += 1


cdef inline int allocate_search(Search *search, const Network *network) noexcept nogil:
    cdef Py_ssize_t n = network.n
    search.hidden = <int32_t *>malloc((2 * n + network.n_families) * sizeof(int32_t))
    search.seen = <uint8_t *>calloc(n + network.n_families, 1)
    search.bits = <uint64_t *>calloc((n + network.n_families) // 64 + 1, sizeof(uint64_t))
    if search.hidden == NULL or search.seen == NULL or search.bits == NULL:
        return -1
    search.stack = search.hidden + n
    search.families = search.stack + n
    search.used = search.seen + n
    return 0


cdef inline void free_search(Search *search) noexcept nogil:
    free(search.hidden)
    free(search.seen)
    free(search.bits)


cdef inline void start_search(Search *search, const Network *network) noexcept nogil:
    memset(search.seen, 0, network.n + network.n_families)


cdef inline void find_component(
    const Network *g, Search *search, const int32_t *codes, int32_t root, const uint8_t *relevant,
    Py_ssize_t *n_hidden, Py_ssize_t *n_families
) noexcept nogil:
    """List and mark the component of a hidden variable; `relevant`, by variable, may be NULL: all take part."""
    cdef Py_ssize_t m = 0, k = 0, top = 1, x, y
    cdef int32_t v, u, f
    search.stack[0] = root
    search.seen[root] = 1
    while top:
        top -= 1
        v = search.stack[top]
        search.hidden[m] = v
        m += 1
        for y in range(g.holder_starts[v], g.holder_starts[v + 1]):
            f = g.holders[y]
            if search.used[f] or not g.active[f] or (relevant != NULL and not relevant[g.scopes[g.starts[f]]]):
                continue
            search.used[f] = 1
            search.families[k] = f
            k += 1
            for x in range(g.starts[f], g.starts[f + 1]):
                u = g.scopes[x]
                if codes[u] < 0 and not search.seen[u]:
                    search.seen[u] = 1
                    search.stack[top] = u
                    top += 1
    if m > 1:
        sort_numbers(search.hidden, m, search.bits, g.n)
        sort_numbers(search.families, k, search.bits, g.n_families)
    n_hidden[0] = m
    n_families[0] = k

# The non-empty cells of a family: every combination of states of (parents, child) that occurs, with its rows.
#
# A tree finds the cells of some rows and the rows in each. The cells of all rows are their sums (_segments.pxd).
# Cells come in lexicographic order, the child fastest, so the cells of one parent configuration are neighbours.
# A cell with many rows is held as a plane (one AND per level of the tree), a cell with few rows as a list of them:
# splitting a list costs its length, an AND costs all words.
# Cost: about sum over levels of (plane nodes * states * words / 8 + rows in lists).

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from _buffers cimport Buffer, release, reserve
from _simd cimport pgmx_and, pgmx_lowest_bit, pgmx_popcount


cdef struct Columns:                # a coded table, or some rows of one; all pointers are borrowed
    Py_ssize_t n_rows
    Py_ssize_t n_words
    Py_ssize_t word_stride          # from a plane to the next
    const int64_t *code_starts      # of each variable: the code of the first row
    const int64_t *plane_starts     # and the first word of its first plane, -1 without planes
    const uint8_t *codes8           # one of the two is NULL
    const uint16_t *codes16
    const int64_t *cards
    const uint64_t *planes
    const uint64_t *mask            # a plane of the rows that count; NULL if all do


cdef struct NodeSet:
    Buffer keys                     # uint64: mixed radix number of the states, the last variable fastest
    Buffer counts                   # uint32: rows
    Buffer planes                   # const uint64_t*: NULL for a list
    Buffer starts                   # uint32: start of the list in `rows`
    Buffer rows                     # uint32: rows of all lists
    Buffer words                    # uint64: the planes made at this level
    Py_ssize_t size


cdef struct Cells:                  # the cells of all rows
    Buffer keys                     # uint64, ascending
    Buffer counts                   # uint32
    Py_ssize_t size
    Buffer config_ends              # int64: exclusive end of each parent configuration in the list of cells
    Py_ssize_t n_configs


cdef struct CellTree:
    NodeSet nodes[2]
    int current                     # which of the two holds the result
    Buffer scratch
    uint32_t list_below             # a cell with fewer rows becomes a list
    Py_ssize_t max_planes           # and so does any cell once this many planes are held


cdef enum:
    PLANES_MEMORY = 1 << 26         # bytes of planes that a level of the cell tree may hold


cdef inline void choose_limits(CellTree *tree, const Columns *table, int simd) noexcept nogil:
    # A cell with fewer rows than a share of N/512, which depends on the SIMD level, is cheaper to count by its row
    # list. Beyond 32k and 262k rows the look-ups of a row list begin to miss the caches: lists pay later.
    cdef double[4] shares = [6.0, 2.0, 1.2, 0.45]
    cdef double share = shares[simd]
    if table.n_rows > 262144:
        share *= 0.27
    elif table.n_rows > 32768:
        share *= 0.55
    tree.list_below = <uint32_t>(1 + share * table.n_rows / 512)
    tree.max_planes = PLANES_MEMORY // (table.n_words * 8 + 1) + 1


cdef inline bint has_planes(const Columns *table, Py_ssize_t v) noexcept nogil:
    return table.plane_starts[v] >= 0


cdef inline const uint64_t *plane_of(const Columns *table, Py_ssize_t v, Py_ssize_t state) noexcept nogil:
    return table.planes + table.plane_starts[v] + state * table.word_stride


cdef inline uint32_t code_of(const Columns *table, Py_ssize_t v, Py_ssize_t row) noexcept nogil:
    if table.codes8 != NULL:
        return table.codes8[table.code_starts[v] + row]
    return table.codes16[table.code_starts[v] + row]


cdef inline int compare_u64(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t *>a)[0], y = (<const uint64_t *>b)[0]
    return (x > y) - (x < y)


cdef inline Py_ssize_t unpack_rows(const uint64_t *plane, uint32_t count, uint32_t *rows) noexcept nogil:
    # Writes the row numbers of the `count` bits of a plane in ascending order.
    cdef Py_ssize_t n = 0, w = 0
    cdef uint64_t word
    while n < count:
        word = plane[w]
        while word:
            rows[n] = <uint32_t>(w * 64 + pgmx_lowest_bit(word))
            n += 1
            word &= word - 1
        w += 1
    return n


cdef inline int reserve_nodes(NodeSet *nodes, Py_ssize_t n) except -1 nogil:
    reserve(&nodes.keys, (n + 1) * sizeof(uint64_t))
    reserve(&nodes.counts, (n + 1) * sizeof(uint32_t))
    reserve(&nodes.planes, (n + 1) * sizeof(void *))
    reserve(&nodes.starts, (n + 1) * sizeof(uint32_t))
    return 0


cdef inline void append_node(
    NodeSet *nodes, uint64_t key, uint32_t count, const uint64_t *plane, uint32_t start
) noexcept nogil:
    (<uint64_t *>nodes.keys.data)[nodes.size] = key
    (<uint32_t *>nodes.counts.data)[nodes.size] = count
    (<const uint64_t **>nodes.planes.data)[nodes.size] = plane
    (<uint32_t *>nodes.starts.data)[nodes.size] = start
    nodes.size += 1


cdef inline void split_list(
    const Columns *table, Py_ssize_t v, uint64_t key, const uint32_t *rows, uint32_t count,
    uint32_t *out_rows, uint32_t start, NodeSet *out, uint64_t *scratch
) noexcept nogil:
    # Appends one node for each state of v among the rows; scratch holds max(count, states) words.
    cdef uint64_t r = <uint64_t>table.cards[v]
    cdef uint32_t i, begin, code
    cdef uint64_t s, total
    if count == 1:
        out_rows[start] = rows[0]
        append_node(out, key * r + code_of(table, v, rows[0]), 1, NULL, start)
        return
    if r <= 64 or r <= 4 * <uint64_t>count:
        memset(scratch, 0, r * sizeof(uint64_t))
        for i in range(count):
            scratch[code_of(table, v, rows[i])] += 1
        total = start
        for s in range(r):
            if scratch[s]:
                append_node(out, key * r + s, <uint32_t>scratch[s], NULL, <uint32_t>total)
            total += scratch[s]
            scratch[s] = total - scratch[s]
        for i in range(count):
            code = code_of(table, v, rows[i])
            out_rows[scratch[code]] = rows[i]
            scratch[code] += 1
        return
    # many states, few rows: sort them by (state, row)
    for i in range(count):
        scratch[i] = (<uint64_t>code_of(table, v, rows[i]) << 32) | rows[i]
    qsort(scratch, count, sizeof(uint64_t), compare_u64)
    begin = 0
    for i in range(count):
        out_rows[start + i] = <uint32_t>scratch[i]
        if i + 1 == count or (scratch[i + 1] >> 32) != (scratch[i] >> 32):
            append_node(out, key * r + (scratch[i] >> 32), i + 1 - begin, NULL, start + begin)
            begin = i + 1


cdef inline int split_level(CellTree *tree, const Columns *table, Py_ssize_t v, Py_ssize_t n_planes) except -1 nogil:
    # Splits every node of the current level by the states of v; returns how many of the new nodes hold a plane.
    cdef NodeSet *old = &tree.nodes[tree.current]
    cdef NodeSet *new = &tree.nodes[1 - tree.current]
    cdef Py_ssize_t r = table.cards[v], n_words = table.n_words, i, s, held = 0, capacity
    cdef uint32_t filled = 0, left, count
    cdef uint64_t key
    cdef const uint64_t *plane
    cdef bint by_planes = has_planes(table, v)
    capacity = old.size * r if old.size * r < table.n_rows else table.n_rows
    reserve_nodes(new, capacity)
    capacity = min(n_planes * r if by_planes else 0, tree.max_planes, table.n_rows // <Py_ssize_t>tree.list_below + 1)
    cdef uint64_t *words = <uint64_t *>reserve(&new.words, (capacity + 1) * n_words * sizeof(uint64_t))
    cdef uint32_t *rows = <uint32_t *>reserve(&new.rows, (table.n_rows + 1) * sizeof(uint32_t))
    capacity = table.n_rows if table.n_rows > r else r
    cdef uint64_t *scratch = <uint64_t *>reserve(&tree.scratch, (2 * capacity + 1) * sizeof(uint64_t))
    cdef uint32_t *unpacked = <uint32_t *>(scratch + capacity)
    new.size = 0
    for i in range(old.size):
        key = (<uint64_t *>old.keys.data)[i]
        left = (<uint32_t *>old.counts.data)[i]
        plane = (<const uint64_t **>old.planes.data)[i]
        if plane == NULL:
            split_list(table, v, key, (<uint32_t *>old.rows.data) + (<uint32_t *>old.starts.data)[i], left,
                       rows, filled, new, scratch)
            filled += left
            continue
        if not by_planes:
            unpack_rows(plane, left, unpacked)
            split_list(table, v, key, unpacked, left, rows, filled, new, scratch)
            filled += left
            continue
        for s in range(r):
            if left == 0:
                break
            count = <uint32_t>pgmx_and(words + held * n_words, plane, plane_of(table, v, s), n_words)
            if count == 0:
                continue
            left -= count
            if count < tree.list_below or held >= tree.max_planes:
                unpack_rows(words + held * n_words, count, rows + filled)
                append_node(new, key * <uint64_t>r + <uint64_t>s, count, NULL, filled)
                filled += count
            else:
                append_node(new, key * <uint64_t>r + <uint64_t>s, count, words + held * n_words, 0)
                held += 1
    tree.current = 1 - tree.current
    return <int>held


cdef inline int build_tree(
    CellTree *tree, const Columns *table, const int *parents, Py_ssize_t n_parents, Py_ssize_t child,
    const uint32_t *first_counts    # rows in each state of the first variable: parents[0], or the child if it has none
) except -1 nogil:
    cdef Py_ssize_t first = parents[0] if n_parents > 0 else child
    cdef Py_ssize_t r = table.cards[first], level, s, n_planes = 0, i
    cdef NodeSet *root = &tree.nodes[tree.current]
    cdef uint32_t *rows
    reserve_nodes(root, r if r < table.n_rows else table.n_rows)
    root.size = 0
    if table.mask != NULL:              # the rows that count are one cell, which the first variable splits
        i = <Py_ssize_t>pgmx_popcount(table.mask, (table.n_rows + 63) // 64)
        if i > 0:
            append_node(root, 0, <uint32_t>i, table.mask, 0)
        n_planes = split_level(tree, table, first, root.size)
    elif has_planes(table, first):
        for s in range(r):
            if first_counts[s] > 0:
                append_node(root, <uint64_t>s, first_counts[s], plane_of(table, first, s), 0)
        n_planes = root.size
    else:
        rows = <uint32_t *>reserve(&tree.scratch, 3 * (table.n_rows + r + 1) * sizeof(uint64_t))
        rows += 2 * (table.n_rows + r)   # beyond the memory that split_list uses
        for i in range(table.n_rows):
            rows[i] = <uint32_t>i
        split_list(table, first, 0, rows, <uint32_t>table.n_rows,
                   <uint32_t *>reserve(&root.rows, (table.n_rows + 1) * sizeof(uint32_t)), 0, root,
                   <uint64_t *>tree.scratch.data)
    for level in range(1, n_parents):
        n_planes = split_level(tree, table, parents[level], n_planes)
    if n_parents > 0:
        split_level(tree, table, child, n_planes)
    return 0


cdef inline int find_configs(Cells *cells, Py_ssize_t r) except -1 nogil:
    # Marks the end of each parent configuration in the list of cells.
    cdef int64_t *ends = <int64_t *>reserve(&cells.config_ends, (cells.size + 1) * sizeof(int64_t))
    cdef const uint64_t *keys = <const uint64_t *>cells.keys.data
    cdef Py_ssize_t i
    cells.n_configs = 0
    for i in range(cells.size):
        if i + 1 == cells.size or keys[i + 1] // <uint64_t>r != keys[i] // <uint64_t>r:
            ends[cells.n_configs] = i + 1
            cells.n_configs += 1
    return 0


cdef inline Py_ssize_t count_configs(const uint64_t *keys, Py_ssize_t n_cells, uint64_t r) noexcept nogil:
    # Parent configurations among the cells that occur, sorted.
    cdef Py_ssize_t i, n = 0
    for i in range(n_cells):
        n += i == 0 or keys[i] // r != keys[i - 1] // r
    return n


cdef inline Py_ssize_t count_table_configs(
    const Cells *cells, const uint32_t *table, Py_ssize_t ru, Py_ssize_t n_cells
) noexcept nogil:
    # Configurations of the parents and a candidate of ru states that occur in the candidate's table.
    cdef const int64_t *ends = <const int64_t *>cells.config_ends.data
    cdef Py_ssize_t n = 0, s, g, i
    cdef uint32_t rows
    for s in range(ru):
        i = 0
        for g in range(cells.n_configs):
            rows = 0
            while i < ends[g]:
                rows += table[s * n_cells + i]
                i += 1
            n += rows > 0
    return n


cdef inline int reserve_cells(Cells *cells, Py_ssize_t n) except -1 nogil:
    reserve(&cells.keys, (n + 1) * sizeof(uint64_t))
    reserve(&cells.counts, (n + 1) * sizeof(uint32_t))
    return 0


cdef inline void free_cells(Cells *cells) noexcept nogil:
    release(&cells.keys)
    release(&cells.counts)
    release(&cells.config_ends)


cdef inline void free_tree(CellTree *tree) noexcept nogil:
    cdef int i
    for i in range(2):
        release(&tree.nodes[i].keys)
        release(&tree.nodes[i].counts)
        release(&tree.nodes[i].planes)
        release(&tree.nodes[i].starts)
        release(&tree.nodes[i].rows)
        release(&tree.nodes[i].words)
    release(&tree.scratch)

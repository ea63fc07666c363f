# The tables T[state of u][cell] of all candidates u of a child: counted, or derived from those of its last parents.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _buffers cimport reserve
from _cells cimport build_cells, code_of, has_planes, plane_of, unpack_rows
from _merge cimport merge_cells
from _simd cimport pgmx_count_and
from _workspace cimport (
    AFTER_ADDING, AFTER_DELETING, BIG_CELLS, BIG_COUNTS, BIG_INDEX, CANDIDATES, COUNTED, DEDUCED, LIST_CELLS, LIST_ROWS,
    OFFSETS, PAIR_TABLE, ROW_BITS, ROW_CELLS, TABLES, Kept, Row, Workspace, marginals_of, plane_pair, state_pair,
    stride_of
)


cdef enum:
    BLOCK_WORDS = 1 << 17       # words of planes that are read together: 1 MiB, the L2 cache


cdef inline uint32_t *pair_counts(Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil:
    # Joint counts of a < b, states of b fastest; only non-empty cells where a variable has no planes.
    cdef Py_ssize_t ra = work.table.cards[a], rb = work.table.cards[b], i, j
    cdef const uint32_t *of_a = marginals_of(work, a)
    cdef const uint32_t *of_b = marginals_of(work, b)
    cdef uint32_t *counts
    cdef uint32_t *last
    cdef uint32_t left, found
    cdef int parent
    if not (has_planes(&work.table, a) and has_planes(&work.table, b)):
        parent = <int>a
        build_cells(&work.cells, &work.table, &parent, 1, b, of_a)
        size[0] = work.cells.nodes[work.cells.current].size
        return <uint32_t *>work.cells.nodes[work.cells.current].counts.data
    counts = <uint32_t *>reserve(&work.scratch[PAIR_TABLE], (ra * rb + 1) * sizeof(uint32_t))
    last = counts + (ra - 1) * rb
    memcpy(last, of_b, rb * sizeof(uint32_t))
    for i in range(ra - 1):
        left = of_a[i]
        for j in range(rb - 1):
            found = plane_pair(work, a, i, b, j)
            counts[i * rb + j] = found
            left -= found
            last[j] -= found
        counts[i * rb + rb - 1] = left
        last[rb - 1] -= left
    size[0] = ra * rb
    return counts


cdef inline Py_ssize_t extra_parent(const int *more, Py_ssize_t n_more, const int *fewer) noexcept nogil:
    # The one of n_more ascending ids that is not among the n_more - 1 of `fewer`; -1 where more than one is missing.
    cdef Py_ssize_t i, j = 0, extra = -1
    for i in range(n_more):
        if j < n_more - 1 and fewer[j] == more[i]:
            j += 1
        elif extra < 0:
            extra = more[i]
    return extra if j == n_more - 1 else -1


cdef inline int choose_inheritance(Workspace *work, Row *row, Py_ssize_t n_candidates) except -1 nogil:
    # Compares the parents with those of the kept row; a child without parents has the pair counts for a row.
    cdef Kept *kept = &work.kept[row.child]
    cdef const int *candidates = <const int *>work.scratch[CANDIDATES].data
    cdef Py_ssize_t i
    row.how = COUNTED
    row.moved = -1
    if row.k == 1 and work.pairs != NULL and has_planes(&work.table, row.child) \
            and has_planes(&work.table, row.parents[0]):
        row.how, row.moved = AFTER_ADDING, row.parents[0]
    elif kept.n_parents == row.k - 1 and kept.n_parents > 0:
        row.moved = extra_parent(row.parents, row.k, kept.parents)
        row.how = AFTER_ADDING if row.moved >= 0 else COUNTED
    elif kept.n_parents == row.k + 1:
        row.moved = extra_parent(kept.parents, row.k + 1, row.parents)
        row.how = AFTER_DELETING if row.moved >= 0 else COUNTED
    if row.how == AFTER_DELETING or (row.how == AFTER_ADDING and row.k > 1):
        for i in range(n_candidates):
            if kept.offsets[candidates[i]] < 0 and candidates[i] != row.moved:
                row.how = COUNTED
    return 0


cdef inline int sort_cells_by_size(Workspace *work, Row *row) except -1 nogil:
    # Splits the cells that must be counted into planes and one row list, ascending by row.
    # After an addition the largest sub-cell of every old cell is left out: DEDUCED holds it for each old cell.
    cdef Py_ssize_t c = row.n_cells, n_rows = work.table.n_rows, i, d, w, n_listed = 0
    cdef const uint64_t **planes = <const uint64_t **>work.cells.nodes[work.cells.current].planes.data
    cdef const uint32_t *starts = <const uint32_t *>work.cells.nodes[work.cells.current].starts.data
    cdef const uint32_t *rows = <const uint32_t *>work.cells.nodes[work.cells.current].rows.data
    cdef const uint64_t **big = <const uint64_t **>reserve(&work.scratch[BIG_CELLS], (c + 1) * sizeof(void *))
    cdef int64_t *index = <int64_t *>reserve(&work.scratch[BIG_INDEX], (c + 1) * sizeof(int64_t))
    cdef uint32_t *row_cells = <uint32_t *>reserve(&work.scratch[ROW_CELLS], (n_rows + 1) * sizeof(uint32_t))
    cdef uint64_t *bits = <uint64_t *>reserve(&work.scratch[ROW_BITS], work.table.n_words * sizeof(uint64_t))
    cdef int64_t *deduced
    cdef const int64_t *target = NULL
    cdef uint32_t *listed
    cdef uint32_t *listed_cells
    row.n_big = row.n_listed = 0
    if row.how == AFTER_DELETING:
        return 0
    deduced = <int64_t *>reserve(&work.scratch[DEDUCED], (c + 1) * sizeof(int64_t))
    if row.how == AFTER_ADDING:
        d = 0
        while row.parents[d] != row.moved:
            d += 1
        merge_cells(&work.merge, row.keys, c, stride_of(work, row, d), <uint64_t>work.table.cards[row.moved])
        target = <const int64_t *>work.merge.target.data
        for i in range(work.merge.size):
            deduced[i] = -1
        for i in range(c):
            if deduced[target[i]] < 0 or row.counts[i] > row.counts[deduced[target[i]]]:
                deduced[target[i]] = i
    for i in range(c):
        if row.how == AFTER_ADDING and deduced[target[i]] == i:
            continue
        if planes[i] != NULL:
            big[row.n_big] = planes[i]
            index[row.n_big] = i
            row.n_big += 1
            continue
        if n_listed == 0:
            memset(bits, 0, work.table.n_words * sizeof(uint64_t))
        n_listed += row.counts[i]
        for w in range(starts[i], <Py_ssize_t>starts[i] + row.counts[i]):
            bits[rows[w] >> 6] |= <uint64_t>1 << (rows[w] & 63)
            row_cells[rows[w]] = <uint32_t>i
    row.n_listed = n_listed
    listed = <uint32_t *>reserve(&work.scratch[LIST_ROWS], (n_listed + 1) * sizeof(uint32_t))
    listed_cells = <uint32_t *>reserve(&work.scratch[LIST_CELLS], (n_listed + 1) * sizeof(uint32_t))
    unpack_rows(bits, <uint32_t>n_listed, listed)
    for i in range(n_listed):
        listed_cells[i] = row_cells[listed[i]]
    return 0


cdef inline int count_tables(
    Workspace *work, Row *row, const int *candidates, Py_ssize_t n, int64_t size
) except -1 nogil:
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef const uint64_t **big = <const uint64_t **>work.scratch[BIG_CELLS].data
    cdef const int64_t *index = <const int64_t *>work.scratch[BIG_INDEX].data
    cdef uint32_t *found = <uint32_t *>reserve(&work.scratch[BIG_COUNTS], (row.n_big + 1) * sizeof(uint32_t))
    cdef Py_ssize_t c = row.n_cells, n_words = work.table.n_words, begin = 0, end, step, i, j, s, u
    cdef uint32_t *table
    memset(tables, 0, size * sizeof(uint32_t))
    step = BLOCK_WORDS // (row.n_big + 4) // 8 * 8
    step = step if step > 256 else 256
    while begin < n_words and row.n_big > 0:
        end = begin + step if begin + step < n_words else n_words
        for i in range(n):
            u = candidates[i]
            for s in range(work.table.cards[u] - 1):
                table = tables + offsets[u] + s * c
                if row.n_big == c:
                    pgmx_count_and(plane_of(&work.table, u, s), big, c, begin, end, table)
                    continue
                memset(found, 0, row.n_big * sizeof(uint32_t))
                pgmx_count_and(plane_of(&work.table, u, s), big, row.n_big, begin, end, found)
                for j in range(row.n_big):
                    table[index[j]] += found[j]
        begin = end
    for i in range(n):
        if row.n_listed > 0:
            count_list(work, row, candidates[i])
        if row.how == AFTER_ADDING:
            deduce(work, row, candidates[i])
    return 0


cdef inline void count_list(Workspace *work, const Row *row, Py_ssize_t u) noexcept nogil:
    cdef uint32_t *table = <uint32_t *>work.scratch[TABLES].data + (<int64_t *>work.scratch[OFFSETS].data)[u]
    cdef const uint32_t *rows = <const uint32_t *>work.scratch[LIST_ROWS].data
    cdef const uint32_t *cells = <const uint32_t *>work.scratch[LIST_CELLS].data
    cdef Py_ssize_t i
    for i in range(row.n_listed):
        table[code_of(&work.table, u, rows[i]) * row.n_cells + cells[i]] += 1


cdef inline void deduce(Workspace *work, const Row *row, Py_ssize_t u) noexcept nogil:
    # The largest sub-cell of every old cell: the old count minus what was counted in the others.
    cdef uint32_t *table = <uint32_t *>work.scratch[TABLES].data + (<int64_t *>work.scratch[OFFSETS].data)[u]
    cdef const int64_t *deduced = <const int64_t *>work.scratch[DEDUCED].data
    cdef const int64_t *target = <const int64_t *>work.merge.target.data
    cdef const uint64_t *states = <const uint64_t *>work.merge.keys.data
    cdef Kept *kept = &work.kept[row.child]
    cdef Py_ssize_t s, o, i, c = row.n_cells
    cdef const uint32_t *old
    for s in range(work.table.cards[u] - 1):
        if row.k == 1:
            for o in range(work.merge.size):
                table[s * c + deduced[o]] = state_pair(work, row.child, <Py_ssize_t>states[o], u, s)
        else:
            old = kept.tables + kept.offsets[u] + s * kept.n_cells
            for o in range(work.merge.size):
                table[s * c + deduced[o]] = old[o]
        for i in range(c):
            if deduced[target[i]] != i:
                table[s * c + deduced[target[i]]] -= table[s * c + i]


cdef inline int sum_tables(
    Workspace *work, Row *row, const int *candidates, Py_ssize_t n, int64_t size
) except -1 nogil:
    # After a deletion: every new cell is the sum of old ones, and the deleted parent's table is in the old cells.
    cdef Kept *kept = &work.kept[row.child]
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef const int64_t *target
    cdef const uint32_t *old
    cdef uint64_t stride = <uint64_t>row.r, r = <uint64_t>work.table.cards[row.moved]
    cdef Py_ssize_t i, o, s, u, c = row.n_cells
    cdef uint32_t *table
    for i in range(kept.n_parents - 1, -1, -1):
        if kept.parents[i] == row.moved:
            break
        stride *= <uint64_t>work.table.cards[kept.parents[i]]
    merge_cells(&work.merge, kept.keys, kept.n_cells, stride, r)
    target = <const int64_t *>work.merge.target.data
    memset(tables, 0, size * sizeof(uint32_t))
    for i in range(n):
        u = candidates[i]
        table = tables + offsets[u]
        if u == row.moved:
            for o in range(kept.n_cells):
                table[<Py_ssize_t>(kept.keys[o] // stride % r) * c + target[o]] = kept.counts[o]
            continue
        for s in range(work.table.cards[u] - 1):
            old = kept.tables + kept.offsets[u] + s * kept.n_cells
            for o in range(kept.n_cells):
                table[s * c + target[o]] += old[o]
    return 0

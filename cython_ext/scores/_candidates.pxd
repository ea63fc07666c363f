# The tables T[state of u][cell] of all candidates u of a child: counted, or derived from those of earlier parents.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _buffers cimport reserve
from _cells cimport build_cells, code_of, has_planes, plane_of, unpack_rows
from _merge cimport merge_cells
from _simd cimport pgmx_count_and
from _workspace cimport (
    AFTER_ADDING, AFTER_DELETING, BIG_CELLS, BIG_COUNTS, BIG_INDEX, CANDIDATES, COUNTED, LARGEST, LIST_CELLS, LIST_ROWS,
    MEMOS, OFFSETS, PAIR_TABLE, PLANE_ROWS, ROW_BITS, ROW_CELLS, TABLES, Memo, Row, Workspace, marginals_of,
    plane_pair, state_pair, stride_of
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
    cdef uint32_t rest, count
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
        rest = of_a[i]
        for j in range(rb - 1):
            count = plane_pair(work, a, i, b, j)
            counts[i * rb + j] = count
            rest -= count
            last[j] -= count
        counts[i * rb + rb - 1] = rest
        last[rb - 1] -= rest
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


cdef inline const Memo *find_memo(const Workspace *work, Row *row) noexcept nogil:
    # The last memo with one parent more, whose tables need no count, else with one fewer; NULL where there is none.
    cdef const Memo *memo
    cdef const Memo *fewer = NULL
    cdef Py_ssize_t i, added = -1, changed
    for i in range(work.n_memos):
        memo = &work.memos[row.child * MEMOS + (work.newest[row.child] + work.n_memos - i) % work.n_memos]
        if memo.n_parents == row.k + 1:
            changed = extra_parent(memo.parents, row.k + 1, row.parents)
            if changed >= 0:
                row.how, row.changed_parent = AFTER_DELETING, changed
                return memo
        elif fewer == NULL and memo.n_parents == row.k - 1 and memo.n_parents > 0:
            changed = extra_parent(row.parents, row.k, memo.parents)
            if changed >= 0:
                fewer, added = memo, changed
    if fewer != NULL:
        row.how, row.changed_parent = AFTER_ADDING, added
    return fewer


cdef inline const Memo *find_wider(const Workspace *work, Row *row) noexcept nogil:
    # The last memo with one parent more, row.changed_parent: cells and tables follow from it.
    cdef const Memo *memo = find_memo(work, row)
    return memo if memo != NULL and row.how == AFTER_DELETING else NULL


cdef inline Py_ssize_t choose_inheritance(Workspace *work, Row *row, int *candidates, Py_ssize_t n) except -1 nogil:
    # Looks for a memo; candidates whose tables follow from it come first, their number is returned. The pair counts
    # serve as the memo of a child without parents.
    cdef Py_ssize_t i, u, n_inherited = 0
    row.how, row.changed_parent = COUNTED, -1
    row.memo = find_memo(work, row)
    if row.memo == NULL:
        if row.k == 1 and work.pairs != NULL and has_planes(&work.table, row.child) \
                and has_planes(&work.table, row.parents[0]):
            row.how, row.changed_parent = AFTER_ADDING, row.parents[0]
            return n
        return 0
    for i in range(n):
        u = candidates[i]
        if row.memo.offsets[u] >= 0 or u == row.changed_parent:
            candidates[i] = candidates[n_inherited]
            candidates[n_inherited] = <int>u
            n_inherited += 1
    return n_inherited


cdef inline int sort_cells_by_size(Workspace *work, Row *row, Py_ssize_t n_passes) except -1 nogil:
    # Splits the cells that must be counted into planes and one row list, ascending by row, for candidates of about
    # n_passes states: a plane is read once for each state but the last, a list once.
    # After an addition the largest sub-cell of every old cell is not counted: LARGEST holds it for each old cell.
    cdef Py_ssize_t c = row.n_cells, n_rows = work.table.n_rows, i, d, w, n_list_rows = 0
    cdef int64_t list_below = <int64_t>work.cells.list_below * n_passes
    cdef uint32_t *unpacked
    cdef const uint64_t **planes = <const uint64_t **>work.cells.nodes[work.cells.current].planes.data
    cdef const uint32_t *starts = <const uint32_t *>work.cells.nodes[work.cells.current].starts.data
    cdef const uint32_t *rows = <const uint32_t *>work.cells.nodes[work.cells.current].rows.data
    cdef const uint64_t **big = <const uint64_t **>reserve(&work.scratch[BIG_CELLS], (c + 1) * sizeof(void *))
    cdef int64_t *index = <int64_t *>reserve(&work.scratch[BIG_INDEX], (c + 1) * sizeof(int64_t))
    cdef uint32_t *row_cells = <uint32_t *>reserve(&work.scratch[ROW_CELLS], (n_rows + 1) * sizeof(uint32_t))
    cdef uint64_t *bits = <uint64_t *>reserve(&work.scratch[ROW_BITS], work.table.n_words * sizeof(uint64_t))
    cdef int64_t *largest
    cdef const int64_t *target = NULL
    cdef uint32_t *list_rows
    cdef uint32_t *list_cells
    row.n_big = row.n_list_rows = 0
    if row.how == AFTER_DELETING:
        return 0
    largest = <int64_t *>reserve(&work.scratch[LARGEST], (c + 1) * sizeof(int64_t))
    if row.how == AFTER_ADDING:
        d = 0
        while row.parents[d] != row.changed_parent:
            d += 1
        merge_cells(&work.merge, row.keys, c, stride_of(work, row, d), <uint64_t>work.table.cards[row.changed_parent])
        target = <const int64_t *>work.merge.target.data
        for i in range(work.merge.size):
            largest[i] = -1
        for i in range(c):
            if largest[target[i]] < 0 or row.counts[i] > row.counts[largest[target[i]]]:
                largest[target[i]] = i
    for i in range(c):
        if row.how == AFTER_ADDING and largest[target[i]] == i:
            continue
        if planes[i] != NULL and (n_passes == 1 or row.counts[i] >= list_below):
            big[row.n_big] = planes[i]
            index[row.n_big] = i
            row.n_big += 1
            continue
        if n_list_rows == 0:
            memset(bits, 0, work.table.n_words * sizeof(uint64_t))
        n_list_rows += row.counts[i]
        if planes[i] != NULL:
            unpacked = <uint32_t *>reserve(&work.scratch[PLANE_ROWS], (n_rows + 1) * sizeof(uint32_t))
            unpack_rows(planes[i], row.counts[i], unpacked)
            for w in range(row.counts[i]):
                row_cells[unpacked[w]] = <uint32_t>i
            for w in range(work.table.n_words):
                bits[w] |= planes[i][w]
            continue
        for w in range(starts[i], <Py_ssize_t>starts[i] + row.counts[i]):
            bits[rows[w] >> 6] |= <uint64_t>1 << (rows[w] & 63)
            row_cells[rows[w]] = <uint32_t>i
    row.n_list_rows = n_list_rows
    list_rows = <uint32_t *>reserve(&work.scratch[LIST_ROWS], (n_list_rows + 1) * sizeof(uint32_t))
    list_cells = <uint32_t *>reserve(&work.scratch[LIST_CELLS], (n_list_rows + 1) * sizeof(uint32_t))
    unpack_rows(bits, <uint32_t>n_list_rows, list_rows)
    for i in range(n_list_rows):
        list_cells[i] = row_cells[list_rows[i]]
    return 0


cdef inline int count_tables(Workspace *work, Row *row, int *candidates, Py_ssize_t n) except -1 nogil:
    # Counts into tables that are all 0, candidates of about as many states at a time; reorders the candidates.
    cdef Py_ssize_t first = 0, last, i, n_passes = 1
    cdef int u
    while first < n:
        last = first
        for i in range(first, n):
            u = candidates[i]
            if work.table.cards[u] <= 2 * n_passes:
                candidates[i] = candidates[last]
                candidates[last] = u
                last += 1
        if last > first:
            sort_cells_by_size(work, row, n_passes)
            count_group(work, row, candidates + first, last - first)
        first = last
        n_passes *= 2
    return 0


cdef inline int count_group(Workspace *work, Row *row, const int *candidates, Py_ssize_t n) except -1 nogil:
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef const uint64_t **big = <const uint64_t **>work.scratch[BIG_CELLS].data
    cdef const int64_t *index = <const int64_t *>work.scratch[BIG_INDEX].data
    cdef uint32_t *big_counts = <uint32_t *>reserve(&work.scratch[BIG_COUNTS], (row.n_big + 1) * sizeof(uint32_t))
    cdef Py_ssize_t c = row.n_cells, n_words = work.table.n_words, begin = 0, end, step, i, j, s, u
    cdef uint32_t *table
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
                memset(big_counts, 0, row.n_big * sizeof(uint32_t))
                pgmx_count_and(plane_of(&work.table, u, s), big, row.n_big, begin, end, big_counts)
                for j in range(row.n_big):
                    table[index[j]] += big_counts[j]
        begin = end
    for i in range(n):
        if row.n_list_rows > 0:
            count_list(work, row, candidates[i])
        if row.how == AFTER_ADDING:
            deduce(work, row, candidates[i])
    return 0


cdef inline void count_list(Workspace *work, const Row *row, Py_ssize_t u) noexcept nogil:
    cdef uint32_t *table = <uint32_t *>work.scratch[TABLES].data + (<int64_t *>work.scratch[OFFSETS].data)[u]
    cdef const uint32_t *rows = <const uint32_t *>work.scratch[LIST_ROWS].data
    cdef const uint32_t *cells = <const uint32_t *>work.scratch[LIST_CELLS].data
    cdef const uint8_t *codes
    cdef Py_ssize_t i
    if work.table.codes8 != NULL:
        codes = work.table.codes8 + u * work.table.n_rows
        for i in range(row.n_list_rows):
            table[codes[rows[i]] * row.n_cells + cells[i]] += 1
        return
    for i in range(row.n_list_rows):
        table[code_of(&work.table, u, rows[i]) * row.n_cells + cells[i]] += 1


cdef inline void deduce(Workspace *work, const Row *row, Py_ssize_t u) noexcept nogil:
    # The largest sub-cell of every old cell: the old count minus what was counted in the others.
    cdef uint32_t *table = <uint32_t *>work.scratch[TABLES].data + (<int64_t *>work.scratch[OFFSETS].data)[u]
    cdef const int64_t *largest = <const int64_t *>work.scratch[LARGEST].data
    cdef const int64_t *target = <const int64_t *>work.merge.target.data
    cdef const uint64_t *states = <const uint64_t *>work.merge.keys.data
    cdef const Memo *memo = row.memo
    cdef Py_ssize_t s, o, i, c = row.n_cells
    cdef const uint32_t *old
    for s in range(work.table.cards[u] - 1):
        if memo == NULL:
            for o in range(work.merge.size):
                table[s * c + largest[o]] = state_pair(work, row.child, <Py_ssize_t>states[o], u, s)
        else:
            old = memo.tables + memo.offsets[u] + s * memo.n_cells
            for o in range(work.merge.size):
                table[s * c + largest[o]] = old[o]
        for i in range(c):
            if largest[target[i]] != i:
                table[s * c + largest[target[i]]] -= table[s * c + i]


cdef inline int sum_tables(Workspace *work, Row *row, const int *candidates, Py_ssize_t n) except -1 nogil:
    # After a deletion: every new cell is the sum of old ones, and the deleted parent's table is in the old cells.
    cdef const Memo *memo = row.memo
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef const int64_t *target
    cdef const uint32_t *old
    cdef uint64_t stride = <uint64_t>row.r, r = <uint64_t>work.table.cards[row.changed_parent]
    cdef Py_ssize_t i, o, s, u, c = row.n_cells
    cdef uint32_t *table
    for i in range(memo.n_parents - 1, -1, -1):
        if memo.parents[i] == row.changed_parent:
            break
        stride *= <uint64_t>work.table.cards[memo.parents[i]]
    merge_cells(&work.merge, memo.keys, memo.n_cells, stride, r)
    target = <const int64_t *>work.merge.target.data
    for i in range(n):
        u = candidates[i]
        table = tables + offsets[u]
        if u == row.changed_parent:
            for o in range(memo.n_cells):
                table[<Py_ssize_t>(memo.keys[o] // stride % r) * c + target[o]] = memo.counts[o]
            continue
        for s in range(work.table.cards[u] - 1):
            old = memo.tables + memo.offsets[u] + s * memo.n_cells
            for o in range(memo.n_cells):
                table[s * c + target[o]] += old[o]
    return 0

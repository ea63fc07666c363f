# The tables T[state of u][cell] of all candidates u of a child: counted, or derived from those of earlier parents.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from _buffers cimport reserve
from _cells cimport has_planes
from _merge cimport merge_cells
from _segments cimport (
    Segment, add_list, add_planes, build_segment, find_cells, number_cells, open_segment, sort_cells_by_size
)
from _workspace cimport (
    AFTER_ADDING, AFTER_DELETING, COUNTED, LARGEST, MEMOS, OFFSETS, PAIR_TABLE, TABLES, Memo, Row, Workspace,
    marginals_of, plane_pair, state_pair, stride_of
)


cdef inline int find_row_cells(Workspace *work, Row *row) except -1 nogil:
    # The cells of a family with parents.
    find_cells(
        &work.segments, &work.table, &work.cells, row.parents, row.k, row.child, marginals_of(work, row.parents[0])
    )
    row.n_cells = work.cells.size
    row.keys, row.counts = <const uint64_t *>work.cells.keys.data, <const uint32_t *>work.cells.counts.data
    return 0


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
        find_cells(&work.segments, &work.table, &work.cells, &parent, 1, b, of_a)
        size[0] = work.cells.size
        return <uint32_t *>work.cells.counts.data
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


cdef inline int fill_tables(Workspace *work, Row *row, int *candidates, Py_ssize_t n) except -1 nogil:
    # The tables of all candidates, which hold zeros, from a memo or by counting; reorders the candidates.
    cdef Py_ssize_t n_inherited = choose_inheritance(work, row, candidates, n)
    if row.how == AFTER_DELETING:
        sum_tables(work, row, candidates, n_inherited)
        if n_inherited == n:
            return 0
        count_tables(work, row, candidates + n_inherited, 0, n - n_inherited)
    else:
        count_tables(work, row, candidates, n_inherited, n)
    if n_inherited < n:
        row.how = COUNTED
    return 0


cdef inline int count_tables(
    Workspace *work, Row *row, int *candidates, Py_ssize_t n_deduced, Py_ssize_t n
) except -1 nogil:
    # Counts into tables that are all 0; those of the first candidates follow in part from those before an addition: the
    # largest sub-cell of every old cell is not counted. The tree of one segment is there already.
    cdef Py_ssize_t i, first = work.segments.segment.number, n_segments = work.segments.n
    if n_deduced > 0:
        choose_largest(work, row)
    for i in range(n_segments):
        if i > 0:
            open_segment(&work.segments, &work.table, (first + i) % n_segments)
            build_segment(&work.segments, row.parents, row.k, row.child, marginals_of(work, row.parents[0]))
        number_cells(&work.segments.segment, row.keys, row.n_cells)
        count_segment(work, row, candidates, n_deduced, True, i + 1 == n_segments)
        count_segment(work, row, candidates + n_deduced, n - n_deduced, False, False)
    return 0


cdef inline int count_segment(
    Workspace *work, Row *row, int *candidates, Py_ssize_t n, bint leaves_largest, bint deduces
) except -1 nogil:
    # Adds the rows of a segment to tables, candidates of about as many states at a time; reorders the candidates.
    cdef Segment *segment = &work.segments.segment
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef const int64_t *target = <const int64_t *>work.merge.target.data if leaves_largest else NULL
    cdef const int64_t *largest = <const int64_t *>work.scratch[LARGEST].data if leaves_largest else NULL
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
            sort_cells_by_size(segment, target, largest, n_passes)
            add_planes(segment, candidates + first, last - first, tables, offsets, row.n_cells)
        for i in range(first, last):
            if segment.n_list_rows > 0:
                add_list(segment, candidates[i], tables + offsets[candidates[i]], row.n_cells)
            if deduces:
                deduce(work, row, candidates[i])
        first = last
        n_passes *= 2
    return 0


cdef inline int choose_largest(Workspace *work, Row *row) except -1 nogil:
    # After an addition: LARGEST holds the largest sub-cell of each old cell, work.merge the old cell of each.
    cdef int64_t *largest = <int64_t *>reserve(&work.scratch[LARGEST], (row.n_cells + 1) * sizeof(int64_t))
    cdef const int64_t *target
    cdef Py_ssize_t i, d = 0
    while row.parents[d] != row.changed_parent:
        d += 1
    merge_cells(
        &work.merge, row.keys, row.n_cells, stride_of(work, row, d), <uint64_t>work.table.cards[row.changed_parent]
    )
    target = <const int64_t *>work.merge.target.data
    for i in range(work.merge.size):
        largest[i] = -1
    for i in range(row.n_cells):
        if largest[target[i]] < 0 or row.counts[i] > row.counts[largest[target[i]]]:
            largest[target[i]] = i
    return 0


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

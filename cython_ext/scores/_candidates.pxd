# The tables T[state of u][cell] of all candidates u of a child: counted, or derived from the tables of earlier parents.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _buffers cimport reserve
from _cells cimport Cells, NodeSet, find_configs, has_planes
from _crew cimport await_pieces, begin_task, finish_piece, take_piece
from _merge cimport merge_cells
from _segments cimport (
    OWN_CANDIDATES, OWN_TABLES, Segment, add_cells, add_list, add_planes, build_segment, number_cells,
    sort_cells_by_size
)
from _workspace cimport (
    AFTER_ADDING, AFTER_DELETING, COUNTED, LARGEST, MEMOS, OFFSETS, PAIR_TABLE, TABLES, Memo, Row, Workspace,
    marginals_of, plane_pair, state_pair, stride_of
)


cdef inline int find_row_cells(Workspace *work, Row *row) except -1 nogil:
    # The cells of a family with parents.
    cdef Cells *cells
    cdef Py_ssize_t t
    work.segments.family += 1
    work.share.row, work.share.makes_tables = row, False
    work.cells.size = 0
    run_task(work)
    for t in range(1, work.segments.crew.n_threads):
        if work.segments.of_thread[t].task == work.segments.crew.task:
            cells = &work.segments.of_thread[t].cells
            add_cells(
                &work.segments.of_thread[0], &work.cells, <const uint64_t *>cells.keys.data,
                <const uint32_t *>cells.counts.data, cells.size
            )
    row.n_cells = work.cells.size
    row.keys, row.counts = <const uint64_t *>work.cells.keys.data, <const uint32_t *>work.cells.counts.data
    return find_configs(&work.cells, work.table.cards[row.child])


cdef inline int run_task(Workspace *work) except -1 nogil:
    cdef bint has_failed = True
    begin_task(&work.segments.crew)
    try:
        count_share(work, 0)
    finally:
        has_failed = not await_pieces(&work.segments.crew)
    if has_failed:
        with gil:
            raise MemoryError("a thread that counts rows is short of memory")
    return 0


cdef inline int count_share(Workspace *work, Py_ssize_t thread) except -1 nogil:
    # Counts segments as long as there are some that no other thread has taken.
    cdef Segment *segment = &work.segments.of_thread[thread]
    cdef uint64_t task = 0
    cdef bint has_failed
    cdef Py_ssize_t number = take_piece(&work.segments.crew, segment.number, &task)
    while number >= 0:
        has_failed = True
        try:
            count_piece(work, segment, thread, number, task)
            has_failed = False
        finally:
            finish_piece(&work.segments.crew, has_failed)
        number = take_piece(&work.segments.crew, segment.number, &task)
    return 0


cdef inline uint32_t *pair_counts(Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil:
    # Joint counts of a < b, states of b fastest; only non-empty cells if a variable has no planes.
    cdef Py_ssize_t ra = work.table.cards[a], rb = work.table.cards[b], i, j
    cdef const uint32_t *of_a = marginals_of(work, a)
    cdef const uint32_t *of_b = marginals_of(work, b)
    cdef uint32_t *counts
    cdef uint32_t *last
    cdef uint32_t rest, count
    cdef int parent = <int>a
    cdef Row row
    if not (has_planes(&work.table, a) and has_planes(&work.table, b)):
        row.child, row.k, row.parents, row.mask = b, 1, &parent, NULL
        find_row_cells(work, &row)
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
    # The one of n_more ascending ids that is not among the n_more - 1 of `fewer`; -1 if more than one is missing.
    cdef Py_ssize_t i, j = 0, extra = -1
    for i in range(n_more):
        if j < n_more - 1 and fewer[j] == more[i]:
            j += 1
        elif extra < 0:
            extra = more[i]
    return extra if j == n_more - 1 else -1


cdef inline const Memo *find_memo(const Workspace *work, Row *row) noexcept nogil:
    # The last memo with one parent more, whose tables need no count, else with one fewer; NULL if there is none.
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
        elif fewer == NULL and memo.n_parents >= 0 and memo.n_parents == row.k - 1:
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
    # are the memo of a child without parents.
    cdef Py_ssize_t i, u, n_inherited = 0
    row.how, row.changed_parent = COUNTED, -1
    row.memo = find_memo(work, row)
    if row.memo == NULL:
        if row.k == 1 and row.mask == NULL and work.pairs != NULL and has_planes(&work.table, row.child) \
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
    # Counts into tables that are all 0. Tables of the first candidates follow in part from the tables before an
    # addition: the largest sub-cell of every old cell is not counted.
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef const uint32_t *others
    cdef Py_ssize_t i, t
    if n_deduced > 0:
        choose_largest(work, row)
    work.share.row, work.share.makes_tables, work.share.candidates = row, True, candidates
    work.share.n_deduced, work.share.n, work.share.n_entries = n_deduced, n, 0
    for i in range(n):
        t = offsets[candidates[i]] + work.table.cards[candidates[i]] * row.n_cells
        work.share.n_entries = max(work.share.n_entries, t)
    run_task(work)
    for t in range(1, work.segments.crew.n_threads):
        if work.segments.of_thread[t].task == work.segments.crew.task:
            others = <const uint32_t *>work.segments.of_thread[t].scratch[OWN_TABLES].data
            for i in range(work.share.n_entries):
                tables[i] += others[i]
    for i in range(n_deduced):
        deduce(work, row, candidates[i])
    return 0


cdef inline int count_piece(
    Workspace *work, Segment *segment, Py_ssize_t thread, Py_ssize_t number, uint64_t task
) except -1 nogil:
    # The work of a thread on a segment.
    cdef const Row *row = work.share.row
    cdef const NodeSet *nodes
    cdef Py_ssize_t n = work.share.n, n_deduced = work.share.n_deduced
    cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
    cdef int *candidates
    cdef Cells *cells = &work.cells if thread == 0 else &segment.cells
    cdef bint is_first = segment.task != task
    segment.task = task
    if segment.number != number or segment.family != work.segments.family:
        build_segment(
            &work.segments, segment, &work.table, number, row.parents, row.k, row.child, row.mask,
            marginals_of(work, row.parents[0] if row.k > 0 else row.child)
        )
    if not work.share.makes_tables:
        if is_first and thread > 0:
            cells.size = 0
        nodes = &segment.tree.nodes[segment.tree.current]
        return add_cells(
            segment, cells, <const uint64_t *>nodes.keys.data, <const uint32_t *>nodes.counts.data, nodes.size
        )
    if thread > 0:
        tables = <uint32_t *>reserve(&segment.scratch[OWN_TABLES], (work.share.n_entries + 1) * sizeof(uint32_t))
        if is_first:
            memset(tables, 0, work.share.n_entries * sizeof(uint32_t))
    candidates = <int *>reserve(&segment.scratch[OWN_CANDIDATES], (n + 1) * sizeof(int))
    memcpy(candidates, work.share.candidates, n * sizeof(int))
    number_cells(segment, row.keys, row.n_cells)
    count_segment(work, segment, tables, candidates, n_deduced, True)
    return count_segment(work, segment, tables, candidates + n_deduced, n - n_deduced, False)


cdef inline int count_segment(
    Workspace *work, Segment *segment, uint32_t *tables, int *candidates, Py_ssize_t n, bint leaves_largest
) except -1 nogil:
    # Adds the rows of a segment to tables, candidates of about as many states at a time; reorders the candidates.
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef const int64_t *target = <const int64_t *>work.merge.target.data if leaves_largest else NULL
    cdef const int64_t *largest = <const int64_t *>work.scratch[LARGEST].data if leaves_largest else NULL
    cdef Py_ssize_t first = 0, last, i, n_passes = 1, n_cells = work.share.row.n_cells
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
            add_planes(segment, candidates + first, last - first, tables, offsets, n_cells)
        for i in range(first, last if segment.n_list_rows > 0 else first):
            add_list(segment, candidates[i], tables + offsets[candidates[i]], n_cells)
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
    # The largest sub-cell of every old cell: the old count minus the counts of the others.
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

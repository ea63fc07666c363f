# The state of a family scorer: borrowed table, score terms, scratch memory, and the memo of each child.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from _buffers cimport Buffer, release
from _cells cimport Cells, Columns, free_cells, has_planes, plane_of
from _merge cimport Merge, free_merge
from _segments cimport Segments, free_segments
from _simd cimport pgmx_count_and
from _terms cimport Terms


cdef enum Inheritance:          # how the tables follow from those of the memo
    COUNTED, AFTER_ADDING, AFTER_DELETING


cdef enum:                      # scratch buffers
    PAIR_TABLE, CANDIDATES, OFFSETS, TABLES, CONFIG_SUMS, MERGED_COUNTS, LARGEST, WIDER, N_BUFFERS


cdef enum:
    MEMOS = 8                   # largest number of rows that are kept for each child


cdef struct Memo:               # a row of a child, for those with one parent more or fewer
    void *block                 # holds all arrays
    int n_parents               # -1: nothing
    int *parents
    Py_ssize_t n_cells
    uint64_t *keys
    uint32_t *counts
    uint32_t *tables            # (states - 1) rows of cells for each candidate
    int64_t *offsets            # start of the table of each variable, -1 if it has none
    size_t n_bytes


cdef struct Row:                # the row that is being computed
    Py_ssize_t child, k
    const int *parents
    const uint64_t *mask        # the rows that count, NULL for all
    Py_ssize_t r
    double q
    Py_ssize_t n_cells
    const uint64_t *keys
    const uint32_t *counts
    Inheritance how
    const Memo *memo                     # whose tables are inherited
    Py_ssize_t changed_parent            # the parent that was added to it or deleted from it
    double score


cdef struct Share:              # the task of the threads: to find the cells of a family, or to add to tables
    const Row *row
    bint makes_tables
    const int *candidates
    Py_ssize_t n_deduced, n, n_entries  # of the first candidates the largest sub-cells are not counted; of all tables


cdef struct Workspace:
    Py_ssize_t n
    Columns table
    Terms terms
    Cells cells
    Segments segments
    Share share                         # task of the threads
    Merge merge
    Memo *memos                         # (n, MEMOS)
    int *newest                         # by child: the number of its last memo
    Py_ssize_t n_memos                  # of each child
    size_t memory, memory_used          # limit and sum of the bytes of all memos
    int64_t *starts                     # of the codes of each variable, then of its planes
    const uint32_t *marginals           # rows in each state, variable after variable
    int64_t *state_offsets
    const uint32_t *pairs               # counts of pairs of planes, NULL without
    Py_ssize_t pair_width
    int64_t *pair_offsets
    Buffer[N_BUFFERS] scratch


cdef inline int set_table(
    Workspace *work, codes, const int64_t[::1] cardinalities, const uint64_t[:, ::1] planes,
    const int64_t[::1] plane_offsets, const uint32_t[::1] marginals, const uint32_t[:, ::1] pairs, size_t memory
) except -1:
    # Borrows the arrays, which the caller keeps alive; codes without rows belong to a remote table.
    cdef const uint8_t[:, ::1] narrow
    cdef const uint16_t[:, ::1] wide
    cdef Py_ssize_t v
    work.n, work.memory = cardinalities.shape[0], memory
    work.table.n_rows = codes.shape[1]
    work.table.n_words = work.table.word_stride = planes.shape[1]
    if codes.shape[1] > 0 and codes.itemsize == 1:
        narrow = codes
        work.table.codes8 = &narrow[0, 0]
    elif codes.shape[1] > 0:
        wide = codes
        work.table.codes16 = &wide[0, 0]
    work.table.cards = &cardinalities[0]
    work.table.planes = &planes[0, 0] if planes.shape[0] > 0 and planes.shape[1] > 0 else NULL
    work.marginals = &marginals[0]
    if pairs is not None and pairs.shape[0] > 0:
        work.pairs, work.pair_width = &pairs[0, 0], pairs.shape[1]
    work.starts = <int64_t *>calloc(2 * work.n + 1, sizeof(int64_t))
    if work.starts == NULL:
        raise MemoryError(f"cannot list the columns of {work.n} variables")
    work.table.code_starts, work.table.plane_starts = work.starts, work.starts + work.n
    for v in range(min(work.n, codes.shape[0])):
        work.starts[v] = v * codes.shape[1]
        has_any = plane_offsets[v + 1] > plane_offsets[v]
        work.starts[work.n + v] = plane_offsets[v] * planes.shape[1] if has_any else -1
    return 0


cdef inline int shift_columns(
    Workspace *work, const int64_t[::1] code_starts, const int64_t[::1] plane_starts, Py_ssize_t n_words
) except -1:
    # Makes all variables views of `n_words` words of the borrowed arrays, from these codes and words on.
    cdef Py_ssize_t v
    if code_starts.shape[0] != work.n or plane_starts.shape[0] != work.n:
        raise ValueError(f"there must be starts of {work.n} variables")
    for v in range(work.n):
        work.starts[v], work.starts[work.n + v] = code_starts[v], plane_starts[v]
    work.table.n_words, work.table.n_rows = n_words, n_words * 64
    return 0


cdef inline const uint32_t *marginals_of(const Workspace *work, Py_ssize_t v) noexcept nogil:
    return work.marginals + work.state_offsets[v]


cdef inline uint64_t stride_of(Workspace *work, Row *row, Py_ssize_t d) noexcept nogil:
    # The weight of parent number d in a cell's key.
    cdef uint64_t stride = <uint64_t>row.r
    cdef Py_ssize_t i
    for i in range(d + 1, row.k):
        stride *= <uint64_t>work.table.cards[row.parents[i]]
    return stride


cdef inline uint32_t plane_pair(Workspace *work, Py_ssize_t a, Py_ssize_t i, Py_ssize_t b, Py_ssize_t j) noexcept nogil:
    # Rows with state i of a and state j of b, a < b, neither of them a last state.
    cdef const uint64_t *cell
    cdef uint32_t count = 0
    if work.pairs != NULL:
        return work.pairs[(work.pair_offsets[a] + i) * work.pair_width + work.pair_offsets[b] + j]
    cell = plane_of(&work.table, a, i)
    pgmx_count_and(plane_of(&work.table, b, j), &cell, 1, 0, work.table.n_words, &count)
    return count


cdef inline uint32_t state_pair(Workspace *work, Py_ssize_t x, Py_ssize_t i, Py_ssize_t u, Py_ssize_t s) noexcept nogil:
    # Rows with state i of x (any) and state s of u (not its last), from the counts of pairs.
    cdef Py_ssize_t last = work.table.cards[x] - 1, j
    cdef uint32_t count
    if i < last:
        return plane_pair(work, x, i, u, s) if x < u else plane_pair(work, u, s, x, i)
    count = marginals_of(work, u)[s]
    for j in range(last):
        count -= plane_pair(work, x, j, u, s) if x < u else plane_pair(work, u, s, x, j)
    return count


cdef inline void drop_memo(Workspace *work, Memo *memo) noexcept nogil:
    if memo.n_parents >= 0:
        free(memo.block)
        work.memory_used -= memo.n_bytes
    memo.n_parents = -1


cdef inline void drop_memos(Workspace *work, Py_ssize_t child) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(MEMOS):
        drop_memo(work, &work.memos[child * MEMOS + i])


cdef inline bint init_offsets(Workspace *work) noexcept nogil:
    # The first state of each variable; False if memory is short. Call free_offsets() in both cases.
    cdef Py_ssize_t v
    work.state_offsets = <int64_t *>calloc(work.n + 1, sizeof(int64_t))
    work.pair_offsets = <int64_t *>calloc(work.n + 1, sizeof(int64_t))
    if work.state_offsets == NULL or work.pair_offsets == NULL:
        return False
    for v in range(work.n):
        work.state_offsets[v + 1] = work.state_offsets[v] + work.table.cards[v]
        work.pair_offsets[v + 1] = work.pair_offsets[v]
        if has_planes(&work.table, v):
            work.pair_offsets[v + 1] += work.table.cards[v] - 1
    return True


cdef inline void free_offsets(Workspace *work) noexcept nogil:
    free(work.state_offsets)
    free(work.pair_offsets)
    free(work.starts)


cdef inline bint init_memos(Workspace *work) noexcept nogil:
    # False if memory is short; call free_memos() in both cases.
    cdef Py_ssize_t i
    work.n_memos = 1
    work.memos = <Memo *>calloc(work.n * MEMOS, sizeof(Memo))
    work.newest = <int *>calloc(work.n, sizeof(int))
    for i in range(work.n * MEMOS if work.memos != NULL else 0):
        work.memos[i].n_parents = -1
    return work.memos != NULL and work.newest != NULL


cdef inline void free_memos(Workspace *work) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(work.n if work.memos != NULL else 0):
        drop_memos(work, i)
    free(work.memos)
    free(work.newest)


cdef inline void free_workspace(Workspace *work) noexcept:
    cdef Py_ssize_t i
    free_memos(work)
    free_offsets(work)
    free_cells(&work.cells)
    free_segments(&work.segments)
    free_merge(&work.merge)
    for i in range(N_BUFFERS):
        release(&work.scratch[i])


cdef inline int store_memo(
    Workspace *work, const Row *row, const int *candidates, Py_ssize_t n_candidates
) except -1 nogil:
    # Copies the cells and all tables without their last states into one block, if the memory allows. The oldest memo is
    # dropped; the memos of a child are limited to its share of the memory.
    cdef Memo *memo
    cdef Py_ssize_t place
    cdef const uint32_t *tables = <const uint32_t *>work.scratch[TABLES].data
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef Py_ssize_t c = row.n_cells, i, u
    cdef size_t n_bytes, n_entries = 0
    cdef char *block
    for i in range(n_candidates):
        n_entries += (work.table.cards[candidates[i]] - 1) * c
    n_bytes = c * 8 + work.n * 8 + n_entries * 4 + c * 4 + row.k * 4
    place = min(max(<Py_ssize_t>(work.memory // (work.n * n_bytes)), 1), work.n_memos)
    place = (work.newest[row.child] + 1) % place
    memo = &work.memos[row.child * MEMOS + place]
    drop_memo(work, memo)
    if work.memory_used + n_bytes > work.memory:
        drop_memos(work, row.child)
    if work.memory_used + n_bytes > work.memory:
        return 0
    block = <char *>malloc(n_bytes)
    if block == NULL:
        return 0             # without memory only speed is lost
    work.newest[row.child] = <int>place
    work.memory_used += n_bytes
    memo.block, memo.n_bytes = block, n_bytes
    memo.n_parents, memo.n_cells = <int>row.k, c
    memo.keys = <uint64_t *>block
    memo.offsets = <int64_t *>(memo.keys + c)
    memo.tables = <uint32_t *>(memo.offsets + work.n)
    memo.counts = memo.tables + n_entries
    memo.parents = <int *>(memo.counts + c)
    memcpy(memo.keys, row.keys, c * sizeof(uint64_t))
    memcpy(memo.counts, row.counts, c * sizeof(uint32_t))
    for i in range(row.k):      # no memcpy: parents is NULL if there are none
        memo.parents[i] = row.parents[i]
    for u in range(work.n):
        memo.offsets[u] = -1
    n_entries = 0
    for i in range(n_candidates):
        u = candidates[i]
        memo.offsets[u] = <int64_t>n_entries
        memcpy(memo.tables + n_entries, tables + offsets[u], (work.table.cards[u] - 1) * c * sizeof(uint32_t))
        n_entries += (work.table.cards[u] - 1) * c
    return 0

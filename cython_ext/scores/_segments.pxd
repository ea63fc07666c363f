# Counting by segments of the rows: all segments use the same scratch memory, which does not grow with the table.
#
# First a tree of each segment gives the cells of a family in it, and the cells of all segments are merged; then each
# segment adds its rows to tables over the merged cells. Threads share the segments. Each has its own scratch, cells and
# tables, which are added up. Only the last tree of a thread is still in memory for the tables; the others are built
# again, which costs a few percent of the tables of many candidates.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from _buffers cimport Buffer, release, reserve
from _cells cimport (
    Cells, CellTree, Columns, NodeSet, build_tree, choose_limits, code_of, free_cells, free_tree, has_planes, plane_of,
    reserve_cells, unpack_rows
)
from _crew cimport MOST_THREADS, Crew, free_crew, set_crew
from _simd cimport pgmx_count_and, pgmx_popcount


cdef enum:
    SEGMENT_ROWS = 1 << 17
    BLOCK_WORDS = 1 << 17       # words of planes that are read together: 1 MiB, the L2 cache


cdef enum:                      # scratch buffers
    BIG_CELLS, BIG_INDEX, BIG_COUNTS, LIST_ROWS, LIST_CELLS, ROW_CELLS, ROW_BITS, PLANE_ROWS, NUMBERS, STATE_COUNTS
    MERGED_KEYS, MERGED_ROWS, OWN_TABLES, OWN_CANDIDATES, N_SCRATCH


cdef struct Segment:            # some rows of a table, the cells of a family in them, and the memory for counting them
    Py_ssize_t number
    uint64_t family             # the number of the family of the tree
    uint64_t task               # the last task of the thread
    Columns rows
    CellTree tree
    const int64_t *numbers      # indices of the cells of the tree among the cells of all rows, NULL if identical
    Py_ssize_t n_big, n_list_rows
    Cells cells                 # of the segments that the thread counted; the first thread has those of the family
    Buffer[N_SCRATCH] scratch


cdef struct Segments:
    Py_ssize_t n, most_rows     # segments, and rows of each at most
    Py_ssize_t n_words          # of each but the last
    int simd
    uint64_t family             # numbers the families
    Segment *of_thread          # segment that each thread counts
    Crew crew


cdef inline bint cut_rows(
    Segments *all, const Columns *table, Py_ssize_t most, int simd, Py_ssize_t n_threads
) noexcept:
    # Chooses segments of about equal size, `most` rows at most (512 or more), which begin at multiples of 512 rows, and
    # as many for each thread. False if memory is short; call free_segments() in both cases.
    cdef Py_ssize_t n_blocks = max((table.n_rows + 511) // 512, 1), n = (n_blocks * 512 + most - 1) // most, i
    n = min((n + n_threads - 1) // n_threads * n_threads, n_blocks)
    all.most_rows, all.simd = most, simd
    all.n_words = (n_blocks + n - 1) // n * 8
    all.n = (n_blocks * 8 + all.n_words - 1) // all.n_words
    if all.of_thread == NULL:
        all.of_thread = <Segment *>calloc(MOST_THREADS, sizeof(Segment))
    if all.of_thread == NULL or not set_crew(&all.crew, n_threads, all.n):
        return False
    for i in range(n_threads):
        open_segment(all, &all.of_thread[i], table, i % all.n)
    return True


cdef inline void open_segment(Segments *all, Segment *segment, const Columns *table, Py_ssize_t number) noexcept nogil:
    cdef Columns *rows = &segment.rows
    cdef Py_ssize_t first = number * all.n_words
    rows[0] = table[0]
    if all.n > 1:
        rows.n_words = min(all.n_words, table.n_words - first) if table.n_words > 0 else 0
        rows.n_rows = min(all.n_words * 64, table.n_rows - first * 64)
        rows.planes = table.planes + first if table.planes != NULL else NULL
        rows.codes8 = table.codes8 + first * 64 if table.codes8 != NULL else NULL
        rows.codes16 = table.codes16 + first * 64 if table.codes16 != NULL else NULL
    segment.number, segment.family = number, 0
    choose_limits(&segment.tree, rows, all.simd)


cdef inline size_t size_scratch(const Segments *all) noexcept nogil:
    # The bytes that counting has allocated for the rows of a segment.
    cdef const CellTree *tree = &all.of_thread[0].tree
    cdef size_t n_bytes = tree.scratch.capacity
    cdef Py_ssize_t i
    for i in range(2):
        n_bytes += tree.nodes[i].keys.capacity + tree.nodes[i].counts.capacity + tree.nodes[i].planes.capacity
        n_bytes += tree.nodes[i].starts.capacity + tree.nodes[i].rows.capacity + tree.nodes[i].words.capacity
    for i in range(N_SCRATCH):
        n_bytes += all.of_thread[0].scratch[i].capacity
    return n_bytes


cdef inline void free_segments(Segments *all) noexcept:
    cdef Py_ssize_t t, i
    for t in range(MOST_THREADS if all.of_thread != NULL else 0):
        free_tree(&all.of_thread[t].tree)
        free_cells(&all.of_thread[t].cells)
        for i in range(N_SCRATCH):
            release(&all.of_thread[t].scratch[i])
    free(all.of_thread)
    free_crew(&all.crew)


cdef inline int build_segment(
    Segments *all, Segment *segment, const Columns *table, Py_ssize_t number, const int *parents, Py_ssize_t n_parents,
    Py_ssize_t child, const uint64_t *mask, const uint32_t *first_counts
) except -1 nogil:
    # Builds the tree of a segment for the current family; `mask` and `first_counts` as for the tree, but of all rows.
    cdef Py_ssize_t first = parents[0] if n_parents > 0 else child, r, s
    cdef uint32_t *counts
    if segment.number != number:
        open_segment(all, segment, table, number)
    segment.rows.mask = mask + number * all.n_words if mask != NULL else NULL
    if all.n > 1 and mask == NULL and has_planes(&segment.rows, first):
        r = segment.rows.cards[first]
        counts = <uint32_t *>reserve(&segment.scratch[STATE_COUNTS], r * sizeof(uint32_t))
        for s in range(r):
            counts[s] = <uint32_t>pgmx_popcount(plane_of(&segment.rows, first, s), segment.rows.n_words)
        first_counts = counts
    segment.family = 0
    build_tree(&segment.tree, &segment.rows, parents, n_parents, child, first_counts)
    segment.family = all.family
    return 0


cdef inline int add_cells(
    Segment *segment, Cells *cells, const uint64_t *more, const uint32_t *more_counts, Py_ssize_t n_more
) except -1 nogil:
    # Adds ascending cells of further rows, key by key; uses scratch of the segment.
    cdef uint64_t *keys
    cdef uint32_t *counts
    cdef Py_ssize_t i, j = 0, n = 0, n_new = 0
    cdef uint64_t *merged
    cdef uint32_t *rows
    if cells.size == 0:
        reserve_cells(cells, n_more)
        memcpy(cells.keys.data, more, n_more * sizeof(uint64_t))
        memcpy(cells.counts.data, more_counts, n_more * sizeof(uint32_t))
        cells.size = n_more
        return 0
    keys, counts = <uint64_t *>cells.keys.data, <uint32_t *>cells.counts.data
    for i in range(n_more):
        while j < cells.size and keys[j] < more[i]:
            j += 1
        if j < cells.size and keys[j] == more[i]:
            counts[j] += more_counts[i]
        else:
            n_new += 1
    if n_new == 0:
        return 0
    merged = <uint64_t *>reserve(&segment.scratch[MERGED_KEYS], (cells.size + n_new) * sizeof(uint64_t))
    rows = <uint32_t *>reserve(&segment.scratch[MERGED_ROWS], (cells.size + n_new) * sizeof(uint32_t))
    i = j = 0
    while i < n_more or j < cells.size:
        if i == n_more or (j < cells.size and keys[j] <= more[i]):
            merged[n], rows[n] = keys[j], counts[j]     # includes the rows of an equal key already
            i += i < n_more and keys[j] == more[i]
            j += 1
        else:
            merged[n], rows[n] = more[i], more_counts[i]
            i += 1
        n += 1
    reserve_cells(cells, n)
    memcpy(cells.keys.data, merged, n * sizeof(uint64_t))
    memcpy(cells.counts.data, rows, n * sizeof(uint32_t))
    cells.size = n
    return 0


cdef inline int number_cells(Segment *segment, const uint64_t *keys, Py_ssize_t n_cells) except -1 nogil:
    # Finds the cells of the tree among the ascending keys of all.
    cdef const NodeSet *nodes = &segment.tree.nodes[segment.tree.current]
    cdef const uint64_t *own = <const uint64_t *>nodes.keys.data
    cdef int64_t *numbers
    cdef Py_ssize_t i, j = 0
    segment.numbers = NULL
    if nodes.size == n_cells:
        return 0
    numbers = <int64_t *>reserve(&segment.scratch[NUMBERS], (nodes.size + 1) * sizeof(int64_t))
    for i in range(nodes.size):
        while keys[j] < own[i]:
            j += 1
        numbers[i] = j
    segment.numbers = numbers
    return 0


cdef inline int sort_cells_by_size(
    Segment *segment, const int64_t *target, const int64_t *largest, Py_ssize_t n_passes
) except -1 nogil:
    # Splits the cells that must be counted into planes and one row list, ascending by row, for candidates of about
    # n_passes states: a plane is read once for each state but the last, a list once. Cell i of all is left out if it is
    # largest[target[i]].
    cdef const NodeSet *nodes = &segment.tree.nodes[segment.tree.current]
    cdef Py_ssize_t n_rows = segment.rows.n_rows, n_words = (n_rows + 63) // 64, c = nodes.size, n_list_rows = 0
    cdef Py_ssize_t i, w, number
    cdef int64_t list_below = <int64_t>segment.tree.list_below * n_passes
    cdef const uint32_t *counts = <const uint32_t *>nodes.counts.data
    cdef const uint64_t **planes = <const uint64_t **>nodes.planes.data
    cdef const uint32_t *starts = <const uint32_t *>nodes.starts.data
    cdef const uint32_t *rows = <const uint32_t *>nodes.rows.data
    cdef const uint64_t **big = <const uint64_t **>reserve(&segment.scratch[BIG_CELLS], (c + 1) * sizeof(void *))
    cdef int64_t *index = <int64_t *>reserve(&segment.scratch[BIG_INDEX], (c + 1) * sizeof(int64_t))
    cdef uint32_t *row_cells = <uint32_t *>reserve(&segment.scratch[ROW_CELLS], (n_rows + 1) * sizeof(uint32_t))
    cdef uint64_t *bits = <uint64_t *>reserve(&segment.scratch[ROW_BITS], (n_words + 1) * sizeof(uint64_t))
    cdef uint32_t *unpacked
    cdef uint32_t *list_rows
    cdef uint32_t *list_cells
    segment.n_big = 0
    for i in range(c):
        number = i if segment.numbers == NULL else segment.numbers[i]
        if largest != NULL and largest[target[number]] == number:
            continue
        if planes[i] != NULL and (n_passes == 1 or counts[i] >= list_below):
            big[segment.n_big] = planes[i]
            index[segment.n_big] = number
            segment.n_big += 1
            continue
        if n_list_rows == 0:
            memset(bits, 0, n_words * sizeof(uint64_t))
        n_list_rows += counts[i]
        if planes[i] != NULL:
            unpacked = <uint32_t *>reserve(&segment.scratch[PLANE_ROWS], (n_rows + 1) * sizeof(uint32_t))
            unpack_rows(planes[i], counts[i], unpacked)
            for w in range(counts[i]):
                row_cells[unpacked[w]] = <uint32_t>number
            for w in range(n_words):
                bits[w] |= planes[i][w]
            continue
        for w in range(starts[i], <Py_ssize_t>starts[i] + counts[i]):
            bits[rows[w] >> 6] |= <uint64_t>1 << (rows[w] & 63)
            row_cells[rows[w]] = <uint32_t>number
    segment.n_list_rows = n_list_rows
    list_rows = <uint32_t *>reserve(&segment.scratch[LIST_ROWS], (n_list_rows + 1) * sizeof(uint32_t))
    list_cells = <uint32_t *>reserve(&segment.scratch[LIST_CELLS], (n_list_rows + 1) * sizeof(uint32_t))
    unpack_rows(bits, <uint32_t>n_list_rows, list_rows)
    for i in range(n_list_rows):
        list_cells[i] = row_cells[list_rows[i]]
    return 0


cdef inline int add_planes(
    Segment *segment, const int *candidates, Py_ssize_t n, uint32_t *tables, const int64_t *offsets, Py_ssize_t c
) except -1 nogil:
    # Adds the rows of large cells to the tables of candidates u, over c cells each, at tables + offsets[u].
    cdef const uint64_t **big = <const uint64_t **>segment.scratch[BIG_CELLS].data
    cdef const int64_t *index = <const int64_t *>segment.scratch[BIG_INDEX].data
    cdef Py_ssize_t n_big = segment.n_big, n_words = segment.rows.n_words, begin = 0, end, step, i, j, s, u
    cdef uint32_t *big_counts = <uint32_t *>reserve(&segment.scratch[BIG_COUNTS], (n_big + 1) * sizeof(uint32_t))
    cdef uint32_t *table
    step = BLOCK_WORDS // (n_big + 4) // 8 * 8
    step = step if step > 256 else 256
    while begin < n_words and n_big > 0:
        end = begin + step if begin + step < n_words else n_words
        for i in range(n):
            u = candidates[i]
            for s in range(segment.rows.cards[u] - 1):
                table = tables + offsets[u] + s * c
                if n_big == c:
                    pgmx_count_and(plane_of(&segment.rows, u, s), big, c, begin, end, table)
                    continue
                memset(big_counts, 0, n_big * sizeof(uint32_t))
                pgmx_count_and(plane_of(&segment.rows, u, s), big, n_big, begin, end, big_counts)
                for j in range(n_big):
                    table[index[j]] += big_counts[j]
        begin = end
    return 0


cdef inline void add_list(const Segment *segment, Py_ssize_t u, uint32_t *table, Py_ssize_t c) noexcept nogil:
    # Adds the rows of the other cells to the table of one candidate.
    cdef const uint32_t *rows = <const uint32_t *>segment.scratch[LIST_ROWS].data
    cdef const uint32_t *cells = <const uint32_t *>segment.scratch[LIST_CELLS].data
    cdef const uint8_t *codes
    cdef Py_ssize_t i
    if segment.rows.codes8 != NULL:
        codes = segment.rows.codes8 + segment.rows.code_starts[u]
        for i in range(segment.n_list_rows):
            table[codes[rows[i]] * c + cells[i]] += 1
        return
    for i in range(segment.n_list_rows):
        table[code_of(&segment.rows, u, rows[i]) * c + cells[i]] += 1

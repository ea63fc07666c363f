# Scores of families whose cells have been counted.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _buffers cimport reserve
from _cells cimport count_configs, count_table_configs
from _merge cimport merge_cells
from _terms cimport TermTable, cell_terms, config_terms, sum_terms
from _workspace cimport CONFIG_SUMS, MERGED_COUNTS, OFFSETS, TABLES, Row, Workspace, stride_of


cdef inline double sum_configs(Workspace *work, TermTable *table, const uint32_t *counts) except? -1 nogil:
    # Terms of the parent configurations: counts of neighbouring cells added up.
    cdef const int64_t *ends = <const int64_t *>work.cells.config_ends.data
    cdef Py_ssize_t n = work.cells.n_configs, g, i = 0
    cdef uint32_t *sums = <uint32_t *>reserve(&work.scratch[CONFIG_SUMS], (n + 1) * sizeof(uint32_t))
    cdef uint32_t total
    for g in range(n):
        total = 0
        while i < ends[g]:
            total += counts[i]
            i += 1
        sums[g] = total
    return sum_terms(table, sums, n)


cdef inline double score_without(Workspace *work, Row *row, Py_ssize_t d) except? -1 nogil:
    # The family score after deleting parent number d; leaves the merged cells in work.merge.
    cdef Py_ssize_t p = row.parents[d], i, j
    cdef double q = row.q / work.table.cards[p], shared = q
    cdef uint64_t r = <uint64_t>row.r
    cdef uint32_t *sums
    cdef uint32_t total
    cdef const uint64_t *keys
    cdef const int64_t *target
    cdef TermTable *cell
    cdef TermTable *config
    cdef double score
    merge_cells(
        &work.merge, row.keys, row.n_cells, stride_of(work, row, d), <uint64_t>work.table.cards[p]
    )
    sums = <uint32_t *>reserve(&work.scratch[MERGED_COUNTS], (row.n_cells + 1) * sizeof(uint32_t))
    memset(sums, 0, work.merge.size * sizeof(uint32_t))
    keys = <const uint64_t *>work.merge.keys.data
    target = <const int64_t *>work.merge.target.data
    for i in range(row.n_cells):
        sums[target[i]] += row.counts[i]
    if work.terms.observed:
        shared = count_configs(keys, work.merge.size, r)
    cell = cell_terms(&work.terms, shared, row.r)
    config = config_terms(&work.terms, shared, row.r)
    score = sum_terms(cell, sums, work.merge.size)
    j = 0
    for i in range(work.merge.size):   # in place: configuration sums overwrite cells that are already read
        total = sums[i]
        if i > 0 and keys[i] // r == keys[i - 1] // r:
            sums[j - 1] += total
        else:
            sums[j] = total
            j += 1
    return score - sum_terms(config, sums, j) - work.terms.penalty * q * (row.r - 1)


cdef inline double score_table(Workspace *work, const Row *row, Py_ssize_t u) except? -1 nogil:
    # The score of the child with u added; completes the last state of the table from the sizes of the cells.
    cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
    cdef uint32_t *table = <uint32_t *>work.scratch[TABLES].data + offsets[u]
    cdef Py_ssize_t c = row.n_cells, ru = work.table.cards[u], s, i
    cdef uint32_t *last = table + (ru - 1) * c
    cdef double q = row.q * ru, shared = q, score
    cdef TermTable *config
    memcpy(last, row.counts, c * sizeof(uint32_t))
    for s in range(ru - 1):
        for i in range(c):
            last[i] -= table[s * c + i]
    if work.terms.observed:
        shared = count_table_configs(&work.cells, table, ru, c)
    config = config_terms(&work.terms, shared, row.r)
    score = sum_terms(cell_terms(&work.terms, shared, row.r), table, ru * c)
    for s in range(ru):
        score -= sum_configs(work, config, table + s * c)
    return score - work.terms.penalty * q * (row.r - 1)

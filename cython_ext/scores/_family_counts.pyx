"""Counts of families without scores: a worker of a distributed table sends them to the driver, which scores the sums.

Problem: a row of gains needs the non-empty cells of a child with its parents, and the table T[state of u][cell] of each
candidate parent u. Both are sums over rows, so each worker counts its own partitions. Algorithm and cost are as in
``_families.pyx``: tables follow from the tables of the same child with one parent fewer, if these are kept.
Thread-safety: one counter serves one thread at a time; it releases the GIL.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from _buffers cimport reserve
from _candidates cimport count_share, fill_tables, find_row_cells
from _crew cimport MOST_THREADS, await_task, close_crew
from _segments cimport SEGMENT_ROWS, cut_rows, size_scratch
from _simd cimport select_simd_level
from _workspace cimport (
    CANDIDATES, OFFSETS, TABLES, Row, Workspace, free_workspace, init_memos, init_offsets, set_table, store_memo
)

cdef int SIMD = select_simd_level()


cdef class FamilyCounter:
    """Counts of the families of one coded table.

    Parameters
    ----------
    codes, cardinalities, planes, plane_offsets, marginals
        As for ``_families.FamilyScorer``; at least one row.
    pairs, memory, segment_rows
        As for ``_families.FamilyScorer``.
    """

    cdef readonly Py_ssize_t n
    cdef Workspace work
    cdef object owners

    def __cinit__(
        self,
        codes,
        const int64_t[::1] cardinalities,
        const uint64_t[:, ::1] planes,
        const int64_t[::1] plane_offsets,
        const uint32_t[::1] marginals,
        *,
        const uint32_t[:, ::1] pairs=None,
        size_t memory=1 << 26,
        Py_ssize_t segment_rows=SEGMENT_ROWS,
    ):
        self.n = codes.shape[0]
        self.owners = (codes, cardinalities, planes, plane_offsets, marginals, pairs)
        set_table(&self.work, codes, cardinalities, planes, plane_offsets, marginals, pairs, memory)
        if not (
            init_memos(&self.work) and init_offsets(&self.work)
            and cut_rows(&self.work.segments, &self.work.table, segment_rows, SIMD, 1)
        ):
            raise MemoryError("cannot allocate the family counter")

    def __dealloc__(self):
        free_workspace(&self.work)

    @property
    def scratch_bytes(self):
        """Bytes of the lists of rows and planes of cells, for a segment of the rows."""
        return size_scratch(&self.work.segments)

    def share_rows(self, Py_ssize_t n_threads) -> int:
        """Let at most `n_threads` threads count segments, this one and those calling ``serve``; return their number."""
        n_threads = min(n_threads, MOST_THREADS)
        if not cut_rows(&self.work.segments, &self.work.table, self.work.segments.most_rows, SIMD, n_threads):
            raise MemoryError("cannot allocate what threads share")
        return n_threads

    def serve(self, Py_ssize_t thread):
        """Count segments on a thread, numbers from 1, until ``close``."""
        with nogil:
            while await_task(&self.work.segments.crew, thread):
                count_share(&self.work, thread)

    def close(self):
        """End the threads."""
        close_crew(&self.work.segments.crew)

    def count(self, int child, const int[::1] parents, const int[::1] wanted):
        """Return ``(keys, counts, tables)`` of ``child`` with ``parents`` (at least one) and the candidates ``wanted``.

        The cells that occur, ascending: their keys, uint64, and counts, uint32, see ``FamilyScorer.family_counts``.
        Then uint32 (all states of the wanted but the last of each, cells): the count of each cell per state of a
        candidate, in the order of the candidates, which have bit planes.
        """
        cdef Py_ssize_t n_cells, i, s, k = parents.shape[0], n_wanted = wanted.shape[0], size = 0, n_states = 0
        cdef int64_t *offsets = <int64_t *>reserve(&self.work.scratch[OFFSETS], (self.n + 1) * sizeof(int64_t))
        cdef int *candidates = <int *>reserve(&self.work.scratch[CANDIDATES], (self.n + 1) * sizeof(int))
        cdef Row row
        row.child, row.k, row.parents, row.mask, row.r = child, k, &parents[0], NULL, self.work.table.cards[child]
        with nogil:
            find_row_cells(&self.work, &row)
        n_cells = row.n_cells
        for i in range(n_wanted):
            candidates[i] = wanted[i]
            offsets[wanted[i]] = size
            size += n_cells * (self.work.table.cards[wanted[i]])
            n_states += self.work.table.cards[wanted[i]] - 1
        memset(reserve(&self.work.scratch[TABLES], (size + 1) * sizeof(uint32_t)), 0, size * sizeof(uint32_t))
        with nogil:
            fill_tables(&self.work, &row, candidates, n_wanted)
            if n_wanted > 0:
                store_memo(&self.work, &row, candidates, n_wanted)
        tables = np.empty((n_states, n_cells), dtype=np.uint32)
        n_states = 0
        for i in range(n_wanted):
            s = self.work.table.cards[wanted[i]] - 1
            if s > 0 and n_cells > 0:
                tables[n_states:n_states + s] = <const uint32_t[:s, :n_cells]>(
                    <uint32_t *>self.work.scratch[TABLES].data + offsets[wanted[i]]
                )
            n_states += s
        keys = np.array(<const uint64_t[:n_cells]>row.keys)
        return keys, np.array(<const uint32_t[:n_cells]>row.counts), tables

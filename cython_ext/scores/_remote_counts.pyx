"""Counts of families that come from elsewhere, in the form in which a family scorer counts them itself.

Problem: a scorer whose rows lie with the workers of a cluster gets the cells of a family and the tables of candidates
(see ``_families.pyx``) as sums of what the workers count. Algorithm: a Python function is asked for them; the answer
for the last family is held, so that cells and tables come in one message.
Cost: a copy of what is asked for, beside the message. Thread-safety: serves one scorer; it takes the GIL.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport reserve
from _cells cimport Cells, NodeSet, find_configs, has_planes, reserve_nodes
from _workspace cimport OFFSETS, PAIR_TABLE, TABLES, Row, Workspace


cdef class RemoteCounts:
    """The last answer of a source of counts.

    Parameters
    ----------
    ask : callable
        ``ask(child, parents, wanted)``, ids as int32 arrays, returns what ``FamilyCounter.count`` does.
    n : int
        Variables.
    """

    def __cinit__(self, ask, Py_ssize_t n):
        self.ask, self.n, self.child = ask, n, -1
        self.first = np.full(n, -1, dtype=np.int64)

    cdef bint holds(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except -1:
        cdef const int[::1] held
        if self.child != child:
            return False
        held = self.parents
        if held.shape[0] != k:
            return False
        for i in range(k):
            if held[i] != parents[i]:
                return False
        return True

    cdef int request(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *wanted, Py_ssize_t n, const int64_t *cards
    ) except -1 with gil:
        # Gets the cells of a family and the tables of some candidates.
        cdef Py_ssize_t i, at = 0
        family = np.array(<const int[:k]>parents)
        candidates = np.array(<const int[:n]>wanted) if n > 0 else np.empty(0, dtype=np.int32)
        keys, counts, tables = self.ask(child, family, candidates)
        self.child, self.parents = child, family
        self.keys = np.ascontiguousarray(keys, dtype=np.uint64)
        self.counts = np.ascontiguousarray(counts, dtype=np.uint32)
        self.tables = np.ascontiguousarray(tables, dtype=np.uint32)
        self.first[:] = -1
        for i in range(n):
            self.first[wanted[i]] = at
            at += cards[wanted[i]] - 1
        return 0

    cdef int fill_cells(self, Workspace *work, const int *parents, Py_ssize_t k, Py_ssize_t child) except -1 with gil:
        # What build_cells does, but for planes and lists of rows.
        cdef Cells *cells = &work.cells
        cdef NodeSet *nodes = &cells.nodes[cells.current]
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] counts
        if not self.holds(child, parents, k):
            self.request(child, parents, k, NULL, 0, work.table.cards)
        keys, counts = self.keys, self.counts
        reserve_nodes(nodes, keys.shape[0])
        nodes.size = keys.shape[0]
        if nodes.size > 0:
            memcpy(nodes.keys.data, &keys[0], nodes.size * sizeof(uint64_t))
            memcpy(nodes.counts.data, &counts[0], nodes.size * sizeof(uint32_t))
        return find_configs(cells, work.table.cards[child])

    cdef int fill_tables(self, Workspace *work, const Row *row, const int *candidates, Py_ssize_t n) except -1 with gil:
        # What count_tables does: writes the tables of candidates of the family whose cells were filled in.
        cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
        cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
        cdef const uint32_t[:, ::1] sums
        cdef Py_ssize_t i, u, last
        cdef bint has_all = self.holds(row.child, row.parents, row.k)
        for i in range(n):
            has_all = has_all and self.first[candidates[i]] >= 0
        if not has_all and n > 0:
            self.request(row.child, row.parents, row.k, candidates, n, work.table.cards)
        sums = self.tables
        for i in range(n):
            u = candidates[i]
            last = work.table.cards[u] - 1
            if last > 0:
                memcpy(tables + offsets[u], &sums[self.first[u], 0], last * row.n_cells * sizeof(uint32_t))
        return 0

    cdef uint32_t *fill_pair(self, Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil:
        # What pair_counts does: the joint counts of a < b, all cells where both have planes, else those that occur.
        cdef int parent = <int>a
        cdef NodeSet *nodes = &work.cells.nodes[work.cells.current]
        cdef uint32_t *counts
        cdef Py_ssize_t i
        self.fill_cells(work, &parent, 1, b)
        size[0] = nodes.size
        if not (has_planes(&work.table, a) and has_planes(&work.table, b)):
            return <uint32_t *>nodes.counts.data
        size[0] = work.table.cards[a] * work.table.cards[b]
        counts = <uint32_t *>reserve(&work.scratch[PAIR_TABLE], (size[0] + 1) * sizeof(uint32_t))
        memset(counts, 0, size[0] * sizeof(uint32_t))
        for i in range(nodes.size):
            counts[(<uint64_t *>nodes.keys.data)[i]] = (<uint32_t *>nodes.counts.data)[i]
        return counts

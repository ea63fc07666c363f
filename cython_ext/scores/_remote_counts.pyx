"""Counts of families that come from elsewhere, in the form in which a family scorer counts them itself.

Problem: a scorer whose rows lie with the workers of a cluster gets the cells of a family and the tables of candidates
(see ``_families.pyx``) as sums of what the workers count; each message costs a latency. Algorithm: a Python function is
asked for several families at once; what is asked for ahead is kept until it is used, the oldest making room.
Cost: a copy of what is asked for, beside the message, and up to ``KEPT`` bytes of answers. Thread-safety: serves one
scorer; it takes the GIL.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport reserve
from _candidates cimport find_wider
from _cells cimport Cells, find_configs, has_planes, reserve_cells
from _merge cimport merge_cells
from _workspace cimport OFFSETS, PAIR_TABLE, TABLES, Memo, Row, Workspace

cdef enum:
    KEPT = 1 << 26              # bytes of answers that wait to be used


cdef bytes name_family(const Row *row):
    cdef int child = <int>row.child
    return (<const char *>&child)[:sizeof(int)] + (<const char *>row.parents)[:row.k * sizeof(int)]


cdef class RemoteCounts:
    """A source of counts, the answer in use, and answers that were asked for ahead.

    Parameters
    ----------
    ask : callable
        ``ask([(child, parents, wanted), ...])``, ids as int32 arrays, returns a list of what ``FamilyCounter.count``
        returns.
    n : int
        Variables.
    """

    def __cinit__(self, ask, Py_ssize_t n):
        self.ask, self.n, self.family = ask, n, b""
        self.requests, self.answers = [], {}
        self.first = np.full(n, -1, dtype=np.int64)

    # ---- messages ----

    cdef bint has(self, const Row *row) except -1 with gil:
        # Whether the family needs no message.
        name = name_family(row)
        return name == self.family or name in self.answers

    cdef bint holds(self, const Row *row, const int64_t *cards) except -1 with gil:
        # The same, and its answer is the one in use from now on.
        name = name_family(row)
        if name == self.family:
            return True
        answer = self.answers.pop(name, None)
        if answer is None:
            return False
        self.family = name
        self.use(answer, cards)
        return True

    cdef int add(self, const Row *row, const int *wanted, Py_ssize_t n) except -1 with gil:
        # Adds the cells of a family and the tables of some candidates to the next message.
        parents = np.array(<const int[:row.k]>row.parents)
        candidates = np.array(<const int[:n]>wanted) if n > 0 else np.empty(0, dtype=np.int32)
        self.requests.append((row.child, parents, candidates, name_family(row)))
        self.n_asked += 1
        return 0

    cdef int send(self) except -1 nogil:
        # Sends the message, if there is something to ask, and keeps what comes back.
        return self.send_requests() if self.n_asked > 0 else 0

    cdef int send_requests(self) except -1 with gil:
        requests, self.requests, self.n_asked = self.requests, [], 0
        counted = self.ask([request[:3] for request in requests])
        for (child, parents, candidates, name), (keys, counts, tables) in zip(requests, counted):
            self.n_bytes += keys.nbytes + counts.nbytes + tables.nbytes
            self.answers[name] = candidates, keys, counts, tables
        while self.n_bytes > KEPT and len(self.answers) > len(requests):
            self.drop_oldest()
        return 0

    cdef int request(
        self, const Row *row, const int *wanted, Py_ssize_t n, const int64_t *cards
    ) except -1 with gil:
        # Gets the cells of a family and the tables of some candidates, which are in use from now on.
        self.family = b""
        self.add(row, wanted, n)
        self.send()
        self.holds(row, cards)
        return 0

    cdef int use(self, answer, const int64_t *cards) except -1:
        cdef Py_ssize_t at = 0
        cdef const int[::1] wanted
        cdef Py_ssize_t i
        candidates, keys, counts, tables = answer
        self.n_bytes -= keys.nbytes + counts.nbytes + tables.nbytes
        self.keys = np.ascontiguousarray(keys, dtype=np.uint64)
        self.counts = np.ascontiguousarray(counts, dtype=np.uint32)
        self.tables = np.ascontiguousarray(tables, dtype=np.uint32)
        self.first[:] = -1
        wanted = candidates
        for i in range(wanted.shape[0]):
            self.first[wanted[i]] = at
            at += cards[wanted[i]] - 1
        return 0

    cdef int drop_oldest(self) except -1:
        _, keys, counts, tables = self.answers.pop(next(iter(self.answers)))
        self.n_bytes -= keys.nbytes + counts.nbytes + tables.nbytes
        return 0

    # ---- what a scorer gets ----

    cdef int fill_cells(self, Workspace *work, Row *row) except -1 nogil:
        # What find_row_cells does.
        cdef const Memo *memo = find_wider(work, row)
        if memo == NULL:
            self.copy_cells(work, row)
        else:
            self.merge_memo(work, row, memo)
        row.n_cells = work.cells.size
        row.keys, row.counts = <const uint64_t *>work.cells.keys.data, <const uint32_t *>work.cells.counts.data
        return 0

    cdef int copy_cells(self, Workspace *work, const Row *row) except -1 with gil:
        # Writes the cells that others counted.
        cdef Cells *cells = &work.cells
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] counts
        if not self.holds(row, work.table.cards):
            self.request(row, NULL, 0, work.table.cards)
        keys, counts = self.keys, self.counts
        reserve_cells(cells, keys.shape[0])
        cells.size = keys.shape[0]
        if cells.size > 0:
            memcpy(cells.keys.data, &keys[0], cells.size * sizeof(uint64_t))
            memcpy(cells.counts.data, &counts[0], cells.size * sizeof(uint32_t))
        return find_configs(&work.cells, work.table.cards[row.child])

    cdef int merge_memo(self, Workspace *work, const Row *row, const Memo *memo) except -1 nogil:
        # Writes the cells that follow from a memo with one parent more, `row.changed_parent`.
        cdef Cells *cells = &work.cells
        cdef uint32_t *counts
        cdef uint64_t stride = work.table.cards[row.child]
        cdef Py_ssize_t i = row.k
        while memo.parents[i] != row.changed_parent:
            stride *= work.table.cards[memo.parents[i]]
            i -= 1
        merge_cells(&work.merge, memo.keys, memo.n_cells, stride, work.table.cards[row.changed_parent])
        reserve_cells(cells, work.merge.size)
        cells.size = work.merge.size
        memcpy(cells.keys.data, work.merge.keys.data, cells.size * sizeof(uint64_t))
        counts = <uint32_t *>cells.counts.data
        memset(counts, 0, cells.size * sizeof(uint32_t))
        for i in range(memo.n_cells):
            counts[(<const int64_t *>work.merge.target.data)[i]] += memo.counts[i]
        return find_configs(&work.cells, work.table.cards[row.child])

    cdef int fill_tables(self, Workspace *work, const Row *row, const int *candidates, Py_ssize_t n) except -1 with gil:
        # What fill_tables does: writes the tables of candidates of the family whose cells were filled in.
        cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
        cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
        cdef const uint32_t[:, ::1] sums
        cdef Py_ssize_t i, u, last
        cdef bint has_all = self.holds(row, work.table.cards)
        for i in range(n):
            has_all = has_all and self.first[candidates[i]] >= 0
        if not has_all and n > 0:
            self.request(row, candidates, n, work.table.cards)
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
        cdef Row row
        cdef Cells *cells = &work.cells
        cdef uint32_t *counts
        cdef Py_ssize_t i
        row.child, row.k, row.parents = b, 1, &parent
        self.fill_cells(work, &row)
        size[0] = cells.size
        if not (has_planes(&work.table, a) and has_planes(&work.table, b)):
            return <uint32_t *>cells.counts.data
        size[0] = work.table.cards[a] * work.table.cards[b]
        counts = <uint32_t *>reserve(&work.scratch[PAIR_TABLE], (size[0] + 1) * sizeof(uint32_t))
        memset(counts, 0, size[0] * sizeof(uint32_t))
        for i in range(cells.size):
            counts[(<uint64_t *>cells.keys.data)[i]] = (<uint32_t *>cells.counts.data)[i]
        return counts

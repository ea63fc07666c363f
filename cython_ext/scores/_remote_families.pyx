"""Counts of families that workers compute, in the form in which a family scorer counts local rows.

Problem: a scorer whose rows are distributed to the workers of a cluster gets the cells of a family and the tables of
candidates (see ``_families.pyx``, for weighted rows ``_weighted.pyx``) as sums of the counts of the workers. Each
message costs a latency. Algorithm: a Python function returns the counts of several families at once. Answers are kept;
if memory is short, the oldest used answers are dropped first, then the oldest prefetched answers.
Cost: the message, a copy of the answer, and up to ``KEPT`` bytes of answers. Thread-safety: serves one scorer; it takes
the GIL.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, reserve
from _candidates cimport find_wider
from _cells cimport Cells, find_configs, has_planes, reserve_cells
from _merge cimport merge_cells
from _workspace cimport OFFSETS, PAIR_TABLE, TABLES, Memo, Row, Workspace, marginals_of, state_pair

from pgmx._ext._scorer cimport Family

cdef enum:
    KEPT = 1 << 26              # bytes of answers that are kept


cdef bytes name_family(const Family *family):
    cdef int child = <int>family.child
    cdef bytes name = (<const char *>&child)[:sizeof(int)]
    return name + (<const char *>family.parents)[:family.k * sizeof(int)] if family.k > 0 else name


cdef inline Family family_of(const Row *row) noexcept nogil:
    return Family(row.child, row.k, row.parents, 0, NULL)


cdef class RemoteFamilies:
    """A source of sums over rows, the answer in use, and prefetched answers.

    Parameters
    ----------
    ask : callable
        ``ask([(child, parents, wanted), ...])``, ids as int32 arrays, returns a list of ``(keys, counts, tables)``: the
        cells of a family that occur, their counts, and tables (states of the wanted, cells).
    cardinalities : int64 (n,)
        States of each variable.
    """

    def __cinit__(self, ask, const int64_t[::1] cardinalities):
        self.ask, self.n, self.cards, self.family = ask, cardinalities.shape[0], cardinalities, b""
        self.requests, self.answers, self.used = [], {}, {}
        self.first = np.full(self.n, -1, dtype=np.int64)

    # ---- messages ----

    cdef bint has(self, const Family *family) except -1 with gil:
        # Whether the family needs no message, except for tables that were too large to prefetch.
        name = name_family(family)
        if name == self.family:
            return self.has_tables or family.n_wanted == 0
        answer = self.find(name)
        return answer is not None and (answer[0] or family.n_wanted == 0)

    cdef object find(self, bytes name):
        answer = self.answers.get(name)
        return self.used.get(name) if answer is None else answer

    cdef bint holds(self, const Family *family) except -1 with gil:
        # Whether the cells need no message; the answer is the one in use from now on.
        name = name_family(family)
        if name == self.family:
            return True
        answer = self.find(name)
        if answer is None:
            return False
        self.use(answer)
        self.answers.pop(name, None)
        self.used[name] = answer
        self.family = name
        return True

    cdef bint add(
        self, const Family *family, const int *wanted, Py_ssize_t n, double cells, double tables
    ) except -1 with gil:
        # Adds the cells of a family and the tables of some candidates, of at most `cells` and `tables` bytes, to
        # the next message; its first request omits tables that are too large. False if the request does not fit.
        if self.message + cells + tables > MESSAGE_MEMORY:
            if self.n_asked > 0:
                return False
            n, tables = 0, 0.0
        self.message += cells + tables
        parents = np.array(<const int[:family.k]>family.parents) if family.k > 0 else np.empty(0, dtype=np.int32)
        candidates = np.array(<const int[:n]>wanted) if n > 0 else np.empty(0, dtype=np.int32)
        self.requests.append((family.child, parents, candidates, name_family(family), family.n_wanted != 0))
        self.n_asked += 1
        return True

    cdef int send(self) except -1 nogil:
        # Sends the message, if there are requests, and keeps the answers.
        return self.send_requests() if self.n_asked > 0 else 0

    cdef int send_requests(self) except -1 with gil:
        requests, self.requests, self.n_asked, self.message = self.requests, [], 0, 0.0
        counted = self.ask([request[:3] for request in requests])
        for (child, parents, candidates, name, has_tables), (keys, counts, tables) in zip(requests, counted):
            self.forget(name)
            self.n_bytes += keys.nbytes + counts.nbytes + tables.nbytes
            self.answers[name] = has_tables, candidates, keys, counts, tables
            if name == self.family:     # an answer without tables
                self.family = b""
        while self.n_bytes > KEPT and (self.used or len(self.answers) > len(requests)):
            self.forget(next(iter(self.used or self.answers)))
        return 0

    cdef int request(self, const Family *family, const int *wanted, Py_ssize_t n) except -1 with gil:
        # Gets the cells of a family and the tables of some candidates, which become the answer in use.
        cdef Family one = Family(family.child, family.k, family.parents, n, wanted)
        self.family = b""
        self.add(&one, wanted, n, 0.0, 0.0)
        self.send()
        self.holds(&one)
        return 0

    cdef int use(self, answer) except -1:
        cdef Py_ssize_t at = 0
        cdef const int[::1] wanted
        cdef Py_ssize_t i
        self.has_tables, candidates, keys, counts, tables = answer
        self.keys = np.ascontiguousarray(keys, dtype=np.uint64)
        self.counts = np.ascontiguousarray(counts, dtype=self.dtype)
        self.tables = np.ascontiguousarray(tables, dtype=self.dtype)
        self.first[:] = -1
        wanted = candidates
        for i in range(wanted.shape[0]):
            self.first[wanted[i]] = at
            at += self.cards[wanted[i]] - self.n_left_out
        return 0

    cdef int forget(self, bytes name) except -1:
        # Drops an answer that is kept, if there is one.
        answer = self.find(name)
        self.answers.pop(name, None)
        self.used.pop(name, None)
        if answer is not None:
            for array in answer[2:]:
                self.n_bytes -= array.nbytes
        return 0


cdef class RemoteCounts(RemoteFamilies):
    """Counts of rows; ``ask`` returns the result of ``FamilyCounter.count``."""

    def __cinit__(self, ask, const int64_t[::1] cardinalities):
        self.n_left_out, self.dtype = 1, np.uint32

    cdef int fill_cells(self, Workspace *work, Row *row) except -1 nogil:
        # Counterpart of find_row_cells.
        cdef const Memo *memo = find_wider(work, row)
        if memo != NULL:
            self.merge_memo(work, row, memo)
        elif row.k == 1 and work.pairs != NULL and not self.has_row(row) \
                and has_planes(&work.table, row.child) and has_planes(&work.table, row.parents[0]):
            self.copy_pair(work, row)
        else:
            self.copy_cells(work, row)
        row.n_cells = work.cells.size
        row.keys, row.counts = <const uint64_t *>work.cells.keys.data, <const uint32_t *>work.cells.counts.data
        return 0

    cdef bint has_row(self, const Row *row) except -1 nogil:
        cdef Family family = family_of(row)
        return self.has(&family)

    cdef int copy_cells(self, Workspace *work, const Row *row) except -1 with gil:
        # Writes the cells that workers counted.
        cdef Cells *cells = &work.cells
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] counts
        cdef Family family = family_of(row)
        if not self.holds(&family):
            self.request(&family, NULL, 0)
        keys, counts = self.keys, self.counts
        reserve_cells(cells, keys.shape[0])
        cells.size = keys.shape[0]
        if cells.size > 0:
            memcpy(cells.keys.data, &keys[0], cells.size * sizeof(uint64_t))
            memcpy(cells.counts.data, &counts[0], cells.size * sizeof(uint32_t))
        return find_configs(&work.cells, work.table.cards[row.child])

    cdef int copy_pair(self, Workspace *work, const Row *row) except -1 nogil:
        # Writes the cells of a child with one parent, from the counts of all pairs.
        cdef Cells *cells = &work.cells
        cdef Py_ssize_t a = row.parents[0], ra = work.table.cards[a], rb = row.r, i, j
        cdef uint32_t count, rest
        reserve_cells(cells, ra * rb)
        cells.size = 0
        for i in range(ra):
            rest = marginals_of(work, a)[i]
            for j in range(rb):
                count = state_pair(work, a, i, row.child, j) if j + 1 < rb else rest
                rest -= count
                if count > 0:
                    (<uint64_t *>cells.keys.data)[cells.size] = <uint64_t>(i * rb + j)
                    (<uint32_t *>cells.counts.data)[cells.size] = count
                    cells.size += 1
        return find_configs(&work.cells, rb)

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
        # Counterpart of fill_tables: writes the tables of candidates of the family whose cells were filled in.
        cdef uint32_t *tables = <uint32_t *>work.scratch[TABLES].data
        cdef const int64_t *offsets = <const int64_t *>work.scratch[OFFSETS].data
        cdef const uint32_t[:, ::1] sums
        cdef Py_ssize_t i, u, last
        cdef Family family = family_of(row)
        cdef bint has_all = self.holds(&family)
        for i in range(n):
            has_all = has_all and self.first[candidates[i]] >= 0
        if not has_all and n > 0:
            self.request(&family, candidates, n)
        sums = self.tables
        for i in range(n):
            u = candidates[i]
            last = work.table.cards[u] - 1
            if last > 0:
                memcpy(tables + offsets[u], &sums[self.first[u], 0], last * row.n_cells * sizeof(uint32_t))
        return 0

    cdef uint32_t *fill_pair(self, Workspace *work, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil:
        # Counterpart of pair_counts: the joint counts of a < b; all cells if both have planes, else those that occur.
        cdef int parent = <int>a
        cdef Row row
        cdef Cells *cells = &work.cells
        cdef uint32_t *counts
        cdef Py_ssize_t i
        row.child, row.k, row.parents, row.mask, row.r = b, 1, &parent, NULL, work.table.cards[b]
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


cdef class RemoteWeights(RemoteFamilies):
    """Sums of weights of rows; ``ask`` returns the result of ``WeightedFamilyScorer.count``, also cells of weight 0."""

    def __cinit__(self, ask, const int64_t[::1] cardinalities):
        self.n_left_out, self.dtype = 0, np.float64

    cdef Py_ssize_t fill_cells(self, const Family *family, Buffer *keys, Buffer *weights) except -1 with gil:
        # Writes the cells of a family and the weights of their rows; returns the number of cells.
        cdef const uint64_t[::1] numbers
        cdef const double[::1] sums
        if not self.holds(family):
            self.request(family, NULL, 0)
        numbers, sums = self.keys, self.counts
        reserve(keys, (numbers.shape[0] + 1) * sizeof(uint64_t))
        reserve(weights, (numbers.shape[0] + 1) * sizeof(double))
        if numbers.shape[0] > 0:
            memcpy(keys.data, &numbers[0], numbers.shape[0] * sizeof(uint64_t))
            memcpy(weights.data, &sums[0], numbers.shape[0] * sizeof(double))
        return numbers.shape[0]

    cdef bint has_table(self, const Family *family, Py_ssize_t u) except -1 with gil:
        return self.holds(family) and self.first[u] >= 0

    cdef int fill_table(self, const Family *family, Py_ssize_t u, double *table) except -1 with gil:
        # Writes the weights of (state of u, cell) of the family in use.
        cdef const double[:, ::1] sums
        sums = self.tables
        if sums.shape[1] > 0:
            memcpy(table, &sums[self.first[u], 0], self.cards[u] * sums.shape[1] * sizeof(double))
        return 0

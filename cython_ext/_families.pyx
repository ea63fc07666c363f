"""Family scores, and the gain of every parent that can be added to or taken from a child.

Problem: hill climbing asks, for a child x with parents P, how the score changes when each other variable u is added
and when each parent is deleted. Algorithm: the non-empty cells of (P, x) are found once (``_cells.pxd``); a candidate u
then needs the table T[state of u][cell]. Entries are counted by planes for large cells and through one sorted row
list for small ones, and most need not be counted: the tables of the parents before the last move are kept. After adding
p every old cell falls into sub-cells, and the largest of them is the old count minus the others; after deleting p
sub-cells are summed. A deletion is scored by marginalising the cells. Without parents the tables come from the
counts of all pairs, and under a score-equivalent score x -> u and u -> x share one number, so that they tie exactly.

Cost of a row: about cells * (states - 1) * N/512 vector operations a candidate with AVX-512, less what is inherited.
All sums run in a fixed order: the result has the same bits on every processor.
Thread-safety: one scorer serves one thread at a time; the row methods release the GIL.
References: Koller & Friedman (2009), section 18.4.3 (decomposable scores); Moore & Lee (1998), JAIR 8, 67-91 (counts
derived from cached counts).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _cells cimport Cells, Columns, build_cells, code_of, free_cells, has_planes, plane_of, unpack_rows
from _merge cimport Merge, free_merge, merge_cells
from _simd cimport pgmx_count_and, select_simd_level
from _terms cimport TermTable, Terms, cell_terms, config_terms, free_terms, init_terms, term

cdef int SIMD = select_simd_level()

# A cell with fewer rows than this share of N/512 is cheaper to count by its row list; one entry a SIMD level.
cdef double[4] LIST_SHARE
LIST_SHARE[:] = [6.0, 2.0, 1.2, 0.45]

cdef enum:
    MAX_CELLS_LOG2 = 62         # a family that could have more cells than 2^62 has no cell number
    PLANES_MEMORY = 1 << 26     # bytes of planes that a level of the cell tree may hold
    GROUP_MEMORY = 1 << 25      # bytes of tables that are counted together
    BLOCK_WORDS = 1 << 17       # words of planes that are read together: 1 MiB, the L2 cache

cdef enum Inheritance:          # how the tables follow from those that were kept
    COUNTED, AFTER_ADDING, AFTER_DELETING

cdef enum:                      # scratch buffers
    PAIR_TABLE, BIG_CELLS, BIG_INDEX, BIG_COUNTS, LIST_ROWS, LIST_CELLS, ROW_CELLS, ROW_BITS, CANDIDATES, OFFSETS
    TABLES, CONFIG_SUMS, DEDUCED, WIDER, N_SCRATCH


cdef struct Kept:               # what is remembered of the last row of a child
    void *block                 # holds all arrays
    int n_parents               # -1: nothing
    int *parents
    Py_ssize_t n_cells
    uint64_t *keys
    uint32_t *counts
    uint32_t *tables            # (states - 1) rows of cells for each candidate
    int64_t *offsets            # where the table of each variable begins, -1 without one
    size_t n_bytes


cdef struct Row:                # the row that is being computed
    Py_ssize_t child, k
    const int *parents
    Py_ssize_t r
    double q
    Py_ssize_t n_cells
    const uint64_t *keys
    const uint32_t *counts
    Inheritance how
    Py_ssize_t moved            # the parent that was added or deleted
    Py_ssize_t n_big, n_listed
    double score


cdef double sum_terms(TermTable *table, const uint32_t *counts, Py_ssize_t n) noexcept nogil:
    # Four running sums, joined in a fixed order: additions need not wait for each other.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += term(table, counts[i])
        b += term(table, counts[i + 1])
        c += term(table, counts[i + 2])
        d += term(table, counts[i + 3])
        i += 4
    while i < n:
        a += term(table, counts[i])
        i += 1
    return (a + b) + (c + d)


cdef class FamilyScorer:
    """Scores of the families of one coded table under one decomposable score.

    Parameters
    ----------
    codes : uint8 or uint16 (n, N), C-contiguous
        Column-coded table.
    cardinalities : int64 (n,)
        States of each variable.
    planes, plane_offsets
        As ``_counts.pack_planes`` returns them.
    marginals : uint32 (sum of states,)
        Rows in each state, variable after variable.
    dirichlet, per_cell, prior, penalty
        The terms of the score, see ``_terms.pxd``.
    equivalent : bool
        Whether Markov equivalent graphs have the same score; then opposite arcs between parentless variables tie.
    pairs : uint32 (m, m) or None
        Counts of pairs of planes (upper triangle) over all states but the last of every variable with planes.
    allowed : uint8 (n, n) or None
        ``allowed[child, parent]``: 0 keeps the arc out; its gain is -inf.
    max_indegree : int
        A child with so many parents gets no gains of additions.
    memory : int
        Bytes of tables kept for inheritance; a row beyond it is counted in full.
    """

    cdef readonly Py_ssize_t n
    cdef Columns table
    cdef Terms terms
    cdef Cells cells
    cdef Merge merge
    cdef Kept *kept
    cdef bint equivalent
    cdef Py_ssize_t max_indegree
    cdef size_t memory, held
    cdef object _owners
    cdef const uint32_t *marginals
    cdef int64_t *state_offsets
    cdef double *self_terms             # sum of f(n_v; prior of a parentless v) over the states of v
    cdef const uint32_t *pairs
    cdef Py_ssize_t pair_width
    cdef int64_t *pair_offsets
    cdef const uint8_t *allowed
    cdef Buffer[N_SCRATCH] scratch

    def __cinit__(
        self,
        codes,
        const int64_t[::1] cardinalities,
        const uint64_t[:, ::1] planes,
        const int64_t[::1] plane_offsets,
        const uint32_t[::1] marginals,
        *,
        bint dirichlet=False,
        bint per_cell=False,
        double prior=0.0,
        double penalty=0.0,
        bint equivalent=True,
        const uint32_t[:, ::1] pairs=None,
        const uint8_t[:, ::1] allowed=None,
        Py_ssize_t max_indegree=1 << 30,
        size_t memory=1 << 26,
    ):
        cdef const uint8_t[:, ::1] narrow
        cdef const uint16_t[:, ::1] wide
        cdef Py_ssize_t v
        self.n = codes.shape[0]
        self.table.n_rows = codes.shape[1]
        self.table.n_words = planes.shape[1]
        if codes.dtype == np.uint8:
            narrow = codes
            self.table.codes8 = &narrow[0, 0]
        else:
            wide = codes
            self.table.codes16 = &wide[0, 0]
        self._owners = (codes, cardinalities, planes, plane_offsets, marginals, pairs, allowed)
        self.table.cards = &cardinalities[0]
        self.table.plane_offsets = &plane_offsets[0]
        self.table.planes = &planes[0, 0] if planes.shape[0] > 0 else NULL
        self.marginals = &marginals[0]
        self.equivalent = equivalent
        self.max_indegree = max_indegree
        self.memory = memory
        if pairs is not None and pairs.shape[0] > 0:
            self.pairs = &pairs[0, 0]
            self.pair_width = pairs.shape[1]
        if allowed is not None:
            self.allowed = &allowed[0, 0]
        init_terms(&self.terms, dirichlet, per_cell, prior, penalty, <uint32_t>self.table.n_rows)
        self.choose_limits()
        self.kept = <Kept *>calloc(self.n, sizeof(Kept))
        self.state_offsets = <int64_t *>calloc(self.n + 1, sizeof(int64_t))
        self.pair_offsets = <int64_t *>calloc(self.n + 1, sizeof(int64_t))
        self.self_terms = <double *>calloc(self.n, sizeof(double))
        if not (self.kept and self.state_offsets and self.pair_offsets and self.self_terms):
            raise MemoryError("cannot allocate the family scorer")
        for v in range(self.n):
            self.kept[v].n_parents = -1
            self.state_offsets[v + 1] = self.state_offsets[v] + cardinalities[v]
            self.pair_offsets[v + 1] = self.pair_offsets[v]
            if has_planes(&self.table, v):
                self.pair_offsets[v + 1] += cardinalities[v] - 1
            self.self_terms[v] = sum_terms(
                cell_terms(&self.terms, 1, cardinalities[v]), self.marginals + self.state_offsets[v], cardinalities[v]
            )

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.kept != NULL:
            for i in range(self.n):
                self.forget(i)
        free(self.kept)
        free(self.state_offsets)
        free(self.pair_offsets)
        free(self.self_terms)
        free_terms(&self.terms)
        free_cells(&self.cells)
        free_merge(&self.merge)
        for i in range(N_SCRATCH):
            release(&self.scratch[i])

    cdef void choose_limits(self) noexcept nogil:
        # Beyond 32k and 262k rows the look-ups of a row list begin to miss the caches: lists pay later.
        cdef double share = LIST_SHARE[SIMD]
        if self.table.n_rows > 262144:
            share *= 0.27
        elif self.table.n_rows > 32768:
            share *= 0.55
        self.cells.list_below = <uint32_t>(1 + share * self.table.n_rows / 512)
        self.cells.max_planes = PLANES_MEMORY // (self.table.n_words * 8 + 1) + 1

    # ---- what Python calls ----

    def family_score(self, Py_ssize_t child, const int[::1] parents) -> float:
        """Return the score of ``child`` with ``parents`` (ascending ids). Cost: one cell tree."""
        cdef const int *p = &parents[0] if parents.shape[0] > 0 else NULL
        return self.score_family(child, p, parents.shape[0])

    def rescore(self, Py_ssize_t child, const int[::1] parents, double[:, ::1] gains) -> float:
        """Return the family score and write the gains of all toggles of ``child`` into ``gains[child]``.

        ``gains[child, u]`` is the gain of deleting u where u is a parent, of adding it otherwise; -inf where it cannot
        be added (the child itself, single-state variables, arcs not allowed).
        """
        cdef const int *p = &parents[0] if parents.shape[0] > 0 else NULL
        cdef Py_ssize_t k = parents.shape[0]
        cdef double score
        with nogil:
            score = self.compute_row(child, p, k, &gains[child, 0])
        return score

    def start(self, double[:, ::1] gains, double[::1] scores):
        """Fill ``gains`` and ``scores`` for the graph without arcs; one table a pair."""
        cdef Py_ssize_t a, b
        with nogil:
            for a in range(self.n):
                scores[a] = self.score_alone(a)
                gains[a, a] = -INFINITY
                for b in range(a + 1, self.n):
                    self.pair_gains(a, b, &gains[a, b], &gains[b, a])

    # ---- scores of single families ----

    cdef double score_alone(self, Py_ssize_t v) except? -1 nogil:
        cdef double whole = term(config_terms(&self.terms, 1, self.table.cards[v]), self.terms.n_rows)
        return self.self_terms[v] - whole - self.terms.penalty * (self.table.cards[v] - 1)

    cdef double score_family(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        cdef Row row
        if k == 0:
            return self.score_alone(child)
        self.find_cells(&row, child, parents, k)
        return row.score

    cdef int find_cells(self, Row *row, Py_ssize_t child, const int *parents, Py_ssize_t k) except -1 nogil:
        # Builds the cells of the family and its score.
        cdef Py_ssize_t i
        row.child, row.parents, row.k = child, parents, k
        row.r = self.table.cards[child]
        row.q = 1.0
        for i in range(k):
            row.q *= self.table.cards[parents[i]]
        if row.q * row.r > <double>(<uint64_t>1 << MAX_CELLS_LOG2):
            with gil:
                raise ValueError(
                    f"variable number {child} has {k} parents with {row.q:.3g} joint states, too many to number; "
                    "set max_indegree, or start from a sparser graph"
                )
        build_cells(&self.cells, &self.table, parents, k, child, self.marginals + self.state_offsets[parents[0]])
        row.n_cells = self.cells.nodes[self.cells.current].size
        row.keys = <const uint64_t *>self.cells.nodes[self.cells.current].keys.data
        row.counts = <const uint32_t *>self.cells.nodes[self.cells.current].counts.data
        row.score = (
            sum_terms(cell_terms(&self.terms, row.q, row.r), row.counts, row.n_cells)
            - self.sum_configs(config_terms(&self.terms, row.q, row.r), row.counts)
            - self.terms.penalty * row.q * (row.r - 1)
        )
        return 0

    cdef double sum_configs(self, TermTable *table, const uint32_t *counts) except? -1 nogil:
        # Terms of the parent configurations: counts of neighbouring cells added up.
        cdef const int64_t *ends = <const int64_t *>self.cells.config_ends.data
        cdef Py_ssize_t n = self.cells.n_configs, g, i = 0
        cdef uint32_t *sums = <uint32_t *>reserve(&self.scratch[CONFIG_SUMS], (n + 1) * sizeof(uint32_t))
        cdef uint32_t total
        for g in range(n):
            total = 0
            while i < ends[g]:
                total += counts[i]
                i += 1
            sums[g] = total
        return sum_terms(table, sums, n)

    cdef double score_without(self, Row *row, Py_ssize_t d) except? -1 nogil:
        # The family score after deleting parent number d; leaves the merged cells in self.merge.
        cdef Py_ssize_t p = row.parents[d], i, j
        cdef double q = row.q / self.table.cards[p]
        cdef uint64_t r = <uint64_t>row.r
        cdef uint32_t *sums
        cdef uint32_t total
        cdef const uint64_t *keys
        cdef const int64_t *target
        cdef TermTable *cell
        cdef TermTable *config
        cdef double score
        merge_cells(&self.merge, row.keys, row.n_cells, self.stride_of(row, d), <uint64_t>self.table.cards[p])
        sums = <uint32_t *>reserve(&self.scratch[DEDUCED], (row.n_cells + 1) * sizeof(uint32_t))
        memset(sums, 0, self.merge.size * sizeof(uint32_t))
        keys = <const uint64_t *>self.merge.keys.data
        target = <const int64_t *>self.merge.target.data
        for i in range(row.n_cells):
            sums[target[i]] += row.counts[i]
        cell = cell_terms(&self.terms, q, row.r)
        config = config_terms(&self.terms, q, row.r)
        score = sum_terms(cell, sums, self.merge.size)
        j = 0
        for i in range(self.merge.size):   # in place: configuration sums overwrite what is behind them
            total = sums[i]
            if i > 0 and keys[i] // r == keys[i - 1] // r:
                sums[j - 1] += total
            else:
                sums[j] = total
                j += 1
        return score - sum_terms(config, sums, j) - self.terms.penalty * q * (row.r - 1)

    cdef uint64_t stride_of(self, Row *row, Py_ssize_t d) noexcept nogil:
        # The weight of parent number d in a cell's key.
        cdef uint64_t stride = <uint64_t>row.r
        cdef Py_ssize_t i
        for i in range(d + 1, row.k):
            stride *= <uint64_t>self.table.cards[row.parents[i]]
        return stride

    # ---- pairs: a child without parents ----

    cdef uint32_t *pair_counts(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *size) except NULL nogil:
        # Joint counts of a < b, states of b fastest; only non-empty cells where a variable has no planes.
        cdef Py_ssize_t ra = self.table.cards[a], rb = self.table.cards[b], i, j
        cdef const uint32_t *of_a = self.marginals + self.state_offsets[a]
        cdef const uint32_t *of_b = self.marginals + self.state_offsets[b]
        cdef uint32_t *counts
        cdef uint32_t *last
        cdef uint32_t left, found
        cdef int parent
        if not (has_planes(&self.table, a) and has_planes(&self.table, b)):
            parent = <int>a
            build_cells(&self.cells, &self.table, &parent, 1, b, of_a)
            size[0] = self.cells.nodes[self.cells.current].size
            return <uint32_t *>self.cells.nodes[self.cells.current].counts.data
        counts = <uint32_t *>reserve(&self.scratch[PAIR_TABLE], (ra * rb + 1) * sizeof(uint32_t))
        last = counts + (ra - 1) * rb
        memcpy(last, of_b, rb * sizeof(uint32_t))
        for i in range(ra - 1):
            left = of_a[i]
            for j in range(rb - 1):
                found = self.plane_pair(a, i, b, j)
                counts[i * rb + j] = found
                left -= found
                last[j] -= found
            counts[i * rb + rb - 1] = left
            last[rb - 1] -= left
        size[0] = ra * rb
        return counts

    cdef uint32_t plane_pair(self, Py_ssize_t a, Py_ssize_t i, Py_ssize_t b, Py_ssize_t j) noexcept nogil:
        # Rows with state i of a and state j of b, a < b, neither of them a last state.
        cdef const uint64_t *cell
        cdef uint32_t count = 0
        if self.pairs != NULL:
            return self.pairs[(self.pair_offsets[a] + i) * self.pair_width + self.pair_offsets[b] + j]
        cell = plane_of(&self.table, a, i)
        pgmx_count_and(plane_of(&self.table, b, j), &cell, 1, 0, self.table.n_words, &count)
        return count

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        # Gains of b -> a (of_a) and of a -> b (of_b) while both are without parents, a < b.
        cdef Py_ssize_t ra = self.table.cards[a], rb = self.table.cards[b], size = 0
        cdef uint32_t *counts
        cdef double joint, whole
        of_a[0] = of_b[0] = -INFINITY
        if ra < 2 or rb < 2:
            return 0
        counts = self.pair_counts(a, b, &size)
        joint = sum_terms(cell_terms(&self.terms, ra, rb), counts, size)
        if self.equivalent:
            whole = term(config_terms(&self.terms, 1, rb), self.terms.n_rows)
            joint -= self.self_terms[a] + self.self_terms[b] - whole
            of_a[0] = of_b[0] = joint - self.terms.penalty * ((ra - 1) * (rb - 1))
        else:
            of_a[0] = self.directed_gain(joint, a, b)
            of_b[0] = self.directed_gain(joint, b, a)
        if self.allowed != NULL:
            if not self.allowed[a * self.n + b]:
                of_a[0] = -INFINITY
            if not self.allowed[b * self.n + a]:
                of_b[0] = -INFINITY
        return 0

    cdef double directed_gain(self, double joint, Py_ssize_t child, Py_ssize_t parent) except? -1 nogil:
        cdef Py_ssize_t r = self.table.cards[child], q = self.table.cards[parent]
        cdef double configs = sum_terms(
            config_terms(&self.terms, q, r), self.marginals + self.state_offsets[parent], q
        )
        return joint - configs - self.terms.penalty * q * (r - 1) - self.score_alone(child)

    # ---- the row of a child ----

    cdef double compute_row(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef Row row
        cdef Py_ssize_t u, n_candidates
        cdef double other
        if k == 0:
            self.forget(child)
            gains[child] = -INFINITY
            for u in range(self.n):
                if u < child:
                    self.pair_gains(u, child, &other, &gains[u])
                elif u > child:
                    self.pair_gains(child, u, &gains[u], &other)
            return self.score_alone(child)
        self.find_cells(&row, child, parents, k)
        for u in range(self.n):
            gains[u] = -INFINITY
        for u in range(k):
            gains[parents[u]] = self.score_without(&row, u) - row.score
        if k >= self.max_indegree:
            self.forget(child)
            return row.score
        n_candidates = self.choose_candidates(&row)
        self.choose_inheritance(&row, n_candidates)
        self.sort_cells_by_size(&row)
        self.score_candidates(&row, n_candidates, gains)
        self.score_wide_candidates(&row, gains)
        return row.score

    cdef bint may_add(self, const Row *row, Py_ssize_t u) noexcept nogil:
        cdef Py_ssize_t i
        if u == row.child or row.r < 2 or self.table.cards[u] < 2:
            return False
        if self.allowed != NULL and not self.allowed[row.child * self.n + u]:
            return False
        if row.q * row.r * self.table.cards[u] > <double>(<uint64_t>1 << MAX_CELLS_LOG2):
            return False
        for i in range(row.k):
            if row.parents[i] == u:
                return False
        return True

    cdef Py_ssize_t choose_candidates(self, Row *row) except -1 nogil:
        # Those with planes; offsets[u] is where the table of u would begin, in cells of uint32.
        cdef int *candidates = <int *>reserve(&self.scratch[CANDIDATES], (self.n + 1) * sizeof(int))
        cdef int64_t *offsets = <int64_t *>reserve(&self.scratch[OFFSETS], (self.n + 1) * sizeof(int64_t))
        cdef Py_ssize_t u, n = 0
        for u in range(self.n):
            offsets[u] = -1
            if has_planes(&self.table, u) and self.may_add(row, u):
                candidates[n] = <int>u
                n += 1
        return n

    cdef int choose_inheritance(self, Row *row, Py_ssize_t n_candidates) except -1 nogil:
        # Compares the parents with those of the kept row; a child without parents has the pair counts for a row.
        cdef Kept *kept = &self.kept[row.child]
        cdef const int *candidates = <const int *>self.scratch[CANDIDATES].data
        cdef Py_ssize_t i, j = 0
        row.how = COUNTED
        row.moved = -1
        if row.k == 1 and self.pairs != NULL and has_planes(&self.table, row.child) \
                and has_planes(&self.table, row.parents[0]):
            row.how, row.moved = AFTER_ADDING, row.parents[0]
        elif kept.n_parents == row.k - 1 and kept.n_parents > 0:
            for i in range(row.k):
                if j < kept.n_parents and kept.parents[j] == row.parents[i]:
                    j += 1
                elif row.moved < 0:
                    row.moved = row.parents[i]
            if j == kept.n_parents:
                row.how = AFTER_ADDING
        elif kept.n_parents == row.k + 1:
            for i in range(kept.n_parents):
                if j < row.k and kept.parents[i] == row.parents[j]:
                    j += 1
                elif row.moved < 0:
                    row.moved = kept.parents[i]
            if j == row.k:
                row.how = AFTER_DELETING
        if row.how == AFTER_DELETING or (row.how == AFTER_ADDING and row.k > 1):
            for i in range(n_candidates):
                if kept.offsets[candidates[i]] < 0 and candidates[i] != row.moved:
                    row.how = COUNTED
        return 0

    cdef int sort_cells_by_size(self, Row *row) except -1 nogil:
        # Splits the cells that must be counted into planes and one row list, ascending by row.
        # After an addition the largest sub-cell of every old cell is left out: DEDUCED holds it for each old cell.
        cdef Py_ssize_t c = row.n_cells, n_rows = self.table.n_rows, i, d, w, n_listed = 0
        cdef const uint64_t **planes = <const uint64_t **>self.cells.nodes[self.cells.current].planes.data
        cdef const uint32_t *starts = <const uint32_t *>self.cells.nodes[self.cells.current].starts.data
        cdef const uint32_t *rows = <const uint32_t *>self.cells.nodes[self.cells.current].rows.data
        cdef const uint64_t **big = <const uint64_t **>reserve(&self.scratch[BIG_CELLS], (c + 1) * sizeof(void *))
        cdef int64_t *index = <int64_t *>reserve(&self.scratch[BIG_INDEX], (c + 1) * sizeof(int64_t))
        cdef uint32_t *row_cells = <uint32_t *>reserve(&self.scratch[ROW_CELLS], (n_rows + 1) * sizeof(uint32_t))
        cdef uint64_t *bits = <uint64_t *>reserve(&self.scratch[ROW_BITS], self.table.n_words * sizeof(uint64_t))
        cdef int64_t *deduced
        cdef const int64_t *target
        cdef uint32_t *listed
        cdef uint32_t *listed_cells
        row.n_big = row.n_listed = 0
        if row.how == AFTER_DELETING:
            return 0
        deduced = <int64_t *>reserve(&self.scratch[DEDUCED], (c + 1) * sizeof(int64_t))
        if row.how == AFTER_ADDING:
            d = 0
            while row.parents[d] != row.moved:
                d += 1
            merge_cells(&self.merge, row.keys, c, self.stride_of(row, d), <uint64_t>self.table.cards[row.moved])
            target = <const int64_t *>self.merge.target.data
            for i in range(self.merge.size):
                deduced[i] = -1
            for i in range(c):
                if deduced[target[i]] < 0 or row.counts[i] > row.counts[deduced[target[i]]]:
                    deduced[target[i]] = i
        for i in range(c):
            if row.how == AFTER_ADDING and deduced[target[i]] == i:
                continue
            if planes[i] != NULL:
                big[row.n_big] = planes[i]
                index[row.n_big] = i
                row.n_big += 1
                continue
            if n_listed == 0:
                memset(bits, 0, self.table.n_words * sizeof(uint64_t))
            n_listed += row.counts[i]
            for w in range(starts[i], <Py_ssize_t>starts[i] + row.counts[i]):
                bits[rows[w] >> 6] |= <uint64_t>1 << (rows[w] & 63)
                row_cells[rows[w]] = <uint32_t>i
        row.n_listed = n_listed
        listed = <uint32_t *>reserve(&self.scratch[LIST_ROWS], (n_listed + 1) * sizeof(uint32_t))
        listed_cells = <uint32_t *>reserve(&self.scratch[LIST_CELLS], (n_listed + 1) * sizeof(uint32_t))
        unpack_rows(bits, <uint32_t>n_listed, listed)
        for i in range(n_listed):
            listed_cells[i] = row_cells[listed[i]]
        return 0

    cdef int score_candidates(self, Row *row, Py_ssize_t n_candidates, double *gains) except -1 nogil:
        # Tables are made for a group of candidates at a time; they are kept when one group holds them all.
        cdef const int *candidates = <const int *>self.scratch[CANDIDATES].data
        cdef int64_t *offsets = <int64_t *>self.scratch[OFFSETS].data
        cdef Py_ssize_t first = 0, last, i
        cdef int64_t size
        while first < n_candidates:
            size = 0
            last = first
            while last < n_candidates and (last == first or size * 4 < GROUP_MEMORY):
                offsets[candidates[last]] = size
                size += row.n_cells * self.table.cards[candidates[last]]
                last += 1
            reserve(&self.scratch[TABLES], (size + 1) * sizeof(uint32_t))
            if row.how == AFTER_DELETING:
                self.sum_tables(row, candidates + first, last - first, size)
            else:
                self.count_tables(row, candidates + first, last - first, size)
            for i in range(first, last):
                gains[candidates[i]] = self.score_table(row, candidates[i]) - row.score
            if first == 0 and last == n_candidates:
                self.keep(row, candidates, n_candidates)
                return 0
            first = last
        self.forget(row.child)
        return 0

    cdef int count_tables(self, Row *row, const int *candidates, Py_ssize_t n, int64_t size) except -1 nogil:
        cdef uint32_t *tables = <uint32_t *>self.scratch[TABLES].data
        cdef const int64_t *offsets = <const int64_t *>self.scratch[OFFSETS].data
        cdef const uint64_t **big = <const uint64_t **>self.scratch[BIG_CELLS].data
        cdef const int64_t *index = <const int64_t *>self.scratch[BIG_INDEX].data
        cdef uint32_t *found = <uint32_t *>reserve(&self.scratch[BIG_COUNTS], (row.n_big + 1) * sizeof(uint32_t))
        cdef Py_ssize_t c = row.n_cells, n_words = self.table.n_words, begin = 0, end, step, i, j, s, u
        cdef uint32_t *table
        memset(tables, 0, size * sizeof(uint32_t))
        step = BLOCK_WORDS // (row.n_big + 4) // 8 * 8
        step = step if step > 256 else 256
        while begin < n_words and row.n_big > 0:
            end = begin + step if begin + step < n_words else n_words
            for i in range(n):
                u = candidates[i]
                for s in range(self.table.cards[u] - 1):
                    table = tables + offsets[u] + s * c
                    if row.n_big == c:
                        pgmx_count_and(plane_of(&self.table, u, s), big, c, begin, end, table)
                        continue
                    memset(found, 0, row.n_big * sizeof(uint32_t))
                    pgmx_count_and(plane_of(&self.table, u, s), big, row.n_big, begin, end, found)
                    for j in range(row.n_big):
                        table[index[j]] += found[j]
            begin = end
        for i in range(n):
            if row.n_listed > 0:
                self.count_list(row, candidates[i])
            if row.how == AFTER_ADDING:
                self.deduce(row, candidates[i])
        return 0

    cdef void count_list(self, const Row *row, Py_ssize_t u) noexcept nogil:
        cdef uint32_t *table = <uint32_t *>self.scratch[TABLES].data + (<int64_t *>self.scratch[OFFSETS].data)[u]
        cdef const uint32_t *rows = <const uint32_t *>self.scratch[LIST_ROWS].data
        cdef const uint32_t *cells = <const uint32_t *>self.scratch[LIST_CELLS].data
        cdef Py_ssize_t i
        for i in range(row.n_listed):
            table[code_of(&self.table, u, rows[i]) * row.n_cells + cells[i]] += 1

    cdef void deduce(self, const Row *row, Py_ssize_t u) noexcept nogil:
        # The largest sub-cell of every old cell: the old count minus what was counted in the others.
        cdef uint32_t *table = <uint32_t *>self.scratch[TABLES].data + (<int64_t *>self.scratch[OFFSETS].data)[u]
        cdef const int64_t *deduced = <const int64_t *>self.scratch[DEDUCED].data
        cdef const int64_t *target = <const int64_t *>self.merge.target.data
        cdef const uint64_t *states = <const uint64_t *>self.merge.keys.data
        cdef Kept *kept = &self.kept[row.child]
        cdef Py_ssize_t s, o, i, c = row.n_cells
        cdef const uint32_t *old
        for s in range(self.table.cards[u] - 1):
            if row.k == 1:
                for o in range(self.merge.size):
                    table[s * c + deduced[o]] = self.state_pair(row.child, <Py_ssize_t>states[o], u, s)
            else:
                old = kept.tables + kept.offsets[u] + s * kept.n_cells
                for o in range(self.merge.size):
                    table[s * c + deduced[o]] = old[o]
            for i in range(c):
                if deduced[target[i]] != i:
                    table[s * c + deduced[target[i]]] -= table[s * c + i]

    cdef uint32_t state_pair(self, Py_ssize_t x, Py_ssize_t i, Py_ssize_t u, Py_ssize_t s) noexcept nogil:
        # Rows with state i of x (any) and state s of u (not its last), from the counts of pairs.
        cdef Py_ssize_t last = self.table.cards[x] - 1, j
        cdef uint32_t count
        if i < last:
            return self.plane_pair(x, i, u, s) if x < u else self.plane_pair(u, s, x, i)
        count = self.marginals[self.state_offsets[u] + s]
        for j in range(last):
            count -= self.plane_pair(x, j, u, s) if x < u else self.plane_pair(u, s, x, j)
        return count

    cdef int sum_tables(self, Row *row, const int *candidates, Py_ssize_t n, int64_t size) except -1 nogil:
        # After a deletion: every new cell is the sum of old ones, and the deleted parent's table is in the old cells.
        cdef Kept *kept = &self.kept[row.child]
        cdef uint32_t *tables = <uint32_t *>self.scratch[TABLES].data
        cdef const int64_t *offsets = <const int64_t *>self.scratch[OFFSETS].data
        cdef const int64_t *target
        cdef const uint32_t *old
        cdef uint64_t stride = <uint64_t>row.r, r = <uint64_t>self.table.cards[row.moved]
        cdef Py_ssize_t i, o, s, u, c = row.n_cells
        cdef uint32_t *table
        for i in range(kept.n_parents - 1, -1, -1):
            if kept.parents[i] == row.moved:
                break
            stride *= <uint64_t>self.table.cards[kept.parents[i]]
        merge_cells(&self.merge, kept.keys, kept.n_cells, stride, r)
        target = <const int64_t *>self.merge.target.data
        memset(tables, 0, size * sizeof(uint32_t))
        for i in range(n):
            u = candidates[i]
            table = tables + offsets[u]
            if u == row.moved:
                for o in range(kept.n_cells):
                    table[<Py_ssize_t>(kept.keys[o] // stride % r) * c + target[o]] = kept.counts[o]
                continue
            for s in range(self.table.cards[u] - 1):
                old = kept.tables + kept.offsets[u] + s * kept.n_cells
                for o in range(kept.n_cells):
                    table[s * c + target[o]] += old[o]
        return 0

    cdef double score_table(self, const Row *row, Py_ssize_t u) except? -1 nogil:
        # The score of the child with u added; completes the last state of the table from the sizes of the cells.
        cdef uint32_t *table = <uint32_t *>self.scratch[TABLES].data + (<int64_t *>self.scratch[OFFSETS].data)[u]
        cdef Py_ssize_t c = row.n_cells, ru = self.table.cards[u], s, i
        cdef uint32_t *last = table + (ru - 1) * c
        cdef double q = row.q * ru, score
        cdef TermTable *config = config_terms(&self.terms, q, row.r)
        memcpy(last, row.counts, c * sizeof(uint32_t))
        for s in range(ru - 1):
            for i in range(c):
                last[i] -= table[s * c + i]
        score = sum_terms(cell_terms(&self.terms, q, row.r), table, ru * c)
        for s in range(ru):
            score -= self.sum_configs(config, table + s * c)
        return score - self.terms.penalty * q * (row.r - 1)

    cdef int score_wide_candidates(self, Row *row, double *gains) except -1 nogil:
        # Candidates without planes get a cell tree each; comes last, for it uses the buffers of the cells.
        cdef int *wider
        cdef Py_ssize_t u, i, k = row.k
        for u in range(self.n):
            if has_planes(&self.table, u) or not self.may_add(row, u):
                continue
            wider = <int *>reserve(&self.scratch[WIDER], (k + 1) * sizeof(int))
            i = k
            while i > 0 and row.parents[i - 1] > u:
                wider[i] = row.parents[i - 1]
                i -= 1
            wider[i] = <int>u
            memcpy(wider, row.parents, i * sizeof(int))
            gains[u] = self.score_family(row.child, wider, k + 1) - row.score
        return 0

    # ---- what is remembered ----

    cdef void forget(self, Py_ssize_t child) noexcept nogil:
        cdef Kept *kept = &self.kept[child]
        if kept.n_parents > 0:
            free(kept.block)
            self.held -= kept.n_bytes
        kept.n_parents = -1

    cdef int keep(self, const Row *row, const int *candidates, Py_ssize_t n_candidates) except -1 nogil:
        # Copies the cells and all tables but their last states into one block, if the memory allows.
        cdef Kept *kept = &self.kept[row.child]
        cdef const uint32_t *tables = <const uint32_t *>self.scratch[TABLES].data
        cdef const int64_t *offsets = <const int64_t *>self.scratch[OFFSETS].data
        cdef Py_ssize_t c = row.n_cells, i, u
        cdef size_t n_bytes, n_entries = 0
        cdef char *block
        for i in range(n_candidates):
            n_entries += (self.table.cards[candidates[i]] - 1) * c
        n_bytes = c * 8 + self.n * 8 + n_entries * 4 + c * 4 + row.k * 4
        self.forget(row.child)
        if self.held + n_bytes > self.memory:
            return 0
        block = <char *>malloc(n_bytes)
        if block == NULL:
            return 0             # nothing is lost but speed
        self.held += n_bytes
        kept.block, kept.n_bytes = block, n_bytes
        kept.n_parents, kept.n_cells = <int>row.k, c
        kept.keys = <uint64_t *>block
        kept.offsets = <int64_t *>(kept.keys + c)
        kept.tables = <uint32_t *>(kept.offsets + self.n)
        kept.counts = kept.tables + n_entries
        kept.parents = <int *>(kept.counts + c)
        memcpy(kept.keys, row.keys, c * sizeof(uint64_t))
        memcpy(kept.counts, row.counts, c * sizeof(uint32_t))
        memcpy(kept.parents, row.parents, row.k * sizeof(int))
        for u in range(self.n):
            kept.offsets[u] = -1
        n_entries = 0
        for i in range(n_candidates):
            u = candidates[i]
            kept.offsets[u] = <int64_t>n_entries
            memcpy(kept.tables + n_entries, tables + offsets[u], (self.table.cards[u] - 1) * c * sizeof(uint32_t))
            n_entries += (self.table.cards[u] - 1) * c
        return 0

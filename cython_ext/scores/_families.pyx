"""Family scores, and the gain of every parent that can be added to or removed from a child.

Problem: hill climbing asks, for a child x with parents P, how the score changes when each other variable u is added
and when each parent is deleted. Algorithm: the non-empty cells of (P, x) are found once (``_cells.pxd``); a candidate u
needs the table T[state of u][cell] (``_candidates.pxd``), most of which is kept from the previous move
(``_workspace.pxd``); a deletion is scored by marginalising the cells. Without parents the tables come from the counts
of all pairs, and opposite arcs share one value under a score-equivalent score, so that they tie exactly. The exact
search asks for many parents with few rows each: these are counted by groups of rows (``_row_groups.pxd``).

Cost of a row: about cells * (states - 1) * N/512 vector operations per candidate with AVX-512, fewer if inherited.
All sums run in a fixed order: the result has the same bits on every processor.
Thread-safety: one scorer serves one thread at a time, which other threads help (``share_rows``); rows release the GIL.
References: Koller & Friedman (2009), section 18.4.3; Moore & Lee (1998), JAIR 8, 67-91 (counts from cached counts).
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import numpy as np

from _buffers cimport reserve
from _candidates cimport (
    choose_inheritance, count_share, fill_tables, find_row_cells, find_wider, pair_counts, sum_tables
)
from _cell_scores cimport score_table, score_without, sum_configs
from _cells cimport has_planes
from _crew cimport MOST_THREADS, await_task, close_crew
from _row_groups cimport RowGroups, fits_groups, free_groups, score_by_groups
from _segments cimport SEGMENT_ROWS, cut_rows
from _simd cimport select_simd_level
from _terms cimport cell_terms, config_terms, free_terms, init_terms, pgmx_log, sum_terms, term
from _workspace cimport (
    AFTER_DELETING, CANDIDATES, COUNTED, MEMOS, OFFSETS, TABLES, WIDER, Row, Workspace, drop_memos, free_workspace,
    init_memos, init_offsets, marginals_of, set_table, shift_columns, store_memo
)

from pgmx._ext._remote_families cimport RemoteCounts
from pgmx._ext._scorer cimport ALL, MAX_CELLS_LOG2, Family, Scorer

cdef int SIMD = select_simd_level()

cdef enum:
    GROUP_MEMORY = 1 << 25      # bytes of tables that are counted together; a larger table is not made
    PAIRS_AHEAD = 1 << 11       # largest number of pairs that one message requests


def natural_log(double x) -> float:
    """Return ln x for a positive normal number, the same bits on every processor."""
    return pgmx_log(x)


@cython.final
cdef class FamilyScorer(Scorer):
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
    dirichlet, per_cell, observed, prior, penalty
        The terms of the score, see ``_terms.pxd``.
    equivalent : bool
        Whether Markov equivalent graphs have the same score; then opposite arcs between parentless variables tie.
    pairs : uint32 (m, m) or None
        Counts of pairs of planes (upper triangle) over all states but the last of every variable with planes.
    allowed : uint8 (n, n) or None
        ``allowed[child, parent]``: 0 forbids the arc; its gain is -inf.
    max_indegree : int
        A child with `max_indegree` parents has no gains of additions.
    memory : int
        Bytes of tables kept for inheritance; a row beyond it is counted in full.
    names : sequence, optional
        Names of the variables, for messages.
    ask : callable, optional
        If families are counted by workers, see ``_remote_families.pyx``; then codes (n, 0) and planes (0, 0) are empty.
    n_rows : int, optional
        Number of rows that workers count.
    segment_rows : int, optional
        Largest number of rows that are counted together, 512 or more, see ``_segments.pxd``.
    masks : uint64 (m, words of a plane), optional
        Sets of rows, as planes. Not for remote rows.
    mask_of : int64 (n,), optional
        The number of the set of rows that families of a variable count, -1 for all rows.
    code_starts, plane_starts : int64 (n,), optional
        If the variables are views of fewer columns: their first codes, and the first words of their planes, -1 without.
        A view has the words of a mask and ``n_rows`` rows. Variables without a mask are no children: they score 0.
    """

    cdef public double least_gain       # additions that provably gain less may have the gain -inf
    cdef public bint keeps_tables       # rows with one parent fewer do not replace the tables that they follow from
    cdef readonly Py_ssize_t n_rows
    cdef RemoteCounts remote            # None if the rows are local
    cdef Workspace work
    cdef RowGroups groups               # for families of many configurations
    cdef double headroom                # most that a parent can add to the likelihood of the row's child
    cdef bint equivalent
    cdef double *entropies              # of each variable, times the rows; inf if the score gives no bounds
    cdef double *self_terms             # sum of f(n_v; prior of a parentless v) over the states of v
    cdef const uint64_t *masks          # NULL if all families count all rows
    cdef const int64_t *mask_of
    cdef Py_ssize_t mask_words
    cdef bint has_views                 # whether the variables are views of fewer columns

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
        bint observed=False,
        double prior=0.0,
        double penalty=0.0,
        bint equivalent=True,
        const uint32_t[:, ::1] pairs=None,
        const uint8_t[:, ::1] allowed=None,
        Py_ssize_t max_indegree=1 << 30,
        size_t memory=1 << 26,
        names=None,
        ask=None,
        Py_ssize_t n_rows=0,
        Py_ssize_t segment_rows=SEGMENT_ROWS,
        const uint64_t[:, ::1] masks=None,
        const int64_t[::1] mask_of=None,
        const int64_t[::1] code_starts=None,
        const int64_t[::1] plane_starts=None,
    ):
        cdef double whole
        cdef Py_ssize_t v
        cdef Row row
        self.set_up(cardinalities.shape[0], allowed, max_indegree, names)
        self.least_gain = -INFINITY
        self.remote = None if ask is None else RemoteCounts(ask, cardinalities)
        self.is_far = ask is not None
        self.equivalent = equivalent
        self.owners = (codes, cardinalities, planes, plane_offsets, marginals, pairs, masks, mask_of)
        set_table(&self.work, codes, cardinalities, planes, plane_offsets, marginals, pairs, memory)
        self.n_rows = codes.shape[1] if ask is None and code_starts is None else n_rows
        self.work.table.n_rows = self.n_rows
        self.has_views = code_starts is not None
        if self.has_views:
            shift_columns(&self.work, code_starts, plane_starts, masks.shape[1])
        init_terms(&self.work.terms, dirichlet, per_cell, observed, prior, penalty, <uint32_t>self.n_rows)
        self.self_terms = <double *>calloc(self.n, sizeof(double))
        self.entropies = <double *>calloc(self.n, sizeof(double))
        if not (
            self.self_terms and self.entropies and init_memos(&self.work) and init_offsets(&self.work)
            and cut_rows(&self.work.segments, &self.work.table, segment_rows, SIMD, 1)
        ):
            raise MemoryError("cannot allocate the family scorer")
        for v in range(self.n):
            self.self_terms[v] = sum_terms(
                cell_terms(&self.work.terms, 1, cardinalities[v]), marginals_of(&self.work, v), cardinalities[v]
            )
            whole = term(config_terms(&self.work.terms, 1, cardinalities[v]), self.work.terms.n_rows)
            self.entropies[v] = INFINITY if dirichlet else whole - self.self_terms[v]
            self.alone[v] = self.self_terms[v] - whole - penalty * (cardinalities[v] - 1)
        if masks is not None and masks.shape[0] > 0:
            if masks.shape[1] * 64 < self.work.table.n_rows or masks.shape[1] < self.work.table.n_words \
                    or mask_of.shape[0] != self.n:
                raise ValueError(f"masks must have a bit per row, mask_of {self.n} values")
            self.masks, self.mask_of = &masks[0, 0], &mask_of[0]
            self.mask_words = masks.shape[1]
        for v in range(self.n):
            if self.has_own_rows(v):
                self.find_cells(&row, v, NULL, 0)
                self.alone[v] = row.score
            elif self.has_views:
                self.alone[v] = 0.0
        if self.masks != NULL:
            self.choose_unit(1e12)

    def __dealloc__(self):
        free_workspace(&self.work)
        free(self.self_terms)
        free(self.entropies)
        free_terms(&self.work.terms)
        free_groups(&self.groups)

    # ---- called from Python ----

    def keep_rows(self, Py_ssize_t n_rows):
        """Keep the tables of the last ``n_rows`` rows of each child, at most `MEMOS`."""
        cdef Py_ssize_t v
        for v in range(self.n):
            drop_memos(&self.work, v)
        self.work.n_memos = min(max(n_rows, 1), MEMOS)

    def share_rows(self, Py_ssize_t n_threads) -> bool:
        """Let `n_threads` threads, this one and those calling ``serve``, count segments; False for remote rows."""
        if self.remote is not None or n_threads > MOST_THREADS:
            return False
        if not cut_rows(&self.work.segments, &self.work.table, self.work.segments.most_rows, SIMD, n_threads):
            raise MemoryError("cannot allocate what threads share")
        return True

    def serve(self, Py_ssize_t thread):
        """Count segments on a thread, numbers from 1, until ``close``."""
        with nogil:
            while await_task(&self.work.segments.crew, thread):
                count_share(&self.work, thread)

    def close(self):
        """End the threads."""
        close_crew(&self.work.segments.crew)

    def family_counts(self, Py_ssize_t child, const int[::1] parents):
        """Return ``(keys, counts)`` of the cells that occur, ascending: uint64 and uint32 arrays.

        A key is the mixed radix number of the states of (parents..., child), the child fastest.
        """
        cdef Row row
        if parents.shape[0] == 0 and not self.has_own_rows(child):
            alone = np.array(<const uint32_t[:self.work.table.cards[child]]>marginals_of(&self.work, child))
            keys = np.flatnonzero(alone)
            return keys.astype(np.uint64), alone[keys]
        with nogil:
            self.find_cells(&row, child, &parents[0] if parents.shape[0] > 0 else NULL, parents.shape[0])
        return np.array(<const uint64_t[:row.n_cells]>row.keys), np.array(<const uint32_t[:row.n_cells]>row.counts)

    def score_additions(
        self, Py_ssize_t child, const int[::1] parents, const int[::1] wanted, double[::1] scores, double[::1] n_cells
    ):
        """Write the scores of ``child`` with ``parents`` and each of the ``wanted``, and the numbers of observed cells.

        Both arrays, of shape (n,), are written at the wanted ids; the mask and ``max_indegree`` do not apply.
        """
        cdef const int *p = &parents[0] if parents.shape[0] > 0 else NULL
        cdef Py_ssize_t i
        if wanted.shape[0] > 0:
            with nogil:
                self.score_wider(child, p, parents.shape[0], &wanted[0], wanted.shape[0], &scores[0], &n_cells[0])
                for i in range(wanted.shape[0] if self.size_costs != NULL else 0):
                    scores[wanted[i]] -= self.size_costs[parents.shape[0] + 1]

    # ---- scores of single families ----

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        cdef Row row
        if k == 0:
            return self.alone[child]
        self.find_cells(&row, child, parents, k)
        return row.score

    cdef int find_cells(self, Row *row, Py_ssize_t child, const int *parents, Py_ssize_t k) except -1 nogil:
        # Finds the cells of the family and its score.
        self.open_row(row, child, parents, k)
        return self.fill_row(row)

    cdef int open_row(self, Row *row, Py_ssize_t child, const int *parents, Py_ssize_t k) except -1 nogil:
        if not self.fill_in(row, child, parents, k):
            self.refuse_cells(child, k, row.q)
        return 0

    cdef bint fill_in(self, Row *row, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil:
        # Returns whether the cells can be numbered.
        cdef Py_ssize_t i
        row.child, row.parents, row.k, row.q = child, parents, k, 1.0
        row.r = self.work.table.cards[child]
        row.mask = self.masks + self.mask_of[child] * self.mask_words if self.has_own_rows(child) else NULL
        for i in range(k):
            row.q *= self.work.table.cards[parents[i]]
        return row.q * row.r <= <double>(<uint64_t>1 << MAX_CELLS_LOG2)

    cdef int fill_row(self, Row *row) except -1 nogil:
        cdef double q
        if self.remote is None:
            find_row_cells(&self.work, row)
        else:
            self.remote.fill_cells(&self.work, row)
        q = max(self.work.cells.n_configs, 1) if self.work.terms.observed else row.q
        row.score = (
            sum_terms(cell_terms(&self.work.terms, q, row.r), row.counts, row.n_cells)
            - sum_configs(&self.work, config_terms(&self.work.terms, q, row.r), row.counts)
            - self.work.terms.penalty * row.q * (row.r - 1)
        )
        return 0

    # ---- pairs: a child without parents ----

    cdef bint has_own_rows(self, Py_ssize_t child) noexcept nogil:
        return self.masks != NULL and self.mask_of[child] >= 0

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        # Gains of b -> a (of_a) and of a -> b (of_b) while both are without parents, a < b.
        cdef Py_ssize_t ra = self.work.table.cards[a], rb = self.work.table.cards[b], size = 0
        cdef uint32_t *counts
        cdef double joint, whole
        of_a[0] = of_b[0] = -INFINITY
        if ra < 2 or rb < 2 or self.max_indegree == 0 or self.has_views \
                or (self.has_own_rows(a) and self.has_own_rows(b)):
            return 0
        if self.remote is None or self.has_pairs(a, b):
            counts = pair_counts(&self.work, a, b, &size)
        else:
            self.expect_pairs(a, b)
            counts = self.remote.fill_pair(&self.work, a, b, &size)
        joint = sum_terms(cell_terms(&self.work.terms, ra, rb), counts, size)
        if self.equivalent:
            whole = term(config_terms(&self.work.terms, 1, rb), self.work.terms.n_rows)
            joint -= self.self_terms[a] + self.self_terms[b] - whole
            of_a[0] = of_b[0] = joint - self.work.terms.penalty * ((ra - 1) * (rb - 1))
        else:
            of_a[0] = self.directed_gain(joint, counts, size, a, b)
            of_b[0] = self.directed_gain(joint, counts, size, b, a)
        of_a[0] = of_a[0] if self.is_allowed(a, b) else -INFINITY
        of_b[0] = of_b[0] if self.is_allowed(b, a) else -INFINITY
        return 0

    cdef int expect_pairs(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        # One message for this pair and the next pairs, in order, that do not follow from the counts of all pairs.
        cdef Family *listed = <Family *>reserve(&self.listed, PAIRS_AHEAD * (sizeof(Family) + sizeof(int)))
        cdef int *ids = <int *>(listed + PAIRS_AHEAD)
        cdef Py_ssize_t n = 0
        while b < self.n and n < PAIRS_AHEAD:
            if min(self.work.table.cards[a], self.work.table.cards[b]) > 1 and not self.has_pairs(a, b):
                ids[n] = <int>a
                listed[n] = Family(b, 1, &ids[n], 0, NULL)
                if n == 0 and self.remote.has(listed):
                    return 0
                n += 1
            self.go_to_next_pair(&a, &b)
        return self.expect(listed, 1, n)

    cdef bint has_pairs(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.work.pairs != NULL and has_planes(&self.work.table, a) and has_planes(&self.work.table, b)

    cdef double directed_gain(
        self, double joint, const uint32_t *counts, Py_ssize_t size, Py_ssize_t child, Py_ssize_t parent
    ) except? -1 nogil:
        cdef Py_ssize_t r = self.work.table.cards[child], q = self.work.table.cards[parent], shared = q, i
        cdef const uint32_t *of_parent = marginals_of(&self.work, parent)
        if self.work.terms.observed:
            shared = 0
            for i in range(q):
                shared += of_parent[i] > 0
            joint = sum_terms(cell_terms(&self.work.terms, shared, r), counts, size)
        joint -= sum_terms(config_terms(&self.work.terms, shared, r), of_parent, q)
        return joint - self.work.terms.penalty * q * (r - 1) - self.alone[child]

    # ---- the row of a child ----

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef Row row
        cdef Py_ssize_t u
        cdef Family family = Family(child, k, parents, ALL, NULL)
        if k == 0 and not self.has_own_rows(child):
            self.row_without_parents(child, gains)
            return self.alone[child]
        self.open_row(&row, child, parents, k)
        self.expect(&family, 1, 1)
        self.fill_row(&row)
        for u in range(self.n):
            gains[u] = -INFINITY
        for u in range(k):
            gains[parents[u]] = score_without(&self.work, &row, u) - row.score
        if k >= self.max_indegree:
            return row.score
        self.headroom = INFINITY
        if not self.work.terms.dirichlet:   # no log-likelihood is positive
            self.headroom = -row.score - self.work.terms.penalty * row.q * (row.r - 1)
        self.score_candidates(&row, self.choose_candidates(&row), gains)
        self.score_untabled(&row, gains)
        for u in range(self.n if k == 0 else 0):    # opposite arcs of variables with the same rows tie
            gains[u] = self.round_gain(gains[u])
        return row.score

    cdef int expect(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 nogil:
        # One message for the families that do not follow from others, as many as fit in; none if only families are
        # missing that are not needed now.
        cdef int *candidates = <int *>reserve(&self.work.scratch[CANDIDATES], (self.n + 1) * sizeof(int))
        cdef Py_ssize_t i, j, u, m, k, n_wanted
        cdef double cells, tables
        cdef Row row
        self.headroom = INFINITY
        for i in range(n if self.is_far else 0):
            if i >= n_needed and self.remote.n_asked == 0:
                break
            k, n_wanted = families[i].k, families[i].n_wanted
            if k == 0 or not self.fill_in(&row, families[i].child, families[i].parents, k) \
                    or self.remote.has(&families[i]) or (n_wanted <= 0 and find_wider(&self.work, &row) != NULL) \
                    or (n_wanted == 0 and k == 1 and self.has_pairs(row.child, row.parents[0])):
                continue
            m, tables, cells = 0, 0.0, min(row.q * row.r, <double>self.n_rows)
            for j in range(self.n if n_wanted == ALL else n_wanted):
                u = j if n_wanted == ALL else families[i].wanted[j]
                if has_planes(&self.work.table, u) \
                        and (n_wanted != ALL or (k < self.max_indegree and self.can_add(&row, u))):
                    candidates[m] = <int>u
                    m += 1
                    tables += cells * self.work.table.cards[u] * sizeof(uint32_t)
            if not self.remote.add(&families[i], candidates, m, cells * (sizeof(uint64_t) + sizeof(uint32_t)), tables):
                break
        return self.remote.send() if self.is_far else 0

    cdef bint can_add(self, const Row *row, Py_ssize_t u) noexcept nogil:
        cdef Py_ssize_t i
        if u == row.child or row.r < 2 or self.work.table.cards[u] < 2:
            return False
        if not self.is_allowed(row.child, u):
            return False
        if row.q * row.r * self.work.table.cards[u] > <double>(<uint64_t>1 << MAX_CELLS_LOG2):
            return False
        if self.work.terms.penalty * row.q * (row.r - 1) * (self.work.table.cards[u] - 1) + self.step_cost(row.k) \
                + self.least_gain > min(self.headroom, self.entropies[u]):
            return False
        for i in range(row.k):
            if row.parents[i] == u:
                return False
        return True

    cdef bint has_table(self, const Row *row, Py_ssize_t u) noexcept nogil:
        # Without planes, or with a table too large, a candidate gets a cell tree of its own.
        return has_planes(&self.work.table, u) and row.n_cells * self.work.table.cards[u] < GROUP_MEMORY // 4

    cdef Py_ssize_t choose_candidates(self, Row *row) except -1 nogil:
        # Candidates with a table; offsets[u] is the start of the table of u, in cells of uint32.
        cdef int *candidates = <int *>reserve(&self.work.scratch[CANDIDATES], (self.n + 1) * sizeof(int))
        cdef int64_t *offsets = <int64_t *>reserve(&self.work.scratch[OFFSETS], (self.n + 1) * sizeof(int64_t))
        cdef Py_ssize_t u, n = 0
        for u in range(self.n):
            offsets[u] = -1
            if self.has_table(row, u) and self.can_add(row, u):
                candidates[n] = <int>u
                n += 1
        return n

    cdef Py_ssize_t make_tables(
        self, Row *row, int *candidates, Py_ssize_t first, Py_ssize_t n_candidates
    ) except -1 nogil:
        # Makes the tables of a group of candidates from number `first`; returns the first candidate of the next group.
        cdef int64_t *offsets = <int64_t *>self.work.scratch[OFFSETS].data
        cdef Py_ssize_t last = first, n_inherited
        cdef int64_t size = 0
        while last < n_candidates and size * 4 < GROUP_MEMORY:
            offsets[candidates[last]] = size
            size += row.n_cells * self.work.table.cards[candidates[last]]
            last += 1
        memset(reserve(&self.work.scratch[TABLES], (size + 1) * sizeof(uint32_t)), 0, size * sizeof(uint32_t))
        if self.remote is None:
            fill_tables(&self.work, row, candidates + first, last - first)
            return last
        n_inherited = first + choose_inheritance(&self.work, row, candidates + first, last - first)
        if row.how == AFTER_DELETING:
            sum_tables(&self.work, row, candidates + first, n_inherited - first)
        else:
            n_inherited = first
        if n_inherited < last:
            row.how = COUNTED
            self.remote.fill_tables(&self.work, row, candidates + n_inherited, last - n_inherited)
        return last

    cdef int score_candidates(self, Row *row, Py_ssize_t n_candidates, double *gains) except -1 nogil:
        # Tables are made for a group of candidates at a time; they are kept when one group holds them all.
        cdef int *candidates = <int *>self.work.scratch[CANDIDATES].data
        cdef Py_ssize_t first = 0, last, i
        while first < n_candidates:
            last = self.make_tables(row, candidates, first, n_candidates)
            for i in range(first, last):
                gains[candidates[i]] = score_table(&self.work, row, candidates[i]) - row.score
            if first == 0 and last == n_candidates:
                if not (self.keeps_tables and row.how == AFTER_DELETING):
                    store_memo(&self.work, row, candidates, n_candidates)
                return 0
            first = last
        return 0

    cdef int score_wider(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *wanted, Py_ssize_t n, double *scores,
        double *n_cells
    ) except -1 nogil:
        # Scores of the child with each of the wanted parents, and the cells that occur, by number of the parent.
        cdef int *candidates = <int *>reserve(&self.work.scratch[CANDIDATES], (self.n + 1) * sizeof(int))
        cdef int *others = <int *>reserve(&self.work.scratch[WIDER], (self.n + 1) * sizeof(int))
        cdef Py_ssize_t n_tables = 0, n_others = 0, first = 0, last, i, j, u, size
        cdef const uint32_t *table
        cdef const Family *wider
        cdef Family family = Family(child, k, parents, n, wanted)
        cdef Row row
        if self.remote is None and not self.has_own_rows(child) and fits_groups(&self.work, parents, k):
            return score_by_groups(&self.groups, &self.work, child, parents, k, wanted, n, scores, n_cells)
        reserve(&self.work.scratch[OFFSETS], (self.n + 1) * sizeof(int64_t))
        drop_memos(&self.work, child)
        if k > 0:
            self.expect(&family, 1, 1)
            self.find_cells(&row, child, parents, k)
        for i in range(n):
            if k > 0 and self.has_table(&row, wanted[i]):
                candidates[n_tables] = wanted[i]
                n_tables += 1
            else:
                others[n_others] = wanted[i]
                n_others += 1
        while first < n_tables:
            last = self.make_tables(&row, candidates, first, n_tables)
            for i in range(first, last):
                u = candidates[i]
                scores[u] = score_table(&self.work, &row, u)
                table = <const uint32_t *>self.work.scratch[TABLES].data \
                    + (<const int64_t *>self.work.scratch[OFFSETS].data)[u]
                size = 0
                for j in range(self.work.table.cards[u] * row.n_cells):
                    size += table[j] > 0
                n_cells[u] = size
            first = last
        wider = self.list_wider(child, parents, k, others, n_others)
        for i in range(n_others):   # these need cells of their own, which take the buffers of the tables
            self.expect(wider + i, 1, n_others - i)
            scores[others[i]] = self.score_terms(child, wider[i].parents, k + 1)
            n_cells[others[i]] = self.work.cells.size
        return 0

    cdef int score_untabled(self, Row *row, double *gains) except -1 nogil:
        # Candidates without a table get a cell tree each; comes last, for it uses the buffers of the cells.
        cdef int *others = <int *>reserve(&self.work.scratch[WIDER], (self.n + 1) * sizeof(int))
        cdef const Family *wider
        cdef Py_ssize_t u, i, n = 0
        for u in range(self.n):
            if not self.has_table(row, u) and self.can_add(row, u):
                others[n] = <int>u
                n += 1
        wider = self.list_wider(row.child, row.parents, row.k, others, n)
        for i in range(n):
            self.expect(wider + i, 1, n - i)
            gains[others[i]] = self.score_terms(row.child, wider[i].parents, row.k + 1) - row.score
        return 0

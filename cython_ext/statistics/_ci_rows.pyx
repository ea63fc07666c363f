"""Tests of conditional independence of discrete variables: a row of tests, and all rows of a level.

Problem: test a variable x with each of some variables y given a set S. Algorithm: the cells (S, x) that occur are found
once for all y (``_cells.pxd``). Strata (configurations of S) in which x has one state contribute nothing and are
dropped. Then each y is counted in the cells by its planes, or by the rows of small cells. With n rows in a stratum,
margins n_a, n_b and e = n_a n_b / n, over the states that occur:

    Pearson     X2 = sum (n_ab - e)^2 / e,   Yates: |n_ab - e| less 1/2 (at least 0) in strata with 1 degree of freedom
    G-square    G2 = 2 sum n_ab ln(n_ab / e) = 2 sum e ((1 + u) ln(1 + u) - u),   u = n_ab / e - 1
    degrees of freedom: sum over strata of (rows that occur - 1) (columns that occur - 1); none: p = 1
    moments     M and V, mean and variance of X2 given all margins; X2 2 M / V with 2 M^2 / V degrees of freedom

No term is negative, so statistics near 0 have no cancellation. Cost of a test: cells * (states of y - 1) * N / 512
vector operations with AVX-512. Sums run in a fixed order: the same bits for all processors and threads.
Thread-safety: one object serves one thread at a time; the loop of a level releases the GIL.
References: Haldane (1940), Biometrika 31, 346-355, and Dawson (1954), Biometrika 41, 275-276, for the moments;
Colombo and Maathuis (2014), JMLR 15, 3741-3782, for the levels.
"""

cimport cython
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _ci_statistics cimport Kind, Result, Strata, add_stratum, find_tail, test_table
from _ci_levels cimport Level, choose_wanted, is_weaker, list_members
from _cells cimport Columns, code_of, has_planes, plane_of, unpack_rows
from _segments cimport BLOCK_WORDS
from _set_path cimport SetPath, find_cells, free_path, open_path
from _simd cimport pgmx_count_and, select_simd_level
from _workspace cimport Workspace, free_workspace, init_offsets, marginals_of, set_table


cdef int SIMD = select_simd_level()

cdef enum:
    MAX_CELLS_LOG2 = 62         # cells are numbered in 64 bits
    ROWS_PER_QUESTION = 1 << 8  # rows of tests between two calls of `should_stop`


cdef enum:                      # scratch buffers
    COUNTS, REALS, COLUMNS, BIG, BIG_PLACES, BIG_COUNTS, UNPACKED, STARTS, NEIGHBOURS, BEST, WORST, DERIVED
    STATES, CONFIGS, LONE, OF_PARENT, OF_ROW, PARENTS, N_SCRATCH


@cython.final
cdef class DiscreteRows:
    """Tests of the variables of one coded table.

    Parameters
    ----------
    codes, cardinalities, planes, plane_offsets, marginals
        As for ``_families.FamilyScorer``; codes (n, 0) and planes (0, 0) if the rows are counted elsewhere.
    missing : int64 (n,)
        The code of missing values of each variable, its last; -1 if there are none.
    order : int64 (n,)
        The variable of each id.
    kind : str
        "pearson", "yates", "g_square" or "moments".
    pairs : uint32 (m, m) or None
        Counts of all pairs of planes without the last of each variable, both triangles. Tests given at most one
        variable follow from them in part: the largest cell of each stratum and the largest stratum are not counted.
    n_rows : int
        Number of rows if they are counted elsewhere: tests given nothing then follow from the pairs alone.
    """

    cdef Workspace work
    cdef SetPath path
    cdef Kind kind
    cdef Strata strata          # of the current row
    cdef Strata observed        # the same without the rows in which y is missing
    cdef Buffer[N_SCRATCH] scratch
    cdef Buffer[5] kept, rest   # memory of the two
    cdef const int64_t[::1] missing, order
    cdef bint has_missing
    cdef int64_t *starts        # first unpacked row of each cell of the row, -1: not unpacked
    cdef Py_ssize_t n_unpacked
    cdef int64_t *derived       # by cell: whether its counts are derived; NULL if all cells are counted
    cdef int32_t *states        # of x, by cell
    cdef int32_t *configs       # state of the parent, by stratum
    cdef int32_t *lone          # (state of the parent, state of x) of the strata that were dropped
    cdef Py_ssize_t x, parent, largest, n_lone  # of the row; -1 without; the largest stratum; size of `lone`
    cdef uint64_t n_questions
    cdef object owners
    cdef readonly Py_ssize_t n

    def __cinit__(
        self, codes, const int64_t[::1] cardinalities, const uint64_t[:, ::1] planes, const int64_t[::1] plane_offsets,
        const uint32_t[::1] marginals, const int64_t[::1] missing, const int64_t[::1] order, str kind,
        const uint32_t[:, ::1] pairs=None, Py_ssize_t n_rows=0
    ):
        self.n = codes.shape[0]
        self.owners = (codes, cardinalities, planes, plane_offsets, marginals, pairs)
        self.missing, self.order = missing, order
        self.has_missing = np.max(missing) >= 0
        self.kind = <Kind><int>("pearson", "yates", "g_square", "moments").index(kind)
        set_table(&self.work, codes, cardinalities, planes, plane_offsets, marginals, pairs, 0)
        self.work.table.n_rows = max(codes.shape[1], n_rows)
        if not init_offsets(&self.work):
            raise MemoryError("cannot allocate the tests of a table")
        open_path(&self.path, &self.work.table, SIMD)

    def __dealloc__(self):
        cdef int i
        free_path(&self.path)
        free_workspace(&self.work)
        for i in range(N_SCRATCH):
            release(&self.scratch[i])
        for i in range(5):
            release(&self.kept[i])
            release(&self.rest[i])

    # ---- called from Python ----

    def test_row(self, Py_ssize_t x, const int64_t[::1] ys, const int64_t[::1] z):
        """Return (statistic, dof, p-value, statistic before scaling), float64 (4, ys), of x with each y given z.

        All are ids; NaN if the cells cannot be numbered.
        """
        results = np.full((4, ys.shape[0]), NAN)
        cdef double[:, ::1] out = results
        cdef int *parents = self.read_ids(x, ys, z)
        cdef Py_ssize_t i, n_passes = 0
        cdef Result result
        with nogil:
            for i in range(ys.shape[0]):
                n_passes += self.work.table.cards[self.order[ys[i]]] - 1
            if self.open_row(self.order[x], parents, z.shape[0], ys.shape[0], n_passes):
                for i in range(ys.shape[0]):
                    self.test_variable(self.order[ys[i]], &result)
                    out[0, i], out[1, i], out[2, i], out[3, i] = \
                        result.statistic, result.dof, find_tail(&result), result.raw
        return results

    def test_counts(
        self, Py_ssize_t x, const int64_t[::1] z, const uint64_t[::1] keys, const double[::1] counts, ys,
        const double[:, ::1] tables
    ):
        """Return what ``test_row`` does, from the counts of the cells of (z, x), ascending by key.

        `tables` has all states of each of the `ys`, one after the other, by cell.
        """
        results = np.zeros((4, len(ys)))
        cdef double[:, ::1] out = results
        cdef int *parents = self.read_ids(x, np.asarray(ys, dtype=np.int64), z)
        cdef Py_ssize_t i, y, s, j, at = 0, n_cells = keys.shape[0]
        cdef double *table
        cdef Result result
        if n_cells > 0:
            self.find_strata(self.order[x], parents, z.shape[0], n_cells, &keys[0], NULL, &counts[0])
        for i, y in enumerate(ys):
            y = self.order[y]
            table = <double *>reserve(
                &self.scratch[REALS], (self.work.table.cards[y] * self.strata.n_cells + 1) * sizeof(double)
            )
            for s in range(self.work.table.cards[y] if n_cells > 0 else 0):
                for j in range(self.strata.n_cells):
                    table[s * self.strata.n_cells + j] = tables[at + s, self.strata.places[j]]
            at += self.work.table.cards[y]
            result = Result(0.0, 0.0, 0.0)
            if n_cells > 0:
                self.test_reals(y, table, &result)
            out[0, i], out[1, i], out[2, i], out[3, i] = result.statistic, result.dof, find_tail(&result), result.raw
        return results

    def run_rows(
        self, Py_ssize_t first, Py_ssize_t stop, const uint8_t[:, ::1] adjacent, Py_ssize_t size,
        const int64_t[::1] tiers, double[::1] p_values, int32_t[:, ::1] sets, should_stop=None,
        const uint8_t[:, ::1] members=None, const uint8_t[:, ::1] tested=None
    ):
        """Test the variables `first` to ``stop - 1`` in a level of sets of `size`; return (tests, sets not numbered).

        `p_values` and `sets` get the largest p-value of each neighbour of each variable, and its set, in the order of
        the rows of `adjacent` from `first` on; -1 without a test. `tiers` may be None. ``should_stop()`` is asked now
        and then; true ends the loop. Sets are chosen among `members`, by default the neighbours; those within `tested`
        are left out.
        """
        cdef Level level
        cdef Py_ssize_t x, at = 0
        cdef bint goes_on = True
        level.n, level.size, level.n_tests, level.n_refused = self.n, size, 0, 0
        level.adjacent = level.members = &adjacent[0, 0]
        level.tested, level.tiers = NULL, NULL
        if members is not None:
            level.members, level.tested = &members[0, 0], &tested[0, 0]
        if tiers is not None and size > 0:
            level.tiers = &tiers[0]
        with nogil:
            for x in range(first, stop):
                if goes_on:
                    goes_on = self.run_row(&level, x, p_values, sets, &at, should_stop)
        return level.n_tests, level.n_refused

    cdef int *read_ids(self, Py_ssize_t x, const int64_t[::1] ys, const int64_t[::1] z) except NULL:
        # The variables of a set, after a look at all ids.
        cdef int *parents = <int *>reserve(&self.scratch[PARENTS], (z.shape[0] + 1) * sizeof(int))
        cdef Py_ssize_t i
        cdef bint is_known = 0 <= x < self.n
        for i in range(ys.shape[0]):
            is_known = is_known and 0 <= ys[i] < self.n
        for i in range(z.shape[0]):
            is_known = is_known and 0 <= z[i] < self.n
            parents[i] = <int>self.order[z[i]] if is_known else 0
        if not is_known:
            raise IndexError(f"ids of variables must be from 0 to {self.n - 1}")
        return parents

    # ---- the cells of a row ----

    cdef bint open_row(
        self, Py_ssize_t x, const int *parents, Py_ssize_t k, Py_ssize_t n_tests, Py_ssize_t n_passes
    ) except -1 nogil:
        # Finds the cells of the variable x and of k others for `n_tests` tests of other variables, with `n_passes`
        # passes; False if they cannot be numbered.
        cdef const Columns *table = &self.work.table
        cdef double n_cells = table.cards[x]
        cdef Py_ssize_t i
        for i in range(k):
            n_cells *= table.cards[parents[i]]
        if n_cells > <double>(<uint64_t>1 << MAX_CELLS_LOG2):
            return False
        find_cells(
            &self.path, table, parents, k, x, self.work.marginals, self.work.state_offsets, n_tests, n_passes
        )
        self.find_strata(
            x, parents, k, self.path.cells.size, <const uint64_t *>self.path.cells.keys.data,
            <const uint32_t *>self.path.cells.counts.data, NULL
        )
        self.derived = NULL
        if self.work.pairs != NULL and has_planes(table, x) \
                and (k == 0 or (k == 1 and not self.has_missing and has_planes(table, parents[0]))):
            self.choose_derived(x, parents[0] if k > 0 else -1)
        return True

    cdef int choose_derived(self, Py_ssize_t x, Py_ssize_t parent) except -1 nogil:
        # Marks the cells whose counts follow from those of pairs, and lists the strata that were dropped.
        cdef Strata *strata = &self.strata
        cdef const uint64_t *keys = <const uint64_t *>self.path.cells.keys.data
        cdef Py_ssize_t n = self.path.cells.size, r = self.work.table.cards[x], g, i, at, begin = 0
        self.derived = <int64_t *>reserve(&self.scratch[DERIVED], (n + 1) * sizeof(int64_t))
        self.states = <int32_t *>reserve(&self.scratch[STATES], (n + 1) * sizeof(int32_t))
        self.configs = <int32_t *>reserve(&self.scratch[CONFIGS], (n + 1) * sizeof(int32_t))
        self.lone = <int32_t *>reserve(&self.scratch[LONE], 2 * (n + 1) * sizeof(int32_t))
        self.x, self.parent, self.largest, self.n_lone = x, parent, 0, 0
        for g in range(1, strata.n_strata):
            if strata.totals[g] > strata.totals[self.largest]:
                self.largest = g
        for g in range(strata.n_strata):
            at = begin
            self.configs[g] = <int32_t>(keys[strata.places[begin]] // <uint64_t>r)
            for i in range(begin, strata.ends[g]):
                self.states[i] = <int32_t>(keys[strata.places[i]] - <uint64_t>(self.configs[g] * r))
                self.derived[i] = g == self.largest
                at = i if strata.counts[i] > strata.counts[at] else at
            self.derived[at] = True
            begin = strata.ends[g]
        at = 0
        for i in range(n):
            if at < strata.n_cells and strata.places[at] == i:
                at += 1
            else:
                self.lone[2 * self.n_lone] = <int32_t>(keys[i] // <uint64_t>r)
                self.lone[2 * self.n_lone + 1] = <int32_t>(keys[i] % <uint64_t>r)
                self.n_lone += 1
        return 0

    cdef int reserve_strata(self, Strata *strata, Buffer *buffers, Py_ssize_t n) except -1 nogil:
        strata.n_cells = strata.n_strata = 0
        strata.places = <int32_t *>reserve(&buffers[0], (n + 1) * sizeof(int32_t))
        strata.counts = <double *>reserve(&buffers[1], (n + 1) * sizeof(double))
        strata.shares = <double *>reserve(&buffers[2], (n + 1) * sizeof(double))
        strata.ends = <int64_t *>reserve(&buffers[3], (n + 1) * sizeof(int64_t))
        strata.totals = <double *>reserve(&buffers[4], (n + 1) * sizeof(double))
        return 0

    cdef int find_strata(
        self, Py_ssize_t x, const int *parents, Py_ssize_t k, Py_ssize_t n, const uint64_t *keys,
        const uint32_t *counts, const double *reals     # one of the two is NULL
    ) except -1 nogil:
        cdef Strata *strata = &self.strata
        cdef uint64_t r = <uint64_t>self.work.table.cards[x], end = 0
        cdef int64_t missing = self.missing[x]
        cdef double total = 0.0
        cdef bint is_known = True
        cdef Py_ssize_t i, first = 0
        self.reserve_strata(strata, self.kept, n)
        self.starts = <int64_t *>reserve(&self.scratch[STARTS], (n + 1) * sizeof(int64_t))
        self.n_unpacked = 0
        for i in range(n):
            if keys[i] >= end:      # a new stratum
                add_stratum(strata, first, total)
                first, total = strata.n_cells, 0.0
                end = (keys[i] // r + 1) * r
                is_known = not self.has_missing or self.is_observed(parents, k, keys[i] // r)
            if is_known and not (missing >= 0 and keys[i] + r == end + <uint64_t>missing):
                strata.places[strata.n_cells] = <int32_t>i
                strata.counts[strata.n_cells] = counts[i] if counts != NULL else reals[i]
                total += strata.counts[strata.n_cells]
                strata.n_cells += 1
        add_stratum(strata, first, total)
        for i in range(strata.n_cells):
            strata.shares[i] = 1.0 / strata.counts[i]
            self.starts[i] = -1
        return 0

    cdef bint is_observed(self, const int *parents, Py_ssize_t k, uint64_t config) noexcept nogil:
        # Whether no variable of a configuration is missing.
        cdef Py_ssize_t i
        cdef uint64_t r
        for i in range(k - 1, -1, -1):
            r = <uint64_t>self.work.table.cards[parents[i]]
            if self.missing[parents[i]] >= 0 and config % r == <uint64_t>self.missing[parents[i]]:
                return False
            config //= r
        return True

    # ---- one test ----

    cdef int test_variable(self, Py_ssize_t y, Result *result) except -1 nogil:
        cdef Py_ssize_t size = self.work.table.cards[y] * self.strata.n_cells, i
        cdef uint32_t *counts
        cdef double *table
        result[0] = Result(0.0, 0.0, 0.0)
        if self.strata.n_cells == 0:
            return 0
        counts = <uint32_t *>reserve(&self.scratch[COUNTS], size * sizeof(uint32_t))
        table = <double *>reserve(&self.scratch[REALS], size * sizeof(double))
        self.count_variable(y, counts)
        for i in range(size):
            table[i] = counts[i]
        return self.test_reals(y, table, result)

    cdef int count_variable(self, Py_ssize_t y, uint32_t *counts) except -1 nogil:
        # Writes the rows by state of y and by cell.
        cdef const Columns *table = &self.work.table
        cdef const uint64_t **planes = <const uint64_t **>self.path.cells.planes.data
        cdef Py_ssize_t r = table.cards[y], c = self.strata.n_cells, n_big = 0, i, s, j, begin = 0, end, step
        cdef const uint64_t **big = <const uint64_t **>reserve(&self.scratch[BIG], (c + 1) * sizeof(void *))
        cdef int64_t *places = <int64_t *>reserve(&self.scratch[BIG_PLACES], (c + 1) * sizeof(int64_t))
        cdef uint32_t *big_counts = <uint32_t *>reserve(&self.scratch[BIG_COUNTS], (c + 1) * sizeof(uint32_t))
        cdef bint by_planes = has_planes(table, y), derives = self.derived != NULL and by_planes
        cdef uint32_t rest
        memset(counts, 0, r * c * sizeof(uint32_t))
        for i in range(c):
            if derives and self.derived[i]:
                continue
            if by_planes and planes[self.strata.places[i]] != NULL:
                big[n_big], places[n_big] = planes[self.strata.places[i]], i
                n_big += 1
            else:
                self.count_rows(y, i, counts)
        step = max(BLOCK_WORDS // (n_big + 4) // 8 * 8, 256)
        while begin < table.n_words and n_big > 0:
            end = min(begin + step, table.n_words)
            for s in range(r - 1):
                if n_big == c:
                    pgmx_count_and(plane_of(table, y, s), big, c, begin, end, counts + s * c)
                    continue
                memset(big_counts, 0, n_big * sizeof(uint32_t))
                pgmx_count_and(plane_of(table, y, s), big, n_big, begin, end, big_counts)
                for j in range(n_big):
                    counts[s * c + places[j]] += big_counts[j]
            begin = end
        for j in range(n_big):
            rest = <uint32_t>self.strata.counts[places[j]]
            for s in range(r - 1):
                rest -= counts[s * c + places[j]]
            counts[(r - 1) * c + places[j]] = rest
        return self.derive(y, counts) if derives else 0

    cdef int derive(self, Py_ssize_t y, uint32_t *counts) except -1 nogil:
        # Completes the counts of a row given at most one variable from those of pairs.
        cdef const Strata *strata = &self.strata
        cdef Py_ssize_t c = strata.n_cells, r = self.work.table.cards[y], g, i, b, last, begin = 0
        cdef uint32_t *of_row = self.read_pairs(self.x, y, &self.scratch[OF_ROW])     # minus the known counts
        cdef uint32_t *of_parent = NULL
        cdef uint32_t *whole
        cdef uint32_t rest
        if self.parent >= 0:
            of_parent = self.read_pairs(self.parent, y, &self.scratch[OF_PARENT])
        for i in range(self.n_lone if self.parent >= 0 else 0):
            whole = of_parent + self.lone[2 * i] * r
            for b in range(r):
                of_row[self.lone[2 * i + 1] * r + b] -= whole[b]
        for g in range(strata.n_strata):
            if g != self.largest:
                whole = of_parent + self.configs[g] * r
                last = begin
                for i in range(begin, strata.ends[g]):
                    last = i if self.derived[i] else last
                for b in range(r):
                    rest = whole[b]
                    for i in range(begin, strata.ends[g]):
                        rest -= counts[b * c + i]
                    counts[b * c + last] = rest
                    for i in range(begin, strata.ends[g]):
                        of_row[self.states[i] * r + b] -= counts[b * c + i]
            begin = strata.ends[g]
        begin = strata.ends[self.largest - 1] if self.largest > 0 else 0
        for i in range(begin, strata.ends[self.largest]):
            whole = of_row + self.states[i] * r
            for b in range(r):
                counts[b * c + i] = whole[b]
        return 0

    cdef uint32_t *read_pairs(self, Py_ssize_t v, Py_ssize_t y, Buffer *buffer) except NULL nogil:
        # The joint counts (states of v, states of y) of two variables with planes.
        cdef Py_ssize_t rv = self.work.table.cards[v], r = self.work.table.cards[y], i, b
        cdef uint32_t *out = <uint32_t *>reserve(buffer, rv * r * sizeof(uint32_t))
        cdef uint32_t *last = out + (rv - 1) * r
        cdef const uint32_t *row = self.work.pairs + self.work.pair_offsets[v] * self.work.pair_width \
            + self.work.pair_offsets[y]
        cdef uint32_t rest
        memcpy(last, marginals_of(&self.work, y), r * sizeof(uint32_t))
        for i in range(rv - 1):
            rest = marginals_of(&self.work, v)[i]
            for b in range(r - 1):
                out[i * r + b] = row[b]
                rest -= row[b]
                last[b] -= row[b]
            out[i * r + r - 1] = rest
            last[r - 1] -= rest
            row += self.work.pair_width
        return out

    cdef int count_rows(self, Py_ssize_t y, Py_ssize_t i, uint32_t *counts) except -1 nogil:
        # Adds the rows of cell i, one by one.
        cdef const Columns *table = &self.work.table
        cdef Py_ssize_t node = self.strata.places[i], c = self.strata.n_cells, j, n = <Py_ssize_t>self.strata.counts[i]
        cdef const uint64_t *plane = (<const uint64_t **>self.path.cells.planes.data)[node]
        cdef const uint32_t *rows
        cdef const uint8_t *codes
        cdef uint32_t *unpacked
        if plane == NULL:
            rows = <const uint32_t *>self.path.cells.rows.data + (<const uint32_t *>self.path.cells.starts.data)[node]
        else:       # unpacked at its first use
            unpacked = <uint32_t *>reserve(&self.scratch[UNPACKED], (table.n_rows + 1) * sizeof(uint32_t))
            if self.starts[i] < 0:
                self.starts[i] = self.n_unpacked
                unpack_rows(plane, <uint32_t>n, unpacked + self.n_unpacked)
                self.n_unpacked += n
            rows = unpacked + self.starts[i]
        counts += i
        if table.codes8 != NULL:
            codes = table.codes8 + table.code_starts[y]
            for j in range(n):
                counts[codes[rows[j]] * c] += 1
            return 0
        for j in range(n):
            counts[code_of(table, y, rows[j]) * c] += 1
        return 0

    cdef int test_reals(self, Py_ssize_t y, double *table, Result *result) except -1 nogil:
        # The test of y from its table (states, cells), which is overwritten.
        cdef Py_ssize_t r = self.work.table.cards[y], c = self.strata.n_cells, g, i, s, begin = 0, first
        cdef double *columns = <double *>reserve(&self.scratch[COLUMNS], r * sizeof(double))
        cdef Strata *observed = &self.observed
        cdef double total, count
        if self.missing[y] < 0:
            test_table(self.kind, &self.strata, table, columns, r, result)
            return 0
        # the margins of x without the rows in which y, in its last state, is missing
        r -= 1
        self.reserve_strata(observed, self.rest, c)
        for g in range(self.strata.n_strata):
            first, total = observed.n_cells, 0.0
            for i in range(begin, self.strata.ends[g]):
                count = self.strata.counts[i] - table[r * c + i]
                if count > 0.0:
                    observed.places[observed.n_cells], observed.counts[observed.n_cells] = <int32_t>i, count
                    observed.shares[observed.n_cells] = 1.0 / count
                    observed.n_cells += 1
                    total += count
            add_stratum(observed, first, total)
            begin = self.strata.ends[g]
        for s in range(r):
            for i in range(observed.n_cells):       # no value is overwritten before it is read
                table[s * observed.n_cells + i] = table[s * c + observed.places[i]]
        test_table(self.kind, observed, table, columns, r, result)
        return 0

    # ---- a level ----

    cdef bint run_row(
        self, Level *level, Py_ssize_t x, double[::1] p_values, int32_t[:, ::1] sets, Py_ssize_t *at, should_stop
    ) except -1 nogil:
        # The tests of x given all sets of its pool, in lexicographic order; False if they were stopped.
        cdef int *neighbours = <int *>reserve(&self.scratch[NEIGHBOURS], (6 * self.n + 1) * sizeof(int))
        cdef int *pool = neighbours + self.n
        cdef int *wanted = pool + self.n
        cdef int *z = wanted + self.n
        cdef int *chosen = z + self.n
        cdef int *parents = chosen + self.n
        cdef Result *best           # by neighbour
        cdef Result *worse          # a test with a smaller p-value
        cdef Result result
        cdef Py_ssize_t first = at[0], size = level.size, i, j, k, n_wanted, n_passes
        cdef Py_ssize_t degree = list_members(level.adjacent + x * self.n, self.n, neighbours)
        cdef Py_ssize_t n_pool = list_members(level.members + x * self.n, self.n, pool)
        cdef double tail
        at[0] += degree
        if degree == 0 or n_pool < size:
            return True
        best = <Result *>reserve(&self.scratch[BEST], degree * sizeof(Result))
        worse = <Result *>reserve(&self.scratch[WORST], degree * sizeof(Result))
        for j in range(size):
            z[j] = <int>j
        while True:
            for j in range(size):
                chosen[j] = pool[z[j]]
                parents[j] = <int>self.order[chosen[j]]
            n_wanted = choose_wanted(level, x, neighbours, degree, chosen, wanted)
            if n_wanted > 0:
                self.n_questions += 1
                if should_stop is not None and self.n_questions % ROWS_PER_QUESTION == 0 and self.ask(should_stop):
                    return False
                n_passes = 0
                for j in range(n_wanted):
                    n_passes += self.work.table.cards[self.order[neighbours[wanted[j]]]] - 1
                if not self.open_row(self.order[x], parents, size, n_wanted, n_passes):
                    level.n_refused += n_wanted
                    n_wanted = 0
                level.n_tests += n_wanted
            for j in range(n_wanted):
                i = wanted[j]
                self.test_variable(self.order[neighbours[i]], &result)
                if p_values[first + i] >= 0.0 and result.dof > 0.0 \
                        and (is_weaker(&result, &best[i]) or is_weaker(&result, &worse[i])):
                    continue
                tail = find_tail(&result)
                if tail > p_values[first + i]:
                    if p_values[first + i] < 0.0:
                        worse[i] = Result(0.0, 0.0, 0.0)
                    p_values[first + i] = tail
                    best[i] = result
                    for k in range(size):
                        sets[first + i, k] = chosen[k]
                elif result.dof > worse[i].dof or (
                    result.dof == worse[i].dof and result.statistic < worse[i].statistic
                ):
                    worse[i] = result
            j = size - 1
            while j >= 0 and z[j] == n_pool - size + j:
                j -= 1
            if j < 0:
                return True
            z[j] += 1
            for i in range(j + 1, size):
                z[i] = z[i - 1] + 1

    cdef bint ask(self, should_stop) except -1 with gil:
        return bool(should_stop())

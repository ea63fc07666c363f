"""Family scores of rows with real weights, and the gain of every parent that can be added to or removed from a child.

Problem and interface are as in ``_families.pyx``; counts are sums of weights. Algorithm: once per child, every row gets
the index of its cell, the combination of its states of (parents, child). A candidate u then needs one pass over the
rows that adds each weight to T[state of u][cell]. Indices of cells are dense and follow the order of the combinations,
the child fastest, so the cells of one parent configuration are neighbours. Small tables are summed in four copies, each
for one row in four, so that an addition does not wait for the previous one.

Cost of a row of gains: about 1 ns per row of data and candidate, and a logarithm per cell.
Thread-safety: one scorer serves one thread at a time; the row methods release the GIL.
References: Koller & Friedman (2009), section 18.4.3 (decomposable scores).
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport bsearch, free, malloc, qsort
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _cells cimport compare_u64
from _merge cimport Merge, free_merge, merge_cells
from _row_weights cimport COPIED_CELLS, add_weights

from pgmx._ext._remote_families cimport MESSAGE_MEMORY, RemoteWeights
from pgmx._ext._scorer cimport ALL, MAX_CELLS_LOG2, TABLE_MEMORY, Family, Scorer


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)
    double pgmx_log_rising_real(double a, double n)


cdef enum:                      # scratch buffers, numbered from 0
    CELL_OF_ROW, KEYS, OLD_KEYS, WEIGHTS, ENDS, TABLE, SUMS, RANKS, PRODUCTS, LATER, WANTED, COLUMN, N_SCRATCH


def dirichlet_terms(const double[::1] a, const double[::1] n) -> float:
    """Return the sum of ln Gamma(n_i + a_i) - ln Gamma(a_i), a positive, n not negative."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        total += pgmx_log_rising_real(a[i], n[i])
    return total


@cython.final
cdef class WeightedFamilyScorer(Scorer):
    """Scores of the families of one coded table with row weights, under one decomposable score.

    Parameters
    ----------
    codes : uint8 or uint16 (columns, rows), C-contiguous
        Column-coded table, (n, N) without the next argument.
    starts : int64 (n,), optional
        Position of the first code of each variable if variables are views of columns.
    runs : int64 (2 m,), optional
        The N rows that count: of each run of adjacent rows the first, by its distance from the start, and the number.
    cardinalities : int64 (n,)
        States of each variable.
    weights : float64 (N,)
        Non-negative; their sum replaces the number of rows.
    dirichlet, per_cell, observed, prior, penalty
        The terms of the score, see ``_terms.pxd``.
    equivalent : bool
        Whether Markov equivalent graphs have the same score; then opposite arcs between parentless variables tie.
    allowed : uint8 (n, n) or None
        ``allowed[child, parent]``: 0 forbids the arc; its gain is -inf.
    max_indegree : int
        A child with `max_indegree` parents has no gains of additions.
    names : sequence, optional
        Names of the variables, for messages.
    ask, n_rows : callable and int, optional
        If workers sum the weights of rows, see ``_remote_families.pyx``; then codes and weights have no rows.
    """

    cdef Py_ssize_t n_rows
    cdef RemoteWeights remote           # None if the rows are local
    cdef const char *codes
    cdef size_t code_size               # bytes
    cdef int64_t *starts                # of each variable: its first code
    cdef const int64_t *runs            # NULL if the codes of all rows that count are adjacent
    cdef Py_ssize_t n_runs
    cdef const int64_t *cards
    cdef const double *weights
    cdef bint dirichlet, per_cell, observed, equivalent
    cdef double prior, penalty, total
    cdef Merge merge
    cdef Buffer[N_SCRATCH] scratch
    cdef Py_ssize_t n_cells, n_configs          # of the family numbered last
    cdef Family numbered                        # this family, if rows are remote

    def __cinit__(
        self,
        codes,
        const int64_t[::1] cardinalities,
        const double[::1] weights,
        *,
        bint dirichlet=False,
        bint per_cell=False,
        bint observed=False,
        double prior=0.0,
        double penalty=0.0,
        bint equivalent=True,
        const uint8_t[:, ::1] allowed=None,
        Py_ssize_t max_indegree=1 << 30,
        names=None,
        ask=None,
        Py_ssize_t n_rows=0,
        const int64_t[::1] starts=None,
        const int64_t[::1] runs=None,
    ):
        cdef Py_ssize_t v
        self.set_up(cardinalities.shape[0], allowed, max_indegree, names)
        self.remote = None if ask is None else RemoteWeights(ask, cardinalities)
        self.n_rows = weights.shape[0] if ask is None else n_rows
        self.is_far = ask is not None
        self.owners = (codes, cardinalities, weights, runs)
        self.cards = &cardinalities[0]
        if ask is None:
            self.weights = &weights[0]
            self.borrow_codes(codes, starts, runs)
        self.dirichlet, self.per_cell, self.observed = dirichlet, per_cell, observed
        self.prior, self.penalty, self.equivalent = prior, penalty, equivalent
        for v in range(self.n):
            self.number_cells(NULL, 0, v)
            self.total = self.weigh_cells()
            self.alone[v] = self.score_cells(1.0, v)
        self.choose_unit(1e12)

    def __dealloc__(self):
        cdef Py_ssize_t i
        free(self.starts)
        free_merge(&self.merge)
        for i in range(N_SCRATCH):
            release(&self.scratch[i])

    cdef int borrow_codes(self, codes, const int64_t[::1] starts, const int64_t[::1] runs) except -1:
        cdef const uint8_t[:, ::1] narrow
        cdef const uint16_t[:, ::1] wide
        cdef Py_ssize_t v
        self.code_size = codes.itemsize
        if self.code_size == 1:
            narrow = codes
            self.codes = <const char *>&narrow[0, 0]
        else:
            wide = codes
            self.codes = <const char *>&wide[0, 0]
        self.starts = <int64_t *>malloc(self.n * sizeof(int64_t))
        if self.starts == NULL:
            raise MemoryError(f"cannot list the columns of {self.n} variables")
        for v in range(self.n):
            self.starts[v] = v * self.n_rows if starts is None else starts[v]
            if runs is not None and runs.shape[0] == 2:
                self.starts[v] += runs[0]
        if runs is not None and runs.shape[0] > 2:
            self.runs, self.n_runs = &runs[0], runs.shape[0] // 2
        return 0

    # ---- called from Python ----

    def family_counts(self, Py_ssize_t child, const int[::1] parents):
        """Return ``(keys, weights)`` of the cells that occur, ascending: uint64 and float64 arrays.

        A key is the mixed radix number of the states of (parents..., child), the child fastest.
        """
        keys, weights, _ = self.count(child, parents, np.empty(0, dtype=np.int32))
        return keys[weights > 0], weights[weights > 0]

    def count(self, int child, const int[::1] parents, const int[::1] wanted):
        """Return ``(keys, weights, tables)`` of ``child`` with ``parents`` and the candidates ``wanted``.

        The cells that occur, ascending: their keys, uint64, and the weights of their rows, float64. Then float64
        (states of all wanted, cells): these weights by the state of a candidate, in the order of the candidates.
        """
        cdef Py_ssize_t i, u, at = 0
        cdef double[:, ::1] out
        self.find_cells(child, &parents[0] if parents.shape[0] > 0 else NULL, parents.shape[0])
        tables = np.empty((sum([self.cards[wanted[i]] for i in range(wanted.shape[0])]), self.n_cells))
        out = tables
        with nogil:
            for i in range(wanted.shape[0]):
                u = wanted[i]
                memcpy(&out[at, 0], self.count_table(u), self.cards[u] * self.n_cells * sizeof(double))
                at += self.cards[u]
        keys = np.array(<const uint64_t[:self.n_cells]><const uint64_t *>self.scratch[KEYS].data)
        return keys, np.array(<const double[:self.n_cells]><const double *>self.scratch[WEIGHTS].data), tables

    # ---- formulas ----

    cdef inline double term(self, double a, double n) noexcept nogil:
        if n < 1e-300:
            return 0.0
        return pgmx_log_rising_real(a, n) if self.dirichlet else n * pgmx_log(n)

    cdef double score_sums(
        self, const double *cells, Py_ssize_t n, const double *configs, Py_ssize_t m, double q, Py_ssize_t child
    ) noexcept nogil:
        # The score of a family whose n cells and m parent configurations have these weights.
        cdef Py_ssize_t r = self.cards[child], i
        cdef double shared = q, prior, score = 0.0
        if self.observed:
            shared = 0
            for i in range(m):
                shared += configs[i] > 0
        prior = self.prior / (shared * r) if self.per_cell else self.prior
        for i in range(n):
            score += self.term(prior, cells[i])
        prior = self.prior / shared if self.per_cell else self.prior * r
        for i in range(m):
            score -= self.term(prior, configs[i])
        return score - self.penalty * q * (r - 1)

    cdef double score_cells(self, double q, Py_ssize_t child) except? -1 nogil:
        # The score of the family numbered last.
        cdef const double *weights = <const double *>self.scratch[WEIGHTS].data
        cdef double *sums = <double *>reserve(&self.scratch[SUMS], (self.n_configs + 1) * sizeof(double))
        self.sum_configs(weights, sums)
        return self.score_sums(weights, self.n_cells, sums, self.n_configs, q, child)

    cdef void sum_configs(self, const double *cells, double *sums) noexcept nogil:
        cdef const int64_t *ends = <const int64_t *>self.scratch[ENDS].data
        cdef Py_ssize_t g, i = 0
        for g in range(self.n_configs):
            sums[g] = 0.0
            while i < ends[g]:
                sums[g] += cells[i]
                i += 1

    # ---- cells ----

    cdef const char *find_column(self, Py_ssize_t v) except NULL nogil:
        # The codes of the rows that count; a copy of those of one variable if they are not adjacent.
        cdef const char *codes = self.codes + self.starts[v] * self.code_size
        cdef char *column
        cdef char *end
        cdef Py_ssize_t i
        if self.runs == NULL:
            return codes
        column = end = <char *>reserve(&self.scratch[COLUMN], self.n_rows * self.code_size)
        for i in range(self.n_runs):
            memcpy(end, codes + self.runs[2 * i] * self.code_size, self.runs[2 * i + 1] * self.code_size)
            end += self.runs[2 * i + 1] * self.code_size
        return column

    cdef inline Py_ssize_t code_of(self, const char *column, Py_ssize_t row) noexcept nogil:
        return (<const uint8_t *>column)[row] if self.code_size == 1 else (<const uint16_t *>column)[row]

    cdef int number_cells(self, const int *parents, Py_ssize_t k, Py_ssize_t child) except -1 nogil:
        # Finds the cells: KEYS has them ascending, ENDS the end of each configuration; remote cells get weights too.
        cdef uint64_t r = <uint64_t>self.cards[child]
        cdef Py_ssize_t i
        cdef const uint64_t *keys
        cdef int64_t *ends
        if self.remote is None:
            self.number_rows(parents, k, child)
        else:
            self.numbered = Family(child, k, parents, 0, NULL)
            self.n_cells = self.remote.fill_cells(&self.numbered, &self.scratch[KEYS], &self.scratch[WEIGHTS])
        keys = <const uint64_t *>self.scratch[KEYS].data
        ends = <int64_t *>reserve(&self.scratch[ENDS], (self.n_cells + 1) * sizeof(int64_t))
        self.n_configs = 0
        for i in range(self.n_cells):
            if i + 1 == self.n_cells or keys[i + 1] // r != keys[i] // r:
                ends[self.n_configs] = i + 1
                self.n_configs += 1
        return 0

    cdef int number_rows(self, const int *parents, Py_ssize_t k, Py_ssize_t child) except -1 nogil:
        # Gives every row the index of its cell.
        cdef int32_t *cell = <int32_t *>reserve(&self.scratch[CELL_OF_ROW], self.n_rows * sizeof(int32_t))
        cdef uint64_t *keys = <uint64_t *>reserve(&self.scratch[KEYS], (self.n_rows + 1) * sizeof(uint64_t))
        cdef Py_ssize_t level
        memset(cell, 0, self.n_rows * sizeof(int32_t))
        keys[0] = 0
        self.n_cells = 1
        for level in range(k + 1):
            self.split_cells(parents[level] if level < k else child, cell, keys)
        return 0

    cdef int split_cells(self, Py_ssize_t v, int32_t *cell, uint64_t *keys) except -1 nogil:
        # Splits every cell by the states of v: by marks if cells times states are few, else by sorting.
        cdef uint64_t *old = <uint64_t *>reserve(&self.scratch[OLD_KEYS], (self.n_rows + 1) * sizeof(uint64_t))
        cdef const char *column = self.find_column(v)
        cdef uint64_t *products
        cdef uint64_t *place
        cdef uint64_t key
        cdef int32_t *rank
        cdef Py_ssize_t r = self.cards[v], n_products = self.n_cells * r, i, n = 0
        memcpy(old, keys, self.n_cells * sizeof(uint64_t))
        if n_products <= 8 * self.n_rows + 65536:
            rank = <int32_t *>reserve(&self.scratch[RANKS], n_products * sizeof(int32_t))
            memset(rank, 0, n_products * sizeof(int32_t))
            for i in range(self.n_rows):
                rank[cell[i] * r + self.code_of(column, i)] = 1
            for i in range(n_products):
                if rank[i]:
                    rank[i] = <int32_t>n
                    keys[n] = old[i // r] * <uint64_t>r + <uint64_t>(i % r)
                    n += 1
            for i in range(self.n_rows):
                cell[i] = rank[cell[i] * r + self.code_of(column, i)]
        else:
            products = <uint64_t *>reserve(&self.scratch[PRODUCTS], (self.n_rows + 1) * sizeof(uint64_t))
            for i in range(self.n_rows):
                products[i] = old[cell[i]] * <uint64_t>r + <uint64_t>self.code_of(column, i)
            qsort(products, self.n_rows, sizeof(uint64_t), compare_u64)
            for i in range(self.n_rows):
                if i == 0 or products[i] != products[i - 1]:
                    keys[n] = products[i]
                    n += 1
            for i in range(self.n_rows):
                key = old[cell[i]] * <uint64_t>r + <uint64_t>self.code_of(column, i)
                place = <uint64_t *>bsearch(&key, keys, n, sizeof(uint64_t), compare_u64)
                cell[i] = <int32_t>(place - keys)
        self.n_cells = n
        return 0

    cdef double weigh_cells(self) except? -1 nogil:
        # Fills WEIGHTS and returns the sum of all weights.
        cdef const int32_t *cell = <const int32_t *>self.scratch[CELL_OF_ROW].data
        cdef double *weights = <double *>reserve(&self.scratch[WEIGHTS], (self.n_cells + 1) * sizeof(double))
        cdef double total = 0.0
        cdef Py_ssize_t i
        if self.remote is None:
            memset(weights, 0, self.n_cells * sizeof(double))
            for i in range(self.n_rows):
                weights[cell[i]] += self.weights[i]
        for i in range(self.n_cells):
            total += weights[i]
        return total

    cdef double count_configs(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        # Returns q; refuses a family whose cells cannot be numbered.
        cdef double q = self.multiply_cards(parents, k)
        if q * self.cards[child] > <double>(<uint64_t>1 << MAX_CELLS_LOG2):
            self.refuse_cells(child, k, q)
        return q

    cdef double multiply_cards(self, const int *parents, Py_ssize_t k) noexcept nogil:
        cdef double q = 1.0
        cdef Py_ssize_t i
        for i in range(k):
            q *= self.cards[parents[i]]
        return q

    cdef double find_cells(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        # Numbers and weighs the cells of a family; returns q.
        cdef double q = self.count_configs(child, parents, k)
        self.number_cells(parents, k, child)
        self.weigh_cells()
        return q

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        return self.score_cells(self.find_cells(child, parents, k), child) if k > 0 else self.alone[child]

    cdef double *count_table(self, Py_ssize_t u) except NULL nogil:
        # The weights of (state of u, cell).
        cdef Py_ssize_t size = self.n_cells * self.cards[u]
        cdef double *table = <double *>reserve(
            &self.scratch[TABLE], (size if size > COPIED_CELLS else 4 * size) * sizeof(double)
        )
        cdef const int32_t *cell = <const int32_t *>self.scratch[CELL_OF_ROW].data
        cdef const char *column
        if self.remote is not None:
            self.ask_tables(u)
            self.remote.fill_table(&self.numbered, u, table)
            return table
        column = self.find_column(u)
        if self.code_size == 1:
            add_weights(<const uint8_t *>column, cell, self.weights, self.n_rows, self.n_cells, table, size)
        else:
            add_weights(<const uint16_t *>column, cell, self.weights, self.n_rows, self.n_cells, table, size)
        return table

    cdef int ask_tables(self, Py_ssize_t u) except -1 nogil:
        # One message for the table of u and the next tables of the family numbered last, if it is not there.
        cdef int *wanted = <int *>reserve(&self.scratch[WANTED], (self.n + 1) * sizeof(int))
        cdef double cells = self.n_cells
        cdef Py_ssize_t n
        if self.remote.has_table(&self.numbered, u):
            return 0
        n = self.list_candidates(&self.numbered, u, self.cards, cells, MESSAGE_MEMORY, wanted, &cells)
        return self.remote.request(&self.numbered, wanted, n)

    # ---- gains ----

    cdef bint can_add(self, Py_ssize_t child, Py_ssize_t u) noexcept nogil:
        return u != child and self.cards[u] > 1 and self.cards[child] > 1 and self.is_allowed(child, u)

    cdef int prepare_pairs(self, Py_ssize_t a) except -1 nogil:
        cdef int *wanted = <int *>reserve(&self.scratch[WANTED], (self.n + 1) * sizeof(int))
        cdef Family alone = Family(a, 0, NULL, 0, NULL)
        cdef Py_ssize_t u, n = 0
        if self.remote is not None:     # no message: they come from the sums of all pairs
            for u in range(a + 1, self.n):
                if self.cards[a] * self.cards[u] <= TABLE_MEMORY // 8 and (self.can_add(a, u) or self.can_add(u, a)):
                    wanted[n] = <int>u
                    n += 1
            self.remote.request(&alone, wanted, n)
        return self.number_cells(NULL, 0, a)

    cdef int expect(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 nogil:
        # As in ``FamilyScorer``.
        cdef int *wanted = <int *>reserve(&self.scratch[WANTED], (self.n + 1) * sizeof(int))
        cdef const Family *one
        cdef double cells, tables
        cdef Py_ssize_t i, m
        for i in range(n):
            one = &families[i]
            if i >= n_needed and self.remote.n_asked == 0:
                break
            cells = self.multiply_cards(one.parents, one.k) * self.cards[one.child]
            if cells > <double>(<uint64_t>1 << MAX_CELLS_LOG2) or self.remote.has(one) \
                    or one.k == 0 or (one.k == 1 and one.n_wanted == 0):    # answered from the sums of all pairs
                continue
            m, tables, cells = 0, 0.0, min(cells, <double>self.n_rows)
            if one.n_wanted == ALL and one.k < self.max_indegree:
                m = self.list_candidates(one, 0, self.cards, cells, INFINITY, wanted, &tables)
            if not self.remote.add(one, wanted, m, cells * (sizeof(uint64_t) + sizeof(double)), tables):
                break
        return self.remote.send()

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        # Gains of b -> a (of_a) and of a -> b (of_b) while both are without parents, a < b; a was numbered last.
        cdef Py_ssize_t rb = self.cards[b], c = self.n_cells, s, i
        cdef int first = <int>a, second = <int>b
        cdef bint to_a = self.can_add(a, b), to_b = self.can_add(b, a), wide = c * rb > TABLE_MEMORY // 8
        cdef double *table = NULL
        cdef double *sums_b = NULL
        cdef double *sums_a = NULL
        cdef double score
        of_a[0] = of_b[0] = -INFINITY
        if self.max_indegree == 0 or not (to_a or to_b):
            return 0
        if not wide:
            table = self.count_table(b)
            sums_b = <double *>reserve(&self.scratch[SUMS], (rb + c) * sizeof(double))
            sums_a = sums_b + rb
            memset(sums_b, 0, (rb + c) * sizeof(double))
            for s in range(rb):
                for i in range(c):
                    sums_b[s] += table[s * c + i]
                    sums_a[i] += table[s * c + i]
        if self.equivalent or to_a:
            score = self.score_terms(a, &second, 1) if wide else self.score_sums(table, rb * c, sums_b, rb, rb, a)
            of_a[0] = self.round_gain(score - self.alone[a])
        if self.equivalent:
            of_b[0] = of_a[0] if to_b else -INFINITY
        elif to_b:
            score = self.score_terms(b, &first, 1) if wide \
                else self.score_sums(table, rb * c, sums_a, c, self.cards[a], b)
            of_b[0] = self.round_gain(score - self.alone[b])
        if not to_a:
            of_a[0] = -INFINITY
        return self.number_cells(NULL, 0, a) if wide else 0

    cdef double score_without(self, Py_ssize_t child, const int *parents, Py_ssize_t k, Py_ssize_t d, double q) \
            except? -1 nogil:
        # The family score after deleting parent number d, by adding up cells.
        cdef Py_ssize_t r = self.cards[child], p = parents[d], i, m = 0
        cdef uint64_t stride = <uint64_t>r
        cdef const double *weights = <const double *>self.scratch[WEIGHTS].data
        cdef const uint64_t *keys
        cdef const int64_t *target
        cdef double *cells
        cdef double *configs
        for i in range(d + 1, k):
            stride *= <uint64_t>self.cards[parents[i]]
        merge_cells(
            &self.merge, <const uint64_t *>self.scratch[KEYS].data, self.n_cells, stride, <uint64_t>self.cards[p]
        )
        cells = <double *>reserve(&self.scratch[SUMS], 2 * (self.n_cells + 1) * sizeof(double))
        configs = cells + self.merge.size
        memset(cells, 0, 2 * self.merge.size * sizeof(double))
        keys = <const uint64_t *>self.merge.keys.data
        target = <const int64_t *>self.merge.target.data
        for i in range(self.n_cells):
            cells[target[i]] += weights[i]
        for i in range(self.merge.size):
            m += i > 0 and keys[i] // <uint64_t>r != keys[i - 1] // <uint64_t>r
            configs[m] += cells[i]
        return self.score_sums(cells, self.merge.size, configs, m + 1, q / self.cards[p], child)

    cdef double score_with(self, Py_ssize_t child, Py_ssize_t u, double q) except? -1 nogil:
        # The family score with u added, from its table.
        cdef Py_ssize_t ru = self.cards[u], s
        cdef double *table = self.count_table(u)
        cdef double *sums = <double *>reserve(&self.scratch[SUMS], ru * self.n_configs * sizeof(double))
        for s in range(ru):
            self.sum_configs(table + s * self.n_cells, sums + s * self.n_configs)
        return self.score_sums(table, ru * self.n_cells, sums, ru * self.n_configs, q * ru, child)

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef double score, q, limit = <double>(<uint64_t>1 << MAX_CELLS_LOG2) / self.cards[child]
        cdef int *later = <int *>reserve(&self.scratch[LATER], (self.n + 1) * sizeof(int))
        cdef Py_ssize_t u, i, n_later = 0
        cdef Family family = Family(child, k, parents, ALL, NULL)
        cdef const Family *wider
        if k == 0:
            self.row_without_parents(child, gains)
            return self.alone[child]
        if self.remote is not None:
            self.expect(&family, 1, 1)
        q = self.find_cells(child, parents, k)
        score = self.score_cells(q, child)
        i = 0
        for u in range(self.n):
            gains[u] = -INFINITY
            if i < k and parents[i] == u:
                gains[u] = self.round_gain(self.score_without(child, parents, k, i, q) - score)
                i += 1
            elif k < self.max_indegree and self.can_add(child, u) and q * self.cards[u] <= limit:
                if self.n_cells * self.cards[u] <= TABLE_MEMORY // 8:
                    gains[u] = self.round_gain(self.score_with(child, u, q) - score)
                else:
                    later[n_later] = <int>u
                    n_later += 1
        wider = self.list_wider(child, parents, k, later, n_later)
        for i in range(n_later):    # these take the buffers of the cells
            if self.remote is not None:
                self.expect(wider + i, 1, n_later - i)
            gains[later[i]] = self.round_gain(self.score_terms(child, wider[i].parents, k + 1) - score)
        return score

"""Weights of pairs of variables, one block of rows of the weight matrix at a time.

Problem: the best forest over n variables needs the gain of an arc between any two of them, n (n - 1) / 2 tables, each
once. Algorithm: the bit planes of eight states of a block stay in the cache while the planes of all other variables are
read. With a class variable the rows of the data are sorted by its state, each state is padded to an integer number of
vectors, and a count within a state is a count over a range of words.
Cost of a weight: (states - 1)^2 * N/512 vector operations with AVX-512, and one look-up per cell of its table.
Thread-safety: a ``PairWeights`` serves one thread, since it caches terms.
Reference: Chow & Liu (1968), IEEE Transactions on Information Theory 14, 462-467.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _simd cimport pgmx_count_and, select_simd_level
from _terms cimport Terms, TermTable, cell_terms, config_terms, free_terms, init_terms, sum_terms, term

cdef int SIMD = select_simd_level()

cdef enum:
    TILE_WORDS = 256            # words of a plane that are read together
    CELLS_AT_ONCE = 8           # planes of a block that stay in the first cache
    BLOCK_PLANES = 32           # planes of a block that the same planes of others are counted against
    CHUNK_PLANES = 64           # planes of others counted against the block before their weights are computed

cdef enum:                      # scratch buffers
    CELLS, COUNTS, TABLE, N_SCRATCH


cdef struct Block:              # variables whose rows are wanted
    Py_ssize_t n
    const int64_t *ids
    double *weights             # their destination, by rows of `width`
    const int64_t *rows
    Py_ssize_t width


cdef inline void set_block(
    Block *block, const int64_t[::1] ids, double[:, ::1] weights, const int64_t[::1] rows
) noexcept:
    block.n, block.ids, block.rows = ids.shape[0], &ids[0], &rows[0]
    block.weights, block.width = &weights[0, 0], weights.shape[1]


cdef class PairWeights:
    """Gains of an arc between two variables in a graph without arcs, or with the class as their only parent.

    Parameters
    ----------
    planes : uint64 (all states, words)
        Bit planes; the words of segment s are ``bounds[s]`` to ``bounds[s + 1]``, both multiples of 8.
    plane_offsets : int64 (n + 1,)
        The planes of variable v begin at ``plane_offsets[v]``; every variable has one for each state.
    bounds : int64 (segments + 1,)
        One segment, or one for each state of the class.
    marginals : uint32 (segments, all states)
        Rows in each state within each segment.
    dirichlet, per_cell, prior, penalty
        The terms of a score-equivalent score, see ``_terms.pxd``.
    """

    cdef readonly Py_ssize_t n
    cdef Py_ssize_t n_segments, n_states, n_words
    cdef const uint64_t *planes
    cdef const int64_t *offsets
    cdef const int64_t *bounds
    cdef const uint32_t *marginals
    cdef Terms terms
    cdef double *alone              # sum of terms over the states of v within the segments
    cdef double whole               # the same of the segments themselves
    cdef Buffer[N_SCRATCH] scratch
    cdef object _owners

    def __cinit__(
        self,
        const uint64_t[:, ::1] planes,
        const int64_t[::1] plane_offsets,
        const int64_t[::1] bounds,
        const uint32_t[:, ::1] marginals,
        *,
        bint dirichlet=False,
        bint per_cell=False,
        double prior=0.0,
        double penalty=0.0,
    ):
        cdef Py_ssize_t v, s, i, r
        cdef uint32_t rows, all_rows = 0
        self.n = plane_offsets.shape[0] - 1
        self.n_segments, self.n_states, self.n_words = marginals.shape[0], marginals.shape[1], planes.shape[1]
        self._owners = (planes, plane_offsets, bounds, marginals)
        self.planes = &planes[0, 0] if planes.shape[1] > 0 else NULL
        self.offsets, self.bounds = &plane_offsets[0], &bounds[0]
        self.marginals = &marginals[0, 0]
        for i in range(self.offsets[1]):
            for s in range(self.n_segments):
                all_rows += marginals[s, i]
        init_terms(&self.terms, dirichlet, per_cell, False, prior, penalty, all_rows)
        self.alone = <double *>calloc(self.n, sizeof(double))
        if self.alone == NULL:
            raise MemoryError(f"cannot allocate the weights of {self.n} variables")
        for s in range(self.n_segments):
            rows = 0
            for i in range(self.offsets[1]):
                rows += marginals[s, i]
            self.whole += term(config_terms(&self.terms, self.n_segments, 1), rows)
            for v in range(self.n):
                r = self.offsets[v + 1] - self.offsets[v]
                self.alone[v] += sum_terms(
                    cell_terms(&self.terms, self.n_segments, r), &marginals[s, self.offsets[v]], r
                )

    def __dealloc__(self):
        cdef Py_ssize_t i
        free(self.alone)
        free_terms(&self.terms)
        for i in range(N_SCRATCH):
            release(&self.scratch[i])

    def write(
        self,
        const int64_t[::1] block,       # in: variables whose rows are wanted
        const int64_t[::1] others,      # in: variables of the columns
        double[:, ::1] weights,         # out: at `rows` and `columns` alone
        const int64_t[::1] rows,        # in: (block,) rows of `weights` that they have there
        const int64_t[::1] columns,     # in: (others,) columns
    ):
        """Write the weight of ``block[i]``, ``others[k]`` to ``weights[rows[i], columns[k]]``; -inf for none."""
        cdef Block asked
        if block.shape[0] == 0 or others.shape[0] == 0:
            return
        set_block(&asked, block, weights, rows)
        with nogil:
            self.fill(&asked, &others[0], &columns[0], others.shape[0])

    def count_block(self, const int64_t[::1] block, const int64_t[::1] others):
        """Return the counts for ``rows``, uint32 (segments, planes of others, planes of block) without last states.

        They are sums over rows of data, so that the counts of partitions can be added.
        """
        cdef const uint64_t **cells
        cdef Py_ssize_t n_cells = self.count_states(block), n_planes = self.count_states(others)
        counts = np.zeros((self.n_segments, n_planes, n_cells), dtype=np.uint32)
        cdef uint32_t[:, :, ::1] out = counts
        if n_cells > 0 and n_planes > 0:
            with nogil:
                cells = self.list_cells(&block[0], block.shape[0], n_cells)
                self.count(cells, n_cells, &others[0], others.shape[0], n_planes)
                memcpy(
                    &out[0, 0, 0], self.scratch[COUNTS].data, self.n_segments * n_planes * n_cells * sizeof(uint32_t)
                )
        return counts

    def weigh_block(
        self,
        const int64_t[::1] block,           # in: as for ``write``
        const int64_t[::1] others,
        const uint32_t[:, :, ::1] counts,   # in: counts of ``count_block``
        double[:, ::1] weights,             # out: as for ``write``
        const int64_t[::1] rows,
        const int64_t[::1] columns,
    ):
        """Write the weights of pairs that have been counted."""
        cdef Block asked
        cdef Py_ssize_t n_cells = counts.shape[2], n_planes = counts.shape[1]
        cdef const uint32_t *first = &counts[0, 0, 0] if n_cells > 0 and n_planes > 0 else NULL
        if block.shape[0] == 0 or others.shape[0] == 0:
            return
        set_block(&asked, block, weights, rows)
        with nogil:
            self.weigh(&asked, &others[0], &columns[0], others.shape[0], first, n_cells, n_planes)

    cdef Py_ssize_t count_states(self, const int64_t[::1] ids) noexcept nogil:
        # Planes of some variables, without the last of each.
        cdef Py_ssize_t i, n = 0
        for i in range(ids.shape[0]):
            n += self.states_of(ids[i]) - 1
        return n

    cdef const uint64_t **list_cells(
        self, const int64_t *block, Py_ssize_t n_block, Py_ssize_t n_cells
    ) except NULL nogil:
        cdef const uint64_t **cells = <const uint64_t **>reserve(
            &self.scratch[CELLS], (n_cells + 1) * sizeof(uint64_t *)
        )
        cdef Py_ssize_t i, k, at = 0
        for i in range(n_block):
            for k in range(self.states_of(block[i]) - 1):
                cells[at] = self.planes + (self.offsets[block[i]] + k) * self.n_words
                at += 1
        return cells

    cdef int weigh(
        self, const Block *block, const int64_t *others, const int64_t *columns, Py_ssize_t n_others,
        const uint32_t *counts, Py_ssize_t n_cells, Py_ssize_t n_planes,
    ) except -1 nogil:
        # Weights of the pairs of a block with some others.
        cdef Py_ssize_t i, k, segment = n_planes * n_cells
        cdef const uint32_t *of_pair
        cdef double *row
        for i in range(block.n):
            of_pair, row = counts, block.weights + block.rows[i] * block.width
            if self.n_segments == 1 and self.states_of(block.ids[i]) == 2:
                self.weigh_row_of_two(block.ids[i], others, columns, n_others, of_pair, n_cells, row)
            else:
                for k in range(n_others):
                    row[columns[k]] = self.weight(block.ids[i], others[k], of_pair, n_cells, segment)
                    of_pair += (self.states_of(others[k]) - 1) * n_cells
            counts += self.states_of(block.ids[i]) - 1
        return 0

    cdef int weigh_row_of_two(
        self, int64_t x, const int64_t *others, const int64_t *columns, Py_ssize_t n_others, const uint32_t *counts,
        Py_ssize_t n_cells, double *row
    ) except -1 nogil:
        # The row of a variable of two states, in one segment. 2 x 2 tables are summed as in ``weight``.
        cdef TermTable *terms = cell_terms(&self.terms, 2, 2)
        cdef uint32_t of_x = self.marginals[self.offsets[x]], of_y, first, second, last
        cdef uint32_t n_rows = of_x + self.marginals[self.offsets[x] + 1]
        cdef double alone = self.alone[x], whole = self.whole, penalty = self.terms.penalty, joint
        cdef Py_ssize_t k
        cdef int64_t y
        for k in range(n_others):
            y = others[k]
            if self.states_of(y) == 2 and y != x:
                of_y = self.marginals[self.offsets[y]]
                last = n_rows - of_x - of_y + counts[0]
                first, second = of_x - counts[0], of_y - counts[0]
                if x > y:
                    first, second = second, first
                joint = (term(terms, counts[0]) + term(terms, first)) + (term(terms, second) + term(terms, last))
                row[columns[k]] = joint - (alone + self.alone[y] - whole) - penalty
            else:
                row[columns[k]] = self.weight(x, y, counts, n_cells, 0)
            counts += (self.states_of(y) - 1) * n_cells
        return 0

    cdef int fill(
        self, const Block *asked, const int64_t *others, const int64_t *columns, Py_ssize_t n_others
    ) except -1 nogil:
        cdef Block block = asked[0]
        cdef Py_ssize_t n_cells, first, last, n_planes, begin = 0
        cdef const uint64_t **cells
        while begin < asked.n:
            block.ids, block.rows = asked.ids + begin, asked.rows + begin
            block.n = n_cells = 0
            while begin < asked.n and (block.n == 0 or n_cells < BLOCK_PLANES):
                n_cells += self.states_of(asked.ids[begin]) - 1
                block.n += 1
                begin += 1
            cells = self.list_cells(block.ids, block.n, n_cells)
            first = 0
            while first < n_others:
                n_planes = 0
                last = first
                while last < n_others and (last == first or n_planes < CHUNK_PLANES):
                    n_planes += self.states_of(others[last]) - 1
                    last += 1
                self.count(cells, n_cells, others + first, last - first, n_planes)
                self.weigh(
                    &block, others + first, columns + first, last - first,
                    <const uint32_t *>self.scratch[COUNTS].data, n_cells, n_planes
                )
                first = last
        return 0

    cdef Py_ssize_t states_of(self, int64_t v) noexcept nogil:
        return self.offsets[v + 1] - self.offsets[v]

    cdef int count(
        self, const uint64_t **cells, Py_ssize_t n_cells, const int64_t *others, Py_ssize_t n_others,
        Py_ssize_t n_planes,
    ) except -1 nogil:
        # counts[segment][plane of the others][plane of the block], last states left out
        cdef size_t n_bytes = self.n_segments * n_planes * n_cells * sizeof(uint32_t)
        cdef uint32_t *counts = <uint32_t *>reserve(&self.scratch[COUNTS], n_bytes + sizeof(uint32_t))
        cdef Py_ssize_t s, i, k, begin, end, first, width
        cdef const uint64_t *plane
        cdef uint32_t *out
        memset(counts, 0, n_bytes)
        for s in range(self.n_segments):
            begin = self.bounds[s]
            while begin < self.bounds[s + 1]:
                end = min(begin + TILE_WORDS, self.bounds[s + 1])
                first = 0
                while first < n_cells:
                    width = min(n_cells - first, CELLS_AT_ONCE)
                    out = counts + s * n_planes * n_cells + first
                    for i in range(n_others):
                        for k in range(self.states_of(others[i]) - 1):
                            plane = self.planes + (self.offsets[others[i]] + k) * self.n_words
                            pgmx_count_and(plane, cells + first, width, begin, end, out)
                            out += n_cells
                    first += width
                begin = end
        return 0

    cdef double weight(
        self, int64_t x, int64_t y, const uint32_t *counts, Py_ssize_t stride, Py_ssize_t segment
    ) except? -1 nogil:
        # counts[k * stride + i]: rows with state i of x and state k of y; the order of the sum is FamilyScorer's
        cdef Py_ssize_t rx = self.states_of(x), ry = self.states_of(y), s, a, b, i, k, step_a, step_b
        cdef const uint32_t *of_a
        cdef const uint32_t *of_b
        cdef double joint = 0.0
        if x == y or rx < 2 or ry < 2:
            return -INFINITY
        a, b, step_a, step_b = x, y, 1, stride
        if x > y:
            a, b, step_a, step_b = y, x, stride, 1
            rx, ry = ry, rx
        cdef uint32_t *table = <uint32_t *>reserve(&self.scratch[TABLE], rx * ry * sizeof(uint32_t))
        cdef uint32_t *last = table + (rx - 1) * ry
        cdef uint32_t rest, count
        for s in range(self.n_segments):
            of_a = self.marginals + s * self.n_states + self.offsets[a]
            of_b = self.marginals + s * self.n_states + self.offsets[b]
            for k in range(ry):
                last[k] = of_b[k]
            for i in range(rx - 1):
                rest = of_a[i]
                for k in range(ry - 1):
                    count = counts[s * segment + i * step_a + k * step_b]
                    table[i * ry + k] = count
                    rest -= count
                    last[k] -= count
                table[i * ry + ry - 1] = rest
                last[ry - 1] -= rest
            joint += sum_terms(cell_terms(&self.terms, self.n_segments * rx, ry), table, rx * ry)
        joint -= self.alone[a] + self.alone[b] - self.whole
        return joint - self.terms.penalty * (self.n_segments * (rx - 1) * (ry - 1))

"""Weights of all pairs of variables, a block of rows at a time, and the growth of a maximum spanning forest.

Problem: the best forest over n variables needs the gain of an arc between any two of them, n (n - 1) / 2 tables, and no
weight twice. Algorithm: Prim's on the complete graph, where the row of a variable is needed when it is the next to join
the forest. Rows come in blocks: the planes of a block stay in the cache while the planes of all other variables pass
by, eight counts at a time. With a class variable the rows of the data are sorted by its state, every state padded to a
whole number of vectors, and a count within a state is a count over a range of words.
Cost of a weight: (states - 1)^2 * N/512 vector operations with AVX-512, and one look-up per cell of its table.
Thread-safety: ``PairWeights`` serves one thread (it caches terms); the rest writes its arguments only.
References: Prim (1957), Bell System Technical Journal 36, 1389-1401; Chow & Liu (1968), IEEE Transactions on
Information Theory 14, 462-467.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _simd cimport pgmx_count_and, select_simd_level
from _terms cimport Terms, cell_terms, config_terms, free_terms, init_terms, sum_terms, term

cdef int SIMD = select_simd_level()

cdef enum:
    TILE_WORDS = 512            # words of a plane that are read together
    CHUNK_PLANES = 64           # planes counted against the block before their weights are made

cdef enum:                      # scratch buffers
    CELLS, COUNTS, TABLE, N_SCRATCH


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

    def rows(
        self,
        const int64_t[::1] block,       # in: variables whose rows are wanted
        const int64_t[::1] others,      # in: the columns of the rows
        double[:, :] weights,           # out: (block, others)
    ):
        """Write ``weights[i, j]``, the weight of the pair ``block[i]``, ``others[j]``; -inf for a pair without."""
        if block.shape[0] == 0 or others.shape[0] == 0:
            return
        with nogil:
            self.fill(&block[0], block.shape[0], &others[0], others.shape[0], weights)

    def count_block(self, const int64_t[::1] block, const int64_t[::1] others):
        """Return the counts behind ``rows``, uint32 (segments, planes of others, planes of block) but last states.

        They are sums over rows: those of the parts of a table add up to those of the table.
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
        const int64_t[::1] block,           # in: as for rows()
        const int64_t[::1] others,
        const uint32_t[:, :, ::1] counts,   # in: those of ``count_block``
        double[:, :] weights,               # out: (block, others)
    ):
        """Write the weights of pairs that have been counted."""
        cdef Py_ssize_t n_cells = counts.shape[2], n_planes = counts.shape[1]
        cdef const uint32_t *first = &counts[0, 0, 0] if n_cells > 0 and n_planes > 0 else NULL
        with nogil:
            self.weigh(&block[0], block.shape[0], &others[0], others.shape[0], first, n_cells, n_planes, weights, 0)

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
        self, const int64_t *block, Py_ssize_t n_block, const int64_t *others, Py_ssize_t n_others,
        const uint32_t *counts, Py_ssize_t n_cells, Py_ssize_t n_planes, double[:, :] weights, Py_ssize_t first,
    ) except -1 nogil:
        # Weights of the pairs of a block with some others, which are written from column `first` on.
        cdef Py_ssize_t i, k, at, segment = n_planes * n_cells
        for k in range(n_others):
            at = 0
            for i in range(n_block):
                weights[i, first + k] = self.weight(block[i], others[k], counts + at, n_cells, segment)
                at += self.states_of(block[i]) - 1
            counts += (self.states_of(others[k]) - 1) * n_cells
        return 0

    cdef int fill(
        self, const int64_t *block, Py_ssize_t n_block, const int64_t *others, Py_ssize_t n_others,
        double[:, :] weights,
    ) except -1 nogil:
        cdef Py_ssize_t n_cells = 0, i, first = 0, last, n_planes
        cdef const uint64_t **cells
        for i in range(n_block):
            n_cells += self.states_of(block[i]) - 1
        cells = self.list_cells(block, n_block, n_cells)
        while first < n_others:
            n_planes = 0
            last = first
            while last < n_others and (last == first or n_planes < CHUNK_PLANES):
                n_planes += self.states_of(others[last]) - 1
                last += 1
            self.count(cells, n_cells, others + first, last - first, n_planes)
            self.weigh(
                block, n_block, others + first, last - first, <const uint32_t *>self.scratch[COUNTS].data, n_cells,
                n_planes, weights, first
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
        cdef Py_ssize_t s, i, k, begin, end
        cdef uint32_t *out
        memset(counts, 0, n_bytes)
        for s in range(self.n_segments):
            begin = self.bounds[s]
            while begin < self.bounds[s + 1]:
                end = min(begin + TILE_WORDS, self.bounds[s + 1])
                out = counts + s * n_planes * n_cells
                for i in range(n_others):
                    for k in range(self.states_of(others[i]) - 1):
                        pgmx_count_and(
                            self.planes + (self.offsets[others[i]] + k) * self.n_words, cells, n_cells, begin, end, out
                        )
                        out += n_cells
                begin = end
        return 0

    cdef double weight(
        self, int64_t x, int64_t y, const uint32_t *counts, Py_ssize_t stride, Py_ssize_t segment
    ) except? -1 nogil:
        # counts[k * stride + i]: rows with state i of x and state k of y; the sum runs as FamilyScorer's does
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


cdef inline bint comes_first(const int64_t *priority, int64_t a, int64_t b, int64_t c, int64_t d) noexcept nogil:
    # Whether the edge a - b goes before c - d where both weigh the same.
    cdef int64_t p = min(priority[a], priority[b]), q = min(priority[c], priority[d])
    if p != q:
        return p < q
    return max(priority[a], priority[b]) < max(priority[c], priority[d])


cdef inline double round_to_whole(double x) noexcept nogil:
    # As rint does, which is a call of a function on many processors; |x| is below 2^51, or infinite.
    return (x + 6755399441055744.0) - 6755399441055744.0


cdef inline bint joins_first(
    const int64_t *priority, const double *keys, const int64_t *nearest, int64_t v, int64_t best
) noexcept nogil:
    # Whether v, outside the forest, joins it before `best`, -1 for none.
    if best < 0 or keys[v] != keys[best]:
        return best < 0 or keys[v] > keys[best]
    if keys[v] > 0:
        return comes_first(priority, nearest[v], v, nearest[best], best)
    return priority[v] < priority[best]


def relax(
    Py_ssize_t node,                # in: a variable that has joined the forest
    const int64_t[::1] others,      # in: the columns of its row, all variables outside that it may be joined to
    const double[::1] weights,      # in: its row
    const uint8_t[::1] allowed,     # in: (n,) which variables it may be joined to, or None
    const uint8_t[::1] in_forest,   # in: (n,) variables of the forest
    const int64_t[::1] priority,    # in: (n,) decides between edges of equal keys
    double resolution,              # in: a key is a weight in whole multiples of this, a power of two
    double[::1] keys,               # in and out: (n,) of the best edge from the forest to each variable, 0 without one
    int64_t[::1] nearest,           # in and out: (n,) the end of that edge in the forest, -1 without one
    double[::1] best,               # in and out: (n,) its weight
) -> int:
    """Update the best edges of the variables outside the forest by a row; return which of `others` joins next.

    That is -1 where none of them is outside. Cost: the length of the row.
    """
    cdef Py_ssize_t i
    cdef int64_t v, first = -1
    cdef double key, inverse = 1.0 / resolution
    with nogil:
        for i in range(others.shape[0]):
            v = others[i]
            if in_forest[v]:
                continue
            key = weights[i] * inverse
            if key >= keys[v] - 0.5 and (allowed is None or allowed[v]):    # most edges are no better than the best one
                key = round_to_whole(key)
                if key > keys[v] or (key > 0 and key == keys[v]
                                     and comes_first(&priority[0], node, v, nearest[v], v)):
                    keys[v] = key
                    nearest[v] = node
                    best[v] = weights[i]
            if joins_first(&priority[0], &keys[0], &nearest[0], v, first):
                first = v
    return first


def next_to_join(
    const uint8_t[::1] in_forest, const int64_t[::1] priority, const double[::1] keys, const int64_t[::1] nearest
) -> int:
    """Return the variable at the best edge from the forest; without an edge the first by priority, -1 without any."""
    cdef int64_t v, best = -1
    with nogil:
        for v in range(in_forest.shape[0]):
            if not in_forest[v] and joins_first(&priority[0], &keys[0], &nearest[0], v, best):
                best = v
    return best

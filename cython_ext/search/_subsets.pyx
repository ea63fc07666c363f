"""The network of highest score over a set of variables, by dynamic programming over its subsets.

Problem: each variable v has a list of parent sets with scores; choose one set for each, so that the graph is acyclic
and the sum is highest. Algorithm: with best_v(W) the highest score of v with parents within W,

    total(W) = max over v in W of  total(W - v) + best_v(W - v),    total({}) = 0.

Subsets are in blocks that share the variables of bit LOW and above. For each block and variable a table of best_v over
the low variables is filled from the list, and maxima are propagated from each set to its supersets. The contribution to
the subsets with one more high variable is added immediately, so that best_v is stored only for the present block. At
the end the sinks are recovered from the totals.

Memory: 8 bytes for each of 2^m subsets, and 8 m 2^LOW. Cost: m 2^(m-1) LOW maxima, 2^m m / 2 sums, and
m 2^(m - LOW) passes over the lists.
Thread-safety: one object serves one thread at a time; ``advance`` releases the lock.
References: Silander and Myllymaki (2006), A simple approach for finding the globally optimal Bayesian network
structure, UAI; Malone, Yuan and Hansen (2011), Memory-efficient dynamic programming for learning optimal Bayesian
networks, AAAI (totals without stored families).
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef enum:
    LOW = 14
    MOST_VARIABLES = 31


@cython.final
cdef class SubsetTotals:
    """The totals of the subsets of m variables.

    Parameters
    ----------
    sets : list of uint64 arrays
        For each variable its parent sets, bit u for variable u, fewer parents first.
    scores : list of float64 arrays
        Their scores.
    """

    cdef readonly Py_ssize_t m, n_blocks
    cdef Py_ssize_t low, block
    cdef double *total
    cdef double *table                      # 2^low for each variable
    cdef const uint64_t[::1] sets
    cdef const double[::1] scores
    cdef int64_t[::1] first                 # offset of each variable's list

    def __cinit__(self, list sets, list scores):
        cdef Py_ssize_t i, size
        self.m = len(sets)
        if self.m > MOST_VARIABLES:
            raise ValueError(f"at most {MOST_VARIABLES} variables have subsets that can be numbered, got {self.m}")
        self.low = min(self.m, LOW)
        self.n_blocks = 1 << (self.m - self.low)
        self.sets = np.concatenate([np.empty(0, dtype=np.uint64), *sets])
        self.scores = np.concatenate([np.empty(0), *scores])
        self.first = np.concatenate([[0], np.cumsum([len(values) for values in sets])]).astype(np.int64)
        size = 1 << self.m
        self.total = <double *>malloc(size * sizeof(double))
        self.table = <double *>malloc((self.m << self.low) * sizeof(double) + 8)
        if self.total == NULL or self.table == NULL:
            raise MemoryError(f"cannot allocate the {8 * size / 2**20:.0f} MB of the subsets of {self.m} variables")
        for i in range(size):
            self.total[i] = -INFINITY
        self.total[0] = 0.0

    def __dealloc__(self):
        free(self.total)
        free(self.table)

    def advance(self) -> bool:
        """Compute the totals of the next block; return whether another follows."""
        with nogil:
            if self.block < self.n_blocks:
                self.compute_block(<uint64_t>self.block)
                self.block += 1
        return self.block < self.n_blocks

    def best_score(self) -> float:
        """Return the highest score of a network of all variables; -inf if none has all required parents."""
        return self.total[(<Py_ssize_t>1 << self.m) - 1]

    def best_parents(self):
        """Return for each variable the set of its parents in a network of highest score, as a bit mask, uint64."""
        cdef uint64_t rest = (<uint64_t>1 << self.m) - 1
        cdef Py_ssize_t v, at
        parents = np.zeros(self.m, dtype=np.uint64)
        while rest:
            for v in range(self.m):
                if not rest >> v & 1:
                    continue
                at = self.find_best(v, rest ^ <uint64_t>1 << v)
                if at >= 0 and self.total[rest] == self.total[rest ^ <uint64_t>1 << v] + self.scores[at]:
                    parents[v] = self.sets[at]
                    rest ^= <uint64_t>1 << v
                    break
            else:
                raise ValueError("no network has all required parents")
        return parents

    cdef Py_ssize_t find_best(self, Py_ssize_t v, uint64_t others) noexcept nogil:
        # Position of the best set within the others, ties by the first; -1 if there is none.
        cdef Py_ssize_t i, at = -1
        for i in range(self.first[v], self.first[v + 1]):
            if not self.sets[i] & ~others and (at < 0 or self.scores[i] > self.scores[at]):
                at = i
        return at

    cdef void compute_block(self, uint64_t high) noexcept nogil:
        cdef Py_ssize_t size = <Py_ssize_t>1 << self.low, v, w, i
        cdef double *total = self.total + (<Py_ssize_t>high << self.low)
        cdef double *wider
        cdef const double *best
        for v in range(self.m):
            if v < self.low or not high >> (v - self.low) & 1:
                self.fill_table(v, high)
        for w in range(1, size):
            for v in range(self.low):
                if w >> v & 1:
                    i = w ^ <Py_ssize_t>1 << v
                    total[w] = max(total[w], total[i] + self.table[(v << self.low) + i])
        for v in range(self.low, self.m):
            if high >> (v - self.low) & 1:
                continue
            wider = total + (<Py_ssize_t>1 << v)
            best = self.table + (v << self.low)
            for w in range(size):
                wider[w] = total[w] + best[w] if total[w] + best[w] > wider[w] else wider[w]

    cdef void fill_table(self, Py_ssize_t v, uint64_t high) noexcept nogil:
        # best_v of the subsets of the block.
        cdef Py_ssize_t size = <Py_ssize_t>1 << self.low, i, j, half, w
        cdef double *best = self.table + (v << self.low)
        cdef double *upper
        for i in range(size):
            best[i] = -INFINITY
        for i in range(self.first[v], self.first[v + 1]):
            if not (self.sets[i] >> self.low) & ~high:
                w = <Py_ssize_t>(self.sets[i] & <uint64_t>(size - 1))
                best[w] = max(best[w], self.scores[i])
        for j in range(self.low):
            if j == v:
                continue
            half = <Py_ssize_t>1 << j
            i = 0
            while i < size:
                upper = best + i + half
                for w in range(half):
                    upper[w] = best[i + w] if best[i + w] > upper[w] else upper[w]
                i += 2 * half

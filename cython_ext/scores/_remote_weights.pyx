"""Weights of families that come from elsewhere, in the form in which a scorer of weighted rows sums them itself.

Problem: a scorer whose rows and weights lie with the workers of a cluster gets the cells of a family and the tables of
candidates (see ``_weighted.pyx``) as sums of what the workers add up. Algorithm: a Python function is asked for them;
the answer for the last family is held, so that cells and tables come in one message.
Cost: a copy of what is asked for, beside the message. Thread-safety: serves one scorer; it takes the GIL.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from _buffers cimport Buffer, reserve


cdef class RemoteWeights:
    """The last answer of a source of sums of weights.

    Parameters
    ----------
    ask : callable
        ``ask([(child, parents, wanted)])``, ids as int32 arrays, returns a list of what ``WeightedFamilyScorer.count``
        returns; cells may have the weight zero.
    n : int
        Variables.
    """

    def __cinit__(self, ask, Py_ssize_t n):
        self.ask, self.child = ask, -1
        self.first = np.full(n, -1, dtype=np.int64)

    cdef bint holds(self, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t i
        if self.child != child or self.parents.shape[0] != k:
            return False
        for i in range(k):
            if self.parents[i] != parents[i]:
                return False
        return True

    cdef int request(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *wanted, Py_ssize_t n, const int64_t *cards
    ) except -1 with gil:
        # Gets the cells of a family and the tables of some candidates.
        cdef Py_ssize_t i, at = 0
        family = np.array(<const int[:k]>parents) if k > 0 else np.empty(0, dtype=np.int32)
        candidates = np.array(<const int[:n]>wanted) if n > 0 else np.empty(0, dtype=np.int32)
        self.child = -1
        keys, weights, tables = self.ask([(child, family, candidates)])[0]
        self.child, self.parents = child, family
        self.keys = np.ascontiguousarray(keys, dtype=np.uint64)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.tables = np.ascontiguousarray(tables, dtype=np.float64)
        self.first[:] = -1
        for i in range(n):
            self.first[wanted[i]] = at
            at += cards[wanted[i]]
        return 0

    cdef Py_ssize_t fill_cells(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int64_t *cards, Buffer *keys, Buffer *weights
    ) except -1 with gil:
        # Writes the cells of a family and the weights of their rows; returns how many there are.
        cdef const uint64_t[::1] numbers
        cdef const double[::1] sums
        if not self.holds(child, parents, k):
            self.request(child, parents, k, NULL, 0, cards)
        numbers, sums = self.keys, self.weights
        reserve(keys, (numbers.shape[0] + 1) * sizeof(uint64_t))
        reserve(weights, (numbers.shape[0] + 1) * sizeof(double))
        if numbers.shape[0] > 0:
            memcpy(keys.data, &numbers[0], numbers.shape[0] * sizeof(uint64_t))
            memcpy(weights.data, &sums[0], numbers.shape[0] * sizeof(double))
        return numbers.shape[0]

    cdef int fill_table(self, Py_ssize_t u, const int64_t *cards, double *table) except -1 with gil:
        # Writes the weights of (state of u, cell) of the family that is held.
        cdef const double[:, ::1] sums
        cdef Py_ssize_t k = self.parents.shape[0]
        cdef int wanted = <int>u
        if self.first[u] < 0:
            self.request(self.child, &self.parents[0] if k > 0 else NULL, k, &wanted, 1, cards)
        sums = self.tables
        if sums.shape[1] > 0:
            memcpy(table, &sums[self.first[u], 0], cards[u] * sums.shape[1] * sizeof(double))
        return 0

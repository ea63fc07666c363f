"""Tables of the parent sets of a variable: scores from rows of gains, sums over subsets, and the sets worth keeping.

Problem: K candidates of a child have 2^K sets; set m holds candidate b if bit b of m is 1. Algorithm: one row of gains
for each set without the last candidate gives the scores of all its extensions by a later candidate, so that each set is
scored once. The sums

    sums(m) = ln sum over subsets s of m of exp(score(s))

are made by one pass per candidate (the zeta transform), in logarithms: no terms are subtracted, so the relative error
of a sum is about K eps. Scores of -inf are allowed.
Cost: a row of gains for each set of fewer than `max_size` candidates without the last one; K 2^(K-1) logarithms of
sums, fewer if scores differ by more than LOST.
Thread-safety: an object serves one thread at a time; rows and sums release the GIL.
Reference: Koivisto and Sood (2004), Exact Bayesian structure discovery in Bayesian networks, JMLR 5, section 4.1.
"""

cimport cython
from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport uint8_t, uint32_t

import numpy as np

from pgmx._ext._scorer cimport Scorer

cdef enum:
    MOST_CANDIDATES = 30

cdef double LOST = 37.0             # a term that is smaller by more than e^37 does not change a sum of doubles
cdef double FINE = <double>(1 << 30) * (1 << 30)    # gains rounded to multiples of 1 / FINE keep all their digits


@cython.final
cdef class FamilyRows:
    """Scores of the parent sets of one child after another.

    Parameters
    ----------
    source : Scorer
        Compiled gains without a largest number of parents; its gains are no longer rounded.
    mask : uint8 (n, n), optional
        ``mask[child, u]``: whether u is a candidate of the child; needed if workers count.
    """

    cdef object source
    cdef Scorer scorer
    cdef bint has_additions, cuts_mask      # gains of a row are only computed for the candidates that are new
    cdef uint8_t[:, ::1] mask
    cdef double[::1] gains
    cdef double[::1] n_cells
    cdef int[::1] parents, wanted, wider
    cdef readonly list refused          # families without a score: (child, parents, message)
    cdef readonly bint is_far

    def __cinit__(self, Scorer source, const uint8_t[:, ::1] mask=None):
        cdef Py_ssize_t n = source.n
        self.source = self.scorer = source
        self.has_additions = hasattr(source, "score_additions")
        # counts that workers have sent have tables of the candidates of their child
        self.cuts_mask = not (self.has_additions or source.is_far)
        self.mask = np.zeros((n, n), dtype=np.uint8) if self.cuts_mask or mask is None else np.array(mask)
        self.gains, self.n_cells = np.zeros(n), np.zeros(n)
        self.parents = np.zeros(n + 1, dtype=np.int32)
        self.wanted = np.zeros(n + 1, dtype=np.int32)
        self.wider = np.zeros(n + 1, dtype=np.int32)
        self.refused, self.is_far = [], source.is_far
        source.unit = FINE
        source.restrict(self.mask)

    def score_required(self, Py_ssize_t child, const int[::1] required) -> float:
        """Return the score of a child with its required parents only; -inf if the source refuses it."""
        return self.score_one(child, np.array(required, dtype=np.int32))

    def score_level(
        self, Py_ssize_t child, const int[::1] required, const int[::1] candidates, int size, double[::1] scores
    ):
        """Write the scores of the sets of ``size + 1`` candidates; the scores of smaller sets are known.

        ``scores`` has 2^K entries. Supersets of a set with the score -inf are not scored.
        """
        cdef Py_ssize_t n_candidates = candidates.shape[0], top
        cdef uint32_t m, last, bit, following
        if n_candidates > MOST_CANDIDATES:
            raise ValueError(f"at most {MOST_CANDIDATES} candidates have tables, got {n_candidates}")
        if size >= n_candidates:
            return
        m = (<uint32_t>1 << size) - 1
        last = m << (n_candidates - 1 - size)           # the last set without the last candidate
        while True:
            if scores[m] > -INFINITY:
                top = 0
                while m >> top:
                    top += 1
                self.score_row(child, required, candidates, m, top, scores)
            if m == last:
                return
            bit = m & (~m + 1)                          # the next set of this size
            following = m + bit
            m = following | ((m ^ following) >> 2) // bit

    cdef int score_row(
        self, Py_ssize_t child, const int[::1] required, const int[::1] candidates, uint32_t m, Py_ssize_t top,
        double[::1] scores
    ) except -1:
        # The sets of m and each candidate from `top` on.
        cdef Py_ssize_t k = merge(required, candidates, m, self.parents), n_wanted = 0, b, u
        cdef double score
        for b in range(top, candidates.shape[0]):
            self.wanted[n_wanted] = candidates[b]
            n_wanted += 1
        if self.has_additions:
            try:
                self.source.score_additions(
                    child, self.parents[:k], self.wanted[:n_wanted], self.gains, self.n_cells
                )
                score = 0.0
            except ValueError:                          # one of them is refused
                self.score_singly(child, required, candidates, m, top, scores)
                return 0
        else:
            for b in range(n_wanted if self.cuts_mask else 0):
                self.mask[child, self.wanted[b]] = 1
            try:
                with nogil:
                    score = self.scorer.compute_row(child, &self.parents[0], k, &self.gains[0])
            finally:
                for b in range(n_wanted if self.cuts_mask else 0):
                    self.mask[child, self.wanted[b]] = 0
        for b in range(top, candidates.shape[0]):
            u = candidates[b]
            if self.gains[u] > -INFINITY:
                scores[m | <uint32_t>1 << b] = score + self.gains[u]
            else:                                       # no gain: a refused family, or a parent with a single state
                scores[m | <uint32_t>1 << b] = self.score_set(child, required, candidates, m | <uint32_t>1 << b)
        return 0

    cdef int score_singly(
        self, Py_ssize_t child, const int[::1] required, const int[::1] candidates, uint32_t m, Py_ssize_t top,
        double[::1] scores
    ) except -1:
        cdef Py_ssize_t b
        for b in range(top, candidates.shape[0]):
            scores[m | <uint32_t>1 << b] = self.score_set(child, required, candidates, m | <uint32_t>1 << b)
        return 0

    cdef double score_set(
        self, Py_ssize_t child, const int[::1] required, const int[::1] candidates, uint32_t m
    ) except? -1:
        cdef Py_ssize_t k = merge(required, candidates, m, self.wider)
        return self.score_one(child, np.array(self.wider[:k], dtype=np.int32))

    cdef double score_one(self, Py_ssize_t child, parents) except? -1:
        try:
            return self.source.family_score(child, parents)
        except ValueError as error:
            self.refused.append((child, parents.tolist(), str(error)))
            return -INFINITY


cdef Py_ssize_t merge(const int[::1] required, const int[::1] candidates, uint32_t m, int[::1] parents) noexcept:
    # Writes the required parents and the candidates in m, ascending; returns their number.
    cdef Py_ssize_t i = 0, b, k = 0
    for b in range(candidates.shape[0]):
        if m >> b & 1:
            while i < required.shape[0] and required[i] < candidates[b]:
                parents[k] = required[i]
                i += 1
                k += 1
            parents[k] = candidates[b]
            k += 1
    while i < required.shape[0]:
        parents[k] = required[i]
        i += 1
        k += 1
    return k


def sum_subsets(double[::1] table):
    """Replace the score of each set by the logarithm of the sum of exp(score) over its subsets; 2^K entries."""
    cdef Py_ssize_t size = table.shape[0], half = 1, start, i
    cdef double *lower
    cdef double *upper
    cdef double high, low
    with nogil:
        while half < size:
            start = 0
            while start < size:
                lower = &table[start]
                upper = lower + half
                for i in range(half):
                    high = max(lower[i], upper[i])
                    low = min(lower[i], upper[i])
                    if low > high - LOST:
                        high += log1p(exp(low - high))
                    upper[i] = high
                start += 2 * half
            half *= 2


def find_live_sets(const double[::1] scores):
    """Return the sets that score higher than all their subsets, uint32, ascending: the best networks have no others."""
    cdef Py_ssize_t size = scores.shape[0], half = 1, start, i
    cdef double[::1] best = np.array(scores)
    cdef double *lower
    cdef double *upper
    cdef double below
    with nogil:
        while half < size:
            start = 0
            while start < size:
                lower = &best[start]
                upper = lower + half
                for i in range(half):
                    upper[i] = max(lower[i], upper[i])
                start += 2 * half
            half *= 2
    live = np.empty(size, dtype=bool)
    cdef uint8_t[::1] is_live = live.view(np.uint8)
    with nogil:
        for i in range(size):
            below = -INFINITY
            half = 1
            while half <= i:
                if i & half:
                    below = max(below, best[i ^ half])
                half *= 2
            is_live[i] = scores[i] > below
    return np.flatnonzero(live).astype(np.uint32)

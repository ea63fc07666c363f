"""Base of the compiled scorers: the interface of a source of gains, the mask of arcs, rounding, and refusals.

A scorer is a subclass that defines the score of a family, the row of gains of a child with parents, and the gains of a
pair of parentless variables. The interface is documented in :class:`pgmx.scores.gains.GainSource`.
Thread-safety: one scorer serves one thread at a time; ``start`` and ``rescore`` release the GIL.
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from _buffers cimport release, reserve


cdef class Scorer:
    """Base of the compiled scorers; subclasses define the scores."""

    def __dealloc__(self):
        free(self.alone)
        release(&self.listed)

    cdef int set_up(self, Py_ssize_t n, const uint8_t[:, ::1] allowed, Py_ssize_t max_indegree, names) except -1:
        self.n, self.max_indegree, self.names, self.lone = n, max_indegree, names, -1
        self.restrict(allowed)
        self.alone = <double *>calloc(n, sizeof(double))
        if self.alone == NULL:
            raise MemoryError(f"cannot allocate a scorer of {n} variables")
        return 0

    # ---- called from Python ----

    def restrict(self, const uint8_t[:, ::1] allowed):
        """Replace the mask of the arcs that may be added, of shape (n, n); None allows all."""
        if allowed is not None and (allowed.shape[0] != self.n or allowed.shape[1] != self.n):
            raise ValueError(
                f"allowed must have the shape {(self.n, self.n)}, got {(allowed.shape[0], allowed.shape[1])}"
            )
        self.mask = allowed
        self.allowed = NULL
        if allowed is not None:
            self.allowed = &allowed[0, 0]

    def price_sizes(self, const double[::1] costs):
        """Subtract ``costs[k]``, of shape (n,), from each family with k parents; None subtracts nothing."""
        if costs is not None and costs.shape[0] != self.n:
            raise ValueError(f"costs must have the shape {(self.n,)}, got {(costs.shape[0],)}")
        self.size_cost_array = costs
        self.size_costs = NULL
        if costs is not None and self.n > 0:
            self.size_costs = &costs[0]

    def family_score(self, Py_ssize_t child, const int[::1] parents) -> float:
        """Return the score of ``child`` with ``parents`` (ascending ids)."""
        cdef const int *p = &parents[0] if parents.shape[0] > 0 else NULL
        cdef Py_ssize_t k = parents.shape[0]
        cdef double score
        with nogil:
            score = self.score_family(child, p, k)
        return score

    def start(self, double[:, ::1] gains, double[::1] scores):
        """Fill ``gains`` and ``scores`` for the graph without arcs; each pair of variables is counted once."""
        cdef Py_ssize_t a, b
        with nogil:
            for a in range(self.n):
                scores[a] = self.alone[a]
                gains[a, a] = -INFINITY
                self.prepare_pairs(a)
                for b in range(a + 1, self.n):
                    self.pair_gains(a, b, &gains[a, b], &gains[b, a])
                    gains[a, b] -= self.step_cost(0)
                    gains[b, a] -= self.step_cost(0)
            for a in range(self.n):
                if self.has_own_rows(a):
                    scores[a] = self.compute_row(a, NULL, 0, &gains[a, 0])

    def rescore(self, Py_ssize_t child, const int[::1] parents, double[:, ::1] gains) -> float:
        """Return the family score and write the gains of all toggles of ``child`` into ``gains[child]``."""
        cdef const int *p = &parents[0] if parents.shape[0] > 0 else NULL
        cdef Py_ssize_t k = parents.shape[0]
        cdef double score
        with nogil:
            score = self.compute_row(child, p, k, &gains[child, 0])
        return score

    def expect_families(self, list families, Py_ssize_t n_needed=1, bint has_rows=True):
        """Request the counts of ``families`` in one message if workers send counts; the first are needed next.

        Families are pairs of a child and its ascending parents, int32, the most probable first. No message is sent if
        the first ``n_needed`` are known; the size of a message is limited. `has_rows` requests rows of gains, otherwise
        scores only.
        """
        cdef Py_ssize_t n = len(families), i, at = 0
        cdef Family *listed
        cdef const int[::1] ids
        if not self.is_far or n == 0:
            return
        ids = np.concatenate([*[parents for _, parents in families], np.zeros(1, dtype=np.int32)])
        listed = <Family *>malloc(n * sizeof(Family))
        if listed == NULL:
            raise MemoryError(f"cannot list {n} families")
        for i in range(n):
            listed[i] = Family(families[i][0], len(families[i][1]), &ids[at], ALL if has_rows else 0, NULL)
            at += listed[i].k
        try:
            with nogil:
                self.expect(listed, min(n_needed, n), n)
        finally:
            free(listed)

    # ---- called by a scorer ----

    cdef int row_without_parents(self, Py_ssize_t child, double *gains) except -1 nogil:
        cdef double other
        cdef Py_ssize_t u
        gains[child] = -INFINITY
        self.lone = child
        for u in range(child):
            self.prepare_pairs(u)
            self.pair_gains(u, child, &other, &gains[u])
        self.prepare_pairs(child)
        for u in range(child + 1, self.n):
            self.pair_gains(child, u, &gains[u], &other)
        self.lone = -1
        return 0

    cdef const Family *list_wider(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *added, Py_ssize_t n
    ) except NULL nogil:
        # The families of a child with its parents and each of some more.
        cdef Family *listed = <Family *>reserve(&self.listed, n * (sizeof(Family) + (k + 1) * sizeof(int)) + 1)
        cdef int *ids = <int *>(listed + n)
        cdef Py_ssize_t i
        for i in range(n):
            insert_parent(ids, parents, k, added[i])
            listed[i] = Family(child, k + 1, ids, 0, NULL)
            ids += k + 1
        return listed

    cdef Py_ssize_t list_candidates(
        self, const Family *family, Py_ssize_t first, const int64_t *cards, double cells, double most, int *wanted,
        double *n_bytes
    ) noexcept nogil:
        # Writes the candidates of a family, from `first` on, whose float64 tables are made together, and the bytes of
        # these tables: at most `most`, or a single table.
        cdef Py_ssize_t u, j = 0, n = 0
        n_bytes[0] = 0.0
        for u in range(first, self.n):
            while j < family.k and family.parents[j] < u:
                j += 1
            if u == family.child or (j < family.k and family.parents[j] == u) or not self.is_allowed(family.child, u) \
                    or min(cards[u], cards[family.child]) < 2 or cells * cards[u] > TABLE_MEMORY // 8:
                continue
            if n > 0 and n_bytes[0] + cells * cards[u] * sizeof(double) > most:
                break
            n_bytes[0] += cells * cards[u] * sizeof(double)
            wanted[n] = <int>u
            n += 1
        return n

    cdef void go_to_next_pair(self, Py_ssize_t *a, Py_ssize_t *b) noexcept nogil:
        # In the order in which pairs are scored; after the last pair b is n or more.
        if b[0] == self.lone:
            a[0] += 1
            b[0] += a[0] == b[0]
        else:
            b[0] += 1
            if b[0] == self.n and self.lone < 0:
                a[0] += 1
                b[0] = a[0] + 1

    cdef void choose_unit(self, double finest) noexcept:
        # Gains are rounded to log10(finest) digits of the largest score, or to five decimals if that is finer, so that
        # rounding errors do not break ties.
        cdef double largest = 1.0
        cdef Py_ssize_t v
        for v in range(self.n):
            largest = max(largest, fabs(self.alone[v]))
        self.unit = finest
        while self.unit > 1e5 and largest > 1.0:
            self.unit /= 10
            largest /= 10

    cdef int refuse_cells(self, Py_ssize_t child, Py_ssize_t k, double q) except -1 with gil:
        name = child if self.names is None else self.names[child]
        raise ValueError(
            f"variable {name!r} has {k} parents with {q:.3g} joint states, too many to number; "
            "set max_indegree, or start from a sparser graph"
        )

    # ---- defined by a scorer ----

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        with gil:
            raise NotImplementedError("a compiled scorer defines score_terms")

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        # Fills the gains of a child and returns its family score, both without what the number of parents costs.
        with gil:
            raise NotImplementedError("a compiled scorer defines fill_gains")

    cdef int expect(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 nogil:
        # Called if `is_far` before the first n_needed families are counted; the others may be next.
        return 0

    cdef bint has_own_rows(self, Py_ssize_t child) noexcept nogil:
        # Whether families of the child count other rows than most; its gains without parents do not follow from pairs.
        return False

    cdef int prepare_pairs(self, Py_ssize_t a) except -1 nogil:
        # Called before the pairs of which a is the first.
        return 0

    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil:
        # Gains of b -> a (of_a) and of a -> b (of_b) while both are without parents, a < b.
        with gil:
            raise NotImplementedError("a compiled scorer defines pair_gains")


@cython.final
cdef class JoinedScorer(Scorer):
    """Several scorers of the same variables, each for the families of its children.

    Parameters
    ----------
    scorers : list of Scorer
        Scorers over different rows; their masks of arcs change only by ``restrict``.
    scorer_of : int64 (n,)
        The number of the scorer of each child.
    """

    cdef list scorers
    cdef const int64_t[::1] scorer_of

    def __cinit__(self, list scorers not None, const int64_t[::1] scorer_of not None):
        cdef Scorer scorer
        self.set_up(scorer_of.shape[0], None, max([scorer.max_indegree for scorer in scorers]), None)
        self.scorers, self.scorer_of = scorers, scorer_of
        for scorer in scorers:
            self.is_far |= scorer.is_far

    def start(self, double[:, ::1] gains, double[::1] scores):
        """Fill the gains and scores of the graph without arcs."""
        cdef Py_ssize_t most = int(np.argmax(np.bincount(self.scorer_of))), child
        self.scorers[most].start(gains, scores)
        for child in range(self.n):
            if self.scorer_of[child] != most:
                with nogil:
                    scores[child] = self.fill_gains(child, NULL, 0, &gains[child, 0])

    def restrict(self, const uint8_t[:, ::1] allowed):
        """Replace the mask of allowed arcs."""
        for scorer in self.scorers or ():
            scorer.restrict(allowed)

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        return self.ask(child, parents, k, NULL)

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        return self.ask(child, parents, k, gains)

    cdef double ask(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 with gil:
        # The score of a family and, unless `gains` is NULL, the gains of the child.
        cdef Scorer scorer = self.scorers[self.scorer_of[child]]
        cdef double score
        with nogil:
            if gains == NULL:
                score = scorer.score_family(child, parents, k)
            else:
                score = scorer.compute_row(child, parents, k, gains)
        return score

    cdef int expect(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 nogil:
        return self.pass_on(families, n_needed, n) if self.is_far else 0

    cdef int pass_on(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 with gil:
        # Each scorer requests the families of its children.
        cdef Family *own = <Family *>malloc((n + 1) * sizeof(Family))
        cdef Py_ssize_t k, i, m, m_needed
        cdef Scorer scorer
        if own == NULL:
            return 0            # without memory only speed is lost
        try:
            for k in range(len(self.scorers)):
                scorer = self.scorers[k]
                m = m_needed = 0
                for i in range(n):
                    if self.scorer_of[families[i].child] == k:
                        own[m] = families[i]
                        m += 1
                        m_needed += i < n_needed
                if m > 0:
                    scorer.expect(own, m_needed, m)
        finally:
            free(own)
        return 0

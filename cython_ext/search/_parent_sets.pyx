"""The parent sets that a variable can have in a best network, generated level by level with pruning.

Problem: of the 2^K sets of K candidate parents, find those that score higher than all their subsets; only these occur
in a network of highest score. Algorithm: sets of size k + 1 are made from live sets of size k. A set is live unless an
upper bound shows that neither it nor any superset scores higher than its best subset; supersets of such a set are not
live. Live sets are scored unless a bound shows that they do not score higher than their best subset. Bounds:

- likelihood: score = L - cost, L(T) <= L(all candidates), and for discrete variables L(T) <= L(T - u) + N min over w in
  T - u of H(u | w), since the gain of u is at most its conditional entropy; the cost increases with the parents.
- cells: for a Dirichlet score, the first row of a parent configuration has probability 1 / r, and the first row of a
  cell at most 1 / r, so that no superset of T scores more than -(cells of T that occur) ln r.

Cost: a row of gains for each live set with a scored extension, k look-ups for each pair of a live set and a candidate.
Thread-safety: one object serves one thread at a time; it holds the interpreter's lock.
References: de Campos and Ji (2011), Efficient structure learning of Bayesian networks using constraints, JMLR 12,
lemma 1 (only such sets), theorems 1 and 2 (the costs); the entropy bound: de Campos, Scanagatta, Corani and Zaffalon
(2018), Entropy-based pruning for learning Bayesian networks using BIC, Artificial Intelligence 260.
"""

cimport cython
from libc.math cimport INFINITY, fabs, ldexp, log
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

import numpy as np

from pgmx._ext._scorer cimport MAX_CELLS_LOG2, Family, Scorer


cdef enum:
    NO_BOUND = 0
    LIKELIHOOD = 1
    CELLS = 2
    MOST_CANDIDATES = 63

cdef double ROUNDING = 1e-12            # relative to the score without parents: smaller differences count as 0


cdef struct Level:                      # sets of one size
    Py_ssize_t size, capacity
    uint64_t *sets                      # bit i: candidate i
    double *best                        # highest score of a subset
    double *bound                       # of the likelihood, or of the score of any superset


cdef void *grow(void *block, Py_ssize_t n) except NULL:
    cdef void *wider = realloc(block, n * 8)
    if wider == NULL:
        raise MemoryError(f"cannot allocate {n} sets of parents")
    return wider


cdef int append(Level *level, uint64_t bits, double best, double bound) except -1:
    cdef Py_ssize_t capacity = 2 * level.capacity + 64
    if level.size == level.capacity:
        level.sets = <uint64_t *>grow(level.sets, capacity)
        level.best = <double *>grow(level.best, capacity)
        level.bound = <double *>grow(level.bound, capacity)
        level.capacity = capacity
    level.sets[level.size], level.best[level.size], level.bound[level.size] = bits, best, bound
    level.size += 1
    return 0


cdef void release_level(Level *level) noexcept:
    free(level.sets)
    free(level.best)
    free(level.bound)


@cython.final
cdef class ParentSets:
    """The parent sets of one child that score higher than all their subsets.

    Parameters
    ----------
    source : GainSource
        Scores the families; a compiled discrete scorer computes one row at a time.
    child : int
    required, candidates : int32 (k,)
        Parents in each set, and candidates that may be added, at most 63; ascending and disjoint.
    max_size : int
        Largest number of candidates in a set.
    kind : {0, 1, 2}
        No bound, the likelihood bound, or the bound by cells.
    cost : float
        Cost of a free parameter in the score.
    cards : int64 (n,) or None
        States of each variable; if None, a parent counts as one parameter.
    entropies : float64 (n, n) or None
        N H(u | w) for discrete variables, N H(u) on the diagonal.
    ceiling : float
        An upper bound on the likelihood.
    bonus : float
        The gain of an arc in the structure prior, added to each family per arc.
    size_costs : float64 (n,) or None
        What 0 to n - 1 parents cost in addition to their parameters, 0 or more.
    """

    cdef object source
    cdef bint has_rows                          # otherwise families are scored one by one
    cdef Py_ssize_t child, n_candidates, n_required, max_size, level
    cdef int kind
    cdef double cost, bonus, ceiling, unit
    cdef const int64_t[::1] cards
    cdef const double[:, ::1] entropies
    cdef const double[::1] size_costs
    cdef int[::1] required, candidates
    cdef double[::1] row_scores, row_cells
    cdef int[::1] wanted
    cdef Level now, later, answer
    cdef Py_ssize_t at                          # the next set of the level to be extended
    cdef int64_t *slots                         # positions of the sets of the level, by hash; -1: empty
    cdef Py_ssize_t n_slots
    cdef int[::1] family
    cdef Scorer far                             # a source with remote counts, else None
    cdef Family *ahead                          # families needed by a block of sets, in order, and the first of each
    cdef int *ids_ahead
    cdef Py_ssize_t *first_ahead
    cdef Py_ssize_t n_ahead
    cdef double[64] best_of, bound_of, score_of
    cdef int[64] added
    cdef readonly int64_t n_scored

    def __cinit__(
        self, source, Py_ssize_t child, int[::1] required, int[::1] candidates, *, Py_ssize_t max_size,
        int kind=NO_BOUND, double cost=0.0, const int64_t[::1] cards=None, const double[:, ::1] entropies=None,
        double ceiling=0.0, double bonus=0.0,
        const double[::1] size_costs=None,
    ):
        if candidates.shape[0] > MOST_CANDIDATES:
            raise ValueError(f"at most {MOST_CANDIDATES} candidate parents can be searched, got {candidates.shape[0]}")
        self.source, self.child, self.kind = source, child, kind
        self.required, self.candidates, self.cards, self.entropies = required, candidates, cards, entropies
        self.n_required, self.n_candidates = required.shape[0], candidates.shape[0]
        self.max_size = min(max_size, self.n_candidates)
        self.cost, self.bonus, self.ceiling, self.size_costs = cost, bonus, ceiling, size_costs
        self.family = np.empty(self.n_required + self.n_candidates, dtype=np.int32)
        self.has_rows = hasattr(source, "score_additions")
        self.row_scores, self.row_cells = np.empty(source.n), np.empty(source.n)
        self.wanted = np.empty(self.n_candidates, dtype=np.int32)
        self.far = source if isinstance(source, Scorer) and (<Scorer>source).is_far else None
        self.begin()

    def __dealloc__(self):
        self.forget_block()
        release_level(&self.now)
        release_level(&self.later)
        release_level(&self.answer)
        free(self.slots)

    cdef int begin(self) except -1:
        cdef double score = self.score_set(0)
        self.unit = ROUNDING * max(1.0, fabs(score))
        append(&self.answer, 0, score, 0.0)
        if self.max_size > 0:
            append(&self.now, 0, score, self.likelihood(0, score) if self.kind == LIKELIHOOD else INFINITY)
            self.index_level()
        return 0

    # ---- Python interface ----

    def extend(self, Py_ssize_t n_sets) -> bool:
        """Extend up to `n_sets` live sets; return whether any are left, in this level or the next."""
        cdef Py_ssize_t end = min(self.at + n_sets, self.now.size), first = self.at, i
        if self.far is not None:
            self.list_block(first, end)
        while self.at < end:
            if self.far is not None:
                for i in range(self.first_ahead[self.at - first], self.first_ahead[self.at + 1 - first]):
                    self.far.expect(&self.ahead[i], 1, self.n_ahead - i)
            self.extend_set(self.at)
            self.at += 1
        if self.at == self.now.size:
            self.now, self.later = self.later, self.now
            self.later.size = 0
            self.at = 0
            self.level += 1
            if self.level >= self.max_size:
                self.now.size = 0
            self.index_level()
        return self.now.size > 0

    def results(self):
        """Return the sets, uint64, bit i for candidate i, and their scores, float64, in the order they were scored."""
        cdef Py_ssize_t n = self.answer.size
        return (
            np.array(<uint64_t[:n]>self.answer.sets),
            np.array(<double[:n]>self.answer.best),
        )

    def upper_bound(self) -> float:
        """Return an upper bound on the score of the child with any parents, including sets not scored yet."""
        cdef double highest = -INFINITY
        cdef Py_ssize_t i
        for i in range(self.answer.size):
            highest = max(highest, self.answer.best[i])
        for i in range(self.now.size):
            highest = max(highest, self.bound_supersets(self.now.sets[i], self.now.bound[i], self.level))
        return highest

    # ---- scores and bounds ----

    cdef Py_ssize_t write_family(self, uint64_t bits) noexcept:
        # The parents of a set, ascending.
        cdef Py_ssize_t i = 0, j, k = 0
        for j in range(self.n_candidates):
            if bits >> j & 1:
                while i < self.n_required and self.required[i] < self.candidates[j]:
                    self.family[k] = self.required[i]
                    i += 1
                    k += 1
                self.family[k] = self.candidates[j]
                k += 1
        while i < self.n_required:
            self.family[k] = self.required[i]
            i += 1
            k += 1
        return k

    cdef double count_configurations(self, uint64_t bits) noexcept:
        cdef double q = 1.0
        cdef Py_ssize_t i
        for i in range(self.n_required):
            q *= self.cards[self.required[i]]
        for i in range(self.n_candidates):
            if bits >> i & 1:
                q *= self.cards[self.candidates[i]]
        return q

    cdef double price(self, uint64_t bits, Py_ssize_t k) noexcept:
        # The cost of a set of k candidates.
        return self.price_parameters(bits, k, 0) + self.price_size(k)

    cdef double price_size(self, Py_ssize_t k) noexcept:
        return 0.0 if self.size_costs is None else self.size_costs[self.n_required + k]

    cdef double price_parameters(self, uint64_t bits, Py_ssize_t k, Py_ssize_t n_more) noexcept:
        # The smallest cost of the parameters of a set of k candidates and n_more others.
        if self.cards is None:
            return self.cost * (self.n_required + k + n_more)
        return self.cost * ldexp(self.count_configurations(bits), <int>n_more) * (self.cards[self.child] - 1)

    cdef double price_supersets(self, uint64_t bits, Py_ssize_t k) noexcept:
        # The smallest cost of a strict superset of a set of k candidates. Sizes cost less beyond half of all variables.
        cdef double least = self.price_parameters(bits, k, 1), parameters
        cdef Py_ssize_t more = 1
        if self.size_costs is None:
            return least
        least += self.price_size(k + 1)
        for more in range(2, self.max_size - k + 1):
            parameters = self.price_parameters(bits, k, more)
            if parameters >= least:
                break
            least = min(least, parameters + self.price_size(k + more))
        return least

    cdef double likelihood(self, uint64_t bits, double score) noexcept:
        cdef Py_ssize_t k = self.count_bits(bits)
        return score - self.bonus * (self.n_required + k) + self.price(bits, k)

    cdef Py_ssize_t count_bits(self, uint64_t bits) noexcept:
        cdef Py_ssize_t k = 0
        while bits:
            bits &= bits - 1
            k += 1
        return k

    cdef double score_set(self, uint64_t bits) except? -1:
        # -inf for a family that the source cannot score; searches by moves leave it out, too.
        cdef Py_ssize_t k = self.write_family(bits)
        if not self.can_count(bits):
            return -INFINITY
        try:
            score = self.source.family_score(self.child, np.asarray(self.family[:k]))
        except ValueError:
            if bits == 0 or not isinstance(self.source, Scorer):
                raise
            return -INFINITY
        return score + self.bonus * k

    cdef double bound_supersets(self, uint64_t bits, double bound, Py_ssize_t k) noexcept:
        # A bound on the scores of all strict supersets of a set of k candidates.
        cdef double arcs = self.bonus * (self.n_required + (k + 1 if self.bonus < 0 else self.max_size))
        if self.kind == NO_BOUND:
            return INFINITY
        return (self.ceiling if self.kind == LIKELIHOOD else bound) - self.price_supersets(bits, k) + arcs

    cdef double least_entropy(self, Py_ssize_t u, uint64_t others) noexcept:
        # The smallest N H(u | w), w among the others and the required parents.
        cdef double least = self.entropies[u, u]
        cdef Py_ssize_t i
        for i in range(self.n_required):
            least = min(least, self.entropies[u, self.required[i]])
        for i in range(self.n_candidates):
            if others >> i & 1:
                least = min(least, self.entropies[u, self.candidates[i]])
        return least

    # ---- extension ----

    cdef Py_ssize_t find_extensions(self, Py_ssize_t position, Py_ssize_t *n_wanted) noexcept:
        # Lists the live sets with one more candidate, after the last one of the set: `added`; `score_of` is infinity
        # if the set has to be scored. Returns their number.
        cdef uint64_t bits = self.now.sets[position], wider
        cdef Py_ssize_t u, k = self.level + 1, n_new = 0
        cdef double arcs = self.bonus * (self.n_required + k), bound
        n_wanted[0] = 0
        for u in range(self.n_candidates - 1, -1, -1):
            if bits >> u & 1:
                break
            wider = bits | <uint64_t>1 << u
            if not self.join_subsets(wider, n_new):
                continue
            bound = self.bound_of[n_new] + arcs
            if self.kind != NO_BOUND:
                bound -= self.price(wider, k)
            self.added[n_new] = <int>u
            self.score_of[n_new] = -INFINITY
            if bound > self.best_of[n_new] + self.unit:
                self.score_of[n_new] = INFINITY
                n_wanted[0] += 1
            n_new += 1
        return n_new

    cdef int extend_set(self, Py_ssize_t position) except -1:
        # Makes the live sets with one more candidate, after the last one of the set.
        cdef uint64_t bits = self.now.sets[position], wider
        cdef Py_ssize_t k = self.level + 1, i, n_wanted = 0, n_new = self.find_extensions(position, &n_wanted)
        if n_wanted > 0:
            self.score_extensions(bits, n_new)
            self.n_scored += n_wanted
        for i in range(n_new - 1, -1, -1):
            wider = bits | <uint64_t>1 << self.added[i]
            if self.score_of[i] > -INFINITY and self.kind == LIKELIHOOD:
                self.bound_of[i] = self.likelihood(wider, self.score_of[i])
            if self.score_of[i] > self.best_of[i] + self.unit:
                append(&self.answer, wider, self.score_of[i], 0.0)
                self.best_of[i] = self.score_of[i]
            if k < self.max_size and self.bound_supersets(wider, self.bound_of[i], k) > self.best_of[i] + self.unit:
                append(&self.later, wider, self.best_of[i], self.bound_of[i])
        return 0

    cdef int list_block(self, Py_ssize_t first, Py_ssize_t end) except -1:
        # Lists the families that sets of the level need: with tables of candidates, or each wider family separately.
        cdef Py_ssize_t k = self.n_required + self.level, each = 1 if self.has_rows else self.n_candidates, p, i, m
        cdef Py_ssize_t n_new, n_wanted = 0
        cdef uint64_t bits, wider
        cdef int *ids
        self.forget_block()
        self.ahead = <Family *>malloc(((end - first) * each + 1) * sizeof(Family))
        self.ids_ahead = <int *>malloc(((end - first) * each * (k + 1 + self.n_candidates) + 1) * sizeof(int))
        self.first_ahead = <Py_ssize_t *>malloc((end - first + 1) * sizeof(Py_ssize_t))
        if not (self.ahead and self.ids_ahead and self.first_ahead):
            raise MemoryError(f"cannot list the families of {end - first} sets of parents")
        ids = self.ids_ahead
        for p in range(first, end):
            self.first_ahead[p - first] = self.n_ahead
            bits, n_new, m = self.now.sets[p], self.find_extensions(p, &n_wanted), 0
            for i in range(n_new):
                wider = bits | <uint64_t>1 << self.added[i]
                if self.score_of[i] == -INFINITY or not self.can_count(wider):
                    continue
                if self.has_rows:
                    ids[m] = self.candidates[self.added[i]]
                    m += 1
                else:
                    ids = self.list_family(wider, ids, 0, NULL)
            if m > 0:
                ids = self.list_family(bits, ids + m, m, ids)
        self.first_ahead[end - first] = self.n_ahead
        return 0

    cdef int *list_family(self, uint64_t bits, int *ids, Py_ssize_t n_wanted, const int *wanted) noexcept:
        # Adds the family of a set to those of the block; returns the position of the next ids.
        cdef Py_ssize_t k = self.write_family(bits), i
        for i in range(k):
            ids[i] = self.family[i]
        self.ahead[self.n_ahead] = Family(self.child, k, ids, n_wanted, wanted)
        self.n_ahead += 1
        return ids + k

    cdef void forget_block(self) noexcept:
        free(self.ahead)
        free(self.ids_ahead)
        free(self.first_ahead)
        self.ahead, self.ids_ahead, self.first_ahead, self.n_ahead = NULL, NULL, NULL, 0

    cdef bint join_subsets(self, uint64_t wider, Py_ssize_t i) noexcept:
        # The best score and the bound of the subsets without one candidate; False if one of them is not live.
        cdef double best = -INFINITY, bound = self.ceiling if self.kind == LIKELIHOOD else INFINITY, more
        cdef Py_ssize_t j, place
        cdef uint64_t bit
        for j in range(self.n_candidates):
            bit = <uint64_t>1 << j
            if not wider & bit:
                continue
            place = self.find(wider ^ bit)
            if place < 0:
                return False
            best = max(best, self.now.best[place])
            more = 0.0
            if self.kind == LIKELIHOOD:
                more = INFINITY
                if self.entropies is not None:
                    more = self.least_entropy(self.candidates[j], wider ^ bit)
            bound = min(bound, self.now.bound[place] + more)
        self.best_of[i], self.bound_of[i] = best, bound
        return True

    cdef int score_extensions(self, uint64_t bits, Py_ssize_t n_new) except -1:
        cdef Py_ssize_t i, k, n = 0
        cdef double row_of_child
        if not self.has_rows:
            for i in range(n_new):
                if self.score_of[i] == INFINITY:
                    self.score_of[i] = self.score_set(bits | <uint64_t>1 << self.added[i])
            return 0
        for i in range(n_new):
            if self.score_of[i] == INFINITY and self.can_count(bits | <uint64_t>1 << self.added[i]):
                self.wanted[n] = self.candidates[self.added[i]]
                n += 1
        k = self.write_family(bits)
        self.source.score_additions(
            self.child, self.family[:k], self.wanted[:n], self.row_scores, self.row_cells
        )
        row_of_child = log(<double>self.cards[self.child])
        for i in range(n_new):
            if self.score_of[i] == INFINITY:
                if not self.can_count(bits | <uint64_t>1 << self.added[i]):
                    self.score_of[i] = -INFINITY
                    continue
                self.score_of[i] = self.row_scores[self.candidates[self.added[i]]] + self.bonus * (k + 1)
                if self.kind == CELLS:
                    self.bound_of[i] = -self.row_cells[self.candidates[self.added[i]]] * row_of_child
        return 0

    cdef bint can_count(self, uint64_t bits) noexcept:
        return self.cards is None \
            or self.count_configurations(bits) * self.cards[self.child] <= 2.0 ** MAX_CELLS_LOG2

    # ---- sets of a level by hash ----

    cdef int index_level(self) except -1:
        cdef Py_ssize_t size = 64, i
        cdef uint64_t place
        while size < 2 * self.now.size:
            size *= 2
        if size > self.n_slots:
            free(self.slots)
            self.slots = <int64_t *>malloc(size * sizeof(int64_t))
            if self.slots == NULL:
                self.n_slots = 0
                raise MemoryError(f"cannot index {self.now.size} sets of parents")
        self.n_slots = size
        memset(self.slots, 0xff, size * sizeof(int64_t))
        for i in range(self.now.size):
            place = self.slot_of(self.now.sets[i])
            while self.slots[place] >= 0:
                place = (place + 1) & <uint64_t>(size - 1)
            self.slots[place] = i
        return 0

    cdef uint64_t slot_of(self, uint64_t bits) noexcept:
        bits = (bits ^ (bits >> 29)) * <uint64_t>0x9e3779b97f4a7c15
        return (bits >> 32) & <uint64_t>(self.n_slots - 1)

    cdef Py_ssize_t find(self, uint64_t bits) noexcept:
        cdef uint64_t place = self.slot_of(bits)
        while self.slots[place] >= 0:
            if self.now.sets[self.slots[place]] == bits:
                return self.slots[place]
            place = (place + 1) & <uint64_t>(self.n_slots - 1)
        return -1

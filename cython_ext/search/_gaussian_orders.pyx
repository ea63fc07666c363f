"""Search over the orders of variables for linear Gaussian scores.

Problem: with R a correlation matrix of N rows and P the parents of x, find an order of the variables whose graph has a
high sum of

    score(x | P) = -N/2 ln v_x - sum_{i < |P|} costs_i,     v_x = 1 - R_xP inv(R_PP) R_Px,

if each variable has the parents that grow-shrink finds among its predecessors.
Algorithm: grow-shrink starts from the present family, with the parent that left removed, and never from no parents. It
adds the best parent and deletes the worst until no change of one parent gains. A variable x is moved past others from
one event to the next: a parent of x, or a variable that has x as a parent or would gain by it. The scan ends where the
gain so far and the sum of the single gains that may follow are below the best gain (a heuristic bound: gains may grow
jointly). A kick moves one to four variables, each next to a neighbour of the one before; then only variables that were
moved or whose families changed are tried again. A result that is as good or better is kept, otherwise the order of the
best graph is restored.
Ties: of equal shares, the parent that comes first in ``priority`` is chosen. Sums of scores that differ by less than a
quarter of ``least_gain`` are equal: the result does not depend on the order in which families were computed, nor on
``memory``.
Cost: a new family costs two passes over k + 2 rows of R, see ``_regressions``; a move costs its events.
Memory: above ``memory`` bytes all families but those of the present and the best graph are dropped. In addition
regressions, at most REGRESSION_BYTES of vectors, and n^2 / 4 bytes for bits of arcs.
Thread-safety: an object serves one thread; it holds no lock of Python's while it searches.
References: Wienobst, Henckel & Weichwald (2025), Embracing discrete search, arXiv 2510.04970 (reinsertion in orders,
families that start from those before, iterated local search); Andrews et al. (2023), Fast scalable and accurate
discovery of DAGs using the best order score search and grow-shrink trees, NeurIPS, algorithm 1; Bentley (1992), Fast
algorithms for geometric traveling salesman problems, ORSA Journal on Computing 4 (work queues).
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from _dag cimport bit, clear_bit, set_bit
from _dense cimport select_dense_level
from _gaussian_families cimport Family, drop_families, forget_families, is_full
from _gaussian_walks cimport (
    Walks,
    delete_parent,
    find_family,
    free_walks,
    gain_of,
    init_walks,
    look_up,
    refuse,
    set_cost,
)
from _regressions cimport pgmx_variance_rows_select
from _rng cimport next_word
from _simd cimport pgmx_lowest_bit

pgmx_variance_rows_select(select_dense_level())

cdef enum:
    KICK_SIZE = 4                       # most variables that a kick moves
    NEAR = 5                            # largest distance from a neighbour, in one of four moves
    TRIES = 200                         # times n, the most variables that are tried again after a kick
    VALUES_PER_CHECK = 1 << 22          # entries of R that are read between two checks


cdef struct Change:
    int child
    Family *family


cdef class GaussianOrders:
    """An order of the variables under search, and its graph.

    Parameters
    ----------
    correlation : float64 (n, n), C-contiguous
        Symmetric, ones on the diagonal.
    n_rows : float
        N, or the sum of the weights.
    costs : float64 (n - 1,)
        Cost of the first, second, ... parent.
    most_parents : int
        A family with as many parents gets no other.
    priority : int64 (n,)
        A permutation; smaller comes first among equal shares.
    required : int64 (k, 2)
        Arcs (tail, head) of every graph.
    allowed : uint64 (n, (n + 63) / 64), optional
        Bits by child and parent of the arcs that may be added; None allows all.
    least_gain : float
        A change that gains less is not an improvement; positive.
    memory : int
        Largest size of the stored families in bytes.
    """

    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t n_moves    # of a variable in the order
    cdef Py_ssize_t words
    cdef double least_gain, margin
    cdef object owners
    cdef Walks walks
    cdef int *ranked                    # the variables in order
    cdef int *rank                      # owned by `walks`
    cdef Family **families              # (2 n,): of the present order, then of the best
    cdef int *best_order
    cdef double best_score
    cdef uint64_t *wanted               # (n, words): the variables that want each variable
    cdef uint64_t *children             # (n, words)
    cdef int *events
    cdef Change *changes
    cdef Py_ssize_t n_changes
    cdef int *queue                     # ring of variables to be tried
    cdef char *is_queued
    cdef Py_ssize_t queue_begin, n_queued

    def __cinit__(
        self,
        const double[:, ::1] correlation,
        double n_rows,
        const double[::1] costs,
        int most_parents,
        *,
        const int64_t[::1] priority,
        const int64_t[:, ::1] required,
        const uint64_t[:, ::1] allowed=None,
        double least_gain=1e-4,
        Py_ssize_t memory=1 << 28,
    ):
        cdef Py_ssize_t n = correlation.shape[0], i
        self.n, self.words, self.least_gain, self.margin = n, (n + 63) // 64, least_gain, least_gain / 4
        self.owners = correlation, allowed
        self.wanted = <uint64_t *>calloc(2 * n * self.words, sizeof(uint64_t))
        self.ranked = <int *>calloc(4 * n, sizeof(int))
        self.families = <Family **>calloc(2 * n, sizeof(Family *))
        self.changes = <Change *>calloc(n, sizeof(Change))
        self.is_queued = <char *>calloc(n, 1)
        if not init_walks(&self.walks, &correlation[0, 0], n, n_rows, least_gain, memory) or self.wanted == NULL \
                or self.ranked == NULL or self.families == NULL or self.changes == NULL or self.is_queued == NULL:
            refuse(&self.walks)
        self.children, self.rank = self.wanted + n * self.words, self.walks.rank
        self.best_order, self.events, self.queue = self.ranked + n, self.ranked + 2 * n, self.ranked + 3 * n
        self.walks.most_parents = most_parents
        if allowed is not None:
            self.walks.allowed = &allowed[0, 0]
        for i in range(n):
            self.walks.priority[i] = priority[i]
        for i in range(required.shape[0]):
            set_bit(self.walks.required + required[i, 1] * self.words, required[i, 0])
        self.set_costs(costs)

    def __dealloc__(self):
        free_walks(&self.walks)
        free(self.wanted)
        free(self.ranked)
        free(self.families)
        free(self.changes)
        free(self.is_queued)

    # ---- Python interface ----

    @property
    def n_families(self) -> int:
        """Number of families that were computed; it depends on ``memory``."""
        return self.walks.n_families

    @property
    def n_walks(self) -> int:
        """Number of searches for parents, made or remembered."""
        return self.walks.n_walks

    @property
    def score(self) -> float:
        """Score of the best graph, without the constants of the variables."""
        return self.best_score

    def order(self) -> np.ndarray:
        """Return the order of the best graph, int64 (n,)."""
        return np.array([self.best_order[i] for i in range(self.n)], dtype=np.int64)

    def edges(self) -> np.ndarray:
        """Return the arcs of the best graph, int64 (m, 2), (tail, head), by head and tail."""
        cdef Py_ssize_t v, m = 0
        cdef int i
        cdef int64_t[:, ::1] arcs
        for v in range(self.n):
            m += self.families[self.n + v].k
        result = np.empty((m, 2), dtype=np.int64)
        arcs, m = result, 0
        for v in range(self.n):
            for i in range(self.families[self.n + v].k):
                arcs[m, 0], arcs[m, 1] = self.families[self.n + v].parents[i], v
                m += 1
        return result

    def set_costs(self, const double[::1] costs):
        """Replace the costs of the parents; then call `set_order` or `set_graph`."""
        cdef int k
        for k in range(<int>self.n - 1):
            set_cost(&self.walks, k, costs[k])
        forget_families(&self.walks.store)
        memset(self.families, 0, 2 * self.n * sizeof(Family *))
        memset(self.wanted, 0, 2 * self.n * self.words * sizeof(uint64_t))

    def set_order(self, const int64_t[::1] order):
        """Set an order, in which each variable comes after its required parents; families grow from these."""
        cdef Py_ssize_t i, u
        cdef int k, v
        self.put_order(order)
        for i in range(self.n):
            v, k = self.ranked[i], 0
            for u in range(self.n):
                if bit(self.walks.required + v * self.words, u):
                    self.walks.parents[k] = <int>u
                    k += 1
            self.set_family(v, find_family(&self.walks, look_up(&self.walks, v, k), <int>i))
        self.save()

    def set_graph(self, const int64_t[::1] order, const int64_t[:, ::1] edges, bint improves=True):
        """Set an order and a graph whose arcs lead forward in it; `edges` are (tail, head), by head and tail.

        `improves`: families are improved among the predecessors.
        """
        cdef Py_ssize_t v, i = 0
        cdef int k
        cdef Family *family
        self.put_order(order)
        for v in range(self.n):
            k = 0
            while i < edges.shape[0] and edges[i, 1] == v:
                self.walks.parents[k] = <int>edges[i, 0]
                k, i = k + 1, i + 1
            family = look_up(&self.walks, <int>v, k)
            self.set_family(<int>v, find_family(&self.walks, family, self.rank[v]) if improves else family)
        self.save()

    def climb(self, Py_ssize_t most, check) -> bool:
        """Move each variable to its best place until none improves, or ``most`` moves were made.

        ``check()`` is called from time to time; it may raise an error. Returns whether no move improves.
        """
        cdef Py_ssize_t end = self.n_moves + most, i = 0, idle = 0, last
        cdef int[::1] turns = np.empty(self.n, dtype=np.int32)
        while idle < self.n and self.n_moves < end:
            self.make_space()
            last = self.walks.values_read
            with nogil:
                while idle < self.n and self.n_moves < end and not self.is_due(last):
                    if i == 0:
                        memcpy(&turns[0], self.ranked, self.n * sizeof(int))
                    idle = 0 if self.improve(turns[i]) else idle + 1
                    i = i + 1 if i + 1 < self.n else 0
            check()
        self.queue_begin = self.n_queued = 0
        memset(self.is_queued, 0, self.n)
        self.keep_best()
        return idle >= self.n

    def kick(self, Py_ssize_t n_kicks, uint64_t seed, Py_ssize_t idle, Py_ssize_t patience, Py_ssize_t most, check):
        """Make kicks number ``seed``, ``seed`` + 1, ... from the best order, each with moves until none improves.

        At most ``n_kicks``, and until ``patience`` consecutive kicks, of which ``idle`` were made before, did not
        improve the score, or ``most`` moves were made. Returns the number of kicks, and of consecutive idle kicks.
        """
        cdef Py_ssize_t end = self.n_moves + most, last, j = 0
        cdef uint64_t state
        cdef double before
        while j < n_kicks and idle < patience and self.n_moves < end:
            self.make_space()
            last = self.walks.values_read
            with nogil:
                while j < n_kicks and idle < patience and self.n_moves < end and not self.is_due(last):
                    state = seed + <uint64_t>j
                    next_word(&state)
                    before = self.best_score
                    self.make_kick(&state)
                    self.try_queued(end)
                    j += 1
                    self.accept()
                    idle = 0 if self.best_score > before + self.least_gain else idle + 1
            check()
        return j, idle

    cdef int make_space(self) except -1:
        if is_full(&self.walks.store) and not drop_families(&self.walks.store, self.families, 2 * self.n):
            refuse(&self.walks)
        return 0

    cdef bint is_due(self, Py_ssize_t last) noexcept nogil:
        return self.walks.values_read > last + VALUES_PER_CHECK or is_full(&self.walks.store)

    # ---- the best order ----

    cdef double sum_scores(self, Family **families) noexcept nogil:
        cdef double total = 0.0
        cdef Py_ssize_t v
        for v in range(self.n):
            total += families[v].score
        return total

    cdef void save(self) noexcept nogil:
        memcpy(self.best_order, self.ranked, self.n * sizeof(int))
        memcpy(self.families + self.n, self.families, self.n * sizeof(Family *))
        self.best_score = self.sum_scores(self.families)

    cdef void keep_best(self) noexcept nogil:
        if self.sum_scores(self.families) > self.best_score:
            self.save()

    cdef void accept(self) noexcept nogil:
        # Keeps the present order if it is as good as the best, else returns to the best.
        cdef Py_ssize_t v
        # equal graphs differ by rounding errors
        if self.sum_scores(self.families) >= self.best_score - self.margin / 1024:
            self.save()
            return
        memcpy(self.ranked, self.best_order, self.n * sizeof(int))
        for v in range(self.n):
            self.rank[self.ranked[v]] = <int>v
            self.set_family(<int>v, self.families[self.n + v])

    # ---- the order ----

    cdef int put_order(self, const int64_t[::1] order) except -1:
        cdef Py_ssize_t i
        for i in range(self.n):
            self.ranked[i] = <int>order[i]
            self.rank[order[i]] = <int>i
        return 0

    cdef void set_family(self, int v, Family *family) noexcept nogil:
        cdef Family *previous = self.families[v]
        cdef int i
        if previous == family:
            return
        if previous != NULL:
            for i in range(previous.k):
                clear_bit(self.children + previous.parents[i] * self.words, v)
            for i in range(previous.m):
                clear_bit(self.wanted + previous.additions[i] * self.words, v)
        self.families[v] = family
        for i in range(family.k):
            set_bit(self.children + family.parents[i] * self.words, v)
        for i in range(family.m):
            set_bit(self.wanted + family.additions[i] * self.words, v)

    cdef void put_at(self, int x, int place) noexcept nogil:
        # Moves x to another rank; families are not updated.
        cdef int i, v, rank = self.rank[x]
        for i in range(rank, place):
            v = self.ranked[i + 1]
            self.ranked[i], self.rank[v] = v, i
        for i in range(rank, place, -1):
            v = self.ranked[i - 1]
            self.ranked[i], self.rank[v] = v, i
        self.ranked[place], self.rank[x] = x, place

    cdef int list_ranks(self, const uint64_t *bits, int first, int end) noexcept nogil:
        # The ranks from `first` to `end` - 1 of the variables in a set, ascending, into `events`; their number.
        cdef Py_ssize_t w
        cdef uint64_t word
        cdef int rank, i, m = 0
        for w in range(self.words):
            word = bits[w]
            while word:
                rank = self.rank[64 * w + pgmx_lowest_bit(word)]
                word &= word - 1
                if first <= rank < end:
                    i = m
                    while i > 0 and self.events[i - 1] > rank:
                        self.events[i] = self.events[i - 1]
                        i -= 1
                    self.events[i] = rank
                    m += 1
        return m

    cdef double gain_from(self, int child, int parent) noexcept nogil:
        # The gain of adding a parent to a child that wants it.
        cdef const Family *family = self.families[child]
        cdef int i = 0
        while family.additions[i] != parent:
            i += 1
        return gain_of(&self.walks, family, i)

    cdef void note(self, int child, Family *family) noexcept nogil:
        self.changes[self.n_changes].child, self.changes[self.n_changes].family = child, family
        self.n_changes += 1

    cdef Family *scan_left(
        self, int x, int target, bint searches, double *best, int *place, Py_ssize_t *n_kept
    ) except NULL nogil:
        # x passes its predecessors down to rank `target`. If it `searches`, the best place and its family; else the
        # family at the target. The changes of other families are appended to `changes`.
        cdef int rank = self.rank[x], i, j, z, m
        cdef Family *family = self.families[x]
        cdef Family *kept = family
        cdef Family *other
        cdef const uint64_t *required = self.walks.required + x * self.words
        cdef double gain = 0.0, potential = 0.0, first = family.score
        m = self.list_ranks(self.wanted + x * self.words, target, rank)
        if searches:
            for i in range(m):
                potential += self.gain_from(self.ranked[self.events[i]], x)
        self.rank[x] = -1  # before all
        while True:
            i = self.events[m - 1] if m > 0 else -1
            for j in range(family.k):
                i = max(i, self.rank[family.parents[j]])
            if i < target or i < 0 or (searches and gain + family.score - first + potential < best[0]):
                break
            z = self.ranked[i]
            if bit(required, z):
                break
            if self.has_parent(family, z):
                family = find_family(&self.walks, delete_parent(&self.walks, family, z), i)
            if m > 0 and self.events[m - 1] == i:
                m -= 1
                if searches:
                    potential -= self.gain_from(z, x)
                other = find_family(&self.walks, self.families[z], i)
                if other != self.families[z]:
                    gain += other.score - self.families[z].score
                    self.note(z, other)
            if searches and gain + family.score - first > best[0] + self.margin:
                best[0], place[0], kept, n_kept[0] = gain + family.score - first, i, family, self.n_changes
        self.rank[x] = rank
        return kept if searches else family

    cdef bint has_parent(self, const Family *family, int u) noexcept nogil:
        cdef int i
        for i in range(family.k):
            if family.parents[i] == u:
                return True
        return False

    cdef Family *scan_right(
        self, int x, int target, bint searches, double *best, int *place, Py_ssize_t *n_kept
    ) except NULL nogil:
        # x passes its successors up to rank `target`, as `scan_left`; NULL if no place is better.
        cdef int rank = self.rank[x], i, j, z, m, at = 0, last = rank
        cdef Family *family = self.families[x]
        cdef Family *kept = family
        cdef Family *other
        cdef Family *summed = NULL
        cdef double gain = 0.0, potential = 0.0, first = family.score
        m = self.list_ranks(self.children + x * self.words, rank + 1, target + 1)
        self.rank[x] = <int>self.n  # after all
        while True:
            i = self.events[at] if at < m else <int>self.n
            for j in range(family.m):
                if self.rank[family.additions[j]] > last:
                    i = min(i, self.rank[family.additions[j]])
            if i > target:
                break
            if searches and summed != family:
                potential = 0.0
                for j in range(family.m):
                    if self.rank[family.additions[j]] > last:
                        potential += gain_of(&self.walks, family, j)
                summed = family
            if searches and gain + family.score - first + potential < best[0]:
                break
            z, last = self.ranked[i], i
            if at < m and self.events[at] == i:
                at += 1
                if bit(self.walks.required + z * self.words, x):
                    break
                other = find_family(&self.walks, delete_parent(&self.walks, self.families[z], x), i)
                gain += other.score - self.families[z].score
                self.note(z, other)
            family = find_family(&self.walks, family, i + 1)
            if searches and gain + family.score - first > best[0] + self.margin:
                best[0], place[0], kept, n_kept[0] = gain + family.score - first, i, family, self.n_changes
        self.rank[x] = rank
        return kept if searches else family

    cdef bint improve(self, int x) except -1 nogil:
        # Moves x to its best place; False if none gains.
        cdef double best = self.least_gain - self.margin
        cdef int rank = self.rank[x], place = rank
        cdef Py_ssize_t first = 0, end = 0
        cdef Family *left
        cdef Family *right
        self.n_changes = 0
        left = self.scan_left(x, 0, True, &best, &place, &end)
        first = self.n_changes
        right = self.scan_right(x, <int>self.n - 1, True, &best, &place, &end)
        if place == rank:
            return False
        if place < rank:
            self.apply(x, place, left, 0, end)
        else:
            self.apply(x, place, right, first, end)
        self.n_moves += 1  # a kick's own moves do not count: a limit must not cut them
        return True

    cdef void apply(self, int x, int place, Family *family, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        # Moves x, changes families, and queues what changed.
        cdef Py_ssize_t i
        self.set_family(x, family)
        for i in range(first, end):
            self.set_family(self.changes[i].child, self.changes[i].family)
            self.push(self.changes[i].child)
        self.put_at(x, place)
        self.push(x)

    # ---- kicks ----

    cdef void push(self, int x) noexcept nogil:
        if not self.is_queued[x]:
            self.is_queued[x] = 1
            self.queue[(self.queue_begin + self.n_queued) % self.n] = x
            self.n_queued += 1

    cdef int try_queued(self, Py_ssize_t end) except -1 nogil:
        # Moves variables of the queue to their best places, while fewer than `end` moves were made.
        cdef Py_ssize_t tries = 0
        cdef int x
        while self.n_queued > 0:
            x = self.queue[self.queue_begin]
            self.queue_begin = (self.queue_begin + 1) % self.n
            self.n_queued -= 1
            self.is_queued[x] = 0
            if tries < TRIES * self.n and self.n_moves < end:
                self.improve(x)
                tries += 1
        return 0

    cdef int force(self, int x, int place) except -1 nogil:
        # Moves x to a place, or to the nearest one that its required arcs allow.
        cdef int rank = self.rank[x], i
        cdef double best = 0.0
        cdef Py_ssize_t end = 0
        cdef Family *family
        self.n_changes = 0
        if place < rank:
            for i in range(rank - 1, place - 1, -1):
                if bit(self.walks.required + x * self.words, self.ranked[i]):
                    place = i + 1
                    break
        else:
            for i in range(rank + 1, place + 1):
                if bit(self.walks.required + self.ranked[i] * self.words, x):
                    place = i - 1
                    break
        if place < rank:
            family = self.scan_left(x, place, False, &best, &i, &end)
        elif place > rank:
            family = self.scan_right(x, place, False, &best, &i, &end)
        else:
            return 0
        self.apply(x, place, family, 0, self.n_changes)
        return 0

    cdef int make_kick(self, uint64_t *state) except -1 nogil:
        # Moves a random variable to a random neighbour or near it, then a neighbour of it, and so on. The moved
        # variables are the first in the queue.
        cdef int[KICK_SIZE] moved, places, offsets
        cdef int size = 1 + <int>(next_word(state) % <uint64_t>KICK_SIZE), place, i, m
        cdef int x = <int>(next_word(state) % <uint64_t>self.n)
        for i in range(size):
            m = self.list_neighbours(x)
            moved[i], offsets[i] = x, 0
            if m == 0:
                x = places[i] = <int>(next_word(state) % <uint64_t>self.n)
            else:
                places[i] = self.events[next_word(state) % <uint64_t>m]
                if next_word(state) % 4 == 0:
                    offsets[i] = <int>(next_word(state) % (2 * NEAR + 1)) - NEAR
                x = self.events[next_word(state) % <uint64_t>m]
            self.push(moved[i])
        for i in range(size):
            place = self.rank[places[i]] + offsets[i]
            self.force(moved[i], min(max(place, 0), <int>self.n - 1))
        return 0

    cdef int list_neighbours(self, int x) noexcept nogil:
        # The parents and children of x, into `events`; their number.
        cdef const Family *family = self.families[x]
        cdef Py_ssize_t w
        cdef uint64_t word
        cdef int m = family.k
        memcpy(self.events, family.parents, m * sizeof(int))
        for w in range(self.words):
            word = self.children[x * self.words + w]
            while word:
                self.events[m] = <int>(64 * w + pgmx_lowest_bit(word))
                word &= word - 1
                m += 1
        return m

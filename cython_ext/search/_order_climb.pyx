"""Climbing over the orders of variables: parents come from the predecessors, and one variable moves at a time.

Problem: find an order whose graph has a high score, if each variable has the parents that grow-shrink finds among its
predecessors.
Algorithm: best order score search with grow-shrink trees (``_grow_shrink``), kept between moves and starts.
For each child the search stores the predecessors that were chosen on its path, and the other variables that would have
been chosen if they were predecessors. Removing or adding any other predecessor has no effect, so that a move of one
variable past another usually needs two bit tests. If counts are remote, the positions of some variables are tried
first, as if none of them moved, and the missing rows are requested together.
Ties: of equal gains, the parent that comes first in ``priority`` is chosen.
Cost: one row of gains per node of the trees; O(n) bit tests to move one variable.
Memory: the trees; above ``memory`` bytes the least recently visited nodes are dropped.
Thread-safety: an object serves one thread; over a compiled source it holds no lock of Python's while it climbs.
Reference: Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld (2023), Fast scalable and accurate discovery of DAGs
using the best order score search and grow-shrink trees, NeurIPS, algorithm 1.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from _dag cimport bit, clear_bit, set_bit
from _parent_trees cimport Node
from _place cimport Place, copy_place, free_place, init_place
from _rng cimport next_word

from pgmx._ext._grow_shrink cimport GrowShrink

cdef enum:
    ROWS_PER_CHECK = 16
    VARIABLES_AHEAD = 32        # whose rows are prefetched together if counts are remote


cdef class OrderClimb:
    """An order of the variables under search, and its graph.

    Parameters
    ----------
    source : GainSource
        Rows of gains, see ``pgmx.scores.gains``.
    gains : float64 (n, n), C-contiguous
        Scratch: ``source`` writes a row, which is then restored.
    priority : int64 (n,)
        A permutation; smaller comes first among equal gains.
    required : int64 (m, 2)
        Arcs (tail, head) of every graph.
    bonus : float
        Additional gain of an arc (a structure prior).
    least_gain : float
        A change that gains less is not an improvement; positive.
    swaps : bool
        Whether one parent is exchanged if neither an addition nor a deletion gains.
    memory : int
        Largest size of the stored nodes in bytes.
    """

    cdef readonly Py_ssize_t n
    cdef Py_ssize_t words
    cdef GrowShrink trees
    cdef uint64_t *sets         # scratch of five sets
    cdef Place now, saved

    def __cinit__(
        self,
        source,
        double[:, ::1] gains,
        const int64_t[::1] priority,
        *,
        const int64_t[:, ::1] required,
        double bonus=0.0,
        double least_gain=1e-4,
        bint swaps=True,
        Py_ssize_t memory=1 << 27,
    ):
        cdef Py_ssize_t n = gains.shape[0]
        self.n, self.words = n, (n + 63) // 64
        self.trees = GrowShrink(
            source, gains, priority, required=required, bonus=bonus, least_gain=least_gain, swaps=swaps, memory=memory
        )
        self.sets = <uint64_t *>calloc(5 * self.words + 1, sizeof(uint64_t))
        if not (self.sets and init_place(&self.now, n, self.words) and init_place(&self.saved, n, self.words)):
            raise MemoryError(f"cannot allocate an order of {n} variables")

    def __dealloc__(self):
        free(self.sets)
        free_place(&self.now)
        free_place(&self.saved)

    # ---- Python interface ----

    @property
    def n_rows(self) -> int:
        """Number of rows of gains that were computed."""
        return self.trees.n_rows

    @property
    def score(self) -> float:
        """Score of the graph of the order, without the prior of the graph without arcs."""
        return self.now.score

    def order(self) -> np.ndarray:
        """Return the order, int64 (n,)."""
        return np.array([self.now.order[i] for i in range(self.n)], dtype=np.int64)

    def edges(self) -> np.ndarray:
        """Return the arcs of the graph, int64 (m, 2), (tail, head), by head and tail."""
        cdef Py_ssize_t v, i
        cdef Node *node
        arcs = []
        for v in range(self.n):
            node = self.now.families[v]
            for i in range(node.n_parents):
                arcs.append((node.parents[i], v))
        return np.array(arcs, dtype=np.int64).reshape(-1, 2)

    def set_order(self, const int64_t[::1] order):
        """Set an order, in which each variable comes after its required parents."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.now.order[i] = <int>order[i]
            self.now.rank[order[i]] = <int>i
        with nogil:
            self.find_families()

    def improve(self, Py_ssize_t most, check) -> int:
        """Move each variable to its best position until none improves, at most ``most`` times; return the moves made.

        ``check()`` is called after some rows of gains, `ROWS_PER_CHECK` of a compiled source; it may raise an error.
        """
        cdef Py_ssize_t n_moves = 0, idle = 0, rows, i = 0, j
        cdef Py_ssize_t most_rows = ROWS_PER_CHECK if self.trees.is_compiled else 1
        cdef int[::1] turns = np.empty(self.n, dtype=np.int32)
        while idle < self.n and n_moves < most:
            if self.is_full():
                self.make_space()
            rows = self.trees.n_rows
            with nogil:
                while True:
                    if i == 0:
                        for j in range(self.n):
                            turns[j] = self.now.order[j]
                    self.try_places(&turns[0], i)
                    if self.improve_variable(turns[i]):
                        n_moves += 1
                        idle = 0
                    else:
                        idle += 1
                    i = i + 1 if i + 1 < self.n else 0
                    if idle == self.n or n_moves == most or self.trees.n_rows >= rows + most_rows or self.is_full():
                        break
            if self.trees.n_rows > rows:
                check()
        return n_moves

    cdef bint is_full(self) noexcept nogil:
        return self.trees.trees.bytes > self.trees.trees.memory

    def kick(self, Py_ssize_t n_moves, uint64_t seed):
        """Move ``n_moves`` random variables to random positions that their required arcs allow."""
        cdef Py_ssize_t rank, low, high
        cdef int x
        for _ in range(n_moves if self.n > 1 else 0):
            x = <int>(next_word(&seed) % <uint64_t>self.n)
            rank = self.now.rank[x]
            low = high = rank
            while low > 0 and not bit(self.trees.required + x * self.words, self.now.order[low - 1]):
                low -= 1
            while high + 1 < self.n and not bit(self.trees.required + self.now.order[high + 1] * self.words, x):
                high += 1
            self.put_at(x, low + <Py_ssize_t>(next_word(&seed) % <uint64_t>(high - low + 1)))
        with nogil:
            self.update_families(0, self.n)

    def save(self):
        """Store the present order, for ``restore``."""
        copy_place(&self.saved, &self.now, self.n, self.words)

    def restore(self):
        """Return to the order that ``save`` stored."""
        copy_place(&self.now, &self.saved, self.n, self.words)

    cdef int make_space(self) except -1:
        # Drops nodes that were not visited recently, except nodes of the present and the stored order.
        cdef Py_ssize_t v
        for v in range(self.n):
            self.now.families[v].used = self.trees.trees.epoch
            if self.saved.families[v] != NULL:
                self.saved.families[v].used = self.trees.trees.epoch
        self.trees.make_space()
        return 0

    # ---- moves of the order ----

    cdef uint64_t *chosen_by(self, int v) noexcept nogil:
        return self.now.chosen + v * self.words

    cdef uint64_t *wanted_by(self, int v) noexcept nogil:
        return self.now.wanted + v * self.words

    cdef int find_families(self) except -1 nogil:
        cdef uint64_t *before = self.sets
        cdef Py_ssize_t i
        cdef int v
        self.try_families(0, self.n, True)
        memset(before, 0, self.words * sizeof(uint64_t))
        for i in range(self.n):
            v = self.now.order[i]
            self.now.families[v] = self.trees.find_family(v, before, self.chosen_by(v), self.wanted_by(v))
            set_bit(before, v)
        self.add_scores()
        return 0

    cdef void add_scores(self) noexcept nogil:
        cdef Py_ssize_t v
        self.now.score = 0.0
        for v in range(self.n):
            self.now.score += self.now.families[v].score

    cdef void find_predecessors(self, Py_ssize_t rank, uint64_t *before) noexcept nogil:
        cdef Py_ssize_t i
        memset(before, 0, self.words * sizeof(uint64_t))
        for i in range(rank):
            set_bit(before, self.now.order[i])

    cdef bint improve_variable(self, int x) except -1 nogil:
        # Moves x to the position of the largest gain; False if none gains.
        cdef Py_ssize_t place = self.find_place(x)
        if place == self.now.rank[x]:
            return False
        self.move(x, place)
        return True

    cdef int try_places(self, const int *turns, Py_ssize_t first) except -1 nogil:
        # Requests the missing rows of the first of some variables together with those of the others.
        cdef Py_ssize_t j
        while self.trees.room > 0:
            self.trees.is_trial = True
            for j in range(min(VARIABLES_AHEAD, self.n)):
                self.find_place(turns[(first + j) % self.n])
                if self.trees.n_missing == 0:
                    break
            self.trees.is_trial = False
            if self.trees.n_missing == 0:
                break
            self.trees.add_missing()
        return 0

    cdef int try_families(self, Py_ssize_t first, Py_ssize_t end, bint finds_all) except -1 nogil:
        # Requests the missing rows of the families at some ranks together.
        cdef uint64_t *before = self.sets
        cdef uint64_t *other = self.sets + 3 * self.words
        cdef Py_ssize_t i
        while self.trees.room > 0:
            self.find_predecessors(first, before)
            self.trees.is_trial = True
            for i in range(first, end):
                if finds_all or self.is_off(self.now.order[i], before):
                    self.trees.find_family(self.now.order[i], before, other, other + self.words)
                set_bit(before, self.now.order[i])
            self.trees.is_trial = False
            if self.trees.n_missing == 0:
                break
            self.trees.add_missing()
        return 0

    cdef bint is_off(self, int v, const uint64_t *before) noexcept nogil:
        # Whether the path to the family of v may differ with these predecessors.
        cdef const uint64_t *chosen = self.chosen_by(v)
        cdef const uint64_t *wanted = self.wanted_by(v)
        cdef uint64_t off = 0
        cdef Py_ssize_t w
        for w in range(self.words):
            off |= (chosen[w] & ~before[w]) | (wanted[w] & before[w])
        return off != 0

    cdef Py_ssize_t find_place(self, int x) except -1 nogil:
        # The rank to which x should move, its own if none gains. A trial ends at missing rows.
        cdef Py_ssize_t rank = self.now.rank[x], place = rank, i
        cdef uint64_t *before = self.sets
        cdef uint64_t *chosen = self.sets + self.words
        cdef uint64_t *wanted = self.sets + 2 * self.words
        cdef uint64_t *other = self.sets + 3 * self.words
        cdef Node *family = self.now.families[x]
        cdef Node *after
        cdef double best = self.trees.least_gain, gain = 0.0, first = family.score
        cdef int v
        self.find_predecessors(rank, before)
        memcpy(chosen, self.chosen_by(x), self.words * sizeof(uint64_t))
        for i in range(rank - 1, -1, -1):  # x before v, which may choose it
            v = self.now.order[i]
            if bit(self.trees.required + x * self.words, v):
                break
            clear_bit(before, v)
            if family != NULL and bit(chosen, v):
                family = self.trees.find_family(x, before, chosen, wanted)
            if bit(self.wanted_by(v), x):
                set_bit(before, x)
                after = self.trees.find_family(v, before, other, other + self.words)
                clear_bit(before, x)
                if after != NULL:
                    gain += after.score - self.now.families[v].score
            if family != NULL and gain + family.score - first > best:
                best, place = gain + family.score - first, i
        self.find_predecessors(rank, before)
        family, gain = self.now.families[x], 0.0
        memcpy(wanted, self.wanted_by(x), self.words * sizeof(uint64_t))
        for i in range(rank + 1, self.n):  # x after v, which loses it
            v = self.now.order[i]
            if bit(self.trees.required + v * self.words, x):
                break
            if bit(self.chosen_by(v), x):
                after = self.trees.find_family(v, before, other, other + self.words)
                if after != NULL:
                    gain += after.score - self.now.families[v].score
            set_bit(before, v)
            if family != NULL and bit(wanted, v):
                family = self.trees.find_family(x, before, chosen, wanted)
            if family != NULL and gain + family.score - first > best:
                best, place = gain + family.score - first, i
        return place

    cdef int move(self, int x, Py_ssize_t place) except -1 nogil:
        # Moves x to another position.
        cdef Py_ssize_t rank = self.now.rank[x]
        self.put_at(x, place)
        return self.update_families(min(rank, place), max(rank, place) + 1)

    cdef void put_at(self, int x, Py_ssize_t place) noexcept nogil:
        # Moves x to another position; families are not updated.
        cdef Py_ssize_t rank = self.now.rank[x], i
        for i in range(rank, place):
            self.put(self.now.order[i + 1], i)
        for i in range(rank, place, -1):
            self.put(self.now.order[i - 1], i)
        self.put(x, place)

    cdef void put(self, int v, Py_ssize_t rank) noexcept nogil:
        self.now.order[rank] = v
        self.now.rank[v] = <int>rank

    cdef int update_families(self, Py_ssize_t first, Py_ssize_t end) except -1 nogil:
        # Updates the families of the variables at some ranks if their paths may have changed.
        cdef uint64_t *before = self.sets
        cdef Py_ssize_t i
        cdef int v
        self.try_families(first, end, False)
        self.find_predecessors(first, before)
        for i in range(first, end):
            v = self.now.order[i]
            if self.is_off(v, before):
                self.now.families[v] = self.trees.find_family(v, before, self.chosen_by(v), self.wanted_by(v))
            set_bit(before, v)
        self.add_scores()
        return 0

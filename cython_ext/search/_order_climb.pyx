"""Climbing over the orders of variables: each takes parents among its predecessors, and one variable moves at a time.

Problem: find an order whose graph has a high score, where each variable has the parents that grow-shrink finds among
its predecessors.
Algorithm: best order score search with grow-shrink trees. A node of the trees is one set of parents of one child: its
row of gains, sorted, is asked for once and kept between moves and starts, whatever path leads to the set. From the
required parents the best addition that is a predecessor is made until none gains, then the best deletion until none
gains, and with swaps the best exchange of one parent, again from there.
For each child the search knows which predecessors were chosen on this way, and which other variables would have been,
had they been predecessors. Taking out or adding any other predecessor changes nothing, so that a move of one variable
past another is mostly two bit tests.
Ties: equal gains go to the parent that comes first in ``priority``.
Cost: one row of gains per node of the trees; O(n) bit tests to move one variable.
Memory: 16 bytes per addition that gains, and about 100 bytes per node; all nodes are dropped beyond ``memory`` bytes.
Thread-safety: an object serves one thread and holds the GIL.
Reference: Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld (2023), Fast scalable and accurate discovery of DAGs
using the best order score search and grow-shrink trees, NeurIPS, algorithms 1 to 4.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memset

import numpy as np

from _dag cimport bit, clear_bit, set_bit
from _parent_trees cimport (
    Branch, Node, Place, Trees, compare_branches, copy_place, drop_nodes, find_slot, free_node, free_place, init_place,
    init_trees, store_node
)
from _rng cimport next_word


cdef class OrderClimb:
    """An order of the variables under search, and its graph.

    Parameters
    ----------
    source : GainSource
        Rows of gains, see ``pgmx.scores.gains``.
    gains : float64 (n, n), C-contiguous
        Scratch: ``source`` writes a row, which is put back as it was.
    priority : int64 (n,)
        A permutation; smaller comes first among equal gains.
    required : int64 (m, 2)
        Arcs (tail, head) of every graph.
    bonus : float
        What an arc gains besides (a structure prior).
    least_gain : float
        A change that gains less is no improvement; positive.
    swaps : bool
        Whether one parent is exchanged where neither an addition nor a deletion gains.
    memory : int
        Bytes of nodes that are kept.
    """

    cdef readonly Py_ssize_t n, n_rows
    cdef Py_ssize_t words, memory
    cdef object source
    cdef double[:, ::1] gains
    cdef double[::1] stored_row
    cdef const int64_t[::1] priority
    cdef double bonus, least_gain
    cdef bint swaps, is_saved_stale
    cdef uint64_t *required     # (n, words) by child
    cdef uint64_t *hashes       # of a variable as a parent, then of a variable as a child
    cdef uint64_t *sets         # scratch of five sets
    cdef int *family            # scratch of the required parents of a child
    cdef Trees trees
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
        cdef Py_ssize_t n = gains.shape[0], i
        cdef uint64_t state = 1
        self.n, self.words = n, (n + 63) // 64
        self.source, self.gains, self.priority = source, gains, priority
        self.stored_row = np.empty(n)
        self.bonus, self.least_gain, self.swaps, self.memory = bonus, least_gain, swaps, memory
        self.hashes = <uint64_t *>malloc((2 * n + 1) * sizeof(uint64_t))
        self.required = <uint64_t *>calloc(n * self.words + 1, sizeof(uint64_t))
        self.sets = <uint64_t *>calloc(5 * self.words + 1, sizeof(uint64_t))
        self.family = <int *>calloc(n + 1, sizeof(int))
        if not (
            self.family
            and self.hashes
            and self.required
            and self.sets
            and init_trees(&self.trees)
            and init_place(&self.now, n, self.words)
            and init_place(&self.saved, n, self.words)
        ):
            raise MemoryError(f"cannot allocate an order of {n} variables")
        for i in range(2 * n):
            self.hashes[i] = next_word(&state)
        for i in range(required.shape[0]):
            set_bit(self.required + required[i, 1] * self.words, required[i, 0])

    def __dealloc__(self):
        drop_nodes(&self.trees)
        free(self.trees.slots)
        free(self.hashes)
        free(self.family)
        free(self.required)
        free(self.sets)
        free_place(&self.now)
        free_place(&self.saved)

    # ---- what Python calls ----

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
        """Go to an order, in which each variable comes after its required parents."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.now.order[i] = <int>order[i]
            self.now.rank[order[i]] = <int>i
        self.find_families()

    def improve(self, Py_ssize_t most, check) -> int:
        """Move each variable to its best place until none improves, at most ``most`` times; return the moves made.

        ``check()`` is called wherever rows of gains were asked for; it may raise an error.
        """
        cdef Py_ssize_t n_moves = 0, idle = 0, rows = self.n_rows, i = 0
        cdef int[::1] turns = np.empty(self.n, dtype=np.int32)
        while idle < self.n and n_moves < most:
            if i == 0:
                for i in range(self.n):
                    turns[i] = self.now.order[i]
                i = 0
            if self.trees.bytes > self.memory:
                self.forget()
            if self.improve_variable(turns[i]):
                n_moves += 1
                idle = 0
            else:
                idle += 1
            i = i + 1 if i + 1 < self.n else 0
            if self.n_rows > rows:
                rows = self.n_rows
                check()
        return n_moves

    def kick(self, Py_ssize_t n_moves, uint64_t seed):
        """Move ``n_moves`` random variables to random places that their required arcs allow."""
        cdef Py_ssize_t rank, low, high
        cdef int x
        for _ in range(n_moves if self.n > 1 else 0):
            x = <int>(next_word(&seed) % <uint64_t>self.n)
            rank = self.now.rank[x]
            low = high = rank
            while low > 0 and not bit(self.required + x * self.words, self.now.order[low - 1]):
                low -= 1
            while high + 1 < self.n and not bit(self.required + self.now.order[high + 1] * self.words, x):
                high += 1
            self.move(x, low + <Py_ssize_t>(next_word(&seed) % <uint64_t>(high - low + 1)))

    def save(self):
        """Store the present order, for ``restore``."""
        copy_place(&self.saved, &self.now, self.n, self.words)
        self.is_saved_stale = False

    def restore(self):
        """Go back to the order that ``save`` stored."""
        copy_place(&self.now, &self.saved, self.n, self.words)
        if self.is_saved_stale:  # its nodes are gone
            self.find_families()
            self.save()

    # ---- nodes of the trees ----

    cdef Node *find_node(self, int child, const int *parents, int k, int without, int added) except NULL:
        # The node of a child with `parents`, less the one at position `without`, and `added`; -1 for neither.
        cdef uint64_t hash = self.hashes[self.n + child]
        cdef Py_ssize_t slot
        cdef Node *node
        cdef int i, m = 0
        cdef int *family = <int *>malloc((k + 2) * sizeof(int))
        if family == NULL:
            raise MemoryError("cannot allocate a set of parents")
        for i in range(k):
            if added >= 0 and added < parents[i]:
                family[m] = added
                m, added = m + 1, -1
            if i != without:
                family[m] = parents[i]
                m += 1
        if added >= 0:
            family[m] = added
            m += 1
        for i in range(m):
            hash ^= self.hashes[family[i]]
        slot = find_slot(&self.trees, hash, child, family, m)
        node = self.trees.slots[slot]
        if node != NULL:
            free(family)
            return node
        node = <Node *>calloc(1, sizeof(Node))
        if node == NULL:
            free(family)
            raise MemoryError("cannot allocate a set of parents")
        node.hash, node.child, node.n_parents, node.parents = hash, child, m, family
        try:
            self.fill_node(node)
            if not store_node(&self.trees, node, slot):
                raise MemoryError("cannot allocate sets of parents")
        except BaseException:
            free_node(node)
            raise
        return node

    cdef int fill_node(self, Node *node) except -1:
        # Asks for the row of gains and keeps the additions that gain and what each deletion leads to.
        cdef double[::1] row = self.gains[node.child]
        cdef double gain
        cdef int u, k = node.n_parents, m = 0, i = 0
        cdef Branch *branch
        family = np.empty(k, dtype=np.int32)
        cdef int[::1] parents = family
        for i in range(k):
            parents[i] = node.parents[i]
        self.stored_row[:] = row
        try:
            node.score = self.source.rescore(node.child, family, np.asarray(self.gains)) + k * self.bonus
            self.n_rows += 1
            for u in range(self.n):
                m += row[u] + self.bonus > self.least_gain
            node.branches = <Branch *>malloc((m + 1) * sizeof(Branch))
            node.reduced_scores = <double *>malloc((k + 1) * sizeof(double))
            node.reduced = <Node **>calloc(k + 1, sizeof(Node *))
            if not (node.branches and node.reduced_scores and node.reduced):
                raise MemoryError("cannot allocate the gains of a set of parents")
            i = 0
            for u in range(self.n):
                gain = row[u]
                if i < k and node.parents[i] == u:
                    node.reduced_scores[i] = node.score + gain - self.bonus
                    if bit(self.required + node.child * self.words, u):
                        node.reduced_scores[i] = -INFINITY
                    i += 1
                elif gain + self.bonus > self.least_gain:
                    branch = &node.branches[node.n_branches]
                    branch.score, branch.parent = node.score + gain + self.bonus, u
                    branch.priority, branch.node = self.priority[u], NULL
                    node.n_branches += 1
        finally:
            row[:] = self.stored_row
        qsort(node.branches, node.n_branches, sizeof(Branch), compare_branches)
        return 0

    cdef Node *enter(self, Node *node, Branch *branch) except NULL:
        if branch.node == NULL:
            branch.node = self.find_node(node.child, node.parents, node.n_parents, -1, branch.parent)
        return branch.node

    cdef Node *reduce(self, Node *node, int i) except NULL:
        # The node without parent number i.
        if node.reduced[i] == NULL:
            node.reduced[i] = self.find_node(node.child, node.parents, node.n_parents, i, -1)
        return node.reduced[i]

    cdef int forget(self) except -1:
        # Drops all nodes; those of the present order are found anew.
        drop_nodes(&self.trees)
        self.is_saved_stale = True
        self.find_families()
        return 0

    # ---- the family of a child among its predecessors ----

    cdef Node *find_family(self, int child, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except NULL:
        # Grow, shrink, swap; fills the sets of variables chosen and wanted on the way.
        cdef Node *node = self.find_root(child)
        cdef Node *other
        memset(chosen, 0, self.words * sizeof(uint64_t))
        memset(wanted, 0, self.words * sizeof(uint64_t))
        while True:
            node = self.shrink(self.grow(node, before, chosen, wanted))
            if not self.swaps:
                return node
            other = self.swap(node, before, chosen, wanted)
            if other == node:
                return node
            node = other

    cdef Node *find_root(self, int child) except NULL:
        cdef int *required = self.family
        cdef int k = 0, u
        for u in range(self.n):
            if bit(self.required + child * self.words, u):
                required[k] = u
                k += 1
        return self.find_node(child, required, k, -1, -1)

    cdef Node *grow(self, Node *node, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except NULL:
        cdef int i = 0
        while i < node.n_branches:
            if bit(before, node.branches[i].parent):
                set_bit(chosen, node.branches[i].parent)
                node = self.enter(node, &node.branches[i])
                i = 0
            else:
                set_bit(wanted, node.branches[i].parent)
                i += 1
        return node

    cdef Node *shrink(self, Node *node) except NULL:
        cdef int i, worst = -1
        cdef double best = node.score + self.least_gain
        cdef Node *smaller
        if node.shrunk == NULL:
            for i in range(node.n_parents):
                if node.reduced_scores[i] > best:
                    best, worst = node.reduced_scores[i], i
            smaller = node
            if worst >= 0:
                smaller = self.shrink(self.reduce(node, worst))
            node.shrunk = smaller
        return node.shrunk

    cdef Node *swap(self, Node *node, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except NULL:
        # The best family that differs by one addition or by the exchange of one parent; the node where none gains.
        cdef double best = node.score + self.least_gain
        cdef int i, j, k = node.n_parents
        cdef Node *smaller
        cdef Node *origin = node
        cdef Branch *choice = NULL
        for j in range(k + 1):
            if j < k and node.reduced_scores[j] == -INFINITY:
                continue
            smaller = self.reduce(node, j) if j < k else node
            for i in range(smaller.n_branches):
                if smaller.branches[i].score <= best:
                    break
                if bit(before, smaller.branches[i].parent):
                    best, choice, origin = smaller.branches[i].score, &smaller.branches[i], smaller
                    break
        for j in range(k + 1):
            if j < k and node.reduced_scores[j] == -INFINITY:
                continue
            smaller = node.reduced[j] if j < k else node
            for i in range(smaller.n_branches):
                if smaller.branches[i].score < best:
                    break
                if not bit(before, smaller.branches[i].parent):
                    set_bit(wanted, smaller.branches[i].parent)
        if choice == NULL:
            return node
        set_bit(chosen, choice.parent)
        return self.enter(origin, choice)

    # ---- moves of the order ----

    cdef uint64_t *chosen_by(self, int v) noexcept:
        return self.now.chosen + v * self.words

    cdef uint64_t *wanted_by(self, int v) noexcept:
        return self.now.wanted + v * self.words

    cdef int find_families(self) except -1:
        cdef uint64_t *before = self.sets
        cdef Py_ssize_t i
        cdef int v
        memset(before, 0, self.words * sizeof(uint64_t))
        for i in range(self.n):
            v = self.now.order[i]
            self.now.families[v] = self.find_family(v, before, self.chosen_by(v), self.wanted_by(v))
            set_bit(before, v)
        self.add_scores()
        return 0

    cdef void add_scores(self) noexcept:
        cdef Py_ssize_t v
        self.now.score = 0.0
        for v in range(self.n):
            self.now.score += self.now.families[v].score

    cdef void find_predecessors(self, Py_ssize_t rank, uint64_t *before) noexcept:
        cdef Py_ssize_t i
        memset(before, 0, self.words * sizeof(uint64_t))
        for i in range(rank):
            set_bit(before, self.now.order[i])

    cdef bint improve_variable(self, int x) except -1:
        # Moves x to the place of the largest gain; False where none gains.
        cdef Py_ssize_t rank = self.now.rank[x], place = rank, i
        cdef uint64_t *before = self.sets
        cdef uint64_t *chosen = self.sets + self.words
        cdef uint64_t *wanted = self.sets + 2 * self.words
        cdef uint64_t *other = self.sets + 3 * self.words
        cdef Node *family = self.now.families[x]
        cdef double best = self.least_gain, gain = 0.0, first = family.score
        cdef int v
        self.find_predecessors(rank, before)
        memcpy(chosen, self.chosen_by(x), self.words * sizeof(uint64_t))
        for i in range(rank - 1, -1, -1):  # x before v, which may take it
            v = self.now.order[i]
            if bit(self.required + x * self.words, v):
                break
            clear_bit(before, v)
            if bit(chosen, v):
                family = self.find_family(x, before, chosen, wanted)
            if bit(self.wanted_by(v), x):
                set_bit(before, x)
                gain += self.find_family(v, before, other, other + self.words).score - self.now.families[v].score
                clear_bit(before, x)
            if gain + family.score - first > best:
                best, place = gain + family.score - first, i
        self.find_predecessors(rank, before)
        family, gain = self.now.families[x], 0.0
        memcpy(wanted, self.wanted_by(x), self.words * sizeof(uint64_t))
        for i in range(rank + 1, self.n):  # x behind v, which loses it
            v = self.now.order[i]
            if bit(self.required + v * self.words, x):
                break
            if bit(self.chosen_by(v), x):
                gain += self.find_family(v, before, other, other + self.words).score - self.now.families[v].score
            set_bit(before, v)
            if bit(wanted, v):
                family = self.find_family(x, before, chosen, wanted)
            if gain + family.score - first > best:
                best, place = gain + family.score - first, i
        if place == rank:
            return False
        self.move(x, place)
        return True

    cdef int move(self, int x, Py_ssize_t place) except -1:
        # Moves x to another place; families that this may change are found anew.
        cdef Py_ssize_t rank = self.now.rank[x], i, first = min(rank, place)
        cdef uint64_t *before = self.sets
        cdef bint is_affected, is_x_affected = False
        cdef int v
        if place == rank:
            return 0
        for i in range(rank, place):
            self.put(self.now.order[i + 1], i)
        for i in range(rank, place, -1):
            self.put(self.now.order[i - 1], i)
        self.put(x, place)
        self.find_predecessors(first, before)
        for i in range(first, max(rank, place) + 1):
            v = self.now.order[i]
            if v != x:
                if place > rank:
                    is_affected = bit(self.chosen_by(v), x)
                    is_x_affected |= bit(self.wanted_by(x), v)
                else:
                    is_affected = bit(self.wanted_by(v), x)
                    is_x_affected |= bit(self.chosen_by(x), v)
                if is_affected:
                    self.now.families[v] = self.find_family(v, before, self.chosen_by(v), self.wanted_by(v))
            set_bit(before, v)
        if is_x_affected:
            self.find_predecessors(place, before)
            self.now.families[x] = self.find_family(x, before, self.chosen_by(x), self.wanted_by(x))
        self.add_scores()
        return 0

    cdef void put(self, int v, Py_ssize_t rank) noexcept:
        self.now.order[rank] = v
        self.now.rank[v] = <int>rank

"""The best parents of a child among its predecessors: grow, shrink and swap, with all paths stored in trees.

Problem: find parents of high score among some variables, for many sets of such variables and the same child.
Algorithm: starting from the required parents, the best allowed addition is made until none gains, then the best
deletion until none gains, and with swaps the best exchange of one parent; then the steps are repeated. A node of the
trees is one parent set of one child. Its sorted row of gains is computed once and kept for all paths to the set.
If counts are remote, walks are tried first. They end at the first missing node, and the rows of all these nodes are
requested together.
Ties: of equal gains, the parent that comes first in ``priority`` is chosen.
Cost: one row of gains per node; a walk along known nodes reads their branches.
Memory: 20 bytes per addition that gains, and about 200 bytes per node.
Thread-safety: an object serves one thread; over a compiled source it holds no lock of Python's.
Reference: Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld (2023), Fast scalable and accurate discovery of DAGs
using the best order score search and grow-shrink trees, NeurIPS, algorithms 2 to 4.
"""

from libc.math cimport INFINITY, NAN, fmax
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from _dag cimport bit, set_bit
from _parent_trees cimport (
    Branch, Node, choose_epoch, compare_branches, drop_nodes, drop_old_nodes, find_slot, init_trees, is_old, make_node,
    store_node
)
from _rng cimport next_word

from pgmx._ext._scorer cimport ALL, Family, Scorer

from pgmx._ext._families import FamilyScorer


cdef class GrowShrink:
    """Families of all children, by their predecessors.

    Parameters
    ----------
    source : GainSource
        Rows of gains, see ``pgmx.scores.gains``.
    gains : float64 (n, n), C-contiguous
        Scratch: a source that is not compiled writes a row, which is then restored.
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
        Size of the trees in bytes above which ``make_space`` should be called.
    """

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
        self.scorer = source if isinstance(source, Scorer) else None
        self.is_compiled = self.scorer is not None
        self.has_tables = isinstance(source, FamilyScorer)
        self.bonus, self.least_gain, self.swaps = bonus, least_gain, swaps
        self.hashes = <uint64_t *>malloc((2 * n + 1) * sizeof(uint64_t))
        self.required = <uint64_t *>calloc(n * self.words + 1, sizeof(uint64_t))
        self.roots = <Node **>calloc(n + 1, sizeof(Node *))
        self.known = <Node **>calloc(n * WAYS + 1, sizeof(Node *))
        self.known_sets = <uint64_t *>malloc((2 * n * WAYS * self.words + 1) * sizeof(uint64_t))
        self.oldest = <int *>calloc(n + 1, sizeof(int))
        self.row = <double *>malloc((n + 1) * sizeof(double))
        self.sorted = <Branch *>malloc((n + 1) * sizeof(Branch))
        self.family = <int *>calloc(n + 1, sizeof(int))
        if not (self.hashes and self.required and self.roots and self.row and self.sorted and self.family):
            raise MemoryError(f"cannot allocate the families of {n} variables")
        if not (self.known and self.known_sets and self.oldest and init_trees(&self.trees, memory)):
            raise MemoryError(f"cannot allocate the families of {n} variables")
        self.room = 8 * n if self.is_compiled and self.scorer.is_far else 0
        self.missing = <Family *>malloc((self.room + 1) * sizeof(Family))
        self.missing_parents = <int *>malloc((self.room * n + 1) * sizeof(int))
        if not (self.missing and self.missing_parents):
            raise MemoryError(f"cannot allocate the families of {n} variables")
        for i in range(2 * n):
            self.hashes[i] = next_word(&state)
        for i in range(required.shape[0]):
            set_bit(self.required + required[i, 1] * self.words, required[i, 0])

    def __dealloc__(self):
        drop_nodes(&self.trees)
        free(self.trees.slots)
        free(self.hashes)
        free(self.required)
        free(self.roots)
        free(self.known)
        free(self.known_sets)
        free(self.oldest)
        free(self.row)
        free(self.sorted)
        free(self.family)
        free(self.missing)
        free(self.missing_parents)

    cdef int make_space(self) except -1:
        # Drops the least recently visited nodes; families to be kept must have been visited just before.
        cdef unsigned int first = choose_epoch(&self.trees, self.words)
        cdef Py_ssize_t child, i
        for child in range(self.n):
            if is_old(self.roots[child], first):
                self.roots[child] = NULL
            for i in range(WAYS):
                if is_old(self.known[child * WAYS + i], first):
                    memset(self.known + child * WAYS, 0, WAYS * sizeof(Node *))
                    self.oldest[child] = 0
                    break
        if not drop_old_nodes(&self.trees, first, self.least_gain, self.words):
            raise MemoryError("cannot allocate an index of sets of parents")
        return 0

    # ---- nodes ----

    cdef Node *find_node(self, uint64_t hash, int child, int k) except? NULL nogil:
        # The node of a child with the k parents in `family`.
        cdef Py_ssize_t slot = find_slot(&self.trees, hash, child, self.family, k)
        cdef Node *node = self.trees.slots[slot]
        if node != NULL:
            return self.visit(node)
        if self.is_trial:
            self.list_missing(child, k)
            return NULL
        self.n_rows += 1
        return self.store_new_node(hash, child, k, slot)

    cdef Node *store_new_node(self, uint64_t hash, int child, int k, Py_ssize_t slot) except NULL nogil:
        cdef Node *node = self.fill_node(child, k)
        node.hash = hash
        if not store_node(&self.trees, node, slot, self.words):
            free(node)
            self.refuse()
        return node

    cdef Node *visit(self, Node *node) noexcept nogil:
        # A node is counted as a row when it is needed, whether it was prefetched or not.
        if node != NULL and node.is_ahead and not self.is_trial:
            node.is_ahead = False
            self.n_rows += 1
        return node

    cdef int list_missing(self, int child, int k) except -1 nogil:
        # Adds the node of a child with the k parents in `family` to the missing nodes of trials.
        cdef Py_ssize_t i
        if self.n_missing == self.room:
            return 0            # the others come with a later message
        for i in range(self.n_missing):
            if self.missing[i].child == child and self.missing[i].k == k \
                    and memcmp(self.missing[i].parents, self.family, k * sizeof(int)) == 0:
                return 0
        memcpy(self.missing_parents + self.n_missing * self.n, self.family, k * sizeof(int))
        self.missing[self.n_missing] = Family(child, k, self.missing_parents + self.n_missing * self.n, ALL, NULL)
        self.n_missing += 1
        return 0

    cdef int add_missing(self) except -1 nogil:
        # Makes the missing nodes of trials, with their rows in as few messages as possible.
        cdef Py_ssize_t i, j, slot
        cdef uint64_t hash
        cdef const Family *one
        for i in range(self.n_missing):
            one = &self.missing[i]
            memcpy(self.family, one.parents, one.k * sizeof(int))
            hash = self.hashes[self.n + one.child]
            for j in range(one.k):
                hash ^= self.hashes[one.parents[j]]
            self.scorer.expect(one, 1, self.n_missing - i)
            slot = find_slot(&self.trees, hash, <int>one.child, self.family, <int>one.k)
            self.store_new_node(hash, <int>one.child, <int>one.k, slot).is_ahead = True
        self.n_missing = 0
        return 0

    cdef Node *fill_node(self, int child, int k) except NULL nogil:
        # Computes the row of gains, and stores the additions that gain and the result of each deletion.
        cdef double score = self.compute_row(child, k) + k * self.bonus, gain
        cdef int u, m = 0, i = 0
        cdef Branch *branch
        cdef Node *node
        for u in range(self.n):
            if i < k and self.family[i] == u:
                i += 1
            elif self.row[u] + self.bonus > self.least_gain:
                branch = &self.sorted[m]
                branch.score, branch.parent, branch.priority = score + self.row[u] + self.bonus, u, self.priority[u]
                m += 1
        qsort(self.sorted, m, sizeof(Branch), compare_branches)
        node = make_node(self.words, k, m)
        if node == NULL:
            self.refuse()
        node.child, node.score = child, score
        node.best_branch = self.sorted[0].score if m > 0 else -INFINITY
        node.best_exchange = NAN
        memcpy(node.parents, self.family, k * sizeof(int))
        for i in range(m):
            node.additions[i], node.scores[i] = self.sorted[i].parent, self.sorted[i].score
            set_bit(node.reach, self.sorted[i].parent)
        for i in range(k):
            u = self.family[i]
            gain = -INFINITY if bit(self.required + child * self.words, u) else self.row[u]
            node.reduced_scores[i] = score + gain - self.bonus
        return node

    cdef double compute_row(self, int child, int k) except? -1 nogil:
        # The score of the child with the parents in `family`, and its gains into `row`.
        if self.is_compiled:
            return self.scorer.compute_row(child, self.family, k, self.row)
        with gil:
            return self.ask_source(child, k)

    cdef double ask_source(self, int child, int k) except? -1:
        cdef double[::1] shared = self.gains[child]
        cdef double[::1] mine = <double[:self.n]>self.row
        before = np.array(shared)
        parents = np.array(<int[:k]>self.family) if k > 0 else np.empty(0, dtype=np.int32)
        try:
            score = self.source.rescore(child, parents, np.asarray(self.gains))
            mine[:] = shared
        finally:
            np.asarray(shared)[:] = before
        return score

    cdef int refuse(self) except -1 nogil:
        with gil:
            raise MemoryError("cannot allocate sets of parents")

    cdef Node *enter(self, Node *node, int i) except? NULL nogil:
        # The node with addition number i.
        cdef int added = node.additions[i], j = 0, m = 0
        cdef Node *wider
        if node.branches[i] == NULL:
            while j < node.n_parents and node.parents[j] < added:
                self.family[j] = node.parents[j]
                j += 1
            self.family[j] = added
            for m in range(j, node.n_parents):
                self.family[m + 1] = node.parents[m]
            wider = self.find_node(node.hash ^ self.hashes[added], node.child, node.n_parents + 1)
            if self.is_trial:
                return wider
            node.branches[i] = wider
        return node.branches[i]

    cdef Node *reduce(self, Node *node, int i) except? NULL nogil:
        # The node without parent number i.
        cdef int j
        cdef Node *smaller
        if node.reduced[i] == NULL:
            for j in range(node.n_parents - 1):
                self.family[j] = node.parents[j + (j >= i)]
            smaller = self.find_node(node.hash ^ self.hashes[node.parents[i]], node.child, node.n_parents - 1)
            if self.is_trial:
                return smaller
            node.reduced[i] = smaller
        return node.reduced[i]

    cdef int hold_tables(self, Node *node) except -1 nogil:
        # Rows with one parent fewer follow from the tables of this node.
        cdef int j, i, missing = 0
        cdef Py_ssize_t slot
        cdef uint64_t hash
        if not self.has_tables:
            return 0
        for i in range(node.n_parents):
            if node.reduced[i] == NULL and node.reduced_scores[i] != -INFINITY:
                for j in range(node.n_parents - 1):
                    self.family[j] = node.parents[j + (j >= i)]
                hash = node.hash ^ self.hashes[node.parents[i]]
                slot = find_slot(&self.trees, hash, node.child, self.family, node.n_parents - 1)
                node.reduced[i] = self.visit(self.trees.slots[slot])
                missing += node.reduced[i] == NULL
        if missing >= 2:
            self.scorer.compute_row(node.child, node.parents, node.n_parents, self.row)
        self.keep_tables(missing > 0)
        return 0

    cdef int keep_tables(self, bint keeps) except -1 nogil:
        with gil:
            self.source.keeps_tables = keeps
        return 0

    cdef Node *find_root(self, int child) except? NULL nogil:
        cdef uint64_t hash = self.hashes[self.n + child]
        cdef int k = 0, u
        cdef Node *root
        if self.roots[child] == NULL:
            for u in range(self.n):
                if bit(self.required + child * self.words, u):
                    self.family[k] = u
                    hash ^= self.hashes[u]
                    k += 1
            root = self.find_node(hash, child, k)
            if self.is_trial:
                return root
            self.roots[child] = root
        return self.roots[child]

    # ---- the family of a child among its predecessors ----

    cdef Node *find_family(
        self, int child, const uint64_t *before, uint64_t *chosen, uint64_t *wanted
    ) except? NULL nogil:
        # Fills the sets of variables chosen and wanted on the path. Predecessors that contain all chosen variables of a
        # path and none of its wanted variables give the same path, so that the last paths of each child are cached.
        # NULL if a trial lacks a node.
        cdef Node **known = self.known + child * WAYS
        cdef uint64_t *sets = self.known_sets + 2 * child * WAYS * self.words
        cdef uint64_t off
        cdef Py_ssize_t w
        cdef int i
        cdef Node *node
        for i in range(WAYS):
            if known[i] == NULL:
                break
            off = 0
            for w in range(self.words):
                off |= (sets[w] & ~before[w]) | (sets[self.words + w] & before[w])
            if off == 0:
                memcpy(chosen, sets, self.words * sizeof(uint64_t))
                memcpy(wanted, sets + self.words, self.words * sizeof(uint64_t))
                known[i].used = self.trees.epoch
                return known[i]
            sets += 2 * self.words
        node = self.walk(child, before, chosen, wanted)
        if self.is_trial:
            return node
        i = self.oldest[child]
        self.oldest[child] = (i + 1) % WAYS
        known[i] = node
        sets = self.known_sets + 2 * (child * WAYS + i) * self.words
        memcpy(sets, chosen, self.words * sizeof(uint64_t))
        memcpy(sets + self.words, wanted, self.words * sizeof(uint64_t))
        return node

    cdef Node *walk(self, int child, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil:
        # Grow, shrink, swap.
        cdef Node *node = self.find_root(child)
        cdef Node *other
        memset(chosen, 0, self.words * sizeof(uint64_t))
        memset(wanted, 0, self.words * sizeof(uint64_t))
        while node != NULL:
            node = self.grow(node, before, chosen, wanted)
            if node != NULL:
                node = self.shrink(node)
            if node == NULL or not self.swaps:
                return node
            other = self.swap(node, before, chosen, wanted)
            if other == node:
                return node
            node = other
        return NULL

    cdef Node *grow(self, Node *node, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil:
        cdef Py_ssize_t w
        cdef uint64_t common
        cdef int i
        while True:
            node.used = self.trees.epoch
            common = 0
            for w in range(self.words):
                common |= node.reach[w] & before[w]
            if common == 0:
                for w in range(self.words):
                    wanted[w] |= node.reach[w]
                return node
            i = 0
            while not bit(before, node.additions[i]):
                set_bit(wanted, node.additions[i])
                i += 1
            set_bit(chosen, node.additions[i])
            node = self.enter(node, i)
            if node == NULL:
                return NULL

    cdef Node *shrink(self, Node *node) except? NULL nogil:
        cdef int i, worst = -1
        cdef double best = node.score + self.least_gain
        cdef Node *smaller
        if node.shrunk == NULL:
            for i in range(node.n_parents):
                if node.reduced_scores[i] > best:
                    best, worst = node.reduced_scores[i], i
            smaller = node
            if worst >= 0:
                smaller = self.reduce(node, worst)
                if smaller != NULL:
                    smaller = self.shrink(smaller)
            if self.is_trial:
                return smaller
            node.shrunk = smaller
        node.shrunk.used = self.trees.epoch
        return node.shrunk

    cdef double find_exchange(self, Node *node) except? -1 nogil:
        # The highest score after the exchange of one parent for any other, NaN if a trial lacks a node.
        cdef double best = -INFINITY
        cdef bint is_known = True
        cdef Node *smaller
        cdef int j
        if not self.is_trial:
            self.hold_tables(node)
        for j in range(node.n_parents):
            if node.reduced_scores[j] != -INFINITY:
                smaller = self.reduce(node, j)
                if smaller == NULL:
                    is_known = False
                else:
                    best = fmax(best, smaller.best_branch)
        if self.is_trial:
            return best if is_known else NAN
        if self.has_tables:
            self.keep_tables(False)
        node.best_exchange = best
        return best

    cdef Node *swap(self, Node *node, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil:
        # The best family that differs by one addition or by the exchange of one parent; the node itself if none gains.
        cdef double least = node.score + self.least_gain, best = least, exchange = node.best_exchange
        cdef int i, j, k = node.n_parents, choice = -1
        cdef Node *smaller
        cdef Node *origin = node
        if exchange != exchange:
            exchange = self.find_exchange(node)
            if exchange != exchange:
                return NULL
        if exchange <= least and node.best_branch <= least:
            return node
        for j in range(k + 1):
            if j < k and node.reduced_scores[j] == -INFINITY:
                continue
            smaller = self.reduce(node, j) if j < k else node
            smaller.used = self.trees.epoch
            if smaller.best_branch <= best:
                continue
            for i in range(smaller.n_branches):
                if smaller.scores[i] <= best:
                    break
                if bit(before, smaller.additions[i]):
                    best, choice, origin = smaller.scores[i], i, smaller
                    break
        for j in range(k + 1):
            if j < k and node.reduced_scores[j] == -INFINITY:
                continue
            smaller = self.reduce(node, j) if j < k else node
            if smaller.best_branch < best:
                continue
            for i in range(smaller.n_branches):
                if smaller.scores[i] < best:
                    break
                if not bit(before, smaller.additions[i]):
                    set_bit(wanted, smaller.additions[i])
        if choice < 0:
            return node
        set_bit(chosen, origin.additions[choice])
        return self.enter(origin, choice)

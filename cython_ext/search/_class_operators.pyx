"""Operators on a class of equivalent directed acyclic graphs: cliques, gains, paths, and the resulting graphs.

Problem: in each step of a greedy search over equivalence classes, find the operator of one kind that gains most.
Algorithm: each head has a list of its operators, for all cliques of its neighbours, the smallest first. After a step
only heads near the changed edges are listed again. Paths and degrees are checked when an operator is about to be used.
The lists are heaps that are sorted from the best operator on, as far as they are read.
Ties: of equal gains, the head, then the tail that comes first in ``priority``, then the clique that is listed first.
Cost: one row of gains per clique of an insertion or a reversal, two scores of families per deletion.
Memory: 16 bytes per operator that gains, and the scores of deletions.
Thread-safety: an object serves one thread.
References: Chickering (2002), Optimal structure identification with greedy search, JMLR 3, theorems 15 and 17; Hauser &
Buehlmann (2012), Characterization and greedy learning of interventional Markov equivalence classes, JMLR 13, section 4.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from _dag cimport bit, clear_bit, set_bit
from _operator_lists cimport (
    Cliques, Operator, OperatorList, add_operator, begin_of, clear_list, find_cliques, free_cliques, free_list,
    keep_cliques, make_heap, read_operator
)
from _partial_dag cimport (
    PartialDag, close_partial, close_pattern, copy_partial, extend_partial, free_partial, has_path, init_partial,
    is_acyclic, orient, reserve_waiting
)
from _simd cimport pgmx_lowest_bit, pgmx_popcount

from pgmx._ext._dag_moves cimport C_ADD, C_DELETE, C_REVERSE
from pgmx._ext._scorer cimport Scorer


cdef class ClassOperators:
    """The operators of the class of a graph.

    Parameters
    ----------
    source : GainSource
        Rows of gains and scores of families, see ``pgmx.scores.gains``.
    gains : float64 (n, n), C-contiguous
        Scratch for a source that is not compiled.
    priority : int64 (n,)
        A permutation; smaller comes first among equal gains.
    compelled : uint8 (n, n)
        Arcs with a known direction, by child and parent.
    required : uint8 (n, n)
        Arcs that may not be deleted, by child and parent.
    bonus : sequence of three floats
        Additional gain of an addition, a deletion and a reversal (a structure prior).
    most_cliques : int
        Most cliques that are listed for one head; of a deletion, for each edge.
    max_degree : int
        Most edges that an addition may give a variable.
    """

    cdef readonly Py_ssize_t n
    cdef Py_ssize_t words, most_cliques, max_degree
    cdef object source, gains
    cdef Scorer scorer          # None unless the source is compiled
    cdef const int64_t[::1] rank
    cdef const uint8_t[:, ::1] required
    cdef double bonus[3]
    cdef PartialDag graph, other
    cdef OperatorList *lists
    cdef Cliques cliques
    cdef uint64_t *compelled    # (n, words)
    cdef uint64_t *dag          # parents of the present graph, (n, words)
    cdef uint64_t *sets         # scratch of five sets
    cdef int *stack
    cdef int *family
    cdef double *row
    cdef dict scores
    cdef public Py_ssize_t n_listed     # number of cliques that were listed
    cdef public bint is_truncated       # whether cliques were left out
    cdef public list wanted             # families of scores and of rows that are only listed, None otherwise

    def __cinit__(
        self,
        source,
        double[:, ::1] gains,
        const int64_t[::1] priority,
        *,
        const uint8_t[:, ::1] compelled,
        const uint8_t[:, ::1] required,
        bonus,
        Py_ssize_t most_cliques,
        Py_ssize_t max_degree,
    ):
        cdef Py_ssize_t n = gains.shape[0], u, v
        self.n, self.words, self.most_cliques, self.max_degree = n, (n + 63) // 64, most_cliques, max_degree
        self.source, self.gains, self.rank, self.required = source, np.asarray(gains), priority, required
        self.scorer = source if isinstance(source, Scorer) else None
        self.bonus[0], self.bonus[1], self.bonus[2] = bonus
        self.scores = {}
        self.lists = <OperatorList *>calloc(n + 1, sizeof(OperatorList))
        self.compelled = <uint64_t *>calloc(2 * n * self.words + 1, sizeof(uint64_t))
        self.dag = self.compelled + n * self.words
        self.sets = <uint64_t *>calloc(5 * self.words + 1, sizeof(uint64_t))
        self.stack = <int *>malloc((n + 1) * sizeof(int))
        self.family = <int *>malloc((n + 1) * sizeof(int))
        self.row = <double *>malloc((n + 1) * sizeof(double))
        if not (self.lists and self.compelled and self.sets and self.stack and self.family and self.row
                and init_partial(&self.graph, n) and init_partial(&self.other, n)):
            raise MemoryError(f"cannot allocate the operators of {n} variables")
        for v in range(n):
            for u in range(n):
                if compelled[v, u]:
                    set_bit(self.compelled + v * self.words, u)

    def __dealloc__(self):
        cdef Py_ssize_t v
        for v in range(self.n if self.lists != NULL else 0):
            free_list(self.lists + v)
        free(self.lists)
        free(self.compelled)
        free(self.sets)
        free(self.stack)
        free(self.family)
        free(self.row)
        free_cliques(&self.cliques)
        free_partial(&self.graph)
        free_partial(&self.other)

    # ---- the class ----

    def read_class(self, const int64_t[:, ::1] edges, bint has_reversals) -> list:
        """Read the class of a graph; return the heads whose operators may have changed, ascending.

        Reversals also depend on the parents of the tail.
        """
        cdef PartialDag before = self.graph
        cdef Py_ssize_t i, tail, head, v, n = self.n, words = self.words, size = n * words
        cdef uint64_t *stale = self.sets
        cdef bint is_new
        self.graph = self.other
        self.other = before
        memset(self.graph.adjacent, 0, 4 * size * sizeof(uint64_t))
        memset(self.dag, 0, size * sizeof(uint64_t))
        if not reserve_waiting(&self.graph, edges.shape[0]):
            raise MemoryError(f"cannot allocate a list of {edges.shape[0]} edges")
        for i in range(edges.shape[0]):
            tail, head = edges[i, 0], edges[i, 1]
            set_bit(self.dag + head * words, tail)
            set_bit(self.graph.adjacent + head * words, tail)
            set_bit(self.graph.adjacent + tail * words, head)
        memcpy(self.graph.neighbours, self.graph.adjacent, size * sizeof(uint64_t))
        close_pattern(&self.graph, self.dag, self.compelled)
        memset(stale, 0, words * sizeof(uint64_t))
        for v in range(n):
            is_new = self.is_changed(self.graph.parents, self.other.parents, v)
            if is_new or self.is_changed(self.graph.neighbours, self.other.neighbours, v) \
                    or self.is_changed(self.graph.children, self.other.children, v):
                set_bit(stale, v)
            if self.is_changed(self.graph.adjacent, self.other.adjacent, v) or (is_new and has_reversals):
                self.join(stale, self.graph.neighbours + v * words)
            if is_new and has_reversals:
                self.join(stale, self.graph.parents + v * words)
        return self.list_members(stale)

    cdef bint is_changed(self, const uint64_t *now, const uint64_t *before, Py_ssize_t v) noexcept nogil:
        return memcmp(now + v * self.words, before + v * self.words, self.words * sizeof(uint64_t)) != 0

    cdef void join(self, uint64_t *target, const uint64_t *more) noexcept nogil:
        cdef Py_ssize_t w
        for w in range(self.words):
            target[w] |= more[w]

    cdef list list_members(self, const uint64_t *members):
        cdef Py_ssize_t w
        cdef uint64_t word
        found = []
        for w in range(self.words):
            word = members[w]
            while word != 0:
                found.append(64 * w + pgmx_lowest_bit(word))
                word &= word - 1
        return found

    cdef Py_ssize_t degree(self, Py_ssize_t v) noexcept nogil:
        return <Py_ssize_t>pgmx_popcount(self.graph.adjacent + v * self.words, self.words)

    # ---- lists ----

    def list_operators(self, int kind, Py_ssize_t head, double least):
        """List the operators at a head that gain at least ``least``; paths are not checked."""
        cdef OperatorList *found = self.lists + head
        clear_list(found)
        if kind == C_ADD:
            self.list_cliques(self.graph.neighbours + head * self.words)
            self.list_additions(head, least)
        elif kind == C_DELETE:
            self.list_deletions(head, least)
        else:
            self.list_cliques(self.graph.neighbours + head * self.words)
            self.list_reversals(head, least)
        make_heap(found, &self.rank[0])

    cdef int list_cliques(self, const uint64_t *variables) except -1:
        if not find_cliques(&self.cliques, variables, self.graph.adjacent, self.words, self.most_cliques):
            self.is_truncated = True
        if self.wanted is None:
            self.n_listed += self.cliques.n
        return 0

    cdef int list_additions(self, Py_ssize_t head, double least) except -1:
        cdef Py_ssize_t c, tail, w, v, words = self.words
        cdef uint64_t *parents = self.sets
        cdef uint64_t *excluded = self.sets + words
        cdef const uint64_t *joined = self.graph.neighbours + head * words
        cdef uint64_t word
        cdef double gain
        for c in range(self.cliques.n):
            if not self.read_row(head, c, parents):
                continue
            # the clique must contain all neighbours of the head that are adjacent to the tail (theorem 15)
            memcpy(excluded, self.graph.adjacent + head * words, words * sizeof(uint64_t))
            set_bit(excluded, head)
            for w in range(words):
                word = joined[w] & ~parents[w]
                while word != 0:
                    v = 64 * w + pgmx_lowest_bit(word)
                    word &= word - 1
                    self.join(excluded, self.graph.adjacent + v * words)
            for tail in range(self.n):
                gain = self.row[tail] + self.bonus[C_ADD]
                if gain >= least and not bit(excluded, tail):
                    add_operator(self.lists + head, gain, tail, c)
        return keep_cliques(self.lists + head, &self.cliques, 0)

    cdef int list_deletions(self, Py_ssize_t head, double least) except -1:
        cdef Py_ssize_t c, w, tail, first, n_before, words = self.words
        cdef const uint64_t *joined = self.graph.neighbours + head * words
        cdef uint64_t *parents = self.sets
        cdef uint64_t *common = self.sets + words
        cdef double gain
        for tail in range(self.n):
            if not bit(self.graph.parents + head * words, tail) and not bit(joined, tail):
                continue
            if self.required[head, tail] or self.required[tail, head]:
                continue
            for w in range(words):
                common[w] = joined[w] & self.graph.adjacent[tail * words + w]
            self.list_cliques(common)
            first, n_before = self.lists[head].n_cliques, self.lists[head].n
            for c in range(self.cliques.n):
                self.unite(parents, self.graph.parents + head * words, c)
                clear_bit(parents, tail)
                gain = self.score_set(head, parents)
                set_bit(parents, tail)
                gain = gain - self.score_set(head, parents) + self.bonus[C_DELETE]
                if gain >= least:
                    add_operator(self.lists + head, gain, tail, first + c)
            keep_cliques(self.lists + head, &self.cliques, n_before)
        return 0

    cdef int list_reversals(self, Py_ssize_t head, double least) except -1:
        cdef Py_ssize_t c, w, tail, words = self.words
        cdef const uint64_t *joined = self.graph.neighbours + head * words
        cdef const uint64_t *arrows = self.graph.children + head * words
        cdef uint64_t *parents = self.sets
        cdef uint64_t *common = self.sets + words
        cdef uint64_t *before = self.sets + 2 * words
        cdef uint64_t *clique = self.sets + 3 * words
        cdef bint is_within
        cdef double gain
        if pgmx_popcount(arrows, words) == 0 and pgmx_popcount(joined, words) == 0:
            return 0
        for c in range(self.cliques.n):
            if not self.read_row(head, c, parents):
                continue
            memset(clique, 0, words * sizeof(uint64_t))
            self.unite(clique, clique, c)
            for tail in range(self.n):
                if not (bit(arrows, tail) or (bit(joined, tail) and not bit(clique, tail))):
                    continue
                if self.required[tail, head]:
                    continue
                is_within = True        # whether the clique contains the common neighbours, or for an edge the reverse
                for w in range(words):
                    common[w] = joined[w] & self.graph.adjacent[tail * words + w]
                    before[w] = self.graph.parents[tail * words + w]
                    if (common[w] & ~clique[w] if bit(arrows, tail) else clique[w] & ~common[w]) != 0:
                        is_within = False
                if bit(arrows, tail):
                    if not is_within:
                        continue
                else:
                    if is_within or not self.separates(joined, clique, common):
                        continue
                    for w in range(words):
                        before[w] |= clique[w] & common[w]
                    set_bit(before, head)
                gain = self.score_set(tail, before)
                clear_bit(before, head)
                gain = self.row[tail] + self.score_set(tail, before) - gain + self.bonus[C_REVERSE]
                if gain >= least:
                    add_operator(self.lists + head, gain, tail, c)
        return keep_cliques(self.lists + head, &self.cliques, 0)

    cdef bint separates(self, const uint64_t *joined, const uint64_t *clique, const uint64_t *common) noexcept nogil:
        # Whether the members of the clique in `common` separate its other members from the rest of `common`, on paths
        # among the neighbours of the head.
        cdef Py_ssize_t w, v, words = self.words, top = 0
        cdef uint64_t *seen = self.sets + 4 * words
        cdef uint64_t word
        for w in range(words):
            seen[w] = clique[w]
            word = clique[w] & ~common[w]
            while word != 0:
                self.stack[top] = <int>(64 * w + pgmx_lowest_bit(word))
                top += 1
                word &= word - 1
        while top > 0:
            top -= 1
            v = self.stack[top]
            for w in range(words):
                word = self.graph.adjacent[v * words + w] & joined[w] & ~seen[w]
                if (word & common[w]) != 0:
                    return False
                seen[w] |= word
                while word != 0:
                    self.stack[top] = <int>(64 * w + pgmx_lowest_bit(word))
                    top += 1
                    word &= word - 1
        return True

    cdef void unite(self, uint64_t *target, const uint64_t *parents, Py_ssize_t c) noexcept nogil:
        # A set and a clique.
        cdef Py_ssize_t i
        if target != parents:
            memcpy(target, parents, self.words * sizeof(uint64_t))
        for i in range(begin_of(self.cliques.ends, c), self.cliques.ends[c]):
            set_bit(target, self.cliques.ids[i])

    # ---- scores ----

    cdef Py_ssize_t list_family(self, const uint64_t *members) noexcept nogil:
        cdef Py_ssize_t w, k = 0
        cdef uint64_t word
        for w in range(self.words):
            word = members[w]
            while word != 0:
                self.family[k] = <int>(64 * w + pgmx_lowest_bit(word))
                k += 1
                word &= word - 1
        return k

    cdef bint read_row(self, Py_ssize_t head, Py_ssize_t c, uint64_t *parents) except -1:
        # Writes the parents with clique number c, and the gains of further parents; False if the score refuses them.
        cdef Py_ssize_t k
        cdef const double[:, ::1] gains
        self.unite(parents, self.graph.parents + head * self.words, c)
        k = self.list_family(parents)
        if self.wanted is not None:
            self.wanted[1].setdefault((head, self.family_bytes(k)))
            memset(self.row, 0, self.n * sizeof(double))
            return True
        try:
            if self.scorer is not None:
                with nogil:
                    self.scorer.compute_row(head, self.family, k, self.row)
            else:
                self.source.rescore(head, np.frombuffer(self.family_bytes(k), dtype=np.int32), self.gains)
                gains = self.gains
                memcpy(self.row, &gains[head, 0], self.n * sizeof(double))
        except ValueError:
            return False
        return True

    cdef bytes family_bytes(self, Py_ssize_t k):
        return (<char *>self.family)[:k * sizeof(int)]

    cdef double score_set(self, Py_ssize_t child, const uint64_t *parents) except? -1:
        return self.score(child, self.list_family(parents))

    cdef double score(self, Py_ssize_t child, Py_ssize_t k) except? -1:
        # The score of the listed family; -inf if the score refuses it, for instance because parents are collinear.
        cdef double value
        key = child, self.family_bytes(k)
        known = self.scores.get(key)
        if known is not None:
            return known
        if self.wanted is not None:
            self.wanted[0].setdefault(key)
            return 0.0
        try:
            if self.scorer is not None:
                with nogil:
                    value = self.scorer.score_family(child, self.family, k)
            else:
                value = self.source.family_score(child, np.frombuffer(key[1], dtype=np.int32))
        except ValueError:
            value = -INFINITY
        self.scores[key] = value
        return value

    def family_score(self, Py_ssize_t child, const int[::1] parents) -> float:
        """Return the score of a family, -inf if the score refuses it; each is computed once."""
        cdef Py_ssize_t i
        for i in range(parents.shape[0]):
            self.family[i] = parents[i]
        return self.score(child, parents.shape[0])

    # ---- the best operators ----

    def restart(self):
        """Let ``next_operator`` begin at the best operator again."""
        cdef Py_ssize_t v
        for v in range(self.n):
            self.lists[v].cursor = 0

    def next_operator(self, int kind, double least):
        """Return the next best operator that closes no cycle, (gain, tail, head, clique), or None."""
        cdef Operator *operator
        cdef Py_ssize_t head
        while True:
            head = self.find_head()
            if head < 0:
                return None
            operator = read_operator(self.lists + head, self.lists[head].cursor, &self.rank[0])
            if operator.gain < least:
                return None
            self.lists[head].cursor += 1
            if self.is_legal(kind, operator, head):
                return self.describe(operator, head)

    def following(self, Py_ssize_t most) -> list:
        """Return the next best operators of ``most`` heads, the best first; their paths are not checked."""
        cdef Py_ssize_t v
        cdef Operator *operator
        found = []
        for v in range(self.n):
            if self.lists[v].cursor < self.lists[v].n:
                operator = read_operator(self.lists + v, self.lists[v].cursor, &self.rank[0])
                found.append((-operator.gain, self.rank[v], self.describe(operator, v)))
        return [one for _, _, one in sorted(found)[:most]]

    def operators_at(self, int kind, Py_ssize_t head) -> list:
        """Return all listed operators of a head that close no cycle, the best first."""
        cdef Py_ssize_t i
        cdef OperatorList *found = self.lists + head
        listed = []
        for i in range(found.n):
            if self.is_legal(kind, read_operator(found, i, &self.rank[0]), head):
                listed.append(self.describe(read_operator(found, i, &self.rank[0]), head))
        return listed

    cdef tuple describe(self, const Operator *operator, Py_ssize_t head):
        cdef OperatorList *found = self.lists + head
        cdef Py_ssize_t c = operator.clique, i
        clique = [found.ids[i] for i in range(begin_of(found.ends, c), found.ends[c])]
        return operator.gain, operator.tail, head, tuple(clique)

    cdef Py_ssize_t find_head(self) noexcept nogil:
        # The head of the best operator that was not returned, -1 if there is none.
        cdef Py_ssize_t v, best = -1
        cdef double gain, top = -INFINITY
        for v in range(self.n):
            if self.lists[v].cursor == self.lists[v].n:
                continue
            gain = read_operator(self.lists + v, self.lists[v].cursor, &self.rank[0]).gain
            if best < 0 or gain > top or (gain == top and self.rank[v] < self.rank[best]):
                best, top = v, gain
        return best

    cdef bint is_legal(self, int kind, const Operator *operator, Py_ssize_t head) noexcept nogil:
        # Whether no path would close a cycle, and no variable would get too many edges.
        cdef OperatorList *found = self.lists + head
        cdef Py_ssize_t tail = operator.tail, c = operator.clique, i, words = self.words
        cdef uint64_t *blocked = self.sets
        cdef bint is_arrow = kind == C_REVERSE and bit(self.graph.children + head * words, tail)
        if kind == C_ADD and max(self.degree(tail), self.degree(head)) >= self.max_degree:
            return False
        if kind != C_ADD and not is_arrow:
            return True
        memset(blocked, 0, words * sizeof(uint64_t))
        if is_arrow:
            memcpy(blocked, self.graph.neighbours + tail * words, words * sizeof(uint64_t))
        for i in range(begin_of(found.ends, c), found.ends[c]):
            set_bit(blocked, found.ids[i])
        return not has_path(&self.graph, head, tail, is_arrow, blocked, self.stack)

    # ---- resulting graphs ----

    def extend(self, int kind, Py_ssize_t tail, Py_ssize_t head, clique):
        """Return the graph that results from an operator, and its changes; None if a cycle is in it.

        Of the neighbours of the head exactly the clique are its parents. The tail of a reversal comes before its
        neighbours, but after the clique and the head. The arcs are int64 (m, 2), (tail, head), by head and tail; the
        changes are (child, parents before, parents after).
        """
        cdef PartialDag *graph = &self.other
        cdef Py_ssize_t v, words = self.words
        cdef uint64_t *earlier = self.sets
        if not copy_partial(graph, &self.graph):
            raise MemoryError(f"cannot allocate a graph of {self.n} variables")
        memset(earlier, 0, words * sizeof(uint64_t))
        for v in clique:
            set_bit(earlier, v)
        if kind == C_DELETE:
            set_bit(earlier, tail)
        for v in self.list_members(self.graph.neighbours + head * words):
            if bit(earlier, v):
                orient(graph, v, head)
            else:
                orient(graph, head, v)
        if kind == C_REVERSE:
            for v in self.list_members(self.graph.neighbours + tail * words):
                if bit(earlier, v) and bit(self.graph.neighbours + head * words, v):
                    orient(graph, v, tail)
                else:
                    orient(graph, tail, v)
        close_partial(graph)
        extend_partial(graph, self.dag)
        if kind == C_REVERSE:
            clear_bit(graph.parents + tail * words, head)
        if kind == C_DELETE:
            clear_bit(graph.parents + head * words, tail)
        else:
            set_bit(graph.parents + head * words, tail)
        if not is_acyclic(graph, self.family, self.stack):
            return None
        changes = []
        for v in range(self.n):
            if self.is_changed(graph.parents, self.dag, v):
                changes.append((v, self.copy_set(self.dag + v * words), self.copy_set(graph.parents + v * words)))
        return self.copy_arcs(graph.parents), changes

    def ends_of_addition(self, Py_ssize_t tail, Py_ssize_t head, clique) -> list:
        """Return the families of the head and the tail of a new edge, each with the other as a parent."""
        cdef Py_ssize_t v, words = self.words
        cdef uint64_t *parents = self.sets
        memcpy(parents, self.graph.parents + head * words, words * sizeof(uint64_t))
        for v in (tail, *clique):
            set_bit(parents, v)
        ends = [(head, self.copy_set(parents))]
        memcpy(parents, self.graph.parents + tail * words, words * sizeof(uint64_t))
        set_bit(parents, head)
        return [*ends, (tail, self.copy_set(parents))]

    cdef copy_set(self, const uint64_t *members):
        cdef Py_ssize_t k = self.list_family(members), i
        cdef int[::1] ids = np.empty(k, dtype=np.int32)
        for i in range(k):
            ids[i] = self.family[i]
        return ids.base

    cdef copy_arcs(self, const uint64_t *parents):
        cdef Py_ssize_t v, i, k, m = 0
        cdef int64_t[:, ::1] edges = np.empty((pgmx_popcount(parents, self.n * self.words), 2), dtype=np.int64)
        for v in range(self.n):
            k = self.list_family(parents + v * self.words)
            for i in range(k):
                edges[m, 0], edges[m, 1] = self.family[i], v
                m += 1
        return edges.base

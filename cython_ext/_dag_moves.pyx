"""The moves of a search over directed acyclic graphs, and the queue that finds the best legal one.

Problem: among all single-arc additions, deletions and reversals that keep the graph acyclic and obey the constraints,
find the one of largest gain, again and again, while a move changes the gains of one or two children only.
Algorithm: a two-level priority queue. Each child keeps its additions sorted by gain and remembers the first legal one;
over the children a scan of n remembered moves finds the best. Ancestor bitsets make legality a bit test: u -> v closes
a cycle when v is an ancestor of u. Arcs present are scanned for deletion and reversal; a reversal gains what the
deletion and the opposite addition gain together.
Ties: equal gains go to addition before deletion before reversal, then to the head and then the tail that come first
in ``priority``; no other order is ever consulted.
Cost: O(n + arcs) a choice, O(n words) to update ancestors, O(n log n) to sort the additions of a rescored child.
Thread-safety: an object serves one thread.
References: Koller & Friedman (2009), section 18.4.3.3 (priority queue of delta scores); Giudici & Castelo (2003),
Machine Learning 50, 127-158 (ancestor matrix).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memmove, memset

import numpy as np

cdef enum:
    C_ADD, C_DELETE, C_REVERSE

ADD, DELETE, REVERSE = C_ADD, C_DELETE, C_REVERSE


cdef struct Addition:           # parent -> (the child whose list this is)
    double gain
    int64_t priority
    int parent


cdef struct Move:
    int op, tail, head
    double gain


cdef int compare_additions(const void *a, const void *b) noexcept nogil:
    cdef const Addition *x = <const Addition *>a
    cdef const Addition *y = <const Addition *>b
    if x.gain != y.gain:
        return (x.gain < y.gain) - (x.gain > y.gain)
    return (x.priority > y.priority) - (x.priority < y.priority)


cdef inline bint bit(const uint64_t *bits, Py_ssize_t i) noexcept nogil:
    return (bits[i >> 6] >> (i & 63)) & 1


cdef inline void set_bit(uint64_t *bits, Py_ssize_t i) noexcept nogil:
    bits[i >> 6] |= <uint64_t>1 << (i & 63)


cdef inline void clear_bit(uint64_t *bits, Py_ssize_t i) noexcept nogil:
    bits[i >> 6] &= ~(<uint64_t>1 << (i & 63))


cdef class DagMoves:
    """A directed acyclic graph and its legal moves.

    Parameters
    ----------
    gains : float64 (n, n), C-contiguous
        ``gains[child, u]``: gain of deleting u where it is a parent, of adding it otherwise; -inf bars an addition.
        The array is read, never written; call ``refresh(child)`` after its row changed.
    priority : int64 (n,)
        A permutation; smaller comes first among equal gains.
    max_indegree : int
        Most parents a node may get by a move.
    floor : float
        Additions with a smaller gain are not offered.
    tabu_length : int
        The inverses of the last ``tabu_length`` moves are barred.
    required : int64 (m, 2)
        Arcs (tail, head) that may be neither deleted nor reversed.
    bonus : tuple of three floats
        What an addition, a deletion and a reversal gain on top (a structure prior).
    """

    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t n_edges
    cdef Py_ssize_t words, tabu_length, tabu_filled, tabu_next
    cdef Py_ssize_t max_indegree
    cdef double floor
    cdef double[3] bonus
    cdef const double[:, ::1] gains
    cdef const int64_t[::1] priority
    cdef int **parents
    cdef int *n_parents
    cdef int *capacity
    cdef Addition **additions
    cdef int *n_additions
    cdef int *first_legal           # index into additions; -1: to be looked for; n_additions: there is none
    cdef uint64_t *ancestors        # (n, words)
    cdef uint64_t *required         # (n, words) by head, NULL without constraints
    cdef uint64_t *barred           # (3, n, words) by operation and head, NULL without tabu
    cdef Move *tabu                 # ring of the barred moves

    def __cinit__(
        self,
        double[:, ::1] gains,
        const int64_t[::1] priority,
        *,
        Py_ssize_t max_indegree,
        double floor=0.0,
        Py_ssize_t tabu_length=0,
        const int64_t[:, ::1] required=None,
        bonus=(0.0, 0.0, 0.0),
    ):
        cdef Py_ssize_t n = gains.shape[0], i
        self.n = n
        self.words = (n + 63) // 64
        self.gains = gains
        self.priority = priority
        self.max_indegree = max_indegree
        self.floor = floor
        self.tabu_length = tabu_length
        for i in range(3):
            self.bonus[i] = bonus[i]
        self.parents = <int **>calloc(n, sizeof(int *))
        self.n_parents = <int *>calloc(n, sizeof(int))
        self.capacity = <int *>calloc(n, sizeof(int))
        self.additions = <Addition **>calloc(n, sizeof(Addition *))
        self.n_additions = <int *>calloc(n, sizeof(int))
        self.first_legal = <int *>calloc(n, sizeof(int))
        self.ancestors = <uint64_t *>calloc(n * self.words, sizeof(uint64_t))
        if not (self.parents and self.n_parents and self.capacity and self.additions and self.n_additions
                and self.first_legal and self.ancestors):
            raise MemoryError(f"cannot allocate the move queue of {n} variables")
        if tabu_length > 0:
            self.barred = <uint64_t *>calloc(3 * n * self.words, sizeof(uint64_t))
            self.tabu = <Move *>calloc(tabu_length, sizeof(Move))
            if not (self.barred and self.tabu):
                raise MemoryError(f"cannot allocate a tabu list of {tabu_length} moves on {n} variables")
        if required is not None and required.shape[0] > 0:
            self.required = <uint64_t *>calloc(n * self.words, sizeof(uint64_t))
            if not self.required:
                raise MemoryError(f"cannot allocate the required arcs of {n} variables")
            for i in range(required.shape[0]):
                set_bit(self.required + required[i, 1] * self.words, required[i, 0])

    def __dealloc__(self):
        cdef Py_ssize_t v
        for v in range(self.n):
            if self.parents != NULL:
                free(self.parents[v])
            if self.additions != NULL:
                free(self.additions[v])
        free(self.parents)
        free(self.n_parents)
        free(self.capacity)
        free(self.additions)
        free(self.n_additions)
        free(self.first_legal)
        free(self.ancestors)
        free(self.required)
        free(self.barred)
        free(self.tabu)

    # ---- what Python calls ----

    def parents_of(self, Py_ssize_t child):
        """Return the parents of ``child``, int32, ascending."""
        out = np.empty(self.n_parents[child], dtype=np.int32)
        cdef int[::1] view = out
        cdef Py_ssize_t i
        for i in range(self.n_parents[child]):
            view[i] = self.parents[child][i]
        return out

    def edges(self):
        """Return the arcs as int64 (m, 2), (tail, head), by head and tail."""
        out = np.empty((self.n_edges, 2), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        cdef Py_ssize_t v, i, m = 0
        for v in range(self.n):
            for i in range(self.n_parents[v]):
                view[m, 0] = self.parents[v][i]
                view[m, 1] = v
                m += 1
        return out

    def best(self):
        """Return the best legal move ``(op, tail, head, gain)``, or None where no move is legal."""
        cdef Move move
        with nogil:
            self.find_best(&move)
        if move.op < 0:
            return None
        return move.op, move.tail, move.head, move.gain

    def is_legal(self, int op, Py_ssize_t tail, Py_ssize_t head) -> bool:
        """Tell whether the move is possible now: arcs, cycles, indegree, required and barred arcs, -inf gains."""
        if tail == head:
            return False
        if op == C_ADD:
            return (self.find_parent(head, tail) < 0 and self.n_parents[head] < self.max_indegree
                    and self.gains[head, tail] > -INFINITY and self.may_add(tail, head))
        if self.find_parent(head, tail) < 0:
            return False
        return self.may_delete(tail, head) if op == C_DELETE else self.may_reverse(tail, head)

    def apply(self, int op, Py_ssize_t tail, Py_ssize_t head):
        """Make the move and bar its inverse; the caller then updates the gains of the children it changed.

        These are ``head``, and ``tail`` as well after a reversal; call ``refresh`` for each.
        """
        if op == C_ADD:
            self.insert(tail, head)
        elif op == C_DELETE:
            self.remove(tail, head)
        else:
            self.remove(tail, head)
            self.insert(head, tail)
        if self.tabu_length > 0:
            self.bar(C_DELETE if op == C_ADD else C_ADD if op == C_DELETE else C_REVERSE, <int>tail, <int>head)

    def insert_edge(self, Py_ssize_t tail, Py_ssize_t head):
        """Put an arc into the graph while it is set up: no inverse is barred, no constraint is asked.

        Raises ValueError where the arc is there already or closes a cycle.
        """
        if tail == head or self.find_parent(head, tail) >= 0 or bit(self.ancestors + tail * self.words, head):
            raise ValueError(f"the arc {tail} -> {head} stands already or closes a cycle")
        self.insert(tail, head)

    def clear_tabu(self) -> bool:
        """Allow all barred moves again; tell whether there were any."""
        cdef bint any_barred = self.tabu_filled > 0
        cdef Py_ssize_t v
        if any_barred:
            memset(self.barred, 0, 3 * self.n * self.words * sizeof(uint64_t))
            self.tabu_filled = self.tabu_next = 0
            for v in range(self.n):
                self.first_legal[v] = -1
        return any_barred

    def refresh(self, Py_ssize_t child):
        """Sort the additions of ``child`` anew after its row of gains changed."""
        with nogil:
            self.sort_additions(child)

    def refresh_all(self):
        """Sort the additions of all children."""
        cdef Py_ssize_t v
        with nogil:
            for v in range(self.n):
                self.sort_additions(v)

    # ---- the queue ----

    cdef int sort_additions(self, Py_ssize_t child) except -1 nogil:
        cdef Py_ssize_t u, m = 0
        cdef double least = self.floor - self.bonus[C_ADD]
        cdef Addition *additions
        for u in range(self.n):
            m += u != child and self.gains[child, u] >= least and self.gains[child, u] > -INFINITY
        additions = <Addition *>realloc(self.additions[child], (m + 1) * sizeof(Addition))
        if additions == NULL:
            with gil:
                raise MemoryError(f"cannot allocate {m} moves")
        self.additions[child] = additions
        m = 0
        for u in range(self.n):
            if u != child and self.gains[child, u] >= least and self.gains[child, u] > -INFINITY:
                additions[m].gain = self.gains[child, u]
                additions[m].priority = self.priority[u]
                additions[m].parent = <int>u
                m += 1
        qsort(additions, m, sizeof(Addition), compare_additions)
        self.n_additions[child] = <int>m
        self.first_legal[child] = -1
        return 0

    cdef Addition *best_addition(self, Py_ssize_t child) noexcept nogil:
        # The first legal addition of the sorted list. Arcs added elsewhere only take legality away, so the one that is
        # remembered is still first if it is still legal; remove() and unbar() forget it where legality may come back.
        cdef Addition *additions = self.additions[child]
        cdef int i = self.first_legal[child], m = self.n_additions[child]
        if self.n_parents[child] >= self.max_indegree:
            return NULL
        if i < 0:
            i = 0
        while i < m and not (
            self.may_add(additions[i].parent, child) and self.find_parent(child, additions[i].parent) < 0
        ):
            i += 1
        self.first_legal[child] = i
        return additions + i if i < m else NULL

    cdef bint wins(self, const Move *best, double gain, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        if gain != best.gain:
            return gain > best.gain
        if best.op < 0:
            return gain > -INFINITY
        if op != best.op:
            return op < best.op
        if head != best.head:
            return self.priority[head] < self.priority[best.head]
        return self.priority[tail] < self.priority[best.tail]

    cdef void find_best(self, Move *best) noexcept nogil:
        cdef Py_ssize_t head, tail, i
        cdef Addition *addition
        cdef double gain
        best.op, best.tail, best.head, best.gain = -1, -1, -1, -INFINITY
        for head in range(self.n):
            addition = self.best_addition(head)
            if addition != NULL:
                gain = addition.gain + self.bonus[C_ADD]
                if self.wins(best, gain, C_ADD, addition.parent, head):
                    best.op, best.tail, best.head, best.gain = C_ADD, addition.parent, <int>head, gain
        for head in range(self.n):
            for i in range(self.n_parents[head]):
                tail = self.parents[head][i]
                gain = self.gains[head, tail] + self.bonus[C_DELETE]
                if self.wins(best, gain, C_DELETE, tail, head) and self.may_delete(tail, head):
                    best.op, best.tail, best.head, best.gain = C_DELETE, <int>tail, <int>head, gain
                gain = self.gains[head, tail] + self.gains[tail, head] + self.bonus[C_REVERSE]
                if self.wins(best, gain, C_REVERSE, tail, head) and self.may_reverse(tail, head):
                    best.op, best.tail, best.head, best.gain = C_REVERSE, <int>tail, <int>head, gain

    # ---- legality ----

    cdef bint is_barred(self, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        return self.barred != NULL and bit(self.barred + (op * self.n + head) * self.words, tail)

    cdef bint may_add(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        return not bit(self.ancestors + tail * self.words, head) and not self.is_barred(C_ADD, tail, head)

    cdef bint may_delete(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        if self.required != NULL and bit(self.required + head * self.words, tail):
            return False
        return not self.is_barred(C_DELETE, tail, head)

    cdef bint may_reverse(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        # Another directed path from tail to head would close a cycle with head -> tail.
        cdef Py_ssize_t i, parent
        if self.required != NULL and bit(self.required + head * self.words, tail):
            return False
        if self.n_parents[tail] >= self.max_indegree or self.gains[tail, head] == -INFINITY:
            return False
        if self.is_barred(C_REVERSE, tail, head) or self.is_barred(C_REVERSE, head, tail):
            return False
        for i in range(self.n_parents[head]):
            parent = self.parents[head][i]
            if parent != tail and bit(self.ancestors + parent * self.words, tail):
                return False
        return True

    cdef int bar(self, int op, int tail, int head) except -1 nogil:
        # Pushes a move onto the ring; what falls out is allowed again, unless the ring holds it a second time.
        cdef Move *slot = self.tabu + self.tabu_next
        cdef Move old = slot[0]
        cdef bint full = self.tabu_filled == self.tabu_length
        cdef Py_ssize_t i
        slot.op, slot.tail, slot.head = op, tail, head
        set_bit(self.barred + (op * self.n + head) * self.words, tail)
        self.tabu_next = (self.tabu_next + 1) % self.tabu_length
        if not full:
            self.tabu_filled += 1
            return 0
        for i in range(self.tabu_length):   # the ring is full here
            if self.tabu[i].op == old.op and self.tabu[i].tail == old.tail and self.tabu[i].head == old.head:
                return 0
        clear_bit(self.barred + (old.op * self.n + old.head) * self.words, old.tail)
        if old.op == C_ADD:
            self.first_legal[old.head] = -1
        return 0

    # ---- the graph ----

    cdef Py_ssize_t find_parent(self, Py_ssize_t child, Py_ssize_t parent) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_parents[child]):
            if self.parents[child][i] == parent:
                return i
        return -1

    cdef int insert(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        # Adds an arc that closes no cycle: head and its descendants inherit tail and its ancestors.
        cdef Py_ssize_t i = self.n_parents[head], v, w
        cdef uint64_t *source = self.ancestors + tail * self.words
        cdef uint64_t *target
        cdef int *grown
        if i == self.capacity[head]:
            grown = <int *>realloc(self.parents[head], (2 * i + 4) * sizeof(int))
            if grown == NULL:
                with gil:
                    raise MemoryError("cannot allocate a list of parents")
            self.parents[head] = grown
            self.capacity[head] = <int>(2 * i + 4)
        while i > 0 and self.parents[head][i - 1] > tail:
            self.parents[head][i] = self.parents[head][i - 1]
            i -= 1
        self.parents[head][i] = <int>tail
        self.n_parents[head] += 1
        self.n_edges += 1
        for v in range(self.n):
            target = self.ancestors + v * self.words
            if v == head or bit(target, head):
                for w in range(self.words):
                    target[w] |= source[w]
                set_bit(target, tail)
        return 0

    cdef int remove(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        # Deletes an arc. Additions into tail or its ancestors, from head or its descendants, may become legal again.
        cdef Py_ssize_t i = self.find_parent(head, tail), v
        cdef const uint64_t *above = self.ancestors + tail * self.words
        memmove(self.parents[head] + i, self.parents[head] + i + 1, (self.n_parents[head] - i - 1) * sizeof(int))
        self.n_parents[head] -= 1
        self.n_edges -= 1
        for v in range(self.n):
            if v == tail or v == head or bit(above, v):
                self.first_legal[v] = -1
        return self.rebuild_ancestors(head)

    cdef int rebuild_ancestors(self, Py_ssize_t changed) except -1 nogil:
        # Recomputes the ancestors of `changed` and of all its descendants, parents first.
        cdef Py_ssize_t n = self.n, v, p, i, w, top
        cdef char *stale = <char *>calloc(n, 1)
        cdef int *stack = <int *>malloc((n + 1) * sizeof(int))
        cdef uint64_t *target
        cdef bint ready
        if stale == NULL or stack == NULL:
            free(stale)
            free(stack)
            with gil:
                raise MemoryError("cannot allocate the stack of a graph walk")
        for v in range(n):
            stale[v] = v == changed or bit(self.ancestors + v * self.words, changed)
        for v in range(n):
            if not stale[v]:
                continue
            stack[0] = <int>v
            top = 1
            while top > 0:       # depth first: a node is done once none of its parents is stale
                p = stack[top - 1]
                ready = True
                for i in range(self.n_parents[p]):
                    if stale[self.parents[p][i]]:
                        stack[top] = self.parents[p][i]
                        top += 1
                        ready = False
                        break
                if not ready:
                    continue
                top -= 1
                stale[p] = 0
                target = self.ancestors + p * self.words
                memset(target, 0, self.words * sizeof(uint64_t))
                for i in range(self.n_parents[p]):
                    for w in range(self.words):
                        target[w] |= self.ancestors[self.parents[p][i] * self.words + w]
                    set_bit(target, self.parents[p][i])
        free(stale)
        free(stack)
        return 0

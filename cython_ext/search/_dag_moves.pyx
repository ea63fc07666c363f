"""The moves of a search over directed acyclic graphs, and the queue that finds the best legal one.

Problem: among all single-arc additions, deletions and reversals that keep the graph acyclic and obey the constraints,
find the one of largest gain, again and again, while a move changes the gains of one or two children only.
Algorithm: a two-level priority queue. Each child keeps its additions sorted by gain and remembers the first legal one;
over the children a scan of n remembered moves finds the best. Ancestor bitsets make legality a bit test: u -> v closes
a cycle when v is an ancestor of u. Arcs present are scanned for deletion and reversal; a reversal gains what the
deletion and the opposite addition gain together.
Ties: equal gains go to addition before deletion before reversal, then to the head and then the tail that come first
in ``priority``; nothing else decides.
Deletions and reversals: what the arcs into a child gain at most is remembered until the gains change.
Cost: O(n) per choice and O(m) per head whose m arcs may win; a rescored child costs O(n) and what ``_additions.pxd``
says; ``_dag.pxd`` has the graph itself.
Thread-safety: an object serves one thread.
Reference: Koller & Friedman (2009), section 18.4.3.3 (priority queue of delta scores).
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from _additions cimport Addition, Additions, addition_at, fill_additions
from _dag cimport (
    ancestors_of, bit, clear_bit, delete_arc, find_parent, free_dag, init_dag, insert_arc, is_covered, set_bit
)
from _rng cimport uniform

from pgmx._ext._dag_moves cimport C_ADD, C_DELETE, C_REVERSE, Move

cdef extern from "_special.h" nogil:
    double pgmx_log(double x)

ADD, DELETE, REVERSE = C_ADD, C_DELETE, C_REVERSE


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
        Most parents that a move may give to a node.
    floor : float
        Additions with a smaller gain are not offered.
    tabu_length : int
        The inverses of the last ``tabu_length`` moves are barred.
    required : int64 (m, 2)
        Arcs (tail, head) that may be neither deleted nor reversed.
    bonus : tuple of three floats
        What an addition, a deletion and a reversal gain besides (a structure prior).
    """

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
        self.gains = gains
        self.priority = priority
        self.max_indegree = max_indegree
        self.floor = floor
        self.tabu_length = tabu_length
        for i in range(3):
            self.bonus[i] = bonus[i]
        self.additions = <Additions *>calloc(n, sizeof(Additions))
        self.most = <double *>malloc((n + 1) * sizeof(double))
        if not (init_dag(&self.dag, n) and self.additions and self.most):
            raise MemoryError(f"cannot allocate the move queue of {n} variables")
        for i in range(n):
            self.most[i] = NAN
        if tabu_length > 0:
            self.barred = <uint64_t *>calloc(3 * n * self.dag.words, sizeof(uint64_t))
            self.tabu = <Move *>calloc(tabu_length, sizeof(Move))
            if not (self.barred and self.tabu):
                raise MemoryError(f"cannot allocate a tabu list of {tabu_length} moves on {n} variables")
        if required is not None and required.shape[0] > 0:
            self.required = <uint64_t *>calloc(n * self.dag.words, sizeof(uint64_t))
            if not self.required:
                raise MemoryError(f"cannot allocate the required arcs of {n} variables")
            for i in range(required.shape[0]):
                set_bit(self.required + required[i, 1] * self.dag.words, required[i, 0])

    def __dealloc__(self):
        cdef Py_ssize_t v
        free_dag(&self.dag)
        if self.additions != NULL:
            for v in range(self.n):
                free(self.additions[v].items)
        free(self.additions)
        free(self.most)
        free(self.required)
        free(self.barred)
        free(self.tabu)

    # ---- what Python calls ----

    @property
    def n_edges(self):
        """The number of arcs."""
        return self.dag.n_edges

    def parents_of(self, Py_ssize_t child):
        """Return the parents of ``child``, int32, ascending."""
        cdef Py_ssize_t i
        return np.array([self.dag.parents[child][i] for i in range(self.dag.n_parents[child])], dtype=np.int32)

    def children_of(self, Py_ssize_t parent):
        """Return the children of ``parent`` as a list, ascending. Cost: a look at every arc."""
        cdef Py_ssize_t v
        return [v for v in range(self.n) if find_parent(&self.dag, v, parent) >= 0]

    def arcs_at(self, nodes):
        """Return the arcs (tail, head) at any of the ``nodes``, by head and tail."""
        cdef Py_ssize_t v, i
        at = set(nodes)
        return [
            (self.dag.parents[v][i], v)
            for v in range(self.n) for i in range(self.dag.n_parents[v]) if v in at or self.dag.parents[v][i] in at
        ]

    def edges(self):
        """Return the arcs as int64 (m, 2), (tail, head), by head and tail."""
        out = np.empty((self.dag.n_edges, 2), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        cdef Py_ssize_t v, i, m = 0
        for v in range(self.n):
            for i in range(self.dag.n_parents[v]):
                view[m, 0] = self.dag.parents[v][i]
                view[m, 1] = v
                m += 1
        return out

    def best(self):
        """Return the best legal move ``(op, tail, head, gain)``, or None where no move is legal."""
        cdef Move move
        with nogil:
            self.find_best(&move, -INFINITY)
        if move.op < 0:
            return None
        return move.op, move.tail, move.head, move.gain

    def count_improvable(self, double least_gain):
        """Return how many nodes have a legal addition that gains ``least_gain``."""
        cdef Py_ssize_t head, count = 0
        cdef Addition *addition
        for head in range(self.n):
            addition = self.best_addition(head)
            count += addition != NULL and addition.gain + self.bonus[C_ADD] >= least_gain
        return count

    def legal_moves(self, Py_ssize_t most_additions=1 << 30):
        """Return the legal moves on offer as ``(moves, gains)``: int64 (m, 3) of (op, tail, head), and float64 (m,).

        Of the additions, each child offers the best ``most_additions``.
        """
        cdef Py_ssize_t head, i, n_left
        cdef int tail
        cdef Addition *addition
        moves, values = [], []
        for head in range(self.n):
            n_left = most_additions if self.dag.n_parents[head] < self.max_indegree else 0
            for i in range(self.additions[head].n):
                addition = addition_at(&self.additions[head], <int>i)
                if n_left == 0:
                    break
                if self.can_add(addition.parent, head) and find_parent(&self.dag, head, addition.parent) < 0:
                    n_left -= 1
                    moves.append((C_ADD, addition.parent, head))
                    values.append(addition.gain + self.bonus[C_ADD])
            for i in range(self.dag.n_parents[head]):
                tail = self.dag.parents[head][i]
                if self.can_delete(tail, head):
                    moves.append((C_DELETE, tail, head))
                    values.append(self.gains[head, tail] + self.bonus[C_DELETE])
                if self.can_reverse(tail, head):
                    moves.append((C_REVERSE, tail, head))
                    values.append(self.gains[head, tail] + self.gains[tail, head] + self.bonus[C_REVERSE])
        return np.array(moves, dtype=np.int64).reshape(-1, 3), np.array(values, dtype=np.float64)

    def is_legal(self, int op, Py_ssize_t tail, Py_ssize_t head) -> bool:
        """Return whether the move is possible now: arcs, cycles, indegree, required and barred arcs, -inf gains."""
        if tail == head:
            return False
        if op == C_ADD:
            return (find_parent(&self.dag, head, tail) < 0 and self.dag.n_parents[head] < self.max_indegree
                    and self.gains[head, tail] > -INFINITY and self.can_add(tail, head))
        if find_parent(&self.dag, head, tail) < 0:
            return False
        return self.can_delete(tail, head) if op == C_DELETE else self.can_reverse(tail, head)

    def apply(self, int op, Py_ssize_t tail, Py_ssize_t head):
        """Make the move and bar its inverse; the caller then updates the gains of the children it changed.

        These are ``head``, and ``tail`` as well after a reversal; call ``refresh`` for each.
        """
        with nogil:
            self.make_move(op, tail, head)

    def insert_edge(self, Py_ssize_t tail, Py_ssize_t head):
        """Add an arc while the graph is set up: no inverse is barred, no constraint is checked.

        Raises ValueError where the arc is in the graph already or closes a cycle.
        """
        if tail == head or find_parent(&self.dag, head, tail) >= 0 or bit(ancestors_of(&self.dag, tail), head):
            raise ValueError(f"the arc {tail} -> {head} is in the graph already, or closes a cycle")
        self.insert(tail, head)

    def delete_edge(self, Py_ssize_t tail, Py_ssize_t head):
        """Delete an arc while the graph is set up: no inverse is barred, no constraint is checked."""
        if find_parent(&self.dag, head, tail) < 0:
            raise ValueError(f"the graph has no arc {tail} -> {head}")
        self.remove(tail, head)

    def covered_edges(self):
        """Return the covered arcs as int64 (m, 2), by head and tail: reversing one leads to a Markov equivalent graph.

        The arc x -> y is covered when the parents of y are those of x and x itself. Reference: Chickering (1995),
        A transformational characterization of equivalent Bayesian network structures, lemma 1.
        """
        cdef Py_ssize_t head, i
        cdef int tail
        covered = []
        for head in range(self.n):
            for i in range(self.dag.n_parents[head]):
                tail = self.dag.parents[head][i]
                if is_covered(&self.dag, tail, head):
                    covered.append((tail, head))
        return np.array(covered, dtype=np.int64).reshape(-1, 2)

    def draw(self, double temperature, Py_ssize_t n_draws, uint64_t[::1] state):
        """Draw moves at random until one is accepted; return ``(op, tail, head, gain, draws made)``, op -1 for none.

        A draw takes an ordered pair of variables; where they have no arc it is the addition, else, by a coin, the
        deletion or the reversal of their arc. A legal move is accepted with probability min(1, exp(gain /
        temperature)) (Metropolis). ``state`` is the one word of the random generator, advanced in place.
        """
        cdef Move move
        cdef Py_ssize_t made = 0
        move.op = -1
        if self.n < 2:
            return -1, -1, -1, 0.0, n_draws
        with nogil:
            while made < n_draws and not self.draw_once(temperature, &state[0], &move):
                made += 1
                move.op = -1
        if move.op < 0:
            return -1, -1, -1, 0.0, made
        return move.op, move.tail, move.head, move.gain, made + 1

    def tabu_moves(self):
        """Return the barred moves as int64 (m, 3), (op, tail, head), the oldest first."""
        out = np.empty((self.tabu_filled, 3), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        cdef Py_ssize_t i, at = self.tabu_next if self.tabu_filled == self.tabu_length else 0
        for i in range(self.tabu_filled):
            view[i, 0] = self.tabu[at].op
            view[i, 1] = self.tabu[at].tail
            view[i, 2] = self.tabu[at].head
            at = (at + 1) % self.tabu_length
        return out

    def bar_moves(self, const int64_t[:, ::1] moves):
        """Bar moves (op, tail, head) as if their inverses had just been made, the first one longest ago."""
        cdef Py_ssize_t i
        if self.tabu_length > 0:
            for i in range(moves.shape[0]):
                self.bar(<int>moves[i, 0], <int>moves[i, 1], <int>moves[i, 2])

    def clear_tabu(self) -> bool:
        """Allow all barred moves again; return whether there were any."""
        return self.allow_all()

    def set_priority(self, const int64_t[::1] priority):
        """Decide equal gains by another permutation."""
        self.priority = priority
        self.refresh_all()

    def refresh(self, Py_ssize_t child):
        """List the additions of ``child`` again after its row of gains changed."""
        with nogil:
            self.list_additions(child)

    def refresh_all(self):
        """List the additions of all children."""
        cdef Py_ssize_t v
        with nogil:
            for v in range(self.n):
                self.list_additions(v)

    # ---- the queue ----

    cdef int list_additions(self, Py_ssize_t child) except -1 nogil:
        self.forget_most(child)
        return fill_additions(
            &self.additions[child], &self.gains[child, 0], self.n, child, self.floor - self.bonus[C_ADD],
            &self.priority[0]
        )

    cdef Addition *best_addition(self, Py_ssize_t child) noexcept nogil:
        # The first legal addition of the list. Arcs added elsewhere only take legality away, so the one that is
        # remembered is still first if it is still legal; remove() and bar() reset it where legality may return.
        cdef Additions *additions = &self.additions[child]
        cdef Addition *addition
        cdef int i = max(additions.first_legal, 0)
        if self.dag.n_parents[child] >= self.max_indegree:
            return NULL
        while i < additions.n:
            addition = addition_at(additions, i)
            if self.can_add(addition.parent, child) and find_parent(&self.dag, child, addition.parent) < 0:
                break
            i += 1
        additions.first_legal = i
        return additions.items + i if i < additions.n else NULL

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

    cdef void find_best(self, Move *best, double least) noexcept nogil:
        # The best move; deletions and reversals that gain less than `least` may be left out.
        cdef Py_ssize_t head
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
            if self.dag.n_parents[head] > 0 and self.most_into(head) >= max(best.gain, least):
                self.find_best_into(head, best)

    cdef double most_into(self, Py_ssize_t head) noexcept nogil:
        # What deleting or reversing an arc into head gains at most, legal or not: it changes with the gains alone.
        cdef Py_ssize_t i, tail
        cdef double most = -INFINITY
        if self.most[head] != self.most[head]:
            for i in range(self.dag.n_parents[head]):
                tail = self.dag.parents[head][i]
                most = max(most, self.gains[head, tail] + self.bonus[C_DELETE])
                most = max(most, self.gains[head, tail] + self.gains[tail, head] + self.bonus[C_REVERSE])
            self.most[head] = most
        return self.most[head]

    cdef void forget_most(self, Py_ssize_t child) noexcept nogil:
        # The gains of child are part of what reversing an arc from it gains.
        cdef Py_ssize_t v
        self.most[child] = NAN
        for v in range(self.n):
            if bit(ancestors_of(&self.dag, v), child) and find_parent(&self.dag, v, child) >= 0:
                self.most[v] = NAN

    cdef void find_best_into(self, Py_ssize_t head, Move *best) noexcept nogil:
        cdef Py_ssize_t tail, i
        cdef double gain
        for i in range(self.dag.n_parents[head]):
            tail = self.dag.parents[head][i]
            gain = self.gains[head, tail] + self.bonus[C_DELETE]
            if self.wins(best, gain, C_DELETE, tail, head) and self.can_delete(tail, head):
                best.op, best.tail, best.head, best.gain = C_DELETE, <int>tail, <int>head, gain
            gain = self.gains[head, tail] + self.gains[tail, head] + self.bonus[C_REVERSE]
            if self.wins(best, gain, C_REVERSE, tail, head) and self.can_reverse(tail, head):
                best.op, best.tail, best.head, best.gain = C_REVERSE, <int>tail, <int>head, gain

    # ---- legality ----

    cdef bint allow_all(self) noexcept nogil:
        cdef bint any_barred = self.tabu_filled > 0
        cdef Py_ssize_t v
        if any_barred:
            memset(self.barred, 0, 3 * self.n * self.dag.words * sizeof(uint64_t))
            self.tabu_filled = self.tabu_next = 0
            for v in range(self.n):
                self.additions[v].first_legal = -1
        return any_barred

    cdef bint is_barred(self, int op, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        return self.barred != NULL and bit(self.barred + (op * self.n + head) * self.dag.words, tail)

    cdef bint can_add(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        return not bit(ancestors_of(&self.dag, tail), head) and not self.is_barred(C_ADD, tail, head)

    cdef bint can_delete(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        if self.required != NULL and bit(self.required + head * self.dag.words, tail):
            return False
        return not self.is_barred(C_DELETE, tail, head)

    cdef bint can_reverse(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        # Another directed path from tail to head would close a cycle with head -> tail.
        cdef Py_ssize_t i, parent
        if self.required != NULL and bit(self.required + head * self.dag.words, tail):
            return False
        if self.dag.n_parents[tail] >= self.max_indegree or self.gains[tail, head] == -INFINITY:
            return False
        if self.is_barred(C_REVERSE, tail, head) or self.is_barred(C_REVERSE, head, tail):
            return False
        for i in range(self.dag.n_parents[head]):
            parent = self.dag.parents[head][i]
            if parent != tail and bit(ancestors_of(&self.dag, parent), tail):
                return False
        return True

    cdef bint draw_once(self, double temperature, uint64_t *state, Move *move) noexcept nogil:
        cdef Py_ssize_t tail = <Py_ssize_t>(uniform(state) * self.n)
        cdef Py_ssize_t head = <Py_ssize_t>(uniform(state) * (self.n - 1)), swap
        cdef bint turn = uniform(state) < 0.5
        head += head >= tail
        if find_parent(&self.dag, tail, head) >= 0:
            swap = tail
            tail = head
            head = swap
        move.tail, move.head = <int>tail, <int>head
        if find_parent(&self.dag, head, tail) < 0:
            if self.dag.n_parents[head] >= self.max_indegree or not self.can_add(tail, head):
                return False
            move.op, move.gain = C_ADD, self.gains[head, tail] + self.bonus[C_ADD]
        elif turn:
            if not self.can_reverse(tail, head):
                return False
            move.op = C_REVERSE
            move.gain = self.gains[head, tail] + self.gains[tail, head] + self.bonus[C_REVERSE]
        else:
            if not self.can_delete(tail, head):
                return False
            move.op, move.gain = C_DELETE, self.gains[head, tail] + self.bonus[C_DELETE]
        return move.gain > -INFINITY and (move.gain >= 0 or move.gain >= temperature * pgmx_log(1.0 - uniform(state)))

    cdef int bar(self, int op, int tail, int head) except -1 nogil:
        # Pushes a move onto the ring; what falls out is allowed again, unless the ring holds it a second time.
        cdef Move *slot = self.tabu + self.tabu_next
        cdef Move old = slot[0]
        cdef bint full = self.tabu_filled == self.tabu_length
        cdef Py_ssize_t i
        slot.op, slot.tail, slot.head = op, tail, head
        set_bit(self.barred + (op * self.n + head) * self.dag.words, tail)
        self.tabu_next = (self.tabu_next + 1) % self.tabu_length
        if not full:
            self.tabu_filled += 1
            return 0
        for i in range(self.tabu_length):   # the ring is full here
            if self.tabu[i].op == old.op and self.tabu[i].tail == old.tail and self.tabu[i].head == old.head:
                return 0
        clear_bit(self.barred + (old.op * self.n + old.head) * self.dag.words, old.tail)
        if old.op == C_ADD:
            self.additions[old.head].first_legal = -1
        return 0

    # ---- the graph ----

    cdef int make_move(self, int op, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        if op == C_ADD:
            self.insert(tail, head)
        else:
            self.remove(tail, head)
            if op == C_REVERSE:
                self.insert(head, tail)
        if self.tabu_length > 0:
            self.bar(C_DELETE if op == C_ADD else C_ADD if op == C_DELETE else C_REVERSE, <int>tail, <int>head)
        return 0

    cdef int insert(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        self.most[head] = NAN
        return insert_arc(&self.dag, tail, head)

    cdef int remove(self, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        # Deletes an arc. Additions into tail or its ancestors, from head or its descendants, may become legal again.
        cdef Py_ssize_t v
        for v in range(self.n):
            if v == tail or v == head or bit(ancestors_of(&self.dag, tail), v):
                self.additions[v].first_legal = -1
        self.most[head] = NAN
        return delete_arc(&self.dag, tail, head)

"""The moves of a search over directed acyclic graphs, and the queue that finds the best legal one.

Problem: among all single-arc additions, deletions and reversals that keep the graph acyclic and obey the constraints,
find the move of largest gain, repeatedly, when a move changes the gains of one or two children only.
Algorithm: the largest gain of all additions to a child is an upper bound for its legal additions. Only the child of the
largest bound, and children whose bound is not below the best gain so far, are scanned: the row of gains, masked by the
bits of the legal parents, gives the largest legal gain. Bitsets of descendants make legality a bit test: u -> v closes
a cycle if u is a descendant of v. Present arcs are scanned for deletion and reversal. The gain of a reversal is the sum
of the gains of the deletion and of the opposite addition.
Ties are broken by the kind of move (addition, deletion, reversal), then by the head and then the tail that come first
in ``priority``; nothing else decides.
Deletions and reversals: the largest gain of the arcs into a child is cached until the gains change.
Cost: O(n) per choice and per child that is scanned, and O(m) per head whose m arcs may win; O(n) for a child that is
rescored; ``_dag_graph.pyx`` contains the graph itself.
Thread-safety: an object serves one thread.
Reference: Koller & Friedman (2009), section 18.4.3.3 (priority queue of delta scores).
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

import numpy as np

from _additions cimport Addition, compare_additions
from _dag cimport (
    ancestors_of, bit, children_of, clear_bit, close_others, delete_arc, detach_arc, find_parent, init_dag,
    insert_arc, mark_stale, open_parents, set_bit
)
from _rng cimport uniform
from _simd cimport pgmx_lowest_bit, select_simd_level

from pgmx._ext._dag_graph cimport DirectedGraph
from pgmx._ext._dag_moves cimport C_ADD, C_DELETE, C_REVERSE, Move

cdef extern from "_special.h" nogil:
    double pgmx_log(double x)

cdef extern from "_open_arcs.h" nogil:
    double pgmx_open_max(const double *gains, const uint64_t *open, Py_ssize_t n)
    Py_ssize_t pgmx_open_first(
        const double *gains, const uint64_t *open, Py_ssize_t n, double gain, const int64_t *priority
    )
    void pgmx_open_select(int level)


pgmx_open_select(select_simd_level())

ADD, DELETE, REVERSE = C_ADD, C_DELETE, C_REVERSE


cdef class DagMoves(DirectedGraph):
    """A directed acyclic graph and its legal moves.

    Parameters
    ----------
    gains : float64 (n, n), C-contiguous
        ``gains[child, u]``: gain of deleting u if it is a parent, of adding it otherwise; -inf forbids an addition.
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
        Additional gains of an addition, a deletion and a reversal (a structure prior).
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
        self.top = <double *>malloc((n + 1) * sizeof(double))
        self.bound = <double *>malloc((n + 1) * sizeof(double))
        self.most = <double *>malloc((n + 1) * sizeof(double))
        self.open = <uint64_t *>calloc((n + 63) // 64 + 1, sizeof(uint64_t))
        if not (init_dag(&self.dag, n) and self.top and self.bound and self.most and self.open):
            raise MemoryError(f"cannot allocate the move queue of {n} variables")
        for i in range(n):
            self.top[i], self.bound[i], self.most[i] = -INFINITY, -INFINITY, NAN
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
        free(self.top)
        free(self.bound)
        free(self.open)
        free(self.most)
        free(self.required)
        free(self.barred)
        free(self.tabu)

    # ---- Python interface ----

    def best(self):
        """Return the best legal move ``(op, tail, head, gain)``, or None if no move is legal."""
        cdef Move move
        with nogil:
            self.find_best(&move, -INFINITY)
        if move.op < 0:
            return None
        return move.op, move.tail, move.head, move.gain

    def count_improvable(self, double least_gain):
        """Return the number of nodes with a legal addition that gains ``least_gain``."""
        cdef Py_ssize_t head, count = 0
        cdef double gain = 0.0
        for head in range(self.n):
            count += self.best_addition(head, least_gain, &gain) >= 0
        return count

    def legal_moves(self, Py_ssize_t most_additions=1 << 30):
        """Return the legal moves on offer as ``(moves, gains)``: int64 (m, 3) of (op, tail, head), and float64 (m,).

        Each child offers its best ``most_additions`` additions.
        """
        cdef Py_ssize_t head, i, n_listed
        cdef int tail
        cdef Addition *additions = <Addition *>malloc((self.n + 1) * sizeof(Addition))
        if additions == NULL:
            raise MemoryError(f"cannot list the moves of {self.n} variables")
        moves, values = [], []
        try:
            for head in range(self.n):
                n_listed = self.list_additions(head, additions)
                for i in range(min(n_listed, most_additions)):
                    moves.append((C_ADD, additions[i].parent, head))
                    values.append(additions[i].gain + self.bonus[C_ADD])
                for i in range(self.dag.n_parents[head]):
                    tail = self.dag.parents[head][i]
                    if self.can_delete(tail, head):
                        moves.append((C_DELETE, tail, head))
                        values.append(self.gains[head, tail] + self.bonus[C_DELETE])
                    if self.can_reverse(tail, head):
                        moves.append((C_REVERSE, tail, head))
                        values.append(self.gains[head, tail] + self.gains[tail, head] + self.bonus[C_REVERSE])
        finally:
            free(additions)
        return np.array(moves, dtype=np.int64).reshape(-1, 3), np.array(values, dtype=np.float64)

    def is_legal(self, int op, Py_ssize_t tail, Py_ssize_t head) -> bool:
        """Return whether the move is legal now: arcs, cycles, indegree, required and barred arcs, -inf gains."""
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
        """Add an arc while the graph is set up, unless it is in it or closes a cycle; no constraint is checked."""
        if tail == head or find_parent(&self.dag, head, tail) >= 0 or bit(ancestors_of(&self.dag, tail), head):
            raise ValueError(f"the arc {tail} -> {head} is in the graph already, or closes a cycle")
        self.insert(tail, head)

    def delete_edge(self, Py_ssize_t tail, Py_ssize_t head):
        """Delete an arc while the graph is set up: no inverse is barred, no constraint is checked."""
        if find_parent(&self.dag, head, tail) < 0:
            raise ValueError(f"the graph has no arc {tail} -> {head}")
        self.remove(tail, head)

    def draw(self, double temperature, Py_ssize_t n_draws, uint64_t[::1] state):
        """Draw moves at random until one is accepted; return ``(op, tail, head, gain, draws made)``, op -1 for none.

        A draw selects an ordered pair of variables. If they are not adjacent the move is the addition, otherwise the
        deletion or the reversal of their arc with probability 1/2 each. A legal move is accepted with probability
        min(1, exp(gain / temperature)) (Metropolis). ``state`` is the one word of the random generator, advanced in
        place.
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
        """Bar moves (op, tail, head) as if their inverses had just been made, the oldest first."""
        cdef Py_ssize_t i
        if self.tabu_length > 0:
            for i in range(moves.shape[0]):
                self.bar(<int>moves[i, 0], <int>moves[i, 1], <int>moves[i, 2])

    def clear_tabu(self) -> bool:
        """Allow all barred moves again; return whether there were any."""
        return self.allow_all()

    def set_priority(self, const int64_t[::1] priority):
        """Break ties of gains by another permutation."""
        self.priority = priority

    def refresh(self, Py_ssize_t child):
        """Read the row of gains of ``child`` after it changed."""
        with nogil:
            self.read_gains(child)

    def refresh_all(self):
        """Read the rows of gains of all children."""
        cdef Py_ssize_t v
        with nogil:
            for v in range(self.n):
                self.read_gains(v)

    # ---- the queue ----

    cdef void read_gains(self, Py_ssize_t child) noexcept nogil:
        # Includes the gains of parents, since an arc may be deleted before the row is recomputed.
        self.forget_most(child)
        memset(self.open, 255, self.dag.words * sizeof(uint64_t))
        close_others(&self.dag, child, self.open)
        self.top[child] = pgmx_open_max(&self.gains[child, 0], self.open, self.n)
        self.forget_legal(child)

    cdef void forget_legal(self, Py_ssize_t child) noexcept nogil:
        self.bound[child] = self.top[child] if self.top[child] >= self.floor - self.bonus[C_ADD] else -INFINITY

    cdef const uint64_t *barred_tails(self, Py_ssize_t child) noexcept nogil:
        return NULL if self.barred == NULL else self.barred + (C_ADD * self.n + child) * self.dag.words

    cdef Py_ssize_t list_additions(self, Py_ssize_t child, Addition *additions) noexcept nogil:
        # Writes the legal additions of a child, best first, and returns their number.
        cdef Py_ssize_t u, m = 0
        cdef double gain, least = self.floor - self.bonus[C_ADD]
        open_parents(&self.dag, child, self.barred_tails(child), self.open)
        for u in range(self.n if self.dag.n_parents[child] < self.max_indegree else 0):
            gain = self.gains[child, u]
            if bit(self.open, u) and gain >= least and gain > -INFINITY:
                additions[m].gain, additions[m].priority, additions[m].parent = gain, self.priority[u], <int>u
                m += 1
        qsort(additions, m, sizeof(Addition), compare_additions)
        return m

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
        cdef Py_ssize_t head, first = 0
        cdef double most = -INFINITY
        best.op, best.tail, best.head, best.gain = -1, -1, -1, -INFINITY
        for head in range(self.n):
            if self.bound[head] > most:
                most, first = self.bound[head], head
        if most > -INFINITY:
            self.compare_addition(first, best)
        for head in range(self.n):
            if self.bound[head] + self.bonus[C_ADD] >= best.gain and self.bound[head] > -INFINITY and head != first:
                self.compare_addition(head, best)
        for head in range(self.n):
            if self.dag.n_parents[head] > 0 and not self.most[head] < max(best.gain, least) \
                    and self.most_into(head) >= max(best.gain, least):
                self.find_best_into(head, best)

    cdef void compare_addition(self, Py_ssize_t head, Move *best) noexcept nogil:
        cdef double gain = 0.0
        cdef int tail = self.best_addition(head, best.gain, &gain)
        if tail >= 0 and self.wins(best, gain, C_ADD, tail, head):
            best.op, best.tail, best.head, best.gain = C_ADD, tail, <int>head, gain

    cdef int best_addition(self, Py_ssize_t head, double least, double *gain) noexcept nogil:
        # The tail of the best legal addition to a head, -1 if it gains less than `least`. Arcs added elsewhere only
        # make moves illegal, so that its gain is a bound until remove(), bar() or allow_all() make moves legal again.
        cdef double most
        if self.dag.n_parents[head] >= self.max_indegree:
            return -1
        open_parents(&self.dag, head, self.barred_tails(head), self.open)
        most = pgmx_open_max(&self.gains[head, 0], self.open, self.n)
        self.bound[head] = most if most >= self.floor - self.bonus[C_ADD] else -INFINITY
        gain[0] = most + self.bonus[C_ADD]
        if self.bound[head] == -INFINITY or gain[0] < least:
            return -1
        return <int>pgmx_open_first(&self.gains[head, 0], self.open, self.n, most, &self.priority[0])

    cdef double most_into(self, Py_ssize_t head) noexcept nogil:
        # The largest gain of deleting or reversing an arc into head, legal or not: it depends on the gains only.
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
        # The gain of reversing an arc from child includes the gains of child.
        cdef Py_ssize_t w
        cdef uint64_t word
        self.most[child] = NAN
        for w in range(self.dag.words):
            word = children_of(&self.dag, child)[w]
            while word != 0:
                self.most[64 * w + pgmx_lowest_bit(word)] = NAN
                word &= word - 1

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
        cdef Py_ssize_t i
        cdef Move *move
        for i in range(self.tabu_filled):
            move = self.tabu + i
            clear_bit(self.barred + (move.op * self.n + move.head) * self.dag.words, move.tail)
            if move.op == C_ADD:
                self.forget_legal(move.head)
        self.tabu_filled = self.tabu_next = 0
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
        # Pushes a move onto the ring; the oldest move is allowed again, unless the ring contains it twice.
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
            self.forget_legal(old.head)
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

    cdef void remove(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        self.forget_without(tail, head)
        delete_arc(&self.dag, tail, head)

    cdef void remove_later(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        # The same for one of several arcs: rebuild_stale() updates the ancestors.
        self.forget_without(tail, head)
        detach_arc(&self.dag, tail, head)
        mark_stale(&self.dag, head)

    cdef void forget_without(self, Py_ssize_t tail, Py_ssize_t head) noexcept nogil:
        # Without the arc, additions into tail or its ancestors, from head or its descendants, may become legal again.
        cdef Py_ssize_t w
        cdef uint64_t word
        self.forget_legal(tail)
        self.forget_legal(head)
        for w in range(self.dag.words):
            word = ancestors_of(&self.dag, tail)[w]
            while word != 0:
                self.forget_legal(64 * w + pgmx_lowest_bit(word))
                word &= word - 1
        self.most[head] = NAN

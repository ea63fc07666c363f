"""Markov chains over orders of the variables, and over pairs of an order and a DAG that agrees with it.

Problem: draw DAGs from P(G) ~ w(G), a product of weights of families, where a variable has K candidate parents and the
weights of all 2^K sets are in tables. With A_v(U), the log-sum of the weights of v over the subsets of U, an order <
has Z(<) = prod_v exp A_v(candidates before v), the weight of all DAGs that agree with it.
Chain over orders: the target is Z(<)^beta. One variable goes to a position drawn from its exact conditional (Gibbs), or
two neighbours swap (Metropolis). A DAG counts times its number of topological orders.
Chain over pairs: the target is w(G) q(< | G). Here q draws an order step by step, each time one of the variables whose
parents are all placed, all alike: q(< | G) = prod_i 1 / a_i, with a_i the number of variables available at step i. It
sums to 1 over the orders of G, so that the marginal over DAGs is w(G), without counts of topological orders.
 1. Two variables draw parents from their conditional given the order, accepted with min(1, q' / q).
 2. A move of the chain over orders, then new parents for exactly the variables whose preceding candidates changed. The
    set of these is the same for the reverse move, and other families keep their probability: the proposal is reversible
    for Z(<)^beta P(G | <), hence accepted with min(1, q' / q).
 3. Random covered arcs u -> v, where v has the parents of u and u, are reversed, accepted with min(1, w' / w): a walk
    through equivalent DAGs, reversible for w(G). Then the order is drawn from q; both are accepted with
    min(1, (Z' / Z)^(beta - 1)).
Temperatures: replicas have the target Z(<)^(beta - 1) w(G) q(< | G), equal to the above for beta = 1. Neighbours
exchange states with min(1, (Z' / Z)^(beta - beta')). Only the replica of the first beta is recorded.
Cost of a step: the Gibbs move visits the candidates of a variable and the variables that have it as a candidate, with
one look-up of a sum each; a_i changes only between the positions that moved. Drawing parents walks along the sets by
decreasing weight.
Thread-safety: an object serves one thread; objects share the tables, which they only read.
References: Chickering (1995), UAI, 87-98 (covered arcs); Friedman & Koller (2003), Machine Learning 50, 95-125
(orders); Koivisto & Sood (2004), Journal of Machine Learning Research 5, 549-573 (sums). The chain over pairs is new.
"""

from libc.math cimport expm1
from libc.stdint cimport int8_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

import numpy as np

from _order_moves cimport (
    NONE, REQUIRED, Chain, Segment, State, draw_below, draw_family, is_accepted, leave, refresh, step_order, sum_of
)
from _pair_moves cimport draw_families, draw_order, find_starts, move_order
from _rng cimport uniform
from _simd cimport pgmx_lowest_bit

cdef enum:
    EXCHANGE = 8                # steps between two exchanges of replicas

# Shares of the moves of the chain over pairs: new orders, new families; all others move the order.
cdef double NEW_ORDERS = 0.1
cdef double NEW_FAMILIES = 0.36


def list_by_row(mask):
    """Return the columns of the true elements row by row, and where each row begins, int32."""
    columns, ends = np.nonzero(mask)[1], np.cumsum(mask.sum(axis=1))
    return np.append(columns, 0).astype(np.int32), np.append(0, ends).astype(np.int32)


def list_places(sets, offsets, first):
    """Return the position among all sets of each mask of each variable, int32, and -1 of masks that are not listed."""
    places = np.full(first[-1], -1, dtype=np.int32)
    places[np.repeat(first[:-1], np.diff(offsets)) + np.asarray(sets)] = np.arange(len(sets))
    return places


cdef class OrderChain:
    """One chain: replicas of an order, or of an order and a DAG, at several temperatures.

    Parameters
    ----------
    candidates : int32 (n, K)
        Candidate parents of each variable, at most 16; bit k of a mask stands for candidate k. -1 stands for none.
    required : int32 (m, 2)
        Arcs (tail, head) of every DAG; their tails are no candidates of their heads.
    sums, first : float64 (m,), int64 (n + 1,)
        A_v(mask) is sums[first[v] + mask]: log-sums of the weights of the subsets of a mask, -inf where there are none.
    sets, scores, offsets : uint32 (m,), float64 (m,), int64 (n + 1,)
        Masks of the sets of parents with a positive weight, and their log-weights, by decreasing weight for each
        variable v, from offsets[v] to offsets[v + 1].
    betas : float64 (T,)
        Inverse temperatures, the first one 1.
    orders : int32 (T, n)
        First orders; tails of required arcs precede their heads.
    over_dags : bool
        Whether the target is w(G) and not the weight of orders.
    word : int
        State of the random generator.
    """

    cdef readonly Py_ssize_t n, n_candidates, n_replicas
    cdef readonly bint over_dags
    cdef readonly double best_score         # of the best DAG at a record
    cdef bint has_families
    cdef object best
    cdef uint16_t *best_masks
    cdef list arrays                        # whose memory the chain uses
    cdef const double[::1] betas
    cdef Chain chain
    cdef State *states

    def __cinit__(
        self,
        const int32_t[:, ::1] candidates,
        const int32_t[:, ::1] required,
        const double[::1] sums,
        const int64_t[::1] first,
        const uint32_t[::1] sets,
        const double[::1] scores,
        const int64_t[::1] offsets,
        const double[::1] betas,
        const int32_t[:, ::1] orders,
        bint over_dags,
        uint64_t word,
    ):
        cdef Py_ssize_t n = candidates.shape[0], t
        cdef Chain *c = &self.chain
        self.n, self.n_candidates, self.n_replicas = n, candidates.shape[1], betas.shape[0]
        self.over_dags, self.has_families, self.betas = over_dags, False, betas
        self.best_score, self.best = -np.inf, np.zeros(n, dtype=np.uint16)
        self.arrays = [candidates, sums, first, sets, scores, offsets]
        self.best_masks = <uint16_t *>self.keep(self.best)
        c.n, c.n_candidates, c.word = n, self.n_candidates, word
        c.candidates = &candidates[0, 0] if self.n_candidates else NULL
        c.sums, c.first = &sums[0], &first[0]
        c.sets, c.scores, c.offsets = &sets[0], &scores[0], &offsets[0]
        own = np.full((n, n), NONE, dtype=np.int8)
        table = np.asarray(candidates)
        rows, bits = np.nonzero(table >= 0)
        own[rows, table[rows, bits]] = bits
        own[np.asarray(required)[:, 1], np.asarray(required)[:, 0]] = REQUIRED
        children, first_child = list_by_row(own.T != NONE)
        forced, first_forced = list_by_row(own == REQUIRED)
        c.own_bit, c.child_bit = <int8_t *>self.keep(own), <int8_t *>self.keep(own.T.copy())
        c.children, c.first_child = self.keep_int(children), self.keep_int(first_child)
        c.forced, c.first_forced = self.keep_int(forced), self.keep_int(first_forced)
        c.place_of = <int32_t *>self.keep(list_places(sets, offsets, first) if over_dags else np.zeros(1, np.int32))
        best = np.repeat(np.asarray(scores)[np.asarray(offsets)[:n]], np.diff(offsets))
        c.weights = <double *>self.keep(np.exp(np.asarray(scores) - best))
        c.logs = <double *>self.keep(np.log(np.maximum(np.arange(n + 2), 1)))
        c.counts = <uint32_t *>self.keep(np.zeros(len(sets) if over_dags else len(sums), dtype=np.uint32))
        c.old_sums = <double *>self.keep(np.zeros(n))
        c.events = <uint64_t *>self.keep(np.zeros(n // 64 + 1, dtype=np.uint64))
        c.since, c.changed, c.old_before = self.make_int(n), self.make_int(n), self.make_int(n)
        c.old_family, c.started, c.old_start = self.make_int(n), self.make_int(n), self.make_int(n)
        c.diff, c.adjusted, c.passed = self.make_int(n + 3), self.make_int(n + 3), self.make_int(n)
        c.pending, c.ready, c.first_edge = self.make_int(n), self.make_int(n), self.make_int(n)
        c.next_edge = self.make_int(n * self.n_candidates + len(forced))
        c.edge_tail = self.make_int(n * self.n_candidates)
        c.parents = <uint64_t *>self.keep(np.zeros(n * ((n + 63) // 64), dtype=np.uint64))
        c.edge_head = self.make_int(n * self.n_candidates + len(forced))
        c.segments = <Segment *>self.keep(np.zeros((n + 1) * sizeof(Segment) // 8 + 1))
        self.allocate(&c.spare)
        self.states = <State *>self.keep(np.zeros(self.n_replicas * sizeof(State) // 8 + 1))
        for t in range(self.n_replicas):
            self.allocate(&self.states[t])
        self.set_orders(orders)

    cdef void *keep(self, array) except NULL:
        # The address of the memory of an array that lives as long as this object.
        self.arrays.append(array)
        cdef const unsigned char[::1] memory = array.ravel().view(np.uint8)
        return <void *>&memory[0]

    cdef int32_t *keep_int(self, array) except NULL:
        return <int32_t *>self.keep(array)

    cdef int32_t *make_int(self, Py_ssize_t size) except NULL:
        return self.keep_int(np.zeros(max(size, 1), dtype=np.int32))

    cdef int allocate(self, State *s) except -1:
        cdef Py_ssize_t n = self.n
        s.order, s.sums = <int *>self.make_int(6 * n + 1), <double *>self.keep(np.zeros(n))
        s.pos, s.before, s.family = s.order + n, s.order + 2 * n, s.order + 3 * n
        s.start, s.avail = s.order + 4 * n, s.order + 5 * n
        return 0

    # ---- states from outside ----

    def set_orders(self, const int32_t[:, ::1] orders):
        """Continue from other orders, without a DAG; ValueError if one has no weight."""
        cdef Py_ssize_t t, i
        for t in range(self.n_replicas):
            for i in range(self.n):
                self.states[t].order[i] = orders[t, i]
            refresh(&self.chain, &self.states[t])
            if not self.states[t].total > -np.inf:
                raise ValueError("an order has no DAG with a positive weight")
        self.has_families = False

    def set_state(self, const int32_t[:, ::1] orders, families, uint64_t word):
        """Continue from a state of `get_state`; ValueError if it is none of these tables."""
        cdef Py_ssize_t t, v
        cdef const int32_t[:, ::1] indices
        cdef State *s
        self.set_orders(orders)
        self.chain.word = word
        if families is None:
            return
        indices = families
        for t in range(self.n_replicas):
            s = &self.states[t]
            for v in range(self.n):
                if not self.chain.offsets[v] <= indices[t, v] < self.chain.offsets[v + 1]:
                    raise ValueError("a family is not among the listed sets")
                if self.chain.sets[indices[t, v]] & ~<uint32_t>s.before[v]:
                    raise ValueError("a family does not agree with its order")
                s.family[v] = indices[t, v]
        self.has_families = True

    def get_state(self):
        """Return the orders, the indices of the families (None before there are any), and the random state."""
        shape = (self.n_replicas, self.n)
        orders, families = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32)
        cdef int32_t[:, ::1] order = orders
        cdef int32_t[:, ::1] family = families
        cdef Py_ssize_t t, i
        for t in range(self.n_replicas):
            for i in range(self.n):
                order[t, i], family[t, i] = self.states[t].order[i], self.states[t].family[i]
        return orders, families if self.has_families else None, int(self.chain.word)

    def set_best(self, sets, double score):
        """Replace the best DAG, by the masks of its parents and its log-weight."""
        self.best[:] = sets
        self.best_score = score

    @property
    def best_sets(self):
        """Masks of the parents in the best DAG, uint16 (n,)."""
        return self.best.copy()

    # ---- runs ----

    def warm_up(self, Py_ssize_t n_steps, double[::1] trace, double heat=1.0):
        """Make steps of the chain over orders that are not counted, all temperatures multiplied by `heat`.

        `n_steps` is a multiple of 8 and of the number of records in `trace`, which become ln Z at the first beta.
        """
        cdef Py_ssize_t now = 0, _i, t, record = 0, every = self.find_interval(n_steps, trace.shape[0])
        with nogil:
            for t in range(self.n_replicas):
                refresh(&self.chain, &self.states[t])
            while now < n_steps:
                for t in range(self.n_replicas):
                    for _i in range(EXCHANGE):
                        step_order(&self.chain, &self.states[t], self.betas[t] / heat, False)
                now += EXCHANGE
                self.exchange(1.0 / heat, False)
                if now % every == 0:
                    trace[record] = self.states[0].total
                    record += 1
        self.has_families = False

    def run(self, Py_ssize_t n_steps, double[:, ::1] arcs, double[::1] trace, uint16_t[:, ::1] graphs):
        """Make steps, a multiple of 8 and of the number of records.

        `arcs` (n, K) becomes the share of the steps with each candidate as a parent (over orders: its mean conditional
        probability), `trace` the log-weights at the records, `graphs` (records, n) the masks of the parents there.
        """
        cdef Py_ssize_t _i, t, v, record = 0, every = self.find_interval(n_steps, trace.shape[0])
        cdef State *s
        with nogil:
            for t in range(self.n_replicas):
                s = &self.states[t]
                refresh(&self.chain, s)
                if self.over_dags:
                    if not self.has_families:
                        for v in range(self.n):
                            s.family[v] = draw_family(&self.chain, s, v)
                    find_starts(&self.chain, s)
            self.has_families = self.over_dags
            for v in range(self.n):
                self.chain.since[v] = 0
            self.chain.now = 0
            while self.chain.now < n_steps:
                for t in range(1, self.n_replicas):
                    for _i in range(EXCHANGE):
                        self.step(&self.states[t], self.betas[t], False)
                for _i in range(EXCHANGE):
                    self.step(&self.states[0], self.betas[0], True)
                    self.chain.now += 1
                self.exchange(1.0, True)
                if self.chain.now % every == 0:
                    self.record(&self.states[0], &trace[record], &graphs[record, 0])
                    record += 1
            self.leave_all(&self.states[0])
            self.take_arcs(arcs, 1.0 / n_steps)

    cdef Py_ssize_t find_interval(self, Py_ssize_t n_steps, Py_ssize_t n_records) except -1:
        cdef Py_ssize_t every = n_steps // n_records
        if every * n_records != n_steps or every % EXCHANGE:
            raise ValueError("the steps between two records are not a multiple of 8")
        return every

    cdef void exchange(self, double factor, bint is_counted) noexcept nogil:
        cdef Py_ssize_t t
        cdef double gain
        cdef State other
        if self.n_replicas == 1:
            return
        t = draw_below(&self.chain, self.n_replicas - 1)
        gain = factor * (self.betas[t] - self.betas[t + 1]) * (self.states[t + 1].total - self.states[t].total)
        if is_accepted(&self.chain, gain):
            if t == 0 and is_counted:
                self.leave_all(&self.states[0])
            other = self.states[t]
            self.states[t] = self.states[t + 1]
            self.states[t + 1] = other

    cdef void step(self, State *s, double beta, bint is_first) noexcept nogil:
        cdef double u
        if not self.over_dags:
            step_order(&self.chain, s, beta, is_first)
            return
        u = uniform(&self.chain.word)
        if u < NEW_ORDERS:
            draw_order(&self.chain, s, beta, is_first)
        elif u < NEW_ORDERS + NEW_FAMILIES:
            draw_families(&self.chain, s, is_first)
        else:
            move_order(&self.chain, s, beta, is_first)

    # ---- counts of steps ----

    cdef void leave_all(self, State *s) noexcept nogil:
        cdef Py_ssize_t v
        for v in range(self.n):
            leave(&self.chain, v, s.family[v] if self.over_dags else self.chain.first[v] + s.before[v])

    cdef void take_arcs(self, double[:, ::1] arcs, double scale) noexcept nogil:
        # Turns counts into shares of arcs, and clears them.
        cdef Py_ssize_t v, i, first, end
        cdef uint64_t rest
        cdef int k, mask
        cdef double share, without
        for v in range(self.n):
            for k in range(self.n_candidates):
                arcs[v, k] = 0.0
            first, end = self.chain.first[v], self.chain.first[v + 1]
            if self.over_dags:
                first, end = self.chain.offsets[v], self.chain.offsets[v + 1]
            for i in range(first, end):
                if self.chain.counts[i] == 0:
                    continue
                share = scale * self.chain.counts[i]
                self.chain.counts[i] = 0
                mask = <int>self.chain.sets[i] if self.over_dags else <int>(i - first)
                rest = mask
                while rest:
                    k = pgmx_lowest_bit(rest)
                    rest &= rest - 1
                    if self.over_dags:
                        arcs[v, k] += share
                    else:
                        without = sum_of(&self.chain, v, mask & ~(1 << k))
                        arcs[v, k] -= share * expm1(without - sum_of(&self.chain, v, mask))

    cdef void record(self, State *s, double *trace, uint16_t *graph) noexcept nogil:
        cdef Py_ssize_t v, i
        cdef double score = 0.0, best = 0.0
        for v in range(self.n):
            i = self.chain.offsets[v]
            while self.chain.sets[i] & ~<uint32_t>s.before[v]:
                i += 1
            best += self.chain.scores[i]
            self.chain.passed[v] = <int>self.chain.sets[i]
            i = s.family[v] if self.over_dags else draw_family(&self.chain, s, v)
            score += self.chain.scores[i]
            graph[v] = <uint16_t>self.chain.sets[i]
        trace[0] = score if self.over_dags else s.total
        if best > self.best_score:
            self.best_score = best
            for v in range(self.n):
                self.best_masks[v] = <uint16_t>self.chain.passed[v]

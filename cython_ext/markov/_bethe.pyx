"""Penalised maximum likelihood of pairwise Markov networks in Bethe's approximation, fitted during message passing.

Problem: minimise over node vectors and edge tables w
    log Z_Bethe(w) - <w, moments> + sum_g lam_g ||w_g||_2 + (l2/2) ||w||_2^2.
Its gradient is beliefs - moments + l2 w, with the beliefs of loopy belief propagation. Algorithm: messages and
parameters are updated together. A visit to a variable updates its own vector, then for each incident edge the table,
from its belief under the current messages, and the edge's two messages. With the messages that enter a block b fixed,
its term of the objective is log sum_k b_k exp(delta_k) - <moments, delta> + penalty. Since log z <= z - 1, the term is
below the separable quadratic with curvatures max(b_k, moment_k) + l2, from delta = 0 to b_k exp(delta_k) = moment_k.
Its minimiser with a group penalty is one root of a scalar equation (as in trust-region steps). So neither a step size
nor a line search is needed, and groups are exactly zero. A variable is visited again if its incoming messages moved in
total by more than `tol` since its last visit, or if one of its blocks was more than `tol` from optimal. So changes that
decay with distance cost only the variables that they reach. At the end messages are a fixed point and all blocks are
optimal up to `tol`.
Cost of an edge's visit: s_i s_j exponentials and about ten times as many other operations.
Thread-safety: an object serves one thread.
References: Yedidia, Freeman & Weiss (2005), IEEE Transactions on Information Theory 51, 2282-2312 (fixed points);
Hazan & Urtasun (2010), Advances in Neural Information Processing Systems 23, 838-846 (interleaving of messages and
parameters); Moré & Sorensen (1983), SIAM Journal on Scientific and Statistical Computing 4, 553-572 (scalar equation).
"""

from libc.math cimport INFINITY, exp, fabs, log, sqrt
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from _groups cimport distance_from_optimal, minimise_model

cdef double LEAST = 1e-290          # keeps quotients of products by messages finite
cdef double LARGEST = 50.0          # parameters without a finite optimum stop here; their beliefs are zero


cdef class BetheFit:
    """Parameters, moments and messages of a network to which edges are added.

    Parameters
    ----------
    cardinalities : int64 (n,)
    moments : float64 (sum of states,)
        Frequencies of the states of each variable.
    """

    cdef readonly Py_ssize_t n, m, n_visits, n_steps
    cdef public double lam, l2, damping, caution
    cdef public bint penalize_nodes, cellwise
    cdef Py_ssize_t widest, queue_first, queue_length
    cdef const int64_t[::1] cards
    cdef int64_t[::1] node_at, heads, queue, ends, following, cell_at, message_at
    cdef double[::1] node_p, node_w, node_t, product, stale, drift
    cdef double[::1] scale, edge_p, edge_w, edge_t, messages
    cdef double[::1] own, other, belief, pull, curvature, new
    cdef uint8_t[::1] queued, active
    cdef dict _arrays

    def __cinit__(self, const int64_t[::1] cardinalities, const double[::1] moments):
        cards = np.array(cardinalities)
        self.n, self.cards, self.widest = len(cards), cards, cards.max()
        self.damping, self.caution = 0.0, 1.0
        self.node_at = np.concatenate([[0], np.cumsum(cards)])
        self._arrays = {"node_w": np.zeros(len(moments)), "product": np.repeat(1.0 / cards, cards)}
        self.node_p, self.node_w = np.array(moments), self._arrays["node_w"]
        self.node_t, self.product = np.ones(len(moments)), self._arrays["product"]
        self.heads, self.queue = np.full(self.n, -1), np.zeros(self.n, dtype=np.int64)
        self.stale, self.drift = np.zeros(self.n), np.zeros(self.n)
        self.queued = np.zeros(self.n, dtype=np.uint8)
        self.own, self.other, self.new = np.empty(self.widest), np.empty(self.widest), np.empty(self.widest)
        self.belief, self.pull, self.curvature = (np.empty(self.widest**2) for _ in range(3))
        self.ends, self.following = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.cell_at, self.message_at = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for name in ("scale", "edge_p", "edge_w", "edge_t", "messages"):
            self.hold(name, np.zeros(0))
        self.hold("active", np.zeros(0, dtype=np.uint8))

    cdef hold(self, str name, array):
        self._arrays[name] = array
        if name == "scale":
            self.scale = array
        elif name == "edge_p":
            self.edge_p = array
        elif name == "edge_w":
            self.edge_w = array
        elif name == "edge_t":
            self.edge_t = array
        elif name == "messages":
            self.messages = array
        elif name == "active":
            self.active = array

    def grow(self, str name, Py_ssize_t used, values):
        """Append `values` to the first `used` elements of an array, doubling its capacity when full."""
        array = self._arrays[name]
        if used + len(values) > len(array):
            array = np.zeros(max(2 * len(array), used + len(values), 64), dtype=array.dtype)
            array[:used] = self._arrays[name][:used]
            self.hold(name, array)
        array[used:used + len(values)] = values

    def add_edges(
        self,
        const int64_t[:, ::1] pairs,    # in: (k, 2), the smaller id first, none present yet
        moments,                        # in: float64, frequencies, table after table
        scales,                         # in: float64 (k,), penalty of an edge over lam
        values,                         # in: float64, tables to start from
        active,                         # in: uint8, cells that may be non-zero, for cell-wise penalties
    ):
        """Append edges; their messages start uniform, and their ends are queued."""
        cdef Py_ssize_t k, e, side, first = self.m, count = pairs.shape[0], cells = self.cell_at[self.m]
        cdef Py_ssize_t slots = self.message_at[2 * self.m]
        cards, given = np.asarray(self.cards), np.asarray(pairs)
        sizes = cards[given]
        self.grow("scale", first, scales)
        self.grow("edge_p", cells, moments)
        self.grow("edge_w", cells, values)
        self.grow("edge_t", cells, np.exp(values))
        self.grow("active", cells, active)
        self.grow("messages", slots, np.ones(sizes.sum()))
        self.cell_at = np.concatenate([self.cell_at, cells + np.cumsum(sizes.prod(axis=1))])
        self.message_at = np.concatenate([self.message_at, slots + np.cumsum(sizes.ravel())])
        self.ends = np.concatenate([self.ends, given.ravel()])
        self.following = np.concatenate([self.following, np.full(2 * count, -1)])
        for k in range(count):
            e = first + k
            for side in range(2):
                self.following[2 * e + side] = self.heads[pairs[k, side]]
                self.heads[pairs[k, side]] = 2 * e + side
                self.enqueue(pairs[k, side])
        self.m += count

    @property
    def node_values(self):
        """Vectors of the variables, a copy."""
        return self._arrays["node_w"].copy()

    @property
    def edge_values(self):
        """Tables of the edges in the order in which they were added, a copy."""
        return self._arrays["edge_w"][:self.cell_at[self.m]].copy()

    @property
    def edge_moments(self):
        """Frequencies of the edges in the order in which they were added, a copy."""
        return self._arrays["edge_p"][:self.cell_at[self.m]].copy()

    @property
    def node_beliefs(self):
        """Marginals of the variables under the current messages: a view, which the next visit changes."""
        return self._arrays["product"]

    @property
    def scales(self):
        """Penalties of the edges over lam, a copy."""
        return self._arrays["scale"][:self.m].copy()

    @property
    def activity(self):
        """Cells that may be non-zero under cell-wise penalties, a view."""
        return self._arrays["active"][:self.cell_at[self.m]]

    def set_values(self, const double[::1] nodes, const double[::1] tables):
        """Replace all parameters, clipped as in all steps, and queue all variables; messages are kept as a start."""
        cdef Py_ssize_t cells = self.cell_at[self.m], k
        self._arrays["node_w"][:] = np.clip(nodes, -LARGEST, LARGEST)
        self._arrays["edge_w"][:cells] = np.clip(tables, -LARGEST, LARGEST)
        for k in range(cells):              # same exp() as in steps: other functions differ in the last bit
            self.edge_t[k] = exp(self.edge_w[k])
        for k in range(self.node_w.shape[0]):
            self.node_t[k] = exp(self.node_w[k])
        self.enqueue_all()

    def reset_messages(self):
        """Reset all messages to uniform."""
        self._arrays["messages"][:] = 1.0
        self.enqueue_all()

    def enqueue_all(self):
        """Queue every variable."""
        cdef Py_ssize_t v
        for v in range(self.n):
            self.enqueue(v)

    def enqueue_some(self, const int64_t[::1] variables, double tol):
        """Queue the given variables, and all whose messages moved by more than `tol` since their last visit."""
        cdef Py_ssize_t k
        for k in range(variables.shape[0]):
            self.enqueue(variables[k])
        for k in range(self.n):
            if self.stale[k] > tol:
                self.enqueue(k)

    cdef inline void enqueue(self, Py_ssize_t v) noexcept nogil:
        if not self.queued[v]:
            self.queued[v] = True
            self.queue[(self.queue_first + self.queue_length) % self.n] = v
            self.queue_length += 1

    @property
    def n_queued(self):
        """Variables still to be visited."""
        return self.queue_length

    cdef double block(
        self, double *belief, const double *p, double *w, double *t, const uint8_t *active, Py_ssize_t size, double lam,
        bint cellwise, double tol,
    ) noexcept nogil:
        # One step of a block with a given belief (normalised here); returns its distance from optimality.
        cdef Py_ssize_t k
        cdef double total = 0.0, distance
        cdef double *pull = &self.pull[0]
        cdef double *curvature = &self.curvature[0]
        for k in range(size):
            total += belief[k]
        total = 1.0 / total
        for k in range(size):
            belief[k] *= total
            pull[k] = belief[k] - p[k] + self.l2 * w[k]
        distance = distance_from_optimal(pull, w, active, size, lam, cellwise)
        if distance <= tol:
            return distance
        self.n_steps += 1
        for k in range(size):
            curvature[k] = self.caution * max(belief[k], p[k]) + self.l2 + 1e-12
            pull[k] = curvature[k] * w[k] - pull[k]
        minimise_model(pull, curvature, w, active, size, lam, cellwise)
        for k in range(size):
            w[k] = min(max(w[k], -LARGEST), LARGEST)
            t[k] = exp(w[k])
        return distance

    cdef double gather(self, Py_ssize_t v) noexcept nogil:
        # product of v from its vector and messages, normalised; returns the logarithm of the normalising constant.
        cdef Py_ssize_t r = self.cards[v], slot = self.heads[v], a
        cdef double *product = &self.product[self.node_at[v]]
        cdef const double *message
        cdef double top, scale = 0.0
        for a in range(r):
            product[a] = self.node_t[self.node_at[v] + a]
        while slot >= 0:
            message = &self.messages[self.message_at[slot]]
            top = 0.0
            for a in range(r):
                product[a] *= message[a]
                top = max(top, product[a])
            if top < 1e-100:
                scale += log(top)
                for a in range(r):
                    product[a] = max(product[a] / top, LEAST)
            slot = self.following[slot]
        return scale + self.normalise(product, r)

    cdef inline double normalise(self, double *values, Py_ssize_t size) noexcept nogil:
        cdef Py_ssize_t a
        cdef double total = 0.0
        for a in range(size):
            total += values[a]
        for a in range(size):
            values[a] = max(values[a] / total, LEAST)
        return log(total)

    cdef void belief_of(self, Py_ssize_t e) noexcept nogil:
        # own, other: products of the ends without the messages of each other; belief: unnormalised table of the pair.
        cdef Py_ssize_t i = self.ends[2 * e], j = self.ends[2 * e + 1], r = self.cards[i], q = self.cards[j], a, b
        cdef const double *t = &self.edge_t[self.cell_at[e]]
        cdef double *own = &self.own[0]
        cdef double *other = &self.other[0]
        cdef double *belief = &self.belief[0]
        for a in range(r):
            own[a] = self.product[self.node_at[i] + a] / self.messages[self.message_at[2 * e] + a]
        for b in range(q):
            other[b] = self.product[self.node_at[j] + b] / self.messages[self.message_at[2 * e + 1] + b]
        for a in range(r):
            for b in range(q):
                belief[a * q + b] = own[a] * t[a * q + b] * other[b]

    cdef double deliver(self, Py_ssize_t slot, const double *without) noexcept nogil:
        # Stores `new` as the message of a slot and multiplies it into the receiver; returns its relative change.
        cdef Py_ssize_t v = self.ends[slot], r = self.cards[v], a
        cdef double *message = &self.messages[self.message_at[slot]]
        cdef double *product = &self.product[self.node_at[v]]
        cdef double *new = &self.new[0]
        cdef double top = 0.0, moved = 0.0
        for a in range(r):
            top = max(top, new[a])
        top = 1.0 / top
        for a in range(r):
            new[a] = max(new[a] * top, 1e-100)
            if self.damping > 0.0:
                new[a] += self.damping * (message[a] - new[a])
            moved = max(moved, fabs(new[a] / message[a] - 1.0))
            message[a] = new[a]
            product[a] = without[a] * new[a]
        self.normalise(product, r)
        self.stale[v] += moved
        self.drift[v] += moved
        return moved

    cdef double visit_edge(self, Py_ssize_t e, bint learn, double tol) noexcept nogil:
        cdef Py_ssize_t i = self.ends[2 * e], j = self.ends[2 * e + 1], r = self.cards[i], q = self.cards[j], a, b
        cdef Py_ssize_t at = self.cell_at[e]
        cdef double *t = &self.edge_t[at]
        cdef double distance = 0.0, total
        self.belief_of(e)
        if learn:
            distance = self.block(
                &self.belief[0], &self.edge_p[at], &self.edge_w[at], t, &self.active[at], r * q,
                self.lam * self.scale[e], self.cellwise, tol,
            )
        for b in range(q):
            self.new[b] = 0.0
        for a in range(r):
            for b in range(q):
                self.new[b] += self.own[a] * t[a * q + b]
        self.deliver(2 * e + 1, &self.other[0])
        for a in range(r):
            total = 0.0
            for b in range(q):
                total += t[a * q + b] * self.other[b]
            self.new[a] = total
        self.deliver(2 * e, &self.own[0])
        return distance

    cdef void visit(self, Py_ssize_t v, bint learn, double tol) noexcept nogil:
        cdef Py_ssize_t r = self.cards[v], at = self.node_at[v], slot = self.heads[v], a, other
        cdef double distance, worst = 0.0
        cdef double lam = self.lam * sqrt(<double>r) if self.penalize_nodes else 0.0
        self.gather(v)
        self.stale[v] = 0.0
        if learn:
            for a in range(r):
                self.belief[a] = self.product[at + a]
                self.new[a] = self.node_t[at + a]
            worst = self.block(
                &self.belief[0], &self.node_p[at], &self.node_w[at], &self.node_t[at], NULL, r, lam, False, tol
            )
            if worst > tol:
                for a in range(r):
                    self.drift[v] += fabs(self.node_t[at + a] / self.new[a] - 1.0)
                self.gather(v)
        while slot >= 0:
            distance = self.visit_edge(slot // 2, learn, tol)
            worst = max(worst, distance)
            other = self.ends[slot ^ 1]
            if self.stale[other] > tol:
                self.enqueue(other)
            slot = self.following[slot]
        if worst > tol or self.stale[v] > tol:
            self.enqueue(v)

    def settle(self, double tol, Py_ssize_t max_visits, bint learn=True):
        """Visit queued variables until none is left or `max_visits` were made; return the number of visits."""
        cdef Py_ssize_t visits = 0, v
        with nogil:
            while self.queue_length and visits < max_visits:
                v = self.queue[self.queue_first]
                self.queue_first = (self.queue_first + 1) % self.n
                self.queue_length -= 1
                self.queued[v] = False
                self.visit(v, learn, tol)
                visits += 1
        self.n_visits += visits
        return visits

    def settle_messages(self, double tol, Py_ssize_t max_visits):
        """Settle messages with fixed parameters, and return the number of visits; variables in the queue stay in it."""
        waiting, stale = np.flatnonzero(np.asarray(self.queued)), np.array(self.stale)
        self.drift[:] = 0.0
        self.enqueue_all()
        visits = self.settle(tol, max_visits, False)
        self.clear_queue()
        # The parameters have not followed these changes of messages yet.
        np.asarray(self.stale)[:] = stale + np.asarray(self.drift)
        self.enqueue_some(waiting, INFINITY)
        return visits

    cdef void clear_queue(self) noexcept nogil:
        self.queue_first = self.queue_length = 0
        self.queued[:] = False

    def state(self):
        """Return the messages, the change at each variable since its last visit, and the queue, for `restore`.

        After `log_partition` the products agree with the messages; after `settle_messages` the queue is in order.
        """
        messages = self._arrays["messages"][:self.message_at[2 * self.m]].copy()
        return {"messages": messages, "stale": np.array(self.stale), "is_queued": np.array(self.queued, dtype=bool)}

    def restore(self, const double[::1] messages, const double[::1] stale, is_queued):
        """Resume from a `state` of the same edges and parameters."""
        cdef Py_ssize_t v
        self._arrays["messages"][:self.message_at[2 * self.m]] = messages
        self.stale[:] = stale
        self.clear_queue()
        self.enqueue_some(np.flatnonzero(is_queued), INFINITY)
        for v in range(self.n):
            self.gather(v)

    def log_partition(self):
        """Return Bethe's log-partition function under the current messages."""
        cdef Py_ssize_t v, e, k
        cdef double total = 0.0, z
        with nogil:
            for v in range(self.n):
                total += self.gather(v)
            for e in range(self.m):
                self.belief_of(e)
                z = 0.0
                for k in range(self.cell_at[e + 1] - self.cell_at[e]):
                    z += self.belief[k]
                total += log(z)
        return total

    def optimality(self):
        """Return the distances from optimality under the current messages: (of each variable, of each edge's table)."""
        cdef Py_ssize_t v, e, k, size, at
        cdef double total
        cdef double[::1] nodes = np.empty(self.n), tables = np.empty(self.m)
        for v in range(self.n):
            self.gather(v)
            size, at = self.cards[v], self.node_at[v]
            for k in range(size):
                self.pull[k] = self.product[at + k] - self.node_p[at + k] + self.l2 * self.node_w[at + k]
            nodes[v] = distance_from_optimal(
                &self.pull[0], &self.node_w[at], NULL, size,
                self.lam * sqrt(<double>size) if self.penalize_nodes else 0.0, False,
            )
        for e in range(self.m):
            self.belief_of(e)
            size, at, total = self.cell_at[e + 1] - self.cell_at[e], self.cell_at[e], 0.0
            for k in range(size):
                total += self.belief[k]
            for k in range(size):
                self.pull[k] = self.belief[k] / total - self.edge_p[at + k] + self.l2 * self.edge_w[at + k]
            tables[e] = distance_from_optimal(
                &self.pull[0], &self.edge_w[at], &self.active[at], size, self.lam * self.scale[e], self.cellwise
            )
        return np.asarray(nodes), np.asarray(tables)


def product_gradients(
    const double[::1] beliefs,          # in: (sum of states,)
    const int64_t[::1] node_at,         # in: (n + 1,)
    const int64_t[:, ::1] pairs,        # in: (k, 2)
    const int64_t[::1] begins,          # in: (k + 1,)
    double[::1] tables,                 # in and out: moments of the pairs; products of beliefs minus moments
):
    """Replace moments of pairs by gradients at zero tables; return the 2-norm of each, (k,)."""
    cdef Py_ssize_t k, a, b, first, second, r, q
    cdef double total, x
    cdef double *cell
    cdef double[::1] out = np.empty(pairs.shape[0])
    with nogil:
        for k in range(pairs.shape[0]):
            first, second = node_at[pairs[k, 0]], node_at[pairs[k, 1]]
            r, q = node_at[pairs[k, 0] + 1] - first, node_at[pairs[k, 1] + 1] - second
            cell, total = &tables[begins[k]], 0.0
            for a in range(r):
                x = beliefs[first + a]
                for b in range(q):
                    cell[0] = x * beliefs[second + b] - cell[0]
                    total += cell[0] * cell[0]
                    cell += 1
            out[k] = sqrt(total)
    return np.asarray(out)

"""Belief propagation in pairwise Markov networks, sum-product and max-product.

Problem: node and edge marginals and the log-partition function of
    p(x) = exp(sum_i theta_i(x_i) + sum_ij W_ij(x_i, x_j)) / Z,
exact on forests, approximate with cycles. Algorithm: sequential message passing. The variables are in breadth-first
order of their components. A sweep has a backward pass, in which each variable sends to earlier neighbours, and a
forward pass, in which it sends to later neighbours. Every message is sent once per sweep; a forest needs one sweep. The
partition function is Bethe's approximation, written in messages:
    log Z = sum_i log Z_i + sum_ij log Z_ij / (Z_i Z_j),
whose first derivatives by the messages are zero at a fixed point, so that its error is of second order in the errors of
the messages. Products are over exponentials scaled to a maximum of 1. If one falls below LEAST, the run ends with
UNDERFLOW, and the caller repeats it in logarithms. Products without one factor use forward and backward partial
products, never division, so that zeros (cells of minus infinity) are exact.
Cost of a sweep: sum over edges of 2 s_i s_j multiplications; in logarithms as many exponentials.
Thread-safety: an object serves one thread; it shares only its inputs, which it reads.
References: Pearl (1988), Probabilistic Reasoning in Intelligent Systems, chapter 4; Yedidia, Freeman & Weiss (2005),
IEEE Transactions on Information Theory 51, 2282-2312 (section V).
"""

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int64_t

import numpy as np

# A product of two numbers above this is not subnormal, so that every loss of precision is detected.
cdef double LEAST = 1e-150
# Least cell of an initial message: sweeps restore a correct zero, but could never leave a wrong zero.
cdef double FLOOR = 1e-12

cdef enum:
    WELL, UNDERFLOW, IMPOSSIBLE


cdef inline void weighted_rows(
    const double *weights, const double *table, Py_ssize_t r, Py_ssize_t q, double *out
) noexcept nogil:
    # out = weights' * table for a table (r, q)
    cdef Py_ssize_t a, b
    cdef double w = weights[0]
    for b in range(q):
        out[b] = w * table[b]
    for a in range(1, r):
        w = weights[a]
        for b in range(q):
            out[b] += w * table[a * q + b]


cdef inline void transform(
    const double *weights, const double *table, Py_ssize_t r, Py_ssize_t q, double *out
) noexcept nogil:
    # The frequent sizes as constants: the compiler then unrolls the loops.
    if r == 2 and q == 2:
        weighted_rows(weights, table, 2, 2, out)
    elif r == 3 and q == 3:
        weighted_rows(weights, table, 3, 3, out)
    elif r == 4 and q == 4:
        weighted_rows(weights, table, 4, 4, out)
    elif r == 5 and q == 5:
        weighted_rows(weights, table, 5, 5, out)
    else:
        weighted_rows(weights, table, r, q, out)


cdef inline int multiply(double *product, const double *factor, Py_ssize_t r, double *scale) noexcept nogil:
    # product *= factor, rescaled to a maximum near 1 when small; `scale` adds the logarithms of the scaling factors.
    cdef Py_ssize_t a
    cdef double top = 0.0
    cdef bint small = False
    for a in range(r):
        product[a] *= factor[a]
        if product[a] > top:
            top = product[a]
        small |= product[a] < LEAST and product[a] > 0.0
    if top < 1e-20:
        if top == 0.0:
            return UNDERFLOW if small else IMPOSSIBLE
        if top < LEAST:
            return UNDERFLOW
        for a in range(r):
            product[a] /= top
        scale[0] += log(top)
    return UNDERFLOW if small else WELL


cdef inline void log_transform(
    const double *logs, const double *table, Py_ssize_t r, Py_ssize_t q, bint maximise, double *tops, double *out
) noexcept nogil:
    # out[b] = log sum_a exp(logs[a] + table[a, b]), or the maximum over a.
    cdef Py_ssize_t a, b
    cdef double value
    for b in range(q):
        tops[b] = -INFINITY
        out[b] = 0.0
    for a in range(r):
        for b in range(q):
            value = logs[a] + table[a * q + b]
            if value > tops[b]:
                tops[b] = value
    if not maximise:
        for a in range(r):
            if logs[a] == -INFINITY:
                continue
            for b in range(q):
                if tops[b] > -INFINITY:
                    out[b] += exp(logs[a] + table[a * q + b] - tops[b])
    for b in range(q):
        out[b] = tops[b] if maximise or tops[b] == -INFINITY else tops[b] + log(out[b])


cdef inline double log_total(const double *logs, Py_ssize_t r, bint maximise) noexcept nogil:
    cdef Py_ssize_t a
    cdef double top = -INFINITY, total = 0.0
    for a in range(r):
        if logs[a] > top:
            top = logs[a]
    if maximise or top == -INFINITY:
        return top
    for a in range(r):
        total += exp(logs[a] - top)
    return top + log(total)


cdef class MessagePassing:
    """Messages of one network, kept from sweep to sweep.

    Parameters
    ----------
    cardinalities : int64 (n,)
    node_values : float64 (cells,)
        Log-potentials; minus infinity is allowed.
    edges : int64 (m, 2)
    edge_values : float64 (edge cells,)
        Tables in row-major order.
    pointer, neighbour, edge : int64 (n + 1,), (2m,), (2m,)
        Neighbours in compressed sparse rows.
    messages : float64 (sum of degree times states,) or None
        Start: for each variable and neighbour, in the order of `neighbour`, the message into the variable.
    logs : bool
        Whether to work in logarithms.
    maximise : bool
        Max-product instead of sum-product, in logarithms only.
    """

    cdef readonly Py_ssize_t n, m
    cdef bint logs, maximise
    cdef double node_scale              # sum of the maxima divided out of nodes and tables
    cdef const int64_t[::1] cards, pointer, neighbour, edge
    cdef const int64_t[:, ::1] edges
    cdef int64_t[::1] node_at, edge_at, message_at, table_at, twin, order, rank
    cdef double[::1] nodes, tables, messages, cavities, beliefs, new, tops, product, partial
    cdef object _messages, _beliefs

    def __cinit__(
        self,
        const int64_t[::1] cardinalities,
        const double[::1] node_values,
        const int64_t[:, ::1] edges,
        const double[::1] edge_values,
        const int64_t[::1] pointer,
        const int64_t[::1] neighbour,
        const int64_t[::1] edge,
        messages,
        bint logs,
        bint maximise,
    ):
        cdef Py_ssize_t widest, degree
        cards = np.asarray(cardinalities)
        self.n, self.m = cardinalities.shape[0], edges.shape[0]
        self.logs, self.maximise = logs, maximise
        self.cards, self.pointer, self.neighbour, self.edge, self.edges = (
            cardinalities, pointer, neighbour, edge, edges
        )
        degrees = np.diff(np.asarray(pointer))
        receivers = np.repeat(np.arange(self.n), degrees)
        senders = np.asarray(neighbour)
        self.node_at = offsets(cards)
        self.edge_at = offsets(cards[np.asarray(edges)[:, 0]] * cards[np.asarray(edges)[:, 1]])
        self.message_at = offsets(cards[receivers])
        self.table_at = offsets(cards[receivers] * cards[senders])
        # The two slots of an edge, of its first and second end, are twins.
        by_edge = np.lexsort((receivers, np.asarray(edge))).reshape(-1, 2)
        twin = np.empty(2 * self.m, dtype=np.int64)
        twin[by_edge[:, 0]], twin[by_edge[:, 1]] = by_edge[:, 1], by_edge[:, 0]
        self.twin = twin
        self.nodes = np.array(node_values)
        self.tables = np.empty(self.table_at[2 * self.m])
        if messages is None:
            self._messages = np.full(self.message_at[2 * self.m], 0.0 if logs else 1.0)
        else:
            start = np.maximum(messages, FLOOR)
            self._messages = np.log(start) if logs else start
        self.messages = self._messages
        self.cavities = np.empty(self.message_at[2 * self.m])
        widest, degree = cards.max(), degrees.max()
        self.new, self.tops, self.product = np.empty(widest), np.empty(widest), np.empty(widest)
        self.partial = np.empty((degree + 1) * widest)
        self._beliefs = np.empty(self.node_at[self.n])
        self.beliefs = self._beliefs
        self.order, self.rank = np.empty(self.n, dtype=np.int64), np.full(self.n, -1, dtype=np.int64)
        self.set_order()
        self.set_tables(edge_values)

    cdef void set_order(self):
        # Breadth first from the lowest id of each component.
        cdef Py_ssize_t first, done = 0, seen = 0, k
        cdef int64_t v, u
        with nogil:
            for first in range(self.n):
                if self.rank[first] >= 0:
                    continue
                self.order[seen], self.rank[first] = first, seen
                seen += 1
                while done < seen:
                    v = self.order[done]
                    done += 1
                    for k in range(self.pointer[v], self.pointer[v + 1]):
                        u = self.neighbour[k]
                        if self.rank[u] < 0:
                            self.order[seen], self.rank[u] = u, seen
                            seen += 1

    cdef void set_tables(self, const double[::1] edge_values):
        # A copy of each table for either end, its own states first; maxima are divided out.
        cdef Py_ssize_t v, k, e, a, b, r, q
        cdef double top
        cdef double *table
        cdef const double *source
        self.node_scale = 0.0
        with nogil:
            for v in range(self.n):
                self.node_scale += self.scale_down(&self.nodes[self.node_at[v]], self.cards[v])
                for k in range(self.pointer[v], self.pointer[v + 1]):
                    e = self.edge[k]
                    r, q = self.cards[v], self.cards[self.neighbour[k]]
                    table, source = &self.tables[self.table_at[k]], &edge_values[self.edge_at[e]]
                    for a in range(r):
                        for b in range(q):
                            table[a * q + b] = source[a * q + b] if v == self.edges[e, 0] else source[b * r + a]
                    top = self.scale_down(table, r * q)
                    if v == self.edges[e, 0]:
                        self.node_scale += top

    cdef double scale_down(self, double *values, Py_ssize_t size) noexcept nogil:
        # Divides by the maximum, and takes exponentials unless all work is in logarithms; returns the maximum.
        cdef Py_ssize_t a
        cdef double top = -INFINITY
        for a in range(size):
            if values[a] > top:
                top = values[a]
        if top == -INFINITY:
            top = 0.0
        for a in range(size):
            values[a] -= top
            if not self.logs:
                values[a] = exp(values[a])
        return top

    cdef inline int absorb(self, double *product, const double *factor, Py_ssize_t r, double *scale) noexcept nogil:
        cdef Py_ssize_t a
        cdef bint possible = False
        if not self.logs:
            return multiply(product, factor, r, scale)
        for a in range(r):
            product[a] += factor[a]
            possible |= product[a] > -INFINITY
        return WELL if possible else IMPOSSIBLE

    cdef int send(self, Py_ssize_t k, const double *cavity, Py_ssize_t r, double damping, double *moved) noexcept nogil:
        # The message over slot k, written to the slot of its receiver.
        cdef Py_ssize_t b, q = self.cards[self.neighbour[k]]
        cdef double *new = &self.new[0]
        cdef double *old = &self.messages[self.message_at[self.twin[k]]]
        cdef double top = -INFINITY, step
        cdef bint small = False
        if self.logs:
            log_transform(cavity, &self.tables[self.table_at[k]], r, q, self.maximise, &self.tops[0], new)
        else:
            transform(cavity, &self.tables[self.table_at[k]], r, q, new)
        for b in range(q):
            if new[b] > top:
                top = new[b]
        if top == (-INFINITY if self.logs else 0.0):
            return IMPOSSIBLE
        if not self.logs:
            if top < LEAST:
                return UNDERFLOW
            top = 1.0 / top
        for b in range(q):
            if self.logs:
                new[b] -= top
            else:
                new[b] *= top
                small |= new[b] < LEAST and new[b] > 0.0
            if damping > 0.0 and new[b] != (-INFINITY if self.logs else 0.0) and old[b] > -INFINITY:
                new[b] += damping * (old[b] - new[b])
            step = fabs(new[b] - old[b])
            if step > moved[0]:     # false for two minus infinities
                moved[0] = step
            old[b] = new[b]
        return UNDERFLOW if small else WELL

    cdef int visit(self, Py_ssize_t v, int direction, double damping, double *moved, double *scale) noexcept nogil:
        # Sends to the earlier (-1) or later (1) neighbours in the order; 0 stores the cavities of all neighbours.
        cdef Py_ssize_t r = self.cards[v], k, a, i, n_targets = 0
        cdef int status, worst = WELL
        cdef double ignored = 0.0
        cdef double *product = &self.product[0]
        cdef double *partial
        cdef double *cavity
        for a in range(r):
            product[a] = self.nodes[self.node_at[v] + a]
        for k in range(self.pointer[v], self.pointer[v + 1]):
            if direction * (self.rank[self.neighbour[k]] - self.rank[v]) < 0:
                status = self.absorb(product, &self.messages[self.message_at[k]], r, scale)
                worst = max(worst, status)
        # Forward products of the targets' messages are stored, backward ones accumulate in `product`.
        for k in range(self.pointer[v], self.pointer[v + 1]):
            if direction * (self.rank[self.neighbour[k]] - self.rank[v]) >= 0:
                partial = &self.partial[n_targets * r]
                for a in range(r):
                    partial[a] = product[a]
                n_targets += 1
                status = self.absorb(product, &self.messages[self.message_at[k]], r, scale)
                worst = max(worst, status)
        if direction == 0:
            for a in range(r):
                self.beliefs[self.node_at[v] + a] = product[a]
        for a in range(r):
            product[a] = 0.0 if self.logs else 1.0
        i = n_targets
        for k in range(self.pointer[v + 1] - 1, self.pointer[v] - 1, -1):
            if direction * (self.rank[self.neighbour[k]] - self.rank[v]) < 0:
                continue
            i -= 1
            cavity = &self.partial[i * r]
            worst = max(worst, self.absorb(cavity, product, r, &ignored))
            if direction == 0:
                for a in range(r):
                    self.cavities[self.message_at[k] + a] = cavity[a]
            else:
                worst = max(worst, self.send(k, cavity, r, damping, moved))
            if i > 0:
                worst = max(worst, self.absorb(product, &self.messages[self.message_at[k]], r, &ignored))
        return worst

    def run(self, Py_ssize_t n_sweeps, double tol, double damping):
        """Sweep until no message changes by more than `tol`; return (sweeps, residual, status)."""
        cdef Py_ssize_t sweep = 0, p
        cdef double moved = 0.0, ignored = 0.0
        cdef int status = WELL
        with nogil:
            while sweep < n_sweeps:
                moved = 0.0
                for p in range(self.n - 1, -1, -1):
                    status = max(status, self.visit(self.order[p], -1, damping, &moved, &ignored))
                for p in range(self.n):
                    status = max(status, self.visit(self.order[p], 1, damping, &moved, &ignored))
                sweep += 1
                if status != WELL or moved <= tol:
                    break
        return sweep, moved, status

    def collect(self, double[::1] edge_beliefs):
        """Write edge beliefs; return (node beliefs, Bethe's log-partition, status)."""
        cdef Py_ssize_t v, k, e, a, b, r, q
        cdef double total = self.node_scale, scale, z
        cdef int status = WELL
        cdef double *own
        cdef double *other
        with nogil:
            for v in range(self.n):
                scale = 0.0
                status = max(status, self.visit(v, 0, 0.0, &z, &scale))
                z = self.normalise(&self.beliefs[self.node_at[v]], self.cards[v])
                total += scale + z
            for v in range(self.n):
                for k in range(self.pointer[v], self.pointer[v + 1]):
                    e = self.edge[k]
                    if self.edges[e, 0] != v:
                        continue
                    r, q = self.cards[v], self.cards[self.neighbour[k]]
                    own, other = &self.cavities[self.message_at[k]], &self.cavities[self.message_at[self.twin[k]]]
                    for a in range(r):
                        for b in range(q):
                            z = self.tables[self.table_at[k] + a * q + b]
                            edge_beliefs[self.edge_at[e] + a * q + b] = (
                                own[a] + z + other[b] if self.logs else own[a] * z * other[b]
                            )
                    total += self.normalise(&edge_beliefs[self.edge_at[e]], r * q)
                    total -= self.meeting(own, k, r) + self.meeting(other, self.twin[k], q)
        return self._beliefs, total, status

    cdef double normalise(self, double *values, Py_ssize_t size) noexcept nogil:
        # Scales to a sum of 1, or a maximum of 1 when maximising; returns the logarithm of the scaling factor.
        cdef Py_ssize_t a
        cdef double total = 0.0
        if self.logs:
            total = log_total(values, size, self.maximise)
            for a in range(size):
                values[a] = exp(values[a] - total)
            return total
        for a in range(size):
            total += values[a]
        for a in range(size):
            values[a] /= total
        return log(total)

    cdef double meeting(self, const double *cavity, Py_ssize_t k, Py_ssize_t r) noexcept nogil:
        # Logarithm of the sum over states of a cavity times the message that it leaves out.
        cdef Py_ssize_t a
        cdef double total = 0.0
        for a in range(r):
            if self.logs:
                self.product[a] = cavity[a] + self.messages[self.message_at[k] + a]
            else:
                total += cavity[a] * self.messages[self.message_at[k] + a]
        return log_total(&self.product[0], r, self.maximise) if self.logs else log(total)

    def messages_out(self):
        """Return the messages into each variable, each with a largest cell of 1."""
        return np.exp(self._messages) if self.logs else np.array(self._messages)


def offsets(sizes):
    """Return the offsets of consecutive runs of these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

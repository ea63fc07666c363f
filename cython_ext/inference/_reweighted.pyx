"""Tree-reweighted belief propagation and the upper bound on the log-partition that its messages give.

Problem: for weights r_e, the probabilities of edges in a random spanning tree, minimise over messages the bound
    log Z <= max over locally consistent b of sum b log f + sum_v H(b_v) - sum_e r_e I(b_e).
Algorithm: the message from u into v is M(x_v) = log sum_u exp(W / r + cavity_u), where cavity_u = field_u - (message of
v into u) and field_u = theta_u + sum r M; variables in order and back. At any messages, not at a fixed point alone,
    sum_v q_v log sum_a exp((theta_v + sum_u p(u|v) M_uv - sum_u p(v|u) cavity_v) / q_v)
is an upper bound on log Z: p(v|u), with sum r_uv over both directions, is the probability that u is v's parent in the
random tree from a random root, q_v the probability that v is the root. At a fixed point it equals the minimum. All
computations are in logarithms, except for sums of products that are well above the smallest number.
Cost of a sweep: per message s_u s_v multiplications, s_u exponentials and s_v logarithms.
Thread-safety: an object serves one thread; it shares only its inputs, which it reads.
References: Wainwright, Jaakkola & Willsky (2005), A new class of upper bounds on the log partition function, IEEE
Transactions on Information Theory 51, equations 39 and 45; Globerson & Jaakkola (2007), Convergent propagation
algorithms via oriented trees, UAI, section 4 (the bound at any messages).
"""

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int64_t

import numpy as np

# Sums of products below this are recomputed in logarithms.
cdef double TINY = 1e-200


cdef class ReweightedPassing:
    """Messages of one network, kept from sweep to sweep and from weights to weights.

    Parameters
    ----------
    node_at : int64 (n + 1,)
        First cell of each variable.
    node_values : float64 (cells,)
        Log-potentials; minus infinity is allowed.
    edges : int64 (m, 2)
    edge_at : int64 (m + 1,)
    edge_values : float64 (edge cells,)
        Tables in row-major order.
    pointer, neighbour, edge : int64 (n + 1,), (2m,), (2m,)
        Neighbours in compressed sparse rows.
    twin : int64 (2m,)
        Slot of the other direction of an edge.
    message_at : int64 (2m + 1,)
        First cell of the message into a variable over each slot.
    """

    cdef Py_ssize_t n, m
    cdef const int64_t[::1] node_at, edge_at, pointer, neighbour, edge, twin, message_at
    cdef const int64_t[:, ::1] edges
    cdef const double[::1] nodes, values
    cdef double[::1] weights, tops, scaled, factors, messages, fields, cavity, new

    def __cinit__(
        self,
        const int64_t[::1] node_at,
        const double[::1] node_values,
        const int64_t[:, ::1] edges,
        const int64_t[::1] edge_at,
        const double[::1] edge_values,
        const int64_t[::1] pointer,
        const int64_t[::1] neighbour,
        const int64_t[::1] edge,
        const int64_t[::1] twin,
        const int64_t[::1] message_at,
    ):
        self.n, self.m = node_at.shape[0] - 1, edges.shape[0]
        self.node_at, self.nodes = node_at, node_values
        self.edges, self.edge_at, self.values = edges, edge_at, edge_values
        self.pointer, self.neighbour, self.edge = pointer, neighbour, edge
        self.twin, self.message_at = twin, message_at
        widest = int(np.diff(node_at).max())
        self.weights, self.tops = np.empty(self.m), np.empty(self.m)
        self.scaled, self.factors = np.empty(edge_values.shape[0]), np.empty(edge_values.shape[0])
        self.messages = np.zeros(message_at[2 * self.m])
        self.fields = np.empty(node_at[self.n])
        self.cavity, self.new = np.empty(2 * widest), np.empty(widest)

    def set_weights(self, const double[::1] weights):
        """Set new probabilities of the edges, all positive."""
        cdef Py_ssize_t e, i
        cdef double top
        with nogil:
            for e in range(self.m):
                self.weights[e] = weights[e]
                top = -INFINITY
                for i in range(self.edge_at[e], self.edge_at[e + 1]):
                    self.scaled[i] = self.values[i] / weights[e]
                    top = max(top, self.scaled[i])
                for i in range(self.edge_at[e], self.edge_at[e + 1]):
                    self.scaled[i] -= top
                    self.factors[i] = exp(self.scaled[i])
                self.tops[e] = top

    cdef void sum_field(self, Py_ssize_t v) noexcept nogil:
        cdef Py_ssize_t r = self.node_at[v + 1] - self.node_at[v], k, a
        cdef double *field = &self.fields[self.node_at[v]]
        cdef double w
        for a in range(r):
            field[a] = self.nodes[self.node_at[v] + a]
        for k in range(self.pointer[v], self.pointer[v + 1]):
            w = self.weights[self.edge[k]]
            for a in range(r):
                field[a] += w * self.messages[self.message_at[k] + a]

    cdef double find_cavity(self, Py_ssize_t v, Py_ssize_t k, double *cavity) noexcept nogil:
        # The field of v without the message over slot k; returns its maximum.
        cdef Py_ssize_t r = self.node_at[v + 1] - self.node_at[v], a
        cdef const double *field = &self.fields[self.node_at[v]]
        cdef const double *message = &self.messages[self.message_at[k]]
        cdef double top = -INFINITY
        for a in range(r):
            cavity[a] = field[a] - message[a] if field[a] > -INFINITY else -INFINITY
            top = max(top, cavity[a])
        return top

    cdef void form_message(self, Py_ssize_t v, Py_ssize_t k, double *cavity, double *out) noexcept nogil:
        # The message of v over slot k, without subtraction of a constant.
        cdef Py_ssize_t u = self.neighbour[k], e = self.edge[k], a, b
        cdef Py_ssize_t r = self.node_at[v + 1] - self.node_at[v], q = self.node_at[u + 1] - self.node_at[u]
        cdef bint is_first = self.edges[e, 0] == v
        cdef Py_ssize_t step = q if is_first else 1, stride = 1 if is_first else r
        cdef const double *table = &self.factors[self.edge_at[e]]
        cdef const double *logs = &self.scaled[self.edge_at[e]]
        cdef double top = self.find_cavity(v, k, cavity), total, best
        if top == -INFINITY:
            for b in range(q):
                out[b] = -INFINITY
            return
        for a in range(r):
            cavity[r + a] = exp(cavity[a] - top)
        for b in range(q):
            total = 0.0
            for a in range(r):
                total += cavity[r + a] * table[a * step + b * stride]
            if total > TINY:
                out[b] = log(total) + top + self.tops[e]
                continue
            best = -INFINITY
            for a in range(r):
                best = max(best, cavity[a] + logs[a * step + b * stride])
            if best == -INFINITY:
                out[b] = -INFINITY
                continue
            total = 0.0
            for a in range(r):
                total += exp(cavity[a] + logs[a * step + b * stride] - best)
            out[b] = log(total) + best + self.tops[e]

    cdef double send_all(self, Py_ssize_t v, double damping) noexcept nogil:
        # Sends from v to all neighbours; returns the largest change of a message whose maximum is 0.
        cdef Py_ssize_t k, b, q
        cdef double *new = &self.new[0]
        cdef double *old
        cdef double top, moved = 0.0
        self.sum_field(v)
        for k in range(self.pointer[v], self.pointer[v + 1]):
            q = self.node_at[self.neighbour[k] + 1] - self.node_at[self.neighbour[k]]
            self.form_message(v, k, &self.cavity[0], new)
            old = &self.messages[self.message_at[self.twin[k]]]
            top = -INFINITY
            for b in range(q):
                top = max(top, new[b])
            for b in range(q):
                if new[b] > -INFINITY:
                    new[b] -= top
                    if old[b] > -INFINITY:
                        new[b] += damping * (old[b] - new[b])
                if new[b] != old[b]:
                    moved = max(moved, fabs(new[b] - old[b]))
                old[b] = new[b]
        return moved

    def run(self, Py_ssize_t n_sweeps, double tol, double damping):
        """Sweep, forward and back, until no message changes by more than `tol`; return (sweeps, largest change)."""
        cdef Py_ssize_t sweep = 0, v
        cdef double moved = 0.0
        with nogil:
            while sweep < n_sweeps:
                moved = 0.0
                for v in range(self.n):
                    moved = max(moved, self.send_all(v, damping))
                for v in range(self.n - 1, -1, -1):
                    moved = max(moved, self.send_all(v, damping))
                sweep += 1
                if moved <= tol:
                    break
        return sweep, moved

    def bound(self, const double[::1] parents, const double[::1] roots):
        """Return an upper bound on the log-partition at the present messages.

        `parents` (2m,) are the probabilities that the neighbour over a slot is the parent, `roots` (n,) the
        probabilities of the roots, all positive. The two directions of an edge sum to its weight.
        """
        cdef Py_ssize_t v, u, k, a, r
        cdef double total = 0.0, top, part
        cdef double *new = &self.new[0]
        cdef double[::1] brackets = np.array(self.nodes)
        cdef double *bracket
        with nogil:
            for v in range(self.n):
                self.sum_field(v)
            for v in range(self.n):
                for k in range(self.pointer[v], self.pointer[v + 1]):
                    u = self.neighbour[k]
                    # The message of v to u has the weight p(u is v's parent), and v's cavity is subtracted.
                    self.form_message(v, k, &self.cavity[0], new)
                    bracket = &brackets[self.node_at[u]]
                    for a in range(self.node_at[u + 1] - self.node_at[u]):
                        bracket[a] += parents[k] * new[a]
                    bracket = &brackets[self.node_at[v]]
                    for a in range(self.node_at[v + 1] - self.node_at[v]):
                        if self.fields[self.node_at[v] + a] > -INFINITY:
                            bracket[a] -= parents[k] * self.cavity[a]
            for v in range(self.n):
                r, top, part = self.node_at[v + 1] - self.node_at[v], -INFINITY, 0.0
                bracket = &brackets[self.node_at[v]]
                for a in range(r):
                    if self.fields[self.node_at[v] + a] == -INFINITY:
                        bracket[a] = -INFINITY
                    top = max(top, bracket[a])
                if top == -INFINITY:
                    total = -INFINITY
                    break
                for a in range(r):
                    part += exp((bracket[a] - top) / roots[v])
                total += top + roots[v] * log(part)
        return total

    def collect(self, double[::1] edge_beliefs, double[::1] informations):
        """Write the beliefs of all edges, and their mutual informations in nats."""
        cdef Py_ssize_t e, k, v, u, a, b, r, q
        cdef double top, total, value
        cdef double *own
        cdef double *other
        cdef double *joint
        cdef double[::1] rows = np.empty(self.new.shape[0]), columns = np.empty(self.new.shape[0])
        cdef double[::1] second = np.empty(2 * self.new.shape[0])
        with nogil:
            for v in range(self.n):
                self.sum_field(v)
            for v in range(self.n):
                for k in range(self.pointer[v], self.pointer[v + 1]):
                    e, u = self.edge[k], self.neighbour[k]
                    if self.edges[e, 0] != v:
                        continue
                    r, q = self.node_at[v + 1] - self.node_at[v], self.node_at[u + 1] - self.node_at[u]
                    own, other, joint = &self.cavity[0], &second[0], &edge_beliefs[self.edge_at[e]]
                    self.find_cavity(v, k, own)
                    self.find_cavity(u, self.twin[k], other)
                    top, total = -INFINITY, 0.0
                    for a in range(r):
                        rows[a] = 0.0
                        for b in range(q):
                            joint[a * q + b] = own[a] + other[b] + self.scaled[self.edge_at[e] + a * q + b]
                            top = max(top, joint[a * q + b])
                    for b in range(q):
                        columns[b] = 0.0
                    for a in range(r * q):
                        joint[a] = exp(joint[a] - top)
                        total += joint[a]
                    for a in range(r):
                        for b in range(q):
                            joint[a * q + b] /= total
                            rows[a] += joint[a * q + b]
                            columns[b] += joint[a * q + b]
                    informations[e] = 0.0
                    for a in range(r):
                        for b in range(q):
                            value = joint[a * q + b]
                            if value > 0.0:
                                informations[e] += value * log(value / (rows[a] * columns[b]))

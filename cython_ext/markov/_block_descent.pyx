"""Block descent on the penalised pseudolikelihood of a pairwise Markov network, for local and for remote rows.

Problem: minimise, over node parameters theta and tables W of the active edges,

    -(1 / 2N) sum_m w_m sum_i log p(x_i | x_-i) + sum_e penalty_e ||W_e|| + (l2 / 2) ||(theta, W)||^2.

Algorithm: the mean conditional of the states of a node given a neighbour's state, both ways, gives the gradient of an
edge and, by the bound in _block.pxd, suffices for a safe step. The step moves the logits of both ends by a table looked
up by the neighbour's state. A subclass computes these means and makes these moves: `Conditionals` passes over rows in
memory, `RemoteConditionals` reads sums that workers computed and records the moves that they must make. A node without
edges has one conditional for all rows and costs nothing.
Reference: block coordinate descent with upper bounds as in Hunter & Lange (2004), "A tutorial on MM algorithms"; the
objective is eq. 2 of Chaabene & Huang, "Best-choice edge grafting", with Besag's pseudolikelihood for the loss.
Cost per step: two means and two moves, and some thousand operations on the table of the edge.
Thread-safety: `measure` may run in threads if `side` of the subclass only reads; all else changes the object.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

import numpy as np

from _block cimport (
    Group, Side, bound_factor, curvatures, group_violation, minimise_bound, set_steps, spread,
)
from _conditionals cimport PGMX_FEW
from _lone_node cimport fit_lone_node

#: Inner iterations of one block, and how often its bound may be raised.
cdef enum:
    INNER = 200
    RAISES = 16


cdef class BlockDescent:
    """Parameters of one network, and the statistics of its conditionals that block steps need."""

    cdef int set_up(self, cardinalities, margins, double total, double l2, node_penalties) except -1:
        """Start with all parameters zero; the arrays are as in `Conditionals`."""
        cdef Py_ssize_t i
        self.cards = np.ascontiguousarray(cardinalities, dtype=np.int64)
        self.n = self.cards.shape[0]
        self.offset = np.concatenate(([0], np.cumsum(self.cards))).astype(np.int64)
        self.margin = np.ascontiguousarray(margins, dtype=np.float64)
        self.node_penalty = node_penalties
        self.l2 = l2
        self.total = total
        self.by_row = np.zeros(self.n, dtype=np.uint8)
        self.node_values = np.zeros(self.offset[self.n])
        self.theta = self.node_values
        self.total_of = np.zeros(self.offset[self.n])
        self.drift = np.zeros(self.n)
        self._drift = self.drift
        for i in range(self.n):
            self.settle(i, 0.0)
        return 0

    cdef int settle(self, Py_ssize_t i, object added) except -1:
        """Set the conditional of a node without edges from its parameters plus an offset."""
        part = slice(self.offset[i], self.offset[i + 1])
        values = np.asarray(self.node_values[part]) + added
        odds = np.exp(values - values.max())
        np.asarray(self.total_of)[part] = odds * (self.total / odds.sum())
        return 0

    def is_constant(self, Py_ssize_t i):
        """Return whether variable i has no edges, so that all rows share one conditional."""
        return not self.by_row[i]

    def totals(self):
        """Return the sums over the rows of the conditionals of all states, float64 (sum of states,)."""
        return np.array(self.total_of)

    def fit_alone(self):
        """Fit each node that has one conditional for all rows; its drift grows by the change."""
        cdef Py_ssize_t i
        widest = int(np.asarray(self.cards).max())
        cdef double[::1] ahead = np.empty(widest), gradient = np.empty(widest)
        with nogil:
            for i in range(self.n):
                if not self.by_row[i]:
                    fit_lone_node(
                        &self.theta[self.offset[i]], &self.margin[self.offset[i]], self.cards[i], self.l2,
                        self.node_penalty[i], &ahead[0], &gradient[0]
                    )
        for i in range(self.n):
            if not self.by_row[i]:
                before = np.array(self.total_of[self.offset[i]:self.offset[i + 1]])
                self.settle(i, 0.0)
                after = np.asarray(self.total_of[self.offset[i]:self.offset[i + 1]])
                self._drift[i] += np.linalg.norm(after - before) / self.total

    def violation_alone(self, Py_ssize_t i):
        """Return the distance from optimality of a node that has one conditional for all rows."""
        part = slice(self.offset[i], self.offset[i + 1])
        cdef double[::1] slopes = 0.5 * (np.asarray(self.total_of)[part] / self.total - np.asarray(self.margin)[part])
        return group_violation(
            &self.theta[self.offset[i]], &slopes[0], slopes.shape[0], self.node_penalty[i], self.l2, NULL
        )

    def loss_alone(self, Py_ssize_t i):
        """Return the term of the loss of a node that has one conditional for all rows."""
        part = slice(self.offset[i], self.offset[i + 1])
        shares = np.asarray(self.margin)[part]
        seen = shares > 0
        return -0.5 * float(shares[seen] @ np.log(np.asarray(self.total_of)[part][seen] / self.total))

    # ---- defined by subclasses ----

    cdef void side(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil:
        """Set out[a, b], (s_i, s_j), to the (weighted) mean over all rows of p(x_i = a | rest) [x_j = b]."""
        pass

    cdef double shift(self, Py_ssize_t i, Py_ssize_t j, const double *step, void *scratch) noexcept nogil:
        """Move the logits of node i by step[a, b] in the rows with state b of node j; scratch is for a table.

        Returns the sum over the rows of the Euclidean changes of the conditional.
        """
        return 0

    cdef int open(self, Py_ssize_t i) except -1:
        """Store the conditionals of node i row by row."""
        return 0

    cdef int close(self, Py_ssize_t i) except -1:
        """Store one conditional of node i for all rows."""
        return 0

    cdef void multiply(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil:
        # `side` of a node that has one conditional for all rows
        cdef Py_ssize_t a, b, s = self.cards[i], t = self.cards[j]
        cdef double scale = 1 / self.total
        for a in range(s):
            for b in range(t):
                out[a * t + b] = self.total_of[self.offset[i] + a] * scale * self.margin[self.offset[j] + b]

    # ---- scores ----

    def measure(
        self,
        const int64_t[:, ::1] pairs,       # in: (k, 2)
        const int64_t[::1] order,          # in: (2k,) sides by owner: e, of the first node of pair e; k + e, the second
        const int64_t[::1] where,          # in: (k + 1,) start of the cells of each pair
        const double[::1] tables,          # in: observed shares, (s_i, s_j) per pair
        double[::1] gradients,             # out: of the loss in each cell
        float[:, ::1] sides=None,          # in/out: mean conditionals of all ordered pairs, (S, S)
        double[:, ::1] drift_at=None,      # in/out: (n, n) drift of the owner when its side was stored, -1 for never
    ):
        """Compute the gradient of the loss in the tables of pairs, active or not; each pair occurs once.

        With `sides`, conditionals that are unchanged since the last measurement of the same pair are reused.
        """
        cdef Py_ssize_t k = pairs.shape[0], e, i, j, a, b, s, t, at
        cdef double *buffer
        if k == 0:
            return
        cards = np.asarray(self.cards)
        scratch = np.empty(int(cards.max()) ** 2)
        cdef bint kept = sides is not None
        cdef double[::1] held = scratch
        with nogil:
            for at in range(where[0], where[k]):
                gradients[at] = -tables[at]
            buffer = &held[0]
            for at in range(2 * k):
                e = order[at] % k
                i, j = pairs[e, 0], pairs[e, 1]
                if order[at] >= k:
                    i, j = j, i
                s, t = self.cards[i], self.cards[j]
                if not kept or not self.by_row[i]:
                    self.side(i, j, buffer)
                elif drift_at[i, j] == self._drift[i]:
                    for a in range(s):
                        for b in range(t):
                            buffer[a * t + b] = sides[self.offset[i] + a, self.offset[j] + b]
                else:
                    self.side(i, j, buffer)
                    drift_at[i, j] = self._drift[i]
                    for a in range(s):
                        for b in range(t):
                            sides[self.offset[i] + a, self.offset[j] + b] = <float>buffer[a * t + b]
                if order[at] < k:
                    for a in range(s * t):
                        gradients[where[e] + a] += 0.5 * buffer[a]
                else:
                    for a in range(s):
                        for b in range(t):
                            gradients[where[e] + b * s + a] += 0.5 * buffer[a * t + b]

    # ---- steps ----

    def descend(
        self,
        const int64_t[::1] visit,             # in: positions of the edges to visit, in order
        const int64_t[:, ::1] pairs,          # in: (k, 2) all active edges
        const int64_t[::1] where,             # in: (k + 1,) start of the cells of each edge in the next three arrays
        double[::1] values,                   # in/out: parameters
        const double[::1] tables,             # in: observed shares
        const uint8_t[::1] masks,             # in: feature-wise, the active cells; length 0 otherwise
        const double[::1] penalties,          # in: (k,)
        double tol,                           # infinity: measure without steps
        double[::1] violations,               # out: of each block visited, before its step
    ):
        """Take a step in each visited block that violates its optimality condition by more than `tol`."""
        cdef Py_ssize_t at, e
        cdef size_t widest = int(np.asarray(self.cards).max())
        # ten arrays for a table and its nodes; two of them hold the look-up table, whose rows are 16 floats at least
        cdef size_t size = widest * widest + 2 * widest + PGMX_FEW * PGMX_FEW // 4
        cdef double *memory = <double *>malloc(10 * size * sizeof(double))
        if memory == NULL:
            raise MemoryError(f"cannot allocate {10 * size * sizeof(double)} bytes for the largest edge table")
        try:
            for at in range(visit.shape[0]):
                e = visit[at]
                violations[e] = self._block(
                    pairs[e, 0], pairs[e, 1], &values[where[e]], &tables[where[e]],
                    &masks[where[e]] if masks.shape[0] else NULL, penalties[e], tol, memory, size
                )
        finally:
            free(memory)

    cdef double _block(
        self, Py_ssize_t i, Py_ssize_t j, double *value, const double *table, const uint8_t *mask, double penalty,
        double tol, double *memory, size_t size
    ) except -1:
        cdef Py_ssize_t s = self.cards[i], t = self.cards[j], a, b
        cdef Group groups[3]
        cdef Side first, second
        cdef double *slopes = memory + 9 * size
        cdef double violation, found
        first.rows, first.columns, second.rows, second.columns = s, t, t, s
        first.step, second.step = memory + 3 * size, memory + 4 * size
        first.margin, second.margin = &self.margin[self.offset[j]], &self.margin[self.offset[i]]
        first.mass, second.mass = memory + 5 * size, memory + 6 * size
        groups[0].size, groups[1].size, groups[2].size = s * t, s, t
        groups[0].value, groups[1].value = value, &self.theta[self.offset[i]]
        groups[2].value = &self.theta[self.offset[j]]
        groups[0].penalty, groups[0].mask = penalty, mask
        groups[1].penalty, groups[2].penalty = self.node_penalty[i], self.node_penalty[j]
        groups[1].mask = groups[2].mask = NULL
        for a in range(3):
            b = 0 if a == 0 else (s * t if a == 1 else s * t + s)
            groups[a].trial, groups[a].ahead, groups[a].gradient = memory + b, memory + size + b, memory + 2 * size + b
        with nogil:
            self.side(i, j, memory + 5 * size)
            self.side(j, i, memory + 6 * size)
            set_slopes(&first, &second, table, slopes)
            violation = group_violation(value, slopes, s * t, penalty, self.l2, mask)
            for a in range(1, 3):
                found = group_violation(
                    groups[a].value, slopes + s * t + (s if a == 2 else 0), groups[a].size, groups[a].penalty,
                    self.l2, NULL
                )
                violation = max(violation, found)
        if violation <= tol:
            return violation
        if not self.by_row[i]:
            self.open(i)
        if not self.by_row[j]:
            self.open(j)
        with nogil:
            take_step(groups, &first, &second, slopes, self.l2, 0.02 * max(violation, tol))
            self._drift[i] += self.shift(i, j, first.step, memory + 7 * size) / self.total
            self._drift[j] += self.shift(j, i, second.step, memory + 7 * size) / self.total
            for a in range(3):
                for b in range(groups[a].size):
                    groups[a].value[b] = groups[a].trial[b]
            self.n_steps += 1
        return violation

    def rebuild(self, Py_ssize_t i, const int64_t[::1] neighbours, list steps):
        """Compute the conditionals of node i again from its parameters.

        ``steps[k]`` is the table of the edge to ``neighbours[k]``, (s_i, s_j) with the states of node i in rows.
        """
        cdef Py_ssize_t k, j
        cdef const double[:, ::1] step
        if neighbours.shape[0] == 0:
            self.settle(i, 0.0)
            self.close(i)
            return
        # means over the states of the neighbour may cancel between tables: they are added in double precision first
        means = [np.mean(table, axis=1) for table in steps]
        steps = [np.ascontiguousarray(table - mean[:, None]) for table, mean in zip(steps, means)]
        self.settle(i, np.sum(means, axis=0))
        self.open(i)
        cells = max(max(table.size for table in steps), PGMX_FEW * PGMX_FEW)
        cdef double[::1] scratch = np.empty(cells)
        self.is_rebuild = True
        for k in range(neighbours.shape[0]):
            j, step = neighbours[k], steps[k]
            self.shift(i, j, &step[0, 0], &scratch[0])
        self.is_rebuild = False


cdef void take_step(
    Group *groups, Side *first, Side *second, const double *slopes, double l2, double tol
) noexcept nogil:
    # Minimise the upper bound; raise it until it is valid for its own step.
    cdef double factor = 1.05, needed, top_first, sum_first, top_second, sum_second
    cdef Py_ssize_t c, k, tries
    curvatures(first, &top_first, &sum_first)
    curvatures(second, &top_second, &sum_second)
    for tries in range(RAISES):
        # restart here each time: small steps under a raised bound may not return from a distant trial point
        for c in range(3):
            for k in range(groups[c].size):
                groups[c].trial[k] = groups[c].value[k]
        groups[0].curvature = factor * (top_first + top_second) + l2 + 1e-12
        groups[1].curvature = factor * sum_first + l2 + 1e-12
        groups[2].curvature = factor * sum_second + l2 + 1e-12
        minimise_bound(groups, first, second, slopes, l2, factor, tol, INNER)
        set_steps(
            &groups[0], &groups[1], &groups[2], groups[0].trial, groups[1].trial, groups[2].trial, first, second
        )
        needed = bound_factor(max(spread(first), spread(second)))
        if needed <= factor * 1.001:
            return
        # `needed` may be too large: it is for the last step, and a raised bound gives shorter steps
        factor = min(needed, 2 * factor) if tries < RAISES - 4 else needed


cdef inline void set_slopes(const Side *first, const Side *second, const double *table, double *slopes) noexcept nogil:
    # Gradients of the loss with respect to the table and the two nodes.
    cdef Py_ssize_t a, b, s = first.rows, t = first.columns
    for a in range(s):
        slopes[s * t + a] = -0.5 * second.margin[a]
    for b in range(t):
        slopes[s * t + s + b] = -0.5 * first.margin[b]
    for a in range(s):
        for b in range(t):
            slopes[a * t + b] = 0.5 * (first.mass[a * t + b] + second.mass[b * s + a]) - table[a * t + b]
            slopes[s * t + a] += 0.5 * first.mass[a * t + b]
            slopes[s * t + s + b] += 0.5 * second.mass[b * s + a]

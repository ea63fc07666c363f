"""Block descent on the penalised pseudolikelihood of a pairwise Markov network.

Problem: minimise, over node parameters theta and tables W of the active edges,

    -(1 / 2N) sum_m w_m sum_i log p(x_i | x_-i) + sum_e penalty_e ||W_e|| + (l2 / 2) ||(theta, W)||^2.

Algorithm: the conditional probabilities of every node with an edge are stored for all rows in float; one pass over the
rows of one node gives the mean conditional of its states given a neighbour's state, which is the gradient of the edge
and, by the bound in _block.pxd, all that a safe step needs. The step multiplies the conditionals of both ends by a
table looked up by the neighbour's state. A node without edges has one conditional for all rows and costs nothing.
Reference: block coordinate descent with upper bounds as in Hunter & Lange (2004), "A tutorial on MM algorithms"; the
objective is eq. 2 of Chaabene & Huang, "Best-choice edge grafting", with Besag's pseudolikelihood for the loss.
Cost: a gradient of an edge takes about s_i s_j N / 16 masked additions per side with AVX-512, a step about twice that.
Thread-safety: `measure` only reads and may run in threads; everything else changes the object.
"""

from libc.math cimport exp
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc

import numpy as np

from _block cimport (
    Group, Side, bound_factor, curvatures, group_violation, minimise_bound, set_steps, spread,
)
from _conditionals cimport (
    PGMX_FEW, pgmx_log_sum_few, pgmx_log_sum_u16, pgmx_log_sum_u16_double, pgmx_log_sum_u8, pgmx_log_sum_u8_double,
    pgmx_moments_few, pgmx_moments_u16, pgmx_moments_u16_double, pgmx_moments_u8, pgmx_moments_u8_double,
    pgmx_shift_few, pgmx_shift_u16, pgmx_shift_u16_double, pgmx_shift_u8, pgmx_shift_u8_double,
)
from _lone_node cimport fit_lone_node
from _simd cimport select_simd_level

cdef extern from "_conditionals.h" nogil:
    int pgmx_conditionals_level

pgmx_conditionals_level = select_simd_level()

#: Inner iterations of one block, and how often its bound may be raised.
cdef enum:
    INNER = 200
    RAISES = 16


cdef class Conditionals:
    """Parameters, conditionals and active edges of one network on one table.

    Parameters
    ----------
    codes : list of uint8 or uint16 arrays (N,)
        States of each variable; uint8 where a variable has at most 256 states.
    cardinalities : int64 (n,)
    margins : float64 (sum of states,)
        Weighted share of each state, variable after variable.
    weights : float32 (float64 in double precision) (N,) or None
        Row weights, positive.
    l2 : float
    node_penalties : float64 (n,)
        Penalty of the norm of each node's parameters, zero for none. Shared with the caller, who may change it.
    is_double : bool, default=False
        Whether conditionals are stored in double precision, in twice the memory, by passes without vectors.
    """

    cdef readonly Py_ssize_t n, n_rows, n_steps
    cdef readonly double total
    cdef public double l2
    cdef list _kept
    cdef object _weights
    cdef void *_weight
    cdef bint _is_double
    cdef object _real
    cdef size_t[::1] _codes, _states
    cdef uint8_t[::1] _wide
    cdef const int64_t[::1] cards
    cdef int64_t[::1] offset
    cdef const double[::1] margin, node_penalty
    cdef double[::1] theta, total_of
    cdef readonly object node_values, drift
    cdef double[::1] _drift

    def __init__(self, list codes, cardinalities, margins, weights, double l2, node_penalties, bint is_double=False):
        cdef Py_ssize_t i
        self.n = len(codes)
        self.n_rows = len(codes[0])
        self.cards = np.ascontiguousarray(cardinalities, dtype=np.int64)
        self.offset = np.concatenate(([0], np.cumsum(self.cards))).astype(np.int64)
        self.margin = np.ascontiguousarray(margins, dtype=np.float64)
        self.node_penalty = node_penalties
        self.l2 = l2
        self._is_double, self._real = is_double, np.float64 if is_double else np.float32
        self._weights = None if weights is None else np.ascontiguousarray(weights, dtype=self._real)
        self._weight = NULL if weights is None else <void *><size_t>self._weights.ctypes.data
        self.total = float(self.n_rows) if weights is None else float(self._weights.sum(dtype=np.float64))
        self._kept = [list(codes), [None] * self.n, [None] * self.n]
        self._codes = np.array([column.ctypes.data for column in codes], dtype=np.uintp)
        self._states = np.zeros(self.n, dtype=np.uintp)
        self._wide = np.array([column.dtype != np.uint8 for column in codes], dtype=np.uint8)
        self.node_values = np.zeros(self.offset[self.n])
        self.theta = self.node_values
        self.total_of = np.zeros(self.offset[self.n])
        self.drift = np.zeros(self.n)
        self._drift = self.drift
        for i in range(self.n):
            self._settle(i)

    def _settle(self, Py_ssize_t i, added=0.0):
        """Set the conditional of a node without edges to that of its parameters, some numbers added."""
        part = slice(self.offset[i], self.offset[i + 1])
        values = np.asarray(self.node_values[part]) + added
        odds = np.exp(values - values.max())
        np.asarray(self.total_of)[part] = odds * (self.total / odds.sum())

    def is_constant(self, Py_ssize_t i):
        """Return whether all rows share one conditional of variable i, which has no edges then."""
        return self._states[i] == 0

    def conditionals(self, Py_ssize_t i):
        """Return weight times probability of each state in each row, (s_i, N); None while it is constant."""
        return self._kept[1][i]

    def totals(self):
        """Return the sums over the rows of the conditionals of all states, float64 (sum of states,)."""
        return np.array(self.total_of)

    def set_conditionals(self, Py_ssize_t i, states, totals):
        """Go on from earlier conditionals of node i, (s_i, N) or None where it was constant, and their sums."""
        if states is not None:
            if self._states[i] == 0:
                self._open(i)
            self._kept[1][i][...] = states
        np.asarray(self.total_of)[self.offset[i]:self.offset[i + 1]] = totals

    def _open(self, Py_ssize_t i):
        """Store the conditionals of node i row by row."""
        part = slice(self.offset[i], self.offset[i + 1])
        start = (np.asarray(self.total_of)[part] / self.total).astype(self._real)
        states = self._kept[1][i]
        if states is None:
            states = np.empty((len(start), self.n_rows), dtype=self._real)
        np.multiply(start[:, None], self._real(1) if self._weights is None else self._weights, out=states)
        address = states.ctypes.data + states.itemsize * self.n_rows * np.arange(len(start), dtype=np.uintp)
        self._kept[1][i] = states
        self._kept[2][i] = address
        self._states[i] = <size_t>address.ctypes.data

    def fit_alone(self):
        """Fit the nodes that have one conditional for all rows, each by itself; drifts grow by what that changes."""
        cdef Py_ssize_t i
        widest = int(np.asarray(self.cards).max())
        cdef double[::1] ahead = np.empty(widest), gradient = np.empty(widest)
        with nogil:
            for i in range(self.n):
                if self._states[i] == 0:
                    fit_lone_node(
                        &self.theta[self.offset[i]], &self.margin[self.offset[i]], self.cards[i], self.l2,
                        self.node_penalty[i], &ahead[0], &gradient[0]
                    )
        for i in range(self.n):
            if self._states[i] == 0:
                before = np.array(self.total_of[self.offset[i]:self.offset[i + 1]])
                self._settle(i)
                after = np.asarray(self.total_of[self.offset[i]:self.offset[i + 1]])
                self._drift[i] += np.linalg.norm(after - before) / self.total

    def violation_alone(self, Py_ssize_t i):
        """Return the distance from optimality of a node that has one conditional for all rows."""
        part = slice(self.offset[i], self.offset[i + 1])
        cdef double[::1] slopes = 0.5 * (np.asarray(self.total_of)[part] / self.total - np.asarray(self.margin)[part])
        return group_violation(
            &self.theta[self.offset[i]], &slopes[0], slopes.shape[0], self.node_penalty[i], self.l2, NULL
        )

    # ---- passes over the rows ----

    cdef void side(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil:
        # out[a, b] = (weighted) mean over all rows of p(x_i = a | rest) [x_j = b], (s_i, s_j)
        cdef Py_ssize_t a, b, s = self.cards[i], t = self.cards[j], k
        cdef const double *sums = &self.total_of[self.offset[i]]
        cdef const double *f = &self.margin[self.offset[j]]
        cdef double scale = 1 / self.total, rest
        cdef const float **states = <const float **>self._states[i]
        if states == NULL:
            for a in range(s):
                for b in range(t):
                    out[a * t + b] = sums[a] * scale * f[b]
            return
        for k in range(s * t):
            out[k] = 0
        if self._is_double and self._wide[j]:
            pgmx_moments_u16_double(<const double **>states, s, <const uint16_t *>self._codes[j], self.n_rows, out, t)
        elif self._is_double:
            pgmx_moments_u8_double(<const double **>states, s, <const uint8_t *>self._codes[j], self.n_rows, out, t)
        elif self._wide[j]:
            pgmx_moments_u16(states, s, <const uint16_t *>self._codes[j], self.n_rows, out, t)
        elif s > PGMX_FEW or t > PGMX_FEW:
            pgmx_moments_u8(states, s, <const uint8_t *>self._codes[j], self.n_rows, out, t)
        else:
            # the last state of each follows from the sums over the others
            pgmx_moments_few(
                states, <int>(s - 1), <const uint8_t *>self._codes[j], <int>(t - 1), self.n_rows, out, t
            )
            for a in range(s - 1):
                rest = sums[a]
                for b in range(t - 1):
                    rest -= out[a * t + b]
                out[a * t + t - 1] = rest
            for b in range(t):
                rest = f[b] * self.total
                for a in range(s - 1):
                    rest -= out[a * t + b]
                out[(s - 1) * t + b] = rest
        for k in range(s * t):
            out[k] = max(out[k] * scale, 0)

    cdef void shift(self, Py_ssize_t i, Py_ssize_t j, const double *step, void *scratch) noexcept nogil:
        # Move the logits of node i by step[a, b] in the rows where node j has state b; scratch is for a table.
        cdef Py_ssize_t a, b, s = self.cards[i], t = self.cards[j], stride
        cdef bint few = s <= PGMX_FEW and t <= PGMX_FEW and not self._is_double
        cdef double top, factor, moved = 0
        cdef double *sums = &self.total_of[self.offset[i]]
        cdef double *wide_table = <double *>scratch
        cdef float *table = <float *>scratch
        cdef void *states = <void *>self._states[i]
        cdef void *codes = <void *>self._codes[j]
        stride = PGMX_FEW if few else t
        for b in range(t):
            top = step[b]
            for a in range(1, s):
                top = max(top, step[a * t + b])
            for a in range(s):
                factor = exp(step[a * t + b] - top)
                if self._is_double:
                    wide_table[a * stride + b] = factor
                else:
                    table[a * stride + b] = <float>factor
        if few:
            for a in range(s):
                for b in range(t, PGMX_FEW):
                    table[a * stride + b] = 1
        for a in range(s):
            sums[a] = 0
        if self._is_double and self._wide[j]:
            pgmx_shift_u16_double(
                <double **>states, s, wide_table, t, <const uint16_t *>codes, <const double *>self._weight, 0,
                self.n_rows, sums, &moved
            )
        elif self._is_double:
            pgmx_shift_u8_double(
                <double **>states, s, wide_table, t, <const uint8_t *>codes, <const double *>self._weight, 0,
                self.n_rows, sums, &moved
            )
        elif few:
            pgmx_shift_few(
                <float **>states, <int>s, table, <const uint8_t *>codes, <const float *>self._weight, self.n_rows,
                sums, &moved
            )
        elif self._wide[j]:
            pgmx_shift_u16(
                <float **>states, s, table, t, <const uint16_t *>codes, <const float *>self._weight, 0, self.n_rows,
                sums, &moved
            )
        else:
            pgmx_shift_u8(
                <float **>states, s, table, t, <const uint8_t *>codes, <const float *>self._weight, 0, self.n_rows,
                sums, &moved
            )
        self._drift[i] += moved / self.total

    def loss_of(self, Py_ssize_t i):
        """Return the part of node i in the loss, (1 / 2N) sum of -w log p(x_i | rest)."""
        cdef const float **states = <const float **>self._states[i]
        cdef double found = 0
        if states == NULL:
            part = slice(self.offset[i], self.offset[i + 1])
            shares = np.asarray(self.margin)[part]
            seen = shares > 0
            return -0.5 * float(shares[seen] @ np.log(np.asarray(self.total_of)[part][seen] / self.total))
        cdef void *codes = <void *>self._codes[i]
        with nogil:
            if self._is_double and self._wide[i]:
                found = pgmx_log_sum_u16_double(
                    <const double **>states, <const uint16_t *>codes, <const double *>self._weight, 0, self.n_rows
                )
            elif self._is_double:
                found = pgmx_log_sum_u8_double(
                    <const double **>states, <const uint8_t *>codes, <const double *>self._weight, 0, self.n_rows
                )
            elif self._wide[i]:
                found = pgmx_log_sum_u16(
                    states, <const uint16_t *>codes, <const float *>self._weight, 0, self.n_rows
                )
            elif self.cards[i] > PGMX_FEW:
                found = pgmx_log_sum_u8(states, <const uint8_t *>codes, <const float *>self._weight, 0, self.n_rows)
            else:
                found = pgmx_log_sum_few(
                    states, <int>self.cards[i], <const uint8_t *>codes, <const float *>self._weight, self.n_rows
                )
        return -0.5 * found / self.total

    def measure(
        self,
        const int64_t[:, ::1] pairs,       # in: (k, 2)
        const int64_t[::1] order,          # in: (2k,) sides by owner: e, of the first node of pair e; k + e, the second
        const int64_t[::1] where,          # in: (k + 1,) where the cells of each pair begin
        const double[::1] tables,          # in: observed shares, (s_i, s_j) a pair
        double[::1] gradients,             # out: of the loss in each cell
        float[:, ::1] sides=None,          # in/out: mean conditionals of all ordered pairs, (S, S)
        double[:, ::1] drift_at=None,      # in/out: (n, n) drift of the owner when its side was stored, -1 for never
    ):
        """Gradient of the loss in the tables of pairs, active or not; each pair once.

        With `sides`, conditionals that have not changed since they were measured for the same pair are not measured
        again.
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
                if not kept or self._states[i] == 0:
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
        const int64_t[::1] where,             # in: (k + 1,) where the cells of each begin, in the next three arrays
        double[::1] values,                   # in/out: parameters
        const double[::1] tables,             # in: observed shares
        const uint8_t[::1] masks,             # in: feature-wise, which cells are active; length 0 otherwise
        const double[::1] penalties,          # in: (k,)
        double tol,                           # infinity only measures
        double[::1] violations,               # out: of each block visited, before its step
    ):
        """Take a step in each visited block that violates its optimality condition by more than `tol`."""
        cdef Py_ssize_t at, e
        cdef size_t widest = int(np.asarray(self.cards).max())
        # ten arrays for a table and its nodes; two of them hold the look-up table, whose rows are 16 floats at least
        cdef size_t size = widest * widest + 2 * widest + PGMX_FEW * PGMX_FEW // 4
        cdef double *memory = <double *>malloc(10 * size * sizeof(double))
        if memory == NULL:
            raise MemoryError(f"{10 * size * sizeof(double)} bytes for the largest edge table cannot be had")
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
        if self._states[i] == 0:
            self._open(i)
        if self._states[j] == 0:
            self._open(j)
        with nogil:
            self._step(groups, &first, &second, slopes, 0.02 * max(violation, tol))
            self.shift(i, j, first.step, memory + 7 * size)
            self.shift(j, i, second.step, memory + 7 * size)
            for a in range(3):
                for b in range(groups[a].size):
                    groups[a].value[b] = groups[a].trial[b]
            self.n_steps += 1
        return violation

    cdef void _step(self, Group *groups, Side *first, Side *second, const double *slopes, double tol) noexcept nogil:
        # Minimise the upper bound; raise it until it covers its own step.
        cdef double factor = 1.05, needed, top_first, sum_first, top_second, sum_second
        cdef Py_ssize_t c, k, tries
        curvatures(first, &top_first, &sum_first)
        curvatures(second, &top_second, &sum_second)
        for tries in range(RAISES):
            # from here each time: small steps under a raised bound may not lead back from far away
            for c in range(3):
                for k in range(groups[c].size):
                    groups[c].trial[k] = groups[c].value[k]
            groups[0].curvature = factor * (top_first + top_second) + self.l2 + 1e-12
            groups[1].curvature = factor * sum_first + self.l2 + 1e-12
            groups[2].curvature = factor * sum_second + self.l2 + 1e-12
            minimise_bound(groups, first, second, slopes, self.l2, factor, tol, INNER)
            set_steps(
                &groups[0], &groups[1], &groups[2], groups[0].trial, groups[1].trial, groups[2].trial, first, second
            )
            needed = bound_factor(max(spread(first), spread(second)))
            if needed <= factor * 1.001:
                return
            # a bound that covered the step before would cover far shorter ones than it allows
            factor = min(needed, 2 * factor) if tries < RAISES - 4 else needed

    def rebuild(self, Py_ssize_t i, const int64_t[::1] neighbours, list steps):
        """Compute the conditionals of node i from its parameters anew.

        ``steps[k]`` is the table of the edge to ``neighbours[k]``, (s_i, s_j) with the states of node i in rows.
        """
        cdef Py_ssize_t k, j
        cdef const double[:, ::1] step
        cdef double kept = self._drift[i]
        if neighbours.shape[0] == 0:
            self._settle(i)
            self._states[i] = 0
            self._kept[1][i] = None
            return
        # what tables have in common in all states of a neighbour may cancel out: that is added up before floats see it
        means = [np.mean(table, axis=1) for table in steps]
        steps = [np.ascontiguousarray(table - mean[:, None]) for table, mean in zip(steps, means)]
        self._settle(i, np.sum(means, axis=0))
        self._open(i)
        cells = max(max(table.size for table in steps), PGMX_FEW * PGMX_FEW)
        cdef double[::1] scratch = np.empty(cells)
        for k in range(neighbours.shape[0]):
            j, step = neighbours[k], steps[k]
            self.shift(i, j, &step[0, 0], &scratch[0])
        self._drift[i] = kept


cdef inline void set_slopes(const Side *first, const Side *second, const double *table, double *slopes) noexcept nogil:
    # Gradients of the loss: of the table, then of the two nodes.
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

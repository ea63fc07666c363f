"""Gibbs sampling at several temperatures (parallel tempering), and the search for a most probable configuration by it.

Problem: sample p(x) proportional to exp(beta * S(x)), S the sum of tables of any arity, with one replica per inverse
temperature beta; or find the x of the largest S.
Algorithm: each replica is swept by systematic-scan Gibbs sampling. Neighbouring temperatures exchange configurations
by Metropolis' rule (parallel tempering). Two replicas of one temperature swap a cluster, a connected component of the
variables in which they differ. No table connects it to another component, so that the sum of both scores is unchanged
and the swap is always accepted. In a search a replica's copy climbs, one variable at a time, to a local maximum. Every
cluster in which this differs from the best configuration is copied if it scores more. The result is the best of all
combinations of the two.
Cost of a sweep: one addition per state and incident table, one exponential per state; at temperature 1 a
multiplication per state and table, and no exponential.
Thread-safety: an object serves one thread; it shares only its inputs, which it reads.
References: Geman & Geman (1984), IEEE Transactions on Pattern Analysis and Machine Intelligence 6, 721-741; Hukushima
& Nemoto (1996), Journal of the Physical Society of Japan 65, 1604-1608 (exchange); Houdayer (2001), European Physical
Journal B 22, 479-484 (clusters); Tinos, Whitley & Chicano (2015), Partition crossover for pseudo-Boolean optimization,
FOGA.
"""

from libc.math cimport exp, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from _conditionals cimport Network, row_of
from _rng cimport next_word, uniform

# Largest number of sweeps of a climb: rounding could keep it on a plateau forever.
cdef enum:
    MOST_CLIMBS = 1000

# A product of scaled rows below this is recomputed from logarithms.
cdef double TINY = 1e-280


cdef class Replicas:
    """Configurations of one network, each at its own temperature.

    Parameters
    ----------
    node_offsets, node_logs, node_scaled, pointer, first_row, members, member, strides, logs, scaled
        Tables of the network in the layout of the kernel of Gibbs sampling; all finite.
    free : int64 (variables to draw,)
        Variables in the order of a sweep.
    states : int32 (replicas, n)
        Initial states of the replicas, changed in place.
    word : uint64 (1,)
        State of the random generator, changed in place.
    """

    cdef readonly Py_ssize_t n, n_replicas
    cdef Network net
    cdef object _arrays, _scores
    cdef const int64_t[::1] free
    cdef int32_t[:, ::1] states
    cdef uint64_t[::1] word
    cdef double[::1] scores, weights
    cdef int32_t[::1] scratch
    cdef int64_t[::1] queue
    cdef int64_t[::1] mark
    cdef int64_t stamp

    def __cinit__(
        self,
        const int64_t[::1] node_offsets,
        const double[::1] node_logs,
        const double[::1] node_scaled,
        const int64_t[::1] pointer,
        const int64_t[::1] first_row,
        const int64_t[::1] members,
        const int64_t[::1] member,
        const int64_t[::1] strides,
        const double[::1] logs,
        const double[::1] scaled,
        const int64_t[::1] free,
        int32_t[:, ::1] states,
        uint64_t[::1] word,
    ):
        cdef Py_ssize_t r
        self._arrays = (node_offsets, node_logs, node_scaled, pointer, first_row, members, member, strides)
        self._arrays += (logs, scaled)
        self.net.node_offsets, self.net.node_logs = &node_offsets[0], &node_logs[0]
        self.net.node_scaled = &node_scaled[0]
        self.net.pointer, self.net.members = &pointer[0], &members[0]
        if first_row.shape[0]:
            self.net.first_row, self.net.logs, self.net.scaled = &first_row[0], &logs[0], &scaled[0]
        if member.shape[0]:
            self.net.member, self.net.strides = &member[0], &strides[0]
        self.free, self.states, self.word = free, states, word
        self.n_replicas, self.n = states.shape[0], states.shape[1]
        self._scores = np.empty(self.n_replicas)
        self.scores = self._scores
        self.weights = np.empty(int(np.diff(node_offsets).max()))
        self.scratch = np.empty(self.n, dtype=np.int32)
        self.queue, self.mark = np.empty(self.n, dtype=np.int64), np.zeros(self.n, dtype=np.int64)
        self.stamp = 0
        for r in range(self.n_replicas):
            self.scores[r] = self.score(&self.states[r, 0])

    @property
    def values(self):
        """The score of each replica, (replicas,): a view, up to rounding."""
        return self._scores

    cdef double score(self, const int32_t *state) noexcept nogil:
        # Each table is found from its first member, the variable of smallest index.
        cdef Py_ssize_t v, i, k
        cdef double total = 0.0
        cdef bint first
        for v in range(self.n):
            total += self.net.node_logs[self.net.node_offsets[v] + state[v]]
            for i in range(self.net.pointer[v], self.net.pointer[v + 1]):
                first = True
                for k in range(self.net.members[i], self.net.members[i + 1]):
                    first &= v < self.net.member[k]
                if first:
                    total += self.net.logs[row_of(&self.net, i, state) + state[v]]
        return total

    cdef inline Py_ssize_t add_rows(self, Py_ssize_t v, const int32_t *state, double *field) noexcept nogil:
        # The score of each state of a variable given the others, up to a constant; returns their number.
        cdef Py_ssize_t a, i, first = self.net.node_offsets[v], r = self.net.node_offsets[v + 1] - first
        cdef const double *row
        for a in range(r):
            field[a] = self.net.node_logs[first + a]
        for i in range(self.net.pointer[v], self.net.pointer[v + 1]):
            row = self.net.logs + row_of(&self.net, i, state)
            for a in range(r):
                field[a] += row[a]
        return r

    def measure_spreads(self):
        """Return the standard deviation of each variable's score over its states, (n,), on average over replicas."""
        cdef Py_ssize_t r, f, v, a, n_states
        cdef double mean, total
        cdef double[::1] spreads = np.zeros(self.n)
        with nogil:
            for r in range(self.n_replicas):
                for f in range(self.free.shape[0]):
                    v = self.free[f]
                    n_states = self.add_rows(v, &self.states[r, 0], &self.weights[0])
                    mean, total = 0.0, 0.0
                    for a in range(n_states):
                        mean += self.weights[a] / n_states
                    for a in range(n_states):
                        total += (self.weights[a] - mean) ** 2 / n_states
                    spreads[v] += sqrt(total) / self.n_replicas
        return np.asarray(spreads)

    cdef inline bint multiply_rows(self, Py_ssize_t v, const int32_t *state, double *weights) noexcept nogil:
        # Weights of the states at temperature 1; False if the weight of the present state is too small a number.
        cdef Py_ssize_t a, i, first = self.net.node_offsets[v], r = self.net.node_offsets[v + 1] - first
        cdef const double *row
        for a in range(r):
            weights[a] = self.net.node_scaled[first + a]
        for i in range(self.net.pointer[v], self.net.pointer[v + 1]):
            row = self.net.scaled + row_of(&self.net, i, state)
            for a in range(r):
                weights[a] *= row[a]
        return weights[state[v]] >= TINY

    cdef double sweep_one(self, int32_t *state, double beta, double *sums) noexcept nogil:
        # Draws every free variable once and adds its conditional to `sums`, if any; returns the increase of the score.
        cdef Py_ssize_t f, v, a, r
        cdef int32_t code
        cdef double *weights = &self.weights[0]
        cdef double top, before, total, threshold, gain = 0.0
        cdef bint is_product
        for f in range(self.free.shape[0]):
            v = self.free[f]
            r = self.net.node_offsets[v + 1] - self.net.node_offsets[v]
            total = 0.0
            is_product = beta == 1.0 and self.multiply_rows(v, state, weights)
            if is_product:
                before = weights[state[v]]
                for a in range(r):
                    total += weights[a]
            else:
                self.add_rows(v, state, weights)
                before = weights[state[v]]
                top = weights[0]
                for a in range(1, r):
                    top = max(top, weights[a])
                for a in range(r):
                    weights[a] = 1.0 if weights[a] == top else exp(beta * (weights[a] - top))
                    total += weights[a]
            threshold = uniform(&self.word[0]) * total
            if sums != NULL:
                for a in range(r):
                    sums[self.net.node_offsets[v] + a] += weights[a] / total
            total, code = 0.0, 0
            for a in range(r - 1):
                total += weights[a]
                code += total <= threshold
            while weights[code] == 0.0:    # the sum rounded up to the threshold: back to the last possible state
                code -= 1
            if code != state[v]:
                if is_product:
                    gain += log(weights[code] / before)
                else:
                    self.add_rows(v, state, weights)
                    gain += weights[code] - before
                state[v] = code
        return gain

    def sweep(self, const double[::1] betas, double[:, ::1] sums=None, Py_ssize_t n_sweeps=1):
        """Sweep each replica once at its inverse temperature, `betas` (replicas,).

        The first replicas are swept `n_sweeps` times, and the conditionals from which their states are drawn are added
        to `sums` (first replicas, cells).
        """
        cdef Py_ssize_t r, s, n_sums = 0 if sums is None else sums.shape[0]
        cdef double *sum_of
        with nogil:
            for r in range(self.n_replicas):
                sum_of = &sums[r, 0] if r < n_sums else NULL
                s = n_sweeps if r < n_sums else 1
                while s > 0:
                    self.scores[r] += self.sweep_one(&self.states[r, 0], betas[r], sum_of)
                    s -= 1

    def exchange(self, const double[::1] betas, Py_ssize_t n_copies):
        """Exchange replicas r and r + n_copies by Metropolis' rule, from the largest r; return their number."""
        cdef Py_ssize_t r, v, n_exchanges = 0
        cdef double log_odds
        cdef int32_t code
        with nogil:
            for r in range(self.n_replicas - n_copies - 1, -1, -1):
                log_odds = (betas[r] - betas[r + n_copies]) * (self.scores[r + n_copies] - self.scores[r])
                if log_odds < 0.0 and uniform(&self.word[0]) >= exp(log_odds):
                    continue
                n_exchanges += 1
                self.scores[r], self.scores[r + n_copies] = self.scores[r + n_copies], self.scores[r]
                for v in range(self.n):
                    code = self.states[r, v]
                    self.states[r, v], self.states[r + n_copies, v] = self.states[r + n_copies, v], code
        return n_exchanges

    cdef Py_ssize_t gather(
        self, Py_ssize_t first, const int32_t *ours, const int32_t *others
    ) noexcept nogil:
        # Queues the connected component, containing `first`, of the variables in which two configurations differ.
        cdef Py_ssize_t done = 0, n_queue = 1, v, i, k, u
        self.queue[0], self.mark[first] = first, self.stamp
        while done < n_queue:
            v = self.queue[done]
            done += 1
            for i in range(self.net.pointer[v], self.net.pointer[v + 1]):
                for k in range(self.net.members[i], self.net.members[i + 1]):
                    u = self.net.member[k]
                    if self.mark[u] != self.stamp and ours[u] != others[u]:
                        self.mark[u] = self.stamp
                        self.queue[n_queue] = u
                        n_queue += 1
        return n_queue

    cdef inline double assign(self, Py_ssize_t v, int32_t code, int32_t *state) noexcept nogil:
        # Sets a variable to a state; returns the increase of the score.
        cdef double gain
        self.add_rows(v, state, &self.weights[0])
        gain = self.weights[code] - self.weights[state[v]]
        state[v] = code
        return gain

    def swap_clusters(self):
        """Swap one cluster, drawn by its size, between replicas 2k and 2k + 1 for every k."""
        cdef Py_ssize_t k, f, v, n_differ, q
        cdef int32_t code
        cdef int32_t *ours
        cdef int32_t *others
        cdef double gain
        with nogil:
            for k in range(self.n_replicas // 2):
                ours, others = &self.states[2 * k, 0], &self.states[2 * k + 1, 0]
                n_differ = 0
                for f in range(self.free.shape[0]):
                    v = self.free[f]
                    if ours[v] != others[v]:
                        self.queue[n_differ] = v
                        n_differ += 1
                if n_differ == 0:
                    continue
                v = self.queue[next_word(&self.word[0]) % <uint64_t>n_differ]
                self.stamp += 1
                gain = 0.0
                for q in range(self.gather(v, ours, others)):
                    v = self.queue[q]
                    code = ours[v]
                    gain += self.assign(v, others[v], ours)
                    others[v] = code
                self.scores[2 * k] += gain
                self.scores[2 * k + 1] -= gain

    cdef double climb(self, int32_t *state) noexcept nogil:
        # Sets one variable after the other to its best state until none improves.
        cdef Py_ssize_t f, v, a, r, best, _
        cdef double *field = &self.weights[0]
        cdef double gain = 0.0
        cdef bint moved
        for _ in range(MOST_CLIMBS):
            moved = False
            for f in range(self.free.shape[0]):
                v = self.free[f]
                r = self.add_rows(v, state, field)
                best = state[v]
                for a in range(r):
                    if field[a] > field[best]:
                        best = a
                if best != state[v]:
                    gain += field[best] - field[state[v]]
                    state[v], moved = <int32_t>best, True
            if not moved:
                break
        return gain

    def improve(self, int32_t[::1] best, Py_ssize_t r):
        """Copy clusters of the local maximum above replica r to `best` (n,) if its score rises; return the increase."""
        cdef double gain = 0.0
        with nogil:
            self.scratch[:] = self.states[r]
            self.climb(&self.scratch[0])
            gain = self.mix(&best[0])
            gain += self.climb(&best[0])
        return gain

    cdef double mix(self, int32_t *best) noexcept nogil:
        cdef Py_ssize_t f, q, v, n_queue
        cdef double step, gain = 0.0
        cdef int32_t code
        self.stamp += 1
        for f in range(self.free.shape[0]):
            v = self.free[f]
            if self.mark[v] == self.stamp or best[v] == self.scratch[v]:
                continue
            n_queue = self.gather(v, best, &self.scratch[0])
            step = 0.0
            for q in range(n_queue):
                v = self.queue[q]
                code = best[v]
                step += self.assign(v, self.scratch[v], best)
                self.scratch[v] = code
            if step > 0.0:
                gain += step
                continue
            for q in range(n_queue):
                best[self.queue[q]] = self.scratch[self.queue[q]]
        return gain

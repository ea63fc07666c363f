"""Conditionals of a pairwise Markov network over rows in memory: passes for block descent on its pseudolikelihood.

Problem: see _block_descent.pyx. Algorithm: the conditional probabilities of every node with an edge are stored for all
rows in float; one pass over the rows of one node gives the mean conditional of its states given a neighbour's state. A
step multiplies the conditionals of both ends by a table looked up by the neighbour's state. Sums over rows are integer
multiples of a unit, see _conditionals.h, so that the sums of partitions add up to the sums of the table, bit by bit.
Cost: a mean needs about s_i s_j N / 16 masked additions with AVX-512, a step about twice the cost of its two means.
Thread-safety: `measure` only reads and may run in threads; everything else changes the object.
"""

from libc.math cimport exp
from libc.stdint cimport int64_t, uint8_t, uint16_t

import numpy as np

from _conditionals cimport (
    PGMX_FEW, PGMX_UNITS, pgmx_log_sum_few, pgmx_log_sum_u16, pgmx_log_sum_u16_double, pgmx_log_sum_u8,
    pgmx_log_sum_u8_double,
    pgmx_moments_few, pgmx_moments_u16, pgmx_moments_u16_double, pgmx_moments_u8, pgmx_moments_u8_double,
    pgmx_shift_few, pgmx_shift_u16, pgmx_shift_u16_double, pgmx_shift_u8, pgmx_shift_u8_double,
)
from _simd cimport select_simd_level
from pgmx._ext._block_descent cimport BlockDescent

cdef extern from "_conditionals.h" nogil:
    int pgmx_conditionals_level

pgmx_conditionals_level = select_simd_level()


cdef class Conditionals(BlockDescent):
    """Parameters, conditionals and active edges of one network on one table.

    Parameters
    ----------
    codes : list of uint8 or uint16 arrays (N,)
        States of each variable; uint8 if a variable has at most 256 states.
    cardinalities : int64 (n,)
    margins : float64 (sum of states,)
        Weighted share of each state, variable after variable.
    weights : float32 (float64 in double precision) (N,) or None
        Row weights, positive.
    l2 : float
    node_penalties : float64 (n,)
        Penalty of the norm of each node's parameters, zero for none. The caller shares the array and may change it.
    is_double : bool, default=False
        Whether conditionals are stored in double precision, in twice the memory, by passes without vectors.
    heaviest : float, default=None
        A power of two that no weight exceeds, the same for all partitions of a table; by default the smallest one.
    """

    cdef readonly Py_ssize_t n_rows
    cdef list _kept
    cdef object _weights
    cdef void *_weight
    cdef bint _is_double
    cdef object _real
    cdef double unit, one       # unit of the stored values, in weights of rows; a weight of one in units
    cdef double[::1] mass       # of the rows of each state, variable after variable
    cdef double all_mass        # of all rows
    cdef size_t[::1] _codes, _states
    cdef uint8_t[::1] _wide

    def __init__(
        self, list codes, cardinalities, margins, weights, double l2, node_penalties, bint is_double=False,
        heaviest=None
    ):
        cdef Py_ssize_t n = len(codes)
        cdef double total
        self.n_rows = len(codes[0])
        self._is_double, self._real = is_double, np.float64 if is_double else np.float32
        if heaviest is None:
            heaviest = 1.0 if weights is None else 2.0 ** np.ceil(np.log2(weights.max()))
        self.unit = 1.0 if is_double else heaviest / PGMX_UNITS
        self.one = 1 / self.unit
        total = float(self.n_rows) if weights is None else float(weights.sum(dtype=np.float64))
        self._weights = None if weights is None else np.multiply(weights, self.one, dtype=self._real)
        self._weight = NULL if weights is None else <void *><size_t>self._weights.ctypes.data
        self._kept = [list(codes), [None] * n, [None] * n]
        self._codes = np.array([column.ctypes.data for column in codes], dtype=np.uintp)
        self._states = np.zeros(n, dtype=np.uintp)
        self._wide = np.array([column.dtype != np.uint8 for column in codes], dtype=np.uint8)
        self.set_up(cardinalities, margins, total, l2, node_penalties)
        self.mass = np.rint(np.asarray(margins) * total) if weights is None else np.zeros(self.offset[n])
        if weights is not None and not is_double:
            self.weigh_states()
        self.all_mass = np.asarray(self.mass)[:self.cards[0]].sum()

    cdef int weigh_states(self) except -1:
        # `mass` in the layout of `rest` in `sum_side`, for variables with at most PGMX_FEW states
        cdef const float *weights[1]
        cdef Py_ssize_t i, b
        cdef double *mass
        weights[0] = <const float *>self._weight
        whole = np.rint(self._weights).sum(dtype=np.float64)
        for i in range(self.n):
            mass = &self.mass[self.offset[i]]
            mass[self.cards[i] - 1] = whole
            if self.cards[i] <= PGMX_FEW:
                pgmx_moments_few(
                    weights, 1, <const uint8_t *>self._codes[i], <int>(self.cards[i] - 1), self.n_rows, mass,
                    self.cards[i]
                )
                for b in range(self.cards[i] - 1):
                    mass[self.cards[i] - 1] -= mass[b]
        np.asarray(self.mass)[:] *= self.unit
        return 0

    def conditionals(self, Py_ssize_t i):
        """Return weight times probability of each state in each row, a copy (s_i, N); None if it is constant."""
        return np.multiply(self._kept[1][i], self.unit, dtype=self._real) if self.by_row[i] else None

    def set_conditionals(self, Py_ssize_t i, states, totals):
        """Restore earlier conditionals of node i, (s_i, N) or None if constant, and their sums."""
        if states is not None:
            if not self.by_row[i]:
                self.open(i)
            np.multiply(states, self.one, out=self._kept[1][i])
        np.asarray(self.total_of)[self.offset[i]:self.offset[i + 1]] = totals

    def open_at(self, Py_ssize_t i, shares):
        """Store the conditionals of node i row by row, first with the same probabilities (s_i,) in all rows."""
        start = np.asarray(shares).astype(self._real)
        states = self._kept[1][i]
        if states is None:
            states = np.empty((len(start), self.n_rows), dtype=self._real)
        np.multiply(start[:, None], self._real(self.one) if self._weights is None else self._weights, out=states)
        address = states.ctypes.data + states.itemsize * self.n_rows * np.arange(len(start), dtype=np.uintp)
        self._kept[1][i] = states
        self._kept[2][i] = address
        self._states[i] = <size_t>address.ctypes.data
        self.by_row[i] = 1

    def close_at(self, Py_ssize_t i):
        """Store one conditional of node i for all rows."""
        self.close(i)

    cdef int open(self, Py_ssize_t i) except -1:
        self.open_at(i, np.asarray(self.total_of)[self.offset[i]:self.offset[i + 1]] / self.total)
        return 0

    cdef int close(self, Py_ssize_t i) except -1:
        self._states[i] = self.by_row[i] = 0
        self._kept[1][i] = None
        return 0

    def renew(self, Py_ssize_t i, const int64_t[::1] neighbours, list steps, double slack):
        """Compute the conditionals of node i again with `rebuild`; its drift grows by the change plus `slack`."""
        cdef bint was_open = self.by_row[i]
        before = self.conditionals(i)
        self.rebuild(i, neighbours, steps)
        if was_open and self.by_row[i]:
            self._drift[i] += self.distance(i, before) / self.total + slack
        elif was_open or self.by_row[i]:
            self._drift[i] += np.sqrt(2)

    def distance(self, Py_ssize_t i, before):
        """Return the sum over the rows of the Euclidean distances of the conditionals of node i to others (s_i, N)."""
        rows = np.sqrt(((self._kept[1][i] - before * self._real(self.one)) ** 2).sum(axis=0, dtype=np.float64))
        return float((rows if self._is_double else np.ceil(rows)).sum()) * self.unit

    # ---- passes over the rows ----

    cdef void side(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil:
        cdef Py_ssize_t k
        cdef double scale = 1 / self.total
        if not self.by_row[i]:
            self.multiply(i, j, out)
            return
        self.sum_side(i, j, out)
        for k in range(self.cards[i] * self.cards[j]):
            out[k] = max(out[k] * scale, 0)

    cdef void sum_side(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil:
        # out[a, b] = sum over the rows of w p(x_i = a | rest) [x_j = b], (s_i, s_j), for a node stored row by row
        cdef Py_ssize_t a, b, s = self.cards[i], t = self.cards[j], k
        cdef const double *sums = &self.total_of[self.offset[i]]
        cdef const double *mass = &self.mass[self.offset[j]]
        cdef double rest
        cdef const float **states = <const float **>self._states[i]
        cdef bint is_few = s <= PGMX_FEW and t <= PGMX_FEW and not self._is_double
        for k in range(s * t):
            out[k] = 0
        if self._is_double and self._wide[j]:
            pgmx_moments_u16_double(<const double **>states, s, <const uint16_t *>self._codes[j], self.n_rows, out, t)
        elif self._is_double:
            pgmx_moments_u8_double(<const double **>states, s, <const uint8_t *>self._codes[j], self.n_rows, out, t)
        elif self._wide[j]:
            pgmx_moments_u16(states, s, <const uint16_t *>self._codes[j], self.n_rows, out, t)
        elif not is_few:
            pgmx_moments_u8(states, s, <const uint8_t *>self._codes[j], self.n_rows, out, t)
        else:
            pgmx_moments_few(
                states, <int>(s - 1), <const uint8_t *>self._codes[j], <int>(t - 1), self.n_rows, out, t
            )
        for k in range(s * t):
            out[k] *= self.unit
        if is_few:  # the last state of each follows from the sums over the other states
            for a in range(s - 1):
                rest = sums[a]
                for b in range(t - 1):
                    rest -= out[a * t + b]
                out[a * t + t - 1] = rest
            for b in range(t):
                rest = mass[b]
                for a in range(s - 1):
                    rest -= out[a * t + b]
                out[(s - 1) * t + b] = rest

    cdef double shift(self, Py_ssize_t i, Py_ssize_t j, const double *step, void *scratch) noexcept nogil:
        cdef Py_ssize_t a, b, s = self.cards[i], t = self.cards[j], stride
        cdef bint few = s <= PGMX_FEW and t <= PGMX_FEW and not self._is_double
        cdef double top, factor, moved = 0
        cdef double *sums = &self.total_of[self.offset[i]]
        cdef double *wide_table = <double *>scratch
        cdef float *table = <float *>scratch
        cdef void *states = <void *>self._states[i]
        cdef void *codes = <void *>self._codes[j]
        cdef const float *weights = <const float *>self._weight
        cdef const double *wide_weights = <const double *>self._weight
        cdef float one = <float>self.one
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
                <double **>states, s, wide_table, t, <const uint16_t *>codes, wide_weights, self.one, 0, self.n_rows,
                sums, &moved
            )
        elif self._is_double:
            pgmx_shift_u8_double(
                <double **>states, s, wide_table, t, <const uint8_t *>codes, wide_weights, self.one, 0, self.n_rows,
                sums, &moved
            )
        elif few:
            pgmx_shift_few(
                <float **>states, <int>s, table, <const uint8_t *>codes, weights, one, self.n_rows, sums, &moved
            )
        elif self._wide[j]:
            pgmx_shift_u16(
                <float **>states, s, table, t, <const uint16_t *>codes, weights, one, 0, self.n_rows, sums, &moved
            )
        else:
            pgmx_shift_u8(
                <float **>states, s, table, t, <const uint8_t *>codes, weights, one, 0, self.n_rows, sums, &moved
            )
        if self._is_double:
            return moved
        sums[s - 1] = self.all_mass
        for a in range(s - 1):
            sums[a] *= self.unit
            sums[s - 1] -= sums[a]
        return (moved + 0.5 * self.n_rows) * self.unit  # an upper bound in spite of the rounding of each row

    def losses(self, nodes):
        """Return the terms of some nodes in the loss, (1 / 2N) sum of -w log p(x_i | rest)."""
        return np.array([
            -0.5 * self.sum_logs(i) / self.total if self.by_row[i] else self.loss_alone(i) for i in nodes
        ])

    def sum_logs(self, Py_ssize_t i):
        """Return the sum of w log p(x_i | rest) over the rows, of a node stored row by row."""
        cdef const float **states = <const float **>self._states[i]
        cdef const double **wide_states = <const double **>self._states[i]
        cdef const float *weights = <const float *>self._weight
        cdef const double *wide_weights = <const double *>self._weight
        cdef double found = 0
        cdef float one = <float>self.one
        cdef void *codes = <void *>self._codes[i]
        with nogil:
            if self._is_double and self._wide[i]:
                found = pgmx_log_sum_u16_double(
                    wide_states, <const uint16_t *>codes, wide_weights, self.one, 0, self.n_rows
                )
            elif self._is_double:
                found = pgmx_log_sum_u8_double(
                    wide_states, <const uint8_t *>codes, wide_weights, self.one, 0, self.n_rows
                )
            elif self._wide[i]:
                found = pgmx_log_sum_u16(states, <const uint16_t *>codes, weights, one, 0, self.n_rows)
            elif self.cards[i] > PGMX_FEW:
                found = pgmx_log_sum_u8(states, <const uint8_t *>codes, weights, one, 0, self.n_rows)
            else:
                found = pgmx_log_sum_few(
                    states, <int>self.cards[i], <const uint8_t *>codes, weights, one, self.n_rows
                )
        return found * self.unit

    # ---- for partitions, whose sums are added ----

    def sum_sides(self, const int64_t[:, ::1] sides):
        """Return the sums over the rows of w p(x_i = a | rest) [x_j = b], a table (s_i, s_j) for each row (i, j)."""
        cdef Py_ssize_t e, at = 0
        cards = np.asarray(self.cards)
        sums = np.empty(int(cards[np.asarray(sides)].prod(axis=1).sum()))
        cdef double[::1] out = sums
        with nogil:
            for e in range(sides.shape[0]):
                self.sum_side(sides[e, 0], sides[e, 1], &out[at])
                at += self.cards[sides[e, 0]] * self.cards[sides[e, 1]]
        return sums

    def move(self, Py_ssize_t i, Py_ssize_t j, const double[:, ::1] step):
        """Move the logits of node i by step[a, b] in the rows with state b of node j; return the result of `shift`."""
        cdef double[::1] scratch = np.empty(step.shape[0] * step.shape[1] + PGMX_FEW * PGMX_FEW)
        cdef double moved
        with nogil:
            moved = self.shift(i, j, &step[0, 0], &scratch[0])
        return moved

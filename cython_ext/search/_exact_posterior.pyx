"""Sums over all structures of a Bayesian network of at most 30 variables, and exact samples of structures.

Problem: each set of candidate parents of variable v has a weight, and A_v(U) is the log sum of the weights of the sets
within U, which must hold the required parents of v. Wanted are the sum of the weights of all DAGs, with or without a
factor for the number of topological orders, the probability of each arc, and independent samples.

Orders (`OrderSums`). With F(U) the log sum over the orders of U, and B(U) over the orders of the variables outside U,

    F(U) = ln sum over v in U of exp(F(U - v) + A_v(U - v)),   B(U) = ln sum over v outside U of exp(A_v(U) + B(U + v)),

the variables before v are U with probability exp(F(U) + A_v(U) + B(U + v) - F(V)).

DAGs (`DagSums`). G(U) is the weight of all ways to add the variables outside U, acyclically, with parents anywhere:

    G(V) = 1,   G(U) = sum over nonempty T outside U of (-1)^(|T| + 1) prod over v in T of exp(A_v(U)) G(U + T).

The reverse mode of this recursion gives the probability D_v(U) that the parents of v are summed within U; then in both
cases P(u -> v) = sum over U of D_v(U) (1 - exp(A_v(U - u) - A_v(U))). G has a range of e^100000, so it is divided by
exp(m(U)), m(U) = max over v of A_v(U) + m(U + v): then it lies between 1 and n!. The exponent of a term falls as T
grows, so that supersets of a T below CUT are skipped without error. D_v(U) sums to 1 over U, which bounds what was
cancelled.

A sample of DAGs adds layers: T is the next layer after the layer R and U in all with a probability proportional to

    sum over S holding T of (-1)^(|S| - |T|) prod over S of exp(A_v(U)) G(U + S)
        times prod over T of (1 - exp(A_v(U - R) - A_v(U))).

Cost: orders 2 n 2^n exponentials; DAGs 2 (3^n) terms at most; a layer of a sample 2^r r for r variables outside U,
unless its table is kept. Memory: two (orders) or three (DAGs) arrays of 2^n, and one as large as the tables of sums.
Thread-safety: an object serves one thread at a time; all passes release the GIL.
References: Koivisto (2006), Advances in exact Bayesian structure discovery in Bayesian networks, UAI (orders); Tian and
He (2009), Computing posterior probabilities of structural features in Bayesian networks, UAI (inclusion-exclusion over
sources); Talvitie, Vuoksenmaa and Koivisto (2019), Exact sampling of directed acyclic graphs from modular
distributions, UAI.
"""

cimport cython
from libc.math cimport INFINITY, exp, expm1, fabs, log
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from _rng cimport next_word, uniform
from _simd cimport pgmx_lowest_bit

cdef enum:
    MOST_VARIABLES = 30
    LOW = 8                             # subsets that share the other bits have consecutive numbers
    SMALLEST_KEPT = 8                   # tables of fewer variables are made faster than found

cdef double CUT = -46.0                 # terms below e^-46 of their sum are left out
cdef double LOST = 37.0                 # a term that is smaller by more than e^37 does not change a sum of doubles
cdef double NEGLIGIBLE = 1e-18


cdef class SubsetSums:
    """The log sums A_v(U) of n variables.

    Parameters
    ----------
    first : int64 (n + 1,)
        Offset of the table of each variable.
    sums : float64
        The tables, 2^K entries for K candidates.
    candidates, required : uint32 (n,)
        Candidates and required parents of each variable, bit u for variable u.
    """

    cdef readonly Py_ssize_t n
    cdef readonly double log_total          # log sum of the weights
    cdef readonly double[::1] reached       # D: probability of each set of candidates before its variable
    cdef uint32_t full, high
    cdef int64_t[::1] first
    cdef double[::1] sums
    cdef uint32_t[::1] candidates, required
    cdef uint32_t[:, ::1] low_part          # candidates of a variable among the variables of the lowest bits
    cdef uint32_t[::1] high_part
    cdef double[32] log_weights             # A_v(U) of the variables outside U
    cdef int[32] ids                        # these variables

    def __cinit__(self, int64_t[::1] first, double[::1] sums, uint32_t[::1] candidates, uint32_t[::1] required):
        cdef Py_ssize_t v
        cdef uint32_t low
        self.n = candidates.shape[0]
        if not 1 <= self.n <= MOST_VARIABLES:
            raise ValueError(f"sums over subsets need 1 to {MOST_VARIABLES} variables, got {self.n}")
        self.first, self.sums, self.candidates, self.required = first, sums, candidates, required
        self.full = (<uint32_t>1 << self.n) - 1
        self.low_part = np.zeros((self.n, 1 << LOW), dtype=np.uint32)
        self.high_part = np.zeros(self.n, dtype=np.uint32)
        for v in range(self.n):
            for low in range(1 << LOW):
                self.low_part[v, low] = self.compress(v, low & self.full)
        self.high = 0

    cdef uint32_t compress(self, Py_ssize_t v, uint32_t subset) noexcept nogil:
        # The candidates of v in a subset, bit b for candidate b.
        cdef uint32_t rest = self.candidates[v], at = 1, out = 0
        while rest:
            if subset & rest & (~rest + 1):
                out |= at
            at <<= 1
            rest &= rest - 1
        return out

    cdef inline int64_t place(self, Py_ssize_t v, uint32_t subset) noexcept nogil:
        # Position of A_v(subset); v itself may be in the subset.
        cdef Py_ssize_t w
        if subset >> LOW != self.high:
            self.high = subset >> LOW
            for w in range(self.n):
                self.high_part[w] = self.compress(w, self.high << LOW)
        return self.first[v] + (self.high_part[v] | self.low_part[v, subset & ((1 << LOW) - 1)])

    cdef inline double log_weight(self, Py_ssize_t v, uint32_t subset) noexcept nogil:
        if self.required[v] & ~subset:
            return -INFINITY
        return self.sums[self.place(v, subset)]

    cdef Py_ssize_t list_outside(self, uint32_t subset) noexcept nogil:
        # Fills `ids` and `log_weights` of the variables outside a subset, ascending; returns their number.
        cdef uint32_t rest = self.full & ~subset
        cdef Py_ssize_t r = 0, v
        while rest:
            v = pgmx_lowest_bit(rest)
            rest &= rest - 1
            self.ids[r] = <int>v
            self.log_weights[r] = self.log_weight(v, subset)
            r += 1
        return r

    def arc_probabilities(self):
        """Return ``P[tail, head]`` of the candidates and required parents, from the probabilities `reached`."""
        cdef double[:, ::1] probability = np.zeros((self.n, self.n))
        cdef Py_ssize_t v, b, size, k
        cdef int64_t m, rest
        cdef int[::1] names = np.zeros(32, dtype=np.int32)
        cdef double[::1] total = np.zeros(32)
        cdef const double *a
        cdef const double *d
        for v in range(self.n):
            size = self.first[v + 1] - self.first[v]
            k = 0
            for b in range(self.n):
                if self.candidates[v] >> b & 1:
                    names[k] = <int>b
                    total[k] = 0.0
                    k += 1
                if self.required[v] >> b & 1:
                    probability[b, v] = 1.0
            a, d = &self.sums[self.first[v]], &self.reached[self.first[v]]
            with nogil:
                for m in range(size):
                    if fabs(d[m]) < NEGLIGIBLE:
                        continue
                    rest = m
                    while rest:
                        b = pgmx_lowest_bit(rest)
                        rest &= rest - 1
                        total[b] -= d[m] * expm1(a[m ^ (<int64_t>1 << b)] - a[m])
            for b in range(k):
                probability[names[b], v] = min(max(total[b], 0.0), 1.0)
        return np.asarray(probability)

    def law_error(self) -> float:
        """Return the largest difference from 1 of the sum of the probabilities of the sets before a variable."""
        cdef Py_ssize_t v
        cdef int64_t i
        cdef double total, worst = 0.0
        for v in range(self.n):
            total = 0.0
            for i in range(self.first[v], self.first[v + 1]):
                total += self.reached[i]
            worst = max(worst, fabs(total - 1.0))
        return worst

    # ---- samples ----

    cdef uint32_t draw_parents(
        self, Py_ssize_t v, uint32_t before, uint32_t layer, const uint32_t *sets, const double *weights,
        Py_ssize_t n_sets, uint64_t *state
    ) noexcept nogil:
        # A set of candidates within `before`, with a parent in `layer` unless that is empty.
        cdef uint32_t within = <uint32_t>(self.place(v, before) - self.first[v]), among, best = 0
        cdef double top = self.sums[self.place(v, before)], mass = 1.0, x
        cdef Py_ssize_t i
        cdef bint met = layer == 0 or (layer & self.required[v]) != 0
        among = <uint32_t>(self.place(v, layer) - self.first[v])
        if not met:
            mass = -expm1(self.log_weight(v, before & ~layer) - top)
        x = uniform(state) * mass
        for i in range(n_sets):
            if sets[i] & ~within or not (met or sets[i] & among):
                continue
            best = sets[i]
            x -= exp(weights[i] - top)
            if x < 0.0:
                break
        return best


cdef inline uint64_t start_state(uint64_t seed, uint64_t number) noexcept nogil:
    # Streams of different numbers start at unrelated states.
    cdef uint64_t state = seed
    state = next_word(&state) ^ number
    return next_word(&state)


@cython.final
cdef class OrderSums(SubsetSums):
    """Sums over the orders of the variables; `advance` is called until it returns False."""

    cdef double[::1] before                 # F
    cdef double[::1] after                  # B
    cdef uint32_t at
    cdef bint is_backward

    def __init__(self, *tables):
        self.before = np.empty(<Py_ssize_t>self.full + 1)
        self.after = np.empty(<Py_ssize_t>self.full + 1)
        self.reached = np.zeros(self.sums.shape[0])
        self.before[0], self.after[self.full], self.at, self.is_backward = 0.0, 0.0, 1, False

    def advance(self, Py_ssize_t n_subsets=1 << 16) -> bool:
        """Compute the sums of some more subsets; return whether any are left."""
        cdef Py_ssize_t _
        with nogil:
            for _ in range(n_subsets):
                if not self.is_backward:
                    self.sum_before(self.at)
                    if self.at == self.full:
                        self.log_total, self.is_backward = self.before[self.full], True
                    else:
                        self.at += 1
                elif self.log_total == -INFINITY or self.at == 0:
                    self.after[0] = self.log_total
                    with gil:
                        return False
                else:
                    self.at -= 1
                    self.sum_after(self.at)
        return True

    cdef void sum_before(self, uint32_t subset) noexcept nogil:
        cdef double[32] x
        cdef uint32_t rest = subset
        cdef Py_ssize_t k = 0, v
        while rest:
            v = pgmx_lowest_bit(rest)
            rest &= rest - 1
            x[k] = self.before[subset ^ <uint32_t>1 << v] + self.log_weight(v, subset)
            k += 1
        self.before[subset] = log_sum(x, k)

    cdef void sum_after(self, uint32_t subset) noexcept nogil:
        cdef Py_ssize_t r = self.list_outside(subset), i
        cdef double[32] x
        cdef double top = -INFINITY, total = 0.0, share
        for i in range(r):
            x[i] = self.after[subset | <uint32_t>1 << self.ids[i]] + self.log_weights[i]
            top = max(top, x[i])
        if top == -INFINITY:
            self.after[subset] = top
            return
        for i in range(r):
            x[i] = exp(x[i] - top) if x[i] > top - LOST else 0.0
            total += x[i]
        self.after[subset] = top + log(total)
        share = self.before[subset] + top - self.log_total
        if share < CUT:
            return
        share = exp(share)
        for i in range(r):
            if x[i] > 0.0:
                self.reached[self.place(self.ids[i], subset)] += share * x[i]

    def sample(
        self, Py_ssize_t n_dags, Py_ssize_t number, uint64_t seed, const int64_t[::1] start, const uint32_t[::1] sets,
        const double[::1] weights,
    ):
        """Return the sets of candidates of `n_dags` DAGs, uint32 (n_dags, n), the draws from `number` on."""
        cdef uint32_t[:, ::1] drawn = np.zeros((n_dags, self.n), dtype=np.uint32)
        cdef Py_ssize_t k
        cdef uint64_t state
        with nogil:
            for k in range(n_dags):
                state = start_state(seed, number + k)
                self.draw(&drawn[k, 0], &start[0], &sets[0], &weights[0], &state)
        return np.asarray(drawn)

    cdef void draw(
        self, uint32_t *parents, const int64_t *start, const uint32_t *sets, const double *weights, uint64_t *state
    ) noexcept nogil:
        # From the last variable of the order to the first.
        cdef uint32_t subset = self.full, rest
        cdef Py_ssize_t v, chosen
        cdef double x, weight
        while subset:
            x = uniform(state)
            rest = subset
            chosen = -1
            while rest:
                v = pgmx_lowest_bit(rest)
                rest &= rest - 1
                weight = self.before[subset ^ <uint32_t>1 << v] + self.log_weight(v, subset) - self.before[subset]
                if weight > -INFINITY:
                    chosen = v
                    x -= exp(weight)
                    if x < 0.0:
                        break
            subset ^= <uint32_t>1 << chosen
            parents[chosen] = self.draw_parents(
                chosen, subset, 0, sets + start[chosen], weights + start[chosen], start[chosen + 1] - start[chosen],
                state,
            )


cdef double log_sum(const double *x, Py_ssize_t k) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0
    cdef Py_ssize_t i
    for i in range(k):
        top = max(top, x[i])
    if top == -INFINITY:
        return top
    for i in range(k):
        if x[i] > top - LOST:
            total += exp(x[i] - top)
    return top + log(total)


@cython.final
cdef class DagSums(SubsetSums):
    """Sums over the DAGs; `advance` is called until it returns False."""

    cdef double[::1] potential              # m
    cdef double[::1] rest                   # G / exp(m)
    cdef double[::1] share                  # derivative of log G(empty) by G(U), times exp(m)
    cdef uint32_t at
    cdef bint is_backward
    cdef readonly int64_t n_terms           # of both passes
    cdef double **kept                      # tables of layers after each subset
    cdef int64_t memory

    def __init__(self, *tables):
        self.potential = np.empty(<Py_ssize_t>self.full + 1)
        self.rest = np.empty(<Py_ssize_t>self.full + 1)
        self.potential[self.full], self.rest[self.full], self.at = 0.0, 1.0, self.full
        self.is_backward = False

    def __dealloc__(self):
        self.forget_layers()

    cdef void forget_layers(self) noexcept:
        cdef Py_ssize_t i
        if self.kept != NULL:
            for i in range(<Py_ssize_t>self.full + 1):
                free(self.kept[i])
        free(self.kept)
        self.kept = NULL

    def advance(self, int64_t n_terms=1 << 21) -> bool:
        """Add some more terms; return whether any are left."""
        cdef int64_t end = self.n_terms + n_terms
        if not self.is_backward:
            with nogil:
                while self.at > 0 and self.n_terms < end:
                    self.at -= 1
                    self.sum_rest(self.at)
            if self.at == 0:
                self.is_backward = True
                self.log_total = self.potential[0] + log(self.rest[0]) if self.rest[0] > 0.0 else -INFINITY
                if self.log_total == -INFINITY:
                    return False
                self.reached = np.zeros(self.sums.shape[0])
                self.share = np.zeros(<Py_ssize_t>self.full + 1)
                self.share[0] = 1.0 / self.rest[0]
            return True
        with nogil:
            while self.at < self.full and self.n_terms < end:
                self.spread_share(self.at)
                self.at += 1
        if self.at < self.full:
            return True
        self.share = None
        return False

    cdef void sum_rest(self, uint32_t subset) noexcept nogil:
        cdef Py_ssize_t r = self.list_outside(subset), i
        cdef double best = -INFINITY
        for i in range(r):
            best = max(best, self.log_weights[i] + self.potential[subset | <uint32_t>1 << self.ids[i]])
        self.potential[subset] = best
        self.rest[subset] = 0.0
        self.n_terms += 1
        if best > -INFINITY:
            self.rest[subset] = self.add_layers(subset, -best, 0, r, 1.0)

    cdef double add_layers(
        self, uint32_t held, double exponent, Py_ssize_t first, Py_ssize_t r, double sign
    ) noexcept nogil:
        # The signed terms of the layers that hold `held` and more of the variables outside, from number `first` on.
        cdef double total = 0.0, wider, e
        cdef Py_ssize_t i
        cdef uint32_t above
        for i in range(first, r):
            wider = exponent + self.log_weights[i]
            above = held | <uint32_t>1 << self.ids[i]
            e = wider + self.potential[above]
            if e >= CUT:
                total += sign * exp(e) * self.rest[above]
                if i + 1 < r:
                    total += self.add_layers(above, wider, i + 1, r, -sign)
        self.n_terms += r - first
        return total

    cdef void spread_share(self, uint32_t subset) noexcept nogil:
        cdef Py_ssize_t r, i
        cdef double[32] of_variable
        self.n_terms += 1
        if not fabs(self.share[subset]) * self.rest[subset] >= NEGLIGIBLE:
            return
        r = self.list_outside(subset)
        for i in range(r):
            of_variable[i] = 0.0
        self.spread_layers(subset, -self.potential[subset], 0, r, self.share[subset], of_variable)
        for i in range(r):
            if of_variable[i] != 0.0:
                self.reached[self.place(self.ids[i], subset)] += of_variable[i]

    cdef double spread_layers(
        self, uint32_t held, double exponent, Py_ssize_t first, Py_ssize_t r, double share, double *of_variable
    ) noexcept nogil:
        # The reverse mode of `add_layers`; `share` has the sign of the terms.
        cdef double total = 0.0, wider, e, term
        cdef Py_ssize_t i
        cdef uint32_t above
        for i in range(first, r):
            wider = exponent + self.log_weights[i]
            above = held | <uint32_t>1 << self.ids[i]
            e = wider + self.potential[above]
            if e >= CUT:
                term = share * exp(e)
                self.share[above] += term
                term *= self.rest[above]
                if i + 1 < r:
                    term += self.spread_layers(above, wider, i + 1, r, -share, of_variable)
                of_variable[i] += term
                total += term
        self.n_terms += r - first
        return total

    # ---- samples ----

    def sample(
        self, Py_ssize_t n_dags, Py_ssize_t number, uint64_t seed, const int64_t[::1] start, const uint32_t[::1] sets,
        const double[::1] weights, int64_t memory=1 << 28,
    ):
        """Return the sets of candidates of `n_dags` DAGs, uint32 (n_dags, n), the draws from `number` on.

        Tables of layers of at most `memory` bytes are kept until `forget`.
        """
        cdef uint32_t[:, ::1] drawn = np.zeros((n_dags, self.n), dtype=np.uint32)
        cdef Py_ssize_t size = <Py_ssize_t>self.full + 1
        cdef double[::1] table = np.empty(size)
        cdef double[::1] factors = np.empty(size)
        cdef Py_ssize_t k
        cdef uint64_t state
        if self.kept == NULL:
            self.kept = <double **>calloc(size, sizeof(double *))
            self.memory = memory
            if self.kept == NULL:
                raise MemoryError(f"cannot allocate the tables of the subsets of {self.n} variables")
        with nogil:
            for k in range(n_dags):
                state = start_state(seed, number + k)
                self.draw(&drawn[k, 0], &start[0], &sets[0], &weights[0], &table[0], &factors[0], &state)
        return np.asarray(drawn)

    def forget(self):
        """Free the tables of layers."""
        self.forget_layers()

    cdef void draw(
        self, uint32_t *parents, const int64_t *start, const uint32_t *sets, const double *weights, double *table,
        double *factors, uint64_t *state
    ) noexcept nogil:
        cdef uint32_t placed = 0, layer = 0, newest, chosen
        cdef Py_ssize_t r, i, v
        while placed != self.full:
            r = self.list_outside(placed)
            chosen = self.draw_layer(self.find_layers(placed, r, table), placed, layer, r, factors, state)
            newest = 0
            for i in range(r):
                if chosen >> i & 1:
                    v = self.ids[i]
                    newest |= <uint32_t>1 << v
                    parents[v] = self.draw_parents(
                        v, placed, layer, sets + start[v], weights + start[v], start[v + 1] - start[v], state
                    )
            placed |= newest
            layer = newest

    cdef const double *find_layers(self, uint32_t placed, Py_ssize_t r, double *table) noexcept nogil:
        # Weights of the layers of the variables outside, bit i for `ids[i]`, if it is the layer of all sources; of the
        # first layer their running sums. Kept tables are returned, others are written into `table`.
        cdef Py_ssize_t size = <Py_ssize_t>1 << r
        if self.kept[placed] != NULL:
            return self.kept[placed]
        if placed == 0 or (r >= SMALLEST_KEPT and size * <Py_ssize_t>sizeof(double) <= self.memory):
            self.kept[placed] = <double *>malloc(size * sizeof(double))
            if self.kept[placed] != NULL:
                self.memory -= size * sizeof(double)
                table = self.kept[placed]
        self.fill_layers(placed, r, table)
        return table

    cdef void fill_layers(self, uint32_t placed, Py_ssize_t r, double *table) noexcept nogil:
        cdef Py_ssize_t size = <Py_ssize_t>1 << r, half, t, i, at
        cdef uint32_t above = 0, outside = self.full & ~placed
        cdef double total = 0.0
        table[0] = -self.potential[placed]
        for i in range(r):
            half = <Py_ssize_t>1 << i
            for t in range(half):
                table[half + t] = table[t] + self.log_weights[i]
        for t in range(1, size):
            above = (above - outside) & outside             # the next subset of the variables outside
            total = table[t] + self.potential[placed | above]
            table[t] = exp(total) * self.rest[placed | above] if total >= CUT else 0.0
        table[0] = 0.0
        for i in range(r):                      # the signed sums over supersets
            half = <Py_ssize_t>1 << i
            at = 0
            while at < size:
                for t in range(at, at + half):
                    table[t] -= table[t + half]
                at += 2 * half
        total = 0.0
        for t in range(size):                   # rounding errors may be negative
            table[t] = max(table[t], 0.0) if t > 0 else 0.0
            if placed == 0:
                total += table[t]
                table[t] = total

    cdef uint32_t draw_layer(
        self, const double *table, uint32_t placed, uint32_t layer, Py_ssize_t r, double *factors, uint64_t *state
    ) noexcept nogil:
        # The next layer, bit i for `ids[i]`, after the last layer.
        cdef Py_ssize_t size = <Py_ssize_t>1 << r, t, low, high, half, i, chosen = 0
        cdef double x, total = 0.0
        if placed == 0:
            x = uniform(state) * table[size - 1]
            low, high = 1, size - 1
            while low < high:
                t = (low + high) // 2
                if table[t] > x:
                    high = t
                else:
                    low = t + 1
            return <uint32_t>low
        factors[0] = 1.0
        for i in range(r):                      # each variable of the layer has a parent in the last one
            half = <Py_ssize_t>1 << i
            x = -expm1(self.log_weight(self.ids[i], placed & ~layer) - self.log_weights[i])
            for t in range(half):
                factors[half + t] = factors[t] * x
        for t in range(1, size):
            total += table[t] * factors[t]
        x = uniform(state) * total
        for t in range(1, size):
            if table[t] > 0.0 and factors[t] > 0.0:
                chosen = t
                x -= table[t] * factors[t]
                if x < 0.0:
                    break
        return <uint32_t>chosen

"""Gibbs sampling of discrete Markov networks with tables of any arity.

Problem: draw configurations from p(x) proportional to the product of all tables, some variables fixed. Algorithm:
systematic-scan Gibbs sampling: the free variables are drawn one after the other from their conditionals given all
others. For every pair of a variable and a table with it in scope there is a copy of the table in which the variable's
own states are contiguous, so that a conditional is a product of short contiguous rows. Rows are exponentials scaled to
a maximum of 1. If a product comes near the smallest number, the conditional is recomputed from logarithms. The start
may have probability zero: if no state is possible given the others, the chain draws from the states that violate the
fewest tables. After it has found a possible configuration, all later configurations are possible.
Cost of a sweep: one multiplication per state and incident table, one look-up for each other member of the table.
Thread-safety: reads its inputs, writes the state, the random word, the scratch row and its columns of the samples.
References: Geman & Geman (1984), IEEE Transactions on Pattern Analysis and Machine Intelligence 6, 721-741.
"""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

from _conditionals cimport Network, row_of
from _rng cimport uniform

ctypedef fused code_t:
    uint8_t
    uint16_t

# Products of scaled rows below this are recomputed from logarithms.
cdef double TINY = 1e-280

cdef bint conditional_in_logs(
    const Network *net, Py_ssize_t v, const int32_t *state, double *weights, Py_ssize_t r
) noexcept nogil:
    # The states that violate the fewest tables share the probability; False if even those violate one.
    cdef Py_ssize_t a, i, at
    cdef double value, best = -INFINITY
    cdef int64_t zeros, fewest = -1
    for a in range(r):
        value, zeros = 0.0, 0
        if net.node_logs[net.node_offsets[v] + a] == -INFINITY:
            zeros += 1
        for i in range(net.pointer[v], net.pointer[v + 1]):
            at = row_of(net, i, state) + a
            if net.logs[at] == -INFINITY:
                zeros += 1
        if fewest < 0 or zeros < fewest:
            fewest = zeros
    for a in range(r):
        value, zeros = 0.0, 0
        if net.node_logs[net.node_offsets[v] + a] == -INFINITY:
            zeros += 1
        else:
            value += net.node_logs[net.node_offsets[v] + a]
        for i in range(net.pointer[v], net.pointer[v + 1]):
            at = row_of(net, i, state) + a
            if net.logs[at] == -INFINITY:
                zeros += 1
            else:
                value += net.logs[at]
        weights[a] = value if zeros == fewest else -INFINITY
        if weights[a] > best:
            best = weights[a]
    for a in range(r):
        weights[a] = exp(weights[a] - best)
    return fewest == 0


cdef bint sweep(
    const Network *net, const int64_t *free, Py_ssize_t n_free, int32_t *state, double *weights, uint64_t *word
) noexcept nogil:
    # Draws every free variable once; False when some conditional had no possible state.
    cdef Py_ssize_t f, v, r, a, i
    cdef int32_t code
    cdef const double *row
    cdef double total, threshold
    cdef bint possible = True
    for f in range(n_free):
        v = free[f]
        r = net.node_offsets[v + 1] - net.node_offsets[v]
        row = net.node_scaled + net.node_offsets[v]
        for a in range(r):
            weights[a] = row[a]
        for i in range(net.pointer[v], net.pointer[v + 1]):
            row = net.scaled + row_of(net, i, state)
            for a in range(r):
                weights[a] *= row[a]
        total = 0.0
        for a in range(r):
            total += weights[a]
        if total < TINY:
            if not conditional_in_logs(net, v, state, weights, r):
                possible = False
            total = 0.0
            for a in range(r):
                total += weights[a]
        threshold = uniform(word) * total
        total = 0.0
        code = 0
        for a in range(r - 1):
            total += weights[a]
            code += total <= threshold
        while weights[code] == 0.0:    # the sum rounded up to the threshold: back to the last possible state
            code -= 1
        state[v] = code
    return possible


def run_chain(
    const int64_t[::1] node_offsets,    # in: (n + 1,)
    const double[::1] node_logs,        # in: (cells,)
    const double[::1] node_scaled,      # in: (cells,)
    const int64_t[::1] pointer,         # in: (n + 1,)
    const int64_t[::1] first_row,       # in: (incidences,)
    const int64_t[::1] members,         # in: (incidences + 1,)
    const int64_t[::1] member,          # in: (members,)
    const int64_t[::1] strides,         # in: (members,)
    const double[::1] logs,             # in: (copied cells,)
    const double[::1] scaled,           # in: (copied cells,)
    const int64_t[::1] free,            # in: variables to draw, in the order of a sweep
    int32_t[::1] state,                 # in and out: (n,)
    uint64_t[::1] word,                 # in and out: (1,) state of the random generator
    double[::1] weights,                # scratch: (largest number of states,)
    Py_ssize_t burn_in,
    Py_ssize_t thinning,
    code_t[:, :] samples,               # out: (n, columns), a column after every `thinning` sweeps
):
    """Run one chain; return whether all samples come after a sweep in which every variable had a possible state."""
    cdef Network net
    cdef Py_ssize_t n = state.shape[0], n_samples = samples.shape[1], s, _, v
    cdef const int64_t *order = &free[0] if free.shape[0] else NULL
    cdef bint possible = True
    net.node_offsets, net.node_logs, net.node_scaled = &node_offsets[0], &node_logs[0], &node_scaled[0]
    net.pointer, net.members = &pointer[0], &members[0]
    if first_row.shape[0]:
        net.first_row, net.logs, net.scaled = &first_row[0], &logs[0], &scaled[0]
    if member.shape[0]:
        net.member, net.strides = &member[0], &strides[0]
    with nogil:
        for _ in range(burn_in):
            possible = sweep(&net, order, free.shape[0], &state[0], &weights[0], &word[0])
        for s in range(n_samples):
            for _ in range(thinning):
                possible = sweep(&net, order, free.shape[0], &state[0], &weights[0], &word[0])
            if s == 0 and not possible:
                break
            for v in range(n):
                samples[v, s] = <code_t>state[v]
    return possible

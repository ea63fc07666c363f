"""Annealed importance sampling of discrete Markov networks with tables of any arity.

Problem: the log-partition of f_1(x) = exp(sum of tables), from the log-partition of f_0 and samples of it. Both have
the same scopes; f_b = exp(base + b (target - base)) interpolates. Algorithm: each chain starts at a sample of f_0. When
b increases by d, the logarithm of its weight increases by d D(x), D = log f_1 - log f_0, and a sweep of systematic-scan
Gibbs sampling leaves f_b invariant. The mean of the weights is an unbiased estimate of Z_1 / Z_0. All chains of a call
move together: the innermost loops run over chains, without branches if both variables of a pair are binary.
Cost of a temperature: per chain one addition per state and incident table, one exponential per state, and one look-up
per table for D.
Thread-safety: reads its inputs, writes states, random words, weights and the scratch that it allocates.
References: Neal (2001), Annealed importance sampling, Statistics and Computing 11, 125-139.
"""

from libc.math cimport INFINITY, exp, isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from _rng cimport uniform

cdef struct Network:
    Py_ssize_t n_factors
    const int64_t *node_at          # (n + 1,) first cell of a variable
    const int64_t *table_at         # (factors + 1,) first cell of a table
    const int64_t *member_at        # (factors + 1,) first member of a table
    const int64_t *member           # (members,) ids
    const int64_t *stride           # (members,) cells from one state to the next
    const int64_t *pointer          # (n + 1,) incidences of a variable
    const int64_t *incident         # (incidences,) places of the variable in `member`
    const int64_t *owner            # (members,) tables of the members
    const double *node_delta        # target minus base
    const double *delta
    const double *nodes             # at the present temperature
    const double *tables


cdef struct Chains:
    Py_ssize_t n
    int32_t *state                  # (variables, n)
    uint64_t *word                  # (n,)
    double *field                   # (states, n)
    double *sum                     # (n,)
    int64_t *cell                   # (n,)


cdef inline bint is_binary(const Network *net, Py_ssize_t v) noexcept nogil:
    return net.node_at[v + 1] - net.node_at[v] == 2


cdef void find_cells(const Network *net, Chains *chains, Py_ssize_t f, Py_ssize_t skip) noexcept nogil:
    # The cell of table f at which each chain is, the member at place `skip` in its first state.
    cdef Py_ssize_t k, c
    cdef int64_t first = net.table_at[f], step
    cdef const int32_t *state
    for c in range(chains.n):
        chains.cell[c] = first
    for k in range(net.member_at[f], net.member_at[f + 1]):
        if k == skip:
            continue
        state, step = &chains.state[net.member[k] * chains.n], net.stride[k]
        for c in range(chains.n):
            chains.cell[c] += step * state[c]


cdef bint add_binary(const Network *net, Chains *chains, Py_ssize_t f, Py_ssize_t place) noexcept nogil:
    # The second state's logarithm minus the first's, for a pair of binary variables and finite cells.
    cdef Py_ssize_t c, other
    cdef double low, high, slope
    cdef const double *table = net.tables + net.table_at[f]
    cdef const int32_t *state
    cdef double *field = chains.field + chains.n
    if net.member_at[f + 1] - net.member_at[f] != 2:
        return False
    other = 2 * net.member_at[f] + 1 - place
    if not is_binary(net, net.member[other]):
        return False
    low = table[net.stride[place]] - table[0]
    high = table[net.stride[place] + net.stride[other]] - table[net.stride[other]]
    slope = high - low
    if not isfinite(slope):
        return False
    state = &chains.state[net.member[other] * chains.n]
    for c in range(chains.n):
        field[c] += low + slope * state[c]
    return True


cdef void draw(const Network *net, Chains *chains, Py_ssize_t v) noexcept nogil:
    # Draws variable v in every chain from its conditional; a chain without a possible state gets any.
    cdef Py_ssize_t r = net.node_at[v + 1] - net.node_at[v], n = chains.n, a, c, i, f, place
    cdef int32_t *state = &chains.state[v * n]
    cdef double *field
    cdef const double *table
    cdef double top, total, threshold
    cdef int32_t code
    for a in range(r):
        field = chains.field + a * n
        for c in range(n):
            field[c] = net.nodes[net.node_at[v] + a]
    for i in range(net.pointer[v], net.pointer[v + 1]):
        place = net.incident[i]
        f = net.owner[place]
        if r == 2 and add_binary(net, chains, f, place):
            continue
        find_cells(net, chains, f, place)
        for a in range(r):
            field, table = chains.field + a * n, net.tables + a * net.stride[place]
            for c in range(n):
                field[c] += table[chains.cell[c]]
    if r == 2:
        field = chains.field + n
        for c in range(n):
            field[c] = exp(chains.field[c] - field[c])
        for c in range(n):
            state[c] = uniform(&chains.word[c]) * (1.0 + field[c]) < 1.0
        return
    for c in range(n):
        chains.sum[c] = -INFINITY
    for a in range(r):
        field = chains.field + a * n
        for c in range(n):
            chains.sum[c] = field[c] if field[c] > chains.sum[c] else chains.sum[c]
    for c in range(n):
        top, total = chains.sum[c], 0.0
        for a in range(r):
            field = chains.field + a * n + c
            field[0] = exp(field[0] - top)
            total += field[0]
        threshold = uniform(&chains.word[c]) * total
        total, code = 0.0, 0
        for a in range(r - 1):
            total += chains.field[a * n + c]
            code += total <= threshold
        while code > 0 and chains.field[code * n + c] == 0.0:    # the sum rounded up to the threshold
            code -= 1
        state[c] = code


cdef void add_differences(const Network *net, Chains *chains, Py_ssize_t n_variables, double *sums) noexcept nogil:
    # D(x) = log f_1(x) - log f_0(x) of every chain.
    cdef Py_ssize_t v, f, c, i
    cdef const double *table
    cdef const int32_t *state
    cdef const int32_t *other
    cdef double constant, first, second, both
    for c in range(chains.n):
        sums[c] = 0.0
    for v in range(n_variables):
        state, table = &chains.state[v * chains.n], net.node_delta + net.node_at[v]
        for c in range(chains.n):
            sums[c] += table[state[c]]
    for f in range(net.n_factors):
        table, i = net.delta + net.table_at[f], net.member_at[f]
        if net.table_at[f + 1] - net.table_at[f] == 4 and net.member_at[f + 1] - i == 2:
            constant, first, second = table[0], table[net.stride[i]] - table[0], table[net.stride[i + 1]] - table[0]
            both = table[3] - table[0] - first - second
            if isfinite(both):
                state, other = &chains.state[net.member[i] * chains.n], &chains.state[net.member[i + 1] * chains.n]
                for c in range(chains.n):
                    sums[c] += constant + first * state[c] + (second + both * state[c]) * other[c]
                continue
        find_cells(net, chains, f, -1)
        for c in range(chains.n):
            sums[c] += net.delta[chains.cell[c]]


def anneal(
    const int64_t[::1] node_at,         # in: (n + 1,)
    const int64_t[::1] table_at,        # in: (factors + 1,)
    const int64_t[::1] member_at,       # in: (factors + 1,)
    const int64_t[::1] member,          # in: (members,)
    const int64_t[::1] stride,          # in: (members,)
    const int64_t[::1] pointer,         # in: (n + 1,)
    const int64_t[::1] incident,        # in: (members,)
    const int64_t[::1] owner,           # in: (members,)
    const double[::1] base,             # in: logarithms of f_0: cells of the variables, then of the tables
    const double[::1] target,           # in: logarithms of f_1; minus infinity exactly for the same cells as `base`
    const double[::1] temperatures,     # in: (steps + 1,) from 0 to 1, ascending
    int32_t[:, ::1] states,             # in and out: (n, chains)
    uint64_t[::1] words,                # in and out: (chains,) states of the random generators
    double[::1] log_weights,            # out: (chains,)
    double[:, ::1] differences,         # out: (steps, 2) sums over chains with D(x) > -inf of D(x) and its square
):
    """Anneal chains from f_0 to f_1 and return how many have a positive weight at the first temperature."""
    cdef Network net
    cdef Chains chains
    cdef Py_ssize_t n = states.shape[0], n_node_cells = node_at[n], n_cells = target.shape[0], k, c, v, i
    cdef Py_ssize_t n_steps = temperatures.shape[0] - 1, widest = np.diff(node_at).max(), n_alive = 0
    cdef double step
    cdef double[::1] now = np.empty(n_cells), delta = np.zeros(n_cells)
    cdef double[::1] sums = np.empty(states.shape[1]), top = np.empty(states.shape[1])
    cdef double[::1] fields = np.empty(widest * states.shape[1])
    cdef int64_t[::1] cells = np.empty(states.shape[1], dtype=np.int64)
    net.n_factors = table_at.shape[0] - 1
    net.node_at, net.table_at, net.member_at, net.pointer = &node_at[0], &table_at[0], &member_at[0], &pointer[0]
    if member.shape[0]:
        net.member, net.stride, net.incident, net.owner = &member[0], &stride[0], &incident[0], &owner[0]
    net.node_delta, net.delta, net.nodes, net.tables = &delta[0], &delta[n_node_cells], &now[0], &now[n_node_cells]
    if n_cells == n_node_cells:
        net.delta = net.tables = NULL
    chains.n, chains.state, chains.word = states.shape[1], &states[0, 0], &words[0]
    chains.field, chains.sum, chains.cell = &fields[0], &top[0], &cells[0]
    with nogil:
        for i in range(n_cells):
            if base[i] > -INFINITY:
                delta[i] = target[i] - base[i]
        for c in range(chains.n):
            log_weights[c] = 0.0
        for k in range(n_steps):
            step = temperatures[k + 1] - temperatures[k]
            add_differences(&net, &chains, n, &sums[0])
            differences[k, 0] = differences[k, 1] = 0.0
            for c in range(chains.n):
                log_weights[c] += step * sums[c]
                if sums[c] > -INFINITY:
                    differences[k, 0] += sums[c]
                    differences[k, 1] += sums[c] * sums[c]
                    n_alive += k == 0
            if k == n_steps - 1:
                break
            for i in range(n_cells):
                now[i] = base[i] + temperatures[k + 1] * delta[i]
            for v in range(n):
                draw(&net, &chains, v)
    return n_alive

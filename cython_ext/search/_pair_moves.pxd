# Moves of a chain over pairs of an order and a DAG; see _order_chains.pyx.

from libc.stdint cimport int8_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _dag cimport set_bit
from _order_moves cimport Chain, State, draw_below, draw_family, is_accepted, leave, propose, refresh, shift
from _simd cimport pgmx_lowest_bit


cdef inline int find_start(Chain *c, State *s, Py_ssize_t v) noexcept nogil:
    # The first step at which all parents of v are placed.
    cdef uint64_t rest = c.sets[s.family[v]]
    cdef int start = 0
    cdef Py_ssize_t k
    while rest:
        start = max(start, s.pos[c.candidates[v * c.n_candidates + pgmx_lowest_bit(rest)]] + 1)
        rest &= rest - 1
    for k in range(c.first_forced[v], c.first_forced[v + 1]):
        start = max(start, s.pos[c.forced[k]] + 1)
    return start


cdef inline void find_starts(Chain *c, State *s) noexcept nogil:
    # Variable v is available from its start to its position.
    cdef Py_ssize_t v, i
    cdef int available = 0
    memset(c.diff, 0, (c.n + 2) * sizeof(int))
    for v in range(c.n):
        s.start[v] = find_start(c, s, v)
        c.diff[s.start[v]] += 1
        c.diff[s.pos[v] + 1] -= 1
    for i in range(c.n):
        available += c.diff[i]
        s.avail[i] = available


cdef inline double set_start(Chain *c, State *s, Py_ssize_t v, int start) noexcept nogil:
    # Variable v becomes available at another step; the change of ln q.
    cdef int old = s.start[v], i
    cdef double change = 0.0
    for i in range(start, old):
        change += c.logs[s.avail[i]] - c.logs[s.avail[i] + 1]
        s.avail[i] += 1
    for i in range(old, start):
        change += c.logs[s.avail[i]] - c.logs[s.avail[i] - 1]
        s.avail[i] -= 1
    s.start[v] = start
    return change


cdef inline void draw_families(Chain *c, State *s, bint is_first) noexcept nogil:
    # Move 1 of the head of this file.
    cdef int v[2]
    cdef int old[2]
    cdef int old_start[2]
    cdef int i
    cdef double change = 0.0
    for i in range(2):
        v[i] = draw_below(c, c.n)
        old[i], old_start[i] = s.family[v[i]], s.start[v[i]]
        s.family[v[i]] = draw_family(c, s, v[i])
        if s.family[v[i]] != old[i]:
            change += set_start(c, s, v[i], find_start(c, s, v[i]))
    if s.family[v[0]] == old[0] and s.family[v[1]] == old[1]:
        return
    if is_accepted(c, change):
        if is_first:
            for i in range(2):
                leave(c, v[i], old[i])
        return
    for i in range(1, -1, -1):
        set_start(c, s, v[i], old_start[i])
        s.family[v[i]] = old[i]


cdef inline void move_order(Chain *c, State *s, double beta, bint is_first) noexcept nogil:
    # Move 2.
    cdef int x = 0, place = 0, p, j, step
    cdef double change = 0.0
    if not propose(c, s, beta, &x, &place, &change):
        return
    p = s.pos[x]
    shift(c, s, x, place)
    for j in range(c.n_changed):
        s.family[c.changed[j]] = draw_family(c, s, c.changed[j])
    if is_accepted(c, move_starts(c, s, x, p, place)):
        s.total += change
        if is_first:
            for j in range(c.n_changed):
                leave(c, c.changed[j], c.old_family[j])
        return
    for j in range(c.first_step, max(p, place) + 1):
        s.avail[j] -= c.adjusted[j]
    for j in range(c.n_started):
        s.start[c.started[j]] = c.old_start[j]
    for j in range(c.n_changed):
        s.before[c.changed[j]], s.sums[c.changed[j]] = c.old_before[j], c.old_sums[j]
        s.family[c.changed[j]] = c.old_family[j]
    step = 1 if p > place else -1
    while place != p:
        s.order[place] = s.order[place + step]
        s.pos[s.order[place]] = place
        place += step
    s.order[p] = x
    s.pos[x] = p


cdef inline double move_starts(Chain *c, State *s, int x, int p, int place) noexcept nogil:
    # Updates the numbers of available variables after x moved from p to a place; the change of ln q.
    cdef int low = min(p, place), high = max(p, place), i, v, old, start, was, first = low, added = 0
    cdef double change = 0.0
    c.n_started = 0
    memset(c.diff, 0, (high + 3) * sizeof(int))
    for i in range(low, high + 1):
        v = s.order[i]
        was = p if v == x else (i - 1 if place < p else i + 1)
        old, start = s.start[v], find_start(c, s, v)
        c.diff[old] -= 1
        c.diff[was + 1] += 1
        c.diff[start] += 1
        c.diff[i + 1] -= 1
        if start != old:
            restart(c, s, v, start)
            first = min(first, min(old, start))
    for i in range(high + 1, <int>c.n):
        v = s.order[i]
        old = s.start[v]
        if old > low and old <= high + 1:  # its last parent moved
            start = find_start(c, s, v)
            if start != old:
                restart(c, s, v, start)
                c.diff[old] -= 1
                c.diff[start] += 1
    c.first_step = first
    for i in range(first, high + 1):
        added += c.diff[i]
        c.adjusted[i] = added
        if added:
            change += c.logs[s.avail[i]] - c.logs[s.avail[i] + added]
            s.avail[i] += added
    return change


cdef inline void restart(Chain *c, State *s, int v, int start) noexcept nogil:
    c.started[c.n_started], c.old_start[c.n_started] = v, s.start[v]
    c.n_started += 1
    s.start[v] = start


cdef inline void reverse_covered(Chain *c, State *s, bint is_first) noexcept nogil:
    # As many attempts as there are arcs to reverse a random one, which is possible without a cycle if its head has the
    # parents of its tail besides the tail.
    cdef Py_ssize_t n_words = (c.n + 63) // 64, v, u, k, w
    cdef int n_edges = 0, _, e
    cdef int64_t new_u, new_v
    cdef int8_t bit_u, bit_v
    cdef uint64_t rest
    cdef uint64_t *own
    cdef uint64_t *other
    memset(c.parents, 0, c.n * n_words * sizeof(uint64_t))
    for v in range(c.n):
        own = c.parents + v * n_words
        rest = c.sets[s.family[v]]
        while rest:
            c.edge_tail[n_edges] = c.candidates[v * c.n_candidates + pgmx_lowest_bit(rest)]
            c.edge_head[n_edges] = <int>v
            set_bit(own, c.edge_tail[n_edges])
            rest &= rest - 1
            n_edges += 1
        for k in range(c.first_forced[v], c.first_forced[v + 1]):
            set_bit(own, c.forced[k])
    for _ in range(n_edges):
        e = draw_below(c, n_edges)
        u, v = c.edge_tail[e], c.edge_head[e]
        own, other = c.parents + u * n_words, c.parents + v * n_words
        bit_u, bit_v = c.own_bit[u * c.n + v], c.own_bit[v * c.n + u]
        if bit_u < 0:
            continue
        w = 0
        while w < n_words and own[w] | (<uint64_t>(u >> 6 == w) << (u & 63)) == other[w]:
            w += 1
        if w < n_words:
            continue
        new_u = c.place_of[c.first[u] + (c.sets[s.family[u]] | <uint32_t>1 << bit_u)]
        new_v = c.place_of[c.first[v] + (c.sets[s.family[v]] & ~(<uint32_t>1 << bit_v))]
        if new_u < 0 or new_v < 0 or not is_accepted(
            c, c.scores[new_u] - c.scores[s.family[u]] + c.scores[new_v] - c.scores[s.family[v]]
        ):
            continue
        if is_first:
            leave(c, u, s.family[u])
            leave(c, v, s.family[v])
        s.family[u], s.family[v] = <int>new_u, <int>new_v
        own[v >> 6] ^= <uint64_t>1 << (v & 63)
        other[u >> 6] ^= <uint64_t>1 << (u & 63)
        c.edge_tail[e], c.edge_head[e] = <int>v, <int>u


cdef inline void draw_order(Chain *c, State *s, double beta, bint is_first) noexcept nogil:
    # Move 3.
    cdef Py_ssize_t n = c.n, i, k, v
    cdef int n_ready = 0, n_edges = 0, j, u, edge
    cdef uint64_t rest
    cdef double total = s.total
    if beta < 1.0:
        memcpy(c.spare.order, s.order, (6 * n + 1) * sizeof(int))
        memcpy(c.spare.sums, s.sums, n * sizeof(double))
    reverse_covered(c, s, is_first)
    for v in range(n):
        c.first_edge[v] = -1
    for v in range(n):
        rest = c.sets[s.family[v]]
        c.pending[v] = 0
        while rest:
            add_edge(c, c.candidates[v * c.n_candidates + pgmx_lowest_bit(rest)], v, n_edges)
            rest &= rest - 1
            n_edges += 1
        for k in range(c.first_forced[v], c.first_forced[v + 1]):
            add_edge(c, c.forced[k], v, n_edges)
            n_edges += 1
        if c.pending[v] == 0:
            c.ready[n_ready] = <int>v
            n_ready += 1
    for i in range(n):
        j = draw_below(c, n_ready)
        v = c.ready[j]
        n_ready -= 1
        c.ready[j] = c.ready[n_ready]
        s.order[i] = <int>v
        edge = c.first_edge[v]
        while edge >= 0:
            u = c.edge_head[edge]
            c.pending[u] -= 1
            if c.pending[u] == 0:
                c.ready[n_ready] = u
                n_ready += 1
            edge = c.next_edge[edge]
    refresh(c, s)
    if beta < 1.0 and not is_accepted(c, (beta - 1.0) * (s.total - total)):
        memcpy(s.order, c.spare.order, (6 * n + 1) * sizeof(int))
        memcpy(s.sums, c.spare.sums, n * sizeof(double))
        s.total = total
        return
    find_starts(c, s)


cdef inline void add_edge(Chain *c, int tail, Py_ssize_t head, int edge) noexcept nogil:
    # Adds to the lists of the arcs out of each variable.
    c.edge_head[edge], c.next_edge[edge] = <int>head, c.first_edge[tail]
    c.first_edge[tail] = edge
    c.pending[head] += 1

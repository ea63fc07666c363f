# Moves of a chain over orders, with families integrated out; see _order_chains.pyx.

from libc.math cimport INFINITY, exp
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t

from _dag cimport set_bit
from _rng cimport next_word, uniform
from _simd cimport pgmx_lowest_bit

cdef enum:
    NONE = -1                   # in place of the bit of a candidate
    REQUIRED = -2
    LEAST_LOG = -600            # a sum this far below the largest weight of its variable is drawn from logarithms


cdef struct State:
    int *order                  # variable by position
    int *pos                    # position by variable
    int *before                 # candidates with smaller positions, a mask by variable
    int *family                 # index of the parents among all listed sets, by variable
    int *start                  # first step at which a variable is available, by variable
    int *avail                  # number of available variables, by step
    double *sums                # A_v(before), by variable
    double total                # ln Z(<)


cdef struct Segment:
    double change               # of ln Z if the variable goes there
    double share                # of this and the preceding segments, not normalised
    int first, length           # positions


cdef struct Chain:
    Py_ssize_t n, n_candidates
    uint64_t word               # state of the random generator
    # tables
    const int32_t *candidates   # (n, n_candidates)
    const double *sums
    const int64_t *first        # of the sums of a variable
    const uint32_t *sets
    const double *scores
    const int64_t *offsets      # of the sets of a variable
    int32_t *place_of           # [first[v] + mask]: index of the set of v, -1 if it is not listed
    double *weights             # exp(score) relative to the largest of the variable
    int8_t *own_bit             # [x, y]: bit of y among the candidates of x, or NONE, or REQUIRED
    int8_t *child_bit           # [x, y]: bit of x among the candidates of y, or NONE, or REQUIRED
    int32_t *children           # variables that have one as a candidate or a required parent
    int32_t *first_child
    int32_t *forced             # required parents
    int32_t *first_forced
    double *logs                # of whole numbers
    # steps that each set, or each mask over orders, was present
    uint32_t *counts
    int32_t *since
    int now
    # scratch of a move: changed variables and their values before it
    int n_changed, n_started, first_step
    int32_t *changed
    int32_t *old_before
    int32_t *old_family
    double *old_sums
    int32_t *started
    int32_t *old_start
    int32_t *diff
    int32_t *adjusted
    uint64_t *events
    int32_t *passed
    int32_t *pending
    int32_t *ready
    int32_t *first_edge
    int32_t *next_edge
    int32_t *edge_tail
    int32_t *edge_head
    uint64_t *parents
    Segment *segments
    State spare


cdef inline void leave(Chain *c, Py_ssize_t v, Py_ssize_t key) noexcept nogil:
    # Variable v leaves a family, or a mask over orders, at the present step.
    c.counts[key] += c.now - c.since[v]
    c.since[v] = c.now


cdef inline double sum_of(Chain *c, Py_ssize_t v, int mask) noexcept nogil:
    return c.sums[c.first[v] + mask]


cdef inline int draw_below(Chain *c, Py_ssize_t n) noexcept nogil:
    return <int>(uniform(&c.word) * n)


cdef inline bint is_accepted(Chain *c, double log_ratio) noexcept nogil:
    return log_ratio >= 0.0 or uniform(&c.word) < exp(log_ratio)


cdef inline int draw_family(Chain *c, State *s, Py_ssize_t v) noexcept nogil:
    # Draws parents among the preceding candidates; the index of the set.
    cdef Py_ssize_t i = c.offsets[v], end = c.offsets[v + 1], last = i
    cdef uint32_t after = ~<uint32_t>s.before[v]
    cdef double low = s.sums[v] - c.scores[i], rest = uniform(&c.word)
    if low < LEAST_LOG:
        while i < end:
            if not c.sets[i] & after:
                last = i
                rest -= exp(c.scores[i] - s.sums[v])
                if rest < 0.0:
                    break
            i += 1
        return <int>last
    rest *= exp(low)
    while i < end:
        if not c.sets[i] & after:
            last = i
            rest -= c.weights[i]
            if rest < 0.0:
                break
        i += 1
    return <int>last


cdef inline void refresh(Chain *c, State *s) noexcept nogil:
    # Everything that follows from the order.
    cdef Py_ssize_t i, v, k
    cdef int u, mask
    for i in range(c.n):
        s.pos[s.order[i]] = <int>i
    s.total = 0.0
    for v in range(c.n):
        mask = 0
        for k in range(c.n_candidates):
            u = c.candidates[v * c.n_candidates + k]
            if u >= 0 and s.pos[u] < s.pos[v]:
                mask |= 1 << k
        s.before[v] = mask
        s.sums[v] = sum_of(c, v, mask)
        s.total += s.sums[v]
        for k in range(c.first_forced[v], c.first_forced[v + 1]):
            if s.pos[c.forced[k]] > s.pos[v]:
                s.total = -INFINITY


cdef inline void step_order(Chain *c, State *s, double beta, bint is_counted) noexcept nogil:
    cdef int x = 0, place = 0, j
    cdef double change = 0.0
    if not propose(c, s, beta, &x, &place, &change):
        return
    shift(c, s, x, place)
    s.total += change
    if is_counted:
        for j in range(c.n_changed):
            leave(c, c.changed[j], c.first[c.changed[j]] + c.old_before[j])


cdef inline bint propose(Chain *c, State *s, double beta, int *x, int *place, double *change) noexcept nogil:
    # Draws a move of the order that is reversible for Z^beta; False if nothing moves.
    cdef int p, y
    cdef int8_t bit
    if next_word(&c.word) >> 63:
        return draw_place(c, s, beta, x, place, change)
    p = draw_below(c, c.n - 1)
    x[0], place[0] = s.order[p], p + 1
    y = s.order[p + 1]
    change[0] = 0.0
    bit = c.child_bit[x[0] * c.n + y]
    if bit == REQUIRED:
        return False
    if bit >= 0:
        change[0] += sum_of(c, y, s.before[y] & ~(1 << bit)) - s.sums[y]
    bit = c.own_bit[x[0] * c.n + y]
    if bit >= 0:
        change[0] += sum_of(c, x[0], s.before[x[0]] | (1 << bit)) - s.sums[x[0]]
    return is_accepted(c, beta * change[0])


cdef inline bint draw_place(Chain *c, State *s, double beta, int *moved, int *place, double *change) noexcept nogil:
    # Gibbs: a position of a random variable. ln Z is constant between the positions of its candidates and of the
    # variables that have it as a candidate.
    cdef int n = <int>c.n, x = draw_below(c, c.n), p = s.pos[x], n_events = 0, n_low = 0, n_segments = 0
    cdef int j, e, mask
    cdef Py_ssize_t k, w
    cdef uint64_t bits
    cdef double gain = 0.0, most = 0.0, total = 0.0, rest
    for w in range(n // 64 + 1):
        c.events[w] = 0
    for k in range(c.n_candidates):
        if c.candidates[x * c.n_candidates + k] >= 0:
            set_bit(c.events, s.pos[c.candidates[x * c.n_candidates + k]])
    for k in range(c.first_forced[x], c.first_forced[x + 1]):
        set_bit(c.events, s.pos[c.forced[k]])
    for k in range(c.first_child[x], c.first_child[x + 1]):
        set_bit(c.events, s.pos[c.children[k]])
    for w in range(n // 64 + 1):
        bits = c.events[w]
        while bits:
            e = <int>(64 * w) + pgmx_lowest_bit(bits)
            bits &= bits - 1
            c.passed[n_events] = e
            n_events += 1
            n_low += e < p
    c.segments[0].first = c.passed[n_low - 1] + 1 if n_low else 0
    c.segments[0].length = (c.passed[n_low] if n_low < n_events else n) - c.segments[0].first
    c.segments[0].change = 0.0
    n_segments = 1
    mask = s.before[x]
    for j in range(n_low - 1, -1, -1):
        e = c.passed[j]
        if c.own_bit[x * c.n + s.order[e]] == REQUIRED:
            break
        pass_variable(c, s, x, s.order[e], True, &gain, &mask)
        c.segments[n_segments].first = c.passed[j - 1] + 1 if j else 0
        c.segments[n_segments].length = e + 1 - c.segments[n_segments].first
        c.segments[n_segments].change = gain + sum_of(c, x, mask) - s.sums[x]
        n_segments += 1
    gain, mask = 0.0, s.before[x]
    for j in range(n_low, n_events):
        e = c.passed[j]
        if c.child_bit[x * c.n + s.order[e]] == REQUIRED:
            break
        pass_variable(c, s, x, s.order[e], False, &gain, &mask)
        c.segments[n_segments].first = e
        c.segments[n_segments].length = (c.passed[j + 1] if j + 1 < n_events else n) - e
        c.segments[n_segments].change = gain + sum_of(c, x, mask) - s.sums[x]
        n_segments += 1
    for j in range(n_segments):
        most = max(most, c.segments[j].change)
    for j in range(n_segments):
        rest = beta * (c.segments[j].change - most)
        if rest > -40.0:
            total += c.segments[j].length * exp(rest)
        c.segments[j].share = total
    rest = uniform(&c.word) * total
    j = 0
    while j < n_segments - 1 and c.segments[j].share <= rest:
        j += 1
    moved[0], change[0] = x, c.segments[j].change
    place[0] = c.segments[j].first + draw_below(c, c.segments[j].length)
    return place[0] != p


cdef inline void pass_variable(Chain *c, State *s, int x, int y, bint is_down, double *gain, int *mask) noexcept nogil:
    # x moves past y: the sum of y and the mask of x change.
    cdef int8_t bit = c.child_bit[x * c.n + y]
    if bit >= 0:
        gain[0] += sum_of(c, y, s.before[y] | (1 << bit) if is_down else s.before[y] & ~(1 << bit)) - s.sums[y]
    bit = c.own_bit[x * c.n + y]
    if bit >= 0:
        mask[0] = mask[0] & ~(1 << bit) if is_down else mask[0] | (1 << bit)


cdef inline void shift(Chain *c, State *s, int x, int place) noexcept nogil:
    # Moves x to a position; lists the variables whose preceding candidates change, with their old values.
    cdef int p = s.pos[x], step = 1 if place > p else -1, i = p, y, mask = s.before[x]
    cdef int8_t bit
    c.n_changed = 0
    while i != place:
        y = s.order[i + step]
        s.order[i] = y
        s.pos[y] = i
        bit = c.child_bit[x * c.n + y]
        if bit >= 0:
            change_before(c, s, y, s.before[y] ^ (1 << bit))
        bit = c.own_bit[x * c.n + y]
        if bit >= 0:
            mask ^= 1 << bit
        i += step
    s.order[place] = x
    s.pos[x] = place
    if mask != s.before[x]:
        change_before(c, s, x, mask)


cdef inline void change_before(Chain *c, State *s, int v, int mask) noexcept nogil:
    cdef int j = c.n_changed
    c.changed[j], c.old_before[j], c.old_sums[j] = v, s.before[v], s.sums[v]
    c.old_family[j] = s.family[v]
    c.n_changed += 1
    s.before[v] = mask
    s.sums[v] = sum_of(c, v, mask)

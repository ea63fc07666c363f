# Families that a search needs next, for prefetching rows: after the best additions, and after random draws.
#
# A child keeps its best addition until it is touched. The next draws are simulated on a copy of the random state. Their
# acceptance is known exactly, except for children that a move touches: their gains are assumed to be unchanged, with
# the sign of the moved arc's gain reversed.

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from pgmx._ext._dag_moves cimport C_ADD, C_REVERSE, DagMoves, Move
from pgmx._ext._row_cache cimport MOST_AHEAD
from pgmx._ext._scorer cimport ALL, Family, insert_parent

cdef enum:
    DRAWS_AHEAD = 8             # accepted moves to find: at most `MOST_AHEAD` families


# ---- after the best additions ----

cdef inline bint comes_before(DagMoves moves, Py_ssize_t head, Py_ssize_t other) noexcept nogil:
    if moves.bound[head] != moves.bound[other]:
        return moves.bound[head] > moves.bound[other]
    return moves.priority[head] < moves.priority[other]


cdef inline bint is_expected(const Family *families, Py_ssize_t n, int tail, Py_ssize_t head) noexcept nogil:
    # Whether the first n families to ask for are of head, or have it as a parent of tail.
    cdef Py_ssize_t i, j
    for i in range(n):
        if families[i].child == head:
            return True
        for j in range(families[i].k if families[i].child == tail else 0):
            if families[i].parents[j] == head:
                return True
    return False


cdef inline Py_ssize_t list_additions_ahead(
    DagMoves moves, double least_gain, Family *families, int *parents, Py_ssize_t n, Py_ssize_t most
) noexcept nogil:
    # Adds to n families those after the best additions to other children, best first; of two that are each other's
    # inverse the first. Returns how many families there are then, `most` at most.
    cdef Py_ssize_t i, v, first = 0, m = 0
    cdef int tail
    cdef double gain = 0.0, left_out = -INFINITY
    cdef int *wider = parents
    cdef int[MOST_AHEAD + 1] heads      # by their bounds, which are exact after their rows were read
    for v in range(moves.n if least_gain < INFINITY else 0):
        if moves.bound[v] + moves.bonus[C_ADD] < least_gain or moves.bound[v] <= left_out:
            continue
        i = m
        while i > 0 and comes_before(moves, v, heads[i - 1]):
            heads[i] = heads[i - 1]
            i -= 1
        heads[i] = <int>v
        m += 1
        if m > MOST_AHEAD:
            m -= 1
            left_out = moves.bound[heads[m]]
    while first < m and n < most:
        v = heads[first]
        tail, i = moves.best_addition(v, least_gain, &gain), first + 1
        while tail >= 0 and i < m and comes_before(moves, heads[i], v):
            heads[i - 1] = heads[i]
            i += 1
        heads[i - 1] = <int>v
        if i > first + 1:
            continue
        first += 1
        if tail < 0 or moves.bound[v] <= left_out or is_expected(families, n, tail, v):
            continue
        insert_parent(wider, moves.dag.parents[v], moves.dag.n_parents[v], tail)
        families[n] = Family(v, moves.dag.n_parents[v] + 1, wider, ALL, NULL)
        wider += moves.n
        n += 1
    return n


# ---- after random draws ----

cdef inline Py_ssize_t copy_family(DagMoves moves, Py_ssize_t child, Family *families, int *parents, Py_ssize_t n) \
        noexcept nogil:
    # Appends the present family of a child to n others; returns the new number.
    cdef Py_ssize_t k = moves.dag.n_parents[child]
    memcpy(parents + n * moves.n, moves.dag.parents[child], k * sizeof(int))
    families[n] = Family(child, k, parents + n * moves.n, ALL, NULL)
    return n + 1


cdef inline void turn_gains(DagMoves moves, const Move *move) noexcept nogil:
    moves.gains[move.head, move.tail] = -moves.gains[move.head, move.tail]
    if move.op == C_REVERSE:
        moves.gains[move.tail, move.head] = -moves.gains[move.tail, move.head]


cdef inline int take_back(DagMoves moves, const Move *move) except -1 nogil:
    if move.op == C_ADD:
        moves.remove(move.tail, move.head)
    elif move.op == C_REVERSE:
        moves.remove(move.head, move.tail)
    if move.op != C_ADD:
        moves.insert(move.tail, move.head)
    turn_gains(moves, move)
    return 0


cdef inline Py_ssize_t list_draws(
    DagMoves moves, Move made, double temperature, Py_ssize_t n_draws, uint64_t word, Family *families, int *parents
) except -1 nogil:
    # Writes the families of a move just made, whose gains are still those before, and those after the next accepted
    # draws, 2 * DRAWS_AHEAD + 2 at most; returns how many.
    cdef Move[DRAWS_AHEAD] accepted
    cdef Py_ssize_t n = copy_family(moves, made.head, families, parents, 0), m = 0, i
    cdef Move *move
    if made.op == C_REVERSE:
        n = copy_family(moves, made.tail, families, parents, n)
    turn_gains(moves, &made)
    while m < DRAWS_AHEAD and n_draws > 0:
        n_draws -= 1
        move = accepted + m
        if not moves.draw_once(temperature, &word, move):
            continue
        if move.op != C_ADD:
            moves.remove(move.tail, move.head)
        if move.op == C_ADD:
            moves.insert(move.tail, move.head)
        elif move.op == C_REVERSE:
            moves.insert(move.head, move.tail)
            n = copy_family(moves, move.tail, families, parents, n)
        turn_gains(moves, move)
        n = copy_family(moves, move.head, families, parents, n)
        m += 1
    for i in range(m - 1, -1, -1):
        take_back(moves, accepted + i)
    turn_gains(moves, &made)
    return n

"""One step of variable elimination: the product of tables summed over one variable, or their sum maximised over it.

Problem: out[y] = sum over the states k of v of the product of T_t[y, k] over the tables T_t that have v in their
scope; or the maximum over k of the sum of T_t[y, k], tables of logarithms, with the first maximising state.
y are the states of all other variables in the scopes.
Algorithm: the trailing axes of the result form a block of up to 4,096 cells, whose positions in each table are listed
once. A counter over the other axes moves the first cell of each table. The product is never stored. Maximising states
are stored in 1, 2, 4, 8, 16 or 32 bits each.
Cost: one multiplication (addition) per cell of the result, state and table. Thread-safety: inputs are only read, `out`
and `best` are written; the GIL is released.
Reference: Koller & Friedman (2009), Probabilistic Graphical Models, algorithms 9.1 (sum-product variable elimination)
and 13.1 (max-product variable elimination).
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

cdef enum:
    BLOCK = 4096

cdef struct Table:
    const double *cells     # its first cell for the present block
    int64_t step            # cells from one state of the variable to the next
    int64_t *places         # of the cells of a block

cdef struct Choices:
    uint8_t *packed         # NULL for sums
    int n_bits              # of a state


cdef void sum_block(
    const Table *tables, Py_ssize_t n_tables, Py_ssize_t n_states, Py_ssize_t size, double *out
) noexcept nogil:
    cdef Py_ssize_t i, k, t
    cdef double total, product
    cdef const double *first
    cdef const double *second
    if n_tables == 2:
        for i in range(size):
            first, second = tables[0].cells + tables[0].places[i], tables[1].cells + tables[1].places[i]
            total = 0.0
            for k in range(n_states):
                total += first[k * tables[0].step] * second[k * tables[1].step]
            out[i] = total
        return
    for i in range(size):
        total = 0.0
        for k in range(n_states):
            product = 1.0
            for t in range(n_tables):
                product *= tables[t].cells[tables[t].places[i] + k * tables[t].step]
            total += product
        out[i] = total


cdef inline void store_state(Choices choices, Py_ssize_t cell, Py_ssize_t state) noexcept nogil:
    """Write a state into bits that are still zero."""
    cdef Py_ssize_t first = cell * choices.n_bits >> 3
    choices.packed[first] |= <uint8_t>(state << (cell * choices.n_bits & 7))
    while state > 255:
        state >>= 8
        first += 1
        choices.packed[first] = state & 255


cdef void maximise_block(
    const Table *tables, Py_ssize_t n_tables, Py_ssize_t n_states, Py_ssize_t size, double *out, Choices choices,
    Py_ssize_t start
) noexcept nogil:
    cdef Py_ssize_t i, k, t, state
    cdef double score, best
    cdef const double *first
    cdef const double *second
    for i in range(size):
        state = 0
        if n_tables == 2:
            first, second = tables[0].cells + tables[0].places[i], tables[1].cells + tables[1].places[i]
            best = first[0] + second[0]
            for k in range(1, n_states):
                score = first[k * tables[0].step] + second[k * tables[1].step]
                state = k if score > best else state
                best = score if score > best else best
        else:
            for k in range(n_states):
                score = 0.0
                for t in range(n_tables):
                    score += tables[t].cells[tables[t].places[i] + k * tables[t].step]
                if k == 0 or score > best:
                    best, state = score, k
        out[i] = best
        store_state(choices, start + i, state)


cdef double contract(
    list tables, const int64_t[:, ::1] strides, const int64_t[::1] shape, Py_ssize_t n_states, double[::1] out,
    Choices choices
) except? -1.0:
    """Write the result block by block; return its largest cell."""
    cdef Py_ssize_t n_tables = len(tables), n_axes = shape.shape[0], split = n_axes, size = 1, n_blocks = 1
    cdef Py_ssize_t i, j, t, block, axis
    cdef double largest = 0.0
    cdef const double[::1] cells
    while split and size * shape[split - 1] <= BLOCK:
        split -= 1
        size *= shape[split]
    for axis in range(split):
        n_blocks *= shape[axis]
    cdef Table *inner = <Table *>malloc(n_tables * sizeof(Table) + 1)
    cdef int64_t *places = <int64_t *>malloc(n_tables * size * sizeof(int64_t) + 1)
    cdef int64_t *digits = <int64_t *>malloc((split + 1) * sizeof(int64_t))
    try:
        if inner == NULL or places == NULL or digits == NULL:
            raise MemoryError("no memory for the places of a block of cells")
        for t in range(n_tables):
            cells = tables[t]
            inner[t].cells, inner[t].step, inner[t].places = &cells[0], strides[t, n_axes], places + t * size
            for i in range(size):
                j = i
                inner[t].places[i] = 0
                for axis in range(n_axes - 1, split - 1, -1):
                    inner[t].places[i] += (j % shape[axis]) * strides[t, axis]
                    j //= shape[axis]
        for axis in range(split):
            digits[axis] = 0
        with nogil:
            for block in range(n_blocks):
                if choices.packed == NULL:
                    sum_block(inner, n_tables, n_states, size, &out[block * size])
                else:
                    maximise_block(inner, n_tables, n_states, size, &out[block * size], choices, block * size)
                if block == 0:
                    largest = out[0]
                for i in range(size):
                    largest = max(largest, out[block * size + i])
                axis = split - 1
                while axis >= 0:
                    digits[axis] += 1
                    for t in range(n_tables):
                        inner[t].cells += strides[t, axis]
                    if digits[axis] < shape[axis]:
                        break
                    for t in range(n_tables):
                        inner[t].cells -= strides[t, axis] * shape[axis]
                    digits[axis] = 0
                    axis -= 1
    finally:
        free(inner)
        free(places)
        free(digits)
    return largest


def sum_product(
    list tables,                    # in: float64 arrays, contiguous, of one axis
    const int64_t[:, ::1] strides,  # in: (tables, axes + 1) cells from one state to the next; the variable's come last
    const int64_t[::1] shape,       # in: (axes,) of the result
    Py_ssize_t n_states,            # of the variable
    double[::1] out,                # out: the result, its last axis contiguous
):
    """Write the sum over the variable's states of the product of the tables; return the largest cell."""
    cdef Choices choices
    choices.packed, choices.n_bits = NULL, 0
    return contract(tables, strides, shape, n_states, out, choices)


def max_sum(
    list tables,                    # in: float64 arrays of logarithms, contiguous, of one axis
    const int64_t[:, ::1] strides,  # in: (tables, axes + 1) cells from one state to the next; the variable's come last
    const int64_t[::1] shape,       # in: (axes,) of the result
    Py_ssize_t n_states,            # of the variable
    double[::1] out,                # out: the result, its last axis contiguous
    int n_bits,                     # of a state in `best`: 1, 2, 4, 8, 16 or 32
    uint8_t[::1] best,              # in: zeros; out: the first best state of each cell, from its lowest bits on
):
    """Write the maximum over the variable's states of the sum of the tables, and the state; return the largest."""
    cdef Choices choices
    choices.packed, choices.n_bits = &best[0], n_bits
    return contract(tables, strides, shape, n_states, out, choices)

"""Joint counts of lists of pairs of variables, and of all pairs, in compact storage.

Problem: count the tables of varying subsets of the n (n - 1) / 2 pairs, repeatedly. Algorithm: only the cells of kept
states are counted (all states of a variable except the last; the rest follows from the marginals). A cell is the
population count of an AND of two bit planes. If there are many states, the table is a histogram over the codes. Sums of
row weights are always histograms, of complete tables.
A table begins at ``where[e]`` of a flat store, with a row stride of ``stride[e]`` cells. This layout is the same for a
triangle of all pairs and for an arena filled in the order of requests. A hash table with linear probing has the place
of each pair.
Cost of a table: kept cells * N/512 vector operations with AVX-512; one addition per row for a histogram.
Thread-safety: the counters read their inputs and write only the cells of their own pairs, so threads may count lists
without common pairs. Claims change the index and must be made by one thread.
Reference for the probing: Knuth (1998), The Art of Computer Programming 3, 2nd ed., section 6.4, algorithm L.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import math

import numpy as np

from _simd cimport pgmx_count_and, select_simd_level

cdef enum:
    BLOCK_WORDS = 512           # words of a plane that are processed together
    TILE = 32                   # rows of the triangle counted against the same columns
    MOST_PLANES = 256
    LANES = 4                   # parallel histograms, so that equal adjacent codes do not stall
    LANE_CELLS = 4096           # larger tables have one lane

cdef int SIMD = select_simd_level()

# Number of cells from which a histogram is faster than planes, measured at each level.
cdef Py_ssize_t MANY_CELLS = (32, 100, 200, 480)[SIMD]
HISTOGRAM_CELLS = MANY_CELLS

# Variables with more states are left out of the count of all pairs by planes.
MANY_STATES = 1 + math.isqrt(MANY_CELLS)

ctypedef fused code_t:
    uint8_t
    uint16_t

ctypedef fused cell_t:
    uint32_t
    double


def scratch_cells(Py_ssize_t largest):
    """Return the number of scratch cells for tables of at most `largest` cells."""
    return max(largest, min(largest, LANE_CELLS) * LANES)


def count_triangle(
    const uint64_t[:, ::1] planes,      # in: (all planes, words)
    const int64_t[::1] chosen,          # in: (m,) the kept planes, variable by variable
    const int64_t[::1] after,           # in: (m,) position of the first plane of the next variable among the chosen
    const int64_t[::1] row,             # in: (m,) cell of the store for column 0 of a plane's row
    const int64_t[::1] column,          # in: (m,) column of a plane
    Py_ssize_t first,                   # in: chosen planes [first, last) are counted against later variables
    Py_ssize_t last,
    Py_ssize_t first_word,              # in: only over these words, multiples of 8
    Py_ssize_t last_word,
    uint32_t[::1] store,                # inout: counts are added
):
    """Add ``|planes[chosen[i]] & planes[chosen[j]]|`` to ``store[row[i] + column[j]]`` for j >= after[i]."""
    cdef Py_ssize_t m = chosen.shape[0], i, j, k, tile, begin, end, head, tail
    cdef uint32_t[8] found
    pointers = np.empty(max(m, 1), dtype=np.uintp)
    cdef size_t[::1] address = pointers
    for i in range(m):
        address[i] = <size_t>&planes[chosen[i], 0]
    cdef const uint64_t **plane = <const uint64_t **>&address[0]
    with nogil:
        begin = first_word
        while begin < last_word:
            end = min(begin + BLOCK_WORDS, last_word)
            tile = first
            while tile < last:
                j = tile & ~7
                while j < m:
                    tail = min(j + 8, m)
                    for i in range(tile, min(tile + TILE, last)):
                        head = max(j, after[i])
                        if head >= tail:
                            continue
                        if column[tail - 1] - column[head] == tail - 1 - head:
                            pgmx_count_and(
                                plane[i], plane + head, tail - head, begin, end, &store[row[i] + column[head]]
                            )
                        else:   # there are variables without planes in between
                            memset(found, 0, sizeof(found))
                            pgmx_count_and(plane[i], plane + head, tail - head, begin, end, found)
                            for k in range(tail - head):
                                store[row[i] + column[head + k]] += found[k]
                    j += 8
                tile += TILE
            begin = end


def count_list(
    const code_t[:, ::1] codes,         # in: (n, rows)
    const uint64_t[:, ::1] planes,      # in: (all planes, words)
    const int64_t[::1] plane_offsets,   # in: (n + 1,)
    const int64_t[::1] cardinalities,   # in: (n,)
    const int64_t[::1] kept,            # in: (n,) number of counted states of a variable
    const int64_t[:, ::1] pairs,        # in: (k, 2)
    const int64_t[::1] where,           # in: (k,) first cell of a table in the store
    const int64_t[::1] stride,          # in: (k,) cells from one of its rows to the next
    uint32_t[::1] store,                # inout: counts are added
    uint32_t[::1] scratch,              # zeros, of scratch_cells(largest table) cells; zeros again afterwards
):
    """Add the counts of the tables of k pairs, ``table[a, b]`` at ``store[where + a * stride + b]``."""
    cdef Py_ssize_t e, i, j, a, n_words = planes.shape[1], n_rows = codes.shape[1], begin, end
    cdef const uint64_t *plane
    cdef const uint64_t *cells[MOST_PLANES]
    if n_rows == 0:
        return
    with nogil:
        for e in range(pairs.shape[0]):
            i, j = pairs[e, 0], pairs[e, 1]
            if kept[i] == 0 or kept[j] == 0:
                continue
            if (
                kept[i] * kept[j] >= MANY_CELLS
                or plane_offsets[i] == plane_offsets[i + 1] or plane_offsets[j] == plane_offsets[j + 1]
            ):
                histogram(&codes[i, 0], &codes[j, 0], n_rows, cardinalities[i], cardinalities[j], &scratch[0])
                fold(&scratch[0], cardinalities[i], cardinalities[j], kept[i], kept[j], stride[e], &store[where[e]])
                continue
            for a in range(kept[j]):
                cells[a] = &planes[plane_offsets[j] + a, 0]
            begin = 0
            while begin < n_words:
                end = min(begin + BLOCK_WORDS, n_words)
                for a in range(kept[i]):
                    plane = &planes[plane_offsets[i] + a, 0]
                    pgmx_count_and(plane, cells, kept[j], begin, end, &store[where[e] + a * stride[e]])
                begin = end


def sum_list(
    const code_t[:, ::1] codes,         # in: (n, rows)
    const double[::1] weights,          # in: (rows,)
    const int64_t[::1] cardinalities,   # in: (n,)
    const int64_t[::1] kept,            # in: (n,)
    const int64_t[:, ::1] pairs,        # in: (k, 2)
    const int64_t[::1] where,           # in: (k,)
    const int64_t[::1] stride,          # in: (k,)
    double[::1] store,                  # inout: sums are added
    double[::1] scratch,                # zeros, as for count_list
):
    """Add the sums of the row weights in the cells of the tables of k pairs."""
    cdef Py_ssize_t e, i, j, n_rows = codes.shape[1]
    if n_rows == 0:
        return
    with nogil:
        for e in range(pairs.shape[0]):
            i, j = pairs[e, 0], pairs[e, 1]
            weighted_histogram(
                &codes[i, 0], &codes[j, 0], &weights[0], n_rows, cardinalities[i], cardinalities[j], &scratch[0]
            )
            fold(&scratch[0], cardinalities[i], cardinalities[j], kept[i], kept[j], stride[e], &store[where[e]])


cdef inline Py_ssize_t lanes_of(Py_ssize_t cells) noexcept nogil:
    return LANES if cells <= LANE_CELLS else 1


cdef inline void histogram(
    const code_t *x, const code_t *y, Py_ssize_t n_rows, Py_ssize_t r, Py_ssize_t s, uint32_t *scratch
) noexcept nogil:
    cdef Py_ssize_t m, size = r * s, lane = size if lanes_of(size) > 1 else 0
    for m in range(0, n_rows - 3, 4):
        scratch[x[m] * s + y[m]] += 1
        scratch[lane + x[m + 1] * s + y[m + 1]] += 1
        scratch[2 * lane + x[m + 2] * s + y[m + 2]] += 1
        scratch[3 * lane + x[m + 3] * s + y[m + 3]] += 1
    for m in range(n_rows & ~<Py_ssize_t>3, n_rows):
        scratch[x[m] * s + y[m]] += 1


cdef inline void weighted_histogram(
    const code_t *x, const code_t *y, const double *w, Py_ssize_t n_rows, Py_ssize_t r, Py_ssize_t s, double *scratch
) noexcept nogil:
    cdef Py_ssize_t m, size = r * s, lane = size if lanes_of(size) > 1 else 0
    for m in range(0, n_rows - 3, 4):
        scratch[x[m] * s + y[m]] += w[m]
        scratch[lane + x[m + 1] * s + y[m + 1]] += w[m + 1]
        scratch[2 * lane + x[m + 2] * s + y[m + 2]] += w[m + 2]
        scratch[3 * lane + x[m + 3] * s + y[m + 3]] += w[m + 3]
    for m in range(n_rows & ~<Py_ssize_t>3, n_rows):
        scratch[x[m] * s + y[m]] += w[m]


cdef inline void fold(
    cell_t *scratch, Py_ssize_t r, Py_ssize_t s, Py_ssize_t kept_r, Py_ssize_t kept_s, Py_ssize_t stride, cell_t *table
) noexcept nogil:
    # Adds the lanes of a histogram to the kept cells of its table and clears them.
    cdef Py_ssize_t a, b, lane, size = r * s, lanes = lanes_of(size)
    cdef cell_t total
    for a in range(kept_r):
        for b in range(kept_s):
            total = scratch[a * s + b]
            for lane in range(1, lanes):
                total = total + scratch[lane * size + a * s + b]
            table[a * stride + b] += total
    memset(scratch, 0, size * lanes * sizeof(cell_t))


def fill_tables(
    const cell_t[::1] store,            # in: kept cells
    const int64_t[:, ::1] pairs,        # in: (k, 2) as they are stored
    const uint8_t[::1] turned,          # in: (k,) whether the table is returned with its axes exchanged
    const int64_t[::1] where,           # in: (k,)
    const int64_t[::1] stride,          # in: (k,)
    const int64_t[::1] cardinalities,   # in: (n,)
    const int64_t[::1] kept,            # in: (n,) all states, or all except the last
    const double[::1] marginals,        # in: (all states,) sums of the rows in a state
    const int64_t[::1] first_state,     # in: (n + 1,)
    double total,                       # in: sum over all rows
    const int64_t[::1] begins,          # in: (k,) where the tables begin in the result
    double[::1] tables,                 # out: complete tables, cells divided by the total, row-major
):
    """Complete tables from the marginals and divide them by the total."""
    cdef Py_ssize_t e, a, b, r, s, by_a, by_b
    cdef const cell_t *cells
    cdef const double *of_i
    cdef const double *of_j
    cdef double *out
    cdef double cell, rest
    with nogil:
        for e in range(pairs.shape[0]):
            r, s = cardinalities[pairs[e, 0]], cardinalities[pairs[e, 1]]
            of_i, of_j = &marginals[first_state[pairs[e, 0]]], &marginals[first_state[pairs[e, 1]]]
            out = &tables[begins[e]]
            by_a = 1 if turned[e] else s
            by_b = r if turned[e] else 1
            for a in range(kept[pairs[e, 0]]):
                cells = &store[where[e] + a * stride[e]] if kept[pairs[e, 1]] > 0 else NULL
                rest = of_i[a]
                for b in range(kept[pairs[e, 1]]):
                    cell = cells[b]
                    rest -= cell
                    out[a * by_a + b * by_b] = cell
                if kept[pairs[e, 1]] < s:
                    out[a * by_a + (s - 1) * by_b] = rest
            if kept[pairs[e, 0]] < r:
                for b in range(s):
                    rest = of_j[b]
                    for a in range(r - 1):
                        rest -= out[a * by_a + b * by_b]
                    out[(r - 1) * by_a + b * by_b] = rest
            for a in range(r * s):
                out[a] /= total


def claim_flags(uint8_t[::1] known, const int64_t[::1] positions, uint8_t[::1] missing):
    """Write the positions that were not known, each once, and mark them as known."""
    cdef Py_ssize_t e
    with nogil:
        for e in range(positions.shape[0]):
            missing[e] = not known[positions[e]]
            known[positions[e]] = True


cdef inline Py_ssize_t slot_of(const int64_t[::1] keys, int64_t key) noexcept nogil:
    # The slot of the key, or the free slot for it; the number of slots is a power of two.
    cdef Py_ssize_t last = keys.shape[0] - 1
    cdef Py_ssize_t slot = <Py_ssize_t>((<uint64_t>key * 0x9E3779B97F4A7C15u) >> 20) & last
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & last
    return slot


def claim_cells(
    int64_t[::1] keys,                  # inout: (slots,) key + 1 of the stored pairs, 0 if free
    int64_t[::1] places,                # inout: (slots,) first cell of the pair
    const int64_t[::1] wanted,          # in: (k,) keys
    const int64_t[::1] sizes,           # in: (k,) number of cells of the pairs
    Py_ssize_t n_cells,                 # in: number of cells
    Py_ssize_t most,                    # in: maximum number of stored pairs
    int64_t[::1] used,                  # inout: (2,) stored pairs, used cells
    int64_t[::1] where,                 # out: (k,)
    uint8_t[::1] missing,               # out: (k,) whether it was not stored
):
    """Find or assign the cells of the pairs; return the number of pairs served before space ran out."""
    cdef Py_ssize_t e, slot, served = wanted.shape[0]
    with nogil:
        for e in range(wanted.shape[0]):
            slot = slot_of(keys, wanted[e] + 1)
            missing[e] = keys[slot] == 0
            if missing[e]:
                if used[0] >= most or used[1] + sizes[e] > n_cells:
                    served = e
                    break
                keys[slot] = wanted[e] + 1
                places[slot] = used[1]
                used[0] += 1
                used[1] += sizes[e]
            where[e] = places[slot]
    return served

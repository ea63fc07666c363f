"""Kendall's tau-b and Spearman's rho of all pairs of columns.

Problem: for each pair of p columns with n rows, count concordant, discordant and tied pairs of rows, or sum the
products of ranks. Algorithms (see _ranks.h): comparison bits with XOR and population counts, a block of rows at a time
for all columns, n^2 / 2 bits per pair of columns; or Knight's inversions, n log n per pair, for many rows. Missing
values are left out pair by pair. All counts are integers, identical on every level and for any division of the work.
Thread-safety: functions write only the planes, or the entries of the pairs, given by their arguments, so that threads
may process blocks of columns. The GIL is released for all of the work.
References: Knight (1966), A computer method for calculating Kendall's tau with ungrouped data, JASA 61, 436-439, and
Kendall (1945), The treatment of ties in ranking problems, Biometrika 33, 239-251, for tau-b.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from _simd cimport select_simd_level, simd_levels


cdef extern from "_ranks.h" nogil:
    int PGMX_TILE, PGMX_CLEAN, PGMX_TIED, PGMX_GAPPED
    int pgmx_ranks_level
    ctypedef struct pgmx_comparisons:
        const uint64_t **greater
        const uint64_t **untied
        const uint64_t **known
        const unsigned char *kind
        Py_ssize_t n_words
    void pgmx_count_tiles(
        const pgmx_comparisons *c, Py_ssize_t first, Py_ssize_t last, Py_ssize_t p, const int64_t *column,
        uint64_t *store
    )
    void pgmx_compare_rows(
        const int32_t *order, const int32_t *code, Py_ssize_t n_known, Py_ssize_t begin, Py_ssize_t end,
        const int64_t *offset, Py_ssize_t n_words, uint64_t *greater, uint64_t *untied, uint64_t *known,
        uint64_t *seen, uint64_t *equal, uint64_t *all
    )
    Py_ssize_t pgmx_ranks_among(
        const int32_t *order, const int32_t *code, Py_ssize_t n_known, const int32_t *other, uint32_t *rank,
        int64_t *tied
    )
    int64_t pgmx_discordant_untied(
        const int32_t *code_x, const int32_t *order_y, Py_ssize_t n, uint32_t *a, uint32_t *b
    )
    int64_t pgmx_discordant_tied(
        const uint32_t *rank_x, const uint32_t *rank_y, const int32_t *order_y, const int32_t *code_x,
        Py_ssize_t n_known, Py_ssize_t m, uint32_t *rows, uint32_t *a, uint32_t *b, uint32_t *next, int64_t *joint
    )

pgmx_ranks_level = select_simd_level()
SIMD_LEVEL = simd_levels()[pgmx_ranks_level]
TILE = PGMX_TILE
CLEAN, TIED, GAPPED = PGMX_CLEAN, PGMX_TIED, PGMX_GAPPED

# Number of rows from which inversions are faster than planes: columns without ties, with ties, with missing values;
# measured at each level.
MANY_ROWS = ((1300, 1000, 500), (2200, 1200, 800), (3400, 1600, 1200), (2300, 1900, 1700))[pgmx_ranks_level]


cdef inline double quotient(double balance, double of_x, double of_y) noexcept nogil:
    # No root for equal totals, so that a pair in perfect order has exactly 1.
    if of_x == 0 or of_y == 0:
        return 0.0
    if of_x == of_y:
        return balance / of_x
    return balance / sqrt(of_x * of_y)


def compare_rows(
    const int32_t[:, ::1] order,        # in: (p, n) rows by value, missing values last
    const int32_t[:, ::1] codes,        # in: (p, n) number of smaller observed values, -1 if missing
    const int64_t[::1] n_known,         # in: (p,)
    const int64_t[::1] columns,         # in: (p,) columns sorted by kind
    const uint8_t[::1] kinds,           # in: (p,) CLEAN, TIED or GAPPED, of the sorted columns
    Py_ssize_t first,                   # in: sorted columns [first, last)
    Py_ssize_t last,
    Py_ssize_t begin,                   # in: rows [begin, end)
    Py_ssize_t end,
    const int64_t[::1] offset,          # in: (end - begin,) first word of a row's comparisons
    uint64_t[:, ::1] greater,           # out: (p, words)
    uint64_t[:, ::1] untied,            # out: (columns that are not clean, words)
    uint64_t[:, ::1] known,             # out: (gapped columns, words)
):
    """Write the comparison planes of a block of rows for some columns."""
    cdef Py_ssize_t k, c, p = columns.shape[0], words = (end + 63) >> 6, n_words = greater.shape[1]
    cdef Py_ssize_t no_ties = p - untied.shape[0], no_gaps = p - known.shape[0]
    cdef uint64_t[:, ::1] scratch = np.empty((3, max(words, 1)), dtype=np.uint64)
    cdef uint64_t *of_ties
    cdef uint64_t *of_gaps
    with nogil:
        for k in range(first, last):
            c = columns[k]
            of_ties = &untied[k - no_ties, 0] if kinds[k] != PGMX_CLEAN else NULL
            of_gaps = &known[k - no_gaps, 0] if kinds[k] == PGMX_GAPPED else NULL
            pgmx_compare_rows(
                &order[c, 0], &codes[c, 0], n_known[c], begin, end, &offset[0], n_words, &greater[k, 0],
                of_ties, of_gaps, &scratch[0, 0], &scratch[1, 0], &scratch[2, 0]
            )


cdef size_t[::1] addresses(const uint64_t[:, ::1] planes, const uint64_t[::1] ones, Py_ssize_t p, Py_ssize_t padded):
    # Pointers to the planes of the last columns, the plane of ones for those before, the last one again up to a tile.
    cdef Py_ssize_t k, row, without = p - planes.shape[0]
    cdef size_t[::1] found = np.empty(padded, dtype=np.uintp)
    for k in range(padded):
        row = min(k, p - 1) - without
        found[k] = <size_t>&planes[row, 0] if row >= 0 else <size_t>&ones[0]
    return found


def count_tiles(
    const uint64_t[:, ::1] greater,     # in: (p, words) as compare_rows wrote them
    const uint64_t[:, ::1] untied,
    const uint64_t[:, ::1] known,
    const uint64_t[::1] ones,           # in: (words,) a one for every comparison
    const int64_t[::1] columns,         # in: (p,)
    const uint8_t[::1] kinds,           # in: (p,)
    Py_ssize_t first,                   # in: tiles of sorted columns [first, last) against all later ones
    Py_ssize_t last,
    uint64_t[:, ::1] store,             # inout: (p, p), counts are added
):
    """Add the counts of a block of rows to the pairs of columns of some tiles."""
    cdef Py_ssize_t p = columns.shape[0], k, padded = (p + PGMX_TILE - 1) // PGMX_TILE * PGMX_TILE
    cdef size_t[::1] of_greater = addresses(greater, ones, p, padded)
    cdef size_t[::1] of_untied = addresses(untied, ones, p, padded)
    cdef size_t[::1] of_known = addresses(known, ones, p, padded)
    cdef uint8_t[::1] kind = np.empty(padded, dtype=np.uint8)
    for k in range(padded):
        kind[k] = kinds[min(k, p - 1)]
    cdef pgmx_comparisons planes
    planes.greater = <const uint64_t **>&of_greater[0]
    planes.untied = <const uint64_t **>&of_untied[0]
    planes.known = <const uint64_t **>&of_known[0]
    planes.kind = &kind[0]
    planes.n_words = greater.shape[1]
    with nogil:
        pgmx_count_tiles(&planes, first, last, p, &columns[0], &store[0, 0])


def finish_taus(
    const int64_t[::1] columns,         # in: (p,) sorted by kind
    const uint8_t[::1] kinds,           # in: (p,)
    const int64_t[::1] untied_pairs,    # in: (p,) pairs of rows that are not tied, of the columns of the store
    int64_t n_pairs,                    # in: n (n - 1) / 2
    Py_ssize_t first,                   # in: sorted columns [first, last) with all later ones
    Py_ssize_t last,
    const uint64_t[:, ::1] store,       # in: (p, p) the counts
    double[:, ::1] out,                 # out: (p, p), may be the memory of the store
):
    """Convert counts to tau-b."""
    cdef Py_ssize_t i, j, x, y
    cdef uint64_t cell, totals
    cdef int64_t untied
    with nogil:
        for i in range(first, last):
            x = columns[i]
            for j in range(i + 1, columns.shape[0]):
                y = columns[j]
                cell, totals = store[x, y], store[y, x]
                # The kind refers to the pair of tiles; for untied comparisons all counts of clean pairs are the same.
                untied = n_pairs if kinds[j] == PGMX_CLEAN else <int64_t>(cell >> 32)
                untied -= 2 * <int64_t>(cell & 0xffffffffu)
                if kinds[j] == PGMX_GAPPED:
                    out[x, y] = quotient(untied, <double>(totals & 0xffffffffu), <double>(totals >> 32))
                else:
                    out[x, y] = quotient(untied, untied_pairs[x], untied_pairs[y])
                out[y, x] = out[x, y]


def taus_by_inversions(
    const int32_t[:, ::1] order,        # in: (p, n)
    const int32_t[:, ::1] codes,        # in: (p, n)
    const int64_t[::1] n_known,         # in: (p,)
    const int64_t[::1] tied_pairs,      # in: (p,)
    Py_ssize_t first,                   # in: columns [first, last) with all later ones
    Py_ssize_t last,
    double[:, ::1] out,                 # out: (p, p)
):
    """Write tau-b of pairs of columns with many rows."""
    cdef Py_ssize_t i, j, m, p = codes.shape[0], n = codes.shape[1]
    cdef int64_t of_x, of_y, joint, pairs, wrong
    cdef uint32_t[:, ::1] scratch = np.empty((6, n), dtype=np.uint32)
    cdef uint32_t *a = &scratch[0, 0]
    cdef uint32_t *b = &scratch[1, 0]
    cdef const uint32_t *rank_x
    cdef const uint32_t *rank_y
    with nogil:
        for i in range(first, last):
            for j in range(i + 1, p):
                if n_known[i] == n and n_known[j] == n:
                    m, of_x, of_y = n, tied_pairs[i], tied_pairs[j]
                    rank_x, rank_y = <const uint32_t *>&codes[i, 0], <const uint32_t *>&codes[j, 0]
                else:
                    pgmx_ranks_among(&order[i, 0], &codes[i, 0], n_known[i], &codes[j, 0], &scratch[2, 0], &of_x)
                    m = pgmx_ranks_among(
                        &order[j, 0], &codes[j, 0], n_known[j], &codes[i, 0], &scratch[3, 0], &of_y
                    )
                    rank_x, rank_y = &scratch[2, 0], &scratch[3, 0]
                pairs, joint = <int64_t>m * (m - 1) // 2, 0
                if m == n and of_x == 0 and of_y == 0:
                    wrong = pgmx_discordant_untied(&codes[i, 0], &order[j, 0], n, a, b)
                else:
                    wrong = pgmx_discordant_tied(
                        rank_x, rank_y, &order[j, 0], &codes[i, 0], n_known[j], m, &scratch[4, 0], a, b,
                        &scratch[5, 0], &joint
                    )
                out[i, j] = quotient(pairs - of_x - of_y + joint - 2 * wrong, pairs - of_x, pairs - of_y)
                out[j, i] = out[i, j]


cdef inline double group_of(
    const int32_t *order, Py_ssize_t n_known, const int32_t *other, const uint32_t *rank, int32_t *group
) noexcept nogil:
    # Number of rows, observed in both, with each rank; returns the sum of squares of the doubled, centred average
    # ranks.
    cdef Py_ssize_t k, m = 0
    cdef int64_t doubled
    cdef double total = 0  # an integer would overflow 64 bits from 3 million rows on
    for k in range(n_known):
        if other[order[k]] >= 0:
            group[rank[order[k]]] = 0
            m += 1
    for k in range(n_known):
        if other[order[k]] >= 0:
            group[rank[order[k]]] += 1
    for k in range(n_known):
        if other[order[k]] >= 0:
            doubled = 2 * <int64_t>rank[order[k]] + group[rank[order[k]]] - m
            total += <double>(doubled * doubled)
    return total


def rhos_of_known_rows(
    const int32_t[:, ::1] order,        # in: (p, n)
    const int32_t[:, ::1] codes,        # in: (p, n)
    const int64_t[::1] n_known,         # in: (p,)
    Py_ssize_t first,                   # in: columns [first, last) with all later ones, if either has missing values
    Py_ssize_t last,
    double[:, ::1] out,                 # out: (p, p), other pairs are not changed
):
    """Write Spearman's rho over the rows in which both columns are observed, with average ranks of these rows."""
    cdef Py_ssize_t i, j, k, r, m, p = codes.shape[0], n = codes.shape[1]
    cdef int64_t tied
    cdef double of_x, of_y, both
    cdef uint32_t[:, ::1] rank = np.empty((2, n), dtype=np.uint32)
    cdef int32_t[:, ::1] group = np.empty((2, n), dtype=np.int32)
    with nogil:
        for i in range(first, last):
            for j in range(i + 1, p):
                if n_known[i] == n and n_known[j] == n:
                    continue
                pgmx_ranks_among(&order[i, 0], &codes[i, 0], n_known[i], &codes[j, 0], &rank[0, 0], &tied)
                m = pgmx_ranks_among(&order[j, 0], &codes[j, 0], n_known[j], &codes[i, 0], &rank[1, 0], &tied)
                of_x = group_of(&order[i, 0], n_known[i], &codes[j, 0], &rank[0, 0], &group[0, 0])
                of_y = group_of(&order[j, 0], n_known[j], &codes[i, 0], &rank[1, 0], &group[1, 0])
                both = 0
                for k in range(n_known[j]):
                    r = order[j, k]
                    if codes[i, r] >= 0:
                        both += <double>(
                            (2 * <int64_t>rank[0, r] + group[0, rank[0, r]] - m)
                            * (2 * <int64_t>rank[1, r] + group[1, rank[1, r]] - m)
                        )
                out[i, j] = quotient(both, of_x, of_y)
                out[j, i] = out[i, j]

/* Moments of a few columns within a few cells, chosen once at run time.
 *
 *   pgmx_masked_add        adds the products of a block of rows to the sums of their cells
 *   pgmx_masked_moments    the same from at most three columns, with products made in registers
 *   pgmx_cell_moments      the same from one column, row by row; faster for more than pgmx_masked_most cells
 *   pgmx_masked_multiply   target[i] = left[i] * right[i] for i < n
 *
 * The cell codes of 256 rows are compared with each cell, which gives a mask of its rows; vectors of products
 * are added under the mask. Row i is added to lane i mod 8 of a sum, and nothing is fused: all levels give the same bits.
 * Nothing here allocates or fails; after pgmx_masked_select it is safe to call from any number of threads.
 */
#ifndef PGMX_MASKED_H
#define PGMX_MASKED_H

#include "_simd.h"

enum { PGMX_MASKED_ROWS = 256, PGMX_MASKED_LANES = 8, PGMX_MASKED_COLUMNS = 3, PGMX_CELL_WIDTH = 4 };

/* products: (n_products, 256), 64-byte aligned; cell: (256,), 65535 for a row that does not count;
 * counts: (n_cells,); sums: (n_cells, n_products, 8), 64-byte aligned. */
static void pgmx_masked_add_plain(const double *products, ptrdiff_t n_products, const uint16_t *cell, ptrdiff_t n_cells,
                                  double *counts, double *sums) {
    for (ptrdiff_t i = 0; i < PGMX_MASKED_ROWS; i++) {
        if (cell[i] >= n_cells) continue;
        counts[cell[i]] += 1;
        for (ptrdiff_t t = 0; t < n_products; t++)
            sums[(cell[i] * n_products + t) * PGMX_MASKED_LANES + i % PGMX_MASKED_LANES] +=
                products[t * PGMX_MASKED_ROWS + i];
    }
}

/* columns: m of them, 1 to 3, 256 rows of each; the products are the columns, then the products of the pairs (0, 0),
 * (0, 1), ..., (m - 1, m - 1). The rest is as above, and no row is left out. */
static void pgmx_masked_moments_plain(const double *const *columns, ptrdiff_t m, const uint16_t *cell,
                                      ptrdiff_t n_cells, double *counts, double *sums) {
    const ptrdiff_t n_products = m + m * (m + 1) / 2;
    for (ptrdiff_t i = 0; i < PGMX_MASKED_ROWS; i++) {
        if (cell[i] >= n_cells) continue;
        double *sum = sums + cell[i] * n_products * PGMX_MASKED_LANES + i % PGMX_MASKED_LANES;
        counts[cell[i]] += 1;
        for (ptrdiff_t a = 0; a < m; a++, sum += PGMX_MASKED_LANES) *sum += columns[a][i];
        for (ptrdiff_t a = 0; a < m; a++)
            for (ptrdiff_t b = a; b < m; b++, sum += PGMX_MASKED_LANES) *sum += columns[a][i] * columns[b][i];
    }
}

/* sums: (n_cells, 8, 4), 32-byte aligned: for each lane the sum, the sum of squares and the number of rows. */
static void pgmx_cell_moments_plain(const double *column, const uint16_t *cell, double *sums) {
    for (ptrdiff_t i = 0; i < PGMX_MASKED_ROWS; i++) {
        double *sum = sums + (cell[i] * PGMX_MASKED_LANES + i % PGMX_MASKED_LANES) * PGMX_CELL_WIDTH;
        sum[0] += column[i];
        sum[1] += column[i] * column[i];
        sum[2] += 1;
    }
}

static void pgmx_masked_multiply_plain(const double *left, const double *right, ptrdiff_t n, double *target) {
    for (ptrdiff_t i = 0; i < n; i++) target[i] = left[i] * right[i];
}

/* Prefetches bytes: a block is used up before the hardware prefetcher detects the next reads. */
PGMX_UNUSED static void pgmx_masked_prefetch(const void *begin, ptrdiff_t n_bytes) {
#if defined(__GNUC__) || defined(__clang__)
    for (ptrdiff_t i = 0; i < n_bytes; i += 64) __builtin_prefetch((const char *)begin + i);
#else
    (void)begin, (void)n_bytes;
#endif
}

#if PGMX_X86_DISPATCH

PGMX_TARGET("avx2") PGMX_INLINE void pgmx_cell_add(double *sums, uint16_t cell, int lane, __m256d row) {
    double *sum = sums + (cell * PGMX_MASKED_LANES + lane) * PGMX_CELL_WIDTH;
    _mm256_store_pd(sum, _mm256_add_pd(_mm256_load_pd(sum), row));
}

PGMX_TARGET("avx2") static void pgmx_cell_moments_avx2(const double *column, const uint16_t *cell, double *sums) {
    const __m256d one = _mm256_set1_pd(1.0);
    for (ptrdiff_t i = 0; i < PGMX_MASKED_ROWS; i += 4) {
        const __m256d x = _mm256_loadu_pd(column + i), square = _mm256_mul_pd(x, x);
        const __m256d even = _mm256_unpacklo_pd(x, square), odd = _mm256_unpackhi_pd(x, square);
        const int lane = (int)(i % PGMX_MASKED_LANES);
        pgmx_cell_add(sums, cell[i], lane, _mm256_permute2f128_pd(even, one, 0x20));
        pgmx_cell_add(sums, cell[i + 1], lane + 1, _mm256_permute2f128_pd(odd, one, 0x20));
        pgmx_cell_add(sums, cell[i + 2], lane + 2, _mm256_permute2f128_pd(even, one, 0x21));
        pgmx_cell_add(sums, cell[i + 3], lane + 3, _mm256_permute2f128_pd(odd, one, 0x21));
    }
}

PGMX_TARGET("avx512f")
static void pgmx_masked_multiply_avx512(const double *left, const double *right, ptrdiff_t n, double *target) {
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_pd(target + i, _mm512_mul_pd(_mm512_loadu_pd(left + i), _mm512_loadu_pd(right + i)));
    for (; i < n; i++) target[i] = left[i] * right[i];
}

/* C cells share each load of T products; together enough sums that none waits for its last addition. */
PGMX_TARGET("avx512f") PGMX_INLINE void pgmx_masked_tile(const double *products, const unsigned char *mask,
                                                         double *sums, ptrdiff_t stride, const int C, const int T) {
    __m512d sum[4][4];
    for (int c = 0; c < C; c++)
        for (int t = 0; t < T; t++) sum[c][t] = _mm512_load_pd(sums + c * stride + 8 * t);
    for (int v = 0; v < PGMX_MASKED_ROWS / 8; v++)
        for (int t = 0; t < T; t++) {
            __m512d product = _mm512_load_pd(products + t * PGMX_MASKED_ROWS + 8 * v);
            for (int c = 0; c < C; c++)
                sum[c][t] = _mm512_mask_add_pd(sum[c][t], mask[c * (PGMX_MASKED_ROWS / 8) + v], sum[c][t], product);
        }
    for (int c = 0; c < C; c++)
        for (int t = 0; t < T; t++) _mm512_store_pd(sums + c * stride + 8 * t, sum[c][t]);
}

PGMX_TARGET("avx512f") PGMX_INLINE void pgmx_masked_cells(const double *products, ptrdiff_t n_products,
                                                          const unsigned char *mask, double *sums, const int C) {
    ptrdiff_t t = 0;
    for (; t + 4 <= n_products; t += 4)
        pgmx_masked_tile(products + t * PGMX_MASKED_ROWS, mask, sums + 8 * t, 8 * n_products, C, 4);
    for (; t + 2 <= n_products; t += 2)
        pgmx_masked_tile(products + t * PGMX_MASKED_ROWS, mask, sums + 8 * t, 8 * n_products, C, 2);
    if (t < n_products) pgmx_masked_tile(products + t * PGMX_MASKED_ROWS, mask, sums + 8 * t, 8 * n_products, C, 1);
}

/* Masks of the rows of up to eight cells: bit i of the words of a cell says whether row i is in it. */
PGMX_TARGET("avx512f,avx512bw,popcnt")
PGMX_INLINE void pgmx_masked_find(const uint16_t *cell, ptrdiff_t first, ptrdiff_t size, double *counts,
                                  uint64_t *mask) {
    for (ptrdiff_t c = 0; c < size; c++) {
        const __m512i number = _mm512_set1_epi16((short)(first + c));
        uint64_t *word = mask + c * (PGMX_MASKED_ROWS / 64);
        int count = 0;
        for (int v = 0; v < PGMX_MASKED_ROWS / 64; v++) {
            const __m512i low = _mm512_loadu_si512((const void *)(cell + 64 * v));
            const __m512i high = _mm512_loadu_si512((const void *)(cell + 64 * v + 32));
            word[v] = (uint64_t)_mm512_cmpeq_epi16_mask(low, number) |
                      (uint64_t)_mm512_cmpeq_epi16_mask(high, number) << 32;
            count += __builtin_popcountll(word[v]);
        }
        counts[first + c] += count;
    }
}

/* M columns and C cells, all of whose sums stay in registers. Every other addition uses the multiplication units, which
 * some processors have in addition to adders: term * 1 + sum has the same bits. */
PGMX_TARGET("avx512f") PGMX_INLINE void pgmx_masked_moments_tile(const double *const *columns,
                                                                 const unsigned char *mask, double *sums, const int M,
                                                                 const int C) {
    const int T = M + M * (M + 1) / 2;
    const __m512d one = _mm512_set1_pd(1.0);
    __m512d sum[8][9], term[9];
    for (int c = 0; c < C; c++)
        for (int t = 0; t < T; t++) sum[c][t] = _mm512_load_pd(sums + (c * T + t) * PGMX_MASKED_LANES);
    for (int v = 0; v < PGMX_MASKED_ROWS / 8; v++) {
        for (int a = 0; a < M; a++) term[a] = _mm512_loadu_pd(columns[a] + 8 * v);
        for (int a = 0, t = M; a < M; a++)
            for (int b = a; b < M; b++) term[t++] = _mm512_mul_pd(term[a], term[b]);
        for (int c = 0; c < C; c++) {
            const __mmask8 rows = mask[c * (PGMX_MASKED_ROWS / 8) + v];
            for (int t = 0; t < T; t++)
                sum[c][t] = (c * T + t) % 2 ? _mm512_mask3_fmadd_pd(term[t], one, sum[c][t], rows)
                                            : _mm512_mask_add_pd(sum[c][t], rows, sum[c][t], term[t]);
        }
    }
    for (int c = 0; c < C; c++)
        for (int t = 0; t < T; t++) _mm512_store_pd(sums + (c * T + t) * PGMX_MASKED_LANES, sum[c][t]);
}

PGMX_TARGET("avx512f,avx512bw,popcnt")
static void pgmx_masked_moments_avx512(const double *const *columns, ptrdiff_t m, const uint16_t *cell,
                                       ptrdiff_t n_cells, double *counts, double *sums) {
    const ptrdiff_t most = m == 1 ? 8 : m == 2 ? 4 : 2, n_products = m + m * (m + 1) / 2;
    const ptrdiff_t n_tiles = (n_cells + most - 1) / most, at_once = (n_cells + n_tiles - 1) / n_tiles;
    for (ptrdiff_t first = 0; first < n_cells; first += at_once) {
        const ptrdiff_t size = n_cells - first < at_once ? n_cells - first : at_once;
        uint64_t words[8 * (PGMX_MASKED_ROWS / 64)];
        const unsigned char *mask = (const unsigned char *)words;
        double *sum = sums + first * n_products * PGMX_MASKED_LANES;
        pgmx_masked_find(cell, first, size, counts, words);
        switch (8 * (m - 1) + size) {
            case 1: pgmx_masked_moments_tile(columns, mask, sum, 1, 1); break;
            case 2: pgmx_masked_moments_tile(columns, mask, sum, 1, 2); break;
            case 3: pgmx_masked_moments_tile(columns, mask, sum, 1, 3); break;
            case 4: pgmx_masked_moments_tile(columns, mask, sum, 1, 4); break;
            case 5: pgmx_masked_moments_tile(columns, mask, sum, 1, 5); break;
            case 6: pgmx_masked_moments_tile(columns, mask, sum, 1, 6); break;
            case 7: pgmx_masked_moments_tile(columns, mask, sum, 1, 7); break;
            case 8: pgmx_masked_moments_tile(columns, mask, sum, 1, 8); break;
            case 9: pgmx_masked_moments_tile(columns, mask, sum, 2, 1); break;
            case 10: pgmx_masked_moments_tile(columns, mask, sum, 2, 2); break;
            case 11: pgmx_masked_moments_tile(columns, mask, sum, 2, 3); break;
            case 12: pgmx_masked_moments_tile(columns, mask, sum, 2, 4); break;
            case 17: pgmx_masked_moments_tile(columns, mask, sum, 3, 1); break;
            default: pgmx_masked_moments_tile(columns, mask, sum, 3, 2); break;
        }
    }
}

PGMX_TARGET("avx512f,avx512bw,popcnt")
static void pgmx_masked_add_avx512(const double *products, ptrdiff_t n_products, const uint16_t *cell,
                                   ptrdiff_t n_cells, double *counts, double *sums) {
    for (ptrdiff_t first = 0; first < n_cells; first += 4) {
        ptrdiff_t size = n_cells - first < 4 ? n_cells - first : 4;
        uint64_t mask[4 * (PGMX_MASKED_ROWS / 64)];
        pgmx_masked_find(cell, first, size, counts, mask);
        const unsigned char *bits = (const unsigned char *)mask;
        double *sum = sums + first * n_products * 8;
        switch (size) {
            case 4: pgmx_masked_cells(products, n_products, bits, sum, 4); break;
            case 3: pgmx_masked_cells(products, n_products, bits, sum, 3); break;
            case 2: pgmx_masked_cells(products, n_products, bits, sum, 2); break;
            default: pgmx_masked_cells(products, n_products, bits, sum, 1); break;
        }
    }
}

#endif /* PGMX_X86_DISPATCH */

PGMX_UNUSED static void (*pgmx_masked_add)(const double *, ptrdiff_t, const uint16_t *, ptrdiff_t, double *,
                                           double *) = pgmx_masked_add_plain;
PGMX_UNUSED static void (*pgmx_masked_moments)(const double *const *, ptrdiff_t, const uint16_t *, ptrdiff_t, double *,
                                               double *) = pgmx_masked_moments_plain;
PGMX_UNUSED static void (*pgmx_cell_moments)(const double *, const uint16_t *, double *) = pgmx_cell_moments_plain;
PGMX_UNUSED static ptrdiff_t pgmx_masked_most = 0;
PGMX_UNUSED static void (*pgmx_masked_multiply)(const double *, const double *, ptrdiff_t,
                                                double *) = pgmx_masked_multiply_plain;

PGMX_UNUSED static void pgmx_masked_select(int level) { /* level <= pgmx_simd_best() */
    pgmx_masked_add = pgmx_masked_add_plain;
    pgmx_masked_moments = pgmx_masked_moments_plain;
    pgmx_masked_multiply = pgmx_masked_multiply_plain;
    pgmx_cell_moments = pgmx_cell_moments_plain;
    pgmx_masked_most = 0;
#if PGMX_X86_DISPATCH
    if (level >= PGMX_AVX2) pgmx_cell_moments = pgmx_cell_moments_avx2;
    if (level >= PGMX_AVX512 && __builtin_cpu_supports("avx512bw")) {
        pgmx_masked_add = pgmx_masked_add_avx512;
        pgmx_masked_moments = pgmx_masked_moments_avx512;
        pgmx_masked_multiply = pgmx_masked_multiply_avx512;
        pgmx_masked_most = 4;
    }
#else
    (void)level;
#endif
}

#endif /* PGMX_MASKED_H */

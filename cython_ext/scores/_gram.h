/* Sums of outer products of short rows, chosen once at run time.
 *
 *   pgmx_gram    sums[i * width + j] += left[r * width + i] * right[r * width + j]
 *
 * for the rows r < n, all i < width and the j of the blocks of eight from the block of i on. `width` is a multiple of
 * 8, all arrays are 64-byte aligned. Sums are added in the order of the rows and nothing is fused: all levels give the
 * same bits. A tile of 4 x 16 (avx512) or 4 x 8 (avx2) sums stays in registers over the rows. Nothing here allocates or
 * fails; after pgmx_gram_select it is safe to call from any number of threads.
 */
#ifndef PGMX_GRAM_H
#define PGMX_GRAM_H

#include "_simd.h"

static void pgmx_gram_plain(const double *left, const double *right, ptrdiff_t n, ptrdiff_t width, double *sums) {
    for (ptrdiff_t r = 0; r < n; r++)
        for (ptrdiff_t i = 0; i < width; i++) {
            const double factor = left[r * width + i];
            for (ptrdiff_t j = i / 8 * 8; j < width; j++) sums[i * width + j] += factor * right[r * width + j];
        }
}

#if PGMX_X86_DISPATCH

/* V vectors of LANES doubles to the right of each of four rows of sums. */
#define PGMX_GRAM_TILE(V, LANES, VEC, LOAD, STORE, SPLAT, ADD, MUL)                                                    \
    {                                                                                                                  \
        double *sum = sums + i * width + j;                                                                            \
        const double *a = left + i, *b = right + j;                                                                    \
        VEC tile[4][V];                                                                                                \
        for (int s = 0; s < 4; s++)                                                                                    \
            for (int v = 0; v < V; v++) tile[s][v] = LOAD(sum + s * width + v * LANES);                                \
        for (ptrdiff_t r = 0; r < n; r++, a += width, b += width) {                                                    \
            VEC row[V];                                                                                                \
            for (int v = 0; v < V; v++) row[v] = LOAD(b + v * LANES);                                                  \
            for (int s = 0; s < 4; s++) {                                                                              \
                const VEC factor = SPLAT(a[s]);                                                                        \
                for (int v = 0; v < V; v++) tile[s][v] = ADD(tile[s][v], MUL(factor, row[v]));                         \
            }                                                                                                          \
        }                                                                                                              \
        for (int s = 0; s < 4; s++)                                                                                    \
            for (int v = 0; v < V; v++) STORE(sum + s * width + v * LANES, tile[s][v]);                                \
    }

PGMX_TARGET("avx2")
static void pgmx_gram_avx2(const double *left, const double *right, ptrdiff_t n, ptrdiff_t width, double *sums) {
    for (ptrdiff_t i = 0; i < width; i += 4)
        for (ptrdiff_t j = i / 8 * 8; j < width; j += 8)
            PGMX_GRAM_TILE(2, 4, __m256d, _mm256_load_pd, _mm256_store_pd, _mm256_set1_pd, _mm256_add_pd, _mm256_mul_pd)
}

PGMX_TARGET("avx512f")
static void pgmx_gram_avx512(const double *left, const double *right, ptrdiff_t n, ptrdiff_t width, double *sums) {
    for (ptrdiff_t i = 0; i < width; i += 4) {
        ptrdiff_t j = i / 8 * 8;
        for (; j + 16 <= width; j += 16)
            PGMX_GRAM_TILE(2, 8, __m512d, _mm512_load_pd, _mm512_store_pd, _mm512_set1_pd, _mm512_add_pd, _mm512_mul_pd)
        if (j < width)
            PGMX_GRAM_TILE(1, 8, __m512d, _mm512_load_pd, _mm512_store_pd, _mm512_set1_pd, _mm512_add_pd, _mm512_mul_pd)
    }
}

#endif /* PGMX_X86_DISPATCH */

PGMX_UNUSED static void (*pgmx_gram)(const double *, const double *, ptrdiff_t, ptrdiff_t,
                                     double *) = pgmx_gram_plain;

PGMX_UNUSED static void pgmx_gram_select(int level) { /* level <= pgmx_simd_best() */
    pgmx_gram = pgmx_gram_plain;
#if PGMX_X86_DISPATCH
    if (level >= PGMX_AVX2) pgmx_gram = level >= PGMX_AVX512 ? pgmx_gram_avx512 : pgmx_gram_avx2;
#else
    (void)level;
#endif
}

#endif /* PGMX_GRAM_H */

/* Sums of eight values per row into the cells of the rows, chosen once at run time.
 *
 *   pgmx_scatter    sums[cell of row i][t] += rows[i][t], t < 8; the cell is base[i] * size + code[i]
 *
 * With `copies` 4, row i is added to copy i mod 4 of the sums, `stride` values apart: rows of the same cell then do not
 * wait for each other. Additions are in the order of the rows and nothing is fused: all levels give the same
 * bits. `rows` and `sums` are 64-byte aligned. Nothing here allocates or fails; after pgmx_scatter_select it is safe to
 * call from any number of threads.
 */
#ifndef PGMX_SCATTER_H
#define PGMX_SCATTER_H

#include "_simd.h"

#define PGMX_SCATTER_LEVEL(SUFFIX, TARGET, ADD_ROW)                                                                    \
    TARGET PGMX_UNUSED static void pgmx_scatter_##SUFFIX(const double *rows, const uint32_t *base,                     \
                                                         const uint16_t *code, uint32_t size, ptrdiff_t n,             \
                                                         double *sums, ptrdiff_t stride, int copies) {                 \
        ptrdiff_t i = 0, c;                                                                                            \
        if (copies == 4)                                                                                               \
            for (; i + 4 <= n; i += 4)                                                                                 \
                for (c = 0; c < 4; c++) {                                                                              \
                    double *sum = sums + c * stride + 8 * ((size_t)base[i + c] * size + (code ? code[i + c] : 0));     \
                    const double *row = rows + 8 * (i + c);                                                            \
                    ADD_ROW                                                                                            \
                }                                                                                                      \
        for (; i < n; i++) {                                                                                           \
            double *sum = sums + 8 * ((size_t)base[i] * size + (code ? code[i] : 0));                                  \
            const double *row = rows + 8 * i;                                                                          \
            ADD_ROW                                                                                                    \
        }                                                                                                              \
    }

PGMX_SCATTER_LEVEL(plain, , for (int t = 0; t < 8; t++) sum[t] += row[t];)
#if PGMX_X86_DISPATCH
PGMX_SCATTER_LEVEL(avx2, PGMX_TARGET("avx2"),
                   _mm256_store_pd(sum, _mm256_add_pd(_mm256_load_pd(sum), _mm256_load_pd(row)));
                   _mm256_store_pd(sum + 4, _mm256_add_pd(_mm256_load_pd(sum + 4), _mm256_load_pd(row + 4)));)
#endif

PGMX_UNUSED static void (*pgmx_scatter)(const double *, const uint32_t *, const uint16_t *, uint32_t, ptrdiff_t,
                                        double *, ptrdiff_t, int) = pgmx_scatter_plain;

PGMX_UNUSED static void pgmx_scatter_select(int level) { /* level <= pgmx_simd_best() */
#if PGMX_X86_DISPATCH
    pgmx_scatter = level >= PGMX_AVX2 ? pgmx_scatter_avx2 : pgmx_scatter_plain;  /* avx512 is no faster here */
#else
    (void)level;
#endif
}

#endif /* PGMX_SCATTER_H */

/* Sums of eight numbers per row into the cells of the rows, chosen once at run time.
 *
 *   pgmx_scatter    sums[cell of row i][t] += rows[i][t], t < 8; the cell is base[i] * size + code[i]
 *
 * The order of the additions is that of the rows and nothing is fused: all levels give the same bits. Nothing here
 * allocates or fails; after pgmx_scatter_select it is safe to call from any number of threads.
 */
#ifndef PGMX_SCATTER_H
#define PGMX_SCATTER_H

#include "_simd.h"

#if defined(_MSC_VER)
#define PGMX_RESTRICT __restrict
#else
#define PGMX_RESTRICT restrict
#endif

#define PGMX_SCATTER_LEVEL(SUFFIX, TARGET)                                                                             \
    TARGET PGMX_UNUSED static void pgmx_scatter_##SUFFIX(const double *PGMX_RESTRICT rows, const uint32_t *base,       \
                                                         const uint16_t *code, uint32_t size, ptrdiff_t n,             \
                                                         double *PGMX_RESTRICT sums) {                                 \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                            \
            size_t cell = (base ? (size_t)base[i] * size : 0) + (code ? code[i] : 0);                                  \
            double *PGMX_RESTRICT sum = sums + 8 * cell;                                                               \
            const double *PGMX_RESTRICT row = rows + 8 * i;                                                            \
            for (int t = 0; t < 8; t++) sum[t] += row[t];                                                              \
        }                                                                                                              \
    }

PGMX_SCATTER_LEVEL(plain, )
#if PGMX_X86_DISPATCH
PGMX_SCATTER_LEVEL(avx2, PGMX_TARGET("avx2"))
PGMX_SCATTER_LEVEL(avx512, PGMX_TARGET("avx512f"))
#endif

PGMX_UNUSED static void (*pgmx_scatter)(const double *, const uint32_t *, const uint16_t *, uint32_t, ptrdiff_t,
                                        double *) = pgmx_scatter_plain;

PGMX_UNUSED static void pgmx_scatter_select(int level) { /* level <= pgmx_simd_best() */
#if PGMX_X86_DISPATCH
    pgmx_scatter = level == PGMX_AVX512 ? pgmx_scatter_avx512
                   : level == PGMX_AVX2 ? pgmx_scatter_avx2
                                        : pgmx_scatter_plain;
#else
    (void)level;
#endif
}

#endif /* PGMX_SCATTER_H */

/* Passes over all variables for regressions on a set of variables, chosen once at run time.
 *
 *   pgmx_shift_rows      residuals[u] -= scale * row[u]^2, covariances[u] -= factor * row[u]
 *   pgmx_flag_parents    flags[u] = 1 if u explains enough of a child's residual variance, and not all of it
 *
 * The loops have no branches, so that the compiler can vectorise them for each processor; each element is computed by
 * itself and nothing is fused: all levels give the same bits. Nothing here allocates or fails; after
 * pgmx_variance_rows_select it is safe to call from any number of threads.
 */
#ifndef PGMX_VARIANCE_ROWS_H
#define PGMX_VARIANCE_ROWS_H

#include "_simd.h"

#define PGMX_VARIANCE_LEVEL(SUFFIX, TARGET)                                                                            \
    TARGET PGMX_UNUSED static void pgmx_shift_rows_##SUFFIX(double scale, double factor, const double *restrict row,   \
                                                            ptrdiff_t n, double *restrict residuals,                   \
                                                            double *restrict covariances) {                            \
        for (ptrdiff_t u = 0; u < n; u++) {                                                                            \
            const double value = row[u];                                                                               \
            residuals[u] -= scale * (value * value);                                                                   \
            covariances[u] -= factor * value;                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET PGMX_UNUSED static void pgmx_flag_parents_##SUFFIX(                                                         \
        double least, double most, double smallest, const double *restrict residuals,                                  \
        const double *restrict covariances, ptrdiff_t n, uint64_t *restrict flags) {                                   \
        for (ptrdiff_t u = 0; u < n; u++) {                                                                            \
            const double c = covariances[u], v = residuals[u], square = c * c;                                         \
            flags[u] = (square > least * v) & (square < most * v) & (v > smallest);                                    \
        }                                                                                                              \
    }

PGMX_VARIANCE_LEVEL(plain, )
#if PGMX_X86_DISPATCH
PGMX_VARIANCE_LEVEL(avx2, PGMX_TARGET("avx2"))
PGMX_VARIANCE_LEVEL(avx512, PGMX_TARGET("avx512f"))
#endif

PGMX_UNUSED static void (*pgmx_shift_rows)(double, double, const double *, ptrdiff_t, double *,
                                           double *) = pgmx_shift_rows_plain;
PGMX_UNUSED static void (*pgmx_flag_parents)(double, double, double, const double *, const double *, ptrdiff_t,
                                             uint64_t *) = pgmx_flag_parents_plain;

PGMX_UNUSED static void pgmx_variance_rows_select(int level) { /* level <= pgmx_simd_best() */
    pgmx_shift_rows = pgmx_shift_rows_plain;
    pgmx_flag_parents = pgmx_flag_parents_plain;
#if PGMX_X86_DISPATCH
    if (level == PGMX_AVX2) {
        pgmx_shift_rows = pgmx_shift_rows_avx2;
        pgmx_flag_parents = pgmx_flag_parents_avx2;
    } else if (level == PGMX_AVX512) {
        pgmx_shift_rows = pgmx_shift_rows_avx512;
        pgmx_flag_parents = pgmx_flag_parents_avx512;
    }
#else
    (void)level;
#endif
}

#endif /* PGMX_VARIANCE_ROWS_H */

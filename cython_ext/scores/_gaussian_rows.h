/* Passes over a row of gains of linear Gaussian families, chosen once at run time.
 *
 *   pgmx_subtract_row     target[u] -= factor * row[u]
 *   pgmx_take_parent      covariances[u] -= factor * row[u], residual[u] -= row[u]^2
 *   pgmx_likelihood_gains gains of additions under a maximised likelihood
 *   pgmx_evidence_gains   the same under a marginal likelihood
 *
 * The loops have no branches, so that the compiler can vectorise them for each processor; each element is computed by
 * itself and nothing is fused: all levels give the same bits. Nothing here allocates or fails; after
 * pgmx_gaussian_rows_select it is safe to call from any number of threads.
 */
#ifndef PGMX_GAUSSIAN_ROWS_H
#define PGMX_GAUSSIAN_ROWS_H

#include <math.h>

#include "_simd.h"
#include "_special.h"

/* Constants of a family of k parents for the gains of adding another parent, for both kinds of likelihood. */
typedef struct {
    double residual;  /* of the child, in its variance */
    double smallest;  /* share of a variance that must be left */
    double unit;      /* rounded gains are multiples of 1 / unit */
    double factor;    /* -N / 2, or -b of k + 1 parents */
    double constant;  /* -cost, or the difference of a of k + 1 and of k parents */
    double log_child; /* ln of the residual variance of the child, of the second kind */
} pgmx_gaussian_family;

/* 1 minus the squared correlation of the residuals; `refused` if the remaining variance would be too small. */
#define PGMX_GAUSSIAN_REST                                                                                             \
    const double c = covariances[u], v = residual[u], rest = 1.0 - c * c / (family->residual * v);                     \
    const int refused = (v < family->smallest) | (family->residual < family->smallest) |                               \
                        !(rest * family->residual >= family->smallest) | !(rest * v >= family->smallest);

#define PGMX_GAUSSIAN_LEVEL(SUFFIX, TARGET)                                                                            \
    TARGET PGMX_UNUSED static void pgmx_subtract_row_##SUFFIX(double factor, const double *restrict row, ptrdiff_t n,  \
                                                              double *restrict target) {                               \
        for (ptrdiff_t u = 0; u < n; u++) target[u] -= factor * row[u];                                                \
    }                                                                                                                  \
    TARGET PGMX_UNUSED static void pgmx_take_parent_##SUFFIX(double factor, const double *restrict row, ptrdiff_t n,   \
                                                             double *restrict covariances,                             \
                                                             double *restrict residual) {                              \
        for (ptrdiff_t u = 0; u < n; u++) {                                                                            \
            covariances[u] -= factor * row[u];                                                                         \
            residual[u] -= row[u] * row[u];                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET PGMX_UNUSED static void pgmx_likelihood_gains_##SUFFIX(                                                     \
        const pgmx_gaussian_family *restrict family, const double *restrict covariances,                               \
        const double *restrict residual, ptrdiff_t n, double *restrict gains) {                                        \
        for (ptrdiff_t u = 0; u < n; u++) {                                                                            \
            PGMX_GAUSSIAN_REST                                                                                         \
            const double gain = family->factor * pgmx_log(rest) + family->constant;                                    \
            gains[u] = refused ? -INFINITY : rint(gain * family->unit) / family->unit;                                 \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET PGMX_UNUSED static void pgmx_evidence_gains_##SUFFIX(                                                       \
        const pgmx_gaussian_family *restrict family, const double *restrict covariances,                               \
        const double *restrict residual, const double *restrict log_variances, ptrdiff_t n, double *restrict gains) {  \
        for (ptrdiff_t u = 0; u < n; u++) {                                                                            \
            PGMX_GAUSSIAN_REST                                                                                         \
            const double logs = family->log_child + (log_variances[u] + pgmx_log(v));                                  \
            const double gain = family->constant + family->factor * pgmx_log(rest) - logs / 2;                         \
            gains[u] = refused ? -INFINITY : rint(gain * family->unit) / family->unit;                                 \
        }                                                                                                              \
    }

PGMX_GAUSSIAN_LEVEL(plain, )
#if PGMX_X86_DISPATCH
PGMX_GAUSSIAN_LEVEL(avx2, PGMX_TARGET("avx2"))
PGMX_GAUSSIAN_LEVEL(avx512, PGMX_TARGET("avx512f"))
#endif

PGMX_UNUSED static void (*pgmx_subtract_row)(double, const double *, ptrdiff_t, double *) = pgmx_subtract_row_plain;
PGMX_UNUSED static void (*pgmx_take_parent)(double, const double *, ptrdiff_t, double *,
                                            double *) = pgmx_take_parent_plain;
PGMX_UNUSED static void (*pgmx_likelihood_gains)(const pgmx_gaussian_family *, const double *, const double *,
                                                 ptrdiff_t, double *) = pgmx_likelihood_gains_plain;
PGMX_UNUSED static void (*pgmx_evidence_gains)(const pgmx_gaussian_family *, const double *, const double *,
                                               const double *, ptrdiff_t, double *) = pgmx_evidence_gains_plain;

#define PGMX_GAUSSIAN_USE(suffix)                           \
    pgmx_subtract_row = pgmx_subtract_row_##suffix;         \
    pgmx_take_parent = pgmx_take_parent_##suffix;           \
    pgmx_likelihood_gains = pgmx_likelihood_gains_##suffix; \
    pgmx_evidence_gains = pgmx_evidence_gains_##suffix;

PGMX_UNUSED static void pgmx_gaussian_rows_select(int level) { /* level <= pgmx_simd_best() */
    PGMX_GAUSSIAN_USE(plain)
#if PGMX_X86_DISPATCH
    if (level == PGMX_AVX2) {
        PGMX_GAUSSIAN_USE(avx2)
    } else if (level == PGMX_AVX512) {
        PGMX_GAUSSIAN_USE(avx512)
    }
#else
    (void)level;
#endif
}

#endif /* PGMX_GAUSSIAN_ROWS_H */

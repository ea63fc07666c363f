/* Vector kernels of random features, chosen once at run time: sines and cosines, projections, sums and updates.
 *
 *   pgmx_sincos    s[i] = sin a[i], c[i] = cos a[i]
 *   pgmx_project   a[r, i] = sum_k x[r, k] v[k, i] for several rows
 *   pgmx_dot       sum_i a[i] b[i] over a multiple of 8
 *   pgmx_shift     a[i] = keep a[i] + g b[i]
 * Levels: avx512 (F + DQ), avx2, plain. One body is compiled for each level. Each value comes from the same operations
 * in the same order (nothing is contracted into fused multiply-adds), so that all levels, and all chunks of rows, give
 * the same bits.
 * Sine and cosine: reduction by multiples of pi/2 in three parts (Cody & Waite 1980) and the minimax polynomials of
 * fdlibm (Sun Microsystems 1993) on [-pi/4, pi/4]; below 1.2 units in the last place for |a| < 1e6, the C library
 * beyond, and the angle 0 for non-finite values. About 2 ns per pair with AVX2, 1 ns with AVX-512.
 * Nothing here allocates or fails; after selection all functions are safe to call from any number of threads.
 */
#ifndef PGMX_SINCOS_H
#define PGMX_SINCOS_H

#include <math.h>
#include "_simd.h"

#define PGMX_LANES 8
#define PGMX_TILE 16   /* columns of a projection are padded to a multiple of it */
#define PGMX_FAR 1e6   /* beyond it n pi/2 is no longer exact with terms of 33 bits */

static const double PGMX_TWO_OVER_PI = 6.36619772367581382433e-01;
static const double PGMX_PIO2_1 = 1.57079632673412561417e+00, PGMX_PIO2_2 = 6.07710050630396597660e-11,
                    PGMX_PIO2_3 = 2.02226624871116645580e-21;
static const double PGMX_ROUND = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer in the low bits */

#define PGMX_JOIN_NAMES(first, second) first##_##second
#define PGMX_NAME(first, second) PGMX_JOIN_NAMES(first, second)

PGMX_INLINE void pgmx_sincos_body(const double *a, double *s, double *c, ptrdiff_t n) {
    int far_away = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double shifted = a[i] * PGMX_TWO_OVER_PI + PGMX_ROUND;
        double turns = shifted - PGMX_ROUND;
        double r = ((a[i] - turns * PGMX_PIO2_1) - turns * PGMX_PIO2_2) - turns * PGMX_PIO2_3;
        double z = r * r;
        double sine = r + (z * r) * (-1.66666666666666324348e-01 +
                                     z * (8.33333333332248946124e-03 +
                                          z * (-1.98412698298579493134e-04 +
                                               z * (2.75573137070700676789e-06 +
                                                    z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
        double tail = z * (4.16666666666666019037e-02 +
                           z * (-1.38888888888741095749e-03 +
                                z * (2.48015872894767294178e-05 +
                                     z * (-2.75573143513906633035e-07 +
                                          z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
        double half = 0.5 * z, near_one = 1.0 - half;
        double cosine = near_one + (((1.0 - near_one) - half) + z * tail);
        uint64_t bits, first, second;
        memcpy(&bits, &shifted, 8);
        uint64_t swap = 0 - (bits & 1);
        memcpy(&first, &sine, 8);
        memcpy(&second, &cosine, 8);
        uint64_t exchange = (first ^ second) & swap;
        first ^= exchange ^ ((bits & 2) << 62);
        second ^= exchange ^ (((bits + 1) & 2) << 62);
        memcpy(&s[i], &first, 8);
        memcpy(&c[i], &second, 8);
        far_away |= !(fabs(a[i]) < PGMX_FAR);
    }
    if (!far_away) return;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (fabs(a[i]) < PGMX_FAR) continue;
        double angle = isfinite(a[i]) ? a[i] : 0.0;
        s[i] = sin(angle);
        c[i] = cos(angle);
    }
}

/* Levels: their name, their target and the bytes of their vectors; compilers without vectors have the plain one. */
#define PGMX_SUFFIX plain
#define PGMX_LEVEL_TARGET
#define PGMX_VECTOR_BYTES 16
#include "_sincos_body.h"
#if PGMX_X86_DISPATCH
#define PGMX_SUFFIX avx2
#define PGMX_LEVEL_TARGET PGMX_TARGET("avx2")
#define PGMX_VECTOR_BYTES 32
#include "_sincos_body.h"
#define PGMX_SUFFIX avx512
#if defined(__clang__)
#define PGMX_LEVEL_TARGET PGMX_TARGET("avx512f,avx512dq")
#else
#define PGMX_LEVEL_TARGET PGMX_TARGET("avx512f,avx512dq,prefer-vector-width=512")
#endif
#define PGMX_VECTOR_BYTES 64
#include "_sincos_body.h"
#endif

static void (*pgmx_sincos)(const double *, double *, double *, ptrdiff_t) = pgmx_sincos_plain;
static void (*pgmx_project)(const double *, ptrdiff_t, ptrdiff_t, const double *, ptrdiff_t,
                            double *) = pgmx_project_plain;
static double (*pgmx_dot)(const double *, const double *, ptrdiff_t) = pgmx_dot_plain;
static void (*pgmx_shift)(double *, const double *, double, double, ptrdiff_t) = pgmx_shift_plain;

/* The best level this processor runs: one of PGMX_PLAIN, PGMX_AVX2, PGMX_AVX512. */
PGMX_UNUSED static int pgmx_feature_best(void) {
#if PGMX_X86_DISPATCH
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return PGMX_AVX512;
    if (__builtin_cpu_supports("avx2")) return PGMX_AVX2;
#endif
    return PGMX_PLAIN;
}

#define PGMX_TAKE_LEVEL(suffix)                                                                                        \
    (pgmx_sincos = pgmx_sincos_##suffix, pgmx_project = pgmx_project_##suffix, pgmx_dot = pgmx_dot_##suffix,           \
     pgmx_shift = pgmx_shift_##suffix)

PGMX_UNUSED static void pgmx_feature_select(int level) { /* level <= pgmx_feature_best() */
    (void)PGMX_TAKE_LEVEL(plain);
#if PGMX_X86_DISPATCH
    if (level == PGMX_AVX2) (void)PGMX_TAKE_LEVEL(avx2);
    if (level == PGMX_AVX512) (void)PGMX_TAKE_LEVEL(avx512);
#endif
}

#endif /* PGMX_SINCOS_H */
